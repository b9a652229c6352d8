"""The connections of a lab: opened by the first operation that needs them, closed with the lab."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Self

from starcast.support.errors import UnavailableError
from starcast.support.progress import ProgressLines, Reporter, Silent
from starcast.support.table import Table

if TYPE_CHECKING:
    from sqlalchemy import Engine
    from sqlalchemy.orm import Session

    from starcast.ingest import Stores
    from starcast.stores.graph.connection import Graph
    from starcast.stores.servers import GraphAddress
    from starcast.support.settings import Settings

#: A reporter, or a function that receives messages and progress, line by line.
Progress = Reporter | Callable[[str], None]


class Connection:
    """The settings of a lab, and its connections to both stores.

    The first operation that needs a store connects to it, so that operations without a store
    need no server. This is a context manager, which closes the connections. Use it in one thread
    at a time.

    Args:
        settings: the settings that name the servers, or a function that loads them when they are
            first needed.
        progress: receives messages and progress.

    Attributes:
        reporter: receives messages and progress.
    """

    def __init__(
        self,
        settings: "Settings | Callable[[], Settings]",
        progress: Progress | None = None,
    ) -> None:
        self.reporter = as_reporter(progress)
        self._settings = settings
        self._is_closed = False
        self._engine: Engine | None = None
        self._is_schema_checked = False
        self._graph: Graph | None = None
        self._graph_address: GraphAddress | None = None

    @property
    def settings(self) -> "Settings":
        """The settings, loaded when they are first used."""
        # Loading takes time, and many operations need no settings.
        if callable(self._settings):
            self._settings = self._settings()
        return self._settings

    def close(self) -> None:
        """Close the connections. A closed lab refuses all operations that need a store."""
        self._close_graph()
        if self._engine is not None:
            self._engine.dispose()
            self._engine = None
        self._is_closed = True
        # `ProgressLines` has a thread that would continue to print progress.
        if isinstance(self.reporter, ProgressLines):
            self.reporter.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "closed, " if self._is_closed else ""
        servers = [
            uri for uri in (self.settings.neo4j_uri, self.settings.postgres_uri) if uri is not None
        ]
        # If the settings name only one of the two servers, the embedded one is used for the other.
        if len(servers) < 2:
            servers.append(f"the embedded stack in {self.settings.home}")
        return f"<Lab: {state}{' and '.join(servers)}>"

    def config(self) -> Table:
        """Show every setting with its value and source, and the settings file that was read.

        Secrets are not shown. Flags override STARCAST_* variables, which override the file. The
        file is the one that STARCAST_CONFIG names, or else starcast.toml in the working directory,
        or else in the user's configuration folder.
        """
        from starcast.support.paths import config_file

        listed = self.settings.listing()
        file = config_file().absolute()
        note = f"settings file: {file}"
        if not file.exists():
            note = f"no settings file: {file} does not exist"
        return Table(listed.columns, listed.rows, note)

    @property
    def database(self) -> "Engine":
        """The SQLAlchemy engine for PostgreSQL, without a check of the schema.

        The schema may be missing, or older than this version of starcast needs.

        Raises:
            UnavailableError: the lab is closed, or the server is not running.
        """
        from starcast.embedded.endpoints import store_url
        from starcast.stores.database.sessions import connect

        self._check_open()
        if self._engine is None:
            self._engine = connect(store_url(self.settings))
        return self._engine

    @property
    def engine(self) -> "Engine":
        """The SQLAlchemy engine for PostgreSQL, after a check of the schema.

        Raises:
            UnavailableError: the lab is closed, or the server is not running.
            RejectedError: the schema has another revision than this version needs.
        """
        from starcast.stores.database.sessions import check

        engine = self.database
        # The check needs a query, so it runs once per lab. Only an upgrade can change its result.
        if not self._is_schema_checked:
            check(engine)
            self._is_schema_checked = True
        return engine

    @property
    def graph(self) -> "Graph":
        """The connection to Neo4j.

        Raises:
            UnavailableError: the lab is closed, or the server cannot be reached.
        """
        from starcast.embedded.endpoints import graph_address
        from starcast.stores.graph.connection import Graph

        self._check_open()
        # The address is read again for each query, because the embedded Neo4j may have been
        # restarted on another port.
        address = graph_address(self.settings)
        if self._graph is None or address != self._graph_address:
            self._close_graph()
            self._graph = Graph.open(address)
            self._graph_address = address
        return self._graph

    @contextmanager
    def _session(self) -> "Iterator[Session]":
        from starcast.stores.database.sessions import open_session

        with open_session(self.engine) as session:
            yield session

    @contextmanager
    def _stores(self) -> "Iterator[Stores]":
        """Connect to both stores to change them.

        The lab's graph connection is closed, since an offline import may replace the graph store.
        """
        from starcast.ingest import open_stores

        self._check_open()
        self._close_graph()
        with open_stores(self.settings) as stores:
            yield stores

    def _check_open(self) -> None:
        if self._is_closed:
            raise UnavailableError(
                "the lab is closed", hint="call starcast.connect() to open a new one"
            )

    def _find_outage(self) -> UnavailableError | None:
        """Return the error if the embedded PostgreSQL is not running, or None if it can be used.

        Raises:
            UnavailableError: a server that the settings name cannot be reached, or the lab is
                closed.
        """
        try:
            self.engine  # noqa: B018 - connects
        except UnavailableError as error:
            self._raise_if_configured(error)
            return error
        return None

    def _raise_if_configured(self, error: UnavailableError) -> None:
        """Raise the error, unless its cause is that the embedded PostgreSQL is not running.

        So the error is raised if the settings name another server, or if the lab is closed.
        """
        if self._is_closed or self.settings.postgres_uri is not None:
            raise error

    def _close_graph(self) -> None:
        if self._graph is not None:
            self._graph.close()
            self._graph = None


def as_reporter(progress: Progress | None) -> Reporter:
    """Return a reporter for an argument ``progress`` or ``reporter``.

    A function that receives lines becomes a reporter; None becomes a silent reporter.
    """
    if progress is None:
        return Silent()
    return progress if isinstance(progress, Reporter) else ProgressLines(progress)
