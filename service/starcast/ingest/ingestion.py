"""Ingesting and rebuilding artifacts in both stores.

A rebuild recreates the graph from PostgreSQL's records, by an offline import or over Bolt. All
stored artifacts can be built again, so no starcast data are lost. Data of other programs are
deleted only on request; over Bolt, only their relationships at recreated nodes are deleted.

Over Bolt, all artifacts to rebuild are first deleted. Each has the state ``failed``, with the
reason `REBUILDING`, until it has been recreated. After an interruption, the next rebuild recreates
all remaining artifacts, and an ingest recreates those that it requests.
"""

import shlex
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from sqlalchemy import select

from starcast.catalogue.origin import find_changed
from starcast.embedded import rebuild as embedded_rebuild
from starcast.ingest.artifacts import Artifact, artifact_from_id, recorded_artifacts
from starcast.ingest.dropping import refuse_import_losses
from starcast.ingest.load_methods import choose_method
from starcast.ingest.loading import (
    LOST,
    Loaded,
    OnStage,
    discard,
    find_artifacts,
    load,
    recover,
)
from starcast.ingest.offline import import_all, share_seconds
from starcast.ingest.planning import Plan
from starcast.ingest.stores import LoadState, Stores, lock_stores, read_state, set_columns
from starcast.stores.database import artifact_rows, models
from starcast.stores.graph import audit, ownership
from starcast.stores.graph.deletion import clear, delete_orphans, delete_outdated_nodes
from starcast.stores.graph.reader import read_artifact_nodes
from starcast.stores.graph.schema import VERSION
from starcast.stores.graph.writer import BoltWriter, refresh_plans
from starcast.support.errors import RejectedError
from starcast.support.progress import Reporter, Silent
from starcast.support.text import pluralize
from starcast.support.vocabulary import LoadMethod

#: Error recorded for an artifact that a rebuild has deleted and not yet recreated.
REBUILDING = "'starcast graph rebuild' has not recreated it yet"


@dataclass(frozen=True, repr=False)
class Summary:
    """Result of an ingest.

    Attributes:
        created: artifacts that were stored.
        present: ids of artifacts that were already stored.
        recovered: ids of unusable artifacts that were deleted first.
        seconds: duration of the ingest.
        outdated: ids of artifacts in ``present`` that another version of a plug-in built.
    """

    created: list[Loaded]
    present: list[str]
    recovered: list[str]
    seconds: float = field(compare=False)
    outdated: list[str] = field(default_factory=list)

    @property
    def rows(self) -> int:
        """Number of nodes and relationships created."""
        return sum(loaded.nodes + loaded.relationships for loaded in self.created)

    def __repr__(self) -> str:
        return f"<Summary: {self}>"

    def __str__(self) -> str:
        present = len(self.present)
        outdated = len(self.outdated)
        note = f", {outdated} of them built by another version of a plug-in" if outdated else ""
        if not self.created:
            return f"nothing to create: {present} of {present} are already stored{note}"
        rate = self.rows / max(sum(loaded.seconds for loaded in self.created), 1e-9)
        already = f", {present} already stored{note}" if present else ""
        return (
            f"created {len(self.created)}{already}: {self.rows:,} rows in {self.seconds:.1f} s, "
            f"{rate:,.0f} rows/s including verification"
        )


def _ignore_stage(stage: str, artifact: Artifact) -> None:
    pass


def ingest(
    stores: Stores,
    plan: Plan,
    wait: bool = False,
    reporter: Reporter | None = None,
    on_stage: OnStage = _ignore_stage,
    method: LoadMethod = LoadMethod.AUTO,
) -> Summary:
    """Store the requested artifacts that are missing; repeating the call stores nothing new.

    Args:
        stores: both stores, open.
        plan: the artifacts to store; only missing ones are built.
        wait: wait for other processes instead of raising BusyError.
        reporter: receives progress messages.
        on_stage: called after each stage (`loading.STAGES`, `offline.STAGES`); tests use it to
            interrupt the ingest.
        method: the load method; see `choose_method`.

    Raises:
        BusyError: another process is changing the stores.
        UnavailableError: a server stopped, or the graph belongs to another database or program;
            complete artifacts stay.
        RejectedError: a verification failed: that artifact is not stored, complete artifacts stay.
            Or a user's forest has the id of a stored forest with other trees: nothing was written.
        LimitError: the request exceeds the limits or the disk space; nothing was written.
        InputError: an import was requested for a server that is not the embedded one.
    """
    listener = reporter or Silent()
    began = time.monotonic()
    with lock_stores(stores, wait, listener, f"ingesting {plan.artifacts[0].id}") as locked:
        _tidy(locked, listener)
        ownership.claim(locked.graph, locked.id)
        recovered = [artifact.id for artifact in recover(locked, listener)]
        with locked.session() as session:
            stored = recorded_artifacts(session)
        _refuse_other_trees(locked, plan)
        missing = [artifact for artifact in plan.artifacts if artifact not in stored]
        present = [artifact for artifact in stored if artifact in plan.artifacts]
        outdated = _find_outdated(present, listener)
        created = _create(locked, missing, stored, method, listener, on_stage) if missing else []
    present_ids = [artifact.id for artifact in plan.artifacts if artifact in stored]
    return Summary(created, present_ids, recovered, time.monotonic() - began, outdated)


def _tidy(stores: Stores, reporter: Reporter) -> None:
    if stores.embedded is not None:
        embedded_rebuild.clean_up(stores.embedded, reporter)


def _find_outdated(present: Iterable[Artifact], reporter: Reporter) -> list[str]:
    """Report each artifact that another version of a plug-in built, and return the ids."""
    outdated = []
    for artifact in present:
        names = find_changed(artifact.plugins)
        if not names:
            continue
        outdated.append(artifact.id)
        plugins = " and ".join(f"'{name}'" for name in names)
        quoted = shlex.quote(artifact.id)
        reporter.say(
            f"{artifact.id} was built by another version of the plug-in of {plugins}; compare it "
            f"with: starcast graph verify {quoted}; build it again with: "
            f"starcast graph rebuild {quoted}"
        )
    return outdated


def _refuse_other_trees(stores: Stores, plan: Plan) -> None:
    """Check that no user's forest has the id of a stored forest with other trees.

    Raises:
        RejectedError: a forest differs from the stored forest with the same id.
    """
    # The trees of all other forests are determined by their ids.
    for artifact_id, forest in plan.forests.items():
        with stores.session() as session:
            if session.get(models.Forest, artifact_id) is None:
                continue
            stored = artifact_rows.load_forest(session, artifact_id)
        if not np.array_equal(stored.parent_port, forest.parent_port):
            raise RejectedError(
                f"a forest with the id {artifact_id} but different trees is already stored",
                hint="rename the forest, or drop the stored one: starcast forest drop "
                f"'{artifact_id}'",
            )


def _create(
    stores: Stores,
    missing: Sequence[Artifact],
    stored: Sequence[Artifact],
    requested: LoadMethod,
    reporter: Reporter,
    on_stage: OnStage,
) -> list[Loaded]:
    chosen = choose_method(requested, missing, stored, embedded=stores.embedded is not None)
    if chosen.method is LoadMethod.IMPORT:
        refuse_import_losses(stores)
    reporter.say(chosen.reason)
    if chosen.method is LoadMethod.IMPORT:
        return import_all(stores, missing, reporter, on_stage)
    writer = BoltWriter(stores.graph, stores.batch)
    writer.prepare()
    created = []
    # Artifacts are loaded one after the other, so that an interruption affects only one of them and
    # the next ingest continues there.
    for artifact in missing:
        created.append(load(stores, writer, artifact, reporter, on_stage))
        _report_complete(artifact, reporter)
    # Discard the query plans that the server cached while the graph was still nearly empty.
    refresh_plans(stores.graph)
    return created


def _report_complete(artifact: Artifact, reporter: Reporter) -> None:
    reporter.say(f"{artifact.kind} {artifact.id}: {artifact.rows:,} rows, compared and complete")


def rebuild(
    stores: Stores,
    ids: Sequence[str] = (),
    method: LoadMethod = LoadMethod.AUTO,
    reporter: Reporter | None = None,
    *,
    discard_foreign: bool = False,
    wait: bool = False,
    replace: bool = False,
) -> list[Loaded]:
    """Recreate artifacts in the graph store from PostgreSQL's records, and return them.

    A graph with an older schema is always rebuilt completely.

    Args:
        stores: both stores, open.
        ids: artifacts to rebuild, each with its dependents; empty for everything.
        method: the load method.
        reporter: receives progress messages.
        discard_foreign: delete data of other programs that cannot be kept.
        wait: wait for other processes instead of raising BusyError.
        replace: first empty the graph, whatever database it belongs to.

    Raises:
        NotFoundError: no artifact with such an id is stored.
        OwnershipError: the graph belongs to another PostgreSQL database or program.
        RejectedError: data of other programs would be deleted, or a verification failed.
        InputError: an import was requested for a server that is not the embedded one.
        LimitError: the artifacts exceed the limit of the load method.
        BusyError: another process is changing the stores.
    """
    listener = reporter or Silent()
    with lock_stores(stores, wait, listener, "rebuilding the graph") as locked:
        _tidy(locked, listener)
        if replace:
            ids = ()
            # If an artifact cannot be built, fail before anything is deleted.
            _choose_artifacts(locked, ids)
            empty_graph(locked, listener)
        is_outdated = _take_over(locked)
        if is_outdated:
            listener.say(f"the graph has an older schema than {VERSION}: rebuilding everything")
            ids = ()
        artifacts, others = _choose_artifacts(locked, ids)
        embedded = locked.embedded is not None
        chosen = choose_method(method, artifacts, others, embedded=embedded)
        # Without artifacts there is nothing to import, but an outdated graph must be cleaned.
        by_import = chosen.method is LoadMethod.IMPORT and bool(artifacts)
        _refuse_rebuild_losses(
            locked, artifacts, listener, by_import=by_import, discard_foreign=discard_foreign
        )
        if not artifacts and not is_outdated:
            return []
        listener.say(chosen.reason)
        if by_import:
            return _rebuild_by_import(locked, artifacts, listener)
        return _rebuild_over_bolt(locked, artifacts, listener, is_outdated=is_outdated)


def empty_graph(stores: Stores, reporter: Reporter) -> None:
    """Delete all starcast data from the graph, and pair it with this PostgreSQL database."""
    ownership.mark(stores.graph, str(stores.id))
    if deleted := clear(stores.graph, stores.batch):
        noun = pluralize(deleted, "node or relationship", "nodes and relationships")
        reporter.say(f"deleted {noun} of the graph")


def _take_over(stores: Stores) -> bool:
    """Check that this PostgreSQL database owns the graph; repair the ownership record if safe.

    The record of ownership may have been edited manually. Repairing it is safe if both stores are
    the embedded stores of the same home, which no other program uses, and PostgreSQL knows every
    artifact in the graph. An empty graph is paired with this database.

    Returns:
        True if the graph belongs to this database but has an older schema.

    Raises:
        OwnershipError: the graph does not belong to this database, or its owner is unknown.
    """
    identity = str(stores.id)
    try:
        ownership.claim(stores.graph, stores.id)
    except ownership.OutdatedSchemaError:
        return True
    except ownership.OwnershipError as error:
        is_known = _knows_all_artifacts(stores)
        is_private = stores.embedded is not None and stores.embedded.postgres_uri is None
        if not is_known:
            raise
        if not is_private:
            advice = ownership.repair_advice(identity)
            hint = f"{error.hint}; or, if this is the right graph store, {advice}"
            raise ownership.OwnershipError(error.message, hint=hint) from None
    ownership.mark(stores.graph, identity)
    return False


def _knows_all_artifacts(stores: Stores) -> bool:
    """Return whether PostgreSQL knows all artifacts in the graph.

    The result is False for a graph without artifacts or with a newer schema.
    """
    owner = ownership.read_owner(stores.graph)
    in_graph = read_artifact_nodes(stores.graph)
    with stores.session() as session:
        is_known = all(session.get(models.Materialization, name) is not None for name in in_graph)
    return bool(in_graph) and is_known and (owner is None or owner[1] <= VERSION)


def _choose_artifacts(stores: Stores, ids: Sequence[str]) -> tuple[list[Artifact], list[Artifact]]:
    """Return the artifacts to rebuild, and the other complete artifacts, in build order.

    Artifacts that were lost from the graph, or deleted by an interrupted rebuild, are included as
    well.
    """
    chosen: list[Artifact] = []
    others: list[Artifact] = []
    with stores.session() as session:
        wanted = find_artifacts(session, ids)
        artifacts = [
            artifact_from_id(session, row.kind, row.id)
            for row in session.scalars(select(models.Materialization))
            if row.state == LoadState.COMPLETE or row.error in {LOST, REBUILDING}
        ]
    for artifact in sorted(artifacts, key=lambda artifact: artifact.build_order):
        (chosen if artifact in wanted else others).append(artifact)
    return chosen, others


def _refuse_rebuild_losses(
    stores: Stores,
    artifacts: Sequence[Artifact],
    reporter: Reporter,
    *,
    by_import: bool,
    discard_foreign: bool,
) -> None:
    """Check that no data of other programs are deleted without a request; report the kept data.

    Raises:
        RejectedError: the rebuild would delete data of other programs.
    """
    # Over Bolt, only nodes of rebuilt topologies are deleted, each with all its relationships.
    topologies = None if by_import else [artifact.id for artifact in artifacts if artifact.nodes]
    nodes, relationships = audit.describe_losses(stores.graph, topologies)
    if nodes and not by_import:
        reporter.say(f"keeping data of other programs: {', '.join(nodes)}")
        nodes = []
    if (nodes or relationships) and not discard_foreign:
        raise RejectedError(
            "a rebuild would delete data of other programs: " + ", ".join([*nodes, *relationships]),
            hint="move these data to another Neo4j database, or add --discard-foreign",
        )


def _rebuild_by_import(
    stores: Stores, artifacts: Sequence[Artifact], reporter: Reporter
) -> list[Loaded]:
    began = time.monotonic()
    with stores.session() as session:
        # An import includes all complete artifacts anyway, so only the others are passed as new.
        lost = [
            artifact
            for artifact in artifacts
            if read_state(session, artifact.kind, artifact.id) is not LoadState.COMPLETE
        ]
    import_all(stores, lost, reporter, _ignore_stage)
    return share_seconds(artifacts, time.monotonic() - began)


def _rebuild_over_bolt(
    stores: Stores, artifacts: Sequence[Artifact], reporter: Reporter, *, is_outdated: bool
) -> list[Loaded]:
    for artifact in sorted(artifacts, key=lambda each: each.deletion_order):
        discard(stores, artifact, REBUILDING, reporter)
    recover(stores, reporter)
    with stores.session() as session:
        kept = {(artifact.kind, artifact.id) for artifact in recorded_artifacts(session)}
    orphans = delete_orphans(stores.graph, kept, stores.batch)
    if orphans:
        noun = pluralize(orphans, "node or relationship", "nodes and relationships")
        reporter.say(f"deleted {noun} of artifacts that do not exist")
    audit.drop_wrong_indexes(stores.graph)
    if is_outdated:
        delete_outdated_nodes(stores.graph)
        # The new schema version is recorded only now: after an earlier interruption, the next
        # rebuild must again recreate everything.
        ownership.mark(stores.graph, str(stores.id))
    writer = BoltWriter(stores.graph, stores.batch)
    writer.prepare()
    return [_recreate(stores, writer, artifact, reporter) for artifact in artifacts]


def _recreate(stores: Stores, writer: BoltWriter, artifact: Artifact, reporter: Reporter) -> Loaded:
    def on_stage(stage: str, artifact: Artifact) -> None:
        # `load` clears the reason `REBUILDING` on entering the state `planned`.
        if stage == "planned":
            _note_rebuilding(stores, artifact)

    try:
        loaded = load(stores, writer, artifact, reporter, on_stage)
    except KeyboardInterrupt:
        # `load` has recorded the interruption as the reason, instead of `REBUILDING`.
        _note_rebuilding(stores, artifact)
        raise
    _report_complete(artifact, reporter)
    return loaded


def _note_rebuilding(stores: Stores, artifact: Artifact) -> None:
    """Record the reason `REBUILDING`, so that an interrupted rebuild can be continued."""
    with stores.session() as session:
        set_columns(session, artifact.kind, artifact.id, error=REBUILDING)
