"""Tseng & Sheu 1997, Lemmas 5 and 6: the paths p_i from r to rho^i(r), their cycles and links."""

from collections.abc import Iterator
from functools import partial
from math import gcd

import numpy as np
from numpy.typing import NDArray

from starcast import permutations
from starcast.claims.check import ClaimCheck
from starcast.claims.providers import sample_roots
from starcast.claims.reference import bfs
from starcast.claims.reference.cyclic_shifts import (
    Path,
    loads_towards_roots,
    shift_paths,
    shifted_root,
)
from starcast.claims.reference.place_labels import link_label, node_labels
from starcast.claims.reference.star_labels import symbols
from starcast.claims.registry import check
from starcast.permutations import Ranks


def sample_paths(check: ClaimCheck) -> Iterator[Path]:
    """Yield p_1, .., p_{n-1} from each sample root."""
    for root in sample_roots()(check):
        yield from shift_paths(check, root)


@check("TS.L5-path", given=sample_paths)
def path_lengths(check: ClaimCheck, path: Path) -> None:
    """Check the end and the length of p_i."""
    root, end = int(path.nodes[0]), int(path.nodes[-1])
    place = {"node": check.label(root), "i": path.i}
    goal = shifted_root(check, root, path.i)
    check.equal("end of p_i", check.label(end), check.label(goal), **place)
    stated = check.n + gcd(check.n, path.i) - 2
    check.equal("length of p_i", len(path.ports), stated, **place)


@check("TS.L5-cycles")
def cycles_of_shifts(check: ClaimCheck) -> None:
    """Check the cycles of r as a permutation of rho^i(r), and the example."""
    n = check.n
    for root in bfs.roots(check, 6):
        label = check.label(root)
        for i in range(1, n):
            goal = check.label(shifted_root(check, root, i))
            name = f"positions of the symbols of {label} in {goal}"
            create = partial(positions_in, goal, label)
            cycles = list(permutations.cycles(check.array(name, create)))
            observed = cycle_notation(cycles)
            place = {"node": label, "i": i}
            check.equal("cycles", len(cycles), gcd(n, i), **place)
            check.equal("cycles", observed, cycle_notation(shift_cycles(n, i)), **place)
            if (n, i, root) == (8, 6, 0):
                digits = "".join(str(permutations.SYMBOLS.index(symbol)) for symbol in goal)
                check.equal("rho^6 of 01234567, from 0", digits, "23456701", i=i)
                check.equal("the example", observed, "(0 6 4 2)(1 7 5 3)", **place)


def positions_in(goal: str, label: str) -> NDArray[np.int64]:
    """Return the position, from 0, of every symbol of a label in another label."""
    return np.array([goal.index(symbol) for symbol in label])


def shift_cycles(n: int, i: int) -> list[list[int]]:
    """Return the cycles (2), C_0, .., C_{gcd(n,i)-1}, of positions from 0."""
    count = gcd(n, i)
    return [[(k + turn * i) % n for turn in range(n // count)] for k in range(count)]


def cycle_notation(cycles: list[list[int]]) -> str:
    """Return cycles as text, such as ``(0 2)(1 3)``."""
    return "".join(f"({' '.join(map(str, cycle))})" for cycle in cycles)


@check("TS.L6-disjoint", given=sample_roots())
def paths_are_disjoint(check: ClaimCheck, root: int) -> None:
    """Check the symbol r_1 on every p_i, and that no two of the paths share a link."""
    label_symbols = symbols(check)
    ends = []
    for path in shift_paths(check, root):
        nodes = path.nodes[1:]
        measured = label_symbols[nodes, path.i]
        stated = label_symbols[root, 0]
        check.equal(
            "symbol in position i+1", measured, stated, i=path.i, node=node_labels(check, nodes)
        )
        ends.append(np.sort([path.nodes[:-1], nodes], axis=0))
    links, counts = np.unique(np.concatenate(ends, axis=1), axis=1, return_counts=True)
    what = f"paths on a link, r = {check.label(root)}"
    check.equal(what, counts, 1, link=lambda index: link_label(check, *links[:, index]))


@check("TS.L6-dimensions", given=sample_paths)
def dimensions_of_paths(check: ClaimCheck, path: Path) -> None:
    """Check that p_i crosses the dimensions trail(C_0), C_1, first(C_1), C_2, first(C_2), .."""
    first, *others = shift_cycles(check.n, path.i)
    positions = first[1:]
    for cycle in others:
        positions += [*cycle, cycle[0]]
    stated = " ".join(str(position + 1) for position in positions)
    observed = " ".join(map(str, path.ports.tolist()))
    root = check.label(int(path.nodes[0]))
    check.equal("dimensions", observed, stated, node=root, i=path.i)


@check("TS.L6-opposite", given=sample_roots())
def opposite_links(check: ClaimCheck, root: int) -> None:
    """Check that at most one tree L(rho^j(r)) has the opposite of a link of p_i."""
    loads = loads_towards_roots(check, root)
    for path in shift_paths(check, root):
        tails, heads = path.nodes[1:], path.nodes[:-1]

        def link(index: int, tails: Ranks = tails, heads: Ranks = heads) -> str:
            return link_label(check, tails[index], heads[index])

        what = f"trees with the opposite of a link of p_i, r = {check.label(root)}"
        check.at_most(what, loads[tails, path.ports.astype(np.int64) - 2], 1, i=path.i, link=link)
