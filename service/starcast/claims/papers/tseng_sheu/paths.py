"""Tseng & Sheu 1997, Lemmas 5 and 6: the paths p_i from r to rho^i(r), by cycles, and the links that they cross."""

from functools import partial
from math import gcd
from typing import Any

import numpy as np
from numpy.typing import NDArray

from starcast import permutations
from starcast.claims.check import ClaimCheck
from starcast.claims.reference import bfs, cyclic_shifts
from starcast.claims.reference.place_labels import link_label
from starcast.claims.reference.star_labels import symbols
from starcast.claims.registry import check


@check("TS.L5-path")
def _path_lengths(check: ClaimCheck) -> None:
    n, topology = check.topology.n, check.topology
    for root in bfs.roots(topology):
        for way in cyclic_shifts.paths(check.objects, topology, root):
            goal = cyclic_shifts.shifted(topology, root, way.i)
            check.equal(
                "end of p_i",
                topology.label(int(way.nodes[-1])),
                topology.label(goal),
                node=topology.label(root),
                i=way.i,
            )
            check.equal(
                "length of p_i",
                len(way.ports),
                n + gcd(n, way.i) - 2,
                node=topology.label(root),
                i=way.i,
            )


@check("TS.L5-cycles")
def _cycles(check: ClaimCheck) -> None:
    topology, n = check.topology, check.topology.n
    for root in bfs.roots(topology, 6):
        at = topology.label(root)
        for i in range(1, n):
            goal = topology.label(cyclic_shifts.shifted(topology, root, i))
            belongs = check.objects.array(
                f"where the symbols of {at} stand in {goal}",
                topology.spec,
                partial(_places, at, goal),
            )
            found = list(permutations.cycles(belongs))
            check.equal("cycles", len(found), gcd(n, i), node=at, i=i)
            check.equal("cycles", _written(found), _written(_stated(n, i)), node=at, i=i)
            if (n, i, root) == (8, 6, 0):
                check.equal("rho^6 of 01234567, from 0", _from_zero(goal), "23456701", i=i)
                check.equal("the example", _written(found), "(0 6 4 2)(1 7 5 3)", node=at, i=i)


def _places(label: str, other: str) -> NDArray[Any]:
    return np.array([other.index(symbol) for symbol in label])


def _stated(n: int, i: int) -> list[list[int]]:
    """C_0, .., C_{gcd(n,i)-1} as (2) has them, positions from 0."""
    return [[(k + turn * i) % n for turn in range(n // gcd(n, i))] for k in range(gcd(n, i))]


def _written(cycles: list[list[int]]) -> str:
    return "".join(f"({' '.join(map(str, cycle))})" for cycle in cycles)


def _from_zero(label: str) -> str:
    return "".join(str(permutations.SYMBOLS.index(symbol)) for symbol in label)


@check("TS.L6-disjoint")
def _disjoint(check: ClaimCheck) -> None:
    topology, rows = check.topology, symbols(check.objects, check.topology)
    for root in bfs.roots(topology):
        ways = cyclic_shifts.paths(check.objects, topology, root)
        for way in ways:
            at = way.nodes[1:]
            found = rows[at, way.i]
            check.equal(
                "symbol in position i+1",
                found,
                rows[root, 0],
                i=way.i,
                node=lambda v, at=at: topology.label(int(at[v])),
            )
        ends = np.concatenate(
            [np.sort([way.nodes[:-1], way.nodes[1:]], axis=0) for way in ways], axis=1
        )
        links, used = np.unique(ends, axis=1, return_counts=True)
        check.equal(
            f"paths on a link, r = {topology.label(root)}",
            used,
            1,
            link=lambda j, of=links: link_label(topology, of[0, j], of[1, j]),
        )


@check("TS.L6-dimensions")
def _dimensions(check: ClaimCheck) -> None:
    topology, n = check.topology, check.topology.n
    for root in bfs.roots(topology):
        for way in cyclic_shifts.paths(check.objects, topology, root):
            first, *later = _stated(n, way.i)
            stated = [*first[1:], *(place for cycle in later for place in (*cycle, cycle[0]))]
            found = " ".join(map(str, way.ports.tolist()))
            check.equal(
                "dimensions",
                found,
                " ".join(str(place + 1) for place in stated),
                node=topology.label(root),
                i=way.i,
            )


@check("TS.L6-opposite")
def _opposite(check: ClaimCheck) -> None:
    topology = check.topology
    for root in bfs.roots(topology):
        loads = cyclic_shifts.loads_to(check.objects, topology, root)
        for way in cyclic_shifts.paths(check.objects, topology, root):
            found = loads[way.nodes[1:], way.ports.astype(np.int64) - 2]

            def opposite(j: int, way: cyclic_shifts.Path = way) -> str:
                return link_label(topology, way.nodes[j + 1], way.nodes[j])

            check.at_most(
                f"trees with the opposite of a link of p_i, r = {topology.label(root)}",
                found,
                1,
                i=way.i,
                link=opposite,
            )
