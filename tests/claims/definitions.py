"""Star graphs and executions in plain Python, for the second implementations.

Nodes are tuples of symbols, dimensions are 2..n. Written from the definitions alone; nothing here
imports the package.
"""

from collections import Counter, defaultdict, deque
from collections.abc import Hashable, Iterable, Iterator, Mapping
from fractions import Fraction
from functools import cache
from itertools import permutations

Node = tuple[int, ...]
#: A unit that crosses a link: the step from 1, the sender, the dimension, the unit.
Row = tuple[int, Node, int, Hashable]
Cycle = tuple[int, ...]


def size(spec: str) -> int:
    """Return the n of S_n."""
    return int(spec.removeprefix("S"))


def text(node: Node) -> str:
    """Return the label of a node."""
    return "".join("123456789abcdefghijklmnopqrstuvwxyz"[symbol - 1] for symbol in node)


def number(value: Fraction | int) -> int | str:
    """Return a number as counterexamples contain it: an integer, or a fraction as text."""
    return int(value) if value == int(value) else str(value)


def identity(n: int) -> Node:
    """Return the node 12..n."""
    return tuple(range(1, n + 1))


@cache
def nodes(n: int) -> list[Node]:
    """Return all nodes in the order of their ranks."""
    return list(permutations(range(1, n + 1)))


def crossed(node: Node, dimension: int) -> Node:
    """Return the neighbour over a dimension d: positions 1 and d are exchanged."""
    symbols = list(node)
    symbols[0], symbols[dimension - 1] = symbols[dimension - 1], symbols[0]
    return tuple(symbols)


def translated(q: Node, node: Node) -> Node:
    """Return a node with its symbols relabelled: 12..n becomes q, and dimensions stay."""
    return tuple(q[symbol - 1] for symbol in node)


@cache
def distances(n: int) -> Mapping[Node, int]:
    """Return the distances from 12..n, by breadth-first search."""
    distance = {identity(n): 0}
    queue = deque(distance)
    while queue:
        node = queue.popleft()
        for dimension in range(2, n + 1):
            neighbour = crossed(node, dimension)
            if neighbour not in distance:
                distance[neighbour] = distance[node] + 1
                queue.append(neighbour)
    return distance


def diameter(n: int) -> int:
    """Return the greatest distance."""
    return max(distances(n).values())


def cycles(node: Node) -> list[Cycle]:
    """Return the cycles of two or more symbols, each with its smallest symbol first.

    Symbol s is followed by the symbol in position s.
    """
    found = []
    visited = set[int]()
    for first in range(1, len(node) + 1):
        cycle = [first]
        while (after := node[cycle[-1] - 1]) != first:
            cycle.append(after)
        if len(cycle) > 1 and first not in visited:
            found.append(tuple(cycle))
        visited.update(cycle)
    return found


def of_cycles(n: int, *cycles: Cycle) -> Node:
    """Return the node that has these cycles."""
    node = list(range(1, n + 1))
    for cycle in cycles:
        for symbol, after in zip(cycle, (*cycle[1:], cycle[0]), strict=True):
            node[symbol - 1] = after
    return tuple(node)


def turned(symbol: int, n: int, times: int = 1) -> int:
    """Return a symbol, position or dimension after rotations: 2, 3, .., n, 2 in turn; 1 stays."""
    return 1 if symbol == 1 else (symbol - 2 + times) % (n - 1) + 2


def rotated(node: Node, times: int = 1) -> Node:
    """Return a node after rotations."""
    n = len(node)
    image = {turned(i, n, times): turned(s, n, times) for i, s in enumerate(node, 1)}
    return tuple(image[position] for position in identity(n))


def necklace(node: Node) -> list[Node]:
    """Return the node and its rotations, in order, each once."""
    members = [node]
    while (after := rotated(members[-1])) != node:
        members.append(after)
    return members


@cache
def necklaces(n: int) -> list[list[Node]]:
    """Return all necklaces but that of 12..n, by distance, then by their smallest nodes.

    Each begins with its smallest node.
    """
    visited = {identity(n)}
    found = []
    for node in nodes(n):
        if node not in visited:
            found.append(necklace(node))
            visited.update(found[-1])
    return sorted(found, key=lambda members: (distances(n)[members[0]], members[0]))


def expanded(rows: Iterable[Row], n: int) -> Iterator[Row]:
    """Yield the rows of one source for all sources: translated, the units marked by the source."""
    for step, node, dimension, unit in rows:
        for q in nodes(n):
            yield step, translated(q, node), dimension, (q, unit)


def execute(
    rows: Iterable[Row], held: Mapping[Node, Iterable[Hashable]]
) -> tuple[dict[int, int], Mapping[Node, set[Hashable]]]:
    """Execute a schedule; units on one link in one step are one packet.

    Args:
        rows: the schedule; a node must hold a unit before the step in which it sends it.
        held: the units that the nodes hold at the beginning.

    Returns:
        The largest packet of every step, and the units that each node holds in the end.
    """
    steps: dict[int, list[Row]] = defaultdict(list)
    for row in rows:
        steps[row[0]].append(row)
    holds = defaultdict[Node, set[Hashable]](set)
    holds.update({node: set(units) for node, units in held.items()})
    largest = {}
    for step in sorted(steps):
        assert all(unit in holds[node] for _, node, _, unit in steps[step])
        packets = Counter((node, dimension) for _, node, dimension, _ in steps[step])
        largest[step] = max(packets.values())
        for _, node, dimension, unit in steps[step]:
            holds[crossed(node, dimension)].add(unit)
    return largest, holds


def one_port(rows: Iterable[Row]) -> bool:
    """Return whether no node sends two packets in a step, or receives two."""
    links = {(step, node, dimension) for step, node, dimension, _ in rows}
    sends = Counter((step, node) for step, node, _ in links)
    receipts = Counter((step, crossed(node, dimension)) for step, node, dimension in links)
    return max(sends.values()) == max(receipts.values()) == 1
