"""Saving and loading: from the mathematics' objects to rows and back.

Every function works inside the session it is given and commits nothing; `starcast.database.sessions.session` does. The store holds
nothing that its checker did not accept.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from starcast.collectives import Schedule
from starcast.database import models
from starcast.database.bulk_copy import copy_columns, copy_rows
from starcast.errors import NotFoundError, RejectedError
from starcast.simulator.step_profile import COLUMNS, Profile, profile
from starcast.support.text import pluralize
from starcast.topologies import Topology, topology
from starcast.trees import Forest

if TYPE_CHECKING:
    from starcast.simulator import Simulation

#: The largest number that PostgreSQL's bigint holds: no run has a larger one.
_LARGEST = 2**63 - 1
_TREE_COLUMNS = ("forest", "number", "height", "leaves", "size", "parent_port")


def save_topology(session: Session, topology: Topology) -> None:
    """Store a topology's counts, over what may be stored under its name."""
    session.merge(
        models.Topology(
            spec=topology.spec,
            family=topology.family,
            n=topology.n,
            k=topology.k,
            nodes=topology.nodes,
            links=topology.links,
            degree=topology.degree,
            diameter=topology.diameter,
        )
    )
    session.flush()


def save_forest(session: Session, forest: Forest) -> None:
    """Store a forest and its trees, over what may be stored under its id; its topology is stored already.

    Raises:
        RejectedError: its checker says that it is none; nothing is stored.
    """
    forest.verify()
    drop_forest_trees(session, forest.id)
    session.merge(
        models.Forest(
            id=forest.id,
            topology=forest.topology.spec,
            construction=forest.construction,
            arguments=dict(forest.arguments),
            root=forest.root,
            root_label=forest.topology.label(forest.root),
            trees=forest.trees,
            height=forest.height,
            congestion=forest.congestion,
        )
    )
    session.flush()
    figures = zip(
        forest.heights.tolist(), forest.leaves.tolist(), forest.sizes.tolist(), strict=True
    )
    rows = (
        (forest.id, tree, *figure, forest.parent_port[tree].data)
        for tree, figure in enumerate(figures)
    )
    copy_rows(session, models.Tree.metadata.tables["tree"], _TREE_COLUMNS, rows)


def load_forest(session: Session, identity: str) -> Forest:
    """The forest of that id, from its stored trees; nothing is built again.

    Raises:
        NotFoundError: no such forest is stored.
    """
    row = session.get(models.Forest, identity)
    if row is None:
        raise NotFoundError(f"no forest '{identity}' is stored", hint="see 'starcast tree list'")
    where = topology(row.topology)
    query = (
        select(models.Tree.parent_port)
        .where(models.Tree.forest == identity)
        .order_by(models.Tree.number)
    )
    ports = np.frombuffer(b"".join(session.scalars(query)), dtype=np.uint8).reshape(
        row.trees, where.nodes
    )
    return Forest(
        where,
        ports,
        row.root,
        construction=row.construction,
        arguments=row.arguments,
        # The root stands outside its own array, everybody else in a spanning tree has a port.
        spanning=bool(np.count_nonzero(ports) == row.trees * (where.nodes - 1)),
    )


def save_schedule(session: Session, schedule: Schedule, simulation: "Simulation") -> None:
    """Store a schedule's parameters and what its simulation counted, also step by step, over what may be stored under its id.

    Topology and forest are stored already.

    Raises:
        RejectedError: the simulation found a violation, or somebody lacks something; nothing is stored.
    """
    if not simulation.complete:
        lacking = pluralize(simulation.missing, "unit is", "units are")
        raise RejectedError(
            f"{schedule.id} does not keep its promise: {simulation.violation or f'{lacking} missing'}",
            hint="mend the schedule; only those that their simulation proves are stored",
        )
    session.merge(
        models.Schedule(
            id=schedule.id,
            topology=schedule.topology.spec,
            forest=schedule.forest_id,
            collective=schedule.collective,
            algorithm=schedule.algorithm,
            ports=schedule.ports,
            arguments=dict(schedule.arguments),
            root=schedule.root,
            symmetric=schedule.symmetric,
            steps=simulation.steps,
            transmissions=simulation.transmissions,
            largest_packet=simulation.largest_packet,
            units=schedule.units,
        )
    )
    session.flush()
    session.execute(delete(models.ScheduleStep).where(models.ScheduleStep.schedule == schedule.id))
    _copy_schedule_steps(session, schedule.id, profile(simulation))


def load_schedule_profile(session: Session, identity: str) -> list[models.ScheduleStep]:
    """The step profile of a schedule, by step; empty where it was stored by a starcast that kept none."""
    query = select(models.ScheduleStep).where(models.ScheduleStep.schedule == identity)
    return list(session.scalars(query.order_by(models.ScheduleStep.step)))


def drop_topology(session: Session, spec: str) -> None:
    """Forget a topology; PostgreSQL refuses while forests or schedules on it are stored."""
    session.execute(delete(models.Topology).where(models.Topology.spec == spec))


def drop_forest(session: Session, identity: str) -> None:
    """Forget a forest and its trees; PostgreSQL refuses while schedules along it are stored."""
    session.execute(delete(models.Forest).where(models.Forest.id == identity))


def drop_forest_trees(session: Session, identity: str) -> None:
    """Forget the trees of a forest, which stays."""
    session.execute(delete(models.Tree).where(models.Tree.forest == identity))


def drop_schedule(session: Session, identity: str) -> None:
    """Forget a schedule."""
    session.execute(delete(models.Schedule).where(models.Schedule.id == identity))


def find_experiment(session: Session, name: str) -> models.Experiment | None:
    """The experiment of that name, or None."""
    return session.scalar(select(models.Experiment).where(models.Experiment.name == name))


def load_experiment(session: Session, name: str) -> models.Experiment:
    """The experiment of that name.

    Raises:
        NotFoundError: there is none.
    """
    found = find_experiment(session, name)
    if found is None:
        raise NotFoundError(
            f"no experiment '{name}' is stored", hint="see 'starcast experiment list'"
        )
    return found


def list_experiments(session: Session) -> list[models.Experiment]:
    """All experiments, by name."""
    return list(session.scalars(select(models.Experiment).order_by(models.Experiment.name)))


def experiment_name(session: Session, identity: int) -> str:
    """The name of the experiment with this number.

    Raises:
        NotFoundError: there is none.
    """
    found = session.get(models.Experiment, identity)
    if found is None:
        raise NotFoundError(
            f"no experiment has the number {identity}", hint="see 'starcast experiment list'"
        )
    return found.name


def count_runs(session: Session) -> dict[int, tuple[int, int]]:
    """How many runs each experiment that has some holds, and how many of them failed, by the experiment's number."""
    failed = func.count().filter(models.Run.status == "failed")
    query = select(models.Run.experiment, func.count(), failed).group_by(models.Run.experiment)
    return {experiment: (runs, lost) for experiment, runs, lost in session.execute(query)}


def save_experiment(
    session: Session, name: str, grid: Mapping[str, Any], points: int | None = None
) -> models.Experiment:
    """Store a new experiment without runs, from grids of so many points."""
    experiment = models.Experiment(name=name, grid=dict(grid), points=points)
    session.add(experiment)
    session.flush()
    return experiment


def drop_experiment(session: Session, name: str) -> None:
    """Forget an experiment with its runs."""
    session.execute(delete(models.Experiment).where(models.Experiment.name == name))


def load_runs(session: Session, experiment: int) -> list[models.Run]:
    """The runs of an experiment with their costs, in the order in which they were stored."""
    return list(
        session.scalars(
            select(models.Run).where(models.Run.experiment == experiment).order_by(models.Run.id)
        )
    )


def load_run(session: Session, identity: int) -> models.Run:
    """The run of that number with its costs.

    Raises:
        NotFoundError: there is none.
    """
    run = session.get(models.Run, identity) if abs(identity) <= _LARGEST else None
    if run is None:
        raise NotFoundError(f"no run {identity} is stored", hint="see 'starcast run list'")
    return run


def save_run(session: Session, run: models.Run, steps: Profile = ()) -> None:
    """Store a run with its costs and its step profile; a failed run has neither.

    Args:
        session: commits all of it or nothing.
        run: with its costs; gets its number.
        steps: the profile of its simulation; empty of a failed run.
    """
    session.add(run)
    session.flush()
    if not steps:
        return
    numbers = np.arange(1, len(steps[0]) + 1)
    columns = {
        "run": np.full(len(numbers), run.id),
        "step": numbers,
        **dict(zip(COLUMNS, steps, strict=True)),
    }
    copy_columns(session, models.Run.metadata.tables["step_profile"], columns)


def load_profile(session: Session, run: int) -> list[models.StepProfile]:
    """The step profile of a run, by step."""
    query = (
        select(models.StepProfile)
        .where(models.StepProfile.run == run)
        .order_by(models.StepProfile.step)
    )
    return list(session.scalars(query))


def _copy_schedule_steps(session: Session, identity: str, steps: Profile) -> None:
    rows = zip(*(column.tolist() for column in steps), strict=True)
    names = ("schedule", "step", *COLUMNS)
    table = models.Schedule.metadata.tables["schedule_step"]
    copy_rows(
        session, table, names, ((identity, step, *row) for step, row in enumerate(rows, start=1))
    )
