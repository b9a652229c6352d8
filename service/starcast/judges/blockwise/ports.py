"""Formulas for the ports that lead to the parents, evaluated for all nodes of a block.

The formulas follow the papers' definitions, with the identity as root; `sources` translates the
results to other roots. A block consists of the nodes that share their last n-m symbols, the *tail*.
Its nodes are in the lexicographic order of their first m symbols: first by the first symbol, and
then by the order of the w = m-1 others. The w! nodes with the same first symbol form a *row*.

In all functions ``x`` is a node, uint8 ``[n+1]``, with the symbol of position p at index p, and
``rest`` contains the m symbols that are not in the block's tail, ascending. The tables of class
`Tables` depend only on m, and most of them fit into the processor's cache.

The *hub* of a tree is the node to which its parents lead: the root or, in the trees of
``multiple``, a cyclic shift of the root (near the root, the parents lead from the hub to the root).
The *home* of a symbol is its position in the hub. A symbol in this position is *at home*; any other
symbol is *displaced*.
"""

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from starcast.support.compiled import jit
from starcast.topologies import permutations

Array = np.ndarray[Any, Any]
#: Number of positions whose fixed points are counted by a single table lookup.
TRIPLE = 3


class Tables(NamedTuple):
    """Tables for blocks of m! nodes and rows of w! nodes, w = m-1.

    Attributes:
        orders: all orders of 0..w-1, uint8 ``[w!, w]``.
        neighbours: the index in the block of each node's neighbour, across the ports 2..m, uint16
            ``[m+1, m!]``.
        compositions: the ranks of g∘p for permutations g and p, which are given by their ranks,
            int16 ``[w!, w!]``.
        cycles: the number of cycles of g∘p, uint8 ``[w!, w!]``.
        fixed: twice the number of fixed points in the positions 3t+2, .., 3t+4, uint8
            ``[2, m^3, w!]``; the second index combines, for each of these positions, the index of
            the symbol that is at home there.
        substar: for each node of S_m, the port towards its parent in the broadcast tree of 2m-3
            steps, and the step in which it is informed, uint8 ``[2, m!]``.
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
    """Return the array `Tables.substar`, with the results of `relabel` for every node of S_m."""
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


#: The families of formulas for ports; `Blocks.kind` is one of these numbers.
GREEDY, SUBSTAR, EDGE_DISJOINT = 0, 1, 2


class Blocks(NamedTuple):
    """The formulas of a forest, in the representation that the compiled code reads.

    Attributes:
        kind: `GREEDY`, `SUBSTAR` or `EDGE_DISJOINT`.
        n, m: the number of symbols of S_n, and the number of symbols outside a block's tail.
        homes: the position of each symbol in each tree's hub, uint8 ``[trees, n+1]``.
        changes: nodes whose port differs from the formula for this kind of forest, int64
            ``[changes, 4]``: block, tree, index in the block, port; sorted.
    """

    kind: int
    n: int
    m: int
    homes: Array
    changes: Array


@jit
def read_tail(block: int, n: int, m: int, x: Array, rest: Array) -> None:
    """Write a block's tail into positions m+1, .., n of x, and the other symbols into ``rest``."""
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
    """Write the symbols outside a block's tail, ascending, without the symbol at an index."""
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
    """Write the symbols of a row into positions 2..m of x, in the order of a permutation."""
    for index in range(m - 1):
        x[index + 2] = others[order[index]]


@jit
def fill_greedy(n: int, m: int, x: Array, others: Array, home: Array, out: Array) -> None:
    """Write the ports towards the parents in the greedy tree, for the nodes of a row.

    The port of node v in the tree with root r is alpha_r(v) of Tseng & Sheu 1997, Def. 1; it is 0
    at the root.

    The port is the position of the first symbol in r, if that is not 1; otherwise it is the first
    position from 2 on where the node differs from r. The nodes of a row that agree with r in the
    positions 2, .., d are consecutive.
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
        # The tail contains the symbol that r has in this position, so no node of the row agrees
        # with r in this position.
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
    """Relabel a node so that the root of the substar with its tail becomes the identity.

    For k = n, n-1, .., the nodes with symbol c in position k form a substar. It receives the
    message across port k at one node, its root, which has k in position 1, 1 in position c and c in
    position k. A relabelling for k maps this root to the identity. The port to the parent of a node
    is the smallest k such that the node, relabelled for all larger k, does not have k in position k
    (Sheu, Liaw & Chen 1993, section 2).

    Args:
        n: the size of S_n.
        m: the positions m+1.. are the tail; 1 to relabel completely.
        x: the node.
        y: the result.

    Returns:
        The port from the root of the substar with this tail to its parent, and the step in which
        this root is informed. Each k adds 1 step if c = 1, and 2 steps if c is neither 1 nor k.
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
    """Return the first of the positions k+1, .., n, 2, .., k-1 with a displaced symbol, else k."""
    for position in range(k + 1, n + 1):
        if x[position] != position:
            return position
    for position in range(2, k):
        if x[position] != position:
            return position
    return k


@jit
def edge_disjoint_ports(n: int, x: Array, out: Array) -> None:
    """Write the port towards the parent in tree l of EDT into ``out[l]``, l = 2..n.

    Reference: Fragopoulou & Akl 1996, Def. 8.
    """
    position = np.empty(n + 1, dtype=np.uint8)
    is_root = True
    for p in range(1, n + 1):
        position[x[p]] = p
        is_root = is_root and x[p] == p
    k, a = position[1], x[1]
    # Symbol 1 is at home, so the parent in tree l is the neighbour across dimension l.
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
