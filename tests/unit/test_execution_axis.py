"""The execution model as an experiment axis: points, grids and costs of asynchronous runs."""

from fractions import Fraction

import execution_models
import pytest
from hypothesis import given
from hypothesis import strategies as st

from starcast import costs, timing
from starcast.collectives import schedule
from starcast.collectives.algorithm import Algorithm, algorithms_on
from starcast.costs.tables import CostProblem, build_table, execute_row
from starcast.experiments.design import Grid, group_by_structure
from starcast.experiments.execution import execute, price_run
from starcast.support.errors import InputError
from starcast.support.vocabulary import EXECUTION_MODELS, Ports
from starcast.topologies import topology
from support.examples import max_examples
from support.experiments import make_point

MACHINE = costs.Machine(Fraction(100), Fraction(1))
S4 = topology("S4")

numbers = st.fractions(min_value=0, max_value=1000, max_denominator=12)


GRID = {"topology": "S4", "algorithm": "multiple", "message_bytes": 64}


@pytest.mark.parametrize("entry", algorithms_on(S4), ids=str)
@max_examples(8)
@given(m=numbers, t_s=numbers, t_c=numbers, data=st.data())
def test_the_time_of_an_asynchronous_run_equals_the_result_of_the_function_timing(
    entry: Algorithm, m: Fraction, t_s: Fraction, t_c: Fraction, data: st.DataObject
) -> None:
    ports = data.draw(st.sampled_from(entry.ports))
    t_s += t_s == t_c == 0
    split = entry.split_argument
    point = make_point(
        "S4", entry.collective, entry.name, ports, 3 if split else 1, m, t_s, t_c,
        execution="asynchronous",
    )  # fmt: skip
    run = price_run(point, execute(point))
    (cost,) = (cost for cost in run.costs if cost.kind == "simulated")
    built = schedule("S4", entry.collective, entry.name, ports, **point.arguments)
    unit = m / max(1, built.message_units)
    # A unit of 0 bytes needs no transmission time, so each packet takes T_s.
    expected = timing(built, unit or 1, t_s, t_c if unit else 0, "asynchronous").time
    assert cost.time == expected
    assert cost.start_ups is not None
    assert cost.bytes is not None
    assert cost.time == cost.start_ups * t_s + cost.bytes * t_c
    assert cost.source == "simulated, asynchronous"


def test_synchronous_points_that_differ_only_in_message_size_share_an_execution() -> None:
    """Each asynchronous point is executed separately."""
    grid = Grid({**GRID, "message_bytes": [64, 128], "execution": EXECUTION_MODELS})
    assert [len(group) for group in group_by_structure(grid.points())] == [1, 1, 2]


def test_a_grid_stored_without_execution_models_is_synchronous() -> None:
    stored = Grid(GRID).as_json()
    del stored["execution"]
    assert [point.execution for point in Grid(stored).points()] == ["synchronous"]


def test_an_unknown_execution_model_is_refused() -> None:
    with pytest.raises(InputError, match="unknown execution model 'steps'") as refusal:
        make_point("S4", "broadcast", "multiple", execution="steps")
    assert refusal.value.hint == "write synchronous or asynchronous"
    with pytest.raises(InputError, match="unknown execution model 'steps'"):
        CostProblem(S4, "broadcast", "all", Fraction(1), MACHINE, execution="steps")


def test_under_faults_both_execution_models_leave_the_same_number_of_units_missing() -> None:
    runs = []
    for execution in EXECUTION_MODELS:
        point = make_point("S4", "broadcast", "multiple", faults=("2134",), execution=execution)
        runs.append(price_run(point, execute(point)))
    assert runs[0].missing == runs[1].missing > 0


def test_cost_tables_simulate_in_the_requested_execution_model() -> None:
    problem = CostProblem(
        S4, "broadcast", "one", Fraction(768), MACHINE, 4, execution="asynchronous"
    )
    (row,) = (row for row in build_table(problem) if row.name == "multiple")
    cost = execute_row(problem, row, 10**6)
    built = schedule("S4", "broadcast", "multiple", "one", segments=4)
    unit = Fraction(768, built.message_units)
    assert cost is not None
    assert row.cost is not None
    assert cost.time == timing(built, unit, execution="asynchronous").time < row.cost.time


def test_the_crossovers_for_s4_on_the_execution_models_page_equal_recomputed_values() -> None:
    """At the crossover size, `multiple` is faster. With one byte less, it is not faster."""
    lines = execution_models.PAGE.read_text().splitlines()
    ports: Ports
    for ports in ("all", "one"):
        (line,) = (line for line in lines if line.startswith(f"| S4 | {ports} |"))
        for model, text in zip(EXECUTION_MODELS, line.split("|")[3:5], strict=True):
            m = int(text.replace(" ", ""))
            faster = [
                execution_models._least_time(4, "multiple", ports, model, size)
                < execution_models._least_time(4, "recursive-substar", ports, model, size)
                for size in (m - 1, m)
            ]
            assert faster == [False, True]


def test_the_tables_for_s4_and_s5_on_the_execution_models_page_equal_recomputed_values(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Larger graphs are omitted, because recomputing their columns takes minutes."""
    monkeypatch.setattr(execution_models, "SIZES", (4, 5))
    page = execution_models.PAGE.read_text(encoding="utf-8").splitlines()
    rows = [*execution_models.overstatement(), *execution_models.segments()]
    assert len(rows) > 30
    for row in rows:
        assert any(line.startswith(row) for line in page), row
