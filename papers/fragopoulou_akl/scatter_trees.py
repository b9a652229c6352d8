"""Checks of Fragopoulou & Akl 1993, section 5: balanced trees.

The checks cover the balanced trees of section 5.1, the near-balanced tree (Definitions 7, 13 and
14, Theorem 9), and the perfectly balanced trees (Definitions 15 and 16, Theorem 10).
"""

from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from starcast.claims.cached_topology import CachedTopology, cached
from starcast.claims.check import ClaimCheck, PlaceValue
from starcast.claims.growth import divide, factorial
from starcast.claims.registry import check_rows, checks, forests
from starcast.records import checkers
from starcast.topologies.permutations import Ranks
from starcast.trees.model import Forest

from ..common import stars
from ..common.closed_forms import even_share, largest_branch, smallest_branch

# Definitions 13 to 16 on labels, and random trees of section 5.1
#
# Definitions 13 to 16 are computed as printed or as corrected (``repaired``), without
# `starcast.trees`. A parent or children function is an array bool ``[nodes, n]``. Its entry at
# index j-1 is True if the parent or a child of the node is across dimension j. There are no links
# of dimension 1; the dimension is included because the printed functions may return it.


#: Parent or children function, bool ``[nodes, n]``.
Dimensions = NDArray[np.bool_]
_SEED = 1993


def canonical_notation(label: list[int]) -> list[tuple[int, ...]]:
    """Return the cycles of a label in the canonical notation of Definition 12.

    Cycles of one symbol are omitted. Each cycle ends with its smallest symbol, and the smallest
    symbols of the cycles decrease from left to right. Symbols are compared in the ordering of
    `order_index`, where k is the position of symbol 1.
    """
    n = len(label)
    k = label.index(1) + 1
    cycles = []
    for symbol in range(1, n + 1):
        cycle = stars.cycle_of(label, symbol)
        if len(cycle) > 1 and symbol == min(cycle, key=lambda s: order_index(s, k, n)):
            cycles.append((*cycle[1:], symbol))
    return sorted(cycles, key=lambda cycle: -order_index(cycle[-1], k, n))


def order_index(symbol: int, k: int, n: int) -> int:
    """Return a symbol's index (from 0) in the ordering 1, k, k+1, .., n, 2, .., k-1 (Def. 10)."""
    return 0 if symbol == 1 else 1 + (symbol - k) % (n - 1)


@cached
def parent_function(
    network: CachedTopology, second: Literal["left", "right"], *, repeated: bool = False
) -> Dimensions:
    """Return which dimensions lead from each node to its parent, by Definition 13.

    The result is bool ``[nodes, n]``; the entry at index j-1 is for dimension j. With ``repeated``,
    a node can be in several trees and have a parent in each (Definition 15). The definition uses
    the second cycle in canonical notation; cycles are counted from the side ``second``.
    """
    label_symbols = stars.symbols(network)
    function = np.zeros((network.nodes, network.n), dtype=bool)
    index = 1 if second == "left" else -2
    for node in np.flatnonzero(label_symbols[:, 0] != 1).tolist():
        cycles = canonical_notation(label_symbols[node].tolist())
        dimension = int(label_symbols[node, 0]) if len(cycles) == 1 else cycles[index][-1]
        function[node, dimension - 1] = True
    starting = np.flatnonzero(label_symbols[:, 0] == 1)[1:]
    identity = np.arange(network.nodes, dtype=np.int32)
    leaves = leaf_parents(network, identity, repeated=repeated)
    function[starting] = leaves[starting]
    return function


def leaf_parents(network: CachedTopology, c: Ranks, *, repeated: bool) -> Dimensions:
    """Return which dimensions lead from each node that starts with 1 to a parent.

    The result is bool ``[nodes, n]``; the entry at index j-1 is for dimension j. The array ``c``
    contains the image of each node under the translation that maps the tree's root to 12..n. The
    neighbour across dimension j is a parent if the images of node and neighbour both have the
    displacement j-2 (see `stars.displacements`). With ``repeated``, the displacement of the node's
    image may also be less than j-2 by a multiple of its period, the size of its necklace.
    """
    d = stars.displacements(network)[c]
    p = stars.periods(network)[c]
    function = np.zeros((network.nodes, network.n), dtype=bool)
    for j, heads in zip(network.ports, network.neighbours, strict=True):
        in_subtree = d == j - 2
        if repeated:
            for k in range(1, network.n - 1):
                in_subtree |= (d + k * p == j - 2) & ((k + 1) * p < network.n)
        function[:, j - 1] = in_subtree & (d[heads] == j - 2) & (d >= 0)
    return function


@cached
def children_function(
    network: CachedTopology, *, repaired: bool, repeated: bool = False
) -> Dimensions:
    """Return which dimensions lead from each node to its children, by Definition 13.

    The result is bool ``[nodes, n]``; the entry at index j-1 is for dimension j. With ``repeated``,
    a node can be in several trees (Definition 15). With ``repaired``, the corrected function is
    used instead of the printed one.
    """
    n = network.n
    label_symbols = stars.symbols(network)
    d = stars.displacements(network)
    p = stars.periods(network)
    neighbours = network.neighbours
    function = np.zeros((network.nodes, n), dtype=bool)
    function[0, 1:] = True
    for node in np.flatnonzero(label_symbols[:, 0] != 1).tolist():
        label = label_symbols[node].tolist()
        k = label.index(1) + 1
        leaf = int(neighbours[k - 2, node])
        turns = range(0, n - 1, int(p[leaf])) if repeated else (0,)
        is_parent = any(d[node] == d[leaf] + turn == k - 2 for turn in turns)
        function[node, k - 1] = leaf != 0 and is_parent
        for j in _inner_children(label, repaired=repaired):
            function[node, j - 1] = True
    return function


def _inner_children(label: list[int], *, repaired: bool) -> list[int]:
    """Return the dimensions that lead from a node to its children that do not start with 1.

    By the printed rule, these dimensions are the symbols in their own position and the left minima
    of the cycle of 1. A left minimum is smaller, in the ordering of Definition 10, than all symbols
    to its left in the cycle. With ``repaired``, the rule is corrected in two points. Symbols in
    their own position count only for nodes with one cycle, and a left minimum must be smaller than
    all symbols to its left in the whole canonical notation.
    """
    n = len(label)
    k = label.index(1) + 1
    *others, last = canonical_notation(label)
    fixed = [j for j in range(2, n + 1) if label[j - 1] == j]
    before = [symbol for cycle in others for symbol in cycle] if repaired else []
    minima = []
    for index in range(1, len(last) - 2):
        least = min(order_index(symbol, k, n) for symbol in (*before, *last[:index]))
        if order_index(last[index], k, n) < least:
            minima.append(last[index])
    return minima if repaired and others else [*fixed, *minima]


def seen_from_children(network: CachedTopology, below: Dimensions) -> Dimensions:
    """Return the parent function that follows from the children function ``below``.

    The result is bool ``[nodes, n]``; the entry at index j-1 is True if the node is a child of its
    neighbour across dimension j.
    """
    function = np.zeros_like(below)
    for j, heads in zip(network.ports, network.neighbours, strict=True):
        function[:, j - 1] = below[heads, j - 1]
    return function


def translation_and_inverse(network: CachedTopology, root: int) -> tuple[Ranks, Ranks]:
    """Return the images of all nodes under the translation that maps 12..n to a root.

    Returns:
        the images under the translation, and the images under its inverse.
    """
    forward = stars.translation(network, root)
    return forward, np.argsort(forward).astype(np.int32)


def parents_at_root(network: CachedTopology, root: int, *, repeated: bool) -> Dimensions:
    """Return the corrected parent function of the near-balanced tree at ``root`` (Definition 14).

    With ``repeated``, the result is the function of the perfectly balanced trees (Definition 16).
    """
    _, c = translation_and_inverse(network, root)
    starts_with_1 = stars.symbols(network)[c][:, 0] == 1
    leaves = leaf_parents(network, c, repeated=repeated)
    function = np.where(starts_with_1[:, None], leaves, parent_function(network, "right")[c])
    function[root] = False
    return function


def translated_parents(network: CachedTopology, root: int, above: Dimensions) -> Dimensions:
    """Return the parent function ``above`` of the trees at 12..n, translated to another root."""
    forward, inverse = translation_and_inverse(network, root)
    function = np.zeros_like(above)
    for j, heads in zip(network.ports, network.neighbours, strict=True):
        parent = forward[heads[inverse]]
        function[:, 1:] |= above[inverse, j - 1][:, None] & (network.neighbours == parent).T
    return function


@cached
def random_trees(network: CachedTopology, count: int) -> NDArray[np.uint8]:
    """Return the parent ports of random trees that section 5.1 allows, uint8 ``[count, nodes]``."""
    generators = [np.random.default_rng([_SEED, seed]) for seed in range(count)]
    return np.stack([_random_tree(network, rng) for rng in generators])


def _random_tree(network: CachedTopology, rng: np.random.Generator) -> NDArray[np.uint8]:
    label_symbols = stars.symbols(network)
    ports = np.zeros(network.nodes, dtype=np.uint8)
    for node in np.flatnonzero(label_symbols[:, 0] != 1).tolist():
        *others, _ = canonical_notation(label_symbols[node].tolist())
        candidates = [symbol for cycle in others for symbol in cycle]
        ports[node] = rng.choice(candidates) if candidates else label_symbols[node, 0]
    leader = stars.leaders(network)
    rotated = stars.rotation(network)
    distance = network.distances()
    leaders = rng.permutation(np.unique(leader[1 : len(leader) // network.n]))
    m = 1
    for first in leaders[np.argsort(distance[leaders], kind="stable")].tolist():
        members = np.flatnonzero(leader == first)
        v = (m - 1) % (network.n - 1) + 2
        node = int(rng.choice(members[label_symbols[members, v - 1] != v]))
        for _ in range(len(members)):
            ports[node] = (m - 1) % (network.n - 1) + 2
            node = int(rotated[node])
            m += 1
    return ports


#: The number of random trees that are drawn from the trees that section 5.1 allows.
RANDOM_TREES = 3

near_balanced = forests("near-balanced")
perfectly_balanced = forests("perfectly-balanced")


# Section 5.1: balanced trees


def balanced_trees(check: ClaimCheck) -> Forest:
    """Return a forest of starcast's tree `balanced` and random trees that section 5.1 allows."""
    rows = [check.forest("balanced").parent_port, random_trees(check, RANDOM_TREES)]
    return Forest(check.topology, np.concatenate(rows))


@checks("FA.S51.paths")
def balanced_trees_have_shortest_paths(check: ClaimCheck) -> None:
    """Check that the balanced trees of section 5.1 are spanning trees of shortest paths."""
    trees = balanced_trees(check)
    check.passes(checkers.spanning, trees, of="")
    check.passes(checkers.shortest_paths, trees, of="")


@checks("FA.S51.substar")
def subtrees_are_substars(check: ClaimCheck) -> None:
    """Check that in balanced trees, nodes with symbol 1 in position i are in subtree i.

    The root reaches subtree i over its link of type i.
    """
    position = stars.positions(stars.symbols(check))[0]
    nodes = np.flatnonzero(position > 1)
    for tree, row in enumerate(balanced_trees(check).parent_port):
        parent = check.parents(row)[nodes]
        kept = np.where(parent == 0, position[nodes], position[parent])
        place = {"tree": tree, "node": nodes}
        check.equal("position of symbol 1 in the parent", kept, position[nodes], **place)
        check.equal("subtree", subtrees(check, row)[nodes], position[nodes], **place)


@checks("FA.S51.sizes")
def subtrees_are_balanced(check: ClaimCheck) -> None:
    """Check that in balanced trees, the sizes of the root's subtrees differ by at most one node."""
    n = check.n
    # Sizes that differ by at most one and add up to n!-1 are unique except for their order.
    stated = [(check.nodes - 1 + i) // (n - 1) for i in range(n - 1)]
    trees = balanced_trees(check).parent_port
    sizes = np.sort(checkers.branch_sizes(check.topology, trees, 0), axis=1)
    what = "sizes of the subtrees, the smallest first"
    check.equal(what, sizes, np.array(stated), tree=lambda tree, _: tree)
    check.equal("size of the largest subtree", sizes[:, -1], even_share(n), tree=lambda tree: tree)


# Generators (Definition 7), and the parent and children functions (Definitions 13 to 16)


@checks("FA.D7")
def one_generator_per_necklace(check: ClaimCheck) -> None:
    """Check whether Definition 7 names one generator of every necklace except {12..n}.

    A necklace is an orbit of the rotation R. In fact, a necklace whose nodes start with 1 can have
    several generators.
    """
    leader = stars.leaders(check)
    leaders = np.unique(leader)[1:]
    generators = leader[stars.named_generators(check)]
    count = np.bincount(generators, minlength=check.nodes)[leaders]
    check.equal("generators of the necklace of a node", count, 1, node=leaders)
    starts_with_1 = stars.symbols(check)[leaders, 0] == 1
    correction = check.correction()
    with_1, without_1 = np.flatnonzero(starts_with_1), np.flatnonzero(~starts_with_1)
    correction.equal("generators without 1 in front", count[without_1], 1, node=leaders[without_1])
    correction.at_least("generators with 1 in front", count[with_1], 1, node=leaders[with_1])


#: The constructions of Definitions 13 and 15. By Definition 15, a node can be in several trees.
DEFINITION_13 = "near-balanced"
DEFINITION_15 = "perfectly-balanced"


def check_inverse(check: ClaimCheck, above: Dimensions, below: Dimensions) -> None:
    """Check that a parent function and a children function are inverse to each other.

    A neighbour must be a node's parent if and only if the node is the neighbour's child.
    """
    what = "g_j(y) is the parent of y (found), y is a child of g_j(y) (stated), j the dimension"
    stated = seen_from_children(check, below)
    check.equal(what, above, stated, **node_and_dimension(check))


def node_and_dimension(check: ClaimCheck) -> dict[str, PlaceValue]:
    """Return the node and dimension of each value in an array ``[nodes, n]``.

    The result is a dictionary of keyword arguments for methods of `ClaimCheck`.
    """
    return {"node": check.ranks[:, None], "dimension": np.arange(1, check.n + 1)}


def printed_functions_are_inverse(check: ClaimCheck, construction: str) -> None:
    """Check whether the printed parent and children functions are inverse (Definition 13 or 15).

    In fact, only the corrected functions are inverse.
    """
    repeated = construction == DEFINITION_15
    children = partial(children_function, check, repeated=repeated)
    parents = partial(parent_function, check, repeated=repeated)
    check_inverse(check, parents("left"), children(repaired=False))
    reading = check.reading("second cycle from the right, children as printed")
    check_inverse(reading, parents("right"), children(repaired=False))
    check_inverse(check.correction(), parents("right"), children(repaired=True))


def repaired_functions_are_inverse(check: ClaimCheck, construction: str) -> None:
    """Check that the corrected parent and children functions are inverse (Definition 13 or 15).

    Also check that starcast's construction has the same parents.
    """
    repeated = construction == DEFINITION_15
    above = parent_function(check, "right", repeated=repeated)
    below = children_function(check, repaired=True, repeated=repeated)
    check_inverse(check, above, below)
    forest = check.forest(construction)
    for j in check.ports:
        used = np.equal(forest.parent_port, j).any(axis=0)
        what = f"parent across {j}, in starcast's trees"
        check.equal(what, used, above[:, j - 1], node=check.ranks, of=forest)


def trees_at_roots_are_translates(check: ClaimCheck, construction: str) -> None:
    """Check that the trees at other roots are translations of the trees at 12..n.

    Definition 14 or 16 defines the trees at other roots.
    """
    repeated = construction == DEFINITION_15
    above = parent_function(check, "right", repeated=repeated)
    for root in check.roots():
        at_root = parents_at_root(check, root, repeated=repeated)
        place = {"root": root, **node_and_dimension(check)}
        stated = translated_parents(check, root, above)
        check.equal("parent by the definition", at_root, stated, **place)
        forest = check.forest(construction, root=root)
        dimensions = range(1, check.n + 1)
        used = [np.equal(forest.parent_port, j).any(axis=0) for j in dimensions]
        what = "parent in starcast's trees"
        check.equal(what, np.stack(used, axis=1), at_root, **place, of=forest)


check_rows(
    printed_functions_are_inverse, {"FA.D13": DEFINITION_13, "FA.D15-printed": DEFINITION_15}
)
check_rows(
    repaired_functions_are_inverse, {"FA.D13-repaired": DEFINITION_13, "FA.D15": DEFINITION_15}
)
check_rows(trees_at_roots_are_translates, {"FA.D14": DEFINITION_13, "FA.D16": DEFINITION_15})


# Theorem 9: properties of near-balanced trees


@checks("FA.T9.1", given=near_balanced)
def substars_are_in_subtrees(check: ClaimCheck, forest: Forest) -> None:
    """Check that in the near-balanced tree, nodes with 1 in position i are in subtree i.

    The root reaches subtree i over its link of type i.
    """
    position = stars.positions(stars.symbols(check))[0]
    nodes = np.flatnonzero(position > 1)
    subtree = subtrees(check, forest.parent_port[0])[nodes]
    check.equal("subtree", subtree, position[nodes], node=nodes, of=forest)


@checks("FA.T9.2", given=near_balanced)
def displacement_determines_subtree(check: ClaimCheck, forest: Forest) -> None:
    """Check that in the near-balanced tree, nodes with displacement d are in subtree d + 2.

    The root reaches subtree i over its link of type i; `stars.displacements` defines d.
    """
    displacement = stars.displacements(check)[1:]
    subtree = subtrees(check, forest.parent_port[0])[1:]
    check.equal("subtree", subtree, displacement + 2, node=check.ranks[1:], of=forest)


@checks("FA.T9.3", given=near_balanced)
@checks("FA.T10.4", given=perfectly_balanced)
def nodes_with_leading_1_are_leaves(check: ClaimCheck, forest: Forest) -> None:
    """Check that nodes that start with 1, except the root, are leaves in every tree of a forest."""
    starting = np.flatnonzero(stars.symbols(check)[:, 0] == 1)[1:]
    for tree, row in enumerate(forest.parent_port):
        parent = check.parents(row)
        children = np.bincount(parent[parent >= 0], minlength=check.nodes)[starting]
        check.equal("children", children, 0, tree=tree, node=starting, of=forest)


@checks("FA.T9.4", given=near_balanced)
def near_balanced_has_shortest_paths(check: ClaimCheck, forest: Forest) -> None:
    """Check that the near-balanced tree is a spanning tree of shortest paths."""
    check.passes(checkers.spanning, forest)
    check.passes(checkers.shortest_paths, forest)


@checks("FA.T9.5", given=near_balanced)
def subtree_sizes_differ_by_a_factor(check: ClaimCheck, forest: Forest) -> None:
    """Check the sizes of the root's largest and smallest subtree in the near-balanced tree.

    The sizes are compared with closed forms and with the bounds 2(n-1)! - 1 and (n-1)!. Also check
    that the larger size divided by the smaller size has the stated order of growth.
    """
    n = check.n
    substar = int(factorial(n - 1))
    sizes = checkers.branch_sizes(check.topology, forest.parent_port, 0)[0]
    largest = int(sizes.max())
    smallest = int(sizes.min())
    check.equal("nodes of the largest subtree", largest, largest_branch(n), of=forest)
    check.equal("nodes of the smallest subtree", smallest, smallest_branch(n), of=forest)
    check.at_most("nodes of the largest subtree, the bound", largest, 2 * substar - 1, of=forest)
    check.at_least("nodes of the smallest subtree, the bound", smallest, substar, of=forest)
    what = "largest subtree / smallest subtree"
    check.order(what, lambda n: divide(largest_branch(n), smallest_branch(n)))


# Theorem 10: properties of perfectly balanced trees


@checks("FA.T10.1", given=perfectly_balanced)
def substars_are_in_one_subtree(check: ClaimCheck, forest: Forest) -> None:
    """Check that in the trees of Definition 15, nodes with 1 in position i are only in subtree i.

    The root reaches subtree i over its link of type i.
    """
    position = stars.positions(stars.symbols(check))[0]
    nodes = np.flatnonzero(position > 1)
    for tree, row in enumerate(forest.parent_port):
        subtree = subtrees(check, row)[nodes]
        stated = np.where(position[nodes] == tree + 2, tree + 2, 0)
        check.equal("subtree", subtree, stated, tree=tree, node=nodes, of=forest)


@checks("FA.T10.2", given=perfectly_balanced)
def period_determines_copies(check: ClaimCheck, forest: Forest) -> None:
    """Check that each node of period p is in exactly (n-1)/p trees of Definition 15.

    The period of a node is the number of nodes in its necklace.
    """
    copies = np.count_nonzero(forest.parent_port, axis=0)[1:]
    stated = (check.n - 1) // stars.periods(check)[1:]
    check.equal("how often a node appears", copies, stated, node=check.ranks[1:], of=forest)


@checks("FA.T10.3", given=perfectly_balanced)
def displacement_and_period_determine_subtrees(check: ClaimCheck, forest: Forest) -> None:
    """Check that the subtrees of Definition 15 that contain a node have the stated types.

    The types must be ip + d + 2, for i = 0, 1, .., where d is the displacement of the node (see
    `stars.displacements`), and p the number of nodes in its necklace.
    """
    degree = check.n - 1
    d = stars.displacements(check)[1:]
    p = stars.periods(check)[1:]
    stated = np.zeros((degree, len(d)), dtype=bool)
    for i in range(degree):
        nodes = np.flatnonzero((i < degree // p) & (i * p + d < degree))
        stated[(i * p + d)[nodes], nodes] = True
    rows = [subtrees(check, row)[1:] == tree + 2 for tree, row in enumerate(forest.parent_port)]
    place = {"tree": np.arange(degree)[:, None], "node": check.ranks[1:], "of": forest}
    check.equal("is in the subtree", np.stack(rows), stated, **place)


@checks("FA.T10.5", given=perfectly_balanced)
def perfectly_balanced_has_shortest_paths(check: ClaimCheck, forest: Forest) -> None:
    """Check that the perfectly balanced trees reach every node, and only over shortest paths."""
    check.passes(checkers.shortest_paths, forest)
    reached = np.count_nonzero(forest.parent_port, axis=0)[1:] > 0
    check.true("is in some subtree", reached, node=check.ranks[1:], of=forest)


@checks("FA.T10.6", given=perfectly_balanced)
def subtrees_have_one_size(check: ClaimCheck, forest: Forest) -> None:
    """Check that all perfectly balanced trees (Definition 15) have the same number of nodes.

    The number must be the number of necklaces (orbits of the rotation R) other than {12..n}.
    """
    sizes = checkers.branch_sizes(check.topology, forest.parent_port, 0).sum(axis=0)
    place = {"tree": lambda tree: tree, "of": forest}
    check.equal("nodes of a subtree", sizes, sizes[0], **place)
    leaders = np.unique(stars.leaders(check))
    check.equal("nodes of a subtree, one of every necklace", sizes, len(leaders) - 1, **place)


@checks("FA.T10.7", given=perfectly_balanced)
def subtrees_are_rotations(check: ClaimCheck, forest: Forest) -> None:
    """Check that each tree of Definition 15 is the image of the previous tree under rotation."""
    before = forest.parent_port[:-1]
    stated = np.zeros_like(before)
    stated[:, stars.rotation(check)] = stars.rotation_function(check.n)[before]
    place = {"tree": lambda tree, _: tree + 1, "node": check.ranks}
    check.equal("port towards the parent", forest.parent_port[1:], stated, **place, of=forest)


def subtrees(check: ClaimCheck, row: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Return the type (dimension) of the root's link over which a tree reaches each node.

    Returns:
        int64 ``[nodes]``; 0 for the root and for nodes outside the tree.
    """
    types = np.zeros(check.nodes, dtype=np.int64)
    types[check.neighbours[:, 0]] = check.ports
    branch = stars.branches(check.parents(row), 0)
    return np.where(branch >= 0, types[branch], 0)
