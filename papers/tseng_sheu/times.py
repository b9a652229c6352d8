"""Checks of Tseng & Sheu 1997 about times: lower bounds, Theorems 1 and 2, and comparisons.

Theorems 1 and 2 state the time of the broadcast of Algorithm 1, all-port and one-port. The bounds
of Lemmas 1 (broadcast) and 2 (allgather) are compared with starcast's algorithms, and the paper's
comparisons of its times with these bounds and with earlier algorithms are checked.
"""

from fractions import Fraction
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from starcast.claims.check import ClaimCheck
from starcast.claims.growth import Number, divide, factorial, log2, sqrt
from starcast.claims.registry import Execution, Memory, checks, executions
from starcast.collectives.model import BYTES_PER_ROW
from starcast.support.integers import ceil_div

from ..common import lower_bound_counts as counts
from ..common.closed_forms import (
    Parameters,
    Pipeline,
    diameter,
    greatest_quotient,
    multiple_height,
    parameters,
    rational_sqrt,
)
from . import collectives, tables
from .collectives import SMALL

#: The parameter grid for Theorems 1 and 2: m = 1, 2; T_s = 1, 2, 4, .., 1024; T_c = 1, 2.
WIDE = parameters((1, 2), tuple(2**power for power in range(11)), (1, 2))
ON_WIDE = "m = 1, 2, T_s = 1, 2, 4, .., 1024, T_c = 1, 2"


def check_counts(check: ClaimCheck, source: int) -> None:
    """Check the numbers in the bounds of Lemmas 1 and 2.

    These are the degree and the diameter of S_n, and how often 1 must be doubled to reach n!.
    """
    counts.check_source(check, source, diameter(check.n))
    steps = counts.count_doublings(check.nodes)
    what = "doublings until all nodes know"
    check.equal(what, steps, counts.ceil_log2(factorial(check.n)), source=source)


@checks("TS.L1", memory=Memory(40 * BYTES_PER_ROW))
def lower_bound_for_broadcast(check: ClaimCheck) -> None:
    """Check the numbers in the bound of Lemma 1, and that starcast's broadcasts obey the bound."""
    n = check.n
    sources = (0, check.nodes - 1)
    for source in sources:
        check_counts(check, source)
    schedules = counts.catalogue_schedules(check, "broadcast", "all", sources)
    counts.check_times(check, schedules, diameter(n), Fraction(1, n - 1))
    startups = max(diameter(n), counts.ceil_log2(factorial(n)))
    schedules = counts.catalogue_schedules(check, "broadcast", "one", sources)
    counts.check_times(check, schedules, startups, 1)


@checks("TS.L2", memory=Memory(40 * BYTES_PER_ROW))
def lower_bound_for_allgather(check: ClaimCheck) -> None:
    """Check the numbers in the bound of Lemma 2, and that starcast's allgathers obey the bound."""
    n = check.n
    check_counts(check, 0)
    others = factorial(n) - 1
    check.equal("messages that a node receives", np.count_nonzero(check.distances() > 0), others)
    schedules = counts.catalogue_schedules(check, "allgather", "all", (0,))
    counts.check_times(check, schedules, diameter(n), Fraction(others, n - 1))
    startups = max(diameter(n), counts.ceil_log2(factorial(n)))
    schedules = counts.catalogue_schedules(check, "allgather", "one", (0,))
    counts.check_times(check, schedules, startups, others)


@checks("TS.E3", memory=collectives.ALGORITHM_1)
def time_in_slots(check: ClaimCheck) -> None:
    """Check equation (3), the time of a broadcast by Algorithm 1 in slots of fixed length."""
    h = collectives.height(check, "multiple")
    shorter_slots = check.reading(
        "with slots as long as their largest packet Algorithm 1 takes at most (3)"
    )
    for execution in collectives.algorithm1()(check):
        schedule, simulation = execution
        p = execution.argument("segments")
        place = {"p": p, "of": schedule}
        share = Fraction(2, p * (check.n - 1))
        stated = (h + p - 1) * SMALL.time(1, share)
        check.true("no packet is larger than the slot", simulation.largest_packet <= 2, **place)
        place |= SMALL.place
        observed = SMALL.time(simulation.steps, simulation.steps * share)
        check.equal("time in slots of fixed length", observed, stated, **place)
        shorter = SMALL.time_of(execution)
        shorter_slots.at_most("time", shorter, stated, **place)


@checks("TS.E5")
def best_real_number_of_segments(check: ClaimCheck) -> None:
    """Check that the number of segments in equation (5) minimizes the time of equation (3).

    The number need not be an integer. The time must decrease up to this number and increase beyond
    it. Also check the order of growth of the number.
    """
    n = check.n
    h = collectives.height(check, "multiple")
    check.equal("h", h, multiple_height(n))
    pipeline = Pipeline(h, Fraction(2, n - 1))
    tables.check_best_segments(check, pipeline, Fraction(2 * (h - 1), n - 1))
    candidates = [Fraction(j, 8) for j in range(1, 200)]
    for startup, b in SMALL.each():
        times = [pipeline.time(p, startup, b) for p in candidates]
        square = 2 * b * (h - 1) / ((n - 1) * startup)
        changes = list(zip(pairwise(candidates), pairwise(times), strict=True))
        # p^2 is compared with q^2, because q itself may be irrational.
        falls = [before > after for (_, p), (before, after) in changes if p * p <= square]
        rises = [before < after for (p, _), (before, after) in changes if p * p >= square]
        place = {"T_s": str(startup), "mT_c": str(b)}
        check.true("the time falls before q and rises after it", np.array(falls + rises), **place)
    what = "q over sqrt(m T_c/T_s)"
    check.order(what, lambda n: sqrt(divide(2 * (multiple_height(n) - 1), n - 1)))


@checks("TS.T1.time", memory=Memory(56 * BYTES_PER_ROW))
def time_of_theorem1(check: ClaimCheck) -> None:
    """Check whether a broadcast by Algorithm 1 takes at most the time of Theorem 1.

    The broadcast has the best integer number of segments. In fact, in slots of fixed length, the
    broadcast takes more time unless the best real number of segments is an integer.
    """
    n = check.n
    check.equal("h", collectives.height(check, "multiple"), multiple_height(n))
    check_ends_within(check, tables.theorem1(n), "all")
    others = (("greedy", "segments", 1), ("edge-disjoint", "messages", n - 1))
    read_with_other_broadcasts(check, tables.theorem1(n), "all", others)


@checks("TS.T2.time", memory=Memory(56 * BYTES_PER_ROW))
def time_of_theorem2(check: ClaimCheck) -> None:
    """Check whether a one-port broadcast by Algorithm 1 takes at most the time of Theorem 2.

    This time is n-1 times as long as the time of Theorem 1. The broadcast has the best integer
    number of segments.
    """
    n = check.n
    check.equal("h", collectives.height(check, "multiple"), multiple_height(n))
    check_ends_within(check, tables.theorem2(n), "one")
    others = (("greedy", "segments", 1), ("recursive-substar", "messages", 1))
    read_with_other_broadcasts(check, tables.theorem2(n), "one", others)
    read_without_idle_steps(check, tables.theorem2(n))


def least_times(pipeline: Pipeline) -> NDArray[Any]:
    """Return a pipeline's minimum time at each point of `WIDE`.

    The number of segments may be any positive real number.
    """
    return np.array([pipeline.exact_least(*load) for load in WIDE.each()], dtype=object)


def check_ends_within(check: ClaimCheck, pipeline: Pipeline, ports: str) -> None:
    """Check that Algorithm 1 with the best number of segments ends within a theorem's time.

    The theorem's time is the minimum of the pipeline's time if the number of segments may be any
    positive real number.
    """
    runs = list(collectives.algorithm1(ports)(check))
    stated = least_times(pipeline)
    steps_per_slot = int(pipeline.slot)
    fixed = []
    shorter = []
    for p, run in enumerate(runs, 1):
        simulation = run.simulation
        check.true("no packet is larger than the slot", simulation.largest_packet <= 2, p=p)
        # Round up to full slots: a slot has all its sub-slots, even if nothing is sent in the last.
        steps = steps_per_slot * ceil_div(simulation.steps, steps_per_slot)
        fixed.append(WIDE.time(steps, steps * Fraction(pipeline.share) / p))
        shorter.append(WIDE.time_of(run))
    # The time increases with p beyond the best real number q of segments. So if q <= MAX_SEGMENTS,
    # the best p is among the executed p.
    known = np.array(
        [pipeline.square(*load) <= collectives.MAX_SEGMENTS**2 for load in WIDE.each()]
    )
    check.true("for some machines no larger p can help", bool(known.any()))
    check_least(check, runs[0], np.array(fixed, dtype=object), stated, known)
    packets = check.reading(f"the same with slots as long as their largest packet, {ON_WIDE}")
    times = np.array(shorter, dtype=object)
    # With more than MAX_SEGMENTS segments, at least one step of an additional slot is needed.
    longer = WIDE.T_s * (pipeline.slot * (pipeline.height + collectives.MAX_SEGMENTS - 1) + 1)
    known = (times.min(axis=0) <= stated) | (longer > stated)
    check_least(packets, runs[0], times, stated, known)
    correct_theorem(check, pipeline, stated)


def check_least(
    check: ClaimCheck,
    run: Execution,
    times: NDArray[Any],
    stated: NDArray[Any],
    known: NDArray[np.bool_],
) -> None:
    """Check that the smallest time over all executed numbers of segments is at most a stated time.

    Args:
        check: records the result.
        run: an execution of the broadcast; its schedule is named in the recorded evidence.
        times: the broadcast's times, ``[numbers of segments, points of WIDE]``.
        stated: the stated times, ``[points of WIDE]``.
        known: whether to check each point, bool ``[points of WIDE]``: True if executions with more
            segments than were executed would not change the result.
    """
    place = Parameters(*(column[known] for column in WIDE)).place
    best = times[:, known].argmin(axis=0) + 1
    least = times.min(axis=0)[known]
    check.at_most("least time over whole p", least, stated[known], **place, p=best, of=run.schedule)


def correct_theorem(check: ClaimCheck, pipeline: Pipeline, stated: NDArray[Any]) -> None:
    """Check the corrected statement of Theorem 1 or 2.

    Let q be the positive real number of segments that minimizes the pipeline's time. With p =
    ceil(q) segments, the time must exceed the stated time by at most c T_s, where c is the number
    of start-ups per slot. An integer p must attain the stated time if and only if q is an integer.
    If T_s is large compared with m T_c, the start-ups alone must take longer than the stated time.
    """
    correction = check.correction()
    ceilings = []
    ceiling_times = []
    reached = []
    q_is_integer = []
    startup_longer = []
    for (startup, b), least in zip(WIDE.each(), stated, strict=True):
        square = pipeline.square(startup, b)
        best = pipeline.best_whole(startup, b)
        ceiling = best if best * best >= square else best + 1
        ceilings.append(ceiling)
        ceiling_times.append(pipeline.time(ceiling, startup, b))
        reached.append(pipeline.time(best, startup, b) == least)
        q = rational_sqrt(square)
        q_is_integer.append(q is not None and q.denominator == 1)
        if startup >= 4 * pipeline.height * pipeline.slot**2 * pipeline.share * b:
            # For p = 1, if only one sub-slot of the last slot is used, the start-ups take this
            # time. For any other p they take longer, so this is a lower bound.
            startups = startup * (pipeline.slot * (pipeline.height - 1) + 1)
            startup_longer.append(startups > least)
    measured = np.array(ceiling_times, dtype=object)
    longer = stated + WIDE.T_s * int(pipeline.slot)
    place = {**WIDE.place, "p": np.array(ceilings)}
    correction.at_most("time with p = ceil(q)", measured, longer, **place)
    correction.equal("the time is reached", reached, q_is_integer, **WIDE.place)
    expected = np.ones(len(startup_longer), dtype=bool)
    correction.equal("the start-ups take longer", np.array(startup_longer, dtype=bool), expected)


def read_with_other_broadcasts(
    check: ClaimCheck, pipeline: Pipeline, ports: str, others: tuple[tuple[str, str, int], ...]
) -> None:
    """Check another reading of a theorem: some broadcast takes at most the stated time.

    The stated time is the pipeline's minimum time if the number of segments may be any positive
    real number. Algorithm 1 and some other algorithms are executed. For each other algorithm,
    ``others`` lists its name, its argument that splits the message, and the number whose multiples
    are tried as values of this argument.
    """
    names = " or ".join(f"`{name}`" for name, _, _ in others)
    reading = check.reading(f"some broadcast, Algorithm 1 or {names}, ends within it, {ON_WIDE}")
    # A new `ClaimCheck` executes Algorithm 1, because the reading must not record the executions
    # that the check has already recorded.
    runs = list(collectives.algorithm1(ports)(ClaimCheck(check.topology, check.objects)))
    for name, split, parts in others:
        numbers = tuple(p * parts for p in range(1, 2 * collectives.MAX_SEGMENTS + 1))
        split_argument: dict[str, Any] = {split: numbers}
        runs += executions("broadcast", name, ports=ports, **split_argument)(reading)
    times = [WIDE.time_of(run) for run in runs]
    least = np.array(times, dtype=object).min(axis=0)
    reading.at_most("least time", least, least_times(pipeline), **WIDE.place)


def read_without_idle_steps(check: ClaimCheck, pipeline: Pipeline) -> None:
    """Check another reading of Theorem 2, in which sub-slots without packets take no time."""
    reading = check.reading(
        f"the same if sub-slots in which nothing is sent take no time, {ON_WIDE}"
    )
    times = []
    busy = 0
    for run in collectives.algorithm1("one")(ClaimCheck(check.topology, check.objects)):
        simulation = run.simulation
        busy = int((simulation.links_used > 0).sum())
        times.append(WIDE.time(busy, run.share))
    least = np.array(times, dtype=object).min(axis=0)
    stated = least_times(pipeline)
    # Executions with more segments would have at least as many busy sub-slots.
    known = (least <= stated) | (WIDE.T_s * busy > stated)
    place = Parameters(*(column[known] for column in WIDE)).place
    reading.at_most("least time", least[known], stated[known], **place)


@checks("TS.T1.order", memory=collectives.ALGORITHM_1)
def order_of_theorem1(check: ClaimCheck) -> None:
    """Check the order of growth of Theorem 1's all-port time with the best number of segments."""
    collectives.check_algorithm1(check)
    order = tables.THEOREM_1
    what = f"time with the best whole p over {order.formula}"
    tables.check_time_order(check, what, tables.theorem1_time, order.value)


@checks("TS.T2.order", memory=collectives.ALGORITHM_1)
def order_of_theorem2(check: ClaimCheck) -> None:
    """Check the order of growth of Theorem 2's one-port time with the best number of segments."""
    collectives.check_algorithm1(check, "one")
    order = tables.THEOREM_2
    what = f"time with the best whole p over {order.formula}"
    tables.check_time_order(check, what, tables.theorem2_time, order.value)


# Optimality, improvements and orders in sections 1, 4, 5, 6.1 and 7


def is_short(n: int, startup: Number, b: Number) -> bool:
    """Return whether a message is short: its transmission time b is at most n^2 start-up times."""
    return bool(b <= n * n * startup)


def is_long(n: int, startup: Number, b: Number) -> bool:
    """Return whether a message is long: its transmission time b is at least n^2 start-up times."""
    return bool(b >= n * n * startup)


@checks("TS.opt.S41", memory=collectives.ALGORITHM_1)
def allport_broadcast_is_optimal(check: ClaimCheck) -> None:
    """Check that Theorem 1's broadcast time is within a constant factor of Lemma 1's bound."""
    collectives.check_algorithm1(check)
    what = "time of Theorem 1 over the bound of Lemma 1"
    tables.check_time_order(check, what, tables.theorem1_time, tables.lemma1_allport)


@checks("TS.opt.S42-startup", memory=collectives.ALGORITHM_1)
def startup_of_short_messages(check: ClaimCheck) -> None:
    """Check that Theorem 2's broadcast time is O(n^2 T_s) for short messages.

    A message is short if its transmission time m T_c is at most n^2 start-up times T_s. Also check
    that the broadcast time is O(n/log n) times the bound of Lemma 1.
    """
    collectives.check_algorithm1(check, "one")
    what = "time of Theorem 2 over n^2 T_s where m T_c <= n^2 T_s"
    time = tables.theorem2_time
    tables.check_time_order(check, what, time, tables.SQUARE.value, is_short)

    def quotient(n: int) -> Number:
        over_lemma1 = greatest_quotient(n, time, tables.lemma1_oneport, is_short)
        return divide(over_lemma1 * log2(n), n)

    check.order("time of Theorem 2 over n/log n times Lemma 1 where m T_c <= n^2 T_s", quotient)


@checks("TS.opt.S42-transmission", memory=collectives.ALGORITHM_1)
def transmission_of_long_messages(check: ClaimCheck) -> None:
    """Check that Theorem 2's broadcast time is O(m T_c) for long messages.

    A message is long if its transmission time m T_c is at least n^2 start-up times T_s. Also check
    that the broadcast time is O(1) times the bound of Lemma 1.
    """
    collectives.check_algorithm1(check, "one")
    what = "time of Theorem 2 over m T_c where m T_c >= n^2 T_s"
    tables.check_time_order(check, what, tables.theorem2_time, tables.MESSAGE.value, is_long)
    what = "time of Theorem 2 over Lemma 1 where m T_c >= n^2 T_s"
    tables.check_time_order(check, what, tables.theorem2_time, tables.lemma1_oneport, is_long)


@checks("TS.opt.S51", given=collectives.algorithm2(), memory=collectives.ALGORITHM_1)
def allport_allgather_is_optimal(check: ClaimCheck, allgather: Execution) -> None:
    """Check that the allgather of Theorem 3 attains both terms of Lemma 2's bound.

    The terms are the start-ups and the messages per link.
    """
    n = check.n
    schedule, simulation = allgather
    check.equal("start-ups", simulation.steps, diameter(n), of=schedule)
    distance = check.diameter
    check.equal("start-ups, and the greatest distance", simulation.steps, distance, of=schedule)
    carried = allgather.share
    check.equal("messages a link", carried, Fraction(factorial(n) - 1, n - 1), of=schedule)


@checks("TS.opt.S52", given=collectives.algorithm2("one"), memory=collectives.ALGORITHM_1)
def oneport_allgather_is_optimal(check: ClaimCheck, allgather: Execution) -> None:
    """Check that in Algorithm 2's one-port allgather, the largest packets add up to n!-1 messages.

    The transmission term of Lemma 2's bound has the same number of messages.
    """
    stated = factorial(check.n) - 1
    check.equal("messages a node", allgather.share, stated, of=allgather.schedule)


@checks("TS.concl-allport", memory=collectives.ALGORITHM_1)
def allport_terms(check: ClaimCheck) -> None:
    """Check how the start-up and transmission times of Theorem 1 grow.

    The order of growth of each time must be at most that of the corresponding term in Lemma 1's
    bound.
    """
    collectives.check_algorithm1(check)
    time = tables.theorem1_time
    check.order("start-up of Theorem 1 over D_n T_s", lambda n: divide(time(n, 1, 0), diameter(n)))
    check.order("transmission of Theorem 1 over m T_c/(n-1)", lambda n: time(n, 0, 1) * (n - 1))
    startups = check.reading(
        "h + p - 1 with the best real p is of the order of D_n, also for m T_c = n^4 T_s"
    )

    def quotient(n: int) -> Number:
        pipeline = tables.theorem1(n)
        return divide(pipeline.height - 1 + sqrt(pipeline.square(1, n**4)), diameter(n))

    startups.order("start-ups over D_n", quotient)


@checks("TS.intro-transmission", memory=collectives.ALGORITHM_1)
def transmission_improves(check: ClaimCheck) -> None:
    """Check by how much Theorems 1 and 2 improve on the times of earlier broadcasts.

    Let the start-up time T_s be 0, or the transmission time m T_c be n^4 T_s. Then the broadcast of
    Sheu et al. [16] must take n times as long as Theorem 1 states, and that of Sheu et al. [17]
    log n times as long as Theorem 2 states. Constant factors are ignored.
    """
    collectives.check_sheu93(check)
    collectives.check_algorithm1(check)
    collectives.check_algorithm1(check, "one")

    def sheu93_quotient(startup: int, power: int, n: int) -> Number:
        load = (startup, n**power)
        return divide(tables.sheu93(n).least(*load), n * tables.theorem1(n).least(*load))

    def sheu95_quotient(startup: int, power: int, n: int) -> Number:
        load = (startup, n**power)
        return divide(tables.sheu95(n).least(*load), log2(n) * tables.theorem2(n).least(*load))

    for words, *load in (("T_s = 0", 0, 0), ("m T_c = n^4 T_s", 1, 4)):
        check.same_order(f"[16] over Theorem 1 over n, {words}", partial(sheu93_quotient, *load))
        check.same_order(
            f"[17] over Theorem 2 over log n, {words}", partial(sheu95_quotient, *load)
        )


@checks("TS.intro-startup", memory=collectives.ALGORITHM_1)
def startup_improves(check: ClaimCheck) -> None:
    """Check the start-ups of allgather algorithms in Table 2, and their orders of growth.

    The algorithms are the allgather on rotated Hamiltonian paths, Algorithm 2 in both port models,
    and Misic's algorithm, of which only the formula is checked.
    """
    collectives.check_hamiltonian(check)
    collectives.check_theorem3(check)
    collectives.check_theorem3(check, "one")
    measured = collectives.height(check, "rotated-hamiltonian")
    check.equal("height of the tree of Hamiltonian paths", measured, factorial(check.n - 1) + 1)
    for words in (
        "(n-1)!+1 over (n-1)!",
        "(n!-1)/(n-1) over (n-1)!",
        "D_n over n",
        "n!-1 over n!",
        "(n-1) D_n over n^2",
    ):
        check.same_order(words, tables.QUOTIENTS[words])


#: The pipelines of section 6.1, by the formula for the height of the tree.
SINGLE_TREES = {"2n-3": tables.sheu93, "D_n": tables.day}


@checks("TS.S61-nopipe", memory=collectives.ALGORITHM_1)
def time_without_pipelining(check: ClaimCheck) -> None:
    """Check the time h'(T_s + m T_c) of a broadcast without segments on a tree of height h'.

    T_s is the start-up time, and m T_c the transmission time. Also check the order of growth.
    """
    collectives.check_sheu93(check, segments=(1,))
    collectives.check_day(check, segments=(1,))
    for formula, pipeline in SINGLE_TREES.items():
        order = tables.UNSEGMENTED
        what = f"({formula})(T_s + m T_c) over {order.formula}"
        tables.check_time_order(check, what, tables.unsegmented(pipeline), order.value)


@checks("TS.S61-pipe", memory=collectives.ALGORITHM_1)
def time_with_pipelining(check: ClaimCheck) -> None:
    """Check the time (h'+p-1)(T_s + m T_c/p) of a broadcast in p segments on a tree of height h'.

    T_s is the start-up time, and m T_c the transmission time. Also check the order of growth of
    the time for the best integer p.
    """
    collectives.check_sheu93(check)
    collectives.check_day(check)
    for formula, pipeline in SINGLE_TREES.items():
        order = tables.ONE_TREE
        what = f"time with h' = {formula} over {order.formula}"
        tables.check_time_order(check, what, tables.with_best_integer(pipeline), order.value)


@checks("TS.S61-phases")
def sum_of_phases_order(check: ClaimCheck) -> None:
    """Check the closed form of the sum of ceil(log2 i), i = 2..n, and its order of growth.

    The sum is the number of phases of two one-port broadcasts that the paper cites.
    """
    check.equal("the sum, term by term", tables.sum_of_phases(check.n), tables.phases(check.n))
    check.order("the sum over n log n", lambda n: divide(tables.phases(n), n * log2(n)))


@checks("TS.S61-sheu95")
def best_segments_of_sheu95(check: ClaimCheck) -> None:
    """Check the stated number p of segments that minimizes the broadcast time of Sheu et al. [17].

    The number need not be an integer. Also check its order of growth.
    """
    tables.check_best_segments(check, Pipeline(check.n), Fraction(check.n - 1))
    check.same_order("the best p over sqrt(n m T_c/T_s)", lambda n: sqrt(divide(n - 1, n)))
