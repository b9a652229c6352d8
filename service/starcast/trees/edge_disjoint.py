"""The n-1 directed edge-disjoint spanning trees EDT (Fragopoulou & Akl 1996, Def. 8).

Tree l = 2..n is the tree whose root has one child, across dimension l. A node x of S^k, k >= 2
(symbol 1 in position k), has its parent across a different link in each tree. Let q be the first
symbol of its parent in SPT. The parent is the neighbour whose *first symbol* is

* in tree k: q;
* in tree x_1: 1 (cases 1 and 3, x_1 != k);
* in tree q: 1 if x_1 = k (case 2), k otherwise (case 3; in case 1 q = k, which is tree k);
* in any other tree l: l.

The parent in tree l of a node of S^1, except the root, is across *dimension* l (case 4).
"""

import numpy as np
from numpy.typing import NDArray

from starcast.topologies import Topology
from starcast.trees.common import Slab, slabs, translate_ports
from starcast.trees.construction import construction
from starcast.trees.model import Forest
from starcast.trees.shortest_path import dimension_home, write_s1


@construction(
    "edge-disjoint", families=["star"],
    description="EDT: n-1 directed edge-disjoint spanning trees",
    source="Fragopoulou & Akl 1996, Def. 8", one_tree_per_port=True,
)  # fmt: skip
def edge_disjoint(topology: Topology, root: int) -> Forest:
    """Return n-1 spanning trees no two of which share a directed link.

    Tree l-2 reaches all nodes through the root's neighbour across dimension l.

    Reference: Fragopoulou & Akl 1996, Def. 8.
    """
    rows = np.empty((topology.n - 1, topology.nodes), dtype=np.uint8)
    write_s1(topology.n, rows)
    for slab, part in slabs(topology.n, rows):
        _write_slab(slab, part)
    return Forest(topology, translate_ports(topology, rows, root), root, "edge-disjoint")


def _write_slab(slab: Slab, rows: NDArray[np.uint8]) -> None:
    """Write cases 1 to 3 for a slab: the neighbour with first symbol s is across place[s]."""
    home, k = dimension_home(slab), slab.place[1]
    case_2 = k == slab.first
    across_k = np.take_along_axis(slab.place, k[None, :].astype(np.intp), axis=0)[0]
    in_tree_q = np.where(case_2, k, across_k)
    for tree, row in enumerate(rows, start=2):
        if tree == slab.first:
            row[:] = np.where(case_2, home, k)
            continue
        row[:] = slab.place[tree]
        # x has q in position p(x), so this is tree q.
        np.copyto(row, in_tree_q, where=slab.place[tree] == home)
        np.copyto(row, home, where=k == tree)
