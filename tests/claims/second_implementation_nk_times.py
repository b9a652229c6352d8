"""Second implementations for what fails of Li, Chen, Xiang & Yao: times, orders and tables."""

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction
from itertools import count
from math import log2

from claims.definitions import Node, number
from claims.definitions_growth import growth
from claims.definitions_nk import (
    Levels,
    Row,
    by_dimension,
    diameter,
    dimension,
    exceeds,
    execute,
    from_all,
    identity,
    many_trees,
    nodes,
    one_tree,
    segments,
    sizes,
    surd,
)
from claims.second_implementation import Place, reimplements

ONE = {"m": 1, "T_s": 1, "T_c": 1}
"""The smallest parameters."""


def packets(trees: Sequence[Levels], p: int, n: int, k: int, one_port: bool) -> list[int]:
    """One-to-all broadcast of p segments a tree: the largest packet of every step, in segments.

    Sub-slots in which nothing is sent take no time: the least that can be meant.
    """
    rows = segments(trees, p)
    if one_port:
        rows = by_dimension(rows, n)
    return execute(rows, {identity(k): {unit for *_, unit in rows}}, one_port)


def least_time(trees: Sequence[Levels], n: int, k: int, one_port: bool) -> tuple[Fraction, int]:
    """With m = T_s = T_c = 1 and the best number of segments, of which every one takes a step of its own."""
    best: list[tuple[Fraction, int]] = []
    for p in count(1):
        if best and p > best[0][0]:
            return best[0]
        steps = packets(trees, p, n, k, one_port)
        best = sorted([*best, (len(steps) + Fraction(sum(steps), p * len(trees)), p)])[:1]
    raise AssertionError


def _slower(
    spec: str, trees: Sequence[Levels], rational: Fraction, square: Fraction, one_port: bool
) -> Place | None:
    n, k = sizes(spec)
    found, p = least_time(trees, n, k, one_port)
    if not exceeds(found, rational, square):
        return None
    return {"n": n, "k": k, **ONE, "p": p, "found": number(found), "stated": surd(rational, square)}


@reimplements("NK.T2")
def _one_tree_all_port(spec: str) -> Place | None:
    n, k = sizes(spec)
    h = diameter(n, k)
    return _slower(
        spec,
        [one_tree(n, k)],
        h - 1 + Fraction(1, n - 1),
        Fraction(4 * (h - 1), n - 1),
        one_port=False,
    )


@reimplements("NK.T3")
def _one_tree_one_port(spec: str) -> Place | None:
    n, k = sizes(spec)
    h = diameter(n, k)
    return _slower(
        spec,
        [one_tree(n, k)],
        Fraction((n - 1) * (h - 1) + 1),
        Fraction(4 * (n - 1) * (h - 1)),
        one_port=True,
    )


@reimplements("NK.T8")
def _many_trees_all_port(spec: str) -> Place | None:
    n, k = sizes(spec)
    h = 2 * diameter(n, k)
    return _slower(
        spec,
        many_trees(n, k),
        h - 1 + Fraction(1, n - 1),
        Fraction(4 * (h - 1), n - 1),
        one_port=False,
    )


@reimplements("NK.T9")
def _many_trees_one_port(spec: str) -> Place | None:
    n, k = sizes(spec)
    h = 2 * diameter(n, k)
    return _slower(
        spec,
        many_trees(n, k),
        Fraction((n - 1) * (h - 1) + 1),
        Fraction(4 * (n - 1) * (h - 1)),
        one_port=True,
    )


def allgather(trees: Sequence[Levels], n: int, k: int, one_port: bool) -> list[int]:
    """All-to-all broadcast, level by level: the largest packet of every step, in shares of a message."""
    rows: list[Row] = from_all(segments(trees, 1), n, k)
    if one_port:
        rows = by_dimension(rows, n)
    held: dict[Node, set[Hashable]] = {
        source: {(source, (tree, 0)) for tree in range(len(trees))} for source in nodes(n, k)
    }
    return execute(rows, held, one_port)


def _later(spec: str, stated: Fraction, one_port: bool) -> Place | None:
    n, k = sizes(spec)
    steps = allgather(many_trees(n, k), n, k, one_port)
    found = len(steps) + Fraction(sum(steps), n - 1)
    return (
        {"n": n, "k": k, **ONE, "found": number(found), "stated": number(stated)}
        if found > stated
        else None
    )


@reimplements("NK.T10")
def _all_to_all_all_port(spec: str) -> Place | None:
    n, k = sizes(spec)
    return _later(
        spec, 2 * diameter(n, k) - 1 + Fraction(len(nodes(n, k)) - 1, n - 1), one_port=False
    )


@reimplements("NK.T11")
def _all_to_all_one_port(spec: str) -> Place | None:
    n, k = sizes(spec)
    return _later(
        spec, Fraction((n - 1) * (2 * diameter(n, k) - 1) + len(nodes(n, k)) - 1), one_port=True
    )


@reimplements("NK.S9-oneport")
def _start_ups(spec: str) -> Place | None:
    n, k = sizes(spec)
    one = len(allgather([one_tree(n, k)], n, k, one_port=True))
    many = len(allgather(many_trees(n, k), n, k, one_port=True))
    return {"n": n, "k": k, "found": one, "stated": many + 1} if one <= many else None


def grown(spec: str, logarithm_of: Callable[[float], float]) -> Place | None:
    n, k = sizes(spec)
    found = growth(logarithm_of)
    return {"n": n, "k": k, "found": found, "stated": "bounded"} if found != "bounded" else None


def degree(logarithm: float) -> float:
    """The logarithm of n-1."""
    return log2(2**logarithm - 1)


@reimplements(
    "NK.opt-broadcast", "NK.Tab1.allport-one-tree-transmission", "NK.Tab1.allport-one-tree-overall"
)
def _whole_message(spec: str) -> Place | None:
    """Whatever p, the links of the one tree carry all of the message: n-1 times m/(n-1), all that is stated for T_s = 0."""
    n, k = sizes(spec)
    for p in range(1, 5):
        assert Fraction(sum(packets([one_tree(n, k)], p, n, k, one_port=False)), p) >= 1
    return grown(spec, degree)


@reimplements(
    "NK.opt-broadcast-oneport",
    "NK.Tab1.oneport-one-tree-transmission",
    "NK.Tab1.oneport-one-tree-overall",
)
def _one_child_after_the_other(spec: str) -> Place | None:
    """Whatever p, the source sends all of the message to n-1 children: n-1 times m, all that is stated for T_s = 0."""
    n, k = sizes(spec)
    for p in range(1, 5):
        assert Fraction(sum(packets([one_tree(n, k)], p, n, k, one_port=True)), p) >= n - 1
    return grown(spec, degree)


def most_loaded(n: int, k: int) -> int:
    """The greatest number of trees MT that a directed link carries, summed over the dimensions.

    A dimension's sub-slots take as long as that link, whatever p: of m/(n-1) bytes, as many shares as this.
    """
    used = Counter(link for tree in many_trees(n, k) for link in tree)
    found = defaultdict[int, int](int)
    for link, trees in used.items():
        d = dimension(link, n)
        found[d] = max(found[d], trees)
    return sum(found.values())


@reimplements("NK.Tab1.oneport-many-trees-transmission", "NK.Tab1.oneport-many-trees-overall")
def _congested(spec: str) -> Place | None:
    """For k = n/2 they are at least (k-1)(k+4)/2 shares: 1 each of dimensions 2..k, and of k+s the trees of one link.

    That link is in the trees 2..t+1, t = min{s, k-1}, for all n: `starcast.claims.reference.nk_congestion` has the reasons.
    """
    for k in (2, 3, 4):
        n = 2 * k
        for s in range(1, k + 1):
            t = min(s, k - 1)
            rest = (n - t, *range(1, k - t), *range(n - 1, n - t, -1))
            link = (n, *rest), (k - 1 - t + s, *rest)
            assert dimension(link, n) == k + s
            assert all(link in many_trees(n, k)[i - 1] for i in range(2, t + 2))
        assert 2 * most_loaded(n, k) >= (k - 1) * (k + 4)
    return grown(spec, lambda x: log2((2 ** (x - 1) - 1) * (2 ** (x - 1) + 4) / 2) - degree(x))


Value = Fraction | int


@reimplements("NK.Tab1-theorems")
def _table_and_theorems(spec: str) -> Place | None:
    """The terms of Table 1, then those of Theorems 2, 8, 3, 9, at m = T_s = T_c = 1."""
    n, k = sizes(spec)
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
    for row, column, found, stated in cells:
        if found != stated:
            return {
                "n": n,
                "k": k,
                "row": row,
                "column": column,
                "found": number(found),
                "stated": number(stated),
            }
    return None


@reimplements("NK.S9-tables")
def _conclusion_and_tables(spec: str) -> Place | None:
    """What section 9 quotes, then what the tables have, in the order of section 9."""
    n, k = sizes(spec)
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
    for table, row, column, found, stated in cells:
        if found != stated:
            place: Place = {"n": n, "k": k, "table": table, "row": row, "column": column}
            return {**place, "found": number(found), "stated": number(stated)}
    return None
