"""SimGrid and the function `timing` compute the same times.

Each test executes its schedules in one batch, or in one batch per execution model.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from starcast import Schedule, network, schedule, timing
from starcast.judges.simulator import Fault
from starcast.judges.simulator.execution_models import make_ticks
from starcast.judges.simulator.packets import RealNumber
from starcast.judges.simulator.simulation import execute
from starcast.support.vocabulary import EXECUTION_MODELS, Collective, ExecutionModel
from support.simgrid import SimGridProblem, SimGridRequest, SimGridRun, execute_rows, run_simgrid
from support.simulator_cases import bases, built, changed, kept

BOTH = pytest.mark.parametrize("execution", EXECUTION_MODELS)


def requests_of(
    schedules: Iterable[Schedule], models: Sequence[ExecutionModel] = EXECUTION_MODELS
) -> list[SimGridRequest]:
    """Return one SimGrid request per schedule and execution model."""
    return [SimGridRequest(judged, execution=model) for judged in schedules for model in models]


def assert_same_clocks(
    requests: Sequence[SimGridRequest], installation: Path | None
) -> list[SimGridRun]:
    """Assert that `timing` computes the same times as SimGrid, and return SimGrid's results."""
    results = run_simgrid(requests, installation)
    pairs = zip(requests, results, strict=True)
    differences = [(request, find_difference(request, result)) for request, result in pairs]
    assert [(request, found) for request, found in differences if found] == []
    return results


def find_difference(request: SimGridRequest, result: SimGridRun) -> str | None:
    """Describe how a SimGrid result differs from that of `timing`, or return None if they agree."""
    expected = timing(
        request.schedule.expand(),
        request.unit_bytes,
        request.t_s,
        request.t_c,
        request.execution,
        request.faults,
    )
    if result.time != expected.time:
        return f"takes {expected.time} by starcast and {result.time} by SimGrid"
    if None in result.ends:
        return "has rows that never arrive"
    if request.execution == "synchronous" and expected.simulation.largest_packet > 1:
        # SimGrid's arrival times are not compared: small packets arrive before their step ends.
        return None
    ends = np.repeat(expected.packets.end, expected.packets.units).tolist()
    for row, (end, other) in enumerate(zip(ends, result.ends, strict=True)):
        if end != other:
            return f"row {row} arrives at {end} by starcast and at {other} by SimGrid"
    return None


def test_a_batch_of_schedules_executed_by_simgrid_returns_the_time_of_each_schedule(
    simgrid: Path | None,
) -> None:
    """The last schedule is a copy of the third with one row in a later step. Their times differ."""
    right = schedule("S4", "broadcast", "multiple", segments=2)
    schedules = [
        schedule("S3", "alltoall", "one-port"),
        schedule("S4", "scatter", "balanced"),
        right,
        changed(right, 119, step=int(right.step[119]) + 3),
    ]
    requests = requests_of(schedules)
    results = assert_same_clocks(requests, simgrid)
    # The changed schedule does not take the same time as the original.
    assert all(map(find_difference, requests[4:6], results[6:]))


def test_simgrid_times_of_reductions_equal_the_computed_times(simgrid: Path | None) -> None:
    """A sum waits for its contributions. An allreduce broadcasts a segment after summing it."""
    reductions = [
        schedule("S3", "reduce", "multiple", segments=2),
        schedule("S3", "reduce-scatter", "ring", "one"),
        schedule("S3", "allreduce", "greedy", segments=3),
        schedule("Q3", "allreduce", "binomial"),
    ]
    assert_same_clocks(requests_of(reductions), simgrid)


#: Schedules with several segments, messages or copies.
CUT: list[tuple[str, Collective, str, dict[str, Any]]] = [
    ("S4", "broadcast", "multiple", {"segments": 4}),
    ("S5", "broadcast", "multiple", {"segments": 16}),
    ("S4", "alltoall", "exact", {}),
    ("S5", "scatter", "balanced", {}),
    ("S5", "broadcast", "recursive-substar", {}),
    ("S4", "broadcast", "multiple", {"segments": 3, "ports": "one"}),
    ("S4", "broadcast", "edge-disjoint", {"messages": 2, "copies": 3}),
    ("S4", "scatter", "edge-disjoint", {"messages": 2, "copies": 2}),
    ("S3", "allgather", "edge-disjoint", {"messages": 2, "copies": 2}),
    ("S4", "reduce", "multiple", {"segments": 4}),
    ("S4", "reduce", "edge-disjoint", {"messages": 2, "copies": 3}),
    ("S4", "reduce-scatter", "ring", {"messages": 2}),
    ("S4", "allreduce", "multiple", {"segments": 4}),
    ("S4", "allreduce", "ring", {"messages": 2, "ports": "one"}),
]


@pytest.mark.slow
@BOTH
def test_simgrid_times_equal_the_computed_times(
    execution: ExecutionModel, simgrid: Path | None
) -> None:
    """All algorithms on S_5 take minutes. `python -m benchmarks.simgrid S5` executes them."""
    schedules = [built(base) for base in bases("S2", "S3", "S4", "S3,1", "S4,2", "Q1", "Q3")]
    schedules += [
        schedule(spec, collective, algorithm, **arguments)
        for spec, collective, algorithm, arguments in CUT
    ]
    assert_same_clocks(requests_of(schedules, [execution]), simgrid)


@pytest.mark.slow
def test_simgrid_times_equal_the_computed_times_under_faults_and_for_empty_schedules(
    simgrid: Path | None,
) -> None:
    """Schedules without faults are executed with three sets of machine parameters."""
    machines: list[tuple[RealNumber, RealNumber, RealNumber]] = [
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
    results = assert_same_clocks(requests, simgrid)
    assert results[-1].time == 0


def unequal_schedules() -> list[Schedule]:
    """Return schedules on S_3, S_4 and four networks whose links differ."""
    rng = np.random.default_rng(8)
    line = network([("a", "b"), ("b", "c")], name="line", capacities=[1, 4], latencies=[5, 7])
    cycle = [(node, (node + 1) % 5) for node in range(5)]
    ring = network(cycle, name="ring", capacities=[1, 2, 3, 4, 6])
    late = network(cycle, name="late", latencies=[0, 13, 170, 1, 30])
    pairs = [(node, other) for other in range(6) for node in range(other)]
    complete = network(
        pairs,
        name="complete",
        capacities=rng.choice([1, 2, 5, 10], len(pairs)).tolist(),
        latencies=rng.integers(0, 90, len(pairs)).tolist(),
    )
    collectives: list[Collective] = ["broadcast", "scatter", "allgather", "reduce", "allreduce"]
    schedules = [
        schedule(each, collective, "forest", ports, base="breadth-first")
        for each in (line, ring, late, complete, "S3", "S4")
        for collective in collectives[: 2 if each == "S4" else None]
        for ports in ("all", "one")
    ]
    # Packets of several units that do not exceed the capacities of their links.
    full = [(1, 0, unit) for unit in range(6)] + [(2, 1, unit) for unit in range(6)]
    columns = np.array(full).T
    port = ring.ports_between(3, 4)[0], ring.ports_between(4, 0)[0]
    rows = {
        "step": columns[0],
        "sender": columns[1] % 2 + 3,
        "port": np.array(port)[columns[1]],
        "receiver": np.where(columns[1], 0, 4),
        "tree": columns[0] * 0,
        "unit": columns[2],
    }
    empty = kept(schedule(ring, "broadcast", "forest", base="breadth-first", root=3), [])
    # The links 3-4 and 4-0 have the capacities 4 and 6, so six units need two steps on the first.
    rows["step"] = np.where(columns[1], 3, 1 + (columns[2] > 3))
    return [*schedules, replace(empty, units=6, **rows)]


@pytest.mark.parametrize("execution", EXECUTION_MODELS)
def test_simgrid_times_equal_the_computed_times_over_unequal_links(
    execution: ExecutionModel, simgrid: Path | None
) -> None:
    judged = unequal_schedules()
    requests = requests_of(judged, [execution])
    requests += [
        SimGridRequest(each, Fraction(23, 7), Fraction(5, 3), 0.125, execution)
        for each in judged[::4]
    ]
    assert_same_clocks(requests, simgrid)


@pytest.mark.slow
def test_simgrid_takes_the_computed_time_for_a_schedule_in_which_a_row_is_moved(
    simgrid: Path | None,
) -> None:
    """This time differs from that of the original schedule."""
    judged = schedule("S4", "broadcast", "multiple", segments=2)
    moves = [(1, 2), (5, 1), (108, 3), (109, 3), (119, 3), (131, 1)]
    requests = requests_of(
        changed(judged, row, step=int(judged.step[row]) + steps) for row, steps in moves
    )
    results = assert_same_clocks(requests, simgrid)
    for request, result in zip(requests, results, strict=True):
        assert result.time != timing(judged, execution=request.execution).time


@pytest.mark.slow
def test_simgrid_does_not_finish_a_schedule_that_sends_a_unit_before_it_arrives(
    simgrid: Path | None,
) -> None:
    """The other schedules of the same batch are still executed."""
    schedules = [schedule("S4", "broadcast", name) for name in ("greedy", "recursive-substar")]
    ticks = make_ticks(schedules[0].topology, 64, 100, 1, "synchronous")
    problems = []
    for right in schedules:
        for judged in (right, changed(right, len(right) - 1, step=1)):
            # All rows of the schedule are executed, whether or not they are valid.
            executed = execute(judged)._replace(selection=slice(None))
            problems.append(SimGridProblem(executed, ticks, "synchronous"))
    results = execute_rows(problems, simgrid)
    assert [result.time for result in results[::2]] == [timing(each).time for each in schedules]
    assert all(None in result.ends for result in results[1::2])
