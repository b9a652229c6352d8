"""The shortest-path tree SPT and the shortest-path graph SPG (Fragopoulou & Akl 1996, Def. 6 and 7).

S^k, k = 1..n, are the nodes x = x_1..x_n with symbol 1 in position k. A node of S^k, k >= 2, hangs within S^k, across the
dimension p(x):

* p(x) = x_1 if x_1 != k: the first symbol goes home;
* p(x) = the first misplaced position to the right of k, that is of k+1, .., n, 2, .., k-1, k in this order, if x_1 = k:
  the cycle (1 k) merges with the next one. It is k if nothing else is misplaced: then x is adjacent to the identity.

Both modules that share this work on the (n-1)! successive ranks with one first symbol x_1 at a time, where the other
symbols run through all their orders, so that one table of positions serves them all.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from starcast.topologies import Topology
from starcast.trees.common import translated
from starcast.trees.model import Forest

Places = NDArray[np.uint8]


class Slab(NamedTuple):
    """The nodes with one first symbol, in rank order."""

    first: int
    place: (
        Places  # [n+1, (n-1)!]: place[s] is the position of symbol s in each node; row 0 is unused
    )


def shortest_path(topology: Topology, root: int) -> Forest:
    """SPT: one tree of the root and S^2, .., S^n; its subtree across dimension k holds the nodes of S^k."""
    row = np.zeros((1, topology.nodes), dtype=np.uint8)
    for slab, part in slabs(topology.n, row):
        part[0] = dimension_home(slab)
    rows = translated(topology, row, root)
    rows.flags.writeable = False
    return Forest(topology, rows, root, "shortest-path", spanning=False, verify_hubs=(root,))


def shortest_path_graph(topology: Topology, root: int) -> Forest:
    """SPG: tree l-2, l = 2..n, is SPT's subtree of S^l, and every other node of S^1 hangs from it across dimension l."""
    rows = np.zeros((topology.n - 1, topology.nodes), dtype=np.uint8)
    hang_s1(topology.n, rows)
    for slab, part in slabs(topology.n, rows):
        home = dimension_home(slab)
        for tree, row in enumerate(part, start=2):
            np.copyto(row, home, where=slab.place[1] == tree)
    rows = translated(topology, rows, root)
    rows.flags.writeable = False
    return Forest(topology, rows, root, "shortest-path-graph", spanning=False)


def slabs(n: int, rows: NDArray[np.uint8]) -> Iterator[tuple[Slab, NDArray[np.uint8]]]:
    """The nodes outside S^1 by their first symbol 2..n, each time with their part of the rows, ``[trees, (n-1)!]``."""
    later = _places(n - 1) + np.uint8(1)
    for first, part in enumerate(np.split(rows, n, axis=1)[1:], start=2):
        yield Slab(first, np.insert(later, first, 1, axis=0)), part


def dimension_home(slab: Slab) -> NDArray[np.uint8]:
    """p(x) for every node of the slab, uint8 ``[(n-1)!]``."""
    merging = np.flatnonzero(slab.place[1] == slab.first)
    home = np.full(slab.place.shape[1], slab.first, dtype=np.uint8)
    home[merging] = _first_misplaced(slab.place[:, merging], slab.first)
    return home


def hang_s1(n: int, rows: NDArray[np.uint8]) -> None:
    """Write l for S^1 in tree l, 0 for the identity."""
    rows[:, : rows.shape[1] // n] = np.arange(2, n + 1, dtype=np.uint8)[:, None]
    rows[:, 0] = 0


def _places(n: int) -> Places:
    """The position of symbol s in the permutation of rank x at (s, x), uint8 ``[n+1, n!]``; row 0 is unused."""
    table = np.zeros((1, 1), dtype=np.uint8)
    for size in range(1, n + 1):
        later = table + np.uint8(1)
        table = np.concatenate(
            [np.insert(later, first, 1, axis=0) for first in range(1, size + 1)], axis=1
        )
    return table


def _first_misplaced(place: Places, k: int) -> NDArray[np.uint8]:
    """The first misplaced position to the right of k, for nodes with symbol 1 there: k, the last, is misplaced."""
    found = np.full(place.shape[1], k, dtype=np.uint8)
    for position in reversed([*range(k + 1, len(place)), *range(2, k)]):
        found[place[position] != position] = position
    return found
