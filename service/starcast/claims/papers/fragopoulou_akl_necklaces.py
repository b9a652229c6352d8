"""Fragopoulou & Akl 1993, section 3.2 and Appendix B: necklaces, moves that lead closer, how many nodes a distance has."""

from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from starcast.claims.declaration import Family, Sizes, only, stars
from starcast.claims.formulas import diameter
from starcast.claims.instruments import fragopoulou_akl_nodes as nodes
from starcast.claims.instruments.searching import distances, profile
from starcast.claims.instruments.star_labels import rotation, symbols
from starcast.claims.see import See

FAMILY = Family("fragopoulou_akl_necklaces")
claim = FAMILY.claim

_EVEN = Sizes(("S4", "S6", "S8"), ("S4", "S6", "S8"), ("S4", "S6", "S8"))
_ODD = Sizes(("S3", "S5", "S7"), ("S3", "S5", "S7", "S9"), ("S3", "S5", "S7", "S9"))


@claim(
    "FA.T5",
    "Theorem 5",
    stars(7, 8, 9),
    "The number of nodes of a necklace divides n-1, so that it is at most n-1. In S_5, 14325 = (2 4) returns after two "
    "rotations.",
    reading="That it divides n-1 is the whole statement: 'at most n-1' follows, and is not looked at by itself. The paper "
    "writes 'node 14325 of S_4'; a node of five symbols is one of S_5.",
)
def _necklace_sizes(see: See) -> None:
    n = see.where.n
    size = nodes.necklace_sizes(see)
    see.true("the necklace is found", size > 0, node=see.where.label)
    see.equal(
        "remainder of n-1 by its nodes", (n - 1) % np.maximum(size, 1), 0, node=see.where.label
    )
    if n == 5:
        node = see.where.rank("14325")
        see.equal("rotations after which 14325 returns", int(size[node]), 2, node="14325")
        see.equal(
            "cycle notation",
            nodes.notation(symbols(see.lab, see.where)[node]),
            "(2 4)",
            node="14325",
        )


@claim("FA.T6", "Theorem 6", stars(7, 8, 9), "The necklace of x has n-1 nodes if x_1 != 1.")
def _full_necklaces(see: See) -> None:
    others = np.flatnonzero(symbols(see.lab, see.where)[:, 0] != 1)
    found = nodes.necklace_sizes(see)[others]
    see.equal("nodes of the necklace", found, see.where.n - 1, node=see.where.labels(others))


@claim("FA.T7", "Theorem 7", stars(7, 8, 9), "R(x) is as far from 12..n as x.")
def _rotation_keeps_distance(see: See) -> None:
    away = distances(see.lab, see.where.spec)
    see.equal("distance of R(x)", away[rotation(see.lab, see.where)], away, node=see.where.label)


@claim(
    "FA.R24",
    "Rules 2, 3 and 4",
    stars(7, 8, 9),
    "g_t(x) is closer to 12..n than x if and only if x_1 = 1 and t is in a cycle of x, or x_1 = t != 1, or x_1 != 1 and t is "
    "in a cycle of x that does not contain 1.",
)
def _moves(see: See) -> None:
    types = nodes.types(see)
    see.equal(
        "the link leads closer",
        nodes.closer(see),
        nodes.rules(see),
        node=lambda x, _: see.where.label(x),
        dimension=lambda _, t: types[t],
    )


@claim(
    "FA.R4-effect",
    "Rule 4",
    stars(7, 8, 9),
    "x with x_1 != 1 and two cycles or more. (a) Over type x_1, c stays and s falls by 1; if 1 and x_1 alone are a cycle, c "
    "falls by 1, s by 2, and 1 comes to the front; the other cycles stay. (b) Over a type in a cycle without 1, that cycle and "
    "the one of 1 become one.",
)
def _effects(see: See) -> None:
    row, least, around = symbols(see.lab, see.where), nodes.least_of_cycle(see), nodes.across(see)
    c, s = nodes.cycles(see), nodes.spread(see)
    many = np.flatnonzero((row[:, 0] != 1) & (c > 1))
    first, with_1 = row[many, 0], (least[many] == 1).sum(axis=1)
    label = see.where.labels(many)

    to, pair = around[many, first - 2], with_1 == 2
    see.equal("(a) cycles", c[to], c[many] - pair, node=label)
    see.equal("(a) symbols in cycles", s[to], s[many] - 1 - pair, node=label)
    see.equal("(a) 1 is at the front", row[to, 0] == 1, pair, node=label)
    kept = least[many].copy()
    kept[np.arange(len(many)), first - 1] = first
    see.true(
        "(a) x_1 is taken out, no other symbol changes its cycle",
        (least[to] == kept).all(axis=1),
        node=label,
    )

    for t in nodes.types(see):
        own = least[many, t - 1]
        apart = (own != 1) & (row[many, t - 1] != t)
        old, to, label = many[apart], around[many[apart], t - 2], see.where.labels(many[apart])
        see.equal("(b) cycles", c[to], c[old] - 1, node=label, dimension=t)
        see.equal("(b) symbols in cycles", s[to], s[old], node=label, dimension=t)
        merged = np.where(least[old] == own[apart, None], 1, least[old])
        see.true(
            "(b) two cycles are merged, others stay",
            (least[to] == merged).all(axis=1),
            node=label,
            dimension=t,
        )


@claim("FA.B.D1", "Appendix B", stars(8, 9, 9), "n-1 nodes are at distance 1 from 12..n.")
def _distance_1(see: See) -> None:
    see.equal("nodes at distance 1", int(profile(see.lab, see.where.spec)[1]), see.where.n - 1)


def _between(see: See) -> NDArray[np.int64]:
    """How many nodes are at each of the distances 2, 3, .., K-1, K the greatest."""
    return see.lab.array(
        "nodes by distance", see.where.spec, lambda: profile(see.lab, see.where.spec)[2:-1]
    )


@claim(
    "FA.B.D2",
    "Appendix B",
    stars(8, 9, 9, beyond=False),
    "2(n-1) nodes are at distance 2 from 12..n.",
)
def _distance_2(see: See) -> None:
    n = see.where.n
    found = int(_between(see)[0])
    see.equal("nodes at distance 2", found, 2 * (n - 1))
    see.instead("(n-1)(n-2) nodes are at distance 2").equal(
        "nodes at distance 2", found, (n - 1) * (n - 2)
    )


@claim(
    "FA.B.Dk",
    "Appendix B",
    stars(8, 9, 9, beyond=False),
    "At least 2(n-1) nodes are at distance k, 2 <= k <= K-1, K = floor(3(n-1)/2).",
)
def _distances_between(see: See) -> None:
    n = see.where.n
    found = _between(see)
    k = np.arange(2, len(found) + 2)
    see.equal("the last k", int(k[-1]), diameter(n) - 1)
    see.at_least("nodes at distance k", found, 2 * (n - 1), k=k)
    least = see.instead(
        "at least 2(n-1) nodes are at distance k for n >= 4, and (n-2)(n-1) = 2 for n = 3, k = 2"
    )
    least.at_least("nodes at distance k", found, min(2, n - 2) * (n - 1), k=k)


def _named(see: See, last: int) -> int:
    """How many nodes at distance K-1 are on the necklaces of (1 *) and pairs of the symbols after ``last``, * all orders."""
    n, away = see.where.n, distances(see.lab, see.where.spec)
    pairs = [(i, i + 1) for i in range(last + 1, n, 2)]
    named = [nodes.node_of(n, (1, *order), *pairs) for order in permutations(range(2, last + 1))]
    found = np.unique(nodes.turned(see)[:, named])
    return int(np.count_nonzero(away[found] == diameter(n) - 1))


@claim(
    "FA.B.even",
    "Appendix B",
    _EVEN,
    "For n even, n >= 4, at least 3!(n-1) nodes are at distance K-1, K = floor(3(n-1)/2).",
)
def _even(see: See) -> None:
    n = see.where.n
    found = int(profile(see.lab, see.where.spec)[diameter(n) - 1])
    see.at_least("nodes at distance K-1", found, 6 * (n - 1))
    see.at_least(
        "those on the necklaces of (1 *)(5 6)..(n-1 n), * any order of 2, 3, 4",
        _named(see, 4),
        6 * (n - 1),
    )
    least = see.instead(
        "at least 3!(n-1) nodes are at distance K-1 for even n >= 6, and 3(n-1) = 9 for n = 4"
    )
    least.at_least("nodes at distance K-1", found, (6 if n >= 6 else 3) * (n - 1))


@claim(
    "FA.B.odd",
    "Appendix B",
    _ODD,
    "For n odd, n >= 3, at least 2!(n-1) nodes are at distance K-1, K = floor(3(n-1)/2).",
)
def _odd(see: See) -> None:
    n = see.where.n
    found = int(profile(see.lab, see.where.spec)[diameter(n) - 1])
    see.at_least("nodes at distance K-1", found, 2 * (n - 1))
    see.at_least(
        "those on the necklaces of (1 *)(4 5)..(n-1 n), * any order of 2, 3",
        _named(see, 3),
        2 * (n - 1),
    )
    least = see.instead(
        "at least 2!(n-1) nodes are at distance K-1 for odd n >= 5, and n-1 = 2 for n = 3"
    )
    least.at_least("nodes at distance K-1", found, (2 if n >= 5 else 1) * (n - 1))


@claim(
    "FA.B.ones",
    "Appendix B",
    _ODD,
    "For n odd, n >= 3, at least n-1 of the nodes at distance K-1 start with 1.",
)
def _ones(see: See) -> None:
    n = see.where.n
    found = int(
        (
            symbols(see.lab, see.where)[distances(see.lab, see.where.spec) == diameter(n) - 1, 0]
            == 1
        ).sum()
    )
    see.at_least("nodes at distance K-1 that start with 1", found, n - 1)
    least = see.instead(
        "at least n-1 of the nodes at distance K-1 start with 1 for odd n >= 5, none for n = 3"
    )
    least.at_least("nodes at distance K-1 that start with 1", found, n - 1 if n >= 5 else 0)
    least.equal("there are some", found > 0, n >= 5)


@claim(
    "FA.B.last",
    "Appendix B",
    _ODD,
    "For n odd, all nodes at the greatest distance, K = 3(n-1)/2, start with 1.",
)
def _last(see: See) -> None:
    last = np.flatnonzero(distances(see.lab, see.where.spec) == diameter(see.where.n))
    see.true("there are nodes at distance K", len(last) > 0)
    see.equal("first symbol", symbols(see.lab, see.where)[last, 0], 1, node=see.where.labels(last))


#: Cycle notations as listed: in each row one is the rotation of the one before it.
_LISTED = (
    (((1, 2, 3), (4, 5)), ((1, 3, 4), (5, 2)), ((1, 4, 5), (2, 3)), ((1, 5, 2), (3, 4))),
    (((1, 3, 2), (4, 5)), ((1, 4, 3), (5, 2)), ((1, 5, 4), (2, 3)), ((1, 2, 5), (3, 4))),
)


@claim(
    "FA.B.list",
    "Appendix B",
    only("S5"),
    "In S_5 the nodes (123)(45), (134)(52), (145)(23), (152)(34) are a necklace at distance K-1 = 5, and (132)(45), (143)(52), "
    "(154)(23), (125)(34) are another.",
)
def _listed(see: See) -> None:
    n, turn, away = see.where.n, rotation(see.lab, see.where), distances(see.lab, see.where.spec)
    rows = np.array([[nodes.node_of(n, *given) for given in necklace] for necklace in _LISTED])
    where = see.where.labels(rows.ravel()).reshape(rows.shape)
    see.equal("rank of R(x)", turn[rows], np.roll(rows, -1, axis=1), node=where)
    see.equal("distance from 12..n", away[rows], diameter(n) - 1, node=where)
    see.equal("nodes of the necklace", nodes.necklace_sizes(see)[rows], rows.shape[1], node=where)
    see.equal("different nodes", len(np.unique(rows)), rows.size)
