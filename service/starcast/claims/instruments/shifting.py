"""Roots shifted by positions, and the paths between them (Tseng & Sheu 1997, sections 2 to 4), read off labels and forests."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from starcast.claims.instruments.star_labels import symbols
from starcast.claims.lab import Lab
from starcast.permutations import Ranks
from starcast.topologies import Topology


class Path(NamedTuple):
    """The path p_i from r to rho^i(r) in L(rho^i(r)): its nodes, r first, and the dimensions that it crosses."""

    i: int
    nodes: Ranks
    ports: NDArray[np.uint8]


def shifted(where: Topology, root: int, i: int) -> int:
    """rho^i(r): the label shifted right by i positions."""
    label = where.label(root)
    return where.rank(label[len(label) - i :] + label[: len(label) - i])


def alpha(lab: Lab, where: Topology, root: int) -> NDArray[np.int64]:
    """The dimension by which each node's link of L(r) leaves it (Def. 1), from the labels; 0 at the root."""
    rows = symbols(lab, where)
    goal = rows[root]
    home = np.zeros(where.n + 1, dtype=np.int64)
    home[goal] = np.arange(1, where.n + 1)
    differs = rows[:, 1:] != goal[1:]
    dif = np.where(differs.any(axis=1), differs.argmax(axis=1) + 2, 0)
    placed = home[rows[:, 0]]
    return np.where(placed == 1, dif, placed)


def ports_to(lab: Lab, where: Topology, root: int) -> NDArray[np.uint8]:
    """The dimension by which each node's link of L(r) leaves it, as the catalogue's forest has it."""
    row: NDArray[np.uint8] = lab.forest(where.spec, "greedy", root=root).parent_port[0]
    return row


def path(lab: Lab, where: Topology, root: int, i: int) -> Path:
    """p_i, followed from r link by link; it is given up where it is longer than any path in a tree."""
    goal = shifted(where, root, i)
    row, across = ports_to(lab, where, goal), lab.neighbours(where.spec)
    nodes, ports = [root], []
    while nodes[-1] != goal and row[nodes[-1]] and len(nodes) <= where.nodes:
        ports.append(row[nodes[-1]])
        nodes.append(int(across[int(ports[-1]) - 2, nodes[-1]]))
    return Path(i, np.array(nodes, dtype=np.int32), np.array(ports, dtype=np.uint8))


def paths(lab: Lab, where: Topology, root: int) -> list[Path]:
    """p_1, .., p_{n-1}."""
    return [path(lab, where, root, i) for i in range(1, where.n)]


def loads_to(lab: Lab, where: Topology, root: int) -> NDArray[np.int64]:
    """How many of L(rho^1(r)), .., L(rho^{n-1}(r)) have each directed link towards their root, ``[nodes, n-1]``."""
    load = np.zeros((where.nodes, where.degree), dtype=np.int64)
    for i in range(1, where.n):
        for row in lab.forest(where.spec, "greedy", root=shifted(where, root, i)).parent_port:
            for column, port in enumerate(where.ports):
                load[:, column] += row == port
    return load
