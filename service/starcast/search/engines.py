"""The solvers CaDiCaL (python-sat) and CP-SAT (OR-tools), which run in separate processes.

A process can be killed at its time limit, and the operating system limits its memory. If there are
several processes, each has a different seed, and the first answer is used. The libraries belong to
the extra ``starcast[search]`` and are imported only when used.
"""

import ctypes
import multiprocessing
import os
import resource
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from importlib import import_module
from importlib.metadata import version
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from time import monotonic
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from starcast.search.formula import Formula, true_variables
from starcast.support.errors import InputError, LimitError, UnavailableError
from starcast.support.parallel import start_blocked
from starcast.support.progress import Reporter, Silent
from starcast.support.vocabulary import ENGINES, Engine

_CADICAL = "cadical195"
#: The option PR_SET_PDEATHSIG of prctl(2), from <linux/prctl.h>.
_PR_SET_PDEATHSIG = 1
#: Seconds between two reports of progress.
_INTERVAL = 1.0


@dataclass(frozen=True)
class Budget:
    """The limits and settings of a search.

    Attributes:
        seconds: time limit.
        memory: memory limit of each process, in MB.
        seed: random seed of the first process; the other processes use the numbers that follow it.
        jobs: number of processes.
        engine: the solver of formulas.
        reporter: receives progress.

    Raises:
        InputError: the engine is unknown.
    """

    seconds: float = 60.0
    memory: int = 4_000
    seed: int = 0
    jobs: int = 1
    engine: Engine = "cadical"
    reporter: Reporter = field(default_factory=Silent)
    deadline: float = field(init=False)

    def __post_init__(self) -> None:
        if self.engine not in ENGINES:
            raise InputError(
                f"unknown engine '{self.engine}'", hint=f"choose one of {', '.join(ENGINES)}"
            )
        object.__setattr__(self, "deadline", monotonic() + self.seconds)

    @property
    def left(self) -> float:
        """The number of seconds left before the time limit."""
        return max(self.deadline - monotonic(), 0.0)

    def part(self, share: float) -> "Budget":
        """Return the same budget, but with only a share of the seconds that are left."""
        return replace(self, seconds=share * self.left)


class Solved(NamedTuple):
    """The answer of a solver: its status, and the values of the variables, numbered from 1."""

    status: Literal["satisfiable", "unsatisfiable", "open"]
    values: NDArray[np.bool_] | None = None


def require(module: str) -> Any:
    """Import and return a library that the extra ``starcast[search]`` installs.

    Raises:
        UnavailableError: the library is not installed.
    """
    try:
        return import_module(module)
    except ImportError:
        raise UnavailableError(
            f"this search needs the library '{module}', which is not installed",
            hint="install the extra: pip install 'starcast[search]'",
        ) from None


def solver_name(engine: Engine) -> str:
    """Return the name of an engine with its version."""
    if engine == "cp-sat":
        require("ortools")
        return f"CP-SAT (ortools {version('ortools')})"
    require("pysat")
    return f"CaDiCaL 1.9.5 (python-sat {version('python-sat')})"


def solve(formula: Formula, budget: Budget, subject: str) -> Solved:
    """Decide whether a formula is satisfiable.

    Raises:
        UnavailableError: the solver is not installed.
        LimitError: all processes ran out of memory.
    """
    solver_name(budget.engine)
    work = (formula.variables, formula.clauses, budget.left)
    counts = f"{subject}: {formula.variables:,} variables, {len(formula.clauses):,} clauses"
    answer = race(_cp_sat if budget.engine == "cp-sat" else _cadical, work, budget, counts)
    if answer is None:
        return Solved("open")
    status, model = answer
    if status == "satisfiable":
        return Solved(status, true_variables(model, formula.variables))
    return Solved(status)


def race(function: Callable[[Any, int], Any], work: object, budget: Budget, subject: str) -> Any:
    """Run a function in separate processes, and return the first answer.

    Args:
        function: ``function(work, seed)`` returns an answer, or None if it finds none.
        work: the function's argument, which is pickled.
        budget: limits, seeds and the number of processes.
        subject: the subject of the search, for progress and messages.

    Returns:
        The answer; None at the time limit.

    Raises:
        LimitError: all processes ran out of memory.
        Exception: the exception that the function raised.
    """
    failures = 0
    text = f"{subject}, at most {budget.left:.0f} s"
    with _started(function, work, budget) as running, budget.reporter.task(text, 100, "%") as task:
        start, allowed, shown = monotonic(), max(budget.left, 1e-9), 0
        while budget.left > 0 and running:
            for connection in wait(list(running), timeout=min(_INTERVAL, budget.left)):
                answer = _receive(running, connection)
                if isinstance(answer, MemoryError):
                    failures += 1
                elif isinstance(answer, Exception):
                    raise answer
                elif answer is not None:
                    return answer
            elapsed = min(int(100 * (monotonic() - start) / allowed), 100)
            task.advance(elapsed - shown)
            shown = elapsed
    if failures == budget.jobs:
        raise LimitError(
            f"{subject}: the solver needs more than {budget.memory:,} MB",
            hint="raise --memory, or choose a smaller topology",
        )
    return None


Running = dict[Any, BaseProcess]


@contextmanager
def _started(
    function: Callable[[Any, int], Any], work: object, budget: Budget
) -> Iterator[Running]:
    # Processes are forked from a server that has imported the libraries. They start ten times as
    # fast as a new interpreter.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__, "pysat.solvers"])
    running: Running = {}
    try:
        # Depending on its seed, a solver may take only a tenth of the time, so the first answer is
        # used.
        for number in range(budget.jobs):
            receiving, sending = context.Pipe(duplex=False)
            arguments = (sending, function, work, budget.seed + number, budget.memory)
            process: BaseProcess = context.Process(target=_serve, args=arguments, daemon=True)
            # The first process also starts the server, which then inherits the blocked signals.
            start_blocked(process)
            sending.close()
            running[receiving] = process
        yield running
    finally:
        for connection, process in running.items():
            process.kill()
            process.join()
            connection.close()


def _receive(running: Running, connection: Any) -> Any:
    """Return the answer of a process, or the exception that it raised."""
    process = running.pop(connection)
    try:
        answer = connection.recv()
    except EOFError:
        answer = MemoryError()  # the system kills a process that runs out of memory
    process.kill()
    process.join()
    connection.close()
    return answer


def _serve(
    connection: Connection,
    function: Callable[[Any, int], Any],
    work: object,
    seed: int,
    memory: int,
) -> None:
    """Run the function in a solver process, and send its answer to the parent."""
    _end_with_parent()
    # With this limit the system refuses more memory, instead of killing other processes later.
    resource.setrlimit(resource.RLIMIT_AS, (memory * 10**6,) * 2)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # If the parent was interrupted, it no longer reads from the pipe.
    with suppress(BrokenPipeError):
        try:
            connection.send(function(work, seed))
        except Exception as error:  # noqa: BLE001 - the parent raises it
            connection.send(error)


#: The input of a solver: the number of variables, the clauses, and the time limit in seconds.
_Work = tuple[int, list[list[int]], float]


def _cadical(work: _Work, seed: int) -> tuple[str, list[int]]:
    from pysat.solvers import Solver  # noqa: PLC0415 - an optional library

    with Solver(name=_CADICAL) as solver:
        # CaDiCaL accepts options only before the first clause.
        solver.configure({"seed": seed, "phase": int(seed % 2 == 0)})
        solver.append_formula(work[1])
        if solver.solve():
            return "satisfiable", solver.get_model()
    return "unsatisfiable", []


def _cp_sat(work: _Work, seed: int) -> tuple[str, list[int]] | None:
    from ortools.sat.python import cp_model  # noqa: PLC0415 - an optional library

    variables, clauses, seconds = work
    model = cp_model.CpModel()
    literals = [model.new_bool_var("") for _ in range(variables)]
    for clause in clauses:
        model.add_bool_or(
            [literals[each - 1] if each > 0 else ~literals[-each - 1] for each in clause]
        )
    solver = cp_model.CpSolver()
    # Each process has one thread, because --jobs sets the number of processes.
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = seed
    solver.parameters.max_time_in_seconds = seconds
    status = solver.solve(model)
    if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        true = [number for number, each in enumerate(literals, start=1) if solver.value(each)]
        return "satisfiable", true
    return ("unsatisfiable", []) if status == cp_model.INFEASIBLE else None


def _end_with_parent() -> None:
    """Ask the kernel to kill this process when its parent ends, as a solver blocks all threads."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    parent = multiprocessing.parent_process()
    if parent is None or not parent.is_alive():
        os._exit(1)
