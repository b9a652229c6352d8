"""Functions on permutations stored as arrays: ranks, labels, composition, cycles and shifts.

A permutation of 1..n is a row of ``uint8``; several permutations are an array ``[count, n]``.
Ranks are lexicographic and start at 0, the rank of the identity. Labels have one character per
symbol: ``1``..``9``, then ``a``..``z``; with `labels_from(0)`, symbol 1 is written ``0``, symbol 2
``1``, and so on. An arrangement is a row of distinct symbols of 1..n.
"""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from starcast.support.arrays import freeze
from starcast.support.errors import InputError
from starcast.support.text import pluralize

#: The characters of the symbols in labels. SYMBOLS[0] is the character of symbol 1.
SYMBOLS = "123456789abcdefghijklmnopqrstuvwxyz"
#: The character of each symbol in labels whose smallest symbol is 0.
_SYMBOLS_FROM_0 = f"0{SYMBOLS[:-1]}"
_CODES = np.array([0, *map(ord, SYMBOLS)], dtype=np.uint32)
_CODES_FROM_0 = np.array([0, *map(ord, _SYMBOLS_FROM_0)], dtype=np.uint32)
_first: ContextVar[int] = ContextVar("first symbol of labels", default=1)

#: A table of arrangements is cached if it has at most this many rows, because looking up a few
#: arrangements is faster than computing them.
_MAX_KEPT = 2**13

Perms = NDArray[np.uint8]
Ranks = NDArray[np.int32]


def unrank(n: int, ranks: ArrayLike) -> Perms:
    """Return the permutations of 1..n with the given ranks, uint8 ``[count, n]``.

    Example:
        >>> unrank(4, [0, 23]).tolist()
        [[1, 2, 3, 4], [4, 3, 2, 1]]
    """
    return arrangement_unrank(n, n, ranks)


def arrangement_unrank(n: int, length: int, ranks: ArrayLike) -> Perms:
    """Return the arrangements of ``length`` symbols of 1..n with the given ranks.

    Returns:
        uint8 ``[count, length]``.
    """
    rest = np.array(ranks, dtype=np.int64, ndmin=1)
    if math.perm(n, length) <= _MAX_KEPT:
        return _kept_arrangements(n, length)[rest]
    rows = np.empty((len(rest), length), dtype=np.uint8)
    for position in range(length):
        rows[:, position], rest = np.divmod(
            rest, math.perm(n - 1 - position, length - 1 - position)
        )
    # Convert Lehmer digits to symbols: from right to left, each digit adds 1 to all later entries
    # that are not smaller.
    for position in range(length - 2, -1, -1):
        rows[:, position + 1 :] += rows[:, position + 1 :] >= rows[:, position, None]
    rows += 1
    return rows


def rank(perms: Perms) -> Ranks:
    """Return the ranks of permutations of 1..n, int32 ``[count]``."""
    n = perms.shape[1]
    return arrangement_rank(perms, n)


def arrangement_rank(rows: Perms, n: int) -> Ranks:
    """Return the ranks of arrangements among those of the same length, int32 ``[count]``."""
    ranks = np.zeros(len(rows), dtype=np.int32)
    for position in range(rows.shape[1]):
        symbol = rows[:, position]
        smaller = np.zeros(len(rows), dtype=np.int32)
        # A Python loop over pairs of positions is fast enough, because there are few pairs. NumPy
        # loops over the rows, of which there can be millions.
        for earlier in range(position):
            smaller += rows[:, earlier] < symbol
        ranks *= n - position
        ranks += symbol.astype(np.int32) - 1 - smaller
    return ranks


def arrangements(n: int, length: int) -> Perms:
    """Return all arrangements of ``length`` symbols of 1..n in lexicographic order.

    Returns:
        uint8 ``[n!/(n-length)!, length]``.
    """
    rows = np.zeros((1, 0), dtype=np.uint8)
    # If rows are built from the last symbol to the first, they are in lexicographic order without
    # sorting.
    for size in range(n - length + 1, n + 1):
        first = np.repeat(np.arange(1, size + 1, dtype=np.uint8), len(rows))
        later = np.tile(rows, (size, 1))
        later += later >= first[:, None]
        rows = np.column_stack([first, later])
    return rows


@lru_cache(maxsize=32)
def _kept_arrangements(n: int, length: int) -> Perms:
    return freeze(arrangements(n, length))


@lru_cache(maxsize=8)
def table(n: int) -> Perms:
    """Return all permutations of 0..n-1 in rank order, for small n.

    Returns:
        Read-only uint8 ``[n!, n]``.
    """
    return freeze(arrangements(n, n) - np.uint8(1))


@lru_cache(maxsize=8)
def composition_table(m: int) -> NDArray[np.int16]:
    """Return the ranks of the compositions h∘p of all permutations h and p of m <= 7 symbols.

    The composition h∘p is (h[p_1], .., h[p_m]).

    Returns:
        Read-only int16 ``[m!, m!]``, indexed by the ranks of h and p.
    """
    perms = table(m)
    # int16 is large enough for 7! ranks, and saves memory: for m = 7 there are 25 million entries.
    out = np.empty((len(perms), len(perms)), dtype=np.int16)
    for row, outer in enumerate(perms):
        out[row] = rank(outer[perms] + np.uint8(1))
    return freeze(out)


@lru_cache(maxsize=8)
def cycle_count_table(m: int) -> Perms:
    """Return the number of cycles, including fixed points, of g∘p for all permutations g and p.

    The permutations have m <= 7 symbols.

    Returns:
        Read-only uint8 ``[m!, m!]``, indexed by the ranks of g and p.
    """
    counts = np.array([sum(1 for _ in cycles(row)) for row in table(m)], dtype=np.uint8)
    return freeze(counts[composition_table(m)])


def cycles(images: ArrayLike) -> Iterator[list[int]]:
    """Iterate over the cycles, including fixed points, of a permutation of 0..n-1.

    Args:
        images: the image of each index.
    """
    row = [int(image) for image in np.asarray(images)]
    visited = [False] * len(row)
    for start in range(len(row)):
        cycle = []
        index = start
        while not visited[index]:
            visited[index] = True
            cycle.append(index)
            index = row[index]
        if cycle:
            yield cycle


def is_odd(rows: NDArray[np.integer[Any]]) -> NDArray[np.bool_]:
    """Return whether each row of distinct numbers is an odd permutation, bool ``[count]``."""
    smaller = [
        np.count_nonzero(rows[:, position + 1 :] < rows[:, position, None], axis=1)
        for position in range(rows.shape[1])
    ]
    return np.asarray(np.sum(smaller, axis=0) % 2 == 1)


def inverse(perm: Perms) -> Perms:
    """Return the inverse of a permutation x, which maps x_i to i, uint8 ``[n]``."""
    out = np.empty_like(perm)
    out[perm - 1] = np.arange(1, len(perm) + 1, dtype=np.uint8)
    return out


def compose(outer: Perms, inner: Perms) -> Perms:
    """Return the composition (outer[x_1], .., outer[x_n]) for each row x of ``inner``."""
    return outer[inner - 1]


def cross(rows: Perms, port: int) -> Perms:
    """Return a copy of the rows in which the symbols in positions 1 and ``port`` are exchanged."""
    crossed = rows.copy()
    crossed[:, [0, port - 1]] = rows[:, [port - 1, 0]]
    return crossed


def shift(perm: Perms, places: int) -> Perms:
    """Return a permutation shifted cyclically to the right by ``places`` positions.

    Reference: Tseng & Sheu 1997, section 2, where the shift by one position is called rho.
    """
    return np.roll(perm, places)


@contextmanager
def labels_from(first: int) -> Iterator[None]:
    """Set the smallest symbol in labels, 0 or 1, while the context is open.

    The identity of S_5 is ``12345`` or, in some papers, ``01234``. The setting affects `labels`
    and `parse`, and thus all labels in results, messages and drawings. Labels in ids and stored
    data always start at 1, so stores must be used outside the context.

    Raises:
        InputError: ``first`` is neither 0 nor 1.
    """
    if first not in (0, 1):
        raise InputError(f"the smallest symbol of labels cannot be {first}", hint="use 0 or 1")
    token = _first.set(first)
    try:
        yield
    finally:
        _first.reset(token)


def first_symbol() -> int:
    """Return the smallest symbol of labels, 0 or 1, which `labels_from` sets."""
    return _first.get()


def labels(perms: Perms) -> NDArray[np.str_]:
    """Return the labels of arrangements, ``[count]``, with the dtype ``<U{length}``."""
    length = perms.shape[1]
    codes = _CODES if _first.get() else _CODES_FROM_0
    # The code points of a row, read as one string, are its label.
    return np.ascontiguousarray(codes[perms]).view(f"<U{length}")[:, 0]


def parse(label: str, n: int, length: int | None = None) -> Perms:
    """Return the arrangement of symbols of 1..n with the given label, uint8 ``[length]``.

    By default, ``length`` is n. Letters may be upper-case or lower-case.

    Raises:
        InputError: the label is not a string, or it has a wrong length, an unknown symbol or a
            repeated symbol.
    """
    length = n if length is None else length
    first = _first.get()
    symbols = (SYMBOLS if first else _SYMBOLS_FROM_0)[:n]
    hint = f"write {length} different symbols of {symbols}, such as {symbols[:length]}"
    if not isinstance(label, str):
        raise InputError(
            f"{label!r} is not a label: labels are strings",
            hint=f"write a string, such as '{symbols[:length]}'",
        )
    if len(label) != length:
        raise InputError(
            f"the label '{label}' has {pluralize(len(label), 'symbol')}, not {length}", hint=hint
        )
    lower = label.lower()
    unknown = next((symbol for symbol in label if symbol.lower() not in symbols), None)
    if unknown is not None:
        others = (_SYMBOLS_FROM_0 if first else SYMBOLS)[:n]
        if set(lower) <= set(others):
            hint = f"{hint}; for labels that start at {1 - first}, use `labels` {1 - first}"
        raise InputError(
            f"the label '{label}' has the symbol '{unknown}', which is not one of the {n} symbols",
            hint=hint,
        )
    repeated = next((a for a, b in pairwise(sorted(lower)) if a == b), None)
    if repeated is not None:
        raise InputError(f"the label '{label}' repeats the symbol '{repeated}'", hint=hint)
    return np.array([symbols.index(symbol) + 1 for symbol in lower], dtype=np.uint8)
