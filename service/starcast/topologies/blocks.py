"""Arrays over all nodes of S_n and S_{n,k}, computed block by block; S_n is the case k = n.

The last m symbols of a label are its *suffix*; the first k-m symbols are its *prefix*. A *block* is
the set of nodes with the same prefix; their ranks are consecutive. The *rest* of a block is the
ascending list of the r = n-k+m symbols that the prefix lacks. The suffixes of a block are all
arrangements of m of these symbols, in rank order. A suffix is stored as a *pattern*: the indices
0..r-1 of its symbols in the rest. In S_4 with m = 2, for example, the block with the prefix 13 has
the rest 2 4. Its nodes are 1324 (rank 2, pattern 0 1) and 1342 (rank 3, pattern 1 0).

The effect of an operation on the prefix is computed once per block; its effect on the pattern is
looked up in tables that serve all blocks. No array of labels is ever stored for all nodes
(docs/definitions/encodings.md, docs/decisions/0005-blocks.md).
"""

from functools import lru_cache
from math import factorial, perm
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from starcast.support.arrays import Integers
from starcast.topologies import permutations
from starcast.topologies.permutations import Perms, Ranks

# Number of blocks computed together: their temporary arrays fit into the second-level cache.
CHUNK = 64
# Maximum number of patterns per block. A block of S_n has at most 6! = 720 patterns; its values,
# and most tables, fit into the first-level cache.
_MAX_PATTERNS = 1000
_TRIPLE = 3  # number of suffix positions that one table look-up checks for fixed points


class _Blocks(NamedTuple):
    """The blocks (nodes with the same prefix) of S_n or S_{n,k}, and the patterns of suffixes.

    A pattern has the indices of a suffix's symbols among the symbols that the prefix lacks.
    """

    m: int  # number of positions in the suffix
    size: int  # number of nodes per block
    patterns: NDArray[np.intp]  # [size, m]: indices of the suffix's symbols in the rest
    prefix: Perms  # [blocks, k-m]: the first symbols of the block's labels
    rest: Perms  # [blocks, r]: the other symbols, ascending

    def ranks(self, patterns: NDArray[np.integer]) -> Ranks:
        """Return the index of each suffix in its block, given its pattern, int32 ``[count]``."""
        rows = (patterns + 1).astype(np.uint8)
        return permutations.arrangement_rank(rows, self.rest.shape[1])


@lru_cache(maxsize=8)
def _blocks(n: int, k: int) -> _Blocks:
    m = max(m for m in range(k) if perm(n - k + m, m) <= _MAX_PATTERNS)
    patterns = permutations.arrangements(n - k + m, m).astype(np.intp) - 1
    prefix = permutations.arrangements(n, k - m)
    return _Blocks(m, len(patterns), patterns, prefix, missing_symbols(prefix, n))


def missing_symbols(rows: NDArray[np.integer], n: int) -> Perms:
    """Return the symbols of 1..n that each row lacks, sorted, uint8 ``[count, n - length]``."""
    missing = np.ones((len(rows), n + 1), dtype=bool)
    missing[:, 0] = False
    np.put_along_axis(missing, rows, values=False, axis=1)
    return np.nonzero(missing)[1].reshape(len(rows), n - rows.shape[1]).astype(np.uint8)


def chunks(n: int, k: int) -> list[slice]:
    """Return slices that together cover all ranks of S_{n,k}; each slice has only whole blocks."""
    blocks = _blocks(n, k)
    step, nodes = CHUNK * blocks.size, len(blocks.prefix) * blocks.size
    return [slice(start, min(start + step, nodes)) for start in range(0, nodes, step)]


class NodeArray:
    """An array with one value per node, whose values are computed a few blocks at a time.

    Args:
        n: the number of symbols.
        k: the length of labels.
    """

    dtype: ClassVar[type[np.generic]]

    def __init__(self, n: int, k: int) -> None:
        self._k = k
        self._blocks = _blocks(n, k)
        self._width = k - self._blocks.m
        self._count, self._size = len(self._blocks.prefix), self._blocks.size

    def _fill(self, chunk: slice, out: NDArray[Any]) -> None:
        """Write the values for a chunk of blocks into ``out``, which has one row per block."""
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
        """Return the values of the nodes in a slice of ranks that consists of complete blocks."""
        size = self._size
        out = np.empty(((ranks.stop - ranks.start) // size, size), dtype=self.dtype)
        self._fill(slice(ranks.start // size, ranks.stop // size), out)
        return out.reshape(-1)


class Neighbours(NodeArray):
    """The rank of each node's neighbour across a port."""

    dtype = np.int32

    def __init__(self, n: int, k: int, port: int) -> None:
        super().__init__(n, k)
        blocks = self._blocks
        self.within_prefix = port <= self._width
        if self.within_prefix:
            crossed = permutations.cross(blocks.prefix, port)
            self._first = permutations.arrangement_rank(crossed, n) * np.int32(blocks.size)
            self._patterns = np.arange(blocks.size, dtype=np.int32)
            return
        # Some of the symbols that the prefix lacks are smaller than the old first symbol. The new
        # first symbol and the new pattern depend on the number of these smaller symbols.
        self._first = _first_ranks(n, k)
        self._smaller = (blocks.rest < blocks.prefix[:, :1]).sum(axis=1)
        self._new_symbol, self._patterns = _exchanges(n, k, port)
        self._is_residual = port > k

    def _fill(self, chunk: slice, out: Ranks) -> None:
        if self.within_prefix:
            np.add(self._first[chunk, None], self._patterns, out=out)
            return
        smaller = self._smaller[chunk]
        if self._is_residual:
            out[:] = np.take_along_axis(self._first[chunk], self._new_symbol[smaller], axis=1)
        else:
            # The port exchanges two symbols, so the index of the new first symbol does not depend
            # on `smaller`. With numpy's default mode, "raise", `take` would fill a buffer and copy
            # it into `out`.
            np.take(self._first[chunk], self._new_symbol[0], axis=1, out=out, mode="clip")
        out += np.take(self._patterns, smaller, axis=0)

    def read_values(self, values: Integers, ranks: slice) -> Integers:
        """Return an array's values at the neighbours of the nodes in a slice of ranks.

        The slice must consist of complete blocks, and ``within_prefix`` must be True.
        """
        size = self._size
        neighbours = self._first[ranks.start // size : ranks.stop // size] // size
        return np.take(values.reshape(-1, size), neighbours, axis=0, mode="clip").reshape(-1)


@lru_cache(maxsize=4)
def _first_ranks(n: int, k: int) -> Ranks:
    """Return, for each block and each new first symbol, the lowest rank of the resulting block.

    Returns:
        int32 ``[blocks, r]``. The first index is the block before its first symbol is replaced. The
        second is the index of the new symbol among the r symbols that this block's prefix lacks.
    """
    blocks = _blocks(n, k)
    first = np.empty(blocks.rest.shape, dtype=np.int32)
    for index, new_symbol in enumerate(blocks.rest.T):
        changed = blocks.prefix.copy()
        changed[:, 0] = new_symbol
        first[:, index] = permutations.arrangement_rank(changed, n)
    return first * np.int32(blocks.size)


@lru_cache(maxsize=64)
def _exchanges(n: int, k: int, port: int) -> tuple[NDArray[np.intp], Ranks]:
    """Return how crossing a port changes first symbols and patterns, for each value of ``smaller``.

    Returns:
        Two arrays ``[r + 1, size]``, where r is the number of symbols that a prefix lacks. Row s
        contains the result of `_exchange` for ``smaller`` = s.
    """
    numbers = range(_blocks(n, k).rest.shape[1] + 1)
    new_symbols, patterns = zip(
        *(_exchange(n, k, port, smaller) for smaller in numbers), strict=True
    )
    return np.stack(new_symbols), np.stack(patterns)


def _exchange(n: int, k: int, port: int, smaller: int) -> tuple[NDArray[np.intp], Ranks]:
    """Return how crossing a port changes the first symbol and the pattern of the suffix.

    A pattern has the indices of a suffix's symbols among the symbols that the prefix lacks.

    Args:
        n: the number of symbols.
        k: the length of labels.
        port: a port outside the prefix.
        smaller: the number of symbols that the prefix lacks and that are smaller than the old
            first symbol.

    Returns:
        Two arrays ``[size]``, indexed by the old pattern: the new first symbol, as an index among
        the symbols that the prefix lacks, and the rank of the new pattern.
    """
    blocks = _blocks(n, k)
    patterns = blocks.patterns
    position = port - 1 - (k - blocks.m)
    new_symbol = patterns[:, position] if port <= k else _next_in_clique(n, k, port - k, smaller)
    after = patterns - (patterns > new_symbol[:, None]) + (patterns >= smaller)
    if port <= k:
        after[:, position] = smaller - (new_symbol < smaller)
    return new_symbol, blocks.ranks(after)


def _next_in_clique(n: int, k: int, steps: int, smaller: int) -> NDArray[np.intp]:
    """Return, for each node of a block, the symbol ``steps`` places after the first symbol.

    The nodes whose labels agree in all but the first symbol form a clique. Places are counted
    cyclically through the sorted first symbols of the node's clique. ``smaller`` is the number of
    symbols that the prefix lacks and that are smaller than the first symbol.

    Returns:
        The symbols as indices among the symbols that the prefix lacks, ``[size]``.
    """
    blocks = _blocks(n, k)
    others = missing_symbols(blocks.patterns + 1, blocks.rest.shape[1]).astype(np.intp) - 1
    index = (others < smaller).sum(axis=1)
    target = (index + steps) % (n - k + 1)
    chosen = (target - (target > index))[:, None]
    return np.asarray(np.take_along_axis(others, chosen, axis=1)[:, 0])


def _order(values: NDArray[np.integer]) -> Perms:
    """Return each value's position in its row after the row is sorted, uint8 of the same shape."""
    return np.argsort(np.argsort(values, axis=1), axis=1).astype(np.uint8)


class _Relabelling(NodeArray):
    """The base class of arrays that are computed by renaming the symbols of each node's suffix.

    Subclasses set ``_order``: for each block, the new index of each symbol that the prefix lacks.
    """

    _order: Perms

    def _relabelled(self, chunk: slice) -> Ranks:
        """Return the rank of each node's pattern after renaming, one row per block of the chunk."""
        size, m = self._blocks.size, self._blocks.m
        patterns = self._order[chunk][:, self._blocks.patterns]
        return self._blocks.ranks(patterns.reshape(len(patterns) * size, m)).reshape(-1, size)


class Images(_Relabelling):
    """The rank of the image (q[p_1], .., q[p_k]) of each node p, for a permutation q of 1..n."""

    dtype = np.int32

    def __init__(self, n: int, k: int, q: Perms) -> None:
        super().__init__(n, k)
        blocks = self._blocks
        prefix_rank = permutations.arrangement_rank(permutations.compose(q, blocks.prefix), n)
        self._first = prefix_rank * np.int32(blocks.size)
        self._order = _order(permutations.compose(q, blocks.rest))
        # In S_n, patterns and relabellings are permutations of the same symbols, so all results can
        # be looked up in one table of compositions.
        self._relabellings = blocks.ranks(self._order) if k == n else None

    def _fill(self, chunk: slice, out: Ranks) -> None:
        if self._relabellings is None:
            within = self._relabelled(chunk)
        else:
            compositions = permutations.composition_table(self._blocks.m)
            within = np.take(compositions, self._relabellings[chunk], axis=0)
        np.add(self._first[chunk, None], within, out=out)


class Distances(_Relabelling):
    """The distance of each node from a root.

    Map each position of a label to the position at which the root has the same symbol. Let c be the
    number of closed cycles of this mapping, f the number of its fixed points, and beta the number
    of the label's symbols that the root lacks. The distance is k + c - 2f + beta, plus 1 if
    beta > 0, minus 2 if the label and the root differ in the first symbol. In S_n, beta is 0.

    This is the formula M + alpha + M' + beta + [beta > 0] - 2 [p_1 != 1] of
    docs/definitions/nk-star.md: M + M' is k - f, and alpha is c - f.

    Cycles within the prefix are counted once per block. All other paths through the prefix lead
    from a symbol that the prefix lacks to a position of the suffix or, if k < n, out of the label.
    Together with the pattern, these paths form the other cycles.
    """

    dtype = np.uint8

    def __init__(self, n: int, k: int, extended_root: Perms) -> None:
        super().__init__(n, k)
        blocks = self._blocks
        # The position of each symbol in the extended root, counted from 0. Symbols that the root
        # lacks have positions >= k.
        home = permutations.inverse(extended_root).astype(np.int16) - 1
        prefix, self._rest = home[blocks.prefix - 1], home[blocks.rest - 1]
        base, exits = _through_prefix(prefix, self._rest, self._width)
        self._base = (base + k - 2 * (prefix[:, 0] != 0)).astype(np.uint8)
        # Each symbol of the rest is renamed to the suffix position at which its path through the
        # prefix ends. Symbols whose paths end outside the label get the numbers after these
        # positions.
        self._order = _order(exits)
        self._beta = (prefix >= k).sum(axis=1, dtype=np.uint8)
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


class StarDistances(Distances):
    """The distance of each node of S_n from a root, looked up in tables of suffix patterns."""

    def __init__(self, n: int, root: Perms) -> None:
        super().__init__(n, n, root)
        m = self._blocks.m
        self._pattern = self._blocks.ranks(self._order)
        self._cycles = permutations.cycle_count_table(m)
        # The value m marks a position at which the root has a symbol of the prefix. Such a position
        # is never a fixed point.
        at_home = np.full((len(self._rest), m), m)
        block, k = np.nonzero(self._rest >= self._width)
        at_home[block, self._rest[block, k] - self._width] = k
        self._gains = []
        for start in range(0, m, _TRIPLE):
            triple = tuple(range(start, min(start + _TRIPLE, m)))
            column = np.ravel_multi_index(at_home[:, triple].T, (m + 1,) * len(triple))
            self._gains.append((fixed_point_gain(m, triple), column))

    def _fill(self, chunk: slice, out: NDArray[np.uint8]) -> None:
        np.take(self._cycles, self._pattern[chunk], axis=0, out=out, mode="clip")
        out += self._base[chunk, None]
        for gain, column in self._gains:
            out -= np.take(gain, column[chunk], axis=0)


@lru_cache(maxsize=8)
def fixed_point_gain(m: int, positions: tuple[int, ...]) -> NDArray[np.uint8]:
    """Return, for each pattern, twice the number of its fixed points among given suffix positions.

    A position is a fixed point if the pattern has the root's symbol there.

    Returns:
        uint8 ``[(m+1)^len(positions), m!]``. The second index is the rank of the pattern. The first
        index is a number in base m+1 with one digit per position. The digit is m if the prefix
        contains the root's symbol at this position, and otherwise the index of this symbol among
        the m symbols that the prefix lacks.
    """
    gain = np.zeros((1, factorial(m)), dtype=np.uint8)
    for position in positions:
        fixed = permutations.table(m)[:, position] == np.arange(m + 1)[:, None]
        gain = (gain[:, None, :] + 2 * fixed.astype(np.uint8)).reshape(-1, factorial(m))
    return gain


def _through_prefix(
    prefix: NDArray[np.int16], rest: NDArray[np.int16], width: int
) -> tuple[NDArray[np.int64], NDArray[np.int16]]:
    """Find the cycles and paths of positions in each block's prefix, by pointer doubling.

    A cycle or path continues from a position to the *home* of its symbol, which is the symbol's
    position in the root.

    Args:
        prefix: the home positions of the prefix's symbols, ``[blocks, width]``.
        rest: the home positions of the symbols that the prefix lacks, ``[blocks, symbols]``.
        width: the length of the prefix; paths end at positions from ``width`` on.

    Returns:
        Two arrays. The first, int64 ``[blocks]``, is the number of cycles within each prefix, minus
        twice the number of fixed points. The second, int16 ``[blocks, symbols]``, has one entry for
        each symbol that the prefix lacks: the suffix position, counted from 0, to which the path
        from this symbol leads. A number beyond the suffix means that the path leaves the label.
    """
    count = int(max(prefix.max(), rest.max(), width)) + 1
    # Positions are at most 35, so int8 suffices.
    target = np.empty((len(prefix), count), dtype=np.int8)
    target[:, :width] = prefix
    target[:, width:] = np.arange(width, count)
    block = count * np.arange(len(prefix), dtype=np.int64)[:, None]
    smallest = np.broadcast_to(np.arange(count, dtype=np.int8), target.shape).copy()
    # After i rounds, `target` contains the positions that are 2^i steps ahead on the paths.
    for _ in range(width.bit_length()):
        ahead = target + block
        np.minimum(smallest, smallest.take(ahead), out=smallest)
        target = target.take(ahead)
    positions = np.arange(width)
    closed = (target[:, :width] < width) & (smallest[:, :width] == positions)
    base = closed.sum(axis=1) - 2 * (prefix == positions).sum(axis=1)
    return base, (target.take(rest + block) - width).astype(np.int16)


@lru_cache(maxsize=8)
def _closed_cycles(symbols: int, m: int) -> NDArray[np.uint8]:
    """Return the number of cycles i -> pattern[i] in each suffix pattern, uint8 ``[size]``.

    Fixed points are cycles; a path that leaves the positions of the suffix is not.

    Args:
        symbols: the number of symbols that the prefix of a block lacks.
        m: the number of positions in the suffix.
    """
    counts = []
    for row in (permutations.arrangements(symbols, m).astype(int) - 1).tolist():
        least = [_least_of_cycle(row, start) for start in range(m)]
        counts.append(sum(least[start] == start for start in range(m)))
    return np.array(counts, dtype=np.uint8)


def _least_of_cycle(row: list[int], start: int) -> int:
    """Return the smallest index on the cycle i -> row[i] that contains ``start``.

    The result is -1 if ``start`` is not on a cycle.
    """
    least, index = start, row[start]
    while index != start:
        if index >= len(row):
            return -1
        least = min(least, index)
        index = row[index]
    return least
