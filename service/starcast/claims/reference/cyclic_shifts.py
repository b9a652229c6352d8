"""Roots shifted by positions, and the paths between them (Tseng & Sheu 1997, sections 2 to 4).

The module uses labels and the greedy trees L(r) of the catalogue.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from starcast.claims.object_cache import CachedTopology
from starcast.claims.reference.star_labels import symbols
from starcast.topologies.permutations import Ranks


class Path(NamedTuple):
    """The path p_i from r to rho^i(r) in L(rho^i(r)).

    Attributes:
        i: number of positions by which r is shifted.
        nodes: ranks of its nodes, r first.
        ports: the dimensions that it crosses, in order.
    """

    i: int
    nodes: Ranks
    ports: NDArray[np.uint8]


def shifted_root(network: CachedTopology, root: int, i: int) -> int:
    """Return rho^i(r), the node whose label is that of r shifted right by i positions."""
    label = network.label(root)
    return network.rank(label[len(label) - i :] + label[: len(label) - i])


def greedy_dimensions(network: CachedTopology, root: int) -> NDArray[np.int64]:
    """Return the dimension of every node's link in L(r) by Definition 1; 0 at the root."""
    rows = symbols(network)
    goal = rows[root]
    position_of = np.zeros(network.n + 1, dtype=np.int64)
    position_of[goal] = np.arange(1, network.n + 1)
    differs = rows[:, 1:] != goal[1:]
    first_difference = np.where(differs.any(axis=1), differs.argmax(axis=1) + 2, 0)
    goal_position = position_of[rows[:, 0]]
    return np.where(goal_position == 1, first_difference, goal_position)


def greedy_ports(network: CachedTopology, root: int) -> NDArray[np.uint8]:
    """Return the port of every node towards its parent in L(r), from the catalogue's forest."""
    row: NDArray[np.uint8] = network.forest("greedy", root=root).parent_port[0]
    return row


def shift_paths(network: CachedTopology, root: int) -> list[Path]:
    """Return p_1, .., p_{n-1}, link by link; they end early if a (mutated) tree has a cycle."""
    return [_shift_path(network, root, i) for i in range(1, network.n)]


def _shift_path(network: CachedTopology, root: int, i: int) -> Path:
    goal = shifted_root(network, root, i)
    row = greedy_ports(network, goal)
    nodes = [root]
    ports = []
    while nodes[-1] != goal and row[nodes[-1]] and len(nodes) <= network.nodes:
        ports.append(row[nodes[-1]])
        nodes.append(int(network.neighbours[int(ports[-1]) - 2, nodes[-1]]))
    return Path(i, np.array(nodes, dtype=np.int32), np.array(ports, dtype=np.uint8))


def loads_towards_roots(network: CachedTopology, root: int) -> NDArray[np.int64]:
    """Return how many trees L(rho^i(r)), i = 1..n-1, contain each link towards their root.

    Returns:
        int64 ``[nodes, ports]``.
    """
    loads = np.zeros((network.nodes, network.degree), dtype=np.int64)
    for i in range(1, network.n):
        goal = shifted_root(network, root, i)
        for row in network.forest("greedy", root=goal).parent_port:
            for column, port in enumerate(network.ports):
                loads[:, column] += row == port
    return loads
