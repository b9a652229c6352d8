"""Links as strokes from box to box: straight or bent, with a head where the direction means something."""

from math import hypot
from typing import NamedTuple
from xml.etree import ElementTree as ET

from starcast.drawing.svg import BOX_HEIGHT, Place, element

_HEAD_LENGTH, _HEAD_HALF = 7.0, 3.4


class Stroke(NamedTuple):
    """How a link is drawn: what it says, how it looks, and how far it bends to its left, in pixels."""

    words: str
    colour: str
    dashes: str = ""
    width: float = 2.0
    arrow: bool = False
    bend: float = 0.0
    opacity: float = 1.0


def stroke(svg: ET.Element, start: Place, end: Place, box: float, how: Stroke) -> None:
    """Draw a link between two boxes of this width, from edge to edge."""
    middle = _bent(start, end, how.bend)
    tail, tip = _edge(start, middle, box), _edge(end, middle, box)
    group = element(svg, "g", stroke=how.colour, fill="none", stroke_width=how.width)
    if how.opacity < 1:
        group.set("opacity", f"{how.opacity:g}")
    element(group, "title").text = how.words
    neck = _towards(tip, middle, _HEAD_LENGTH) if how.arrow else tip
    curve = (
        f"M{_point(tail)} Q{_point(middle)} {_point(neck)}"
        if how.bend
        else f"M{_point(tail)} L{_point(neck)}"
    )
    path = element(group, "path", d=curve)
    if how.dashes:
        path.set("stroke-dasharray", how.dashes)
    if how.arrow:
        element(group, "polygon", points=_head(tip, neck), fill=how.colour, stroke="none")


def _bent(start: Place, end: Place, bend: float) -> Place:
    """The point that a link is bent towards; the middle where it is straight."""
    length = hypot(end.x - start.x, end.y - start.y) or 1.0
    across = Place((end.y - start.y) / length, -(end.x - start.x) / length)
    return Place((start.x + end.x) / 2 + bend * across.x, (start.y + end.y) / 2 + bend * across.y)


def _edge(middle: Place, towards: Place, box: float) -> Place:
    """Where the line from the middle of a box leaves it."""
    x, y = towards.x - middle.x, towards.y - middle.y
    scale = min(
        (box / 2 + 1) / abs(x) if x else 1.0, (BOX_HEIGHT / 2 + 1) / abs(y) if y else 1.0, 1.0
    )
    return Place(middle.x + scale * x, middle.y + scale * y)


def _towards(start: Place, end: Place, length: float) -> Place:
    whole = hypot(end.x - start.x, end.y - start.y) or 1.0
    return Place(
        start.x + (end.x - start.x) * length / whole, start.y + (end.y - start.y) * length / whole
    )


def _head(tip: Place, neck: Place) -> str:
    half = _HEAD_HALF / _HEAD_LENGTH
    x, y = (tip.y - neck.y) * half, (neck.x - tip.x) * half
    return " ".join(
        _point(point)
        for point in (tip, Place(neck.x + x, neck.y + y), Place(neck.x - x, neck.y - y))
    )


def _point(place: Place) -> str:
    return f"{place.x:.1f},{place.y:.1f}"
