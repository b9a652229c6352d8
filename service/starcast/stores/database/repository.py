"""Storage of artifacts, experiments and runs in PostgreSQL, and the listings of artifacts.

Every function works in the given session and leaves the commit to
`starcast.stores.database.sessions.open_session`. Only forests and schedules that pass their checks
are stored. Listings read the view `ARTIFACT`, and import neither numpy nor the constructions.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar

from sqlalchemy import (
    ColumnElement,
    RowMapping,
    Select,
    column,
    delete,
    func,
    inspect,
    literal_column,
    select,
    table,
)
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from starcast.stores.database import models
from starcast.stores.database.sessions import copy_rows
from starcast.stores.database.views import ARTIFACT
from starcast.support.axes import AXES, Parameters
from starcast.support.errors import NotFoundError, RejectedError
from starcast.support.runs import COST_FIELDS, RUN_FIELDS, Run, RunCost
from starcast.support.table import Row
from starcast.support.text import did_you_mean, pluralize
from starcast.support.vocabulary import format_arguments

if TYPE_CHECKING:
    from starcast.collectives import Schedule
    from starcast.judges.simulator import Simulation
    from starcast.judges.simulator.simulation import Profile
    from starcast.topologies import Topology
    from starcast.trees import Forest

Stored = TypeVar("Stored")

#: The maximum value of PostgreSQL's type bigint.
_MAX_ID = 2**63 - 1


#: The table of each kind of artifact.
MODELS: dict[str, type[models.Base]] = {
    model.__tablename__: model for model in (models.Topology, models.Forest, models.Schedule)
}
_TREE_COLUMNS = ("forest", "number", "height", "leaves", "size", "parent_port")
_RUN, _COST = (models.Base.metadata.tables[name] for name in ("run", "cost"))
_VIEW = table("artifact", *map(column, ARTIFACT.columns))
_COLUMNS = {
    "topology": ("family", "nodes", "endpoints", "links", "degree", "diameter"),
    "forest": ("topology", "construction", "root_label", "trees", "height", "congestion"),
    "schedule": (
        "topology",
        "collective",
        "algorithm",
        "ports",
        "arguments",
        "steps",
        "transmissions",
        "largest_packet",
    ),
}


def require(row: Stored | None, noun: str, missing: str) -> Stored:
    """Return a row, or raise an error if it is None.

    Args:
        row: the row, or None.
        noun: the kind of object that was requested, such as ``run``.
        missing: the end of the error message, such as ``7 is stored`` in "no run 7 is stored".

    Raises:
        NotFoundError: the row is None.
    """
    if row is None:
        raise NotFoundError(f"no {noun} {missing}", hint=f"see 'starcast {noun} list'")
    return row


def find_experiment(session: Session, name: str) -> models.Experiment | None:
    """Return the experiment with this name, or None if no such experiment is stored."""
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


def experiment_name(session: Session, run: Run) -> str:
    """Return the name of the experiment to which a stored run belongs."""
    query = select(models.Experiment.name).join(models.Run).where(models.Run.id == run.id)
    return session.scalars(query).one()


def count_runs(session: Session) -> dict[int, tuple[int, int]]:
    """Return each experiment's number of runs and number of failed runs.

    The keys are the numbers of the experiments. Experiments without runs are omitted.
    """
    failed = func.count().filter(models.Run.status == "failed")
    query = select(models.Run.experiment, func.count(), failed).group_by(models.Run.experiment)
    return {experiment: (runs, failures) for experiment, runs, failures in session.execute(query)}


def save_experiment(
    session: Session, name: str, grid: Mapping[str, Any], points: int | None = None
) -> models.Experiment:
    """Store a new experiment without runs.

    Args:
        session: an open session; nothing is committed.
        name: the name of the experiment.
        grid: the experiment's grids as JSON values; empty for a collection of single runs.
        points: the number of points in the grids; None if there are no grids.
    """
    experiment = models.Experiment(name=name, grid=dict(grid), points=points)
    session.add(experiment)
    session.flush()
    return experiment


def drop_experiment(session: Session, name: str) -> None:
    """Delete an experiment with its runs."""
    session.execute(delete(models.Experiment).where(models.Experiment.name == name))


def load_runs(session: Session, experiment: int) -> list[Run]:
    """Return the runs of an experiment with their costs, in the order in which they were stored."""
    return find_runs(session, _RUN.c.experiment == experiment)


def find_runs(session: Session, condition: ColumnElement[bool]) -> list[Run]:
    """Return the runs that meet an SQL condition, in the order in which they were stored."""
    # Reading columns takes a third of the time of reading ORM objects.
    columns = [_RUN.c[name] for name in ("id", *RUN_FIELDS)]
    rows = session.execute(select(*columns).where(condition).order_by(_RUN.c.id)).all()
    columns = [_COST.c[name] for name in ("run", *COST_FIELDS)]
    query = select(*columns).join(_RUN).where(condition).order_by(_COST.c.kind)
    costs = defaultdict[int, list[RunCost]](list)
    for run, *values in session.execute(query):
        costs[run].append(RunCost(*values))
    return [Run(**row._asdict(), costs=tuple(costs[row.id])) for row in rows]


def load_run(session: Session, number: int) -> Run:
    """Return the run with this number and its costs.

    Raises:
        NotFoundError: no such run is stored.
    """
    # If a number exceeds the range of bigint, PostgreSQL raises an error instead of finding no row.
    runs = find_runs(session, _RUN.c.id == number) if abs(number) <= _MAX_ID else []
    return require(next(iter(runs), None), "run", f"{number} is stored")


def save_run(session: Session, experiment: int, run: Run, steps: "Profile" = ()) -> Run:
    """Store a run with its costs and step profile; a failed run has no costs and no profile.

    Args:
        session: an open session; nothing is committed.
        experiment: the number of the run's experiment.
        run: the run with its costs.
        steps: the step profile of the run's simulation; empty for a failed run.

    Returns:
        The run with the number assigned to it.
    """
    # Imported only here, because commands that read runs do not need numpy.
    from starcast.stores.database.networks import save_network  # noqa: PLC0415

    save_network(session, run.topology)
    values = {name: getattr(run, name) for name in RUN_FIELDS}
    query = insert(_RUN).values(experiment=experiment, **values).returning(_RUN.c.id)
    number = session.scalars(query).one()
    if run.costs:
        session.execute(insert(_COST), [{"run": number, **vars(cost)} for cost in run.costs])
    if steps:
        copy_steps(session, models.StepProfile, "run", number, steps)
    return replace(run, id=number)


def drop_run(session: Session, experiment: int, point: Parameters) -> None:
    """Delete an experiment's run with the given parameters, if such a run is stored."""
    equal = [_RUN.c[name].is_not_distinct_from(getattr(point, name)) for name in AXES]
    session.execute(delete(_RUN).where(_RUN.c.experiment == experiment, *equal))


def copy_steps(
    session: Session, model: type[models.Base], column: str, key: int | str, steps: "Profile"
) -> None:
    """Insert the step profile (one row per simulated step) of a run or a schedule.

    Args:
        session: an open session; nothing is committed.
        model: the table, `StepProfile` or `ScheduleStep`.
        column: name of the column in this table that refers to the run or schedule.
        key: the number of the run, or the id of the schedule.
        steps: the step profile.
    """
    # Imported only here, because commands that read runs do not need the simulator.
    from starcast.judges.simulator.simulation import PROFILE_COLUMNS  # noqa: PLC0415

    rows = ((key, step, *row) for step, row in enumerate(steps, start=1))
    table = model.metadata.tables[model.__tablename__]
    copy_rows(session, table, (column, "step", *PROFILE_COLUMNS), rows)


def load_profile(session: Session, run: int | None) -> list[models.StepProfile]:
    """Return the step profile of a run, in the order of steps.

    The profile is empty if the run is not stored.
    """
    query = select(models.StepProfile).filter_by(run=run).order_by(models.StepProfile.step)
    return list(session.scalars(query))


def artifact_columns(kind: str) -> list[str]:
    """Return the names of the columns in listings of this kind of artifact."""
    return ["id", *_COLUMNS[kind], "state", "error"]


def list_artifacts(session: Session, kind: str, spec: str | None = None) -> list[Row]:
    """Return a row for each recorded artifact of a kind, complete or not.

    Args:
        session: an open session.
        kind: topology, forest or schedule.
        spec: only artifacts on this topology are listed (default: all).
    """
    query = select(_VIEW).where(_VIEW.c.kind == kind).order_by(_VIEW.c.id)
    if spec is not None:
        query = query.where(_VIEW.c.topology == spec)
    return [_describe(kind, row) for row in session.execute(query).mappings()]


def list_newest(session: Session, count: int) -> dict[str, list[tuple[str, datetime]]]:
    """Return the newest experiments, verdicts on claims, and complete artifacts.

    Args:
        session: an open session.
        count: the maximum number per kind.

    Returns:
        A dict with the keys ``experiment``, ``claim``, ``topology``, ``forest`` and ``schedule``.
        Each value is a list of pairs (name or id, time), newest first.
    """
    loaded, verdict, run = models.Materialization, models.ClaimVerdict, models.ClaimRun
    queries: dict[str, Select[str, datetime]] = {
        "experiment": select(models.Experiment.name, models.Experiment.created_at),
        "claim": select(verdict.claim, run.finished_at).where(verdict.claim_run == run.id),
    }
    for kind in models.KINDS:
        stored = (loaded.kind == kind) & (loaded.state == "complete")
        queries[kind] = select(
            loaded.id, func.coalesce(loaded.finished_at, loaded.started_at)
        ).where(stored)
    newest = {}
    for kind, query in queries.items():
        # Results that were stored together have the same time; these are sorted by name.
        ordered = query.order_by(literal_column("2").desc(), literal_column("1")).limit(count)
        newest[kind] = [(row[0], row[1]) for row in session.execute(ordered)]
    return newest


def find_artifact(session: Session, kind: str | None, artifact_id: str) -> models.Materialization:
    """Return an artifact's row in the table ``materialization``.

    Args:
        session: an open session.
        kind: topology, forest or schedule; None for any.
        artifact_id: the artifact's id.

    Raises:
        NotFoundError: the artifact has no row; the hint names a similar id, if there is one.
    """
    query = select(models.Materialization)
    if kind is not None:
        query = query.filter_by(kind=kind)
    row = session.scalars(query.filter_by(id=artifact_id)).first()
    if row is None:
        ids = session.scalars(query.with_only_columns(models.Materialization.id))
        suggestion = did_you_mean(artifact_id, ids)
        raise NotFoundError(
            f"no {kind or 'artifact'} '{artifact_id}' is stored",
            hint=f"{suggestion}see 'starcast {kind or 'topology'} list'",
        )
    return row


def describe_artifact(session: Session, kind: str, artifact_id: str) -> Row:
    """Return the recorded properties of an artifact, omitting properties without a value.

    Raises:
        NotFoundError: the artifact is not recorded.
    """
    from starcast.trees.metrics import describe_forest  # noqa: PLC0415 - see the module's docstring

    row = find_artifact(session, kind, artifact_id)
    query = select(_VIEW).where(_VIEW.c.kind == kind, _VIEW.c.id == artifact_id)
    values = _describe(kind, session.execute(query).mappings().one())
    if kind == "forest" and session.get(models.Forest, artifact_id) is not None:
        forest = load_forest(session, artifact_id)
        values |= describe_forest(forest, ("heights", "leaves", "sizes", "load_histogram"))
    for name in (
        "method",
        "expected_nodes",
        "expected_relationships",
        "expected_checksum",
        "found_checksum",
        "finished_at",
    ):
        values[name] = getattr(row, name)
    return {name: value for name, value in values.items() if value is not None}


def _describe(kind: str, row: RowMapping) -> Row:
    """Convert a row of the view `ARTIFACT` to a row of a listing.

    If the artifact was planned but not saved, most values are None.
    """
    values = {name: row[name] for name in artifact_columns(kind)}
    if values.get("arguments"):
        values["arguments"] = format_arguments(values["arguments"])
    return values


def save_topology(session: Session, topology: "Topology") -> None:
    """Store a topology with its numbers of nodes and links, replacing an earlier row.

    Raises:
        RejectedError: the topology is a network, and another network with the same spec is stored.
    """
    from starcast.catalogue.entries import FAMILIES  # noqa: PLC0415 - see the module's docstring
    from starcast.stores.database.networks import save_network  # noqa: PLC0415
    from starcast.topologies.base import known_diameter  # noqa: PLC0415

    is_network = topology.family not in FAMILIES
    noun = "networks" if is_network else FAMILIES[topology.family].noun
    family = insert(models.Family).values(name=topology.family, noun=noun)
    session.execute(family.on_conflict_do_nothing())
    save_network(session, topology.spec)
    _merge(session, models.Topology, topology, diameter=known_diameter(topology))


def save_forest(session: Session, forest: "Forest") -> None:
    """Store a forest and its trees, replacing a stored forest with the same id.

    The caller must have verified the forest and stored its topology.

    Raises:
        RejectedError: in some tree, the parent ports do not lead from every node of the tree to the
            root; nothing is stored.
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
    counts = [values.tolist() for values in (forest.heights, forest.leaves, forest.sizes)]
    ports = [row.data for row in forest.parent_port]
    columns = enumerate(zip(*counts, ports, strict=True))
    rows = ((forest.id, number, *values) for number, values in columns)
    copy_rows(session, models.Tree.metadata.tables["tree"], _TREE_COLUMNS, rows)


def load_forest(session: Session, forest_id: str) -> "Forest":
    """Return the stored forest with this id, with all its trees.

    Raises:
        NotFoundError: no such forest is stored.
        RejectedError: the stored trees do not have as many nodes as the forest's topology, because
            a plug-in has changed.
    """
    import numpy as np  # noqa: PLC0415 - see the module's docstring

    from starcast.topologies import as_topology  # noqa: PLC0415
    from starcast.trees import Forest  # noqa: PLC0415

    stored_forest = session.get(models.Forest, forest_id)
    row = require(stored_forest, "forest", f"'{forest_id}' is stored")
    topology = as_topology(row.topology)
    query = select(models.Tree.parent_port).filter_by(forest=forest_id)
    ports = session.scalars(query.order_by(models.Tree.number))
    stored = np.frombuffer(b"".join(ports), dtype=np.uint8)
    if len(stored) != row.trees * topology.nodes:
        raise RejectedError(
            f"the stored trees of {forest_id} do not have one entry for each of the"
            f" {topology.nodes:,} nodes of {topology.spec}",
            hint="use the version of the plug-in with which they were stored, or drop the forest",
        )
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


def save_schedule(session: Session, schedule: "Schedule", simulation: "Simulation") -> None:
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
            hint="in the column 'tree', use the index of the tree in the forest's array",
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
    """Store an artifact as a row of a table, replacing an earlier row.

    Args:
        session: an open session.
        model: the table.
        structure: the topology, forest or schedule.
        given: values of columns. Every other column without a default in the database gets the
            attribute of ``structure`` with the same name.
    """
    names = [column.name for column in model.__table__.columns if column.server_default is None]
    values = {name: getattr(structure, name) for name in names if name not in given}
    session.merge(model(**values, **given))
    session.flush()


def load_schedule_profile(session: Session, schedule_id: str) -> list[models.ScheduleStep]:
    """Return the step profile of a schedule, in the order of steps."""
    query = select(models.ScheduleStep).filter_by(schedule=schedule_id)
    return list(session.scalars(query.order_by(models.ScheduleStep.step)))


def drop_artifact(session: Session, kind: str, artifact_id: str) -> None:
    """Delete an artifact. PostgreSQL raises an error if other artifacts refer to the artifact."""
    model = MODELS[kind]
    [key] = inspect(model).primary_key
    session.execute(delete(model).where(key == artifact_id))
