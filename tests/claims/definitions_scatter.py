"""Scatter and total exchange of Fragopoulou & Akl 1993, sections 5 to 8, in plain Python.

Written from the definitions page alone.
"""

from collections.abc import Callable, Mapping
from math import factorial

from claims.definitions import (
    Cycle,
    Node,
    Row,
    crossed,
    cycles,
    distances,
    execute,
    expanded,
    identity,
    necklace,
    necklaces,
    nodes,
    one_port,
    rotated,
    translated,
)

#: The types from 12..n of every unit, which is a destination and a number.
Routes = Mapping[tuple[Node, int], list[int]]


def position_of_1(node: Node) -> int:
    """Return the position of symbol 1."""
    return node.index(1) + 1


def order_index(k: int, symbol: int, n: int) -> int:
    """Return the index of a symbol in the ordering 1, k, k+1, .., n, 2, .., k-1 (Definition 10)."""
    return 0 if symbol == 1 else 1 + (symbol - k) % (n - 1)


def canonical_notation(node: Node) -> list[Cycle]:
    """Return the cycles, each with its least symbol rightmost, decreasing by these (Def. 12)."""
    n = len(node)
    k = position_of_1(node)
    notation = []
    for cycle in cycles(node):
        index = cycle.index(min(cycle, key=lambda symbol: order_index(k, symbol, n)))
        notation.append(cycle[index + 1 :] + cycle[: index + 1])
    return sorted(notation, key=lambda cycle: -order_index(k, cycle[-1], n))


def cycle_of_2(node: Node) -> Cycle:
    """Return the cycle that contains 2, written with 2 leftmost; empty if 2 is fixed."""
    for cycle in cycles(node):
        if 2 in cycle:
            index = cycle.index(2)
            return cycle[index:] + cycle[:index]
    return ()


def generators(members: list[Node]) -> list[Node]:
    """Return the nodes that Definition 7 names in a necklace, the lowest first."""
    if members[0][0] != 1:
        return [node for node in members if node[1] == 1]
    least = min(filter(None, map(cycle_of_2, members)))
    return sorted(node for node in members if cycle_of_2(node) == least)


def displacement(node: Node) -> int:
    """Return the number of rotations from the generator (Definition 8)."""
    return necklace(generators(necklace(node))[0]).index(node)


def parent_type(node: Node) -> int:
    """Return the type towards the parent by Definition 13, repaired (second from the right)."""
    if node[0] == 1:
        return displacement(node) + 2
    notation = canonical_notation(node)
    return node[0] if len(notation) == 1 else notation[-2][-1]


def route(node: Node, parent: Callable[[Node], int]) -> list[int]:
    """Return the types from 12..n to a node along a tree."""
    types: list[int] = []
    while node != identity(len(node)):
        types.append(parent(node))
        node = crossed(node, types[-1])
    return types[::-1]


def balanced_parents(n: int, m: int = 0) -> Mapping[Node, int]:
    """Return the types towards the parents of all nodes but 12..n in the tree of section 5.1.

    Nodes that start with 1 are numbered from m on, necklace by necklace.
    """
    parents = {node: parent_type(node) for node in nodes(n) if node[0] != 1}
    for members in necklaces(n):
        if members[0][0] == 1:
            index = m % (n - 1) + 1
            first = min(node for node in members if node[index] != index + 1)
            for turns in range(len(members)):
                parents[rotated(first, turns)] = m % (n - 1) + 2
                m += 1
    return parents


def rows_along(start: int, unit: object, types: list[int], n: int) -> list[Row]:
    """Return the rows of a unit that leaves 12..n in a step and never waits."""
    rows: list[Row] = []
    node = identity(n)
    for hop, dimension in enumerate(types):
        rows.append((start + hop, node, dimension, unit))
        node = crossed(node, dimension)
    return rows


def farthest_first(n: int, routes: Routes, ports: str) -> list[Row]:
    """Return a scatter by rule 5, or by rule 8 under one-port: in each subtree farthest first."""
    rows: list[Row] = []
    start = 1
    for dimension in range(2, n + 1):
        if ports == "all":
            start = 1
        units = [unit for unit in routes if routes[unit][0] == dimension]
        for unit in sorted(units, key=lambda unit: -len(routes[unit])):
            rows += rows_along(start, unit, routes[unit], n)
            start += 1
    return rows


def scatter(n: int, rows: list[Row]) -> int:
    """Execute a scatter of 12..n, whose units are a destination and a number; return its steps."""
    units = {unit for _, _, _, unit in rows}
    largest, holds = execute(rows, {identity(n): units})
    assert set(largest.values()) == {1}
    assert all(unit in holds[unit[0]] for unit in units if isinstance(unit, tuple))
    return max(largest)


def necklace_by_necklace(n: int) -> list[Row]:
    """Return the rows of 12..n by rule 9; a unit is its destination.

    All nodes of a necklace are served together, one necklace after the other, the nearest first.
    """
    rows: list[Row] = []
    for members in necklaces(n):
        start = max((row[0] for row in rows), default=0) + 1
        for node in members:
            rows += rows_along(start, node, route(node, parent_type), n)
    return rows


def hop_by_hop(n: int) -> list[Row]:
    """Return the rows of 12..n by section 8: one destination after the other, a step per hop."""
    rows: list[Row] = []
    for node in nodes(n)[1:]:
        rows += rows_along(len(rows) + 1, node, route(node, parent_type), n)
    return rows


def alltoall(n: int, rows: list[Row], ports: str) -> tuple[int, int]:
    """Execute the rows of 12..n for all sources; return steps and transmissions."""
    all_rows = list(expanded(rows, n))
    held = {source: {(source, target) for target in nodes(n)} for source in nodes(n)}
    largest, holds = execute(all_rows, held)
    assert set(largest.values()) == {1}
    assert ports == "all" or one_port(all_rows)
    for source in nodes(n):
        assert all((source, node) in holds[translated(source, node)] for node in nodes(n))
    return max(largest), len(all_rows)


def along_one_cycle(n: int) -> list[Row]:
    """Return the allgather of section 4 along one Hamiltonian cycle; a unit is its source.

    The cycle is the first that a search finds.
    """
    path: list[tuple[Node, int]] = []

    def extend(node: Node, visited: set[Node]) -> bool:
        for dimension in range(2, n + 1):
            after = crossed(node, dimension)
            path.append((node, dimension))
            if after == identity(n) and len(path) == factorial(n):
                return True
            if after not in visited and extend(after, visited | {after}):
                return True
            path.pop()
        return False

    assert extend(identity(n), {identity(n)})
    rows: list[Row] = []
    for source in range(len(path)):
        for step in range(1, len(path)):
            sender, dimension = path[(source + step - 1) % len(path)]
            rows.append((step, sender, dimension, path[source][0]))
    return rows


def distance_sum(n: int) -> int:
    """Return t_n, the sum of all distances."""
    return sum(distances(n).values())
