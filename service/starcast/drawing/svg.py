"""The parts of a drawing: colours of the ports, head, legend, lines and boxes.

The colours are those of Okabe and Ito, which people with any of the usual kinds of colour blindness can tell apart; beyond
seven they come again, dashed. Every node and every line says what it is when one points at it.
"""

from collections.abc import Collection
from typing import NamedTuple
from xml.etree import ElementTree as ET

from starcast.topologies import Topology

#: Most nodes of a drawing that can still be read; S5 has 120.
READABLE = 128

COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#000000")
_DASHES = ("", "6 3", "2 2")
INK, FAINT = "#222222", "#8A8A8A"

CHARACTER = 7.3  # of the labels' font, 12 pixels high
BOX_HEIGHT = 18.0
GAP = 10.0  # between two boxes
MARGIN = 24.0
HEAD = 78.0  # title, subtitle, legend
LEVELS = 34.0  # column of the levels' numbers

_FONT = "'DejaVu Sans Mono', Menlo, Consolas, monospace"
_WORD, _SAMPLE = 80.0, 58.0  # of the legend, and of each dimension in it


class Place(NamedTuple):
    """A point of the drawing, in pixels from its upper left corner."""

    x: float
    y: float


def style(topology: Topology, port: int) -> tuple[str, str]:
    """The colour of a port and its dashes, "" for none."""
    number = topology.ports.index(port)
    return COLOURS[number % len(COLOURS)], _DASHES[number // len(COLOURS) % len(_DASHES)]


def document(title: str, width: float, height: float) -> ET.Element:
    """An empty drawing of this size, in pixels, which is called by its title."""
    box = " ".join(["0 0", *(_number(value) for value in (width, height))])
    svg = element(
        None, "svg", xmlns="http://www.w3.org/2000/svg", width=width, height=height, viewBox=box
    )
    svg.set("role", "img")
    svg.set("font-family", _FONT)
    element(svg, "title").text = title
    element(svg, "rect", width=width, height=height, fill="#FFFFFF")
    return svg


def text_of(svg: ET.Element) -> str:
    """The document, a line an element."""
    ET.indent(svg, " ")
    return ET.tostring(svg, encoding="unicode") + "\n"


def head(svg: ET.Element, title: str, *lines: str) -> None:
    """The title, and lines below it."""
    element(
        svg, "text", x=MARGIN, y=MARGIN + 14, font_size=15, font_weight="bold", fill=INK
    ).text = title
    for number, line in enumerate(lines):
        element(
            svg, "text", x=MARGIN, y=MARGIN + 34 + 18 * number, font_size=12, fill=INK
        ).text = line


def head_width(title: str, *lines: str) -> float:
    """What `head` needs."""
    return max(1.25 * CHARACTER * len(title), *(CHARACTER * len(line) for line in lines), 0.0)


def legend(
    svg: ET.Element, topology: Topology, ports: Collection[int], y: float = MARGIN + 56
) -> None:
    """Every port that occurs, with its colour."""
    word = "port" if topology.family == "nk-star" else "dimension"
    element(svg, "text", x=MARGIN, y=y + 4, font_size=12, fill=INK).text = word
    for number, port in enumerate(port for port in topology.ports if port in ports):
        x = MARGIN + _WORD + number * _SAMPLE
        line(svg, Place(x, y), Place(x + 24, y), *style(topology, port))
        element(svg, "text", x=x + 30, y=y + 4, font_size=12, fill=INK).text = str(port)


def legend_width(ports: Collection[int]) -> float:
    """What `legend` needs."""
    return _WORD + _SAMPLE * len(ports)


def line(svg: ET.Element, start: Place, end: Place, colour: str, dashes: str) -> ET.Element:
    """A line of two pixels."""
    drawn = element(
        svg, "line", x1=start.x, y1=start.y, x2=end.x, y2=end.y, stroke=colour, stroke_width=2
    )
    if dashes:
        drawn.set("stroke-dasharray", dashes)
    return drawn


def rows(svg: ET.Element, numbers: dict[float, int], width: float) -> None:
    """A faint line and a number for every level, by the height of its row."""
    for y, level in numbers.items():
        element(
            svg,
            "line",
            x1=MARGIN + 22,
            y1=y,
            x2=width - MARGIN,
            y2=y,
            stroke="#EEEEEE",
            stroke_width=1,
        )
        element(
            svg, "text", x=MARGIN + 16, y=y + 4, font_size=11, fill=FAINT, text_anchor="end"
        ).text = str(level)


def box(svg: ET.Element, place: Place, label: str, *, dark: bool, faint: bool) -> None:
    """The box of a node, its middle in this place: dark is the one that all is seen from, faint what leads nowhere."""
    width = CHARACTER * len(label) + 8
    fill = INK if dark else "#F3F3F3" if faint else "#FFFFFF"
    edges = {
        "x": place.x - width / 2,
        "y": place.y - BOX_HEIGHT / 2,
        "width": width,
        "height": BOX_HEIGHT,
        "rx": 4,
    }
    element(
        svg, "rect", **edges, fill=fill, stroke=FAINT if faint and not dark else INK, stroke_width=1
    )
    colour = "#FFFFFF" if dark else INK
    element(
        svg, "text", x=place.x, y=place.y + 4.2, font_size=12, fill=colour, text_anchor="middle"
    ).text = label


def box_width(topology: Topology) -> float:
    """The width of the box of a node."""
    return CHARACTER * len(topology.label(0)) + 8


def element(parent: ET.Element | None, tag: str, **attributes: float | str) -> ET.Element:
    """An element with these attributes, in which ``_`` stands for ``-``."""
    written = {
        name.replace("_", "-"): value if isinstance(value, str) else _number(value)
        for name, value in attributes.items()
    }
    return ET.Element(tag, written) if parent is None else ET.SubElement(parent, tag, written)


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
