"""Crossovers: message sizes at which the faster algorithm changes, exact or as an interval."""

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from starcast.comparison import crossovers
from starcast.comparison.compare import compare
from starcast.comparison.crossovers import ONE, Crossing, lower_envelope
from starcast.comparison.curves import Line, panels
from starcast.support.runs import Run
from support.stored_runs import along, priced_run, side

SIZES = (10, 100, 1000)


def changes(*runs: list[Run]) -> list[Crossing]:
    """Return all crossovers between experiments, each given by a list of runs."""
    return crossovers.all_crossovers(
        compare([side(chr(ord("a") + place), listed) for place, listed in enumerate(runs)])
    )


def greedy(
    steps: int, rate: Fraction | int, sizes: tuple[int, ...] = SIZES, **changes: Any
) -> list[Run]:
    return along(steps, rate, sizes, algorithm="greedy", **changes)


def bent(*points: tuple[int, int], **changes: Any) -> list[Run]:
    """Return a run of `greedy` for each pair of a number of start-ups and a message size m.

    Each run sends 5m bytes.
    """
    return [priced_run(steps, 5, m, algorithm="greedy", **changes) for steps, m in points]


#: For each case: the runs of two experiments, and their crossovers. A crossover consists of its
#: message size, the curve that is better below this size, the segments, and the common time.
CROSSOVERS: dict[str, tuple[list[Run], list[Run], list[tuple[str, str, str, Fraction | None]]]] = {
    "1000 + 2m and 300 + 5m are equal at 700/3": (
        along(10, 2, SIZES),
        greedy(3, 5),
        [("700/3 ≈ 233", "greedy", "1", Fraction(4400, 3))],
    ),
    "only the sizes 10 and 1000 are common": (
        along(10, 2, (5, 10, 1000)),
        greedy(3, 5, (10, 50, 1000, 2000)),
        [("700/3 ≈ 233", "greedy", "1", Fraction(4400, 3))],
    ),
    "the crossover is above the stored sizes": (
        along(10, 2, (100, 200)), greedy(0, 3, (100, 200)), [],
    ),
    "the crossover is below the stored sizes": (
        along(10, 2, (100, 200)), greedy(30, 3, (100, 200)), [],
    ),
    "parallel lines": (along(10, 2, SIZES), greedy(9, 2), []),
    "equal lines": (along(10, 2, SIZES), greedy(10, 2), []),
    "a single size": (along(10, 2, (100,)), greedy(3, 5, (100,)), []),
    # With 1 segment, the times 1000 + 2m and 300 + 5m are equal at m = 700/3. With 4 segments, the
    # times 2000 + m and 1300 + 3m are equal at m = 350. At these m, 1 segment is best.
    "the best and each common number of segments": (
        [*along(10, 2, SIZES, segments=1), *along(20, 1, SIZES, segments=4)],
        [*greedy(3, 5, segments=1), *greedy(13, 3, segments=4)],
        [
            ("700/3 ≈ 233", "greedy", "best 1", Fraction(4400, 3)),
            ("700/3 ≈ 233", "greedy", "1", Fraction(4400, 3)),
            ("350", "greedy", "4", Fraction(2350)),
        ],
    ),
    # The best times are min(1000 + 8m, 1600 + 2m) and, for greedy, min(1100 + 8m, 1400 + 2m). They
    # are equal if 1000 + 8m = 1400 + 2m.
    "the best numbers of segments differ": (
        [*along(10, 8, (10, 200), segments=1), *along(16, 2, (10, 200), segments=2)],
        [*greedy(11, 8, (10, 200), segments=1), *greedy(14, 2, (10, 200), segments=3)],
        [("200/3 ≈ 66.7", "multiple", "best 1 | 3", Fraction(4600, 3))],
    ),
    # The best time of multiple is min(100m, 900 + 10m). It exceeds the time of
    # greedy, 500 + 40m, only between the two crossovers.
    "two crossovers between the same stored sizes": (
        [*along(0, 100, (1, 100), segments=1), *along(9, 10, (1, 100), segments=2)],
        greedy(5, 40, (1, 100), segments=1),
        [
            ("25/3 ≈ 8.33", "multiple", "best 1", Fraction(2500, 3)),
            ("40/3 ≈ 13.3", "greedy", "best 2 | 1", Fraction(3100, 3)),
            ("25/3 ≈ 8.33", "multiple", "1", Fraction(2500, 3)),
        ],
    ),
    # Both curves contain a part of the line 900 + 10m.
    "curves that coincide from 10 to 100": (
        [*along(9, 10, (1, 1000), segments=1), *along(0, 100, (1, 1000), segments=2)],
        [*greedy(9, 10, (1, 1000), segments=1), *greedy(18, 1, (1, 1000), segments=4)],
        [("equal from 10 to 100", "multiple", "best 2 | 1 to 1 | 4", None)],
    ),
    # The best numbers of segments differ at each size, so the crossover is an interval.
    "another number of segments at each size": (
        [priced_run(steps, rate, m, segments=p)
         for steps, rate, m, p in ((10, 2, 10, 1), (12, 1, 100, 2), (14, 1, 1000, 3))],
        [priced_run(3, 5, m, segments=p, algorithm="greedy")
         for m, p in ((10, 5), (100, 6), (1000, 7))],
        [("between 100 and 1000", "greedy", "best 2 | 6 to 3 | 7", None)],
    ),
    "segments that are equal at both ends of an interval are named once": (
        along(10, 2, SIZES, segments=2),
        bent((3, 10), (4, 100), (5, 1000), segments=3),
        [("between 100 and 1000", "greedy", "2 | 3", None)],
    ),
    # At the sizes 100 and 300, 2 segments are best for multiple and 5 for greedy. Therefore, both
    # times are linear between these sizes.
    "linear between sizes with the same best segments": (
        [*along(10, 2, (100, 300), segments=2), *along(20, 1, (2000,), segments=3)],
        [*greedy(3, 5, (100, 300), segments=5), *greedy(20, 3, (2000,), segments=7)],
        [("700/3 ≈ 233", "greedy", "best 2 | 5", Fraction(4400, 3))],
    ),
    "times that are not linear": (
        along(10, 2, SIZES),
        bent((3, 10), (4, 100), (5, 1000)),
        [("between 100 and 1000", "greedy", "1", None)],
    ),
    # Equal times at the stored size 100 do not make the crossover exact.
    "times that are not linear, but equal at a stored size": (
        [priced_run(10, 2, 10), priced_run(7, 5, 100), priced_run(10, 2, 1000)],
        bent((3, 10), (7, 100), (3, 1000)),
        [("between 10 and 1000", "greedy", "1", None)],
    ),
    "failed runs": (along(10, 2, SIZES), greedy(3, 5, status="failed", error="early"), []),
    "runs with missing units": (along(10, 2, SIZES), greedy(3, 5, missing=3, faults=["21345"]), []),
    "the same algorithm": (
        along(10, 2, SIZES),
        along(3, 5, SIZES),
        [("700/3 ≈ 233", "multiple (b)", "1", Fraction(4400, 3))],
    ),
    "the same runs": (along(10, 2, SIZES), along(10, 2, SIZES), []),
}  # fmt: skip


@pytest.mark.whole
@pytest.mark.parametrize("case", CROSSOVERS)
def test_crossovers_are_exact_if_the_times_are_linear_and_intervals_otherwise(case: str) -> None:
    ours, theirs, expected = CROSSOVERS[case]
    found = changes(ours, theirs)
    shown = [(each.place, each.below, each.segments_text, each.time) for each in found]
    assert shown == expected
    assert all({each.below, each.above} == {each.first, each.second} for each in found)
    assert {each.figures for each in found} <= {"simulated and closed form"}


def test_the_order_of_the_compared_runs_does_not_change_crossovers() -> None:
    ours, theirs = along(10, 2, SIZES), greedy(3, 5)
    (one,), (other,) = changes(ours, theirs), changes(theirs, ours)
    assert one.change == other.change == (
        "at message_bytes = 700/3 ≈ 233: greedy is better below, multiple above (segments: 1)"
    )  # fmt: skip


def test_each_machine_has_its_own_crossover() -> None:
    """The times 10 T_s + 2m T_c and 3 T_s + 5m T_c are equal at a size that depends on T_s / T_c.

    Each crossover also states topology, collective, ports and faults.
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


def test_crossovers_of_closed_forms_are_reported_separately() -> None:
    """Greedy takes 300 + 5m by simulation and 300 + 6m by its closed form."""
    found = changes(along(10, 2, SIZES), greedy(3, 5, closed=6))
    assert {one.figures: one.low for one in found} == {
        "simulated": Fraction(700, 3),
        "closed form": Fraction(175),
    }
    assert [one.figures for one in crossovers.best_crossovers(found)] == ["simulated"]


def test_crossovers_of_all_pairs_are_sorted_by_message_size() -> None:
    third = along(6, 3, SIZES, algorithm="recursive-substar")
    found = crossovers.best_crossovers(changes(along(10, 2, SIZES), greedy(3, 5), third))
    assert [(one.low, {one.below, one.above}) for one in found] == [
        (Fraction(150), {"greedy", "recursive-substar"}),
        (Fraction(700, 3), {"greedy", "multiple"}),
        (Fraction(400), {"multiple", "recursive-substar"}),
    ]


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
        each = {"algorithm": algorithm, "t_s": Fraction(1)}
        return [
            run
            for p, line in lines.items()
            for run in along(int(line.fixed), line.rate, (1, 16), segments=p, **each)
        ]

    found = [
        one
        for one in changes(runs(ours, "multiple"), runs(theirs, "greedy"))
        if one.choice != ONE and "simulated" in one.figures
    ]
    signs = []
    for m in (1 + Fraction(15 * place, 256) for place in range(1, 256)):
        mine, other = (min(line.at(m) for line in lines.values()) for lines in (ours, theirs))
        if mine != other:
            signs.append((m, "multiple" if mine < other else "greedy"))
    for (low, below), (high, above) in pairwise(signs):
        within = [one for one in found if low <= one.low <= one.high <= high]
        assert len(within) % 2 == (below != above)
        assert all(one.below == below for one in within[:1])
    if signs:
        outside = [one for one in found if one.high < signs[0][0] or one.low > signs[-1][0]]
        assert all(
            one.low < 1 + Fraction(15, 128) or one.high > 16 - Fraction(15, 128) for one in outside
        )


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
    """The bound for one copy is max(100, m/4), so it bends at m = 400.

    This bound is stored for 64 bytes. For 65536 bytes, only the bound for two copies is stored.
    """
    single = along(3, 2, (64,), algorithm="edge-disjoint")
    (double,) = along(3, 2, (65536,), algorithm="edge-disjoint", copies=2)
    *costs, bound = double.costs
    twice = replace(bound, bytes=Fraction(32768), time=Fraction(32768))
    double = replace(double, costs=(*costs, twice))
    (panel,) = panels(compare([side("one", single), side("two", [double])]))
    expected: list[tuple[Fraction | int, ...]] = [(64, 100), (400, 100), (65536, 16384)]
    assert list(map(tuple, panel.bound_path())) == expected
