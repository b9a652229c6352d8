"""Links as strokes between boxes: straight or bent, with an arrowhead if they have a direction."""

from math import hypot
from typing import NamedTuple
from xml.etree import ElementTree as ET

from starcast.drawing.svg import BOX_HEIGHT, Place, element

_HEAD_LENGTH, _HEAD_HALF = 7.0, 3.4


class Stroke(NamedTuple):
    """The appearance of a link.

    Attributes:
        title: the text shown when a pointer is over the link.
        colour: its colour.
        dashes: its dash pattern, or "" for none.
        width: its width in pixels.
        arrow: whether it has an arrowhead.
        bend: how far it bends to its left, in pixels.
        opacity: from 0 to 1.
    """

    title: str
    colour: str
    dashes: str = ""
    width: float = 2.0
    arrow: bool = False
    bend: float = 0.0
    opacity: float = 1.0


def draw_stroke(svg: ET.Element, start: Place, end: Place, box: float, stroke: Stroke) -> None:
    """Draw a link between the edges of two boxes of width ``box``."""
    middle = _control_point(start, end, stroke.bend)
    tail, tip = _edge(start, middle, box), _edge(end, middle, box)
    group = element(svg, "g", stroke=stroke.colour, fill="none", stroke_width=stroke.width)
    if stroke.opacity < 1:
        group.set("opacity", f"{stroke.opacity:g}")
    element(group, "title").text = stroke.title
    neck = _towards(tip, middle, _HEAD_LENGTH) if stroke.arrow else tip
    if stroke.bend:
        curve = f"M{_point(tail)} Q{_point(middle)} {_point(neck)}"
    else:
        curve = f"M{_point(tail)} L{_point(neck)}"
    path = element(group, "path", d=curve)
    if stroke.dashes:
        path.set("stroke-dasharray", stroke.dashes)
    if stroke.arrow:
        element(group, "polygon", points=_head(tip, neck), fill=stroke.colour, stroke="none")


def _control_point(start: Place, end: Place, bend: float) -> Place:
    """Return the point towards which a link is bent; the middle if it is straight."""
    length = hypot(end.x - start.x, end.y - start.y) or 1.0
    across = Place((end.y - start.y) / length, -(end.x - start.x) / length)
    return Place((start.x + end.x) / 2 + bend * across.x, (start.y + end.y) / 2 + bend * across.y)


def _edge(middle: Place, towards: Place, box: float) -> Place:
    """Return the point where a line from the middle of a box leaves it."""
    x, y = towards.x - middle.x, towards.y - middle.y
    horizontal = (box / 2 + 1) / abs(x) if x else 1.0
    vertical = (BOX_HEIGHT / 2 + 1) / abs(y) if y else 1.0
    scale = min(horizontal, vertical, 1.0)
    return Place(middle.x + scale * x, middle.y + scale * y)


def _towards(start: Place, end: Place, length: float) -> Place:
    distance = hypot(end.x - start.x, end.y - start.y) or 1.0
    x = start.x + (end.x - start.x) * length / distance
    return Place(x, start.y + (end.y - start.y) * length / distance)


def _head(tip: Place, neck: Place) -> str:
    half = _HEAD_HALF / _HEAD_LENGTH
    x, y = (tip.y - neck.y) * half, (neck.x - tip.x) * half
    corners = (tip, Place(neck.x + x, neck.y + y), Place(neck.x - x, neck.y - y))
    return " ".join(_point(corner) for corner in corners)


def _point(place: Place) -> str:
    return f"{place.x:.1f},{place.y:.1f}"
