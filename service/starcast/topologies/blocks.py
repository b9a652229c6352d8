"""Arrays over all nodes of S_n, computed block by block.

A *block* is a run of consecutive ranks: the nodes that share a *prefix*, their first n-m symbols.
Within a block the last m symbols, the *suffix*, take all their orders, in rank order. The effect of
an operation on the prefix is computed once per block; its effect on the suffix is looked up in
tables of m! entries. No array of labels is ever stored for all nodes.

The *rest* of a block is the ascending list of the m symbols that the prefix lacks. A suffix is
stored as a *pattern*: the indices of its symbols in the rest, a permutation of 0..m-1
(docs/definitions/encodings.md, docs/decisions/0005-blocks.md).
"""

from functools import lru_cache
from math import factorial
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from starcast.topologies import permutations
from starcast.topologies.permutations import Perms, Ranks

# Number of blocks computed together: their temporary arrays fit into the second-level cache.
CHUNK = 64
# Largest length of a suffix: a block's 6! = 720 values, and most tables, fit into the first-level
# cache.
_SUFFIX = 6
_TRIPLE = 3  # number of suffix positions whose fixed points are looked up together


class _Blocks(NamedTuple):
    m: int  # symbols of the suffix
    size: int  # m!, the nodes of a block
    prefix: Perms  # [blocks, n-m]
    rest: Perms  # [blocks, m]: the other symbols, ascending


@lru_cache(maxsize=4)
def _blocks(n: int) -> _Blocks:
    m = min(_SUFFIX, n - 1)
    prefix = permutations.arrangements(n, n - m)
    return _Blocks(m, factorial(m), prefix, missing_symbols(prefix, n))


def missing_symbols(rows: Perms, n: int) -> Perms:
    """Return the symbols of 1..n that each row lacks, ascending, uint8 ``[count, n - length]``."""
    missing = np.ones((len(rows), n + 1), dtype=bool)
    missing[:, 0] = False
    np.put_along_axis(missing, rows, values=False, axis=1)
    return np.nonzero(missing)[1].reshape(len(rows), n - rows.shape[1]).astype(np.uint8)


def chunks(n: int) -> list[slice]:
    """Return slices that together cover the ranks of S_n, each of several complete blocks."""
    return chunk_slices(len(_blocks(n).prefix), _blocks(n).size)


def chunk_slices(count: int, size: int) -> list[slice]:
    """Return slices that together cover the ranks of ``count`` blocks of ``size`` nodes each."""
    step, nodes = CHUNK * size, count * size
    return [slice(start, min(start + step, nodes)) for start in range(0, nodes, step)]


class NodeArray:
    """An array with one value per node, whose values are computed a few blocks at a time.

    Args:
        count: the number of blocks.
        size: the number of nodes of each block.
    """

    dtype: ClassVar[type[np.generic]]

    def __init__(self, count: int, size: int) -> None:
        self._count, self._size = count, size

    def _fill(self, chunk: slice, out: NDArray[Any]) -> None:
        """Write the values for a slice of blocks, ``[blocks, size]``."""
        raise NotImplementedError

    def all(self) -> NDArray[Any]:
        """Return the values of all nodes, ``[nodes]``."""
        out = np.empty(self._count * self._size, dtype=self.dtype)
        self.fill(out)
        return out

    def fill(self, out: NDArray[Any]) -> None:
        """Write the values of all nodes into an array ``[nodes]``.

        Reusing an array saves time: the first access to new memory costs more than the arithmetic.
        """
        rows = out.reshape(self._count, self._size)
        for start in range(0, self._count, CHUNK):
            chunk = slice(start, start + CHUNK)
            self._fill(chunk, rows[chunk])

    def part(self, ranks: slice) -> NDArray[Any]:
        """Return the values of the nodes in one chunk."""
        size = self._size
        out = np.empty(((ranks.stop - ranks.start) // size, size), dtype=self.dtype)
        self._fill(slice(ranks.start // size, ranks.stop // size), out)
        return out.reshape(-1)


class _StarArray(NodeArray):
    """A `NodeArray` over the nodes of S_n."""

    def __init__(self, n: int) -> None:
        self._blocks = _blocks(n)
        super().__init__(len(self._blocks.prefix), self._blocks.size)


class Neighbours(_StarArray):
    """The neighbours across port ``index + 1``, which swaps positions 0 and ``index`` (from 0)."""

    dtype = np.int32

    def __init__(self, n: int, index: int) -> None:
        super().__init__(n)
        blocks = self._blocks
        self.within_prefix = index < n - blocks.m
        if self.within_prefix:
            swapped = blocks.prefix.copy()
            swapped[:, [0, index]] = swapped[:, [index, 0]]
            self._first = permutations.arrangement_rank(swapped, n) * np.int32(blocks.size)
            self._orders = np.arange(blocks.size, dtype=np.int32)
            return
        s = index - (n - blocks.m)
        self._first = _first_rank_by_newcomer(n)
        self._chosen = permutations.table(blocks.m)[:, s].astype(np.intp)
        self._smaller = (blocks.rest < blocks.prefix[:, :1]).sum(axis=1)
        self._orders = _replacement_ranks(blocks.m)[:, s].astype(np.int32)

    def _fill(self, chunk: slice, out: Ranks) -> None:
        if self.within_prefix:
            np.add(self._first[chunk, None], self._orders, out=out)
            return
        # With numpy's default mode, "raise", `take` would fill a buffer and copy it into `out`.
        np.take(self._first[chunk], self._chosen, axis=1, out=out, mode="clip")
        out += np.take(self._orders, self._smaller[chunk], axis=0)

    def read_values(self, values: NDArray[np.uint8], ranks: slice) -> NDArray[np.uint8]:
        """Return an array's values at a chunk's neighbours across a port within the prefix."""
        size = self._size
        neighbours = self._first[ranks.start // size : ranks.stop // size] // size
        return np.take(values.reshape(-1, size), neighbours, axis=0, mode="clip").reshape(-1)


@lru_cache(maxsize=2)
def _first_rank_by_newcomer(n: int) -> Ranks:
    """Return the first rank of the block reached by replacing a block's first symbol.

    Returns:
        int32 ``[blocks, m]``, by the block and by the index of the new symbol in its rest.
    """
    blocks = _blocks(n)
    return first_ranks(n, blocks.prefix, blocks.rest, blocks.size)


def first_ranks(n: int, prefix: Perms, rest: Perms, size: int) -> Ranks:
    """Return the first rank of each block whose first symbol is replaced by one of its rest.

    Returns:
        int32 ``[blocks, symbols of the rest]``.
    """
    first = np.empty(rest.shape, dtype=np.int32)
    for index, newcomer in enumerate(rest.T):
        changed = prefix.copy()
        changed[:, 0] = newcomer
        first[:, index] = permutations.arrangement_rank(changed, n)
    return first * np.int32(size)


@lru_cache(maxsize=8)
def _replacement_ranks(m: int) -> NDArray[np.int16]:
    """Return the ranks of suffix patterns in which a prefix symbol has replaced one of the symbols.

    Returns:
        int16 ``[m+1, m, m!]``. Entry (q, s, pattern) is the rank of the new pattern if the symbol
        at position s is replaced by one that is greater than q symbols of the old suffix.
    """
    out = np.empty((m + 1, m, factorial(m)), dtype=np.int16)
    patterns = permutations.table(m).astype(np.int16)
    for q in range(m + 1):
        for s in range(m):
            leaving = patterns[:, s]
            changed = patterns - (patterns > leaving[:, None]) + (patterns >= q)
            changed[:, s] = q - (leaving < q)
            out[q, s] = permutations.rank((changed + 1).astype(np.uint8))
    return out


class Images(_StarArray):
    """The image of each node under the translation that maps the identity to the node q."""

    dtype = np.int32

    def __init__(self, n: int, q: Perms) -> None:
        super().__init__(n)
        blocks = self._blocks
        prefix_rank = permutations.arrangement_rank(permutations.compose(q, blocks.prefix), n)
        self._first = prefix_rank * np.int32(blocks.size)
        # Sorting twice gives the rank of each image among the images of its block.
        order = np.argsort(np.argsort(permutations.compose(q, blocks.rest), axis=1), axis=1)
        self._pattern = permutations.rank((order + 1).astype(np.uint8))
        self._within = permutations.composition_table(blocks.m)

    def _fill(self, chunk: slice, out: Ranks) -> None:
        within = np.take(self._within, self._pattern[chunk], axis=0)
        np.add(self._first[chunk, None], within, out=out)


class Distances(_StarArray):
    """The distance of each node from a root.

    Consider the permutation that maps each position to the position of its symbol in the root. With
    c cycles, of which f are fixed points, the distance is n + c - 2f, less 2 if the first symbol is
    not the root's. Cycles within the prefix are counted once per block. All other paths through the
    prefix start and end in the suffix. Together with the suffix pattern they form the other cycles.
    """

    dtype = np.uint8

    def __init__(self, n: int, root: Perms) -> None:
        super().__init__(n)
        blocks = self._blocks
        width = n - blocks.m
        # home[s - 1] is the index of symbol s in the root.
        home = permutations.inverse(root).astype(np.int16) - 1
        prefix, rest = home[blocks.prefix - 1], home[blocks.rest - 1]
        base, exits = through_prefix(prefix, rest, width)
        self._base = (base + n - 2 * (blocks.prefix[:, 0] != root[0])).astype(np.uint8)
        self._pattern = permutations.rank((exits + 1).astype(np.uint8))
        self._cycles = permutations.cycle_count_table(blocks.m)
        # The value m marks a position at which the root has a symbol of the prefix. Such a position
        # is never a fixed point.
        at_home = np.full((len(prefix), blocks.m), blocks.m)
        block, k = np.nonzero(rest >= width)
        at_home[block, rest[block, k] - width] = k
        self._gains = []
        for start in range(0, blocks.m, _TRIPLE):
            triple = tuple(range(start, min(start + _TRIPLE, blocks.m)))
            column = np.ravel_multi_index(at_home[:, triple].T, (blocks.m + 1,) * len(triple))
            self._gains.append((_fixed_point_gain(blocks.m, triple), column))

    def _fill(self, chunk: slice, out: NDArray[np.uint8]) -> None:
        np.take(self._cycles, self._pattern[chunk], axis=0, out=out, mode="clip")
        out += self._base[chunk, None]
        for gain, column in self._gains:
            out -= np.take(gain, column[chunk], axis=0)


@lru_cache(maxsize=8)
def _fixed_point_gain(m: int, positions: tuple[int, ...]) -> NDArray[np.uint8]:
    """Return twice the number of fixed points of each suffix pattern among the given positions.

    Returns:
        uint8 ``[(m+1)^positions, m!]``. The first index has one digit in base m+1 per position: the
        index in the rest of the root's symbol at this position, or m if the prefix has that symbol.
    """
    gain = np.zeros((1, factorial(m)), dtype=np.uint8)
    for position in positions:
        fixed = permutations.table(m)[:, position] == np.arange(m + 1)[:, None]
        gain = (gain[:, None, :] + 2 * fixed.astype(np.uint8)).reshape(-1, factorial(m))
    return gain


def through_prefix(
    prefix: NDArray[np.int16], rest: NDArray[np.int16], width: int
) -> tuple[NDArray[np.int64], NDArray[np.int16]]:
    """Follow each block's permutation through its prefix, by pointer doubling.

    The permutation maps each position to the position of its symbol in the root, its home.

    Args:
        prefix: the home positions of the prefix's symbols, ``[blocks, width]``.
        rest: the home positions of the rest's symbols, ``[blocks, symbols]``.
        width: the length of the prefix; paths end at positions from there on.

    Returns:
        Two arrays: for each block the number of cycles within the prefix minus twice the number of
        its fixed points, int64 ``[blocks]``; and for each symbol of the rest the suffix position,
        counted from 0, at which the path from it leaves the prefix, int16 ``[blocks, symbols]``.
    """
    count = int(max(prefix.max(), rest.max(), width)) + 1
    # Positions are at most 35, so int8 suffices.
    target = np.empty((len(prefix), count), dtype=np.int8)
    target[:, :width] = prefix
    target[:, width:] = np.arange(width, count)
    block = count * np.arange(len(prefix), dtype=np.int64)[:, None]
    smallest = np.broadcast_to(np.arange(count, dtype=np.int8), target.shape).copy()
    # After i rounds of pointer doubling, a pointer has followed up to 2^i positions.
    for _ in range(width.bit_length()):
        ahead = target + block
        np.minimum(smallest, smallest.take(ahead), out=smallest)
        target = target.take(ahead)
    positions = np.arange(width)
    closed = (target[:, :width] < width) & (smallest[:, :width] == positions)
    base = closed.sum(axis=1) - 2 * (prefix == positions).sum(axis=1)
    return base, (target.take(rest + block) - width).astype(np.int16)
