"""S_4 on the torus: its 24 nodes and 36 links bound 12 hexagons.

Links of two dimensions form hexagons, four for each of the three pairs. At even permutations the
dimensions 2, 3, 4 follow each other clockwise, at odd permutations counterclockwise; hence the
hexagons are the faces. Rolled out, they are the honeycomb, in which every node occurs once in each
period.
"""

from math import pi, sqrt

import numpy as np
from numpy.typing import NDArray

from starcast.topologies import Topology

#: The translations of the honeycomb that take every node to itself; links are 1 long.
PERIODS: NDArray[np.float64] = np.array([[6.0, 0.0], [3.0, 3.0 * sqrt(3)]])


def place_on_torus(topology: Topology) -> NDArray[np.float64]:
    """Return the positions of the nodes of S_4 on the torus, float64 ``[24, 2]``.

    A link joins the nearest images of its ends under `PERIODS`.
    """
    points: dict[int, complex] = {0: 0j}
    first = {0: 0.0}  # the direction of dimension 2
    sign = {0: 1}
    queue = [0]
    for node in queue:
        for index, port in enumerate(topology.ports):
            angle = first[node] + sign[node] * index * 2 * pi / 3
            other = int(topology.neighbours(port, [node])[0])
            if other in points:
                continue
            points[other] = points[node] + np.exp(1j * angle)
            sign[other] = -sign[node]
            first[other] = angle + pi - sign[other] * index * 2 * pi / 3
            queue.append(other)
    images = np.array([points[node] for node in range(topology.nodes)])
    return _centred(np.stack([images.real, images.imag], axis=1))


def _centred(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the images nearest to the centre of a hexagon: that hexagon and the six around it."""
    pairs = [(first, second) for first in range(-2, 3) for second in range(-2, 3)]
    shifts = np.array(pairs) @ PERIODS
    images = (points - points[0] - [0.5, sqrt(3) / 2]) + shifts[:, None]
    nearest = np.hypot(images[..., 0], images[..., 1]).argmin(axis=0)
    return np.asarray(images[nearest, np.arange(len(points))])
