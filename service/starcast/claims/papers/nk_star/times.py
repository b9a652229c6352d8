"""Li, Chen, Xiang & Yao, sections 4 and 7: executed times of one-to-all broadcast.

Theorems 2, 3, 8 and 9 state O(..) of expressions that are verified as times.
"""

from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from starcast.claims.check import ClaimCheck
from starcast.claims.formulas import nk_diameter
from starcast.claims.growth import divided
from starcast.claims.reference import nk_pipelines
from starcast.claims.reference.nk_pipelines import GRID, MANY_TREES, ONE_TREE
from starcast.claims.reference.pipelines import Pipeline
from starcast.claims.reference.surds import rational_sqrt
from starcast.claims.registry import checks

#: p = 1, 1/2, .., 1/2^64.
_HALVES = [Fraction(1, 2**i) for i in range(65)]
#: The text of a finding about segments beyond the executed numbers.
FURTHER_BYTES = "bytes over m that a further segment adds to p times all"


@checks("NK.S41-p")
def best_number_of_segments(check: ClaimCheck) -> None:
    """Compare the best real p of (h+p-1)(T_s + m T_c/(p(n-1))) with the closed form.

    It is verified among multiples of q/16 for rational q, and otherwise by the sign of the slope.
    """
    n, k = check.n_and_k
    h = nk_pipelines.greatest_height(check, ONE_TREE)
    check.equal("h", h, nk_diameter(n, k))
    line = Pipeline(h, Fraction(1, n - 1))
    for power in (*range(7), -1, -2, -3):
        q = Fraction(2) ** power
        # This m makes the stated optimum, sqrt(m(h-1)/(n-1)), the rational number q. For h = 1 it
        # would be 0 with every m.
        m = q * q * (n - 1) / Fraction(h - 1) if h > 1 else q
        if h > 1:
            candidates = [q * j / 16 for j in range(1, 65)]
            best = min(candidates, key=partial(line.time, T_s=1, b=m))
        else:
            best = _best_of_halves(line, m)
        stated = str(rational_sqrt(m * (h - 1) / (n - 1)))
        check.equal("p of the least time", str(best), stated, m=m, T_s=1, T_c=1)
    for T_s, b in GRID.each():  # noqa: N806 - as in the papers
        place = {"T_s": str(T_s), "mT_c": str(b)}
        slopes = np.array(list(_slopes_as_stated(line, T_s, b)))
        check.true("it falls before q and rises after it", slopes, **place)
        if h > 1:
            continue
        # Each halving of p takes off half of what the halving before it took off. Together they
        # take off twice what the first one does.
        times = [line.time(p, T_s, b) for p in _HALVES]
        drops = [one - two for one, two in pairwise(times)]
        rest = nk_pipelines.exact_array(2 * two - one for one, two in pairwise(drops))
        check.equal("a halving of p takes off half of the one before", rest, 0, **place)
        check.equal("infimum", 2 * times[1] - times[0], b / (n - 1), **place)


def _best_of_halves(line: Pipeline, b: Fraction) -> Fraction:
    """Return 0 if each of 1, 1/2, 1/4, .. is better than those before it, else the last that is."""
    times = [line.time(p, 1, b) for p in _HALVES]
    for p, (one, two) in zip(_HALVES, pairwise(times), strict=False):
        if two >= one:
            return p
    return Fraction(0)


def _slopes_as_stated(line: Pipeline, T_s: Fraction, b: Fraction) -> Iterator[bool]:  # noqa: N803
    """Yield, for p in steps of 1/4, whether the time decreases below q and increases above it."""
    square = line.square(T_s, b)
    segments = [Fraction(j, 4) for j in range(1, 41)]
    times = [line.time(p, T_s, b) for p in segments]
    for p, (one, two) in zip(segments[1:], pairwise(times), strict=True):
        if p * p <= square:
            yield bool(one > two)
    for p, (one, two) in zip(segments, pairwise(times), strict=False):
        if p * p >= square:
            yield bool(one < two)


def _stated_times(n: int, height: int, slot: int = 1) -> NDArray[Any]:
    """Return c((h-1)T_s + m T_c/(n-1) + 2 sqrt(m(h-1)T_s T_c/(n-1))) for slots of c start-ups."""
    line = Pipeline(height, Fraction(1, n - 1), slot)
    return nk_pipelines.exact_array(line.exact_least(*load) for load in GRID.each())


def _check_best(check: ClaimCheck, broadcast: nk_pipelines.Broadcast, stated: NDArray[Any]) -> None:
    """Check that the time with the best integer p is at most the stated time."""
    time, p = broadcast.best_on(GRID)
    check.at_most("least time over whole p", time, stated, **GRID.place, p=p, of=broadcast.schedule)


def _check_pipeline(
    correction: ClaimCheck, broadcast: nk_pipelines.Broadcast, line: Pipeline
) -> None:
    """Check that a broadcast takes at most the time of a pipeline.

    With the best integer p it takes at most the best time of the pipeline over real p, and a slot.
    """
    # Both times are linear in T_s and in m T_c, so that these loads decide for all.
    small = [(Fraction(start_up), Fraction(byte)) for start_up in (0, 1) for byte in (0, 1)]
    for p in broadcast.segments.tolist():
        time = nk_pipelines.exact_array(broadcast.time(p, *load) for load in small)
        bound = nk_pipelines.exact_array(line.time(p, *load) for load in small)
        correction.at_most("time", time, bound, p=p)
    time, _ = broadcast.best_on(GRID)
    bound = nk_pipelines.exact_array(
        line.exact_least(*load) + line.slot * load[0] for load in GRID.each()
    )
    correction.at_most("least time over whole p", time, bound, **GRID.place)


@checks("NK.T2", bytes_per_node=nk_pipelines.broadcast_bytes)
def one_tree_all_port(check: ClaimCheck) -> None:
    """Check the all-port time on the tree SP."""
    n, k = check.n_and_k
    diameter = nk_diameter(n, k)
    broadcast = nk_pipelines.execute_broadcast(check, ONE_TREE, "all")
    _check_best(check, broadcast, _stated_times(n, diameter))
    correction = check.correction(
        "with p segments it takes exactly (D+p-1)(T_s + m T_c/p), n-1 times the bytes: the one "
        "tree carries all of them; with the best whole p at most D T_s + m T_c + 2 sqrt(m(D-1)T_s "
        "T_c)"
    )
    p = broadcast.segments
    correction.equal("start-ups", broadcast.steps, diameter + p - 1, p=p)
    correction.equal("bytes over m", broadcast.shares, _one_tree_shares(diameter, p), p=p)
    _check_pipeline(correction, broadcast, Pipeline(diameter))


def _one_tree_shares(diameter: int, segments: NDArray[np.int64]) -> NDArray[Any]:
    """Return (D+p-1)/p for each p."""
    return nk_pipelines.exact_array(Fraction(diameter + p - 1, p) for p in segments.tolist())


@checks("NK.T3", bytes_per_node=nk_pipelines.broadcast_bytes)
def one_tree_one_port(check: ClaimCheck) -> None:
    """Check the one-port time on the tree SP."""
    n, k = check.n_and_k
    diameter = nk_diameter(n, k)
    broadcast = nk_pipelines.execute_broadcast(check, ONE_TREE, "one")
    _check_best(check, broadcast, _stated_times(n, diameter, n - 1))
    correction = check.correction(
        "it takes at least (n-1)m T_c, since the source sends the whole message to n-1 children; "
        "with p segments it takes at most (n-1)(D+p-1)(T_s + m T_c/p), with the best whole p at "
        "most (n-1)(D T_s + m T_c + 2 sqrt(m(D-1)T_s T_c))"
    )
    children = np.count_nonzero(nk_pipelines.link_loads(check, ONE_TREE)[0])
    correction.equal("children of the source", children, n - 1)
    correction.at_least("bytes over m", broadcast.shares, n - 1)
    _check_pipeline(correction, broadcast, Pipeline(diameter, 1, n - 1))


@checks("NK.T8", bytes_per_node=nk_pipelines.broadcast_bytes)
def many_trees_all_port(check: ClaimCheck) -> None:
    """Check the all-port time on the trees MT."""
    n, k = check.n_and_k
    broadcast = nk_pipelines.execute_broadcast(check, MANY_TREES, "all")
    _check_best(check, broadcast, _stated_times(n, 2 * nk_diameter(n, k)))
    correction = check.correction(
        "with p segments it takes exactly h+p-1 start-ups and at most (h+p-1)(T_s + c m "
        "T_c/(p(n-1))), h the greatest height of the trees and c their congestion, with the best "
        "whole p at most h T_s + c m T_c/(n-1) + 2 sqrt(c m(h-1)T_s T_c/(n-1)); of every further "
        "segment c more have to cross one link"
    )
    h = nk_pipelines.greatest_height(check, MANY_TREES)
    c = int(nk_pipelines.link_loads(check, MANY_TREES).max())
    p = broadcast.segments
    correction.equal("start-ups", broadcast.steps, h + p - 1, p=p)
    correction.equal("segments that one more adds to the largest packets", broadcast.increment, c)
    _check_pipeline(correction, broadcast, Pipeline(h, Fraction(c, n - 1)))


@checks("NK.T9", bytes_per_node=nk_pipelines.broadcast_bytes)
def many_trees_one_port(check: ClaimCheck) -> None:
    """Check the one-port time on the trees MT."""
    n, k = check.n_and_k
    broadcast = nk_pipelines.execute_broadcast(check, MANY_TREES, "one")
    _check_best(check, broadcast, _stated_times(n, 2 * nk_diameter(n, k), n - 1))
    correction = check.correction(
        "with p segments it takes at most (n-1)(h+p-1)(T_s + c m T_c/(p(n-1))), h the greatest "
        "height of the trees and c their congestion, with the best whole p at most (n-1)h T_s + c "
        "m T_c + 2 sqrt(c m(n-1)(h-1)T_s T_c)"
    )
    h = nk_pipelines.greatest_height(check, MANY_TREES)
    line = Pipeline(
        h, Fraction(int(nk_pipelines.link_loads(check, MANY_TREES).max()), n - 1), n - 1
    )
    _check_pipeline(correction, broadcast, line)


@checks("NK.opt-broadcast", bytes_per_node=nk_pipelines.broadcast_bytes)
def all_port_is_optimal(check: ClaimCheck) -> None:
    """Compare the all-port bytes on the tree SP with the bound m/(n-1) of Lemma 1."""
    diameter = nk_diameter(*check.n_and_k)
    broadcast = nk_pipelines.execute_broadcast(check, ONE_TREE, "all")
    p = broadcast.segments
    schedule = broadcast.schedule
    check.equal("bytes over m", broadcast.shares, _one_tree_shares(diameter, p), p=p, of=schedule)
    check.equal(FURTHER_BYTES, broadcast.increment, 1, of=schedule)
    check.order("m over m/(n-1)", lambda n, _: divided(1, divided(1, n - 1)))
    correction = check.correction(
        "the bytes are n-1 times the bound m/(n-1) of Lemma 1: at least m, since the one tree "
        "carries all of it"
    )
    correction.at_least("bytes over m", broadcast.shares, 1)
    correction.equal(FURTHER_BYTES, broadcast.increment, 1)


@checks("NK.opt-broadcast-oneport", bytes_per_node=nk_pipelines.broadcast_bytes)
def one_port_is_optimal(check: ClaimCheck) -> None:
    """Compare the one-port bytes on the tree SP with the bound m of Lemma 1."""
    n = check.n
    broadcast = nk_pipelines.execute_broadcast(check, ONE_TREE, "one")
    schedule = broadcast.schedule
    enough = broadcast.shares >= n - 1
    check.true("bytes are at least (n-1)m", enough, p=broadcast.segments, of=schedule)
    check.equal(FURTHER_BYTES, broadcast.increment, n - 1, of=schedule)
    check.order("(n-1)m over m", lambda n, _: n - 1)
    correction = check.correction(
        "the bytes are n-1 times the bound m of Lemma 1, since the source has n-1 children"
    )
    correction.at_least("bytes over m", broadcast.shares, n - 1)
    correction.equal(FURTHER_BYTES, broadcast.increment, n - 1)
