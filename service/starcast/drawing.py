"""A tree as a picture: SVG, by levels, the root on top, each edge in the colour of its dimension.

The colours are those of Okabe and Ito, which people with any of the usual kinds of colour blindness can tell apart; beyond
seven they come again, dashed. Every node and every edge says what it is when one points at it.
"""

from itertools import accumulate
from typing import NamedTuple
from xml.etree import ElementTree as ET

from starcast.errors import LimitError
from starcast.topologies import Topology
from starcast.trees import Forest
from starcast.trees.edges import Edges, edges_of
from starcast.trees.layout import tidy

#: Most nodes of a tree that can still be read; S5 has 120.
READABLE = 128

COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#000000")
_DASHES = ("", "6 3", "2 2")
_INK, _FAINT = "#222222", "#8A8A8A"

_CHARACTER = 7.3  # of the labels' font, 12 pixels high
_FONT = "'DejaVu Sans Mono', Menlo, Consolas, monospace"
_BOX_HEIGHT = 18.0
_GAP = 10.0  # between two boxes
_MARGIN = 24.0
_HEAD = 78.0  # title, subtitle, legend
_LEVELS = 34.0  # column of the levels' numbers
_WORD, _SAMPLE = 80.0, 58.0  # of the legend, and of each dimension in it
_LOWEST_ROW, _HIGHEST_ROW, _SLOPE = 46.0, 160.0, 0.16


class _Place(NamedTuple):
    x: float
    y: float


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
    title = f"{forest.id}, tree {tree}"
    tree_width = max(x for x, _ in places.values()) + _box_width(forest) / 2
    inside = max(_LEVELS + tree_width, 1.25 * _CHARACTER * len(title), _WORD + _SAMPLE * len(forest.topology.ports))
    left = _MARGIN + _LEVELS + (inside - _LEVELS - tree_width) / 2
    places = {node: _Place(left + x, _MARGIN + _HEAD + y) for node, (x, y) in places.items()}
    width, height = inside + 2 * _MARGIN, max(y for _, y in places.values()) + _BOX_HEIGHT / 2 + _MARGIN
    svg = _element(None, "svg", xmlns="http://www.w3.org/2000/svg", width=width, height=height, viewBox=_box(width, height))
    svg.set("role", "img")
    svg.set("font-family", _FONT)
    _element(svg, "title").text = title
    _element(svg, "rect", width=width, height=height, fill="#FFFFFF")
    _head(svg, title, _summary(forest, edges, tree))
    _legend(svg, forest.topology, edges)
    _rows(svg, places, width)
    _links(svg, forest.topology, edges, places)
    _boxes(svg, forest, edges, places)
    ET.indent(svg, " ")
    return ET.tostring(svg, encoding="unicode") + "\n"


def style(topology: Topology, port: int) -> tuple[str, str]:
    """The colour of a port and its dashes, "" for none."""
    number = topology.ports.index(port)
    return COLOURS[number % len(COLOURS)], _DASHES[number // len(COLOURS) % len(_DASHES)]


def _placed(forest: Forest, edges: Edges) -> dict[int, _Place]:
    """The middle of every node's box; the leftmost box begins at 0, and so does the first row."""
    children: dict[int, list[int]] = {}
    order = sorted(zip(edges.parent.tolist(), edges.port.tolist(), edges.child.tolist(), strict=True))
    for parent, _, child in order:
        children.setdefault(parent, []).append(child)
    slot = _box_width(forest) + _GAP
    x = {node: place * slot + _box_width(forest) / 2 for node, place in tidy(forest.root, children).items()}
    level = dict(zip(edges.child.tolist(), edges.level.tolist(), strict=True)) | {forest.root: 0}
    rise = [0.0] * (max(level.values()) + 1)  # from the row above: wide edges need height, so that they can be told apart
    for parent, _, child in order:
        rise[level[child]] = max(rise[level[child]], _LOWEST_ROW, _SLOPE * abs(x[parent] - x[child]))
    rows = list(accumulate(min(height, _HIGHEST_ROW) for height in rise))
    return {node: _Place(x[node], rows[level[node]] + _BOX_HEIGHT / 2) for node in x}


def _summary(forest: Forest, edges: Edges, tree: int) -> str:
    leaves = int(forest.leaves[tree])
    return f"{len(edges.child) + 1} nodes, height {int(forest.heights[tree])}, {leaves} leaves"


def _head(svg: ET.Element, title: str, summary: str) -> None:
    _element(svg, "text", x=_MARGIN, y=_MARGIN + 14, font_size=15, font_weight="bold", fill=_INK).text = title
    _element(svg, "text", x=_MARGIN, y=_MARGIN + 34, font_size=12, fill=_INK).text = summary


def _legend(svg: ET.Element, topology: Topology, edges: Edges) -> None:
    """Every port that occurs, with its colour."""
    y = _MARGIN + 56
    word = "port" if topology.family == "nk-star" else "dimension"
    _element(svg, "text", x=_MARGIN, y=y + 4, font_size=12, fill=_INK).text = word
    used = set(edges.port.tolist())
    for number, port in enumerate(port for port in topology.ports if port in used):
        x = _MARGIN + _WORD + number * _SAMPLE
        _line(svg, _Place(x, y), _Place(x + 24, y), *style(topology, port))
        _element(svg, "text", x=x + 30, y=y + 4, font_size=12, fill=_INK).text = str(port)


def _rows(svg: ET.Element, places: dict[int, _Place], width: float) -> None:
    """A faint line and a number for every level."""
    heights = sorted({place.y for place in places.values()})
    for level, y in enumerate(heights):
        _element(svg, "line", x1=_MARGIN + 22, y1=y, x2=width - _MARGIN, y2=y, stroke="#EEEEEE", stroke_width=1)
        _element(svg, "text", x=_MARGIN + 16, y=y + 4, font_size=11, fill=_FAINT, text_anchor="end").text = str(level)


def _links(svg: ET.Element, topology: Topology, edges: Edges, places: dict[int, _Place]) -> None:
    labels = dict(zip(places, topology.labels(list(places)).tolist(), strict=True))
    for parent, child, port in zip(edges.parent.tolist(), edges.child.tolist(), edges.port.tolist(), strict=True):
        start, end = places[parent], places[child]
        bottom = _Place(start.x, start.y + _BOX_HEIGHT / 2)
        line = _line(svg, bottom, _Place(end.x, end.y - _BOX_HEIGHT / 2), *style(topology, port))
        _element(line, "title").text = f"{labels[parent]} -{port}-> {labels[child]}"


def _boxes(svg: ET.Element, forest: Forest, edges: Edges, places: dict[int, _Place]) -> None:
    inner = set(edges.parent.tolist())
    width = _box_width(forest)
    for (node, (x, y)), label in zip(places.items(), forest.topology.labels(list(places)).tolist(), strict=True):
        root = node == forest.root
        box = {"x": x - width / 2, "y": y - _BOX_HEIGHT / 2, "width": width, "height": _BOX_HEIGHT, "rx": 4}
        fill = _INK if root else "#FFFFFF" if node in inner else "#F3F3F3"
        _element(svg, "rect", **box, fill=fill, stroke=_INK if root or node in inner else _FAINT, stroke_width=1)
        colour = "#FFFFFF" if root else _INK
        _element(svg, "text", x=x, y=y + 4.2, font_size=12, fill=colour, text_anchor="middle").text = label


def _line(svg: ET.Element, start: _Place, end: _Place, colour: str, dashes: str) -> ET.Element:
    line = _element(svg, "line", x1=start.x, y1=start.y, x2=end.x, y2=end.y, stroke=colour, stroke_width=2)
    if dashes:
        line.set("stroke-dasharray", dashes)
    return line


def _box_width(forest: Forest) -> float:
    return _CHARACTER * len(forest.topology.label(forest.root)) + 8


def _box(*size: float) -> str:
    return " ".join(["0 0", *(_number(value) for value in size)])


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _element(parent: ET.Element | None, tag: str, **attributes: float | str) -> ET.Element:
    written = {
        name.replace("_", "-"): value if isinstance(value, str) else _number(value) for name, value in attributes.items()
    }
    return ET.Element(tag, written) if parent is None else ET.SubElement(parent, tag, written)
