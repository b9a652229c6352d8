"""Li, Chen, Xiang & Yao, sections 4 and 7: the times of one-to-all broadcast (Theorems 2, 3, 8 and 9), as executed."""

from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from starcast import checkers
from starcast.claims.check import ClaimCheck
from starcast.claims.formulas import nk_diameter
from starcast.claims.growth import divided
from starcast.claims.reference.nk_labels import size
from starcast.claims.reference.nk_pipelines import (
    GRID,
    MANY_TREES,
    ONE_TREE,
    Broadcast,
    array,
    executed,
    heights,
    weight,
)
from starcast.claims.reference.pipelines import Pipeline
from starcast.claims.reference.surds import Surd, add_sqrt, rational_sqrt
from starcast.claims.registry import check


@check("NK.S41-p")
def _best_real(check: ClaimCheck) -> None:
    n, k = check.topology.n, size(check.topology)
    h = int(heights(check, ONE_TREE).max())
    check.equal("h", h, nk_diameter(n, k))
    line = Pipeline(h, Fraction(1, n - 1))
    for power in (*range(7), -1, -2, -3):
        wanted = Fraction(2) ** power
        m = wanted * wanted * (n - 1) / Fraction(h - 1) if h > 1 else wanted
        tried = [wanted * j / 16 for j in range(1, 65)]
        found = min(tried, key=partial(line.time, T_s=1, b=m)) if h > 1 else _approached(line, m)
        check.equal(
            "p of the least time",
            str(found),
            str(rational_sqrt(m * (h - 1) / (n - 1))),
            m=m,
            T_s=1,
            T_c=1,
        )
    for T_s, b in GRID.each():  # noqa: N806 - as the papers write it
        square, tried = line.square(T_s, b), [Fraction(j, 4) for j in range(1, 41)]
        times = [line.time(p, T_s, b) for p in tried]
        falls = [
            one > two
            for p, one, two in zip(tried[1:], times, times[1:], strict=False)
            if p * p <= square
        ]
        rises = [
            one < two
            for p, one, two in zip(tried, times, times[1:], strict=False)
            if p * p >= square
        ]
        check.true(
            "it falls before q and rises after it",
            np.array(falls + rises),
            T_s=str(T_s),
            mT_c=str(b),
        )
        if h == 1:
            # Each halving of p takes off half of what the one before took: all of them together, twice the first.
            halved = [line.time(Fraction(1, 2**i), T_s, b) for i in range(65)]
            steps = [
                2 * (two - three) - (one - two)
                for one, two, three in zip(halved, halved[1:], halved[2:], strict=False)
            ]
            check.equal(
                "a halving of p takes off half of the one before",
                array(steps),
                0,
                T_s=str(T_s),
                mT_c=str(b),
            )
            check.equal(
                "infimum", 2 * halved[1] - halved[0], b / (n - 1), T_s=str(T_s), mT_c=str(b)
            )


def _approached(line: Pipeline, b: Fraction) -> Fraction:
    """0 if the least time among 1, 1/2, .., 1/2^i is that of the last of them, for every i up to 64; else where it is not."""
    halved = [Fraction(1, 2**i) for i in range(65)]
    best = [min(halved[: i + 1], key=partial(line.time, T_s=1, b=b)) for i in range(65)]
    return next(
        (found for found, last in zip(best, halved, strict=True) if found != last), Fraction(0)
    )


def _printed(n: int, high: int, slot: int = 1) -> list[Surd | Fraction]:
    """The time that Theorems 2, 3, 8 and 9 print, for trees of that height and start-ups of so many slots."""
    return [
        add_sqrt(
            slot * ((high - 1) * T_s + b / (n - 1)), slot**2 * 4 * b * (high - 1) * T_s / (n - 1)
        )
        for T_s, b in GRID.each()
    ]


def _within(check: ClaimCheck, made: Broadcast, stated: list[Surd | Fraction]) -> None:
    """The time with the best whole p against what is stated."""
    found, p = made.bests(GRID)
    check.at_most("least time over whole p", found, array(stated), **GRID.place, p=p, of=made.made)


def _bounded_instead(true: ClaimCheck, made: Broadcast, line: Pipeline) -> None:
    """With p segments at most the time of another pipeline; with the best p at most its best real time and a slot more."""
    small = [(Fraction(start), Fraction(byte)) for start in (0, 1) for byte in (0, 1)]
    for p in range(1, len(made.steps) + 1):
        time = array(made.time(p, *load) for load in small)
        true.at_most("time", time, array(line.time(p, *load) for load in small), p=p)
    found, _ = made.bests(GRID)
    above = array(line.exact_least(*load) + line.slot * load[0] for load in GRID.each())
    true.at_most("least time over whole p", found, above, **GRID.place)


@check("NK.T2", bytes_per_node=weight)
def _one_tree_all_port(check: ClaimCheck) -> None:
    n, k = check.topology.n, size(check.topology)
    high = nk_diameter(n, k)
    made = executed(check, ONE_TREE, "all")
    _within(check, made, _printed(n, high))
    true = check.correction(
        "with p segments it takes exactly (D+p-1)(T_s + m T_c/p), n-1 times the bytes: the one tree carries all of them; with "
        "the best whole p at most D T_s + m T_c + 2 sqrt(m(D-1)T_s T_c)"
    )
    p = np.arange(1, len(made.steps) + 1)
    true.equal("start-ups", made.steps, high + p - 1, p=p)
    true.equal(
        "bytes over m",
        _shares(made),
        array(Fraction(high + int(one) - 1, int(one)) for one in p),
        p=p,
    )
    _bounded_instead(true, made, Pipeline(high))


@check("NK.T3", bytes_per_node=weight)
def _one_tree_one_port(check: ClaimCheck) -> None:
    n, k = check.topology.n, size(check.topology)
    high = nk_diameter(n, k)
    made = executed(check, ONE_TREE, "one")
    _within(check, made, _printed(n, high, n - 1))
    true = check.correction(
        "it takes at least (n-1)m T_c, since the source sends the whole message to n-1 children; with p segments it takes at "
        "most (n-1)(D+p-1)(T_s + m T_c/p), with the best whole p at most (n-1)(D T_s + m T_c + 2 sqrt(m(D-1)T_s T_c))"
    )
    children = np.count_nonzero(
        checkers.loads(
            check.topology, check.objects.forest(check.topology.spec, ONE_TREE).parent_port, 0
        )[0]
    )
    true.equal("children of the source", children, n - 1)
    true.at_least("bytes over m", _shares(made), n - 1)
    _bounded_instead(true, made, Pipeline(high, 1, n - 1))


def _congestion(check: ClaimCheck) -> int:
    trees = check.objects.forest(check.topology.spec, MANY_TREES)
    return int(checkers.loads(check.topology, trees.parent_port, 0).max())


@check("NK.T8", bytes_per_node=weight)
def _many_trees_all_port(check: ClaimCheck) -> None:
    n, k = check.topology.n, size(check.topology)
    high = 2 * nk_diameter(n, k)
    made = executed(check, MANY_TREES, "all")
    _within(check, made, _printed(n, high))
    true = check.correction(
        "with p segments it takes exactly h+p-1 start-ups and at most (h+p-1)(T_s + c m T_c/(p(n-1))), h the greatest height "
        "of the trees and c their congestion, with the best whole p at most h T_s + c m T_c/(n-1) + 2 sqrt(c m(h-1)T_s "
        "T_c/(n-1)); of every further segment c more have to cross one link"
    )
    h, c = int(heights(check, MANY_TREES).max()), _congestion(check)
    p = np.arange(1, len(made.steps) + 1)
    true.equal("start-ups", made.steps, h + p - 1, p=p)
    true.equal("segments that one more adds to the largest packets", made.further, c)
    _bounded_instead(true, made, Pipeline(h, Fraction(c, n - 1)))


@check("NK.T9", bytes_per_node=weight)
def _many_trees_one_port(check: ClaimCheck) -> None:
    n, k = check.topology.n, size(check.topology)
    high = 2 * nk_diameter(n, k)
    made = executed(check, MANY_TREES, "one")
    _within(check, made, _printed(n, high, n - 1))
    true = check.correction(
        "with p segments it takes at most (n-1)(h+p-1)(T_s + c m T_c/(p(n-1))), h the greatest height of the trees and c their "
        "congestion, with the best whole p at most (n-1)h T_s + c m T_c + 2 sqrt(c m(n-1)(h-1)T_s T_c)"
    )
    _bounded_instead(
        true,
        made,
        Pipeline(int(heights(check, MANY_TREES).max()), Fraction(_congestion(check), n - 1), n - 1),
    )


def _shares(made: Broadcast) -> NDArray[Any]:
    """The bytes of each p that was executed, over m."""
    return array(made.share(p) for p in range(1, len(made.steps) + 1))


@check("NK.opt-broadcast", bytes_per_node=weight)
def _optimal_all_port(check: ClaimCheck) -> None:
    high = nk_diameter(check.topology.n, size(check.topology))
    made = executed(check, ONE_TREE, "all")
    stated = array(Fraction(high + p - 1, p) for p in range(1, len(made.steps) + 1))
    check.equal(
        "bytes over m", _shares(made), stated, p=np.arange(1, len(made.steps) + 1), of=made.made
    )
    check.equal(
        "bytes over m that a further segment adds to p times all", made.further, 1, of=made.made
    )
    check.order("m over m/(n-1)", lambda n, _: divided(1, divided(1, n - 1)))
    true = check.correction(
        "the bytes are n-1 times the bound m/(n-1) of Lemma 1: at least m, since the one tree carries all of it"
    )
    true.at_least("bytes over m", _shares(made), 1)
    true.equal("bytes over m that a further segment adds to p times all", made.further, 1)


@check("NK.opt-broadcast-oneport", bytes_per_node=weight)
def _optimal_one_port(check: ClaimCheck) -> None:
    n = check.topology.n
    made = executed(check, ONE_TREE, "one")
    check.true(
        "bytes are at least (n-1)m",
        _shares(made) >= n - 1,
        p=np.arange(1, len(made.steps) + 1),
        of=made.made,
    )
    check.equal(
        "bytes over m that a further segment adds to p times all", made.further, n - 1, of=made.made
    )
    check.order("(n-1)m over m", lambda n, _: n - 1)
    true = check.correction(
        "the bytes are n-1 times the bound m of Lemma 1, since the source has n-1 children"
    )
    true.at_least("bytes over m", _shares(made), n - 1)
    true.equal("bytes over m that a further segment adds to p times all", made.further, n - 1)
