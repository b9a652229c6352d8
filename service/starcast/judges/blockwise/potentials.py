"""Potentials: numbers that decrease by 1 from each node to its parent.

The module `judge` does not trust the potentials: it checks the decrease along every tree edge. A
wrong potential could reject a correct tree, but never accept a wrong one.

* `GREEDY`: the distance to the tree's hub. It does not decrease from the hub to the root. The nodes
  on this path are therefore declared as exceptions (Tseng & Sheu 1997, Definitions 1 and 2).
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
)
from starcast.support.compiled import jit


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
    """Return the distance of a node to the hub, by a formula.

    The distance is the minimum number of swaps with position 1 that bring every symbol to its home,
    its position in the hub. It is the number of displaced symbols plus the number of their cycles,
    less 2 if the first symbol is displaced (Akers & Krishnamurthy 1989). The cycles are those of
    the permutation that moves each symbol to its home.

    The code counts a symbol that is at home as a cycle, too. The distance is then n plus the number
    of cycles, less twice the number of symbols at home, less 2 if the first symbol is displaced.
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
    """Write the distances from the nodes of a row to the hub, by the formula of `distance`.

    All nodes of the row have the same symbols in the positions 1, m+1, .., n; the other positions
    are free. A cycle that leaves the free positions passes through common positions, and returns to
    a free position that is the same for all nodes of the row (an exit). The cycles of a node are
    therefore those inside the common positions, which all nodes share, and those of the permutation
    of its free symbols composed with the exits, which `Tables.cycles` counts.
    """
    free = m - 1
    exits = np.empty(free, dtype=np.uint8)
    #: For each free position, the index in ``others`` of the symbol whose home it is; ``free`` if
    #: ``others`` lacks that symbol.
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
    # Twice the number of fixed symbols is looked up for three positions at a time, because a table
    # for all free positions would not fit into the cache.
    low = tables.fixed[0, (at_home[0] * m + at_home[1]) * m + at_home[2]]
    high = tables.fixed[1, (at_home[3] * m + at_home[4]) * m + at_home[5]]
    for order in range(len(out)):
        # The result is right even if intermediate values wrap around, so uint8 suffices.
        out[order] = np.uint8(np.uint8(offset + cycles[order]) - np.uint8(low[order] + high[order]))


@jit
def _fixed_part(n: int, m: int, x: Array, home: Array, visited: int) -> int:
    """Return the part of the distance that depends only on the common positions 1, m+1, .., n.

    It is the same for every node of a row. Cycles through positions in the bit set ``visited`` also
    contain free positions, so `fill_distances` counts them.
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
def fill_substar(
    n: int, m: int, x: Array, rest: Array, tables: Tables, ports: Array, steps: Array
) -> None:
    """Write the ports and steps of the broadcast tree of 2n-3 steps for the nodes of a block.

    The tail determines the port and step of the root of the substar with this tail (see `relabel`).
    The block is then relabelled to S_m, for which `Tables.substar` has the ports and the steps.
    """
    size = len(tables.orders)
    y = np.zeros(n + 1, dtype=np.uint8)
    for index in range(m):
        x[index + 1] = rest[index]
    port, step = relabel(n, m, x, y)
    others = np.empty(m - 1, dtype=np.uint8)
    for first in range(m):
        read_row(first, m, y[1:], others)
        start = (y[first + 1] - 1) * size
        order = tables.compositions[rank_orders(others)]
        for index in range(size):
            node = start + order[index]
            # The table has port 0 for the root of the substar, whose parent is outside this substar
            # and is reached across ``port``.
            ports[first * size + index] = tables.substar[0, node] or port
            steps[first * size + index] = step + tables.substar[1, node]


@jit
def edge_disjoint_levels(n: int, x: Array, first: int, last: int, out: Array) -> None:
    """Write the level of node x in the edge-disjoint tree l into ``out[l]``, l = first..last.

    The level is the distance from the root plus a detour. `starcast.trees.edge_disjoint` derives
    the detours from the definition (Fragopoulou & Akl 1996, Definition 8). They depend on the cycle
    (1 x_1 .. k) that contains symbol 1, and on its length L. If L = 1, symbol 1 is at home, and a
    hop across dimension l displaces symbol l if it is at home too.
    """
    on_cycle = 0  # the positions on the cycle, as a bit set
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
    # The first symbol of the node's parent in the shortest-path tree (SPT).
    q = x[a] if a != k else x[first_displaced(n, x, k)]
    for tree in range(first, last + 1):
        is_displaced = x[tree] != tree and not on_cycle >> tree & 1
        # Here L >= 2. The detour is 2 in tree x_1, and in each tree l whose symbol l is displaced
        # and not on the cycle of symbol 1. It is 4 in the other trees, except for trees k and q.
        detour = 2 if tree == a or is_displaced else 4
        # In tree k, and in tree q if L = 2, the path to the root is a shortest path.
        if tree == k or (tree == q and length == 2):
            detour = 0
        elif tree == q and length > 3:
            detour = 2 if _merges_next(n, x, k, q) else 4
        out[tree] = shortest + detour


@jit
def _distance_of_others(n: int, x: Array, on_cycle: int) -> int:
    """Return the distance that is due to symbols outside the cycle of symbol 1.

    It is the number of displaced symbols outside this cycle plus the number of their cycles.
    """
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
    """Return whether q is the first symbol of y's parent in the shortest-path tree.

    The node y is the neighbour of x whose first symbol is k.
    """
    port = 1
    while x[port] != k:
        port += 1
    x[1], x[port] = x[port], x[1]
    is_merged = x[first_displaced(n, x, k)] == q
    x[1], x[port] = x[port], x[1]
    return bool(is_merged)
