"""Storage of topologies, forests and schedules in PostgreSQL.

Every function works in the given session and leaves the commit to
`starcast.stores.database.sessions.open_session`. Only forests and schedules that pass their checks
are stored.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
from sqlalchemy import delete, inspect, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from starcast.catalogue.entries import FAMILIES
from starcast.collectives import Schedule
from starcast.stores.database import models
from starcast.stores.database.repository import copy_steps
from starcast.stores.database.sessions import copy_rows
from starcast.support.errors import NotFoundError, RejectedError
from starcast.support.text import pluralize
from starcast.topologies import Topology, as_topology
from starcast.trees import Forest

if TYPE_CHECKING:
    from starcast.judges.simulator import Simulation

#: The table of each kind of artifact.
MODELS: dict[str, type[models.Base]] = {
    "topology": models.Topology,
    "forest": models.Forest,
    "schedule": models.Schedule,
}
_TREE_COLUMNS = ("forest", "number", "height", "leaves", "size", "parent_port")


def save_topology(session: Session, topology: Topology) -> None:
    """Store a topology with its numbers of nodes and links, replacing an earlier row."""
    noun = FAMILIES[topology.family].noun
    family = insert(models.Family).values(name=topology.family, noun=noun)
    session.execute(family.on_conflict_do_nothing())
    _merge(session, models.Topology, topology)


def save_forest(session: Session, forest: Forest) -> None:
    """Store a forest and its trees, replacing a stored forest with the same id.

    The caller has verified the forest; its topology must be stored already.
    """
    # The COPY below can only insert rows, so earlier rows are deleted first.
    session.execute(delete(models.Tree).where(models.Tree.forest == forest.id))
    _merge(
        session,
        models.Forest,
        forest,
        topology=forest.topology.spec,
        arguments=dict(forest.arguments),
        root_label=forest.topology.label(forest.root),
    )
    figures = zip(
        forest.heights.tolist(), forest.leaves.tolist(), forest.sizes.tolist(), strict=True
    )
    rows = (
        (forest.id, number, *counts, forest.parent_port[number].data)
        for number, counts in enumerate(figures)
    )
    copy_rows(session, models.Tree.metadata.tables["tree"], _TREE_COLUMNS, rows)


def load_forest(session: Session, forest_id: str) -> Forest:
    """Return the forest with this id from its stored trees.

    Raises:
        NotFoundError: no such forest is stored.
    """
    row = session.get(models.Forest, forest_id)
    if row is None:
        raise NotFoundError(f"no forest '{forest_id}' is stored", hint="see 'starcast forest list'")
    topology = as_topology(row.topology)
    query = (
        select(models.Tree.parent_port)
        .where(models.Tree.forest == forest_id)
        .order_by(models.Tree.number)
    )
    stored = np.frombuffer(b"".join(session.scalars(query)), dtype=np.uint8)
    parent_port = stored.reshape(row.trees, topology.nodes)
    ports_of_spanning = row.trees * (topology.nodes - 1)
    return Forest(
        topology,
        parent_port,
        row.root,
        construction=row.construction,
        arguments=row.arguments,
        # In a spanning tree every node but the root has a port towards its parent.
        spanning=bool(np.count_nonzero(parent_port) == ports_of_spanning),
    )


def save_schedule(session: Session, schedule: Schedule, simulation: "Simulation") -> None:
    """Store a schedule's parameters and simulation results, replacing an earlier version.

    The topology and the forest of the schedule must be stored already.

    Raises:
        RejectedError: the simulation found a violation or missing units, or a row names a tree
            that the forest does not have; nothing is stored.
    """
    if not simulation.complete:
        missing = pluralize(simulation.missing, "unit is", "units are")
        reason = simulation.violation or f"{missing} missing at the end"
        raise RejectedError(
            f"{schedule.id} is not a correct {schedule.collective}: {reason}",
            hint="fix the schedule; only schedules verified by simulation are stored",
        )
    trees = schedule.forest.trees if schedule.forest else None
    if trees is not None and schedule.tree.max(initial=0) >= trees:
        raise RejectedError(
            f"a row of {schedule.id} uses tree {schedule.tree.max()}, but its forest has only "
            f"{pluralize(trees, 'tree')}, numbered from 0",
            hint="in the column 'tree', give the index of the tree in the forest's array",
        )
    _merge(
        session,
        models.Schedule,
        schedule,
        topology=schedule.topology.spec,
        forest=schedule.forest_id,
        arguments=dict(schedule.arguments),
        steps=simulation.steps,
        transmissions=simulation.transmissions,
        largest_packet=simulation.largest_packet,
    )
    # COPY can only insert rows, so earlier rows are deleted first.
    session.execute(delete(models.ScheduleStep).where(models.ScheduleStep.schedule == schedule.id))
    copy_steps(session, models.ScheduleStep, "schedule", schedule.id, simulation.step_profile)


def _merge(session: Session, model: type[models.Base], structure: object, **given: Any) -> None:
    """Store a row with the given values and, in the other columns, attributes of the structure."""
    names = [column.name for column in model.__table__.columns if column.server_default is None]
    values = {name: getattr(structure, name) for name in names if name not in given}
    session.merge(model(**values, **given))
    session.flush()


def load_schedule_profile(session: Session, schedule_id: str) -> list[models.ScheduleStep]:
    """Return the step profile of a schedule in order."""
    query = select(models.ScheduleStep).where(models.ScheduleStep.schedule == schedule_id)
    return list(session.scalars(query.order_by(models.ScheduleStep.step)))


def drop(session: Session, kind: str, artifact_id: str) -> None:
    """Delete an artifact. PostgreSQL raises an error if other artifacts refer to it."""
    model = MODELS[kind]
    [key] = inspect(model).primary_key
    session.execute(delete(model).where(key == artifact_id))
