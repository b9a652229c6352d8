"""Where the boxes of a picture stand, in pixels: on levels, or in a ring."""

from collections.abc import Iterable, Sequence
from itertools import accumulate
from math import cos, pi, sin
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from starcast.drawing.order import arrange, walk
from starcast.drawing.svg import BOX_HEIGHT, GAP, Place

#: A link that pulls its two ends together: sender, receiver, weight.
Pull = tuple[int, int, float]

_LOWEST_ROW, _HIGHEST_ROW, _SLOPE = 56.0, 150.0, 0.2
_SMALLEST_RING, _FLATTEST = 90.0, 0.62
_LINK = 26.0  # what is seen of a link between neighbours in a ring


class Placed(NamedTuple):
    """The middles of the boxes by rank, the size that they need, and the level of each row by its height."""

    places: dict[int, Place]
    width: float
    height: float
    rows: dict[float, int]


def by_levels(
    nodes: Sequence[int], level: NDArray[np.integer], pulls: Iterable[Pull], box: float
) -> Placed:
    """Levels from above; links pull the nodes of neighbouring levels over one another."""
    index = {node: place for place, node in enumerate(nodes)}
    weight = np.zeros((len(nodes), len(nodes)))
    for one, other, strength in pulls:
        if level[index[one]] != level[index[other]]:
            weight[index[one], index[other]] = weight[index[other], index[one]] = strength
    x = arrange(level, weight) * (box + GAP) + box / 2
    numbers = np.unique(level).tolist()
    reach = np.where(
        weight > 0, np.abs(x[:, None] - x), 0
    )  # wide links need height, so that they can be told apart
    rise = [
        0.0,
        *(max(_LOWEST_ROW, _SLOPE * float(reach[level == one].max())) for one in numbers[1:]),
    ]
    heights = [BOX_HEIGHT / 2 + y for y in accumulate(min(one, _HIGHEST_ROW) for one in rise)]
    row = dict(zip(numbers, heights, strict=True))
    places = {node: Place(float(x[place]), row[int(level[place])]) for node, place in index.items()}
    return Placed(
        places,
        float(x.max()) + box / 2,
        heights[-1] + BOX_HEIGHT / 2,
        {y: one for one, y in row.items()},
    )


def in_ring(nodes: Sequence[int], source: int | None, pulls: Iterable[Pull], box: float) -> Placed:
    """An ellipse, begun at the top with the source, or with the source in its middle if it is none of the nodes."""
    index = {node: place for place, node in enumerate(nodes)}
    adjacent: list[list[int]] = [[] for _ in nodes]
    for one, other, _ in pulls:
        if one in index and other in index:
            adjacent[index[one]].append(index[other])
            adjacent[index[other]].append(index[one])
    order = [
        nodes[place] for place in walk(adjacent, index.get(source, 0) if source is not None else 0)
    ]
    # Wider than high, as the boxes are: what stands side by side needs more room than what stands one above the other.
    across = max(len(nodes) * (box + _LINK) / (2 * pi), _SMALLEST_RING)
    down = max(len(nodes) * (BOX_HEIGHT + _LINK) / (2 * pi), _SMALLEST_RING, _FLATTEST * across)
    middle = Place(across + box / 2, down + BOX_HEIGHT / 2)
    places = {} if source is None else {source: middle}
    for number, node in enumerate(order):
        turn = 2 * pi * number / len(order)
        places[node] = Place(middle.x + across * sin(turn), middle.y - down * cos(turn))
    return Placed(places, 2 * middle.x, 2 * middle.y, {})
