"""In which order nodes stand: on levels so that few links cross, in a ring so that many links join neighbours."""

from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

Places = NDArray[np.float64]

_SWEEPS = 12


def arrange(level: NDArray[np.integer], weight: Places) -> Places:
    """The horizontal place of every node, float64 ``[nodes]``, from 0; neighbours on a level are at least 1 from each other.

    Every level is ordered by the means of its neighbours (Sugiyama, Tagawa & Toda 1981); of all sweeps the order with the
    fewest crossings is taken, then nodes are moved towards their neighbours as far as the order leaves room.

    Args:
        level: of each node.
        weight: symmetric, ``[nodes, nodes]``: how much two nodes want to be near; 0 where no link joins them.
    """
    rows = [np.flatnonzero(level == one) for one in np.unique(level)]
    place = np.zeros(len(level))
    for row in rows:
        place[row] = np.arange(len(row)) - (len(row) - 1) / 2
    best, fewest = place.copy(), _crossings(level, weight, place)
    for sweep in range(_SWEEPS):
        for row in rows if sweep % 2 == 0 else rows[::-1]:
            row[:] = row[np.argsort(_pulled(row, weight, place), kind="stable")]
            place[row] = np.arange(len(row)) - (len(row) - 1) / 2
        crossed = _crossings(level, weight, place)
        if crossed < fewest:
            best, fewest = place.copy(), crossed
    return _settled([row[np.argsort(best[row])] for row in rows], weight, best)


def walk(adjacent: Sequence[Collection[int]], start: int = 0) -> list[int]:
    """All nodes in an order in which many are adjacent to the next: a walk that goes on where the fewest ways lead on.

    Where it is stuck (Warnsdorff's rule finds most Hamiltonian paths, not all), it begins again at the first node left.

    Args:
        adjacent: to each node.
        start: where it begins.
    """
    left = dict.fromkeys([start, *range(len(adjacent))])
    order: list[int] = []
    while left:
        ahead = [node for node in adjacent[order[-1]] if node in left] if order else []
        node = min(
            ahead,
            key=lambda one: (sum(other in left for other in adjacent[one]), one),
            default=next(iter(left)),
        )
        del left[node]
        order.append(node)
    return order


def _pulled(row: NDArray[np.integer], weight: Places, place: Places) -> Places:
    """The mean place of each node's neighbours; its own where it has none."""
    total = weight[row].sum(axis=1)
    pulled: Places = np.where(
        total > 0, weight[row] @ place / np.where(total > 0, total, 1), place[row]
    )
    return pulled


def _crossings(level: NDArray[np.integer], weight: Places, place: Places) -> float:
    """How many pairs of links between the same levels cross, by their weights."""
    upper, lower = np.nonzero(np.where(level[:, None] < level[None, :], weight, 0))
    same = level[upper][:, None] == level[upper][None, :]
    apart = (place[upper][:, None] - place[upper]) * (place[lower][:, None] - place[lower])
    heavy = weight[upper, lower]
    return float((heavy[:, None] * heavy)[same & (apart < 0)].sum() / 2)


def _settled(rows: Sequence[NDArray[np.integer]], weight: Places, place: Places) -> Places:
    for sweep in range(_SWEEPS):
        for row in rows if sweep % 2 == 0 else rows[::-1]:
            place[row] = _spaced(_pulled(row, weight, place))
    place -= place.min()
    return place


def _spaced(wanted: Places) -> Places:
    """The places nearest to those wanted (least squares, by pooling adjacent violators) in the same order, at least 1 apart."""
    pools: list[tuple[float, int]] = []
    for one in wanted - np.arange(len(wanted)):
        mean, count = float(one), 1
        while pools and pools[-1][0] > mean:
            before, many = pools.pop()
            mean, count = (before * many + mean * count) / (many + count), many + count
        pools.append((mean, count))
    means: Places = np.repeat([mean for mean, _ in pools], [count for _, count in pools])
    return means + np.arange(len(wanted))
