"""(n,k)-stars, their trees and executions in plain Python, for the second implementations.

Nodes are tuples of symbols. Everything follows the definitions and imports nothing of the package.
"""

from collections import Counter, defaultdict, deque
from collections.abc import Hashable, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import cache
from itertools import permutations
from math import isqrt

from claims.definitions import Node, number

Link = tuple[Node, Node]
Levels = dict[Link, int]
"""The links of a tree, away from its root, with their levels."""

Row = tuple[int, Node, Node, Hashable]
"""A unit crosses a link: step (from 1), sender, receiver and unit."""


def sizes(spec: str) -> tuple[int, int]:
    """Return n and k of S_{n,k}."""
    n, k = spec.removeprefix("S").split(",")
    return int(n), int(k)


@cache
def nodes(n: int, k: int) -> list[Node]:
    """Return all nodes in rank order."""
    return list(permutations(range(1, n + 1), k))


def identity(k: int) -> Node:
    return tuple(range(1, k + 1))


def missing(node: Node, n: int) -> list[int]:
    return [symbol for symbol in range(1, n + 1) if symbol not in node]


def exchanged(label: Node, i: int) -> Node:
    """Return the label with positions 1 and i exchanged."""
    others = list(label)
    others[0], others[i - 1] = others[i - 1], others[0]
    return tuple(others)


@cache
def neighbours(node: Node, n: int) -> dict[int, Node]:
    """Return the neighbours by dimension: exchanges 2..k, then residual links k+s.

    Port k+s moves by s places in the sorted clique of all first symbols, cyclically.
    """
    k = len(node)
    clique = sorted([node[0], *missing(node, n)])
    at = clique.index(node[0])
    residual = {k + s: (clique[(at + s) % len(clique)], *node[1:]) for s in range(1, n - k + 1)}
    return {i: exchanged(node, i) for i in range(2, k + 1)} | residual


def dimension(link: Link, n: int) -> int:
    return {other: d for d, other in neighbours(link[0], n).items()}[link[1]]


@cache
def distances(n: int, k: int) -> Mapping[Node, int]:
    """Return the distances from 12..k, by breadth-first search."""
    distance = {identity(k): 0}
    waiting = deque(distance)
    while waiting:
        node = waiting.popleft()
        for other in neighbours(node, n).values():
            if other not in distance:
                distance[other] = distance[node] + 1
                waiting.append(other)
    return distance


def diameter(n: int, k: int) -> int:
    return max(distances(n, k).values())


def chain(node: Node, symbol: int) -> list[int]:
    """Return the positions of an external symbol's chain; the last is a missing, desired symbol."""
    positions = [node.index(symbol) + 1]
    while positions[-1] in node:
        positions.append(node.index(positions[-1]) + 1)
    return positions


def internal_cycles(node: Node) -> list[list[int]]:
    """Return the positions of every cycle of misplaced symbols 1..k."""
    cycles: list[list[int]] = []
    for first in range(1, len(node) + 1):
        cycle = [first]
        while (after := node[cycle[-1] - 1]) <= len(node) and after != first:
            cycle.append(after)
        if after == first and len(cycle) > 1 and first == min(cycle):
            cycles.append(cycle)
    return cycles


def homewards(node: Node) -> Node:
    """Return the parent in SP(Id), by Definition 3."""
    k, first = len(node), node[0]
    if first == 1:
        misplaced: list[int] = [i for i in range(2, k + 1) if node[i - 1] != i]
        return exchanged(node, misplaced[0])
    if first <= k:
        return exchanged(node, first)
    external = [symbol for symbol in node if symbol > k]
    others = [symbol for symbol in external if symbol != first] or external
    return (min(chain(node, symbol)[-1] for symbol in others), *node[1:])


def relabelled(q: Node, node: Node) -> Node:
    return tuple(q[symbol - 1] for symbol in node)


def extended(node: Node, n: int) -> Node:
    """Return the label of n symbols: the missing symbols follow in order."""
    return (*node, *missing(node, n))


@cache
def spanning_tree(n: int, k: int) -> dict[Node, Node]:
    """Return the parents in SP(Id)."""
    return {node: homewards(node) for node in nodes(n, k) if node != identity(k)}


def shifted(n: int, i: int) -> Node:
    """Return R_i(Id), with all n symbols."""
    label = tuple(range(1, n + 1))
    return label[n - i % n :] + label[: n - i % n]


@cache
def rooted(n: int, k: int, i: int) -> dict[Node, Node]:
    """Return the parents in SP(R_i(Id))."""
    q = shifted(n, i)
    return {
        relabelled(q, node): relabelled(q, above) for node, above in spanning_tree(n, k).items()
    }


@cache
def reversed_path(n: int, k: int, i: int) -> dict[Node, Node]:
    """Return the parents in MT(R_i(Id)): the path from R_i(Id) to Id is reversed."""
    parents = dict(rooted(n, k, i))
    node, turned = identity(k), dict[Node, Node]()
    while node in parents:
        above = parents.pop(node)
        turned[above] = node
        node = above
    return parents | turned


def levels(parents: Mapping[Node, Node], root: Node) -> Levels:
    """Return the links with their levels; every node is reached from the root once."""
    children = defaultdict[Node, list[Node]](list)
    for node, above in parents.items():
        children[above].append(node)
    level = Levels()
    depth = {root: 0}
    waiting = deque([root])
    while waiting:
        node = waiting.popleft()
        for child in children[node]:
            assert child not in depth
            level[node, child] = depth[child] = depth[node] + 1
            waiting.append(child)
    assert depth.keys() == parents.keys() | {root}
    return level


@cache
def one_tree(n: int, k: int) -> Levels:
    return levels(spanning_tree(n, k), identity(k))


@cache
def many_trees(n: int, k: int) -> list[Levels]:
    return [levels(reversed_path(n, k, i), identity(k)) for i in range(1, n)]


def segments(trees: Sequence[Levels], p: int) -> list[Row]:
    """Pipeline p segments down every tree: segment j crosses level l in slot l+j."""
    return [
        (level + j, *link, (number, j))
        for number, tree in enumerate(trees)
        for link, level in tree.items()
        for j in range(p)
    ]


def by_dimension(rows: Iterable[Row], n: int) -> list[Row]:
    """Divide every slot into n-1 sub-slots, one per dimension."""
    return [
        ((step - 1) * (n - 1) + dimension((a, b), n) - 1, a, b, unit) for step, a, b, unit in rows
    ]


def from_all(rows: Iterable[Row], n: int, k: int) -> list[Row]:
    """Repeat the rows of source 12..k for every source: relabelled, with units of that source."""
    written = list(rows)
    sources = {source: extended(source, n) for source in nodes(n, k)}
    return [
        (t, relabelled(q, a), relabelled(q, b), (source, unit))
        for source, q in sources.items()
        for t, a, b, unit in written
    ]


def execute(
    rows: Iterable[Row], held: Mapping[Node, set[Hashable]], one_port: bool = False
) -> list[int]:
    """Execute a schedule, and return the largest packet of every step that has packets.

    Every sender holds its units before the step, units on one link in one step are one packet, and
    every node ends with every unit.
    """
    steps = defaultdict[int, list[Row]](list)
    for row in rows:
        steps[row[0]].append(row)
    holds = defaultdict[Node, set[Hashable]](
        set, {node: set(units) for node, units in held.items()}
    )
    largest = []
    for step in sorted(steps):
        assert all(unit in holds[sender] for _, sender, _, unit in steps[step])
        packets = Counter((sender, receiver) for _, sender, receiver, _ in steps[step])
        if one_port:
            assert (
                len({sender for sender, _ in packets})
                == len({receiver for _, receiver in packets})
                == len(packets)
            )
        largest.append(max(packets.values()))
        for _, _, receiver, unit in steps[step]:
            holds[receiver].add(unit)
    everything = set[Hashable]().union(*held.values())
    assert all(units == everything for units in holds.values())
    return largest


def root_of(value: Fraction) -> Fraction | None:
    """Return the square root if it is rational."""
    above, below = isqrt(value.numerator), isqrt(value.denominator)
    return (
        Fraction(above, below)
        if above**2 == value.numerator and below**2 == value.denominator
        else None
    )


def surd(rational: Fraction, square: Fraction) -> int | str:
    """Return rational + sqrt(square), as written in counterexamples."""
    if (exact := root_of(square)) is not None:
        return number(rational + exact)
    return f"{rational} + sqrt({square})" if rational else f"sqrt({square})"


def exceeds(value: Fraction, rational: Fraction, square: Fraction) -> bool:
    """Return whether a value is greater than rational + sqrt(square)."""
    return value > rational and (value - rational) ** 2 > square
