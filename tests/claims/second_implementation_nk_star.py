"""Second implementations for the failing claims of Li, Chen, Xiang & Yao: trees, times, tables."""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import partial
from itertools import count, permutations
from typing import Any

from claims.second_implementation import (
    Comparisons,
    contradiction,
    exceeds,
    fewer,
    more,
    reimplements,
    surd,
    unbounded,
    unequal,
)
from oracles.allgather import nk_all_sources
from oracles.nk_star import (
    across,
    chain,
    diameter,
    distances,
    extension,
    externals,
    greedy,
    internal_cycles,
    multiple_at_identity,
    neighbours,
    nodes,
    port_between,
    root_of,
)
from oracles.rooted_trees import Tree, depths, load, path
from oracles.rotation import r
from oracles.schedule_rows import (
    Row,
    by_dimension,
    deliver_all,
    is_one_port,
    pipelined,
    segments,
)
from oracles.star_graph import Node, compose, identity, label, shift
from oracles.tseng_sheu import literally_changed


def one_tree(n: int, k: int) -> Tree:
    """Return SP(Id), the paper's shortest-path tree of S_{n,k} with root 12..k."""
    return greedy(identity(k), n)


def single_tree(n: int, k: int) -> list[Tree]:
    """Return a list with one tree, SP(Id)."""
    return [one_tree(n, k)]


def level_of(n: int, k: int) -> dict[Node, int]:
    """Return the level of every node in the tree SP(Id)."""
    return depths(one_tree(n, k), identity(k))


@reimplements("NK.C1.worded")
def _near_levels_imply_adjacency(n: int, k: int) -> Comparisons:
    level = level_of(n, k)
    for node, other in permutations(nodes(n, k), 2):
        if abs(level[node] - level[other]) <= 1 and other not in neighbours(node, n):
            yield contradiction(False, True, node=label(node), other=label(other))


@reimplements("NK.C2.balance")
def _leaves_are_balanced(n: int, k: int) -> Comparisons:
    level = level_of(n, k)
    inner = set(one_tree(n, k).values())
    leaves = [node for node in nodes(n, k) if node not in inner]
    for node, other in permutations(leaves, 2):
        measured = abs(level[node] - level[other])
        yield more(measured, 1, node=label(node), other=label(other))


def has_stated_form(node: Node, n: int) -> bool:
    k = len(node)
    external = externals(node)
    if k <= n // 2:
        return len(external) == k or (node[0] == 1 and len(external) == k - 1)
    chains = [len(chain(node, symbol)) for symbol in external]
    cycles = [len(cycle) for cycle in internal_cycles(node)]
    in_place = [position for position in range(1, k + 1) if node[position - 1] == position]
    if chains != [1] * (n - k):
        return False
    if n % 2:
        return in_place == [1] and set(cycles) <= {2}
    return (in_place == [1] and set(cycles) <= {2, 3} and cycles.count(3) == 1) or (
        not in_place and set(cycles) <= {2}
    )


@reimplements("NK.C2.farthest")
def _farthest_nodes_have_stated_forms(n: int, k: int) -> Comparisons:
    distance = distances(identity(k), n)
    for node in nodes(n, k):
        if distance[node] == diameter(n, k) and not has_stated_form(node, n):
            yield contradiction(False, True, node=label(node))


@reimplements("NK.T4.links")
def _number_of_links(n: int, k: int) -> Comparisons:
    measured = sum(len(neighbours(node, n)) for node in nodes(n, k))
    stated = (n - 1) * (len(nodes(n, k)) - 1)
    yield unequal(measured, stated)


@reimplements("NK.S5-copies")
def _allgather_is_many_broadcasts(n: int, k: int) -> Comparisons:
    """Compare the number of broadcasts in an allgather with the number of nodes minus 1."""
    rows = nk_all_sources(single_tree(n, k), n)
    copies = {row.unit for row in rows}
    deliver_all(rows, {source: {(source, 0)} for source in nodes(n, k)}, nodes(n, k))
    measured, stated = len(copies), len(nodes(n, k)) - 1
    yield unequal(measured, stated)


@reimplements("NK.S51-EC")
def _shifted_dimensions_span(n: int, k: int) -> Comparisons:
    for i in range(n - 1):
        reached = literally_changed(i, one_tree(n, k), n, k)
        for node in nodes(n, k):
            yield unequal(reached[node], 1, i=i, node=label(node))


def shift_node(node: Node, n: int, last: int) -> Node:
    """Return the node after shifting positions and symbols 2..last cyclically by one."""
    after = {s: r(s, last) if s <= last else s for s in range(1, n + 1)}
    symbols = {after[i]: after[s] for i, s in enumerate(extension(node, n), 1)}
    return tuple(symbols[position] for position in range(1, len(node) + 1))


def dimension_changes(n: int, k: int) -> list[Tree]:
    """Return SP(Id) and its images under cyclic shifts of ports 2..k (2..n if k = n-1)."""
    last = n if k == n - 1 else k
    trees = [one_tree(n, k)]
    for _ in range(last - 2):
        links = trees[-1].items()
        trees.append({shift_node(a, n, last): shift_node(b, n, last) for a, b in links})
    return trees


def loads(n: int, k: int) -> list[Counter[tuple[Node, Node]]]:
    """Return the load of each directed link in each step of an allgather.

    The load is a number of transmissions, each of which carries one tree's share of a message.
    """
    measured = [Counter[tuple[Node, Node]]() for _ in range(diameter(n, k))]
    for tree in dimension_changes(n, k):
        level = depths(tree, identity(k))
        for source in nodes(n, k):
            q = extension(source, n)
            for child, parent in tree.items():
                measured[level[child] - 1][compose(q, parent), compose(q, child)] += 1
    return measured


@reimplements("NK.T4.even")
def _links_are_loaded_evenly(n: int, k: int) -> Comparisons:
    shares = len(dimension_changes(n, k))
    links = [(node, across(node, d, n)) for node in nodes(n, k) for d in range(2, n + 1)]
    for step, units in enumerate(loads(n, k), 1):
        stated = Fraction(units.total(), shares * len(links))
        for link in links:
            measured = Fraction(units[link], shares)
            text = " -> ".join(map(label, link))
            yield unequal(measured, stated, step=step, link=text)


@reimplements("NK.T4.time")
def _time_on_one_tree(n: int, k: int) -> Comparisons:
    shares = len(dimension_changes(n, k))
    measured = sum(
        (1 + Fraction(max(units.values()), shares) for units in loads(n, k)), Fraction(0)
    )
    stated = diameter(n, k) + Fraction(len(nodes(n, k)) - 1, n - 1)
    yield unequal(measured, stated, m=1, T_s=1, T_c=1)


@reimplements("NK.T6")
def _congestion_of_shifted_trees(n: int, k: int) -> Comparisons:
    used = load(greedy(root_of(i, n, k), n) for i in range(1, n))
    measured = max(used.values())
    stated = next(i for i in range(n) if i * k < n <= (i + 1) * k)
    yield unequal(measured, stated)


@reimplements("NK.T6-Rn")
def _full_shift(n: int, _: int) -> Comparisons:
    stated = (*range(2, n + 1), 1)
    yield unequal(label(shift(identity(n), n)), label(stated), i=n)


def heights(n: int, k: int) -> list[int]:
    """Return the heights of the n-1 trees MT with root 12..k."""
    return [max(depths(tree, identity(k)).values()) for tree in multiple_at_identity(n, k)]


@reimplements("NK.T7.sum")
def _height_is_diameter_plus_path(n: int, k: int) -> Comparisons:
    for i, measured in enumerate(heights(n, k), 1):
        way = path(greedy(root_of(i, n, k), n), identity(k))
        stated = diameter(n, k) + len(way) - 1
        yield unequal(measured, stated, i=i)


@reimplements("NK.T7.lower")
def _height_is_at_least_k_plus_diameter(n: int, k: int) -> Comparisons:
    for i, measured in enumerate(heights(n, k), 1):
        yield fewer(measured, k + diameter(n, k), i=i)


# Times of broadcasts and allgathers, and the tables


Trees = Callable[[int, int], Sequence[Tree]]
ONE = {"m": 1, "T_s": 1, "T_c": 1}
"""Message size, start-up time and time per byte, all equal to 1."""


def execute(
    rows: set[Row], held: Mapping[Node, set[Any]], n: int, k: int, one_port: bool
) -> list[int]:
    """Execute a schedule, and return the size of the largest packet of each step.

    If one-port, a step is a sub-slot: the transmissions of one dimension in a slot. Sub-slots
    without a transmission are omitted.
    """
    if one_port:
        rows = by_dimension(rows, range(2, n + 1))
        assert is_one_port(rows)
    return list(deliver_all(rows, held, nodes(n, k)).values())


def packets(trees: Sequence[Tree], p: int, n: int, k: int, one_port: bool) -> list[int]:
    """Broadcast p segments per tree; return the number of segments in each step's largest packet.

    If one-port, sub-slots without a transmission take no time. Of all readings of the
    paper, this reading favours the claim most.
    """
    root = identity(k)
    rows = pipelined(trees, root, segments(len(trees), p), lambda a, b: port_between(a, b, n))
    return execute(rows, {root: {row.unit for row in rows}}, n, k, one_port)


def least_time(trees: Sequence[Tree], n: int, k: int, one_port: bool) -> tuple[Fraction, int]:
    """Return the smallest time of a broadcast, and the number of segments with this time.

    All cost parameters are 1. Every segment takes a step, so the best number of segments is at most
    the smallest time.
    """
    best: list[tuple[Fraction, int]] = []
    for p in count(1):
        if best and p > best[0][0]:
            return best[0]
        steps = packets(trees, p, n, k, one_port)
        best = sorted([*best, (len(steps) + Fraction(sum(steps), p * len(trees)), p)])[:1]
    raise AssertionError


def compare_least_time(trees: Trees, diameters: int, one_port: bool, n: int, k: int) -> Comparisons:
    """Compare the smallest time along trees of height h with the time stated in the paper.

    The stated time is h-1 + 1/(n-1) + sqrt(4(h-1)/(n-1)), times n-1 if one-port.
    """
    factor = n - 1 if one_port else 1
    height = diameters * diameter(n, k)
    rational = factor * (height - 1 + Fraction(1, n - 1))
    square = factor**2 * Fraction(4 * (height - 1), n - 1)
    measured, p = least_time(trees(n, k), n, k, one_port)
    if not exceeds(measured, rational, square):
        return
    yield contradiction(measured, surd(rational, square), **ONE, p=p)


#: For each claim about broadcasts: the trees, their stated height as a multiple of the diameter,
#: and whether nodes are one-port.
BROADCASTS: dict[str, tuple[Trees, int, bool]] = {
    "NK.T2": (single_tree, 1, False),
    "NK.T3": (single_tree, 1, True),
    "NK.T8": (multiple_at_identity, 2, False),
    "NK.T9": (multiple_at_identity, 2, True),
}
for claim, case in BROADCASTS.items():
    reimplements(claim)(partial(compare_least_time, *case))


def allgather(trees: Sequence[Tree], n: int, k: int, one_port: bool) -> list[int]:
    """Return the size of the largest packet of each step of an allgather along the trees.

    All sources use the trees level by level. Packets are measured in units, and a unit is the
    share of a message that one tree carries.
    """
    held = {source: {(source, tree) for tree in range(len(trees))} for source in nodes(n, k)}
    return execute(nk_all_sources(trees, n), held, n, k, one_port)


@reimplements("NK.T10")
def _all_to_all_all_port(n: int, k: int, one_port: bool = False) -> Comparisons:
    """Compare the time of the allgather with (2D-1)T_s + m(N-1)/(n-1) T_c."""
    steps = allgather(multiple_at_identity(n, k), n, k, one_port)
    measured = len(steps) + Fraction(sum(steps), n - 1)
    stated = 2 * diameter(n, k) - 1 + Fraction(len(nodes(n, k)) - 1, n - 1)
    yield more(measured, stated * (n - 1) if one_port else stated, **ONE)


reimplements("NK.T11")(partial(_all_to_all_all_port, one_port=True))


@reimplements("NK.S9-oneport")
def _start_ups(n: int, k: int) -> Comparisons:
    one = len(allgather(single_tree(n, k), n, k, one_port=True))
    many = len(allgather(multiple_at_identity(n, k), n, k, one_port=True))
    yield fewer(one, many + 1)


@reimplements(
    "NK.opt-broadcast", "NK.Tab1.allport-one-tree-transmission", "NK.Tab1.allport-one-tree-overall"
)
def _one_tree_carries_complete_message(n: int, k: int) -> Comparisons:
    """Check that each link of one tree carries the complete message of m bytes.

    For T_s = 0, this takes the time of m bytes. The stated time is that of m/(n-1) bytes.
    """
    for p in range(1, 5):
        assert Fraction(sum(packets(single_tree(n, k), p, n, k, one_port=False)), p) >= 1
    yield unbounded(lambda n: n - 1)


@reimplements(
    "NK.opt-broadcast-oneport",
    "NK.Tab1.oneport-one-tree-transmission",
    "NK.Tab1.oneport-one-tree-overall",
)
def _one_child_after_the_other(n: int, k: int) -> Comparisons:
    """Check that the source sends the complete message of m bytes to n-1 children in turn.

    For T_s = 0, this takes the time of m(n-1) bytes. The stated time is that of m bytes.
    """
    for p in range(1, 5):
        assert Fraction(sum(packets(single_tree(n, k), p, n, k, one_port=True)), p) >= n - 1
    yield unbounded(lambda n: n - 1)


def most_loaded(n: int, k: int) -> int:
    """Return the sum, over all dimensions, of the maximum number of trees MT on a link.

    For any number of segments, all sub-slots of a dimension together last as long as the packets on
    its most loaded link. Each tree on that link contributes m/(n-1) bytes.
    """
    greatest = defaultdict[int, int](int)
    for (a, b), trees in load(multiple_at_identity(n, k)).items():
        d = port_between(a, b, n)
        greatest[d] = max(greatest[d], trees)
    return sum(greatest.values())


@reimplements("NK.Tab1.oneport-many-trees-transmission", "NK.Tab1.oneport-many-trees-overall")
def _links_share_many_trees(_n: int, _k: int) -> Comparisons:
    """Check that for k = n/2 the result of `most_loaded` is at least (k-1)(k+4)/2.

    Each of the dimensions 2..k contributes at least 1. For all n, some link of dimension k+s is in
    the trees 2..t+1, where t = min{s, k-1}: `papers/nk_star/common.py` proves it.
    """
    for k in (2, 3, 4):
        n = 2 * k
        for s in range(1, k + 1):
            t = min(s, k - 1)
            rest = (n - t, *range(1, k - t), *range(n - 1, n - t, -1))
            parent, child = (n, *rest), (k - 1 - t + s, *rest)
            assert port_between(parent, child, n) == k + s
            trees = multiple_at_identity(n, k)
            assert all(trees[i - 1][child] == parent for i in range(2, t + 2))
        assert 2 * most_loaded(n, k) >= (k - 1) * (k + 4)
    yield unbounded(lambda n: (n / 2 - 1) * (n / 2 + 4) / 2 / (n - 1))


@reimplements("NK.Tab1-theorems")
def _table_and_theorems(n: int, k: int) -> Comparisons:
    """Compare the first cell of Table 1 with Theorem 2, with m = T_s = T_c = 1."""
    d = diameter(n, k)
    yield unequal(d, d - 1, row="one tree SP, all-port", column="start-up")


@reimplements("NK.S9-tables")
def _conclusion_and_tables(n: int, k: int) -> Comparisons:
    """Compare the values quoted in section 9 with Table 1, in the order quoted.

    The list ends with the first value that differs; later values of section 9 are omitted.
    """
    d, links = diameter(n, k), n - 1
    others = Fraction(len(nodes(n, k)) - 1, links)
    cells: list[tuple[str, str, Fraction | int, Fraction | int]] = [
        ("one tree SP, all-port", "start-up", d, d),
        ("one tree SP, all-port", "transmission", Fraction(1, links), Fraction(1, links)),
        ("trees MT, all-port", "start-up", 2 * d - 1, 2 * d - 1),
        ("trees MT, all-port", "transmission", others, others),
        ("one tree SP, one-port", "start-up", n * d, n * d),
        ("one tree SP, one-port", "transmission", 1, 1),
        ("trees MT, one-port", "start-up", links * (d - 1), links * (2 * d - 1)),
    ]
    for row, column, quoted, printed in cells:
        yield unequal(quoted, printed, table=1, row=row, column=column)
