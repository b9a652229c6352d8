"""Connections to PostgreSQL: sessions, advisory locks, migrations and checks of the schema."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache

from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import URL, Connection, Engine, create_engine, inspect, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from starcast.database.models import Base
from starcast.errors import BusyError, RejectedError, StarcastError, UnavailableError
from starcast.progress import Reporter
from starcast.resources import folder
from starcast.support.signals import caused_by_interrupt

CONNECT_SECONDS = 5
UPGRADE_SECONDS = 60

#: The key of the advisory lock that serializes migrations ("starcast" in ASCII).
UPGRADE_LOCK = int.from_bytes(b"starcast", "big", signed=True)

# These libraries log lost connections, which the errors report as well. Without a handler Python
# would print the log to stderr; a program that configures logging still receives it.
for _name in ("sqlalchemy", "psycopg"):
    logging.getLogger(_name).addHandler(logging.NullHandler())

_VERSION_TABLE = "alembic_version"
_LOCK_NOT_AVAILABLE = "55P03"
_KEY = "hashtextextended(:key, 0)"
# PostgreSQL shows the 64-bit key of an advisory lock as two numbers of 32 bits. The connection that
# holds a lock is idle, so its state last changed when it took the lock.
_HOLDER_OF = text(
    "select pid, application_name, extract(epoch from clock_timestamp() - state_change) as seconds"
    " from pg_locks left join pg_stat_activity using (pid)"
    " where locktype = 'advisory' and granted and objsubid = 1"
    " and database = (select oid from pg_database where datname = current_database())"
    " and (classid::bigint << 32) | objid::bigint = hashtextextended(:key, 0)"
)
#: Begins the application names of connections that hold a lock with a task.
_HOLDER = "starcast: "
#: Greatest length of an application name in PostgreSQL.
_NAME_BYTES = 63


def connect(url: URL) -> Engine:
    """Return an engine for a database after opening a first connection.

    Raises:
        UnavailableError: the server cannot be reached, refuses the login, has no such database, or
            is not PostgreSQL.
    """
    engine = create_engine(
        url,
        pool_pre_ping=True,
        connect_args={"connect_timeout": CONNECT_SECONDS, "application_name": "starcast"},
    )
    with translated_errors(engine.url), engine.connect():
        return engine


@contextmanager
def session(engine: Engine) -> Iterator[Session]:
    """Open a session that commits at the end of the context, and rolls back after an error.

    Raises:
        UnavailableError: the connection was lost.
    """
    with (
        translated_errors(engine.url),
        Session(engine, expire_on_commit=False) as opened,
        opened.begin(),
    ):
        yield opened


@dataclass(frozen=True)
class Lock:
    """An advisory lock held by one of this process's connections.

    Attributes:
        name: the text that the lock's key is computed from.
        pid: the number of the connection's process on the server.
    """

    name: str
    pid: int

    def verify(self, opened: Session) -> None:
        """Check on the server that the lock is still held; it is lost with its connection.

        Raises:
            UnavailableError: the connection was lost.
        """
        holder = opened.execute(_HOLDER_OF, {"key": self.name}).one_or_none()
        if holder is None or holder.pid != self.pid:
            raise UnavailableError(
                f"the connection to PostgreSQL that holds the lock '{self.name}' was lost",
                hint="run the same command again: everything stored is complete",
            )


@contextmanager
def advisory_lock(
    engine: Engine, name: str, busy: BusyError, task: str | None = None
) -> Iterator[Lock]:
    """Hold the database's advisory lock with this name.

    The server releases the lock when this process ends, for whatever reason, or when the connection
    is lost; `Lock.verify` detects the latter.

    Args:
        engine: the database.
        name: the text that the lock's key is computed from.
        busy: the error to raise if another process holds the lock.
        task: what this process does while it holds the lock, for `read_lock_holder`.

    Raises:
        BusyError: the given error, if another process holds the lock.
    """
    key = {"key": name}
    # An open transaction would prevent the server's clean-up while the lock is held.
    unattended = engine.execution_options(isolation_level="AUTOCOMMIT")
    with translated_errors(engine.url), unattended.connect() as connection:
        if not connection.scalar(text(f"select pg_try_advisory_lock({_KEY})"), key):
            raise busy
        if task is not None:
            # The server shows it to other processes, and forgets it together with the lock.
            setting = {"value": f"{_HOLDER}{task}"[:_NAME_BYTES]}
            connection.execute(
                text("select set_config('application_name', :value, false)"), setting
            )
        pid = connection.scalar(text("select pg_backend_pid()"))
        try:
            yield Lock(name, int(pid))
        finally:
            _release(connection, name)


def read_lock_holder(engine: Engine, name: str) -> tuple[str, float | None] | None:
    """Return the task of the process that holds an advisory lock, and for how many seconds.

    Returns:
        None if the lock is free, or its holder gave no task. The seconds are None if the server
        shows them only to the holder's role.
    """
    with translated_errors(engine.url), engine.connect() as connection:
        holder = connection.execute(_HOLDER_OF, {"key": name}).one_or_none()
    if holder is None or not str(holder.application_name).startswith(_HOLDER):
        return None
    seconds = None if holder.seconds is None else float(holder.seconds)
    return holder.application_name.removeprefix(_HOLDER), seconds


def wait_for_lock(opened: Session, name: str, seconds: int, busy: BusyError) -> None:
    """Take the advisory lock with this name for the rest of the session's transaction.

    Raises:
        BusyError: the given error, if the lock was not released within so many seconds.
    """
    _wait(opened.connection(), _KEY, name, seconds, busy)


@contextmanager
def translated_errors(url: URL) -> Iterator[None]:
    """Turn the driver's connection errors into `UnavailableError`; other errors pass unchanged.

    Raises:
        UnavailableError: the server cannot be reached, refuses the login, or has no such database.
        KeyboardInterrupt: the driver turned a Ctrl-C into an error of its own.
    """
    try:
        yield
    except Exception as error:
        if caused_by_interrupt(error):
            raise KeyboardInterrupt from None
        if isinstance(error, DBAPIError) and _is_connection_error(error):
            raise _unavailable(url, str(error.orig)) from None
        raise


def _is_connection_error(error: DBAPIError) -> bool:
    if error.connection_invalidated:
        return True
    # Errors of libpq while connecting have no SQLSTATE; those of a server (57P01: shutdown) do.
    state = getattr(error.orig, "sqlstate", None)
    name = type(error).__name__
    return (name == "OperationalError" and state is None) or str(state).startswith(("08", "57P"))


def _unavailable(url: URL, message: str) -> UnavailableError:
    place = f"{url.host or url.query.get('host') or 'localhost'}:{url.port or 5432}"
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
    reason = message.strip().partition("\n")[0].rpartition(": ")[2].strip()
    return UnavailableError(
        f"PostgreSQL at {place} cannot be reached: {reason}",
        hint="start it ('starcast up' starts the embedded one)",
    )


def upgrade(engine: Engine, reporter: Reporter) -> bool:
    """Migrate the schema to the newest revision in one transaction.

    Returns:
        Whether anything changed.

    Raises:
        RejectedError: the schema is newer than this starcast, or the database holds tables of
            another program; nothing is changed.
        BusyError: another process has been migrating the database for a minute.
    """
    with translated_errors(engine.url), engine.begin() as connection:
        _lock_migrations(connection)
        revision = _known_revision(connection)
        if revision == head():
            reporter.say(f"the schema is up to date ({revision})")
            return False
        command.upgrade(_config(connection), "head")
    reporter.say(f"the schema was upgraded from {revision or 'nothing'} to {head()}")
    return True


def downgrade(engine: Engine, revision: str = "base") -> None:
    """Migrate the schema back to a revision, for tests and developers.

    Revision ``base`` drops all tables of starcast with their rows.

    Raises:
        RejectedError: as for `upgrade`.
    """
    with translated_errors(engine.url), engine.begin() as connection:
        _lock_migrations(connection)
        _known_revision(connection)
        command.downgrade(_config(connection), revision)


def current(engine: Engine) -> str | None:
    """Return the revision of the database's schema, or None if it has no schema.

    Raises:
        UnavailableError: the connection was lost.
    """
    with translated_errors(engine.url), engine.connect() as connection:
        return _revision(connection)


@cache
def head() -> str:
    """Return the newest revision known to this starcast."""
    newest = ScriptDirectory.from_config(_config()).get_current_head()
    if newest is None:
        raise StarcastError("this starcast has no migrations", hint="install it again")
    return newest


def check(engine: Engine) -> None:
    """Check that the database has the schema of this starcast.

    Raises:
        RejectedError: the schema is missing, older or newer, or belongs to another program.
    """
    with translated_errors(engine.url), engine.connect() as connection:
        revision = _known_revision(connection)
    if revision is None:
        raise RejectedError("the database has no schema yet", hint="run 'starcast db upgrade'")
    if revision != head():
        raise RejectedError(
            f"the schema of the database is {revision}, this starcast needs {head()}",
            hint="run 'starcast db upgrade'",
        )


def differences(engine: Engine) -> list[str]:
    """Return the differences between tables and models, one line each."""
    with translated_errors(engine.url), engine.connect() as connection:
        changes = compare_metadata(MigrationContext.configure(connection), Base.metadata)
    return [_describe_change(change) for change in changes]


def _describe_change(change: object) -> str:
    # Alembic returns a tuple (verb, object, ...), or a list of such tuples for one changed column.
    first = change[0] if isinstance(change, list) else change
    if not isinstance(first, tuple):
        return str(first)
    verb = str(first[0]).replace("_", " ")
    return " ".join([verb, *(str(part) for part in first[1:] if part is not None)])


def _release(connection: Connection, name: str) -> None:
    try:
        connection.execute(text(f"select pg_advisory_unlock({_KEY})"), {"key": name})
        connection.execute(text("reset application_name"))
    except DBAPIError as error:
        # The server released the lock together with the lost connection.
        if not _is_connection_error(error):
            raise


def _lock_migrations(connection: Connection) -> None:
    busy = BusyError(
        f"another process has been migrating the database for {UPGRADE_SECONDS} s",
        hint="try again when it has finished",
    )
    _wait(connection, ":key", UPGRADE_LOCK, UPGRADE_SECONDS, busy)


def _wait(
    connection: Connection, expression: str, key: str | int, seconds: int, busy: BusyError
) -> None:
    connection.execute(text(f"set local lock_timeout = '{seconds}s'"))
    try:
        connection.execute(text(f"select pg_advisory_xact_lock({expression})"), {"key": key})
    except DBAPIError as error:
        if getattr(error.orig, "sqlstate", None) != _LOCK_NOT_AVAILABLE:
            raise
        raise busy from None


def _known_revision(connection: Connection) -> str | None:
    revision = _revision(connection)
    tables = set(inspect(connection).get_table_names())
    foreign = tables - {_VERSION_TABLE}
    ours = revision is not None and {"store", "materialization"} <= tables
    # Alembic's version table alone is also foreign: it belongs to another program's migrations.
    if not ours and (foreign or revision is not None):
        raise RejectedError(
            f"the database '{connection.engine.url.database}' holds tables of another program,"
            f" such as '{min(foreign, default=_VERSION_TABLE)}'",
            hint="create an empty database for starcast and name it in STARCAST_POSTGRES_URI",
        )
    if revision is not None and revision not in _revisions():
        raise RejectedError(
            f"the schema of the database ({revision}) is newer than this starcast ({head()})",
            hint="update starcast",
        )
    return revision


def _revision(connection: Connection) -> str | None:
    return MigrationContext.configure(connection).get_current_revision()


@cache
def _revisions() -> frozenset[str]:
    script = ScriptDirectory.from_config(_config())
    return frozenset(revision.revision for revision in script.walk_revisions())


def _config(connection: Connection | None = None) -> Config:
    config = Config()
    config.set_main_option("script_location", str(folder("migrations")).replace("%", "%%"))
    config.attributes["connection"] = connection
    return config
