"""The contents of a drawing (nodes, strokes, panels), and its rendering as SVG, PNG and PDF.

A position is a complex number in pixels: the real part to the right, the imaginary part downwards.
The colours of ports are the palette of Okabe and Ito, which people with the common kinds of colour
blindness can distinguish. From the eighth port on, the colours are repeated with dashed lines. The
SVG documents adapt to dark mode and to narrow pages.
"""

import re
import tempfile
from collections.abc import Collection, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from types import MappingProxyType
from typing import Literal, NamedTuple
from xml.etree import ElementTree as ET

import numpy as np

from starcast.support.errors import InputError, escape
from starcast.support.installation import install_command
from starcast.topologies import Topology
from starcast.topologies.cayley import CayleyGraph

#: Maximum number of nodes in a readable drawing with labels; S5 has 120 nodes.
READABLE = 128

BLACK = "#000000"
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", BLACK)
_DASHES = ("", "6 3", "2 2")
INK, FAINT, PAPER = "#222222", "#8A8A8A", "#FFFFFF"
#: `LINE` is the colour of idle links. `ACCENT` is the colour of nodes that are shaded by their
#: number of units, and of links whose width shows their load.
LINE, ACCENT = "#D0D7DE", "#0072B2"

#: Width of a character in pixels; labels have a font of 12 pixels.
CHARACTER = 7.3
BOX_HEIGHT = 18.0
#: Distance between two boxes in a row, in pixels.
GAP = 10.0
#: Minimum and maximum distance in pixels between rows of boxes, and the intended slope of links.
_LOWEST_ROW, _HIGHEST_ROW, _SLOPE = 56.0, 150.0, 0.2

#: A straight line, given by its two ends, or a quadratic curve, given by its start, control point
#: and end.
StrokeCurve = tuple[complex, ...]


class Node(NamedTuple):
    """A node, drawn as a box around its label, or as a dot whose label appears on hovering.

    Attributes:
        center: the position of the node.
        label: the label of the node.
        radius: the radius of a dot; 0 for a box.
        width: the width of a box; 0 for a width that fits the label.
        fill: the colour inside; "none" for a label without a box.
        opacity: the opacity of the fill, from 0 to 1.
        outline: the colour of the outline, or "none".
        outline_width: the width of the outline in pixels.
        ink: the colour of the label.
        title: the text that appears on hovering, instead of the label.
        shape: "square" for a switch, "round" for an endpoint of a topology with switches, or "" in
            a topology without switches.
    """

    center: complex
    label: str
    radius: float = 0.0
    width: float = 0.0
    fill: str = PAPER
    opacity: float = 1.0
    outline: str = INK
    outline_width: float = 1.0
    ink: str = INK
    title: str = ""
    shape: str = ""

    @property
    def half(self) -> complex:
        """Half the node's width and height, as a complex number."""
        if self.radius:
            return complex(self.radius, self.radius)
        return complex((self.width or box_width(self.label)) / 2, BOX_HEIGHT / 2)

    def border(self, inside: complex, towards: complex) -> complex:
        """Return the end point of a line to the node, one pixel outside the node's outline.

        Args:
            inside: the point inside the node at which the line would end.
            towards: the point from which the line comes.
        """
        way = towards - inside
        reach = self.half + 1 + 1j
        if self.radius:
            share = reach.real / (abs(way) or 1.0)
        else:
            sides = ((reach.real, abs(way.real)), (reach.imag, abs(way.imag)))
            share = min(size / part if part else 1.0 for size, part in sides)
        return inside + min(share, 1.0) * way


class Stroke(NamedTuple):
    """A line along one link, or along several links that look the same.

    Attributes:
        curves: the pieces of the line.
        colour: the colour of the line.
        width: the width in pixels.
        title: the text that appears on hovering, if any.
        arrow: whether the last curve ends in an arrowhead.
        dashes: the dash pattern, or "" for a solid line.
        opacity: the opacity, from 0 to 1.
    """

    curves: Sequence[StrokeCurve]
    colour: str
    width: float = 2.0
    title: str = ""
    arrow: bool = False
    dashes: str = ""
    opacity: float = 1.0


class Panel(NamedTuple):
    """Nodes and strokes in a rectangular area whose upper left corner is at position 0.

    Attributes:
        strokes: the strokes, which are painted below the nodes.
        nodes: the nodes.
        width: the width of the area.
        height: the height of the area.
        caption: a line above the area.
        colour: the colour of the caption.
        levels: the level numbers to print next to rows of nodes, by the vertical position of the
            row.
    """

    strokes: Sequence[Stroke]
    nodes: Sequence[Node]
    width: float
    height: float
    caption: str = ""
    colour: str = INK
    levels: Mapping[float, int] = MappingProxyType({})


class Scene(NamedTuple):
    """A complete drawing: title, legend and panels.

    Attributes:
        topology: the topology of the nodes.
        title: the title of the drawing.
        lines: the lines of text below the title.
        panels: the panels, which are side by side in rows.
        ports: the ports in the legend; empty for a drawing without a legend.
        animated: whether the drawing is an animation, in which the first panel is the background
            and the other panels appear on it one after the other.
    """

    topology: Topology
    title: str
    lines: Sequence[str]
    panels: Sequence[Panel]
    ports: Collection[int] = ()
    animated: bool = False


def shape_of(topology: Topology, rank: int) -> str:
    """Return the shape in which a node is drawn, as a value for `Node.shape`."""
    if topology.endpoints == topology.nodes:
        return ""
    return "square" if rank >= topology.endpoints else "round"


def label_box(center: complex, label: str, *, is_root: bool, is_minor: bool) -> Node:
    """Return the box in which a node and its label are drawn.

    The box of a root or source is dark. The box of a minor node, such as a leaf of a tree, is pale.
    """
    if is_root:
        return Node(center, label, fill=INK, ink=PAPER)
    if is_minor:
        return Node(center, label, fill="#F3F3F3", outline=FAINT)
    return Node(center, label)


def box_width(label: str) -> float:
    """Return the width of the box around a label."""
    return CHARACTER * len(label) + 8


def style(topology: Topology, port: int) -> tuple[str, str]:
    """Return a port's colour and its dash pattern, which is "" for solid lines."""
    number = topology.ports.index(port)
    return COLOURS[number % len(COLOURS)], _DASHES[number // len(COLOURS) % len(_DASHES)]


def port_noun(topology: Topology) -> str:
    """Return the word for a port in this topology: "dimension", "port", or "direction" (torus)."""
    usual = "dimension" if topology.has_translations else "port"
    return {"nk-star": "port", "torus": "direction"}.get(topology.family, usual)


def port_text(topology: Topology, port: int) -> str:
    """Return the number of a port; on a torus, the direction in which it leads, such as ``+x``."""
    if topology.family != "torus" or not isinstance(topology, CayleyGraph):
        return str(port)
    step = topology.generators[topology.ports.index(port)]
    axis = int(np.flatnonzero(step)[0])
    return f"{'+' if step[axis] == 1 else '-'}{'xyz'[axis]}"


def join(start: Node, end: Node, bend: float = 0.0, shift: float = 0.0) -> StrokeCurve:
    """Return the line or curve from the border of one node to the border of another node.

    Args:
        start: the first node.
        end: the other node.
        bend: the distance by which the control point is moved to the left; 0 for a straight line.
        shift: the distance by which the whole curve, with its ends, is moved to the left.
    """
    along = end.center - start.center
    left = -1j * along / (abs(along) or 1.0)
    first, last = start.center + shift * left, end.center + shift * left
    control = (first + last) / 2 + bend * left
    tail, tip = start.border(first, control), end.border(last, control)
    return (tail, control, tip) if bend else (tail, tip)


def row_heights(reaches: Sequence[float]) -> list[float]:
    """Return the vertical positions, from the top, of the rows of boxes in a drawing by levels.

    Args:
        reaches: for every row but the first, the largest horizontal extent of a link to the row
            above. Rows joined by wide links are farther apart, so that links are not too flat.
    """
    steps = [min(max(_LOWEST_ROW, _SLOPE * reach), _HIGHEST_ROW) for reach in reaches]
    return list(accumulate(steps, initial=BOX_HEIGHT / 2))


#: Colours and their replacements in dark mode; other colours are legible on both backgrounds.
_DARK = {
    PAPER: "#12161C",
    INK: "#E6E9EE",
    FAINT: "#A3ADBA",
    BLACK: "#E6E9EE",
    "#0072B2": "#58A6E0",
    LINE: "#343D49",
    "#EEEEEE": "#2A323C",
    "#F3F3F3": "#1B212A",
}
_FONT = "'DejaVu Sans Mono', Menlo, Consolas, monospace"

_MARGIN = 24.0
# Heights in pixels: the title together with the space above the panels, a line below the title, and
# the legend.
_HEAD, _LINE, _LEGEND = 38.0, 18.0, 22.0
#: Height of a panel's caption, and distance between two panels, in pixels.
_CAPTION, _BETWEEN = 20.0, 26.0
#: Width of the column of level numbers, in pixels.
_LEVELS = 34.0
#: Maximum width of a row of several panels, in pixels.
_WIDEST = 1_000.0
#: Width of the legend's title, and of each entry for a port, in pixels.
_WORD, _SAMPLE = 80.0, 58.0
#: Duration of a step of an animation, in seconds.
_SECONDS = 1.2


def render(scene: Scene) -> str:
    """Return a scene as an SVG document, with each XML element on a line of its own."""
    if any(node.shape == "square" for panel in scene.panels for node in panel.nodes):
        scene = scene._replace(lines=[*scene.lines, "squares are switches, which only forward"])
    corners, width, height = _arrange(scene)
    column = _LEVELS if any(panel.levels for panel in scene.panels) else 0.0
    inside = max(column + width, _head_width(scene))
    head = _HEAD + _LINE * len(scene.lines) + (_LEGEND if scene.ports else 0.0)
    svg = _document(scene.title, inside + 2 * _MARGIN, head + height + 2 * _MARGIN)
    _draw_head(svg, scene)
    first = complex(_MARGIN + column + (inside - column - width) / 2, _MARGIN + head)
    if scene.animated:
        svg.append(_animation(len(scene.panels) - 1))
    for number, (panel, corner) in enumerate(zip(scene.panels, corners, strict=True)):
        parent = svg
        if scene.animated and number:
            parent = _element(svg, "g", style=f"animation-delay:{_SECONDS * (number - 1):.1f}s")
            parent.set("class", "step last" if panel is scene.panels[-1] else "step")
        _draw_panel(parent, panel, first + corner, inside + _MARGIN)
    # One line per element, so that versions of a drawing can be compared line by line.
    ET.indent(svg, " ")
    return ET.tostring(svg, encoding="unicode") + "\n"


def _arrange(scene: Scene) -> tuple[list[complex], float, float]:
    """Return the upper left corner of each panel, and the total width and height."""
    caption = _CAPTION if any(panel.caption for panel in scene.panels) else 0.0
    corners = []
    x = y = width = bottom = 0.0
    for panel in scene.panels:
        if x and not scene.animated and x + panel.width > _WIDEST:
            x, y = 0.0, bottom + _BETWEEN
        corners.append(complex(x, y + caption))
        width = max(width, x + panel.width)
        bottom = max(bottom, y + caption + panel.height)
        x += 0.0 if scene.animated else panel.width + _BETWEEN
    return corners, width, bottom


def _document(title: str, width: float, height: float) -> ET.Element:
    """Return an empty document with a title and a size in pixels."""
    box = " ".join(["0 0", *map(_number, (width, height))])
    svg = _element(
        None, "svg", xmlns="http://www.w3.org/2000/svg", width=width, height=height, viewBox=box
    )
    svg.set("role", "img")
    svg.set("class", "starcast")
    svg.set("font-family", _FONT)
    _element(svg, "title").text = title
    _element(svg, "style").text = _style()
    _element(svg, "rect", width=width, height=height, fill=PAPER)
    return svg


def _style() -> str:
    """Return the CSS rules that adapt a drawing to dark mode and to narrow pages."""
    rules = [
        f'.starcast [{name}="{light}"] {{ {name}: {dark}; }}'
        for light, dark in _DARK.items()
        for name in ("fill", "stroke")
    ]
    fit = ".starcast { max-width: 100%; height: auto; }"
    # The dark colours apply only to screens, because a printed page has a light background.
    return f"{fit} @media screen and (prefers-color-scheme: dark) {{ {' '.join(rules)} }}"


def _animation(steps: int) -> ET.Element:
    style = ET.Element("style")
    share = 100 / steps
    style.text = (
        f".step {{ opacity: 0; animation: show {steps * _SECONDS:.1f}s infinite step-end; }} "
        f"@keyframes show {{ 0% {{ opacity: 1; }} {share:.3f}% {{ opacity: 0; }} }} "
        "@media (prefers-reduced-motion: reduce) { .step { animation: none; } "
        ".last { opacity: 1; } }"
    )
    return style


def _draw_head(svg: ET.Element, scene: Scene) -> None:
    """Write the title, the lines below it, and the legend."""
    title = _text(svg, scene.title, complex(_MARGIN, _MARGIN + 14), font_size=15)
    title.set("font-weight", "bold")
    for number, line in enumerate(scene.lines):
        _text(svg, line, complex(_MARGIN, _MARGIN + 34 + _LINE * number))
    if not scene.ports:
        return
    y = _MARGIN + _HEAD + _LINE * len(scene.lines)
    _text(svg, port_noun(scene.topology), complex(_MARGIN, y + 4))
    for number, port in enumerate(port for port in scene.topology.ports if port in scene.ports):
        start = complex(_MARGIN + _WORD + number * _SAMPLE, y)
        colour, dashes = style(scene.topology, port)
        _draw_stroke(svg, Stroke([(start, start + 24)], colour, dashes=dashes), 0j)
        _text(svg, port_text(scene.topology, port), start + 30 + 4j)


def _head_width(scene: Scene) -> float:
    lines = (CHARACTER * len(line) for line in scene.lines)
    legend = _WORD + _SAMPLE * len(scene.ports) if scene.ports else 0.0
    return max(1.25 * CHARACTER * len(scene.title), legend, *lines)


def _draw_panel(parent: ET.Element, panel: Panel, corner: complex, right: float) -> None:
    """Draw a panel, with horizontal lines from the level numbers to the position ``right``."""
    if panel.caption:
        caption = _text(parent, panel.caption, corner - 8j, panel.colour)
        caption.set("font-weight", "bold")
    for row, level in panel.levels.items():
        y = row + corner.imag
        ends = {"x1": _MARGIN + 22, "y1": y, "x2": right, "y2": y}
        _element(parent, "line", **ends, stroke="#EEEEEE", stroke_width=1)
        number = _text(parent, str(level), complex(_MARGIN + 16, y + 4), FAINT, font_size=11)
        number.set("text-anchor", "end")
    # Strokes come before nodes, because SVG paints in document order.
    for stroke in panel.strokes:
        _draw_stroke(parent, stroke, corner)
    for node in panel.nodes:
        _draw_node(parent, node, corner)


def _draw_stroke(parent: ET.Element, stroke: Stroke, corner: complex) -> None:
    group = _element(parent, "g", stroke=stroke.colour, fill="none", stroke_width=stroke.width)
    if stroke.opacity < 1:
        group.set("opacity", f"{stroke.opacity:g}")
    if stroke.title:
        _element(group, "title").text = stroke.title
    curves = [tuple(corner + point for point in curve) for curve in stroke.curves]
    head = ""
    if stroke.arrow:
        *before, tip = curves[-1]
        size = 3 + 2 * stroke.width
        along = size * (tip - before[-1]) / (abs(tip - before[-1]) or 1.0)
        neck = tip - along
        # The line ends where the arrowhead begins, because a wide line would cover the tip.
        curves[-1] = (*before, neck)
        head = " ".join(map(_point, (tip, neck + along * 0.5j, neck - along * 0.5j)))
    path = _element(group, "path", d=" ".join(map(_path, curves)))
    if stroke.dashes:
        path.set("stroke-dasharray", stroke.dashes)
    if head:
        _element(group, "polygon", points=head, fill=stroke.colour, stroke="none")


def _path(curve: tuple[complex, ...]) -> str:
    start, *others = map(_point, curve)
    return f"M{start} {'Q' if len(others) > 1 else 'L'}{' '.join(others)}"


def _draw_node(parent: ET.Element, node: Node, corner: complex) -> None:
    center = node.center + corner
    if node.opacity < 1:
        # The strokes below would show through a translucent node, so an opaque shape covers them.
        _draw_shape(parent, node, center, fill=PAPER)
    if node.fill != "none":
        paint: dict[str, float | str] = {"fill": node.fill, "stroke": node.outline}
        shape = _draw_shape(parent, node, center, **paint, stroke_width=node.outline_width)
        if node.opacity < 1:
            shape.set("fill-opacity", f"{node.opacity:.2f}")
        if title := node.title or (node.label if node.radius else ""):
            _element(shape, "title").text = title
    if not node.radius:
        _text(parent, node.label, center + 4.2j, node.ink).set("text-anchor", "middle")


def _draw_shape(
    parent: ET.Element, node: Node, center: complex, **paint: float | str
) -> ET.Element:
    if node.radius and node.shape != "square":
        return _element(parent, "circle", cx=center.real, cy=center.imag, r=node.radius, **paint)
    start, size = center - node.half, 2 * node.half
    box = {"x": start.real, "y": start.imag, "width": size.real, "height": size.imag}
    rounding = {"square": 0, "round": node.half.imag}.get(node.shape, 4)
    return _element(parent, "rect", **box, rx=rounding, **paint)


def _text(
    parent: ET.Element, text: str, at: complex, colour: str = INK, font_size: int = 12
) -> ET.Element:
    element = _element(parent, "text", x=at.real, y=at.imag, font_size=font_size, fill=colour)
    element.text = escape(text)
    return element


def _element(parent: ET.Element | None, tag: str, **attributes: float | str) -> ET.Element:
    """Add an element with the given attributes, and return it.

    In the names of attributes, ``_`` stands for ``-``.
    """
    values = {
        name.replace("_", "-"): value if isinstance(value, str) else _number(value)
        for name, value in attributes.items()
    }
    return ET.Element(tag, values) if parent is None else ET.SubElement(parent, tag, values)


def _point(position: complex) -> str:
    return f"{position.real:.1f},{position.imag:.1f}"


def _number(value: float) -> str:
    # Tenths of a pixel are precise enough, and hide rounding errors, which differ between machines.
    # All machines therefore produce the same drawing.
    return f"{value:.1f}".removesuffix(".0")


#: The file formats of drawings.
PictureFormat = Literal["svg", "png", "pdf"]

_DOTS_PER_INCH = 192.0
_STYLE = re.compile(r"<style>.*?</style>", re.DOTALL)
_PAGE = '#set page(width: auto, height: auto, margin: 0pt)\n#image("picture.svg")\n'


def convert(picture: str, form: PictureFormat) -> bytes:
    """Convert an SVG drawing to PNG, with 192 dots per inch, or to PDF, with vector graphics.

    Args:
        picture: an SVG document without animation.
        form: ``svg``, ``png`` or ``pdf``.

    Raises:
        InputError: the package that converts drawings is not installed.

    Example:
        >>> from starcast.drawing import draw_topology
        >>> convert(draw_topology(topology("S4")), "pdf")[:4]
        b'%PDF'
    """
    if form == "svg":
        return picture.encode()
    try:
        import typst  # noqa: PLC0415 - an optional dependency
    except ImportError:
        raise InputError(
            f"pictures in {form.upper()} need the package typst, which is not installed",
            hint=f"install it with: {install_command('pictures')}, or choose SVG",
        ) from None
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "page.typ"
        page.write_text(_PAGE, encoding="utf-8")
        # The style rules are only for browsers; PNG and PDF files have the light colours.
        plain = _STYLE.sub("", picture)
        (page.parent / "picture.svg").write_text(plain, encoding="utf-8")
        return bytes(typst.compile(page, format=form, ppi=_DOTS_PER_INCH))
