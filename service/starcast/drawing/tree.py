"""A tree by levels, the root on top, each edge in the colour of its dimension."""

from itertools import accumulate
from xml.etree import ElementTree as ET

from starcast.drawing import svg as parts
from starcast.drawing.svg import BOX_HEIGHT, GAP, HEAD, LEVELS, MARGIN, READABLE, Place
from starcast.errors import LimitError
from starcast.topologies import Topology
from starcast.trees import Forest
from starcast.trees.edges import Edges, edges_of
from starcast.trees.layout import tidy

_LOWEST_ROW, _HIGHEST_ROW, _SLOPE = 46.0, 160.0, 0.16


def draw(forest: Forest, tree: int = 0, force: bool = False) -> str:
    """A tree of a forest as an SVG document.

    Args:
        forest: proved, as every forest of a construction is.
        tree: its number, from 0.
        force: draw it even if nobody can read it.

    Raises:
        InputError: there is no such tree.
        RejectedError: the array is no forest.
        LimitError: the tree has more than `READABLE` nodes, and force was not asked for.
    """
    edges = edges_of(forest, tree)
    nodes = len(edges.child) + 1
    if nodes > READABLE and not force:
        raise LimitError(
            f"tree {tree} of {forest.id} has {nodes:,} nodes, and a drawing can be read up to {READABLE}",
            hint="draw it on S5 or smaller, or add --force (force=True) for a very wide picture",
        )
    places = _placed(forest, edges)
    title, used = f"{forest.id}, tree {tree}", set(edges.port.tolist())
    tree_width = max(x for x, _ in places.values()) + parts.box_width(forest.topology) / 2
    inside = max(
        LEVELS + tree_width, parts.head_width(title), parts.legend_width(forest.topology.ports)
    )
    left = MARGIN + LEVELS + (inside - LEVELS - tree_width) / 2
    places = {node: Place(left + x, MARGIN + HEAD + y) for node, (x, y) in places.items()}
    width, height = (
        inside + 2 * MARGIN,
        max(y for _, y in places.values()) + BOX_HEIGHT / 2 + MARGIN,
    )
    svg = parts.document(title, width, height)
    parts.head(svg, title, _summary(forest, edges, tree))
    parts.legend(svg, forest.topology, used)
    parts.rows(
        svg,
        {y: level for level, y in enumerate(sorted({place.y for place in places.values()}))},
        width,
    )
    _links(svg, forest.topology, edges, places)
    _boxes(svg, forest, edges, places)
    return parts.text_of(svg)


def _placed(forest: Forest, edges: Edges) -> dict[int, Place]:
    """The middle of every node's box; the leftmost box begins at 0, and so does the first row."""
    children: dict[int, list[int]] = {}
    order = sorted(
        zip(edges.parent.tolist(), edges.port.tolist(), edges.child.tolist(), strict=True)
    )
    for parent, _, child in order:
        children.setdefault(parent, []).append(child)
    width = parts.box_width(forest.topology)
    x = {
        node: place * (width + GAP) + width / 2
        for node, place in tidy(forest.root, children).items()
    }
    level = dict(zip(edges.child.tolist(), edges.level.tolist(), strict=True)) | {forest.root: 0}
    rise = [0.0] * (
        max(level.values()) + 1
    )  # from the row above: wide edges need height, so that they can be told apart
    for parent, _, child in order:
        rise[level[child]] = max(
            rise[level[child]], _LOWEST_ROW, _SLOPE * abs(x[parent] - x[child])
        )
    rows = list(accumulate(min(height, _HIGHEST_ROW) for height in rise))
    return {node: Place(x[node], rows[level[node]] + BOX_HEIGHT / 2) for node in x}


def _summary(forest: Forest, edges: Edges, tree: int) -> str:
    leaves = int(forest.leaves[tree])
    return f"{len(edges.child) + 1} nodes, height {int(forest.heights[tree])}, {leaves} leaves"


def _links(svg: ET.Element, topology: Topology, edges: Edges, places: dict[int, Place]) -> None:
    labels = dict(zip(places, topology.labels(list(places)).tolist(), strict=True))
    for parent, child, port in zip(
        edges.parent.tolist(), edges.child.tolist(), edges.port.tolist(), strict=True
    ):
        start, end = places[parent], places[child]
        bottom = Place(start.x, start.y + BOX_HEIGHT / 2)
        line = parts.line(
            svg, bottom, Place(end.x, end.y - BOX_HEIGHT / 2), *parts.style(topology, port)
        )
        parts.element(line, "title").text = f"{labels[parent]} -{port}-> {labels[child]}"


def _boxes(svg: ET.Element, forest: Forest, edges: Edges, places: dict[int, Place]) -> None:
    inner = set(edges.parent.tolist())
    for (node, place), label in zip(
        places.items(), forest.topology.labels(list(places)).tolist(), strict=True
    ):
        parts.box(svg, place, label, dark=node == forest.root, faint=node not in inner)
