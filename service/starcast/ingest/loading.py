"""Load and delete artifacts, and clean up after interruptions.

An artifact is built, verified and written to both stores. Then the artifact is read from Neo4j,
compared with the built artifact, and marked complete. If a load is interrupted, or other programs
change the stores, `recover` cleans up. Only one process at a time holds the lock of the stores, so
an artifact in state ``planned`` or ``loading`` was left by a process that has ended, and can be
deleted. An artifact that is complete in only one of the stores can be deleted as well.
"""

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from starcast.catalogue.plugins import require_plugins
from starcast.ingest.artifacts import (
    Artifact,
    Built,
    recorded_artifact,
    recorded_plugins,
)
from starcast.ingest.both_stores import (
    FOUND_COLUMNS,
    LoadState,
    Stores,
    read_state,
    set_columns,
    set_state,
)
from starcast.stores.database import models, repository
from starcast.stores.database.backup import REBUILDING
from starcast.stores.graph import reader
from starcast.stores.graph.artifacts import GraphArtifact
from starcast.stores.graph.schema import USES, GraphState
from starcast.stores.graph.writer import BoltWriter, delete_artifact
from starcast.support.errors import (
    InputError,
    LimitError,
    NotFoundError,
    RejectedError,
    StarcastError,
    UnavailableError,
)
from starcast.support.progress import Reporter
from starcast.support.text import did_you_mean
from starcast.support.vocabulary import LoadMethod

#: The first stages of a load, which are the same over Bolt and by import, in order.
BUILD_STAGES = ("planned", "built", "saved")
#: The stages of a load over Bolt, in order. An `OnStage` callback is called after each stage;
#: the stage ``batch`` occurs once for every batch.
STAGES = (*BUILD_STAGES, "begun", "batch", "written", "compared", "finished", "complete")

#: The error that PostgreSQL records for a complete artifact that is missing in Neo4j.
LOST = "it is no longer in the graph store"
#: Errors of artifacts that the next rebuild recreates in Neo4j. PostgreSQL keeps the rows of these
#: artifacts, because the trees of a user's own forest are stored nowhere else.
RECOVERABLE = (LOST, REBUILDING)

OnStage = Callable[[str, Artifact], None]


def ignore_stage(*_: object) -> None:
    """Do nothing: the default for the callback ``on_stage`` of an ingest, a drop or a rebuild."""


@dataclass(frozen=True)
class Loaded:
    """A newly stored artifact, with the numbers of nodes and relationships and the load time."""

    kind: str
    id: str
    nodes: int
    relationships: int
    seconds: float


def load(
    stores: Stores,
    writer: BoltWriter,
    artifact: Artifact,
    reporter: Reporter,
    on_stage: OnStage,
    reason: str | None = None,
) -> Loaded:
    """Store an artifact that is not stored yet, or has failed before, in both stores.

    Args:
        stores: both stores, locked.
        writer: writes to Neo4j.
        artifact: the artifact.
        reporter: receives progress messages.
        on_stage: called after each of `STAGES`.
        reason: text that PostgreSQL records as the artifact's error until the artifact is complete
            (default: the recorded text, if it is one of `RECOVERABLE`). The text remains if the
            load fails or is interrupted.

    Raises:
        RejectedError: the verification or the comparison failed. The artifact's row in
            ``materialization`` remains, with the state ``failed``. If its error is one of
            `RECOVERABLE`, all other rows of the artifact in PostgreSQL remain too.
        UnavailableError: a server stopped; the next ingest or drop cleans up.
    """
    began = time.monotonic()
    kind, artifact_id = artifact.kind, artifact.id
    with cleanup_on_error(stores, [artifact], reporter):
        built, _, sized = build_and_save(stores, LoadMethod.BOLT, artifact, on_stage, reason)
        checksum = artifact.content_of(built).checksum
        with stores.session() as session:
            set_columns(session, kind, artifact_id, expected_checksum=checksum)
        writer.begin(built)
        on_stage("begun", artifact)
        with reporter.task(artifact_id, sized.rows, "rows") as task:

            def advance(rows: int) -> None:
                task.advance(rows)
                on_stage("batch", artifact)

            writer.write(built, advance)
        on_stage("written", artifact)
        _compare(stores, built)
        on_stage("compared", artifact)
        # The state changes in Neo4j first. If the process is killed after this step, the artifact
        # is complete in Neo4j but not in PostgreSQL, so the next ingest creates it again.
        writer.finish(built)
        on_stage("finished", artifact)
        with stores.session() as session:
            set_state(session, kind, artifact_id, LoadState.COMPLETE)
    on_stage("complete", artifact)
    reporter.say(f"{kind} {artifact_id}: {sized.rows:,} rows, compared and complete")
    seconds = time.monotonic() - began
    return Loaded(kind, artifact_id, sized.nodes, sized.relationships, seconds)


@contextmanager
def cleanup_on_error(
    stores: Stores,
    artifacts: Sequence[Artifact],
    reporter: Reporter,
) -> Iterator[None]:
    """After an error in the context, delete the artifacts if possible and record them as failed.

    After Ctrl-C, the artifacts are only recorded as failed. If a server is unavailable, nothing is
    changed. An error that is recorded already, such as `REBUILDING`, is kept.
    """
    try:
        yield
    except KeyboardInterrupt:
        # Deleting large artifacts takes a long time, so it is left to the next ingest or drop.
        for artifact in artifacts:
            kind, artifact_id = artifact.kind, artifact.id
            with suppress(StarcastError), stores.session() as session:
                error = _recorded_error(session, artifact) or "interrupted"
                set_state(session, kind, artifact_id, LoadState.FAILED, error=error)
        raise
    except UnavailableError:
        # Nothing can be deleted without a server. The next ingest or drop finds the recorded
        # states, and cleans up.
        raise
    except Exception as error:
        message = f"{type(error).__name__}: {error}"
        if isinstance(error, StarcastError):
            message = error.message
        for artifact in reversed(artifacts):
            # If the deletion fails as well, only the first error is reported.
            with suppress(StarcastError):
                discard(stores, artifact, message, reporter)
        raise


def build_and_save(
    stores: Stores,
    method: LoadMethod,
    artifact: Artifact,
    on_stage: OnStage,
    reason: str | None = None,
) -> Built:
    """Build and verify an artifact, and save it to PostgreSQL in state ``loading``.

    The caller records the artifact's checksum.

    Args:
        stores: both stores, locked.
        method: the load method, which is recorded.
        artifact: the artifact.
        on_stage: called after each of `BUILD_STAGES`.
        reason: text that PostgreSQL records as the artifact's error until the artifact is complete
            (default: the recorded text, if it is one of `RECOVERABLE`).

    Raises:
        RejectedError: the verification failed.
    """
    kind, artifact_id = artifact.kind, artifact.id
    planned = {"method": method.value, **artifact.planned_columns}
    with stores.session() as session:
        recorded = _recorded_error(session, artifact)
        error = reason or (recorded if recorded in RECOVERABLE else None)
        set_state(session, kind, artifact_id, LoadState.PLANNED, error=error, **planned)
    on_stage("planned", artifact)
    built = artifact.build() if error is None else artifact.build_again()
    on_stage("built", artifact)
    with stores.session() as session:
        set_state(session, kind, artifact_id, LoadState.LOADING, **built.artifact.counts)
        built.save(session)
    on_stage("saved", artifact)
    return built


def _recorded_error(session: Session, artifact: Artifact) -> str | None:
    row = session.get(models.Materialization, (artifact.kind, artifact.id))
    return None if row is None else row.error


def _compare(stores: Stores, built: GraphArtifact) -> None:
    """Compare an artifact in Neo4j with the built artifact; record Neo4j's counts and checksum.

    Raises:
        RejectedError: the artifact in the graph differs from the built artifact.
    """
    kind, artifact_id = built.kind, built.id
    content = reader.read_content(stores.graph, kind, artifact_id, built.topology)
    nodes = reader.read_artifact_nodes(stores.graph, artifact_id).get((kind, artifact_id), [])
    differences = reader.find_node_differences(built, nodes, GraphState.LOADING)
    found = (content.nodes, content.relationships, content.checksum)
    with stores.session() as session:
        columns = dict(zip(FOUND_COLUMNS, found, strict=True))
        set_columns(session, kind, artifact_id, **columns)
    if content != built.content or differences:
        raise RejectedError(
            f"the graph does not match {artifact_id}: expected {built.content}, found {content}"
            + "".join(f"; {difference}" for difference in differences),
            hint="run the same ingest again; if this error recurs, another program writes to this"
            " graph",
        )


def discard(stores: Stores, artifact: Artifact, error: str | None, reporter: Reporter) -> None:
    """Delete an artifact from both stores.

    If PostgreSQL already records an error of the artifact, this error is kept, and ``error`` is
    ignored. If an error is recorded or given, the artifact's row in ``materialization`` remains,
    with the state ``failed`` and the error; `forget` describes which other rows remain. After an
    interruption, the artifact has the state ``loading`` or is incomplete in Neo4j, so that
    `recover` finds it.
    """
    kind, artifact_id = artifact.kind, artifact.id
    nodes, relationships = 0, 0
    topology = None
    # If the plug-in no longer defines this topology, it can still be deleted, but more slowly.
    if kind == "topology":
        with suppress(InputError, LimitError):
            topology = artifact.topology
    with stores.session() as session:
        require_plugins(artifact.spec, recorded_plugins(session, "topology", artifact.spec))
        row = session.get(models.Materialization, (kind, artifact_id), with_for_update=True)
        if row is not None:
            nodes, relationships = row.expected_nodes, row.expected_relationships
            error = row.error or error
            # The state `loading` makes `recover` find the artifact, even if this process is killed.
            if row.state == LoadState.COMPLETE:
                set_state(session, kind, artifact_id, LoadState.LOADING, error=error)
    with reporter.task(f"deleting {artifact_id}", nodes + relationships, "rows") as task:
        batch, advance = stores.batch, task.advance
        delete_artifact(stores.graph, kind, artifact_id, topology, batch, advance, relationships)
    with stores.session() as session:
        forget(session, artifact, error)


def forget(session: Session, artifact: Artifact, error: str | None = None) -> None:
    """Delete an incomplete artifact from PostgreSQL.

    If ``error`` is given, the artifact's row in ``materialization`` remains, with the state
    ``failed`` and the error. If the error is one of `RECOVERABLE`, all other rows remain too.
    """
    if error not in RECOVERABLE:
        repository.drop_artifact(session, artifact.kind, artifact.id)
    if error is None:
        set_state(session, artifact.kind, artifact.id, None)
    elif read_state(session, artifact.kind, artifact.id) is not LoadState.FAILED:
        set_state(session, artifact.kind, artifact.id, LoadState.FAILED, error=error)


def recover(stores: Stores, reporter: Reporter) -> list[Artifact]:
    """Delete all artifacts that are not complete in both stores, and their dependents.

    The stores must be locked. A failed artifact without a node in Neo4j is left unchanged.

    PostgreSQL keeps the record of a deleted artifact, in the state ``failed``, in two cases. If the
    record contains an error, this error is kept. If the artifact was complete in PostgreSQL, and
    the records of its topology and forest are not deleted, the error `LOST` is recorded, and the
    next rebuild recreates the artifact.

    Returns:
        The deleted artifacts, in the order of deletion.
    """
    with stores.session() as session:
        # Artifacts with malformed ids, or whose topology needs a missing plug-in, are not deleted.
        known = {
            artifact: state
            for artifact, state in read_states(session).items()
            if is_well_formed(artifact.id)
        }
        forest_of = _read_forests(session)
        table = models.Materialization
        query = select(table.kind, table.id).where(table.error.in_(RECOVERABLE))
        kept = {Artifact(kind, artifact_id) for kind, artifact_id in session.execute(query)}
    # The rows of these artifacts stay in PostgreSQL.
    kept |= {each for each, state in known.items() if state is LoadState.COMPLETE}
    in_graph: dict[Artifact, str] = {}
    for (kind, artifact_id), [node, *_] in reader.read_artifact_nodes(stores.graph).items():
        # If a schedule exists only in the graph, PostgreSQL does not record its forest.
        for name, parent in node.parents:
            if name == USES.name:
                forest_of[artifact_id] = parent
        if is_well_formed(artifact_id):
            in_graph[Artifact(kind, artifact_id)] = str(node.properties.get("state", ""))
    everything = known.keys() | in_graph.keys()
    deleted = {each for each in everything if _is_unusable(known.get(each), in_graph.get(each))}
    # Artifacts that depend on an unusable artifact cannot be used either.
    deleted |= {each for each in everything if _depends_on(each, deleted, forest_of)}
    ordered = sorted(deleted, key=lambda artifact: artifact.deletion_order)
    for artifact in ordered:
        # The rows of an artifact can stay in PostgreSQL only if those of its topology and forest
        # stay too.
        is_lost = known.get(artifact) is LoadState.COMPLETE and not _depends_on(
            artifact, deleted - kept, forest_of
        )
        reason = LOST if is_lost else "deleting it, because it is not complete in both stores"
        reporter.say(f"{artifact.kind} {artifact.id}: {reason}")
        discard(stores, artifact, LOST if is_lost else None, reporter)
    return ordered


def _is_unusable(known: LoadState | None, in_graph: str | None) -> bool:
    """Return whether an artifact with these states in PostgreSQL and Neo4j must be deleted.

    The state None means that the store does not have the artifact.
    """
    if known in {LoadState.PLANNED, LoadState.LOADING}:
        return True
    if known is LoadState.COMPLETE:
        return in_graph != GraphState.COMPLETE
    # The artifact is not complete in PostgreSQL, so a node in the graph is a leftover.
    return in_graph is not None


def is_well_formed(artifact_id: str | None) -> bool:
    """Return whether an id begins with the spec of a topology that this process can build.

    Other ids come from manual changes in Neo4j, or need a plug-in that is not loaded. `recover`
    does not delete artifacts with such ids.
    """
    with suppress(InputError):
        return artifact_id is not None and bool(Artifact("topology", artifact_id).topology)
    return False


def find_dependents(session: Session, artifact: Artifact) -> list[Artifact]:
    """Return the recorded artifacts that depend on an artifact, in the order of deletion."""
    forest_of = _read_forests(session)
    dependents = [
        other for other in read_states(session) if _depends_on(other, {artifact}, forest_of)
    ]
    return sorted(dependents, key=lambda other: other.deletion_order)


def find_artifacts(session: Session, ids: Sequence[str]) -> set[Artifact]:
    """Return the recorded artifacts with the given ids, and all artifacts that depend on them.

    If ``ids`` is empty, all recorded artifacts are returned.

    Raises:
        NotFoundError: a given id is not the id of a stored artifact.
    """
    known = set(read_states(session))
    if not ids:
        return known
    by_id = {artifact.id: artifact for artifact in known}
    for artifact_id in ids:
        if artifact_id not in by_id:
            raise NotFoundError(
                f"no artifact '{artifact_id}' is stored",
                hint=f"{did_you_mean(artifact_id, by_id)}see 'starcast topology list',"
                " 'starcast forest list' and 'starcast schedule list'",
            )
    chosen = {by_id[artifact_id] for artifact_id in ids}
    return chosen.union(*(find_dependents(session, artifact) for artifact in chosen))


def read_states(session: Session) -> dict[Artifact, LoadState]:
    """Return the state of each artifact that PostgreSQL records.

    The keys are artifacts from `recorded_artifact`, which cannot be built.
    """
    rows = session.scalars(select(models.Materialization))
    return {recorded_artifact(row): LoadState(row.state) for row in rows}


def _read_forests(session: Session) -> dict[str, str]:
    """Return the id of the forest that each stored schedule uses, keyed by schedule id."""
    rows = session.execute(select(models.Schedule.id, models.Schedule.forest))
    return {schedule: forest for schedule, forest in rows if forest is not None}


def _depends_on(
    artifact: Artifact, others: Collection[Artifact], forest_of: Mapping[str, str]
) -> bool:
    if artifact.kind == "topology":
        return False
    if Artifact("topology", artifact.spec) in others:
        return True
    return (
        artifact.kind == "schedule" and Artifact("forest", forest_of.get(artifact.id, "")) in others
    )
