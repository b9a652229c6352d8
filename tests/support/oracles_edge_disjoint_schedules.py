"""Schedules along edge-disjoint trees node by node, by definitions/edge-disjoint-trees.md.

Slow, and independent of the array form. Trees are counted from 0 as in a schedule: tree k-2 is the
page's subtree k. Choices that the page leaves open (the trees of a copy, the order of groups)
follow the docstrings of the algorithms.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby, pairwise
from operator import attrgetter

from support import oracles_cube
from support import oracles_edge_disjoint as page
from support.oracles import (
    Node,
    Plain,
    Tree,
    compose,
    depths,
    dimension_between,
    identity,
    nodes,
    ranks,
    swap,
)

Unit = tuple[int, int]  # a copy: its message, and its number among the copies


def queues(messages: int, copies: int, trees: int) -> list[list[Unit]]:
    """The copies dealt like cards to the trees, those of message 0 first."""
    hands: list[list[Unit]] = [[] for _ in range(trees)]
    cards = [(message, copy) for message in range(messages) for copy in range(copies)]
    for turn, card in enumerate(cards):
        hands[turn % trees].append(card)
    return hands


def share(messages: int, copies: int, trees: int) -> int:
    """ceil(Mx / trees)."""
    return max(map(len, queues(messages, copies, trees)))


@cache
def edt(root: Node) -> list[Tree]:
    """The page's trees, cached."""
    return page.edt(root)


@cache
def levels(root: Node) -> list[dict[Node, int]]:
    """The levels of all nodes in each of them."""
    return [depths(tree, root) for tree in edt(root)]


# Broadcast and allgather


def broadcast(root: Node, messages: int, copies: int) -> set[Plain]:
    """Sections 4.2 and 4.3 on S_n."""
    return pipelined(edt(root), root, messages, copies, dimension_between)


def broadcast_on_cube(root: Node, messages: int, copies: int) -> set[Plain]:
    """The same on Q_d; a node is the tuple of its bits."""
    trees = [
        {bits(child): bits(parent) for child, parent in tree.items()}
        for tree in oracles_cube.edge_disjoint_binomial("".join(map(str, root)))
    ]
    return pipelined(trees, root, messages, copies, bit_between)


def pipelined(
    trees: Sequence[Tree], root: Node, messages: int, copies: int, port: Callable[[Node, Node], int]
) -> set[Plain]:
    """Unit q of a tree's queue crosses level l in step q + l, q from 0."""
    rows = set[Plain]()
    for number, (tree, hand) in enumerate(
        zip(trees, queues(messages, copies, len(trees)), strict=True)
    ):
        level = depths(tree, root)
        for place, (message, _) in enumerate(hand):
            rows |= {
                Plain(place + level[child], parent, port(parent, child), child, number, message)
                for child, parent in tree.items()
            }
    return rows


def bits(text: str) -> Node:
    """A node of Q_d."""
    return tuple(map(int, text))


def bit_between(a: Node, b: Node) -> int:
    """The port of the link between two neighbours in Q_d."""
    (port,) = [
        place
        for place, (symbol, other) in enumerate(zip(a, b, strict=True), start=1)
        if symbol != other
    ]
    return port


def allgather(root: Node, messages: int, copies: int) -> set[Plain]:
    """Section 4.4 driven by steps: hop h of every tree has the steps (h-1)c+1 to hc."""
    trees = edt(root)
    hands = queues(messages, copies, len(trees))
    c = max(map(len, hands))
    return {
        _plain((hop - 1) * c + place, parent, child, number, message)
        for number, order in enumerate(depth_first(root))
        for hop, (parent, child) in enumerate(order, start=1)
        for place, (message, _) in enumerate(hands[number], start=1)
    }


def depth_first(root: Node) -> list[list[tuple[Node, Node]]]:
    """The page's traversal at any root: that of the identity, translated."""
    home = identity(len(root))
    return [
        [(compose(root, a), compose(root, b)) for a, b in order]
        for order in page.depth_first(edt(home), home)
    ]


# Scatter, gather, alltoall


@dataclass(frozen=True)
class Addressed:
    """A copy: its destination (for the identity), message, tree and level."""

    goal: Node
    message: int
    tree: int
    level: int


def orbit(x: Node) -> list[Node]:
    """The necklace of a node, from that node on."""
    members = [x]
    while (turned := page.rotate(members[-1])) != x:
        members.append(turned)
    return members


def scatter_copies(n: int, messages: int, copies: int) -> list[Addressed]:
    """Return the trees of copies: the nearest ones for the lowest node of a full necklace, rotated.

    The copies for nodes of short necklaces are assigned round robin.
    """
    home, result, left = identity(n), [], []
    for x in nodes(n)[1:]:
        members = orbit(x)
        if len(members) < n - 1:
            left.append(x)
        elif x == min(members):
            near = sorted(range(n - 1), key=lambda tree: (levels(home)[tree][x], tree))[:copies]
            result += [
                (node, message, (tree + turns) % (n - 1))
                for turns, node in enumerate(members)
                for message in range(messages)
                for tree in near
            ]
    cards = [(x, message) for x in left for message in range(messages) for _ in range(copies)]
    result += [(x, message, turn % (n - 1)) for turn, (x, message) in enumerate(cards)]
    return [Addressed(x, message, tree, levels(home)[tree][x]) for x, message, tree in result]


def scatter(root: Node, messages: int, copies: int, nearest_first: bool = False) -> set[Plain]:
    """Section 4.5: each tree sends one unit per step, furthest first (or last)."""
    n, rows = len(root), set[Plain]()
    trees = edt(identity(n))
    rank = ranks(n)
    sign = 1 if nearest_first else -1
    everything = scatter_copies(n, messages, copies)
    for number, tree in enumerate(trees):
        mine = [copy for copy in everything if copy.tree == number]
        mine.sort(key=lambda copy: (sign * copy.level, rank[copy.goal], copy.message))
        for departure, copy in enumerate(mine, start=1):
            unit = rank[compose(root, copy.goal)] * messages + copy.message
            for hop, (above, below) in enumerate(_links(tree, copy.goal)):
                rows.add(
                    _plain(
                        departure + hop, compose(root, above), compose(root, below), number, unit
                    )
                )
    return rows


def backwards(rows: Collection[Plain]) -> set[Plain]:
    """Every row the other way, the last step first."""
    steps = max(row.step for row in rows)
    return {
        Plain(steps + 1 - row.step, row.receiver, row.port, row.sender, row.tree, row.unit)
        for row in rows
    }


def alltoall(
    root: Node, messages: int, copies: int, bases: Sequence[Node] | None = None
) -> set[Plain]:
    """Section 4.6: group by group, R^(k-2)(i) through subtree k; ``bases`` are the nodes i."""
    n, rank, rows = len(root), ranks(len(root)), set[Plain]()
    trees = edt(identity(n))
    level = levels(identity(n))[0]
    hands = queues(messages, copies, n - 1)
    c, start = max(map(len, hands)), 0
    for base in bases or sorted(nodes(n)[1:], key=lambda x: (level[x], x)):
        goal = base
        for number, tree in enumerate(trees):
            for hop, (above, below) in enumerate(_links(tree, goal)):
                for place, (message, _) in enumerate(hands[number], start=1):
                    unit = rank[compose(root, goal)] * messages + message
                    step = start + hop * c + place
                    rows.add(_plain(step, compose(root, above), compose(root, below), number, unit))
            goal = page.rotate(goal)
        start += c * level[base]
    return rows


def _links(tree: Tree, goal: Node) -> list[tuple[Node, Node]]:
    """The links from the root down to a node."""
    up = page.path(tree, goal)
    return [(above, below) for below, above in pairwise(up)][::-1]


def _plain(step: int, sender: Node, receiver: Node, tree: int, unit: int) -> Plain:
    return Plain(step, sender, dimension_between(sender, receiver), receiver, tree, unit)


# All sources


def of_all_sources(rows: Iterable[Plain], units: int, addressed: bool) -> Iterator[Plain]:
    """Return the identity's rows translated to every source.

    Units name the source, and the destination if they are addressed.
    """
    kept = list(rows)
    n = len(kept[0].sender)
    every, rank = nodes(n), ranks(n)
    each = units // len(every) if addressed else units
    for number, source in enumerate(every):
        for row in kept:
            own = row.unit
            if addressed:
                own = rank[compose(source, every[own // each])] * each + own % each
            yield row._replace(
                sender=compose(source, row.sender),
                receiver=compose(source, row.receiver),
                unit=number * units + own,
            )


def repeated_dimensions(rows: Iterable[Plain]) -> dict[tuple[int, int], int]:
    """Lemma 7: return the (step, dimension) pairs that one source uses more than once.

    Without any, sources never conflict.
    """
    return {
        use: count
        for use, count in Counter((row.step, row.port) for row in rows).items()
        if count > 1
    }


# Execution

#: Whether a row's link carries it.
Up = Callable[[Plain], bool]


def sound(rows: Sequence[Plain]) -> bool:
    """Assert that rows use existing links and no directed link carries two units per step."""
    uses = Counter((row.step, row.sender, row.port) for row in rows)
    across = all(swap(row.sender, row.port) == row.receiver for row in rows)
    return across and max(uses.values()) == 1 and min(row.step for row in rows) >= 1


def holdings(
    rows: Iterable[Plain],
    start: Mapping[Node, Collection[int]],
    up: Up = lambda _: True,
    *,
    apart: bool = False,
) -> tuple[dict[Node, set[int]], int]:
    """Execute step by step; return each node's units, and the number of rows without their unit.

    Args:
        rows: a schedule; rows whose link is down or whose sender lacks the unit are dropped.
        start: the units held before step 1.
        up: whether a row's link is up.
        apart: treat copies as different units: a node forwards in a tree only units of that tree.
    """
    kept = list(rows)
    lines = {row.tree for row in kept} if apart else {0}
    holds: dict[Node, set[tuple[int, int]]] = defaultdict(set)
    for node, units in start.items():
        holds[node] = {(line, unit) for line in lines for unit in units}
    lacking = 0
    for _, together in groupby(sorted(kept, key=attrgetter("step")), key=attrgetter("step")):
        arrivals = []
        for row in filter(up, together):
            unit = (row.tree if apart else 0, row.unit)
            if unit in holds[row.sender]:
                arrivals.append((row.receiver, unit))
            else:
                lacking += 1
        for receiver, unit in arrivals:
            holds[receiver].add(unit)
    return {node: {unit for _, unit in held} for node, held in holds.items()}, lacking
