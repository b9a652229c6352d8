"""Second implementations for claims of Fragopoulou & Akl 1996 (edge-disjoint trees) that fail."""

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import chain, combinations, pairwise
from math import log, log2

from claims.definitions import (
    Node,
    Row,
    crossed,
    diameter,
    distances,
    execute,
    identity,
    nodes,
    rotated,
    size,
    text,
    translated,
    turned,
)
from claims.definitions_growth import growth
from claims.second_implementation import Place, reimplements

Tree = dict[Node, int]
"""The dimension of the link to the parent for every node except the root."""

Path = list[Node]

FaultyPart = tuple[Node, ...]
"""A node, or the two ends of a link."""

LOW_DEPTH_TREES = {4: "022222233334332222442234"}
"""Subtree 2 of a forest of less depth than EDT: dimensions to the parents, by rank."""


# Trees


def dimension_to(node: Node, symbol: int) -> int:
    """Return the dimension to the neighbour that begins with a symbol."""
    return node.index(symbol) + 1


def parent_in_spt(node: Node) -> int:
    """Return the dimension to the parent in SPT, for a node with symbol 1 in position k >= 2."""
    n = len(node)
    k = dimension_to(node, 1)
    if node[0] != k:
        return node[0]
    cyclic_order = [*range(k + 1, n + 1), *range(2, k + 1)]
    misplaced: list[int] = [j for j in cyclic_order if node[j - 1] != j]
    return misplaced[0]


def parent_in_edt(node: Node, subtree: int) -> int:
    """Return the dimension to the parent in subtree 2..n of EDT at 12..n."""
    if node[0] == 1:
        return subtree
    k = dimension_to(node, 1)
    q = node[parent_in_spt(node) - 1]
    first = node[0]
    if subtree == k:
        symbol = q
    elif first == k:
        symbol = 1 if subtree == q else subtree
    elif q == k or subtree != q:
        symbol = 1 if subtree == first else subtree
    else:
        symbol = k
    return dimension_to(node, symbol)


@cache
def edge_disjoint(n: int) -> list[Tree]:
    """Return the subtrees 2..n of EDT."""
    others = nodes(n)[1:]
    return [{x: parent_in_edt(x, subtree) for x in others} for subtree in range(2, n + 1)]


def paths_to_root(tree: Tree, n: int) -> dict[Node, Path]:
    """Return the path of every node to the root."""
    paths = {}
    for node in nodes(n):
        paths[node] = [node]
        while (last := paths[node][-1]) != identity(n):
            assert len(paths[node]) <= len(nodes(n)), "a cycle, not a tree"
            paths[node].append(crossed(last, tree[last]))
    return paths


def depth(trees: Iterable[Tree], n: int) -> int:
    """Return the greatest depth of the trees."""
    return max(len(path) - 1 for tree in trees for path in paths_to_root(tree, n).values())


def tree_links(tree: Tree) -> set[tuple[Node, Node]]:
    """Return the directed links from parents to children."""
    return {(crossed(node, dimension), node) for node, dimension in tree.items()}


def is_forest(trees: Sequence[Tree], n: int) -> bool:
    """Return whether trees 2..n span, each over its own link of the root, and are edge-disjoint."""
    others = set(nodes(n)) - {identity(n)}
    is_spanning = all(tree.keys() == others and paths_to_root(tree, n) for tree in trees)
    at_root = [{crossed(identity(n), dimension)} for dimension in range(2, n + 1)]
    root_children = [
        {child for parent, child in tree_links(tree) if parent == identity(n)} for tree in trees
    ]
    links = [link for tree in trees for link in tree_links(tree)]
    return is_spanning and root_children == at_root and len(links) == len(set(links))


def rotated_tree(tree: Tree, n: int, times: int) -> Tree:
    """Return a tree after some rotations."""
    return {rotated(node, times): turned(dimension, n, times) for node, dimension in tree.items()}


def least_depth(n: int) -> int:
    """Return the least depth of a subtree over one link of the root, by breadth-first search."""
    levels = {crossed(identity(n), 2): 1}
    queue = list(levels)
    for node in queue:
        for dimension in range(2, n + 1):
            neighbour = crossed(node, dimension)
            if neighbour != identity(n) and neighbour not in levels:
                levels[neighbour] = levels[node] + 1
                queue.append(neighbour)
    return max(levels.values())


@reimplements("EDT.depth")
def _trees_of_less_depth(spec: str) -> Place | None:
    n = size(spec)
    stated = depth(edge_disjoint(n), n)
    if least_depth(n) == stated or n not in LOW_DEPTH_TREES:
        return None
    dimensions = LOW_DEPTH_TREES[n]
    digits = zip(nodes(n), dimensions, strict=True)
    tree = {node: int(digit) for node, digit in digits if digit != "0"}
    trees = [rotated_tree(tree, n, times) for times in range(n - 1)]
    assert is_forest(edge_disjoint(n), n)
    assert is_forest(trees, n)
    found_depth = depth(trees, n)
    if found_depth >= stated:
        return None
    place: Place = {"n": n, "subtree": 2, "dimensions_to_parents_by_rank": dimensions}
    return {**place, "found": found_depth, "stated": stated}


def links(n: int) -> Iterator[tuple[Node, int]]:
    """Yield directed links by the rank of the sender and the dimension."""
    return ((node, dimension) for node in nodes(n) for dimension in range(2, n + 1))


def link_text(node: Node, dimension: int) -> str:
    """Return the label of a directed link."""
    return f"{text(node)} -> {text(crossed(node, dimension))}"


@reimplements("EDT.twice")
def _trees_of_links(spec: str) -> Place | None:
    n = size(spec)
    used = [link for tree in edge_disjoint(n) for link in tree_links(tree)]
    for node, dimension in links(n):
        count = used.count((node, crossed(node, dimension)))
        if count != 1:
            return {"n": n, "link": link_text(node, dimension), "found": count, "stated": 1}
    return None


# Broadcasts


def pipelined(trees: Sequence[Tree], units: Iterable[Sequence[int]], n: int) -> list[Row]:
    """Return a pipeline: each tree sends its units one per step, nodes forward in the next step."""
    rows: list[Row] = []
    for number, (tree, tree_units) in enumerate(zip(trees, units, strict=True)):
        for node, path in paths_to_root(tree, n).items():
            if node == identity(n):
                continue
            level = len(path) - 1
            for delay, unit in enumerate(tree_units):
                rows.append((level + delay, path[1], tree[node], (unit, number)))
    return rows


def broadcast(trees: Sequence[Tree], units: Sequence[Sequence[int]], n: int) -> list[Row]:
    """Return a pipeline that brings every copy to every node, with one unit per link and step."""
    rows = pipelined(trees, units, n)
    copies = {(unit, number) for number, tree_units in enumerate(units) for unit in tree_units}
    largest_packets, holdings = execute(rows, {identity(n): copies})
    assert max(largest_packets.values()) == 1
    assert all(holdings[node] == copies for node in nodes(n))
    return rows


def round_robin(messages: int, copies: int, trees: int) -> list[list[int]]:
    """Return the messages of each tree: message 0 in the first trees, message 1 in the next .."""
    units = [message for message in range(messages) for _ in range(copies)]
    return [units[tree::trees] for tree in range(trees)]


def last_step(rows: Iterable[Row]) -> int:
    """Return the number of steps."""
    return max(step for step, *_ in rows)


@reimplements("EDT.S42-bound")
def _one_tree_beats_the_bound(spec: str) -> Place | None:
    """Broadcast along one breadth-first tree."""
    n = size(spec)
    distance = distances(n)
    tree = {}
    for node in nodes(n)[1:]:
        closer = (d for d in range(2, n + 1) if distance[crossed(node, d)] < distance[node])
        tree[node] = next(closer)
    for messages in range(1, n):
        steps = last_step(broadcast([tree], [range(messages)], n))
        stated = -(-messages // (n - 1)) + diameter(n)
        if steps < stated:
            return {"n": n, "M": messages, "algorithm": "greedy", "found": steps, "stated": stated}
    return None


@reimplements("EDT.SNB.links")
def _unused_links(spec: str) -> Place | None:
    n = size(spec)
    for messages in range(n - 1, 2 * n):
        rows = broadcast(edge_disjoint(n), round_robin(messages, 1, n - 1), n)
        used = {(node, dimension) for _, node, dimension, _ in rows}
        for link in links(n):
            if link not in used:
                place: Place = {"n": n, "M": messages, "link": link_text(*link)}
                return {**place, "found": False, "stated": True}
    return None


@reimplements("EDT.concl-optimal")
def _steps_above_the_bound(spec: str) -> Place | None:
    n = size(spec)
    for messages in range(1, 2 * n):
        rows = broadcast(edge_disjoint(n), round_robin(messages, 1, n - 1), n)
        steps = last_step(rows)
        stated = -(-messages // (n - 1)) + diameter(n) - 1
        if steps > stated:
            return {"n": n, "M": messages, "found": steps, "stated": stated}
    return None


# Faults


def single_faults(n: int) -> list[FaultyPart]:
    """Return all nodes, then all links."""
    ends = [(node, crossed(node, dimension)) for node, dimension in links(n)]
    return [*((node,) for node in nodes(n)), *(link for link in ends if link[0] < link[1])]


def is_blocked(path: Sequence[Node], faults: Iterable[FaultyPart]) -> bool:
    """Return whether a fault is on a path."""
    hops = {frozenset(hop) for hop in pairwise(path)}
    return any(
        fault[0] in path if len(fault) == 1 else frozenset(fault) in hops for fault in faults
    )


def survives(tree_messages: Sequence[Sequence[int]], faulty: int, n: int) -> bool:
    """Return whether every healthy node gets every message, for all sets of faults of a size.

    The source is healthy.
    """
    possible = [fault for fault in single_faults(n) if fault != (identity(n),)]
    paths = [paths_to_root(tree, n) for tree in edge_disjoint(n)]
    paths_of_message: dict[int, list[dict[Node, Path]]] = {}
    for tree_paths, messages in zip(paths, tree_messages, strict=True):
        for message in messages:
            paths_of_message.setdefault(message, []).append(tree_paths)
    return all(
        any(not is_blocked(tree_paths[node], faults) for tree_paths in copies)
        for faults in combinations(possible, faulty)
        for node in nodes(n)
        if (node,) not in faults
        for copies in paths_of_message.values()
    )


@reimplements("EDT.FT.divides")
def _sufficient_distributions(spec: str) -> Place | None:
    """Find a distribution that suffices: the claim is that none exists."""
    n = size(spec)
    trees = edge_disjoint(n)
    for copies in range(2, n - 1):
        if (n - 1) % copies == 0:
            continue
        messages = round_robin(1, copies, n - 1)
        stated_steps = -(-copies // (n - 1)) + depth(trees, n) - 1
        steps = last_step(broadcast(trees, messages, n))
        if steps <= stated_steps and survives(messages, copies - 1, n):
            return {"n": n, "x": copies, "M": 1, "found": 1, "stated": 0}
    return None


@cache
def depth_first(n: int, subtree: int) -> list[tuple[Node, Node]]:
    """Return the links of a subtree 2..n, depth first, children by dimension from the subtree's."""
    tree = tree_links(edge_disjoint(n)[subtree - 2])
    dimensions = [*range(subtree, n + 1), *range(2, subtree)]

    def below(node: Node) -> Iterator[tuple[Node, Node]]:
        for dimension in dimensions:
            child = crossed(node, dimension)
            if (node, child) in tree:
                yield node, child
                yield from below(child)

    return list(below(identity(n)))


def reached(source: Node, faults: Sequence[FaultyPart]) -> set[Node]:
    """Return the nodes that get a message: those before the first fault of each subtree.

    The fault never acknowledges the message.
    """
    receivers = {source}
    for subtree in range(2, len(source) + 1):
        for parent, child in depth_first(len(source), subtree):
            link = (translated(source, parent), translated(source, child))
            if is_blocked(link, faults):
                break
            receivers.add(link[1])
    return receivers


@reimplements("EDT.MNB.fault-tolerant")
def _missing_after_faults(spec: str) -> Place | None:
    n = size(spec)
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
            labels = ", ".join(" - ".join(map(text, fault)) for fault in faults)
            place: Place = {"n": n, "faults": labels, "node": text(node), "source": text(source)}
            return {**place, "found": len(missing), "stated": 0}
    return None


# Orders of growth


def total_exchange_quotient(logarithm: float) -> float:
    """Return the logarithm, base 2, of log n over the quotient of steps on star and hypercube.

    The steps are M t_n/(n-1) and M n!/2, with t_n = n!(n + 2/n + H_n - 4). For n with this
    logarithm, base 2, H_n is ln n + 0.577..
    """
    n = 2.0**logarithm
    star = (n + 2 / n + logarithm * log(2) + 0.5772156649 - 4) / (n - 1)
    return log2(logarithm / (2 * star))


@reimplements("EDT.hyper.te-time")
def _order_of_total_exchange(spec: str) -> Place | None:
    """Show that the factor is not of order log n: its quotient by log n falls like 1/log n."""
    order = growth(total_exchange_quotient)
    return {"n": size(spec), "found": order, "stated": "bounded"} if order != "bounded" else None
