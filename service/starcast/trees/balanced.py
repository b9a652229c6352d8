"""The scattering trees: balanced, near-balanced and perfectly balanced (Fragopoulou & Akl 1993, section 5).

All three are shortest-path trees whose subtree across dimension k holds the nodes with symbol 1 in position k, and in it they
are the same: a node x with x_1 != 1 hangs from its neighbour across the dimension (rules 6 and 7, Def. 13)

* x_1, if x has one cycle: the first symbol goes home;
* else the rightmost symbol of the second cycle *from the right* in the canonical notation (Def. 12). There each cycle ends
  with its smallest symbol by the k-th ordering 1, k, k+1, .., n, 2, .., k-1, and these last symbols decrease, so the cycle of
  1 stands last. The dimension is thus the first of k, k+1, .., n, 2, .., k-1 that is misplaced and not in the cycle of 1,
  and the two cycles merge.

The nodes that start with 1 are leaves, and the trees differ in which subtrees they join:

* balanced (5.1): they are numbered m = 1, 2, .., the nearest first, a necklace at a time; number m hangs across dimension
  v(m) = (m-1) mod (n-1) + 2;
* near-balanced (Def. 13): across dimension d(x)+2 for the displacement d(x);
* perfectly balanced (Def. 15): across every dimension d(x)+2 + i p(x), 0 <= i < (n-1)/p(x), for the period p(x).
"""

from math import factorial

import numpy as np
from numpy.typing import NDArray

from starcast import permutations
from starcast.topologies import Topology
from starcast.topologies.displacements import displacements
from starcast.topologies.necklaces import necklaces
from starcast.trees.common import translated
from starcast.trees.model import Forest
from starcast.trees.shortest_path import Places, Slab, slabs


def balanced(topology: Topology, root: int) -> Forest:
    """The subtrees of the root differ by at most one node; the greatest has ceil((n!-1)/(n-1))."""
    return _one_tree(
        topology, root, numbered_dimension(running_numbers(topology), topology.n), "balanced"
    )


def near_balanced(topology: Topology, root: int) -> Forest:
    """The subtree across dimension d+2 holds the nodes with displacement d; the first one node of every necklace."""
    home = displacements(topology.n)[: factorial(topology.n - 1)] + np.uint8(2)
    return _one_tree(topology, root, home, "near-balanced")


def perfectly_balanced(topology: Topology, root: int) -> Forest:
    """Tree l-2 is the subtree across dimension l: one copy of a node of every necklace, and the rotation of tree l-3.

    It begins with n = 3: in S_2 the rotation has nothing to turn (fragopoulou-akl.md, pitfall 18), and every tree is one link.
    """
    n = topology.n
    rows = np.zeros((n - 1, topology.nodes), dtype=np.uint8)
    _hang_repeated(n, rows[:, : factorial(n - 1)])
    for slab, part in slabs(n, rows):
        merging = merging_dimension(slab)
        for dimension, row in enumerate(part, start=2):
            np.copyto(row, merging, where=slab.place[1] == dimension)
    rows = translated(topology, rows, root)
    rows.flags.writeable = False
    return Forest(topology, rows, root, "perfectly-balanced", spanning=False)


def merging_dimension(slab: Slab) -> NDArray[np.uint8]:
    """The dimension across which every node of the slab hangs, uint8 ``[(n-1)!]``."""
    place, k = slab.place, slab.place[1]
    outside = _outside_cycle_of_1(place)
    found = np.full(place.shape[1], slab.first, dtype=np.uint8)
    for position in range(len(place) - 1, 1, -1):
        found[outside[position] & (position < k)] = position
    for position in range(
        len(place) - 1, 1, -1
    ):  # those behind k come first, so they are written last
        found[outside[position] & (position > k)] = position
    return found


def running_numbers(topology: Topology, copy: int = 0) -> NDArray[np.int64]:
    """The number m of each node of S_n that starts with 1, int64 ``[(n-1)!]``; 0 for the identity.

    Necklaces are numbered by distance from the identity, then by their lowest rank, their nodes by rotation, beginning
    with the lowest node y that has a link of a shortest path across v = v(m): y_v != v. Copies 0, 1, .. of a message are
    numbered on, so that all copies together are as balanced as one.
    """
    starting = factorial(topology.n - 1)
    leader, period, turns = (column[:starting].astype(np.int64) for column in necklaces(topology.n))
    leaders = np.unique(leader[1:])
    queue = leaders[np.argsort(topology.distances()[leaders], kind="stable")]
    begin = np.zeros(starting, dtype=np.int64)
    begin[queue] = 1 + copy * (starting - 1) + np.cumsum(period[queue]) - period[queue]
    passed = turns[_first_nodes(topology.n, leader, begin)[leader]]
    numbers = begin[leader] + (turns - passed) % period
    numbers[0] = 0
    return numbers


def numbered_dimension(numbers: NDArray[np.int64], n: int) -> NDArray[np.uint8]:
    """v(m) = (m-1) mod (n-1) + 2."""
    return ((numbers - 1) % (n - 1) + 2).astype(np.uint8)


def _first_nodes(n: int, leader: NDArray[np.int64], begin: NDArray[np.int64]) -> NDArray[np.int64]:
    """At each necklace's leader the lowest node y of it with y_v != v, for v of the necklace's first number."""
    nodes = np.arange(1, len(leader))
    v = numbered_dimension(begin[leader[nodes]], n)
    symbol = np.take_along_axis(
        permutations.unrank(n, nodes), v[:, None].astype(np.intp) - 1, axis=1
    )[:, 0]
    fit = nodes[symbol != v][::-1]
    first = np.zeros(len(leader), dtype=np.int64)
    first[leader[fit]] = fit  # the lowest is written last
    return first


def _one_tree(
    topology: Topology, root: int, starting: NDArray[np.uint8], construction: str
) -> Forest:
    """The tree in which the nodes that start with 1 hang across these dimensions."""
    row = np.empty((1, topology.nodes), dtype=np.uint8)
    row[0, : len(starting)] = starting
    row[0, 0] = 0
    for slab, part in slabs(topology.n, row):
        part[0] = merging_dimension(slab)
    rows = translated(topology, row, root)
    rows.flags.writeable = False
    return Forest(topology, rows, root, construction)


def _hang_repeated(n: int, rows: NDArray[np.uint8]) -> None:
    """Write l for the nodes that start with 1 and are in tree l-2: those with d(x) = l-2 modulo their period."""
    rings = necklaces(n)
    displacement, period = displacements(n, rings)[: rows.shape[1]], rings.period[: rows.shape[1]]
    for dimension, row in enumerate(rows, start=2):
        row[(dimension - 2) % period == displacement] = dimension
    rows[:, 0] = 0


def _outside_cycle_of_1(place: Places) -> NDArray[np.bool_]:
    """Whether a position is misplaced and not in the cycle of 1, bool ``[n+1, count]``; row 0 is unused."""
    outside: NDArray[np.bool_] = place != np.arange(len(place), dtype=np.uint8)[:, None]
    at = place[1]
    for _ in range(
        len(place) - 1
    ):  # against the cycle's direction; round and round where it is short
        np.put_along_axis(outside, at[None, :].astype(np.intp), values=False, axis=0)
        at = np.take_along_axis(place, at[None, :].astype(np.intp), axis=0)[0]
    return outside
