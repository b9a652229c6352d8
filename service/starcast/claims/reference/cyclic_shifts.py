"""Roots shifted by positions, and the paths between them (Tseng & Sheu 1997, sections 2 to 4), read off labels and forests."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from starcast.claims.object_cache import ObjectCache
from starcast.claims.reference.star_labels import symbols
from starcast.permutations import Ranks
from starcast.topologies import Topology


class Path(NamedTuple):
    """The path p_i from r to rho^i(r) in L(rho^i(r)): its nodes, r first, and the dimensions that it crosses."""

    i: int
    nodes: Ranks
    ports: NDArray[np.uint8]


def shifted(topology: Topology, root: int, i: int) -> int:
    """rho^i(r): the label shifted right by i positions."""
    label = topology.label(root)
    return topology.rank(label[len(label) - i :] + label[: len(label) - i])


def alpha(objects: ObjectCache, topology: Topology, root: int) -> NDArray[np.int64]:
    """The dimension by which each node's link of L(r) leaves it (Def. 1), from the labels; 0 at the root."""
    rows = symbols(objects, topology)
    goal = rows[root]
    home = np.zeros(topology.n + 1, dtype=np.int64)
    home[goal] = np.arange(1, topology.n + 1)
    differs = rows[:, 1:] != goal[1:]
    dif = np.where(differs.any(axis=1), differs.argmax(axis=1) + 2, 0)
    placed = home[rows[:, 0]]
    return np.where(placed == 1, dif, placed)


def ports_to(objects: ObjectCache, topology: Topology, root: int) -> NDArray[np.uint8]:
    """The dimension by which each node's link of L(r) leaves it, as the catalogue's forest has it."""
    row: NDArray[np.uint8] = objects.forest(topology.spec, "greedy", root=root).parent_port[0]
    return row


def path(objects: ObjectCache, topology: Topology, root: int, i: int) -> Path:
    """p_i, followed from r link by link; it is given up where it is longer than any path in a tree."""
    goal = shifted(topology, root, i)
    row, across = ports_to(objects, topology, goal), objects.neighbours(topology.spec)
    nodes, ports = [root], []
    while nodes[-1] != goal and row[nodes[-1]] and len(nodes) <= topology.nodes:
        ports.append(row[nodes[-1]])
        nodes.append(int(across[int(ports[-1]) - 2, nodes[-1]]))
    return Path(i, np.array(nodes, dtype=np.int32), np.array(ports, dtype=np.uint8))


def paths(objects: ObjectCache, topology: Topology, root: int) -> list[Path]:
    """p_1, .., p_{n-1}."""
    return [path(objects, topology, root, i) for i in range(1, topology.n)]


def loads_to(objects: ObjectCache, topology: Topology, root: int) -> NDArray[np.int64]:
    """How many of L(rho^1(r)), .., L(rho^{n-1}(r)) have each directed link towards their root, ``[nodes, n-1]``."""
    load = np.zeros((topology.nodes, topology.degree), dtype=np.int64)
    for i in range(1, topology.n):
        for row in objects.forest(
            topology.spec, "greedy", root=shifted(topology, root, i)
        ).parent_port:
            for column, port in enumerate(topology.ports):
                load[:, column] += row == port
    return load
