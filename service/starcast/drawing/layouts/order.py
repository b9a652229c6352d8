"""The order of nodes: on levels with few crossings, in rings with links between neighbours."""

from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

Places = NDArray[np.float64]

_SWEEPS = 12


def arrange(level: NDArray[np.integer], weight: Places) -> Places:
    """Return the horizontal position of every node in a layout by levels.

    Every level is ordered by the means of its neighbours (Sugiyama, Tagawa & Toda 1981). The order
    with the fewest crossings of all sweeps is chosen; then nodes move towards their neighbours as
    far as the order permits.

    Args:
        level: the level of each node.
        weight: symmetric, ``[nodes, nodes]``: how strongly two nodes attract each other; 0 if no
            link joins them.

    Returns:
        float64 ``[nodes]``, from 0; neighbours on a level are at least 1 apart.
    """
    rows = [np.flatnonzero(level == number) for number in np.unique(level)]
    place = np.zeros(len(level))
    for row in rows:
        place[row] = np.arange(len(row)) - (len(row) - 1) / 2
    best, fewest = place.copy(), _crossings(level, weight, place)
    for sweep in range(_SWEEPS):
        for row in rows if sweep % 2 == 0 else rows[::-1]:
            row[:] = row[np.argsort(_neighbour_means(row, weight, place), kind="stable")]
            place[row] = np.arange(len(row)) - (len(row) - 1) / 2
        crossings = _crossings(level, weight, place)
        if crossings < fewest:
            best, fewest = place.copy(), crossings
    return _move_to_neighbours([row[np.argsort(best[row])] for row in rows], weight, best)


def order_ring(adjacent: Sequence[Collection[int]], start: int = 0) -> list[int]:
    """Return all nodes in an order in which many are adjacent to the next.

    The walk continues at the neighbour with the fewest unvisited neighbours (Warnsdorff's rule,
    which finds most Hamiltonian paths). Where it cannot continue, it restarts at the first
    unvisited node.

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


def _neighbour_means(row: NDArray[np.integer], weight: Places, place: Places) -> Places:
    """Return the mean position of each node's neighbours; its own if it has none."""
    total = weight[row].sum(axis=1)
    mean = weight[row] @ place / np.where(total > 0, total, 1)
    means: Places = np.where(total > 0, mean, place[row])
    return means


def _crossings(level: NDArray[np.integer], weight: Places, place: Places) -> float:
    """Return the number of pairs of links between the same levels that cross, weighted."""
    upper, lower = np.nonzero(np.where(level[:, None] < level[None, :], weight, 0))
    same = level[upper][:, None] == level[upper][None, :]
    apart = (place[upper][:, None] - place[upper]) * (place[lower][:, None] - place[lower])
    heavy = weight[upper, lower]
    return float((heavy[:, None] * heavy)[same & (apart < 0)].sum() / 2)


def _move_to_neighbours(
    rows: Sequence[NDArray[np.integer]], weight: Places, place: Places
) -> Places:
    for sweep in range(_SWEEPS):
        for row in rows if sweep % 2 == 0 else rows[::-1]:
            place[row] = _space_out(_neighbour_means(row, weight, place))
    place -= place.min()
    return place


def _space_out(wanted: Places) -> Places:
    """Return the positions nearest to those wanted, in the same order, at least 1 apart.

    It is a least-squares fit by pooling adjacent violators.
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
    means: Places = np.repeat([mean for mean, _ in pools], [count for _, count in pools])
    return means + np.arange(len(wanted))
