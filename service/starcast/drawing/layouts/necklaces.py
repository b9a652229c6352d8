"""Rings of necklaces: the rotation of a star graph is a rotation of the picture."""

from math import pi

import numpy as np
from numpy.typing import NDArray

from starcast.topologies import Topology
from starcast.topologies.necklaces import necklaces

_RING = 1.6  # least distance of two levels
_NARROW = 1.0  # distance of two rings of a level
#: Up to so many nodes, every level is a single ring.
_SINGLE_RINGS = 128


def place_necklaces(topology: Topology) -> NDArray[np.float64]:
    """Return the positions of the nodes of S_n, float64 ``[nodes, 2]``.

    The identity is the centre, and rings around it hold the nodes at each distance. The n-1 nodes
    of a necklace are equally spaced on their ring. A level of a large star graph is several rings.
    """
    n = topology.n
    level = topology.distances().astype(np.int64)
    neighbours = topology.table()
    rings = necklaces(n)
    sector = 2 * pi / (n - 1)
    turned = 2 * pi * rings.turns / rings.period
    slot = np.zeros(topology.nodes)  # the angle of a necklace in its sector
    radius = np.zeros(topology.nodes)
    outermost = 0.0
    for number in range(1, topology.diameter + 1):
        leaders = np.flatnonzero((level == number) & (rings.turns == 0))
        ahead = neighbours[:, leaders]
        # The mean direction of the nodes nearer to the centre, with all sectors laid on each other.
        angles = (slot + turned)[ahead] * (n - 1)
        means = np.where(level[ahead] < number, np.exp(1j * angles), 0).sum(axis=0)
        order = leaders[np.argsort(np.angle(means) % (2 * pi), kind="stable")]
        slot[order] = (np.arange(len(order)) + 0.5 * (number % 2)) / len(order) * sector
        count = 1
        if topology.nodes > _SINGLE_RINGS:
            count = _count_rings(outermost + _RING, len(order) * (n - 1))
        innermost = max(outermost + _RING, len(order) * (n - 1) / count / (2 * pi))
        radius[order] = innermost + np.arange(len(order)) % count * _NARROW
        outermost = innermost + (count - 1) * _NARROW
        members = level == number
        slot[members] = slot[rings.leader[members]]
        radius[members] = radius[rings.leader[members]]
    angle = slot + turned
    return np.stack([radius * np.sin(angle), -radius * np.cos(angle)], axis=1)


def _count_rings(innermost: float, nodes: int) -> int:
    """Return how many rings around a disc hold so many nodes that are 1 apart."""
    count = 1
    while 2 * pi * innermost * count < nodes:
        count += 1
    return count
