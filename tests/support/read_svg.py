"""A reader for the content of SVG drawings: strokes with titles, node boxes and texts."""

import re
from collections import defaultdict
from collections.abc import Mapping
from functools import cached_property
from itertools import combinations
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
    """The box drawn for a node."""

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
    """The content of an SVG drawing.

    Attributes:
        words: all texts in the order of drawing: title, lines, legend, and texts of the panels.
    """

    def __init__(self, text: str | None) -> None:
        assert text is not None
        self.root = ET.fromstring(text)  # noqa: S314 - our own document
        self.width, self.height = (float(self.root.get(name, 0)) for name in ("width", "height"))
        self.words = [text.text or "" for text in self.root.iter(f"{SVG}text")]

    @cached_property
    def strokes(self) -> list[Stroke]:
        """All strokes that have a title, in the order of drawing."""
        return strokes(self.root)

    @cached_property
    def boxes(self) -> dict[str, Box]:
        """All boxes by label, after checking that each contains exactly one label."""
        texts = list(self.root.iter(f"{SVG}text"))
        found = {}
        for rect in list(self.root.iter(f"{SVG}rect"))[1:]:  # the first rectangle is the background
            x, y, width, height = (float(rect.get(name, 0)) for name in Box._fields[:4])
            (label,) = (
                text.text or ""
                for text in texts
                if abs(float(text.get("x", 0)) - x - width / 2) < 0.2
                and y < float(text.get("y", 0)) < y + height
            )
            found[label] = Box(x, y, width, height, rect.get("fill", ""))
        return found

    def check_places(self) -> None:
        """Check that no two boxes touch, and that everything lies inside the drawing."""
        assert self.root.get("viewBox") == f"0 0 {self.width:g} {self.height:g}"
        for box in self.boxes.values():
            assert 0 < box.x < self.width - box.width
            assert 0 < box.y < self.height - box.height
        for box, other in combinations(self.boxes.values(), 2):
            assert abs(box.x - other.x) > box.width + 5 or abs(box.y - other.y) > box.height + 5
        for end in (end for stroke in self.strokes for end in stroke.ends):
            assert 0 < end.real < self.width
            assert 0 < end.imag < self.height
        for text in self.root.findall(f"{SVG}text"):
            # A character is at most 0.62 times as wide as high.
            reach = 0.62 * float(text.get("font-size", 0)) * len(text.text or "")
            reach = {"middle": reach / 2, "end": 0.0}.get(text.get("text-anchor", ""), reach)
            assert float(text.get("x", 0)) + reach < self.width

    def heights(self, levels: Mapping[str, int]) -> list[float]:
        """Return the vertical position of each level, after checking that its nodes form a row."""
        rows = defaultdict(set)
        for label, box in self.boxes.items():
            rows[levels[label]].add(round(box.center.imag, 1))
        assert all(len(row) == 1 for row in rows.values())
        return [min(rows[level]) for level in sorted(rows)]


def strokes(picture: ET.Element) -> list[Stroke]:
    """Return all strokes in a part of a drawing that have a title, in the order of drawing."""
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
