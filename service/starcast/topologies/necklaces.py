"""Rotations of S_n and their orbits, the necklaces (Fragopoulou & Akl 1993, section 2).

r(1) = 1, r(i) = i+1 for 2 <= i < n, r(n) = 2. The rotation R relabels symbols and positions by r:
R(x) has the symbol r(x_j) in position r(j). It preserves distances to the identity, and maps a
link of dimension d to a link of dimension r(d).
"""

from collections.abc import Iterator
from itertools import permutations as orders
from itertools import product
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from starcast.topologies import permutations
from starcast.topologies.permutations import Perms, Ranks

_Dimensions = TypeVar("_Dimensions", int, NDArray[np.uint8])


def rotate(perms: Perms, turns: int = 1) -> Perms:
    """Return R of each row, or R applied several times, uint8 ``[count, n]``."""
    n = perms.shape[1]
    rotated = [1, *(rotated_dimension(symbol, turns, n) for symbol in range(2, n + 1))]
    symbols = np.array(rotated, dtype=np.uint8)
    out = np.empty_like(perms)
    out[:, symbols - 1] = symbols[perms - 1]  # R(x) has r(x_j) in position r(j)
    return out


def rotated_dimension(dimension: _Dimensions, turns: int, n: int) -> _Dimensions:
    """Return the dimension, or array of dimensions, of rotated links."""
    return (dimension - 2 + turns) % (n - 1) + 2


def rotation(n: int) -> Ranks:
    """Return the rank of R(x) for every node x of S_n, int32 ``[n!]``."""
    return permutations.rank(rotate(permutations.arrangements(n, n)))


class Necklaces(NamedTuple):
    """The necklace of every node.

    Attributes:
        leader: the lowest rank in the necklace.
        period: the number of nodes of the necklace.
        turns: the number of rotations that map the leader to the node.
    """

    leader: Ranks
    period: NDArray[np.uint8]
    turns: NDArray[np.uint8]


def necklaces(n: int) -> Necklaces:
    """Return the necklaces of S_n as arrays over its nodes, each ``[n!]``."""
    turn = rotation(n)
    count = len(turn)
    nodes = np.arange(count, dtype=np.int32)
    leader = nodes.copy()
    to_leader = np.zeros(count, dtype=np.uint8)
    period = np.full(count, n - 1, dtype=np.uint8)
    rotated = nodes
    for turns in range(1, n - 1):
        rotated = turn[rotated]
        # The first return to a node is its period; n-1 if there is no earlier return.
        period = np.where((rotated == nodes) & (period == n - 1), np.uint8(turns), period)
        to_leader = np.where(rotated < leader, np.uint8(turns), to_leader)
        leader = np.minimum(leader, rotated)
    return Necklaces(leader, period, (period - to_leader) % period)


def short_necklaces(n: int) -> Perms:
    """Return the nodes on necklaces of fewer than n-1 nodes, without the identity, by rank.

    Such nodes commute with g rotations, for a divisor g < n-1 of n-1. Hence they start with 1,
    permute the g cycles of g rotations, and rotate each of them.

    Returns:
        uint8 ``[count, n]``.
    """
    divisors = [g for g in range(1, n - 1) if (n - 1) % g == 0]
    nodes = {row for g in divisors for row in _commuting(n, g)}
    return np.array(sorted(nodes - {tuple(range(1, n + 1))}), dtype=np.uint8).reshape(-1, n)


def _commuting(n: int, turns: int) -> Iterator[tuple[int, ...]]:
    """Iterate over the nodes that ``turns`` rotations, a divisor of n-1, map to themselves."""
    size = n - 1
    for order in orders(range(turns)):
        for shifts in product(range(0, size, turns), repeat=turns):
            images = [
                order[place % turns] + shifts[place % turns] + place - place % turns
                for place in range(size)
            ]
            yield (1, *(image % size + 2 for image in images))
