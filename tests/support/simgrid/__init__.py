"""Execute schedules with SimGrid, an independent simulator that confirms the times of `timing`.

Reference: H. Casanova, A. Giersch, A. Legrand, M. Quinson, F. Suter, "Versatile, Scalable, and
Accurate Simulation of Distributed Applications and Platforms", JPDC 74(10), 2014.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from starcast.collectives import Schedule
from starcast.judges.simulator.execution_models import execute_valid, make_ticks
from starcast.judges.simulator.faults import FaultLike
from starcast.judges.simulator.packets import RealNumber, Ticks, simplify
from starcast.judges.simulator.simulation import Executed
from starcast.support.errors import LimitError, RejectedError, StarcastError, UnavailableError
from starcast.support.vocabulary import ExecutionModel
from support.simgrid import program

__all__ = ["SimGridRequest", "SimGridRun", "run_simgrid", "run_simgrid_batch"]

#: Maximum number of ticks of an execution. SimGrid computes times as floats with a precision of
#: 1e-9, so larger times would be inexact.
MAX_TICKS = 10**9
#: Maximum number of processes: each SimGrid process is a thread of the operating system.
MAX_PROCESSES = 10_000
#: Maximum number of rows; SimGrid executes this many in about a minute.
MAX_ROWS = 1_000_000
#: The Python interpreter for which Debian provides SimGrid's module.
SYSTEM_PYTHON = Path("/usr/bin/python3")
#: Largest rounding error of SimGrid's clock, in ticks.
_ROUNDING = 1e-3
_TESTED = "use SimGrid 3.32, with which starcast is tested"
_INSTALL = (
    "run 'apt install python3-simgrid' on Debian or Ubuntu, or name an interpreter that has the "
    "module simgrid, or a folder with the unpacked packages"
)


@dataclass(frozen=True)
class SimGridRun:
    """The results of an execution by SimGrid.

    Times are in the unit of T_s. They are integers, or fractions if they are not whole numbers.

    Attributes:
        version: the version of SimGrid.
        time: the end of the execution.
        ends: when the unit of each executed row arrives. The rows are those of all sources, sorted
            by step, sender, port, tree and unit.
    """

    version: str
    time: int | Fraction
    ends: tuple[int | Fraction, ...]


@dataclass(frozen=True)
class SimGridRequest:
    """A request to `run_simgrid_batch` for one execution.

    Attributes:
        schedule: any schedule that `starcast.timing` accepts.
        unit_bytes: bytes per unit.
        t_s: T_s, the start-up time of a packet.
        t_c: T_c, the time per byte.
        execution: the execution model, as in `starcast.timing`.
        faults: as in `starcast.simulate`.
    """

    schedule: Schedule
    unit_bytes: RealNumber = 64
    t_s: RealNumber = 100
    t_c: RealNumber = 1
    execution: ExecutionModel = "synchronous"
    faults: Iterable[FaultLike] = ()


class SimGridProblem(NamedTuple):
    """A request with its executed rows, as prepared for SimGrid, which receives times in ticks."""

    executed: Executed
    ticks: Ticks
    execution: ExecutionModel

    @property
    def name(self) -> str:
        """Text for messages, with the id of the schedule and the execution model."""
        return f"{self.executed.rows.schedule.id} ({self.execution})"


def run_simgrid(
    schedule: Schedule,
    unit_bytes: RealNumber = 64,
    t_s: RealNumber = 100,
    t_c: RealNumber = 1,
    execution: ExecutionModel = "synchronous",
    faults: Iterable[FaultLike] = (),
    *,
    installation: Path | None = None,
) -> SimGridRun:
    """Execute a schedule with SimGrid.

    SimGrid executes the rows that `starcast.simulate` executes; a symmetric schedule is expanded.
    Every directed link is a SimGrid link of latency T_s and bandwidth 1/T_c. starcast does not
    compute which packet waits for which: processes send packets in the order of steps. A process
    sends as soon as its node has received the units or, in the synchronous model, when all
    processes have finished the previous step.

    Args:
        schedule: any schedule that `starcast.timing` accepts.
        unit_bytes: bytes per unit.
        t_s: T_s, the start-up time of a packet.
        t_c: T_c, the time per byte.
        execution: the execution model, as in `starcast.timing`.
        faults: as in `starcast.simulate`.
        installation: an interpreter that has SimGrid's module, or a folder with Debian's unpacked
            packages; by default the running interpreter or /usr/bin/python3, whichever has it.

    Raises:
        InputError: an argument is invalid, as in `starcast.timing`.
        LimitError: the schedule has too many rows, or the times too many digits.
        RejectedError: the schedule violates its port model, or SimGrid cannot finish it.
        UnavailableError: SimGrid is not installed, or fails.

    Example:
        >>> schedule = starcast.schedule("S4", "broadcast", "multiple", segments=4)
        >>> run_simgrid(schedule, execution="asynchronous").time
        2124
    """
    request = SimGridRequest(schedule, unit_bytes, t_s, t_c, execution, faults)
    (result,) = run_simgrid_batch([request], installation=installation)
    if isinstance(result, StarcastError):
        raise result
    return result


def run_simgrid_batch(
    requests: Iterable[SimGridRequest], *, installation: Path | None = None
) -> list[SimGridRun | StarcastError]:
    """Execute several schedules with SimGrid, in one interpreter.

    Starting an interpreter takes longer than executing a small schedule. All requests are checked
    before the first one is executed.

    Args:
        requests: the schedules, each with its execution model, T_s and T_c.
        installation: as in `run_simgrid`.

    Returns:
        A list with one entry per request, in the same order: the execution, or the error that
        `run_simgrid` would raise because SimGrid failed or could not finish this schedule. An error
        does not affect the other requests.

    Raises:
        InputError: an argument of a request is invalid, as in `starcast.timing`.
        LimitError: a schedule has too many rows, or its times too many digits.
        RejectedError: a schedule violates its port model.
        UnavailableError: SimGrid is not installed, or cannot be started.

    Example:
        >>> schedule = starcast.schedule("S4", "broadcast", "multiple", segments=4)
        >>> requests = [SimGridRequest(schedule, execution=name) for name in EXECUTION_MODELS]
        >>> [run.time for run in run_simgrid_batch(requests)]
        [2444, 2124]
    """
    return execute_rows([_make_problem(request) for request in requests], installation)


def execute_rows(
    problems: Sequence[SimGridProblem], installation: Path | None
) -> list[SimGridRun | StarcastError]:
    """Execute rows with SimGrid, like `run_simgrid_batch` but without its checks."""
    results = _run_program([_describe(problem) for problem in problems], installation)
    return [_read(result, problem) for result, problem in zip(results, problems, strict=True)]


def _make_problem(request: SimGridRequest) -> SimGridProblem:
    """Check a request, and return the rows for SimGrid to execute.

    Raises:
        InputError: an argument is invalid.
        LimitError: the schedule has too many rows, or the times too many digits.
        RejectedError: the schedule violates its port model.
    """
    schedule = request.schedule
    ticks = make_ticks(request.unit_bytes, request.t_s, request.t_c, request.execution)
    executed = execute_valid(schedule.expand(), request.faults)
    _check_size(schedule, executed, ticks)
    return SimGridProblem(executed, ticks, request.execution)


def _read(result: dict[str, Any], problem: SimGridProblem) -> SimGridRun | StarcastError:
    """Return the results that the program reports, or an error if the schedule did not finish."""
    if "error" in result:
        return UnavailableError(
            f"SimGrid failed to execute {problem.name}: {result['error']}", hint=_TESTED
        )
    stuck = result["ends"].count(None)
    if stuck:
        return RejectedError(
            f"SimGrid {result['version']} cannot finish {problem.name}: {stuck:,} rows wait for "
            "units that never arrive",
            hint="this contradicts the simulator of starcast: please report it",
        )
    return SimGridRun(
        version=result["version"],
        time=_exact(result["time"], problem.ticks),
        ends=tuple(_exact(end, problem.ticks) for end in result["ends"]),
    )


def _check_size(schedule: Schedule, executed: Executed, ticks: Ticks) -> None:
    rows = executed.simulation.transmissions
    topology = schedule.topology
    processes = 2 * topology.nodes if schedule.ports == "one" else topology.nodes * topology.degree
    for name, count, limit in (("rows", rows, MAX_ROWS), ("processes", processes, MAX_PROCESSES)):
        if count > limit:
            raise LimitError(
                f"{schedule.id} has {count:,} {name} for SimGrid; at most {limit:,} are supported",
                hint="use a smaller topology, or fewer segments or messages",
            )
    latest = ticks.end_of_steps(executed.simulation)
    if latest > MAX_TICKS:
        raise LimitError(
            f"SimGrid cannot represent these times exactly: they need up to {latest:,} ticks of "
            f"equal length, and its limit is {MAX_TICKS:,}",
            hint="give rounder numbers for unit_bytes, t_s and t_c",
        )


def _describe(problem: SimGridProblem) -> dict[str, Any]:
    """Convert a problem to the JSON values that the program reads."""
    executed, ticks, execution = problem
    schedule = executed.rows.schedule
    topology = schedule.topology
    neighbours = topology.table().T.tolist()
    columns = ["step", "sender", "receiver", "unit"]
    held = {}
    if executed.postcondition.reduces:
        columns += ["tree", "combine"]
        alive = np.arange(topology.nodes) if executed.alive is None else executed.alive.nonzero()[0]
        held["contributors"] = alive.tolist()
    else:
        held["source"] = executed.postcondition.source(np.arange(schedule.units)).tolist()
    rows = {name: getattr(executed.rows, name)[executed.selection].tolist() for name in columns}
    return {
        "nodes": topology.nodes,
        "links": [(node, other) for node, others in enumerate(neighbours) for other in others],
        "one_port": schedule.ports == "one",
        "synchronous": execution == "synchronous",
        "steps": max(rows["step"], default=0),
        "start_up": ticks.start_up,
        "per_unit": ticks.per_unit,
        **held,
        **rows,
    }


def _run_program(problems: list[dict[str, Any]], installation: Path | None) -> list[dict[str, Any]]:
    """Run the program in the first interpreter that has SimGrid, and return its results."""
    path = Path(program.__file__)
    for python, variables in _interpreters(installation):
        try:
            ran = subprocess.run(
                [python, path],
                input=json.dumps(problems),
                env={**os.environ, **variables},
                capture_output=True,
                text=True,
                check=False,
            )
        except OSError:  # the interpreter does not exist
            continue
        if ran.returncode == program.NOT_INSTALLED:
            continue
        if ran.returncode:
            # The last line of a Python traceback is the exception, which suffices for a message.
            last = (ran.stderr.strip().splitlines() or [f"exit code {ran.returncode}"])[-1]
            raise UnavailableError(f"SimGrid failed: {last}", hint=_TESTED)
        results: list[dict[str, Any]] = json.loads(ran.stdout)
        return results
    location = "" if installation is None else f" in {installation}"
    raise UnavailableError(f"SimGrid's Python module is not installed{location}", hint=_INSTALL)


def _interpreters(installation: Path | None) -> Iterator[tuple[Path, dict[str, str]]]:
    """Yield interpreters that may have SimGrid, with the variables that they need."""
    if installation is None:
        yield Path(sys.executable), {}
        yield SYSTEM_PYTHON, {}
    elif installation.is_dir():
        # These variables are needed because the packages are unpacked but not installed: Python and
        # the library loader would not find them.
        libraries = [str(folder) for folder in sorted(installation.glob("usr/lib/*-linux-gnu*"))]
        yield (
            SYSTEM_PYTHON,
            {
                "PYTHONPATH": str(installation / "usr/lib/python3/dist-packages"),
                "LD_LIBRARY_PATH": os.pathsep.join(libraries),
            },
        )
    else:
        yield installation, {}


def _exact(time: float, ticks: Ticks) -> int | Fraction:
    """Convert a time of SimGrid's clock from ticks, and remove its rounding error."""
    nearest = round(time)
    return simplify((nearest if abs(time - nearest) < _ROUNDING else Fraction(time)) * ticks.tick)
