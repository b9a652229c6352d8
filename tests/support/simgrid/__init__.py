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
from starcast.support.vocabulary import ExecutionModel
from support.simgrid import program

#: The Python interpreter for which Debian provides SimGrid's module.
SYSTEM_PYTHON = Path("/usr/bin/python3")
#: Largest rounding error of SimGrid's clock, in ticks.
_ROUNDING = 1e-3


class NotInstalledError(Exception):
    """No interpreter has SimGrid's module."""


class SimGridRun(NamedTuple):
    """The results of an execution by SimGrid, in the unit of T_s.

    Attributes:
        time: the end of the execution.
        ends: arrival time of each executed row's unit, or None if the row waits for ever. The rows
            are those of all sources, sorted by step, sender, port, tree and unit.
    """

    time: int | Fraction
    ends: tuple[int | Fraction | None, ...]


@dataclass(frozen=True)
class SimGridRequest:
    """A schedule to execute; the other attributes are the arguments of `starcast.timing`."""

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


def run_simgrid(
    requests: Iterable[SimGridRequest], installation: Path | None = None
) -> list[SimGridRun]:
    """Execute schedules with SimGrid, in one interpreter.

    SimGrid executes the rows that `starcast.simulate` executes; a symmetric schedule is expanded.
    Every directed link of capacity c and latency l is a SimGrid link of latency T_s + l and
    bandwidth c/T_c. starcast does not compute which packet waits for which: processes send packets
    in the order of steps. A process sends as soon as its node has received the units or, in the
    synchronous model, when all processes have finished the previous step.

    Args:
        requests: the schedules, each with its execution model, T_s and T_c.
        installation: an interpreter that has SimGrid's module, or a folder with Debian's unpacked
            packages; by default the running interpreter or /usr/bin/python3, whichever has it.

    Raises:
        NotInstalledError: SimGrid is not installed.

    Example:
        >>> schedule = starcast.schedule("S4", "broadcast", "multiple", segments=4)
        >>> requests = [SimGridRequest(schedule, execution=name) for name in EXECUTION_MODELS]
        >>> [run.time for run in run_simgrid(requests)]
        [2444, 2124]
    """
    problems = []
    for request in requests:
        numbers = request.unit_bytes, request.t_s, request.t_c
        ticks = make_ticks(request.schedule.topology, *numbers, request.execution)
        executed = execute_valid(request.schedule.expand(), request.faults)
        problems.append(SimGridProblem(executed, ticks, request.execution))
    return execute_rows(problems, installation)


def execute_rows(problems: Sequence[SimGridProblem], installation: Path | None) -> list[SimGridRun]:
    """Execute rows with SimGrid like `run_simgrid`, but without checking that they are valid."""
    runs = []
    results = _run_program([_describe(problem) for problem in problems], installation)
    for result, problem in zip(results, problems, strict=True):
        ends = (end if end is None else _exact(end, problem.ticks) for end in result["ends"])
        runs.append(SimGridRun(_exact(result["time"], problem.ticks), tuple(ends)))
    return runs


def _describe(problem: SimGridProblem) -> dict[str, Any]:
    """Convert a problem to the JSON values that the program reads."""
    executed, ticks, execution = problem
    schedule = executed.rows.schedule
    topology = schedule.topology
    neighbours = topology.table().T.tolist()
    shape = topology.port_count, topology.nodes
    capacities, latencies = (
        np.full(shape, usual) if given is None else given
        for usual, given in ((1, topology.capacities), (0, topology.latencies))
    )
    capacity_of, latency_of = capacities.tolist(), latencies.tolist()
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
        "links": [
            (node, other, capacity_of[row][node], int(latency_of[row][node] / ticks.tick))
            for node, others in enumerate(neighbours)
            for row, other in enumerate(others)
            if other != node
        ],
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
        except OSError:  # the interpreter does not exist or cannot be executed
            continue
        if ran.returncode == program.NOT_INSTALLED:
            continue
        if ran.returncode:
            raise RuntimeError(f"SimGrid failed: {ran.stderr}")
        results: list[dict[str, Any]] = json.loads(ran.stdout)
        return results
    raise NotInstalledError(f"SimGrid's Python module is not installed in {installation}")


def _interpreters(installation: Path | None) -> Iterator[tuple[Path, dict[str, str]]]:
    """Yield interpreters that may have SimGrid, with the environment variables that each needs."""
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
