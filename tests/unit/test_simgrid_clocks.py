"""SimGrid and the function `timing` compute the same times of schedules.

Each test executes its schedules in one batch per execution model, or in a single batch.
"""

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from starcast import Schedule, schedule, timing
from starcast.judges.simulator import Fault
from starcast.judges.simulator import simgrid as runner
from starcast.judges.simulator.execution_models import make_ticks
from starcast.judges.simulator.packets import Number
from starcast.judges.simulator.simgrid import (
    SimGridProblem,
    SimGridRequest,
    SimGridRun,
    execute_rows,
    run_simgrid_batch,
)
from starcast.judges.simulator.simulation import execute
from starcast.support.errors import RejectedError, StarcastError, UnavailableError
from starcast.support.vocabulary import EXECUTION_MODELS, Collective, ExecutionModel
from support.simgrid_cases import assert_same_clocks
from support.simulator_cases import bases, built, changed, kept

pytestmark = pytest.mark.slow

BOTH = pytest.mark.parametrize("execution", EXECUTION_MODELS)
#: All algorithms on small topologies. On S_5 they take minutes: `python -m benchmarks.simgrid S5`.
BASES = bases("S2", "S3", "S4", "S3,1", "S4,2", "Q1", "Q3")


@BOTH
def test_simgrid_takes_the_computed_times(execution: ExecutionModel, simgrid: Path | None) -> None:
    requests = [SimGridRequest(built(base), execution=execution) for base in BASES]
    results = run_simgrid_batch(requests, installation=simgrid)
    assert_same_clocks(requests, results)


#: Schedules with several segments, messages or copies, with their synchronous and asynchronous
#: times where these are known.
CUT: list[tuple[str, Collective, str, dict[str, Any], tuple[int | None, int | None]]] = [
    ("S4", "broadcast", "multiple", {"segments": 4}, (2444, 2124)),
    ("S5", "broadcast", "multiple", {"segments": 16}, (5636, 5344)),
    ("S4", "alltoall", "exact", {}, (3444, 3444)),
    ("S5", "scatter", "balanced", {}, (4920, 4920)),
    ("S5", "broadcast", "recursive-substar", {}, (1148, 1148)),
    ("S4", "broadcast", "multiple", {"segments": 3, "ports": "one"}, (None, None)),
    ("S4", "broadcast", "edge-disjoint", {"messages": 2, "copies": 3}, (None, None)),
    ("S4", "scatter", "edge-disjoint", {"messages": 2, "copies": 2}, (None, None)),
    ("S3", "allgather", "edge-disjoint", {"messages": 2, "copies": 2}, (None, None)),
    ("S4", "reduce", "multiple", {"segments": 4}, (2444, 2124)),  # takes as long as the broadcast
    ("S4", "reduce", "edge-disjoint", {"messages": 2, "copies": 3}, (None, None)),
    ("S4", "reduce-scatter", "ring", {"messages": 2}, (23 * 164, 23 * 164)),
    ("S4", "allreduce", "multiple", {"segments": 4}, (None, None)),
    ("S4", "allreduce", "ring", {"messages": 2, "ports": "one"}, (92 * 164, 92 * 164)),
]


@BOTH
def test_schedules_with_segments_messages_or_copies_take_the_computed_times(
    execution: ExecutionModel, simgrid: Path | None
) -> None:
    schedules = [
        schedule(spec, collective, algorithm, **arguments)
        for spec, collective, algorithm, arguments, _ in CUT
    ]
    requests = [SimGridRequest(judged, execution=execution) for judged in schedules]
    results = run_simgrid_batch(requests, installation=simgrid)
    assert_same_clocks(requests, results)
    clocks = {judged.id: clock(result) for judged, result in zip(schedules, results, strict=True)}
    model = EXECUTION_MODELS.index(execution)
    known = {
        judged.id: times[model]
        for judged, (*_, times) in zip(schedules, CUT, strict=True)
        if times[model] is not None
    }
    assert {name: clocks[name] for name in known} == known


def test_schedules_on_other_machines_without_rows_or_under_faults_take_the_computed_times(
    simgrid: Path | None,
) -> None:
    machines: list[tuple[Number, Number, Number]] = [
        (1, 0, 1),
        (Fraction(23, 7), Fraction(5, 3), 0.125),
        (3, 1, 0),
    ]
    schedules = [schedule("S4", "broadcast", "multiple"), schedule("S3", "alltoall", "one-port")]
    requests = [
        SimGridRequest(judged, *machine, execution)
        for judged in schedules
        for machine in machines
        for execution in EXECUTION_MODELS
    ]
    copies = schedule("S4", "broadcast", "edge-disjoint", messages=2, copies=3)
    faults = (Fault.parse("2134"), Fault.parse("1234-3214@2"))
    empty = kept(schedule("S3", "broadcast", "greedy"), [])
    for execution in EXECUTION_MODELS:
        requests += [
            SimGridRequest(copies, execution=execution, faults=faults),
            SimGridRequest(empty, execution=execution),
        ]
    results = run_simgrid_batch(requests, installation=simgrid)
    assert_same_clocks(requests, results)
    assert clock(results[-1]) == 0


def test_moving_a_row_changes_the_time_of_the_schedule(simgrid: Path | None) -> None:
    """SimGrid returns the computed time of each changed schedule, not that of the original."""
    judged = schedule("S4", "broadcast", "multiple", segments=2)
    moves = [(1, 2), (5, 1), (108, 3), (109, 3), (119, 3), (131, 1)]
    spoiled = {
        row: changed(judged, row, step=int(judged.step[row]) + steps) for row, steps in moves
    }
    cases = [(row, execution) for row in spoiled for execution in EXECUTION_MODELS]
    requests = [SimGridRequest(spoiled[row], execution=execution) for row, execution in cases]
    results = run_simgrid_batch(requests, installation=simgrid)
    clocks = dict(zip(cases, map(clock, results), strict=True))
    assert clocks == {
        case: timing(request.schedule, execution=request.execution).time
        for case, request in zip(cases, requests, strict=True)
    }
    right = {execution: timing(judged, execution=execution).time for execution in EXECUTION_MODELS}
    assert [case for case in cases if clocks[case] == right[case[1]]] == []


def test_a_schedule_that_sends_a_unit_before_it_arrives_cannot_finish(simgrid: Path | None) -> None:
    """If a schedule of a batch cannot finish, the others are executed nevertheless."""
    schedules = [schedule("S4", "broadcast", name) for name in ("greedy", "recursive-substar")]
    problems = [
        unchecked(judged)
        for right in schedules
        for judged in (right, changed(right, len(right) - 1, step=1))
    ]
    results = execute_rows(problems, simgrid)
    assert [clock(result) for result in results[::2]] == [timing(each).time for each in schedules]
    for judged, result in zip(schedules, results[1::2], strict=True):
        assert isinstance(result, RejectedError), judged.id
        assert f"cannot finish {judged.id} (synchronous): " in result.message
        assert "rows wait for units that never arrive" in result.message


def test_a_crash_does_not_affect_the_rest_of_the_batch(
    simgrid: Path | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    judged = schedule("S3", "broadcast", "greedy")
    describe = runner._describe
    # Without links SimGrid ends its process. Without a column starcast's program raises an error.
    spoiled: list[dict[str, Any]] = [{}, {"links": []}, {}, {"step": None}, {}]
    remaining = iter(spoiled)

    def describe_badly(problem: SimGridProblem) -> dict[str, Any]:
        return describe(problem) | next(remaining)

    monkeypatch.setattr(runner, "_describe", describe_badly)
    results = run_simgrid_batch([SimGridRequest(judged)] * len(spoiled), installation=simgrid)
    assert [clock(result) for result in results[::2]] == [timing(judged).time] * 3
    reasons = [" there is no connecting path", "TypeError: "]
    for result, reason in zip(results[1::2], reasons, strict=True):
        assert isinstance(result, UnavailableError)
        assert f"SimGrid failed to execute {judged.id} (synchronous): " in result.message
        assert reason in result.message


def unchecked(judged: Schedule) -> SimGridProblem:
    """Return a SimGrid problem with all rows of a schedule, whether or not they are valid."""
    executed = execute(judged)._replace(selection=slice(None))
    return SimGridProblem(executed, make_ticks(64, 100, 1, "synchronous"), "synchronous")


def clock(result: SimGridRun | StarcastError) -> int | Fraction:
    """Return the simulated time, and fail if the result is an error."""
    assert isinstance(result, SimGridRun), result
    return result.time
