"""Rotations of S_n and their orbits, the necklaces (Fragopoulou & Akl 1993, section 2).

The rotation R relabels symbols and positions by the permutation r with r(1) = 1, r(i) = i+1 for
2 <= i < n, and r(n) = 2. The node R(x) has the symbol r(x_j) in position r(j). R preserves
distances to the identity, and maps a link of dimension d to a link of dimension r(d).

The *displacement* d(x) (Def. 7 and 8) is the smallest number of rotations R that map the generator
of x's necklace to x. The generator of a necklace is

* if its nodes do not start with 1: the node with symbol 1 in position 2. Then d(x) = k-2 for a node
  x with symbol 1 in position k;
* if its nodes start with 1: the node whose cycle containing 2, written with 2 first, is the
  smallest. Cycles are compared symbol by symbol, and (2 3) comes before (2 3 4). Nodes with 2 in
  position 2 are not considered. From n = 6 on, several nodes of a necklace may have the same
  smallest cycle; then the generator is the one with the lowest rank.
"""

from collections.abc import Iterator
from itertools import permutations as orders
from itertools import product
from math import factorial, gcd
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from starcast.topologies import permutations
from starcast.topologies.permutations import Perms, Ranks

_Dimensions = TypeVar("_Dimensions", int, NDArray[np.uint8])


def rotate(perms: Perms, turns: int = 1) -> Perms:
    """Apply the rotation R to each permutation ``turns`` times; return uint8 ``[count, n]``."""
    n = perms.shape[1]
    rotated = [1, *(rotated_dimension(symbol, turns, n) for symbol in range(2, n + 1))]
    symbols = np.array(rotated, dtype=np.uint8)
    out = np.empty_like(perms)
    out[:, symbols - 1] = symbols[perms - 1]  # R(x) has r(x_j) in position r(j)
    return out


def rotated_dimension(dimension: _Dimensions, turns: int, n: int) -> _Dimensions:
    """Return the image of a dimension, or of an array of dimensions, under R^turns."""
    return (dimension - 2 + turns) % (n - 1) + 2


def rotation(n: int) -> Ranks:
    """Return the rank of R(x) for every node x in S_n, int32 ``[n!]``."""
    return permutations.rank(rotate(permutations.arrangements(n, n)))


class Necklaces(NamedTuple):
    """The necklace (orbit under the rotation R) of every node, as arrays indexed by rank.

    Attributes:
        leader: the lowest rank in the node's necklace.
        period: the number of nodes in the necklace.
        turns: the smallest number of rotations R that map the leader to the node.
    """

    leader: Ranks
    period: NDArray[np.uint8]
    turns: NDArray[np.uint8]


def necklaces(n: int) -> Necklaces:
    """Return the necklace of every node of S_n, as arrays ``[n!]``."""
    turn = rotation(n)
    count = len(turn)
    nodes = np.arange(count, dtype=np.int32)
    leader = nodes.copy()
    to_leader = np.zeros(count, dtype=np.uint8)
    period = np.full(count, n - 1, dtype=np.uint8)
    rotated = nodes
    for turns in range(1, n - 1):
        # Ranks are rotated instead of labels: a rank needs only one look-up, but for a label, n
        # symbols would have to be renamed, and the rank of the result computed.
        rotated = turn[rotated]
        # The smallest number of rotations that map a node to itself is its period, at most n-1.
        period = np.where((rotated == nodes) & (period == n - 1), np.uint8(turns), period)
        to_leader = np.where(rotated < leader, np.uint8(turns), to_leader)
        leader = np.minimum(leader, rotated)
    return Necklaces(leader, period, (period - to_leader) % period)


def necklace_count(n: int) -> int:
    """Return the number of necklaces in S_n except the identity's, by Burnside's lemma."""
    return (factorial(n) + sum(count_fixed(n, j) for j in range(1, n - 1))) // (n - 1) - 1


def count_fixed(n: int, turns: int) -> int:
    """Return the number of nodes that ``turns`` rotations R map to themselves.

    These nodes are the permutations that commute with r^turns, where r is the permutation of the
    rotation R. On 2..n, r^turns has g = gcd(turns, n-1) cycles of (n-1)/g symbols, so there are
    ((n-1)/g)^g g! such permutations.
    """
    cycles = gcd(turns, n - 1)
    return int(((n - 1) // cycles) ** cycles * factorial(cycles))


def short_necklaces(n: int) -> Perms:
    """Return the nodes, except the identity, whose necklaces have fewer than n-1 nodes.

    The nodes are sorted by rank. As permutations, they commute with r^g, where r is the permutation
    of the rotation R, and g < n-1 is a divisor of n-1. Hence they start with 1, permute the g
    cycles of r^g, and rotate each of these cycles.

    Returns:
        uint8 ``[count, n]``.
    """
    # The nodes are generated, because they are few, and a search would have to visit all n! nodes.
    divisors = [g for g in range(1, n - 1) if (n - 1) % g == 0]
    nodes = {row for g in divisors for row in _commuting(n, g)}
    return np.array(sorted(nodes - {tuple(range(1, n + 1))}), dtype=np.uint8).reshape(-1, n)


def _commuting(n: int, turns: int) -> Iterator[tuple[int, ...]]:
    """Iterate over the nodes that R^turns maps to themselves, for a divisor ``turns`` of n-1."""
    size = n - 1
    for order in orders(range(turns)):
        for shifts in product(range(0, size, turns), repeat=turns):
            images = [
                order[index % turns] + shifts[index % turns] + index - index % turns
                for index in range(size)
            ]
            yield (1, *(image % size + 2 for image in images))


# Code for nodes with 2 in position 2, in place of the code of a cycle (see `_cycle_of_2`). It is
# larger than all other codes, so these nodes come last in their necklaces.
_NO_CYCLE = np.iinfo(np.int64).max


def displacements(n: int, orbits: Necklaces | None = None) -> NDArray[np.uint8]:
    """Return the displacement d(x) of every node x of S_n, uint8 ``[n!]``; 0 for the identity.

    The displacement is the smallest number of rotations R that map the generator of x's necklace,
    which the docstring of this module defines, to x.

    Args:
        n: the number of symbols of S_n.
        orbits: the result of `necklaces(n)`; None to compute the necklaces.
    """
    orbits = necklaces(n) if orbits is None else orbits
    perms = permutations.arrangements(n, n)
    starting = factorial(n - 1)  # the nodes that start with 1 have the lowest ranks
    out = np.empty(len(perms), dtype=np.uint8)
    out[starting:] = np.argmax(perms[starting:] == 1, axis=1) - 1
    first = Necklaces(orbits.leader[:starting], orbits.period[:starting], orbits.turns[:starting])
    out[:starting] = _from_generator(first, _cycle_of_2(perms[:starting]))
    return out


def _from_generator(orbits: Necklaces, cycle: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Return the displacement of every node, given the nodes' necklaces and the codes in ``cycle``.

    The displacement is the smallest number of rotations that map the generator of the node's
    necklace to the node. The generator is the necklace's node with the smallest code in ``cycle``
    (see `_cycle_of_2`). If several nodes have this code, the one with the lowest rank is chosen.
    """
    # The sort is stable, so nodes with equal cycles stay in rank order.
    order = np.lexsort((cycle, orbits.leader))
    leaders, first = np.unique(orbits.leader[order], return_index=True)
    generator = np.empty_like(orbits.leader)
    generator[leaders] = order[first]
    offset = orbits.turns[generator[orbits.leader]]
    return (orbits.turns + orbits.period - offset) % orbits.period


def _cycle_of_2(perms: Perms) -> NDArray[np.int64]:
    """Encode the cycle (2 a b ..) of each node as a number with digits a b .., int64 ``[count]``.

    All numbers have the same number of digits, so they sort in the order of the cycles. Nodes with
    2 in position 2 get the largest int64.
    """
    n = perms.shape[1]
    cycle = np.zeros(len(perms), dtype=np.int64)
    symbol = perms[:, 1]
    for _ in range(n - 2):
        successor = np.take_along_axis(perms, symbol[:, None].astype(np.intp) - 1, axis=1)[:, 0]
        # Shorter cycles are padded with zeros, so that every number has n-2 digits.
        cycle = cycle * (n + 1) + np.where(symbol == 2, 0, symbol)
        symbol = np.where(symbol == 2, symbol, successor)
    cycle[perms[:, 1] == 2] = _NO_CYCLE
    return cycle
