"""Scatter and alltoall, message by message (fragopoulou-akl.md, A5, A6, Rules 5, 8, 9, 10).

The page leaves three choices open. Here messages to equally distant nodes are sorted by the rank of
the displacement, then by number. Necklaces of equal distance are sorted by their lowest node.
Message i of a node takes path i mod k of its k paths.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from oracles.rooted_trees import Tree, path
from oracles.rotation import nearest_first, period
from oracles.scatter_trees import balanced, near_balanced, perfectly_balanced
from oracles.schedule_rows import Row
from oracles.star_graph import (
    Node,
    compose,
    dimension_between,
    distances,
    identity,
    inverse,
    nodes,
    ranks,
)

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


def along(parents: Tree, x: Node, tree: int, number: int) -> Message:
    """Return the message that goes down a tree from the root to a node."""
    return Message(tuple(reversed(path(parents, x))), tree, number)


def balanced_messages(root: Node, messages: int) -> list[Message]:
    """Send every copy along its own tree, numbered modulo n-1."""
    trees = [balanced(root, copy) for copy in range(messages)]
    return [
        along(tree, x, number % (len(root) - 1), number)
        for number, tree in enumerate(trees)
        for x in tree
    ]


def near_balanced_messages(root: Node, messages: int) -> list[Message]:
    """Send all messages along one tree."""
    tree = near_balanced(root)
    return [along(tree, x, 0, number) for x in tree for number in range(messages)]


def perfectly_balanced_messages(root: Node, messages: int) -> list[Message]:
    """Send M p/(n-1) messages to each of the (n-1)/p copies of a node."""
    trees = perfectly_balanced(root)
    result = []
    for x in nodes(len(root)):
        copies = [(index, tree) for index, tree in enumerate(trees) if x in tree]
        for place, (index, tree) in enumerate(copies):
            numbers = range(place, messages, len(copies))
            assert len(numbers) == messages * period(compose(inverse(root), x)) // (len(root) - 1)
            result += [along(tree, x, index, number) for number in numbers]
    return result


#: The messages of each scatter, by algorithm name.
SCATTERED: dict[str, Callable[[Node, int], list[Message]]] = {
    "balanced": balanced_messages,
    "near-balanced": near_balanced_messages,
    "perfectly-balanced": perfectly_balanced_messages,
    "one-port": near_balanced_messages,
}


def rank_seen(root: Node, x: Node) -> int:
    """Return the rank of the displacement q^-1.x from the root q to x."""
    return ranks(len(root))[compose(inverse(root), x)]


def travelling(message: Message, departure: int, messages: int) -> Iterator[Row]:
    """Return the rows of a message that crosses one link per step."""
    unit = ranks(len(message.path[0]))[message.path[-1]] * messages + message.number
    for step, (a, b) in enumerate(pairwise(message.path), start=departure):
        yield Row(step, a, dimension_between(a, b), b, message.tree, unit)


# Scatter


def farthest_first(message: Message) -> tuple[int, int, int]:
    """Return the sort key of the messages that a queue sends."""
    root = message.path[0]
    return -message.hops, rank_seen(root, message.path[-1]), message.number


def rule_5(sent: Sequence[Message], messages: int) -> list[Row]:
    """Send the next message of each queue in every step, until all queues are empty."""
    queues: dict[Node, list[Message]] = {}
    for message in sorted(sent, key=farthest_first):
        queues.setdefault(message.path[1], []).append(message)
    return [
        row
        for queue in queues.values()
        for step, message in enumerate(queue, start=1)
        for row in travelling(message, step, messages)
    ]


def rule_8(sent: Sequence[Message], messages: int) -> list[Row]:
    """Send one message per step: all of T_2, then of T_3, and so on, farthest first in each."""

    def turn(message: Message) -> tuple[int, tuple[int, int, int]]:
        return dimension_between(*message.path[:2]), farthest_first(message)

    return [
        row
        for step, message in enumerate(sorted(sent, key=turn), start=1)
        for row in travelling(message, step, messages)
    ]


def scatter(algorithm: str, root: Node, messages: int) -> list[Row]:
    """Return the rows of a scatter."""
    entry = rule_8 if algorithm == "one-port" else rule_5
    return entry(SCATTERED[algorithm](root, messages), messages)


# Alltoall: one source


def rule_9(root: Node) -> list[Row]:
    """Send one group per necklace down the tree of Def. 13; each waits for the previous one."""
    parents, rows, clock = near_balanced(root), list[Row](), 0
    for ring in nearest_first(len(root)):
        group = [along(parents, compose(root, x), 0, 0) for x in ring]
        rows += [row for message in group for row in travelling(message, clock + 1, 1)]
        clock += group[0].hops
    return rows


def rule_10(root: Node, messages: int) -> list[Row]:
    """Send M p/(n-1) groups per necklace of period p, each with one message per subtree."""
    n, trees = len(root), perfectly_balanced(root)
    rows, clock = list[Row](), 0
    for ring in nearest_first(n):
        given: Counter[Node] = Counter()
        for _ in range(messages * len(ring) // (n - 1)):
            for index, parents in enumerate(trees):
                (x,) = (compose(root, x) for x in ring if compose(root, x) in parents)
                rows += travelling(along(parents, x, index, given[x]), clock + 1, messages)
                given[x] += 1
            clock += distances(identity(n))[ring[0]]
        assert set(given.values()) == {messages}
    return rows


def one_port_exchange(root: Node, messages: int) -> list[Row]:
    """Send messages to one displacement at a time, one hop per step, nearest first."""
    rows, clock = list[Row](), 0
    sent = near_balanced_messages(root, messages)
    for message in sorted(
        sent, key=lambda message: (message.hops, rank_seen(root, message.path[-1]), message.number)
    ):
        rows += travelling(message, clock + 1, messages)
        clock += message.hops
    return rows


#: The rows of each alltoall for one source, by algorithm name.
EXCHANGED: dict[str, Callable[[Node, int], list[Row]]] = {
    "necklace": lambda root, _: rule_9(root),
    "perfectly-balanced": rule_10,
    "one-port": one_port_exchange,
}


# Properties that all valid rows have


def flights(rows: Iterable[Row]) -> dict[int, list[Row]]:
    """Return the rows of each unit in the order of steps."""
    result: dict[int, list[Row]] = {}
    for row in sorted(rows):
        result.setdefault(row.unit, []).append(row)
    return result


def ports_by_step(rows: Iterable[Row]) -> list[list[int]]:
    """Return the ports used in each step from 1 to the last."""
    used: dict[int, list[int]] = {}
    for row in rows:
        used.setdefault(row.step, []).append(row.port)
    return [sorted(used.get(step, [])) for step in range(1, max(used) + 1)]
