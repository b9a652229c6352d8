"""Order nodes for drawing: on levels with few crossing links, or in rings next to neighbours."""

from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_SWEEPS = 12


def arrange(level: NDArray[np.integer], weight: Floats) -> Floats:
    """Return the horizontal positions of nodes whose levels are given.

    Repeated sweeps sort each level by the mean position of each node's neighbours (Sugiyama, Tagawa
    & Toda 1981). The order with the fewest crossings is kept. Nodes then move towards their
    neighbours as far as this order permits.

    Args:
        level: the level of each node.
        weight: symmetric, ``[nodes, nodes]``: how strongly two nodes attract each other; 0 if no
            link joins them.

    Returns:
        float64 ``[nodes]``, from 0; neighbours on a level are at least 1 apart.
    """
    rows = [np.flatnonzero(level == number) for number in np.unique(level)]
    x = np.zeros(len(level))
    for row in rows:
        x[row] = np.arange(len(row)) - (len(row) - 1) / 2
    # A sweep can increase the number of crossings, so the best order so far is stored.
    best, fewest = x.copy(), _crossings(level, weight, x)
    for sweep in range(_SWEEPS):
        for row in rows if sweep % 2 == 0 else rows[::-1]:
            # The sort is stable, so that equal input gives equal pictures: nodes with equal means
            # keep their order.
            row[:] = row[np.argsort(_neighbour_means(row, weight, x), kind="stable")]
            x[row] = np.arange(len(row)) - (len(row) - 1) / 2
        crossings = _crossings(level, weight, x)
        if crossings < fewest:
            best, fewest = x.copy(), crossings
    return _move_to_neighbours([row[np.argsort(best[row])] for row in rows], weight, best)


def order_ring(adjacent: Sequence[Collection[int]], start: int = 0) -> list[int]:
    """Return all nodes in an order in which many successive nodes are neighbours.

    Each node is followed by its unvisited neighbour with the fewest unvisited neighbours
    (Warnsdorff's rule, which finds most Hamiltonian paths), or else by the first unvisited node.

    Args:
        adjacent: the neighbours of each node.
        start: the first node.
    """
    unvisited = dict.fromkeys([start, *range(len(adjacent))])
    order: list[int] = []

    def freedom(node: int) -> tuple[int, int]:
        return sum(other in unvisited for other in adjacent[node]), node

    while unvisited:
        ahead = [node for node in adjacent[order[-1]] if node in unvisited] if order else []
        node = min(ahead, key=freedom, default=next(iter(unvisited)))
        del unvisited[node]
        order.append(node)
    return order


def nearest_distance(points: NDArray[np.complex128]) -> float:
    """Return the smallest distance between distinct points, which sets the scale of a picture.

    For more than 1,024 points, only the distances from a sample of the points are compared.
    """
    sample = points if len(points) <= 1_024 else points[:: len(points) // 64]
    apart = np.abs(sample[:, None] - points)
    # In a quotient layout nodes coincide, and a scale cannot be derived from the distance 0.
    apart[apart < 1e-5] = np.inf
    least = float(apart.min())
    return least if np.isfinite(least) else 1.0


def _neighbour_means(row: NDArray[np.integer], weight: Floats, x: Floats) -> Floats:
    """Return the weighted mean position of each node's neighbours, for the nodes of a row.

    A node without neighbours keeps its position.
    """
    total = weight[row].sum(axis=1)
    mean = weight[row] @ x / np.where(total > 0, total, 1)
    means: Floats = np.where(total > 0, mean, x[row])
    return means


def _crossings(level: NDArray[np.integer], weight: Floats, x: Floats) -> float:
    """Return the sum, over all crossing pairs of links, of the product of the links' weights."""
    upper, lower = np.nonzero(np.where(level[:, None] < level[None, :], weight, 0))
    same = level[upper][:, None] == level[upper][None, :]
    apart = (x[upper][:, None] - x[upper]) * (x[lower][:, None] - x[lower])
    heavy = weight[upper, lower]
    return float((heavy[:, None] * heavy)[same & (apart < 0)].sum() / 2)


def _move_to_neighbours(rows: Sequence[NDArray[np.integer]], weight: Floats, x: Floats) -> Floats:
    for sweep in range(_SWEEPS):
        for row in rows if sweep % 2 == 0 else rows[::-1]:
            x[row] = _space_out(_neighbour_means(row, weight, x))
    x -= x.min()
    return x


def _space_out(wanted: Floats) -> Floats:
    """Return positions close to the wanted positions, in the same order and at least 1 apart.

    This is a least-squares fit by the pool-adjacent-violators algorithm.
    """
    pools: list[tuple[float, int]] = []
    for value in wanted - np.arange(len(wanted)):
        mean, count = float(value), 1
        while pools and pools[-1][0] > mean:
            previous_mean, previous_count = pools.pop()
            total = previous_mean * previous_count + mean * count
            count += previous_count
            mean = total / count
        pools.append((mean, count))
    means: Floats = np.repeat([mean for mean, _ in pools], [count for _, count in pools])
    return means + np.arange(len(wanted))
