"""Compiled code that checks every tree edge in a range of blocks.

For every node and tree, this code looks up the parent across the node's port and compares the
potentials of both nodes (numbers that decrease by 1 from node to parent). The code does not trust
the ports: it uses only tables of neighbours inside a block, and the fact that crossing port p swaps
the symbols in positions 1 and p. A node whose parent's potential is not smaller by 1, or whose port
does not exist, is an *exception*; `verification` decides which exceptions are allowed.

A *row* consists of the nodes of a block that have the same first symbol (see `formulas`).

The load of a directed link is the number of trees that use it. A tree uses the link from u to v if
the port of v in this tree leads to its parent u. So loads are counted node by node, at v.
"""

from typing import NamedTuple

import numpy as np

from starcast.judges.blockwise.formulas import (
    GREEDY,
    SUBSTAR,
    Array,
    Blocks,
    Tables,
    edge_disjoint_levels,
    edge_disjoint_ports,
    fill_distances,
    fill_greedy,
    fill_substar,
    potential_of,
    read_row,
    read_tail,
    write_order,
)
from starcast.support.compiled import jit

#: Maximum number of exceptions that a call of `examine` records. A forest with more exceptions is
#: wrong.
MAX_EXCEPTIONS = 1_000
#: Maximum number of nodes with the largest potential that a call of `examine` records for a tree.
WITNESSES = 16
#: Number of bits per port in the integer that counts how many trees use each port of a node.
_COUNTER = 4


class Findings(NamedTuple):
    """Results of checking a range of blocks, in arrays of fixed size.

    Attributes:
        exceptions: the recorded exceptions, int64 ``[MAX_EXCEPTIONS, 3]``. An exception is given by
            a block, a tree and an index in the block.
        exception_count: the number of recorded exceptions, int64 ``[1]``.
        load: at index i, the number of directed links that i trees use, int64 ``[trees + 1]``.
        largest: the largest potential of each tree, int64 ``[trees]``.
        witnesses: up to `WITNESSES` nodes with the largest potential of each tree, int64
            ``[trees, WITNESSES, 2]``. A node is given by its block and its index in the block.
        counts: the number of recorded witnesses of each tree, int64 ``[trees]``.
    """

    exceptions: Array
    exception_count: Array
    load: Array
    largest: Array
    witnesses: Array
    counts: Array


def examine(blocks: Blocks, tables: Tables, start: int, stop: int) -> Findings:
    """Examine, in all trees, the edges from the nodes in blocks start, .., stop-1 to their parents.

    An exception is a node that has no parent, or whose potential is not larger by 1 than that of
    its parent. The examination stops early if there are more than `MAX_EXCEPTIONS` exceptions.
    """
    trees = len(blocks.homes)
    found = Findings(
        exceptions=np.zeros((MAX_EXCEPTIONS, 3), dtype=np.int64),
        exception_count=np.zeros(1, dtype=np.int64),
        load=np.zeros(trees + 1, dtype=np.int64),
        largest=np.zeros(trees, dtype=np.int64),
        witnesses=np.zeros((trees, WITNESSES, 2), dtype=np.int64),
        counts=np.zeros(trees, dtype=np.int64),
    )
    _examine(blocks, tables, found, start, stop)
    return found


def read_block(blocks: Blocks, tables: Tables, block: int) -> tuple[Array, Array, Array]:
    """Return the labels, ports and potentials of all nodes in a block.

    Returns:
        Three arrays: the labels of the nodes, uint8 ``[m!, n]``; for each tree, the ports to their
        parents, uint8 ``[trees, m!]``; and the nodes' potentials, of the same shape and type.
    """
    n, m = blocks.n, blocks.m
    x, rest = np.zeros(n + 1, dtype=np.uint8), np.zeros(m, dtype=np.uint8)
    shape = len(blocks.homes), m * len(tables.orders)
    ports, potentials = np.zeros(shape, dtype=np.uint8), np.zeros(shape, dtype=np.uint8)
    read_tail(block, n, m, x, rest)
    _fill_block(blocks, tables, x, rest, ports, potentials)
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
def _examine(blocks: Blocks, tables: Tables, found: Findings, start: int, stop: int) -> None:
    """Examine the blocks ``start`` to ``stop`` - 1, and write the results to ``found``.

    Each row (the nodes with the same first symbol) is first examined as a whole. Its nodes are
    examined one by one only if the row may have an exception or a potential that must be recorded.
    """
    n, m = blocks.n, blocks.m
    trees = len(blocks.homes)
    size = len(tables.orders)
    # The functions that are called most often take single arrays, not the named tuples. Passing a
    # tuple would update the reference counts of all its arrays.
    x = np.zeros(n + 1, dtype=np.uint8)
    rest = np.zeros(m, dtype=np.uint8)
    others = np.zeros(m - 1, dtype=np.uint8)
    ports = np.zeros((trees, m * size), dtype=np.uint8)
    potentials = np.zeros((trees, m * size), dtype=np.uint8)
    is_varying = np.zeros(trees, dtype=np.bool_)
    # The array is padded to a multiple of 8 bytes, so that `_any_flag` can test 8 nodes at a time.
    flags = np.zeros((size + 7) // 8 * 8, dtype=np.uint8)
    neighbours = tables.neighbours
    largest, counts = found.largest, found.counts
    # Changes are sorted by block, and the loop below visits the blocks in the same order. So a
    # search is needed only for the first change.
    next_change = int(np.searchsorted(blocks.changes[:, 0], start))
    for block in range(start, stop):
        read_tail(block, n, m, x, rest)
        _fill_block(blocks, tables, x, rest, ports, potentials)
        next_change = _change_ports(blocks.changes, next_change, block, ports)
        for first in range(m):
            read_row(first, m, rest, others)
            x[1] = rest[first]
            begin = first * size
            for tree in range(trees):
                row = ports[tree, begin : begin + size]
                level = potentials[tree]
                port = row[0]
                is_varying[tree] = _has_several_ports(row, flags)
                has_parents = True
                if is_varying[tree]:
                    has_parents = _read_parents_of_ports(row, begin, m, neighbours, level, flags)
                # All nodes of the row have the same port, and it leads to nodes of this block, so
                # one slice of `neighbours` contains the parents.
                elif 2 <= port <= m:
                    _read_parents(neighbours[port, begin : begin + size], level, flags)
                elif m < port <= n and blocks.kind == GREEDY:
                    # The parents form a row of another block. They differ from these nodes only in
                    # the first symbol and the tail, so the formula for rows gives their potentials.
                    x[1], x[port] = x[port], x[1]
                    fill_distances(n, m, x, others, tables, blocks.homes[tree], flags[:size])
                    x[1], x[port] = x[port], x[1]
                else:
                    has_parents = False
                # A node whose potential equals the largest one so far is recorded as a witness,
                # until there are enough witnesses.
                recorded = largest[tree] + (counts[tree] == WITNESSES)
                if has_parents and _is_plain(level[begin : begin + size], flags, recorded):
                    continue
                if not _examine_nodes(
                    blocks, tables, x, others, block, tree, begin, row, level, found
                ):
                    return
            _count_loads(n, ports, begin, size, is_varying, found.load)


@jit
def _fill_block(
    blocks: Blocks, tables: Tables, x: Array, rest: Array, ports: Array, potentials: Array
) -> None:
    """Write the ports and potentials of all trees for the nodes of a block.

    Args:
        blocks: the formulas of the forest.
        tables: the look-up tables for blocks of m! nodes.
        x: a node with the tail of the block; its other positions are overwritten.
        rest: the symbols outside the tail, ascending, uint8 ``[m]``.
        ports: the ports towards the parents, uint8 ``[trees, m!]``; overwritten.
        potentials: the nodes' potentials, uint8 ``[trees, m!]``; overwritten.
    """
    n, m = blocks.n, blocks.m
    if blocks.kind == SUBSTAR:
        fill_substar(n, m, x, rest, tables, ports[0], potentials[0])
        return
    size = len(tables.orders)
    others = np.empty(m - 1, dtype=np.uint8)
    column = np.empty(n + 1, dtype=np.uint8)
    levels = np.empty(n + 1, dtype=np.uint8)
    for first in range(m):
        read_row(first, m, rest, others)
        x[1] = rest[first]
        start, stop = first * size, (first + 1) * size
        if blocks.kind == GREEDY:
            for tree in range(len(blocks.homes)):
                home = blocks.homes[tree]
                fill_greedy(n, m, x, others, home, ports[tree, start:stop])
                fill_distances(n, m, x, others, tables, home, potentials[tree, start:stop])
            continue
        for order in range(size):
            write_order(m, tables.orders[order], others, x)
            edge_disjoint_ports(n, x, column)
            edge_disjoint_levels(n, x, 2, n, levels)
            for tree in range(n - 1):
                ports[tree, start + order] = column[tree + 2]
                potentials[tree, start + order] = levels[tree + 2]


@jit
def _change_ports(changes: Array, next_change: int, block: int, ports: Array) -> int:
    """Correct the ports of those nodes of a block whose ports differ from the formula.

    Args:
        changes: the array `Blocks.changes`, which lists these nodes and their ports.
        next_change: the index of the first change in this block or a later one.
        block: the number of the block.
        ports: the ports of the block's nodes, uint8 ``[trees, m!]``; modified in place.

    Returns:
        The index of the first change in a later block.
    """
    while next_change < len(changes) and changes[next_change, 0] == block:
        ports[changes[next_change, 1], changes[next_change, 2]] = changes[next_change, 3]
        next_change += 1
    return next_change


@jit
def _any_flag(flags: Array) -> bool:
    """Return whether any entry of ``flags`` is not 0; its length must be a multiple of 8."""
    bits = np.uint64(0)
    for word in flags.view(np.uint64):
        bits |= word
    return bool(bits != 0)


@jit
def _has_several_ports(row: Array, flags: Array) -> bool:
    """Return whether the nodes of a row have different ports to their parents in one tree.

    The array ``row`` contains these ports; ``flags`` is overwritten.
    """
    port = row[0]
    # The loop has no early exit, because without branches it is compiled to vector instructions.
    for order in range(len(row)):
        flags[order] = row[order] ^ port
    return _any_flag(flags)


@jit
def _read_parents(neighbours: Array, level: Array, parents: Array) -> None:
    """Look up the potential of each node's parent, for a row whose nodes all have the same port.

    Args:
        neighbours: the index in the block of each node's neighbour across the row's port.
        level: the potentials of the block's nodes.
        parents: the potentials of the parents; overwritten.
    """
    for order in range(len(neighbours)):
        parents[order] = level[neighbours[order]]


@jit
def _read_parents_of_ports(
    row: Array, begin: int, m: int, neighbours: Array, level: Array, parents: Array
) -> bool:
    """Look up the potential of each node's parent, for a row whose nodes have different ports.

    Args:
        row: the ports of the row's nodes.
        begin: the index in the block of the row's first node.
        m: the number of positions before the tail.
        neighbours: the index in the block of each node's neighbour across each port.
        level: the potentials of the block's nodes.
        parents: the potentials of the parents; overwritten.

    Returns:
        True if all parents are in this block. If a parent is in another block or does not exist,
        the result is False, and the values in ``parents`` have no meaning.
    """
    for order in range(len(row)):
        # The subtraction of uint8 numbers wraps around, so ports 0 and 1 become large numbers and
        # are also detected.
        parents[order] = np.uint8(row[order] - np.uint8(2)) > np.uint8(m - 2)
    if _any_flag(parents):
        return False
    for order in range(len(row)):
        parents[order] = level[neighbours[row[order], begin + order]]
    return True


@jit
def _is_plain(own: Array, flags: Array, recorded: int) -> bool:
    """Return whether `_examine_nodes` can be skipped for a row.

    This is the case if the potential of each node's parent is smaller by 1, and no potential needs
    to be recorded. Most rows pass this test. The loop has no branches, so it is compiled to vector
    instructions.

    Args:
        own: the potentials of the nodes.
        flags: the potentials of the nodes' parents; overwritten.
        recorded: the smallest potential that needs to be recorded.
    """
    limit = np.uint8(recorded)
    for order in range(len(own)):
        value = own[order]
        # The difference is 0 if the parent's potential is smaller by 1. For a potential of 0 the
        # difference could wrap around to 0, so the potential 0 is detected separately.
        flags[order] = (
            np.uint8(value - flags[order] - np.uint8(1))
            | np.uint8(value == 0)
            | np.uint8(value >= limit)
        )
    return not _any_flag(flags)


@jit
def _examine_nodes(
    blocks: Blocks,
    tables: Tables,
    x: Array,
    others: Array,
    block: int,
    tree: int,
    begin: int,
    row: Array,
    level: Array,
    found: Findings,
) -> bool:
    """Examine the nodes of a row one by one; record exceptions and the largest potentials.

    An exception is a node that has no parent, or whose potential is not larger by 1 than that of
    its parent.

    Args:
        blocks: the formulas of the forest.
        tables: the look-up tables.
        x: a node of the row; its positions 2..m are overwritten.
        others: the symbols in positions 2..m of the row's nodes, ascending.
        block: the number of the block.
        tree: the number of the tree.
        begin: the index in the block of the row's first node.
        row: the ports of the row's nodes in the tree.
        level: the potentials of the block's nodes in the tree.
        found: the findings; modified in place.

    Returns:
        False if the array of exceptions is full.
    """
    neighbours = tables.neighbours
    largest = found.largest
    for order in range(len(row)):
        index = begin + order
        port = row[order]
        value = level[index]
        is_closer = False
        if value > 0 and 2 <= port <= blocks.m:
            is_closer = level[neighbours[port, index]] == value - 1
        elif value > 0 and blocks.m < port <= blocks.n:
            write_order(blocks.m, tables.orders[order], others, x)
            is_closer = _potential_across(blocks, tree, x, port) == value - 1
        if not is_closer and not _record_exception(found, block, tree, index):
            return False
        if value >= largest[tree]:
            _record_potential(found, block, tree, index, value)
    return True


@jit
def _potential_across(blocks: Blocks, tree: int, x: Array, port: int) -> int:
    """Return the potential, in a tree, of the neighbour of node x across a port."""
    x[1], x[port] = x[port], x[1]
    potential = potential_of(blocks, tree, x)
    x[1], x[port] = x[port], x[1]
    return potential


@jit
def _record_exception(found: Findings, block: int, tree: int, index: int) -> bool:
    """Record a node as an exception of a tree; return False if the array of exceptions is full."""
    count = found.exception_count[0]
    if count == len(found.exceptions):
        return False
    found.exceptions[count, 0] = block
    found.exceptions[count, 1] = tree
    found.exceptions[count, 2] = index
    found.exception_count[0] += 1
    return True


@jit
def _record_potential(found: Findings, block: int, tree: int, index: int, value: int) -> None:
    """Record a node whose potential ``value`` is at least its tree's largest potential so far."""
    if value > found.largest[tree]:
        found.largest[tree] = value
        found.counts[tree] = 0
    count = found.counts[tree]
    if count < WITNESSES:
        found.witnesses[tree, count, 0] = block
        found.witnesses[tree, count, 1] = index
        found.counts[tree] += 1


@jit
def _count_loads(
    n: int, ports: Array, begin: int, size: int, is_varying: Array, load: Array
) -> None:
    """Count the loads of all links that lead from neighbours to the nodes of a row.

    The load of the link from neighbour u to node v is the number of trees in which the port of v
    leads to u. If all nodes of the row have the same port in a tree, this tree is counted once for
    all of them.

    Args:
        n: the number of symbols of S_n.
        ports: the ports of the block's nodes, uint8 ``[trees, m!]``.
        begin: the index in the block of the row's first node.
        size: the number of nodes of the row.
        is_varying: for each tree, whether the ports of the row's nodes differ, bool ``[trees]``.
        load: at index i, the number of links with load i, int64 ``[trees + 1]``; updated.
    """
    same = np.uint64(0)
    varying = 0
    last = 0
    for tree in range(len(is_varying)):
        if is_varying[tree]:
            varying += 1
            last = tree
        else:
            same += _counter_of(n, ports[tree, begin])
    # In most rows, the ports of the nodes differ in at most one tree. So all nodes are counted
    # together without this tree, and then the tree is added. This avoids a loop over nodes.
    if varying <= 1:
        _add_loads(n, same, size, load)
        if varying == 1:
            _move_loads(n, same, ports[last, begin : begin + size], load)
        return
    for order in range(size):
        users = same
        for tree in range(len(is_varying)):
            if is_varying[tree]:
                users += _counter_of(n, ports[tree, begin + order])
        _add_loads(n, users, 1, load)


@jit
def _counter_of(n: int, port: int) -> np.uint64:
    """Return packed counters with the value 1 for the given port, and 0 for all other ports.

    If the port does not exist, all counters are 0. The counters of a node's ports, with 4 bits
    each, are packed into a 64-bit integer. A counter is the number of trees that use the port.
    """
    if 2 <= port <= n:
        return np.uint64(1) << np.uint64(_COUNTER * (port - 2))
    return np.uint64(0)


@jit
def _trees_of(users: np.uint64, port: int) -> np.uint64:
    """Return the number of trees that use a port of a node, from the node's packed counters."""
    return users >> np.uint64(_COUNTER * (port - 2)) & np.uint64(15)


@jit
def _add_loads(n: int, users: np.uint64, nodes: int, load: Array) -> None:
    """Add the links to several nodes, whose loads are the same, to a histogram of loads.

    At index i, the histogram contains the number of links that i trees use.

    Args:
        n: the number of symbols of S_n.
        users: the number of trees that use each port, as packed counters.
        nodes: the number of nodes whose links are added.
        load: the histogram, int64 ``[trees + 1]``; modified in place.
    """
    for port in range(2, n + 1):
        load[_trees_of(users, port)] += nodes


@jit
def _move_loads(n: int, users: np.uint64, row: Array, load: Array) -> None:
    """Count one more tree in a histogram of loads, for the links to the nodes of one row.

    The histogram already contains the links to these nodes. A link that the tree uses moves from
    its load to the next larger load.

    Args:
        n: the number of symbols of S_n.
        users: the number of trees already counted that use each port, as packed counters.
        row: the port of each node in the added tree.
        load: the histogram, int64 ``[trees + 1]``; modified in place.
    """
    nodes = np.zeros(256, dtype=np.int64)
    for order in range(len(row)):
        nodes[row[order]] += 1
    for port in range(2, n + 1):
        trees = _trees_of(users, port)
        load[trees] -= nodes[port]
        load[trees + np.uint64(1)] += nodes[port]
