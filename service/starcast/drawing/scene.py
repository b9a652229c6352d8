"""The parts of a picture: nodes, strokes between them, panels, and the scene with all panels.

A position is a complex number in pixels: the real part to the right, the imaginary part downwards.
The colours of ports are the palette of Okabe and Ito, which people with the common kinds of colour
blindness can distinguish. From the eighth port on, the colours are repeated with dashed lines.
"""

from collections.abc import Collection, Mapping, Sequence
from itertools import accumulate
from types import MappingProxyType
from typing import NamedTuple

from starcast.topologies import Topology

#: Maximum number of nodes up to which a picture with labels is readable; S5 has 120.
READABLE = 128

COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#000000")
_DASHES = ("", "6 3", "2 2")
INK, FAINT, PAPER = "#222222", "#8A8A8A", "#FFFFFF"
#: The colour of idle links, and the colour that shades nodes by the units that they hold.
LINE, ACCENT = "#D0D7DE", "#0072B2"

#: Width of a character in pixels; labels have a font of 12 pixels.
CHARACTER = 7.3
BOX_HEIGHT = 18.0
#: Distance between two boxes in a row, in pixels.
GAP = 10.0
_LOWEST_ROW, _HIGHEST_ROW, _SLOPE = 56.0, 150.0, 0.2

#: A straight line, given by its two ends, or a quadratic curve, given by its start, control point
#: and end.
Curve = tuple[complex, ...]


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

    @property
    def half(self) -> complex:
        """Half the node's width and height, as a complex number."""
        if self.radius:
            return complex(self.radius, self.radius)
        return complex((self.width or box_width(self.label)) / 2, BOX_HEIGHT / 2)

    def border(self, inside: complex, towards: complex) -> complex:
        """Return the end of a line that leads to the node, one pixel outside its outline.

        Args:
            inside: the point inside the node to which the line leads.
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

    curves: Sequence[Curve]
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
    """A complete picture: title, legend and panels.

    Attributes:
        topology: the topology of the nodes.
        lines: lines below the title.
        panels: the panels, which are side by side in rows.
        ports: the ports in the legend; empty for a picture without a legend.
        animated: whether the picture is an animation, in which the first panel is the background
            and the other panels appear on it one after the other.
    """

    topology: Topology
    title: str
    lines: Sequence[str]
    panels: Sequence[Panel]
    ports: Collection[int] = ()
    animated: bool = False


def label_box(center: complex, label: str, *, is_root: bool, is_minor: bool) -> Node:
    """Return the box of a node: dark for a root or source, pale for a less important node."""
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
    """Return the topology's word for a port: "dimension", or "port" for (n,k)-stars."""
    return "port" if topology.family == "nk-star" else "dimension"


def join(start: Node, end: Node, bend: float = 0.0, shift: float = 0.0) -> Curve:
    """Return the line or curve from the border of one node to the border of another.

    Args:
        start: the first node.
        end: the other node.
        bend: how far the middle of the curve is moved to the left.
        shift: how far the whole curve, with its ends, is moved to the left.
    """
    along = end.center - start.center
    left = -1j * along / (abs(along) or 1.0)
    first, last = start.center + shift * left, end.center + shift * left
    control = (first + last) / 2 + bend * left
    tail, tip = start.border(first, control), end.border(last, control)
    return (tail, control, tip) if bend else (tail, tip)


def row_heights(reaches: Sequence[float]) -> list[float]:
    """Return the vertical positions of rows of boxes, from the top.

    Args:
        reaches: for every row but the first, the largest horizontal extent of a link to the row
            above. Rows joined by wide links are farther apart, so that links are not too flat.
    """
    steps = [min(max(_LOWEST_ROW, _SLOPE * reach), _HIGHEST_ROW) for reach in reaches]
    return list(accumulate(steps, initial=BOX_HEIGHT / 2))
