"""What Fragopoulou & Akl 1993 say of nodes, as arrays: cycles, necklaces, links of a type.

All of it comes from the definitions in sections 3 and 3.1, by way of the lab, and from nothing that the constructions use.
"""

import numpy as np
from numpy.typing import NDArray

from starcast import permutations
from starcast.claims.check import ClaimCheck
from starcast.claims.reference.bfs import distances
from starcast.claims.reference.star_labels import rotation, symbols
from starcast.permutations import Perms, Ranks


def types(check: ClaimCheck) -> NDArray[np.int64]:
    """The types of links, 2..n."""
    return np.arange(2, check.topology.n + 1)


def across(check: ClaimCheck) -> Ranks:
    """The neighbour of each node over each type, int32 ``[nodes, types]``."""
    return check.objects.neighbours(check.topology.spec).T


def least_of_cycle(check: ClaimCheck) -> Perms:
    """For each symbol of each node the least symbol of its cycle, uint8 ``[nodes, n]``; its own where it is in its place."""

    def make() -> Perms:
        row = symbols(check.objects, check.topology)
        least = np.broadcast_to(
            np.arange(1, check.topology.n + 1, dtype=np.uint8), row.shape
        ).copy()
        for _ in range(check.topology.n):  # a cycle has n symbols at most
            least = np.minimum(least, np.take_along_axis(least, row.astype(np.intp) - 1, axis=1))
        return least

    return check.objects.array("least symbols of cycles", check.topology.spec, make)


def displaced(check: ClaimCheck) -> NDArray[np.bool_]:
    """Whether a symbol is in a cycle of two or more, bool ``[nodes, n]``."""
    return np.asarray(symbols(check.objects, check.topology) != np.arange(1, check.topology.n + 1))


def cycles(check: ClaimCheck) -> NDArray[np.int64]:
    """c(x), the number of cycles of two or more symbols."""
    own = least_of_cycle(check) == np.arange(1, check.topology.n + 1)
    return np.asarray((own & displaced(check)).sum(axis=1))


def spread(check: ClaimCheck) -> NDArray[np.int64]:
    """s(x), the number of symbols in these cycles."""
    return np.asarray(displaced(check).sum(axis=1))


def rules(check: ClaimCheck) -> NDArray[np.bool_]:
    """The moves that rules 2, 3 and 4 list, bool ``[nodes, types]``.

    Rule 2, node starts with 1: any type whose symbol is not in its place. Rule 3 and rule 4 (a): the type that is the first
    symbol. Rule 4 (b): any type whose symbol is in a cycle that does not contain 1.
    """
    first = symbols(check.objects, check.topology)[:, :1]
    apart = displaced(check)[:, 1:] & (least_of_cycle(check)[:, 1:] != 1)
    return np.asarray(apart | ((first != 1) & (first == types(check))))


def closer(check: ClaimCheck) -> NDArray[np.bool_]:
    """Whether a link leads closer to 12..n, by breadth-first search, bool ``[nodes, types]``."""
    away = distances(check.objects, check.topology.spec)
    return np.asarray(away[across(check)] < away[:, None])


def turned(check: ClaimCheck) -> Ranks:
    """The nodes after 0, 1, .., n-2 rotations, int32 ``[n-1, nodes]``."""
    turn = rotation(check.objects, check.topology)
    rows = [np.arange(check.topology.nodes, dtype=np.int32)]
    for _ in range(check.topology.n - 2):
        rows.append(turn[rows[-1]])
    return np.stack(rows)


def necklace_sizes(check: ClaimCheck) -> NDArray[np.int64]:
    """How many nodes the necklace of each node has: the rotations after which it first returns; 0 if not within n!."""
    turn = rotation(check.objects, check.topology)
    here = np.arange(check.topology.nodes)
    at, size = turn, np.zeros(check.topology.nodes, dtype=np.int64)
    for count in range(1, 4 * check.topology.n):
        size = np.where((at == here) & (size == 0), count, size)
        at = turn[at]
    return size


def type_between(check: ClaimCheck, tail: Ranks, head: Ranks) -> NDArray[np.int64]:
    """The type of the link between two nodes; 0 where there is none."""
    there = across(check)[tail] == np.asarray(head)[:, None]
    return np.where(there.any(axis=1), np.argmax(there, axis=1) + 2, 0)


def notation(row: Perms) -> str:
    """The cycle notation of a node: ``(1 3)(2 4 5)``; each symbol is followed by the one that stands in its position."""
    found, seen = [], set[int]()
    for start in range(1, len(row) + 1):
        cycle, at = [], start
        while at not in seen:
            seen.add(at)
            cycle.append(at)
            at = int(row[at - 1])
        if len(cycle) > 1:
            found.append(f"({' '.join(map(str, cycle))})")
    return "".join(found)


def node_of(n: int, *given: tuple[int, ...]) -> int:
    """The rank of the node with that cycle notation."""
    row = np.arange(1, n + 1, dtype=np.uint8)
    for cycle in given:
        row[np.array(cycle) - 1] = np.roll(cycle, -1)
    return int(permutations.rank(row[None, :])[0])
