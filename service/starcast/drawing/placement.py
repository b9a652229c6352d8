"""The positions of the boxes of a picture, in pixels: on levels, or in a ring."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from math import cos, pi, sin
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from starcast.drawing.layouts.order import arrange, order_ring
from starcast.drawing.svg import BOX_HEIGHT, GAP, Place

#: A link that pulls its two ends together: sender, receiver, weight.
Pull = tuple[int, int, float]

_LOWEST_ROW, _HIGHEST_ROW, _SLOPE = 56.0, 150.0, 0.2
_SMALLEST_RING, _FLATTEST = 90.0, 0.62
_LINK = 26.0  # the visible part of a link between neighbours in a ring


class Placement(NamedTuple):
    """The positions of boxes.

    Attributes:
        places: the centre of each box, by rank.
        width: the width of the area that they need.
        height: its height.
        rows: the level of each row, by its vertical position; empty for a ring.
        bends: how far links bend to their left, by sender and receiver.
    """

    places: dict[int, Place]
    width: float
    height: float
    rows: dict[float, int]
    bends: Mapping[tuple[int, int], float] = MappingProxyType({})


def place_by_levels(
    nodes: Sequence[int], level: NDArray[np.integer], pulls: Iterable[Pull], box: float
) -> Placement:
    """Place nodes on levels from top to bottom, near their neighbours on other levels.

    Args:
        nodes: ranks.
        level: the level of each node.
        pulls: the links.
        box: the width of a box.
    """
    index = {node: number for number, node in enumerate(nodes)}
    weight = np.zeros((len(nodes), len(nodes)))
    for sender, receiver, strength in pulls:
        first, second = index[sender], index[receiver]
        if level[first] != level[second]:
            weight[first, second] = weight[second, first] = strength
    x = arrange(level, weight) * (box + GAP) + box / 2
    numbers = np.unique(level).tolist()
    # Wide links need height: their slopes tell them apart.
    reach = np.where(weight > 0, np.abs(x[:, None] - x), 0)
    widest = [float(reach[level == number].max()) for number in numbers[1:]]
    rise = [0.0, *(max(_LOWEST_ROW, _SLOPE * width) for width in widest)]
    heights = [BOX_HEIGHT / 2 + y for y in accumulate(min(step, _HIGHEST_ROW) for step in rise)]
    row = dict(zip(numbers, heights, strict=True))
    places = {node: Place(float(x[i]), row[int(level[i])]) for node, i in index.items()}
    return Placement(
        places,
        float(x.max()) + box / 2,
        heights[-1] + BOX_HEIGHT / 2,
        {y: number for number, y in row.items()},
    )


def place_in_ring(
    nodes: Sequence[int], source: int | None, pulls: Iterable[Pull], box: float
) -> Placement:
    """Place nodes on an ellipse, from the top.

    The source is the first node, or the centre if it is not one of the nodes.
    """
    index = {node: number for number, node in enumerate(nodes)}
    adjacent: list[list[int]] = [[] for _ in nodes]
    for sender, receiver, _ in pulls:
        if sender in index and receiver in index:
            adjacent[index[sender]].append(index[receiver])
            adjacent[index[receiver]].append(index[sender])
    start = 0 if source is None else index.get(source, 0)
    order = [nodes[number] for number in order_ring(adjacent, start)]
    # Boxes are wider than high, and so is the ellipse.
    across = max(len(nodes) * (box + _LINK) / (2 * pi), _SMALLEST_RING)
    down = max(len(nodes) * (BOX_HEIGHT + _LINK) / (2 * pi), _SMALLEST_RING, _FLATTEST * across)
    centre = Place(across + box / 2, down + BOX_HEIGHT / 2)
    places = {} if source is None else {source: centre}
    for number, node in enumerate(order):
        angle = 2 * pi * number / len(order)
        places[node] = Place(centre.x + across * sin(angle), centre.y - down * cos(angle))
    return Placement(places, 2 * centre.x, 2 * centre.y, {})
