"""Scatter, gather and alltoall message by message: fragopoulou-akl.md, A5, A6, Rules 5, 8, 9, 10.

Slow, and independent of the array form: both sides share only the page, and three choices that it
leaves open. Messages to equally distant nodes are sorted by the rank of the displacement, then by
number; necklaces of equal distance by their lowest node; message i of a node takes path i mod k of
its k paths.
"""

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from math import factorial
from typing import NamedTuple

from support.oracles import (
    Node,
    Plain,
    Tree,
    compose,
    dimension_between,
    distances,
    identity,
    inverse,
    nodes,
    ranks,
)
from support.oracles_balanced import (
    near_balanced,
    necklaces,
    parent_dimension,
    perfectly_balanced,
    period,
    running_numbers,
    tree,
    v,
)

# Figures


def distance_sum(n: int) -> int:
    """t_n: what all nodes are away from one, by breadth-first search."""
    return sum(distances(identity(n)).values())


def distance_sum_printed(n: int) -> Fraction:
    """t_n as the paper prints it: n!(n + 2/n + H_n - 4)."""
    return factorial(n) * (n + Fraction(2, n) + sum(Fraction(1, i) for i in range(1, n + 1)) - 4)


def necklace_distances(n: int) -> list[int]:
    """Return the distance of every necklace, the nearest first."""
    return [distances(identity(n))[ring[0]] for ring in nearest_first(n)]


def nearest_first(n: int) -> list[tuple[Node, ...]]:
    """All necklaces by distance, then by their lowest node."""
    return sorted(necklaces(n), key=lambda ring: (distances(identity(n))[ring[0]], ring[0]))


# Messages


class Message(NamedTuple):
    """One unit: its path from the root to the destination, its tree, and its number."""

    path: tuple[Node, ...]
    tree: int
    number: int

    @property
    def hops(self) -> int:
        """The number of links that the message crosses."""
        return len(self.path) - 1


def path(parents: Tree, root: Node, x: Node) -> tuple[Node, ...]:
    """From the root down to a node."""
    result = [x]
    while result[-1] != root:
        result.append(parents[result[-1]])
    return tuple(reversed(result))


def balanced_copy(root: Node, copy: int) -> Tree:
    """The tree of one copy: its running numbers continue those of the previous copy."""
    n = len(root)
    numbers = running_numbers(n, 1 + copy * (factorial(n - 1) - 1))
    return tree(root, parent_dimension, lambda x: v(numbers[x], n))


def balanced_messages(root: Node, messages: int) -> list[Message]:
    """Every copy along a tree of its own, numbered modulo n-1."""
    copies = [balanced_copy(root, copy) for copy in range(messages)]
    return [
        Message(path(parents, root, x), number % (len(root) - 1), number)
        for number, parents in enumerate(copies)
        for x in parents
    ]


def near_balanced_messages(root: Node, messages: int) -> list[Message]:
    """All along one tree."""
    parents = near_balanced(root)
    return [
        Message(path(parents, root, x), 0, number) for x in parents for number in range(messages)
    ]


def perfectly_balanced_messages(root: Node, messages: int) -> list[Message]:
    """Each of a node's (n-1)/p copies carries M p/(n-1) messages."""
    trees = perfectly_balanced(root)
    result = []
    for x in nodes(len(root)):
        copies = [(index, parents) for index, parents in enumerate(trees) if x in parents]
        for place, (index, parents) in enumerate(copies):
            numbers = range(place, messages, len(copies))
            assert len(numbers) == messages * period(compose(inverse(root), x)) // (len(root) - 1)
            result += [Message(path(parents, root, x), index, number) for number in numbers]
    return result


#: The messages of every scatter by the name of its algorithm.
SCATTERED: dict[str, Callable[[Node, int], list[Message]]] = {
    "balanced": balanced_messages,
    "near-balanced": near_balanced_messages,
    "perfectly-balanced": perfectly_balanced_messages,
    "one-port": near_balanced_messages,
}


def rank_seen(root: Node, x: Node) -> int:
    """The rank of the displacement q^-1.x."""
    return ranks(len(root))[compose(inverse(root), x)]


def travelling(message: Message, departure: int, messages: int) -> Iterator[Plain]:
    """Hop by hop, one a step."""
    unit = ranks(len(message.path[0]))[message.path[-1]] * messages + message.number
    for step, (a, b) in enumerate(
        zip(message.path, message.path[1:], strict=False), start=departure
    ):
        yield Plain(step, a, dimension_between(a, b), b, message.tree, unit)


# Scatter and gather


def rule_5(sent: Sequence[Message], messages: int, *, farthest_first: bool = True) -> list[Plain]:
    """Send the next message of each queue in every step, until all queues are empty."""
    sign = -1 if farthest_first else 1
    queues: dict[Node, deque[Message]] = {}
    root = sent[0].path[0]
    for message in sorted(
        sent,
        key=lambda message: (
            sign * message.hops,
            rank_seen(root, message.path[-1]),
            message.number,
        ),
    ):
        queues.setdefault(message.path[1], deque()).append(message)
    rows: list[Plain] = []
    step = 0
    while any(queues.values()):
        step += 1
        for queue in queues.values():
            if queue:
                rows += travelling(queue.popleft(), step, messages)
    return rows


def rule_8(sent: Sequence[Message], messages: int) -> list[Plain]:
    """One message per step: T_2 completely, then T_3, and so on, farthest first in each."""
    root = sent[0].path[0]

    def turn(message: Message) -> tuple[int, int, int, int]:
        return (
            dimension_between(root, message.path[1]),
            -message.hops,
            rank_seen(root, message.path[-1]),
            message.number,
        )

    return [
        row
        for step, message in enumerate(sorted(sent, key=turn), start=1)
        for row in travelling(message, step, messages)
    ]


def scatter(algorithm: str, root: Node, messages: int) -> list[Plain]:
    """The rows of a scatter."""
    entry = rule_8 if algorithm == "one-port" else rule_5
    return entry(SCATTERED[algorithm](root, messages), messages)


def backwards(rows: Sequence[Plain]) -> list[Plain]:
    """The same reversed in time and direction."""
    last = max(row.step for row in rows)
    return [
        Plain(last + 1 - row.step, row.receiver, row.port, row.sender, row.tree, row.unit)
        for row in rows
    ]


# Alltoall: one source


def rule_9(root: Node) -> list[Plain]:
    """A group for each necklace, along the tree of Def. 13; the next leaves when it has arrived."""
    parents, rows, clock = near_balanced(root), list[Plain](), 0
    for ring in nearest_first(len(root)):
        group = [Message(path(parents, root, compose(root, x)), 0, 0) for x in ring]
        rows += [row for message in group for row in travelling(message, clock + 1, 1)]
        clock += group[0].hops
    return rows


def rule_10(root: Node, messages: int) -> list[Plain]:
    """M p/(n-1) groups for a necklace of period p, each of n-1 messages, one in each subtree."""
    n, trees = len(root), perfectly_balanced(root)
    rows, clock = list[Plain](), 0
    for ring in nearest_first(n):
        given: Counter[Node] = Counter()
        for _ in range(messages * len(ring) // (n - 1)):
            for index, parents in enumerate(trees):
                (x,) = (compose(root, x) for x in ring if compose(root, x) in parents)
                rows += travelling(
                    Message(path(parents, root, x), index, given[x]), clock + 1, messages
                )
                given[x] += 1
            clock += distances(identity(n))[ring[0]]
        assert set(given.values()) == {messages}
    return rows


def one_port_exchange(root: Node, messages: int) -> list[Plain]:
    """One displacement and one hop a step, the nearest nodes first."""
    rows, clock = list[Plain](), 0
    sent = near_balanced_messages(root, messages)
    for message in sorted(
        sent, key=lambda message: (message.hops, rank_seen(root, message.path[-1]), message.number)
    ):
        rows += travelling(message, clock + 1, messages)
        clock += message.hops
    return rows


#: The rows of every alltoall by the name of its algorithm, for one source.
EXCHANGED: dict[str, Callable[[Node, int], list[Plain]]] = {
    "necklace": lambda root, _: rule_9(root),
    "perfectly-balanced": rule_10,
    "one-port": one_port_exchange,
}


def all_sources(rows: Iterable[Plain], n: int, messages: int) -> list[Plain]:
    """Return the identity's rows for every source q; units are (q*N + destination)*M + i."""
    given, every, rank = list(rows), nodes(n), ranks(n)
    result = []
    for q in every:
        image = {x: compose(q, x) for x in every}
        for row in given:
            x, number = divmod(row.unit, messages)
            unit = (rank[q] * len(every) + rank[image[every[x]]]) * messages + number
            result.append(
                row._replace(sender=image[row.sender], receiver=image[row.receiver], unit=unit)
            )
    return result


# Properties of all valid rows


def flights(rows: Iterable[Plain]) -> dict[int, list[Plain]]:
    """The rows of every unit in the order of steps."""
    result: dict[int, list[Plain]] = {}
    for row in sorted(rows):
        result.setdefault(row.unit, []).append(row)
    return result


def ports_by_step(rows: Iterable[Plain]) -> list[list[int]]:
    """The ports of the rows of every step from 1 to the last."""
    used: dict[int, list[int]] = {}
    for row in rows:
        used.setdefault(row.step, []).append(row.port)
    return [sorted(used.get(step, [])) for step in range(1, max(used) + 1)]
