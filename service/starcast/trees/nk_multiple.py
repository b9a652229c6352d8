"""The n-1 trees MT(R_i), i = 1..n-1, of S_{n,k} (Li, Chen, Xiang & Yao, Def. 4 and 5)."""

import numpy as np
from numpy.typing import NDArray

from starcast import permutations
from starcast.topologies import Topology
from starcast.trees.model import Forest
from starcast.trees.nk_greedy import nk_star, sp_ports


def nk_multiple(topology: Topology, root: int) -> Forest:
    """Tree i-1 is the undirected tree SP(R_i(r)), re-rooted at r.

    R_i shifts the label of n symbols, the root's and then the missing ones ascending, right by i positions; its first k
    symbols are the node.
    """
    there = nk_star(topology)
    extended = there.extension(root)
    hubs = np.stack([permutations.shift(extended, i)[: there.k] for i in range(1, there.n)])
    rows = np.empty((there.n - 1, there.nodes), dtype=np.uint8)
    for row, hub in zip(rows, hubs, strict=True):
        sp_ports(there, hub, row)
        _reroot(there, row, root)
    rows.flags.writeable = False
    verify_hubs = permutations.arrangement_rank(hubs, there.n)
    return Forest(there, rows, root, "nk-multiple", verify_hubs=tuple(verify_hubs.tolist()))


def _reroot(topology: Topology, row: NDArray[np.uint8], root: int) -> None:
    """Turn the links of the path from the root to the tree's old root around, in place."""
    node, port, back = root, int(row[root]), 0
    while True:
        row[node] = back
        if not port:
            return
        node = int(topology.neighbours(port, [node])[0])
        port, back = int(row[node]), topology.reverse_port(port)
