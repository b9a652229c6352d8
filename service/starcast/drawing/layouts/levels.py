"""Rows of nodes by their distance from the identity."""

import numpy as np
from numpy.typing import NDArray

from starcast.drawing.layouts.order import arrange
from starcast.topologies import Topology

#: Up to so many nodes, levels are single rows in an order with few crossings.
_SINGLE_ROWS = 256
_SWEEPS = 8
_ASPECT = 1.6  # width by height


def place_on_levels(topology: Topology) -> NDArray[np.float64]:
    """Return the positions of nodes on levels from top to bottom, float64 ``[nodes, 2]``.

    A level of a large topology is a band of several rows, so that the picture does not become a
    line.
    """
    level = topology.distances().astype(np.int64)
    neighbours = topology.table()
    if topology.nodes <= _SINGLE_ROWS:
        return _place_rows(level, neighbours)
    return _place_bands(level, neighbours)


def _place_rows(level: NDArray[np.int64], neighbours: NDArray[np.int32]) -> NDArray[np.float64]:
    nodes = len(level)
    weight = np.zeros((nodes, nodes))
    for row in neighbours:
        weight[np.arange(nodes), row] = 1
    weight[level[:, None] == level] = 0
    x = arrange(level, weight)
    for number in range(int(level.max()) + 1):
        row = level == number
        x[row] -= (x[row].min() + x[row].max()) / 2
    height = max(1.6, (x.max() - x.min()) / _ASPECT / max(int(level.max()), 1))
    return np.stack([x, level * height], axis=1)


def _place_bands(level: NDArray[np.int64], neighbours: NDArray[np.int32]) -> NDArray[np.float64]:
    rows = [np.flatnonzero(level == number) for number in range(int(level.max()) + 1)]
    columns = int(np.ceil(np.sqrt(len(level) * 2 * _ASPECT)))
    share = np.zeros(len(level))  # the position in the level, from -1 to 1
    for sweep in range(_SWEEPS):
        for row in rows if sweep % 2 == 0 else rows[::-1]:
            wanted = share[neighbours[:, row]].mean(axis=0)
            order = row[np.argsort(wanted, kind="stable")]
            share[order] = (np.arange(len(row)) + 0.5) / len(row) * 2 - 1
    positions = np.empty((len(level), 2))
    top = 0.0
    for row in rows:
        order = row[np.argsort(share[row], kind="stable")]
        height = -(-len(row) // columns)
        width = -(-len(row) // height)
        index = np.arange(len(row))
        positions[order, 0] = index // height - (width - 1) / 2
        positions[order, 1] = top + index % height
        top += height + max(3.0, 0.05 * columns)
    return positions
