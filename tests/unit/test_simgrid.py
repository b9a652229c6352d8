"""SimGrid executes a batch of schedules, and refuses invalid input."""

import json
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from starcast import schedule
from starcast.judges.simulator import simgrid as runner
from starcast.judges.simulator.simgrid import (
    SimGridRequest,
    SimGridRun,
    run_simgrid,
    run_simgrid_batch,
)
from starcast.support.errors import InputError, LimitError, RejectedError, UnavailableError
from starcast.support.vocabulary import EXECUTION_MODELS
from support.simgrid_cases import assert_same_clocks, find_differences
from support.simulator_cases import changed

Numbers = tuple[Any, Any, Any]


def test_a_batch_returns_the_time_of_each_schedule(simgrid: Path | None) -> None:
    """The last schedule is the third with one row moved to a later step, which changes its time."""
    right = schedule("S4", "broadcast", "multiple", segments=2)
    schedules = [
        schedule("S3", "alltoall", "one-port"),
        schedule("S4", "scatter", "balanced"),
        right,
        changed(right, 119, step=int(right.step[119]) + 3),
    ]
    requests = [
        SimGridRequest(judged, execution=execution)
        for judged in schedules
        for execution in EXECUTION_MODELS
    ]
    results = run_simgrid_batch(requests, installation=simgrid)
    assert_same_clocks(requests, results)
    # The changed schedule does not take the same time as the original.
    assert len(find_differences(requests[4:6], results[6:])) == len(EXECUTION_MODELS)


def test_simgrid_executes_every_reduction(simgrid: Path | None) -> None:
    """A sum waits for its contributions. An allreduce broadcasts each segment once it is summed."""
    reductions = [
        schedule("S3", "reduce", "multiple", segments=2),
        schedule("S3", "reduce-scatter", "ring", "one"),
        schedule("S3", "allreduce", "greedy", segments=3),
        schedule("Q3", "allreduce", "binomial"),
    ]
    requests = [
        SimGridRequest(judged, execution=execution)
        for judged in reductions
        for execution in EXECUTION_MODELS
    ]
    assert_same_clocks(requests, run_simgrid_batch(requests, installation=simgrid))


@pytest.mark.parametrize(
    ("machine", "execution", "message"),
    [
        ((0, 100, 1), "synchronous", "unit_bytes is 0"),
        ((64, -1, 1), "synchronous", "t_s is -1, a negative number"),
        ((64, 100, 1), "clocked", "unknown execution model 'clocked'"),
    ],
)
def test_invalid_machine_parameters_and_execution_models_are_refused(
    machine: Numbers, execution: Any, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        run_simgrid(schedule("S3", "broadcast", "greedy"), *machine, execution)


def test_an_invalid_schedule_is_not_executed() -> None:
    judged = schedule("S4", "broadcast", "greedy")
    with pytest.raises(RejectedError, match="has no time, because it is invalid: step 1"):
        run_simgrid(changed(judged, len(judged) - 1, step=1))


def test_large_schedules_and_long_times_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    judged = schedule("S3", "broadcast", "greedy")
    with pytest.raises(LimitError, match="its limit is 1,000,000,000"):
        run_simgrid(judged, t_s=Fraction(1, 10**9))
    monkeypatch.setattr(runner, "MAX_ROWS", 4)
    with pytest.raises(LimitError, match="has 5 rows for SimGrid; at most 4"):
        run_simgrid(judged)


@pytest.mark.parametrize("installation", [Path("/nonexistent/python"), Path(sys.executable)])
def test_the_error_without_simgrid_names_the_package_to_install(installation: Path) -> None:
    with pytest.raises(UnavailableError, match="SimGrid's Python module is not") as refusal:
        run_simgrid(schedule("S3", "broadcast", "greedy"), installation=installation)
    assert str(installation) in refusal.value.message
    assert "apt install python3-simgrid" in refusal.value.hint


def test_if_simgrid_fails_the_last_line_of_its_error_output_is_reported(tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho first >&2\necho broken platform >&2\nexit 1\n")
    python.chmod(0o755)
    with pytest.raises(UnavailableError, match="SimGrid failed: broken platform"):
        run_simgrid(schedule("S3", "broadcast", "greedy"), installation=python)


def test_an_error_names_its_schedule_and_the_other_results_are_kept(tmp_path: Path) -> None:
    """SimGrid is replaced by a program that fails to execute the second schedule."""
    times = {"version": "3.32.0", "time": 41.0, "ends": [41.0]}  # in ticks of length 4
    printed = json.dumps([times, {"error": "broken platform"}, times])
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\ncat > {tmp_path}/input\ncat <<'END'\n{printed}\nEND\n")
    python.chmod(0o755)
    judged = schedule("S2", "broadcast", "greedy")
    requests = [
        SimGridRequest(judged),
        SimGridRequest(judged, execution="asynchronous"),
        SimGridRequest(judged, t_s=200, unit_bytes=128),
    ]
    first, failed, last = run_simgrid_batch(requests, installation=python)
    assert first == SimGridRun("3.32.0", 164, (164,))
    assert isinstance(failed, UnavailableError)
    name = f"{judged.id} (asynchronous)"
    assert failed.message == f"SimGrid failed to execute {name}: broken platform"
    assert isinstance(last, SimGridRun)
    problems = json.loads((tmp_path / "input").read_text())
    assert [problem["synchronous"] for problem in problems] == [True, False, True]


def test_the_error_of_a_single_schedule_is_raised(tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text('#!/bin/sh\ncat > /dev/null\necho \'[{"error": "broken platform"}]\'\n')
    python.chmod(0o755)
    with pytest.raises(UnavailableError, match=r"to execute .* \(synchronous\): broken platform"):
        run_simgrid(schedule("S2", "broadcast", "greedy"), installation=python)
