"""The n-1 trees L-hat(rho^i(r)), i = 1..n-1, of congestion 2 (Tseng & Sheu 1997, Def. 2, Lemma 6)."""

import numpy as np

from starcast import permutations
from starcast.topologies import Topology
from starcast.trees.forest import Forest
from starcast.trees.growth import greedy_ports, reroot


def multiple(topology: Topology, root: int) -> Forest:
    """Tree i-1 is the undirected tree L(rho^i(r)), re-rooted at r; rho shifts the label right by one position."""
    here = permutations.unrank(topology.n, root)[0]
    shifted = [permutations.shift(here, i) for i in range(1, topology.n)]
    toward = permutations.rank(np.stack(shifted))
    rows = np.empty((topology.n - 1, topology.nodes), dtype=np.uint8)
    for row, perm in zip(rows, shifted, strict=True):
        greedy_ports(topology, perm, row)
        reroot(topology, row, root)
    rows.flags.writeable = False
    return Forest(topology, rows, root, "multiple", toward=tuple(toward.tolist()))
