"""Connections to PostgreSQL: sessions, COPY, advisory locks, and the revision of the schema."""

import logging
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

from psycopg import sql
from sqlalchemy import URL, Connection, Engine, Table, create_engine, event, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from starcast.stores.database.watched import (
    CANCEL_SECONDS,
    TCP_OPTIONS,
    WatchedConnection,
)
from starcast.stores.servers import ROLE_NAMES
from starcast.support.errors import BusyError, RejectedError, StarcastError, UnavailableError
from starcast.support.installation import data_folder
from starcast.support.progress import caused_by_interrupt

CONNECT_SECONDS = 5
VERSION_TABLE = "alembic_version"

# These libraries log lost connections, which starcast's errors report as well. Without a handler,
# Python would print these messages to stderr. A program that configures logging still receives
# them.
for _name in ("sqlalchemy", "psycopg"):
    logging.getLogger(_name).addHandler(logging.NullHandler())

#: SQLSTATEs of statements that the role has no right to run, or that a read-only server refuses.
_NO_RIGHT = {"42501", "25006"}
_LOCK_NOT_AVAILABLE = "55P03"
_KEY = "hashtextextended(:key, 0)"
# PostgreSQL shows the 64-bit key of an advisory lock as two numbers of 32 bits. The transaction
# that holds a lock is idle, so its state last changed when it took the lock.
_HOLDER_OF = text(
    "select pid, application_name, extract(epoch from clock_timestamp() - state_change) as seconds"
    " from pg_locks left join pg_stat_activity using (pid)"
    " where locktype = 'advisory' and granted and objsubid = 1"
    " and database = (select oid from pg_database where datname = current_database())"
    " and (classid::bigint << 32) | objid::bigint = hashtextextended(:key, 0)"
)
#: Prefix of the application name of connections that hold a lock and state their task.
_HOLDER = "starcast: "
_TABLES = text(
    "select relname from pg_class where relkind in ('r', 'p')"
    " and relnamespace = current_schema()::regnamespace"
)
_REVISION = text("select version_num from alembic_version")
#: Maximum length of an application name in PostgreSQL.
_NAME_BYTES = 63
# The transaction that holds a lock is idle on purpose. Servers before version 17 have only one of
# these time limits.
_NO_IDLE_LIMIT = text(
    "select set_config(name, '0', true) from pg_settings"
    " where name in ('idle_in_transaction_session_timeout', 'transaction_timeout')"
)


def connect(url: URL) -> Engine:
    """Return an engine for a database after opening a first connection.

    Raises:
        UnavailableError: the server cannot be reached, refuses the login, has no such database, or
            is not PostgreSQL.
    """
    engine = create_engine(
        url,
        # The server may have been restarted since a pooled connection was last used.
        pool_pre_ping=True,
        connect_args={
            "connect_timeout": CONNECT_SECONDS,
            "application_name": "starcast",
            # A pooler sends the next transaction to another server process, which does not know
            # the prepared statements.
            "prepare_threshold": None,
            **TCP_OPTIONS,
        },
    )
    event.listen(
        engine, "do_connect", lambda *given: WatchedConnection.connect(*given[2], **given[3])
    )
    with translated_errors(engine.url), engine.connect():
        return engine


@contextmanager
def open_session(engine: Engine) -> Iterator[Session]:
    """Open a session that commits at the end of the context, and rolls back after an error.

    Raises:
        UnavailableError: the connection was lost.
    """
    with (
        translated_errors(engine.url),
        # Objects keep their values after the commit, because callers then read them without a
        # session.
        Session(engine, expire_on_commit=False) as session,
        session.begin(),
    ):
        yield session


@dataclass(frozen=True)
class Lock:
    """An advisory lock held by one of this process's connections.

    Attributes:
        name: the text that the lock's key is computed from.
        pid: the id of the server process that serves the connection.
    """

    name: str
    pid: int

    def verify(self, session: Session) -> None:
        """Check on the server that the lock is still held; it is lost with its connection.

        Raises:
            UnavailableError: the connection was lost.
        """
        holder = session.execute(_HOLDER_OF, {"key": self.name}).one_or_none()
        if holder is None or holder.pid != self.pid:
            raise UnavailableError(
                f"the connection to PostgreSQL that holds the lock '{self.name}' was lost",
                hint="run the same command again; everything that it has stored is complete",
            )


@contextmanager
def advisory_lock(
    engine: Engine, name: str, busy: BusyError, task: str | None = None
) -> Iterator[Lock]:
    """Hold the database's advisory lock with this name.

    An open transaction holds the lock, because a connection pooler may give each transaction
    another server process. The transaction has no snapshot and changes nothing, so it does not
    prevent the server's clean-up. The server releases the lock when this process ends, for whatever
    reason, or when the connection is lost; `Lock.verify` detects a lost connection.

    Args:
        engine: the database.
        name: the text that the lock's key is computed from.
        busy: the error to raise if another process holds the lock.
        task: the activity of this process while it holds the lock, for `read_lock_holder`.

    Raises:
        BusyError: the given error, if another process holds the lock.
    """
    key = {"key": name}
    # At a higher isolation level, possibly the server's default, the transaction would keep a
    # snapshot.
    unattended = engine.execution_options(isolation_level="READ COMMITTED")
    with translated_errors(engine.url), unattended.connect() as connection:
        connection.execute(_NO_IDLE_LIMIT)
        if task is not None:
            # The server shows this name to other processes until the lock is released.
            setting = {"value": f"{_HOLDER}{task}"[:_NAME_BYTES]}
            connection.execute(text("select set_config('application_name', :value, true)"), setting)
        # Do not wait for the lock, because another process may hold it for a long time.
        if not connection.scalar(text(f"select pg_try_advisory_xact_lock({_KEY})"), key):
            raise busy
        # This last statement has no parameters: with parameters, its snapshot would stay open.
        query = "select pg_backend_pid()"
        pid = connection.exec_driver_sql(query, execution_options={"no_parameters": True}).scalar()
        driver: Any = connection.connection.driver_connection
        try:
            yield Lock(name, int(pid or 0))
        except BaseException:
            # The server may have stopped answering, so allow less time for ending the transaction.
            driver.patience = CANCEL_SECONDS
            raise
        finally:
            _release(connection)
            driver.patience = None


def _release(connection: Connection) -> None:
    try:
        connection.rollback()
    except DBAPIError as error:
        # The server released the lock together with the lost connection.
        if not _is_connection_error(error):
            raise


def read_lock_holder(engine: Engine, name: str) -> tuple[str, float | None] | None:
    """Return the task of an advisory lock's holder, and for how many seconds it has held the lock.

    Returns:
        None if the lock is free or its holder stated no task. The seconds are None if the server
        shows them only to the holder's role.
    """
    with translated_errors(engine.url), engine.connect() as connection:
        holder = connection.execute(_HOLDER_OF, {"key": name}).one_or_none()
    if holder is None or not str(holder.application_name).startswith(_HOLDER):
        return None
    seconds = None if holder.seconds is None else float(holder.seconds)
    return holder.application_name.removeprefix(_HOLDER), seconds


def wait_for_lock(session: Session | Connection, name: str, seconds: int, busy: BusyError) -> None:
    """Take the advisory lock with this name for the rest of the transaction.

    Raises:
        BusyError: the given error, if the lock is not released in time.
    """
    session.execute(text(f"set local lock_timeout = '{seconds}s'"))
    try:
        session.execute(text(f"select pg_advisory_xact_lock({_KEY})"), {"key": name})
    except DBAPIError as error:
        if sqlstate(error) != _LOCK_NOT_AVAILABLE:
            raise
        raise busy from None


@contextmanager
def translated_errors(url: URL) -> Iterator[None]:
    """Turn the driver's connection errors into `UnavailableError`; other errors pass unchanged.

    Raises:
        UnavailableError: the server cannot be reached, refuses the login or a statement, or has no
            such database.
        KeyboardInterrupt: the driver turned a Ctrl-C into an error of its own.
    """
    try:
        yield
    except Exception as error:
        if caused_by_interrupt(error):
            raise KeyboardInterrupt from None
        if isinstance(error, DBAPIError) and _is_connection_error(error):
            raise _unavailable(url, str(error.orig)) from None
        if isinstance(error, DBAPIError) and sqlstate(error) in _NO_RIGHT:
            raise UnavailableError(
                f"PostgreSQL at {_place(url)} refuses '{url.username}': {first_line(error)}",
                hint=f"log in as another role: {ROLE_NAMES['writer']} may store and delete,"
                f" {ROLE_NAMES['owner']} may migrate",
            ) from None
        raise


def copy_rows(
    session: Session, table: Table, names: Sequence[str], rows: Iterable[Sequence[Any]]
) -> None:
    """Insert rows by binary COPY, in the session's transaction; other columns get their default."""
    types = [
        table.c[name].type.compile(dialect=session.get_bind().dialect).lower() for name in names
    ]
    statement = sql.SQL("copy {} ({}) from stdin (format binary)").format(
        sql.Identifier(table.name), sql.SQL(", ").join(map(sql.Identifier, names))
    )
    driver: Any = session.connection().connection.driver_connection
    with driver.cursor().copy(statement) as copy:
        # Binary COPY converts nothing, so psycopg has to know the type of each column.
        copy.set_types(types)
        for row in rows:
            copy.write_row(row)


def sqlstate(error: DBAPIError) -> str:
    """Return the SQLSTATE of a server's error, or an empty text for an error of the driver."""
    return getattr(error.orig, "sqlstate", None) or ""


def _is_connection_error(error: DBAPIError) -> bool:
    if error.connection_invalidated:
        return True
    # A server's error, such as 57P01 for a shutdown, has a SQLSTATE. An error of libpq while
    # connecting has none.
    state = sqlstate(error)
    name = type(error).__name__
    return (name == "OperationalError" and not state) or state.startswith(("08", "57P"))


def _place(url: URL) -> str:
    return f"{url.host or url.query.get('host') or 'localhost'}:{url.port or 5432}"


def first_line(error: DBAPIError) -> str:
    """Return the first line of a server's error message."""
    return str(error.orig).strip().partition("\n")[0]


def _unavailable(url: URL, message: str) -> UnavailableError:
    place = _place(url)
    # Errors while connecting have no SQLSTATE, so the message text decides.
    if "password" in message or "authentication failed" in message or "role" in message:
        return UnavailableError(
            f"PostgreSQL at {place} refuses the login of '{url.username}'",
            hint="write the password to a file and name it in STARCAST_POSTGRES_PASSWORD_FILE",
        )
    if "database" in message and "does not exist" in message:
        return UnavailableError(
            f"PostgreSQL at {place} has no database '{url.database}'",
            hint=f"create it: createdb {url.database}",
        )
    # libpq puts the address before the reason, but starcast's message already names the address.
    reason = message.strip().partition("\n")[0].rpartition(": ")[2].strip()
    return UnavailableError(
        f"PostgreSQL at {place} cannot be reached: {reason}",
        hint="start it ('starcast up' starts the embedded one)",
    )


def current(engine: Engine) -> str | None:
    """Return the schema revision of the database, or None if it has no schema.

    Raises:
        UnavailableError: the connection was lost.
    """
    with translated_errors(engine.url), engine.connect() as connection:
        return revision_of(connection)


def known_revision(engine: Engine) -> str | None:
    """Return the schema revision (or None) after checking that the tables are starcast's.

    Raises:
        RejectedError: the tables belong to another program, or to a newer or much older starcast.
    """
    with translated_errors(engine.url), engine.connect() as connection:
        return check_owner(connection)


def check_known(revision: str, subject: str) -> None:
    """Check that this version of starcast knows a schema revision.

    Args:
        subject: beginning of the error message, such as ``the schema of the database (0007)``.

    Raises:
        RejectedError: the revision is too new, or too old to be upgraded.
    """
    if revision in revisions():
        return
    newest, oldest = head(), revisions()[0]
    # Revisions have leading zeros, so comparing them as text compares their numbers.
    if revision < oldest:
        raise RejectedError(
            f"{subject} is too old: this starcast upgrades from {oldest} on",
            hint="upgrade it with the version that docs/upgrades.md names",
        )
    raise RejectedError(f"{subject} is newer than this starcast ({newest})", hint="update starcast")


def head() -> str:
    """Return the newest schema revision known to this version of starcast.

    Raises:
        StarcastError: the migrations are missing from the installation.
    """
    if not revisions():
        raise StarcastError("this installation contains no migrations", hint="reinstall starcast")
    return revisions()[-1]


@cache
def revisions() -> tuple[str, ...]:
    """Return the schema revisions known to this version of starcast, oldest first.

    They are read from the file names of the migrations, without importing alembic.
    """
    files = (data_folder("migrations") / "versions").glob("[0-9]*.py")
    return tuple(sorted(file.name.partition("_")[0] for file in files))


def check(engine: Engine) -> None:
    """Check that the database has the schema of this version of starcast.

    Raises:
        RejectedError: the schema is missing, older or newer, or belongs to another program.
    """
    revision = known_revision(engine)
    if revision is None:
        raise RejectedError("the database has no schema yet", hint="run 'starcast db upgrade'")
    if revision != head():
        raise RejectedError(
            f"the schema of the database is {revision}, but this starcast needs {head()}",
            hint="run 'starcast db upgrade'",
        )


def check_owner(connection: Connection) -> str | None:
    """Return the schema revision after checking that the tables are starcast's.

    Raises:
        RejectedError: the tables belong to another program, or to a newer or much older starcast.
    """
    tables = set(connection.scalars(_TABLES))
    revision = connection.scalar(_REVISION) if VERSION_TABLE in tables else None
    foreign = tables - {VERSION_TABLE}
    ours = revision is not None and {"store", "materialization"} <= tables
    # If alembic's version table is the only table, another program's migrations created it.
    if not ours and (foreign or revision is not None):
        raise RejectedError(
            f"the database '{connection.engine.url.database}' holds tables of another program,"
            f" such as '{min(foreign, default=VERSION_TABLE)}'",
            hint="create an empty database for starcast and name it in STARCAST_POSTGRES_URI",
        )
    if revision is not None:
        check_known(revision, f"the schema of the database ({revision})")
    return revision


def revision_of(connection: Connection) -> str | None:
    """Return the schema revision over an open connection, or None if there is no schema."""
    return connection.scalar(_REVISION) if VERSION_TABLE in connection.scalars(_TABLES) else None
