"""Comparison of runs: which runs are matched, which verdicts follow, and which columns are shown.

A side is one of the compared experiments, or the runs of one algorithm in an experiment.
"""

from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from starcast.comparison import presentation
from starcast.comparison.compare import BETTER, NOT_COMPARABLE, SAME, WORSE, Comparison, compare
from starcast.comparison.listing import cost_rows
from starcast.comparison.matching import PARAMETERS, Side, gap
from starcast.comparison.presentation import MAX_ABREAST, describe_pairing, lay_out
from starcast.experiments.execution import execute, price_run
from starcast.support.errors import InputError, NotFoundError
from starcast.support.runs import Run
from starcast.support.text import letter
from support.experiments import make_point
from support.stored_runs import bare_run, cells, invented_cost


def run(
    time: Fraction | int | None = 10, bound: Fraction | int = 5, steps: int = 3, **changes: Any
) -> Run:
    """Return a run with this time (None: no costs), bound and steps; ``changes`` set the others."""
    priced = bare_run(**changes)
    if time is not None:
        counts = {"steps": steps, "start_ups": Fraction(steps), "transmissions": 9}
        simulated = invented_cost("simulated", Fraction(time), bytes=Fraction(1), **counts)
        return replace(priced, costs=(simulated, invented_cost("lower bound", Fraction(bound))))
    return priced


#: Column values of a run with one fault.
FAULTY: dict[str, Any] = {"faults": ["21345"], "seed": 1}


def side(name: str, *runs: Run) -> Side:
    return Side(name, runs)


def pair(ours: Run | Iterable[Run], theirs: Run | Iterable[Run], **options: Any) -> Comparison:
    """Compare experiment ``a`` with experiment ``b``. Each is given by one or several runs."""
    sides = [
        side(name, *([runs] if isinstance(runs, Run) else runs))
        for name, runs in (("a", ours), ("b", theirs))
    ]
    return compare(sides, **options)


def test_a_run_with_a_shorter_time_is_better_and_has_a_negative_change() -> None:
    for after, change, percent, verdict in (
        (5, -5, -50.0, BETTER), (15, 5, 50.0, WORSE), (10, 0, 0.0, SAME),
    ):  # fmt: skip
        (row,) = pair(run(10), run(after)).complete.rows()
        assert (row["change"], row["change_percent"], row["verdict"]) == (change, percent, verdict)


def test_the_change_of_a_time_is_exact_and_has_no_percentage_if_the_baseline_is_zero() -> None:
    (row,) = pair(run(Fraction(1, 3)), run(Fraction(1, 7))).rows()
    assert row["change"] == Fraction(1, 7) - Fraction(1, 3)
    (row,) = pair(run(0), run(1)).rows()
    assert (row["change"], row["change_percent"], row["verdict"]) == (1, None, WORSE)


def test_a_run_that_does_not_deliver_all_units_has_no_gap() -> None:
    assert gap(None) is gap(run(10, bound=0)) is gap(run(10, bound=4, missing=1, **FAULTY)) is None
    link: dict[str, Any] = {"faults": ["12345-21345"], "seed": 1}
    assert gap(run(10, bound=4, **link)) == Fraction(5, 2)
    comparison = pair(run(10, **link), run(5, missing=23, **link))
    (row,) = comparison.rows()
    assert (row["gap_a"], row["gap_b"]) == (2, None)
    assert [line["gap"] for line in lay_out(comparison, stacked=True).rows] == [2, None]


def test_a_run_with_a_faulty_node_has_no_gap_because_the_bound_is_for_all_nodes() -> None:
    faulty = run(10, bound=12, **FAULTY)
    assert gap(faulty) is None
    assert [row["gap"] for row in cost_rows(faulty) if row["cost"] == "simulated"] == [None]


def test_a_comparison_row_with_a_single_run_is_not_comparable() -> None:
    """Only side c has a run for message size 2.

    The note on the missing baseline run appears once.
    """
    sides = [
        side("a", run(10)),
        side("b", run(5)),
        side("c", run(5), run(6, message_bytes=Fraction(2))),
    ]
    comparison = compare(sides)
    lonely = next(row for row in comparison.rows() if row["message_bytes"] == 2)
    assert (lonely["verdict_b"], lonely["verdict_c"]) == (None, NOT_COMPARABLE)
    assert lonely["note"] == "a has no run with message_bytes = 2"
    (b, c) = presentation.summarize(comparison)[1:]
    assert (b[BETTER], b[NOT_COMPARABLE], c[BETTER], c[NOT_COMPARABLE]) == (1, 0, 1, 1)
    lines = [
        line["verdict"]
        for line in lay_out(comparison, stacked=True).rows
        if line["message_bytes"] == 2
    ]
    assert lines == ["baseline", None, NOT_COMPARABLE]


#: For each case: the runs of the two sides, some columns of the complete comparison, and the values
#: of these columns.
MATCHED: dict[str, tuple[list[Run], list[Run], str, list[tuple[Any, ...]]]] = {
    "runs of the same algorithm if both sides have it": (
        [run(10), run(20, algorithm="greedy")], [run(30, algorithm="greedy"), run(5)],
        "algorithm verdict", [("greedy", WORSE), ("multiple", BETTER)],
    ),
    "runs of different algorithms if the sides have no common algorithm": (
        [run(10, segments=1), run(9, segments=4)],
        [run(12, segments=1, algorithm="greedy"), run(8, segments=4, algorithm="greedy")],
        "segments time_a time_b verdict", [(1, 10, 12, WORSE), (4, 9, 8, BETTER)],
    ),
    "different numbers of segments if each side has a single run": (
        [run(10, segments=1)], [run(8, segments=4)], "segments verdict", [("1 | 4", BETTER)],
    ),
    "only the fastest of the runs with segments that the other side lacks": (
        [run(20 - p, segments=p) for p in (1, 2, 4)], [run(10 - p, segments=p) for p in (1, 3, 5)],
        "segments", [(1,), (2,), (3,), ("4 | 5",)],
    ),
    # Matching 7 segments with 7, and 5 with 5, would pair different algorithms.
    "segments only between runs of the same algorithm": (
        [run(10, segments=7), run(20, segments=5, algorithm="greedy")],
        [run(9, segments=5), run(21, segments=7, algorithm="greedy")],
        "algorithm segments verdict", [("greedy", "5 | 7", WORSE), ("multiple", "7 | 5", BETTER)],
    ),
    "different copies": (
        [run(10, copies=1)], [run(5, copies=2)], "copies verdict note", [("1 | 2", BETTER, None)],
    ),
    "no base with a base": (
        [run(10)], [run(5, base="greedy")], "base verdict note", [("- | greedy", BETTER, None)],
    ),
    "the same copies": (
        [run(10, copies=1), run(20, copies=2)], [run(30, copies=2), run(5, copies=1)],
        "copies verdict", [(1, BETTER), (2, WORSE)],
    ),
    "the same base or none": (
        [run(10), run(20, base="greedy")], [run(30, base="greedy"), run(5)],
        "base verdict", [(None, BETTER), ("greedy", WORSE)],
    ),
    "the best numbers of segments on the same topology": (
        [run(20 - p, topology=f"S{n}", segments=p) for n, p in ((4, 1), (4, 6), (5, 1), (5, 7))],
        [run(20 - p, topology=f"S{n}", segments=p) for n, p in ((4, 1), (4, 7), (5, 1), (5, 6))],
        "topology segments note",
        [("S4", 1, None), ("S4", "6 | 7", None), ("S5", 1, None), ("S5", "7 | 6", None)],
    ),
    "pairs with the fewest differences if the problems differ": (
        [run(message_bytes=Fraction(m)) for m in (8, 64, 512)],
        [run(message_bytes=Fraction(m), t_s=Fraction(1)) for m in (512, 8, 64)],
        "message_bytes note", [(m, "different t_s (100, 1)") for m in (8, 64, 512)],
    ),
    "rows by topology size, then message size": (
        [run(message_bytes=Fraction(m), topology=f"S{n}") for m, n in ((2, 10), (10, 9), (9, 9))],
        [run(message_bytes=Fraction(m), topology=f"S{n}") for m, n in ((2, 10), (10, 9), (9, 9))],
        "topology message_bytes", [("S9", 9), ("S9", 10), ("S10", 2)],
    ),
    "faults in any order": (
        [run(10, faults=["12354", "21345"], seed=1)], [run(5, faults=["21345", "12354"], seed=1)],
        "faults verdict", [("12354 21345", BETTER)],
    ),
    # The command that repeats a run with drawn faults names these faults, without the seed.
    "faults drawn with a seed with the same faults given by name": (
        [run(10, **FAULTY)], [run(10, **{**FAULTY, "seed": 0})], "verdict note", [(SAME, None)],
    ),
    "a small change, which is not rounded to zero per cent": (
        [run(2736)], [run(2736 + Fraction(4, 3))],
        "change_percent verdict", [(0.0487, WORSE)],
    ),
}  # fmt: skip


@pytest.mark.whole
@pytest.mark.parametrize("case", MATCHED)
def test_runs_of_two_experiments_are_matched(case: str) -> None:
    ours, theirs, columns, expected = MATCHED[case]
    assert cells(pair(ours, theirs).complete.rows(), *columns.split()) == expected


def test_a_number_of_segments_that_only_one_side_has_is_reported_and_not_matched() -> None:
    few, many = (
        side("few", run(10, segments=1)),
        side("many", run(10, segments=1), run(9, segments=4), run(7, segments=2)),
    )
    for sides in ((few, many), (many, few)):
        rows = compare(sides).rows()
        assert cells(rows, "segments", "verdict", "note") == [
            (2, NOT_COMPARABLE, "few has no run with segments = 2"),
            (4, NOT_COMPARABLE, "few has no run with segments = 4"),
        ]
        assert all(row["change"] is None for row in rows)


def test_by_default_runs_are_matched_by_their_number_of_message_pieces() -> None:
    """On S5, p segments are 4p pieces of the message for `multiple`, and p for `edge-disjoint`."""
    sides = [
        side(algorithm, *(
            price_run(point, execute(point))
            for p in (1, 4)
            for point in [make_point("S5", "broadcast", algorithm, segments=p, message_bytes=64)]
        ))
        for algorithm in ("multiple", "edge-disjoint")
    ]  # fmt: skip
    comparison = compare(sides)
    rule = "runs with equal message_units (the pieces of a message), or the fastest of each side's"
    assert describe_pairing(comparison) == f"a row compares {rule} other runs"
    pairs = {(row["message_units"], row["segments"]) for row in comparison.complete.rows()}
    assert pairs == {(4, "1 | 4"), ("16 | 1", "4 | 1")}
    by_segments = compare(sides, by="segments")
    assert describe_pairing(by_segments) == "a row compares runs with equal segments"
    rows = by_segments.complete.rows()
    assert cells(rows, "segments", "message_units") == [(1, "4 | 1"), (4, "16 | 4")]


def test_a_run_is_matched_across_topologies_only_if_the_other_side_lacks_its_topology() -> None:
    """Both sides have runs on S5 and S6. Only one side has runs on S4, and only the other on S7."""
    ours = [run(10, topology=f"S{n}", segments=p) for n, p in ((5, 1), (5, 4), (6, 1), (4, 1))]
    theirs = [run(8, topology=f"S{n}", segments=p) for n, p in ((5, 1), (6, 1), (6, 4), (7, 1))]
    comparison = pair(ours, theirs)
    notes = {(row["topology"], row["segments"]): row["note"] for row in comparison.rows()}
    assert notes == {
        ("S4 | S7", 1): "different topology (S4, S7)",
        ("S5", 1): None,
        ("S5", 4): "b has no run with segments = 4",
        ("S6", 1): None,
        ("S6", 4): "a has no run with segments = 4",
    }
    assert comparison.blocking_axes() == ["topology"]
    assert pair(ours[:3], theirs[:3]).blocking_axes() == []


@pytest.mark.whole
@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"topology": "S6"}, "different topology (S5, S6)"),
        ({"collective": "scatter"}, "different collective (broadcast, scatter)"),
        ({"ports": "one"}, "different ports (all, one)"),
        ({"message_bytes": Fraction(23, 3)}, "different message_bytes (64, 23/3)"),
        ({"t_s": Fraction(1)}, "different t_s (100, 1)"),
        ({"t_c": Fraction(2)}, "different t_c (1, 2)"),
        ({"topology": "S6", "ports": "one"}, "different topology (S5, S6), ports (all, one)"),
        ({"faults": ["21345"], "seed": 3}, "different faults (none, 21345)"),
        ({"faults": ["21345-12345", "12354"]}, "different faults (none, 12354 21345-12345)"),
    ],
)
def test_runs_of_different_problems_are_not_compared_and_the_difference_is_reported(
    change: dict[str, Any], reason: str
) -> None:
    (row,) = pair(run(10), run(5, **change)).rows()
    assert (row["verdict"], row["note"]) == (NOT_COMPARABLE, reason)
    assert row["change"] is row["change_percent"] is None
    assert (row["time_a"], row["time_b"]) == (10, 5)


@pytest.mark.parametrize(
    ("bad", "note", "missing"),
    [
        (run(None, status="failed", error="step 1: early"), "failed: step 1: early", None),
        (
            run(5, missing=23, **FAULTY),
            "does not deliver all units under its faults (23 missing)",
            23,
        ),
    ],
)
def test_a_run_that_failed_or_does_not_deliver_all_units_is_reported(
    bad: Run, note: str, missing: int | None
) -> None:
    good = run(15, faults=bad.faults, seed=bad.seed)
    for name, ours, theirs in (("b", good, bad), ("a", bad, good)):
        (row,) = pair(ours, theirs).rows()
        assert (row["verdict"], row["best"]) == (NOT_COMPARABLE, None)
        assert row["note"] == f"{name} {note}"
        assert row.get(f"missing_{name}") == missing


def test_an_experiment_compared_with_itself_has_no_rows_by_default() -> None:
    one = side("a", run(10), run(9, segments=2))
    comparison = compare([one, one])
    assert comparison.rows() == []
    assert [each.name for each in comparison.sides] == ["a", "a (2)"]
    assert "segments" not in comparison.shared_parameters()
    assert [row["verdict"] for row in comparison.complete.rows()] == [SAME, SAME]


def test_comparisons_omit_columns_with_equal_values_by_default() -> None:
    comparison = pair(
        [run(10, segments=1), run(9, segments=2)],
        [run(7, segments=1, algorithm="greedy"), run(8, segments=2, algorithm="greedy")],
    )
    assert comparison.shared_parameters()["algorithm"] == "multiple | greedy"
    shown = "segments time_a time_b change change_percent verdict gap_a gap_b"
    assert comparison.columns() == shown.split()
    everything = comparison.complete.columns()
    assert set(everything) > {*PARAMETERS, "steps_a", "transmissions_b", "bytes_a", "start_ups_b"}
    assert set(comparison.rows()[0]) >= set(everything)
    steps = pair(run(10, steps=3), run(9, steps=2))
    assert steps.columns()[:2] == ["steps_a", "steps_b"]


def test_in_a_narrow_table_letters_stand_for_the_experiments() -> None:
    comparison = compare(
        [side("multiple-S5", run(10)), side("recursive-S5", run(5)), side("greedy-S5", run(None))]
    )
    (row,), (full,) = comparison.with_letters().rows(), comparison.rows()
    assert (row["time_A"], row["time_B"], row["verdict_B"]) == (10, 5, BETTER)
    assert (row.pop("best"), full.pop("best")) == ("B", "recursive-S5")
    assert list(row.values()) == list(full.values())


def test_the_baseline_may_be_any_experiment_given_by_name_or_number() -> None:
    sides = [side("a", run(10)), side("run 17", run(5))]
    for baseline in ("run 17", "17"):
        comparison = compare(sides, baseline)
        assert [each.name for each in comparison.sides] == ["run 17", "a"]
        assert comparison.rows()[0]["verdict"] == WORSE
    with pytest.raises(NotFoundError, match="baseline 'd' is not part"):
        compare(sides, "d")


@pytest.mark.parametrize("sides", [[], [side("a", run())], [side("a")]])
def test_a_comparison_of_fewer_than_two_sides_is_refused(sides: list[Side]) -> None:
    with pytest.raises(InputError, match="nothing to compare"):
        compare(sides)


def test_the_versions_of_starcast_that_computed_the_runs_are_listed() -> None:
    old = {"version": "0.1.0", "revision": "a" * 40, "dirty": False}
    new = {"version": "0.2.0", "revision": None, "dirty": True}
    comparison = pair(run(provenance=old), run(provenance=new))
    assert comparison.sources() == [f"0.1.0 {'a' * 12}", "0.2.0 with changes"]


points = st.builds(
    lambda **axes: axes,
    topology=st.sampled_from(["S4", "S5"]),
    ports=st.sampled_from(["all", "one"]),
    segments=st.integers(1, 3),
    message_bytes=st.sampled_from([Fraction(1), Fraction(2)]),
    algorithm=st.sampled_from(["greedy", "multiple"]),
)
sets_of_runs = st.lists(points, max_size=8, unique_by=lambda axes: tuple(axes.items())).map(
    lambda chosen: [run(**axes) for axes in chosen]
)


@given(sets_of_runs, sets_of_runs)
def test_every_run_is_in_a_row_and_only_runs_of_the_same_problem_have_a_verdict(
    ours: list[Run], theirs: list[Run]
) -> None:
    """In this test, a problem consists of a topology, a port model and a message size."""
    comparison = pair(ours, theirs)
    shown = {id(one) for match in comparison.matches for one in match.runs if one is not None}
    assert shown == {id(one) for one in [*ours, *theirs]}
    for match, row in zip(comparison.matches, comparison.complete.rows(), strict=True):
        problems = {one and (one.topology, one.ports, one.message_bytes) for one in match.runs}
        alike = len(problems) == 1
        assert (row["verdict"] != NOT_COMPARABLE) == alike
        assert (row["note"] is None) == alike


def test_runs_whose_seeds_draw_the_same_faults_share_a_row_if_their_results_agree() -> None:
    ours, theirs = ([run(time, faults=["21345"], seed=seed) for seed in (1, 2)] for time in (10, 5))
    assert len(pair(ours, theirs).rows()) == 1
    assert len(pair(ours, [theirs[0], run(6, faults=["21345"], seed=2)]).rows()) == 2


def test_missing_units_are_shown_only_for_runs_with_faults() -> None:
    without = pair(run(10), run(5))
    assert not any("missing" in name for name in without.complete.columns())
    same = pair(run(10, **FAULTY), run(5, **FAULTY))
    assert "missing_a" in same.complete.columns()
    assert "missing_a" not in same.columns()
    unlike = pair(run(10, missing=4, **FAULTY), run(10, **FAULTY))
    assert {"missing_a", "missing_b"} < set(unlike.columns())


def test_the_best_experiments_are_those_with_the_smallest_comparable_time() -> None:
    row = compare(
        [side("a", run(10)), side("b", run(5)), side("c", run(1, ports="one")), side("d", run(5))]
    ).rows()[0]
    assert row["best"] == "b, d"
    assert pair(run(10), run(10)).complete.rows()[0]["best"] is None


def sizes_by(comparison: Comparison, column: str) -> list[Fraction]:
    """Return the message sizes of the rows, sorted by a column."""
    return [row["message_bytes"] for row in comparison.sorted_by(column).rows()]


def test_comparison_rows_are_sorted_by_a_column_with_empty_cells_last() -> None:
    comparison = pair(
        [run(time, message_bytes=Fraction(m)) for m, time in ((1, 30), (2, 10), (4, 20))],
        [run(time, message_bytes=Fraction(m)) for m, time in ((1, 31), (2, 5))],
    )
    assert sizes_by(comparison, "time_a") == [2, 4, 1]
    assert sizes_by(comparison, "-time_a") == [1, 4, 2]
    assert sizes_by(comparison, "time_b") == sizes_by(comparison, "time_B") == [2, 1, 4]
    assert sizes_by(comparison, "-time_b") == sizes_by(comparison, "-change") == [1, 2, 4]
    assert [row["best"] for row in comparison.sorted_by("-best").rows()] == ["b", "a", None]


def test_sorting_comparison_rows_by_a_quantity_uses_the_smallest_value_in_each_row() -> None:
    times = {
        "greedy": {1: 30, 2: 10, 4: 20},
        "multiple": {1: 31, 2: 20, 4: 7},
        "edge-disjoint": {1: 5, 2: 40, 4: 8},
    }
    comparison = compare([
        side(f"sweep/{name}", *(run(t, bound=m, message_bytes=Fraction(m)) for m, t in row.items()))
        for name, row in times.items()
    ])  # fmt: skip
    for column in ("time", "change", "change_percent"):
        assert sizes_by(comparison, column) == [1, 4, 2]
    assert sizes_by(comparison, "-time") == [2, 4, 1]
    assert sizes_by(comparison, "gap") == [4, 1, 2]
    short, full = map(comparison.sorted_by, ("time_multiple", "time_sweep_multiple"))
    assert short.matches == full.matches


def test_comparison_data_have_a_column_per_side_for_each_parameter_that_differs() -> None:
    ours = [run(10, message_bytes=Fraction(m), segments=p) for m, p in ((1, 1), (2, 16), (4, 16))]
    theirs = [run(9, message_bytes=Fraction(m), segments=p) for m, p in ((1, 1), (2, 14))]
    comparison = pair(ours, theirs)
    assert comparison.data_columns() == [
        "message_bytes", "segments_a", "segments_b", "time_a", "time_b", "change",
        "change_percent", "verdict", "gap_a", "gap_b", "best", "note",
    ]  # fmt: skip
    rows = comparison.rows()
    assert cells(rows, "message_bytes", "segments_a", "segments_b") == [
        (1, 1, 1),
        (2, 16, 14),
        (4, 16, None),
    ]
    assert sizes_by(comparison, "-segments_B") == [2, 1, 4]
    same = pair([run(10, segments=1), run(9, segments=2)], [run(7, segments=1), run(8, segments=2)])
    assert same.data_columns()[0] == "segments"
    everything = comparison.complete.data_columns()
    assert {"algorithm", "segments_a", "segments_b", "faults", "base"} < set(everything)
    assert "segments" not in everything
    assert all(set(everything) <= set(row) for row in rows)


def test_an_axis_in_the_option_across_always_has_one_column_per_side() -> None:
    """Compared runs may differ on the axes that `across` lists, here on the topology."""
    comparison = pair(run(10), run(9, topology="S6"), across=["topology"])
    for everything in (False, True):
        listed = (comparison.complete if everything else comparison).data_columns()
        assert len(listed) == len(set(listed))
        assert {"topology_a", "topology_b", "nodes_a", "nodes_b"} < set(listed)
        assert "topology" not in listed
    assert cells(comparison.rows(), "nodes_a", "degree_a", "links_b") == [(120, 4, 1800)]


def test_comparison_rows_can_be_sorted_by_a_column_with_numbers_and_texts() -> None:
    ours, theirs = (
        [run(10, message_bytes=Fraction(m), segments=p) for m, p in enumerate(pieces)]
        for pieces in ((3, 2), (3, 9))
    )
    rows = pair(ours, theirs).complete.sorted_by("segments").rows()
    assert [row["segments"] for row in rows] == [3, "2 | 9"]


def test_the_error_for_an_unknown_comparison_column_lists_the_known_names() -> None:
    with pytest.raises(InputError, match="'speed' is not a column") as refused:
        pair(run(10), run(5)).sorted_by("-speed")
    assert "time_a" in refused.value.hint
    assert "change_percent" in refused.value.hint


def test_a_single_experiment_is_split_by_algorithm_base_tree_and_copies() -> None:
    runs = [
        *(run(10 + copies, algorithm="edge-disjoint", copies=copies) for copies in (1, 2)),
        *(run(20, algorithm="dimension-change", base=tree) for tree in ("greedy", "balanced")),
        run(8),
    ]
    comparison = compare([side("sweep", *runs)])
    assert [each.name for each in comparison.sides] == [
        "sweep/edge-disjoint copies=1", "sweep/edge-disjoint copies=2",
        "sweep/dimension-change base=greedy",
        "sweep/dimension-change base=balanced", "sweep/multiple",
    ]  # fmt: skip
    (row,) = comparison.rows()
    assert row["best"] == "sweep/multiple"
    assert row["copies"] == "1 | 2 | 1 | 1 | 1"


def test_a_comparison_omits_parameters_that_no_run_has() -> None:
    shared = pair(run(10), run(5)).shared_parameters()
    assert not {"copies", "base", "faults", "seed"} & set(shared)
    ours, theirs = (run(time, copies=2, base="greedy") for time in (10, 5))
    shared = pair(ours, theirs).shared_parameters()
    assert (shared["copies"], shared["base"]) == ("2", "greedy")


def test_comparison_rows_do_not_multiply_if_one_run_matches_several_runs_of_each_side() -> None:
    """One run of the baseline and four runs of each of three sides give four rows, not 64."""
    others = [
        [run(place, segments=p, algorithm=name) for p in (2, 3, 4, 5)]
        for place, name in enumerate(("b", "c", "d"))
    ]
    comparison = compare([side("a", run(10)), *(side(runs[0].algorithm, *runs) for runs in others)])
    assert [row["segments"] for row in comparison.rows()] == [
        f"1 | {p} | {p} | {p}" for p in (2, 3, 4, 5)
    ]


def test_letters_for_experiments_continue_with_aa_after_z() -> None:
    places = (0, 25, 26, 51, 52, 701, 702)
    assert " ".join(map(letter, places)) == "A Z AA AZ BA ZZ AAA"


def test_few_experiments_are_shown_side_by_side_and_many_one_per_line() -> None:
    sides = [
        side(name, run(time, segments=1), run(time + 1, segments=2))
        for name, time in (("a", 10), ("b", 5), ("c", 20), ("d", 5))
    ]
    few, many = lay_out(compare(sides[:MAX_ABREAST])), lay_out(compare(sides))
    assert (few.together, few.columns) == (1, tuple(compare(sides[:MAX_ABREAST]).columns()))
    assert few.best == [{"time_b"}, {"time_b"}]
    assert many.together == 4
    lines = cells(many.rows[:4], "segments", "side", "time", "verdict")
    assert lines == [
        (1, "a", 10, "baseline"), (1, "b", 5, BETTER), (1, "c", 20, WORSE), (1, "d", 5, BETTER),
    ]  # fmt: skip
    assert [len(names) for names in many.best[:4]] == [0, 1, 0, 1]
    assert many.parameters == 1


def test_matching_by_segments_is_suggested_if_most_runs_have_no_partner() -> None:
    ours = [run(9 + n, segments=n, message_units=3 * n) for n in (1, 16)]
    theirs = [run(9 + n, segments=n, message_units=4 * n) for n in (1, 16)]
    comparison = pair(ours, theirs)
    (found,) = [line for line in presentation.explain(comparison) if "no partner" in line]
    assert found == "2 of 3 rows have no partner; if runs are paired `by` segments, 0 have none"
    for other in (pair(ours, theirs, by="segments"), pair(ours, ours)):
        assert "no partner" not in "".join(presentation.explain(other))


def test_the_note_on_a_run_without_a_partner_names_the_faster_matched_run() -> None:
    ours = [run(9 + n, segments=n, message_units=3 * n) for n in (1, 16)]
    theirs = [run(9 + n, segments=n, message_units=4 * n) for n in (1, 16)]
    comparison = pair(ours, theirs)
    assert [row["note"] for row in comparison.complete.rows()] == [
        None,
        "b has no run with message_units = 48, and a is faster with message_units = 3",
        "a has no run with message_units = 64, and b is faster with message_units = 4",
    ]
    assert presentation.describe(comparison, {})["matched_by"] == describe_pairing(comparison)


def test_the_pairing_rule_names_the_parameters_that_vary_but_are_equal_within_a_row() -> None:
    """The runs in a row may differ in their algorithm, and in the axes that `across` names."""
    sizes = [Fraction(64), Fraction(1024)]
    ours = [run(10, message_bytes=m, t_s=Fraction(t)) for m in sizes for t in (1, 2)]
    theirs = [
        run(5, message_bytes=m, t_s=Fraction(t), algorithm="greedy") for m in sizes for t in (1, 2)
    ]
    rule = "a row compares runs with equal message_bytes, t_s and segments"
    assert describe_pairing(pair(ours, theirs)) == rule
    assert describe_pairing(pair(ours, theirs).complete) == rule
    units = [(1, 3), (4, 4)]
    left, right = (
        [run(time, message_units=each[place], t_s=Fraction(t)) for each in units for t in (1, 2)]
        for place, time in enumerate((10, 5))
    )
    assert describe_pairing(pair(left, right)).startswith(
        "a row compares runs with equal t_s: runs with equal message_units"
    )
    crossed = pair([ours[0], ours[2]], [theirs[1], theirs[3]], across=["t_s"])
    assert describe_pairing(crossed) == "a row compares runs with equal message_bytes and segments"
    incomparable = pair(run(9, topology="S4"), run(5, topology="S5", message_bytes=Fraction(9)))
    assert "message_bytes" not in describe_pairing(incomparable.complete)
    with pytest.raises(InputError, match="runs cannot be paired by 'steps'"):
        pair(ours, theirs, by="steps")


def test_the_columns_of_the_listed_runs_do_not_depend_on_the_names_of_the_sides() -> None:
    ours, theirs = [run(10), run(20, message_bytes=Fraction(2))], [run(5, algorithm="greedy")]
    table = presentation.tabulate_runs(pair(ours, theirs))
    assert table.columns == (
        "pair", "side", "run", *PARAMETERS, "steps", "transmissions", "start_ups", "bytes", "time",
        "missing", "gap", "change", "change_percent", "verdict", "note",
    )  # fmt: skip
    assert cells(table.rows, "pair", "side", "algorithm", "time", "verdict") == [
        (1, "a", "multiple", 20, "baseline"),
        (2, "a", "multiple", 10, "baseline"), (2, "b", "greedy", 5, BETTER),
    ]  # fmt: skip
    renamed = presentation.tabulate_runs(compare([side("x", *ours), side("y", *theirs)]))
    assert renamed.columns == table.columns
