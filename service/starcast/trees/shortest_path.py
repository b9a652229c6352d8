"""The shortest-path tree SPT and the shortest-path graph SPG (Fragopoulou & Akl 1996, Def. 6, 7).

S^k, k = 1..n, are the nodes x = x_1..x_n with symbol 1 in position k. The parent of a node of S^k,
k >= 2, is within S^k, across the dimension p(x):

* p(x) = x_1 if x_1 != k: the first symbol moves to its own position;
* p(x) = the first displaced position to the right of k, that is of k+1, .., n, 2, .., k-1, k in
  this order, if x_1 = k: the cycle (1 k) merges with the next one. It is k if nothing else is
  displaced: then x is adjacent to the identity.
"""

import numpy as np
from numpy.typing import NDArray

from starcast.topologies import Topology
from starcast.trees.common import Places, Slab, slabs, translate_ports
from starcast.trees.construction import construction
from starcast.trees.model import Forest


@construction(
    "shortest-path", families=["star"],
    description="the shortest-path tree SPT of the root and S^2, .., S^n",
    source="Fragopoulou & Akl 1996, Def. 6", partial=True,
)  # fmt: skip
def shortest_path(topology: Topology, root: int) -> Forest:
    """Return SPT: one tree of the root and S^2, .., S^n; its branch across dimension k is S^k.

    Reference: Fragopoulou & Akl 1996, Def. 6.
    """
    row = np.zeros((1, topology.nodes), dtype=np.uint8)
    for slab, part in slabs(topology.n, row):
        part[0] = dimension_home(slab)
    rows = translate_ports(topology, row, root)
    return Forest(topology, rows, root, "shortest-path", spanning=False, verify_hubs=(root,))


@construction(
    "shortest-path-graph", families=["star"],
    description="SPG: the n-1 subtrees of SPT, each with all of S^1",
    source="Fragopoulou & Akl 1996, Def. 7", one_tree_per_port=True, partial=True,
)  # fmt: skip
def shortest_path_graph(topology: Topology, root: int) -> Forest:
    """Return SPG: n-1 trees, each a branch of SPT with all of S^1 (Fragopoulou & Akl 1996, Def. 7).

    Tree l-2, l = 2..n, is SPT's branch S^l together with the nodes of S^1, whose parents are across
    dimension l.
    """
    rows = np.zeros((topology.n - 1, topology.nodes), dtype=np.uint8)
    write_s1(topology.n, rows)
    for slab, part in slabs(topology.n, rows):
        home = dimension_home(slab)
        for tree, row in enumerate(part, start=2):
            np.copyto(row, home, where=slab.place[1] == tree)
    rows = translate_ports(topology, rows, root)
    return Forest(topology, rows, root, "shortest-path-graph", spanning=False)


def dimension_home(slab: Slab) -> NDArray[np.uint8]:
    """Return p(x) for every node of a slab, uint8 ``[(n-1)!]``."""
    merging = np.flatnonzero(slab.place[1] == slab.first)
    home = np.full(slab.place.shape[1], slab.first, dtype=np.uint8)
    home[merging] = _first_displaced(slab.place[:, merging], slab.first)
    return home


def write_s1(n: int, rows: NDArray[np.uint8]) -> None:
    """Write port l for the nodes of S^1 in tree l, 0 for the identity."""
    rows[:, : rows.shape[1] // n] = np.arange(2, n + 1, dtype=np.uint8)[:, None]
    rows[:, 0] = 0


def _first_displaced(place: Places, k: int) -> NDArray[np.uint8]:
    """Return the first displaced position to the right of k, for nodes with symbol 1 in k."""
    dimension = np.full(place.shape[1], k, dtype=np.uint8)
    for position in reversed([*range(k + 1, len(place)), *range(2, k)]):
        dimension[place[position] != position] = position
    return dimension
