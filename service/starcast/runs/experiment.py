"""Experiments: named sets of runs that are executed once and kept.

A run is stored with its costs and profile in one transaction, the first one with its experiment, so that an interrupted
experiment holds whole runs only and one without a run is not stored; running it again executes what is missing.
"""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Engine, select, text
from sqlalchemy.orm import Session

from starcast.errors import BusyError, InputError
from starcast.progress import Reporter
from starcast.runs import models, repository
from starcast.runs.database import holding, session
from starcast.runs.design import Design
from starcast.runs.execution import Execution, execute, priced
from starcast.runs.grid import Grid, sharing
from starcast.runs.parallel import check_jobs, executed, jobs_for
from starcast.runs.point import Point
from starcast.runs.values import check_name

#: The experiment that collects single runs unless they are given another.
ADHOC = "adhoc"


@dataclass(frozen=True)
class Outcome:
    """What running an experiment did: runs that were there, that are new, and of the new ones those that failed."""

    name: str
    kept: int
    created: int
    failed: int


def run_experiment(
    engine: Engine, name: str, wanted: Grid | Design, reporter: Reporter, *, replace: bool = False, jobs: int | None = None
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
        LimitError: a point does not fit into memory; those before it are stored.
    """
    check_jobs(jobs)
    design = wanted if isinstance(wanted, Design) else Design((wanted,))
    with _alone(engine, check_name(name)):
        with session(engine) as opened:
            if replace:
                repository.drop_experiment(opened, name)
            stored = _stored(opened, name, design)
        missing = [point for point in design.points() if point not in stored]
        failed = _run_all(engine, name, design, missing, reporter, jobs) if missing else 0
    return Outcome(name, len(stored), len(missing), failed)


def run_once(engine: Engine, point: Point, name: str = ADHOC, reporter: Reporter | None = None) -> models.Run:
    """Execute one point and store it in a collection of single runs, over an earlier run of the same point.

    The reporter hears what the simulation has to say beside its figures.

    Raises:
        InputError: the name cannot be one, or belongs to an experiment with a grid.
        BusyError: another process is writing to this collection.
        LimitError: the point does not fit into memory.
    """
    with _alone(engine, check_name(name)):
        with session(engine) as opened:
            _check_collection(opened, name)
        execution = execute(point)
        with session(engine) as opened:
            experiment = _opened(opened, name, {})
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
        runs = repository.load_runs(opened, repository.load_experiment(opened, name).id)
        repository.drop_experiment(opened, name)
        return len(runs)


def _alone(engine: Engine, name: str) -> AbstractContextManager[None]:
    busy = BusyError(f"another process is at the experiment '{name}'", hint="wait until it is done, then try again")
    return holding(engine, f"experiment {name}", busy)


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
    if experiment.grid and set(Design.from_json(experiment.grid).points()) == set(design.points()):
        return points
    kind = "has another grid" if experiment.grid else "collects single runs"
    raise InputError(
        f"the experiment '{name}' {kind}",
        hint="give another name, or --replace to drop its runs and start anew",
    )


def _check_collection(opened: Session, name: str) -> None:
    experiment = repository.find_experiment(opened, name)
    if experiment is not None and experiment.grid:
        raise InputError(f"the experiment '{name}' has a grid and takes no single runs", hint="give another name")


def _opened(opened: Session, name: str, grid: Mapping[str, Any]) -> int:
    """The experiment's number; it is made here, within the transaction of its first run."""
    experiment = repository.find_experiment(opened, name) or repository.save_experiment(opened, name, grid)
    return experiment.id


def _run_all(engine: Engine, name: str, design: Design, points: list[Point], reporter: Reporter, wanted: int | None) -> int:
    together = {some[0]: some for some in sharing(points)}
    jobs = jobs_for(list(together), wanted)
    failed, told = 0, set[str]()
    with (
        reporter.task(f"running {name}", len(points), "runs") as task,
        executed(list(together), jobs) as executions,
    ):
        for first, execution in executions:
            for remark in set(execution.remarks) - told:
                reporter.say(remark)
            told.update(execution.remarks)
            for point in together[first]:
                with session(engine) as opened:
                    _save(opened, _opened(opened, name, design.as_json()), point, execution, jobs)
                failed += execution.error is not None
                task.advance()
    return failed


def _save(opened: Session, experiment: int, point: Point, execution: Execution, jobs: int) -> models.Run:
    run = priced(point, execution)
    run.experiment = experiment
    server = opened.scalar(select(text("current_setting('server_version')")))
    run.provenance = {**run.provenance, "postgres": server, "jobs": jobs}
    repository.save_run(opened, run, execution.profile)
    return run
