"""The n-1 trees MT(R_i), i = 1..n-1, of S_{n,k} (Li, Chen, Xiang & Yao, Def. 4 and 5)."""

import numpy as np
from numpy.typing import NDArray

from starcast.support.arrays import freeze
from starcast.topologies import Topology, permutations
from starcast.trees.construction import construction
from starcast.trees.model import Forest
from starcast.trees.nk_greedy import require_nk_star, write_sp_ports


@construction(
    "nk-multiple", families=["nk-star"], description="the n-1 trees MT(R_i)",
    source="Li, Chen, Xiang & Yao, Def. 4 and 5", one_tree_per_port=True,
)  # fmt: skip
def nk_multiple(topology: Topology, root: int) -> Forest:
    """Return the n-1 trees MT(R_i): tree i-1 is the undirected tree SP(R_i(r)), re-rooted at r.

    R_i shifts the root's extension, a label of n symbols, right by i positions; its first k
    symbols are the node.

    Reference: Li, Chen, Xiang & Yao, Def. 4 and 5.
    """
    star = require_nk_star(topology)
    extended = star.extension(root)
    old_roots = np.stack([permutations.shift(extended, i)[: star.k] for i in range(1, star.n)])
    rows = np.empty((star.n - 1, star.nodes), dtype=np.uint8)
    for row, old_root in zip(rows, old_roots, strict=True):
        write_sp_ports(star, old_root, row)
        _reroot(star, row, root)
    hubs = permutations.arrangement_rank(old_roots, star.n)
    return Forest(star, freeze(rows), root, "nk-multiple", verify_hubs=tuple(hubs.tolist()))


def _reroot(topology: Topology, row: NDArray[np.uint8], root: int) -> None:
    """Reverse the links between the new root and the old one, in place."""
    node, port, back = root, int(row[root]), 0
    while True:
        row[node] = back
        if not port:
            return
        node = int(topology.neighbours(port, [node])[0])
        port, back = int(row[node]), topology.reverse_port(port)
