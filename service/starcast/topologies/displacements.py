"""Generators and displacements of the necklaces of S_n (Fragopoulou & Akl 1993, Def. 7 and 8).

The displacement d(x) is the least number of rotations R that lead from the generator of x's necklace to x. The generator is

* for nodes that do not start with 1: the node with symbol 1 in position 2, so that d(x) = k-2 for symbol 1 in position k;
* for nodes that start with 1: the node whose cycle containing 2, written with 2 leftmost, is the smallest. Cycles compare
  symbol by symbol and (2 3) comes before (2 3 4); nodes with 2 in its place do not compete. From n = 6 on several nodes of a
  necklace may have the same smallest cycle: of these it is the one of lowest rank.
"""

from math import factorial

import numpy as np
from numpy.typing import NDArray

from starcast import permutations
from starcast.permutations import Perms
from starcast.topologies.necklaces import Necklaces, necklaces

_NO_CYCLE = np.iinfo(np.int64).max


def displacements(n: int, rings: Necklaces | None = None) -> NDArray[np.uint8]:
    """d(x) for every node of S_n, uint8 ``[n!]``; 0 for the identity. ``rings`` are `necklaces(n)`, if at hand."""
    rings = necklaces(n) if rings is None else rings
    perms = permutations.arrangements(n, n)
    starting = factorial(n - 1)  # the nodes that start with 1 are the first
    out = np.empty(len(perms), dtype=np.uint8)
    out[starting:] = np.argmax(perms[starting:] == 1, axis=1) - 1
    rings = Necklaces(rings.leader[:starting], rings.period[:starting], rings.turns[:starting])
    out[:starting] = _from_generator(rings, _cycle_of_2(perms[:starting]))
    return out


def _from_generator(rings: Necklaces, cycle: NDArray[np.int64]) -> NDArray[np.uint8]:
    """The rotations from the node with the smallest cycle of each necklace, the lowest of equals, to every node."""
    order = np.lexsort((cycle, rings.leader))  # stable, so equals stay in rank order
    leaders, first = np.unique(rings.leader[order], return_index=True)
    generator = np.empty_like(rings.leader)
    generator[leaders] = order[first]
    passed = rings.turns[generator[rings.leader]]
    return (rings.turns + rings.period - passed) % rings.period


def _cycle_of_2(perms: Perms) -> NDArray[np.int64]:
    """The cycle (2 a b ..) as the number 0.ab.. without its point, int64 ``[count]``: numbers compare as cycles do."""
    n = perms.shape[1]
    cycle = np.zeros(len(perms), dtype=np.int64)
    at = perms[:, 1]
    for _ in range(n - 2):
        follows = np.take_along_axis(perms, at[:, None].astype(np.intp) - 1, axis=1)[:, 0]
        cycle = cycle * (n + 1) + np.where(at == 2, 0, at)
        at = np.where(at == 2, at, follows)
    cycle[perms[:, 1] == 2] = _NO_CYCLE
    return cycle
