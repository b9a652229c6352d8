"""(n,k)-stars, their trees and executions in plain Python, for the second implementations: nodes are tuples of symbols.

Written from the definitions alone. Nothing here imports the package.
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
"""A unit crosses a link: the step from 1, the sender, the receiver, the unit."""


def sizes(spec: str) -> tuple[int, int]:
    """The n and the k of S_{n,k}."""
    n, k = spec.removeprefix("S").split(",")
    return int(n), int(k)


@cache
def nodes(n: int, k: int) -> list[Node]:
    """All nodes in the order of their ranks."""
    return list(permutations(range(1, n + 1), k))


def identity(k: int) -> Node:
    return tuple(range(1, k + 1))


def missing(node: Node, n: int) -> list[int]:
    return [symbol for symbol in range(1, n + 1) if symbol not in node]


def exchanged(label: Node, i: int) -> Node:
    """Positions 1 and i exchanged."""
    others = list(label)
    others[0], others[i - 1] = others[i - 1], others[0]
    return tuple(others)


@cache
def neighbours(node: Node, n: int) -> dict[int, Node]:
    """By dimension: exchanges 2..k; then k+s moves s places on in the sorted clique of all first symbols, cyclically."""
    k = len(node)
    clique = sorted([node[0], *missing(node, n)])
    at = clique.index(node[0])
    moved = {k + s: (clique[(at + s) % len(clique)], *node[1:]) for s in range(1, n - k + 1)}
    return {i: exchanged(node, i) for i in range(2, k + 1)} | moved


def dimension(link: Link, n: int) -> int:
    return {other: d for d, other in neighbours(link[0], n).items()}[link[1]]


@cache
def distances(n: int, k: int) -> Mapping[Node, int]:
    """Distances from 12..k, by breadth-first search."""
    found = {identity(k): 0}
    waiting = deque(found)
    while waiting:
        node = waiting.popleft()
        for other in neighbours(node, n).values():
            if other not in found:
                found[other] = found[node] + 1
                waiting.append(other)
    return found


def diameter(n: int, k: int) -> int:
    return max(distances(n, k).values())


def chain(node: Node, symbol: int) -> list[int]:
    """The positions of an external symbol's chain; as a symbol, the last one is missing, and desired."""
    found = [node.index(symbol) + 1]
    while found[-1] in node:
        found.append(node.index(found[-1]) + 1)
    return found


def internal_cycles(node: Node) -> list[list[int]]:
    """The positions of every cycle of misplaced symbols 1..k."""
    found: list[list[int]] = []
    for first in range(1, len(node) + 1):
        cycle = [first]
        while (after := node[cycle[-1] - 1]) <= len(node) and after != first:
            cycle.append(after)
        if after == first and len(cycle) > 1 and first == min(cycle):
            found.append(cycle)
    return found


def homewards(node: Node) -> Node:
    """Definition 3: the parent in SP(Id)."""
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
    """The label of n symbols: those that are missing behind, in order."""
    return (*node, *missing(node, n))


@cache
def spanning_tree(n: int, k: int) -> dict[Node, Node]:
    """The parents of SP(Id)."""
    return {node: homewards(node) for node in nodes(n, k) if node != identity(k)}


def shifted(n: int, i: int) -> Node:
    """R_i(Id), all n symbols."""
    label = tuple(range(1, n + 1))
    return label[n - i % n :] + label[: n - i % n]


@cache
def rooted(n: int, k: int, i: int) -> dict[Node, Node]:
    """The parents of SP(R_i(Id))."""
    q = shifted(n, i)
    return {
        relabelled(q, node): relabelled(q, above) for node, above in spanning_tree(n, k).items()
    }


@cache
def reversed_path(n: int, k: int, i: int) -> dict[Node, Node]:
    """The parents of MT(R_i(Id)): the links of the path from R_i(Id) to Id turned round."""
    parents = dict(rooted(n, k, i))
    node, turned = identity(k), dict[Node, Node]()
    while node in parents:
        above = parents.pop(node)
        turned[above] = node
        node = above
    return parents | turned


def levels(parents: Mapping[Node, Node], root: Node) -> Levels:
    """Every node is reached from the root, once."""
    children = defaultdict[Node, list[Node]](list)
    for node, above in parents.items():
        children[above].append(node)
    found, depth, waiting = Levels(), {root: 0}, deque([root])
    while waiting:
        node = waiting.popleft()
        for child in children[node]:
            assert child not in depth
            found[node, child] = depth[child] = depth[node] + 1
            waiting.append(child)
    assert depth.keys() == parents.keys() | {root}
    return found


@cache
def one_tree(n: int, k: int) -> Levels:
    return levels(spanning_tree(n, k), identity(k))


@cache
def many_trees(n: int, k: int) -> list[Levels]:
    return [levels(reversed_path(n, k, i), identity(k)) for i in range(1, n)]


def segments(trees: Sequence[Levels], p: int) -> list[Row]:
    """Every tree passes p segments on, one after the other: segment j crosses level l in slot l+j."""
    return [
        (level + j, *link, (number, j))
        for number, tree in enumerate(trees)
        for link, level in tree.items()
        for j in range(p)
    ]


def by_dimension(rows: Iterable[Row], n: int) -> list[Row]:
    """Every slot cut into n-1 sub-slots, one a dimension."""
    return [
        ((step - 1) * (n - 1) + dimension((a, b), n) - 1, a, b, unit) for step, a, b, unit in rows
    ]


def from_all(rows: Iterable[Row], n: int, k: int) -> list[Row]:
    """What 12..k sends, sent by every node: relabelled, the units marked by their source."""
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
    """Run a schedule: the largest packet of every step in which there is one; every node ends with every unit.

    A unit is sent by a node that held it before the step; units on one link in one step are one packet.
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
    """The square root, where it is rational."""
    above, below = isqrt(value.numerator), isqrt(value.denominator)
    return (
        Fraction(above, below)
        if above**2 == value.numerator and below**2 == value.denominator
        else None
    )


def surd(rational: Fraction, square: Fraction) -> int | str:
    """The number rational + sqrt(square), as counterexamples have it."""
    if (exact := root_of(square)) is not None:
        return number(rational + exact)
    return f"{rational} + sqrt({square})" if rational else f"sqrt({square})"


def exceeds(value: Fraction, rational: Fraction, square: Fraction) -> bool:
    """Whether a value is greater than rational + sqrt(square)."""
    return value > rational and (value - rational) ** 2 > square
