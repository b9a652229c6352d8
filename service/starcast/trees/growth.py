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
    n = topology.n
    home = permutations.inverse(root)
    block = topology.nodes // n
    out.reshape(n, block)[:] = home[:, None]
    start = int(root[0] - 1) * block
    for depth in range(1, n):  # start: the first node that agrees with the root on its first `depth` symbols
        free = np.setdiff1d(np.arange(1, n + 1), root[:depth])
        block, width = block // len(free), block
        out[start : start + width] = depth + 1
        start += int(np.searchsorted(free, root[depth])) * block
    out[start] = 0


def path_to_root(topology: Topology, row: NDArray[np.uint8], start: int) -> tuple[list[int], list[int]]:
    """The nodes from ``start`` to the root of a tree, and the ports crossed on the way."""
    nodes, ports = [start], []
    while row[nodes[-1]]:
        ports.append(int(row[nodes[-1]]))
        nodes.append(int(topology.neighbours(ports[-1], [nodes[-1]])[0]))
    return nodes, ports


def reroot(topology: Topology, row: NDArray[np.uint8], root: int) -> None:
    """Turn the links of the path from ``root`` to the tree's old root around, in place: the tree is rooted at ``root``."""
    nodes, ports = path_to_root(topology, row, root)
    row[root] = 0
    for node, port in zip(nodes[1:], ports, strict=True):
        row[node] = topology.reverse_port(port)


def translated(topology: Topology, rows: NDArray[np.uint8], root: int) -> NDArray[np.uint8]:
    """The forest at the identity moved to ``root`` by relabelling symbols, which keeps every port."""
    if root == 0:
        return rows
    moved = np.empty_like(rows)
    moved[:, topology.translation(root)] = rows
    return moved
