"""Hamiltonian paths and cycles of S_n as words: the dimensions crossed, one after the other.

Fragopoulou & Akl (1993, sections 3.1 and 4) leave them free; docs/definitions/fragopoulou-akl.md, A1, chooses. The path is
Ehrlich's (Knuth 7.2.1.2, Algorithm E). For n = 5, 7 and 8 it does not end next to its start, so that the cycle is another one:
it goes through the n substars that fix one position, and through each in the same way, down to paths in S_4 found by search.
"""

from functools import lru_cache
from itertools import pairwise
from math import factorial, isqrt

import numpy as np
from numpy.typing import NDArray

from starcast import permutations
from starcast.permutations import Perms, Ranks

Word = NDArray[np.uint8]

_BASE = (
    4  # the least m such that S_m has a Hamiltonian path between any two nodes of opposite parity
)


def path_word(m: int) -> Word:
    """Ehrlich's Hamiltonian path of S_m, m >= 1, uint8 ``[m! - 1]``.

    Algorithm E holds a table b, at first b[j] = j, and counters c[1..m-1]. Where the counter k advances, it crosses dimension
    b[k] + 1 and turns b[1..k-1] round; c[k] advances k times, and before, between and after all lower counters run through
    their values. So a word is k + 1 copies of the one before, each with the table as it then is.
    """
    word = np.zeros(0, dtype=np.intp)  # as places in the table at its start
    after = np.arange(m)  # and where the table's entries at its end come from
    for k in range(1, m):
        turned = np.r_[0, np.arange(k - 1, 0, -1), np.arange(k, m)]
        table = after
        parts = [word]
        for _ in range(k):
            parts.append(table[k : k + 1])
            table = table[turned]
            parts.append(table[word])
            table = table[after]
        word, after = np.concatenate(parts), table
    return (word + 1).astype(np.uint8)


def cycle_word(n: int) -> Word:
    """The Hamiltonian cycle of S_n that starts at the identity, the closing link included, uint8 ``[n!]``."""
    if n < _BASE:
        return np.resize(np.arange(2, n + 1, dtype=np.uint8), factorial(n))
    start = np.arange(1, n + 1, dtype=np.uint8)[None, :]
    goal = start.copy()
    goal[:, :2] = 2, 1
    return np.append(_between(start, start, goal)[0], np.uint8(2))


def walk(n: int, word: Word) -> Ranks:
    """The nodes of S_n that a word visits from the identity on, the identity first, int32 ``[len(word) + 1]``."""
    side = isqrt(len(word)) + 1
    places = np.zeros((side, side), dtype=np.intp)  # runs of equal length; place 0 stands still
    places.reshape(-1)[1 : len(word) + 1] = word - 1
    nodes = np.empty((side, side, n), dtype=np.uint8)
    run, here = np.arange(side), np.tile(np.arange(1, n + 1, dtype=np.uint8), (side, 1))
    for step, place in enumerate(places.T):  # all runs at once, as if each began at the identity
        here[run, 0], here[run, place] = here[run, place], here[run, 0]
        nodes[:, step] = here
    for before, after in pairwise(nodes):
        after[:] = permutations.compose(before[-1], after)
    return permutations.rank(nodes.reshape(-1, n)[: len(word) + 1])


def _between(place: NDArray[np.uint8], start: Perms, goal: Perms) -> Word:
    """Hamiltonian paths of many substars S_m, m >= 4, uint8 ``[count, m! - 1]``.

    Args:
        place: the free positions of each, ascending from 1, ``[count, m]``.
        start: the symbols of the path's first node in these positions, ``[count, m]``.
        goal: those of its last node, an odd permutation of the first.
    """
    count, m = place.shape
    if m == _BASE:
        return _between_in_s4(place, start, goal)
    rows = np.arange(count)
    fixed = (
        m - 1 - np.argmax((start != goal)[:, ::-1], axis=1)
    )  # the last position p where they differ
    kept = np.arange(m - 1) + (np.arange(m - 1) >= fixed[:, None])
    legs = _legs(
        _visiting_order(start, start[rows, fixed], goal[rows, fixed]),
        np.take_along_axis(start, kept, axis=1),
        np.take_along_axis(goal, kept, axis=1),
    )
    inner = np.repeat(np.take_along_axis(place, kept, axis=1), m, axis=0)
    words = np.empty((count, m, factorial(m - 1)), dtype=np.uint8)
    words[:, :, :-1] = _between(inner, *legs).reshape(count, m, -1)
    words[:, :, -1] = place[rows, fixed][:, None]  # from substar to substar; nowhere after the last
    return words.reshape(count, -1)[:, :-1]


def _visiting_order(symbols: Perms, first: NDArray[np.uint8], last: NDArray[np.uint8]) -> Perms:
    """The order in which position p takes the symbols: the start's first, the goal's last, the others ascending."""
    key = symbols.astype(np.int16)
    key[symbols == first[:, None]] = 0
    key[symbols == last[:, None]] = 256
    return np.take_along_axis(symbols, np.argsort(key, axis=1), axis=1)


def _legs(order: Perms, here: Perms, goal: Perms) -> tuple[Perms, Perms]:
    """Where the path enters and leaves each substar, both ``[count * m, m - 1]``.

    It leaves the k-th with the next symbol in front and the others ascending, the last two exchanged where parity demands
    it; crossing p brings the k-th symbol to the front. The last substar is left at the goal.
    """
    count, m = order.shape
    enter, leave = np.empty((2, count, m, m - 1), dtype=np.uint8)
    for k in range(m):
        there = goal if k == m - 1 else _left_at(order, k, here)
        enter[:, k], leave[:, k] = here, there
        here = np.column_stack([order[:, k], there[:, 1:]])
    return enter.reshape(-1, m - 1), leave.reshape(-1, m - 1)


def _left_at(order: Perms, k: int, entered: Perms) -> Perms:
    others = np.sort(np.delete(order, [k, k + 1], axis=1), axis=1)
    left = np.column_stack([order[:, k + 1], others])
    wrong = np.flatnonzero(_odd(left) == _odd(entered))
    left[wrong, -2:] = left[wrong, :-3:-1]
    return left


def _odd(rows: Perms) -> NDArray[np.bool_]:
    """Whether each row has an odd number of inversions."""
    odd = np.zeros(len(rows), dtype=bool)
    for place in range(1, rows.shape[1]):
        odd ^= (np.count_nonzero(rows[:, :place] > rows[:, place, None], axis=1) % 2).astype(bool)
    return odd


def _between_in_s4(place: NDArray[np.uint8], start: Perms, goal: Perms) -> Word:
    """The base: the goal as seen from the start is one of the 12 odd permutations."""
    seen = np.argmax(start[:, :, None] == goal[:, None, :], axis=1) + 1
    found = _s4_paths()[permutations.rank(seen.astype(np.uint8))]
    return np.take_along_axis(place, found.astype(np.intp), axis=1)


@lru_cache(maxsize=1)
def _s4_paths() -> NDArray[np.uint8]:
    """By rank of the last node, the places 1..3 that the path from the identity exchanges with place 0; ``[24, 23]``."""
    paths = np.zeros((factorial(_BASE), factorial(_BASE) - 1), dtype=np.uint8)
    every = permutations.table(_BASE)
    for rank in np.flatnonzero(_odd(every)):
        paths[rank] = _search([tuple(range(_BASE))], tuple(every[rank].tolist()))
    return paths


def _search(nodes: list[tuple[int, ...]], goal: tuple[int, ...]) -> list[int]:
    """Depth first, dimensions ascending: how the first Hamiltonian path goes on from these nodes to the goal."""
    here = nodes[-1]
    for place in range(1, _BASE):
        there = (here[place], *here[1:place], here[0], *here[place + 1 :])
        if there == goal and len(nodes) == factorial(_BASE) - 1:
            return [place]
        if there != goal and there not in nodes:
            found = _search([*nodes, there], goal)
            if found:
                return [place, *found]
    return []
