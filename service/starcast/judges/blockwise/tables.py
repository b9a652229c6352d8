"""Tables that depend only on the number m of symbols of a block; the cache holds most of them."""

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from starcast.topologies import permutations

Array = np.ndarray[Any, Any]
#: Free positions whose fixed points are looked up together.
TRIPLE = 3


class Tables(NamedTuple):
    """Tables for blocks of m! nodes and rows of w! nodes, w = m-1.

    Attributes:
        orders: all orders of 0..w-1, uint8 ``[w!, w]``.
        neighbours: the index in the block of each node's neighbour, across the ports 2..m, uint16
            ``[m+1, m!]``.
        compositions: the ranks of g∘p, by the ranks of g and p, int16 ``[w!, w!]``.
        cycles: the number of cycles of g∘p, uint8 ``[w!, w!]``.
        fixed: twice the number of fixed points in the positions 3t+2, .., 3t+4, uint8
            ``[2, m^3, w!]``; the second index packs the index at home in each of them.
        substar: the port towards the parent, and the step, of each node of S_m in the broadcast
            tree of 2m-3 steps, uint8 ``[2, m!]``.
    """

    orders: Array
    neighbours: Array
    compositions: Array
    cycles: Array
    fixed: Array
    substar: Array


@lru_cache(maxsize=2)
def build_tables(m: int) -> Tables:
    """Return the tables for blocks of m! nodes, 2 <= m <= 7."""
    patterns, orders = permutations.table(m), permutations.table(m - 1)
    neighbours = np.zeros((m + 1, len(patterns)), dtype=np.uint16)
    for port in range(2, m + 1):
        moved = patterns.copy()
        moved[:, [0, port - 1]] = moved[:, [port - 1, 0]]
        neighbours[port] = permutations.rank(moved + np.uint8(1))
    fixed = np.zeros((2, m**TRIPLE, len(orders)), dtype=np.uint8)
    for triple in range(2):
        for packed in range(m**TRIPLE):
            at_home = (packed // m**2, packed // m % m, packed % m)
            for index, symbol in enumerate(at_home, start=TRIPLE * triple):
                if index < m - 1 and symbol < m - 1:
                    fixed[triple, packed] += 2 * (orders[:, index] == symbol).astype(np.uint8)
    compositions = permutations.composition_table(m - 1)
    cycles = permutations.cycle_count_table(m - 1)
    return Tables(orders, neighbours, compositions, cycles, fixed, _substar(m))


def _substar(m: int) -> Array:
    """Return ports and steps of S_m; `ports.relabel` explains them for one node."""
    nodes = permutations.arrangements(m, m)
    ports, steps = np.zeros((2, len(nodes)), dtype=np.uint8)
    for k in range(m, 1, -1):
        symbol = nodes[:, k - 1].copy()
        moved = symbol != k
        ports[moved] = k
        steps += moved.astype(np.uint8) + (moved & (symbol != 1)).astype(np.uint8)
        for column in nodes[:, : k - 1].T:
            held = column.copy()
            column[moved & (held == k)] = 1
            column[moved & (held == 1)] = symbol[moved & (held == 1)]
    return np.stack([ports, steps])
