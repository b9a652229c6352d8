"""Tseng & Sheu 1997: the lower bounds of section 2, and the times of Algorithm 1 (Theorems 1 and 2)."""

from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from starcast.claims import growth
from starcast.claims.check import ClaimCheck
from starcast.claims.formulas import diameter, multiple_height
from starcast.claims.growth import sqrt
from starcast.claims.papers.tseng_sheu.closed_forms import (
    SEGMENTS,
    algorithm1,
    bound_kept,
    height,
    held_theorem1,
    held_theorem2,
    of_the_house,
    theorem1,
    theorem2,
    weight,
)
from starcast.claims.reference.bfs import distances
from starcast.claims.reference.pipelines import (
    Parameters,
    Pipeline,
    exact_time,
    greatest,
    parameters,
    slotted,
)
from starcast.claims.reference.surds import rational_sqrt
from starcast.claims.registry import check
from starcast.support.integers import ceil_div
from starcast.topologies import Topology

_SMALL = parameters()
_BOUNDED = parameters((1, 2), (0, 1, 4), (0, 1, 4))
#: m = 1, 2; T_s = 1, 2, 4, .., 1024; T_c = 1, 2.
_WIDE = parameters((1, 2), tuple(2**power for power in range(11)), (1, 2))
_WITHIN = "m = 1, 2, T_s = 1, 2, 4, .., 1024, T_c = 1, 2"


def _roots(topology: Topology) -> tuple[int, ...]:
    return (0, topology.nodes - 1)


def _rows(topology: Topology) -> int:
    """Bytes a node of all schedules that are held against a lower bound."""
    return 80 * 40 * topology.degree


def _with_others(topology: Topology) -> int:
    """Bytes a node of Algorithm 1 and of the broadcasts beside it, with 1..2 SEGMENTS segments."""
    return weight(topology) + 80 * topology.degree * SEGMENTS * (2 * SEGMENTS + 1)


def _counts(check: ClaimCheck, root: int) -> None:
    """What both lemmas count: links on a longest way, links of a node, and how often those who know can double."""
    n, topology = check.topology.n, check.topology
    label = topology.label(root)
    check.equal(
        "greatest distance from the source",
        int(distances(check.objects, topology.spec, root).max()),
        diameter(n),
        source=label,
    )
    links = set(check.objects.neighbours(topology.spec)[:, root].tolist()) - {root}
    check.equal("links of the source", len(links), n - 1, source=label)
    knowing, steps = 1, 0
    while knowing < topology.nodes:
        knowing, steps = 2 * knowing, steps + 1
    check.equal(
        "doublings until all nodes know",
        steps,
        (growth.factorial(n) - 1).bit_length(),
        source=label,
    )


@check("TS.L1", bytes_per_node=_rows)
def _lower_bound_broadcast(check: ClaimCheck) -> None:
    n = check.topology.n
    for source in _roots(check.topology):
        _counts(check, source)
    doubling = (growth.factorial(n) - 1).bit_length()
    for made in of_the_house(check, "broadcast", "all", _roots(check.topology)):
        bound_kept(check, made, _BOUNDED, diameter(n), Fraction(1, n - 1))
    for made in of_the_house(check, "broadcast", "one", _roots(check.topology)):
        bound_kept(check, made, _BOUNDED, max(diameter(n), doubling), Fraction(1))


@check("TS.L2", bytes_per_node=_rows)
def _lower_bound_allgather(check: ClaimCheck) -> None:
    n = check.topology.n
    _counts(check, 0)
    others = growth.factorial(n) - 1
    check.equal(
        "messages that a node receives",
        np.count_nonzero(distances(check.objects, check.topology.spec) > 0),
        others,
    )
    for made in of_the_house(check, "allgather", "all", (0,)):
        bound_kept(check, made, _BOUNDED, diameter(n), Fraction(others, n - 1))
    for made in of_the_house(check, "allgather", "one", (0,)):
        bound_kept(check, made, _BOUNDED, max(diameter(n), others.bit_length()), Fraction(others))


@check("TS.E3", bytes_per_node=weight)
def _equation3(check: ClaimCheck) -> None:
    n, h = check.topology.n, height(check, "multiple")
    other = check.reading(
        "with slots as long as their largest packet Algorithm 1 takes at most (3)"
    )
    for p in range(1, SEGMENTS + 1):
        made = algorithm1(check, p)
        took = check.execute(made)
        share = Fraction(2, p * (n - 1))
        stated = (h + p - 1) * (_SMALL.T_s + _SMALL.m * _SMALL.T_c * share)
        check.true("no packet is larger than the slot", took.largest_packet <= 2, p=p, of=made)
        check.equal(
            "time in slots of fixed length",
            slotted(took.steps, share, _SMALL),
            stated,
            p=p,
            of=made,
            **_SMALL.place,
        )
        other.at_most(
            "time", exact_time(took, made.units, _SMALL), stated, p=p, of=made, **_SMALL.place
        )


@check("TS.E5")
def _best_real(check: ClaimCheck) -> None:
    n, h = check.topology.n, height(check, "multiple")
    check.equal("h", h, multiple_height(n))
    line = Pipeline(h, Fraction(2, n - 1))
    for wanted in (Fraction(2) ** power for power in range(-3, 7)):
        m = wanted * wanted * (n - 1) / Fraction(2 * (h - 1))
        tried = [wanted * j / 16 for j in range(1, 65)]
        found = min(tried, key=partial(line.time, T_s=1, b=m))
        check.equal(
            "p of the least time",
            found,
            rational_sqrt(2 * m * (h - 1) / (n - 1)) or 0,
            m=str(m),
            T_s=1,
            T_c=1,
        )
    tried = [Fraction(j, 8) for j in range(1, 200)]
    for start, b in _SMALL.each():
        times = [line.time(p, start, b) for p in tried]
        square = 2 * b * (h - 1) / ((n - 1) * start)
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
            "the time falls before q and rises after it",
            np.array(falls + rises),
            T_s=str(start),
            mT_c=str(b),
        )
    check.order(
        "q over sqrt(m T_c/T_s)",
        lambda n: sqrt(growth.divided(2 * (multiple_height(n) - 1), n - 1)),
    )


def _ends_within(check: ClaimCheck, line: Pipeline, ports: str, more: Fraction | int) -> None:
    """The time of Theorem 1 or 2 against Algorithm 1 with the best whole p; ``more`` is what the best whole p may need more."""
    took = {p: check.execute(algorithm1(check, p, ports)) for p in range(1, SEGMENTS + 1)}
    stated = np.array([line.exact_least(*load) for load in _WIDE.each()], dtype=object)
    times = []
    for p, one in took.items():
        check.true("no packet is larger than the slot", one.largest_packet <= 2, p=p)
        slots = ceil_div(
            one.steps, int(line.slot)
        )  # whole slots: the sub-slots of the last one are waited for
        times.append(slotted(int(line.slot) * slots, Fraction(line.share) / p, _WIDE))
    # Beyond q the time rises with p: where q <= SEGMENTS, no p is better than those that were executed.
    known = np.array([line.square(*load) <= SEGMENTS**2 for load in _WIDE.each()])
    check.true("for some machines no larger p can help", bool(known.any()))
    _least(check, ports, np.array(times, dtype=object), stated, known)
    packets = check.reading(f"the same with slots as long as their largest packet, {_WITHIN}")
    units = check.topology.n - 1
    shorter = np.array([exact_time(one, p * units, _WIDE) for p, one in took.items()], dtype=object)
    # p > SEGMENTS needs a slot more than the last one that was executed, and at least a step of it.
    longer = _WIDE.T_s * (line.slot * (line.height + SEGMENTS - 1) + 1)
    _least(packets, ports, shorter, stated, (shorter.min(axis=0) <= stated) | (longer > stated))
    _whole_instead(check, line, more)


def _least(
    check: ClaimCheck,
    ports: str,
    times: NDArray[Any],
    stated: NDArray[Any],
    known: NDArray[np.bool_],
) -> None:
    """The least of the times with 1, 2, .. segments, where it is known to be the least over all, against what is stated."""
    here = Parameters(*(column[known] for column in _WIDE))
    best = times[:, known].argmin(axis=0) + 1
    made = algorithm1(check, 1, ports)
    check.at_most(
        "least time over whole p",
        times.min(axis=0)[known],
        stated[known],
        **here.place,
        p=best,
        of=made,
    )


def _whole_instead(check: ClaimCheck, line: Pipeline, more: Fraction | int) -> None:
    words = (
        f"p = ceil(q) takes at most {'T_s' if more == 1 else '(n-1) T_s'} longer; in slots of fixed length the stated time "
        "is reached "
        f"if and only if q is a whole number; where T_s >= 4h{'' if line.slot == 1 else '(n-1)^2'} a, the start-ups of p = "
        "1, the "
        "fewest, take longer than it by themselves"
    )
    true = check.correction(words)
    loads = list(_WIDE.each())
    least = np.array([line.exact_least(*load) for load in loads], dtype=object)
    below = [line.best_whole(*load) for load in loads]
    above = [
        next(p for p in (one, one + 1) if p * p >= line.square(*load))
        for one, load in zip(below, loads, strict=True)
    ]
    fixed = np.array(
        [line.time(p, *load) for p, load in zip(above, loads, strict=True)], dtype=object
    )
    starts = np.array([start for start, _ in loads], dtype=object)
    true.at_most(
        "time with p = ceil(q)", fixed, least + starts * more, **_WIDE.place, p=np.array(above)
    )
    reached = [line.time(p, *load) == one for p, load, one in zip(below, loads, least, strict=True)]
    q_whole = [
        (rational_sqrt(line.square(*load)) or Fraction(1, 2)).denominator == 1 for load in loads
    ]
    true.equal("the time is reached", reached, q_whole, **_WIDE.place)
    slow = np.array(
        [start >= 4 * line.height * line.slot**2 * line.share * b for start, b in loads]
    )
    start_ups = starts * (line.slot * (line.height - 1) + 1)
    true.equal(
        "the start-ups take longer", (start_ups > least)[slow], np.ones(slow.sum(), dtype=bool)
    )


@check("TS.T1.time", bytes_per_node=_with_others)
def _theorem1_time(check: ClaimCheck) -> None:
    n = check.topology.n
    check.equal("h", height(check, "multiple"), multiple_height(n))
    _ends_within(check, theorem1(n), "all", 1)
    _by_another(
        check, theorem1(n), "all", ("greedy", "segments", 1), ("edge-disjoint", "messages", n - 1)
    )


@check("TS.T2.time", bytes_per_node=_with_others)
def _theorem2_time(check: ClaimCheck) -> None:
    n = check.topology.n
    check.equal("h", height(check, "multiple"), multiple_height(n))
    _ends_within(check, theorem2(n), "one", n - 1)
    _by_another(
        check, theorem2(n), "one", ("greedy", "segments", 1), ("recursive-substar", "messages", 1)
    )
    _without_idle(check, theorem2(n))


def _by_another(
    check: ClaimCheck, line: Pipeline, ports: str, *algorithms: tuple[str, str, int]
) -> None:
    """Whether the time can be kept by a broadcast of the house at all."""
    names = " or ".join(f"`{name}`" for name, _, _ in algorithms)
    other = check.reading(f"some broadcast, Algorithm 1 or {names}, ends within it, {_WITHIN}")
    times = [
        exact_time(
            check.objects.simulation(algorithm1(check, p, ports)), p * (check.topology.n - 1), _WIDE
        )
        for p in range(1, SEGMENTS + 1)
    ]
    for name, cut, times_p in algorithms:
        for p in range(1, 2 * SEGMENTS + 1):
            made = check.objects.schedule(
                check.topology.spec, "broadcast", name, ports, **{cut: p * times_p}
            )
            times.append(exact_time(other.execute(made), made.units, _WIDE))
    stated = np.array([line.exact_least(*load) for load in _WIDE.each()], dtype=object)
    other.at_most("least time", np.array(times, dtype=object).min(axis=0), stated, **_WIDE.place)


def _without_idle(check: ClaimCheck, line: Pipeline) -> None:
    """Sub-slots in which nothing is sent left out; of more segments there are not fewer others."""
    other = check.reading(f"the same if sub-slots in which nothing is sent take no time, {_WITHIN}")
    units = check.topology.n - 1
    times, busy = [], 0
    for p in range(1, SEGMENTS + 1):
        took = check.objects.simulation(algorithm1(check, p, "one"))
        busy = int((took.links_used > 0).sum())
        carried = Fraction(int(took.packet_sizes.sum()), p * units)
        times.append(_WIDE.T_s * busy + _WIDE.m * _WIDE.T_c * carried)
    least = np.array(times, dtype=object).min(axis=0)
    stated = np.array([line.exact_least(*load) for load in _WIDE.each()], dtype=object)
    known = (least <= stated) | (_WIDE.T_s * busy > stated)
    other.at_most(
        "least time",
        least[known],
        stated[known],
        **Parameters(*(column[known] for column in _WIDE)).place,
    )


@check("TS.T1.order", bytes_per_node=weight)
def _theorem1_order(check: ClaimCheck) -> None:
    held_theorem1(check)
    check.order(
        "time with the best whole p over n T_s + sqrt(m T_s T_c) + m T_c/n",
        lambda n: greatest(
            n,
            lambda n, *load: theorem1(n).least_whole(*load),
            lambda n, start, b: n * start + sqrt(start * b) + growth.divided(b, n),
        ),
    )


@check("TS.T2.order", bytes_per_node=weight)
def _theorem2_order(check: ClaimCheck) -> None:
    held_theorem2(check)
    check.order(
        "time with the best whole p over n^2 T_s + n sqrt(m T_s T_c) + m T_c",
        lambda n: greatest(
            n,
            lambda n, *load: theorem2(n).least_whole(*load),
            lambda n, start, b: n * n * start + n * sqrt(start * b) + b,
        ),
    )
