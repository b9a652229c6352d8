"""Checks of Fragopoulou & Akl 1996, sections 2 and 3: operations on S_n, and trees SPT and SPG.

SPT is the paper's tree of shortest paths, rooted at the identity, and SPG its graph of n-1 trees of
shortest paths, one through each neighbour of the identity. They are starcast's constructions
`shortest-path` and `shortest-path-graph`.
"""

from math import factorial

import numpy as np
from numpy.typing import NDArray

from starcast.claims.cached_topology import CachedTopology, tree_levels
from starcast.claims.check import ClaimCheck
from starcast.claims.registry import checks, forests
from starcast.records import checkers
from starcast.support.arrays import Mask
from starcast.topologies.permutations import Perms, Ranks
from starcast.trees.model import Forest

from ..common import stars

shortest_path_trees = forests("shortest-path")
shortest_path_graphs = forests("shortest-path-graph")


@checks("EDT.ex")
def cycle_notation(check: ClaimCheck) -> None:
    """Check which symbol follows each symbol in the cycles of the paper's example 341526."""
    label = check.label(check.rank("341526"))
    following = {1: 3, 3: 1, 2: 4, 4: 5, 5: 2}
    symbols = np.arange(1, check.n + 1)
    stated = [following.get(symbol, symbol) for symbol in symbols.tolist()]
    check.equal("symbol that follows", [int(symbol) for symbol in label], stated, symbol=symbols)


@checks("EDT.S1")
def substars(check: ClaimCheck) -> None:
    """Check the substars S^k of S_n, the sets of nodes with symbol 1 in position k.

    S^1 has no links, and each of S^2, .., S^n is isomorphic to S_{n-1}.
    """
    n = check.n
    symbols = stars.symbols(check)
    k = stars.positions(symbols)[0]
    sizes = np.bincount(k, minlength=n + 1)[1:]
    stated = factorial(n - 1)
    check.equal("nodes of S^k", sizes, stated, substar=np.arange(1, n + 1))
    nodes = np.flatnonzero(k == 1)
    inside = (k[check.neighbours[:, nodes]] == 1).sum(axis=0)
    check.equal("nodes of S^1 next to one of S^1", inside, 0, node=nodes)
    if n > 2 and (sizes == stated).all():
        for position in range(2, n + 1):
            _check_substar(check, symbols, k, position)


def _check_substar(check: ClaimCheck, symbols: Perms, k: NDArray[np.int64], position: int) -> None:
    """Check that nodes with symbol 1 in a given position form S_{n-1} if 1 is removed."""
    n = check.n
    smaller = check.at(f"S{n - 1}")
    nodes = np.flatnonzero(k == position)
    # Symbol 1 is removed, so the other symbols decrease by one. Labels of nodes outside the substar
    # would contain the symbol 0, so they would have no rank. These nodes are never compared, so the
    # 0 is replaced by 1.
    rest = np.clip(np.delete(symbols, position - 1, axis=1) - 1, 1, n - 1)
    image = stars.ranks_of(smaller, rest[nodes])
    place = {"substar": position, "node": nodes}
    check.equal("nodes of S_{n-1} that are met", np.sort(image), smaller.ranks, **place)
    for dimension in np.delete(np.arange(2, n + 1), position - 2):
        neighbour = check.neighbours[dimension - 2, nodes]
        neighbour_image = stars.ranks_of(smaller, rest[neighbour])
        # Dimensions beyond the removed position decrease by one.
        smaller_dimension = dimension - 1 if dimension > position else dimension
        observed = np.where(k[neighbour] == position, neighbour_image, -1)
        stated = smaller.neighbours[smaller_dimension - 2, image]
        check.equal("neighbour in S_{n-1}", observed, stated, **place, dimension=dimension)


@checks("EDT.L1")
def translations_keep_dimensions(check: ClaimCheck) -> None:
    """Check that each translation T_h permutes the nodes and keeps the dimension of every link."""
    dimensions = np.array(check.ports)[:, None]
    links = (check.ranks, check.neighbours)
    # Beyond S_5, all n! translations of n! nodes would take too long.
    for h in range(check.nodes) if check.n <= 5 else check.roots(24):
        image = stars.translation(check, h)
        place = {"h": check.label(h)}
        check.equal("nodes that are met", np.sort(image), check.ranks, **place, node=check.ranks)
        observed = check.ports_between(image, image[check.neighbours])
        check.equal("dimension of the translated link", observed, dimensions, **place, link=links)


@checks("EDT.L2")
def rotation_of_links(check: ClaimCheck) -> None:
    """Check the effects of the rotation R on links and nodes.

    R must rotate dimensions, change every first symbol but 1, and keep the distance between nodes.
    """
    rotated = stars.rotation(check)
    first = stars.symbols(check)[:, 0]
    links = (check.ranks, check.neighbours)
    check.equal("nodes that are met", np.sort(rotated), check.ranks, node=check.ranks)
    observed = check.ports_between(rotated, rotated[check.neighbours])
    stated = stars.rotation_function(check.n)[np.array(check.ports)][:, None]
    check.equal("dimension of the rotated link", observed, stated, link=links)
    is_kept = first[rotated] == first
    check.equal("whether the first symbol is kept", is_kept, first == 1, node=check.ranks)
    for root in check.roots():
        before = check.distances(root)
        after = check.distances(int(rotated[root]))
        place = {"of_node": check.label(root), "node": check.ranks}
        check.equal("distance after the rotation", after[rotated], before, **place)
    what = "different dimensions of a link and its rotations"
    check.equal(what, _count_dimensions(check, rotated), check.n - 1, link=links)


def _count_dimensions(check: ClaimCheck, rotated: Ranks) -> NDArray[np.int64]:
    """Return, for each link, how many different dimensions the rotations of the link have.

    Returns:
        int64 ``[ports, nodes]``.
    """
    ports, nodes = check.neighbours.shape
    # The entry [d, i, x] is True if a rotation maps the link with index i at node x to a link with
    # index d, where the index of a link is its dimension minus 2.
    occurs = np.zeros((ports, ports, nodes), dtype=bool)
    tail = np.arange(nodes, dtype=np.int32)
    head = check.neighbours
    for _ in range(ports):
        dimensions = check.ports_between(tail, head)
        occurs |= dimensions == np.arange(2, ports + 2)[:, None, None]
        tail = rotated[tail]
        head = rotated[head]
    return np.asarray(occurs.sum(axis=0))


@checks("EDT.L3")
def necklaces(check: ClaimCheck) -> None:
    """Check that the number of nodes of every necklace (orbit of the rotation R) divides n-1.

    The number must be n-1 if the nodes do not start with 1. All nodes of a necklace must have the
    same distance from the identity. Also check two examples of the paper.
    """
    n = check.n
    rotated = stars.rotation(check)
    sizes = stars.return_times(check)
    outside = np.flatnonzero(stars.symbols(check)[:, 0] != 1)
    check.equal("nodes of a necklace outside S^1", sizes[outside], n - 1, node=outside)
    remainder = (n - 1) % np.maximum(sizes, 1)
    check.equal("n-1 modulo the nodes of a necklace", remainder, 0, node=check.ranks)
    check.true("a necklace ends within n-1 rotations", (sizes > 0) & (sizes < n), node=check.ranks)
    distance = check.distances()
    check.equal("distance along a necklace", distance[rotated], distance, node=check.ranks)
    for example in (("4123", "2413", "3421"), ("13254", "15432")):
        if len(example[0]) != n:
            continue
        nodes = np.array([check.rank(label) for label in example])
        check.equal("nodes of the example, rotated", rotated[nodes], np.roll(nodes, -1), node=nodes)
        check.equal("nodes of the example's necklace", sizes[nodes], len(nodes), node=nodes)


# The parent and children functions of the trees SPT, SPG and EDT, computed on labels
#
# The functions follow Definitions 6 to 8 of Fragopoulou & Akl 1996, in the wording of
# docs/definitions/edge-disjoint-trees.md, and do not use `starcast.trees`. Every function takes the
# labels of all nodes, ``[nodes, n]``; k is the position of symbol 1, and S^k is the substar of the
# nodes that have symbol 1 in position k.


def first_misplaced(labels: Perms) -> NDArray[np.int64]:
    """Return the first misplaced position of each node.

    Let k be the position of symbol 1 in the label of a node x. The result, which the paper calls
    fmr(x,k), is the first position j with x_j != j in the order k+1..n, 2..k. For the identity, the
    result is 1.

    Returns:
        int64 ``[nodes]``.
    """
    n = labels.shape[1]
    nodes = np.arange(len(labels))
    k = stars.positions(labels)[0]
    first = k.copy()
    for offset in range(n - 1, 0, -1):
        j = (k - 2 + offset) % (n - 1) + 2
        first = np.where(labels[nodes, j - 1] != j, j, first)
    return np.asarray(first)


def parents_spt(labels: Perms) -> NDArray[np.int64]:
    """Return the dimension of each node's link to its parent in the shortest-path tree SPT.

    Returns:
        int64 ``[nodes]``; 0 for nodes that start with 1.
    """
    k = stars.positions(labels)[0]
    first = labels[:, 0]
    outside = np.where(first != k, first, first_misplaced(labels))
    return np.where(k == 1, 0, outside)


def is_next_to_root(labels: Perms) -> Mask:
    """Return whether each node is a neighbour of the identity I, bool ``[nodes]``."""
    misplaced = (labels != np.arange(1, labels.shape[1] + 1)).sum(axis=1)
    return np.asarray((misplaced == 2) & (labels[:, 0] != 1))


def children_outside_s1(labels: Perms) -> Mask:
    """Return which dimensions lead from each node outside S^1 to its children in the tree SPT.

    The paper calls these dimensions C1(x), for a node x.

    Returns:
        bool ``[ports, nodes]``; False for nodes in S^1, which start with symbol 1.
    """
    n = labels.shape[1]
    first = labels[:, 0]
    position = stars.positions(labels)
    k = position[0]
    j = np.asarray(position[k - 1, np.arange(len(labels))])
    d = np.arange(2, n + 1)[:, None]
    merged = (first != k) & (first != j) & (first_misplaced(labels) == j)
    is_child = (d == labels[:, 1:].T) | ((d == j) & merged)
    return np.asarray(is_child & (k != 1))


def children_spt(labels: Perms) -> Mask:
    """Return which dimensions lead from each node to its children in the shortest-path tree SPT.

    Returns:
        bool ``[ports, nodes]``.
    """
    children = children_outside_s1(labels)
    children[:, 0] = True
    return children


def children_spg(labels: Perms) -> Mask:
    """Return which dimensions lead from each node to its children in each subtree of SPG.

    SPG is the paper's graph of n-1 shortest-path trees, called its subtrees. In subtree l, a node
    with symbol 1 in position l also has a child that starts with 1, unless the node is a
    neighbour of the root.

    Returns:
        bool ``[trees, ports, nodes]``.
    """
    n = labels.shape[1]
    dimensions = np.arange(2, n + 1)
    below = _children_with_s1(labels)
    children = np.asarray(below[None] & (dimensions[:, None, None] == stars.positions(labels)[0]))
    children[:, :, 0] = np.eye(n - 1, dtype=bool)
    return children


def children_edt(labels: Perms) -> Mask:
    """Return which dimensions lead from each node to its children in each edge-disjoint tree EDT.

    Definition 8 defines the trees.

    Returns:
        bool ``[trees, ports, nodes]``.
    """
    n = labels.shape[1]
    nodes = np.arange(len(labels))
    position = stars.positions(labels)
    k = position[0]
    first = labels[:, 0]
    dimensions = np.arange(2, n + 1)
    d = dimensions[:, None]
    in_own_substar = _children_with_s1(labels)
    remaining = ~children_outside_s1(labels) & (d != k)
    children = np.zeros((n - 1, n - 1, len(labels)), dtype=bool)
    for tree, subtree in enumerate(dimensions):
        b = position[subtree - 1]
        swapped = (d == position[b - 1, nodes]) & (b != subtree)
        other = np.where(first == subtree, remaining, (first == k) & swapped)
        outside = np.where(k == subtree, in_own_substar, other)
        inside = _placed_run(labels, b) & (b != subtree)
        children[tree] = np.where(k == 1, inside, outside)
    children[:, :, 0] = np.eye(n - 1, dtype=bool)
    return children


def parents_edt(labels: Perms) -> NDArray[np.int64]:
    """Return the dimension of each node's link to its parent in each edge-disjoint tree EDT.

    Definition 8 defines the trees.

    Returns:
        int64 ``[trees, nodes]``; 0 at the identity.
    """
    n = labels.shape[1]
    nodes = np.arange(len(labels))
    position = stars.positions(labels)
    k = position[0]
    first = labels[:, 0]
    q = np.clip(labels[nodes, np.clip(parents_spt(labels), 1, n) - 1], 1, n)
    parents = np.zeros((n - 1, len(labels)), dtype=np.int64)
    for tree, subtree in enumerate(range(2, n + 1)):
        first_or_1 = np.where(first == subtree, 1, subtree)
        q_or_1 = np.where(q == subtree, 1, subtree)
        neither = np.where(first == subtree, 1, np.where(q == subtree, k, subtree))
        other = np.where(first == k, q_or_1, np.where(q == k, first_or_1, neither))
        symbol = np.where(k == subtree, q, other)
        parents[tree] = np.where(k == 1, subtree, position[symbol - 1, nodes])
    parents[:, 0] = 0
    return parents


def _children_with_s1(labels: Perms) -> Mask:
    """Return which dimensions lead from each node outside S^1 to its children in SPG's trees.

    These are the dimensions of `children_outside_s1` and, unless the node is a neighbour of the
    identity, dimension k, where k is the position of symbol 1. The child across dimension k starts
    with 1.

    Returns:
        bool ``[ports, nodes]``; False for nodes in S^1, which start with symbol 1.
    """
    d = np.arange(2, labels.shape[1] + 1)[:, None]
    toward_s1 = (d == stars.positions(labels)[0]) & ~is_next_to_root(labels)
    return np.asarray(children_outside_s1(labels) | toward_s1)


def _placed_run(labels: Perms, m: NDArray[np.int64]) -> Mask:
    """Mark position m and the run of correctly placed symbols directly to the left of m.

    The array ``m`` contains one position per node. Positions 2..n are taken cyclically, so position
    n is to the left of position 2. The run ends before the first misplaced symbol.

    Returns:
        bool ``[ports, nodes]``; row j-2 marks position j.
    """
    n = labels.shape[1]
    nodes = np.arange(len(labels))
    run = np.zeros((n - 1, len(labels)), dtype=bool)
    unbroken = np.ones(len(labels), dtype=bool)
    for back in range(n - 1):
        j = (m - 2 - back) % (n - 1) + 2
        unbroken &= (labels[nodes, j - 1] == j) | (back == 0)
        run[j - 2, nodes] |= unbroken
    return run


def is_child(network: CachedTopology, parent_port: NDArray[np.integer]) -> Mask:
    """Return which dimensions lead from each node to its children in a tree, ``[ports, nodes]``.

    The neighbour across dimension d is a child if the link from this neighbour to its parent has
    the dimension d too.
    """
    dimensions = np.array(network.ports)[:, None]
    return np.asarray(parent_port[network.neighbours] == dimensions)


# Checks of the trees SPT and SPG


@checks("EDT.D6", given=shortest_path_trees)
def spt_parents_and_children(check: ClaimCheck, forest: Forest) -> None:
    """Check the links of each node to its parent and children in the tree SPT (Definition 6)."""
    symbols = stars.symbols(check)
    parent_port = forest.parent_port[0]
    stated = parents_spt(symbols)
    check.equal("dimension toward the parent in SPT", parent_port, stated, node=check.ranks)
    has_child = is_child(check, parent_port)
    links = (check.ranks, check.neighbours)
    check.equal("whether it is a child in SPT", has_child, children_spt(symbols), link=links)


@checks("EDT.L4", given=shortest_path_trees)
def spt_subtrees(check: ClaimCheck, forest: Forest) -> None:
    """Check that the paths in the tree SPT are shortest paths, and check the subtrees of the root.

    Subtree k must consist of the nodes with symbol 1 in position k.
    """
    check.passes(checkers.rooted, forest)
    k = stars.positions(stars.symbols(check))[0]
    parent = check.parents(forest.parent_port[0])
    stated = np.where(k > 1, check.neighbours[np.maximum(k - 2, 0), 0], -1)
    place = {"node": check.ranks[1:], "of": forest}
    above = stars.branches(parent, 0)[1:]
    check.equal("neighbour of the root above", above, stated[1:], **place)
    level = tree_levels(parent, 0)
    distance = check.distances()
    outside = np.flatnonzero(k > 1)
    check.equal("level in SPT", level[outside], distance[outside], node=outside, of=forest)


@checks("EDT.D7", given=shortest_path_graphs)
def spg_parents_and_children(check: ClaimCheck, forest: Forest) -> None:
    """Check the links of each node to its parent and children in each SPG tree (Definition 7)."""
    symbols = stars.symbols(check)
    check.equal("subtrees of SPG", forest.trees, check.n - 1, of=forest)
    k = stars.positions(symbols)[0]
    links = (check.ranks, check.neighbours)
    parents_in_spt = parents_spt(symbols)
    children_in_spg = children_spg(symbols)
    for subtree, row, children in zip(
        check.ports, forest.parent_port, children_in_spg, strict=False
    ):
        stated = np.where(k == 1, subtree, np.where(k == subtree, parents_in_spt, 0))
        stated[0] = 0
        place = {"subtree": subtree, "of": forest}
        check.equal("dimension toward the parent in SPG", row, stated, **place, node=check.ranks)
        has_child = is_child(check, row)
        check.equal("whether it is a child in SPG", has_child, children, **place, link=links)


@checks("EDT.L5", given=shortest_path_graphs)
def spg_paths(check: ClaimCheck, forest: Forest) -> None:
    """Check that nodes that start with 1 have n-1 disjoint paths of minimum total length in SPG.

    SPG is the paper's graph of n-1 shortest-path trees, one through each neighbour of the identity.
    """
    check.equal("subtrees of SPG", forest.trees, check.n - 1, of=forest)
    check.passes(checkers.rooted, forest)
    # The first node that starts with 1 is the root itself.
    nodes = np.flatnonzero(stars.symbols(check)[:, 0] == 1)[1:]
    place = {"node": nodes, "of": forest}
    subtrees = (forest.parent_port[:, nodes] != 0).sum(axis=0)
    check.equal("subtrees that have the node", subtrees, check.n - 1, **place)
    check.passes(checkers.disjoint_paths, forest)
    levels = check.depths(forest.parent_port)[:, nodes]
    distance = check.distances()
    least = (1 + distance[check.neighbours[:, nodes]]).sum(axis=0)
    check.equal("total length of the paths", levels.sum(axis=0), least, **place)
