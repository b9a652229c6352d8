"""The elements of a drawing: colours of the ports, head, legend, lines and boxes.

The colours are those of Okabe and Ito, which people with the common kinds of colour blindness can
distinguish; from the eighth port on they are repeated with dashes. Every node and every line shows
its name when a pointer is over it.
"""

from collections.abc import Collection
from typing import NamedTuple
from xml.etree import ElementTree as ET

from starcast.topologies import Topology

#: The greatest number of nodes in a readable drawing; S5 has 120.
READABLE = 128

COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#000000")
_DASHES = ("", "6 3", "2 2")
INK, FAINT, PAPER = "#222222", "#8A8A8A", "#FFFFFF"
#: Colours of a dark page, by those of a light one; all other colours are legible on both.
_DARK = {
    PAPER: "#12161C",
    INK: "#E6E9EE",
    FAINT: "#A3ADBA",
    "#000000": "#E6E9EE",
    "#0072B2": "#58A6E0",
    "#D0D7DE": "#343D49",
    "#EEEEEE": "#2A323C",
    "#F3F3F3": "#1B212A",
}

CHARACTER = 7.3  # width in the labels' font, 12 pixels high
BOX_HEIGHT = 18.0
GAP = 10.0  # between two boxes
MARGIN = 24.0
HEAD = 78.0  # title, subtitle, legend
LEVELS = 34.0  # width of the column of level numbers

_FONT = "'DejaVu Sans Mono', Menlo, Consolas, monospace"
_WORD, _SAMPLE = 80.0, 58.0  # widths in the legend: its title, and each port


class Place(NamedTuple):
    """A point of the drawing, in pixels from the upper left corner."""

    x: float
    y: float


def style(topology: Topology, port: int) -> tuple[str, str]:
    """Return the colour of a port and its dash pattern, "" for none."""
    number = topology.ports.index(port)
    return COLOURS[number % len(COLOURS)], _DASHES[number // len(COLOURS) % len(_DASHES)]


def document(title: str, width: float, height: float) -> ET.Element:
    """Return an empty drawing with a title, of a size in pixels."""
    box = " ".join(["0 0", *(_number(value) for value in (width, height))])
    svg = element(
        None, "svg", xmlns="http://www.w3.org/2000/svg", width=width, height=height, viewBox=box
    )
    svg.set("role", "img")
    svg.set("class", "starcast")
    svg.set("font-family", _FONT)
    element(svg, "title").text = title
    element(svg, "style").text = _style()
    element(svg, "rect", width=width, height=height, fill=PAPER)
    return svg


def _style() -> str:
    """Return the rules by which a picture fits a narrow page and follows the dark mode."""
    rules = [
        f'.starcast [{name}="{light}"] {{ {name}: {dark}; }}'
        for light, dark in _DARK.items()
        for name in ("fill", "stroke")
    ]
    fit = ".starcast { max-width: 100%; height: auto; }"
    return f"{fit} @media screen and (prefers-color-scheme: dark) {{ {' '.join(rules)} }}"


def text_of(svg: ET.Element) -> str:
    """Return the document as text, one line per element."""
    ET.indent(svg, " ")
    return ET.tostring(svg, encoding="unicode") + "\n"


def head(svg: ET.Element, title: str, *lines: str) -> None:
    """Write the title, and lines below it."""
    y = MARGIN + 14
    element(svg, "text", x=MARGIN, y=y, font_size=15, font_weight="bold", fill=INK).text = title
    for number, line in enumerate(lines):
        y = MARGIN + 34 + 18 * number
        element(svg, "text", x=MARGIN, y=y, font_size=12, fill=INK).text = line


def head_width(title: str, *lines: str) -> float:
    """Return the width that `head` needs."""
    return max(1.25 * CHARACTER * len(title), *(CHARACTER * len(line) for line in lines), 0.0)


def legend(
    svg: ET.Element, topology: Topology, ports: Collection[int], y: float = MARGIN + 56
) -> None:
    """Write the ports that occur, with their colours."""
    word = "port" if topology.family == "nk-star" else "dimension"
    element(svg, "text", x=MARGIN, y=y + 4, font_size=12, fill=INK).text = word
    for number, port in enumerate(port for port in topology.ports if port in ports):
        x = MARGIN + _WORD + number * _SAMPLE
        line(svg, Place(x, y), Place(x + 24, y), *style(topology, port))
        element(svg, "text", x=x + 30, y=y + 4, font_size=12, fill=INK).text = str(port)


def legend_width(ports: Collection[int]) -> float:
    """Return the width that `legend` needs."""
    return _WORD + _SAMPLE * len(ports)


def line(svg: ET.Element, start: Place, end: Place, colour: str, dashes: str) -> ET.Element:
    """Draw a line of two pixels, and return it."""
    stroke = element(
        svg, "line", x1=start.x, y1=start.y, x2=end.x, y2=end.y, stroke=colour, stroke_width=2
    )
    if dashes:
        stroke.set("stroke-dasharray", dashes)
    return stroke


def rows(svg: ET.Element, numbers: dict[float, int], width: float) -> None:
    """Draw a faint line and a number for every level, by the vertical position of its row."""
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
    """Draw the box of a node around a place, dark for a root or source, faint for minor nodes."""
    width = CHARACTER * len(label) + 8
    light = "#F3F3F3" if faint else "#FFFFFF"
    edges = {
        "x": place.x - width / 2,
        "y": place.y - BOX_HEIGHT / 2,
        "width": width,
        "height": BOX_HEIGHT,
        "rx": 4,
    }
    element(
        svg,
        "rect",
        **edges,
        fill=INK if dark else light,
        stroke=FAINT if faint and not dark else INK,
        stroke_width=1,
    )
    colour = "#FFFFFF" if dark else INK
    element(
        svg, "text", x=place.x, y=place.y + 4.2, font_size=12, fill=colour, text_anchor="middle"
    ).text = label


def box_width(topology: Topology) -> float:
    """Return the width of the box of a node."""
    return CHARACTER * len(topology.label(0)) + 8


def element(parent: ET.Element | None, tag: str, **attributes: float | str) -> ET.Element:
    """Add an element with attributes, whose names have ``_`` for ``-``, and return it."""
    values = {
        name.replace("_", "-"): value if isinstance(value, str) else _number(value)
        for name, value in attributes.items()
    }
    return ET.Element(tag, values) if parent is None else ET.SubElement(parent, tag, values)


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
