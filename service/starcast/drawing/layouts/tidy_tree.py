"""The layout of a tree: levels are rows, parents are centred above their children.

A subtree is described by its contours: how far it extends to the left and right of its root on
each of its levels. Subtrees are pushed together until their contours touch, once from the left and
once from the right. The mean of both is as narrow, and centres small subtrees between large ones
(Reingold & Tilford 1981).
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

#: The least distance between neighbours on a level.
SPACING = 1.0


class _Contour(NamedTuple):
    left: list[float]
    right: list[float]

    def mirrored(self) -> "_Contour":
        return _Contour([-x for x in self.right], [-x for x in self.left])


def tidy_layout(root: int, children: Mapping[int, Sequence[int]]) -> dict[int, float]:
    """Return the horizontal position of every node of a tree, from 0.

    Args:
        root: the node at the top.
        children: the children of each node that has any, from left to right.

    Returns:
        Positions by node; neighbours on a level are at least `SPACING` apart.
    """
    order = [root]
    for node in order:  # the list grows during the traversal, level by level
        order.extend(children.get(node, ()))
    offset: dict[int, float] = {root: 0.0}  # from the parent
    contours: dict[int, _Contour] = {}
    for node in reversed(order):
        subtrees = [contours.pop(child) for child in children.get(node, ())]
        positions = _spread(subtrees)
        centre = (positions[0] + positions[-1]) / 2 if positions else 0.0
        positions = [position - centre for position in positions]
        offset.update(zip(children.get(node, ()), positions, strict=True))
        merged = _Contour([], [])
        for position, contour in zip(positions, subtrees, strict=True):
            _merge(merged, contour, position)
        contours[node] = _Contour([0.0, *merged.left], [0.0, *merged.right])
    x = {root: -min(contours[root].left)}
    for node in order:
        for child in children.get(node, ()):
            x[child] = x[node] + offset[child]
    return x


def _spread(contours: Sequence[_Contour]) -> list[float]:
    """Return the positions of sibling subtrees, the first at 0."""
    from_left = _push_left(contours)
    from_right = _push_left([contour.mirrored() for contour in reversed(contours)])[::-1]
    return [
        (left + from_right[-1] - right) / 2
        for left, right in zip(from_left, from_right, strict=True)
    ]


def _push_left(contours: Sequence[_Contour]) -> list[float]:
    """Return the positions if each subtree is pushed left until it touches a previous subtree."""
    positions: list[float] = []
    merged = _Contour([], [])
    for contour in contours:
        levels = zip(merged.right, contour.left, strict=False)
        positions.append(max((right - left + SPACING for right, left in levels), default=0.0))
        _merge(merged, contour, positions[-1])
    return positions


def _merge(merged: _Contour, contour: _Contour, position: float) -> None:
    """Add a subtree to the contour of the subtrees to its left, in place."""
    depth = len(contour.left)
    merged.left.extend(position + x for x in contour.left[len(merged.left) :])
    merged.right[:depth] = [position + x for x in contour.right]
