"""Formulas for parent ports and potentials, evaluated for all nodes of a block.

The formulas follow the papers' definitions, with the identity as root; `sources` translates the
results to other roots. A block consists of the nodes that share their last n-m symbols, the *tail*.
Its nodes are in the lexicographic order of their first m symbols. The w! nodes with the same first
symbol are consecutive and form a *row*; w = m-1.

In all functions ``x`` is a node, uint8 ``[n+1]``, with the symbol of position p at index p, and
``rest`` contains the m symbols that are not in the block's tail, ascending.

The *hub* of a tree is the node to which the formula's ports lead. It is the root or, in the trees
of ``multiple``, a cyclic shift of the root; on the path from the hub to the root, ports differ from
the formula.
The *home* of a symbol is its position in the hub. A symbol in this position is *at home*; any other
symbol is *displaced*.

*Potentials* are numbers that decrease by 1 from each node to its parent. The module `judge` does
not trust them: it checks the decrease along every tree edge. With a wrong potential, `judge` could
reject a correct tree, but never accept a wrong one. Each kind of forest has its own potential:

* `GREEDY`: the distance to the tree's hub. This distance does not decrease on the path from the hub
  to the root, so the nodes on this path are declared as exceptions (Tseng & Sheu 1997, Definitions
  1 and 2).
* `SUBSTAR`: the step in which a broadcast informs the node, that is, delivers the message to it
  (Sheu, Liaw & Chen 1993, section 2).
* `EDGE_DISJOINT`: the node's level (Fragopoulou & Akl 1996, Definition 8). The proof is in
  docs/definitions/edge-disjoint-trees.md.
"""

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from starcast.support.compiled import jit
from starcast.topologies import permutations
from starcast.topologies.blocks import fixed_point_gain

Array = np.ndarray[Any, Any]
#: Number of positions that one look-up in `Tables.fixed` covers.
TRIPLE = 3


class Tables(NamedTuple):
    """Look-up tables for blocks of m! nodes and for their rows of w! nodes, w = m-1.

    Attributes:
        orders: all permutations of 0..w-1 in lexicographic order, uint8 ``[w!, w]``.
        neighbours: for each port 2..m and each node, the index of the node's neighbour in the
            block, uint16 ``[m+1, m!]``.
        compositions: at the index (rank of g, rank of p), the rank of g∘p, for permutations g and p
            of 0..w-1, int16 ``[w!, w!]``.
        cycles: at the same index, the number of cycles of g∘p, uint8 ``[w!, w!]``.
        fixed: twice the number of symbols at home (see the module docstring) in three positions,
            uint8 ``[2, m^3, w!]``. The first index t selects the positions 3t+2, .., 3t+4. The
            second index is a number with three digits in base m, one per position. The digit of a
            position depends on the symbol whose home it is: the digit is the symbol's index among
            the row's symbols in positions 2..m, or m-1 if the symbol is not one of them. The third
            index is the index of a node in the row.
        substar: for each node of S_m, the port towards its parent in the recursive-substar tree,
            and the step in which a broadcast along this tree informs the node, uint8 ``[2, m!]``.
    """

    orders: Array
    neighbours: Array
    compositions: Array
    cycles: Array
    fixed: Array
    substar: Array


@lru_cache(maxsize=2)
def build_tables(m: int) -> Tables:
    """Build the look-up tables for blocks of m! nodes, 2 <= m <= 7."""
    patterns, orders = permutations.table(m), permutations.table(m - 1)
    neighbours = np.zeros((m + 1, len(patterns)), dtype=np.uint16)
    for port in range(2, m + 1):
        neighbours[port] = permutations.rank(permutations.cross(patterns, port) + np.uint8(1))
    triples = [(0, 1, 2), (3, 4, 5)]
    gains = [fixed_point_gain(m - 1, tuple(p for p in triple if p < m - 1)) for triple in triples]
    # If m is small, some of the six positions do not exist. No symbol is at home there, so the
    # table has the same value for all digits of these positions.
    fixed = np.stack([gain.repeat(m**TRIPLE // len(gain), axis=0) for gain in gains])
    compositions = permutations.composition_table(m - 1)
    cycles = permutations.cycle_count_table(m - 1)
    return Tables(orders, neighbours, compositions, cycles, fixed, _substar(m))


def _substar(m: int) -> Array:
    """Return `Tables.substar`: for each node of S_m, the port to its parent and the node's step.

    Both refer to the recursive-substar tree: a node's step is the step in which a broadcast along
    this tree informs the node.
    """
    nodes = np.insert(permutations.arrangements(m, m), 0, 0, axis=1)
    y = np.zeros(m + 1, dtype=np.uint8)
    return np.array([relabel(m, 1, x, y) for x in nodes], dtype=np.uint8).T.copy()


#: Numbers of the three formulas for parent ports; `Blocks.kind` is one of these numbers.
GREEDY, SUBSTAR, EDGE_DISJOINT = 0, 1, 2


class Blocks(NamedTuple):
    """The formulas of a forest, stored as arrays for the compiled code.

    Attributes:
        kind: `GREEDY`, `SUBSTAR` or `EDGE_DISJOINT`.
        n, m: the number of symbols of S_n, and the number of symbols outside a block's tail.
        homes: the position of each symbol in each tree's hub, uint8 ``[trees, n+1]``; the values
            are used only if the kind is `GREEDY`.
        changes: the nodes whose port differs from the formula for this kind of forest, int64
            ``[changes, 4]``. Each row contains block, tree, index in the block and port; the rows
            are sorted.
    """

    kind: int
    n: int
    m: int
    homes: Array
    changes: Array


@jit
def read_tail(block: int, n: int, m: int, x: Array, rest: Array) -> None:
    """Write the symbols that a block's nodes share (the tail) into positions m+1, .., n of x.

    The other symbols are written into ``rest``, ascending.
    """
    # The number of tails that begin with the same symbol, in position m+1, is (n-1)!/m!.
    weight = 1
    for size in range(m + 1, n):
        weight *= size
    used = np.zeros(n + 1, dtype=np.uint8)
    remainder = block
    for position in range(m + 1, n + 1):
        left = n - (position - m)
        # The number of unused symbols that are smaller than the symbol in this position.
        digit = remainder // weight
        remainder %= weight
        if left > m:
            weight //= left
        symbol = 0
        while digit >= 0:
            symbol += 1
            if not used[symbol]:
                digit -= 1
        used[symbol] = 1
        x[position] = symbol
    index = 0
    for symbol in range(1, n + 1):
        if not used[symbol]:
            rest[index] = symbol
            index += 1


@jit
def read_row(first: int, m: int, rest: Array, others: Array) -> None:
    """Write the symbols of ``rest`` into ``others``, except the symbol at index ``first``.

    The nodes of a row begin with that symbol, and have the symbols ``others`` in positions 2..m.
    """
    for index in range(m - 1):
        others[index] = rest[index + (index >= first)]


@jit
def rank_orders(symbols: Array) -> int:
    """Return the lexicographic rank of a sequence of distinct numbers among its permutations."""
    rank = 0
    for index in range(len(symbols)):
        smaller = 0
        for later in range(index + 1, len(symbols)):
            smaller += symbols[later] < symbols[index]
        rank = rank * (len(symbols) - index) + smaller
    return rank


@jit
def write_order(m: int, order: Array, others: Array, x: Array) -> None:
    """Write the symbols ``others``, in the given order, into positions 2..m of the label x."""
    for index in range(m - 1):
        x[index + 2] = others[order[index]]


@jit
def fill_greedy(n: int, m: int, x: Array, others: Array, home: Array, out: Array) -> None:
    """Write each node's port towards its parent in the greedy tree with root r, for one row.

    A row consists of the w! nodes with the same tail and first symbol, w = m-1 (see the module
    docstring). The port of node v is alpha_r(v) of Tseng & Sheu 1997, Def. 1: the position in r of
    the node's first symbol, if this position is not 1; otherwise, the first position from 2 on
    where the node differs from r. It is 0 at the root. The nodes of a row that agree with r in the
    positions 2, .., d are consecutive, so each port is written to a whole slice of ``out``.

    Args:
        n: the number of symbols of S_n.
        m: the number of positions before the tail.
        x: a node of the row.
        others: the symbols in positions 2..m of the row's nodes, ascending.
        home: the position of each symbol in r.
        out: the ports of the row's nodes, uint8 ``[w!]``; overwritten.
    """
    port = home[x[1]]
    out[:] = port
    if port != 1:
        return
    start = 0
    size = len(out)
    used = 0
    for position in range(2, m + 1):
        # For the nodes that agree with r in this position too, the value is overwritten below.
        out[start : start + size] = position
        digit = 0
        index = -1
        for other in range(m - 1):
            if home[others[other]] == position:
                index = other
                break
            digit += 1 - (used >> other & 1)
        # The symbol of r in this position is in the tail. So all remaining nodes of the row differ
        # from r in this position, which remains their port.
        if index < 0:
            return
        used |= 1 << index
        size //= m + 1 - position
        start += digit * size
    out[start] = 0
    # The loop runs from the last position to the first, so the first position in which a node
    # differs from r is written last.
    for position in range(n, m, -1):
        if home[x[position]] != position:
            out[start] = position


@jit
def relabel(n: int, m: int, x: Array, y: Array) -> tuple[int, int]:
    """Relabel a node so that the root of the node's substar becomes the identity.

    A substar consists of the nodes with the same tail. The node is relabelled for k = n, n-1, ..,
    m+1 in turn. Let c be the symbol in position k. If c is k, nothing changes. Otherwise the nodes
    with c in position k form a substar; a broadcast enters it across port k at one node, its root.
    This root has k in position 1, c in position k and, if c is not 1, 1 in position c. The
    relabelling maps it to the identity. The port to the parent of a node is the smallest k such
    that the node, relabelled for all larger k, does not have k in position k (Sheu, Liaw & Chen
    1993, section 2).

    Args:
        n: the number of symbols of S_n.
        m: the number of positions before the tail; 1 to relabel the node completely.
        x: the node.
        y: the relabelled node; overwritten.

    Returns:
        The port from the root of the node's substar to this root's parent, and the step in which a
        broadcast informs this root. Both are 0 if this root is the identity. Each k adds 1 step if
        c = 1, and 2 steps if c is neither 1 nor k.
    """
    for position in range(n + 1):
        y[position] = x[position]
    port = 0
    step = 0
    for k in range(n, m, -1):
        symbol = y[k]
        if symbol == k:
            continue
        port = k
        step += 1 if symbol == 1 else 2
        for position in range(1, k):
            if y[position] == k:
                y[position] = 1
            elif y[position] == 1:
                y[position] = symbol
    return port, step


@jit
def first_displaced(n: int, x: Array, k: int) -> int:
    """Return the first position in the sequence k+1, .., n, 2, .., k-1 with a displaced symbol.

    A symbol is displaced if it differs from its position. If no symbol is displaced, the result is
    k.
    """
    for position in range(k + 1, n + 1):
        if x[position] != position:
            return position
    for position in range(2, k):
        if x[position] != position:
            return position
    return k


@jit
def edge_disjoint_ports(n: int, x: Array, out: Array) -> None:
    """Write the port from node x to its parent in edge-disjoint tree l into ``out[l]``, l = 2..n.

    The port is 0 if x is the root, the identity. Reference: Fragopoulou & Akl 1996, Def. 8.
    """
    position = np.empty(n + 1, dtype=np.uint8)
    is_root = True
    for p in range(1, n + 1):
        position[x[p]] = p
        is_root = is_root and x[p] == p
    k, a = position[1], x[1]
    # Symbol 1 is in position 1, so the parent in tree l is the neighbour across dimension l.
    if k == 1:
        for tree in range(2, n + 1):
            out[tree] = 0 if is_root else tree
        return
    # The first symbol of the node's parent in the shortest-path tree (SPT).
    q = x[a] if a != k else x[first_displaced(n, x, k)]
    for tree in range(2, n + 1):
        symbol = tree
        if tree == k:
            symbol = q
        elif (a == k and tree == q) or (a != k and tree == a):
            symbol = 1
        elif k not in (a, q) and tree == q:
            symbol = k
        out[tree] = position[symbol]


@jit
def potential_of(blocks: Blocks, tree: int, x: Array) -> int:
    """Return the potential of node x in the given tree (see the module docstring)."""
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
    """Return the distance from node x to a tree's hub (see the module docstring), by a formula.

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
    """Write the distance from each node of a row to the hub (see `distance`) into ``out``.

    All nodes of the row have the same symbols in the *common* positions 1, m+1, .., n; the other
    positions are *free*. A cycle that enters the common positions from a free position leaves them
    at a free position, the *exit*, which is the same for all nodes of the row. So a node has two
    kinds of cycles: those inside the common positions, which all nodes share, and those through
    free positions. The latter are the cycles of the permutation of the free symbols, composed with
    the exits; `Tables.cycles` counts them.

    The parameter ``home`` contains the positions of the symbols in the hub, and ``tables`` the
    look-up tables. `fill_greedy` documents the other parameters.
    """
    free = m - 1
    exits = np.empty(free, dtype=np.uint8)
    #: For each free position, the index in ``others`` of the symbol whose home is this position;
    #: ``free`` if ``others`` lacks this symbol.
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
    # A table for all free positions would not fit into the cache. So each look-up covers three
    # positions, and returns twice the number of symbols at home in these positions.
    low = tables.fixed[0, (at_home[0] * m + at_home[1]) * m + at_home[2]]
    high = tables.fixed[1, (at_home[3] * m + at_home[4]) * m + at_home[5]]
    for order in range(len(out)):
        # The result is correct even if intermediate values wrap around, so uint8 suffices.
        out[order] = np.uint8(np.uint8(offset + cycles[order]) - np.uint8(low[order] + high[order]))


@jit
def _fixed_part(n: int, m: int, x: Array, home: Array, visited: int) -> int:
    """Return the part of `distance` that depends only on the symbols in positions 1, m+1, .., n.

    All nodes of a row have the same symbols in these positions, so the part is computed once per
    row. Cycles through positions in the bit set ``visited`` are omitted: they also contain free
    positions, and `fill_distances` counts them.
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
    """Write the ports and steps of a block's nodes in the recursive-substar tree.

    The step of a node is the step in which a broadcast along the tree informs the node. The block
    is a substar. Its tail determines the port and step of the substar's root (see `relabel`). The
    other nodes are relabelled to nodes of S_m. `Tables.substar` contains the ports of these nodes,
    and their steps counted from the step of the substar's root.
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

    The level is the distance from the root plus a detour, which
    docs/definitions/edge-disjoint-trees.md derives from the definition of the trees (Fragopoulou &
    Akl 1996, Definition 8). The detour depends on the cycle (1 x_1 .. k) that contains symbol 1,
    and on its length L; x_1 is the first symbol of x, and k is the position of symbol 1. If L = 1
    and x is not the root, the path to the root begins with a hop across dimension l. If symbol l is
    at home, this hop displaces it, and the detour is 2; otherwise there is no detour.
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
    # k is the last position of the cycle, the position of symbol 1.
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
        # Here L >= 2. The detour is 2 in tree x_1 and in each tree l whose symbol l is displaced
        # and not on the cycle of symbol 1. In other trees, the detour is 4; trees k and q are
        # exceptions (see below).
        detour = 2 if tree == a or is_displaced else 4
        # In tree k, and in tree q if L = 2, the path to the root is a shortest path.
        if tree == k or (tree == q and length == 2):
            detour = 0
        elif tree == q and length > 3:
            detour = 2 if _merges_next(n, x, k, q) else 4
        out[tree] = shortest + detour


@jit
def _distance_of_others(n: int, x: Array, on_cycle: int) -> int:
    """Return the number of swaps that bring home the symbols outside the cycle of symbol 1.

    Each swap exchanges the symbol in position 1 with another symbol. The result is the number of
    displaced symbols outside this cycle plus the number of their cycles. The bit set ``on_cycle``
    contains the positions on the cycle of symbol 1.
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
    """Return whether the second of two hops from node x leads to a node that starts with q.

    The first hop leads to the neighbour that starts with k, the second to that neighbour's parent
    in the shortest-path tree (SPT). The result determines the level of x in tree q, for which
    `edge_disjoint_levels` defines k and q.
    """
    port = 1
    while x[port] != k:
        port += 1
    x[1], x[port] = x[port], x[1]
    is_merged = x[first_displaced(n, x, k)] == q
    x[1], x[port] = x[port], x[1]
    return bool(is_merged)
