"""The papers' cost tables for any topology: rows, costs, order and executions."""

from dataclasses import replace
from fractions import Fraction
from math import factorial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import paper_costs, star_graph
from starcast import costs
from starcast.collectives import schedule
from starcast.collectives.algorithm import algorithms_on
from starcast.collectives.model import COLLECTIVES, PORT_MODELS
from starcast.costs import tables
from starcast.costs.tables import BOTTLENECK_CUT, CostProblem, CostRow, build_table, execute_row
from starcast.judges.simulator import simulate
from starcast.topologies import as_topology
from support.cost_cases import MACHINE
from support.examples import max_examples
from support.meeting import refused

#: Rows that cite results of papers, by topology family, collective and port model.
CITED = {
    ("star", "broadcast", "all"): {"Day & Tripathi [7]"},
    ("star", "broadcast", "one"): {
        "Misic & Jovanovic [13]",
        "Akl et al. [2]",
        "Mendia & Sarkar [12]",
        "Sheu et al. [17]",
        "Qiu [14]",
    },
    ("star", "allgather", "all"): {"Fragopoulou & Akl [8] HAM", "Fragopoulou & Akl [8] NL"},
    ("star", "allgather", "one"): {"Misic & Jovanovic [13]"},
    ("nk-star", "broadcast", "all"): {
        "Y.S. Chen & Tai [4]",
        "one tree SP, as printed",
        "trees MT, as printed",
    },
    ("nk-star", "broadcast", "one"): {"Y.S. Chen & Tai [4]"},
}
SPECS = ("S2", "S3", "S5", "S7", "S12", "S2,1", "S5,1", "S6,3", "S5,4", "Q1", "Q4", "Q13")

amounts = st.fractions(min_value=1, max_value=10**4, max_denominator=100)


def problem(
    spec: str = "S5", collective: str = "broadcast", ports: str = "all", **given: Any
) -> CostProblem:
    """Return the parameters of a table: 4096 bytes, T_s = 1009 and T_c = 1/7."""
    return CostProblem(as_topology(spec), collective, ports, Fraction(4096), MACHINE, **given)


def row(asked: CostProblem, name: str) -> CostRow:
    """Return the row with the given name; the table must have exactly one such row."""
    (result,) = [line for line in build_table(asked) if line.name == name]
    return result


def cost_of(result: CostRow) -> costs.Cost:
    """Return the cost in a row; the row must have a cost."""
    assert result.cost is not None
    return result.cost


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("collective", COLLECTIVES)
@pytest.mark.parametrize("ports", PORT_MODELS)
def test_a_cost_table_has_the_expected_rows_sorted_by_time_and_no_gap_below_1(
    spec: str, collective: str, ports: str
) -> None:
    """Rows without a time come last.

    On (n,k)-stars, some theorems state too few bytes, so gaps of their rows may be below 1.
    """
    topology, rows = as_topology(spec), build_table(problem(spec, collective, ports))
    cube_bound = f"lower bound, unit messages, Q{star_graph.ceil_log2(topology.nodes)}"
    ours = {
        algorithm.name
        for algorithm in algorithms_on(topology, collective)
        if ports in algorithm.ports
    }
    printed = CITED.get((topology.family, collective, ports), set())
    bounds = {"lower bound", "lower bound, unit messages"}
    if topology.family != "hypercube":
        bounds.add(cube_bound)
    if (collective, ports) == ("allgather", "all"):
        bounds.add(BOTTLENECK_CUT)
    assert len(rows) == len({line.name for line in rows})
    assert {line.name for line in rows} == ours | printed | bounds
    assert {line.name for line in rows if line.arguments is not None} == ours
    others = {line for line in printed if "as printed" not in line} | ({cube_bound} & bounds)
    unstated = {line.name for line in rows if line.source.startswith("starcast")}
    assert {line.name for line in rows if line.cited} == others - unstated
    times = [None if line.cost is None else line.cost.time for line in rows]
    known = [time for time in times if time is not None]
    assert times == [*sorted(known), *[None] * (len(times) - len(known))]
    if topology.family != "nk-star":
        assert all(line.gap is None or line.gap >= 1 for line in rows)


@pytest.mark.parametrize("spec", ["S2", "S3", "S6", "S12", "S2,1", "S5,1", "S6,3", "S6,5"])
@max_examples(10)
@given(amounts, amounts, amounts, st.integers(1, 50))
def test_rows_of_cost_tables_cited_from_papers_have_the_costs_of_the_definitions(
    spec: str, m: Fraction, start_up: Fraction, byte: Fraction, pieces: int
) -> None:
    topology, machine = as_topology(spec), costs.Machine(start_up, byte)
    for (family, collective, ports), names in CITED.items():
        if family != topology.family:
            continue
        rows = build_table(CostProblem(topology, collective, ports, m, machine, segments=pieces))
        for line in rows:
            if line.name in names - {"Qiu [14]"}:
                size = paper_costs.size(spec)
                page = paper_costs.cited(line.name, collective, ports, size, pieces)
                cost = cost_of(line)
                assert cost.start_ups == page.start_ups
                assert cost.bytes == page.share * m
                assert cost.time == page.start_ups * start_up + page.share * m * byte


def test_the_cost_table_row_that_cites_qiu_states_that_only_orders_of_growth_are_known() -> None:
    result = row(problem(ports="one"), "Qiu [14]")
    assert result.cost is None
    assert result.gap is None
    assert "orders" in result.note


@pytest.mark.parametrize("n", range(2, 13))
def test_the_hypercube_compared_with_a_star_has_at_least_as_many_nodes(n: int) -> None:
    """The smallest hypercube with at least n! nodes is Q_k with k = ceil(log2 n!).

    The bounds for Q_k are from Table 5 of Fragopoulou & Akl 1993 and Table 3 of Fragopoulou & Akl
    1996. S_12 is compared with Q_29, although starcast has no topology of that size.
    """
    k = star_graph.ceil_log2(factorial(n))
    assert 2 ** (k - 1) < factorial(n) <= 2**k
    name = f"lower bound, unit messages, Q{k}"
    for collective, ports, steps in (
        ("allgather", "all", -(-(2**k - 1) // k)),
        ("scatter", "all", -(-(2**k - 1) // k)),
        ("alltoall", "all", 2 ** (k - 1)),
        ("alltoall", "one", k * 2 ** (k - 1)),
    ):
        result = row(problem(f"S{n}", collective, ports, messages=1), name)
        assert cost_of(result).steps == steps
        assert (result.source, result.cited) == ("Fragopoulou & Akl 1993, Table 5", True)
    copied = f"{name}, {n - 1} copies" if n > 2 else name
    result = row(problem(f"S{n}", messages=9, copies=n - 1), copied)
    assert cost_of(result).steps == -(-9 * (n - 1) // k) + k - 1
    assert result.source == "Fragopoulou & Akl 1996, Table 3"


@pytest.mark.parametrize("spec", ["S5", "S5,2", "Q4"])
def test_the_hypercube_that_a_cost_table_compares_can_be_chosen(spec: str) -> None:
    """The bounds on Q_k follow Table 5 of Fragopoulou & Akl 1993 for any k.

    If Q_k is the topology itself, the table has no second row for Q_k.
    """
    for k in (1, 4, 9, 64):
        rows = [
            line
            for line in build_table(problem(spec, "alltoall", messages=1, hypercube=k))
            if "unit messages" in line.name
        ]
        cube = paper_costs.size(spec)
        steps = {line.name: cost_of(line).steps for line in rows}
        own = {"lower bound, unit messages": -(-cube.t // cube.degree)}
        other = {f"lower bound, unit messages, Q{k}": 2 ** (k - 1)}
        assert steps == (own if spec == f"Q{k}" else own | other)


def test_the_bound_on_a_hypercube_has_no_cost_for_more_copies_than_links_per_node() -> None:
    """S_{5,1} is compared with Q_3. A node of Q_3 has 3 links, which are too few for 4 copies."""
    asked = problem("S5,1", "scatter", copies=4)
    result = row(asked, "lower bound, unit messages, Q3, 4 copies")
    assert result.cost is None
    assert "3 links" in result.note
    assert row(asked, "lower bound, unit messages, Q3").cost is not None


def test_cost_table_rows_have_closed_form_costs_for_the_given_or_optimal_number_of_pieces() -> None:
    asked = problem("S6")
    m = asked.message_bytes
    for share in (None, 5):
        for line in build_table(replace(asked, segments=share)):
            if line.arguments is None or line.name == "greedy-matching":
                continue
            form = costs.closed_form(
                asked.topology, "broadcast", line.name, "all", m, MACHINE, **line.arguments
            )
            assert cost_of(line) == form
            best = costs.optimal_pieces(asked.topology, "broadcast", line.name, "all", m, MACHINE)
            assert (line.real_pieces, line.pieces) == ((None, 5) if share else best)


def test_messages_and_segments_apply_only_to_algorithms_with_these_arguments() -> None:
    pieces: dict[str, int | None] = {"greedy": 3, "multiple": 3}
    # greedy-matching has no closed form, so its row states no number of pieces.
    pieces |= {"recursive-substar": 8, "edge-disjoint": 8, "greedy-matching": None}
    asked = problem("S6", segments=3, messages=8)
    rows = [line for line in build_table(asked) if line.arguments is not None]
    assert {line.name: line.pieces for line in rows} == pieces
    assert row(asked, "lower bound, unit messages").pieces == 8
    assert row(asked, "Day & Tripathi [7]").pieces == 3
    rows = [line for line in build_table(problem("S6", segments=3)) if line.arguments is not None]
    assert {line.pieces for line in rows} == {3, None}


def test_copies_apply_only_to_algorithms_that_send_copies() -> None:
    asked = problem("S5", "scatter", messages=2, copies=3)
    for line in build_table(asked):
        copies = 3 if line.name == "edge-disjoint" or line.name.endswith("3 copies") else 1
        if "Q7" not in line.name:
            assert line.bound == costs.lower_bound(
                asked.topology, "scatter", "all", asked.message_bytes, MACHINE, copies=copies
            )
    assert row(asked, "edge-disjoint").arguments == {"messages": 2, "copies": 3}


@pytest.mark.parametrize("spec", ["S5", "S5,2", "Q4"])
@pytest.mark.parametrize("collective", COLLECTIVES)
def test_lower_bounds_for_several_copies_are_separate_rows_of_a_cost_table(
    spec: str, collective: str
) -> None:
    """The cost table also has rows with the lower bounds for one copy, under different names."""
    single, many = (
        build_table(problem(spec, collective, messages=4, copies=copies)) for copies in (1, 3)
    )
    alone = [row for row in single if row.name.startswith("lower bound")]
    by_name = {row.name: row for row in many if row.name.startswith("lower bound")}
    assert len(by_name) == 2 * len(alone)
    for row in alone:
        assert by_name[row.name] == row
        copied = by_name[f"{row.name}, 3 copies"]
        assert copied.gap is not None
        assert copied.gap >= 1
        assert copied.bound.bytes == 3 * row.bound.bytes
        assert int(cost_of(copied).steps or 0) >= int(cost_of(row).steps or 0)
    names = [row.name for row in many]
    assert len(names) == len(set(names))


def test_a_paper_is_cited_only_for_costs_that_it_states() -> None:
    """No paper states the hypercube bound on one-port broadcasts of unit messages."""
    for ports, source in (("all", "Fragopoulou & Akl 1996"), ("one", "starcast")):
        result = row(problem("S5", ports=ports), "lower bound, unit messages, Q7")
        assert result.cited == (source != "starcast")
        assert result.source.startswith(source)


def test_notes_in_a_cost_table_state_how_executions_differ_from_the_closed_form() -> None:
    """If no number of pieces is given, the note says that the optimal number is used."""
    asked = problem("S5,2")
    result = row(asked, "nk-greedy")
    optimum = "the number of pieces is the optimum of the closed form"
    assert result.note == f"{cost_of(result).note}; {optimum}"
    assert "too few by a factor of 4" in result.note
    assert row(replace(asked, segments=3), "nk-greedy").note == cost_of(result).note
    assert row(problem("S5"), "greedy").note == ""
    printed = row(asked, "one tree SP, as printed")
    assert printed.note.startswith("Theorem 2 has one start-up fewer; ")
    assert "too few by a factor of 4" in printed.note


def test_a_cost_table_row_for_an_impossible_number_of_messages_has_a_note_and_no_cost() -> None:
    asked = problem("S5", "alltoall", messages=3)
    result = row(asked, "perfectly-balanced")
    assert result.cost is None
    assert "3" in result.note
    assert execute_row(asked, result, 10**6) is None
    assert row(replace(asked, messages=8), "perfectly-balanced").cost is not None


def test_the_lower_bound_is_a_row_of_a_cost_table_with_gap_1() -> None:
    """Tables 1 and 2 of the paper on (n,k)-stars have this row too."""
    asked = problem("S6,3", "allgather", "one")
    result = row(asked, "lower bound")
    by = (asked.topology, "allgather", "one", asked.message_bytes)
    assert cost_of(result) == costs.lower_bound(*by, MACHINE)
    assert result.gap == 1


def test_cost_table_rows_have_no_gap_if_the_lower_bound_is_0() -> None:
    free = costs.Machine(Fraction(0), Fraction(0))
    asked = replace(problem("S4", "alltoall", segments=3), machine=free)
    assert {line.gap for line in build_table(asked)} == {None}


@pytest.mark.parametrize("spec", ["S3", "S4", "S4,2", "Q3"])
@pytest.mark.parametrize("collective", COLLECTIVES)
def test_executing_a_cost_table_row_gives_the_cost_of_the_simulation(
    spec: str, collective: str
) -> None:
    for ports in PORT_MODELS:
        asked = problem(spec, collective, ports)
        for line in build_table(asked):
            cost = execute_row(asked, line, 10**6)
            assert (cost is None) == (line.arguments is None)
            if cost is None or line.arguments is None:
                continue
            plan = schedule(spec, collective, line.name, ports=ports, **line.arguments)
            run, unit = simulate(plan), asked.message_bytes / plan.message_units
            if (collective, line.name) in costs.FORMS:
                unit = costs.unit_bytes(
                    asked.topology, collective, line.name, asked.message_bytes, **line.arguments
                )
            assert cost == costs.price_simulation(run, unit, MACHINE)
            assert cost.time >= line.bound.time


def test_executing_a_cost_table_row_builds_no_schedule_with_too_many_rows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def build(*_: object, **__: object) -> None:
        raise AssertionError("built")

    monkeypatch.setattr(tables, "schedule", build)
    asked = problem("S4", segments=3)
    with refused("greedy", "69 rows", exit_code=7):
        execute_row(asked, row(asked, "greedy"), 68)
    with pytest.raises(AssertionError, match="built"):
        execute_row(asked, row(asked, "greedy"), 69)


def test_executing_a_row_of_a_cost_table_on_s12_is_refused() -> None:
    asked = problem("S12", "alltoall")
    for line in build_table(asked):
        if line.arguments is not None:
            with refused("S12", exit_code=7):
                execute_row(asked, line, 10**6)


def test_executing_a_cost_table_row_is_refused_if_its_schedule_breaks_a_rule(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = problem("S4", segments=1)
    result = row(asked, "greedy")
    good = schedule("S4", "broadcast", "greedy", segments=1)
    monkeypatch.setattr(
        tables, "schedule", lambda *_, **__: replace(good, step=np.ones_like(good.step))
    )
    with refused("greedy", exit_code=6):
        execute_row(asked, result, 10**6)


@pytest.mark.parametrize(
    ("wrong", "word"),
    [
        ({"collective": "reduction"}, "reduction"),
        ({"ports": "both"}, "both"),
        ({"message_bytes": Fraction(-1)}, "-1"),
        ({"segments": 0}, "segments"),
        ({"messages": 0}, "messages"),
        ({"copies": 0}, "copies"),
        ({"copies": 5}, "copies"),
        ({"segments": 1.5}, "segments"),
        ({"messages": "2"}, "messages"),
        ({"copies": True}, "copies"),
        ({"hypercube": 2.5}, "hypercube"),
        ({"hypercube": 0}, "hypercube"),
        ({"hypercube": 65}, "hypercube"),
    ],
)
def test_an_invalid_cost_problem_is_refused(wrong: dict[str, Any], word: str) -> None:
    with refused(word):
        replace(problem(), **wrong)


def test_the_topology_of_a_cost_problem_can_be_given_by_its_name() -> None:
    asked = CostProblem("S4,2", "broadcast", "all", Fraction(4096), MACHINE)  # type: ignore[arg-type]
    assert asked == problem("S4,2")
    with refused("S13"):
        CostProblem("S13", "broadcast", "all", Fraction(1), MACHINE)  # type: ignore[arg-type]
