"""Execution by SimGrid, which other people wrote: its clock as a witness of the times of `timing`.

Reference: H. Casanova, A. Giersch, A. Legrand, M. Quinson, F. Suter, "Versatile, Scalable, and
Accurate Simulation of Distributed Applications and Platforms", JPDC 74(10), 2014.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from starcast.collectives import Schedule
from starcast.errors import LimitError, RejectedError, UnavailableError
from starcast.external import simgrid_program
from starcast.simulator.execution_models import execute_valid, make_ticks
from starcast.simulator.faults import FaultLike
from starcast.simulator.simulation import Executed
from starcast.simulator.ticks import Number, Ticks, simplify
from starcast.vocabulary import ExecutionModel

#: SimGrid computes with floating-point numbers and a precision of 1e-9.
MAX_TICKS = 10**9
#: Processes are threads of the operating system.
MAX_PROCESSES = 10_000
#: Rows that SimGrid executes in about a minute.
MAX_ROWS = 1_000_000
#: The interpreter that Debian's package is for.
SYSTEM_PYTHON = Path("/usr/bin/python3")
_ROUNDING = 1e-3  # ticks
_INSTALL = (
    "Debian, Ubuntu: apt install python3-simgrid; or set STARCAST_SIMGRID to an interpreter that "
    "has the module simgrid, or to a folder with the unpacked packages"
)


@dataclass(frozen=True)
class SimGridRun:
    """An execution by SimGrid.

    Times are in the unit of T_s. They are integers, or fractions if they are not whole.

    Attributes:
        version: the version of SimGrid.
        time: its clock at the end.
        ends: when each executed row has arrived. The rows are those of all sources, sorted by step,
            sender, port, tree and unit.
    """

    version: str
    time: int | Fraction
    ends: tuple[int | Fraction, ...]


def run_simgrid(
    schedule: Schedule,
    unit_bytes: Number = 64,
    t_s: Number = 100,
    t_c: Number = 1,
    execution: ExecutionModel = "synchronous",
    faults: Iterable[FaultLike] = (),
    *,
    installation: Path | None = None,
) -> SimGridRun:
    """Execute a schedule by SimGrid.

    SimGrid executes the rows that `starcast.simulate` executes; a symmetric schedule is expanded.
    Every directed link is a link of latency T_s and bandwidth 1/T_c. starcast does not compute
    which packet waits for which: processes send packets in the order of steps, as soon as their
    node has received the units, or synchronously when all processes have finished the step before.

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
    ticks = make_ticks(unit_bytes, t_s, t_c, execution)
    executed = execute_valid(schedule.expand(), faults)
    _check_size(schedule, executed, ticks)
    return execute_rows(executed, ticks, execution, installation)


def execute_rows(
    executed: Executed, ticks: Ticks, execution: ExecutionModel, installation: Path | None
) -> SimGridRun:
    """Execute rows by SimGrid, in units of a tick; `run_simgrid` without its checks.

    Raises:
        RejectedError: SimGrid cannot finish the rows.
        UnavailableError: SimGrid is not installed, or fails.
    """
    answer = _run_program(_describe(executed, ticks, execution), installation)
    stuck = answer["ends"].count(None)
    if stuck:
        raise RejectedError(
            f"SimGrid {answer['version']} cannot finish {executed.rows.schedule.id}: {stuck:,} "
            "rows wait for units that never arrive",
            hint="this contradicts the simulator of starcast: please report it",
        )
    return SimGridRun(
        version=answer["version"],
        time=_exact(answer["time"], ticks),
        ends=tuple(_exact(end, ticks) for end in answer["ends"]),
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
            f"the time may have {latest:,} times the greatest common divisor of its parts, and "
            f"SimGrid computes {MAX_TICKS:,} with its precision",
            hint="give rounder numbers for --unit-bytes, --t-s and --t-c",
        )


def _describe(executed: Executed, ticks: Ticks, execution: ExecutionModel) -> dict[str, Any]:
    """Return the problem that the program reads."""
    schedule = executed.rows.schedule
    topology = schedule.topology
    neighbours = topology.table().T.tolist()
    columns = ("step", "sender", "receiver", "unit")
    rows = {name: getattr(executed.rows, name)[executed.selection].tolist() for name in columns}
    return {
        "nodes": topology.nodes,
        "links": [(node, other) for node, others in enumerate(neighbours) for other in others],
        "one_port": schedule.ports == "one",
        "synchronous": execution == "synchronous",
        "steps": max(rows["step"], default=0),
        "start_up": ticks.start_up,
        "per_unit": ticks.per_unit,
        "source": executed.postcondition.source(np.arange(schedule.units)).tolist(),
        **rows,
    }


def _run_program(problem: dict[str, Any], installation: Path | None) -> dict[str, Any]:
    """Run the program in the first interpreter that has SimGrid, and return what it prints."""
    program = Path(simgrid_program.__file__)
    for python, variables in _interpreters(installation):
        try:
            ran = subprocess.run(
                [python, program],
                input=json.dumps(problem),
                env={**os.environ, **variables},
                capture_output=True,
                text=True,
                check=False,
            )
        except OSError:  # no such interpreter
            continue
        if ran.returncode == simgrid_program.NOT_INSTALLED:
            continue
        if ran.returncode:
            last = (ran.stderr.strip().splitlines() or [f"exit code {ran.returncode}"])[-1]
            raise UnavailableError(
                f"SimGrid failed: {last}", hint="starcast is tested with SimGrid 3.32"
            )
        answer: dict[str, Any] = json.loads(ran.stdout)
        return answer
    place = "" if installation is None else f" in {installation}"
    raise UnavailableError(f"SimGrid's Python module is not installed{place}", hint=_INSTALL)


def _interpreters(installation: Path | None) -> Iterator[tuple[Path, dict[str, str]]]:
    """Yield interpreters that may have SimGrid, with the variables that they need."""
    if installation is None:
        yield Path(sys.executable), {}
        yield SYSTEM_PYTHON, {}
    elif installation.is_dir():
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
    """Return a time of SimGrid's clock, without the rounding of floating-point numbers."""
    nearest = round(time)
    return simplify((nearest if abs(time - nearest) < _ROUNDING else Fraction(time)) * ticks.tick)
