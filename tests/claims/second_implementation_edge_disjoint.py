"""Second implementations for the failing claims of Fragopoulou & Akl 1996 (edge-disjoint trees)."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, combinations, pairwise
from math import log, log2

from claims.second_implementation import (
    Comparisons,
    contradiction,
    fewer,
    more,
    reimplements,
    unbounded,
    unequal,
)
from oracles.edge_disjoint import edt
from oracles.edge_disjoint_schedules import messages_of_trees, traversals
from oracles.rooted_trees import Tree, depths, is_spanning, load, path
from oracles.rotation import rotate
from oracles.schedule_rows import Row, deliver_all, pipelined
from oracles.star_graph import Node, diameter, distances, identity, label, nodes, swap

FaultyPart = tuple[Node, ...]
"""A node, or the two ends of a link."""


def depth(trees: Iterable[Tree], n: int) -> int:
    """Return the maximum depth of several trees on S_n with root 12..n."""
    return max(level for tree in trees for level in depths(tree, identity(n)).values())


def is_forest(trees: Sequence[Tree], n: int) -> bool:
    """Return whether the trees span S_n, start over dimensions 2..n in turn, and share no link."""
    root = identity(n)
    at_root = [{child for child, parent in tree.items() if parent == root} for tree in trees]
    return (
        all(is_spanning(tree, root) for tree in trees)
        and at_root == [{swap(root, dimension)} for dimension in range(2, n + 1)]
        and max(load(trees).values()) == 1
    )


@reimplements("EDT.depth")
def _trees_of_less_depth(n: int) -> Comparisons:
    if n != 4:  # one counterexample suffices
        return
    # The first subtree of a forest that is less deep than the paper's. The digits are the
    # dimensions of the links to the parents, by rank of the child; the root has the digit 0.
    dimensions = "022222233334332222442234"
    digits = zip(nodes(n), dimensions, strict=True)
    subtree = {node: swap(node, int(digit)) for node, digit in digits if digit != "0"}
    found = [
        {rotate(node, times): rotate(parent, times) for node, parent in subtree.items()}
        for times in range(n - 1)
    ]
    trees = edt(identity(n))
    assert is_forest(trees, n)
    assert is_forest(found, n)
    place: dict[str, int | str] = {"subtree": 2, "dimensions_to_parents_by_rank": dimensions}
    yield fewer(depth(found, n), depth(trees, n), **place)


def links(n: int) -> Iterator[tuple[Node, Node]]:
    """Yield the directed links of S_n, sorted by rank of the sender, then by dimension."""
    return ((node, swap(node, dimension)) for node in nodes(n) for dimension in range(2, n + 1))


def link_text(link: tuple[Node, Node]) -> str:
    """Return a directed link as text."""
    return " -> ".join(map(label, link))


@reimplements("EDT.twice")
def _trees_of_links(n: int) -> Comparisons:
    trees_of = load(edt(identity(n)))
    for link in links(n):
        yield unequal(trees_of[link], 1, link=link_text(link))


def broadcast(trees: Sequence[Tree], messages: Sequence[Sequence[int]], n: int) -> set[Row]:
    """Return the rows of a broadcast, after checking that all copies reach all nodes.

    ``messages`` lists the messages that each tree carries. Every packet must have one unit.
    """
    copies = [[(message, number) for message in queue] for number, queue in enumerate(messages)]
    rows = pipelined(trees, identity(n), copies)
    units = {copy for queue in copies for copy in queue}
    assert set(deliver_all(rows, {identity(n): units}, nodes(n)).values()) == {1}
    return rows


def last_step(rows: Iterable[Row]) -> int:
    """Return the number of steps of a schedule."""
    return max(row.step for row in rows)


@reimplements("EDT.S42-bound")
def _one_tree_beats_the_bound(n: int) -> Comparisons:
    """Find a broadcast along one breadth-first tree with fewer steps than the stated bound."""
    distance = distances(identity(n))
    tree: Tree = {}
    for node in nodes(n)[1:]:
        neighbours = [swap(node, dimension) for dimension in range(2, n + 1)]
        tree[node] = next(x for x in neighbours if distance[x] < distance[node])
    for messages in range(1, n):
        steps = last_step(broadcast([tree], [range(messages)], n))
        stated = -(-messages // (n - 1)) + diameter(n)
        yield fewer(steps, stated, M=messages, algorithm="greedy")


@reimplements("EDT.SNB.links")
def _unused_links(n: int) -> Comparisons:
    for messages in range(n - 1, 2 * n):
        rows = broadcast(edt(identity(n)), messages_of_trees(messages, 1, n - 1), n)
        used = {(row.sender, row.receiver) for row in rows}
        for link in links(n):
            if link not in used:
                yield contradiction(False, True, M=messages, link=link_text(link))


@reimplements("EDT.concl-optimal")
def _steps_above_the_bound(n: int) -> Comparisons:
    for messages in range(1, 2 * n):
        rows = broadcast(edt(identity(n)), messages_of_trees(messages, 1, n - 1), n)
        steps = last_step(rows)
        stated = -(-messages // (n - 1)) + diameter(n) - 1
        yield more(steps, stated, M=messages)


def single_faults(n: int) -> list[FaultyPart]:
    """Return every part of S_n that can fail: all nodes, then all links."""
    return [*((node,) for node in nodes(n)), *(link for link in links(n) if link[0] < link[1])]


def is_blocked(way: Sequence[Node], faults: Iterable[FaultyPart]) -> bool:
    """Return whether a faulty node or link is on a path."""
    hops = {frozenset(hop) for hop in pairwise(way)}
    return any(fault[0] in way if len(fault) == 1 else frozenset(fault) in hops for fault in faults)


def survives(tree_messages: Sequence[Sequence[int]], faulty: int, n: int) -> bool:
    """Return whether all healthy nodes get all messages if any ``faulty`` parts of S_n fail.

    ``tree_messages`` lists the messages that each tree carries. The source is always healthy.
    """
    possible = [fault for fault in single_faults(n) if fault != (identity(n),)]
    paths_of_message: dict[int, list[dict[Node, list[Node]]]] = {}
    for tree, messages in zip(edt(identity(n)), tree_messages, strict=True):
        paths = {node: path(tree, node) for node in nodes(n)}
        for message in messages:
            paths_of_message.setdefault(message, []).append(paths)
    return all(
        any(not is_blocked(paths[node], faults) for paths in copies)
        for faults in combinations(possible, faulty)
        for node in nodes(n)
        if (node,) not in faults
        for copies in paths_of_message.values()
    )


@reimplements("EDT.FT.divides")
def _sufficient_distributions(n: int) -> Comparisons:
    """Find a number of copies that suffices although it does not divide n-1."""
    trees = edt(identity(n))
    for copies in range(2, n - 1):
        if (n - 1) % copies == 0:
            continue
        messages = messages_of_trees(1, copies, n - 1)
        stated_steps = -(-copies // (n - 1)) + depth(trees, n) - 1
        steps = last_step(broadcast(trees, messages, n))
        if steps <= stated_steps and survives(messages, copies - 1, n):
            yield contradiction(1, 0, x=copies, M=1)


def reached(source: Node, faults: Sequence[FaultyPart]) -> set[Node]:
    """Return the nodes that get the message of a source under faults.

    A faulty node or link never acknowledges the message, so the traversal of a subtree stops at its
    first fault.
    """
    receivers = {source}
    for order in traversals(source):
        for link in order:
            if is_blocked(link, faults):
                break
            receivers.add(link[1])
    return receivers


@reimplements("EDT.MNB.fault-tolerant")
def _missing_after_faults(n: int) -> Comparisons:
    fault_sets = chain(*(combinations(single_faults(n), faulty) for faulty in range(1, n - 1)))
    for faults in fault_sets:
        healthy = [node for node in nodes(n) if (node,) not in faults]
        receivers = {source: reached(source, faults) for source in healthy}
        missing = [
            (node, source)
            for node in healthy
            for source in healthy
            if node not in receivers[source]
        ]
        if missing:
            node, source = missing[0]
            labels = ", ".join(" - ".join(map(label, fault)) for fault in faults)
            place = {"faults": labels, "node": label(node), "source": label(source)}
            yield contradiction(len(missing), 0, **place)


def total_exchange_quotient(n: float) -> float:
    """Return log2 n / q, where q compares the alltoall on the star graph and on the hypercube.

    The quotient q is the number of steps on the star graph, M t_n/(n-1), divided by the number on
    the hypercube, M n!/2. The sum of distances from a node is t_n = n!(n + 2/n + H_n - 4). The
    harmonic number H_n is approximated by ln n + 0.577..
    """
    star = (n + 2 / n + log(n) + 0.5772156649 - 4) / (n - 1)
    return log2(n) / (2 * star)


@reimplements("EDT.hyper.te-time")
def _order_of_total_exchange(_: int) -> Comparisons:
    """Check that `total_exchange_quotient` is bounded, as the claimed order implies."""
    yield unbounded(total_exchange_quotient)
