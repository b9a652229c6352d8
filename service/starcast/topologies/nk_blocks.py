"""Arrays over all nodes of S_{n,k}, a block at a time, as `starcast.topologies.blocks` makes those of S_n.

A *block* is the run of ranks that share a prefix, the first k-m symbols. That leaves r = n-k+m symbols, the *rest*, and
within the block the last m positions run through all arrangements of these in rank order. A *pattern* is such an
arrangement of the places 0..r-1 in the rest, so that one table of patterns serves all blocks.
"""

from functools import lru_cache
from math import perm
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from starcast import permutations
from starcast.permutations import Perms, Ranks
from starcast.topologies.blocks import through_prefix

_MOST = 1000  # patterns of a block: with so many blocks at a time the temporaries fit into the second-level cache
_CHUNK = 64

Places = NDArray[np.intp]


class _Blocks(NamedTuple):
    m: int  # positions of the suffix
    size: int  # nodes a block
    patterns: Places  # [size, m]
    prefix: Perms  # [blocks, k-m]
    rest: Perms  # [blocks, r]: the other symbols, ascending


@lru_cache(maxsize=4)
def _blocks(n: int, k: int) -> _Blocks:
    m = max(m for m in range(k) if perm(n - k + m, m) <= _MOST)
    patterns = permutations.arrangements(n - k + m, m).astype(np.intp) - 1
    prefix = permutations.arrangements(n, k - m)
    free = np.ones((len(prefix), n + 1), dtype=bool)
    free[:, 0] = False
    np.put_along_axis(free, prefix, values=False, axis=1)
    rest = np.nonzero(free)[1].reshape(len(prefix), n - k + m).astype(np.uint8)
    return _Blocks(m, len(patterns), patterns, prefix, rest)


def chunks(n: int, k: int) -> list[slice]:
    """The nodes of S_{n,k} as slices of ranks, each a few whole blocks."""
    blocks = _blocks(n, k)
    step, nodes = _CHUNK * blocks.size, len(blocks.prefix) * blocks.size
    return [slice(start, min(start + step, nodes)) for start in range(0, nodes, step)]


class _PerNode:
    """One value a node, made for whole blocks at a time."""

    dtype: ClassVar[type[np.generic]]

    def __init__(self, n: int, k: int) -> None:
        self._n, self._k = n, k
        self._blocks = _blocks(n, k)
        self._width = k - self._blocks.m

    def _fill(self, chunk: slice, out: NDArray[Any]) -> None:
        """Write the values of a slice of blocks, ``[blocks, size]``."""
        raise NotImplementedError

    def all(self) -> NDArray[Any]:
        """The values of all nodes, ``[nodes]``."""
        out = np.empty((len(self._blocks.prefix), self._blocks.size), dtype=self.dtype)
        for start in range(0, len(out), _CHUNK):
            chunk = slice(start, start + _CHUNK)
            self._fill(chunk, out[chunk])
        return out.reshape(-1)

    def part(self, ranks: slice) -> NDArray[Any]:
        """The values of the nodes of one of `chunks`."""
        size = self._blocks.size
        out = np.empty(((ranks.stop - ranks.start) // size, size), dtype=self.dtype)
        self._fill(slice(ranks.start // size, ranks.stop // size), out)
        return out.reshape(-1)

    def _ranks(self, patterns: NDArray[np.integer]) -> Ranks:
        return permutations.arrangement_rank(
            (patterns + 1).astype(np.uint8), self._blocks.rest.shape[1]
        )


class Neighbours(_PerNode):
    """The node across a port."""

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
        # The symbol that comes to the front and the pattern that stays depend on how many of the rest are smaller than p_1.
        self._first = _first_rank_by_newcomer(n, k)
        self._smaller = (blocks.rest < blocks.prefix[:, :1]).sum(axis=1)
        moves = [self._exchange(port, smaller) for smaller in range(blocks.rest.shape[1] + 1)]
        self._newcomer = np.stack([newcomer for newcomer, _ in moves])
        self._patterns = np.stack([pattern for _, pattern in moves])

    def _fill(self, chunk: slice, out: Ranks) -> None:
        if self._within_prefix:
            np.add(self._first[chunk, None], self._patterns, out=out)
            return
        smaller = self._smaller[chunk]
        out[:] = np.take_along_axis(self._first[chunk], self._newcomer[smaller], axis=1)
        out += self._patterns[smaller]

    def _exchange(self, port: int, smaller: int) -> tuple[Places, Ranks]:
        """Which symbol of the rest comes to the front, and the rank of the pattern after that, ``[size]`` each."""
        patterns = self._blocks.patterns
        place = port - 1 - self._width
        newcomer = (
            patterns[:, place] if port <= self._k else self._next_in_clique(port - self._k, smaller)
        )
        after = patterns - (patterns > newcomer[:, None]) + (patterns >= smaller)
        if port <= self._k:
            after[:, place] = smaller - (newcomer < smaller)
        return newcomer, self._ranks(after)

    def _next_in_clique(self, steps: int, smaller: int) -> Places:
        """The symbol of the rest that is so many steps on from p_1 in the sorted clique, ``[size]``."""
        missing = np.ones((self._blocks.size, self._blocks.rest.shape[1]), dtype=bool)
        np.put_along_axis(missing, self._blocks.patterns, values=False, axis=1)
        others = np.nonzero(missing)[1].reshape(self._blocks.size, self._n - self._k)
        at = (others < smaller).sum(axis=1)
        there = (at + steps) % (self._n - self._k + 1)
        return np.asarray(np.take_along_axis(others, (there - (there > at))[:, None], axis=1)[:, 0])


@lru_cache(maxsize=2)
def _first_rank_by_newcomer(n: int, k: int) -> Ranks:
    """``[blocks, r]``: the first rank of the block whose prefix begins with that symbol of the rest instead."""
    blocks = _blocks(n, k)
    first = np.empty(blocks.rest.shape, dtype=np.int32)
    for place in range(blocks.rest.shape[1]):
        moved = blocks.prefix.copy()
        moved[:, 0] = blocks.rest[:, place]
        first[:, place] = permutations.arrangement_rank(moved, n)
    first *= blocks.size
    return first


class _Relabelling(_PerNode):
    """What has to move the patterns: each block has its own order of the rest."""

    _order: Perms  # [blocks, r]

    def _moved(self, chunk: slice) -> Ranks:
        """``[blocks, size]``: the ranks of all patterns with order[u] for u."""
        moved = self._order[chunk][:, self._blocks.patterns]
        return self._ranks(
            moved.reshape(moved.shape[0] * self._blocks.size, self._blocks.m)
        ).reshape(-1, self._blocks.size)


def _order(values: NDArray[np.integer]) -> Perms:
    """The place of every entry in its row, from the smallest on."""
    return np.argsort(np.argsort(values, axis=1), axis=1).astype(np.uint8)


class Images(_Relabelling):
    """The node (q[p_1], .., q[p_k]) for a permutation q of 1..n."""

    dtype = np.int32

    def __init__(self, n: int, k: int, q: Perms) -> None:
        super().__init__(n, k)
        blocks = self._blocks
        self._first = permutations.arrangement_rank(
            permutations.compose(q, blocks.prefix), n
        ) * np.int32(blocks.size)
        self._order = _order(permutations.compose(q, blocks.rest))

    def _fill(self, chunk: slice, out: Ranks) -> None:
        np.add(self._first[chunk, None], self._moved(chunk), out=out)


class Distances(_Relabelling):
    """The distance to a root: k + cycles - 2 fixed points + beta + [beta > 0] - 2 if the first symbol is not the root's.

    That is the page's M + alpha + M' + beta + [beta > 0] - 2 [p_1 != 1]: M + M' is k less the fixed points, and alpha is the
    internal cycles, fixed points among them, less the fixed points. beta counts the label's symbols that the root lacks.
    """

    dtype = np.uint8

    def __init__(self, n: int, k: int, extended_root: Perms) -> None:
        super().__init__(n, k)
        blocks = self._blocks
        home = (
            permutations.inverse(extended_root).astype(np.int16) - 1
        )  # from 0; from k on the symbol is external
        prefix, self._rest = home[blocks.prefix - 1], home[blocks.rest - 1]
        base, way = through_prefix(prefix, self._rest, self._width)
        self._base = (base + k - 2 * (prefix[:, 0] != 0)).astype(np.uint8)
        self._beta = (prefix >= k).sum(axis=1, dtype=np.uint8)
        self._order = _order(
            way
        )  # the symbol that leads to place s of the suffix is s-th; those that lead outside follow
        self._cycles = _closed_cycles(blocks.rest.shape[1], blocks.m)

    def _fill(self, chunk: slice, out: NDArray[np.uint8]) -> None:
        np.add(self._cycles[self._moved(chunk)], self._base[chunk, None], out=out)
        beta = np.repeat(self._beta[chunk, None], out.shape[1], axis=1)
        for place, chosen in enumerate(self._blocks.patterns.T):
            rest = self._rest[chunk][:, chosen]
            out -= 2 * (rest == self._width + place).astype(np.uint8)
            beta += rest >= self._k
        out += beta
        out += beta > 0


@lru_cache(maxsize=8)
def _closed_cycles(places: int, m: int) -> NDArray[np.uint8]:
    """The cycles, fixed points included, that each pattern closes among 0..m-1, uint8 ``[size]``."""
    counts = []
    for row in (permutations.arrangements(places, m).astype(int) - 1).tolist():
        least = [_least_of_cycle(row, start) for start in range(m)]
        counts.append(sum(least[start] == start for start in range(m)))
    return np.array(counts, dtype=np.uint8)


def _least_of_cycle(row: list[int], start: int) -> int:
    """The least place of the cycle through ``start``, -1 if there is none: the walk ends at a place without an image."""
    least, at = start, row[start]
    while at != start:
        if at >= len(row):
            return -1
        least, at = min(least, at), row[at]
    return least
