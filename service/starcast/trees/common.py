"""What several constructions share: growing a tree from the links L(r), and moving a tree to another root."""

import numpy as np
from numpy.typing import NDArray

from starcast import permutations
from starcast.permutations import Perms
from starcast.topologies import Topology


def greedy_ports(topology: Topology, root: Perms, out: NDArray[np.uint8]) -> None:
    """Write alpha_root(v) for every node of S_n into ``out``, 0 at the root (Tseng & Sheu, Def. 1).

    In rank order the values are runs: where the first symbol is not the root's, its place in the root, constant on the
    (n-1)! nodes that share the first symbol; else the first place from 2 on where the node differs from the root, constant
    on the nodes that leave the root's prefix there with the same symbol.
    """
    n, block, start = topology.n, topology.nodes, 0
    home = permutations.inverse(root).tolist()
    for depth in range(
        n
    ):  # start: the first node that agrees with the root on its first `depth` symbols
        free = sorted(set(range(1, n + 1)) - set(root[:depth].tolist()))
        block //= len(free)
        for place, symbol in enumerate(free):
            port = home[symbol - 1] if depth == 0 else depth + 1
            out[start + place * block : start + (place + 1) * block].fill(port)
        start += free.index(int(root[depth])) * block
    out[start] = 0


def greedy_path(start: Perms, root: Perms) -> tuple[Perms, list[int]]:
    """The nodes from ``start`` to the root of L(root), uint8 ``[length + 1, n]``, and the ports crossed on the way."""
    here, goal = start.tolist(), root.tolist()
    nodes, ports = [list(here)], []
    while here != goal:
        place = goal.index(here[0])  # where the first symbol belongs, from 0
        if place == 0:
            place = next(k for k in range(1, len(goal)) if here[k] != goal[k])
        here[0], here[place] = here[place], here[0]
        nodes.append(list(here))
        ports.append(place + 1)
    return np.array(nodes, dtype=np.uint8), ports


def translated(topology: Topology, rows: NDArray[np.uint8], root: int) -> NDArray[np.uint8]:
    """The forest at the identity moved to ``root`` by the topology's translation."""
    if root == 0:
        return rows
    image = topology.translation(root)
    moved = np.empty_like(rows)
    for there, row in zip(moved, rows, strict=True):
        there[image] = topology.carried_ports(root, row)
    return moved
