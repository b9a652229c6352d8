"""Generators and displacements of the necklaces of S_n (Fragopoulou & Akl 1993, Def. 7 and 8).

The displacement d(x) is the smallest number of rotations R that map the generator of x's necklace
to x. The generator is

* for nodes that do not start with 1: the node with symbol 1 in position 2, so that d(x) = k-2 for
  symbol 1 in position k;
* for nodes that start with 1: the node whose cycle containing 2, written with 2 first, is the
  smallest. Cycles compare symbol by symbol, and (2 3) comes before (2 3 4); nodes with 2 in
  position 2 do not compete. From n = 6 on, several nodes of a necklace may have the same smallest
  cycle; then the node of lowest rank is the generator.
"""

from math import factorial

import numpy as np
from numpy.typing import NDArray

from starcast.topologies import permutations
from starcast.topologies.necklaces import Necklaces, necklaces
from starcast.topologies.permutations import Perms

# Larger than every cycle, so that nodes with symbol 2 in place are the last of their necklace.
_NO_CYCLE = np.iinfo(np.int64).max


def displacements(n: int, orbits: Necklaces | None = None) -> NDArray[np.uint8]:
    """Return the displacement d(x) of every node of S_n, uint8 ``[n!]``; 0 for the identity.

    Args:
        n: the size of S_n.
        orbits: `necklaces(n)`, if the caller has them.
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
    """Return, for every node, how many rotations take its necklace's generator to it."""
    order = np.lexsort((cycle, orbits.leader))  # stable: equal cycles stay in rank order
    leaders, first = np.unique(orbits.leader[order], return_index=True)
    generator = np.empty_like(orbits.leader)
    generator[leaders] = order[first]
    offset = orbits.turns[generator[orbits.leader]]
    return (orbits.turns + orbits.period - offset) % orbits.period


def _cycle_of_2(perms: Perms) -> NDArray[np.int64]:
    """Return the cycle (2 a b ..) as the digits a b .. of a number, int64 ``[count]``.

    All numbers have the same number of digits, so that they compare as the cycles do.
    """
    n = perms.shape[1]
    cycle = np.zeros(len(perms), dtype=np.int64)
    symbol = perms[:, 1]
    for _ in range(n - 2):
        successor = np.take_along_axis(perms, symbol[:, None].astype(np.intp) - 1, axis=1)[:, 0]
        # Shorter cycles end with zeros: with n-2 digits each, numbers compare like words.
        cycle = cycle * (n + 1) + np.where(symbol == 2, 0, symbol)
        symbol = np.where(symbol == 2, symbol, successor)
    cycle[perms[:, 1] == 2] = _NO_CYCLE
    return cycle
