"""Both stores, opened together, and the lock under which they are changed."""

import time
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from sqlalchemy import Engine, select

from starcast.database import models, sessions
from starcast.endpoints import graph_address, store_url
from starcast.errors import BusyError
from starcast.graph.connection import Graph
from starcast.progress import Reporter
from starcast.settings import Settings

LOCK = "starcast ingest"
_LOOK_AGAIN_SECONDS = 0.5


@dataclass(frozen=True)
class Stores:
    """The relational store, whose schema is ours, and the graph store.

    Attributes:
        engine: the former.
        graph: the latter.
        batch: rows a transaction in the graph.
        embedded: the settings of the embedded Neo4j, where that is the graph store: it may be stopped and its store replaced.
    """

    engine: Engine
    graph: Graph
    batch: int
    embedded: Settings | None = None

    @property
    def id(self) -> uuid.UUID:
        """The identity of the relational store, which the graph store has to share."""
        with sessions.session(self.engine) as session:
            return session.scalars(select(models.Store.id)).one()


@contextmanager
def open_stores(settings: Settings) -> Iterator[Stores]:
    """Connect to both stores.

    Raises:
        UnavailableError: a server is down or refuses the login.
        RejectedError: the relational schema is missing, older, newer, or somebody else's.
    """
    with ExitStack() as stack:
        engine = sessions.connect(store_url(settings))
        stack.callback(engine.dispose)
        sessions.check(engine)
        graph = stack.enter_context(Graph.open(graph_address(settings)))
        yield Stores(
            engine, graph, settings.batch, settings if settings.neo4j_uri is None else None
        )


@contextmanager
def exclusively(engine: Engine, wait: bool, reporter: Reporter) -> Iterator[None]:
    """Hold the lock under which both stores are changed; PostgreSQL frees it when this process ends, however it ends.

    Raises:
        BusyError: another process holds it, and waiting was not asked for.
    """
    busy = BusyError(
        "another process is ingesting into these stores or dropping from them",
        hint="try again when it is done, or add --wait",
    )
    with ExitStack() as stack:
        told = False
        while True:
            try:
                stack.enter_context(sessions.advisory_lock(engine, LOCK, busy))
                break
            except BusyError:
                if not wait:
                    raise
            if not told:
                reporter.say("waiting for another process that is ingesting or dropping")
                told = True
            time.sleep(_LOOK_AGAIN_SECONDS)
        yield
