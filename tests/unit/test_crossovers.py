"""Crossovers: message sizes at which the faster algorithm changes, exact or as an interval."""

from fractions import Fraction
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from starcast.comparison import crossovers
from starcast.comparison.compare import compare
from starcast.comparison.crossovers import (
    AT,
    BEST,
    BETWEEN,
    EQUAL,
    ONE,
    ONLY,
    Crossing,
    lower_envelope,
)
from starcast.comparison.curves import Line, panels
from starcast.costs import Machine, closed_form
from starcast.experiments.execution import execute, price_run
from starcast.stores.database.models import Run
from starcast.topologies import topology
from support.experiments import make_point
from support.stored_runs import along, priced_run, side

SIZES = (10, 100, 1000)


def changes(*runs: list[Run]) -> list[Crossing]:
    """Return all crossovers between compared experiments that have these runs."""
    return crossovers.all_crossovers(
        compare([side(chr(ord("a") + place), listed) for place, listed in enumerate(runs)])
    )


def places(found: list[Crossing], choice: str) -> list[tuple[str, Fraction, Fraction, str]]:
    return [(one.how, one.low, one.high, one.below) for one in found if one.choice == choice]


def greedy(
    steps: int, rate: Fraction | int, sizes: tuple[int, ...] = SIZES, **changes: Any
) -> list[Run]:
    return along(steps, rate, sizes, algorithm="greedy", **changes)


def test_two_lines_cross_at_the_message_size_that_equates_their_times() -> None:
    """The times 1000 + 2m and 300 + 5m are equal, 4400/3, at m = 700/3. Below, greedy is faster."""
    (found,) = changes(along(10, 2, SIZES), greedy(3, 5))
    assert (found.how, found.low, found.high, found.time) == (
        AT,
        Fraction(700, 3),
        Fraction(700, 3),
        Fraction(4400, 3),
    )
    assert (found.below, found.above, found.choice, found.segments) == (
        "greedy",
        "multiple",
        ONLY,
        (1, 1),
    )
    assert found.figures == "simulated and closed form"
    assert found.place == "700/3 ≈ 233"


def test_the_order_of_the_compared_runs_does_not_change_crossovers() -> None:
    ours, theirs = along(10, 2, SIZES), greedy(3, 5)
    (one,), (other,) = changes(ours, theirs), changes(theirs, ours)
    assert (one.low, one.below, one.above) == (other.low, other.below, other.above)


@pytest.mark.parametrize("steps", [30, 0])
def test_crossovers_outside_the_stored_message_sizes_are_ignored(steps: int) -> None:
    assert changes(along(10, 2, (100, 200)), greedy(steps, 3, (100, 200))) == []


def test_parallel_and_equal_lines_do_not_cross() -> None:
    assert changes(along(10, 2, SIZES), greedy(9, 2)) == []
    assert changes(along(10, 2, SIZES), greedy(10, 2)) == []


def test_runs_with_a_single_message_size_have_no_crossover() -> None:
    assert changes(along(10, 2, (100,)), greedy(3, 5, (100,))) == []


def test_the_compared_runs_can_have_different_message_sizes() -> None:
    """Only the sizes 10 and 1000 are common."""
    (found,) = changes(along(10, 2, (5, 10, 1000)), greedy(3, 5, (10, 50, 1000, 2000)))
    assert (found.how, found.low) == (AT, Fraction(700, 3))


def test_each_machine_has_its_own_crossover() -> None:
    """The times 10 T_s + 2m T_c and 3 T_s + 5m T_c are equal at a size that depends on T_s / T_c.

    The rows also state topology, collective, ports and faults.
    """
    machines = [(Fraction(100), Fraction(1)), (Fraction(30), Fraction(1, 2))]
    ours = [
        run for t_s, t_c in machines for run in along(10, 2, SIZES, t_s=t_s, t_c=t_c, ports="one")
    ]
    theirs = [run for t_s, t_c in machines for run in greedy(3, 5, t_s=t_s, t_c=t_c, ports="one")]
    rows = crossovers.crossover_rows(changes(ours, theirs))
    assert {(row["t_s"], row["t_c"]): row["message_bytes_from"] for row in rows} == {
        (t_s, t_c): Fraction(7, 3) * t_s / t_c for t_s, t_c in machines
    }
    assert {(row["topology"], row["collective"], row["ports"], row["faults"]) for row in rows} == {
        ("S5", "broadcast", "one", "none")
    }
    assert set(rows[0]) == set(crossovers.COLUMNS)


def test_crossovers_are_found_for_each_common_segment_number_and_for_the_best() -> None:
    ours = [*along(10, 2, SIZES, segments=1), *along(20, 1, SIZES, segments=4)]
    theirs = [*greedy(3, 5, segments=1), *greedy(13, 3, segments=4)]
    found = changes(ours, theirs)
    assert places(found, ONE) == [
        (AT, Fraction(700, 3), Fraction(700, 3), "greedy"),  # 1000 + 2m = 300 + 5m
        (AT, Fraction(350), Fraction(350), "greedy"),  # 2000 + m = 1300 + 3m
    ]
    # At the crossover one segment is best: up to m = 1000 for multiple, up to 500 for greedy.
    assert places(found, BEST) == [(AT, Fraction(700, 3), Fraction(700, 3), "greedy")]
    (best,) = [one for one in found if one.choice == BEST]
    assert (best.segments, best.segments_text, best.time) == ((1, 1), "best 1", Fraction(4400, 3))


def test_crossovers_of_the_best_times_may_have_different_numbers_of_segments() -> None:
    """One segment is best for small messages, and several segments for large messages.

    The best times are min(1000 + 8m, 1600 + 2m) and, for greedy, min(1100 + 8m, 1400 + 2m).
    """
    ours = [*along(10, 8, (10, 200), segments=1), *along(16, 2, (10, 200), segments=2)]
    theirs = [*greedy(11, 8, (10, 200), segments=1), *greedy(14, 2, (10, 200), segments=3)]
    (best,) = [one for one in changes(ours, theirs) if one.choice == BEST]
    # The best times are equal where 1000 + 8m = 1400 + 2m, at m = 400/6.
    assert (best.how, best.low, best.segments, best.segments_text) == (
        AT,
        Fraction(200, 3),
        (1, 3),
        "best 1 | 3",
    )
    assert (best.below, best.above) == ("multiple", "greedy")


def test_two_crossovers_between_the_same_stored_sizes_are_found() -> None:
    """The best time of multiple, min(100m, 900 + 10m), exceeds 500 + 40m only between them."""
    ours = [*along(0, 100, (1, 100), segments=1), *along(9, 10, (1, 100), segments=2)]
    found = changes(ours, greedy(5, 40, (1, 100), segments=1))
    assert [(one.low, one.below) for one in found if one.choice == BEST] == [
        (Fraction(25, 3), "multiple"),
        (Fraction(40, 3), "greedy"),
    ]


def test_curves_that_coincide_on_an_interval_have_one_crossover_with_two_ends() -> None:
    """Two curves contain 900 + 10m.

    Below m = 10 one is faster, above m = 100 the other is faster.
    """
    ours = [*along(9, 10, (1, 1000), segments=1), *along(0, 100, (1, 1000), segments=2)]
    theirs = [*greedy(9, 10, (1, 1000), segments=1), *greedy(18, 1, (1, 1000), segments=4)]
    (best,) = [one for one in changes(ours, theirs) if one.choice == BEST]
    assert (best.how, best.low, best.high) == (EQUAL, Fraction(10), Fraction(100))
    assert best.place == "equal from 10 to 100"
    assert (best.segments, best.segments_until, best.segments_text) == (
        (2, 1),
        (1, 4),
        "best 2 | 1 to 1 | 4",
    )
    assert best.time is None


def test_if_the_best_segments_differ_at_each_size_a_crossover_is_an_interval() -> None:
    ours = [
        priced_run(10, 2, 10, segments=1),
        priced_run(12, 1, 100, segments=2),
        priced_run(14, 1, 1000, segments=3),
    ]
    theirs = [
        priced_run(3, 5, m, segments=p, algorithm="greedy")
        for m, p in ((10, 5), (100, 6), (1000, 7))
    ]
    (found,) = changes(ours, theirs)
    assert (found.how, found.low, found.high, found.below) == (
        BETWEEN,
        Fraction(100),
        Fraction(1000),
        "greedy",
    )
    assert (found.choice, found.segments, found.time, found.place) == (
        BEST,
        (2, 6),
        None,
        "between 100 and 1000",
    )
    assert (found.segments_until, found.segments_text) == ((3, 7), "best 2 | 6 to 3 | 7")


def test_best_segments_that_are_equal_at_both_ends_of_an_interval_are_named_once() -> None:
    bent = [
        priced_run(steps, 5, m, segments=3, algorithm="greedy")
        for steps, m in zip((3, 4, 5), SIZES, strict=True)
    ]
    (found,) = changes(along(10, 2, SIZES, segments=2), bent)
    assert (found.how, found.segments, found.segments_until, found.segments_text) == (
        BETWEEN,
        (2, 3),
        (2, 3),
        "2 | 3",
    )


def test_times_are_linear_between_sizes_with_the_same_best_segments() -> None:
    """At the first two sizes 2 and 5 segments are best, so the crossover between these is exact."""
    ours = [*along(10, 2, (100, 300), segments=2), *along(20, 1, (2000,), segments=3)]
    theirs = [*greedy(3, 5, (100, 300), segments=5), *greedy(20, 3, (2000,), segments=7)]
    (found,) = changes(ours, theirs)
    assert (found.how, found.low, found.time, found.segments_text) == (
        AT,
        Fraction(700, 3),
        Fraction(4400, 3),
        "best 2 | 5",
    )


def test_the_crossover_of_nonlinear_times_is_an_interval() -> None:
    """If the start-ups depend on m, the interval is between two stored message sizes."""
    bent = [
        priced_run(steps, 5, m, algorithm="greedy")
        for steps, m in zip((3, 4, 5), SIZES, strict=True)
    ]
    (found,) = changes(along(10, 2, SIZES), bent)
    assert (found.how, found.low, found.high) == (BETWEEN, Fraction(100), Fraction(1000))


def test_equal_times_at_a_stored_size_do_not_make_the_crossover_of_nonlinear_times_exact() -> None:
    bent = [
        priced_run(steps, 5, m, algorithm="greedy") for steps, m in ((3, 10), (7, 100), (3, 1000))
    ]
    ours = [priced_run(10, 2, 10), priced_run(7, 5, 100), priced_run(10, 2, 1000)]
    (found,) = changes(ours, bent)
    assert (found.how, found.low, found.high) == (BETWEEN, Fraction(10), Fraction(1000))


def test_crossovers_of_closed_forms_are_reported_separately() -> None:
    """Greedy takes 300 + 5m by simulation and 300 + 6m by its closed form."""
    found = changes(along(10, 2, SIZES), greedy(3, 5, closed=6))
    assert {one.figures: one.low for one in found} == {
        "simulated": Fraction(700, 3),
        "closed form": Fraction(175),
    }
    assert [one.figures for one in crossovers.best_crossovers(found)] == ["simulated"]


@pytest.mark.parametrize(
    "change", [{"status": "failed", "error": "early"}, {"missing": 3, "faults": ["21345"]}]
)
def test_failed_and_incomplete_runs_have_no_crossovers(change: dict[str, Any]) -> None:
    assert changes(along(10, 2, SIZES), greedy(3, 5, **change)) == []


def test_crossovers_of_all_pairs_are_sorted_by_message_size() -> None:
    found = crossovers.best_crossovers(
        changes(
            along(10, 2, SIZES), greedy(3, 5), along(6, 3, SIZES, algorithm="recursive-substar")
        )
    )
    assert [(one.low, {one.below, one.above}) for one in found] == [
        (Fraction(150), {"greedy", "recursive-substar"}),
        (Fraction(700, 3), {"greedy", "multiple"}),
        (Fraction(400), {"multiple", "recursive-substar"}),
    ]


def test_crossovers_of_the_same_algorithm_name_the_experiments() -> None:
    (found,) = changes(along(10, 2, SIZES), along(3, 5, SIZES))
    assert (found.below, found.above) == ("multiple (b)", "multiple (a)")
    assert changes(along(10, 2, SIZES), along(10, 2, SIZES)) == []


lines = st.dictionaries(
    st.integers(1, 6),
    st.builds(Line, st.integers(0, 20).map(Fraction), st.integers(0, 20).map(Fraction)),
    min_size=1,
)


@given(lines)
def test_the_lower_envelope_is_the_minimum_of_its_lines(given_lines: dict[int, Line]) -> None:
    low, high = Fraction(1, 2), Fraction(15)
    pieces = lower_envelope(given_lines, low, high)
    ends = [*(begin for begin, _ in pieces), high]
    assert ends == sorted(set(ends))
    assert ends[0] == low
    for (begin, p), end in zip(pieces, ends[1:], strict=True):
        for m in (begin, (begin + end) / 2, end):
            assert given_lines[p].at(m) == min(line.at(m) for line in given_lines.values())


@given(lines, lines)
def test_the_faster_algorithm_changes_exactly_at_crossovers(
    ours: dict[int, Line], theirs: dict[int, Line]
) -> None:
    """The oracle compares the minimum times at many message sizes."""

    def runs(lines: dict[int, Line], algorithm: str) -> list[Run]:
        return [
            priced_run(
                int(line.fixed), line.rate, m, segments=p, algorithm=algorithm, t_s=Fraction(1)
            )
            for p, line in lines.items()
            for m in (1, 16)
        ]

    found = [
        one
        for one in changes(runs(ours, "multiple"), runs(theirs, "greedy"))
        if one.choice != ONE and "simulated" in one.figures
    ]
    signs = []
    for m in (1 + Fraction(15 * place, 256) for place in range(1, 256)):
        ahead = min(line.at(m) for line in ours.values()) - min(
            line.at(m) for line in theirs.values()
        )
        if ahead:
            signs.append((m, "multiple" if ahead < 0 else "greedy"))
    for (low, below), (high, above) in pairwise(signs):
        within = [one for one in found if low <= one.low <= one.high <= high]
        assert len(within) % 2 == (below != above)
        assert all(one.below == below for one in within[:1])
    if signs:
        outside = [one for one in found if one.high < signs[0][0] or one.low > signs[-1][0]]
        assert all(
            one.low < 1 + Fraction(15, 128) or one.high > 16 - Fraction(15, 128) for one in outside
        )


def test_executed_broadcasts_cross_where_their_closed_forms_do() -> None:
    """The broadcasts on S5 have p = 4 pieces and a closed form that is linear in m.

    One takes 2n-4+p steps of m/p bytes, the other h+p-1 steps of 2m/(p(n-1)) bytes.
    """

    def runs(algorithm: str) -> list[Run]:
        points = [
            make_point("S5", "broadcast", algorithm, segments=4, message_bytes=m)
            for m in (64, 4096)
        ]
        return [price_run(point, execute(point)) for point in points]

    found = [
        one
        for one in changes(runs("multiple"), runs("recursive-substar"))
        if "closed form" in one.figures
    ]
    assert len(found) == 1
    machine, network = Machine(Fraction(100), Fraction(1)), topology("S5")
    both = [
        closed_form(network, "broadcast", name, "all", found[0].low, machine, **{share: 4}).time
        for name, share in (("multiple", "segments"), ("recursive-substar", "messages"))
    ]
    assert both[0] == both[1]


def test_curve_labels_contain_base_tree_and_copies_if_these_differ() -> None:
    runs = [
        *along(10, 2, SIZES, algorithm="edge-disjoint", copies=1),
        *along(12, 3, SIZES, algorithm="edge-disjoint", copies=2),
        *along(3, 5, SIZES, algorithm="dimension-change", base="greedy"),
        *along(4, 5, SIZES, algorithm="dimension-change", base="balanced"),
    ]
    (panel,) = panels(compare([side("all", runs)]))
    assert [curve.label for curve in panel.curves] == [
        "edge-disjoint", "edge-disjoint, 2 copies", "dimension-change of greedy",
        "dimension-change of balanced",
    ]  # fmt: skip


def test_the_curve_of_the_lower_bound_bends_between_stored_sizes() -> None:
    """The bound for one copy, max(100, m/4), bends at m = 400, but is stored only for 64 bytes."""
    single = along(3, 2, (64,), algorithm="edge-disjoint")
    double = along(3, 2, (65536,), algorithm="edge-disjoint", copies=2)
    for cost in double[0].costs:
        if cost.kind == "lower bound":
            assert cost.bytes is not None
            cost.bytes, cost.time = 2 * cost.bytes, 2 * cost.time
    (panel,) = panels(compare([side("one", single), side("two", double)]))
    expected: list[tuple[Fraction | int, ...]] = [(64, 100), (400, 100), (65536, 16384)]
    assert list(map(tuple, panel.bound_path())) == expected
