"""Potentials: numbers that decrease by 1 from each node to its parent.

The judge of `judge` trusts no potential: it checks the decrease across every tree edge. A potential
that were wrong could reject a tree, never accept one.

* `GREEDY`: the distance to the tree's hub. It does not decrease on the path between hub and root,
  whose nodes are declared as exceptions.
* `SUBSTAR`: the step in which the node is informed.
* `EDGE_DISJOINT`: the level, as `starcast.trees.edge_disjoint_levels` derives it.
"""

import numpy as np

from starcast.blockwise.compiled import jit
from starcast.blockwise.ports import (
    GREEDY,
    SUBSTAR,
    first_displaced,
    rank_orders,
    read_row,
    relabel,
)
from starcast.blockwise.tables import TRIPLE, Array, Tables


@jit
def fill_potentials(
    kind: int,
    n: int,
    m: int,
    x: Array,
    rest: Array,
    tables: Tables,
    homes: Array,
    potentials: Array,
) -> None:
    """Write the potentials of all trees for the nodes of a block, uint8 ``[trees, m!]``.

    The arguments are those of `ports.fill_ports`.
    """
    size = len(tables.orders)
    others = np.empty(m - 1, dtype=np.uint8)
    column = np.empty(n + 1, dtype=np.uint8)
    if kind == SUBSTAR:
        fill_steps(n, m, x, rest, tables, potentials[0])
        return
    for first in range(m):
        read_row(first, m, rest, others)
        x[1] = rest[first]
        start = first * size
        if kind == GREEDY:
            for tree in range(len(homes)):
                row = potentials[tree, start : start + size]
                fill_distances(n, m, x, others, tables, homes[tree], row)
            continue
        for order in range(size):
            for index in range(m - 1):
                x[index + 2] = others[tables.orders[order, index]]
            edge_disjoint_levels(n, x, 2, n, column)
            for tree in range(n - 1):
                potentials[tree, start + order] = column[tree + 2]


@jit
def potential_of(kind: int, n: int, tree: int, x: Array, home: Array, column: Array) -> int:
    """Return the potential of one node in one tree; ``column`` is memory for a node."""
    if kind == GREEDY:
        return distance(n, x, home)
    if kind == SUBSTAR:
        return int(relabel(n, 1, x, column)[1])
    edge_disjoint_levels(n, x, tree + 2, tree + 2, column)
    return int(column[tree + 2])


@jit
def distance(n: int, x: Array, home: Array) -> int:
    """Return the distance of a node to the hub: n + cycles - 2 fixed - 2 [x_1 not at home]."""
    seen = 0
    cycles = 0
    fixed = 0
    for start in range(1, n + 1):
        if seen >> start & 1:
            continue
        cycles += 1
        fixed += home[x[start]] == start
        position = start
        while not seen >> position & 1:
            seen |= 1 << position
            position = home[x[position]]
    return int(n + cycles - 2 * fixed - 2 * (home[x[1]] != 1))


@jit
def fill_distances(
    n: int, m: int, x: Array, others: Array, tables: Tables, home: Array, out: Array
) -> None:
    """Write the distances of a row to the hub.

    The positions 1 and m+1.. are the same in all nodes of the row. A path of home positions that
    enters them leaves at a free position that is the same for the whole row, too. So the cycles of
    a node are those of its order of the free symbols, composed with these exits, and the cycles
    that never leave the fixed positions.
    """
    free = m - 1
    exits = np.empty(free, dtype=np.uint8)
    at_home = np.full(2 * TRIPLE, free, dtype=np.int64)
    visited = 0
    for index in range(free):
        position = home[others[index]]
        if 2 <= position <= m:
            at_home[position - 2] = index
        while position == 1 or position > m:
            visited |= 1 << position
            position = home[x[position]]
        exits[index] = position
    base = n - 2 * (home[x[1]] != 1)
    for step in range(m, n + 1):
        start = 1 if step == m else step
        base -= 2 * (home[x[start]] == start)
        if visited >> start & 1:
            continue
        base += 1
        position = start
        while not visited >> position & 1:
            visited |= 1 << position
            position = home[x[position]]
    cycles = tables.cycles[rank_orders(exits)]
    low = tables.fixed[0, (at_home[0] * m + at_home[1]) * m + at_home[2]]
    high = tables.fixed[1, (at_home[3] * m + at_home[4]) * m + at_home[5]]
    offset = np.uint8(base)
    for order in range(len(out)):
        out[order] = np.uint8(np.uint8(offset + cycles[order]) - np.uint8(low[order] + high[order]))


@jit
def fill_steps(n: int, m: int, x: Array, rest: Array, tables: Tables, out: Array) -> None:
    """Write the step in which the broadcast tree of 2n-3 steps informs each node of a block.

    The root of the substar with symbol c in position k is informed 0 steps after that of the
    surrounding substar if c = k, 1 step if c = 1, else 2 steps. The tail decides about the
    substars of n, .., m+1; for the others the block is relabelled to S_m.
    """
    size = len(tables.orders)
    y = np.zeros(n + 1, dtype=np.uint8)
    for index in range(m):
        x[index + 1] = rest[index]
    _, steps = relabel(n, m, x, y)
    others = np.empty(m - 1, dtype=np.uint8)
    for first in range(m):
        read_row(first, m, y[1:], others)
        start = (y[first + 1] - 1) * size
        order = tables.compositions[rank_orders(others)]
        for index in range(size):
            out[first * size + index] = steps + tables.substar[1, start + order[index]]


@jit
def edge_disjoint_levels(n: int, x: Array, first: int, last: int, out: Array) -> None:
    """Write the level in tree l of EDT into ``out[l]``, l = first..last: distance and detour."""
    on_cycle = 0  # the positions on the cycle of 1
    length = 0
    position = 1
    k = 1
    while not on_cycle >> position & 1:
        on_cycle |= 1 << position
        length += 1
        k = position
        position = x[position]
    # k, the last position of the cycle, holds symbol 1.
    seen = on_cycle
    shortest = length + 1 - 2 if length > 1 else 0
    for start in range(2, n + 1):
        if seen >> start & 1 or x[start] == start:
            continue
        shortest += 1
        position = start
        while not seen >> position & 1:
            seen |= 1 << position
            shortest += 1
            position = x[position]
    if length == 1:
        for tree in range(first, last + 1):
            out[tree] = shortest + (2 if x[tree] == tree and shortest else 0)
        return
    a = x[1]
    q = x[a] if a != k else x[first_displaced(n, x, k)]
    for tree in range(first, last + 1):
        detour = 4
        if tree == k or (tree == q and length == 2):
            detour = 0
        elif tree == q and length > 3:
            detour = 2 if _merges_next(n, x, k, q) else 4
        elif on_cycle >> tree & 1:
            detour = 2 if tree == a else 4
        elif x[tree] != tree:
            detour = 2
        out[tree] = shortest + detour


@jit
def _merges_next(n: int, x: Array, k: int, q: int) -> bool:
    """Return whether q is also the first symbol of the SPT parent of x's neighbour y, y_1 = k."""
    before = 1
    while x[before] != k:
        before += 1
    # y has k in position 1 and x_1 in the position of k.
    for step in range(1, n):
        position = k + step if k + step <= n else k + step - n + 1
        if position == k:
            continue
        symbol = x[1] if position == before else x[position]
        if symbol != position:
            return bool(symbol == q)
    return False
