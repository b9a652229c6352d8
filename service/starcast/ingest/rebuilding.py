"""Rebuild the graph from PostgreSQL's records; back up and restore both stores.

A rebuild recreates the graph in Neo4j, by an offline import or over Bolt. All stored artifacts can
be built again, so no data of starcast are lost, and a backup contains only PostgreSQL's data. Data
of other programs in Neo4j are deleted only on request; even then, a rebuild over Bolt deletes only
their relationships at recreated nodes.

Over Bolt, all artifacts to rebuild are first deleted. Until an artifact has been recreated, its
state is ``failed`` and its recorded error is `REBUILDING`. After an interruption, the next rebuild
recreates all remaining artifacts, and an ingest recreates the artifacts that it requests.
"""

from collections.abc import Sequence
from pathlib import Path

from sqlalchemy import Engine, select

from starcast.catalogue.plugins import PluginMissingError
from starcast.embedded.endpoints import graph_address, migration_url, store_url
from starcast.embedded.home import Home
from starcast.embedded.programs import find_pg_restore
from starcast.ingest.artifacts import Artifact, artifact_from_id, recorded_artifacts
from starcast.ingest.both_stores import LoadState, Stores, lock_stores, open_engine, open_stores
from starcast.ingest.loaders import BoltLoader, choose_loader
from starcast.ingest.loading import RECOVERABLE, Loaded, find_artifacts, find_dependents
from starcast.ingest.planning import choose_method
from starcast.stores.database import backup, models
from starcast.stores.database.backup import Manifest
from starcast.stores.database.sessions import lock_store
from starcast.stores.graph import audit
from starcast.stores.graph.connection import Graph
from starcast.stores.graph.reader import read_artifact_nodes
from starcast.stores.graph.schema import STORE, VERSION, GraphState
from starcast.stores.graph.writer import clear
from starcast.support.errors import RejectedError, StarcastError
from starcast.support.progress import Reporter, Silent
from starcast.support.settings import Settings
from starcast.support.text import pluralize
from starcast.support.vocabulary import LoadMethod


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
    """Recreate artifacts in Neo4j from PostgreSQL's records, and return them.

    A graph with an older schema is always rebuilt completely.

    Args:
        stores: both stores, open.
        ids: ids of the artifacts to rebuild (default: all artifacts). All artifacts that depend on
            these artifacts are rebuilt too. Topologies and forests on which they depend are rebuilt
            if they are missing or incomplete in a store.
        method: the load method; ``auto`` lets `choose_method` choose the faster method.
        reporter: receives progress messages.
        discard_foreign: delete data of other programs that cannot be kept.
        wait: wait for other processes instead of raising BusyError.
        replace: first empty the graph, even if it belongs to another database, then rebuild all
            artifacts; ``ids`` is ignored.

    Raises:
        NotFoundError: a given id is not the id of a stored artifact.
        OwnershipError: the graph belongs to another PostgreSQL database or program, or has a newer
            schema.
        RejectedError: data of other programs would be deleted and ``discard_foreign`` is False, a
            verification failed, or a given artifact is incomplete and must be ingested again.
        PluginMissingError: a plug-in that defines an artifact is not loaded.
        InputError: an import is requested, but Neo4j is not the embedded server.
        LimitError: the artifacts have more rows than the load method allows, or the disk has too
            little free space.
        BusyError: another process is changing the stores.
    """
    listener = reporter or Silent()
    with lock_stores(stores, wait, listener, "rebuilding the graph") as locked:
        if replace:
            ids = ()
            # If an artifact cannot be built or loaded, fail before anything is deleted.
            artifacts, others = _choose_artifacts(locked, ids)
            choose_loader(choose_method, locked, method, artifacts, others, listener)
            empty_graph(locked, listener)
        is_outdated = _take_over(locked)
        if is_outdated:
            listener.say(f"the graph has an older schema than {VERSION}: rebuilding everything")
            ids = ()
        artifacts, others = _choose_artifacts(locked, ids)
        loader = choose_loader(choose_method, locked, method, artifacts, others, listener)
        if not artifacts:
            # An import needs at least one artifact. A graph with an older schema is therefore
            # emptied over Bolt.
            loader = BoltLoader(locked, listener, loader.reason)
        kept, lost = audit.describe_losses(locked.graph, loader.replaced_topologies(artifacts))
        if kept:
            listener.say(f"keeping data of other programs: {', '.join(kept)}")
        if lost and not discard_foreign:
            raise RejectedError(
                f"a rebuild would delete data of other programs: {', '.join(lost)}",
                hint="move these data to another Neo4j database, or add `discard_foreign`",
            )
        if not artifacts and not is_outdated:
            return []
        listener.say(loader.reason)
        return loader.rebuild(artifacts, is_outdated=is_outdated)


def empty_graph(stores: Stores, reporter: Reporter) -> None:
    """Delete starcast's data from the graph, and make this PostgreSQL database its owner."""
    audit.record_owner(stores.graph, str(stores.id))
    if deleted := clear(stores.graph, stores.batch):
        many = pluralize(deleted, "node or relationship", "nodes and relationships")
        reporter.say(f"deleted {many} from the graph")


def _take_over(stores: Stores) -> bool:
    """Check that the graph in Neo4j belongs to this PostgreSQL database.

    The node :Store names the database to which the graph belongs. If this node was changed or
    deleted manually, it is repaired if both servers are embedded servers, which no other program
    uses, and if the graph has artifacts, all of which PostgreSQL records. For an empty graph, this
    database is recorded as the owner.

    Returns:
        True if the graph belongs to this database but has an older schema.

    Raises:
        OwnershipError: the graph belongs to another database or program, its owner is unknown, or
            its schema is newer.
    """
    identity = str(stores.id)
    try:
        audit.pair(stores.graph, stores.id)
    except audit.OutdatedSchemaError:
        return True
    except audit.OwnershipError as error:
        owner = audit.read_owner(stores.graph)
        is_newer = owner is not None and owner[1] > VERSION
        in_graph = read_artifact_nodes(stores.graph)
        with stores.session() as session:
            known = [session.get(models.Materialization, artifact) for artifact in in_graph]
        if is_newer or not known or None in known:
            raise
        if stores.embedded is None or stores.embedded.postgres_uri is not None:
            raise audit.OwnershipError(
                error.message,
                hint=f"{error.hint}; or, if this is the right graph store, check which servers are "
                f"configured; if they are right, run in Neo4j: MATCH (s:{STORE.name}) DELETE s; "
                f"MERGE (s:{STORE.name} {{schema: {VERSION}}}) "
                f"SET s = {{schema: {VERSION}, id: '{identity}'}}",
            ) from None
    audit.record_owner(stores.graph, identity)
    return False


def _choose_artifacts(stores: Stores, ids: Sequence[str]) -> tuple[list[Artifact], list[Artifact]]:
    """Return the artifacts to rebuild, and the other stored artifacts, both in build order.

    Artifacts that are missing in Neo4j, or were deleted by an interrupted rebuild, are included.
    """
    with stores.session() as session:
        wanted = find_artifacts(session, ids)
        artifacts = [
            artifact_from_id(session, row.kind, row.id)
            for row in session.scalars(select(models.Materialization))
            if row.state == LoadState.COMPLETE or row.error in RECOVERABLE
        ]
        for artifact_id in {*ids} - {each.id for each in artifacts}:
            raise RejectedError(
                f"{artifact_id} is not complete, so it cannot be rebuilt", hint="ingest it again"
            )
        if ids:
            usable = {*recorded_artifacts(session)} & _complete_in_graph(stores)
            # An artifact cannot be rebuilt without its topology and its forest.
            wanted |= {
                each
                for each in artifacts
                if each not in usable and wanted.intersection(find_dependents(session, each))
            }
    artifacts.sort(key=lambda artifact: artifact.build_order)
    others = [artifact for artifact in artifacts if artifact not in wanted]
    return [artifact for artifact in artifacts if artifact in wanted], others


def _complete_in_graph(stores: Stores) -> set[Artifact]:
    return {
        Artifact(kind, artifact_id)
        for (kind, artifact_id), nodes in read_artifact_nodes(stores.graph).items()
        if nodes[0].properties.get("state") == GraphState.COMPLETE
    }


def back_up(settings: Settings, file: Path) -> Manifest:
    """Back up PostgreSQL's data, from which the graph can be rebuilt, to a file.

    Raises:
        InputError: the file cannot be written.
        UnavailableError: the server is not available.
        RejectedError: the database does not contain a starcast store.
    """
    with open_engine(store_url(settings)) as engine:
        return backup.create(engine, file)


def restore(
    settings: Settings,
    file: Path,
    reporter: Reporter,
    *,
    rebuild_graph: bool = True,
    replace: bool = False,
    wait: bool = False,
) -> Manifest:
    """Restore a backup into empty stores, or replace their content, and rebuild the graph.

    During the restore, no other process can write to the stores. The backup of the previous content
    is therefore complete, and no process changes the graph while this process empties it.

    Args:
        settings: the settings that name the stores.
        file: the backup file.
        reporter: receives progress messages.
        rebuild_graph: whether to rebuild the graph in Neo4j; otherwise Neo4j is not used.
        replace: replace the content of the stores, after backing up the rows to the folder
            ``backups`` of the home.
        wait: wait for processes that write to the stores instead of raising BusyError.

    Raises:
        BusyError: another process is writing to the stores; nothing was changed.
        InputError: the file is not a complete backup; nothing was changed.
        RejectedError: a store is not empty and ``replace`` is False, PostgreSQL's tables belong to
            another program, or a schema is not supported; nothing was changed. Or the restored rows
            differ from the backup; the store has its previous content.
        PluginMissingError: the rows are restored and the graph is empty, because a plug-in that
            defines an artifact is not loaded.
        UnavailableError: a server is not available, or the graph belongs to another program. If the
            rows were already restored, the message states this.
    """
    # The file is read in full before a server is contacted, so a damaged file changes nothing.
    dumped_by = backup.read_manifest(file).dumped_by
    decoder = None if dumped_by is None else find_pg_restore(dumped_by)
    with (
        open_engine(migration_url(settings)) as owner,
        lock_store(owner, "restoring a backup", reporter, wait=wait, exclusive=True) as engine,
    ):
        # Neo4j is checked first, so that nothing is restored if Neo4j already has artifacts.
        if rebuild_graph:
            _check_graph(settings, replace=replace)
        keep = Home(settings.home).backup_file("before-restore") if replace else None
        manifest = backup.restore(
            engine,
            file,
            reporter,
            keep=keep,
            decoder=decoder,
            writer=store_url(settings).username,
        )
        rows = f"{pluralize(manifest.rows, 'row')} of {pluralize(len(manifest.tables), 'table')}"
        reporter.say(f"restored and verified {rows}")
        if rebuild_graph:
            _rebuild_restored(settings, engine, reporter)
    return manifest


def _check_graph(settings: Settings, *, replace: bool) -> None:
    """Check that Neo4j can be reached, and that restored artifacts can be written to it.

    Raises:
        OwnershipError: the graph belongs to another program; or it has another schema version, and
            ``replace`` is False.
        RejectedError: the graph contains artifacts, and ``replace`` is False.
    """
    with Graph.open(graph_address(settings)) as graph:
        if replace and audit.read_owner(graph) is not None:
            return
        audit.find_owner(graph)
        if nodes := read_artifact_nodes(graph):
            _, artifact_id = next(iter(nodes))
            raise RejectedError(
                f"the graph store is not empty: it contains {artifact_id}",
                hint="use another server or `home`, or add `replace` to replace the stored data",
            )


def _rebuild_restored(settings: Settings, engine: Engine, reporter: Reporter) -> None:
    """Rebuild the graph from the restored rows. The given engine holds the store's lock."""
    reporter.say("rebuilding the graph")
    try:
        with open_stores(settings, engine) as stores:
            # PostgreSQL now has the id from the backup, but the graph might still be paired with
            # another id.
            if audit.read_owner(stores.graph) is not None:
                empty_graph(stores, reporter)
            rebuilt = rebuild(stores, reporter=reporter)
    except StarcastError as error:
        hint = "; then ".join(filter(None, [error.hint, "run 'starcast graph rebuild'"]))
        if isinstance(error, PluginMissingError):
            hint = "run 'starcast graph rebuild', and give the plug-in's file with `plugins`"
        message = f"the rows were restored, but the graph was not rebuilt: {error.message}"
        raise type(error)(message, hint=hint) from None
    reporter.say(f"rebuilt {pluralize(len(rebuilt), 'artifact')} in the graph")
