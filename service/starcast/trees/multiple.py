"""The n-1 trees L-hat(rho^i(r)), i = 1..n-1, of congestion 2 (Tseng & Sheu 1997, Def. 2, Lemma 6)."""

import numpy as np
from numpy.typing import NDArray

from starcast import permutations
from starcast.permutations import Perms
from starcast.topologies import Topology
from starcast.trees.forest import Forest
from starcast.trees.growth import greedy_path, greedy_ports


def multiple(topology: Topology, root: int) -> Forest:
    """Tree i-1 is the undirected tree L(rho^i(r)), re-rooted at r; rho shifts the label right by one position."""
    here = permutations.unrank(topology.n, root)[0]
    shifted = [permutations.shift(here, i) for i in range(1, topology.n)]
    toward = permutations.rank(np.stack(shifted))
    rows = np.empty((topology.n - 1, topology.nodes), dtype=np.uint8)
    for row, perm in zip(rows, shifted, strict=True):
        greedy_ports(topology, perm, row)
        _reroot(row, here, perm)
    rows.flags.writeable = False
    return Forest(topology, rows, root, "multiple", toward=tuple(toward.tolist()))


def _reroot(row: NDArray[np.uint8], root: Perms, old: Perms) -> None:
    """Turn the links of the path from the root to the tree's old root around, in place; they keep their dimensions."""
    path, ports = greedy_path(root, old)
    ranks = permutations.rank(path)
    row[ranks[0]] = 0
    row[ranks[1:]] = ports
