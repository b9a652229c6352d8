"""Run experiments, which are named sets of stored runs, and repeat stored runs.

Each run is stored with its costs and step profile in one transaction. The first run's transaction
also stores the experiment. An interruption therefore leaves no partly stored run, and running the
experiment again executes the missing runs. A repetition executes stored runs again, compares the
new results with the stored results, and stores nothing.
"""

from collections.abc import Set as AbstractSet
from concurrent.futures import Executor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from fractions import Fraction
from operator import attrgetter

from sqlalchemy import Engine, select, text
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from starcast.catalogue.plugins import PluginMissingError, find_changed, require_plugins
from starcast.experiments.design import Design, Grid, check_name, describe_missing, stored_design
from starcast.experiments.execution import Execution, execute, execute_all, price_run
from starcast.experiments.point import Point
from starcast.judges.simulator.simulation import PROFILE_COLUMNS, Profile
from starcast.stores.database import models, repository
from starcast.stores.database.sessions import Lock, advisory_lock, open_session, wait_for_lock
from starcast.support.errors import BusyError, InputError, RejectedError
from starcast.support.parallel import check_jobs
from starcast.support.progress import Reporter
from starcast.support.runs import Run
from starcast.support.text import pluralize

#: The name of the experiment in which single runs are stored by default.
ADHOC = "adhoc"
#: Maximum time in seconds to wait for other processes that are writing to the same experiment,
#: before an executed single run is stored.
SAVE_SECONDS = 60
#: Constraints of PostgreSQL that are violated if another process stores the same run or experiment,
#: or deletes the experiment, at the same time.
_CONCURRENT_WRITES = {"uq_run_point", "uq_experiment_name", "fk_run_experiment"}


@dataclass(frozen=True)
class Outcome:
    """The result of running or importing an experiment.

    Attributes:
        name: the name of the experiment.
        kept: the number of runs that were already stored.
        created: the number of new runs.
        failed: the number of new runs that failed.
        reason: the reason why the first failed run failed; an empty string if no run failed.
        first_failed: the run number of the first failed run; None if no run failed.
    """

    name: str
    kept: int
    created: int
    failed: int = 0
    reason: str = ""
    first_failed: int | None = None

    def require_success(self) -> None:
        """Check that no new run failed.

        Raises:
            RejectedError: a new run failed.
        """
        if self.failed:
            raise RejectedError(
                f"{pluralize(self.failed, 'run')} failed and will not be compared"
                f"{'; the first error was' if self.failed > 1 else ''}: {self.reason}",
                hint=f"see 'starcast run list --experiment {self.name}' and"
                f" 'starcast run show {self.first_failed}'",
            )


def run_experiment(
    engine: Engine,
    name: str,
    wanted: Grid | Design,
    reporter: Reporter,
    *,
    replace: bool = False,
    jobs: int | None = None,
    executor: Executor | None = None,
) -> Outcome:
    """Execute the points of an experiment that have no complete stored run, and store their runs.

    A new run replaces a failed run of the same point.

    Args:
        engine: a database with a checked schema.
        name: the name of the experiment. An existing experiment must have the same points, unless
            ``replace`` is True.
        wanted: the design or grid whose points are executed.
        reporter: receives the progress.
        replace: delete an existing experiment with this name when the first run is stored.
        jobs: the number of processes; by default one per core, or only this process if the work is
            small. Only this process writes to the database.
        executor: executes the points instead of processes on this machine.

    Raises:
        InputError: the name is invalid; the existing experiment has other points and is not
            replaced; ``jobs`` is less than 1; or several processes are requested but a plug-in is
            defined in a script.
        BusyError: another process is using this experiment.
        UnavailableError: a connection to the database was lost; completed runs are stored.
        LimitError: a point does not fit into memory, a process cannot be started, or the processes
            that executed a point were killed; completed runs are stored.
    """
    check_jobs(jobs)
    design = wanted if isinstance(wanted, Design) else Design((wanted,))
    with exclusive(engine, check_name(name)) as lock:
        with open_session(engine) as session:
            known = {} if replace else _stored_points(session, name, design)
        stored = {point for point, is_complete in known.items() if is_complete}
        missing = [point for point in design.points() if point not in stored]
        # Every run is saved in its own session, so that an interruption loses no finished run.
        writer = _Writer(engine, lock, name, design, replace, known.keys() - stored)
        failed = _run_points(writer, missing, reporter, jobs, executor) if missing else []
    counts = (len(stored), len(missing), len(failed))
    if not failed:
        return Outcome(name, *counts)
    return Outcome(name, *counts, failed[0].error or "", failed[0].id)


def run_once(
    engine: Engine, point: Point, name: str = ADHOC, reporter: Reporter | None = None
) -> Run:
    """Execute one point and store its run in a collection, which is an experiment without a grid.

    The new run replaces an earlier run of the same point. Other processes may write to the
    collection while the point is executed. The reporter receives the remarks of the simulation.

    Raises:
        InputError: the name is invalid, or belongs to an experiment with a grid.
        BusyError: the run cannot be stored, because another process has held the collection's lock
            for a minute.
        LimitError: the point does not fit into memory.
    """
    # The experiment is checked before the execution, which may take a long time, and again before
    # the run is stored, because the experiment may have changed.
    with open_session(engine) as session:
        _check_collection(session, check_name(name))
    execution = execute(point)
    with open_session(engine) as session:
        lock_experiment(session, name, SAVE_SECONDS)
        _check_collection(session, name)
        experiment = _ensure_experiment(session, name)
        repository.drop_run(session, experiment, point)
        run = _save(session, experiment, point, execution, jobs=1)
    if reporter is not None:
        for remark in execution.remarks:
            reporter.say(remark)
    return run


def drop_experiment(engine: Engine, name: str) -> int:
    """Delete an experiment and return the number of its runs.

    Raises:
        NotFoundError: no such experiment is stored.
        BusyError: another process is using the experiment.
    """
    with exclusive(engine, name), open_session(engine) as session:
        experiment = repository.load_experiment(session, name)
        runs, _failed = repository.count_runs(session).get(experiment.id, (0, 0))
        repository.drop_experiment(session, name)
        return runs


def exclusive(engine: Engine, name: str) -> AbstractContextManager[Lock]:
    """Return a context that holds an experiment's lock, so that only this process can change it.

    Raises:
        BusyError: another transaction holds the lock.
    """
    return advisory_lock(engine, _lock_name(name), _busy(name))


def lock_experiment(session: Session, name: str, seconds: int = 0) -> None:
    """Acquire the lock of an experiment until the end of the session's transaction.

    Raises:
        BusyError: another transaction holds the lock, and does not release it within ``seconds``.
    """
    wait_for_lock(session, _lock_name(name), seconds, _busy(name))


def _lock_name(name: str) -> str:
    return f"experiment {name}"


def _busy(name: str) -> BusyError:
    return BusyError(
        f"another process is using the experiment '{name}'",
        hint="wait until it has finished, then try again",
    )


def _stored_points(session: Session, name: str, design: Design) -> dict[Point, bool]:
    """Return the points of an experiment's stored runs; delete an experiment without runs.

    Returns:
        For each point, whether its run is complete; False if the run failed.

    Raises:
        InputError: the stored experiment has other points than the design.
    """
    experiment = repository.find_experiment(session, name)
    if experiment is None:
        return {}
    runs = repository.load_runs(session, experiment.id)
    points = {Point.of(run): run.status == "complete" for run in runs}
    if not points:
        # Earlier versions stored an empty experiment when the first run failed.
        repository.drop_experiment(session, name)
        return {}
    check_design(experiment, design, "use another name, or `replace` to delete its runs")
    return points


def check_design(
    experiment: models.Experiment, design: Design | None, hint: str = "use another name"
) -> None:
    """Check that an experiment has the points of a design or, without a design, has no grid.

    Designs with the same points count as equal, regardless of titles and the order of values.

    Raises:
        InputError: the experiment has other points, is a collection of single runs although a
            design is given, or has a grid although no design is given.
    """
    stored = set(stored_design(experiment).points()) if experiment.grid else None
    if stored == (None if design is None else set(design.points())):
        return
    problem = "is a collection of single runs"
    if experiment.grid:
        problem = "has a grid" if design is None else "has a different grid"
    raise InputError(
        f"the stored experiment '{experiment.name}' {problem}",
        hint=hint,
    )


def _check_collection(session: Session, name: str) -> None:
    experiment = repository.find_experiment(session, name)
    if experiment is not None and experiment.grid:
        raise InputError(
            f"the experiment '{name}' is defined by a grid: single runs cannot be added to it",
            hint="use another name",
        )


def _ensure_experiment(session: Session, name: str, design: Design | None = None) -> int:
    """Return the id of an experiment; if it does not exist, create it with the given design."""
    experiment = repository.find_experiment(session, name)
    if experiment is None and design is not None:
        points = len(design.points())
        experiment = repository.save_experiment(session, name, design.as_json(), points)
    elif experiment is None:
        experiment = repository.save_experiment(session, name, {})
    return experiment.id


@dataclass(frozen=True)
class _Writer:
    """A writer of an experiment's runs, used while this process holds the experiment's lock."""

    engine: Engine
    lock: Lock
    name: str
    design: Design
    replaces: bool
    failed: AbstractSet[Point]

    def save(self, point: Point, execution: Execution, jobs: int, *, is_first: bool) -> Run:
        """Store a run in its own transaction, and delete a failed run of the same point.

        If ``replaces`` is True, the first run also deletes the existing experiment of this name.

        Raises:
            UnavailableError: the lock has been lost.
            BusyError: another process has written to the experiment at the same time.
        """
        try:
            with open_session(self.engine) as session:
                self.lock.verify(session)
                if self.replaces and is_first:
                    repository.drop_experiment(session, self.name)
                experiment = _ensure_experiment(session, self.name, self.design)
                if point in self.failed:
                    repository.drop_run(session, experiment, point)
                return _save(session, experiment, point, execution, jobs)
        except IntegrityError as error:
            diagnosis = getattr(error.orig, "diag", None)
            if getattr(diagnosis, "constraint_name", None) not in _CONCURRENT_WRITES:
                raise
            raise _busy(self.name) from None


def _run_points(
    writer: _Writer,
    points: list[Point],
    reporter: Reporter,
    jobs: int | None,
    executor: Executor | None,
) -> list[Run]:
    """Execute points, store their runs, and return the failed runs."""
    failed: list[Run] = []
    remarks: dict[str, list[Run]] = {}
    try:
        with (
            reporter.task(f"running {writer.name}", len(points), "runs") as task,
            execute_all(points, jobs, executor) as (executions, processes),
        ):
            for number, (point, execution) in enumerate(executions):
                run = writer.save(point, execution, processes, is_first=number == 0)
                for remark in execution.remarks:
                    remarks.setdefault(remark, []).append(run)
                if execution.error is not None:
                    failed.append(run)
                task.advance()
    finally:
        # Many runs can have the same remark, so each remark is reported once, at the end.
        for remark, runs in remarks.items():
            first = min(runs, key=attrgetter("id"))
            name = f"run {first.id} ({first.collective} by {first.algorithm} on {first.topology})"
            several = f"{pluralize(len(runs), 'run')}, first " if len(runs) > 1 else ""
            reporter.say(f"{several}{name}: {remark}")
    return failed


def _save(session: Session, experiment: int, point: Point, execution: Execution, jobs: int) -> Run:
    server = session.scalar(select(text("current_setting('server_version')")))
    run = price_run(point, execution, postgres=server, jobs=jobs)
    return repository.save_run(session, experiment, run, execution.profile)


#: The results that are compared when a stored run is repeated, in the order in which they are
#: listed.
REPEATED = ("status", "steps", "transmissions", "costs", "missing", "profile")

#: The stored step profile of a run: for each step number, the values of `PROFILE_COLUMNS`.
Steps = dict[int, tuple[int, ...]]

SAME, _NOTHING = "same", "nothing"
# Every kind of cost has a time, so comparing times also detects a missing kind.
_COSTS = ("time", "steps", "start_ups", "transmissions", "bytes")


@dataclass(frozen=True)
class Repetition:
    """A stored run, and a comparison of the stored results with the results of a new execution.

    Attributes:
        run: the stored run.
        figures: for each result in `REPEATED` either ``same``, or a string with the first stored
            value that differs and the new value; empty if the run was not repeated.
        obstacle: the error for a missing plug-in without which the run cannot be repeated; None if
            the run was repeated.
    """

    run: Run
    figures: dict[str, str]
    obstacle: PluginMissingError | None = None

    @property
    def agrees(self) -> bool | None:
        """Whether all new results equal the stored results; None if the run was not repeated."""
        return set(self.figures.values()) == {SAME} if self.figures else None


def reproduce(
    engine: Engine,
    name: str,
    reporter: Reporter,
    jobs: int | None = None,
    executor: Executor | None = None,
) -> list[Repetition]:
    """Execute a single run, or every run of an experiment, again with the same faults.

    Nothing is stored.

    Args:
        engine: a database with a checked schema.
        name: the name of an experiment, or the number of a run.
        reporter: receives the progress, the number of missing runs of the experiment, and the names
            of plug-ins that have changed.
        jobs: the number of processes; by default one per core, or only this process if the work is
            small.
        executor: executes the points instead of processes on this machine.

    Returns:
        A repetition for each run, in the order in which the runs were stored. If the plug-in of a
        run is not loaded, the repetition has no new results.

    Raises:
        NotFoundError: no such experiment or run is stored.
        InputError: ``jobs`` is less than 1, or several processes are requested but a plug-in is
            defined in a script.
        LimitError: a point does not fit into memory, a process cannot be started, or the processes
            that executed a point were killed.
    """
    with open_session(engine) as session:
        if name.isdecimal():
            runs = [repository.load_run(session, int(name))]
        else:
            experiment = repository.load_experiment(session, name)
            runs = repository.load_runs(session, experiment.id)
            missing = describe_missing(experiment, runs)
            if missing:
                reporter.say(missing)
    repetitions = [
        Repetition(run, {}, obstacle) for run in runs if (obstacle := _find_obstacle(run))
    ]
    lost = {each.run for each in repetitions}
    stored = {Point.of(run): run for run in runs if run not in lost}
    plugins = [run.provenance.get("plugins", {}) for run in stored.values()]
    for changed in sorted({each for used in plugins for each in find_changed(used)}):
        reporter.say(f"the plug-in of '{changed}' differs from the plug-in that stored runs used")
    with (
        reporter.task(f"repeating {name}", len(stored), "runs") as task,
        execute_all(stored, jobs, executor) as (executions, _),
    ):
        for point, execution in executions:
            run, new = stored[point], price_run(point, execution)
            with open_session(engine) as session:
                old_steps = load_steps(session, run)
            figures = compare_figures(run, new, old_steps, execution.profile)
            repetitions.append(Repetition(run, figures))
            task.advance()
    return sorted(repetitions, key=attrgetter("run.id"))


def _find_obstacle(run: Run) -> PluginMissingError | None:
    try:
        require_plugins(f"run {run.id}", run.provenance.get("plugins", {}))
    except PluginMissingError as error:
        return error
    return None


def load_steps(session: Session, run: Run) -> Steps:
    """Return the step profile of a stored run, keyed by step number.

    A value consists of the links used, the packets and the largest packet of the step.
    """
    table = models.StepProfile
    columns = (table.step, *(getattr(table, name) for name in PROFILE_COLUMNS))
    query = select(*columns).where(table.run == run.id).order_by(table.step)
    return {step: tuple(row) for step, *row in session.execute(query)}


def compare_figures(
    stored: Run, new: Run, old_steps: Steps, new_profile: Profile
) -> dict[str, str]:
    """Compare the results of a stored run with the results of a new run.

    Args:
        stored: the stored run.
        new: the new run with the same parameters.
        old_steps: the step profile of the stored run.
        new_profile: the step profile of the new run.

    Returns:
        For each result in `REPEATED`, ``same`` or a string with the first stored value that differs
        and the new value.
    """
    before = _figures(stored, old_steps)
    after = _figures(new, dict(enumerate(new_profile, start=1)))
    return {figure: _first_difference(before[figure], after[figure]) for figure in REPEATED}


def _figures(run: Run, steps: Steps) -> dict[str, dict[str, str]]:
    """Return the results of a run, keyed by name; each result is a dict of values.

    The keys of each dict appear in messages about differences; for example, ``profile`` has the key
    ``step 3``. A result with a single value has the key "".
    """
    costs = {cost.kind: cost for cost in run.costs}
    simulated = costs.get("simulated")
    return {
        "status": {"": run.status if run.error is None else f"{run.status}: {run.error}"},
        "steps": {"": _as_text(simulated.steps if simulated else None)},
        "transmissions": {"": _as_text(simulated.transmissions if simulated else None)},
        "costs": {
            f"{kind} {name}": _as_text(getattr(costs[kind], name))
            for kind in sorted(costs)
            for name in _COSTS
        },
        "missing": {"": str(run.missing)},
        "profile": {f"step {step}": " ".join(map(str, row)) for step, row in steps.items()},
    }


def _as_text(value: Fraction | int | None) -> str:
    return _NOTHING if value is None else str(value)


def _first_difference(before: dict[str, str], after: dict[str, str]) -> str:
    for part in before | after:
        old, new = before.get(part, _NOTHING), after.get(part, _NOTHING)
        if old != new:
            return f"{part}: was {old}, is {new}".removeprefix(": ")
    return SAME
