"""All trees of a forest side by side, each in its own colour, with a dot for each node."""

from collections.abc import Iterator
from typing import NamedTuple
from xml.etree import ElementTree as ET

from starcast.drawing import svg as parts
from starcast.drawing.forest_on_network import draw_trees, summarize
from starcast.drawing.layouts.tidy_tree import tidy_layout
from starcast.drawing.svg import COLOURS, FAINT, INK, MARGIN, PAPER, Place
from starcast.errors import LimitError
from starcast.trees import Forest
from starcast.trees.edges import Edges, edges_of

#: The greatest number of nodes of all trees together; S5 with its n-1 trees has 480.
MOST_NODES = 2_048

_HEAD, _CAPTION = 58.0, 26.0  # the title with a line below it; the line above a tree
_ROW, _DOT = 22.0, 2.6  # distance of two levels; radius of a node
_NEAR, _FAR = 7.0, 16.0  # distance of two nodes of a level, in large and in small trees
_WIDEST = 900.0  # trees are wrapped into rows of this width
_GAP = 30.0  # between two trees


class _Panel(NamedTuple):
    """A tree with the positions of its nodes, from the upper left corner of its panel."""

    tree: int
    edges: Edges
    places: dict[int, Place]
    width: float
    height: float


def draw_forest(forest: Forest, layout: str | None = None) -> str:
    """Return all trees of a forest side by side as an SVG document, each in its own colour.

    Nodes are dots. A node shows its label, and an edge its port, when a pointer is over it.

    Args:
        forest: a forest; it is not trusted.
        layout: one of `starcast.drawing.layouts.layouts`, in which all trees have the nodes in
            the same places; by default every tree has its root at the top and its levels as rows.

    Raises:
        InputError: the topology has no such layout.
        RejectedError: the array is not a forest.
        LimitError: the trees have more than `MOST_NODES` nodes together.

    Example:
        >>> draw_forest(forest("S4", "multiple")).startswith("<svg")
        True
    """
    nodes = forest.trees * forest.topology.nodes
    if nodes > MOST_NODES:
        raise LimitError(
            f"the trees of {forest.id} have {nodes:,} nodes, and a drawing of all trees is readable"
            f" up to {MOST_NODES:,}",
            hint="draw a single tree: starcast forest draw --tree 0",
        )
    forest.verify()
    if layout is not None:
        return draw_trees(forest, range(forest.trees), layout)
    panels = [_lay_out(forest, tree) for tree in range(forest.trees)]
    corners, width, height = _wrap(panels)
    summary = summarize(forest)
    width = max(width, parts.head_width(forest.id, summary))
    svg = parts.document(forest.id, width + 2 * MARGIN, height + _HEAD + 2 * MARGIN)
    parts.head(svg, forest.id, summary)
    labels = forest.topology.labels().tolist()
    for panel, corner in zip(panels, corners, strict=True):
        _draw_tree(svg, forest, panel, corner, labels)
    return parts.text_of(svg)


def _lay_out(forest: Forest, tree: int) -> _Panel:
    edges = edges_of(forest, tree)
    children: dict[int, list[int]] = {}
    for parent, child in zip(edges.parent.tolist(), edges.child.tolist(), strict=True):
        children.setdefault(parent, []).append(child)
    positions = tidy_layout(forest.root, children)
    widest = max(positions.values())
    spacing = min(_FAR, max(_NEAR, _WIDEST / 4 / (widest + 1)))
    levels = dict(zip(edges.child.tolist(), edges.level.tolist(), strict=True)) | {forest.root: 0}
    places = {
        node: Place(x * spacing, _CAPTION + levels[node] * _ROW) for node, x in positions.items()
    }
    caption = parts.CHARACTER * len(_caption(forest, tree))
    height = _CAPTION + max(levels.values()) * _ROW + _DOT
    return _Panel(tree, edges, places, max(widest * spacing, caption), height)


def _wrap(panels: list[_Panel]) -> tuple[list[Place], float, float]:
    """Return the upper left corner of each panel, and the size of all together."""
    corners = []
    x = y = width = row_height = 0.0
    for panel in panels:
        if x and x + panel.width > _WIDEST:
            x, y, row_height = 0.0, y + row_height + _GAP, 0.0
        corners.append(Place(MARGIN + x, MARGIN + _HEAD + y))
        x += panel.width + _GAP
        width, row_height = max(width, x - _GAP), max(row_height, panel.height)
    return corners, width, y + row_height


def _caption(forest: Forest, tree: int) -> str:
    return f"tree {tree}: height {int(forest.heights[tree])}"


def _draw_tree(
    svg: ET.Element, forest: Forest, panel: _Panel, corner: Place, labels: list[str]
) -> None:
    colour = COLOURS[panel.tree % len(COLOURS)]
    caption = _caption(forest, panel.tree)
    parts.element(
        svg, "text", x=corner.x, y=corner.y + 6, font_size=12, font_weight="bold", fill=colour
    ).text = caption
    places = {
        node: Place(corner.x + place.x, corner.y + place.y) for node, place in panel.places.items()
    }
    for parent, child, port in _columns(panel.edges):
        line = parts.element(
            svg, "line",
            x1=places[parent].x, y1=places[parent].y, x2=places[child].x, y2=places[child].y,
            stroke=colour, stroke_width=1.2,
        )  # fmt: skip
        parts.element(line, "title").text = f"{labels[parent]} -{port}-> {labels[child]}"
    inner = set(panel.edges.parent.tolist())
    for node, place in places.items():
        is_root = node == forest.root
        fill = INK if is_root else colour if node in inner else PAPER
        dot = parts.element(
            svg, "circle", cx=place.x, cy=place.y, r=_DOT + (1 if is_root else 0), fill=fill,
            stroke=FAINT if is_root else colour, stroke_width=1,
        )  # fmt: skip
        parts.element(dot, "title").text = labels[node]


def _columns(edges: Edges) -> Iterator[tuple[int, int, int]]:
    columns = (edges.parent.tolist(), edges.child.tolist(), edges.port.tolist())
    return zip(*columns, strict=True)
