"""Second implementations for the failing claims of Li, Chen, Xiang & Yao on times and tables."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import count
from math import log2
from typing import Any

from claims.second_implementation import (
    Comparisons,
    contradiction,
    fewer,
    more,
    reimplements,
    unequal,
)
from claims.values import exceeds, growth, surd
from oracles.allgather import nk_all_sources
from oracles.nk_star import diameter, greedy, multiple_at_identity, nodes, port_between
from oracles.rooted_trees import Tree, load
from oracles.schedule_rows import (
    Row,
    by_dimension,
    deliver_all,
    is_one_port,
    pipelined,
    segments,
)
from oracles.star_graph import Node, identity

ONE = {"m": 1, "T_s": 1, "T_c": 1}
"""Message size, start-up time and time per byte, all equal to 1."""


def one_tree(n: int, k: int) -> list[Tree]:
    """Return a list with one tree, the shortest-path tree SP(Id)."""
    return [greedy(identity(k), n)]


def execute(
    rows: set[Row], held: Mapping[Node, set[Any]], n: int, k: int, one_port: bool
) -> list[int]:
    """Execute a schedule, and return the largest packet of each step.

    If one-port, a step is a sub-slot: the transmissions of one dimension in a slot. Sub-slots
    without a transmission are omitted.
    """
    if one_port:
        rows = by_dimension(rows, range(2, n + 1))
        assert is_one_port(rows)
    return list(deliver_all(rows, held, nodes(n, k)).values())


def packets(trees: Sequence[Tree], p: int, n: int, k: int, one_port: bool) -> list[int]:
    """Broadcast p segments per tree; return the largest packet of each step, in segments.

    If one-port, sub-slots without a transmission take no time. Of all readings of the paper, this
    one favours the claim most.
    """
    root = identity(k)
    rows = pipelined(trees, root, segments(len(trees), p), lambda a, b: port_between(a, b, n))
    return execute(rows, {root: {row.unit for row in rows}}, n, k, one_port)


def least_time(trees: Sequence[Tree], n: int, k: int, one_port: bool) -> tuple[Fraction, int]:
    """Return the smallest time of a broadcast over all numbers of segments, and that number.

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


def compare_least_time(
    n: int, k: int, trees: Sequence[Tree], height: int, one_port: bool
) -> Comparisons:
    """Compare the smallest time along trees of height h with the time stated in the paper.

    The stated time is h-1 + 1/(n-1) + sqrt(4(h-1)/(n-1)), times n-1 if one-port.
    """
    factor = n - 1 if one_port else 1
    rational = factor * (height - 1 + Fraction(1, n - 1))
    square = factor**2 * Fraction(4 * (height - 1), n - 1)
    measured, p = least_time(trees, n, k, one_port)
    if not exceeds(measured, rational, square):
        return
    yield contradiction(measured, surd(rational, square), **ONE, p=p)


@reimplements("NK.T2")
def _one_tree_all_port(n: int, k: int) -> Comparisons:
    yield from compare_least_time(n, k, one_tree(n, k), diameter(n, k), one_port=False)


@reimplements("NK.T3")
def _one_tree_one_port(n: int, k: int) -> Comparisons:
    yield from compare_least_time(n, k, one_tree(n, k), diameter(n, k), one_port=True)


@reimplements("NK.T8")
def _many_trees_all_port(n: int, k: int) -> Comparisons:
    trees = multiple_at_identity(n, k)
    yield from compare_least_time(n, k, trees, 2 * diameter(n, k), one_port=False)


@reimplements("NK.T9")
def _many_trees_one_port(n: int, k: int) -> Comparisons:
    trees = multiple_at_identity(n, k)
    yield from compare_least_time(n, k, trees, 2 * diameter(n, k), one_port=True)


def allgather(trees: Sequence[Tree], n: int, k: int, one_port: bool) -> list[int]:
    """Return the largest packet of each step of an allgather along the trees.

    All sources use the trees level by level. Packets are measured in units, and a unit is the
    share of a message that one tree carries.
    """
    held = {source: {(source, tree) for tree in range(len(trees))} for source in nodes(n, k)}
    return execute(nk_all_sources(trees, n), held, n, k, one_port)


def compare_allgather_time(n: int, k: int, stated: Fraction, one_port: bool) -> Comparisons:
    steps = allgather(multiple_at_identity(n, k), n, k, one_port)
    measured = len(steps) + Fraction(sum(steps), n - 1)
    yield more(measured, stated, **ONE)


@reimplements("NK.T10")
def _all_to_all_all_port(n: int, k: int) -> Comparisons:
    yield from compare_allgather_time(
        n, k, 2 * diameter(n, k) - 1 + Fraction(len(nodes(n, k)) - 1, n - 1), one_port=False
    )


@reimplements("NK.T11")
def _all_to_all_one_port(n: int, k: int) -> Comparisons:
    yield from compare_allgather_time(
        n, k, Fraction((n - 1) * (2 * diameter(n, k) - 1) + len(nodes(n, k)) - 1), one_port=True
    )


@reimplements("NK.S9-oneport")
def _start_ups(n: int, k: int) -> Comparisons:
    one = len(allgather(one_tree(n, k), n, k, one_port=True))
    many = len(allgather(multiple_at_identity(n, k), n, k, one_port=True))
    yield fewer(one, many + 1)


def unbounded(logarithm_of: Callable[[float], float]) -> Comparisons:
    yield unequal(growth(logarithm_of), "bounded")


def degree(logarithm: float) -> float:
    """Return log2 of the degree n-1, given log2 n."""
    return log2(2**logarithm - 1)


@reimplements(
    "NK.opt-broadcast", "NK.Tab1.allport-one-tree-transmission", "NK.Tab1.allport-one-tree-overall"
)
def _one_tree_carries_complete_message(n: int, k: int) -> Comparisons:
    """Check that each link of one tree carries the complete message of m bytes.

    For T_s = 0, this takes n-1 times the stated time, which is that of m/(n-1) bytes.
    """
    for p in range(1, 5):
        assert Fraction(sum(packets(one_tree(n, k), p, n, k, one_port=False)), p) >= 1
    yield from unbounded(degree)


@reimplements(
    "NK.opt-broadcast-oneport",
    "NK.Tab1.oneport-one-tree-transmission",
    "NK.Tab1.oneport-one-tree-overall",
)
def _one_child_after_the_other(n: int, k: int) -> Comparisons:
    """Check that the source sends the complete message of m bytes to n-1 children in turn.

    For T_s = 0, this takes n-1 times the stated time, which is that of m bytes.
    """
    for p in range(1, 5):
        assert Fraction(sum(packets(one_tree(n, k), p, n, k, one_port=True)), p) >= n - 1
    yield from unbounded(degree)


def most_loaded(n: int, k: int) -> int:
    """Return the sum, over all dimensions, of the largest number of trees MT on one link.

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
    the trees 2..t+1, where t = min{s, k-1}. `starcast.claims.reference.nk_star` contains the proof.
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
    yield from unbounded(lambda x: log2((2 ** (x - 1) - 1) * (2 ** (x - 1) + 4) / 2) - degree(x))


Value = Fraction | int


@reimplements("NK.Tab1-theorems")
def _table_and_theorems(n: int, k: int) -> Comparisons:
    """Compare the terms of Table 1 with those of Theorems 2, 8, 3 and 9, with m = T_s = T_c = 1."""
    d, links = diameter(n, k), n - 1
    share = Fraction(1, links)
    cells: list[tuple[str, str, Value, Value]] = [
        ("one tree SP, all-port", "start-up", d, d - 1),
        ("one tree SP, all-port", "transmission", share, share),
        ("trees MT, all-port", "start-up", 2 * d - 1, 2 * d - 1),
        ("trees MT, all-port", "transmission", share * (len(nodes(n, k)) - 1), share),
        ("one tree SP, one-port", "start-up", n * d, links * (d - 1)),
        ("one tree SP, one-port", "transmission", 1, 1),
        ("trees MT, one-port", "start-up", links * (2 * d - 1), links * (2 * d - 1)),
        ("trees MT, one-port", "transmission", 1, 1),
    ]
    for row, column, measured, stated in cells:
        yield unequal(measured, stated, row=row, column=column)


@reimplements("NK.S9-tables")
def _conclusion_and_tables(n: int, k: int) -> Comparisons:
    """Compare the values quoted in section 9 with those in the tables, in the order quoted."""
    d, links = diameter(n, k), n - 1
    others = len(nodes(n, k)) - 1
    cells: list[tuple[int, str, str, Value, Value]] = [
        (1, "one tree SP, all-port", "start-up", d, d),
        (1, "one tree SP, all-port", "transmission", Fraction(1, links), Fraction(1, links)),
        (1, "trees MT, all-port", "start-up", 2 * d - 1, 2 * d - 1),
        (1, "trees MT, all-port", "transmission", Fraction(others, links), Fraction(others, links)),
        (1, "one tree SP, one-port", "start-up", n * d, n * d),
        (1, "one tree SP, one-port", "transmission", 1, 1),
        (1, "trees MT, one-port", "start-up", links * (d - 1), links * (2 * d - 1)),
        (1, "trees MT, one-port", "transmission", 1, 1),
        (2, "one tree SP, all-port", "start-up", d, d),
        (2, "trees MT, all-port", "start-up", 2 * d - 1, 2 * d - 1),
        (2, "one tree SP, one-port", "start-up", n * links * d, n * links * d),
        (2, "trees MT, one-port", "start-up", links * (2 * d - 1), links * (2 * d - 1)),
    ]
    for table, row, column, measured, stated in cells:
        yield unequal(measured, stated, table=table, row=row, column=column)
