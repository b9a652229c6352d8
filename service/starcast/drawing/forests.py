"""Draw forests: single trees, all trees, trees on the topology, and link loads.

A tree is drawn with its levels as rows and each parent centred above its children. The two contours
of a subtree are the subtree's leftmost and rightmost positions on each level, relative to its root.
Subtrees are pushed together until their contours touch, once from the left and once from the right.
The mean of the two layouts is as narrow as either layout, and centres small subtrees between large
subtrees (Reingold & Tilford 1981).
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from starcast.drawing.networks import Frame
from starcast.drawing.scene import (
    ACCENT,
    BOX_HEIGHT,
    CHARACTER,
    COLOURS,
    FAINT,
    GAP,
    INK,
    PAPER,
    READABLE,
    Node,
    Panel,
    Scene,
    Stroke,
    box_width,
    label_box,
    render,
    row_heights,
    shape_of,
    style,
)
from starcast.support.errors import LimitError
from starcast.support.text import pluralize
from starcast.trees import Forest
from starcast.trees.metrics import edges_of

#: The smallest horizontal distance between two adjacent nodes on a level, in `tidy_layout`.
SPACING = 1.0


class _Contour(NamedTuple):
    """The leftmost and the rightmost position on each level of a subtree, from the root down."""

    left: list[float]
    right: list[float]

    def mirrored(self) -> "_Contour":
        return _Contour([-x for x in self.right], [-x for x in self.left])


def tidy_layout(root: int, children: Mapping[int, Sequence[int]]) -> dict[int, float]:
    """Return the horizontal positions of all nodes of a tree; the leftmost position is 0.

    Args:
        root: the node at the top.
        children: for each node with children, the children from left to right.

    Returns:
        Positions by node; nodes on the same level are at least `SPACING` apart.
    """
    order = [root]
    # The loop appends to the list over which it iterates, so it visits all levels.
    for node in order:
        order.extend(children.get(node, ()))
    #: For each node, its position relative to its parent.
    offset: dict[int, float] = {root: 0.0}
    contours: dict[int, _Contour] = {}
    # The loop processes children before their parents. A recursion would be too deep for a tree
    # that is a Hamiltonian path.
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
    """Return the positions of the roots of sibling subtrees, from left to right.

    Only the differences between the positions matter; the first position need not be 0.
    """
    from_left = _push_left(contours)
    from_right = _push_left([contour.mirrored() for contour in reversed(contours)])[::-1]
    return [
        (left + from_right[-1] - right) / 2
        for left, right in zip(from_left, from_right, strict=True)
    ]


def _push_left(contours: Sequence[_Contour]) -> list[float]:
    """Return the positions of subtrees, each pushed left until it touches an earlier subtree."""
    positions: list[float] = []
    merged = _Contour([], [])
    for contour in contours:
        # Subtrees can differ in height; they can touch only on levels that both subtrees have.
        levels = zip(merged.right, contour.left, strict=False)
        positions.append(max((right - left + SPACING for right, left in levels), default=0.0))
        _merge(merged, contour, positions[-1])
    return positions


def _merge(merged: _Contour, contour: _Contour, position: float) -> None:
    """Add a subtree to the right of other subtrees, by extending the common contours ``merged``.

    Args:
        merged: the outer contours of the other subtrees together; modified in place.
        contour: the contours of the new subtree, relative to its root.
        position: the position of the new subtree's root.
    """
    depth = len(contour.left)
    merged.left.extend(position + x for x in contour.left[len(merged.left) :])
    merged.right[:depth] = [position + x for x in contour.right]


#: Maximum total number of nodes in a drawing of all trees. The four trees on S5 have 480 nodes.
MAX_NODES = 2_048

#: In a drawing of all trees: distance between two levels, and radius of a node, in pixels.
_ROW, _DOT = 22.0, 2.6
#: In a drawing of all trees: smallest and largest distance in pixels between neighbours on a level.
_NEAR, _FAR = 7.0, 16.0
#: In a drawing of all trees: width of each tree in pixels, unless the tree's nodes would then be
#: closer than `_NEAR` or farther apart than `_FAR`.
_WIDE = 225.0
#: Width in pixels of the strokes for links with the largest load.
_MAX_WIDE = 5.0


class _Arc(NamedTuple):
    """An edge of a tree, from the parent through one of its ports to the child."""

    parent: int
    port: int
    child: int
    title: str


class _Tree:
    """A tree of a forest, with each node's level and its horizontal position by `tidy_layout`."""

    def __init__(self, forest: Forest, number: int) -> None:
        edges = edges_of(forest, number)
        self.labels: list[str] = forest.topology.labels().tolist()
        columns = (edges.parent.tolist(), edges.port.tolist(), edges.child.tolist())
        self.arcs = [
            _Arc(parent, port, child, f"{self.labels[parent]} -{port}-> {self.labels[child]}")
            for parent, port, child in sorted(zip(*columns, strict=True))
        ]
        self.level = {forest.root: 0} | dict(
            zip(edges.child.tolist(), edges.level.tolist(), strict=True)
        )
        self.inner = {arc.parent for arc in self.arcs}
        children: dict[int, list[int]] = {}
        for arc in self.arcs:
            children.setdefault(arc.parent, []).append(arc.child)
        self.x = tidy_layout(forest.root, children)
        self.caption = f"tree {number}: height {int(forest.heights[number])}"
        self.colour = COLOURS[number % len(COLOURS)]


def draw_tree(forest: Forest, tree: int = 0, force: bool = False) -> str:
    """Return a tree of a forest as an SVG document.

    The root is at the top, and each edge has the colour of its port.

    Args:
        forest: a verified forest, such as one that a construction has built.
        tree: the number of the tree, from 0.
        force: whether to draw the tree even if it has more than `READABLE` nodes.

    Raises:
        InputError: the forest has no tree with this number.
        RejectedError: a tree of the forest is invalid (see `Forest.verify`).
        LimitError: the tree has more than `READABLE` nodes, and ``force`` is False.

    Example:
        >>> draw_tree(forest("S4", "multiple"), tree=1).startswith("<svg")
        True
    """
    drawn = _Tree(forest, tree)
    nodes = len(drawn.level)
    if nodes > READABLE and not force:
        raise LimitError(
            f"tree {tree} of {forest.id} has {nodes:,} nodes, but a drawing is readable only up to "
            f"{READABLE} nodes",
            hint="draw a tree on S5 or a smaller topology, or add `force` for a very wide drawing",
        )
    leaves = int(forest.leaves[tree])
    summary = f"{nodes} nodes, height {int(forest.heights[tree])}, {leaves} leaves"
    ports = {arc.port for arc in drawn.arcs}
    panel = _boxed_tree(forest, drawn)
    return render(Scene(forest.topology, f"{forest.id}, tree {tree}", [summary], [panel], ports))


def draw_forest(forest: Forest, layout: str | None = None) -> str:
    """Return all trees of a forest side by side as an SVG document, each in its own colour.

    Nodes are dots. Pointing at a node shows its label, and pointing at an edge shows its port.

    Args:
        forest: a forest, which is verified first.
        layout: one of `starcast.drawing.layouts.layouts`, which places a node at the same position
            in all trees. By default, every tree has its root at the top and its levels as rows.

    Raises:
        InputError: the topology does not have this layout.
        RejectedError: a tree of the forest is invalid (see `Forest.verify`).
        LimitError: the trees have more than `MAX_NODES` nodes or, with ``layout``, there are too
            many trees or nodes for a drawing.

    Example:
        >>> draw_forest(forest("S4", "multiple")).startswith("<svg")
        True
    """
    nodes = int(forest.sizes.sum())
    if nodes > MAX_NODES:
        raise LimitError(
            f"the trees of {forest.id} have {nodes:,} nodes, but a drawing of all trees is readable"
            f" only up to {MAX_NODES:,} nodes",
            hint="draw a single tree with `tree`",
        )
    # Notebooks also draw unverified forests. Parent ports that form a cycle would give the nodes no
    # levels.
    forest.verify()
    if layout is not None:
        return draw_trees(forest, range(forest.trees), layout)
    panels = [_dotted_tree(forest, _Tree(forest, tree)) for tree in range(forest.trees)]
    return render(Scene(forest.topology, forest.id, [_summarize(forest)], panels))


def draw_trees(forest: Forest, trees: Iterable[int], layout: str | None = None) -> str:
    """Draw trees on the topology; return an SVG document with a panel for each tree.

    Each panel shows the topology, with the edges of one tree in colour.

    Args:
        forest: a verified forest.
        trees: the numbers of the trees, from 0.
        layout: one of `starcast.drawing.layouts.layouts`; by default the first.

    Raises:
        InputError: the forest has no tree with one of these numbers, or the topology does not have
            this layout.
        LimitError: there are too many trees, or too many nodes in the panels.
        RejectedError: a tree of the forest is invalid (see `Forest.verify`).

    Example:
        >>> draw_trees(forest("S4", "multiple"), [0, 1], "torus").startswith("<svg")
        True
    """
    numbers = list(trees)
    frame = Frame(forest.topology, layout, len(numbers), forest.root)
    panels = []
    for tree in (_Tree(forest, number) for number in numbers):
        strokes = [
            Stroke(frame.curves(arc.parent, arc.child), tree.colour, 1.8, arc.title, arrow=True)
            for arc in tree.arcs
        ]
        # The background comes first, because SVG paints later elements over earlier elements.
        strokes.insert(0, frame.background)
        root = {forest.root: 1.0}
        panels.append(frame.panel(strokes, root, forest.root, tree.caption, tree.colour))
    return render(Scene(forest.topology, forest.id, [_summarize(forest)], panels))


def draw_load(forest: Forest, layout: str | None = None) -> str:
    """Draw the directed links that the trees of a forest use; return an SVG document.

    The width of a link grows with its load, the number of trees that use the link.

    Args:
        forest: a verified forest.
        layout: one of `starcast.drawing.layouts.layouts`; by default the first.

    Raises:
        InputError: the topology does not have this layout.
        LimitError: the topology has too many nodes for a drawing.
        RejectedError: a tree of the forest is invalid (see `Forest.verify`).
    """
    topology = forest.topology
    frame = Frame(topology, layout, 1, forest.root)
    load = forest.load()
    strokes = [frame.background]
    for column, port in enumerate(topology.ports):
        neighbours = topology.neighbours(port)
        for sender in np.flatnonzero(load[:, column]).tolist():
            receiver, count = int(neighbours[sender]), int(load[sender, column])
            width = max(1.0, _MAX_WIDE * count / forest.congestion)
            title = f"{frame.labels[sender]} -{port}-> {frame.labels[receiver]}: load {count}"
            # The strokes for the two directions of a link are shifted apart, because otherwise one
            # stroke would cover the other.
            curves = frame.curves(sender, receiver, shift=1 + width / 2)
            strokes.append(Stroke(curves, ACCENT, width, title))
    histogram = ", ".join(
        f"{count:,} with load {value}" for value, count in forest.load_histogram().items()
    )
    lines = (_summarize(forest), f"directed links: {histogram}")
    panel = frame.panel(strokes, {forest.root: 1.0}, forest.root)
    return render(Scene(topology, forest.id, lines, [panel]))


def _boxed_tree(forest: Forest, tree: _Tree) -> Panel:
    """Draw a tree with boxes for nodes, and with edges in the colours of their ports."""
    width = box_width(max(tree.labels, key=len))
    x = {node: position * (width + GAP) + width / 2 for node, position in tree.x.items()}
    reaches = [0.0] * max(tree.level.values())
    for arc in tree.arcs:
        above = tree.level[arc.parent]
        reaches[above] = max(reaches[above], abs(x[arc.parent] - x[arc.child]))
    rows = row_heights(reaches)
    centers = {node: complex(x[node], rows[tree.level[node]]) for node in x}
    half = complex(0, BOX_HEIGHT / 2)
    strokes = []
    for arc in tree.arcs:
        colour, dashes = style(forest.topology, arc.port)
        line = (centers[arc.parent] + half, centers[arc.child] - half)
        strokes.append(Stroke([line], colour, title=arc.title, dashes=dashes))
    nodes = [
        label_box(
            center, tree.labels[node], is_root=node == forest.root, is_minor=node not in tree.inner
        )._replace(shape=shape_of(forest.topology, node))
        for node, center in centers.items()
    ]
    levels = {y: level for level, y in enumerate(rows)}
    height = rows[-1] + BOX_HEIGHT / 2
    return Panel(strokes, nodes, max(x.values()) + width / 2, height, levels=levels)


def _dotted_tree(forest: Forest, tree: _Tree) -> Panel:
    """Draw a tree in its own colour, with dots for nodes."""
    widest = max(tree.x.values())
    spacing = min(_FAR, max(_NEAR, _WIDE / (widest + 1)))
    centers = {
        node: complex(x * spacing + _DOT, tree.level[node] * _ROW + _DOT)
        for node, x in tree.x.items()
    }
    nodes = []
    for node, center in centers.items():
        dot = Node(center, tree.labels[node], _DOT, fill=PAPER, outline=tree.colour)
        if node == forest.root:
            dot = dot._replace(radius=_DOT + 1, fill=INK, outline=FAINT)
        elif node in tree.inner:
            dot = dot._replace(fill=tree.colour)
        nodes.append(dot._replace(shape=shape_of(forest.topology, node)))
    strokes = [
        Stroke([(centers[arc.parent], centers[arc.child])], tree.colour, 1.2, arc.title)
        for arc in tree.arcs
    ]
    width = max(widest * spacing + 2 * _DOT, CHARACTER * len(tree.caption))
    height = max(tree.level.values()) * _ROW + 2 * _DOT
    return Panel(strokes, nodes, width, height, tree.caption, tree.colour)


def _summarize(forest: Forest) -> str:
    """Return the subtitle of a forest's drawing: the number of trees, height and congestion."""
    trees = pluralize(forest.trees, "tree")
    return f"{trees}, height {forest.height}, congestion {forest.congestion}"
