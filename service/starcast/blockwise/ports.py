"""The ports towards the parents in closed form, for the nodes of a block.

These are the definitions of the papers at the identity, evaluated for one block of nodes at a time;
`sources` moves them to other roots. A block consists of the nodes that share their last n-m
symbols, the *tail*. Its nodes are in the lexicographic order of their first m symbols: first by the
first symbol, and then by the order of the w = m-1 others. The nodes with one first symbol are a
*row* of w! nodes.

In all functions ``x`` is a node, uint8 ``[n+1]``, with the symbol of position p at index p; the
symbols 1..m of a block are those of ``rest``, ascending.
"""

from typing import Any

import numpy as np

from starcast.blockwise.compiled import jit

#: The kinds of closed forms.
GREEDY, SUBSTAR, EDGE_DISJOINT = 0, 1, 2

Array = np.ndarray[Any, Any]


@jit
def read_tail(block: int, n: int, m: int, x: Array, rest: Array) -> None:
    """Write the tail of a block into positions m+1.. of x, and the other symbols into ``rest``."""
    weight = np.int64(1)
    for size in range(m + 1, n):
        weight *= size
    free = np.ones(n + 1, dtype=np.uint8)
    remainder = block
    for position in range(m + 1, n + 1):
        left = n - (position - m)
        digit = remainder // weight
        remainder %= weight
        if left > m:
            weight //= left
        symbol = 0
        while digit >= 0:
            symbol += 1
            if free[symbol]:
                digit -= 1
        free[symbol] = 0
        x[position] = symbol
    index = 0
    for symbol in range(1, n + 1):
        if free[symbol]:
            rest[index] = symbol
            index += 1


@jit
def read_row(first: int, m: int, rest: Array, others: Array) -> None:
    """Write the symbols of a block without that of an index, ascending."""
    for index in range(m - 1):
        others[index] = rest[index + (index >= first)]


@jit
def fill_ports(
    kind: int, n: int, m: int, x: Array, rest: Array, orders: Array, homes: Array, ports: Array
) -> None:
    """Write the ports of all trees for the nodes of a block.

    Args:
        kind: `GREEDY`, `SUBSTAR` or `EDGE_DISJOINT`.
        n: the size of S_n.
        m: the symbols of a block that are not in its tail.
        x: a node with the tail of the block; its other positions are overwritten.
        rest: the other symbols, ascending, uint8 ``[m]``.
        orders: all orders of 0..m-2, uint8 ``[(m-1)!, m-1]``.
        homes: for `GREEDY` the position of each symbol in the hub of each tree, uint8
            ``[trees, n+1]``.
        ports: the result, uint8 ``[trees, m!]``.
    """
    size = len(orders)
    others = np.empty(m - 1, dtype=np.uint8)
    column = np.empty(n + 1, dtype=np.uint8)
    for first in range(m):
        read_row(first, m, rest, others)
        x[1] = rest[first]
        start = first * size
        if kind == GREEDY:
            for tree in range(len(homes)):
                fill_greedy(
                    n, m, x, others, orders, homes[tree], ports[tree, start : start + size]
                )
            continue
        for order in range(size):
            for index in range(m - 1):
                x[index + 2] = others[orders[order, index]]
            if kind == SUBSTAR:
                ports[0, start + order] = substar_port(n, x, column)
            else:
                edge_disjoint_ports(n, x, column)
                for tree in range(n - 1):
                    ports[tree, start + order] = column[tree + 2]


@jit
def fill_greedy(
    n: int, m: int, x: Array, others: Array, orders: Array, home: Array, out: Array
) -> None:
    """Write alpha_r(v) for a row, 0 at the root r (Tseng & Sheu 1997, Def. 1).

    The position of the first symbol in r, if that is not 1; else the first position from 2 on where
    the node differs from r.
    """
    port = home[x[1]]
    if port != 1:
        out[:] = port
        return
    in_tail = 0
    for position in range(n, m, -1):
        if home[x[position]] != position:
            in_tail = position
    for order in range(len(orders)):
        port = in_tail
        for index in range(m - 1):
            if home[others[orders[order, index]]] != index + 2:
                port = index + 2
                break
        out[order] = port


@jit
def substar_port(n: int, x: Array, y: Array) -> int:
    """Return the port towards the parent in the broadcast tree of 2n-3 steps.

    The substar of the nodes with symbol c in position k, k = n, n-1, .., receives the message at
    one node, across port k; that node is the root of the tree on this substar. So the port is the
    smallest k for which the node, relabelled so that the roots of all larger substars become the
    identity, does not have k in position k (Sheu, Liaw & Chen 1993, section 2).

    Args:
        n: the size of S_n.
        x: the node.
        y: memory for a node.
    """
    y[:] = x
    port = 0
    for k in range(n, 1, -1):
        symbol = y[k]
        if symbol == k:
            continue
        port = k
        # The root of the substar has k in position 1, 1 in position `symbol`, `symbol` in k.
        for position in range(1, k):
            if y[position] == k:
                y[position] = 1
            elif y[position] == 1:
                y[position] = symbol
    return port


@jit
def first_displaced(n: int, x: Array, k: int) -> int:
    """Return the first displaced position of k+1, .., n, 2, .., k-1; k if there is none."""
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
    if k == 1:
        for tree in range(2, n + 1):
            out[tree] = 0 if is_root else tree
        return
    q = x[a] if a != k else x[first_displaced(n, x, k)]
    for tree in range(2, n + 1):
        symbol = tree
        if tree == k:
            symbol = q
        elif (a == k and tree == q) or (a != k and tree == a):
            symbol = 1
        elif a != k and q != k and tree == q:
            symbol = k
        out[tree] = position[symbol]
