"""Recursive substars: nodes with the same last symbol lie together, and so on inside them."""

from math import pi, sin

import numpy as np
from numpy.typing import NDArray

from starcast.topologies import Topology
from starcast.topologies.permutations import arrangement_rank, arrangement_unrank

Points = NDArray[np.complex128]

_APART = 1.42  # distance of two substars, in their diameters
_TURNS = range(0, 360, 15)  # the angles among which that of a substar is chosen


def place_by_substars(topology: Topology) -> NDArray[np.float64]:
    """Return the positions of the nodes of a star graph or (n,k)-star, float64 ``[nodes, 2]``.

    The substars lie around a circle, and so do their own substars. Rotating the picture adds 1 to
    all symbols, cyclically.
    """
    length = topology.n if topology.k is None else topology.k
    points = substar_points(topology.n, length)
    return np.stack([points.real, points.imag], axis=1)


def substar_points(n: int, length: int) -> Points:
    """Return the positions of the arrangements of n symbols, by rank; the nearest are 1 apart.

    Args:
        n: the number of symbols.
        length: the length of the arrangements, n for a star graph.
    """
    if n == length == 2:
        return np.array([-0.5, 0.5], dtype=np.complex128)
    if length == 1:
        radius = 0.5 / sin(pi / n) if n > 1 else 0.0
        return np.asarray(-1j * radius * np.exp(2j * pi * np.arange(1, n + 1) / n))
    inner = substar_points(n - 1, length - 1)
    rows = arrangement_unrank(n, length, np.arange(n * len(inner))).astype(np.int64)
    last = rows[:, -1]
    moved = (rows - 1 - last[:, None]) % n + 1  # to the substar whose last symbol is n
    index = arrangement_rank(moved[:, :-1].astype(np.uint8), n - 1)
    swapped = rows[:, [length - 1, *range(1, length - 1), 0]]
    neighbour = arrangement_rank(swapped.astype(np.uint8), n)
    # The nodes of S_3 form a regular hexagon. Larger substars are discs that do not touch.
    is_hexagon = n == length == 3
    radius = np.abs(inner).max() * (3**0.5 if is_hexagon else _APART / sin(pi / n))
    candidates = [
        np.exp(-2j * pi * last / n) * (inner[index] * np.exp(2j * pi * turn / 360) - 1j * radius)
        for turn in ([0] if is_hexagon else _TURNS)
    ]
    return min(candidates, key=lambda points: round(np.abs(points - points[neighbour]).sum(), 6))
