"""Tseng & Sheu 1997, Lemmas 5 and 6: the paths p_i from r to rho^i(r), by cycles, and the links that they cross."""

from functools import partial
from math import gcd
from typing import Any

import numpy as np
from numpy.typing import NDArray

from starcast import permutations
from starcast.claims.declaration import Family, stars
from starcast.claims.instruments import searching, shifting
from starcast.claims.instruments.naming import link
from starcast.claims.instruments.star_labels import symbols
from starcast.claims.see import See

FAMILY = Family("tseng_sheu_paths")
claim = FAMILY.claim


@claim(
    "TS.L5-path",
    "Lemma 5, proof",
    stars(7, 8, 9),
    "The path p_i from r to rho^i(r) in L(rho^i(r)) has n + gcd(n,i) - 2 links, i = 1..n-1.",
)
def _path_lengths(see: See) -> None:
    n, where = see.where.n, see.where
    for root in searching.roots(where):
        for way in shifting.paths(see.lab, where, root):
            goal = shifting.shifted(where, root, way.i)
            see.equal(
                "end of p_i",
                where.label(int(way.nodes[-1])),
                where.label(goal),
                node=where.label(root),
                i=way.i,
            )
            see.equal(
                "length of p_i",
                len(way.ports),
                n + gcd(n, way.i) - 2,
                node=where.label(root),
                i=way.i,
            )


@claim(
    "TS.L5-cycles",
    "Lemma 5, proof",
    stars(8, 9, 10),
    "As a permutation of rho^i(r), r has gcd(n,i) cycles, C_k = (k, k+i, k+2i, ..) mod n for k = 0..gcd(n,i)-1, positions from "
    "0: each is followed by the one where its symbol stands in rho^i(r). For n = 8, i = 6 they are (0 6 4 2)(1 7 5 3).",
)
def _cycles(see: See) -> None:
    where, n = see.where, see.where.n
    for root in searching.roots(where, 6):
        at = where.label(root)
        for i in range(1, n):
            goal = where.label(shifting.shifted(where, root, i))
            belongs = see.lab.array(
                f"where the symbols of {at} stand in {goal}", where.spec, partial(_places, at, goal)
            )
            found = list(permutations.cycles(belongs))
            see.equal("cycles", len(found), gcd(n, i), node=at, i=i)
            see.equal("cycles", _written(found), _written(_stated(n, i)), node=at, i=i)
            if (n, i, root) == (8, 6, 0):
                see.equal("rho^6 of 01234567, from 0", _from_zero(goal), "23456701", i=i)
                see.equal("the example", _written(found), "(0 6 4 2)(1 7 5 3)", node=at, i=i)


def _places(label: str, other: str) -> NDArray[Any]:
    return np.array([other.index(symbol) for symbol in label])


def _stated(n: int, i: int) -> list[list[int]]:
    """C_0, .., C_{gcd(n,i)-1} as (2) has them, positions from 0."""
    return [[(k + turn * i) % n for turn in range(n // gcd(n, i))] for k in range(gcd(n, i))]


def _written(cycles: list[list[int]]) -> str:
    return "".join(f"({' '.join(map(str, cycle))})" for cycle in cycles)


def _from_zero(label: str) -> str:
    return "".join(str(permutations.SYMBOLS.index(symbol)) for symbol in label)


@claim(
    "TS.L6-disjoint",
    "Lemma 6, proof",
    stars(7, 8, 9),
    "No two of the paths p_1, .., p_{n-1} share a link, in either direction, and every node v of p_i but r has v_{i+1} = r_1.",
)
def _disjoint(see: See) -> None:
    where, rows = see.where, symbols(see.lab, see.where)
    for root in searching.roots(where):
        ways = shifting.paths(see.lab, where, root)
        for way in ways:
            at = way.nodes[1:]
            found = rows[at, way.i]
            see.equal(
                "symbol in position i+1",
                found,
                rows[root, 0],
                i=way.i,
                node=lambda v, at=at: where.label(int(at[v])),
            )
        ends = np.concatenate(
            [np.sort([way.nodes[:-1], way.nodes[1:]], axis=0) for way in ways], axis=1
        )
        links, used = np.unique(ends, axis=1, return_counts=True)
        see.equal(
            f"paths on a link, r = {where.label(root)}",
            used,
            1,
            link=lambda j, of=links: link(where, of[0, j], of[1, j]),
        )


@claim(
    "TS.L6-dimensions",
    "Lemma 6, proof",
    stars(7, 8, 9),
    "p_i crosses the dimensions trail(C_0), C_1, first(C_1), C_2, first(C_2), .., C_{g-1}, first(C_{g-1}), g = gcd(n,i), of "
    "the cycles (2); a position k of these, from 0, is dimension k+1.",
)
def _dimensions(see: See) -> None:
    where, n = see.where, see.where.n
    for root in searching.roots(where):
        for way in shifting.paths(see.lab, where, root):
            first, *later = _stated(n, way.i)
            stated = [*first[1:], *(place for cycle in later for place in (*cycle, cycle[0]))]
            found = " ".join(map(str, way.ports.tolist()))
            see.equal(
                "dimensions",
                found,
                " ".join(str(place + 1) for place in stated),
                node=where.label(root),
                i=way.i,
            )


@claim(
    "TS.L6-opposite",
    "Lemma 6, proof",
    stars(7, 8, 9),
    "For a link x -> y of a path p_i at most one of the trees L(rho^1(r)), .., L(rho^{n-1}(r)) has the link y -> x.",
)
def _opposite(see: See) -> None:
    where = see.where
    for root in searching.roots(where):
        loads = shifting.loads_to(see.lab, where, root)
        for way in shifting.paths(see.lab, where, root):
            found = loads[way.nodes[1:], way.ports.astype(np.int64) - 2]

            def opposite(j: int, way: shifting.Path = way) -> str:
                return link(where, way.nodes[j + 1], way.nodes[j])

            see.at_most(
                f"trees with the opposite of a link of p_i, r = {where.label(root)}",
                found,
                1,
                i=way.i,
                link=opposite,
            )
