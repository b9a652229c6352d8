"""The broadcast of Sheu, Liaw & Chen 1993, as described in tseng-sheu.md (B1 and B2)."""

from collections import deque
from dataclasses import dataclass
from functools import cache

from oracles.rooted_trees import Tree
from oracles.schedule_rows import Row
from oracles.star_graph import Node, swap


@dataclass(frozen=True)
class Send:
    """A send in the Sheu-Liaw-Chen procedure, in the step after the sender was informed.

    ``rule`` is the rule of the procedure (1 or 2) that causes the send.
    """

    step: int
    sender: Node
    dimension: int
    receiver: Node
    rule: int


@cache
def sends_from(source: Node) -> tuple[Send, ...]:
    """Return the sends of the recursive all-port broadcast procedure (B1)."""
    sends: list[Send] = []

    def broadcasting(s: Node, dim1: int, flag: bool, dim2: int, received: int) -> None:
        def send(dimension: int, dim1: int, flag: bool, dim2: int, rule: int) -> None:
            receiver = swap(s, dimension)
            sends.append(Send(received + 1, s, dimension, receiver, rule))
            broadcasting(receiver, dim1, flag, dim2, received + 1)

        if dim1 > 1:
            send(dim1, dim1 - 1, True, dim1 - 1, rule=1)
            for i in range(2, dim1):
                send(i, i - 1, False, dim1, rule=1)
        if not flag:
            for k in range(dim1 + 2, dim2 + 1):
                send(k, k - 1, True, k - 1, rule=2)

    n = len(source)
    broadcasting(source, n, True, n, 0)
    return tuple(sends)


def broadcast_tree(source: Node) -> Tree:
    """Return the broadcast tree (B1), which maps each node to the node that informs it."""
    return {send.receiver: send.sender for send in sends_from(source)}


def one_port(source: Node, messages: int) -> set[Row]:
    """Return the rows of the one-port broadcast (B2).

    A node sends to one child per slot; the children of Rule 2 come first. The source starts a
    message every n-1 slots.
    """
    served: dict[Node, list[Send]] = {}
    for send in sends_from(source):
        served.setdefault(send.sender, []).append(send)
    received, queue, rows, n = {source: 0}, deque([source]), set(), len(source)
    while queue:
        node = queue.popleft()
        for turn, send in enumerate(
            sorted(served.get(node, []), key=lambda s: (-s.rule, s.dimension)), start=1
        ):
            received[send.receiver] = received[node] + turn
            queue.append(send.receiver)
            rows |= {
                Row(
                    received[node] + turn + number * (n - 1),
                    node,
                    send.dimension,
                    send.receiver,
                    0,
                    (0, number),
                )
                for number in range(messages)
            }
    return rows
