"""A reader for the content of SVG drawings: strokes with titles, node boxes and texts."""

import re
from typing import NamedTuple
from xml.etree import ElementTree as ET

SVG = "{http://www.w3.org/2000/svg}"


class Stroke(NamedTuple):
    """A stroke with a title; each point is a complex number."""

    title: str
    colour: str
    width: float
    dashes: str
    is_faint: bool
    has_arrow: bool
    curves: list[list[complex]]

    @property
    def ends(self) -> tuple[complex, complex]:
        """The first and the last point of a stroke."""
        return self.curves[0][0], self.curves[-1][-1]


class Box(NamedTuple):
    """The box drawn for a node, with the label in it."""

    label: str
    x: float
    y: float
    width: float
    height: float
    fill: str

    @property
    def center(self) -> complex:
        """The centre of the box."""
        return complex(self.x + self.width / 2, self.y + self.height / 2)


class Picture:
    """The content of an SVG drawing."""

    def __init__(self, text: str) -> None:
        self.root = parse(text)
        self.width, self.height = (float(self.root.get(name, 0)) for name in ("width", "height"))
        self.words = texts(self.root)
        self.boxes = boxes(self.root)
        self.strokes = strokes(self.root)


def parse(picture: str | None) -> ET.Element:
    """Return the root element of an SVG drawing."""
    assert picture is not None
    return ET.fromstring(picture)  # noqa: S314 - our own document


def strokes(picture: ET.Element) -> list[Stroke]:
    """Return all strokes that have a title, in the order of drawing."""
    groups = [each for each in picture.iter(f"{SVG}g") if each.find(f"{SVG}title") is not None]
    return [_stroke(group) for group in groups]


def _stroke(group: ET.Element) -> Stroke:
    path = group.find(f"{SVG}path")
    assert path is not None
    return Stroke(
        group.findtext(f"{SVG}title", ""),
        group.get("stroke", ""),
        float(group.get("stroke-width", 0)),
        path.get("stroke-dasharray", ""),
        float(group.get("opacity", 1)) < 1,
        group.find(f"{SVG}polygon") is not None,
        [_points(curve) for curve in path.get("d", "").split("M")[1:]],
    )


def _points(curve: str) -> list[complex]:
    numbers = [float(number) for number in re.findall(r"-?[\d.]+", curve)]
    return [complex(x, y) for x, y in zip(numbers[::2], numbers[1::2], strict=True)]


def boxes(picture: ET.Element) -> dict[str, Box]:
    """Return all boxes by label, after checking that each contains exactly one label."""
    words = {
        (float(text.get("x", 0)), float(text.get("y", 0))): text.text or ""
        for text in picture.iter(f"{SVG}text")
    }
    found = {}
    for rect in list(picture.iter(f"{SVG}rect"))[1:]:  # the first is the background
        x, y, width, height = (float(rect.get(name, 0)) for name in ("x", "y", "width", "height"))
        (label,) = (
            text
            for (at, line), text in words.items()
            if abs(at - x - width / 2) < 0.2 and y < line < y + height
        )
        found[label] = Box(label, x, y, width, height, rect.get("fill", ""))
    return found


def texts(picture: ET.Element) -> list[str]:
    """Return all texts in the order of drawing: title, lines, legend, and texts of the panels."""
    return [text.text or "" for text in picture.iter(f"{SVG}text")]
