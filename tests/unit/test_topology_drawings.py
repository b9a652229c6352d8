"""Drawings of complete topologies, parsed from the SVG."""

import re
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from starcast.drawing import READABLE, draw_topology, style
from starcast.errors import LimitError
from starcast.topologies import topology
from starcast.topologies.permutations import unrank

SVG = "{http://www.w3.org/2000/svg}"


def centres(svg: ET.Element) -> dict[str, complex]:
    """Return the position of every label in a box."""
    boxes = {
        (float(box.get("x", 0)) + float(box.get("width", 0)) / 2, float(box.get("y", 0)))
        for box in svg.findall(f"{SVG}rect")[1:]
    }
    return {
        text.text or "": complex(x, y + 9)
        for x, y in boxes
        for text in svg.findall(f"{SVG}text")
        if abs(float(text.get("x", 0)) - x) < 0.2 and 0 < float(text.get("y", 0)) - y < 18
    }


def points(path: str) -> np.ndarray:
    """Return points along a path of the drawing: a line or a quadratic curve."""
    numbers = [float(number) for number in re.findall(r"-?[\d.]+", path)]
    ends = np.array(numbers[::2]) + 1j * np.array(numbers[1::2])
    start, middle, end = ends if len(ends) == 3 else (ends[0], ends.mean(), ends[1])
    t = np.linspace(0, 1, 200)
    return np.asarray((1 - t) ** 2 * start + 2 * t * (1 - t) * middle + t**2 * end)


def test_every_node_and_every_link_is_drawn_once() -> None:
    for spec in ["S2", "S3", "S4", "S5", "S5,3", "Q4"]:
        drawn, place = ET.fromstring(draw_topology(topology(spec))), topology(spec)  # noqa: S314
        assert sorted(centres(drawn)) == sorted(place.labels().tolist())
        expected = set()
        for port in place.ports:
            ranks = np.arange(place.nodes)
            neighbours = place.neighbours(port, ranks)
            for one, other in zip(ranks.tolist(), neighbours.tolist(), strict=True):
                if one < other:
                    words = f"{place.label(one)} -{port}- {place.label(other)}"
                    expected.add((words, style(place, port)[0]))
        links = [
            (group.findtext(f"{SVG}title"), group.get("stroke"))
            for group in drawn.findall(f"{SVG}g")
        ]
        assert len(links) == len(expected) == place.links
        assert set(links) == expected


def test_substars_are_apart_and_rotations_of_each_other() -> None:
    for n in [3, 4, 5]:
        at = centres(ET.fromstring(draw_topology(topology(f"S{n}"))))  # noqa: S314
        labels = topology(f"S{n}").labels().tolist()
        place = np.array([at[label] for label in labels])
        place -= place.mean()
        added = np.array([at["".join(str(int(s) % n + 1) for s in label)] for label in labels])
        turned = (added - added.mean()) / place
        assert turned == pytest.approx(np.full(len(labels), np.exp(-2j * np.pi / n)), abs=2e-2)
        last = unrank(n, np.arange(len(labels)))[:, -1]
        discs = [place[last == symbol] for symbol in range(1, n + 1)]
        radius = max(np.abs(disc - disc.mean()).max() for disc in discs)
        apart = min(abs(a.mean() - b.mean()) for a in discs for b in discs if a is not b)
        assert apart > 2 * radius or n == 3


def test_no_link_of_s4_crosses_the_box_of_another_node() -> None:
    drawn = ET.fromstring(draw_topology(topology("S4")))  # noqa: S314
    at = centres(drawn)
    for group in drawn.findall(f"{SVG}g"):
        ends = group.findtext(f"{SVG}title", "").split()
        path = group.find(f"{SVG}path")
        assert path is not None
        for label, place in at.items():
            if label not in ends:
                away = points(path.get("d", "")) - place
                inside = (np.abs(away.real) < 18) & (np.abs(away.imag) < 9)
                assert not inside.any(), (ends, label)


def test_a_topology_too_large_to_read_is_refused() -> None:
    with pytest.raises(LimitError, match=f"S6 has 720 nodes, and a drawing .* {READABLE}"):
        draw_topology(topology("S6"))
