"""Drawings of complete topologies, checked by parsing their SVG."""

import numpy as np
import pytest

from starcast.drawing import READABLE, draw_topology, style
from starcast.support.errors import LimitError
from starcast.topologies import topology
from starcast.topologies.permutations import unrank
from support.read_svg import boxes, parse, strokes


def points(curve: list[complex]) -> np.ndarray:
    """Return points along a line or a quadratic curve, given by its control points."""
    start, *between, end = curve
    middle = between[0] if between else (start + end) / 2
    t = np.linspace(0, 1, 200)
    return np.asarray((1 - t) ** 2 * start + 2 * t * (1 - t) * middle + t**2 * end)


def test_every_node_and_every_link_is_drawn_once() -> None:
    for spec in ["S2", "S3", "S4", "S5", "S5,3", "Q4"]:
        network = topology(spec)
        drawn = parse(draw_topology(network))
        assert sorted(boxes(drawn)) == sorted(network.labels().tolist())
        expected = set()
        for port in network.ports:
            ranks = np.arange(network.nodes)
            neighbours = network.neighbours(port, ranks)
            for one, other in zip(ranks.tolist(), neighbours.tolist(), strict=True):
                if one < other:
                    words = f"{network.label(one)} -{port}- {network.label(other)}"
                    expected.add((words, style(network, port)[0]))
        links = [(stroke.title, stroke.colour) for stroke in strokes(drawn)]
        assert len(links) == len(expected) == network.links
        assert set(links) == expected


def test_substars_are_drawn_apart_and_as_rotations_of_each_other() -> None:
    for n in [3, 4, 5]:
        at = boxes(parse(draw_topology(topology(f"S{n}"))))
        labels = topology(f"S{n}").labels().tolist()
        points = np.array([at[label].center for label in labels])
        points -= points.mean()
        added = np.array(
            [at["".join(str(int(s) % n + 1) for s in label)].center for label in labels]
        )
        turned = (added - added.mean()) / points
        assert turned == pytest.approx(np.full(len(labels), np.exp(-2j * np.pi / n)), abs=2e-2)
        last = unrank(n, np.arange(len(labels)))[:, -1]
        discs = [points[last == symbol] for symbol in range(1, n + 1)]
        radius = max(np.abs(disc - disc.mean()).max() for disc in discs)
        apart = min(abs(a.mean() - b.mean()) for a in discs for b in discs if a is not b)
        assert apart > 2 * radius or n == 3


def test_no_link_of_s4_crosses_the_box_of_another_node() -> None:
    drawn = parse(draw_topology(topology("S4")))
    for stroke in strokes(drawn):
        ends = stroke.title.split()
        for label, box in boxes(drawn).items():
            if label not in ends:
                away = points(*stroke.curves) - box.center
                inside = (np.abs(away.real) < 18) & (np.abs(away.imag) < 9)
                assert not inside.any(), (ends, label)


def test_a_topology_too_large_to_read_is_refused() -> None:
    with pytest.raises(LimitError, match=f"S6 has 720 nodes, but a drawing .* {READABLE} nodes"):
        draw_topology(topology("S6"))
