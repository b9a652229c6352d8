"""Propositional formulas, and the solvers CaDiCaL (python-sat) and CP-SAT (OR-tools).

The solvers run in separate processes. These are killed at the time limit, and the operating system
limits their memory. If there are several processes, each has a different random seed, and the
first answer is used. The solver libraries belong to the extra ``starcast[search]`` and are imported
only when a search needs them.
"""

import ctypes
import hashlib
import itertools
import multiprocessing
import os
import resource
import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from importlib import import_module
from importlib.metadata import version
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from time import monotonic
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from starcast.support.errors import InputError, LimitError, RejectedError, UnavailableError
from starcast.support.installation import install_command
from starcast.support.integers import MAX_INTEGER
from starcast.support.parallel import check_jobs, start_blocked
from starcast.support.progress import Reporter, Silent
from starcast.support.vocabulary import ENGINES, Engine

#: Memory of a solver in bytes per literal of the formula, measured with CaDiCaL 1.9.5 on formulas
#: of this package.
BYTES_PER_LITERAL = 60
#: Maximum number of literals for which `Formula.at_most_one` adds a clause for each pair.
_PAIRWISE = 6


class Formula:
    """A formula in conjunctive normal form: a list of clauses, with variables numbered from 1.

    A search problem always writes the same clauses for the same topology, arguments, target value
    and evidence, so the formula that a proof refutes can be rebuilt.
    """

    def __init__(self) -> None:
        self.variables = 0
        self.clauses: list[list[int]] = []

    def new(self, *shape: int) -> NDArray[np.int32]:
        """Create variables, and return their numbers as an array of the given shape."""
        count = int(np.prod(shape))
        first = self.variables + 1
        self.variables += count
        return np.arange(first, first + count, dtype=np.int32).reshape(shape)

    def add(self, *literals: int) -> None:
        """Add a clause: at least one of the literals is true."""
        self.clauses.append([int(literal) for literal in literals])

    def at_most_one(self, literals: Sequence[int]) -> None:
        """Require that at most one of the given literals is true."""
        if len(literals) <= _PAIRWISE:
            for a, b in itertools.combinations(literals, 2):
                self.add(-a, -b)
            return
        # before[i] means that one of the first i + 1 literals is true.
        before = self.new(len(literals) - 1)
        self.add(-literals[0], int(before[0]))
        for i in range(1, len(literals) - 1):
            self.add(-literals[i], int(before[i]))
            self.add(-int(before[i - 1]), int(before[i]))
            self.add(-literals[i], -int(before[i - 1]))
        self.add(-literals[-1], -int(before[-1]))

    def exactly_one(self, literals: Sequence[int]) -> None:
        """Require that exactly one of the given literals is true."""
        self.add(*literals)
        self.at_most_one(literals)

    def at_most(self, literals: Sequence[int], bound: int) -> None:
        """Require that at most ``bound`` of the literals are true."""
        numbers = [int(literal) for literal in literals]
        if bound < 0:
            # The empty clause would state that there is no solution. But checkers expect a proof to
            # derive the empty clause, so two contradicting clauses are added instead.
            false = int(self.new(1)[0])
            self.add(false)
            self.add(-false)
            return
        if bound >= len(numbers):
            return
        if bound == 0:
            for literal in numbers:
                self.add(-literal)
            return
        # count[i, j] means that more than j of the first i + 1 literals are true.
        count = self.new(len(numbers), bound)
        # This encoding, the sequential counter (Sinz 2005), needs additional variables. But with
        # it, unit propagation finds every contradiction.
        for i, literal in enumerate(numbers):
            self.add(-literal, int(count[i, 0]))
            if i == 0:
                continue
            for j in range(bound):
                self.add(-int(count[i - 1, j]), int(count[i, j]))
                if j:
                    self.add(-literal, -int(count[i - 1, j - 1]), int(count[i, j]))
            self.add(-literal, -int(count[i - 1, bound - 1]))

    def dimacs(self) -> str:
        """Return the formula in the DIMACS format, which all solvers and checkers read."""
        lines = [f"p cnf {self.variables} {len(self.clauses)}"]
        lines += [" ".join(map(str, (*clause, 0))) for clause in self.clauses]
        return "\n".join(lines) + "\n"

    def sha256(self) -> str:
        """Return the SHA-256 of the formula in the DIMACS format."""
        return hashlib.sha256(self.dimacs().encode()).hexdigest()


def require_fit(literals: int, memory: int, subject: str) -> None:
    """Check, before a formula is written, that it will fit into a solver's memory.

    Args:
        literals: an estimate of the number of literals.
        memory: the memory limit in MB.
        subject: a description of the formula, for messages.

    Raises:
        LimitError: the formula does not fit into the memory.
    """
    require_memory(literals * BYTES_PER_LITERAL, memory, f"the formula of {subject}")


def require_memory(size: int, memory: int, subject: str) -> None:
    """Check that ``size`` bytes do not exceed a memory limit in MB.

    Args:
        size: the memory that is needed, in bytes.
        memory: the limit in MB.
        subject: the work that needs the memory, for messages.

    Raises:
        LimitError: more memory than the limit is needed.
    """
    needed = size // 10**6
    if needed > memory:
        raise LimitError(
            f"{subject} needs about {needed:,} MB of memory, but the limit is {memory:,} MB",
            hint="choose a smaller topology, or raise `memory`",
        )


def true_variables(model: Iterable[int], variables: int) -> NDArray[np.bool_]:
    """Return the value of each variable in a solver's solution, bool ``[variables + 1]``.

    Entry 0 is unused, because variables are numbered from 1.
    """
    values = np.zeros(variables + 1, dtype=bool)
    positive = [literal for literal in model if 0 < literal <= variables]
    values[positive] = True
    return values


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
        seed: random seed of the first process; the other processes use the following integers.
        jobs: number of processes.
        engine: the name of the SAT solver, ``cadical`` or ``cp-sat``.
        reporter: reports the progress.
        deadline: the end of the search on the `monotonic` clock: ``seconds`` after the budget was
            created.

    Raises:
        InputError: the engine is unknown, ``jobs`` is less than 1, or a random seed is out of
            range.
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
        check_jobs(self.jobs)
        last = self.seed + self.jobs - 1
        if not 0 <= self.seed <= last <= MAX_INTEGER:
            raise InputError(
                f"the random seeds of all jobs, {self.seed} to {last}, must be from 0 to"
                f" {MAX_INTEGER}",
                hint=f"choose a `seed` from 0 to {MAX_INTEGER + 1 - self.jobs}",
            )
        object.__setattr__(self, "deadline", monotonic() + self.seconds)

    @property
    def left(self) -> float:
        """The number of seconds left before the time limit."""
        return max(self.deadline - monotonic(), 0.0)

    def part(self, share: float) -> "Budget":
        """Return a copy of the budget whose time limit is ``share`` (0 to 1) of the time left."""
        return replace(self, seconds=share * self.left)


class Solved(NamedTuple):
    """The result of a solver; its status is ``open`` if the solver found no answer in time.

    If the status is ``satisfiable``, ``values[v]`` is the value of variable v in a solution.
    Otherwise the values are None.
    """

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
            f"this operation needs the library '{module}', which is not installed",
            hint=f"install it with: {install_command('search')}",
        ) from None


def solver_name(engine: Engine) -> str:
    """Return the name of a solver with its version."""
    if engine == "cp-sat":
        require("ortools")
        return f"CP-SAT (ortools {version('ortools')})"
    require("pysat")
    return f"CaDiCaL 1.9.5 (python-sat {version('python-sat')})"


def solve(formula: Formula, budget: Budget, subject: str) -> Solved:
    """Decide whether a formula is satisfiable.

    Args:
        formula: the formula.
        budget: the solver, and the limits on time and memory.
        subject: a description of the formula, for progress and messages.

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
    """Run a function in several processes with different seeds, and return the first answer.

    Args:
        function: ``function(work, seed)`` returns an answer, or None if it finds none.
        work: the first argument of the function; it must be picklable.
        budget: the limits, the seed of the first process, and the number of processes.
        subject: a name for the work, for progress and messages.

    Returns:
        The first answer; None if no process found one within the time limit.

    Raises:
        LimitError: all processes ran out of memory.
        Exception: an exception that the function raised in one of the processes.
    """
    failures = 0
    text = f"{subject}, at most {budget.left:.0f} s"
    with _started(function, work, budget) as running, budget.reporter.task(text, 100, "%") as task:
        start, allowed, shown = monotonic(), max(budget.left, 1e-9), 0
        while budget.left > 0 and running:
            ready: list[Any] = wait(list(running), timeout=min(_INTERVAL, budget.left))
            for connection in ready:
                try:
                    answer = connection.recv()
                except EOFError:
                    answer = MemoryError()  # the system kills a process that runs out of memory
                _end(connection, running.pop(connection))
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
            f"{subject}: the solver needs more than {budget.memory:,} MB of memory",
            hint="raise `memory`, or choose a smaller topology",
        )
    return None


#: Running processes, by the connection over which each process sends its answer.
Running = dict[Any, BaseProcess]


@contextmanager
def _started(
    function: Callable[[Any, int], Any], work: object, budget: Budget
) -> Iterator[Running]:
    """Start and yield the processes of `race`; kill them when the context ends."""
    # Processes are forked from a server that has imported the libraries. A forked process starts
    # ten times as fast as a new interpreter.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__, "pysat.solvers"])
    running: Running = {}
    try:
        # Each process has its own seed. With a lucky seed, a solver may need only a tenth of the
        # usual time.
        for number in range(budget.jobs):
            receiving, sending = context.Pipe(duplex=False)
            arguments = (sending, function, work, budget.seed + number, budget.memory)
            process: BaseProcess = context.Process(target=_serve, args=arguments, daemon=True)
            # The first start also starts the server, which then ignores Ctrl-C and SIGTERM too.
            start_blocked(process)
            sending.close()
            running[receiving] = process
        yield running
    finally:
        for connection, process in running.items():
            _end(connection, process)


def _end(connection: Any, process: BaseProcess) -> None:
    process.kill()
    process.join()
    connection.close()


def _serve(
    connection: Connection,
    function: Callable[[Any, int], Any],
    work: object,
    seed: int,
    memory: int,
) -> None:
    """Call a function in this solver process, and send its answer to the parent process."""
    # Let the kernel kill this process when its parent ends. A Python thread could not do this,
    # because a running solver blocks all threads.
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    parent = multiprocessing.parent_process()
    if parent is None or not parent.is_alive():
        os._exit(1)
    # With this limit, allocations fail in this process before the system kills other processes.
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


def write_lrat(clauses: list[list[int]], path: Path) -> None:
    """Refute clauses with CaDiCaL, and write the LRAT proof to a file.

    The proof contains CaDiCaL's ids of clauses; `renumber_lrat` replaces them.

    The low-level functions of python-sat are used, because the class `Solver` writes only DRAT.
    The format must be set before CaDiCaL receives the output file, and cannot be changed later.

    Raises:
        RejectedError: the clauses are satisfiable.
        UnavailableError: python-sat is not installed.
    """
    solvers, functions = require("pysat.solvers"), require("pysolvers")
    with path.open("w+b") as file, solvers.Cadical195() as solver:
        solver.configure({"lrat": 1, "binary": 0})
        writer = functions.cadical195_tracepr(solver.cadical, file)
        for clause in clauses:
            solver.add_clause(clause)
        if solver.solve():
            raise RejectedError(
                "the formula is satisfiable, so the object that the proof excludes exists",
                hint="search again, because the record is wrong",
            )
        functions.flushpr(writer)


def renumber_lrat(raw: Path, count: int, target: Path) -> None:
    """Renumber a proof so that the ids of the formula's clauses start at 1, as LRAT requires.

    CaDiCaL has one sequence of ids for the clauses of the formula and for the clauses that it
    derives. The ids of derived clauses are in the proof; all other ids belong, in order, to the
    formula's clauses.

    Args:
        raw: the file that CaDiCaL wrote.
        count: the number of clauses of the formula.
        target: the file to write.
    """
    with raw.open(encoding="ascii") as lines:
        derived = {int(words[0]) for words in map(str.split, lines) if words[1] != "d"}
    free = (number for number in itertools.count(1) if number not in derived)
    renamed = {str(next(free)): str(number) for number in range(1, count + 1)}

    def rename(word: str) -> str:
        return renamed.get(word) or str(int(word) + count)

    with raw.open(encoding="ascii") as lines, target.open("w", encoding="ascii") as file:
        for line in lines:
            words = line.split()
            end = 1 if words[1] == "d" else words.index("0")
            changed = map(rename, words[end + 1 : -1])
            file.write(" ".join([rename(words[0]), *words[1 : end + 1], *changed, "0"]) + "\n")
