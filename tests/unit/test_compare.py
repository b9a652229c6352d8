"""Comparison of runs: matching, judging, what is shown, what is flagged and why."""

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from starcast.errors import InputError, NotFoundError
from starcast.runs.compare import BETTER, NOT_COMPARABLE, SAME, WORSE, compare, gap
from starcast.runs.execution import execute, priced
from starcast.runs.grid import Point
from starcast.runs.matching import PARAMETERS, Side
from starcast.runs.models import Cost, Run


def run(time: Fraction | int | None = 10, bound: Fraction | int = 5, steps: int = 3, **changes: Any) -> Run:
    """A run of S5 broadcast multiple with these figures, unless told otherwise."""
    point = {
        "topology": "S5", "collective": "broadcast", "algorithm": "multiple", "ports": "all", "p": 1, "M": 1,
        "m": Fraction(64), "T_s": Fraction(100), "T_c": Fraction(1), "copies": 1, "tree": None, "faults": [], "seed": 0,
        "missing": 0, "status": "complete", "provenance": {}, **changes,
    }  # fmt: skip
    costs = []
    if time is not None:
        costs = [
            Cost(kind="simulated", steps=steps, start_ups=Fraction(steps), bytes=Fraction(1), transmissions=9, time=time),
            Cost(kind="lower bound", time=Fraction(bound)),
        ]
    return Run(costs=costs, **point)


def side(name: str, *runs: Run) -> Side:
    return Side(name, runs, (f"starcast experiment run {name}",))


def verdicts(*sides: Side, everything: bool = True) -> list[str]:
    return [row["verdict"] for row in compare(sides).rows(everything=everything)]


def test_a_shorter_time_is_better_and_the_change_has_a_sign() -> None:
    for after, change, percent, verdict in ((5, -5, -50.0, BETTER), (15, 5, 50.0, WORSE), (10, 0, 0.0, SAME)):
        (row,) = compare([side("a", run(10)), side("b", run(after))]).rows(everything=True)
        assert (row["change"], row["change %"], row["verdict"]) == (change, percent, verdict)


def test_changes_are_exact_and_without_a_percentage_where_the_baseline_is_zero() -> None:
    (row,) = compare([side("a", run(Fraction(1, 3))), side("b", run(Fraction(1, 7)))]).rows()
    assert row["change"] == Fraction(1, 7) - Fraction(1, 3)
    (row,) = compare([side("a", run(0)), side("b", run(1))]).rows()
    assert (row["change"], row["change %"], row["verdict"]) == (1, None, WORSE)


def test_the_gap_is_time_over_lower_bound_for_each_side() -> None:
    (row,) = compare([side("a", run(10, bound=4)), side("b", run(3, bound=3))]).rows()
    assert (row["gap a"], row["gap b"]) == (Fraction(5, 2), 1)
    assert gap(run(10, bound=0)) is None
    assert gap(None) is None


def test_algorithms_are_what_differs_where_the_sides_have_none_in_common() -> None:
    comparison = compare([
        side("ours", run(10, p=1), run(9, p=4)),
        side("theirs", run(12, p=1, algorithm="greedy"), run(8, p=4, algorithm="greedy")),
    ])  # fmt: skip
    rows = comparison.rows()
    assert [(row["p"], row["time ours"], row["time theirs"], row["verdict"]) for row in rows] == [
        (1, 10, 12, WORSE),
        (4, 9, 8, BETTER),
    ]
    assert comparison.columns()[0] == "p"
    assert comparison.shared()["algorithm"] == "multiple | greedy"


def test_algorithms_are_matched_where_the_sides_have_them_in_common() -> None:
    before = side("before", run(10), run(20, algorithm="greedy"))
    after = side("after", run(30, algorithm="greedy"), run(5))
    rows = compare([before, after]).rows()
    assert [(row["algorithm"], row["verdict"]) for row in rows] == [("greedy", WORSE), ("multiple", BETTER)]


def test_one_run_each_may_differ_in_the_number_of_segments() -> None:
    (row,) = compare([side("a", run(10, p=1)), side("b", run(8, p=4))]).rows()
    assert (row["p"], row["verdict"]) == ("1 | 4", BETTER)


def test_a_number_of_segments_that_only_one_side_has_is_flagged_not_guessed() -> None:
    rows = compare([side("a", run(10, p=1), run(9, p=4)), side("b", run(10, p=1), run(7, p=2))]).rows()
    assert [(row["p"], row["verdict"], row["note"]) for row in rows] == [
        (2, NOT_COMPARABLE, "a has no run with p = 2"),
        (4, NOT_COMPARABLE, "b has no run with p = 4"),
    ]
    assert all(row["change"] is None for row in rows)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"topology": "S6"}, "different topology (S5, S6)"),
        ({"collective": "scatter"}, "different collective (broadcast, scatter)"),
        ({"ports": "one"}, "different ports (all, one)"),
        ({"m": Fraction(23, 3)}, "different m (64, 23/3)"),
        ({"T_s": Fraction(1)}, "different T_s (100, 1)"),
        ({"T_c": Fraction(2)}, "different T_c (1, 2)"),
        ({"topology": "S6", "ports": "one"}, "different topology (S5, S6), ports (all, one)"),
    ],
)
def test_another_question_is_flagged_with_what_differs_and_not_compared(change: dict[str, Any], reason: str) -> None:
    (row,) = compare([side("a", run(10)), side("b", run(5, **change))]).rows()
    assert (row["verdict"], row["note"], row["change"], row["change %"]) == (NOT_COMPARABLE, reason, None, None)
    assert (row["time a"], row["time b"]) == (10, 5)


def test_a_failed_run_is_flagged_with_its_reason_on_either_side() -> None:
    failed = run(None, status="failed", error="step 1: too early")
    for sides, name in (((side("a", run()), side("b", failed)), "b"), ((side("a", failed), side("b", run())), "a")):
        (row,) = compare(sides).rows()
        assert (row["verdict"], row["note"]) == (NOT_COMPARABLE, f"{name} failed: step 1: too early")


def test_an_empty_side_is_flagged() -> None:
    (row,) = compare([side("a", run()), side("b")]).rows()
    assert (row["verdict"], row["note"]) == (NOT_COMPARABLE, "b has no runs")


def test_an_experiment_against_itself_has_nothing_to_show_unless_all_is_asked_for() -> None:
    one = side("a", run(10), run(9, p=2))
    comparison = compare([one, one])
    assert comparison.rows() == []
    assert [each.name for each in comparison.sides] == ["a", "a (2)"]
    assert "p" not in comparison.shared()
    assert [row["verdict"] for row in comparison.rows(everything=True)] == [SAME, SAME]


def test_rows_that_do_not_differ_are_left_out_by_default() -> None:
    a, b = side("a", run(10, p=1), run(9, p=2)), side("b", run(10, p=1), run(8, p=2))
    assert [row["p"] for row in compare([a, b]).rows()] == [2]
    assert [row["p"] for row in compare([a, b]).rows(everything=True)] == [1, 2]


def test_only_columns_that_differ_are_shown_by_default_and_all_when_asked() -> None:
    comparison = compare([side("a", run(10, p=1), run(9, p=2)), side("b", run(7, p=1), run(8, p=2))])
    assert comparison.columns() == ["p", "time a", "time b", "change", "change %", "verdict", "gap a", "gap b"]
    everything = comparison.columns(everything=True)
    assert set(everything) > {*PARAMETERS, "steps a", "transmissions b", "bytes a", "start_ups b"}
    assert set(comparison.rows()[0]) >= set(everything)
    steps = compare([side("a", run(10, steps=3)), side("b", run(9, steps=2))])
    assert steps.columns()[:2] == ["steps a", "steps b"]


def test_three_sides_are_each_compared_with_the_baseline() -> None:
    comparison = compare([side("a", run(10)), side("b", run(5)), side("c", run(20))])
    (row,) = comparison.rows()
    assert (row["change b"], row["verdict b"], row["change c"], row["verdict c"]) == (-5, BETTER, 10, WORSE)
    assert {"change b", "change c"} < set(comparison.columns())


def test_a_narrow_table_calls_the_sides_by_letters_and_says_the_same() -> None:
    comparison = compare([side("multiple-S5", run(10)), side("recursive-S5", run(5)), side("greedy-S5", run(None))])
    (row,), (full,) = comparison.lettered().rows(), comparison.rows()
    assert (row["time A"], row["time B"], row["verdict B"]) == (10, 5, BETTER)
    assert (row.pop("best"), full.pop("best")) == ("B", "recursive-S5")
    assert list(row.values()) == list(full.values())


def test_the_baseline_may_be_any_side_by_name_or_number() -> None:
    sides = [side("a", run(10)), side("run 17", run(5))]
    for baseline in ("run 17", "17"):
        comparison = compare(sides, baseline)
        assert [each.name for each in comparison.sides] == ["run 17", "a"]
        assert comparison.rows()[0]["verdict"] == WORSE
    with pytest.raises(NotFoundError, match="'d' is not compared"):
        compare(sides, "d")


def test_one_experiment_with_several_algorithms_is_taken_apart() -> None:
    comparison = compare([side("sweep", run(10), run(8, algorithm="greedy"))])
    assert [each.name for each in comparison.sides] == ["sweep/multiple", "sweep/greedy"]
    assert comparison.rows()[0]["verdict"] == BETTER


@pytest.mark.parametrize("sides", [[], [side("a", run())], [side("a")]])
def test_a_single_algorithm_alone_leaves_nothing_to_compare(sides: list[Side]) -> None:
    with pytest.raises(InputError, match="nothing to compare"):
        compare(sides)


def test_rows_ascend_by_size_of_topology_then_by_m_and_p() -> None:
    runs = [run(m=Fraction(2), topology="S10"), run(m=Fraction(10), topology="S9"), run(m=Fraction(9), topology="S9")]
    rows = compare([side("a", *runs), side("b", *runs)]).rows(everything=True)
    assert [(row["topology"], row["m"]) for row in rows] == [("S9", 9), ("S9", 10), ("S10", 2)]


def test_runs_from_different_code_are_told() -> None:
    old = {"version": "0.1.0", "revision": "a" * 40, "dirty": False}
    new = {"version": "0.2.0", "revision": None, "dirty": True}
    comparison = compare([side("a", run(provenance=old)), side("b", run(provenance=new))])
    assert comparison.sources() == [f"0.1.0 {'a' * 12}", "0.2.0 with changes"]


points = st.builds(
    lambda **axes: axes,
    topology=st.sampled_from(["S4", "S5"]),
    ports=st.sampled_from(["all", "one"]),
    p=st.integers(1, 3),
    m=st.sampled_from([Fraction(1), Fraction(2)]),
    algorithm=st.sampled_from(["greedy", "multiple"]),
)
sets_of_runs = st.lists(points, max_size=8, unique_by=lambda axes: tuple(axes.items())).map(
    lambda chosen: [run(**axes) for axes in chosen]
)


@given(sets_of_runs, sets_of_runs)
def test_every_run_is_in_some_row_and_a_verdict_needs_the_same_question(ours: list[Run], theirs: list[Run]) -> None:
    comparison = compare([side("a", *ours), side("b", *theirs)])
    shown = {id(one) for match in comparison.matches for one in match.runs if one is not None}
    assert shown == {id(one) for one in [*ours, *theirs]}
    for match, row in zip(comparison.matches, comparison.rows(everything=True), strict=True):
        one, other = match.runs
        alike = one and other and (one.topology, one.ports, one.m) == (other.topology, other.ports, other.m)
        assert (row["verdict"] != NOT_COMPARABLE) == bool(alike)
        assert (row["note"] is None) == bool(alike)


def test_real_runs_compare_as_their_papers_say() -> None:
    """At one packet the 2n-3 steps of Sheu, Liaw & Chen carry whole messages; many segments favour the n-1 trees."""

    def runs(algorithm: str) -> list[Run]:
        axes = ("S5", "broadcast", algorithm, "all")
        points = [Point(*axes, p, Fraction(65536), Fraction(100), Fraction(1)) for p in (1, 16)]
        return [priced(point, execute(point)) for point in points]

    rows = compare([side("multiple", *runs("multiple")), side("substar", *runs("recursive-substar"))]).rows()
    assert [(row["p"], row["steps substar"], row["verdict"]) for row in rows] == [(1, 7, WORSE), (16, 22, WORSE)]
    assert rows[0]["time substar"] == 7 * (100 + 65536)
