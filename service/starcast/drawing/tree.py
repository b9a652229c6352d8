"""A tree by levels, with the root at the top and each edge in the colour of its dimension."""

from itertools import accumulate
from xml.etree import ElementTree as ET

from starcast.drawing import svg as parts
from starcast.drawing.layouts.tidy_tree import tidy_layout
from starcast.drawing.svg import BOX_HEIGHT, GAP, HEAD, LEVELS, MARGIN, READABLE, Place
from starcast.errors import LimitError
from starcast.topologies import Topology
from starcast.trees import Forest
from starcast.trees.edges import Edges, edges_of

_LOWEST_ROW, _HIGHEST_ROW, _SLOPE = 46.0, 160.0, 0.16


def draw(forest: Forest, tree: int = 0, force: bool = False) -> str:
    """Return a tree of a forest as an SVG document.

    Args:
        forest: a verified forest; those of all constructions are.
        tree: the number of the tree, from 0.
        force: whether to draw trees of more than `READABLE` nodes.

    Raises:
        InputError: the forest has no such tree.
        RejectedError: the array is not a forest.
        LimitError: the tree has more than `READABLE` nodes, and ``force`` is False.

    Example:
        >>> draw(forest("S4", "multiple"), tree=1).startswith("<svg")
        True
    """
    edges = edges_of(forest, tree)
    nodes = len(edges.child) + 1
    if nodes > READABLE and not force:
        raise LimitError(
            f"tree {tree} of {forest.id} has {nodes:,} nodes, and a drawing is readable up to "
            f"{READABLE}",
            hint="draw it on S5 or smaller, or add --force (force=True) for a very wide picture",
        )
    places = _place(forest, edges)
    title, ports = f"{forest.id}, tree {tree}", set(edges.port.tolist())
    tree_width = max(x for x, _ in places.values()) + parts.box_width(forest.topology) / 2
    inside = max(
        LEVELS + tree_width, parts.head_width(title), parts.legend_width(forest.topology.ports)
    )
    left = MARGIN + LEVELS + (inside - LEVELS - tree_width) / 2
    places = {node: Place(left + x, MARGIN + HEAD + y) for node, (x, y) in places.items()}
    width = inside + 2 * MARGIN
    height = max(y for _, y in places.values()) + BOX_HEIGHT / 2 + MARGIN
    rows = sorted({place.y for place in places.values()})
    svg = parts.document(title, width, height)
    parts.head(svg, title, _summary(forest, edges, tree))
    parts.legend(svg, forest.topology, ports)
    parts.rows(svg, {y: level for level, y in enumerate(rows)}, width)
    _draw_links(svg, forest.topology, edges, places)
    _draw_boxes(svg, forest, edges, places)
    return parts.text_of(svg)


def _place(forest: Forest, edges: Edges) -> dict[int, Place]:
    """Return the centre of every node's box; the leftmost box and the first row begin at 0."""
    children: dict[int, list[int]] = {}
    columns = (edges.parent.tolist(), edges.port.tolist(), edges.child.tolist())
    order = sorted(zip(*columns, strict=True))
    for parent, _, child in order:
        children.setdefault(parent, []).append(child)
    width = parts.box_width(forest.topology)
    positions = tidy_layout(forest.root, children)
    x = {node: position * (width + GAP) + width / 2 for node, position in positions.items()}
    level = dict(zip(edges.child.tolist(), edges.level.tolist(), strict=True)) | {forest.root: 0}
    # The distance of each row from the row above. Wide edges need height: slopes tell them apart.
    rise = [0.0] * (max(level.values()) + 1)
    for parent, _, child in order:
        slope = _SLOPE * abs(x[parent] - x[child])
        rise[level[child]] = max(rise[level[child]], _LOWEST_ROW, slope)
    rows = list(accumulate(min(height, _HIGHEST_ROW) for height in rise))
    return {node: Place(x[node], rows[level[node]] + BOX_HEIGHT / 2) for node in x}


def _summary(forest: Forest, edges: Edges, tree: int) -> str:
    leaves = int(forest.leaves[tree])
    return f"{len(edges.child) + 1} nodes, height {int(forest.heights[tree])}, {leaves} leaves"


def _draw_links(
    svg: ET.Element, topology: Topology, edges: Edges, places: dict[int, Place]
) -> None:
    labels = dict(zip(places, topology.labels(list(places)).tolist(), strict=True))
    columns = (edges.parent.tolist(), edges.child.tolist(), edges.port.tolist())
    for parent, child, port in zip(*columns, strict=True):
        start = Place(places[parent].x, places[parent].y + BOX_HEIGHT / 2)
        end = Place(places[child].x, places[child].y - BOX_HEIGHT / 2)
        line = parts.line(svg, start, end, *parts.style(topology, port))
        parts.element(line, "title").text = f"{labels[parent]} -{port}-> {labels[child]}"


def _draw_boxes(svg: ET.Element, forest: Forest, edges: Edges, places: dict[int, Place]) -> None:
    inner = set(edges.parent.tolist())
    labels = forest.topology.labels(list(places)).tolist()
    for (node, place), label in zip(places.items(), labels, strict=True):
        parts.box(svg, place, label, dark=node == forest.root, faint=node not in inner)
