"""Arrays over all nodes of S_n, a block at a time (docs/definitions/encodings.md; `docs/decisions/0005-blocks.md`).

A *block* is the run of ranks that share a prefix, the first n-m symbols; within it the last m symbols run through all their
orders in rank order. What happens to the prefix is computed once a block; what happens to the suffix is looked up in tables
of m! entries. Nothing of the size of a node's label is stored for every node.

A suffix *pattern* is an order of 0..m-1, the places of the suffix's symbols among the symbols that the prefix leaves, the
*rest*; ``lo`` is its rank.
"""

from functools import lru_cache
from math import factorial
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from starcast import permutations
from starcast.permutations import Perms, Ranks

_SUFFIX = 6  # 6! = 720 orders: a block's row and most tables fit into the first-level cache
_CHUNK = 64  # blocks at a time: the temporaries fit into the second-level cache
_TRIPLE = 3  # places of the suffix whose symbols at home are looked up together


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


def chunks(n: int) -> list[slice]:
    """The nodes of S_n as slices of ranks, each a few whole blocks."""
    blocks = _blocks(n)
    step, nodes = _CHUNK * blocks.size, len(blocks.prefix) * blocks.size
    return [slice(start, min(start + step, nodes)) for start in range(0, nodes, step)]


class _PerNode:
    """One value a node, made for whole blocks at a time."""

    dtype: ClassVar[type[np.generic]]

    def __init__(self, n: int) -> None:
        self._n = n
        self._blocks = _blocks(n)

    def _fill(self, chunk: slice, out: NDArray[Any]) -> None:
        """Write the values of a slice of blocks, ``[blocks, m!]``."""
        raise NotImplementedError

    def all(self) -> NDArray[Any]:
        """The values of all nodes, ``[n!]``."""
        out = np.empty(len(self._blocks.prefix) * self._blocks.size, dtype=self.dtype)
        self.fill(out)
        return out

    def fill(self, out: NDArray[Any]) -> None:
        """Write the values of all nodes into an array ``[n!]``: touching fresh memory costs more than the arithmetic."""
        rows = out.reshape(-1, self._blocks.size)
        for start in range(0, len(rows), _CHUNK):
            chunk = slice(start, start + _CHUNK)
            self._fill(chunk, rows[chunk])

    def part(self, ranks: slice) -> NDArray[Any]:
        """The values of the nodes of one of `chunks`."""
        size = self._blocks.size
        out = np.empty(((ranks.stop - ranks.start) // size, size), dtype=self.dtype)
        self._fill(slice(ranks.start // size, ranks.stop // size), out)
        return out.reshape(-1)


class Neighbours(_PerNode):
    """The node across port ``place + 1``: positions 0 and ``place`` exchanged."""

    dtype = np.int32

    def __init__(self, n: int, place: int) -> None:
        super().__init__(n)
        blocks = self._blocks
        self.within_prefix = place < n - blocks.m
        if self.within_prefix:
            swapped = blocks.prefix.copy()
            swapped[:, [0, place]] = swapped[:, [place, 0]]
            self._first = permutations.arrangement_rank(swapped, n) * np.int32(blocks.size)
            self._orders = np.arange(blocks.size, dtype=np.int32)
            return
        s = place - (n - blocks.m)
        self._first = _first_rank_by_newcomer(n)
        self._chosen = permutations.table(blocks.m)[:, s].astype(np.intp)
        self._smaller = (blocks.rest < blocks.prefix[:, :1]).sum(axis=1)
        self._orders = _replacement_ranks(blocks.m)[:, s].astype(np.int32)

    def _fill(self, chunk: slice, out: Ranks) -> None:
        if self.within_prefix:
            np.add(self._first[chunk, None], self._orders, out=out)
            return
        np.take(self._first[chunk], self._chosen, axis=1, out=out, mode="clip")
        out += np.take(self._orders, self._smaller[chunk], axis=0)

    def seen(self, values: NDArray[np.uint8], ranks: slice) -> NDArray[np.uint8]:
        """What an array over all nodes has across from the nodes of one of `chunks`, for a port within the prefix."""
        size = self._blocks.size
        across = self._first[ranks.start // size : ranks.stop // size] // size
        return np.take(values.reshape(-1, size), across, axis=0, mode="clip").reshape(-1)


@lru_cache(maxsize=2)
def _first_rank_by_newcomer(n: int) -> Ranks:
    """``[blocks, m]``: the first rank of the block whose prefix begins with the k-th symbol of the rest instead."""
    blocks = _blocks(n)
    first = np.empty(blocks.rest.shape, dtype=np.int32)
    for k in range(blocks.m):
        moved = blocks.prefix.copy()
        moved[:, 0] = blocks.rest[:, k]
        first[:, k] = permutations.arrangement_rank(moved, n)
    first *= blocks.size
    return first


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


class Images(_PerNode):
    """The image under the translation that takes the identity to q."""

    dtype = np.int32

    def __init__(self, n: int, q: Perms) -> None:
        super().__init__(n)
        blocks = self._blocks
        self._first = permutations.arrangement_rank(
            permutations.compose(q, blocks.prefix), n
        ) * np.int32(blocks.size)
        order = np.argsort(np.argsort(permutations.compose(q, blocks.rest), axis=1), axis=1)
        self._pattern = permutations.rank((order + 1).astype(np.uint8))
        self._within = permutations.composition_table(blocks.m)

    def _fill(self, chunk: slice, out: Ranks) -> None:
        np.add(
            self._first[chunk, None], np.take(self._within, self._pattern[chunk], axis=0), out=out
        )


class Distances(_PerNode):
    """The distance to a root: n + cycles - 2 fixed points - 2 if the first symbol is not the root's.

    Cycles and fixed points are those of the permutation that takes each position to the place in the root of the symbol that
    stands there. In the prefix they are counted once a block; the rest of the cycles is that of the suffix pattern followed
    by the way that the prefix leads back into the suffix.
    """

    dtype = np.uint8

    def __init__(self, n: int, root: Perms) -> None:
        super().__init__(n)
        blocks = self._blocks
        width = n - blocks.m
        home = (
            permutations.inverse(root).astype(np.int16) - 1
        )  # home[symbol - 1]: its place in the root, from 0
        prefix, rest = home[blocks.prefix - 1], home[blocks.rest - 1]
        base, way = through_prefix(prefix, rest, width)
        self._base = (base + n - 2 * (blocks.prefix[:, 0] != root[0])).astype(np.uint8)
        self._pattern = permutations.rank((way + 1).astype(np.uint8))
        self._cycles = permutations.cycle_count_table(blocks.m)
        at_home = np.full((len(prefix), blocks.m), blocks.m)
        block, k = np.nonzero(rest >= width)
        at_home[block, rest[block, k] - width] = k
        self._gains = []
        for start in range(0, blocks.m, _TRIPLE):
            places = tuple(range(start, min(start + _TRIPLE, blocks.m)))
            column = np.ravel_multi_index(at_home[:, places].T, (blocks.m + 1,) * len(places))
            self._gains.append((_fixed_point_gain(blocks.m, places), column))

    def _fill(self, chunk: slice, out: NDArray[np.uint8]) -> None:
        np.take(self._cycles, self._pattern[chunk], axis=0, out=out, mode="clip")
        out += self._base[chunk, None]
        for gain, column in self._gains:
            out -= np.take(gain, column[chunk], axis=0)


@lru_cache(maxsize=8)
def _fixed_point_gain(m: int, places: tuple[int, ...]) -> NDArray[np.uint8]:
    """``[(m+1)^places, m!]``: twice the number of places where a pattern puts the symbol that is at home there.

    The first index packs, for each place, the symbol's number in the rest; m stands for no symbol.
    """
    gain = np.zeros((1, factorial(m)), dtype=np.uint8)
    for place in places:
        here = permutations.table(m)[:, place] == np.arange(m + 1)[:, None]
        gain = (gain[:, None, :] + 2 * here.astype(np.uint8)).reshape(-1, factorial(m))
    return gain


def through_prefix(
    prefix: NDArray[np.int16], rest: NDArray[np.int16], width: int
) -> tuple[NDArray[np.int64], NDArray[np.int16]]:
    """Cycles closed in the prefix minus twice its fixed points, and where the walk from each rest symbol leaves it.

    By pointer doubling in every block at once: places from ``width`` on lead to themselves.
    """
    places = int(max(prefix.max(), rest.max(), width)) + 1
    leads = np.empty((len(prefix), places), dtype=np.int8)
    leads[:, :width], leads[:, width:] = prefix, np.arange(width, places)
    block = places * np.arange(len(prefix), dtype=np.int64)[:, None]
    smallest = np.broadcast_to(np.arange(places, dtype=np.int8), leads.shape).copy()
    for _ in range(width.bit_length()):
        ahead = leads + block
        np.minimum(smallest, smallest.take(ahead), out=smallest)
        leads = leads.take(ahead)
    here = np.arange(width)
    closed = (leads[:, :width] < width) & (smallest[:, :width] == here)
    base = closed.sum(axis=1) - 2 * (prefix == here).sum(axis=1)
    return base, (leads.take(rest + block) - width).astype(np.int16)
