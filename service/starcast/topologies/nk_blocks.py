"""Arrays over all nodes of S_{n,k}, computed block by block as in `starcast.topologies.blocks`.

A *block* is a run of consecutive ranks: the nodes that share a *prefix*, their first k-m symbols.
The *rest* of a block is the ascending list of the r = n-k+m symbols that the prefix lacks. Within a
block the last m positions take all arrangements of these symbols, in rank order. A *pattern* is
such an arrangement, stored as indices 0..r-1 in the rest, so one table of patterns serves all
blocks.
"""

from functools import lru_cache
from math import perm
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from starcast.topologies import permutations
from starcast.topologies.blocks import (
    NodeArray,
    chunk_slices,
    first_ranks,
    missing_symbols,
    through_prefix,
)
from starcast.topologies.permutations import Perms, Ranks

# Maximum number of patterns per block: a chunk's temporary arrays fit into the second-level cache.
_MAX_PATTERNS = 1000

Indices = NDArray[np.intp]


class _Blocks(NamedTuple):
    m: int  # positions of the suffix
    size: int  # nodes of a block
    patterns: Indices  # [size, m]
    prefix: Perms  # [blocks, k-m]
    rest: Perms  # [blocks, r]: the other symbols, ascending

    def ranks(self, patterns: NDArray[np.integer]) -> Ranks:
        """Return the ranks of patterns within a block, int32 ``[count]``."""
        rows = (patterns + 1).astype(np.uint8)
        return permutations.arrangement_rank(rows, self.rest.shape[1])


@lru_cache(maxsize=4)
def _blocks(n: int, k: int) -> _Blocks:
    m = max(m for m in range(k) if perm(n - k + m, m) <= _MAX_PATTERNS)
    patterns = permutations.arrangements(n - k + m, m).astype(np.intp) - 1
    prefix = permutations.arrangements(n, k - m)
    return _Blocks(m, len(patterns), patterns, prefix, missing_symbols(prefix, n))


def chunks(n: int, k: int) -> list[slice]:
    """Return slices that together cover the ranks of S_{n,k}, each of several complete blocks."""
    return chunk_slices(len(_blocks(n, k).prefix), _blocks(n, k).size)


class _NkArray(NodeArray):
    """A `NodeArray` over the nodes of S_{n,k}."""

    def __init__(self, n: int, k: int) -> None:
        self._k = k
        self._blocks = _blocks(n, k)
        self._width = k - self._blocks.m
        super().__init__(len(self._blocks.prefix), self._blocks.size)


class Neighbours(_NkArray):
    """The neighbour of each node across a port."""

    dtype = np.int32

    def __init__(self, n: int, k: int, port: int) -> None:
        super().__init__(n, k)
        blocks = self._blocks
        self._within_prefix = port <= self._width
        if self._within_prefix:
            swapped = blocks.prefix.copy()
            swapped[:, [0, port - 1]] = swapped[:, [port - 1, 0]]
            self._first = permutations.arrangement_rank(swapped, n) * np.int32(blocks.size)
            self._patterns = np.arange(blocks.size, dtype=np.int32)
            return
        # The new first symbol and the new pattern depend on how many symbols of the rest are
        # smaller than the old first symbol.
        self._first = _first_rank_by_newcomer(n, k)
        self._smaller = (blocks.rest < blocks.prefix[:, :1]).sum(axis=1)
        self._newcomer, self._patterns = _exchanges(n, k, port)

    def _fill(self, chunk: slice, out: Ranks) -> None:
        if self._within_prefix:
            np.add(self._first[chunk, None], self._patterns, out=out)
            return
        smaller = self._smaller[chunk]
        out[:] = np.take_along_axis(self._first[chunk], self._newcomer[smaller], axis=1)
        out += self._patterns[smaller]


@lru_cache(maxsize=64)
def _exchanges(n: int, k: int, port: int) -> tuple[Indices, Ranks]:
    """Return the results of `_exchange` for ``smaller`` = 0..r, stacked: ``[r + 1, size]`` each."""
    numbers = range(_blocks(n, k).rest.shape[1] + 1)
    newcomers, patterns = zip(*(_exchange(n, k, port, smaller) for smaller in numbers), strict=True)
    return np.stack(newcomers), np.stack(patterns)


def _exchange(n: int, k: int, port: int, smaller: int) -> tuple[Indices, Ranks]:
    """Return how crossing a port changes the first symbol and the pattern.

    Args:
        n: the number of symbols.
        k: the length of labels.
        port: a port outside the prefix.
        smaller: how many symbols of the rest are smaller than the old first symbol.

    Returns:
        For each pattern, the index in the rest of the new first symbol, and the rank of the new
        pattern; both ``[size]``.
    """
    blocks = _blocks(n, k)
    patterns = blocks.patterns
    position = port - 1 - (k - blocks.m)
    newcomer = patterns[:, position] if port <= k else _next_in_clique(n, k, port - k, smaller)
    after = patterns - (patterns > newcomer[:, None]) + (patterns >= smaller)
    if port <= k:
        after[:, position] = smaller - (newcomer < smaller)
    return newcomer, blocks.ranks(after)


def _next_in_clique(n: int, k: int, steps: int, smaller: int) -> Indices:
    """Return, for each pattern, the symbol ``steps`` places after the node's first symbol.

    Places are counted cyclically through the sorted first symbols of the node's clique. The result
    has indices in the rest, ``[size]``.
    """
    blocks = _blocks(n, k)
    is_missing = np.ones((blocks.size, blocks.rest.shape[1]), dtype=bool)
    np.put_along_axis(is_missing, blocks.patterns, values=False, axis=1)
    others = np.nonzero(is_missing)[1].reshape(blocks.size, n - k)
    index = (others < smaller).sum(axis=1)
    target = (index + steps) % (n - k + 1)
    chosen = (target - (target > index))[:, None]
    return np.asarray(np.take_along_axis(others, chosen, axis=1)[:, 0])


@lru_cache(maxsize=2)
def _first_rank_by_newcomer(n: int, k: int) -> Ranks:
    """Return the first rank of the block reached by replacing a block's first symbol."""
    blocks = _blocks(n, k)
    return first_ranks(n, blocks.prefix, blocks.rest, blocks.size)


class _Relabelling(_NkArray):
    """A `NodeArray` that depends on the ranks of patterns after their symbols are relabelled."""

    _order: Perms  # [blocks, r]

    def _relabelled(self, chunk: slice) -> Ranks:
        """Return the rank of each pattern after relabelling, ``[blocks, size]``."""
        size, m = self._blocks.size, self._blocks.m
        patterns = self._order[chunk][:, self._blocks.patterns]
        return self._blocks.ranks(patterns.reshape(len(patterns) * size, m)).reshape(-1, size)


def _order(values: NDArray[np.integer]) -> Perms:
    """Return the position that every entry has in its row after sorting."""
    return np.argsort(np.argsort(values, axis=1), axis=1).astype(np.uint8)


class Images(_Relabelling):
    """The image (q[p_1], .., q[p_k]) of each node p, for a permutation q of 1..n."""

    dtype = np.int32

    def __init__(self, n: int, k: int, q: Perms) -> None:
        super().__init__(n, k)
        blocks = self._blocks
        prefix_rank = permutations.arrangement_rank(permutations.compose(q, blocks.prefix), n)
        self._first = prefix_rank * np.int32(blocks.size)
        self._order = _order(permutations.compose(q, blocks.rest))

    def _fill(self, chunk: slice, out: Ranks) -> None:
        np.add(self._first[chunk, None], self._relabelled(chunk), out=out)


class Distances(_Relabelling):
    """The distance of each node from a root.

    Consider the mapping of each position to the position of its symbol in the root. It has c closed
    cycles, of which f are fixed points, and beta symbols of the label are not in the root. The
    distance is k + c - 2f + beta, plus 1 if beta > 0, less 2 if the first symbol is not the root's.
    This is the formula M + alpha + M' + beta + [beta > 0] - 2 [p_1 != 1] of
    docs/definitions/nk-star.md: M + M' is k - f, and alpha is c - f.
    """

    dtype = np.uint8

    def __init__(self, n: int, k: int, extended_root: Perms) -> None:
        super().__init__(n, k)
        blocks = self._blocks
        # A symbol's position in the root, from 0. Positions from k on mean that the root lacks it.
        home = permutations.inverse(extended_root).astype(np.int16) - 1
        prefix, self._rest = home[blocks.prefix - 1], home[blocks.rest - 1]
        base, exits = through_prefix(prefix, self._rest, self._width)
        self._base = (base + k - 2 * (prefix[:, 0] != 0)).astype(np.uint8)
        self._beta = (prefix >= k).sum(axis=1, dtype=np.uint8)
        # A symbol of the rest becomes s if the path from it ends at suffix position s. Symbols
        # whose paths end outside the label get the higher numbers.
        self._order = _order(exits)
        self._cycles = _closed_cycles(blocks.rest.shape[1], blocks.m)

    def _fill(self, chunk: slice, out: NDArray[np.uint8]) -> None:
        np.add(self._cycles[self._relabelled(chunk)], self._base[chunk, None], out=out)
        beta = np.repeat(self._beta[chunk, None], out.shape[1], axis=1)
        for position, chosen in enumerate(self._blocks.patterns.T):
            rest = self._rest[chunk][:, chosen]
            out -= 2 * (rest == self._width + position).astype(np.uint8)
            beta += rest >= self._k
        out += beta
        out += beta > 0


@lru_cache(maxsize=8)
def _closed_cycles(symbols: int, m: int) -> NDArray[np.uint8]:
    """Return the number of closed cycles of each pattern, uint8 ``[size]``.

    Fixed points count as cycles.
    """
    counts = []
    for row in (permutations.arrangements(symbols, m).astype(int) - 1).tolist():
        least = [_least_of_cycle(row, start) for start in range(m)]
        counts.append(sum(least[start] == start for start in range(m)))
    return np.array(counts, dtype=np.uint8)


def _least_of_cycle(row: list[int], start: int) -> int:
    """Return the smallest index on the cycle through ``start``; -1 if the path leaves the row."""
    least, index = start, row[start]
    while index != start:
        if index >= len(row):
            return -1
        least = min(least, index)
        index = row[index]
    return least
