"""Schedules along edge-disjoint trees, built row by row from edge-disjoint-trees.md.

Trees are numbered from 0, as in a schedule: tree k-2 is subtree k of that page. The page does not
specify which copies use which trees, or the order of groups; both follow starcast's docstrings.
"""

from dataclasses import dataclass
from functools import cache
from itertools import pairwise

from oracles.edge_disjoint import depth_first, edt
from oracles.hypercube import edge_disjoint_binomial, port_between
from oracles.rooted_trees import Tree, depths, path
from oracles.rotation import necklaces, rotate
from oracles.schedule_rows import Row, pipelined
from oracles.star_graph import Node, compose, dimension_between, identity, nodes, ranks

Unit = tuple[int, int]  # a copy of a message: the message number, and the copy number


def queues(messages: int, copies: int, trees: int) -> list[list[Unit]]:
    """Assign copies of messages to trees in turn, message by message; return a queue per tree."""
    assigned: list[list[Unit]] = [[] for _ in range(trees)]
    units = [(message, copy) for message in range(messages) for copy in range(copies)]
    for turn, unit in enumerate(units):
        assigned[turn % trees].append(unit)
    return assigned


@cache
def levels(root: Node) -> list[dict[Node, int]]:
    """Return the level of every node in each of the edge-disjoint trees."""
    return [depths(tree, root) for tree in edt(root)]


def broadcast(root: Node, messages: int, copies: int) -> set[Row]:
    """Return the rows of the broadcast on S_n (sections 4.2 and 4.3 of the paper)."""
    return pipelined(edt(root), root, messages_of_trees(messages, copies, len(root) - 1))


def broadcast_on_cube(root: str, messages: int, copies: int) -> set[Row]:
    """Return the rows of the broadcast along edge-disjoint binomial trees on Q_d."""
    assigned = messages_of_trees(messages, copies, len(root))
    return pipelined(edge_disjoint_binomial(root), root, assigned, port_between)


def messages_of_trees(messages: int, copies: int, trees: int) -> list[list[int]]:
    """Return, for each tree, its queue of message numbers; each entry stands for one copy."""
    return [[message for message, _ in queue] for queue in queues(messages, copies, trees)]


def allgather(root: Node, messages: int, copies: int) -> set[Row]:
    """Return the rows of one source in the allgather of section 4.4, with fixed steps.

    Hop h of a traversal takes steps (h-1)c+1 to hc, where c is the length of the longest queue.
    """
    assigned = messages_of_trees(messages, copies, len(root) - 1)
    c = max(map(len, assigned))
    return {
        _row((hop - 1) * c + place, parent, child, number, message)
        for number, order in enumerate(traversals(root))
        for hop, (parent, child) in enumerate(order, start=1)
        for place, message in enumerate(assigned[number], start=1)
    }


@cache
def traversals(root: Node) -> list[list[tuple[Node, Node]]]:
    """Return the links of each subtree in depth-first order, translated to the given root."""
    home = identity(len(root))
    return [
        [(compose(root, a), compose(root, b)) for a, b in order]
        for order in depth_first(edt(home), home)
    ]


@dataclass(frozen=True)
class Addressed:
    """A copy sent by source 12..n: its destination, message, tree, and level in that tree."""

    goal: Node
    message: int
    tree: int
    level: int


def scatter_copies(n: int, messages: int, copies: int) -> list[Addressed]:
    """Return all copies that source 12..n sends, each with its tree.

    In a necklace of n-1 nodes, the lowest node gets its copies in the trees in which it is nearest
    to the root, and the other nodes get theirs in the same trees, rotated. The copies to nodes of
    shorter necklaces are assigned to the trees in turn.
    """
    home = identity(n)
    result: list[tuple[Node, int, int]] = []
    left: list[Node] = []
    for members in necklaces(n):
        x = members[0]
        if len(members) < n - 1:
            left += members
        else:
            near = sorted(range(n - 1), key=lambda tree: (levels(home)[tree][x], tree))[:copies]
            result += [
                (node, message, (tree + turns) % (n - 1))
                for turns, node in enumerate(members)
                for message in range(messages)
                for tree in near
            ]
    others = [
        (x, message) for x in sorted(left) for message in range(messages) for _ in range(copies)
    ]
    result += [(x, message, turn % (n - 1)) for turn, (x, message) in enumerate(others)]
    return [Addressed(x, message, tree, levels(home)[tree][x]) for x, message, tree in result]


def scatter(root: Node, messages: int, copies: int) -> set[Row]:
    """Return the rows of the scatter of section 4.5.

    In each step the root sends one unit down each tree; units to the farthest nodes go first.
    """
    n, rows = len(root), set[Row]()
    trees = edt(identity(n))
    rank = ranks(n)
    everything = scatter_copies(n, messages, copies)
    for number, tree in enumerate(trees):
        mine = [copy for copy in everything if copy.tree == number]
        mine.sort(key=lambda copy: (-copy.level, rank[copy.goal], copy.message))
        for departure, copy in enumerate(mine, start=1):
            unit = rank[compose(root, copy.goal)] * messages + copy.message
            for hop, (above, below) in enumerate(_links(tree, copy.goal)):
                rows.add(
                    _row(departure + hop, compose(root, above), compose(root, below), number, unit)
                )
    return rows


def alltoall(root: Node, messages: int, copies: int) -> set[Row]:
    """Return the rows of one source in the alltoall of section 4.6: one group per node.

    In the group of node x, subtree k carries the messages to x rotated k-2 times.
    """
    n, rank, rows = len(root), ranks(len(root)), set[Row]()
    trees = edt(identity(n))
    level = levels(identity(n))[0]
    assigned = messages_of_trees(messages, copies, n - 1)
    c, start = max(map(len, assigned)), 0
    for base in sorted(nodes(n)[1:], key=lambda x: (level[x], x)):
        goal = base
        for number, tree in enumerate(trees):
            for hop, (above, below) in enumerate(_links(tree, goal)):
                for place, message in enumerate(assigned[number], start=1):
                    unit = rank[compose(root, goal)] * messages + message
                    step = start + hop * c + place
                    rows.add(_row(step, compose(root, above), compose(root, below), number, unit))
            goal = rotate(goal)
        start += c * level[base]
    return rows


def _links(tree: Tree, goal: Node) -> list[tuple[Node, Node]]:
    """Return the (parent, child) links on the path from the root to a node."""
    up = path(tree, goal)
    return [(above, below) for below, above in pairwise(up)][::-1]


def _row(step: int, sender: Node, receiver: Node, tree: int, unit: int) -> Row:
    return Row(step, sender, dimension_between(sender, receiver), receiver, tree, unit)
