"""Storage of experiments and runs in PostgreSQL.

Every function works in the given session and leaves the commit to
`starcast.stores.database.sessions.open_session`.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from starcast.stores.database import models
from starcast.stores.database.sessions import copy_rows
from starcast.support.errors import NotFoundError

if TYPE_CHECKING:
    from starcast.judges.simulator.simulation import Profile

Stored = TypeVar("Stored", bound=models.Base)

#: The maximum value of PostgreSQL's type bigint.
_MAX_ID = 2**63 - 1


def require(row: Stored | None, noun: str, missing: str) -> Stored:
    """Return a row unless it is None.

    Raises:
        NotFoundError: the row is None; the message is ``no`` with the noun and ``missing``.
    """
    if row is None:
        raise NotFoundError(f"no {noun} {missing}", hint=f"see 'starcast {noun} list'")
    return row


def find_experiment(session: Session, name: str) -> models.Experiment | None:
    """Return the experiment with this name, or None."""
    return session.scalar(select(models.Experiment).where(models.Experiment.name == name))


def load_experiment(session: Session, name: str) -> models.Experiment:
    """Return the experiment with this name.

    Raises:
        NotFoundError: no such experiment is stored.
    """
    return require(find_experiment(session, name), "experiment", f"'{name}' is stored")


def list_experiments(session: Session) -> list[models.Experiment]:
    """Return all experiments, sorted by name."""
    return list(session.scalars(select(models.Experiment).order_by(models.Experiment.name)))


def experiment_name(session: Session, number: int) -> str:
    """Return the name of the experiment with this number.

    Raises:
        NotFoundError: no such experiment is stored.
    """
    experiment = session.get(models.Experiment, number)
    return require(experiment, "experiment", f"has the number {number}").name


def count_runs(session: Session) -> dict[int, tuple[int, int]]:
    """Return, by experiment number, how many runs each experiment has and how many failed."""
    failed = func.count().filter(models.Run.status == "failed")
    query = select(models.Run.experiment, func.count(), failed).group_by(models.Run.experiment)
    return {experiment: (runs, failures) for experiment, runs, failures in session.execute(query)}


def save_experiment(
    session: Session, name: str, grid: Mapping[str, Any], points: int | None = None
) -> models.Experiment:
    """Store a new experiment without runs, whose grids have this number of points."""
    experiment = models.Experiment(name=name, grid=dict(grid), points=points)
    session.add(experiment)
    session.flush()
    return experiment


def drop_experiment(session: Session, name: str) -> None:
    """Delete an experiment with its runs."""
    session.execute(delete(models.Experiment).where(models.Experiment.name == name))


def load_runs(session: Session, experiment: int) -> list[models.Run]:
    """Return the runs of an experiment with their costs, in the order in which they were stored."""
    query = select(models.Run).filter_by(experiment=experiment).order_by(models.Run.id)
    return list(session.scalars(query))


def load_run(session: Session, number: int) -> models.Run:
    """Return the run with this number and its costs.

    Raises:
        NotFoundError: no such run is stored.
    """
    # For larger numbers PostgreSQL raises an error instead of finding no row.
    run = session.get(models.Run, number) if abs(number) <= _MAX_ID else None
    return require(run, "run", f"{number} is stored")


def save_run(session: Session, run: models.Run, steps: "Profile" = ()) -> None:
    """Store a run with its costs and its step profile. A failed run has neither.

    Args:
        session: an open session; nothing is committed.
        run: the run with its costs; this function sets its number.
        steps: the profile of its simulation; empty for a failed run.
    """
    session.add(run)
    session.flush()
    if not steps:
        return
    copy_steps(session, models.StepProfile, "run", run.id, steps)


def copy_steps(
    session: Session, model: type[models.Base], column: str, key: int | str, steps: "Profile"
) -> None:
    """Insert the step profile of a run or a schedule, identified by the value of a column."""
    # Imported only here, because commands that read runs do not need the simulator.
    from starcast.judges.simulator.simulation import PROFILE_COLUMNS  # noqa: PLC0415

    figures = zip(*(values.tolist() for values in steps), strict=True)
    rows = ((key, step, *row) for step, row in enumerate(figures, start=1))
    table = model.metadata.tables[model.__tablename__]
    copy_rows(session, table, (column, "step", *PROFILE_COLUMNS), rows)


def load_profile(session: Session, run: int) -> list[models.StepProfile]:
    """Return the step profile of a run in order."""
    query = select(models.StepProfile).filter_by(run=run).order_by(models.StepProfile.step)
    return list(session.scalars(query))
