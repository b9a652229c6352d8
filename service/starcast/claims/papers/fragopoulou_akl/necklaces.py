"""Fragopoulou & Akl 1993, section 3.2: necklaces, and the moves that lead closer to 12..n."""

import numpy as np
from numpy.typing import NDArray

from starcast.claims.check import ClaimCheck
from starcast.claims.papers.fragopoulou_akl import nodes
from starcast.claims.reference.bfs import distances
from starcast.claims.reference.star_labels import return_times, rotation, symbols
from starcast.claims.registry import check


@check("FA.T5")
def necklace_size_divides(check: ClaimCheck) -> None:
    """Check that the size of every necklace divides n-1, and the example of S_5."""
    n = check.n
    size = return_times(check)
    check.true("the necklace is found", size > 0, node=check.label)
    remainder = (n - 1) % np.maximum(size, 1)
    check.equal("remainder of n-1 by its nodes", remainder, 0, node=check.label)
    if n == 5:
        example = "14325"
        node = check.rank(example)
        check.equal("rotations after which 14325 returns", int(size[node]), 2, node=example)
        notation = nodes.cycle_notation(symbols(check)[node])
        check.equal("cycle notation", notation, "(2 4)", node=example)


@check("FA.T6")
def necklaces_without_leading_1(check: ClaimCheck) -> None:
    """Check that the necklace of every node that does not start with 1 has n-1 nodes."""
    others = np.flatnonzero(symbols(check)[:, 0] != 1)
    size = return_times(check)[others]
    check.equal("nodes of the necklace", size, check.n - 1, node=check.labels(others))


@check("FA.T7")
def rotation_keeps_distance(check: ClaimCheck) -> None:
    """Check that R(x) is as far from 12..n as x."""
    distance = distances(check)
    rotated = rotation(check)
    check.equal("distance of R(x)", distance[rotated], distance, node=check.label)


@check("FA.R24")
def rules_list_moves_closer(check: ClaimCheck) -> None:
    """Check that a link leads closer to 12..n if and only if rules 2 to 4 list it."""
    closer = nodes.moves_closer(check)
    stated = nodes.moves_of_rules(check)
    check.equal("the link leads closer", closer, stated, **nodes.node_and_type(check))


@check("FA.R4-effect")
def effect_of_rule_4(check: ClaimCheck) -> None:
    """Check what the moves of rule 4 do to the cycles of a node with at least two."""
    first = symbols(check)[:, 0]
    tails = np.flatnonzero((first != 1) & (nodes.cycle_counts(check) > 1))
    _check_rule_4a(check, tails)
    for dimension in nodes.link_types(check):
        _check_rule_4b(check, tails, int(dimension))


def _check_rule_4a(check: ClaimCheck, tails: NDArray[np.int64]) -> None:
    """Check the moves over the first symbol: it leaves its cycle."""
    leading = symbols(check)[:, 0]
    first = leading[tails]
    minima = nodes.cycle_minima(check)
    cycles = nodes.cycle_counts(check)
    displaced = nodes.displaced_counts(check)
    heads = nodes.neighbours(check)[tails, first - 2]
    is_pair = (minima[tails] == 1).sum(axis=1) == 2  # 1 and x_1 alone are a cycle
    label = check.labels(tails)

    check.equal("(a) cycles", cycles[heads], cycles[tails] - is_pair, node=label)
    stated = displaced[tails] - 1 - is_pair
    check.equal("(a) symbols in cycles", displaced[heads], stated, node=label)
    check.equal("(a) 1 is at the front", leading[heads] == 1, is_pair, node=label)
    stated_minima = minima[tails].copy()
    stated_minima[np.arange(len(tails)), first - 1] = first
    unchanged = (minima[heads] == stated_minima).all(axis=1)
    what = "(a) x_1 is taken out, no other symbol changes its cycle"
    check.true(what, unchanged, node=label)


def _check_rule_4b(check: ClaimCheck, tails: NDArray[np.int64], dimension: int) -> None:
    """Check the moves over a symbol in a cycle without 1: two cycles are merged."""
    label_symbols = symbols(check)
    minima = nodes.cycle_minima(check)
    cycles = nodes.cycle_counts(check)
    displaced = nodes.displaced_counts(check)
    index = dimension - 1
    apart = (minima[tails, index] != 1) & (label_symbols[tails, index] != dimension)
    tails = tails[apart]
    heads = nodes.neighbours(check)[tails, dimension - 2]
    place = {"node": check.labels(tails), "dimension": dimension}

    check.equal("(b) cycles", cycles[heads], cycles[tails] - 1, **place)
    check.equal("(b) symbols in cycles", displaced[heads], displaced[tails], **place)
    own = minima[tails, index][:, None]
    merged = np.where(minima[tails] == own, 1, minima[tails])
    as_stated = (minima[heads] == merged).all(axis=1)
    check.true("(b) two cycles are merged, others stay", as_stated, **place)
