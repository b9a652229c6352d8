"""The n-1 directed edge-disjoint spanning trees EDT (Fragopoulou & Akl 1996, Def. 8).

The trees are numbered l = 2..n by the root's neighbour from which they hang. A node x of S^k, k >= 2 (symbol 1 in position
k), has in each its parent across another link; q is the first symbol of its parent in SPT. It hangs from the neighbour whose
*first symbol* is

* in tree k: q;
* in tree x_1: 1 (cases 1 and 3, x_1 != k);
* in tree q: 1 if x_1 = k (case 2), k otherwise (case 3; in case 1 q = k, which is tree k);
* in any other tree l: l.

A node of S^1 but the root hangs in tree l from its neighbour across *dimension* l (case 4).
"""

import numpy as np
from numpy.typing import NDArray

from starcast.topologies import Topology
from starcast.trees.common import translated
from starcast.trees.model import Forest
from starcast.trees.shortest_path import Slab, dimension_home, hang_s1, slabs


def edge_disjoint(topology: Topology, root: int) -> Forest:
    """Tree l-2 reaches all nodes through the root's neighbour across dimension l; no directed link is in two trees."""
    rows = np.empty((topology.n - 1, topology.nodes), dtype=np.uint8)
    hang_s1(topology.n, rows)
    for slab, part in slabs(topology.n, rows):
        _hang(slab, part)
    rows = translated(topology, rows, root)
    rows.flags.writeable = False
    return Forest(topology, rows, root, "edge-disjoint")


def _hang(slab: Slab, rows: NDArray[np.uint8]) -> None:
    """Cases 1 to 3, for the nodes of one first symbol: the neighbour with s in front is across dimension place[s]."""
    home, k = dimension_home(slab), slab.place[1]
    case_2 = k == slab.first
    across_k = np.take_along_axis(slab.place, k[None, :].astype(np.intp), axis=0)[0]
    in_tree_q = np.where(case_2, k, across_k)
    for tree, row in enumerate(rows, start=2):
        if tree == slab.first:
            row[:] = np.where(case_2, home, k)
            continue
        row[:] = slab.place[tree]
        np.copyto(
            row, in_tree_q, where=slab.place[tree] == home
        )  # tree q, since x has q in position p(x)
        np.copyto(row, home, where=k == tree)
