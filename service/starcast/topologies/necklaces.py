"""Rotations of S_n and their orbits, the necklaces (Fragopoulou & Akl 1993, section 2).

r(1) = 1, r(i) = i+1 for 2 <= i < n, r(n) = 2. The rotation R relabels symbols and positions by r: R(x) has the symbol
r(x_j) in position r(j). It keeps distances to the identity and takes a link of dimension d to one of dimension r(d).
"""

from collections.abc import Iterator
from itertools import permutations as orders
from itertools import product
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from starcast import permutations
from starcast.permutations import Perms, Ranks

_Dimensions = TypeVar("_Dimensions", int, NDArray[np.uint8])


def rotate(perms: Perms, turns: int = 1) -> Perms:
    """R of each row, or R applied some times, uint8 ``[count, n]``."""
    n = perms.shape[1]
    symbols = np.array(
        [1, *(rotated_dimension(symbol, turns, n) for symbol in range(2, n + 1))], dtype=np.uint8
    )
    out = np.empty_like(perms)
    out[:, symbols - 1] = symbols[perms - 1]  # R(x) in place r(j) has r(x_j)
    return out


def rotated_dimension(dimension: _Dimensions, turns: int, n: int) -> _Dimensions:
    """The dimension, or array of them, that links of a dimension have after some rotations."""
    return (dimension - 2 + turns) % (n - 1) + 2


def rotation(n: int) -> Ranks:
    """The rank of R(x) for every node x of S_n, int32 ``[n!]``."""
    return permutations.rank(rotate(permutations.arrangements(n, n)))


class Necklaces(NamedTuple):
    """Every node's necklace: the lowest rank in it, how many nodes it has, and how many rotations lead from there here."""

    leader: Ranks
    period: NDArray[np.uint8]
    turns: NDArray[np.uint8]


def necklaces(n: int) -> Necklaces:
    """The necklaces of S_n as arrays over its nodes, each ``[n!]``."""
    turn = rotation(n)
    nodes = len(turn)
    here = np.arange(nodes, dtype=np.int32)
    leader, back = here.copy(), np.zeros(nodes, dtype=np.uint8)
    period = np.full(nodes, n - 1, dtype=np.uint8)
    at = here
    for count in range(1, n - 1):
        at = turn[at]
        period = np.where((at == here) & (period == n - 1), np.uint8(count), period)
        back = np.where(
            at < leader, np.uint8(count), back
        )  # rotations that lead from here to the leader
        leader = np.minimum(leader, at)
    return Necklaces(leader, period, (period - back) % period)


def short_necklaces(n: int) -> Perms:
    """The nodes on necklaces of fewer than n-1 nodes but the root, uint8 ``[count, n]``, by rank; found one by one.

    They commute with g rotations, for a g < n-1 that divides n-1. So they start with 1, permute the g cycles of these
    rotations, and turn each by some of its symbols.
    """
    found = {row for g in range(1, n - 1) if (n - 1) % g == 0 for row in _commuting(n, g)}
    return np.array(sorted(found - {tuple(range(1, n + 1))}), dtype=np.uint8).reshape(-1, n)


def _commuting(n: int, turns: int) -> Iterator[tuple[int, ...]]:
    """The nodes that so many rotations, a divisor of n-1, leave where they are."""
    size = n - 1
    for order in orders(range(turns)):
        for moves in product(range(0, size, turns), repeat=turns):
            images = [
                order[place % turns] + moves[place % turns] + place - place % turns
                for place in range(size)
            ]
            yield (1, *(image % size + 2 for image in images))
