"""Export and import of experiments as files with all runs and their provenance.

Everything in a file is checked before anything is stored (`starcast.experiments.exchange_file`). If
any stored experiment has a run of the same point (the same parameters), both runs must have the
same figures (costs and step profile).
"""

import gzip
from collections.abc import Iterable, Sequence
from concurrent.futures import Executor
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import RootModel
from sqlalchemy import Engine, select, tuple_
from sqlalchemy.exc import DataError, IntegrityError
from sqlalchemy.orm import Session

from starcast.experiments import Point
from starcast.experiments.design import Design, check_name
from starcast.experiments.exchange_file import (
    FORMAT,
    ExperimentRecord,
    FileRecord,
    RunRecord,
    invalid,
    read_file,
)
from starcast.experiments.execution import execute_all, list_steps, price_run
from starcast.experiments.running import (
    SAME,
    Outcome,
    Steps,
    check_design,
    compare_figures,
    load_steps,
    lock_experiment,
)
from starcast.judges.simulator.simulation import Profile
from starcast.stores.database import models, repository
from starcast.stores.database.server_errors import first_line
from starcast.stores.database.sessions import open_session
from starcast.support.atomic import atomic_write
from starcast.support.errors import InputError, RejectedError
from starcast.support.json_files import Many, StrictRecord
from starcast.support.progress import Reporter
from starcast.support.shards import Job, Shard, merge_shards, write_shard
from starcast.support.text import pluralize

#: The columns of a run that its record contains, besides costs and step profile.
_RUN_COLUMNS = tuple(name for name in RunRecord.model_fields if name not in {"costs", "profile"})


class _Description(StrictRecord):
    """The description of an experiment in the file of a shard: its name, and its design as JSON."""

    name: str
    grid: dict[str, Any]


class _Runs(RootModel[Many[RunRecord]]):
    """The runs of a task in the file of a shard."""


def export_experiments(engine: Engine, names: Sequence[str], file: Path) -> int:
    """Write experiments with their runs to a file, compressed if its name ends with ``.gz``.

    Returns:
        The number of exported runs.

    Raises:
        NotFoundError: an experiment is not stored.
        InputError: the file cannot be written.
    """
    with open_session(engine) as session:
        experiments = [_read_stored(session, name) for name in dict.fromkeys(names)]
    content = FileRecord(
        format=FORMAT,
        created_at=datetime.now(UTC),
        starcast=version("starcast"),
        experiments=experiments,
    )
    text = content.model_dump_json().encode()
    with atomic_write(file) as output:
        output.write(gzip.compress(text) if file.suffix == ".gz" else text)
    return sum(len(experiment.runs) for experiment in experiments)


def import_experiments(engine: Engine, file: Path, name: str | None = None) -> list[Outcome]:
    """Store the experiments of a file in one transaction; runs that are already stored are kept.

    Args:
        engine: a database with a checked schema.
        file: a file that `export_experiments` has written.
        name: a new name if the file holds a single experiment; by default the name in the file.

    Raises:
        InputError: the file is not valid, or an experiment of this name has another grid.
        RejectedError: a run of the file has other figures than the same run in this store.
        BusyError: another process is using one of the experiments.
    """
    experiments = read_file(file)
    if name is not None:
        if len(experiments) != 1:
            raise InputError(
                f"{file} holds {len(experiments)} experiments, which cannot all be named '{name}'",
                hint="omit `name`",
            )
        experiments = [experiments[0].model_copy(update={"name": name})]
    for experiment in experiments:
        try:
            check_name(experiment.name)
        except InputError as error:
            raise InputError(
                f"{file}: {error.message}", hint="give another name with `name`"
            ) from None
    try:
        return _import(engine, experiments)
    except (DataError, IntegrityError) as error:  # for example, a text contains a NUL character
        raise invalid(file, f"PostgreSQL rejected a value: {first_line(error)}") from None


def record_run(run: models.Run, profile: Profile) -> dict[str, Any]:
    """Convert a new run and its step profile to the JSON values of a `RunRecord`."""
    return _record(run, list_steps(profile)).model_dump(mode="json")


def _import(engine: Engine, experiments: Sequence[ExperimentRecord]) -> list[Outcome]:
    with open_session(engine) as session:
        for each in experiments:
            lock_experiment(session, each.name)
        _refuse_contradictions(session, experiments)
        return [_store(session, each) for each in experiments]


def _read_stored(session: Session, name: str) -> ExperimentRecord:
    experiment = repository.load_experiment(session, name)
    runs = [
        _record(run, list(load_steps(session, run.id).values()))
        for run in repository.load_runs(session, experiment.id)
    ]
    return ExperimentRecord(
        name=experiment.name,
        grid=experiment.grid,
        points=experiment.points,
        created_at=experiment.created_at,
        runs=runs,
    )


def _record(run: models.Run, profile: Sequence[tuple[int, ...]]) -> RunRecord:
    values = {column: getattr(run, column) for column in _RUN_COLUMNS}
    values |= {"costs": run.costs, "profile": profile}
    return RunRecord.model_validate(values, from_attributes=True)


def _as_model(record: RunRecord) -> models.Run:
    """Return a run as a new database row, without storing it."""
    values = {name: getattr(record, name) for name in _RUN_COLUMNS}
    return models.Run(**values, costs=[models.Cost(**dict(cost)) for cost in record.costs])


def _refuse_contradictions(session: Session, experiments: Sequence[ExperimentRecord]) -> None:
    """Check that stored runs of the same points have the same figures, in all experiments."""
    stored = _stored_runs(session, (run for each in experiments for run in each.runs))
    if not stored:
        return
    differences = []
    for experiment in experiments:
        for run in experiment.runs:
            for old in stored.get(run.point, ()):
                old_steps = load_steps(session, old.id)
                new_steps: Steps = dict(enumerate(run.profile, start=1))
                figures = compare_figures(old, _as_model(run), old_steps, new_steps)
                differences += [
                    f"a run of '{experiment.name}' differs from the stored run {old.id} in"
                    f" {figure}: {text}"
                    for figure, text in figures.items()
                    if text != SAME
                ][:1]
    if differences:
        more = len(differences) - 1
        others = f", and {pluralize(more, 'run differs', 'runs differ')} as well" if more else ""
        raise RejectedError(
            f"{differences[0]}{others}",
            hint="nothing was stored; 'starcast experiment reproduce' shows which are right",
        )


def _stored_runs(session: Session, runs: Iterable[RunRecord]) -> dict[Point, list[models.Run]]:
    """Return all stored runs with the topologies and algorithms of the given runs, by point."""
    points = (each.point for each in runs)
    kinds = {(point.topology, point.collective, point.algorithm) for point in points}
    column = models.Run.__table__.c
    query = select(models.Run).where(
        tuple_(column.topology, column.collective, column.algorithm).in_(kinds)
    )
    stored: dict[Point, list[models.Run]] = {}
    for each in session.scalars(query):
        stored.setdefault(Point.of(each), []).append(each)
    return stored


def _store(session: Session, experiment: ExperimentRecord) -> Outcome:
    stored = repository.find_experiment(session, experiment.name)
    known: set[Point] = set()
    if stored is None:
        stored = repository.save_experiment(
            session, experiment.name, experiment.grid, experiment.points
        )
        stored.created_at = experiment.created_at
    else:
        if stored.grid != experiment.grid:
            check_design(stored, Design.from_json(experiment.grid) if experiment.grid else None)
        known = {Point.of(run) for run in repository.load_runs(session, stored.id)}
    created = 0
    for each in experiment.runs:
        if each.point not in known:
            run = _as_model(each)
            run.experiment = stored.id
            repository.save_run(session, run, _profile(each))
            created += 1
    return Outcome(experiment.name, len(experiment.runs) - created, created)


def _profile(run: RunRecord) -> Profile:
    return tuple(np.array(run.profile, dtype=np.int64).T) if run.profile else ()


# Shards are parts of an experiment. Separate jobs execute them without a database, and merging
# stores all of them.
#
# A task of such a job is a group of points with the same `Point.structure`, because one execution
# is enough for all of them.


def run_shard(
    name: str,
    design: Design,
    shard: Shard,
    file: Path,
    reporter: Reporter,
    jobs: int | None = None,
    executor: Executor | None = None,
) -> int:
    """Execute the points of a shard and write their runs to a file; the database is not used.

    Args:
        name: the name of the experiment.
        design: all points of the experiment.
        shard: the part of the points to execute.
        file: output file.
        reporter: receives the progress.
        jobs: the number of processes; by default one per core, or only this process if the work is
            small.
        executor: executes the points instead of processes on this machine.

    Returns:
        The number of executed points.

    Raises:
        InputError: the name is not valid, ``jobs`` is less than 1, or the file cannot be written.
        LimitError: a point does not fit into memory; no file is written.
    """
    description = {"name": check_name(name), "grid": design.as_json()}
    job = Job("experiment", description, len(design.groups))
    numbers = {point: number for number, group in shard.select(design.groups) for point in group}
    results: dict[int, list[dict[str, Any]]] = {}
    with (
        reporter.task(f"running {name}, shard {shard}", len(numbers), "runs") as task,
        execute_all(numbers, jobs, executor) as (executions, processes),
    ):
        for point, execution in executions:
            run = price_run(point, execution)
            run.provenance = {**run.provenance, "jobs": processes, "shard": str(shard)}
            record = record_run(run, execution.profile)
            results.setdefault(numbers[point], []).append(record)
            task.advance()
    write_shard(file, job, shard, results)
    return len(numbers)


def merge_experiment(engine: Engine, files: Sequence[Path], name: str | None = None) -> Outcome:
    """Read all shards of an experiment from files, and store it in one transaction.

    Args:
        engine: a database with a checked schema.
        files: the files of all shards.
        name: the name of the experiment; by default the name given to the shards.

    Raises:
        InputError: the files are damaged, they are not exactly the shards of one experiment, or
            a stored experiment of this name has another grid.
        RejectedError: the shards were computed with another version of the code, or a run differs
            from a stored run of the same point.
        BusyError: another process is using the experiment.
    """
    experiment = read_shards(files, name)
    try:
        return _import(engine, [experiment])[0]
    except (DataError, IntegrityError) as error:
        raise InputError(
            f"PostgreSQL rejected a value of '{experiment.name}': {first_line(error)}",
            hint="run the shards again; nothing was stored",
        ) from None


def read_shards(files: Sequence[Path], name: str | None = None) -> ExperimentRecord:
    """Return the experiment whose shards are in the files, after checking all their content.

    Raises:
        InputError: the files are not all shards of one experiment, or are damaged.
        RejectedError: the shards were computed with another version of the code, or the figures of
            a run contradict formulas, bounds or each other.
    """
    job, results = merge_shards(files, "experiment", _Description, _Runs)
    design = Design.from_json(job.grid)
    name = check_name(name or job.name)
    runs = [run for result in results for run in result.root]
    if not runs:
        raise InputError("the shards hold no runs", hint="run the shards again")
    experiment = ExperimentRecord(
        name=name,
        grid=design.as_json(),
        points=len(design.points()),
        created_at=min(run.started_at for run in runs),
        runs=runs,
    )
    try:
        experiment.check()
    except InputError as error:
        raise InputError(
            f"the shards of '{name}' are not valid: {error.message}", hint="run the shards again"
        ) from None
    return experiment
