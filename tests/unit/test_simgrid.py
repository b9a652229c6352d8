"""SimGrid executes schedules, and its clock says the times that `timing` computes."""

import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from starcast import Schedule, schedule, timing
from starcast.errors import InputError, LimitError, RejectedError, UnavailableError
from starcast.external import run_simgrid, simgrid_runs
from starcast.external.simgrid_runs import execute_rows
from starcast.simulator import Fault
from starcast.simulator.execution_models import make_ticks
from starcast.simulator.simulation import execute
from starcast.vocabulary import EXECUTION_MODELS, ExecutionModel
from support.simulator_cases import Base, bases, built, changed, kept

BOTH = pytest.mark.parametrize("execution", EXECUTION_MODELS)
#: All algorithms. Those on S_5 take minutes: `python -m benchmarks.simgrid S5`.
BASES = bases("S2", "S3", "S4", "S3,1", "S4,2", "Q1", "Q3")
Numbers = tuple[Any, Any, Any]
USUAL: Numbers = (64, 100, 1)


def assert_same_clock(
    judged: Schedule,
    execution: ExecutionModel,
    simgrid: Path | None,
    machine: Numbers = USUAL,
    faults: tuple[Fault, ...] = (),
) -> int | Fraction:
    """Return the time of SimGrid, after checking that every row ends when `timing` says."""
    judged = judged.expand()
    expected = timing(judged, *machine, execution=execution, faults=faults)
    run = run_simgrid(judged, *machine, execution, faults, installation=simgrid)
    assert run.time == expected.time
    ends = np.repeat(expected.packets.end, expected.packets.units).tolist()
    if execution == "asynchronous" or expected.simulation.largest_packet == 1:
        assert list(run.ends) == ends
    return run.time


@BOTH
@pytest.mark.parametrize("base", BASES, ids=":".join)
def test_the_clock_of_simgrid_says_the_time(
    base: Base, execution: ExecutionModel, simgrid: Path | None
) -> None:
    assert_same_clock(built(base), execution, simgrid)


@BOTH
@pytest.mark.parametrize(
    ("spec", "collective", "algorithm", "arguments", "synchronous", "asynchronous"),
    [
        ("S4", "broadcast", "multiple", {"segments": 4}, 2444, 2124),
        ("S5", "broadcast", "multiple", {"segments": 16}, 5636, 5344),
        ("S4", "alltoall", "exact", {}, 3444, 3444),
        ("S5", "scatter", "balanced", {}, 4920, 4920),
        ("S5", "broadcast", "recursive-substar", {}, 1148, 1148),
        ("S4", "broadcast", "multiple", {"segments": 3, "ports": "one"}, None, None),
        ("S4", "broadcast", "edge-disjoint", {"messages": 2, "copies": 3}, None, None),
        ("S4", "scatter", "edge-disjoint", {"messages": 2, "copies": 2}, None, None),
        ("S3", "allgather", "edge-disjoint", {"messages": 2, "copies": 2}, None, None),
    ],
)
def test_segments_messages_and_copies(
    spec: str,
    collective: Any,
    algorithm: str,
    arguments: dict[str, Any],
    synchronous: int | None,
    asynchronous: int | None,
    execution: ExecutionModel,
    simgrid: Path | None,
) -> None:
    judged = schedule(spec, collective, algorithm, **arguments)
    known = synchronous if execution == "synchronous" else asynchronous
    clock = assert_same_clock(judged, execution, simgrid)
    assert known is None or clock == known


@BOTH
@pytest.mark.parametrize(
    "machine", [(1, 0, 1), (Fraction(23, 7), Fraction(5, 3), 0.125), (3, 1, 0)]
)
def test_other_machines(machine: Numbers, execution: ExecutionModel, simgrid: Path | None) -> None:
    assert_same_clock(schedule("S4", "broadcast", "multiple"), execution, simgrid, machine)
    assert_same_clock(schedule("S3", "alltoall", "one-port"), execution, simgrid, machine)


@BOTH
def test_faults(execution: ExecutionModel, simgrid: Path | None) -> None:
    judged = schedule("S4", "broadcast", "edge-disjoint", messages=2, copies=3)
    faults = (Fault.parse("2134"), Fault.parse("1234-3214@2"))
    assert_same_clock(judged, execution, simgrid, faults=faults)


@BOTH
def test_a_schedule_without_rows_takes_no_time(
    execution: ExecutionModel, simgrid: Path | None
) -> None:
    empty = kept(schedule("S3", "broadcast", "greedy"), [])
    assert run_simgrid(empty, execution=execution, installation=simgrid).time == 0


# Spoiled schedules


@BOTH
@pytest.mark.parametrize(
    ("row", "steps"), [(1, 2), (5, 1), (108, 3), (109, 3), (119, 3), (131, 1)], ids=str
)
def test_a_row_that_is_moved_changes_the_clock(
    row: int, steps: int, execution: ExecutionModel, simgrid: Path | None
) -> None:
    """SimGrid says the time of the spoiled schedule, and not that of the schedule."""
    judged = schedule("S4", "broadcast", "multiple", segments=2)
    spoiled = changed(judged, row, step=int(judged.step[row]) + steps)
    clock = run_simgrid(spoiled, execution=execution, installation=simgrid).time
    assert clock == timing(spoiled, execution=execution).time
    assert clock != timing(judged, execution=execution).time


@pytest.mark.parametrize("algorithm", ["greedy", "recursive-substar"])
def test_a_row_before_its_unit_arrives_never_leaves(algorithm: str, simgrid: Path | None) -> None:
    judged = schedule("S4", "broadcast", algorithm)
    spoiled = changed(judged, len(judged) - 1, step=1)
    executed = execute(spoiled)._replace(selection=slice(None))
    ticks = make_ticks(*USUAL, "synchronous")
    with pytest.raises(RejectedError, match=r"cannot finish .* rows wait for units that never"):
        execute_rows(executed, ticks, "synchronous", simgrid)


# Bad input


@pytest.mark.parametrize(
    ("machine", "execution", "message"),
    [
        ((0, 100, 1), "synchronous", "unit_bytes is 0"),
        ((64, -1, 1), "synchronous", "t_s is -1, a negative number"),
        ((64, 100, 1), "clocked", "unknown execution model 'clocked'"),
    ],
)
def test_bad_numbers_are_refused(machine: Numbers, execution: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        run_simgrid(schedule("S3", "broadcast", "greedy"), *machine, execution)


def test_an_invalid_schedule_is_not_executed() -> None:
    judged = schedule("S4", "broadcast", "greedy")
    with pytest.raises(RejectedError, match="has no time, because it is invalid: step 1"):
        run_simgrid(changed(judged, len(judged) - 1, step=1))


def test_large_schedules_and_long_times_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    judged = schedule("S3", "broadcast", "greedy")
    with pytest.raises(LimitError, match="SimGrid computes 1,000,000,000 with its precision"):
        run_simgrid(judged, t_s=Fraction(1, 10**9))
    monkeypatch.setattr(simgrid_runs, "MAX_ROWS", 4)
    with pytest.raises(LimitError, match="has 5 rows for SimGrid; at most 4"):
        run_simgrid(judged)


@pytest.mark.parametrize("installation", [Path("/nonexistent/python"), Path(sys.executable)])
def test_without_simgrid_its_package_is_named(installation: Path) -> None:
    with pytest.raises(UnavailableError, match="SimGrid's Python module is not") as refusal:
        run_simgrid(schedule("S3", "broadcast", "greedy"), installation=installation)
    assert str(installation) in refusal.value.message
    assert "apt install python3-simgrid" in refusal.value.hint


def test_the_last_line_of_a_failure_is_reported(tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho first >&2\necho broken platform >&2\nexit 1\n")
    python.chmod(0o755)
    with pytest.raises(UnavailableError, match="SimGrid failed: broken platform"):
        run_simgrid(schedule("S3", "broadcast", "greedy"), installation=python)
