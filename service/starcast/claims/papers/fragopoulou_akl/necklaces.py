"""Fragopoulou & Akl 1993, section 3.2 and Appendix B: necklaces, moves, and counts of nodes."""

from itertools import permutations
from math import factorial

import numpy as np
from numpy.typing import NDArray

from starcast.claims.check import ClaimCheck
from starcast.claims.growth import diameter
from starcast.claims.papers.fragopoulou_akl import star_graph
from starcast.claims.reference.bfs import distances, profile
from starcast.claims.reference.labels import return_times, rotation, rotations, symbols
from starcast.claims.registry import check_rows, checks


@checks("FA.T5")
def necklace_size_divides(check: ClaimCheck) -> None:
    """Check that the size of every necklace divides n-1, and the paper's example on S_5."""
    n = check.n
    size = return_times(check)
    check.true("the necklace is found", size > 0, node=check.ranks)
    check.equal("remainder of n-1 by its nodes", (n - 1) % np.maximum(size, 1), 0, node=check.ranks)
    if n == 5:
        example = "14325"
        node = check.rank(example)
        check.equal("rotations after which 14325 returns", int(size[node]), 2, node=example)
        notation = star_graph.cycle_notation(symbols(check)[node])
        check.equal("cycle notation", notation, "(2 4)", node=example)


@checks("FA.T6")
def necklaces_without_leading_1(check: ClaimCheck) -> None:
    """Check that every necklace whose nodes do not start with 1 has n-1 nodes."""
    others = np.flatnonzero(symbols(check)[:, 0] != 1)
    size = return_times(check)[others]
    check.equal("nodes of the necklace", size, check.n - 1, node=others)


@checks("FA.T7")
def rotation_keeps_distance(check: ClaimCheck) -> None:
    """Check that a node x and its rotation R(x) are equally far from 12..n."""
    distance = distances(check)
    check.equal("distance of R(x)", distance[rotation(check)], distance, node=check.ranks)


@checks("FA.R24")
def rules_list_moves_closer(check: ClaimCheck) -> None:
    """Check that a link leads closer to 12..n if and only if rules 2 to 4 list it."""
    closer = star_graph.moves_closer(check)
    stated = star_graph.moves_of_rules(check)
    check.equal("the link leads closer", closer, stated, **star_graph.node_and_type(check))


@checks("FA.R4-effect")
def effect_of_rule_4(check: ClaimCheck) -> None:
    """Check how the moves of rule 4 change the cycles of a node with at least two cycles."""
    first = symbols(check)[:, 0]
    tails = np.flatnonzero((first != 1) & (star_graph.cycle_counts(check) > 1))
    _check_rule_4a(check, tails)
    for dimension in star_graph.link_types(check):
        _check_rule_4b(check, tails, int(dimension))


def _check_rule_4a(check: ClaimCheck, tails: NDArray[np.int64]) -> None:
    """Check the moves over the type of the first symbol, which leaves its cycle."""
    leading = symbols(check)[:, 0]
    first = leading[tails]
    minima = star_graph.cycle_minima(check)
    cycles = star_graph.cycle_counts(check)
    displaced = star_graph.displaced_counts(check)
    heads = check.neighbours.T[tails, first - 2]
    is_pair = (minima[tails] == 1).sum(axis=1) == 2  # the cycle consists only of 1 and x_1

    check.equal("(a) cycles", cycles[heads], cycles[tails] - is_pair, node=tails)
    stated = displaced[tails] - 1 - is_pair
    check.equal("(a) symbols in cycles", displaced[heads], stated, node=tails)
    check.equal("(a) 1 is at the front", leading[heads] == 1, is_pair, node=tails)
    stated_minima = minima[tails].copy()
    stated_minima[np.arange(len(tails)), first - 1] = first
    unchanged = (minima[heads] == stated_minima).all(axis=1)
    check.true("(a) x_1 is taken out, no other symbol changes its cycle", unchanged, node=tails)


def _check_rule_4b(check: ClaimCheck, tails: NDArray[np.int64], dimension: int) -> None:
    """Check the moves over a symbol in a cycle without 1, which merge two cycles."""
    label_symbols = symbols(check)
    minima = star_graph.cycle_minima(check)
    cycles = star_graph.cycle_counts(check)
    displaced = star_graph.displaced_counts(check)
    index = dimension - 1
    apart = (minima[tails, index] != 1) & (label_symbols[tails, index] != dimension)
    tails = tails[apart]
    heads = check.neighbours.T[tails, dimension - 2]
    place = {"node": tails, "dimension": dimension}

    check.equal("(b) cycles", cycles[heads], cycles[tails] - 1, **place)
    check.equal("(b) symbols in cycles", displaced[heads], displaced[tails], **place)
    own = minima[tails, index][:, None]
    merged = np.where(minima[tails] == own, 1, minima[tails])
    as_stated = (minima[heads] == merged).all(axis=1)
    check.true("(b) two cycles are merged, others stay", as_stated, **place)


# Appendix B: the number of nodes at each distance from 12..n


@checks("FA.B.D1")
def nodes_at_distance_1(check: ClaimCheck) -> None:
    """Check that n-1 nodes are at distance 1."""
    check.equal("nodes at distance 1", int(profile(check)[1]), check.n - 1)


def inner_profile(check: ClaimCheck) -> NDArray[np.int64]:
    """Return the number of nodes at each distance 2, 3, .., K-1, where K is the largest."""
    return check.array("nodes by distance", lambda: profile(check)[2:-1])


@checks("FA.B.D2")
def nodes_at_distance_2(check: ClaimCheck) -> None:
    """Check the number of nodes at distance 2."""
    count = int(inner_profile(check)[0])
    check.equal("nodes at distance 2", count, 2 * (check.n - 1))
    check.correction().equal("nodes at distance 2", count, (check.n - 1) * (check.n - 2))


@checks("FA.B.Dk")
def nodes_at_distances_between(check: ClaimCheck) -> None:
    """Check that at least 2(n-1) nodes are at each distance 2, .., K-1, where K is the largest."""
    n = check.n
    counts = inner_profile(check)
    k = np.arange(2, len(counts) + 2)
    check.equal("the last k", int(k[-1]), diameter(n) - 1)
    check.at_least("nodes at distance k", counts, 2 * (n - 1), k=k)
    check.correction().at_least("nodes at distance k", counts, min(2, n - 2) * (n - 1), k=k)


def listed_nodes(check: ClaimCheck, last: int) -> int:
    """Return how many nodes at distance K-1 the necklaces of Appendix B contain.

    K is the largest distance. The generators of these necklaces have a cycle (1 *), where * is any
    order of the symbols 2..last, and the symbols after ``last`` form cycles of two.
    """
    pairs = [(i, i + 1) for i in range(last + 1, check.n, 2)]
    orders = permutations(range(2, last + 1))
    generators = [star_graph.node_of_cycles(check.n, (1, *order), *pairs) for order in orders]
    members = np.unique(rotations(check)[:, generators])
    return int(np.count_nonzero(distances(check)[members] == diameter(check.n) - 1))


def nodes_before_last(check: ClaimCheck, parity: tuple[int, str]) -> None:
    """Check that at least (l-1)!(n-1) nodes are at distance K-1 (l = 4 for even n, 3 for odd n).

    K is the largest distance. These nodes are on the necklaces that `listed_nodes` counts.
    """
    n = check.n
    last, necklaces = parity
    count = int(profile(check)[diameter(n) - 1])
    stated = factorial(last - 1) * (n - 1)
    check.at_least("nodes at distance K-1", count, stated)
    check.at_least(f"those on the necklaces of {necklaces}", listed_nodes(check, last), stated)
    check.correction().at_least("nodes at distance K-1", count, stated if n > last else stated // 2)


check_rows(
    nodes_before_last,
    {
        "FA.B.even": (4, "(1 *)(5 6)..(n-1 n), * any order of 2, 3, 4"),
        "FA.B.odd": (3, "(1 *)(4 5)..(n-1 n), * any order of 2, 3"),
    },
)


@checks("FA.B.ones")
def nodes_before_last_with_leading_1(check: ClaimCheck) -> None:
    """Check that at least n-1 nodes at distance K-1 start with 1 if n is odd; K is the diameter."""
    n = check.n
    before_last = distances(check) == diameter(n) - 1
    count = int((symbols(check)[before_last, 0] == 1).sum())
    what = "nodes at distance K-1 that start with 1"
    check.at_least(what, count, n - 1)
    correction = check.correction()
    correction.at_least(what, count, n - 1 if n >= 5 else 0)
    correction.equal("there are some", count > 0, n >= 5)


@checks("FA.B.last")
def last_nodes_start_with_1(check: ClaimCheck) -> None:
    """Check that all nodes at the largest distance start with 1 if n is odd."""
    last = np.flatnonzero(distances(check) == diameter(check.n))
    check.true("there are nodes at distance K", len(last) > 0)
    check.equal("first symbol", symbols(check)[last, 0], 1, node=last)


#: The two listed necklaces, in cycle notation: each node is the rotation of the previous node.
LISTED = (
    (((1, 2, 3), (4, 5)), ((1, 3, 4), (5, 2)), ((1, 4, 5), (2, 3)), ((1, 5, 2), (3, 4))),
    (((1, 3, 2), (4, 5)), ((1, 4, 3), (5, 2)), ((1, 5, 4), (2, 3)), ((1, 2, 5), (3, 4))),
)


@checks("FA.B.list")
def listed_necklaces(check: ClaimCheck) -> None:
    """Check the two necklaces at distance K-1 = 5 that Appendix B lists for n = 5."""
    rotated = rotation(check)
    distance = distances(check)
    sizes = return_times(check)
    ranks = [
        star_graph.node_of_cycles(check.n, *cycles) for necklace in LISTED for cycles in necklace
    ]
    rows = np.array(ranks).reshape(len(LISTED), -1)
    check.equal("rank of R(x)", rotated[rows], np.roll(rows, -1, axis=1), node=rows)
    check.equal("distance from 12..n", distance[rows], diameter(check.n) - 1, node=rows)
    check.equal("nodes of the necklace", sizes[rows], rows.shape[1], node=rows)
    check.equal("different nodes", len(np.unique(rows)), rows.size)
