"""Second implementations for what fails of Fragopoulou & Akl 1996: edge-disjoint trees and fault tolerance."""

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
"""The dimension of every node's link to its parent, but the root's."""

Fault = tuple[Node, ...]
"""One node, or the two of a link."""

SHALLOW = {4: "022222233334332222442234"}
"""Subtree 2 of a forest less deep than EDT: the dimensions of the links to the parents, by rank. Judged below."""


def to_symbol(node: Node, symbol: int) -> int:
    """The dimension to the neighbour that begins with a symbol."""
    return node.index(symbol) + 1


def homewards(node: Node) -> int:
    """The dimension to the parent in SPT, for a node with symbol 1 in position k >= 2."""
    n, k = len(node), to_symbol(node, 1)
    if node[0] != k:
        return node[0]
    right_of_k = [*range(k + 1, n + 1), *range(2, k + 1)]
    misplaced: list[int] = [j for j in right_of_k if node[j - 1] != j]
    return misplaced[0]


def upwards(node: Node, tree: int) -> int:
    """The dimension to the parent in subtree 2..n of EDT at 12..n."""
    if node[0] == 1:
        return tree
    k, first, q = to_symbol(node, 1), node[0], node[homewards(node) - 1]
    if tree == k:
        return to_symbol(node, q)
    if first == k:
        return to_symbol(node, 1 if tree == q else tree)
    if q == k or tree != q:
        return to_symbol(node, 1 if tree == first else tree)
    return to_symbol(node, k)


@cache
def edge_disjoint(n: int) -> list[Tree]:
    return [
        {node: upwards(node, tree) for node in nodes(n) if node != identity(n)}
        for tree in range(2, n + 1)
    ]


def ways_home(tree: Tree, n: int) -> dict[Node, list[Node]]:
    """Every node's path to the root."""
    ways = {}
    for node in nodes(n):
        ways[node] = [node]
        while (last := ways[node][-1]) != identity(n):
            assert len(ways[node]) <= len(nodes(n)), "a circle, not a tree"
            ways[node].append(crossed(last, tree[last]))
    return ways


def depth(trees: Iterable[Tree], n: int) -> int:
    return max(len(way) - 1 for tree in trees for way in ways_home(tree, n).values())


def links_downwards(tree: Tree) -> set[tuple[Node, Node]]:
    return {(crossed(node, dimension), node) for node, dimension in tree.items()}


def is_forest(trees: Sequence[Tree], n: int) -> bool:
    """Whether tree 2..n hangs over its own link of the root alone and spans all nodes, and no directed link is in two."""
    links = [link for tree in trees for link in links_downwards(tree)]
    spanning = all(
        tree.keys() == set(nodes(n)) - {identity(n)} and ways_home(tree, n) for tree in trees
    )
    at_root = [[crossed(identity(n), d)] for d in range(2, n + 1)]
    hanging = [
        [node for above, node in links_downwards(tree) if above == identity(n)] for tree in trees
    ]
    return spanning and hanging == at_root and len(links) == len(set(links))


def turned_tree(tree: Tree, n: int, times: int) -> Tree:
    return {rotated(node, times): turned(dimension, n, times) for node, dimension in tree.items()}


def least_depth(n: int) -> int:
    """No subtree at a neighbour of the root that leaves out the root is less deep: breadth-first search without the root."""
    found = {crossed(identity(n), 2): 1}
    for node in (waiting := list(found)):
        for other in (crossed(node, d) for d in range(2, n + 1)):
            if other != identity(n) and other not in found:
                found[other] = found[node] + 1
                waiting.append(other)
    return max(found.values())


@reimplements("EDT.depth")
def _less_deep(spec: str) -> Place | None:
    n = size(spec)
    stated = depth(edge_disjoint(n), n)
    if least_depth(n) == stated or n not in SHALLOW:
        return None
    tree = {
        node: int(digit) for node, digit in zip(nodes(n), SHALLOW[n], strict=True) if digit != "0"
    }
    trees = [turned_tree(tree, n, times) for times in range(n - 1)]
    assert is_forest(edge_disjoint(n), n)
    assert is_forest(trees, n)
    found = depth(trees, n)
    if found >= stated:
        return None
    return {
        "n": n,
        "subtree": 2,
        "dimensions_to_parents_by_rank": SHALLOW[n],
        "found": found,
        "stated": stated,
    }


def links(n: int) -> Iterator[tuple[Node, int]]:
    """Directed links, by the rank of the node that sends and the dimension."""
    return ((node, dimension) for node in nodes(n) for dimension in range(2, n + 1))


def arrow(node: Node, dimension: int) -> str:
    return f"{text(node)} -> {text(crossed(node, dimension))}"


@reimplements("EDT.twice")
def _in_each_direction(spec: str) -> Place | None:
    n = size(spec)
    used = [link for tree in edge_disjoint(n) for link in links_downwards(tree)]
    for node, dimension in links(n):
        if (found := used.count((node, crossed(node, dimension)))) != 1:
            return {"n": n, "link": arrow(node, dimension), "found": found, "stated": 1}
    return None


def pipelined(trees: Sequence[Tree], units: Iterable[Sequence[int]], n: int) -> list[Row]:
    """What each tree is given, one unit after the other, passed on in the step after its arrival."""
    rows: list[Row] = []
    for number, (tree, given) in enumerate(zip(trees, units, strict=True)):
        for node, way in ways_home(tree, n).items():
            if node != identity(n):
                rows += [
                    (len(way) - 1 + i, way[1], tree[node], (unit, number))
                    for i, unit in enumerate(given)
                ]
    return rows


def broadcast(trees: Sequence[Tree], units: Sequence[Sequence[int]], n: int) -> list[Row]:
    """Pipelined rows, seen to bring every copy to every node over links that carry one unit in a step."""
    rows = pipelined(trees, units, n)
    copies = {(unit, number) for number, given in enumerate(units) for unit in given}
    largest, holds = execute(rows, {identity(n): copies})
    assert max(largest.values()) == 1
    assert all(holds[node] == copies for node in nodes(n))
    return rows


def dealt(messages: int, copies: int, hands: int) -> list[list[int]]:
    """Message 0 to the first trees, message 1 to the next ones, and so on, round and round, like cards."""
    cards = [message for message in range(messages) for _ in range(copies)]
    return [cards[hand::hands] for hand in range(hands)]


def last_step(rows: Iterable[Row]) -> int:
    return max(step for step, *_ in rows)


@reimplements("EDT.S42-bound")
def _faster_than_stated(spec: str) -> Place | None:
    """Along one breadth-first tree."""
    n = size(spec)
    d = distances(n)
    nearer = {
        x: next(i for i in range(2, n + 1) if d[crossed(x, i)] < d[x])
        for x in nodes(n)
        if x != identity(n)
    }
    for messages in range(1, n):
        found = last_step(broadcast([nearer], [range(messages)], n))
        stated = -(-messages // (n - 1)) + diameter(n)
        if found < stated:
            return {"n": n, "M": messages, "algorithm": "greedy", "found": found, "stated": stated}
    return None


@reimplements("EDT.SNB.links")
def _every_directed_link(spec: str) -> Place | None:
    n = size(spec)
    for messages in range(n - 1, 2 * n):
        rows = broadcast(edge_disjoint(n), dealt(messages, 1, n - 1), n)
        used = {(node, dimension) for _, node, dimension, _ in rows}
        for link in links(n):
            if link not in used:
                return {"n": n, "M": messages, "link": arrow(*link), "found": False, "stated": True}
    return None


@reimplements("EDT.concl-optimal")
def _steps_of_the_bound(spec: str) -> Place | None:
    n = size(spec)
    for messages in range(1, 2 * n):
        found = last_step(broadcast(edge_disjoint(n), dealt(messages, 1, n - 1), n))
        stated = -(-messages // (n - 1)) + diameter(n) - 1
        if found > stated:
            return {"n": n, "M": messages, "found": found, "stated": stated}
    return None


def single_faults(n: int) -> list[Fault]:
    """Nodes, then links."""
    both = [
        (node, other)
        for node in nodes(n)
        for d in range(2, n + 1)
        if node < (other := crossed(node, d))
    ]
    return [*((node,) for node in nodes(n)), *both]


def blocked(way: Sequence[Node], faults: Iterable[Fault]) -> bool:
    hops = {frozenset(hop) for hop in pairwise(way)}
    return any(fault[0] in way if len(fault) == 1 else frozenset(fault) in hops for fault in faults)


def survives(hands: Sequence[Sequence[int]], faulty: int, n: int) -> bool:
    """Whether every healthy node gets every message whatever nodes but the source and links are faulty."""
    ways = [ways_home(tree, n) for tree in edge_disjoint(n)]
    possible = [fault for fault in single_faults(n) if fault != (identity(n),)]
    carried = {
        message: [way for way, hand in zip(ways, hands, strict=True) if message in hand]
        for message in chain(*hands)
    }
    return all(
        any(not blocked(way[node], faults) for way in chosen)
        for faults in combinations(possible, faulty)
        for node in nodes(n)
        if (node,) not in faults
        for chosen in carried.values()
    )


@reimplements("EDT.FT.divides")
def _dealt_nevertheless(spec: str) -> Place | None:
    """One dealing that suffices is one too many."""
    n = size(spec)
    for copies in (x for x in range(2, n - 1) if (n - 1) % x):
        hands = dealt(1, copies, n - 1)
        allowed = -(-copies // (n - 1)) + depth(edge_disjoint(n), n) - 1
        if last_step(broadcast(edge_disjoint(n), hands, n)) <= allowed and survives(
            hands, copies - 1, n
        ):
            return {"n": n, "x": copies, "M": 1, "found": 1, "stated": 0}
    return None


@cache
def depth_first(n: int, tree: int) -> list[tuple[Node, Node]]:
    """The links of subtree 2..n in the order in which they are crossed, a node's children by dimension from the tree's on."""
    downwards = links_downwards(edge_disjoint(n)[tree - 2])
    order = [*range(tree, n + 1), *range(2, tree)]

    def below(node: Node) -> Iterator[tuple[Node, Node]]:
        for child in (crossed(node, d) for d in order):
            if (node, child) in downwards:
                yield node, child
                yield from below(child)

    return list(below(identity(n)))


def reached(source: Node, faults: Sequence[Fault]) -> set[Node]:
    """Who gets the source's message: in every subtree those before the first fault, whose acknowledgement never comes."""
    n = len(source)
    found = {source}
    for tree in range(2, n + 1):
        for hop in depth_first(n, tree):
            link = translated(source, hop[0]), translated(source, hop[1])
            if blocked(link, faults):
                break
            found.add(link[1])
    return found


@reimplements("EDT.MNB.fault-tolerant")
def _acknowledged(spec: str) -> Place | None:
    n = size(spec)
    for faulty in range(1, n - 1):
        for faults in combinations(single_faults(n), faulty):
            healthy = [node for node in nodes(n) if (node,) not in faults]
            got = {source: reached(source, faults) for source in healthy}
            if missing := [
                (node, source) for node in healthy for source in healthy if node not in got[source]
            ]:
                names = ", ".join(" - ".join(text(node) for node in fault) for fault in faults)
                node, source = missing[0]
                place: Place = {"n": n, "faults": names, "node": text(node), "source": text(source)}
                return {**place, "found": len(missing), "stated": 0}
    return None


def total_exchange_in_logs(logarithm: float) -> float:
    """The logarithm, base 2, of log n over the steps on the star over those on a hypercube of n! nodes.

    M x t_n/(n-1) over M x n!/2, t_n = n!(n + 2/n + H_n - 4); for n of this logarithm, base 2, H_n is ln n + 0.577..
    """
    n = 2.0**logarithm
    star = (n + 2 / n + logarithm * log(2) + 0.5772156649 - 4) / (n - 1)
    return log2(logarithm / (2 * star))


@reimplements("EDT.hyper.te-time")
def _not_by_the_degree(spec: str) -> Place | None:
    """A factor of order log n: its quotient by log n would be bounded both ways; it falls, like 1/log n."""
    grows = growth(total_exchange_in_logs)
    return {"n": size(spec), "found": grows, "stated": "bounded"} if grows != "bounded" else None
