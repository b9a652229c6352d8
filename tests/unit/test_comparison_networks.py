"""Comparison of runs on different topologies, and conditions that select runs.

The option ``across`` names axes, such as topology, in which compared runs may differ.
"""

import re
from fractions import Fraction
from typing import Any

import pytest

from starcast.comparison import crossovers
from starcast.comparison.compare import BETTER, WORSE, compare
from starcast.comparison.curves import panels
from starcast.comparison.matching import Side
from starcast.comparison.presentation import lay_out
from starcast.comparison.sides import (
    ALLOWED_ACROSS,
    describe_networks,
    names_contain,
    read_conditions,
    select_runs,
    with_short_names,
)
from starcast.support.axes import CHOICE, QUESTION
from starcast.support.errors import InputError, NotFoundError
from starcast.support.runs import Run
from support.stored_runs import along, cells, side

SIZES = (16, 256, 4096)
#: For each topology, two algorithms with their start-ups and bytes sent per message byte.
NETWORKS: dict[str, tuple[tuple[str, int, int], ...]] = {
    "S5": (("greedy", 6, 5), ("edge-disjoint", 8, 2)),
    "Q7": (("binomial", 7, 4), ("edge-disjoint-binomial", 9, 1)),
    "S6": (("greedy", 7, 6), ("edge-disjoint", 10, 2)),
    "Q9": (("binomial", 9, 6), ("edge-disjoint-binomial", 11, 1)),
}


def sweep(*topologies: str, **changes: Any) -> Side:
    """Return a side with runs of two algorithms on each of the given topologies."""
    return side("sweep", [run for spec in topologies for run in on(spec, **changes)])


def on(spec: str, **changes: Any) -> list[Run]:
    return [
        run
        for name, steps, rate in NETWORKS[spec]
        for run in along(steps, rate, SIZES, topology=spec, algorithm=name, **changes)
    ]


def test_one_experiment_is_split_by_topology_and_algorithm_and_matched_by_message_size() -> None:
    comparison = compare([sweep("S5", "Q7")], across=["topology"])
    assert [each.name for each in comparison.sides] == [
        "sweep/S5 greedy", "sweep/S5 edge-disjoint", "sweep/Q7 binomial",
        "sweep/Q7 edge-disjoint-binomial",
    ]  # fmt: skip
    rows = comparison.complete.rows()
    assert [row["message_bytes"] for row in rows] == list(SIZES)
    for row in rows:
        times = {
            f"sweep/{spec} {name}": 100 * steps + rate * row["message_bytes"]
            for spec in ("S5", "Q7")
            for name, steps, rate in NETWORKS[spec]
        }
        base = times["sweep/S5 greedy"]
        for name, time in times.items():
            end = re.sub("[^A-Za-z0-9]", "_", name)
            assert row[f"time_{end}"] == time
            if time != base:
                assert row[f"change_{end}"] == time - base
                assert row[f"verdict_{end}"] == (BETTER if time < base else WORSE)
        assert row["best"] == min(times, key=lambda name: times[name])
        assert row["note"] is None
    assert comparison.blocking_axes() == []


def test_the_gap_of_each_run_uses_the_lower_bound_of_its_own_topology() -> None:
    ours = along(6, 5, SIZES, topology="S5", bound=6)
    theirs = along(6, 5, SIZES, topology="Q7", bound=3)
    comparison = compare([side("stars", ours), side("cubes", theirs)], across=["topology"])
    for row in comparison.complete.rows():
        time = 600 + 5 * row["message_bytes"]
        assert row["gap_stars"] == time / max(Fraction(600), row["message_bytes"] / 4)
        assert row["gap_cubes"] == time / max(Fraction(300), row["message_bytes"] / 4)
        assert (row["change"], row["verdict"]) == (0, "same")


def test_several_experiments_are_split_only_by_the_axis_in_the_option_across() -> None:
    """A compared side is an experiment, or the part of an experiment with one value on the axis."""
    stars = side("stars", [run for spec in ("S5", "S6") for run in on(spec)])
    cubes = side("cubes", on("Q7"))
    comparison = compare([cubes, stars], across=["topology"])
    assert [each.name for each in comparison.sides] == ["cubes", "stars/S5", "stars/S6"]
    # The baseline `cubes` and the stars have no common algorithm, so both algorithms of the
    # baseline are matched with both algorithms of each star.
    assert len(comparison.matches) == 4 * len(SIZES)
    assert not any(any(match.reasons) for match in comparison.matches)


@pytest.mark.parametrize(
    ("axis", "one", "other", "names"),
    [
        ("ports", "all", "one", ["sweep/all-port", "sweep/one-port"]),
        ("root", None, "centre", ["sweep/root=-", "sweep/root=centre"]),
        ("execution", "synchronous", "asynchronous", ["sweep/synchronous", "sweep/asynchronous"]),
        ("t_s", Fraction(10), Fraction(1, 3), ["sweep/t_s=10", "sweep/t_s=1/3"]),
        ("t_c", Fraction(1), Fraction(2), ["sweep/t_c=1", "sweep/t_c=2"]),
    ],
)
def test_compared_runs_can_differ_in_port_and_execution_models_and_machine_parameters(
    axis: str, one: Any, other: Any, names: list[str]
) -> None:
    runs = [*along(6, 5, SIZES, **{axis: one}), *along(6, 5, SIZES, **{axis: other})]
    with pytest.raises(InputError, match="nothing to compare"):
        compare([side("sweep", runs)])
    comparison = compare([side("sweep", runs)], across=[axis])
    assert [each.name for each in comparison.sides] == names
    assert cells(comparison.complete.rows(), "message_bytes", "note") == [(m, None) for m in SIZES]
    assert comparison.networks == []
    columns = [re.sub("[^A-Za-z0-9_]", "_", f"{axis}_{name}").rstrip("_") for name in names]
    assert comparison.columns_across() == columns
    row = comparison.complete.rows()[0]
    assert [row[column] for column in columns] == [one, other]


def test_runs_can_differ_on_several_axes_and_must_agree_on_all_others() -> None:
    ours = side("a", along(6, 5, SIZES, topology="S5", ports="all"))
    theirs = side("b", along(9, 6, SIZES, topology="Q7", ports="one"))
    for across, note in (
        (["ports", "topology"], None),
        (["topology"], "different ports (all, one)"),
    ):
        rows = compare([ours, theirs], across=across).rows()
        assert cells(rows, "note") == [(note,)] * len(SIZES)


@pytest.mark.parametrize(
    "axis", [*(axis for axis in QUESTION if axis not in ALLOWED_ACROSS), "seed"]
)
def test_compared_runs_cannot_differ_in_axes_that_define_the_problem(axis: str) -> None:
    with pytest.raises(InputError, match=f"cannot differ in {axis}: ") as refused:
        compare([sweep("S5", "Q7")], across=[axis])
    assert "topology, ports, root, execution, t_s, t_c" in refused.value.hint


def test_axes_in_the_option_across_change_no_verdict_if_all_runs_agree_on_them() -> None:
    """The option lists axes, such as topology, in which compared runs may differ."""
    plain, across = (compare([sweep("S5")], across=axes) for axes in ((), ALLOWED_ACROSS))
    assert [each.name for each in plain.sides] == [each.name for each in across.sides]
    assert [plain.judgements(match) for match in plain.matches] == [
        across.judgements(match) for match in across.matches
    ]


def test_compared_topologies_share_a_plot_and_each_has_its_lower_bound() -> None:
    bounds = {"S5": 6, "Q7": 7}
    runs = [run for spec, bound in bounds.items() for run in on(spec, bound=bound)]
    (panel,) = panels(compare([side("sweep", runs)], across=["topology"]))
    assert panel.name == "broadcast on S5 | Q7, all-port, synchronous, t_s = 100, t_c = 1"
    assert [curve.label for curve in panel.curves] == [
        "S5 greedy", "S5 edge-disjoint", "Q7 binomial", "Q7 edge-disjoint-binomial",
    ]  # fmt: skip
    assert [curve.links for curve in panel.curves] == [480, 480, 896, 896]
    assert {place: part.bound[Fraction(16)] for place, part in panel.by_place().items()} == {
        "S5": 600,
        "Q7": 700,
    }
    assert len(panels(compare([sweep("S5", "Q7")]))) == 2
    for specs, places in ((("S5", "Q7"), ["S5", "Q7"]), (("S5",), [""])):
        (panel,) = panels(compare([sweep(*specs)], across=ALLOWED_ACROSS))
        assert list(panel.by_place()) == places


def test_crossovers_between_algorithms_on_different_topologies_are_exact() -> None:
    """With edge-disjoint trees, the times 800 + 2m on S5 and 900 + m on Q7 are equal at m = 100."""
    comparison = compare([sweep("S5", "Q7")], across=["topology"])
    found = {
        (each.first, each.second): each
        for each in crossovers.best_crossovers(crossovers.all_crossovers(comparison))
    }
    crossing = found["S5 edge-disjoint", "Q7 edge-disjoint-binomial"]
    assert (crossing.place, crossing.below) == ("100", "S5 edge-disjoint")
    assert crossing.time == Fraction(1000)
    assert (
        str(crossing)
        == f"{crossing.change}; broadcast on S5 | Q7, all-port, synchronous, t_s = 100, t_c = 1"
    )
    assert {row["topology"] for row in crossovers.crossover_rows(found.values())} == {"S5 | Q7"}


def test_curves_of_one_algorithm_on_one_topology_are_labelled_by_experiment() -> None:
    before, after = (along(steps, 5, SIZES, topology="S5") for steps in (6, 7))
    beyond = along(9, 6, SIZES, topology="Q7")
    comparison = compare(
        [side("old", before), side("new", after), side("cube", beyond)], across=["topology"]
    )
    (panel,) = panels(comparison)
    assert [curve.label for curve in panel.curves] == [
        "S5 multiple (old)",
        "S5 multiple (new)",
        "Q7 multiple",
    ]


def test_each_line_of_a_stacked_comparison_table_shows_the_parameters_that_differ() -> None:
    layout = lay_out(compare([sweep("S5", "Q7")], across=["topology"]).with_short_names())
    assert layout.columns[:4] == ("message_bytes", "side", "steps", "time")
    runs = [
        run
        for m, pieces in zip(SIZES, ((1, 2), (3, 4), (5, 6)), strict=True)
        for spec, p in zip(("S5", "Q7"), pieces, strict=True)
        for run in along(6 + p, p, [m], topology=spec, segments=p)
    ]
    comparison = compare([side("sweep", runs)], across=["topology"]).with_short_names()
    layout = lay_out(comparison, stacked=True)
    assert layout.columns[:3] == ("message_bytes", "side", "segments")
    assert cells(layout.rows, "message_bytes", "side", "segments") == [
        (16, "S5", 1), (16, "Q7", 2), (256, "S5", 3), (256, "Q7", 4), (4096, "S5", 5), (4096, "Q7",
        6),
    ]  # fmt: skip
    assert layout.parameters == 1


def test_a_brief_comparison_table_omits_only_the_absolute_change() -> None:
    for names, stacked in ((("S5",), False), (("S5", "Q7"), True)):
        comparison = compare([sweep(*names)], across=["topology"])
        full, brief = (lay_out(comparison, stacked=stacked, brief=brief) for brief in (False, True))
        assert [name for name in full.columns if name not in brief.columns] == ["change"]
        assert (brief.rows, brief.best) == (full.rows, full.best)
    assert "change" in lay_out(comparison.complete, brief=True).columns


def test_short_names_of_compared_sides_omit_the_experiment_if_all_sides_belong_to_it() -> None:
    comparison = compare([sweep("S5", "Q7")], baseline="Q7 binomial", across=["topology"])
    assert comparison.sides[0].name == "sweep/Q7 binomial"
    assert comparison.with_short_names().sides[0].name == "Q7 binomial"
    mixed = (Side("sweep/S5", ()), Side("other/S5", ()))
    assert with_short_names(mixed) == mixed
    assert with_short_names((Side("sweep", ()), Side("sweep/S5", ()))) == (
        Side("sweep", ()),
        Side("sweep/S5", ()),
    )


def test_the_header_of_a_comparison_does_not_repeat_parameters_in_the_side_names() -> None:
    comparison = compare([sweep("S5", "Q7")], across=["topology"])
    assert not {"topology", "algorithm"} & comparison.shared_parameters().keys()
    assert names_contain((Side("x/S5 greedy", ()), Side("x/Q7 binomial", ())), "S5 | Q7")
    assert not names_contain((Side("x/S5 greedy", ()), Side("x/Q7 binomial", ())), "S5 | Q9")
    assert not names_contain(
        (Side("x/S5 edge-disjoint", ()), Side("x/Q7 edge-disjoint-binomial", ())),
        "edge | edge-disjoint",
    )
    assert not names_contain((Side("greedy", ()), Side("binomial", ())), "greedy | binomial")


def test_conditions_on_one_axis_are_alternatives_and_every_axis_must_match() -> None:
    everything = sweep("S5", "Q7", "S6", "Q9")
    conditions = ["topology=S5", "topology=Q7", "message_bytes=16", "message_bytes=256"]
    (narrowed,) = select_runs([everything], read_conditions(conditions))
    expected = [run for run in sweep("S5", "Q7").runs if run.message_bytes in (16, 256)]
    assert [(run.topology, run.algorithm, run.message_bytes) for run in narrowed.runs] == [
        (run.topology, run.algorithm, run.message_bytes) for run in expected
    ]
    assert (narrowed.name, narrowed.commands) == (everything.name, everything.commands)
    assert select_runs([everything], read_conditions([])) == [everything]


@pytest.mark.parametrize(
    ("condition", "axis", "text"),
    [
        ("message_bytes=1e3", "message_bytes", "1000"),
        (" message_bytes = 4/6 ", "message_bytes", "2/3"),
        ("segments=4.0", "segments", "4"),
        ("base=-", "base", "-"),
        ("faults=none", "faults", "none"),
        ("faults=1243  4321 1234-3214", "faults", "1234-3214 1243 4321"),
        ("topology=S6,3", "topology", "S6,3"),
    ],
)
def test_values_in_conditions_are_converted_to_a_canonical_form(
    condition: str, axis: str, text: str
) -> None:
    assert read_conditions([condition]) == {axis: frozenset({text})}


def test_malformed_conditions_on_runs_are_refused() -> None:
    malformed = "topology topology= =S5 speed=3 message_bytes=much segments=2.5 topology=Y5"
    for condition in malformed.split():
        with pytest.raises(InputError):
            read_conditions([condition])


def test_the_error_for_a_value_that_no_run_has_lists_the_existing_values() -> None:
    with pytest.raises(
        NotFoundError, match="no run of this comparison has topology = S9"
    ) as refused:
        select_runs([sweep("S5", "Q7")], read_conditions(["topology=S5", "topology=S9"]))
    assert refused.value.hint == "choose one of the values S5, Q7"


def test_conditions_that_leave_an_experiment_without_runs_are_refused() -> None:
    stars, cubes = side("stars", on("S5")), side("cubes", on("Q7"))
    with pytest.raises(NotFoundError, match="'cubes' has no run with topology = S5"):
        select_runs([stars, cubes], read_conditions(["topology=S5"]))
    with pytest.raises(
        NotFoundError, match="'sweep' has no run with topology = S5 and algorithm = binomial"
    ):
        select_runs([sweep("S5", "Q7")], read_conditions(["topology=S5", "algorithm=binomial"]))


def test_an_experiment_without_any_runs_is_reported_and_not_refused() -> None:
    narrowed = select_runs([sweep("S5"), Side("none", ())], read_conditions(["topology=S5"]))
    assert [len(each.runs) for each in narrowed] == [2 * len(SIZES), 0]
    (first, *_) = compare(narrowed, across=["topology"]).rows()
    assert (first["note"], first["nodes_none"]) == ("none has no runs", None)


@pytest.mark.parametrize("axis", CHOICE)
def test_an_axis_on_which_runs_may_always_differ_is_refused_in_the_option_across(axis: str) -> None:
    with pytest.raises(InputError, match=f"compared runs may always differ in {axis}"):
        compare([sweep("S5", "Q7")], across=["topology", axis])


def test_networks_are_described_by_nodes_degree_and_links() -> None:
    runs = [run for spec in ("S5", "Q7", "S5,2", "S12") for run in along(1, 1, (8,), topology=spec)]
    assert describe_networks(runs) == [
        "S5: 120 nodes of degree 4, 240 links",
        "Q7: 128 nodes of degree 7, 448 links",
        "S5,2: 20 nodes of degree 4, 40 links",
        "S12: 479,001,600 nodes of degree 11, 2,634,508,800 links",
    ]
