"""Export and import experiments as files that contain all runs and the provenance of each run.

Everything in a file is checked before anything is stored (`starcast.experiments.exchange_file`). If
a complete run with the same parameters is already stored in any experiment, both runs must have the
same results: status, costs, missing units and step profile.
"""

import gzip
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, tuple_
from sqlalchemy.exc import DataError, IntegrityError
from sqlalchemy.orm import Session

from starcast.experiments.design import Design, check_name
from starcast.experiments.exchange_file import (
    FORMAT,
    ExperimentRecord,
    FileRecord,
    RunRecord,
    invalid,
    read_file,
)
from starcast.experiments.point import Point
from starcast.experiments.running import (
    SAME,
    Outcome,
    check_design,
    compare_figures,
    load_steps,
    lock_experiment,
)
from starcast.experiments.sharding import read_shards
from starcast.stores.database import models, repository
from starcast.stores.database.sessions import open_session
from starcast.stores.failures import first_line
from starcast.support.atomic import atomic_write
from starcast.support.errors import InputError, RejectedError
from starcast.support.runs import Run
from starcast.support.text import pluralize
from starcast.topologies.network_records import NetworkRecord


def export_experiments(engine: Engine, names: Sequence[str], file: Path) -> int:
    """Write experiments with their runs to a file, compressed if its name ends in ``.gz``.

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
        networks=NetworkRecord.of_topologies(
            Point.of(run).topology for experiment in experiments for run in experiment.runs
        ),
        experiments=experiments,
    )
    # Fields for networks and roots are omitted if no run uses them, so that earlier versions, which
    # do not know these fields, can read the file.
    omitted: dict[str, Any] = {} if content.networks else {"networks": True}
    if all(Point.of(run).root is None for each in experiments for run in each.runs):
        omitted["experiments"] = {"__all__": {"runs": {"__all__": {"root": True}}}}
    text = content.model_dump_json(exclude=omitted).encode()
    with atomic_write(file) as output:
        output.write(gzip.compress(text) if file.suffix == ".gz" else text)
    return sum(len(experiment.runs) for experiment in experiments)


def import_experiments(engine: Engine, file: Path, name: str | None = None) -> list[Outcome]:
    """Store the experiments of a file in one transaction; complete stored runs are not changed.

    Args:
        engine: a database with a checked schema.
        file: a file that `export_experiments` has written.
        name: the name under which the experiment is stored, if the file has only one experiment
            (default: the name in the file).

    Raises:
        InputError: the file is invalid; ``name`` is invalid, or given for several experiments; or a
            stored experiment of the same name has another grid.
        RejectedError: a run in the file and a stored run have the same parameters but different
            results; the results of a run in the file contradict formulas, bounds or each other; or
            a loaded plug-in differs from the plug-in that a run used.
        LimitError: the file, or a list in the file, exceeds the limits of experiment files.
        BusyError: another process is using one of the experiments.
    """
    experiments = read_file(file)
    if name is not None:
        if len(experiments) != 1:
            raise InputError(
                f"{file} has {len(experiments)} experiments, which cannot all be named '{name}'",
                hint="omit `name`",
            )
        experiments = [experiments[0].model_copy(update={"name": name})]
    for experiment in experiments:
        try:
            check_name(experiment.name)
        except InputError as error:
            raise InputError(
                f"{file}: {error.message}", hint="specify another name with `name`"
            ) from None
    try:
        return _import(engine, experiments)
    except (DataError, IntegrityError) as error:  # for example, a string contains NUL
        raise invalid(file, f"PostgreSQL rejected a value: {first_line(error)}") from None


def _import(engine: Engine, experiments: Sequence[ExperimentRecord]) -> list[Outcome]:
    with open_session(engine) as session:
        for each in experiments:
            lock_experiment(session, each.name)
        _refuse_contradictions(session, experiments)
        return [_store(session, each) for each in experiments]


def _read_stored(session: Session, name: str) -> ExperimentRecord:
    experiment = repository.load_experiment(session, name)
    runs = [
        RunRecord.of(run, list(load_steps(session, run).values()))
        for run in repository.load_runs(session, experiment.id)
    ]
    return ExperimentRecord(
        name=experiment.name,
        grid=experiment.grid,
        points=experiment.points,
        created_at=experiment.created_at,
        runs=runs,
    )


def _refuse_contradictions(session: Session, experiments: Sequence[ExperimentRecord]) -> None:
    """Raise a RejectedError if a run contradicts a stored run with the same parameters."""
    stored = _stored_runs(session, (run for each in experiments for run in each.runs))
    if not stored:
        return
    differences = []
    for experiment in experiments:
        for run in experiment.runs:
            for old in stored.get(run.point, ()):
                if old.status == "failed":
                    continue  # a new run may replace a failed run
                figures = compare_figures(old, run.run, load_steps(session, old), run.profile)
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
            hint="use 'starcast experiment reproduce' to find out which results are right; nothing "
            "was stored",
        )


def _stored_runs(session: Session, runs: Iterable[RunRecord]) -> dict[Point, list[Run]]:
    """Return the stored runs that may contradict the given runs, keyed by point.

    These are all runs with the topology, the collective and the algorithm of a given run.
    """
    points = (each.point for each in runs)
    kinds = {(point.topology, point.collective, point.algorithm) for point in points}
    column = models.Run.__table__.c
    condition = tuple_(column.topology, column.collective, column.algorithm).in_(kinds)
    stored: dict[Point, list[Run]] = {}
    for each in repository.find_runs(session, condition):
        stored.setdefault(Point.of(each), []).append(each)
    return stored


def _store(session: Session, experiment: ExperimentRecord) -> Outcome:
    stored = repository.find_experiment(session, experiment.name)
    known: dict[Point, str] = {}
    if stored is None:
        stored = repository.save_experiment(
            session, experiment.name, experiment.grid, experiment.points
        )
        stored.created_at = experiment.created_at
    else:
        if stored.grid != experiment.grid:
            check_design(stored, Design.from_json(experiment.grid) if experiment.grid else None)
        runs = repository.load_runs(session, stored.id)
        known = {Point.of(run): run.status for run in runs}
    created = 0
    for each in experiment.runs:
        if known.get(each.point) in ("complete", each.run.status):
            continue
        if each.point in known:
            repository.drop_run(session, stored.id, each.point)
        repository.save_run(session, stored.id, each.run, each.profile)
        created += 1
    return Outcome(experiment.name, len(experiment.runs) - created, created)


def merge_experiment(engine: Engine, files: Sequence[Path], name: str | None = None) -> Outcome:
    """Read the shards of an experiment from files, and store the experiment in one transaction.

    Args:
        engine: a database with a checked schema.
        files: the files of all shards.
        name: the name of the experiment (default: the name in the shards).

    Raises:
        InputError: the files are damaged or are not exactly the shards of one experiment, ``name``
            is invalid, or a stored experiment of this name has another grid.
        RejectedError: a shard was computed with a different version of starcast's code or of a
            loaded plug-in; a run and a stored run have the same parameters but different results;
            or the results of a run contradict formulas, bounds or each other.
        LimitError: a file, or the grid of the experiment, is too large.
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
