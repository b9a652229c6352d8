"""Permutations as arrays: rank, unrank, label, compose, cycles, shift.

A permutation of 1..n is a row of ``uint8``; many of them are an array ``[count, n]``. Ranks are lexicographic and
start at 0, so the identity has rank 0. Labels are written with one character a symbol, ``1``..``9`` then ``a``..``z``.
"""

import math
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from starcast.errors import InputError

#: The character of each symbol: SYMBOLS[0] stands for symbol 1.
SYMBOLS = "123456789abcdefghijklmnopqrstuvwxyz"
_CODES = np.array([0, *map(ord, SYMBOLS)], dtype=np.uint32)

Perms = NDArray[np.uint8]
Ranks = NDArray[np.int32]


def unrank(n: int, ranks: ArrayLike) -> Perms:
    """The permutations of 1..n with these ranks, uint8 ``[count, n]``."""
    return arrangement_unrank(n, n, ranks)


def arrangement_unrank(n: int, length: int, ranks: ArrayLike) -> Perms:
    """The arrangements of ``length`` symbols of 1..n with these ranks, uint8 ``[count, length]``."""
    rest = np.array(ranks, dtype=np.int64, ndmin=1)
    rows = np.empty((len(rest), length), dtype=np.uint8)
    for place in range(length):
        rows[:, place], rest = np.divmod(rest, math.perm(n - 1 - place, length - 1 - place))
    # Lehmer digits into symbols: a later digit moves up past every earlier symbol that is not greater.
    for place in range(length - 2, -1, -1):
        rows[:, place + 1 :] += rows[:, place + 1 :] >= rows[:, place, None]
    rows += 1
    return rows


def rank(perms: Perms) -> Ranks:
    """The ranks of permutations of 1..n, int32 ``[count]``."""
    n = perms.shape[1]
    return arrangement_rank(perms, n)


def arrangement_rank(rows: Perms, n: int) -> Ranks:
    """The ranks of arrangements (rows of distinct symbols of 1..n) among those of their length, int32 ``[count]``."""
    ranks = np.zeros(len(rows), dtype=np.int32)
    for place in range(rows.shape[1]):
        symbol = rows[:, place]
        smaller = np.zeros(len(rows), dtype=np.int32)
        for earlier in range(place):
            smaller += rows[:, earlier] < symbol
        ranks *= n - place
        ranks += symbol.astype(np.int32) - 1 - smaller
    return ranks


def arrangements(n: int, length: int) -> Perms:
    """All arrangements of ``length`` symbols of 1..n in lexicographic order, uint8 ``[n!/(n-length)!, length]``."""
    rows = np.zeros((1, 0), dtype=np.uint8)
    for size in range(n - length + 1, n + 1):
        first = np.repeat(np.arange(1, size + 1, dtype=np.uint8), len(rows))
        later = np.tile(rows, (size, 1))
        later += later >= first[:, None]
        rows = np.column_stack([first, later])
    return rows


@lru_cache(maxsize=8)
def table(n: int) -> Perms:
    """All permutations of 0..n-1 (sic: indices, not symbols) in rank order, read-only uint8 ``[n!, n]``; for small n."""
    rows = arrangements(n, n) - np.uint8(1)
    rows.flags.writeable = False
    return rows


@lru_cache(maxsize=8)
def composition_table(m: int) -> NDArray[np.int16]:
    """``[m!, m!]``: at (h, p) the rank of h∘p, that is of the row (h[p_1], .., h[p_m]); for m <= 7."""
    perms = table(m)
    out = np.empty((len(perms), len(perms)), dtype=np.int16)
    for row, outer in enumerate(perms):
        out[row] = rank(outer[perms] + np.uint8(1))
    out.flags.writeable = False
    return out


@lru_cache(maxsize=8)
def cycle_count_table(m: int) -> Perms:
    """``[m!, m!]``: at (g, p) the number of cycles, fixed points included, of g∘p; for m <= 7."""
    counts = np.array([sum(1 for _ in cycles(row)) for row in table(m)], dtype=np.uint8)
    out = counts[composition_table(m)]
    out.flags.writeable = False
    return out


def cycles(images: ArrayLike) -> Iterator[list[int]]:
    """The cycles, fixed points included, of a permutation of 0..n-1 given as the row of its images."""
    row = [int(image) for image in np.asarray(images)]
    seen = [False] * len(row)
    for start in range(len(row)):
        cycle = []
        at = start
        while not seen[at]:
            seen[at] = True
            cycle.append(at)
            at = row[at]
        if cycle:
            yield cycle


def inverse(perm: Perms) -> Perms:
    """The permutation whose value at x_i is i, uint8 ``[n]``."""
    out = np.empty_like(perm)
    out[perm - 1] = np.arange(1, len(perm) + 1, dtype=np.uint8)
    return out


def compose(outer: Perms, inner: Perms) -> Perms:
    """Relabel: x -> (outer[x_1], .., outer[x_n]) for one row or many."""
    return outer[inner - 1]


def shift(perm: Perms, places: int) -> Perms:
    """rho^places: the label moved right cyclically, by positions (Tseng & Sheu, section 2)."""
    return np.roll(perm, places)


def labels(perms: Perms) -> NDArray[np.str_]:
    """Rows of symbols as labels, ``<U{length}`` ``[count]``."""
    length = perms.shape[1]
    return np.ascontiguousarray(_CODES[perms]).view(f"<U{length}")[:, 0]


def parse(label: str, n: int, length: int | None = None) -> Perms:
    """The arrangement that a label writes, uint8 ``[length]``; ``length`` is n unless given.

    Raises:
        InputError: the label has a wrong length, a foreign symbol or a repeated one.
    """
    length = n if length is None else length
    hint = f"write {length} different symbols of {SYMBOLS[:n]}, such as {SYMBOLS[:length]}"
    if not isinstance(label, str):
        raise InputError(f"{label!r} is no label: a label is a string", hint=hint)
    if len(label) != length:
        raise InputError(f"the label '{label}' has {len(label)} symbols, not {length}", hint=hint)
    foreign = next((symbol for symbol in label if symbol not in SYMBOLS[:n]), None)
    if foreign is not None:
        raise InputError(
            f"the label '{label}' has the symbol '{foreign}', which is none of the {n}", hint=hint
        )
    repeated = next((a for a, b in pairwise(sorted(label)) if a == b), None)
    if repeated is not None:
        raise InputError(f"the label '{label}' repeats the symbol '{repeated}'", hint=hint)
    return np.array([SYMBOLS.index(symbol) + 1 for symbol in label], dtype=np.uint8)
