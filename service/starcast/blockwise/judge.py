"""The judge: examines every tree edge of a range of blocks.

For every node and tree it looks up the parent across the node's port and compares the potentials of
both. Nothing about the ports is assumed; only tables of neighbours inside a block, and the fact
that port p exchanges the symbols in the positions 1 and p, are used. A node whose parent's
potential is not smaller by 1, or whose port does not exist, is an *exception*; `verification`
decides about these. The load of a directed link is the number of trees in which its end, the child,
has the link's port, so that loads are counted node by node.
"""

from typing import NamedTuple

import numpy as np

from starcast.blockwise.compiled import jit
from starcast.blockwise.ports import GREEDY, fill_ports, read_row, read_tail
from starcast.blockwise.potentials import fill_distances, fill_potentials, potential_of
from starcast.blockwise.tables import Array, Tables

#: Exceptions that are recorded per call; more are a proof that something is wrong.
MOST_EXCEPTIONS = 1_000
#: Nodes of greatest potential that are recorded per tree and call.
WITNESSES = 16
#: Bits of the counter of one port in an integer that counts the trees of all ports of a node.
_COUNTER = 4


class Blocks(NamedTuple):
    """The closed forms of a forest, as the kernel reads them.

    Attributes:
        kind: one of the kinds of `ports`.
        n, m: the size of S_n, and the symbols of a block that are not in its tail.
        homes: the position of each symbol in each tree's hub, uint8 ``[trees, n+1]``.
        changes: nodes whose port is not that of the kind's closed form, int64 ``[changes, 4]``:
            block, tree, index in the block, port; ascending.
    """

    kind: int
    n: int
    m: int
    homes: Array
    changes: Array


class Found(NamedTuple):
    """What the judge found in a range of blocks.

    Attributes:
        exceptions: int64 ``[count, 3]``: block, tree, index in the block.
        load: the number of directed links by load, int64 ``[trees + 1]``.
        greatest: the greatest potential of each tree, int64 ``[trees]``.
        witnesses: nodes of this potential, int64 ``[count, 3]`` as the exceptions.
    """

    exceptions: Array
    load: Array
    greatest: Array
    witnesses: Array


def examine(blocks: Blocks, tables: Tables, start: int, stop: int) -> Found:
    """Examine every tree edge of the nodes of the blocks start, .., stop-1.

    At most `MOST_EXCEPTIONS` exceptions are returned; the work ends early if there are more.
    """
    trees = len(blocks.homes)
    exceptions = np.zeros((MOST_EXCEPTIONS, 3), dtype=np.int64)
    load = np.zeros(trees + 1, dtype=np.int64)
    greatest = np.zeros(trees, dtype=np.int64)
    witnesses = np.zeros((trees, WITNESSES, 2), dtype=np.int64)
    counts = np.zeros(trees, dtype=np.int64)
    first = int(np.searchsorted(blocks.changes[:, 0], start))
    count = _examine(
        *blocks, tables, start, stop, first, exceptions, load, greatest, witnesses, counts
    )
    listed = [
        (block, tree, index)
        for tree in range(trees)
        for block, index in witnesses[tree, : counts[tree]].tolist()
    ]
    nodes = np.array(listed, dtype=np.int64).reshape(-1, 3)
    return Found(exceptions[:count], load, greatest, nodes)


def read_block(blocks: Blocks, tables: Tables, block: int) -> tuple[Array, Array, Array]:
    """Return a block's symbols, ports and potentials.

    Returns:
        The nodes, uint8 ``[m!, n]``; and the ports and the potentials, uint8 ``[trees, m!]``.
    """
    n, m = blocks.n, blocks.m
    x, rest = np.zeros(n + 1, dtype=np.uint8), np.zeros(m, dtype=np.uint8)
    shape = len(blocks.homes), m * len(tables.orders)
    ports, potentials = np.zeros(shape, dtype=np.uint8), np.zeros(shape, dtype=np.uint8)
    read_tail(block, n, m, x, rest)
    fill_ports(blocks.kind, n, m, x, rest, tables, blocks.homes, ports)
    fill_potentials(blocks.kind, n, m, x, rest, tables, blocks.homes, potentials)
    for _, tree, index, port in blocks.changes[blocks.changes[:, 0] == block].tolist():
        ports[tree, index] = port
    nodes = np.empty((shape[1], n), dtype=np.uint8)
    nodes[:, m:] = x[m + 1 :]
    size = len(tables.orders)
    for first in range(m):
        row = nodes[first * size : (first + 1) * size]
        row[:, 0] = rest[first]
        row[:, 1:m] = np.delete(rest, first)[tables.orders]
    return nodes, ports, potentials


@jit
def _examine(
    kind: int,
    n: int,
    m: int,
    homes: Array,
    changes: Array,
    tables: Tables,
    start: int,
    stop: int,
    next_change: int,
    exceptions: Array,
    load: Array,
    greatest: Array,
    witnesses: Array,
    counts: Array,
) -> int:
    trees = len(homes)
    size = len(tables.orders)
    x = np.zeros(n + 1, dtype=np.uint8)
    rest = np.zeros(m, dtype=np.uint8)
    others = np.zeros(m - 1, dtype=np.uint8)
    column = np.zeros(n + 1, dtype=np.uint8)
    ports = np.zeros((trees, m * size), dtype=np.uint8)
    potentials = np.zeros((trees, m * size), dtype=np.uint8)
    above = np.zeros(size, dtype=np.uint8)
    # Padded to multiples of 8 bytes, so that it is tested a word at a time.
    suspicious = np.zeros((size + 7) // 8 * 8, dtype=np.uint8)
    words = suspicious.view(np.uint64)
    varying = np.zeros(trees, dtype=np.uint8)
    found = 0
    for block in range(start, stop):
        read_tail(block, n, m, x, rest)
        fill_ports(kind, n, m, x, rest, tables, homes, ports)
        fill_potentials(kind, n, m, x, rest, tables, homes, potentials)
        while next_change < len(changes) and changes[next_change, 0] == block:
            ports[changes[next_change, 1], changes[next_change, 2]] = changes[next_change, 3]
            next_change += 1
        for first in range(m):
            read_row(first, m, rest, others)
            begin = first * size
            for tree in range(trees):
                own = potentials[tree, begin : begin + size]
                row = ports[tree, begin : begin + size]
                port = row[0]
                for order in range(size):
                    suspicious[order] = row[order] ^ port
                varying[tree] = _any_bit(words)
                # Nodes that need a closer look: those of at least this potential, too.
                enough = np.uint8(greatest[tree] + (counts[tree] == WITNESSES))
                level = potentials[tree]
                is_regular = not varying[tree] and 2 <= port <= m
                if is_regular:
                    neighbours = tables.neighbours[port, begin : begin + size]
                    for order in range(size):
                        above[order] = level[neighbours[order]]
                elif varying[tree]:
                    for order in range(size):
                        suspicious[order] = np.uint8(row[order] - np.uint8(2)) > np.uint8(m - 2)
                    is_regular = not _any_bit(words)
                    if is_regular:
                        for order in range(size):
                            above[order] = level[tables.neighbours[row[order], begin + order]]
                elif m < port <= n and kind == GREEDY:
                    is_regular = True
                    # The same order of the same symbols, between other first symbols and tails.
                    x[1], x[port] = x[port], rest[first]
                    fill_distances(n, m, x, others, tables, homes[tree], above)
                    x[port] = x[1]
                if is_regular:
                    for order in range(size):
                        value = own[order]
                        suspicious[order] = (
                            np.uint8(value - above[order] - np.uint8(1))
                            | np.uint8(value == 0)
                            | np.uint8(value >= enough)
                        )
                    if not _any_bit(words):
                        continue
                for order in range(size):
                    index = begin + order
                    port = row[order]
                    value = own[order]
                    is_exception = True
                    if value > 0 and 2 <= port <= n:
                        if port <= m:
                            parent = level[tables.neighbours[port, index]]
                        else:
                            for place in range(m - 1):
                                x[place + 2] = others[tables.orders[order, place]]
                            x[1], x[port] = x[port], rest[first]
                            parent = potential_of(kind, n, tree, x, homes[tree], column)
                            x[port] = x[1]
                        is_exception = parent != value - 1
                    if is_exception:
                        if found == len(exceptions):
                            return found
                        exceptions[found, 0] = block
                        exceptions[found, 1] = tree
                        exceptions[found, 2] = index
                        found += 1
                    if value > greatest[tree]:
                        greatest[tree] = value
                        counts[tree] = 0
                    if value == greatest[tree] and counts[tree] < WITNESSES:
                        witnesses[tree, counts[tree], 0] = block
                        witnesses[tree, counts[tree], 1] = index
                        counts[tree] += 1
            _count_loads(n, ports, varying, begin, size, load)
    return found


@jit
def _any_bit(words: Array) -> bool:
    bits = np.uint64(0)
    for word in words:
        bits |= word
    return bool(bits != 0)


@jit
def _count_loads(n: int, ports: Array, varying: Array, begin: int, size: int, load: Array) -> None:
    """Add the loads of the links that lead to the nodes of a row."""
    # The trees of each port, in those trees that have one port in the whole row.
    same = np.uint64(0)
    one = np.uint64(1)
    count = 0
    last = 0
    for tree in range(len(varying)):
        port = ports[tree, begin]
        if varying[tree]:
            count += 1
            last = tree
        elif 2 <= port <= n:
            same += one << np.uint64(_COUNTER * (port - 2))
    if count <= 1:
        for port in range(2, n + 1):
            load[same >> np.uint64(_COUNTER * (port - 2)) & np.uint64(15)] += size
        if count == 1:
            nodes = np.zeros(256, dtype=np.int64)
            for order in range(size):
                nodes[ports[last, begin + order]] += 1
            for port in range(2, n + 1):
                trees = same >> np.uint64(_COUNTER * (port - 2)) & np.uint64(15)
                load[trees] -= nodes[port]
                load[trees + one] += nodes[port]
        return
    for order in range(size):
        users = same
        for tree in range(len(varying)):
            port = ports[tree, begin + order]
            if varying[tree] and 2 <= port <= n:
                users += one << np.uint64(_COUNTER * (port - 2))
        for port in range(2, n + 1):
            load[users >> np.uint64(_COUNTER * (port - 2)) & np.uint64(15)] += 1
