"""The star graph S_n: nodes are the permutations of 1..n, port i exchanges positions 1 and i (Akers & Krishnamurthy).

Arrays over all n! nodes are made a block at a time. A *block* is the run of ranks that share a prefix, the first
n-m symbols; within it the last m symbols run through all their orders in rank order. What happens to the suffix is
looked up in tables of m! entries, what happens to the prefix is computed once a block: about one nanosecond a node,
and nothing of the size of a node's label is ever stored (`docs/decisions/0005-blocks.md`).
"""

from functools import lru_cache
from math import factorial
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from starcast import permutations
from starcast.permutations import Perms, Ranks
from starcast.topologies.base import Topology

SMALLEST, LARGEST = 2, 12
_SUFFIX = 6  # 6! = 720 orders: a block's row and the tables fit into the first-level cache
_CHUNK = 64  # blocks at a time: the temporaries fit into the second-level cache


class Star(Topology):
    """S_n for 2 <= n <= 12: n! nodes, degree n-1, diameter floor(3(n-1)/2)."""

    family = "star"

    def __init__(self, n: int) -> None:
        self.spec = f"S{n}"
        self.n = n
        self.k = None
        self.nodes = factorial(n)
        self.diameter = 3 * (n - 1) // 2
        self.ports = tuple(range(2, n + 1))

    def reverse_port(self, port: int) -> int:
        """The same port: exchanging twice returns."""
        return self._port(port)

    def neighbours(self, port: int, ranks: ArrayLike | None = None) -> Ranks:
        """See `Topology.neighbours`."""
        place = self._port(port) - 1
        if ranks is None:
            return _all_neighbours(self.n, place)
        perms = permutations.unrank(self.n, self._nodes(ranks))
        perms[:, [0, place]] = perms[:, [place, 0]]
        return permutations.rank(perms)

    def distances(self, root: int | str = 0) -> NDArray[np.uint8]:
        """See `Topology.distances`; misplaced symbols + cycles of two or more - 2 if the first symbol is misplaced."""
        return _all_distances(self.n, permutations.unrank(self.n, self.node(root))[0])

    def translation(self, root: int | str) -> Ranks:
        """See `Topology.translation`: x -> (q[x_1], .., q[x_n]) for the root q."""
        return _all_images(self.n, permutations.unrank(self.n, self.node(root))[0])

    def labels(self, ranks: ArrayLike | None = None) -> NDArray[np.str_]:
        """See `Topology.labels`."""
        if ranks is None:
            return permutations.labels(permutations.arrangements(self.n, self.n))
        return permutations.labels(permutations.unrank(self.n, self._nodes(ranks)))

    def rank(self, label: str) -> int:
        """See `Topology.rank`."""
        return int(permutations.rank(permutations.parse(label, self.n)[None, :])[0])


class _Blocks(NamedTuple):
    m: int  # symbols of the suffix
    size: int  # m! nodes a block
    prefix: Perms  # [blocks, n-m]
    rest: Perms  # [blocks, m]: the other symbols, ascending


@lru_cache(maxsize=4)
def _blocks(n: int) -> _Blocks:
    m = min(_SUFFIX, n - 1)
    prefix = permutations.arrangements(n, n - m)
    free = np.ones((len(prefix), n + 1), dtype=bool)
    free[:, 0] = False
    np.put_along_axis(free, prefix, values=False, axis=1)
    rest = np.nonzero(free)[1].reshape(len(prefix), m).astype(np.uint8)
    return _Blocks(m, factorial(m), prefix, rest)


def _chunks(count: int) -> list[slice]:
    return [slice(start, start + _CHUNK) for start in range(0, count, _CHUNK)]


@lru_cache(maxsize=8)
def _replacement_ranks(m: int) -> NDArray[np.int16]:
    """``[m+1, m, m!]``: the rank of suffix pattern ``lo`` after position s took over the symbol from outside.

    The outside symbol has q smaller ones in the old suffix; the symbol at s leaves.
    """
    out = np.empty((m + 1, m, factorial(m)), dtype=np.int16)
    patterns = permutations.table(m).astype(np.int16)
    for q in range(m + 1):
        for s in range(m):
            leaving = patterns[:, s]
            new = patterns - (patterns > leaving[:, None]) + (patterns >= q)
            new[:, s] = q - (leaving < q)
            out[q, s] = permutations.rank((new + 1).astype(np.uint8))
    return out


def _all_neighbours(n: int, place: int) -> Ranks:
    blocks = _blocks(n)
    out = np.empty((len(blocks.prefix), blocks.size), dtype=np.int32)
    if place < n - blocks.m:
        swapped = blocks.prefix.copy()
        swapped[:, [0, place]] = swapped[:, [place, 0]]
        first = permutations.arrangement_rank(swapped, n) * np.int32(blocks.size)
        np.add(first[:, None], np.arange(blocks.size, dtype=np.int32), out=out)
        return out.reshape(-1)
    s = place - (n - blocks.m)
    first = _first_rank_by_newcomer(n, blocks)
    within = _replacement_ranks(blocks.m)[:, s].astype(np.int32)
    smaller = (blocks.rest < blocks.prefix[:, :1]).sum(axis=1)
    chosen = permutations.table(blocks.m)[:, s].astype(np.intp)
    for chunk in _chunks(len(out)):
        np.take(first[chunk], chosen, axis=1, out=out[chunk], mode="clip")
        out[chunk] += within[smaller[chunk]]
    return out.reshape(-1)


def _first_rank_by_newcomer(n: int, blocks: _Blocks) -> Ranks:
    """``[blocks, m]``: the first rank of the block whose prefix begins with the k-th symbol of the rest instead."""
    first = np.empty(blocks.rest.shape, dtype=np.int32)
    for k in range(blocks.m):
        moved = blocks.prefix.copy()
        moved[:, 0] = blocks.rest[:, k]
        first[:, k] = permutations.arrangement_rank(moved, n)
    first *= blocks.size
    return first


def _all_images(n: int, q: Perms) -> Ranks:
    blocks = _blocks(n)
    first = permutations.arrangement_rank(permutations.compose(q, blocks.prefix), n) * np.int32(blocks.size)
    order = np.argsort(np.argsort(permutations.compose(q, blocks.rest), axis=1), axis=1)
    pattern = permutations.rank((order + 1).astype(np.uint8))
    within = permutations.composition_table(blocks.m)
    out = np.empty((len(first), blocks.size), dtype=np.int32)
    for chunk in _chunks(len(out)):
        np.add(first[chunk, None], within[pattern[chunk]], out=out[chunk])
    return out.reshape(-1)


def _all_distances(n: int, root: Perms) -> NDArray[np.uint8]:
    blocks = _blocks(n)
    width = n - blocks.m
    home = permutations.inverse(root).astype(np.int16) - 1  # home[symbol - 1]: its place in the root, from 0
    prefix, rest = home[blocks.prefix - 1], home[blocks.rest - 1]
    base, way = _through_prefix(prefix, rest, width)
    base += n - 2 * (blocks.prefix[:, 0] != root[0])
    counts = permutations.cycle_count_table(blocks.m)
    gain = _fixed_point_gain(blocks.m)
    pattern = permutations.rank((way + 1).astype(np.uint8))
    at_home = np.full((len(prefix), blocks.m), blocks.m)
    block, k = np.nonzero(rest >= width)
    at_home[block, rest[block, k] - width] = k
    out = np.empty((len(prefix), blocks.size), dtype=np.uint8)
    for chunk in _chunks(len(out)):
        part = np.add(counts[pattern[chunk]], base[chunk, None].astype(np.uint8), out=out[chunk])
        for s in range(blocks.m):
            part -= gain[s, at_home[chunk, s]]
    return out.reshape(-1)


@lru_cache(maxsize=8)
def _fixed_point_gain(m: int) -> NDArray[np.uint8]:
    """``[m, m+1, m!]``: 2 where the pattern puts the k-th symbol at position s; k = m stands for no symbol, so 0."""
    patterns = permutations.table(m).T
    return np.stack([2 * (patterns == k) for k in range(m + 1)], axis=1).astype(np.uint8)


def _through_prefix(
    prefix: NDArray[np.int16], rest: NDArray[np.int16], width: int
) -> tuple[NDArray[np.int64], NDArray[np.int16]]:
    """Cycles closed in the prefix minus twice its fixed points, and where the walk from each rest symbol leaves it."""
    way = rest
    for _ in range(width):
        inside = way < width
        way = np.where(inside, np.take_along_axis(prefix, np.where(inside, way, 0), axis=1), way)
    base = np.zeros(len(prefix), dtype=np.int64)
    for start in range(width):
        at = prefix[:, start]
        base -= 2 * (at == start)
        smallest = np.full(len(prefix), start)
        for _ in range(width):
            smallest = np.minimum(smallest, at)
            moving = (at < width) & (at != start)
            at = np.where(moving, np.take_along_axis(prefix, np.where(moving, at, 0)[:, None], axis=1)[:, 0], at)
        base += (at == start) & (smallest == start)
    return base, way - np.int16(width)
