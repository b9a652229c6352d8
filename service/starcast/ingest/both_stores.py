"""Connections to both stores, the lock for changing the stores, and the states of artifacts."""

import uuid
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import URL, Engine, select
from sqlalchemy.orm import Session

from starcast.embedded import rebuild
from starcast.embedded.endpoints import graph_address, store_url
from starcast.stores.database import migrations, models, sessions
from starcast.stores.graph.connection import Graph
from starcast.stores.graph.schema import KEY_NUMBERS, draw_number
from starcast.support.errors import BusyError
from starcast.support.progress import Reporter
from starcast.support.settings import Settings
from starcast.topologies import Topology

#: Name of the advisory lock in PostgreSQL that a process holds while it changes Neo4j.
LOCK = "ingest"


@dataclass(frozen=True)
class Stores:
    """The connections to PostgreSQL and Neo4j.

    Attributes:
        engine: the engine for PostgreSQL, whose schema has been checked.
        graph: the connection to Neo4j.
        batch: maximum number of rows per transaction in Neo4j.
        embedded: the settings if Neo4j is the embedded server, otherwise None. starcast may stop
            the embedded server and replace its store.
        lock: the lock for changing Neo4j, if this process holds it; the engine then also holds the
            lock for writing to PostgreSQL.
    """

    engine: Engine
    graph: Graph
    batch: int
    embedded: Settings | None = None
    lock: sessions.Lock | None = None

    @contextmanager
    def session(self) -> Iterator[Session]:
        """Open a PostgreSQL session that commits at the end of the context.

        Raises:
            UnavailableError: the connection of the session or of the lock was lost. Without the
                lock, another process might be changing the stores.
        """
        with sessions.open_session(self.engine) as session:
            if self.lock is not None:
                self.lock.verify(session)
            yield session

    @property
    def id(self) -> uuid.UUID:
        """Id of the PostgreSQL database; the node ``:Store`` in Neo4j must have the same id."""
        with self.session() as session:
            return session.scalars(select(models.Store.id)).one()


@contextmanager
def open_engine(url: URL) -> Iterator[Engine]:
    """Connect to PostgreSQL, and close all connections at the end of the context."""
    engine = sessions.connect(url)
    try:
        yield engine
    finally:
        engine.dispose()


@contextmanager
def open_stores(settings: Settings, engine: Engine | None = None) -> Iterator[Stores]:
    """Connect to PostgreSQL and Neo4j.

    Args:
        settings: the settings that name the servers.
        engine: the engine for PostgreSQL, if PostgreSQL is already connected and its schema
            checked.

    Raises:
        UnavailableError: a server is not running or rejects the login.
        RejectedError: PostgreSQL's schema is missing, too old, too new, or not starcast's.
    """
    with ExitStack() as stack:
        if engine is None:
            engine = stack.enter_context(open_engine(store_url(settings)))
            migrations.check(engine)
        graph = stack.enter_context(Graph.open(graph_address(settings)))
        embedded = settings if settings.neo4j_uri is None else None
        with sessions.open_session(engine) as session:
            load_key_numbers(session)
        yield Stores(engine, graph, settings.batch, embedded)


def load_key_numbers(session: Session) -> None:
    """Load the numbers from which node keys are computed, and use them in this process.

    A node key identifies a node among the nodes of all topologies in Neo4j.
    """
    KEY_NUMBERS.clear()
    numbers = session.execute(select(models.NodeKey.topology, models.NodeKey.number))
    KEY_NUMBERS.update((spec, number) for spec, number in numbers)


def draw_key_numbers(session: Session, topologies: Iterable[Topology]) -> None:
    """Choose and store a number for each topology whose node keys need a number and have none."""
    for topology in topologies:
        number = draw_number(topology)
        if number is not None:
            session.add(models.NodeKey(topology=topology.spec, number=number))
            KEY_NUMBERS[topology.spec] = number


@contextmanager
def lock_stores(
    stores: Stores, wait: bool, reporter: Reporter, task: str = "changing these stores"
) -> Iterator[Stores]:
    """Hold the locks for changing both stores until the context or the process ends.

    Only one process at a time changes Neo4j. The lock for writing to PostgreSQL is shared with
    processes that do not change Neo4j.

    Files that a killed import has left in the home of the embedded Neo4j are deleted.

    Args:
        stores: both stores.
        wait: wait for the process that holds the lock, and report that this process waits.
        reporter: receives progress messages.
        task: activity shown to other processes, such as ``dropping S10``.

    Yields:
        The stores, whose sessions check that the lock is still held.

    Raises:
        BusyError: another process holds the lock, and ``wait`` is False.
        UnavailableError: the PostgreSQL role has no write access; nothing was changed.
    """
    waiting = reporter.say if wait else None
    with (
        sessions.lock_store(stores.engine, task, reporter, wait=wait) as engine,
        sessions.advisory_lock(engine, LOCK, None, task, waiting=waiting) as lock,
    ):
        locked = replace(stores, engine=engine, lock=lock)
        # FOR UPDATE needs permission to write even with LIMIT 0, so a role without write access
        # fails here.
        with locked.session() as session:
            session.execute(select(models.Materialization).limit(0).with_for_update())
            load_key_numbers(session)
        if stores.embedded is not None:
            rebuild.clean_up(stores.embedded, reporter)
        yield locked


class LoadState(StrEnum):
    """State of an artifact in PostgreSQL's table ``materialization``.

    An artifact is ``planned`` while it is being built, and ``loading`` while it is being written to
    the stores or deleted from the stores. It is ``complete`` when it has been verified and can be
    used. It is ``failed`` if it was abandoned; the column ``error`` then states the reason.
    """

    PLANNED = "planned"
    LOADING = "loading"
    COMPLETE = "complete"
    FAILED = "failed"


#: The states that may follow each state; None stands for an artifact without a row. An artifact
#: becomes complete only from the state loading. A complete artifact must return to the state
#: loading before its row is deleted, so that an interrupted drop is detected.
TRANSITIONS: dict[LoadState | None, frozenset[LoadState | None]] = {
    None: frozenset({LoadState.PLANNED}),
    LoadState.PLANNED: frozenset({LoadState.LOADING, LoadState.FAILED, None}),
    LoadState.LOADING: frozenset({LoadState.COMPLETE, LoadState.FAILED, None}),
    LoadState.COMPLETE: frozenset({LoadState.LOADING}),
    LoadState.FAILED: frozenset({LoadState.PLANNED, None}),
}


#: Columns for the counts and the checksum of an artifact in Neo4j, from the last comparison of all
#: rows; null if only a sample was compared.
FOUND_COLUMNS = ("found_nodes", "found_relationships", "found_checksum")


def read_state(session: Session, kind: str, artifact_id: str) -> LoadState | None:
    """Lock an artifact's row in ``materialization``; return its state, or None if it has no row."""
    row = session.get(models.Materialization, (kind, artifact_id), with_for_update=True)
    return None if row is None else LoadState(row.state)


def set_state(
    session: Session, kind: str, artifact_id: str, state: LoadState | None, **values: Any
) -> None:
    """Change an artifact's state in ``materialization``; the state None deletes the row.

    Args:
        session: an open session.
        kind: the kind of the artifact.
        artifact_id: the id of the artifact.
        state: the new state.
        values: values of other columns of the row.

    Raises:
        BusyError: the transition is not allowed, because another process has changed the state.
    """
    before = read_state(session, kind, artifact_id)
    if before is state is None:
        return
    if state not in TRANSITIONS[before]:
        change = f"changed to {state}" if state else "deleted"
        raise BusyError(
            f"another process has changed {kind} {artifact_id}: it is now {before or 'not stored'},"
            f" so it cannot be {change}",
            hint=f"see 'starcast {kind} list', then try again",
        )
    row = session.get(models.Materialization, (kind, artifact_id))
    if row is None:
        row = models.Materialization(kind=kind, id=artifact_id)
        session.add(row)
    if state is None:
        session.delete(row)
    else:
        defaults: dict[str, Any] = {}
        if state is LoadState.PLANNED:
            defaults = dict.fromkeys(("finished_at", *FOUND_COLUMNS))
            defaults |= {"started_at": datetime.now(UTC), "expected_checksum": ""}
        if state in {LoadState.PLANNED, LoadState.COMPLETE}:
            defaults["error"] = None
        if state in {LoadState.COMPLETE, LoadState.FAILED}:
            defaults["finished_at"] = datetime.now(UTC)
        for name, value in {**defaults, "state": state.value, **values}.items():
            setattr(row, name, value)
    session.flush()


def set_columns(session: Session, kind: str, artifact_id: str, **values: Any) -> None:
    """Set columns of an artifact's row in ``materialization`` without changing its state."""
    row = session.get_one(models.Materialization, (kind, artifact_id))
    for name, value in values.items():
        setattr(row, name, value)
    session.flush()
