"""Scatter and alltoall by Rules 5, 8, 9 and 10, message by message (fragopoulou-akl.md, A5, A6).

That page leaves three choices open. Here messages to equally distant nodes are sorted by the rank
of the destination as seen from the root, then by number. Necklaces of equal distance are sorted by
their lowest node. If a node has k paths from the root, message i takes path i mod k.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
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


class Message(NamedTuple):
    """A message: its path from the root to the destination, its tree, and its number."""

    path: tuple[Node, ...]
    tree: int
    number: int

    @property
    def hops(self) -> int:
        """The number of links that the message crosses."""
        return len(self.path) - 1


def along(parents: Tree, x: Node, tree: int, number: int) -> Message:
    """Return message ``number`` to node x, along its path from the root in a tree."""
    return Message(tuple(reversed(path(parents, x))), tree, number)


def balanced_messages(root: Node, messages: int) -> list[Message]:
    """Return the messages of the scatter `balanced`: message i to a node uses balanced tree i."""
    trees = [balanced(root, copy) for copy in range(messages)]
    return [
        along(tree, x, number % (len(root) - 1), number)
        for number, tree in enumerate(trees)
        for x in tree
    ]


def near_balanced_messages(root: Node, messages: int) -> list[Message]:
    """Return the messages of the scatter `near-balanced`; all messages use one tree."""
    tree = near_balanced(root)
    return [along(tree, x, 0, number) for x in tree for number in range(messages)]


def perfectly_balanced_messages(root: Node, messages: int) -> list[Message]:
    """Return the messages of the scatter `perfectly-balanced`.

    A node whose necklace has p nodes is in (n-1)/p subtrees, each with a share of its messages.
    """
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
    """Return the rank of x as seen from the root, after the translation of the root to 12..n."""
    return ranks(len(root))[compose(inverse(root), x)]


def travelling(message: Message, departure: int, messages: int) -> Iterator[Row]:
    """Yield the rows of a message that crosses one link per step from step ``departure`` on."""
    unit = ranks(len(message.path[0]))[message.path[-1]] * messages + message.number
    for step, (a, b) in enumerate(pairwise(message.path), start=departure):
        yield Row(step, a, dimension_between(a, b), b, message.tree, unit)


def farthest_first(message: Message) -> tuple[int, int, int]:
    """Return the sort key by which messages to the farthest nodes come first."""
    root = message.path[0]
    return -message.hops, rank_seen(root, message.path[-1]), message.number


def rule_5(sent: Sequence[Message], messages: int) -> list[Row]:
    """Return the rows of an all-port scatter by Rule 5.

    Every child of the root has a queue, from which one message departs per step, farthest first.
    """
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
    """Return the rows of a one-port scatter by Rule 8: one message departs per step.

    Messages over dimension 2 of the root go first, then messages over dimension 3, and so on; for
    each dimension, messages to the farthest nodes go first.
    """

    def turn(message: Message) -> tuple[int, tuple[int, int, int]]:
        return dimension_between(*message.path[:2]), farthest_first(message)

    return [
        row
        for step, message in enumerate(sorted(sent, key=turn), start=1)
        for row in travelling(message, step, messages)
    ]


def scatter(algorithm: str, root: Node, messages: int) -> list[Row]:
    """Return the rows of the scatter with the given algorithm, root and number of messages."""
    entry = rule_8 if algorithm == "one-port" else rule_5
    return entry(SCATTERED[algorithm](root, messages), messages)


def rule_9(root: Node) -> list[Row]:
    """Return the rows of one source in the alltoall of Rule 9.

    The messages to a necklace form a group and travel down the near-balanced tree. A group departs
    when the previous one has arrived.
    """
    parents, rows, clock = near_balanced(root), list[Row](), 0
    for ring in nearest_first(len(root)):
        group = [along(parents, compose(root, x), 0, 0) for x in ring]
        rows += [row for message in group for row in travelling(message, clock + 1, 1)]
        clock += group[0].hops
    return rows


def rule_10(root: Node, messages: int) -> list[Row]:
    """Return the rows of one source in the alltoall of Rule 10.

    A group has one message for each subtree. A necklace of p nodes has M p/(n-1) groups, where M is
    the number of messages per node.
    """
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
    """Return the rows of one source in the one-port alltoall.

    One message travels at a time; messages to the nearest nodes go first.
    """
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
