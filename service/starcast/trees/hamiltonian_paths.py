"""Hamiltonian paths and cycles of S_n, as words: sequences of the dimensions that they cross.

Fragopoulou & Akl (1993, sections 3.1 and 4) do not specify the paths and cycles;
docs/definitions/fragopoulou-akl.md, A1, documents our choice. The path is Ehrlich's (Knuth 7.2.1.2,
Algorithm E). For n = 5, 7 and 8 it does not end next to its start, so the cycle is constructed
separately. It passes through the n substars that fix the symbol in one position, and recursively
through each of them, down to paths in S_4 that are found by search.
"""

from functools import lru_cache
from itertools import pairwise
from math import factorial, isqrt

import numpy as np
from numpy.typing import NDArray

from starcast.topologies import permutations
from starcast.topologies.permutations import Perms, Ranks

Word = NDArray[np.uint8]

_BASE = 4  # the smallest m with Hamiltonian paths in S_m between all nodes of opposite parity


def path_word(m: int) -> Word:
    """Return Ehrlich's Hamiltonian path of S_m, m >= 1, uint8 ``[m! - 1]``.

    Algorithm E has a table b, initially b[j] = j, and counters c[1..m-1]. When counter k advances,
    the path crosses dimension b[k] + 1 and b[1..k-1] is reversed. Counter k advances k times.
    Before, between and after its advances, all lower counters run through their values. So the word
    for counters 1..k has k + 1 copies of the word for 1..k-1, each with the table at that time.

    Reference: Knuth, The Art of Computer Programming, 7.2.1.2, Algorithm E.
    """
    # The path's word: each entry is an index in the table b as it is when the word begins.
    word = np.zeros(0, dtype=np.intp)
    # For each entry of the table when the word ends, its index when the word began.
    after = np.arange(m)
    for k in range(1, m):
        reversal = np.r_[0, np.arange(k - 1, 0, -1), np.arange(k, m)]
        table = after
        parts = [word]
        for _ in range(k):
            parts.append(table[k : k + 1])
            table = table[reversal]
            parts.append(table[word])
            table = table[after]
        word, after = np.concatenate(parts), table
    return (word + 1).astype(np.uint8)


def cycle_word(n: int) -> Word:
    """Return a Hamiltonian cycle of S_n from the identity, including its last link, ``[n!]``."""
    if n < _BASE:
        return np.resize(np.arange(2, n + 1, dtype=np.uint8), factorial(n))
    start = np.arange(1, n + 1, dtype=np.uint8)[None, :]
    goal = start.copy()
    goal[:, :2] = 2, 1
    return np.append(_paths_between(start, start, goal)[0], np.uint8(2))


def walk(n: int, word: Word) -> Ranks:
    """Return the nodes on the path of a word from the identity, int32 ``[len(word) + 1]``."""
    side = isqrt(len(word)) + 1
    # Each row is a part of the word. The padding, 0, swaps a symbol with itself.
    positions = np.zeros((side, side), dtype=np.intp)
    positions.reshape(-1)[1 : len(word) + 1] = word - 1
    nodes = np.empty((side, side, n), dtype=np.uint8)
    run = np.arange(side)
    current = np.tile(np.arange(1, n + 1, dtype=np.uint8), (side, 1))
    # The word is divided into about sqrt(len(word)) parts. The first loop follows all parts at the
    # same time, each from the identity. The second loop joins them. So the two loops together have
    # only about 2 sqrt(len(word)) steps.
    for step, position in enumerate(positions.T):
        current[run, 0], current[run, position] = current[run, position], current[run, 0]
        nodes[:, step] = current
    for before, after in pairwise(nodes):
        after[:] = permutations.compose(before[-1], after)
    return permutations.rank(nodes.reshape(-1, n)[: len(word) + 1])


def _paths_between(position: NDArray[np.uint8], start: Perms, goal: Perms) -> Word:
    """Return a Hamiltonian path of each of several substars S_m, m >= 4, uint8 ``[count, m! - 1]``.

    Args:
        position: the free positions of each substar, ascending from 1, ``[count, m]``.
        start: the symbols of the path's first node in these positions, ``[count, m]``.
        goal: the symbols of the path's last node in these positions, an odd permutation of
            ``start``.
    """
    count, m = position.shape
    if m == _BASE:
        return _paths_in_s4(position, start, goal)
    rows = np.arange(count)
    # The last position in which start and goal differ.
    fixed = m - 1 - np.argmax((start != goal)[:, ::-1], axis=1)
    kept = np.arange(m - 1) + (np.arange(m - 1) >= fixed[:, None])
    legs = _legs(
        _visiting_order(start, start[rows, fixed], goal[rows, fixed]),
        np.take_along_axis(start, kept, axis=1),
        np.take_along_axis(goal, kept, axis=1),
    )
    inner = np.repeat(np.take_along_axis(position, kept, axis=1), m, axis=0)
    words = np.empty((count, m, factorial(m - 1)), dtype=np.uint8)
    words[:, :, :-1] = _paths_between(inner, *legs).reshape(count, m, -1)
    # The last entry leads to the next substar; it is not used after the last substar.
    words[:, :, -1] = position[rows, fixed][:, None]
    return words.reshape(count, -1)[:, :-1]


def _visiting_order(symbols: Perms, first: NDArray[np.uint8], last: NDArray[np.uint8]) -> Perms:
    """Return the order in which a path visits substars, as the symbols that identify them.

    Each substar fixes the symbol in one position. The path begins in the substar with the start's
    symbol there and ends in that with the goal's symbol. It visits the others in ascending order.
    """
    # The sort key 256 puts the goal's symbol last, but does not fit into uint8.
    key = symbols.astype(np.int16)
    key[symbols == first[:, None]] = 0
    key[symbols == last[:, None]] = 256
    return np.take_along_axis(symbols, np.argsort(key, axis=1), axis=1)


def _legs(order: Perms, start: Perms, goal: Perms) -> tuple[Perms, Perms]:
    """Return where the path enters and leaves each substar, both ``[count * m, m - 1]``.

    The path leaves the k-th substar at the node with the next substar's symbol first and the other
    symbols ascending, the last two swapped if parity requires it. Crossing the fixed position then
    brings the k-th symbol to the front. The path leaves the last substar at the goal.
    """
    count, m = order.shape
    enter, leave = np.empty((2, count, m, m - 1), dtype=np.uint8)
    first = start
    for k in range(m):
        last = goal if k == m - 1 else _leaving_node(order, k, first)
        enter[:, k], leave[:, k] = first, last
        first = np.column_stack([order[:, k], last[:, 1:]])
    return enter.reshape(-1, m - 1), leave.reshape(-1, m - 1)


def _leaving_node(order: Perms, k: int, entered: Perms) -> Perms:
    others = np.sort(np.delete(order, [k, k + 1], axis=1), axis=1)
    left = np.column_stack([order[:, k + 1], others])
    wrong = np.flatnonzero(permutations.is_odd(left) == permutations.is_odd(entered))
    left[wrong, -2:] = left[wrong, :-3:-1]
    return left


def _paths_in_s4(position: NDArray[np.uint8], start: Perms, goal: Perms) -> Word:
    """Return Hamiltonian paths of substars S_4 to goals that are odd permutations of the starts."""
    relative = np.argmax(start[:, :, None] == goal[:, None, :], axis=1) + 1
    paths = _s4_paths()[permutations.rank(relative.astype(np.uint8))]
    return np.take_along_axis(position, paths.astype(np.intp), axis=1)


@lru_cache(maxsize=1)
def _s4_paths() -> NDArray[np.uint8]:
    """Return a Hamiltonian path of S_4 from the identity to each odd permutation.

    Returns:
        uint8 ``[24, 23]``, indexed by the rank of the last node: the position, 1..3, that each step
        swaps with position 0.
    """
    paths = np.zeros((factorial(_BASE), factorial(_BASE) - 1), dtype=np.uint8)
    perms = permutations.table(_BASE)
    for rank in np.flatnonzero(permutations.is_odd(perms)):
        paths[rank] = _search([tuple(range(_BASE))], tuple(perms[rank].tolist()))
    return paths


def _search(nodes: list[tuple[int, ...]], goal: tuple[int, ...]) -> list[int]:
    """Extend a path depth first until it visits all nodes and ends at the goal."""
    node = nodes[-1]
    for position in range(1, _BASE):
        neighbour = (node[position], *node[1:position], node[0], *node[position + 1 :])
        if neighbour == goal and len(nodes) == factorial(_BASE) - 1:
            return [position]
        if neighbour != goal and neighbour not in nodes:
            rest = _search([*nodes, neighbour], goal)
            if rest:
                return [position, *rest]
    return []
