"""Scatter and total exchange of Fragopoulou & Akl 1993, sections 5 to 8, from the definitions page, in plain Python."""

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

Routes = Mapping[tuple[Node, int], list[int]]
"""The types from 12..n of every unit, a destination and a number."""


def place_of_1(node: Node) -> int:
    return node.index(1) + 1


def place_in(order: int, symbol: int, n: int) -> int:
    """Definition 10: the place of a symbol in the ordering of this index: 1, order, order+1, .., n, 2, .., order-1."""
    return 0 if symbol == 1 else 1 + (symbol - order) % (n - 1)


def canonical(node: Node) -> list[Cycle]:
    """Definition 12: the least symbol of every cycle rightmost, and the cycles decreasing by these."""
    n, k = len(node), place_of_1(node)
    ended = []
    for cycle in cycles(node):
        at = cycle.index(min(cycle, key=lambda symbol: place_in(k, symbol, n)))
        ended.append(cycle[at + 1 :] + cycle[: at + 1])
    return sorted(ended, key=lambda cycle: -place_in(k, cycle[-1], n))


def cycle_of_2(node: Node) -> Cycle:
    """The cycle that contains 2, written with 2 leftmost; nothing if 2 is fixed."""
    for cycle in cycles(node):
        if 2 in cycle:
            at = cycle.index(2)
            return cycle[at:] + cycle[:at]
    return ()


def generators(beads: list[Node]) -> list[Node]:
    """Definition 7: what it names of a necklace, the lowest first."""
    if beads[0][0] != 1:
        return [bead for bead in beads if bead[1] == 1]
    least = min(filter(None, map(cycle_of_2, beads)))
    return sorted(bead for bead in beads if cycle_of_2(bead) == least)


def displacement(node: Node) -> int:
    """Definition 8: rotations from the generator."""
    return necklace(generators(necklace(node))[0]).index(node)


def parent_type(node: Node) -> int:
    """Definition 13 as repaired: the second cycle from the right."""
    if node[0] == 1:
        return displacement(node) + 2
    written = canonical(node)
    return node[0] if len(written) == 1 else written[-2][-1]


def route(node: Node, parent: Callable[[Node], int]) -> list[int]:
    """The types from 12..n to a node along a tree."""
    types: list[int] = []
    while node != identity(len(node)):
        types.append(parent(node))
        node = crossed(node, types[-1])
    return types[::-1]


def balanced(n: int, m: int = 0) -> Mapping[Node, int]:
    """Section 5.1: the parents of all nodes but 12..n; those that start with 1 are numbered on from m, by necklaces."""
    parents = {node: parent_type(node) for node in nodes(n) if node[0] != 1}
    for beads in necklaces(n):
        if beads[0][0] == 1:
            first = min(bead for bead in beads if bead[m % (n - 1) + 1] != m % (n - 1) + 2)
            for i in range(len(beads)):
                parents[rotated(first, i)] = m % (n - 1) + 2
                m += 1
    return parents


def sent(start: int, unit: object, types: list[int], n: int) -> list[Row]:
    """A unit leaves 12..n in a step and never waits."""
    rows: list[Row] = []
    node = identity(n)
    for hop, dimension in enumerate(types):
        rows.append((start + hop, node, dimension, unit))
        node = crossed(node, dimension)
    return rows


def farthest_first(n: int, routes: Routes, ports: str) -> list[Row]:
    """Rule 5, or Rule 8 under one-port: units by destination and number, those of a subtree farthest first."""
    rows: list[Row] = []
    start = 1
    for dimension in range(2, n + 1):
        if ports == "all":
            start = 1
        for unit in sorted(
            (unit for unit in routes if routes[unit][0] == dimension),
            key=lambda unit: -len(routes[unit]),
        ):
            rows += sent(start, unit, routes[unit], n)
            start += 1
    return rows


def scatter(n: int, rows: list[Row]) -> int:
    """The steps of a scatter of 12..n, executed; a unit is its destination and a number."""
    units = {unit for _, _, _, unit in rows}
    largest, holds = execute(rows, {identity(n): units})
    assert set(largest.values()) == {1}
    assert all(unit in holds[unit[0]] for unit in units if isinstance(unit, tuple))
    return max(largest)


def one_after_another(n: int) -> list[Row]:
    """Rule 9: all nodes of a necklace together, necklace after necklace, nearest first; a unit is its destination."""
    rows: list[Row] = []
    for beads in necklaces(n):
        start = max((row[0] for row in rows), default=0) + 1
        for bead in beads:
            rows += sent(start, bead, route(bead, parent_type), n)
    return rows


def hop_by_hop(n: int) -> list[Row]:
    """Section 8: one destination after the other, and each hop a step."""
    rows: list[Row] = []
    for node in nodes(n)[1:]:
        rows += sent(len(rows) + 1, node, route(node, parent_type), n)
    return rows


def alltoall(n: int, rows: list[Row], ports: str) -> tuple[int, int]:
    """Steps and transmissions, if all sources do as 12..n does; executed."""
    written = list(expanded(rows, n))
    largest, holds = execute(written, {q: {(q, target) for target in nodes(n)} for q in nodes(n)})
    assert set(largest.values()) == {1}
    assert ports == "all" or one_port(written)
    assert all((q, target) in holds[translated(q, target)] for q in nodes(n) for target in nodes(n))
    return max(largest), len(written)


def around(n: int) -> list[Row]:
    """Section 4: every message along one Hamiltonian cycle, found by search; a unit is its source."""
    path: list[tuple[Node, int]] = []

    def follow(node: Node, seen: set[Node]) -> bool:
        for dimension in range(2, n + 1):
            after = crossed(node, dimension)
            path.append((node, dimension))
            if (after == identity(n) and len(path) == factorial(n)) or (
                after not in seen and follow(after, seen | {after})
            ):
                return True
            path.pop()
        return False

    assert follow(identity(n), {identity(n)})
    count = len(path)
    return [
        (t, *path[(s + t - 1) % count], path[s][0]) for s in range(count) for t in range(1, count)
    ]


def total(n: int) -> int:
    """t_n, the sum of all distances."""
    return sum(distances(n).values())
