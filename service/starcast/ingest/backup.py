"""Backup and restore of both stores: PostgreSQL from a dump, the graph by a rebuild."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import URL, Engine

from starcast.catalogue.origin import PluginMissingError
from starcast.embedded.endpoints import graph_address, migration_url, store_url
from starcast.embedded.home import Home
from starcast.embedded.packages import find_client_programs
from starcast.ingest.ingestion import empty_graph, rebuild
from starcast.ingest.stores import open_stores
from starcast.stores.database import backup, sessions
from starcast.stores.database.backup import Manifest
from starcast.stores.graph import ownership
from starcast.stores.graph.connection import Graph
from starcast.stores.graph.reader import read_artifact_nodes
from starcast.support.errors import RejectedError
from starcast.support.progress import Reporter
from starcast.support.settings import Settings


def back_up(settings: Settings, file: Path) -> Manifest:
    """Write everything that PostgreSQL stores to a file; the graph can be rebuilt from it.

    Raises:
        InputError: the file cannot be written.
        UnavailableError: the server, or its program ``pg_dump``, is not available.
        RejectedError: the database does not hold a starcast store.
    """
    with _engine(store_url(settings)) as engine:
        sessions.known_revision(engine)
        return backup.create(engine, file, find_client_programs(backup.server_major(engine)))


def restore(
    settings: Settings,
    file: Path,
    reporter: Reporter,
    *,
    rebuild_graph: bool = True,
    replace: bool = False,
) -> Manifest:
    """Restore a backup into empty stores, or replace their content, and rebuild the graph.

    Args:
        settings: the settings that name the stores.
        file: the backup.
        reporter: receives messages.
        rebuild_graph: if False, the graph is neither checked nor changed.
        replace: replace the content of the stores, after backing up the rows to the folder
            ``backups`` of the home.

    Raises:
        InputError: the file is not a complete backup; nothing was changed.
        RejectedError: a store is not empty, and nothing was changed; or the restored rows differ
            from the backup, and the store has its previous content.
        PluginMissingError: the rows are restored and the graph is empty, because a plug-in that
            defines an artifact is not loaded.
        UnavailableError: a server is not available.
    """
    # The file is read in full before a server is contacted, so a damaged file changes nothing.
    backup.read_manifest(file)
    # The graph is checked first, so that nothing is restored if it is in use.
    if rebuild_graph:
        with Graph.open(graph_address(settings)) as graph:
            if not replace:
                _check_graph(graph)
    with _engine(migration_url(settings)) as engine:
        programs = find_client_programs(backup.server_major(engine))
        keep = Home(settings.home).backup_file("before-restore") if replace else None
        manifest = backup.restore(engine, file, programs, reporter, keep=keep)
    reporter.say(f"restored and verified {manifest.rows:,} rows of {len(manifest.tables)} tables")
    if rebuild_graph:
        reporter.say("rebuilding the graph")
        with open_stores(settings) as stores:
            # The database now has the id from the backup; the graph may be paired with another id.
            if ownership.read_owner(stores.graph) is not None:
                empty_graph(stores, reporter)
            try:
                rebuilt = rebuild(stores, reporter=reporter)
            except PluginMissingError as error:
                raise PluginMissingError(
                    f"the rows were restored, but the graph was not rebuilt: {error.message}",
                    hint="run 'starcast graph rebuild' with --plugin and the file of the plug-in",
                ) from None
        reporter.say(f"rebuilt {len(rebuilt)} artifacts in the graph")
    return manifest


def _check_graph(graph: Graph) -> None:
    ownership.usable_owner(graph)
    artifacts = read_artifact_nodes(graph)
    if artifacts:
        _, artifact_id = next(iter(artifacts))
        raise RejectedError(
            f"the graph store is not empty: it holds {artifact_id}",
            hint="name another server or --home, or delete the stored data with --replace",
        )


@contextmanager
def _engine(url: URL) -> Iterator[Engine]:
    engine = sessions.connect(url)
    try:
        yield engine
    finally:
        engine.dispose()
