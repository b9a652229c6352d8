"""Fragopoulou & Akl 1993, section 5: the balanced trees, Definitions 7 and 13 to 16, Theorems 9 and 10."""

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from starcast import checkers
from starcast.claims.declaration import Family, stars
from starcast.claims.formulas import even_share
from starcast.claims.growth import Number, divided, factorial
from starcast.claims.instruments import counting, necklaces, searching
from starcast.claims.instruments import scatter_trees as trees
from starcast.claims.instruments.naming import labelled
from starcast.claims.instruments.star_labels import r, rotation, symbols
from starcast.claims.see import See
from starcast.trees.model import Forest

FAMILY = Family("fragopoulou_akl_scatter_trees")
claim = FAMILY.claim

_DRAWN = 3  # trees of section 5.1 with free choices drawn at random
_TIE = (
    "From n = 6 on Definition 7 names two generators in some necklaces (FA.D7); displacements are counted from the lower one. "
    "It names none in the necklace of 12..n, which therefore has no displacement and is no child."
)
_REPAIRED = "The second cycle is counted from the right, which merges the two rightmost cycles, as the paper says in the same sentence."


# Section 5.1


def _balanced(see: See) -> NDArray[np.uint8]:
    """The house's tree, and some with all that the paper leaves open drawn at random."""
    made = see.lab.forest(see.where.spec, "balanced")
    return np.concatenate([made.parent_port, trees.drawn(see.lab, see.where, _DRAWN)])


@claim(
    "FA.S51.paths",
    "Section 5.1",
    stars(6, 7, 8),
    "Every tree by rules 6 and 7 is a spanning tree of shortest paths.",
)
def _shortest(see: See) -> None:
    rows = _balanced(see)
    see.checked(checkers.spanning(see.where, rows, 0))
    see.checked(checkers.shortest_paths(see.where, rows, 0))


@claim(
    "FA.S51.substar",
    "Section 5.1",
    stars(6, 7, 8),
    "A node of S^i, i >= 2 (symbol 1 in position i), hangs from one of S^i or from the root, in the subtree of link type i.",
)
def _substars(see: See) -> None:
    place = _place_of_1(see)
    nodes = np.flatnonzero(place > 1)
    for tree, row in enumerate(_balanced(see)):
        parent = searching.parents(see.lab, see.where, row)[nodes]
        kept = np.where(parent == 0, place[nodes], place[parent])
        see.equal(
            "position of symbol 1 in the parent",
            kept,
            place[nodes],
            tree=tree,
            node=labelled(see.where, nodes),
        )
        see.equal(
            "subtree",
            _branches(see, row)[nodes],
            place[nodes],
            tree=tree,
            node=labelled(see.where, nodes),
        )


@claim(
    "FA.S51.sizes",
    "Section 5.1",
    stars(6, 7, 8),
    "The subtrees are n!-1 nodes in n-1 parts that differ by at most 1; the greatest has ceil((n!-1)/(n-1)).",
    reading="There is one way to part n!-1 nodes so: n-2 subtrees of ceil((n!-1)/(n-1)) nodes and one of one node less.",
)
def _sizes(see: See) -> None:
    n = see.where.n
    parts = [(see.where.nodes - 1 + i) // (n - 1) for i in range(n - 1)]
    found = np.sort(checkers.branch_sizes(see.where, _balanced(see), 0), axis=1)
    see.equal(
        "sizes of the subtrees, the smallest first",
        found,
        np.array(parts),
        tree=lambda tree, _: tree,
    )
    see.equal("size of the largest subtree", found[:, -1], even_share(n), tree=lambda tree: tree)


# Definitions 7 and 13


@claim(
    "FA.D7",
    "Definition 7",
    stars(6, 7, 8),
    "Every necklace but that of 12..n has exactly one node that is named: that with x_2 = 1, or, if it starts with 1, that "
    "whose cycle of 2, written with 2 first, is the smallest in lexicographic order.",
    reading="A beginning of a cycle is smaller than the cycle. Nodes in which 2 is fixed do not compete.",
)
def _one_generator(see: See) -> None:
    leader = counting.necklaces(see.lab, see.where.spec)
    leaders = np.unique(leader)[1:]
    count = np.bincount(leader[necklaces.named(see.lab, see.where)], minlength=see.where.nodes)[
        leaders
    ]
    see.equal("generators of the necklace of a node", count, 1, node=labelled(see.where, leaders))
    starting = symbols(see.lab, see.where)[leaders, 0] == 1
    instead = see.instead(
        "it names one in a necklace that does not start with 1, and one or more in the others, of which one has to be chosen"
    )
    instead.equal(
        "generators without 1 in front",
        count[~starting],
        1,
        node=labelled(see.where, leaders[~starting]),
    )
    instead.at_least(
        "generators with 1 in front",
        count[starting],
        1,
        node=labelled(see.where, leaders[starting]),
    )


def _inverse(see: See, above: trees.Across, below: trees.Across, what: str) -> None:
    """A node's parent is across j just if the parent has it as its child across j."""
    of_child = trees.listed(see.lab, see.where, below)
    see.equal(
        what, above, of_child, node=lambda x, _: see.where.label(x), dimension=lambda _, j: j + 1
    )


_WORDS = "g_j(y) is the parent of y (found), y is a child of g_j(y) (stated), j the dimension"


def _printed(see: See, *, repeated: bool) -> None:
    printed = trees.children(see.lab, see.where, repaired=False, repeated=repeated)
    right = trees.parents(see.lab, see.where, "right", repeated=repeated)
    _inverse(see, trees.parents(see.lab, see.where, "left", repeated=repeated), printed, _WORDS)
    _inverse(
        see.reading("second cycle from the right, children as printed"), right, printed, _WORDS
    )
    instead = see.instead(
        "they are inverse with the second cycle from the right, children across fixed symbols of nodes with one cycle only, "
        "and left minima of the whole canonical notation"
    )
    _inverse(
        instead, right, trees.children(see.lab, see.where, repaired=True, repeated=repeated), _WORDS
    )


def _as_repaired(see: See, *, repeated: bool) -> None:
    above = trees.parents(see.lab, see.where, "right", repeated=repeated)
    _inverse(
        see, above, trees.children(see.lab, see.where, repaired=True, repeated=repeated), _WORDS
    )
    made = see.lab.forest(see.where.spec, "perfectly-balanced" if repeated else "near-balanced")
    for j in see.where.ports:
        in_some = np.equal(made.parent_port, j).any(axis=0)
        see.equal(
            f"parent across {j}, in the house's trees",
            in_some,
            above[:, j - 1],
            node=see.where.label,
            of=made,
        )


_AS_STATED = "For every node y and dimension j: g_j(y) is the parent of y just if y is among the children of g_j(y)"
for _number, _repeated in (("13", False), ("15", True)):
    FAMILY.add(
        f"FA.D{_number}{'' if _number == '13' else '-printed'}",
        f"Definition {_number}, as printed",
        stars(6, 7, 7),
        f"{_AS_STATED}; with the second cycle from the left, children across all fixed symbols, left minima of the cycle of 1. "
        "The printed functions may name dimension 1, which leads nowhere.",
        partial(_printed, repeated=_repeated),
        reading=_TIE,
    )
    FAMILY.add(
        f"FA.D{_number}{'-repaired' if _number == '13' else ''}",
        f"Definition {_number}, repaired",
        stars(6, 7, 8),
        f"{_AS_STATED}; with the second cycle from the right, children across fixed symbols of nodes with one cycle only, left "
        "minima of the whole canonical notation.",
        partial(_as_repaired, repeated=_repeated),
        reading=_TIE,
    )


def _at_roots(see: See, *, repeated: bool) -> None:
    across = trees.parents(see.lab, see.where, "right", repeated=repeated)
    name = "perfectly-balanced" if repeated else "near-balanced"
    for root in searching.roots(see.where):
        here = trees.at_root(see.lab, see.where, root, repeated=repeated)
        place: dict[str, Any] = {
            "root": see.where.label(root),
            "node": lambda x, _: see.where.label(x),
            "dimension": lambda _, j: j + 1,
        }
        see.equal(
            "parent by the definition",
            here,
            trees.carried(see.lab, see.where, root, across),
            **place,
        )
        made = see.lab.forest(see.where.spec, name, root=root)
        in_some = np.stack(
            [np.equal(made.parent_port, j).any(axis=0) for j in range(1, see.where.n + 1)], axis=1
        )
        see.equal("parent in the house's trees", in_some, here, **place, of=made)


for _number, _repeated in (("14", False), ("16", True)):
    FAMILY.add(
        f"FA.D{_number}",
        f"Definition {_number}",
        stars(6, 7, 7),
        "For every root r: y hangs from g_j(y) just if y = F_r(x), g_j(y) = F_r(g_l(x)) and x hangs from g_l(x) in the tree at "
        f"12..n of Definition {int(_number) - 1}.",
        partial(_at_roots, repeated=_repeated),
        reading=f"{_REPAIRED} The neighbour is g_j(i), where a subscript is misprinted.",
    )


# Theorems 9 and 10


def _near(see: See) -> Forest:
    return see.lab.forest(see.where.spec, "near-balanced")


def _perfect(see: See) -> Forest:
    return see.lab.forest(see.where.spec, "perfectly-balanced")


_THEOREM_9 = f"The tree of Definition 13, repaired. {_REPAIRED}"
_THEOREM_10 = f"The tree of Definition 15, repaired. {_REPAIRED}"


@claim(
    "FA.T9.1",
    "Theorem 9.1",
    stars(7, 8, 9),
    "A node of S^i, i >= 2, is in the subtree of link type i.",
    reading=_THEOREM_9,
)
def _substars_9(see: See) -> None:
    place = _place_of_1(see)
    nodes = np.flatnonzero(place > 1)
    found = _branches(see, _near(see).parent_port[0])[nodes]
    see.equal("subtree", found, place[nodes], node=labelled(see.where, nodes), of=_near(see))


@claim(
    "FA.T9.2",
    "Theorem 9.2",
    stars(7, 8, 8),
    "A node of displacement d is in the subtree of link type d+2.",
    reading=_TIE,
)
def _displacements_9(see: See) -> None:
    nodes = np.arange(1, see.where.nodes)
    d = necklaces.displacements(see.lab, see.where)[1:]
    found = _branches(see, _near(see).parent_port[0])[1:]
    see.equal("subtree", found, d + 2, node=labelled(see.where, nodes), of=_near(see))


@claim(
    "FA.T9.3",
    "Theorem 9.3",
    stars(7, 8, 9),
    "No node that starts with 1 has a child, 12..n aside.",
    reading=_THEOREM_9,
)
def _leaves_9(see: See) -> None:
    _leaves(see, _near(see))


@claim(
    "FA.T9.4",
    "Theorem 9.4",
    stars(7, 8, 9),
    "It is a spanning tree of shortest paths.",
    reading=_THEOREM_9,
)
def _shortest_9(see: See) -> None:
    made = _near(see)
    see.checked(checkers.spanning(see.where, made.parent_port, 0), of=made)
    see.checked(checkers.shortest_paths(see.where, made.parent_port, 0), of=made)


@claim(
    "FA.T9.5",
    "Theorem 9.5",
    stars(7, 8, 9),
    "The largest subtree, over the smallest, is O(1). In closed form (Burnside): (n-1)! and one for each necklace that starts "
    "with 1, over (n-1)! and one for each of these of n-1 nodes; above n = 60, at most (2(n-1)! - 1)/(n-1)!.",
    reading=_THEOREM_9,
)
def _within_a_constant(see: See) -> None:
    n, made = see.where.n, _near(see)
    sizes = checkers.branch_sizes(see.where, made.parent_port, 0)[0]
    see.equal(
        "nodes of the largest subtree", int(sizes.max()), necklaces.largest_branch(n), of=made
    )
    see.equal(
        "nodes of the smallest subtree", int(sizes.min()), necklaces.smallest_branch(n), of=made
    )
    see.at_most(
        "nodes of the largest subtree, the bound",
        int(sizes.max()),
        2 * int(factorial(n - 1)) - 1,
        of=made,
    )
    see.at_least(
        "nodes of the smallest subtree, the bound", int(sizes.min()), int(factorial(n - 1)), of=made
    )
    see.order("largest subtree / smallest subtree", _branch_ratio)


def _branch_ratio(n: int) -> Number:
    return divided(necklaces.largest_branch(n), necklaces.smallest_branch(n))


@claim(
    "FA.T10.1",
    "Theorem 10.1",
    stars(7, 8, 9),
    "A node of S^i, i >= 2, is in the subtree of link type i only.",
    reading=_THEOREM_10,
)
def _substars_10(see: See) -> None:
    place, made = _place_of_1(see), _perfect(see)
    nodes = np.flatnonzero(place > 1)
    for tree, row in enumerate(made.parent_port):
        inside = _branches(see, row)[nodes]
        expected = np.where(place[nodes] == tree + 2, tree + 2, 0)
        see.equal("subtree", inside, expected, tree=tree, node=labelled(see.where, nodes), of=made)


@claim(
    "FA.T10.2",
    "Theorem 10.2",
    stars(7, 8, 9),
    "A node of period p is in (n-1)/p of the n-1 subtrees.",
    reading=_THEOREM_10,
)
def _repeats(see: See) -> None:
    made, nodes = _perfect(see), np.arange(1, see.where.nodes)
    found = np.count_nonzero(made.parent_port, axis=0)[1:]
    stated = (see.where.n - 1) // necklaces.periods(see.lab, see.where)[1:]
    see.equal("how often a node appears", found, stated, node=labelled(see.where, nodes), of=made)


@claim(
    "FA.T10.3",
    "Theorem 10.3",
    stars(7, 8, 8),
    "A node of displacement d and period p is in the subtrees of link types ip + d + 2, 0 <= i <= (n-1)/p - 1, and no other.",
    reading=_TIE,
)
def _displacements_10(see: See) -> None:
    n, made, nodes = see.where.n, _perfect(see), np.arange(1, see.where.nodes)
    d, p = (
        necklaces.displacements(see.lab, see.where)[1:],
        necklaces.periods(see.lab, see.where)[1:],
    )
    stated = np.zeros((n - 1, len(nodes)), dtype=bool)
    for i in range(n - 1):
        there = np.flatnonzero((i < (n - 1) // p) & (i * p + d < n - 1))
        stated[(i * p + d)[there], there] = True
    found = np.stack(
        [_branches(see, row)[1:] == tree + 2 for tree, row in enumerate(made.parent_port)]
    )
    see.equal(
        "is in the subtree",
        found,
        stated,
        tree=lambda tree, _: tree,
        node=lambda _, x: see.where.label(x + 1),
        of=made,
    )


@claim(
    "FA.T10.4",
    "Theorem 10.4",
    stars(7, 8, 9),
    "No node that starts with 1 has a child, 12..n aside.",
    reading=_THEOREM_10,
)
def _leaves_10(see: See) -> None:
    _leaves(see, _perfect(see))


@claim(
    "FA.T10.5",
    "Theorem 10.5",
    stars(7, 8, 9),
    "Every path from 12..n is a shortest one, and every node has one.",
    reading=_THEOREM_10,
)
def _shortest_10(see: See) -> None:
    made = _perfect(see)
    see.checked(checkers.shortest_paths(see.where, made.parent_port, 0), of=made)
    reached = np.count_nonzero(made.parent_port, axis=0)[1:] > 0
    see.true("is in some subtree", reached, node=lambda x: see.where.label(x + 1), of=made)


@claim(
    "FA.T10.6",
    "Theorem 10.6",
    stars(7, 8, 9),
    "All subtrees have as many nodes as the first.",
    reading=_THEOREM_10,
)
def _same_sizes(see: See) -> None:
    made = _perfect(see)
    sizes = checkers.branch_sizes(see.where, made.parent_port, 0).sum(axis=0)
    see.equal("nodes of a subtree", sizes, sizes[0], tree=lambda tree: tree, of=made)
    rings = len(np.unique(counting.necklaces(see.lab, see.where.spec))) - 1
    see.equal(
        "nodes of a subtree, one of every necklace", sizes, rings, tree=lambda tree: tree, of=made
    )


@claim(
    "FA.T10.7",
    "Theorem 10.7",
    stars(7, 8, 9),
    "x hangs across dimension j in subtree i-1 just if R(x) hangs across r(j) in subtree i, i = 2..n-1.",
    reading=_THEOREM_10,
)
def _rotated(see: See) -> None:
    made, turn = _perfect(see), rotation(see.lab, see.where)
    turned = np.zeros_like(made.parent_port[:-1])
    turned[:, turn] = r(see.where.n)[made.parent_port[:-1]]
    place: dict[str, Any] = {
        "tree": lambda tree, _: tree + 1,
        "node": lambda _, x: see.where.label(x),
    }
    see.equal("port towards the parent", made.parent_port[1:], turned, **place, of=made)


# What several look at


def _place_of_1(see: See) -> NDArray[np.int64]:
    """The position of symbol 1 in every node, 1..n."""
    return np.asarray(np.argmax(symbols(see.lab, see.where) == 1, axis=1) + 1, dtype=np.int64)


def _branches(see: See, row: NDArray[np.uint8]) -> NDArray[np.int64]:
    """The type of the root's link over which each node of a tree is reached; 0 at the root and outside the tree."""
    parent = searching.parents(see.lab, see.where, row)
    nodes = np.arange(see.where.nodes)
    top = np.where(parent > 0, parent, nodes)
    for _ in range(see.where.nodes.bit_length()):
        top = top[top]
    port = np.zeros(see.where.nodes, dtype=np.int64)
    port[see.lab.neighbours(see.where.spec)[:, 0]] = see.where.ports
    inside = (row != 0) & (parent[top] == 0)
    inside[0] = False
    return np.where(inside, port[top], 0)


def _leaves(see: See, made: Forest) -> None:
    """No node that starts with 1 is a parent, the root aside."""
    starting = np.flatnonzero(symbols(see.lab, see.where)[:, 0] == 1)[1:]
    for tree, row in enumerate(made.parent_port):
        parent = searching.parents(see.lab, see.where, row)
        children = np.bincount(parent[parent >= 0], minlength=see.where.nodes)[starting]
        see.equal("children", children, 0, tree=tree, node=labelled(see.where, starting), of=made)
