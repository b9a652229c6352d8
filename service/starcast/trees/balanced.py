"""Balanced, near-balanced and perfectly balanced trees (Fragopoulou & Akl 1993, section 5).

All three kinds are shortest-path trees, defined here for the identity as the root. The root's
subtree across dimension k contains the nodes with symbol 1 in position k, and some leaves.
`starcast.topologies.necklaces` defines necklaces, generators and rotations. For a node x with
x_1 != 1, the dimension towards the parent is the same in all three kinds (Rules 6 and 7, Def. 13):

* x_1, if x has only one cycle. The first symbol moves to its own position.
* Otherwise the rightmost symbol of the second cycle *from the right* in the canonical notation
  (Def. 12). In this notation, each cycle ends with its smallest symbol in the k-th ordering 1, k,
  k+1, .., n, 2, .., k-1, and these last symbols decrease, so that the cycle of 1 is the last cycle.
  The dimension is thus the first of k, k+1, .., n, 2, .., k-1 that is displaced and not in the
  cycle of 1. The link to the parent merges the two cycles.

The nodes x that start with 1 are leaves. The three kinds differ in the dimension from such a leaf
to its parent:

* balanced (5.1): v(m) = (m-1) mod (n-1) + 2, where these nodes have the numbers m = 1, 2, .. in the
  order of distance, necklace by necklace;
* near-balanced (Def. 13): d(x)+2, where the displacement d(x) is the smallest number of rotations
  that map the generator of x's necklace to x;
* perfectly balanced (Def. 15): d(x)+2 + i p(x), where p(x) is the number of nodes in the necklace
  of x, and i = 0, .., (n-1)/p(x) - 1 numbers the trees that contain x.
"""

from math import factorial

import numpy as np
from numpy.typing import NDArray

from starcast.topologies import Topology, permutations
from starcast.topologies.necklaces import displacements, necklaces
from starcast.trees.construction import (
    Slab,
    SymbolPositions,
    construction,
    numbered_dimensions,
    slabs,
    translate_ports,
    write_branches,
)
from starcast.trees.model import Forest


@construction(
    "balanced", families=["star"],
    description="a shortest-path tree; subtrees below the root differ in size by at most one node",
    source="Fragopoulou & Akl 1993, section 5.1",
)  # fmt: skip
def balanced(topology: Topology, root: int) -> Forest:
    """Return the balanced tree: the root's branches differ in size by at most one node.

    A branch is the subtree of one of the root's children. The largest branch has
    ceil((n!-1)/(n-1)) nodes.

    Reference: Fragopoulou & Akl 1993, section 5.1.
    """
    leaves = numbered_dimensions(topology.n, running_numbers(topology))
    return _one_tree(topology, root, leaves, "balanced")


@construction(
    "near-balanced", families=["star"],
    description="a shortest-path tree; the subtrees below the root have nearly equal sizes",
    source="Fragopoulou & Akl 1993, Def. 13",
)  # fmt: skip
def near_balanced(topology: Topology, root: int) -> Forest:
    """Return the near-balanced tree, in which nodes of equal displacement share a branch.

    For the root 12..n, the displacement d of a node is the smallest number of rotations that map
    the generator of its necklace to the node. The root's branch across dimension d+2 has the nodes
    of displacement d. So the branch across dimension 2 has one node of every necklace, except that
    of the root.

    Reference: Fragopoulou & Akl 1993, Def. 13.
    """
    starting = factorial(topology.n - 1)
    leaves = displacements(topology.n)[:starting] + np.uint8(2)
    return _one_tree(topology, root, leaves, "near-balanced")


@construction(
    "perfectly-balanced", families=["star"],
    description="n-1 partial trees of equal size, which share some nodes",
    source="Fragopoulou & Akl 1993, Def. 15", smallest=3, one_tree_per_port=True, partial=True,
)  # fmt: skip
def perfectly_balanced(topology: Topology, root: int) -> Forest:
    """Return n-1 partial trees of equal size (Fragopoulou & Akl 1993, Def. 15).

    Tree l-2, l = 2..n, leaves the root across dimension l. If the root is the identity, each tree
    contains the root and one node of each necklace except the root's, and is the rotation of the
    previous tree. Other roots have translations of these trees. The trees are defined for n >= 3,
    because there is nothing to rotate in S_2 (docs/definitions/fragopoulou-akl.md, pitfall 18).
    """
    n = topology.n
    rows = np.zeros((n - 1, topology.nodes), dtype=np.uint8)
    _write_repeated_leaves(n, rows[:, : factorial(n - 1)])
    write_branches(n, rows, merging_dimension)
    rows = translate_ports(topology, rows, root)
    return Forest(topology, rows, root, "perfectly-balanced", spanning=False)


def merging_dimension(slab: Slab) -> NDArray[np.uint8]:
    """Return the dimension towards the parent for each node of a slab, in all three kinds of trees.

    The module's docstring contains the rule. A slab consists of all nodes with the same first
    symbol, here a symbol other than 1.

    Returns:
        uint8 ``[(n-1)!]``.
    """
    positions, k = slab.positions, slab.positions[1]
    outside = _outside_cycle_of_1(positions)
    dimension = np.full(positions.shape[1], slab.first, dtype=np.uint8)
    # The result is the first qualifying position in the order k+1, .., n, 2, .., k-1. The loop runs
    # backwards, so this position is written last.
    for position in range(len(positions) - 1, 1, -1):
        dimension[outside[position] & (position < k)] = position
    for position in range(len(positions) - 1, 1, -1):
        dimension[outside[position] & (position > k)] = position
    return dimension


def running_numbers(topology: Topology, copy: int = 0) -> NDArray[np.int64]:
    """Return the number m of each node of S_n that starts with 1; these nodes are leaves.

    A leaf's number m determines the dimension v(m) towards its parent in the balanced tree
    (`numbered_dimensions`). Necklaces are numbered in the order of their distance from the
    identity, then of their lowest rank. Within a necklace, the rotation R leads from each node to
    the next. Of the nodes that do not have symbol v(m) in position v(m), where m is the necklace's
    first number, the node with the lowest rank gets the number m. Then a shortest path to this node
    ends with a link of dimension v(m).

    For several messages there are several copies of the tree. The numbers of copy ``copy`` (from 0)
    continue those of the previous copy, so all copies together are balanced as well.

    Returns:
        int64 ``[(n-1)!]``; 0 for the identity.
    """
    starting = factorial(topology.n - 1)
    leader, period, turns = (column[:starting].astype(np.int64) for column in necklaces(topology.n))
    leaders = np.unique(leader[1:])
    queue = leaders[np.argsort(topology.distances()[leaders], kind="stable")]
    begin = np.zeros(starting, dtype=np.int64)
    begin[queue] = 1 + copy * (starting - 1) + np.cumsum(period[queue]) - period[queue]
    offset = turns[_first_nodes(topology.n, leader, begin)[leader]]
    numbers = begin[leader] + (turns - offset) % period
    numbers[0] = 0
    return numbers


def _first_nodes(n: int, leader: NDArray[np.int64], begin: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return, for each necklace, the node that gets the necklace's first number m.

    Let v = v(m). The node is the lowest-ranked node that does not have symbol v in position v, so
    that its parent can be across dimension v. The result is indexed by the necklace's leader, its
    node of lowest rank.

    Args:
        n: the number of symbols.
        leader: the leader of each node's necklace.
        begin: the first number of each necklace, by leader.
    """
    nodes = np.arange(1, len(leader))
    v = numbered_dimensions(n, begin[leader[nodes]])
    perms = permutations.unrank(n, nodes)
    symbol = np.take_along_axis(perms, v[:, None].astype(np.intp) - 1, axis=1)[:, 0]
    fit = nodes[symbol != v][::-1]
    first = np.zeros(len(leader), dtype=np.int64)
    first[leader[fit]] = fit  # each necklace keeps its lowest node, which is written last
    return first


def _one_tree(
    topology: Topology, root: int, leaves: NDArray[np.uint8], construction: str
) -> Forest:
    """Return a forest with a single tree, balanced or near-balanced.

    The nodes that start with 1 are leaves, and ``leaves`` contains the dimensions from them to
    their parents. `merging_dimension` returns the dimensions of all other nodes.
    """
    row = np.empty((1, topology.nodes), dtype=np.uint8)
    row[0, : len(leaves)] = leaves
    row[0, 0] = 0
    for slab, part in slabs(topology.n, row):
        part[0] = merging_dimension(slab)
    return Forest(topology, translate_ports(topology, row, root), root, construction)


def _write_repeated_leaves(n: int, rows: NDArray[np.uint8]) -> None:
    """Write the parent ports of the nodes that start with 1 into the perfectly balanced trees.

    Tree l-2 contains such a node x if l-2 is congruent to the displacement d(x) modulo p(x), the
    number of nodes in the necklace of x. The port of x is then l.
    """
    orbits = necklaces(n)
    displacement = displacements(n, orbits)[: rows.shape[1]]
    period = orbits.period[: rows.shape[1]]
    for dimension, row in enumerate(rows, start=2):
        row[(dimension - 2) % period == displacement] = dimension
    rows[:, 0] = 0


def _outside_cycle_of_1(positions: SymbolPositions) -> NDArray[np.bool_]:
    """Return which positions of each node are displaced and outside the cycle of symbol 1.

    Returns:
        bool ``[n+1, count]``, by position and node; row 0 is unused.
    """
    outside: NDArray[np.bool_] = positions != np.arange(len(positions), dtype=np.uint8)[:, None]
    position = positions[1]
    # The loop follows the cycle of 1 backwards, n steps in all nodes at once. If a cycle is short,
    # the loop goes around it several times.
    for _ in range(len(positions) - 1):
        index = position[None, :].astype(np.intp)
        np.put_along_axis(outside, index, values=False, axis=0)
        position = np.take_along_axis(positions, index, axis=0)[0]
    return outside
