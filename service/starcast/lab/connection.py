"""Connections of a lab to its servers, and operations on servers, schema and backups."""

import os
import shlex
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Self

from starcast.lab.signature import Shell
from starcast.support.errors import RejectedError, UnavailableError
from starcast.support.progress import ProgressLines, Reporter, Silent, reporting
from starcast.support.resolvers import add_resolver, remove_resolver
from starcast.support.table import Facts, Table
from starcast.support.vocabulary import PluginKind

if TYPE_CHECKING:
    from sqlalchemy import URL, Engine
    from sqlalchemy.orm import Session

    from starcast.ingest import Stores
    from starcast.stores import GraphAddress
    from starcast.stores.database.backup import Manifest
    from starcast.stores.graph.connection import Graph
    from starcast.support.settings import Settings
    from starcast.topologies.networks import Network

#: A reporter, or a function that is called with each line of messages and progress.
Progress = Reporter | Callable[[str], None]
BackupFile = Annotated[Path, Shell(metavar="FILE")]
#: Connections that forked processes have inherited, and never use or close.
_INHERITED: list[tuple[object, object]] = []


class Connection:
    """The settings of a lab, and its connections to Neo4j and PostgreSQL.

    The first operation that needs a server opens the connection to this server; operations that
    need no server work without a connection. Use the object as a context manager, which closes the
    connections at the end. Only one thread at a time may use the object; a forked process opens
    connections of its own.

    Args:
        settings: the settings that name the servers, or a function that loads them when they are
            first needed.
        progress: a reporter, or a function such as ``print``, that receives messages and progress
            (default: none).

    Attributes:
        reporter: the `Reporter` that receives messages and progress.
    """

    def __init__(
        self,
        settings: "Settings | Callable[[], Settings]",
        progress: Progress | None = None,
    ) -> None:
        self.reporter = as_reporter(progress)
        self._settings = settings
        self._is_closed = False
        self._process = os.getpid()
        self._url: URL | None = None
        self._engine: Engine | None = None
        self._is_schema_checked = False
        self._graph: Graph | None = None
        self._graph_address: GraphAddress | None = None
        self._reporting = ExitStack()
        add_resolver(self._load_network)

    @property
    def settings(self) -> "Settings":
        """The settings, loaded when they are first used."""
        # Loading takes time, and many operations need no settings.
        if callable(self._settings):
            self._settings = self._settings()
        return self._settings

    def close(self) -> None:
        """Close the connections. Later operations that need a server raise UnavailableError."""
        remove_resolver(self._load_network)
        self._leave_parent()
        self._close_graph()
        if self._engine is not None:
            self._engine.dispose()
            self._engine = None
        self._is_closed = True
        # Otherwise the thread of `ProgressLines` would continue to print progress.
        if isinstance(self.reporter, ProgressLines):
            self.reporter.close()

    def __enter__(self) -> Self:
        self._reporting.enter_context(reporting(self.reporter))
        return self

    def __exit__(self, *_: object) -> None:
        self._reporting.close()
        self.close()

    def __repr__(self) -> str:
        state = "closed, " if self._is_closed else ""
        servers = [
            uri for uri in (self.settings.neo4j_uri, self.settings.postgres_uri) if uri is not None
        ]
        # If the settings name only one of the two servers, the other server is the embedded one.
        if len(servers) < 2:
            servers.append(f"the embedded stack in {self.settings.home}")
        return f"<Lab: {state}{' and '.join(servers)}>"

    def config(self) -> Table:
        """Show every setting with its value and source, and the settings file that was read.

        Passwords are not shown. Options override STARCAST_* variables, which override the settings
        file. The settings file is the file that the variable STARCAST_CONFIG names, or else
        starcast.toml in the working directory, or else in the user's configuration folder.
        """
        from starcast.support.installation import config_file

        listed = self.settings.listing()
        file = config_file().absolute()
        note = f"settings file: {file}"
        if not file.exists():
            note = f"no settings file: {file} does not exist"
        return Table(listed.columns, listed.rows, note)

    def new_plugin(self, kind: PluginKind, name: str, *, folder: Path | None = None) -> Path:
        """Write a plug-in file to edit, with a working construction, algorithm or family.

        Args:
            kind: kind of the plug-in: construction, algorithm or family.
            name: name of the construction, algorithm or family in lower case, such as my-trees.
            folder: folder of the file (default: the working directory).

        Returns:
            The path of the file.

        Raises:
            InputError: the kind or the name is invalid, or the file exists or cannot be written.

        Example:
            $ starcast new construction my-trees
            $ starcast new family my-wheel --folder ~/plugins
        """
        from starcast.catalogue.entries import write_template

        path, use = write_template(kind, name, folder or Path())
        plugin = shlex.quote(str(path))
        self.reporter.say(f"edit the file, then run 'starcast --plugin {plugin} {use}'")
        return path

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
        # The address is read on each access, because the embedded PostgreSQL may have been
        # restarted on another port.
        url = store_url(self.settings)
        if self._engine is None or url != self._url:
            if self._engine is not None:
                self._engine.dispose()
            self._engine, self._url = connect(url), url
            self._is_schema_checked = False
        return self._engine

    @property
    def engine(self) -> "Engine":
        """The SQLAlchemy engine for PostgreSQL, after a check of the schema.

        Sessions that starcast opens on this engine are read-only; operations that write use the
        engine from `_writing`.

        Raises:
            UnavailableError: the lab is closed, or the server is not running.
            RejectedError: the schema does not have the revision that this version needs.
        """
        from starcast.stores.database.migrations import check
        from starcast.stores.database.sessions import read_only

        engine = self.database
        # The check needs a query, so it runs once per lab. Only an upgrade can change its result.
        if not self._is_schema_checked:
            check(engine)
            self._is_schema_checked = True
        return read_only(engine)

    @property
    def graph(self) -> "Graph":
        """The connection to Neo4j.

        Raises:
            UnavailableError: the lab is closed, or the server cannot be reached.
        """
        from starcast.embedded.endpoints import graph_address
        from starcast.stores.graph.connection import Graph

        self._check_open()
        # The address is read on each access, because the embedded Neo4j may have been restarted on
        # another port.
        address = graph_address(self.settings)
        if self._graph is None or address != self._graph_address:
            self._close_graph()
            self._graph = Graph.open(address)
            self._graph_address = address
        return self._graph

    @contextmanager
    def _session(self, engine: "Engine | None" = None) -> "Iterator[Session]":
        """Open a database session, which is read-only unless its engine comes from `_writing`."""
        from starcast.stores.database.sessions import open_session

        with open_session(engine or self.engine) as session:
            yield session

    @contextmanager
    def _writing(self, task: str, *, wait: bool) -> "Iterator[Engine]":
        """Lock PostgreSQL while an operation writes to it, so that no restore can begin.

        Args:
            task: activity shown to other processes, such as ``running the experiment 'a'``.
            wait: wait for a restore instead of raising BusyError.

        Yields:
            The engine for PostgreSQL, whose sessions may write.
        """
        from starcast.stores.database.sessions import lock_store

        # The lock is acquired first, because a running restore would block the check of the schema.
        with lock_store(self.database, task, self.reporter, wait=wait) as engine:
            self.engine  # noqa: B018 - checks the schema
            yield engine

    @contextmanager
    def _stores(self, task: str | None = None, *, wait: bool = False) -> "Iterator[Stores]":
        """Connect to Neo4j and PostgreSQL; if a task is given, lock PostgreSQL as `_writing` does.

        The lab's own connection to Neo4j is closed first, since an offline import may replace the
        store of Neo4j.
        """
        from starcast.ingest import open_stores

        self._check_open()
        self._close_graph()
        with (
            self._writing(task, wait=wait) if task else nullcontext(self.engine) as engine,
            open_stores(self.settings, engine) as stores,
        ):
            yield stores

    def _leave_parent(self) -> None:
        """In a forked process, forget the connections: the parent process uses them."""
        if self._process != os.getpid():
            # The objects are kept, because their deletion could close the parent's connections.
            _INHERITED.append((self._engine, self._graph))
            self._process, self._engine, self._graph = os.getpid(), None, None

    def _check_open(self) -> None:
        self._leave_parent()
        if self._is_closed:
            raise UnavailableError(
                "the lab is closed", hint="call starcast.connect() to open a new lab"
            )

    def _load_network(self, spec_or_name: str) -> "Network | None":
        """Return the stored network with the given spec or name, or None if none is stored."""
        from starcast.stores.database.networks import load_network

        with self._session() as session:
            return load_network(session, spec_or_name)

    def _find_outage(self) -> UnavailableError | None:
        """Return the error if the embedded PostgreSQL is not running; None if PostgreSQL is usable.

        Raises:
            UnavailableError: the PostgreSQL server that the settings name cannot be reached, or the
                lab is closed.
            RejectedError: the schema does not have the revision that this version needs.
        """
        try:
            self.engine  # noqa: B018 - connects
        except UnavailableError as error:
            self._raise_if_configured(error)
            return error
        return None

    def _raise_if_configured(self, error: UnavailableError) -> None:
        """Raise the given error if the settings name a PostgreSQL server, or if the lab is closed.

        Otherwise the error only means that the embedded PostgreSQL is not running.
        """
        if self._is_closed or self.settings.postgres_uri is not None:
            raise error

    def _close_graph(self) -> None:
        if self._graph is not None:
            self._graph.close()
            self._graph = None


def as_reporter(progress: Progress | None) -> Reporter:
    """Convert an argument ``progress`` or ``reporter`` to a `Reporter`.

    A function becomes a reporter that calls the function with each line of text; None becomes a
    silent reporter.
    """
    if progress is None:
        return Silent()
    return progress if isinstance(progress, Reporter) else ProgressLines(progress)


class Administration(Connection):
    """Operations on the servers, on the schema of PostgreSQL, and on backups."""

    def status(self) -> Table:
        """Show the process, port, uptime, memory and log of each embedded server.

        The command also tests whether each running server can write: once the disk has been full,
        Neo4j refuses to write until it is restarted. In a shell, the exit code is 0 if both servers
        are running and can write, else 4.
        """
        from starcast.embedded import stack

        servers = stack.status(self.settings.home)
        columns = ("server", "state", "pid", "port", "uptime_s", "memory_mb", "log")
        # The error is returned with the table, so the command line can print the states and then
        # exit with the code of the error.
        failure = stack.describe_failure(servers)
        return Table.of(map(vars, servers), columns, failure=failure)

    def doctor(self) -> Table:
        """Check packages, servers, schema, disk space and memory, with advice on each problem.

        In a shell, the exit code is 0 if there are no problems, 4 if a server is not running, and 6
        for any other problem.
        """
        from starcast.embedded.doctor import examine, failure

        findings = examine(self.settings)
        columns = ("check", "verdict", "found", "advice")
        return Table.of(map(vars, findings), columns, failure=failure(findings))

    def start(self) -> Table:
        """Start the embedded Neo4j and PostgreSQL; the first start downloads Neo4j.

        If root runs this command, the system user ``starcast`` is created to run both servers.
        Programs that this user cannot read are copied to /var/cache/starcast. The tables in
        PostgreSQL are created, or upgraded to the newest revision.

        Returns:
            A row for each server: its address, its user, and the file that contains the password.
        """
        from starcast.embedded import stack

        stack.up(self.settings, self.reporter)
        addresses = stack.list_addresses(self.settings.home)
        return Table.of(addresses, ("server", "address", "user", "password_file"))

    def stop(self) -> Facts:
        """Stop the embedded Neo4j and PostgreSQL. All data remain.

        In Python, this also closes the lab.

        Raises:
            BusyError: another process is starting or stopping the servers.
        """
        from starcast.embedded import stack

        home = self.settings.home
        self.close()
        stack.down(home, self.reporter)
        return Facts({"home": str(home), "state": "stopped"}, sentence=None)

    def schema(self) -> Facts:
        """Check that PostgreSQL's schema has the newest revision and that no table was changed.

        Triggers, rules, row-security policies, foreign keys and child tables that were added to the
        tables or views of starcast count as changes. Other tables, views and functions in the same
        schema are only listed, because they do not affect the rows of starcast. In a shell, the
        exit code is 6 if a check fails.

        Returns:
            The revision of the tables (``revision``), the revision that this version of starcast
            needs (``newest``), the changes (``differences``), and the other objects in the schema
            (``others``).

        Raises:
            UnavailableError: the server cannot be reached.
        """
        from starcast.stores.database import migrations

        current, newest = migrations.current(self.database), migrations.head()
        others = migrations.find_others(self.database)
        values: dict[str, Any] = {
            "revision": current,
            "newest": newest,
            "differences": [],
            "others": others,
        }
        if current != newest:
            state = f"has the revision {current}" if current else "is missing"
            sentence = f"the schema {state}; the newest revision is {newest}"
            failure = RejectedError(
                f"the database has {'an old schema' if current else 'no schema yet'}",
                hint="run 'starcast db upgrade'",
            )
            return Facts(values, sentence, failure)
        if found := migrations.differences(self.database):
            failure = RejectedError(
                f"the tables differ from schema revision {newest}: {'; '.join(found)}",
                hint="undo the manual changes, or start with an empty database",
            )
            sentence = f"the schema has the newest revision ({newest})"
            return Facts(values | {"differences": found}, sentence, failure)
        sentence = f"the schema has the newest revision ({newest}) and its tables match the models"
        if others:
            sentence += f"; other objects in the schema: {', '.join(others)}"
        return Facts(values, sentence)

    def upgrade(self) -> Facts:
        """Create the tables in PostgreSQL, or upgrade them to the newest revision.

        Comments, views, and the privileges of the roles starcast_writer and starcast_reader are
        recreated. The role that the settings name gets the writer's privileges. On your own server,
        the connecting role must have the privileges of the tables' owner: see the setting
        postgres_owner. In Python, ``connect(start=True)`` upgrades the embedded stack.

        Returns:
            The revision before the upgrade (``previous``) and after the upgrade (``revision``).

        Raises:
            RejectedError: a newer version of starcast has created the tables, or they do not
                belong to starcast.
            UnavailableError: the server cannot be reached, or rejects the login of the tables'
                owner.
        """
        from starcast.embedded.endpoints import migration_url, store_url
        from starcast.stores.database import migrations, sessions

        self._check_open()
        # Only the owner may change tables; other operations connect as another role.
        owner = sessions.connect(migration_url(self.settings))
        try:
            before = migrations.current(owner)
            migrations.upgrade(owner, self.reporter, store_url(self.settings).username)
            return Facts({"previous": before, "revision": migrations.current(owner)})
        finally:
            owner.dispose()

    def backup(self, file: BackupFile) -> Facts:
        """Write all stored data to a file: artifacts, experiments, runs, verdicts and records.

        The file contains the rows of each table in PostgreSQL, with a checksum. The graph in Neo4j
        is not included: ``restore`` rebuilds it.

        Args:
            file: path of the backup file.

        Returns:
            The time of the backup, the number of rows in each table, and the file size in bytes.

        Raises:
            InputError: the file cannot be written.
            UnavailableError: the server is not running.

        Example:
            $ starcast backup monday.backup
        """
        from starcast.ingest.rebuilding import back_up

        self._check_open()
        # `back_up` opens a separate connection, so without this check it would run in a closed lab.
        manifest = back_up(self.settings, Path(file))
        size = Path(file).stat().st_size
        done = f"{manifest.rows:,} rows of {len(manifest.tables)} tables, {size / 1e6:.1f} MB"
        return Facts(_facts_of(manifest) | {"bytes": size}, f"{file}: {done}")

    def restore(
        self,
        file: BackupFile,
        *,
        graph: bool = True,
        replace: Annotated[bool, Shell(confirm="replace everything in the stores?")] = False,
        wait: bool = False,
    ) -> Facts:
        """Restore a backup into PostgreSQL, verify the rows, and rebuild the graph in Neo4j.

        The servers that are restored must be running. They must also be empty, unless ``replace``
        is given. The rows are compared with the checksums in the backup, and an older schema is
        upgraded. If the command fails or is killed before this comparison has ended, PostgreSQL
        keeps its previous contents. If the command fails later, run ``starcast graph rebuild`` to
        rebuild the graph. No part of the file is executed. During the restore, no other command can
        write to the stores.

        Args:
            file: path of the backup file.
            graph: rebuild the graph in Neo4j. Otherwise, only PostgreSQL is restored, and Neo4j
                need not be running.
            replace: delete the contents of both stores first, after a confirmation on the terminal.
                The old rows are backed up to the folder 'backups' in the home directory.
            wait: if other commands are writing to the stores, wait until they have finished instead
                of failing.

        Returns:
            The number of rows in each table, and the time of the backup.

        Raises:
            BusyError: another process is writing to the stores; nothing was changed.
            InputError: the file is not a complete backup, and nothing was changed; or a plug-in
                that defines an artifact is not loaded, and only PostgreSQL was restored.
            RejectedError: a store is not empty, or the restored rows differ from the checksums in
                the backup; nothing was changed.
            UnavailableError: a server is not running. The message mentions if the rows were already
                restored.

        Example:
            $ starcast --home ./copy up
            $ starcast --home ./copy restore monday.backup
        """
        from starcast.ingest.rebuilding import restore

        self._check_open()
        # Rebuilding the graph may restart Neo4j on a new store, which would break the connection.
        self._close_graph()
        manifest = restore(
            self.settings,
            Path(file),
            self.reporter,
            rebuild_graph=graph,
            replace=replace,
            wait=wait,
        )
        moment = f"{manifest.created_at.astimezone():%Y-%m-%d %H:%M}"
        return Facts(_facts_of(manifest), f"{file} of {moment} is restored")


def _facts_of(manifest: "Manifest") -> dict[str, Any]:
    rows = {name: table.rows for name, table in manifest.tables.items()}
    return {"created_at": manifest.created_at, "rows": manifest.rows, "tables": rows}
