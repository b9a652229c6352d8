"""Fragopoulou & Akl 1993, section 3.2 and Appendix B: necklaces, moves that lead closer, how many nodes a distance has."""

from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from starcast.claims.check import ClaimCheck
from starcast.claims.formulas import diameter
from starcast.claims.papers.fragopoulou_akl import nodes
from starcast.claims.reference.bfs import distances, profile
from starcast.claims.reference.star_labels import rotation, symbols
from starcast.claims.registry import check


@check("FA.T5")
def _necklace_sizes(check: ClaimCheck) -> None:
    n = check.topology.n
    size = nodes.necklace_sizes(check)
    check.true("the necklace is found", size > 0, node=check.topology.label)
    check.equal(
        "remainder of n-1 by its nodes", (n - 1) % np.maximum(size, 1), 0, node=check.topology.label
    )
    if n == 5:
        node = check.topology.rank("14325")
        check.equal("rotations after which 14325 returns", int(size[node]), 2, node="14325")
        check.equal(
            "cycle notation",
            nodes.notation(symbols(check.objects, check.topology)[node]),
            "(2 4)",
            node="14325",
        )


@check("FA.T6")
def _full_necklaces(check: ClaimCheck) -> None:
    others = np.flatnonzero(symbols(check.objects, check.topology)[:, 0] != 1)
    found = nodes.necklace_sizes(check)[others]
    check.equal(
        "nodes of the necklace", found, check.topology.n - 1, node=check.topology.labels(others)
    )


@check("FA.T7")
def _rotation_keeps_distance(check: ClaimCheck) -> None:
    away = distances(check.objects, check.topology.spec)
    check.equal(
        "distance of R(x)",
        away[rotation(check.objects, check.topology)],
        away,
        node=check.topology.label,
    )


@check("FA.R24")
def _moves(check: ClaimCheck) -> None:
    types = nodes.types(check)
    check.equal(
        "the link leads closer",
        nodes.closer(check),
        nodes.rules(check),
        node=lambda x, _: check.topology.label(x),
        dimension=lambda _, t: types[t],
    )


@check("FA.R4-effect")
def _effects(check: ClaimCheck) -> None:
    row, least, around = (
        symbols(check.objects, check.topology),
        nodes.least_of_cycle(check),
        nodes.across(check),
    )
    c, s = nodes.cycles(check), nodes.spread(check)
    many = np.flatnonzero((row[:, 0] != 1) & (c > 1))
    first, with_1 = row[many, 0], (least[many] == 1).sum(axis=1)
    label = check.topology.labels(many)

    to, pair = around[many, first - 2], with_1 == 2
    check.equal("(a) cycles", c[to], c[many] - pair, node=label)
    check.equal("(a) symbols in cycles", s[to], s[many] - 1 - pair, node=label)
    check.equal("(a) 1 is at the front", row[to, 0] == 1, pair, node=label)
    kept = least[many].copy()
    kept[np.arange(len(many)), first - 1] = first
    check.true(
        "(a) x_1 is taken out, no other symbol changes its cycle",
        (least[to] == kept).all(axis=1),
        node=label,
    )

    for t in nodes.types(check):
        own = least[many, t - 1]
        apart = (own != 1) & (row[many, t - 1] != t)
        old, to, label = many[apart], around[many[apart], t - 2], check.topology.labels(many[apart])
        check.equal("(b) cycles", c[to], c[old] - 1, node=label, dimension=t)
        check.equal("(b) symbols in cycles", s[to], s[old], node=label, dimension=t)
        merged = np.where(least[old] == own[apart, None], 1, least[old])
        check.true(
            "(b) two cycles are merged, others stay",
            (least[to] == merged).all(axis=1),
            node=label,
            dimension=t,
        )


@check("FA.B.D1")
def _distance_1(check: ClaimCheck) -> None:
    check.equal(
        "nodes at distance 1",
        int(profile(check.objects, check.topology.spec)[1]),
        check.topology.n - 1,
    )


def _between(check: ClaimCheck) -> NDArray[np.int64]:
    """How many nodes are at each of the distances 2, 3, .., K-1, K the greatest."""
    return check.objects.array(
        "nodes by distance",
        check.topology.spec,
        lambda: profile(check.objects, check.topology.spec)[2:-1],
    )


@check("FA.B.D2")
def _distance_2(check: ClaimCheck) -> None:
    n = check.topology.n
    found = int(_between(check)[0])
    check.equal("nodes at distance 2", found, 2 * (n - 1))
    check.correction("(n-1)(n-2) nodes are at distance 2").equal(
        "nodes at distance 2", found, (n - 1) * (n - 2)
    )


@check("FA.B.Dk")
def _distances_between(check: ClaimCheck) -> None:
    n = check.topology.n
    found = _between(check)
    k = np.arange(2, len(found) + 2)
    check.equal("the last k", int(k[-1]), diameter(n) - 1)
    check.at_least("nodes at distance k", found, 2 * (n - 1), k=k)
    least = check.correction(
        "at least 2(n-1) nodes are at distance k for n >= 4, and (n-2)(n-1) = 2 for n = 3, k = 2"
    )
    least.at_least("nodes at distance k", found, min(2, n - 2) * (n - 1), k=k)


def _named(check: ClaimCheck, last: int) -> int:
    """How many nodes at distance K-1 are on the necklaces of (1 *) and pairs of the symbols after ``last``, * all orders."""
    n, away = check.topology.n, distances(check.objects, check.topology.spec)
    pairs = [(i, i + 1) for i in range(last + 1, n, 2)]
    named = [nodes.node_of(n, (1, *order), *pairs) for order in permutations(range(2, last + 1))]
    found = np.unique(nodes.turned(check)[:, named])
    return int(np.count_nonzero(away[found] == diameter(n) - 1))


@check("FA.B.even")
def _even(check: ClaimCheck) -> None:
    n = check.topology.n
    found = int(profile(check.objects, check.topology.spec)[diameter(n) - 1])
    check.at_least("nodes at distance K-1", found, 6 * (n - 1))
    check.at_least(
        "those on the necklaces of (1 *)(5 6)..(n-1 n), * any order of 2, 3, 4",
        _named(check, 4),
        6 * (n - 1),
    )
    least = check.correction(
        "at least 3!(n-1) nodes are at distance K-1 for even n >= 6, and 3(n-1) = 9 for n = 4"
    )
    least.at_least("nodes at distance K-1", found, (6 if n >= 6 else 3) * (n - 1))


@check("FA.B.odd")
def _odd(check: ClaimCheck) -> None:
    n = check.topology.n
    found = int(profile(check.objects, check.topology.spec)[diameter(n) - 1])
    check.at_least("nodes at distance K-1", found, 2 * (n - 1))
    check.at_least(
        "those on the necklaces of (1 *)(4 5)..(n-1 n), * any order of 2, 3",
        _named(check, 3),
        2 * (n - 1),
    )
    least = check.correction(
        "at least 2!(n-1) nodes are at distance K-1 for odd n >= 5, and n-1 = 2 for n = 3"
    )
    least.at_least("nodes at distance K-1", found, (2 if n >= 5 else 1) * (n - 1))


@check("FA.B.ones")
def _ones(check: ClaimCheck) -> None:
    n = check.topology.n
    found = int(
        (
            symbols(check.objects, check.topology)[
                distances(check.objects, check.topology.spec) == diameter(n) - 1, 0
            ]
            == 1
        ).sum()
    )
    check.at_least("nodes at distance K-1 that start with 1", found, n - 1)
    least = check.correction(
        "at least n-1 of the nodes at distance K-1 start with 1 for odd n >= 5, none for n = 3"
    )
    least.at_least("nodes at distance K-1 that start with 1", found, n - 1 if n >= 5 else 0)
    least.equal("there are some", found > 0, n >= 5)


@check("FA.B.last")
def _last(check: ClaimCheck) -> None:
    last = np.flatnonzero(
        distances(check.objects, check.topology.spec) == diameter(check.topology.n)
    )
    check.true("there are nodes at distance K", len(last) > 0)
    check.equal(
        "first symbol",
        symbols(check.objects, check.topology)[last, 0],
        1,
        node=check.topology.labels(last),
    )


#: Cycle notations as listed: in each row one is the rotation of the one before it.
_LISTED = (
    (((1, 2, 3), (4, 5)), ((1, 3, 4), (5, 2)), ((1, 4, 5), (2, 3)), ((1, 5, 2), (3, 4))),
    (((1, 3, 2), (4, 5)), ((1, 4, 3), (5, 2)), ((1, 5, 4), (2, 3)), ((1, 2, 5), (3, 4))),
)


@check("FA.B.list")
def _listed(check: ClaimCheck) -> None:
    n, turn, away = (
        check.topology.n,
        rotation(check.objects, check.topology),
        distances(check.objects, check.topology.spec),
    )
    rows = np.array([[nodes.node_of(n, *given) for given in necklace] for necklace in _LISTED])
    topology = check.topology.labels(rows.ravel()).reshape(rows.shape)
    check.equal("rank of R(x)", turn[rows], np.roll(rows, -1, axis=1), node=topology)
    check.equal("distance from 12..n", away[rows], diameter(n) - 1, node=topology)
    check.equal(
        "nodes of the necklace", nodes.necklace_sizes(check)[rows], rows.shape[1], node=topology
    )
    check.equal("different nodes", len(np.unique(rows)), rows.size)
