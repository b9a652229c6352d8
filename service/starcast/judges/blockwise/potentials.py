"""Potentials: numbers that decrease by 1 from each node to its parent.

`judge` does not trust the potentials: it checks the decrease across every tree edge. A wrong
potential could reject a correct tree, but never accept a wrong one.

* `GREEDY`: the distance to the tree's hub. It does not decrease on the path from the hub to the
  root, whose nodes are declared as exceptions (Tseng & Sheu 1997, Definitions 1 and 2).
* `SUBSTAR`: the step in which the node is informed (Sheu, Liaw & Chen 1993, section 2).
* `EDGE_DISJOINT`: the level, which `starcast.trees.edge_disjoint` derives from the
  definition (Fragopoulou & Akl 1996, Definition 8).

The arguments ``n``, ``m``, ``x`` and ``rest`` have the same meaning as in `ports`.
"""

import numpy as np

from starcast.judges.blockwise.ports import (
    GREEDY,
    SUBSTAR,
    TRIPLE,
    Array,
    Blocks,
    Tables,
    first_displaced,
    rank_orders,
    read_row,
    relabel,
    write_order,
)
from starcast.support.compiled import jit


@jit
def fill_potentials(blocks: Blocks, tables: Tables, x: Array, rest: Array, out: Array) -> None:
    """Write the potentials of all trees for the nodes of a block, uint8 ``[trees, m!]``.

    The arguments are those of `ports.fill_ports`.
    """
    n, m = blocks.n, blocks.m
    if blocks.kind == SUBSTAR:
        fill_steps(n, m, x, rest, tables, out[0])
        return
    size = len(tables.orders)
    others = np.empty(m - 1, dtype=np.uint8)
    levels = np.empty(n + 1, dtype=np.uint8)
    for first in range(m):
        read_row(first, m, rest, others)
        x[1] = rest[first]
        start = first * size
        if blocks.kind == GREEDY:
            for tree in range(len(blocks.homes)):
                row = out[tree, start : start + size]
                fill_distances(n, m, x, others, tables, blocks.homes[tree], row)
            continue
        for order in range(size):
            write_order(m, tables.orders[order], others, x)
            edge_disjoint_levels(n, x, 2, n, levels)
            for tree in range(n - 1):
                out[tree, start + order] = levels[tree + 2]


@jit
def potential_of(blocks: Blocks, tree: int, x: Array) -> int:
    """Return the potential of one node in one tree."""
    n = blocks.n
    if blocks.kind == GREEDY:
        return distance(n, x, blocks.homes[tree])
    memory = np.empty(n + 1, dtype=np.uint8)
    if blocks.kind == SUBSTAR:
        return int(relabel(n, 1, x, memory)[1])
    edge_disjoint_levels(n, x, tree + 2, tree + 2, memory)
    return int(memory[tree + 2])


@jit
def distance(n: int, x: Array, home: Array) -> int:
    """Return the distance of a node to the hub: n + cycles - 2 fixed - 2 [x_1 not at home].

    These are the cycles and fixed symbols of the permutation that moves each symbol to its home,
    its position in the hub; a fixed symbol is also a cycle. The formula is the length of the
    shortest sorting by exchanges with position 1 (Akers & Krishnamurthy 1989): displaced symbols +
    their cycles, less 2 if the first symbol is displaced.
    """
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
    """Write the distances of a row to the hub, by the formula of `distance`.

    The positions 1 and m+1.. are the same in all nodes of the row. A path of home positions that
    enters these positions leaves them at a free position that is also the same for the whole row.
    So the cycles of a node are the cycles of its order of the free symbols, composed with these
    exits, and the cycles that never leave the fixed positions.
    """
    free = m - 1
    exits = np.empty(free, dtype=np.uint8)
    #: For each free position, the index of the symbol that is at home there; ``free`` if none is.
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
    offset = np.uint8(_fixed_part(n, m, x, home, visited))
    cycles = tables.cycles[rank_orders(exits)]
    # Twice the fixed symbols, in parts: a table of all free positions would not fit into the cache.
    low = tables.fixed[0, (at_home[0] * m + at_home[1]) * m + at_home[2]]
    high = tables.fixed[1, (at_home[3] * m + at_home[4]) * m + at_home[5]]
    for order in range(len(out)):
        # uint8 wraps around, so the intermediate values need no wider type.
        out[order] = np.uint8(np.uint8(offset + cycles[order]) - np.uint8(low[order] + high[order]))


@jit
def _fixed_part(n: int, m: int, x: Array, home: Array, visited: int) -> int:
    """Return the contribution of the positions 1 and m+1.. to the distances of a row.

    Cycles through positions of the bit set ``visited`` pass free positions and are counted there.
    """
    total = n - 2 * (home[x[1]] != 1)
    for step in range(m, n + 1):
        start = 1 if step == m else step
        total -= 2 * (home[x[start]] == start)
        if visited >> start & 1:
            continue
        total += 1
        position = start
        while not visited >> position & 1:
            visited |= 1 << position
            position = home[x[position]]
    return int(total)


@jit
def fill_steps(n: int, m: int, x: Array, rest: Array, tables: Tables, out: Array) -> None:
    """Write the step in which the broadcast tree of 2n-3 steps informs each node of a block.

    The root of the substar with symbol c in position k is informed 0 steps after the root of the
    surrounding substar if c = k, 1 step after it if c = 1, and otherwise 2 steps after it. The tail
    determines the substars for k = n, .., m+1; for the others the block is relabelled to S_m.
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
    """Write the level in tree l of EDT, distance plus detour, into ``out[l]``, l = first..last.

    `starcast.trees.edge_disjoint` derives the detours from the definition (Fragopoulou & Akl
    1996, Definition 8), by the cycle (1 x_1 .. k) of symbol 1 and its length L. If L = 1, the node
    is in S^1: a hop across dimension l displaces l, unless l is displaced already.
    """
    on_cycle = 0  # a bit set of positions
    length = 0
    position = 1
    k = 1
    while not on_cycle >> position & 1:
        on_cycle |= 1 << position
        length += 1
        k = position
        position = x[position]
    # k, the last position of the cycle, holds symbol 1.
    shortest = _distance_of_others(n, x, on_cycle)
    if length == 1:
        for tree in range(first, last + 1):
            is_fixed = x[tree] == tree
            out[tree] = shortest + (2 if is_fixed and shortest else 0)
        return
    shortest += length - 1
    a = x[1]
    # The first symbol of the parent in SPT.
    q = x[a] if a != k else x[first_displaced(n, x, k)]
    for tree in range(first, last + 1):
        is_displaced = x[tree] != tree and not on_cycle >> tree & 1
        # If L >= 2, the detour is 2 for tree x_1 and for a displaced l on another cycle, else 4.
        detour = 2 if tree == a or is_displaced else 4
        # Tree k has a shortest path; in tree q one hop reaches S^1 if L = 2.
        if tree == k or (tree == q and length == 2):
            detour = 0
        elif tree == q and length > 3:
            detour = 2 if _merges_next(n, x, k, q) else 4
        out[tree] = shortest + detour


@jit
def _distance_of_others(n: int, x: Array, on_cycle: int) -> int:
    """Return the number of displaced symbols that are not on the cycle of 1, plus their cycles."""
    total = 0
    seen = on_cycle
    for start in range(2, n + 1):
        if seen >> start & 1 or x[start] == start:
            continue
        total += 1
        position = start
        while not seen >> position & 1:
            seen |= 1 << position
            total += 1
            position = x[position]
    return total


@jit
def _merges_next(n: int, x: Array, k: int, q: int) -> bool:
    """Return whether q is also the first symbol of the SPT parent of x's neighbour y, y_1 = k."""
    port = 1
    while x[port] != k:
        port += 1
    x[1], x[port] = x[port], x[1]
    is_merged = x[first_displaced(n, x, k)] == q
    x[1], x[port] = x[port], x[1]
    return bool(is_merged)
