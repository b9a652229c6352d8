"""Experiments: named sets of runs that are executed once and kept.

A run is stored with its costs and profile in one transaction, the first one with its experiment, so that an interrupted
experiment holds whole runs only and one without a run is not stored; running it again executes what is missing.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

from sqlalchemy import Engine, select, text
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from starcast.database import models, repository
from starcast.database.sessions import Lock, await_lock, holding, session
from starcast.errors import BusyError, InputError
from starcast.experiments.design import Design, stored_design
from starcast.experiments.execution import Execution, execute, priced
from starcast.experiments.grid import Grid, sharing
from starcast.experiments.parallel import executed, jobs_for
from starcast.experiments.point import Point
from starcast.experiments.remarks import Remarks
from starcast.experiments.values import check_name
from starcast.progress import Reporter
from starcast.support.processes import check_jobs

#: The experiment that collects single runs unless they are given another.
ADHOC = "adhoc"
#: How long a single run, once it is executed, waits for others to be done with its collection.
SAVE_SECONDS = 60
#: What a second writer violates, whichever of the two is later.
_ANOTHER_WRITER = {"uq_run_point", "uq_experiment_name", "fk_run_experiment"}


@dataclass(frozen=True)
class Outcome:
    """What running an experiment did: runs that were there, that are new, and of the new ones those that failed."""

    name: str
    kept: int
    created: int
    failed: int


def run_experiment(
    engine: Engine,
    name: str,
    wanted: Grid | Design,
    reporter: Reporter,
    *,
    replace: bool = False,
    jobs: int | None = None,
) -> Outcome:
    """Execute and store every point that the experiment does not hold yet.

    Args:
        engine: a database whose schema was checked.
        name: of a new experiment, or of one with the same points.
        wanted: what to run.
        reporter: hears of the progress.
        replace: drop a stored experiment of that name first, whatever its points.
        jobs: processes that execute at once; one a core unless given, none beside this one where the work is small. This
            process is the only one that writes.

    Raises:
        InputError: the name cannot be one, or belongs to an experiment with other points; or there are no jobs.
        BusyError: another process is running or dropping this experiment.
        UnavailableError: a connection to the database was lost; what was finished before is stored.
        LimitError: a point does not fit into memory; those before it are stored.
    """
    check_jobs(jobs)
    design = wanted if isinstance(wanted, Design) else Design((wanted,))
    with _alone(engine, check_name(name)) as lock:
        with session(engine) as opened:
            if replace:
                repository.drop_experiment(opened, name)
            stored = _stored(opened, name, design)
        missing = [point for point in design.points() if point not in stored]
        failed = (
            _run_all(_Book(engine, lock, name, design), missing, reporter, jobs) if missing else 0
        )
    return Outcome(name, len(stored), len(missing), failed)


def run_once(
    engine: Engine, point: Point, name: str = ADHOC, reporter: Reporter | None = None
) -> models.Run:
    """Execute one point and store it in a collection of single runs, over an earlier run of the same point.

    Others may write to the collection while it is executed. The reporter hears what the simulation has to say beside its
    figures.

    Raises:
        InputError: the name cannot be one, or belongs to an experiment with a grid.
        BusyError: another process has been at this collection for `SAVE_SECONDS` when the run is to be stored.
        LimitError: the point does not fit into memory.
    """
    with session(engine) as opened:
        _check_collection(opened, check_name(name))
    execution = execute(point)
    with session(engine) as opened:
        await_lock(opened, _lock(name), SAVE_SECONDS, _busy(name))
        _check_collection(opened, name)
        experiment = _opened(opened, name)
        for earlier in repository.load_runs(opened, experiment):
            if Point.of(earlier) == point:
                opened.delete(earlier)
        opened.flush()
        run = _save(opened, experiment, point, execution, jobs=1)
    if reporter is not None:
        for remark in execution.remarks:
            reporter.say(remark)
    return run


def drop_experiment(engine: Engine, name: str) -> int:
    """Forget an experiment; returns how many runs went with it.

    Raises:
        NotFoundError: there is none of that name.
        BusyError: another process is running it.
    """
    with _alone(engine, name), session(engine) as opened:
        runs, _failed = repository.count_runs(opened).get(
            repository.load_experiment(opened, name).id, (0, 0)
        )
        repository.drop_experiment(opened, name)
        return runs


def _alone(engine: Engine, name: str) -> AbstractContextManager[Lock]:
    return holding(engine, _lock(name), _busy(name))


def _lock(name: str) -> str:
    return f"experiment {name}"


def _busy(name: str) -> BusyError:
    return BusyError(
        f"another process is at the experiment '{name}'",
        hint="wait until it is done, then try again",
    )


def _stored(opened: Session, name: str, design: Design) -> set[Point]:
    """The points that the experiment holds already."""
    experiment = repository.find_experiment(opened, name)
    if experiment is None:
        return set()
    points = {Point.of(run) for run in repository.load_runs(opened, experiment.id)}
    if not points:
        # An older starcast left these behind when the first run failed.
        repository.drop_experiment(opened, name)
        return set()
    # Not the words but the points are compared: a title or the order of values makes no other experiment.
    if experiment.grid and set(stored_design(experiment).points()) == set(design.points()):
        return points
    kind = "has another grid" if experiment.grid else "collects single runs"
    raise InputError(
        f"the experiment '{name}' {kind}",
        hint="give another name, or --replace to drop its runs and start anew",
    )


def _check_collection(opened: Session, name: str) -> None:
    experiment = repository.find_experiment(opened, name)
    if experiment is not None and experiment.grid:
        raise InputError(
            f"the experiment '{name}' has a grid and takes no single runs", hint="give another name"
        )


def _opened(opened: Session, name: str, design: Design | None = None) -> int:
    """The experiment's number; it is made here, within the transaction of its first run."""
    experiment = repository.find_experiment(opened, name)
    if experiment is None:
        points = None if design is None else len(design.points())
        experiment = repository.save_experiment(
            opened, name, {} if design is None else design.as_json(), points
        )
    return experiment.id


@dataclass(frozen=True)
class _Book:
    """Where the runs of an experiment are written, by whoever holds its lock."""

    engine: Engine
    lock: Lock
    name: str
    design: Design

    @contextmanager
    def opened(self) -> Iterator[Session]:
        """A session to save a run in.

        Raises:
            UnavailableError: the lock is lost.
            BusyError: it was lost before, and another process has written meanwhile.
        """
        try:
            with session(self.engine) as opened:
                self.lock.demand(opened)
                yield opened
        except IntegrityError as error:
            diagnosis = getattr(error.orig, "diag", None)
            if getattr(diagnosis, "constraint_name", None) not in _ANOTHER_WRITER:
                raise
            raise _busy(self.name) from None


def _run_all(book: _Book, points: list[Point], reporter: Reporter, wanted: int | None) -> int:
    together = {some[0]: some for some in sharing(points)}
    jobs = jobs_for(list(together), wanted)
    failed = 0
    with (
        Remarks(reporter) as remarks,
        reporter.task(f"running {book.name}", len(points), "runs") as task,
        executed(list(together), jobs) as executions,
    ):
        for first, execution in executions:
            for point in together[first]:
                with book.opened() as opened:
                    run = _save(
                        opened, _opened(opened, book.name, book.design), point, execution, jobs
                    )
                remarks.note(run, execution)
                failed += execution.error is not None
                task.advance()
    return failed


def _save(
    opened: Session, experiment: int, point: Point, execution: Execution, jobs: int
) -> models.Run:
    run = priced(point, execution)
    run.experiment = experiment
    server = opened.scalar(select(text("current_setting('server_version')")))
    run.provenance = {**run.provenance, "postgres": server, "jobs": jobs}
    repository.save_run(opened, run, execution.profile)
    return run
