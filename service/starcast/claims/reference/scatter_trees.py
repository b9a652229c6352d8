"""Definitions 13 to 16 of Fragopoulou & Akl 1993 as printed and as repaired, and the choices that section 5.1 leaves.

Nothing here knows `starcast.trees`. A function of Definition 13 or 15 is an array bool ``[nodes, n]``: whether the parent of a
node (or a child of it) is across dimension j, at j-1. Dimension 1 leads nowhere, and is there for what is printed wrongly.
"""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from starcast.claims.object_cache import ObjectCache
from starcast.claims.reference import bfs, lower_bound_counts, star_labels
from starcast.claims.reference.necklaces import cycle_from, displacements, periods
from starcast.claims.reference.star_labels import rotation, symbols
from starcast.permutations import Ranks
from starcast.topologies import Topology

Across = NDArray[np.bool_]
_SEED = 1993


def canonical(row: list[int]) -> list[tuple[int, ...]]:
    """Definition 12: each cycle ends with its smallest symbol by the ordering of symbol 1's place; these decrease."""
    k, n = row.index(1) + 1, len(row)
    cycles = []
    for symbol in range(1, n + 1):
        cycle = cycle_from(row, symbol)
        if len(cycle) > 1 and symbol == min(cycle, key=lambda s: _place(s, k, n)):
            cycles.append((*cycle[1:], symbol))
    return sorted(cycles, key=lambda cycle: -_place(cycle[-1], k, n))


def _place(symbol: int, k: int, n: int) -> int:
    """How far a symbol stands in the k-th ordering 1, k, k+1, .., n, 2, .., k-1 (Def. 10)."""
    return 0 if symbol == 1 else 1 + (symbol - k) % (n - 1)


def parents(
    objects: ObjectCache,
    topology: Topology,
    second: Literal["left", "right"],
    *,
    repeated: bool = False,
) -> Across:
    """The parent function of Definition 13, of 15 if nodes are repeated, with the second cycle from that side."""

    def made() -> Across:
        rows = symbols(objects, topology)
        across = np.zeros((topology.nodes, topology.n), dtype=bool)
        for x in np.flatnonzero(rows[:, 0] != 1).tolist():
            cycles = canonical(rows[x].tolist())
            at = 1 if second == "left" else -2
            across[x, (int(rows[x, 0]) if len(cycles) == 1 else cycles[at][-1]) - 1] = True
        starting = np.flatnonzero(rows[:, 0] == 1)[1:]
        across[starting] = joining(
            objects, topology, np.arange(topology.nodes, dtype=np.int32), repeated=repeated
        )[starting]
        return across

    return objects.array(
        f"parents, second from the {second}, repeated {repeated}", topology.spec, made
    )


def joining(objects: ObjectCache, topology: Topology, c: Ranks, *, repeated: bool) -> Across:
    """For nodes i with c(i) = F_r^{-1}(i): d(c) = d(c') = j-2, or, repeated, d(c') = d(c) + k p(c) = j-2; i' = g_j(i)."""
    d, p = displacements(objects, topology)[c], periods(objects, topology)[c]
    across = np.zeros((topology.nodes, topology.n), dtype=bool)
    for j, there in zip(topology.ports, objects.neighbours(topology.spec), strict=True):
        least = d == j - 2
        if repeated:
            least = np.any(
                [(d + k * p == j - 2) & ((k + 1) * p < topology.n) for k in range(topology.n - 1)],
                axis=0,
            )
        across[:, j - 1] = least & (d[there] == j - 2) & (d >= 0)
    return across


def children(
    objects: ObjectCache, topology: Topology, *, repaired: bool, repeated: bool = False
) -> Across:
    """The children function of Definition 13, of 15 if nodes are repeated, as printed or as repaired."""

    def made() -> Across:
        rows = symbols(objects, topology)
        across = np.zeros((topology.nodes, topology.n), dtype=bool)
        across[0, 1:] = True
        d, p, next_to = (
            displacements(objects, topology),
            periods(objects, topology),
            objects.neighbours(topology.spec),
        )
        for x in np.flatnonzero(rows[:, 0] != 1).tolist():
            row = rows[x].tolist()
            k = row.index(1) + 1
            leaf = int(next_to[k - 2, x])
            turns = range(0, topology.n - 1, int(p[leaf])) if repeated else (0,)
            across[x, k - 1] = leaf != 0 and any(d[x] == d[leaf] + turn == k - 2 for turn in turns)
            for j in _below(row, repaired=repaired):
                across[x, j - 1] = True
        return across

    return objects.array(f"children, repaired {repaired}, repeated {repeated}", topology.spec, made)


def _below(row: list[int], *, repaired: bool) -> list[int]:
    """The dimensions of the children that do not start with 1: fixed symbols, and left minima of the cycle of 1.

    Repaired: fixed symbols of nodes with one cycle only, and left minima of the whole canonical notation.
    """
    k, n = row.index(1) + 1, len(row)
    cycles = canonical(row)
    fixed = [j for j in range(2, n + 1) if row[j - 1] == j]
    text = cycles[-1]
    before = [symbol for cycle in cycles[:-1] for symbol in cycle] if repaired else []
    minima = [
        symbol
        for at, symbol in enumerate(text)
        if 0 < at < len(text) - 2
        and all(_place(symbol, k, n) < _place(s, k, n) for s in (*before, *text[:at]))
    ]
    return [*(fixed if not repaired or len(cycles) == 1 else []), *minima]


def listed(objects: ObjectCache, topology: Topology, below: Across) -> Across:
    """Seen from the child: whether node y is among the children of g_j(y), across j."""
    seen = np.zeros_like(below)
    for j, there in zip(topology.ports, objects.neighbours(topology.spec), strict=True):
        seen[:, j - 1] = below[there, j - 1]
    return seen


def both_ways(objects: ObjectCache, topology: Topology, root: int) -> tuple[Ranks, Ranks]:
    """F_r(x) and F_r^{-1}(x) for every node x."""
    forth = star_labels.translation(objects, topology, root)
    return forth, np.argsort(forth).astype(np.int32)


def at_root(objects: ObjectCache, topology: Topology, root: int, *, repeated: bool) -> Across:
    """The parent function of Definition 14, of 16 if nodes are repeated, repaired as Definition 13, at any root."""
    _, c = both_ways(objects, topology, root)
    starts = symbols(objects, topology)[c][:, 0] == 1
    across = np.where(
        starts[:, None],
        joining(objects, topology, c, repeated=repeated),
        parents(objects, topology, "right")[c],
    )
    across[root] = False
    return across


def carried(objects: ObjectCache, topology: Topology, root: int, across: Across) -> Across:
    """A tree (or several in one) at 12..n, every node and its parent translated to another root."""
    forth, back = both_ways(objects, topology, root)
    next_to = objects.neighbours(topology.spec)
    out = np.zeros_like(across)
    for j, there in zip(topology.ports, next_to, strict=True):
        above = forth[there[back]]
        out[:, 1:] |= across[back, j - 1][:, None] & (next_to == above).T
    return out


def drawn(objects: ObjectCache, topology: Topology, count: int) -> NDArray[np.uint8]:
    """Trees of section 5.1 with all that it leaves open drawn at random, uint8 ``[count, nodes]``, rooted at 12..n."""

    def made() -> NDArray[np.uint8]:
        return np.stack(
            [
                _drawn(objects, topology, np.random.default_rng([_SEED, seed]))
                for seed in range(count)
            ]
        )

    return objects.array("balanced trees drawn at random", topology.spec, made)


def _drawn(objects: ObjectCache, topology: Topology, rng: np.random.Generator) -> NDArray[np.uint8]:
    rows, n = symbols(objects, topology), topology.n
    out = np.zeros(topology.nodes, dtype=np.uint8)
    for x in np.flatnonzero(rows[:, 0] != 1).tolist():
        *others, _ = canonical(rows[x].tolist())
        out[x] = (
            rng.choice([symbol for cycle in others for symbol in cycle]) if others else rows[x, 0]
        )
    leader, turn = lower_bound_counts.necklaces(objects, topology.spec), rotation(objects, topology)
    distance = bfs.distances(objects, topology.spec)
    leaders = rng.permutation(np.unique(leader[1 : len(leader) // n]))
    m = 1
    for first in leaders[np.argsort(distance[leaders], kind="stable")].tolist():
        ring = np.flatnonzero(leader == first)
        v = (m - 1) % (n - 1) + 2
        at = int(rng.choice(ring[rows[ring, v - 1] != v]))
        for _ in range(len(ring)):
            out[at] = (m - 1) % (n - 1) + 2
            at, m = int(turn[at]), m + 1
    return out
