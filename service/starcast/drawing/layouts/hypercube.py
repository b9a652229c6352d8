"""A hypercube as a projection: every bit moves a node along a direction of its own."""

import numpy as np
from numpy.typing import NDArray

from starcast.drawing.layouts.order import nearest_distance
from starcast.topologies import Topology

_GROWTH = 1.37  # of the lengths of the directions: nodes of a regular projection would coincide


def place_by_projection(topology: Topology) -> NDArray[np.float64]:
    """Return the positions of the nodes of Q_d, float64 ``[nodes, 2]``."""
    bits = topology.n
    exponents = np.arange(bits)
    directions = _GROWTH**exponents * np.exp(1j * (np.pi * exponents / bits + 0.12))
    values = (np.arange(topology.nodes)[:, None] >> exponents[::-1]) & 1
    points = values @ directions
    return np.stack([points.real, -points.imag], axis=1) / nearest_distance(points)
