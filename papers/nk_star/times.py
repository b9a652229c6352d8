"""Checks of Li, Chen, Xiang & Yao 2007, sections 4, 5, 7 and 8: times of executed broadcasts.

Sections 4 and 7 treat the broadcast, and sections 5 and 8 the allgather (the paper's all-to-all
broadcast), each on the tree SP and on the trees MT (see `common`). Theorems 2, 3, 8 and 9 state
orders O(..); the expressions in them are verified as exact times. D is the diameter and N the
number of nodes.
"""

from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from starcast.claims.check import ClaimCheck
from starcast.claims.growth import Number, divide
from starcast.claims.registry import Execution, Provider, checks, executions
from starcast.collectives.model import Schedule
from starcast.support.integers import ceil_div

from ..common.closed_forms import Pipeline, arrangements, nk_diameter, rational_sqrt
from . import common
from .common import GRID, MANY_TREES, ONE_TREE, Broadcast, class_loads, optimal_bytes

#: The values p = 1, 1/2, .., 1/2^64.
_HALVES = [Fraction(1, 2**i) for i in range(65)]
#: The name, in recorded evidence, of the quantity that determines the bytes of broadcasts with more
#: segments than were executed.
FURTHER_BYTES = "bytes over m that a further segment adds to p times all"


@checks("NK.S41-p")
def best_number_of_segments(check: ClaimCheck) -> None:
    """Check the closed form q of the optimal number of segments, which need not be an integer.

    The optimal number p minimizes the time (h+p-1)(T_s + m T_c/(p(n-1))), where h is the height of
    the shortest-path tree SP. For several m for which q is rational, the best of the numbers q/16,
    2q/16, .., 4q must be q itself. If h = 1, q is 0, and every halving of p must reduce the time.
    On a grid of T_s and m T_c, the time must decrease before q and increase after q.
    """
    n, k = check.n_and_k
    h = common.greatest_height(check, ONE_TREE)
    check.equal("h", h, nk_diameter(n, k))
    line = Pipeline(h, Fraction(1, n - 1))
    for power in (*range(7), -1, -2, -3):
        q = Fraction(2) ** power
        # With this m, the stated optimum sqrt(m(h-1)/(n-1)) is the rational number q. For h = 1 the
        # optimum would be 0 for every m.
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
        # Each halving of p reduces the time by half as much as the previous halving. So all
        # halvings together reduce the time by twice the first reduction.
        times = [line.time(p, T_s, b) for p in _HALVES]
        drops = [one - two for one, two in pairwise(times)]
        rest = common.exact_array(2 * two - one for one, two in pairwise(drops))
        check.equal("a halving of p takes off half of the one before", rest, 0, **place)
        check.equal("infimum", 2 * times[1] - times[0], b / (n - 1), **place)


def _best_of_halves(line: Pipeline, b: Fraction) -> Fraction:
    """Return the number of segments with the shortest time among 1, 1/2, 1/4, ..

    The result is 0 if each number takes less time than the previous number.
    """
    times = [line.time(p, 1, b) for p in _HALVES]
    for p, (one, two) in zip(_HALVES, pairwise(times), strict=False):
        if two >= one:
            return p
    return Fraction(0)


def _slopes_as_stated(line: Pipeline, T_s: Fraction, b: Fraction) -> Iterator[bool]:  # noqa: N803
    """Yield whether the time decreases up to the optimal number of segments and then increases.

    There is one value for each pair of consecutive numbers among 1/4, 2/4, .., 10, unless the
    optimal number lies strictly between the two.
    """
    square = line.square(T_s, b)
    segments = [Fraction(j, 4) for j in range(1, 41)]
    times = [line.time(p, T_s, b) for p in segments]
    for p, (one, two) in zip(segments[1:], pairwise(times), strict=True):
        if p * p <= square:
            yield bool(one > two)
    for p, (one, two) in zip(segments, pairwise(times), strict=False):
        if p * p >= square:
            yield bool(one < two)


def broadcasts(construction: str, ports: str) -> Provider[Broadcast]:
    """Return a provider that executes a broadcast on a construction, and yields its `Broadcast`."""
    return lambda check: [common.execute_broadcast(check, construction, ports)]


def _stated_times(n: int, height: int, slot: int = 1) -> NDArray[Any]:
    """Return the times that the theorems state, at the points of `GRID`.

    For trees of height h (``height``) and c start-ups per slot (``slot``), a time is c((h-1)T_s + m
    T_c/(n-1) + 2 sqrt(m(h-1)T_s T_c/(n-1))).
    """
    line = Pipeline(height, Fraction(1, n - 1), slot)
    return common.exact_array(line.exact_least(*load) for load in GRID.each())


def _check_best(check: ClaimCheck, broadcast: Broadcast, stated: NDArray[Any]) -> None:
    """Check that the time with the best integer number of segments is at most the stated time."""
    time, p = broadcast.best_on(GRID)
    check.at_most("least time over whole p", time, stated, **GRID.place, p=p, of=broadcast.schedule)


def _check_pipeline(correction: ClaimCheck, broadcast: Broadcast, line: Pipeline) -> None:
    """Check that a broadcast takes at most the time of a pipeline, for each number of segments.

    Also compare the shortest times. The pipeline may have any positive real number of segments,
    and the broadcast any integer number. The broadcast's shortest time may be longer than that of
    the pipeline by at most the time of the start-ups in one slot.
    """
    # Both times are linear in T_s and in m T_c, so if the bound holds for these pairs, it holds for
    # all T_s and m T_c.
    small = [(Fraction(start_up), Fraction(byte)) for start_up in (0, 1) for byte in (0, 1)]
    for p in broadcast.segments.tolist():
        time = common.exact_array(broadcast.time(p, *load) for load in small)
        bound = common.exact_array(line.time(p, *load) for load in small)
        correction.at_most("time", time, bound, p=p)
    time, _ = broadcast.best_on(GRID)
    bound = common.exact_array(
        line.exact_least(*load) + line.slot * load[0] for load in GRID.each()
    )
    correction.at_most("least time over whole p", time, bound, **GRID.place)


@checks("NK.T2", given=broadcasts(ONE_TREE, "all"), memory=common.BROADCASTS)
def one_tree_all_port(check: ClaimCheck, broadcast: Broadcast) -> None:
    """Check whether all-port broadcasts on the shortest-path tree SP take at most Theorem 2's time.

    The broadcast has the best integer number of segments. `_stated_times` returns the theorem's
    time.
    """
    n, k = check.n_and_k
    diameter = nk_diameter(n, k)
    _check_best(check, broadcast, _stated_times(n, diameter))
    correction = check.correction()
    p = broadcast.segments
    correction.equal("start-ups", broadcast.steps, diameter + p - 1, p=p)
    correction.equal("bytes over m", broadcast.shares, _one_tree_shares(diameter, p), p=p)
    _check_pipeline(correction, broadcast, Pipeline(diameter))


def _one_tree_shares(diameter: int, segments: NDArray[np.int64]) -> NDArray[Any]:
    """Return the sum of a broadcast's largest packets on the tree SP, divided by the message size.

    The result has a value for each number p of segments. On a graph of diameter D, this value is
    (D+p-1)/p, because packets of 1/p of the message are sent in D+p-1 steps.
    """
    return common.exact_array(Fraction(diameter + p - 1, p) for p in segments.tolist())


@checks("NK.T3", given=broadcasts(ONE_TREE, "one"), memory=common.BROADCASTS)
def one_tree_one_port(check: ClaimCheck, broadcast: Broadcast) -> None:
    """Check whether one-port broadcasts on the shortest-path tree SP take at most Theorem 3's time.

    The broadcast has the best integer number of segments. `_stated_times` returns the theorem's
    time.
    """
    n, k = check.n_and_k
    diameter = nk_diameter(n, k)
    _check_best(check, broadcast, _stated_times(n, diameter, n - 1))
    correction = check.correction()
    children = np.count_nonzero(common.link_loads(check, ONE_TREE)[0])
    correction.equal("children of the source", children, n - 1)
    correction.at_least("bytes over m", broadcast.shares, n - 1)
    _check_pipeline(correction, broadcast, Pipeline(diameter, 1, n - 1))


@checks("NK.T8", given=broadcasts(MANY_TREES, "all"), memory=common.BROADCASTS)
def many_trees_all_port(check: ClaimCheck, broadcast: Broadcast) -> None:
    """Check whether all-port broadcasts on the n-1 spanning trees MT take at most Theorem 8's time.

    The broadcast has the best integer number of segments. `_stated_times` returns the theorem's
    time.
    """
    n, k = check.n_and_k
    _check_best(check, broadcast, _stated_times(n, 2 * nk_diameter(n, k)))
    correction = check.correction()
    h = common.greatest_height(check, MANY_TREES)
    c = int(common.link_loads(check, MANY_TREES).max())
    p = broadcast.segments
    correction.equal("start-ups", broadcast.steps, h + p - 1, p=p)
    correction.equal("segments that one more adds to the largest packets", broadcast.increment, c)
    _check_pipeline(correction, broadcast, Pipeline(h, Fraction(c, n - 1)))


@checks("NK.T9", given=broadcasts(MANY_TREES, "one"), memory=common.BROADCASTS)
def many_trees_one_port(check: ClaimCheck, broadcast: Broadcast) -> None:
    """Check whether one-port broadcasts on the n-1 spanning trees MT take at most Theorem 9's time.

    The broadcast has the best integer number of segments. `_stated_times` returns the theorem's
    time.
    """
    n, k = check.n_and_k
    _check_best(check, broadcast, _stated_times(n, 2 * nk_diameter(n, k), n - 1))
    correction = check.correction()
    h = common.greatest_height(check, MANY_TREES)
    line = Pipeline(h, Fraction(int(common.link_loads(check, MANY_TREES).max()), n - 1), n - 1)
    _check_pipeline(correction, broadcast, line)


@checks("NK.opt-broadcast", given=broadcasts(ONE_TREE, "all"), memory=common.BROADCASTS)
def all_port_is_optimal(check: ClaimCheck, broadcast: Broadcast) -> None:
    """Check whether the bytes of all-port broadcasts have the order of Lemma 1's bound, m/(n-1).

    The broadcasts use the shortest-path tree SP. Their bytes are the sum of the largest packets of
    all steps. In fact, this sum is at least m, the size of the message.
    """
    diameter = nk_diameter(*check.n_and_k)
    p = broadcast.segments
    schedule = broadcast.schedule
    check.equal("bytes over m", broadcast.shares, _one_tree_shares(diameter, p), p=p, of=schedule)
    check.equal(FURTHER_BYTES, broadcast.increment, 1, of=schedule)
    check.order("m over m/(n-1)", lambda n, _: divide(1, divide(1, n - 1)))
    correction = check.correction()
    correction.at_least("bytes over m", broadcast.shares, 1)
    correction.equal(FURTHER_BYTES, broadcast.increment, 1)


@checks("NK.opt-broadcast-oneport", given=broadcasts(ONE_TREE, "one"), memory=common.BROADCASTS)
def one_port_is_optimal(check: ClaimCheck, broadcast: Broadcast) -> None:
    """Check whether the bytes of one-port broadcasts have the order of Lemma 1's bound, m.

    The broadcasts use the shortest-path tree SP. Their bytes are the sum of the largest packets of
    all steps. In fact, this sum is at least n-1 times m, the size of the message.
    """
    n = check.n
    schedule = broadcast.schedule
    enough = broadcast.shares >= n - 1
    check.true("bytes are at least (n-1)m", enough, p=broadcast.segments, of=schedule)
    check.equal(FURTHER_BYTES, broadcast.increment, n - 1, of=schedule)
    check.order("(n-1)m over m", lambda n, _: n - 1)
    correction = check.correction()
    correction.at_least("bytes over m", broadcast.shares, n - 1)
    correction.equal(FURTHER_BYTES, broadcast.increment, n - 1)


# Sections 5 and 8: allgather (all-to-all broadcast) on the tree SP and the trees MT


#: Allgathers on the trees MT that have more rows than this, counted over all sources, are not
#: executed.
_MAX_ROWS = 100_000

# These algorithms have one tree per source: the tree of Id after a label change (LC). Label changes
# depend on the order of the symbols that a label lacks, which is undefined; it is taken to be
# ascending.
all_port = executions("allgather", ONE_TREE)
one_port = executions("allgather", ONE_TREE, ports="one")


@checks("NK.S5-copies", given=all_port, memory=common.ALLGATHERS)
def allgather_is_many_broadcasts(check: ClaimCheck, allgather: Execution) -> None:
    """Check whether an allgather on a graph of N nodes consists of N-1 broadcasts, as stated.

    In fact, the allgather has N times as many transmissions as a broadcast.
    """
    nodes = arrangements(*check.n_and_k)
    broadcast = check.execute(check.schedule("broadcast", ONE_TREE, "all", segments=1))
    copies = Fraction(allgather.simulation.transmissions, broadcast.transmissions)
    what = "one-to-all broadcasts"
    check.equal(what, copies, nodes - 1, of=allgather.schedule)
    check.correction().equal(what, copies, nodes, of=allgather.schedule)


@checks("NK.T4.startup", given=all_port, memory=common.ALLGATHERS)
def start_ups_are_diameter(check: ClaimCheck, allgather: Execution) -> None:
    """Check that the allgather on the shortest-path tree SP takes as many steps as the diameter."""
    diameter = nk_diameter(*check.n_and_k)
    check.equal("start-ups", allgather.simulation.steps, diameter, of=allgather.schedule)


@checks("NK.T4.even", memory=common.ALLGATHERS)
def links_are_loaded_evenly(check: ClaimCheck) -> None:
    """Check whether an allgather loads all directed links equally in each step, as stated.

    The allgather is `common.dimension_change_allgather`, on the shortest-path tree SP. The load of
    each link is compared with the mean load. In fact, only links of the same class have the same
    load; see `common.link_classes`.
    """
    schedule = common.dimension_change_allgather(check)
    simulation = check.execute(schedule)
    units = schedule.message_units
    counts = _unit_counts(schedule, simulation.steps)
    loads = common.exact_array(Fraction(count, units) for count in counts.ravel().tolist())
    loads = loads.reshape(counts.shape)
    mean = common.exact_array(step.sum() / step.size for step in loads)
    step = np.arange(1, len(loads) + 1)[:, None, None]
    what = "messages on the link"
    # If all nodes have the same loads, only the loads of the first node are compared.
    link = tuple(ends[: counts.shape[1]] for ends in check.links)
    check.equal(what, loads, mean[:, None, None], step=step, link=link, of=schedule)
    of_class = class_loads(check, ONE_TREE)
    correction = check.correction()
    for kind, ports in enumerate(common.link_classes(check)):
        columns = [check.ports.index(port) for port in ports]
        stated = of_class[:, kind, None, None]
        correction.equal(what, loads[:, :, columns], stated, step=step, of=schedule)


def _unit_counts(schedule: Schedule, steps: int) -> NDArray[np.int64]:
    """Return how many units cross each directed link in each step, int64 ``[steps, nodes, ports]``.

    If relabelling keeps ports, all nodes have the same loads, and the result has only one node.
    """
    topology = schedule.topology
    # For (n,k)-stars with residual links, a relabelled residual link may have another port. Then
    # only the expanded schedule shows the load of each link.
    nodes = 1 if topology.translation_keeps_ports else topology.nodes
    rows = schedule if nodes == 1 else schedule.expand()
    sender = rows.sender if nodes > 1 else 0
    column = np.searchsorted(topology.ports, rows.port)
    step = rows.step.astype(np.int64) - 1
    index = (step * nodes + sender) * topology.degree + column
    counts = np.bincount(index, minlength=steps * nodes * topology.degree)
    return counts.reshape(-1, nodes, topology.degree)


@checks("NK.T4.time", memory=common.ALLGATHERS)
def time_on_one_tree(check: ClaimCheck) -> None:
    """Check whether the allgather on the shortest-path tree SP takes the stated time.

    On a graph of N nodes and diameter D, the stated time is D T_s + m(N-1)/(n-1) T_c. In fact, this
    time is attained only for k = 1 and k = n-1.
    """
    n, k = check.n_and_k
    diameter = nk_diameter(n, k)
    schedule = common.dimension_change_allgather(check)
    simulation = check.execute(schedule)
    time = GRID.time_of(Execution(schedule, simulation))
    stated = optimal_bytes(n, k)
    check.equal("time", time, GRID.time(diameter, stated), **GRID.place, of=schedule)
    correction = check.correction()
    share = common.all_port_bytes(class_loads(check, ONE_TREE))
    correction.equal("time", time, GRID.time(diameter, share), **GRID.place)
    correction.equal("the stated time is taken", [share == stated], [k in (1, n - 1)])


def _check_bytes_and_height(check: ClaimCheck) -> None:
    """Check the height of the shortest-path tree SP, and check `bytes_formula` for an allgather."""
    n, k = check.n_and_k
    loads = class_loads(check, ONE_TREE)
    share = common.all_port_bytes(loads)
    formula = common.bytes_formula(n, k)
    check.equal("bytes over m, each class by itself", common.bytes_by_class(loads), formula)
    check.true("bytes over m are no more", share <= formula)
    check.true("bytes over m are at least (N-1)/(n-1)", share >= optimal_bytes(n, k))
    check.equal("start-ups", common.greatest_height(check, ONE_TREE), nk_diameter(n, k))


@checks("NK.T4.order")
def order_of_time_on_one_tree(check: ClaimCheck) -> None:
    """Check the order of growth of the allgather time on the shortest-path tree SP.

    On a graph of N nodes and diameter D, the time must be O(D T_s + m(N-1)/(n-1) T_c).
    """
    _check_bytes_and_height(check)

    def quotient(n: int, k: int) -> Number:
        bytes_terms = (common.bytes_formula(n, k), optimal_bytes(n, k))
        return common.greatest_quotient((nk_diameter(n, k), nk_diameter(n, k)), bytes_terms)

    check.order("time over D T_s + m(N-1)/(n-1) T_c", quotient)


@checks("NK.opt-allgather")
def all_port_allgather_is_optimal(check: ClaimCheck) -> None:
    """Check that the bytes of the all-port allgather have the order of Lemma 2's bound.

    The allgather uses the shortest-path tree SP. On a graph of N nodes, the bound is m(N-1)/(n-1).
    """
    _check_bytes_and_height(check)
    what = "bytes over m(N-1)/(n-1)"
    check.order(what, lambda n, k: divide(common.bytes_formula(n, k), optimal_bytes(n, k)))


@checks("NK.T5", given=one_port, memory=common.ALLGATHERS)
def one_port_time_on_one_tree(check: ClaimCheck, allgather: Execution) -> None:
    """Check the time of the one-port allgather on the shortest-path tree SP.

    On a graph of N nodes and diameter D, the time must be at most n(n-1)D T_s + (N-1)m T_c.
    """
    n, k = check.n_and_k
    diameter = nk_diameter(n, k)
    schedule = allgather.schedule
    time = GRID.time_of(allgather)
    stated = GRID.time(n * (n - 1) * diameter, Fraction(arrangements(n, k) - 1))
    check.at_most("time", time, stated, **GRID.place, of=schedule)
    few = allgather.simulation.steps <= (n - 1) * diameter
    check.true("start-ups are at most (n-1)D", few, of=schedule)


@checks("NK.opt-allgather-oneport", given=one_port, memory=common.ALLGATHERS)
def one_port_bytes_are_optimal(check: ClaimCheck, allgather: Execution) -> None:
    """Check that the bytes of the one-port allgather are equal to Lemma 2's bound.

    The allgather uses the shortest-path tree SP. On a graph of N nodes, the bound is (N-1)m.
    """
    schedule = allgather.schedule
    share = allgather.share
    check.equal("bytes over m", share, arrangements(*check.n_and_k) - 1, of=schedule)


def _check_executed_trees(check: ClaimCheck, ports: str, steps: int, share: Fraction) -> None:
    """Execute and check the allgather on the n-1 spanning trees MT without dimension changes.

    The schedule must use every level of the trees and take at most ``steps`` steps. The largest
    packets of all steps must add up to at least ``share`` messages. Schedules with too many rows
    are skipped.
    """
    sources = 1 if check.topology.translation_keeps_ports else check.nodes
    if check.degree * (check.nodes - 1) * sources > _MAX_ROWS:
        return
    for allgather in executions("allgather", MANY_TREES, ports=ports)(check):
        schedule = allgather.schedule
        simulation = allgather.simulation
        levels = simulation.steps
        if ports == "one":
            # In the one-port model, a level takes n-1 sub-slots.
            levels = ceil_div(levels, check.degree)
        height = common.greatest_height(check, MANY_TREES)
        check.equal("levels that are executed", levels, height, of=schedule)
        few = simulation.steps <= steps
        check.true("no more start-ups are counted than there are sub-slots", few, of=schedule)
        check.true("with LC alone no fewer bytes", allgather.share >= share, of=schedule)


@checks("NK.T10", memory=common.ALLGATHERS)
def time_on_many_trees(check: ClaimCheck) -> None:
    """Check whether the all-port allgather on the spanning trees MT takes at most the stated time.

    On a graph of N nodes and diameter D, the stated time is (2D-1)T_s + m(N-1)/(n-1) T_c. In fact,
    the allgather can take longer, but at most 2D T_s plus m T_c times `common.bytes_formula`.
    """
    n, k = check.n_and_k
    loads = class_loads(check, MANY_TREES)
    levels = len(loads)
    share = common.all_port_bytes(loads)
    _check_executed_trees(check, "all", levels, share)
    time = GRID.time(levels, share)
    stated = GRID.time(2 * nk_diameter(n, k) - 1, optimal_bytes(n, k))
    check.at_most("time", time, stated, **GRID.place)
    correction = check.correction()
    correction.equal("start-ups", levels, common.greatest_height(check, MANY_TREES))
    bound = GRID.time(common.height_bound(n, k), common.bytes_formula(n, k))
    correction.at_most("time", time, bound, **GRID.place)


@checks("NK.T11", memory=common.ALLGATHERS)
def one_port_time_on_many_trees(check: ClaimCheck) -> None:
    """Check whether the one-port allgather on the spanning trees MT takes at most the stated time.

    On a graph of N nodes and diameter D, the stated time is (n-1)(2D-1)T_s + (N-1)m T_c. In fact,
    more start-ups can be needed; their number is at most 2(n-1)D.
    """
    n, k = check.n_and_k
    others = arrangements(n, k) - 1
    loads = class_loads(check, MANY_TREES)
    steps = common.last_sub_slot(check, loads)
    share = common.one_port_bytes(check, loads)
    _check_executed_trees(check, "one", steps, share)
    stated = GRID.time((n - 1) * (2 * nk_diameter(n, k) - 1), Fraction(others))
    check.at_most("time", GRID.time(steps, share), stated, **GRID.place)
    correction = check.correction()
    correction.at_most("start-ups", steps, (n - 1) * common.height_bound(n, k))
    correction.equal("bytes over m", share, others)


@checks("NK.S9-allport", memory=common.ALLGATHERS)
def one_tree_has_fewer_start_ups(check: ClaimCheck) -> None:
    """Check that the all-port allgather takes fewer start-ups on one tree than on n-1 trees.

    The trees are the shortest-path tree SP and the n-1 spanning trees MT.
    """
    what = "start-ups on one tree"
    one = common.greatest_height(check, ONE_TREE)
    many = common.greatest_height(check, MANY_TREES)
    for allgather in all_port(check):
        check.equal(what, allgather.simulation.steps, one, of=allgather.schedule)
    _check_executed_trees(check, "all", many, Fraction(0))
    check.at_most(what, one, many - 1)


@checks("NK.S9-oneport", memory=common.ALLGATHERS)
def one_tree_has_more_start_ups(check: ClaimCheck) -> None:
    """Check whether the one-port allgather takes more start-ups on one tree than on n-1 trees.

    The trees are the shortest-path tree SP and the n-1 spanning trees MT. In fact, the allgather
    takes fewer start-ups on SP.
    """
    one = common.last_sub_slot(check, class_loads(check, ONE_TREE))
    many = common.last_sub_slot(check, class_loads(check, MANY_TREES))
    for allgather in one_port(check):
        few = allgather.simulation.steps <= one
        what = "no more start-ups are counted than there are sub-slots"
        check.true(what, few, of=allgather.schedule)
    _check_executed_trees(check, "one", many, Fraction(0))
    check.at_least("start-ups on one tree, stated as more than on the trees MT", one, many + 1)
    check.correction().at_most("start-ups on one tree", one, many - 1)
