"""Star graphs and executions in plain Python, for the second implementations: nodes are tuples of symbols, dimensions 2..n.

Written from the definitions alone. Nothing here imports the package.
"""

from collections import Counter, defaultdict, deque
from collections.abc import Hashable, Iterable, Iterator, Mapping
from fractions import Fraction
from functools import cache
from itertools import permutations

Node = tuple[int, ...]
Row = tuple[int, Node, int, Hashable]
"""A unit crosses a link: the step from 1, the sender, the dimension, the unit."""

Cycle = tuple[int, ...]


def size(spec: str) -> int:
    """The n of S_n."""
    return int(spec.removeprefix("S"))


def text(node: Node) -> str:
    return "".join("123456789abcdefghijklmnopqrstuvwxyz"[symbol - 1] for symbol in node)


def number(value: Fraction | int) -> int | str:
    """Whole numbers stay numbers, as counterexamples have them."""
    return int(value) if value == int(value) else str(value)


def identity(n: int) -> Node:
    return tuple(range(1, n + 1))


@cache
def nodes(n: int) -> list[Node]:
    """All nodes in the order of their ranks."""
    return list(permutations(range(1, n + 1)))


def crossed(node: Node, dimension: int) -> Node:
    """The neighbour over a dimension: positions 1 and that one exchanged."""
    others = list(node)
    others[0], others[dimension - 1] = others[dimension - 1], others[0]
    return tuple(others)


def translated(q: Node, node: Node) -> Node:
    """Symbols relabelled, so that 12..n goes to q and dimensions stay."""
    return tuple(q[symbol - 1] for symbol in node)


@cache
def distances(n: int) -> Mapping[Node, int]:
    """Distances from 12..n, by breadth-first search."""
    found = {identity(n): 0}
    waiting = deque(found)
    while waiting:
        node = waiting.popleft()
        for dimension in range(2, n + 1):
            other = crossed(node, dimension)
            if other not in found:
                found[other] = found[node] + 1
                waiting.append(other)
    return found


def diameter(n: int) -> int:
    return max(distances(n).values())


def cycles(node: Node) -> list[Cycle]:
    """Each begins with its smallest symbol; symbol s is followed by the symbol in position s. Fixed symbols are none."""
    found, seen = [], set[int]()
    for first in range(1, len(node) + 1):
        cycle = [first]
        while (after := node[cycle[-1] - 1]) != first:
            cycle.append(after)
        if len(cycle) > 1 and first not in seen:
            found.append(tuple(cycle))
        seen.update(cycle)
    return found


def of_cycles(n: int, *given: Cycle) -> Node:
    """The node that has these cycles."""
    node = list(range(1, n + 1))
    for cycle in given:
        for symbol, after in zip(cycle, (*cycle[1:], cycle[0]), strict=True):
            node[symbol - 1] = after
    return tuple(node)


def turned(symbol: int, n: int, times: int = 1) -> int:
    """The rotation of symbols, positions and dimensions: 1 stays, 2, 3, .., n follow one another."""
    return 1 if symbol == 1 else (symbol - 2 + times) % (n - 1) + 2


def rotated(node: Node, times: int = 1) -> Node:
    n = len(node)
    after = dict(
        zip(
            (turned(i, n, times) for i in identity(n)),
            (turned(s, n, times) for s in node),
            strict=True,
        )
    )
    return tuple(after[position] for position in identity(n))


def necklace(node: Node) -> list[Node]:
    """The node and its rotations, one after the other, each once."""
    found = [node]
    while (after := rotated(found[-1])) != node:
        found.append(after)
    return found


@cache
def necklaces(n: int) -> list[list[Node]]:
    """All but that of 12..n, nearest first, then by their smallest nodes, with which they begin."""
    seen = {identity(n)}
    found = []
    for node in nodes(n):
        if node not in seen:
            found.append(necklace(node))
            seen.update(found[-1])
    return sorted(found, key=lambda one: (distances(n)[one[0]], one[0]))


def expanded(rows: Iterable[Row], n: int) -> Iterator[Row]:
    """What one source sends, sent by all of them: translated, the units marked by their source."""
    for step, node, dimension, unit in rows:
        for q in nodes(n):
            yield step, translated(q, node), dimension, (q, unit)


def execute(
    rows: Iterable[Row], held: Mapping[Node, Iterable[Hashable]]
) -> tuple[dict[int, int], Mapping[Node, set[Hashable]]]:
    """Run a schedule: the largest packet of every step, and who holds what in the end.

    A unit is sent by a node that held it before the step; units on one link in one step are one packet.
    """
    steps: dict[int, list[Row]] = defaultdict(list)
    for row in rows:
        steps[row[0]].append(row)
    holds = defaultdict[Node, set[Hashable]](
        set, {node: set(units) for node, units in held.items()}
    )
    largest = {}
    for step in sorted(steps):
        assert all(unit in holds[node] for _, node, _, unit in steps[step])
        largest[step] = max(
            Counter((node, dimension) for _, node, dimension, _ in steps[step]).values()
        )
        for _, node, dimension, unit in steps[step]:
            holds[crossed(node, dimension)].add(unit)
    return largest, holds


def one_port(rows: Iterable[Row]) -> bool:
    """Whether no node sends two packets in a step, or receives two."""
    links = {(step, node, dimension) for step, node, dimension, _ in rows}
    sends = Counter((step, node) for step, node, _ in links)
    receipts = Counter((step, crossed(node, dimension)) for step, node, dimension in links)
    return max(sends.values()) == max(receipts.values()) == 1
