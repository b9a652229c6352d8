"""Fragopoulou & Akl 1993, section 5: the balanced trees, Definitions 7 and 13 to 16, Theorems 9 and 10."""

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from starcast import checkers
from starcast.claims.check import ClaimCheck
from starcast.claims.formulas import even_share
from starcast.claims.growth import Number, divided, factorial
from starcast.claims.reference import bfs, lower_bound_counts, necklaces
from starcast.claims.reference import scatter_trees as trees
from starcast.claims.reference.place_labels import node_labels
from starcast.claims.reference.star_labels import rotation, rotation_function, symbols
from starcast.claims.registry import check, register
from starcast.trees.model import Forest

_DRAWN = 3  # trees of section 5.1 with free choices drawn at random


# Section 5.1


def _balanced(check: ClaimCheck) -> NDArray[np.uint8]:
    """The house's tree, and some with all that the paper leaves open drawn at random."""
    made = check.objects.forest(check.topology.spec, "balanced")
    return np.concatenate([made.parent_port, trees.drawn(check.objects, check.topology, _DRAWN)])


@check("FA.S51.paths")
def _shortest(check: ClaimCheck) -> None:
    rows = _balanced(check)
    check.passes(checkers.spanning(check.topology, rows, 0))
    check.passes(checkers.shortest_paths(check.topology, rows, 0))


@check("FA.S51.substar")
def _substars(check: ClaimCheck) -> None:
    place = _place_of_1(check)
    nodes = np.flatnonzero(place > 1)
    for tree, row in enumerate(_balanced(check)):
        parent = bfs.parents(check.objects, check.topology, row)[nodes]
        kept = np.where(parent == 0, place[nodes], place[parent])
        check.equal(
            "position of symbol 1 in the parent",
            kept,
            place[nodes],
            tree=tree,
            node=node_labels(check.topology, nodes),
        )
        check.equal(
            "subtree",
            _branches(check, row)[nodes],
            place[nodes],
            tree=tree,
            node=node_labels(check.topology, nodes),
        )


@check("FA.S51.sizes")
def _sizes(check: ClaimCheck) -> None:
    n = check.topology.n
    parts = [(check.topology.nodes - 1 + i) // (n - 1) for i in range(n - 1)]
    found = np.sort(checkers.branch_sizes(check.topology, _balanced(check), 0), axis=1)
    check.equal(
        "sizes of the subtrees, the smallest first",
        found,
        np.array(parts),
        tree=lambda tree, _: tree,
    )
    check.equal("size of the largest subtree", found[:, -1], even_share(n), tree=lambda tree: tree)


# Definitions 7 and 13


@check("FA.D7")
def _one_generator(check: ClaimCheck) -> None:
    leader = lower_bound_counts.necklaces(check.objects, check.topology.spec)
    leaders = np.unique(leader)[1:]
    count = np.bincount(
        leader[necklaces.named(check.objects, check.topology)], minlength=check.topology.nodes
    )[leaders]
    check.equal(
        "generators of the necklace of a node", count, 1, node=node_labels(check.topology, leaders)
    )
    starting = symbols(check.objects, check.topology)[leaders, 0] == 1
    instead = check.correction(
        "it names one in a necklace that does not start with 1, and one or more in the others, of which one has to be chosen"
    )
    instead.equal(
        "generators without 1 in front",
        count[~starting],
        1,
        node=node_labels(check.topology, leaders[~starting]),
    )
    instead.at_least(
        "generators with 1 in front",
        count[starting],
        1,
        node=node_labels(check.topology, leaders[starting]),
    )


def _inverse(check: ClaimCheck, above: trees.Across, below: trees.Across, what: str) -> None:
    """A node's parent is across j just if the parent has it as its child across j."""
    of_child = trees.listed(check.objects, check.topology, below)
    check.equal(
        what,
        above,
        of_child,
        node=lambda x, _: check.topology.label(x),
        dimension=lambda _, j: j + 1,
    )


_WORDS = "g_j(y) is the parent of y (found), y is a child of g_j(y) (stated), j the dimension"


def _printed(check: ClaimCheck, *, repeated: bool) -> None:
    printed = trees.children(check.objects, check.topology, repaired=False, repeated=repeated)
    right = trees.parents(check.objects, check.topology, "right", repeated=repeated)
    _inverse(
        check,
        trees.parents(check.objects, check.topology, "left", repeated=repeated),
        printed,
        _WORDS,
    )
    _inverse(
        check.reading("second cycle from the right, children as printed"), right, printed, _WORDS
    )
    instead = check.correction(
        "they are inverse with the second cycle from the right, children across fixed symbols of nodes with one cycle only, "
        "and left minima of the whole canonical notation"
    )
    _inverse(
        instead,
        right,
        trees.children(check.objects, check.topology, repaired=True, repeated=repeated),
        _WORDS,
    )


def _as_repaired(check: ClaimCheck, *, repeated: bool) -> None:
    above = trees.parents(check.objects, check.topology, "right", repeated=repeated)
    _inverse(
        check,
        above,
        trees.children(check.objects, check.topology, repaired=True, repeated=repeated),
        _WORDS,
    )
    made = check.objects.forest(
        check.topology.spec, "perfectly-balanced" if repeated else "near-balanced"
    )
    for j in check.topology.ports:
        in_some = np.equal(made.parent_port, j).any(axis=0)
        check.equal(
            f"parent across {j}, in the house's trees",
            in_some,
            above[:, j - 1],
            node=check.topology.label,
            of=made,
        )


for _number, _repeated in (("13", False), ("15", True)):
    register(
        f"FA.D{_number}{'' if _number == '13' else '-printed'}",
        partial(_printed, repeated=_repeated),
    )
    register(
        f"FA.D{_number}{'-repaired' if _number == '13' else ''}",
        partial(_as_repaired, repeated=_repeated),
    )


def _at_roots(check: ClaimCheck, *, repeated: bool) -> None:
    across = trees.parents(check.objects, check.topology, "right", repeated=repeated)
    name = "perfectly-balanced" if repeated else "near-balanced"
    for root in bfs.roots(check.topology):
        here = trees.at_root(check.objects, check.topology, root, repeated=repeated)
        place: dict[str, Any] = {
            "root": check.topology.label(root),
            "node": lambda x, _: check.topology.label(x),
            "dimension": lambda _, j: j + 1,
        }
        check.equal(
            "parent by the definition",
            here,
            trees.carried(check.objects, check.topology, root, across),
            **place,
        )
        made = check.objects.forest(check.topology.spec, name, root=root)
        in_some = np.stack(
            [np.equal(made.parent_port, j).any(axis=0) for j in range(1, check.topology.n + 1)],
            axis=1,
        )
        check.equal("parent in the house's trees", in_some, here, **place, of=made)


for _number, _repeated in (("14", False), ("16", True)):
    register(f"FA.D{_number}", partial(_at_roots, repeated=_repeated))


# Theorems 9 and 10


def _near(check: ClaimCheck) -> Forest:
    return check.objects.forest(check.topology.spec, "near-balanced")


def _perfect(check: ClaimCheck) -> Forest:
    return check.objects.forest(check.topology.spec, "perfectly-balanced")


@check("FA.T9.1")
def _substars_9(check: ClaimCheck) -> None:
    place = _place_of_1(check)
    nodes = np.flatnonzero(place > 1)
    found = _branches(check, _near(check).parent_port[0])[nodes]
    check.equal(
        "subtree", found, place[nodes], node=node_labels(check.topology, nodes), of=_near(check)
    )


@check("FA.T9.2")
def _displacements_9(check: ClaimCheck) -> None:
    nodes = np.arange(1, check.topology.nodes)
    d = necklaces.displacements(check.objects, check.topology)[1:]
    found = _branches(check, _near(check).parent_port[0])[1:]
    check.equal("subtree", found, d + 2, node=node_labels(check.topology, nodes), of=_near(check))


@check("FA.T9.3")
def _leaves_9(check: ClaimCheck) -> None:
    _leaves(check, _near(check))


@check("FA.T9.4")
def _shortest_9(check: ClaimCheck) -> None:
    made = _near(check)
    check.passes(checkers.spanning(check.topology, made.parent_port, 0), of=made)
    check.passes(checkers.shortest_paths(check.topology, made.parent_port, 0), of=made)


@check("FA.T9.5")
def _within_a_constant(check: ClaimCheck) -> None:
    n, made = check.topology.n, _near(check)
    sizes = checkers.branch_sizes(check.topology, made.parent_port, 0)[0]
    check.equal(
        "nodes of the largest subtree", int(sizes.max()), necklaces.largest_branch(n), of=made
    )
    check.equal(
        "nodes of the smallest subtree", int(sizes.min()), necklaces.smallest_branch(n), of=made
    )
    check.at_most(
        "nodes of the largest subtree, the bound",
        int(sizes.max()),
        2 * int(factorial(n - 1)) - 1,
        of=made,
    )
    check.at_least(
        "nodes of the smallest subtree, the bound", int(sizes.min()), int(factorial(n - 1)), of=made
    )
    check.order("largest subtree / smallest subtree", _branch_ratio)


def _branch_ratio(n: int) -> Number:
    return divided(necklaces.largest_branch(n), necklaces.smallest_branch(n))


@check("FA.T10.1")
def _substars_10(check: ClaimCheck) -> None:
    place, made = _place_of_1(check), _perfect(check)
    nodes = np.flatnonzero(place > 1)
    for tree, row in enumerate(made.parent_port):
        inside = _branches(check, row)[nodes]
        expected = np.where(place[nodes] == tree + 2, tree + 2, 0)
        check.equal(
            "subtree", inside, expected, tree=tree, node=node_labels(check.topology, nodes), of=made
        )


@check("FA.T10.2")
def _repeats(check: ClaimCheck) -> None:
    made, nodes = _perfect(check), np.arange(1, check.topology.nodes)
    found = np.count_nonzero(made.parent_port, axis=0)[1:]
    stated = (check.topology.n - 1) // necklaces.periods(check.objects, check.topology)[1:]
    check.equal(
        "how often a node appears", found, stated, node=node_labels(check.topology, nodes), of=made
    )


@check("FA.T10.3")
def _displacements_10(check: ClaimCheck) -> None:
    n, made, nodes = check.topology.n, _perfect(check), np.arange(1, check.topology.nodes)
    d, p = (
        necklaces.displacements(check.objects, check.topology)[1:],
        necklaces.periods(check.objects, check.topology)[1:],
    )
    stated = np.zeros((n - 1, len(nodes)), dtype=bool)
    for i in range(n - 1):
        there = np.flatnonzero((i < (n - 1) // p) & (i * p + d < n - 1))
        stated[(i * p + d)[there], there] = True
    found = np.stack(
        [_branches(check, row)[1:] == tree + 2 for tree, row in enumerate(made.parent_port)]
    )
    check.equal(
        "is in the subtree",
        found,
        stated,
        tree=lambda tree, _: tree,
        node=lambda _, x: check.topology.label(x + 1),
        of=made,
    )


@check("FA.T10.4")
def _leaves_10(check: ClaimCheck) -> None:
    _leaves(check, _perfect(check))


@check("FA.T10.5")
def _shortest_10(check: ClaimCheck) -> None:
    made = _perfect(check)
    check.passes(checkers.shortest_paths(check.topology, made.parent_port, 0), of=made)
    reached = np.count_nonzero(made.parent_port, axis=0)[1:] > 0
    check.true("is in some subtree", reached, node=lambda x: check.topology.label(x + 1), of=made)


@check("FA.T10.6")
def _same_sizes(check: ClaimCheck) -> None:
    made = _perfect(check)
    sizes = checkers.branch_sizes(check.topology, made.parent_port, 0).sum(axis=0)
    check.equal("nodes of a subtree", sizes, sizes[0], tree=lambda tree: tree, of=made)
    rings = len(np.unique(lower_bound_counts.necklaces(check.objects, check.topology.spec))) - 1
    check.equal(
        "nodes of a subtree, one of every necklace", sizes, rings, tree=lambda tree: tree, of=made
    )


@check("FA.T10.7")
def _rotated(check: ClaimCheck) -> None:
    made, turn = _perfect(check), rotation(check.objects, check.topology)
    turned = np.zeros_like(made.parent_port[:-1])
    turned[:, turn] = rotation_function(check.topology.n)[made.parent_port[:-1]]
    place: dict[str, Any] = {
        "tree": lambda tree, _: tree + 1,
        "node": lambda _, x: check.topology.label(x),
    }
    check.equal("port towards the parent", made.parent_port[1:], turned, **place, of=made)


# What several look at


def _place_of_1(check: ClaimCheck) -> NDArray[np.int64]:
    """The position of symbol 1 in every node, 1..n."""
    return np.asarray(
        np.argmax(symbols(check.objects, check.topology) == 1, axis=1) + 1, dtype=np.int64
    )


def _branches(check: ClaimCheck, row: NDArray[np.uint8]) -> NDArray[np.int64]:
    """The type of the root's link over which each node of a tree is reached; 0 at the root and outside the tree."""
    parent = bfs.parents(check.objects, check.topology, row)
    nodes = np.arange(check.topology.nodes)
    top = np.where(parent > 0, parent, nodes)
    for _ in range(check.topology.nodes.bit_length()):
        top = top[top]
    port = np.zeros(check.topology.nodes, dtype=np.int64)
    port[check.objects.neighbours(check.topology.spec)[:, 0]] = check.topology.ports
    inside = (row != 0) & (parent[top] == 0)
    inside[0] = False
    return np.where(inside, port[top], 0)


def _leaves(check: ClaimCheck, made: Forest) -> None:
    """No node that starts with 1 is a parent, the root aside."""
    starting = np.flatnonzero(symbols(check.objects, check.topology)[:, 0] == 1)[1:]
    for tree, row in enumerate(made.parent_port):
        parent = bfs.parents(check.objects, check.topology, row)
        children = np.bincount(parent[parent >= 0], minlength=check.topology.nodes)[starting]
        check.equal(
            "children", children, 0, tree=tree, node=node_labels(check.topology, starting), of=made
        )
