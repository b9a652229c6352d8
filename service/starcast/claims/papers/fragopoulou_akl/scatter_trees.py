"""Fragopoulou & Akl 1993, section 5: balanced trees, Definitions 7 and 13 to 16, Theorems 9, 10."""

from functools import partial

import numpy as np
from numpy.typing import NDArray

from starcast.claims.check import ClaimCheck, PlaceValue
from starcast.claims.formulas import even_share
from starcast.claims.growth import divided, factorial
from starcast.claims.providers import forests
from starcast.claims.reference import bfs, necklaces
from starcast.claims.reference import scatter_trees as reference
from starcast.claims.reference.place_labels import column_labels, node_labels, other_nodes
from starcast.claims.reference.star_labels import positions, rotation, rotation_function, symbols
from starcast.claims.reference.tree_rules import branches
from starcast.claims.registry import check_rows, checks
from starcast.records import checkers
from starcast.trees.model import Forest

RANDOM_TREES = 3  # trees of section 5.1 with random choices

near_balanced = forests("near-balanced")
perfectly_balanced = forests("perfectly-balanced")


# Section 5.1


def balanced_trees(check: ClaimCheck) -> NDArray[np.uint8]:
    """Return the tree of `balanced`, and trees with random choices where the paper leaves any."""
    forest = check.forest("balanced")
    random = reference.random_trees(check, RANDOM_TREES)
    return np.concatenate([forest.parent_port, random])


@checks("FA.S51.paths")
def balanced_trees_have_shortest_paths(check: ClaimCheck) -> None:
    """Check that every tree of section 5.1 is a spanning tree of shortest paths."""
    trees = balanced_trees(check)
    check.passes(checkers.spanning(check.topology, trees, 0))
    check.passes(checkers.shortest_paths(check.topology, trees, 0))


@checks("FA.S51.substar")
def subtrees_are_substars(check: ClaimCheck) -> None:
    """Check that the parent of a node of S^i is in S^i or the root, in subtree i."""
    position = positions(symbols(check))[0]
    nodes = np.flatnonzero(position > 1)
    for tree, row in enumerate(balanced_trees(check)):
        parent = bfs.parents(check, row)[nodes]
        kept = np.where(parent == 0, position[nodes], position[parent])
        place = {"tree": tree, "node": node_labels(check, nodes)}
        check.equal("position of symbol 1 in the parent", kept, position[nodes], **place)
        check.equal("subtree", subtrees(check, row)[nodes], position[nodes], **place)


@checks("FA.S51.sizes")
def subtrees_are_balanced(check: ClaimCheck) -> None:
    """Check that the sizes of the subtrees differ by at most one node."""
    n = check.n
    # Sizes that differ by at most one and add up to n!-1 are unique up to their order.
    stated = [(check.nodes - 1 + i) // (n - 1) for i in range(n - 1)]
    sizes = np.sort(checkers.branch_sizes(check.topology, balanced_trees(check), 0), axis=1)
    what = "sizes of the subtrees, the smallest first"
    check.equal(what, sizes, np.array(stated), tree=lambda tree, _: tree)
    check.equal("size of the largest subtree", sizes[:, -1], even_share(n), tree=lambda tree: tree)


# Definitions 7 and 13 to 16


@checks("FA.D7")
def one_generator_per_necklace(check: ClaimCheck) -> None:
    """Check that Definition 7 names exactly one generator of every necklace but that of 12..n."""
    leader = necklaces.leaders(check)
    leaders = np.unique(leader)[1:]
    generators = leader[necklaces.named_generators(check)]
    count = np.bincount(generators, minlength=check.nodes)[leaders]
    check.equal("generators of the necklace of a node", count, 1, node=node_labels(check, leaders))
    starts_with_1 = symbols(check)[leaders, 0] == 1
    correction = check.correction(
        "it names one in a necklace that does not start with 1, and one or more in the others, "
        "of which one has to be chosen"
    )
    place = {"node": node_labels(check, leaders[~starts_with_1])}
    correction.equal("generators without 1 in front", count[~starts_with_1], 1, **place)
    place = {"node": node_labels(check, leaders[starts_with_1])}
    correction.at_least("generators with 1 in front", count[starts_with_1], 1, **place)


#: The constructions of Definitions 13 and 15; Definition 15 repeats nodes.
DEFINITION_13 = "near-balanced"
DEFINITION_15 = "perfectly-balanced"


def check_inverse(
    check: ClaimCheck, above: reference.Dimensions, below: reference.Dimensions
) -> None:
    """Check that g_j(y) is the parent of y if and only if y is a child of g_j(y)."""
    what = "g_j(y) is the parent of y (found), y is a child of g_j(y) (stated), j the dimension"
    stated = reference.seen_from_children(check, below)
    check.equal(what, above, stated, **node_and_dimension(check))


def node_and_dimension(check: ClaimCheck) -> dict[str, PlaceValue]:
    """Return the place of a value in an array ``[nodes, n]``."""
    return {"node": lambda node, _: check.label(node), "dimension": lambda _, index: index + 1}


def printed_functions_are_inverse(check: ClaimCheck, construction: str) -> None:
    """Check that the parent and children functions as printed are inverse to each other."""
    repeated = construction == DEFINITION_15
    children = partial(reference.children, check, repeated=repeated)
    parents = partial(reference.parents, check, repeated=repeated)
    check_inverse(check, parents("left"), children(repaired=False))
    reading = check.reading("second cycle from the right, children as printed")
    check_inverse(reading, parents("right"), children(repaired=False))
    correction = check.correction(
        "they are inverse with the second cycle from the right, children across fixed symbols of "
        "nodes with one cycle only, and left minima of the whole canonical notation"
    )
    check_inverse(correction, parents("right"), children(repaired=True))


def repaired_functions_are_inverse(check: ClaimCheck, construction: str) -> None:
    """Check that the repaired functions are inverse, and that the construction follows them."""
    repeated = construction == DEFINITION_15
    above = reference.parents(check, "right", repeated=repeated)
    below = reference.children(check, repaired=True, repeated=repeated)
    check_inverse(check, above, below)
    forest = check.forest(construction)
    for j in check.ports:
        used = np.equal(forest.parent_port, j).any(axis=0)
        what = f"parent across {j}, in the house's trees"
        check.equal(what, used, above[:, j - 1], node=check.label, of=forest)


def trees_at_roots_are_translates(check: ClaimCheck, construction: str) -> None:
    """Check that the trees at any root are the translates of those at 12..n."""
    repeated = construction == DEFINITION_15
    above = reference.parents(check, "right", repeated=repeated)
    for root in bfs.roots(check):
        at_root = reference.parents_at_root(check, root, repeated=repeated)
        place = {"root": check.label(root), **node_and_dimension(check)}
        stated = reference.translated_parents(check, root, above)
        check.equal("parent by the definition", at_root, stated, **place)
        forest = check.forest(construction, root=root)
        dimensions = range(1, check.n + 1)
        used = [np.equal(forest.parent_port, j).any(axis=0) for j in dimensions]
        what = "parent in the house's trees"
        check.equal(what, np.stack(used, axis=1), at_root, **place, of=forest)


check_rows(
    printed_functions_are_inverse, {"FA.D13": DEFINITION_13, "FA.D15-printed": DEFINITION_15}
)
check_rows(
    repaired_functions_are_inverse, {"FA.D13-repaired": DEFINITION_13, "FA.D15": DEFINITION_15}
)
check_rows(trees_at_roots_are_translates, {"FA.D14": DEFINITION_13, "FA.D16": DEFINITION_15})


# Theorem 9


@checks("FA.T9.1", given=near_balanced)
def substars_are_in_subtrees(check: ClaimCheck, forest: Forest) -> None:
    """Check that all nodes with symbol 1 in position i are in the subtree of link type i."""
    position = positions(symbols(check))[0]
    nodes = np.flatnonzero(position > 1)
    subtree = subtrees(check, forest.parent_port[0])[nodes]
    check.equal("subtree", subtree, position[nodes], node=node_labels(check, nodes), of=forest)


@checks("FA.T9.2", given=near_balanced)
def displacement_determines_subtree(check: ClaimCheck, forest: Forest) -> None:
    """Check that all nodes of displacement d are in the subtree of link type d + 2."""
    displacement = necklaces.displacements(check)[1:]
    subtree = subtrees(check, forest.parent_port[0])[1:]
    check.equal("subtree", subtree, displacement + 2, node=other_nodes(check), of=forest)


@checks("FA.T9.3", given=near_balanced)
@checks("FA.T10.4", given=perfectly_balanced)
def nodes_with_leading_1_are_leaves(check: ClaimCheck, forest: Forest) -> None:
    """Check that no node that starts with 1 is a parent, except the root."""
    starting = np.flatnonzero(symbols(check)[:, 0] == 1)[1:]
    label = node_labels(check, starting)
    for tree, row in enumerate(forest.parent_port):
        parent = bfs.parents(check, row)
        children = np.bincount(parent[parent >= 0], minlength=check.nodes)[starting]
        check.equal("children", children, 0, tree=tree, node=label, of=forest)


@checks("FA.T9.4", given=near_balanced)
def near_balanced_has_shortest_paths(check: ClaimCheck, forest: Forest) -> None:
    """Check that the tree is a spanning tree of shortest paths."""
    check.passes(checkers.spanning(check.topology, forest.parent_port, 0), of=forest)
    check.passes(checkers.shortest_paths(check.topology, forest.parent_port, 0), of=forest)


@checks("FA.T9.5", given=near_balanced)
def subtree_sizes_differ_by_a_factor(check: ClaimCheck, forest: Forest) -> None:
    """Check the largest and the smallest subtree, and the order of their quotient."""
    n = check.n
    substar = int(factorial(n - 1))
    sizes = checkers.branch_sizes(check.topology, forest.parent_port, 0)[0]
    largest = int(sizes.max())
    smallest = int(sizes.min())
    check.equal("nodes of the largest subtree", largest, necklaces.largest_branch(n), of=forest)
    check.equal("nodes of the smallest subtree", smallest, necklaces.smallest_branch(n), of=forest)
    check.at_most("nodes of the largest subtree, the bound", largest, 2 * substar - 1, of=forest)
    check.at_least("nodes of the smallest subtree, the bound", smallest, substar, of=forest)
    what = "largest subtree / smallest subtree"
    check.order(what, lambda n: divided(necklaces.largest_branch(n), necklaces.smallest_branch(n)))


# Theorem 10


@checks("FA.T10.1", given=perfectly_balanced)
def substars_are_in_one_subtree(check: ClaimCheck, forest: Forest) -> None:
    """Check that the nodes with symbol 1 in position i are in the subtree of type i only."""
    position = positions(symbols(check))[0]
    nodes = np.flatnonzero(position > 1)
    label = node_labels(check, nodes)
    for tree, row in enumerate(forest.parent_port):
        subtree = subtrees(check, row)[nodes]
        stated = np.where(position[nodes] == tree + 2, tree + 2, 0)
        check.equal("subtree", subtree, stated, tree=tree, node=label, of=forest)


@checks("FA.T10.2", given=perfectly_balanced)
def period_determines_copies(check: ClaimCheck, forest: Forest) -> None:
    """Check that a node of period p appears (n-1)/p times."""
    copies = np.count_nonzero(forest.parent_port, axis=0)[1:]
    stated = (check.n - 1) // necklaces.periods(check)[1:]
    check.equal("how often a node appears", copies, stated, node=other_nodes(check), of=forest)


@checks("FA.T10.3", given=perfectly_balanced)
def displacement_and_period_determine_subtrees(check: ClaimCheck, forest: Forest) -> None:
    """Check that a node of displacement d and period p is in the subtrees of types ip + d + 2."""
    degree = check.n - 1
    d = necklaces.displacements(check)[1:]
    p = necklaces.periods(check)[1:]
    stated = np.zeros((degree, len(d)), dtype=bool)
    for i in range(degree):
        nodes = np.flatnonzero((i < degree // p) & (i * p + d < degree))
        stated[(i * p + d)[nodes], nodes] = True
    rows = [subtrees(check, row)[1:] == tree + 2 for tree, row in enumerate(forest.parent_port)]
    place = {"tree": lambda tree, _: tree, "node": lambda _, index: check.label(index + 1)}
    check.equal("is in the subtree", np.stack(rows), stated, **place, of=forest)


@checks("FA.T10.5", given=perfectly_balanced)
def perfectly_balanced_has_shortest_paths(check: ClaimCheck, forest: Forest) -> None:
    """Check that all paths from the root are shortest, and that every node has a path."""
    check.passes(checkers.shortest_paths(check.topology, forest.parent_port, 0), of=forest)
    reached = np.count_nonzero(forest.parent_port, axis=0)[1:] > 0
    check.true("is in some subtree", reached, node=other_nodes(check), of=forest)


@checks("FA.T10.6", given=perfectly_balanced)
def subtrees_have_one_size(check: ClaimCheck, forest: Forest) -> None:
    """Check that all subtrees have as many nodes as there are necklaces."""
    sizes = checkers.branch_sizes(check.topology, forest.parent_port, 0).sum(axis=0)
    place = {"tree": lambda tree: tree, "of": forest}
    check.equal("nodes of a subtree", sizes, sizes[0], **place)
    leaders = np.unique(necklaces.leaders(check))
    check.equal("nodes of a subtree, one of every necklace", sizes, len(leaders) - 1, **place)


@checks("FA.T10.7", given=perfectly_balanced)
def subtrees_are_rotations(check: ClaimCheck, forest: Forest) -> None:
    """Check that each subtree is the subtree before it, rotated once."""
    before = forest.parent_port[:-1]
    stated = np.zeros_like(before)
    stated[:, rotation(check)] = rotation_function(check.n)[before]
    place = {"tree": lambda tree, _: tree + 1, "node": column_labels(check)}
    check.equal("port towards the parent", forest.parent_port[1:], stated, **place, of=forest)


def subtrees(check: ClaimCheck, row: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Return the type of the root's link over which a tree reaches each node.

    Returns:
        int64 ``[nodes]``; 0 for the root and outside the tree.
    """
    types = np.zeros(check.nodes, dtype=np.int64)
    types[check.neighbours[:, 0]] = check.ports
    branch = branches(bfs.parents(check, row), 0)
    return np.where(branch >= 0, types[branch], 0)
