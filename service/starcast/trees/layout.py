"""Where the nodes of a drawn tree stand: levels are rows, parents stand over the middle of their children (Reingold & Tilford).

A subtree is known by its contours: how far it reaches to the left and to the right of its root on each of its levels. Subtrees
are pushed together until their contours touch, once from the left and once from the right; the mean of both is as narrow, and
lets small subtrees stand in the middle between large ones.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

#: Distance between neighbours on a level.
APART = 1.0


class _Contour(NamedTuple):
    left: list[float]
    right: list[float]

    def mirrored(self) -> "_Contour":
        return _Contour([-x for x in self.right], [-x for x in self.left])


def tidy(root: int, children: Mapping[int, Sequence[int]]) -> dict[int, float]:
    """The horizontal place of every node of a tree, from 0; neighbours on a level are at least `APART` from each other.

    Args:
        root: the node on top.
        children: of each node that has any, from left to right.
    """
    order = [root]
    for node in order:  # grows while it is walked: every level after the one above it
        order.extend(children.get(node, ()))
    offset: dict[int, float] = {root: 0.0}  # from the parent
    contours: dict[int, _Contour] = {}
    for node in reversed(order):
        below = [contours.pop(child) for child in children.get(node, ())]
        places = _spread(below)
        middle = (places[0] + places[-1]) / 2 if places else 0.0
        places = [place - middle for place in places]
        offset.update(zip(children.get(node, ()), places, strict=True))
        joined = _Contour([], [])
        for place, contour in zip(places, below, strict=True):
            _join(joined, contour, place)
        contours[node] = _Contour([0.0, *joined.left], [0.0, *joined.right])
    found = {root: -min(contours[root].left)}
    for node in order:
        for child in children.get(node, ()):
            found[child] = found[node] + offset[child]
    return found


def _spread(contours: Sequence[_Contour]) -> list[float]:
    """Where subtrees stand beside each other, the first at 0."""
    left = _pushed(contours)
    right = _pushed([contour.mirrored() for contour in reversed(contours)])[::-1]
    return [(one + left[-1] - other) / 2 for one, other in zip(left, right, strict=True)]


def _pushed(contours: Sequence[_Contour]) -> list[float]:
    """Where they stand if each is pushed to the left until it touches one of those before it."""
    places: list[float] = []
    joined = _Contour([], [])
    for contour in contours:
        reach = zip(joined.right, contour.left, strict=False)
        places.append(max((right - left + APART for right, left in reach), default=0.0))
        _join(joined, contour, places[-1])
    return places


def _join(joined: _Contour, contour: _Contour, place: float) -> None:
    """Take a subtree into the contour of those to its left, in place."""
    depth = len(contour.left)
    joined.left.extend(place + x for x in contour.left[len(joined.left) :])
    joined.right[:depth] = [place + x for x in contour.right]
