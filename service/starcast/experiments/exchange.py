"""Files that take experiments with their runs to another store, with provenance.

A file holds points and figures, so everything in it is checked as user input before anything is
stored: names, grids, points, and that the runs belong to the grids. A run that the store holds
already, in whatever experiment, must have the same figures.
"""

import gzip
import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import pydantic
from sqlalchemy import Engine, select, tuple_
from sqlalchemy.exc import DataError
from sqlalchemy.orm import Session

from starcast.database import models, repository
from starcast.database.sessions import session
from starcast.errors import InputError, RejectedError, StarcastError
from starcast.experiments.design import Design
from starcast.experiments.point import Point
from starcast.experiments.reproduction import SAME, Steps, compare_figures, load_steps
from starcast.experiments.running import check_design, exclusive
from starcast.experiments.values import check_name
from starcast.simulator.step_profile import Profile
from starcast.support.atomic import atomic_write
from starcast.support.text import pluralize
from starcast.vocabulary import Collective, ExecutionModel, Ports

_GZIP = b"\x1f\x8b"
#: Bytes that a file may have after decompression.
_LARGEST = 2**30
_BIGINT = 2**63 - 1
_RATIONAL = re.compile(r"\d{1,200}(/[1-9]\d{0,200})?", re.ASCII)


def _read_rational(text: object) -> Fraction:
    if not isinstance(text, str) or not _RATIONAL.fullmatch(text):
        raise ValueError("not a rational number such as 23/3")
    return Fraction(text)


_Count = Annotated[int, pydantic.Field(ge=0, le=_BIGINT)]
_Rational = Annotated[
    Fraction,
    pydantic.PlainValidator(_read_rational),
    pydantic.PlainSerializer(str),
]


class _Record(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid", frozen=True, strict=False)


class _Cost(_Record):
    kind: Literal["closed form", "simulated", "lower bound"]
    steps: _Count | None
    start_ups: _Rational | None
    transmissions: _Count | None
    bytes: _Rational | None
    time: _Rational
    source: str


class _Run(_Record):
    topology: str
    collective: Collective
    algorithm: str
    ports: Ports
    execution: ExecutionModel = "synchronous"
    message_bytes: _Rational
    messages: Annotated[int, pydantic.Field(ge=1)]
    t_s: _Rational
    t_c: _Rational
    segments: Annotated[int, pydantic.Field(ge=1)]
    copies: Annotated[int, pydantic.Field(ge=1)]
    base: str | None
    faults: list[str]
    seed: _Count
    missing: _Count
    status: Literal["complete", "failed"]
    error: str | None
    timings: dict[str, float]
    provenance: dict[str, Any]
    started_at: pydantic.AwareDatetime
    finished_at: pydantic.AwareDatetime
    costs: list[_Cost]
    #: One row per step: links used, packets, units in the largest packet.
    profile: list[tuple[_Count, _Count, _Count]]

    def as_model(self) -> models.Run:
        """Return the run as a row that is not stored yet."""
        values = {name: getattr(self, name) for name in _RUN_COLUMNS}
        costs = [models.Cost(**dict(cost)) for cost in self.costs]
        return models.Run(**values, costs=costs)

    @property
    def steps(self) -> Steps:
        """The profile by step."""
        return dict(enumerate(self.profile, start=1))


_RUN_COLUMNS = tuple(name for name in _Run.model_fields if name not in {"costs", "profile"})
_COST_COLUMNS = tuple(_Cost.model_fields)


class _Experiment(_Record):
    name: str
    grid: dict[str, Any]
    points: Annotated[int, pydantic.Field(ge=1)] | None
    created_at: pydantic.AwareDatetime
    runs: list[_Run]


class _File(_Record):
    format: Literal["starcast experiments 1"]
    created_at: pydantic.AwareDatetime
    starcast: str
    experiments: list[_Experiment]


@dataclass(frozen=True)
class Imported:
    """The result of importing one experiment.

    Attributes:
        name: its name in this store.
        created: runs that were stored.
        kept: runs that the experiment held before, with the same figures.
    """

    name: str
    created: int
    kept: int


def export_experiments(engine: Engine, names: Sequence[str], file: Path) -> int:
    """Write experiments with their runs to a file, compressed if its name ends with ``.gz``.

    Returns:
        The number of runs.

    Raises:
        NotFoundError: an experiment is not stored.
        InputError: the file cannot be written.
    """
    with session(engine) as opened:
        experiments = [_read_stored(opened, name) for name in dict.fromkeys(names)]
    content = _File(
        format="starcast experiments 1",
        created_at=datetime.now(UTC),
        starcast=version("starcast"),
        experiments=experiments,
    )
    text = content.model_dump_json().encode()
    with atomic_write(file) as output:
        output.write(gzip.compress(text) if file.suffix == ".gz" else text)
    return sum(len(experiment.runs) for experiment in experiments)


def import_experiments(engine: Engine, file: Path, name: str | None = None) -> list[Imported]:
    """Store the experiments of a file in one transaction; runs that are stored already are kept.

    Args:
        engine: a database with a checked schema.
        file: a file that `export_experiments` has written.
        name: the name for its only experiment, by default the name in the file.

    Raises:
        InputError: the file is not valid, or an experiment of this name has another grid.
        RejectedError: a run of the file has other figures than the same run in this store.
        BusyError: another process is using one of the experiments.
    """
    experiments = _read_file(file)
    if name is not None:
        if len(experiments) != 1:
            raise InputError(
                f"{file} holds {len(experiments)} experiments, which cannot all be named '{name}'",
                hint="omit --as",
            )
        experiments = [experiments[0].model_copy(update={"name": check_name(name)})]
    try:
        return _import(engine, experiments)
    except DataError as error:  # such as a NUL character in a text
        reason = str(error.orig).partition("\n")[0]
        raise _invalid(file, f"PostgreSQL refuses a value: {reason}") from None


def record_run(run: models.Run, profile: Profile) -> dict[str, Any]:
    """Return a run that is not stored, as JSON values for `import_records`."""
    steps = zip(*(column.tolist() for column in profile), strict=True)
    return _record(run, list(steps)).model_dump(mode="json")


def import_records(
    engine: Engine, name: str, design: Design, records: Sequence[Mapping[str, Any]]
) -> Imported:
    """Store an experiment with the runs that `record_run` converted; stored runs are kept.

    Raises:
        InputError: the runs are not those of the design, or a stored experiment of this name has
            another grid.
        RejectedError: a run has other figures than the same run in this store.
        BusyError: another process is using the experiment.
    """
    try:
        runs = [_Run.model_validate(record) for record in records]
    except pydantic.ValidationError as error:
        raise InputError(
            f"a run is damaged: {error.errors()[0]['msg']}", hint="run the shards again"
        ) from None
    experiment = _Experiment(
        name=check_name(name),
        grid=design.as_json(),
        points=len(design.points()),
        created_at=min(run.started_at for run in runs),
        runs=runs,
    )
    _check(experiment)
    return _import(engine, [experiment])[0]


def _import(engine: Engine, experiments: Sequence[_Experiment]) -> list[Imported]:
    with ExitStack() as stack:
        locks = [
            stack.enter_context(exclusive(engine, each.name))
            for each in sorted(experiments, key=lambda each: each.name)
        ]
        with session(engine) as opened:
            for lock in locks:
                lock.verify(opened)
            _refuse_contradictions(opened, experiments)
            return [_store(opened, each) for each in experiments]


def _read_stored(opened: Session, name: str) -> _Experiment:
    experiment = repository.load_experiment(opened, name)
    runs = [
        _record(run, list(load_steps(opened, run.id).values()))
        for run in repository.load_runs(opened, experiment.id)
    ]
    return _Experiment(
        name=experiment.name,
        grid=experiment.grid,
        points=experiment.points,
        created_at=experiment.created_at,
        runs=runs,
    )


def _record(run: models.Run, profile: Sequence[tuple[int, ...]]) -> _Run:
    values = {column: getattr(run, column) for column in _RUN_COLUMNS}
    values |= {column: str(values[column]) for column in ("message_bytes", "t_s", "t_c")}
    costs = [_cost_values(cost) for cost in run.costs]
    return _Run(**values, costs=costs, profile=profile)  # type: ignore[arg-type]


def _cost_values(cost: models.Cost) -> Any:
    values = {column: getattr(cost, column) for column in _COST_COLUMNS}
    return {
        name: str(value) if isinstance(value, Fraction) else value for name, value in values.items()
    }


def _read_file(file: Path) -> list[_Experiment]:
    """Return the experiments of a file after checking names, grids and points."""
    try:
        content = _File.model_validate_json(_read_bytes(file))
    except pydantic.ValidationError as error:
        details = error.errors()[0]
        place = ".".join(map(str, details["loc"]))
        reason = details["msg"].removeprefix("Value error, ")
        raise _invalid(file, f"{place}: {reason}" if place else reason) from None
    names = [experiment.name for experiment in content.experiments]
    if len(set(names)) < len(names):
        raise _invalid(file, "two experiments have the same name")
    for experiment in content.experiments:
        try:
            _check(experiment)
        except StarcastError as error:
            raise _invalid(file, f"experiment '{experiment.name}': {error.message}") from None
    return content.experiments


def _read_bytes(file: Path) -> bytes:
    try:
        with file.open("rb") as opened:
            compressed = opened.read(len(_GZIP)) == _GZIP
        with gzip.open(file) if compressed else file.open("rb") as opened:
            text = opened.read(_LARGEST + 1)
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise _invalid(file, "its compressed data is incomplete or damaged") from None
    except OSError as error:
        raise InputError(
            f"{file} cannot be read: {(error.strerror or str(error)).lower()}",
            hint="name a file that 'starcast experiment export' has written",
        ) from None
    if len(text) > _LARGEST:
        raise _invalid(file, "it has more than 1 GB")
    return text


def _check(experiment: _Experiment) -> None:
    """Check that an experiment could have been stored by this version of starcast.

    Raises:
        StarcastError: it could not.
    """
    check_name(experiment.name)
    allowed = _design_points(experiment)
    seen = set()
    for run in experiment.runs:
        point = Point.of(run.as_model())
        if point in seen:
            raise InputError("it holds two runs of the same point")
        seen.add(point)
        if allowed is not None and point not in allowed:
            raise InputError(f"its grid has no point with the command '{point.command()}'")
        if point.messages != run.messages:
            raise InputError(f"a run of {run.algorithm} has {run.messages} messages")
        kinds = sorted(cost.kind for cost in run.costs)
        complete = run.status == "complete"
        if complete == bool(run.error) or kinds != (sorted(models.COSTS) if complete else []):
            raise InputError("a run has figures or an error that do not fit its status")
    if not experiment.runs:
        raise InputError("it has no runs")


def _design_points(experiment: _Experiment) -> set[Point] | None:
    if not experiment.grid:
        return None
    points = set(Design.from_json(experiment.grid).points())
    if experiment.points not in {None, len(points)}:
        raise InputError(f"its grid has {len(points)} points, not {experiment.points}")
    return points


def _refuse_contradictions(opened: Session, experiments: Iterable[_Experiment]) -> None:
    """Check that stored runs of the same points have the same figures, in any experiment."""
    runs = [(experiment.name, run) for experiment in experiments for run in experiment.runs]
    stored = _stored_runs(opened, [run for _, run in runs])
    differences = []
    for name, run in runs:
        new = run.as_model()
        for old in stored.get(Point.of(new), ()):
            figures = compare_figures(old, new, load_steps(opened, old.id), run.steps)
            different = [f"{figure}: {text}" for figure, text in figures.items() if text != SAME]
            if different:
                differences.append(
                    f"a run of '{name}' differs from the stored run {old.id} in {different[0]}"
                )
    if differences:
        more = len(differences) - 1
        others = f", and {pluralize(more, 'run differs', 'runs differ')} as well" if more else ""
        raise RejectedError(
            f"{differences[0]}{others}",
            hint="nothing was stored; 'starcast experiment reproduce' shows which are right",
        )


def _stored_runs(opened: Session, runs: Sequence[_Run]) -> dict[Point, list[models.Run]]:
    """Return the stored runs that may have the points of these runs, by point."""
    run = models.Run
    kinds = {(each.topology, each.collective, each.algorithm) for each in runs}
    query = select(run).where(tuple_(run.topology, run.collective, run.algorithm).in_(kinds))
    points: dict[Point, list[models.Run]] = {}
    for each in opened.scalars(query):
        points.setdefault(Point.of(each), []).append(each)
    return points


def _store(opened: Session, experiment: _Experiment) -> Imported:
    stored = repository.find_experiment(opened, experiment.name)
    known: set[Point] = set()
    if stored is None:
        stored = repository.save_experiment(
            opened, experiment.name, experiment.grid, experiment.points
        )
        stored.created_at = experiment.created_at
    else:
        check_design(stored, Design.from_json(experiment.grid) if experiment.grid else None)
        known = {Point.of(run) for run in repository.load_runs(opened, stored.id)}
    created = 0
    for each in experiment.runs:
        run = each.as_model()
        if Point.of(run) not in known:
            run.experiment = stored.id
            repository.save_run(opened, run, _profile(each))
            created += 1
    return Imported(experiment.name, created, len(experiment.runs) - created)


def _profile(run: _Run) -> Profile:
    return tuple(np.array(run.profile, dtype=np.int64).T) if run.profile else ()


def _invalid(file: Path, reason: str) -> InputError:
    return InputError(
        f"{file} is not a valid file of experiments: {reason}",
        hint="name a file that 'starcast experiment export' has written; nothing was stored",
    )
