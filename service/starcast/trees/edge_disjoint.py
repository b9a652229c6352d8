"""The trees SPT, SPG and EDT, and the levels of nodes in EDT (Fragopoulou & Akl 1996).

**SPT and SPG**, the shortest-path tree and the shortest-path graph (Def. 6, 7).

S^k, k = 1..n, is the set of nodes x = x_1..x_n with symbol 1 in position k. For k >= 2, the parent
of a node of S^k is within S^k, across the dimension p(x):

* p(x) = x_1 if x_1 != k: the first symbol moves to its own position;
* p(x) = the first displaced position in the order k+1, .., n, 2, .., k-1, k, if x_1 = k: the cycle
  (1 k) merges with the next cycle. If no other symbol is displaced, p(x) = k and x is adjacent to
  the identity.

**EDT**, the n-1 directed edge-disjoint spanning trees (Def. 8).

Tree l = 2..n is the tree whose root has one child, across dimension l. A node x of S^k, k >= 2
(symbol 1 in position k), has a different parent in each tree. Let q be the first symbol of x's
parent in SPT. There are three cases: x_1 != k and q = k (case 1), x_1 = k (case 2), and x_1 != k
and q != k (case 3). In each tree of EDT, the parent of x is the neighbour of x that begins with

* q in tree k;
* 1 in tree x_1, in cases 1 and 3;
* 1 in tree q in case 2, and k in tree q in case 3;
* l in any other tree l.

Every node of S^1 except the root has its parent in tree l across *dimension* l (case 4).

**Levels in EDT** are counted without building the trees. The *detour* of a node in a tree is the
node's level minus its distance from the root; docs/definitions/edge-disjoint-trees.md derives the
detours.
"""

from collections.abc import Iterator
from math import comb, factorial, perm
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from starcast.topologies import Topology
from starcast.trees.construction import (
    Slab,
    SymbolPositions,
    construction,
    slabs,
    translate_ports,
    write_branches,
)
from starcast.trees.model import Forest


@construction(
    "shortest-path", families=["star"],
    description="a shortest-path tree of the root and all nodes with another first symbol (SPT)",
    source="Fragopoulou & Akl 1996, Def. 6", partial=True,
)  # fmt: skip
def shortest_path(topology: Topology, root: int) -> Forest:
    """Return SPT, the shortest-path tree of the root and all nodes with another first symbol.

    If the root is the identity, its branch across dimension k has the nodes with symbol 1 in
    position k.

    Reference: Fragopoulou & Akl 1996, Def. 6.
    """
    row = np.zeros((1, topology.nodes), dtype=np.uint8)
    for slab, part in slabs(topology.n, row):
        part[0] = dimension_home(slab)
    rows = translate_ports(topology, row, root)
    return Forest(topology, rows, root, "shortest-path", spanning=False, verify_hubs=(root,))


@construction(
    "shortest-path-graph", families=["star"],
    description="n-1 trees: each branch of shortest-path, with all nodes that shortest-path omits "
    "(SPG)",
    source="Fragopoulou & Akl 1996, Def. 7", one_tree_per_port=True, partial=True,
)  # fmt: skip
def shortest_path_graph(topology: Topology, root: int) -> Forest:
    """Return the n-1 trees of the shortest-path graph SPG.

    Tree l-2, l = 2..n, consists of the branch of the shortest-path tree SPT (`shortest_path`)
    across dimension l, and of all nodes that begin with the root's first symbol, which SPT omits.
    The parent of such a node is its neighbour across dimension l.

    Reference: Fragopoulou & Akl 1996, Def. 7.
    """
    rows = np.zeros((topology.n - 1, topology.nodes), dtype=np.uint8)
    write_s1(topology.n, rows)
    write_branches(topology.n, rows, dimension_home)
    rows = translate_ports(topology, rows, root)
    return Forest(topology, rows, root, "shortest-path-graph", spanning=False)


def dimension_home(slab: Slab) -> NDArray[np.uint8]:
    """Return the dimension towards the parent in SPT for each node of a slab, uint8 ``[(n-1)!]``.

    SPT is the shortest-path tree; a slab consists of all nodes with the same first symbol.
    """
    merging = np.flatnonzero(slab.positions[1] == slab.first)
    home = np.full(slab.positions.shape[1], slab.first, dtype=np.uint8)
    # Only the nodes with symbol 1 in position `slab.first` need a search; the first symbol of all
    # other nodes moves to its own position.
    home[merging] = _first_displaced(slab.positions[:, merging], slab.first)
    return home


def write_s1(n: int, rows: NDArray[np.uint8]) -> None:
    """Write the parent ports of the nodes that start with 1 (the set S^1) in EDT and SPG.

    The port is l in tree l = 2..n, which has row l-2. The root is the identity; its port is 0.

    Args:
        n: the number of symbols.
        rows: the ports of all nodes, uint8 ``[n - 1, n!]``; modified in place.
    """
    rows[:, : rows.shape[1] // n] = np.arange(2, n + 1, dtype=np.uint8)[:, None]
    rows[:, 0] = 0


def _first_displaced(positions: SymbolPositions, k: int) -> NDArray[np.uint8]:
    """Return the dimension to the parent in SPT for nodes x with x_1 = k and 1 in position k.

    This dimension, p(x) in the module's docstring, is the first displaced position in the cyclic
    order k+1, .., n, 2, .., k.

    Args:
        positions: the position of each symbol in each of the nodes, ``[n + 1, count]``.
        k: the first symbol of the nodes.
    """
    dimension = np.full(positions.shape[1], k, dtype=np.uint8)
    for position in reversed([*range(k + 1, len(positions)), *range(2, k)]):
        dimension[positions[position] != position] = position
    return dimension


@construction(
    "edge-disjoint", families=["star"],
    description="n-1 directed edge-disjoint spanning trees (EDT)",
    source="Fragopoulou & Akl 1996, Def. 8", one_tree_per_port=True,
)  # fmt: skip
def edge_disjoint(topology: Topology, root: int) -> Forest:
    """Return EDT: n-1 spanning trees of which no two share a directed link.

    Tree l-2, l = 2..n, reaches all nodes through the root's neighbour across dimension l.

    Reference: Fragopoulou & Akl 1996, Def. 8.
    """
    rows = np.empty((topology.n - 1, topology.nodes), dtype=np.uint8)
    write_s1(topology.n, rows)
    for slab, part in slabs(topology.n, rows):
        _write_slab(slab, part)
    return Forest(topology, translate_ports(topology, rows, root), root, "edge-disjoint")


def _write_slab(slab: Slab, rows: NDArray[np.uint8]) -> None:
    """Write, for each node of a slab, the port to its parent in each edge-disjoint tree.

    The nodes of a slab have the same first symbol. The docstring of this module lists the cases of
    Definition 8. The neighbour with first symbol s is across dimension ``slab.positions[s]``.

    Args:
        slab: the nodes.
        rows: the ports of these nodes, uint8 ``[n - 1, (n-1)!]``; modified in place.
    """
    home, k = dimension_home(slab), slab.positions[1]
    case_2 = k == slab.first
    across_k = np.take_along_axis(slab.positions, k[None, :].astype(np.intp), axis=0)[0]
    in_tree_q = np.where(case_2, k, across_k)
    for tree, row in enumerate(rows, start=2):
        if tree == slab.first:
            row[:] = np.where(case_2, home, k)
            continue
        row[:] = slab.positions[tree]
        # The array `home` is p(x) of the module's docstring, and q is the symbol in position p(x).
        # So the condition selects the nodes x for which this tree is tree q.
        np.copyto(row, in_tree_q, where=slab.positions[tree] == home)
        np.copyto(row, home, where=k == tree)


class Detours(NamedTuple):
    """A class of nodes with the same detours (level minus distance) in the edge-disjoint trees.

    Attributes:
        nodes: the number of nodes in the class.
        none: the number of trees in which each of these nodes has a detour of 0.
        two: the number of trees in which each of these nodes has a detour of 2.
        four: the number of trees in which each of these nodes has a detour of 4.
    """

    nodes: int
    none: int
    two: int
    four: int

    def least(self, trees: int) -> int:
        """Return the sum of a node's ``trees`` smallest detours; a node has one detour per tree."""
        fours = max(trees - self.none - self.two, 0)
        return 2 * min(max(trees - self.none, 0), self.two) + 4 * fours


def level_sum(topology: Topology) -> int:
    """Return the sum of the levels of all nodes in any one of the edge-disjoint trees."""
    n = topology.n
    return topology.distance_sum + 3 * (n - 2) * factorial(n - 1) - 2 * factorial(n - 2) + 2


def detours(n: int) -> Iterator[Detours]:
    """Yield classes of nodes with the same detours; every node but the root is in one class.

    Some classes are empty.
    """
    trees = n - 1
    for displaced in range(2, n):
        yield Detours(_deranged(trees, displaced), displaced, trees - displaced, 0)
    yield Detours(trees, 1, 0, trees - 1)
    for displaced in range(2, n - 1):
        yield Detours(trees * _deranged(n - 2, displaced), 2, displaced - 1, trees - 1 - displaced)
    for length in range(3, n + 1):
        for displaced in range(n - length + 1):
            nodes = perm(trees, length - 1) * _deranged(n - length, displaced)
            last_kind = 0
            if length > 3:
                last_kind = trees * _with_first_cycle(n - 2, length - 2, displaced)
            yield Detours(nodes - last_kind, 1, displaced + 1, trees - 2 - displaced)
            yield Detours(last_kind, 1, displaced + 2, trees - 3 - displaced)


def _deranged(symbols: int, displaced: int) -> int:
    """Count the permutations of ``symbols`` symbols that displace exactly ``displaced`` symbols."""
    count = 1
    for size in range(1, displaced + 1):
        # The recurrence of derangements: D_k = k D_(k-1) + (-1)^k.
        count = size * count + (1 if size % 2 == 0 else -1)
    return comb(symbols, displaced) * count


def _with_first_cycle(symbols: int, length: int, others: int) -> int:
    """Count the permutations whose first displaced symbol is on a cycle of ``length`` symbols.

    The permutations have ``symbols`` symbols, and displace exactly ``others`` symbols outside this
    cycle. The cycle has at least two symbols.
    """
    displaced = length + others
    return comb(symbols, displaced) * perm(displaced - 1, length - 1) * _deranged(others, others)
