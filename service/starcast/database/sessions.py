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
from alembic.util import CommandError
from sqlalchemy import URL, Connection, Engine, create_engine, event, inspect, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from starcast.database.declaration import VERSION_TABLE, declare
from starcast.database.models import Base
from starcast.database.roles import ROLE_NAMES
from starcast.database.views import VIEWS
from starcast.database.watched import TCP_OPTIONS, connect_watched
from starcast.errors import (
    BusyError,
    InputError,
    RejectedError,
    StarcastError,
    UnavailableError,
)
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

#: SQLSTATEs of statements that the role may not run, and that the server may not run.
_NO_RIGHT = {"42501", "25006"}
#: SQLSTATEs of migrations that rows or views of other programs prevent.
_OBSTACLES = ("23", "2BP01")
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
#: Begins the application names of connections that hold a lock with a task.
_HOLDER = "starcast: "
#: Greatest length of an application name in PostgreSQL.
_NAME_BYTES = 63
# The transaction that holds a lock is idle by intention. Servers before version 17 have only one of
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
    event.listen(engine, "do_connect", connect_watched)
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

    An open transaction holds it, because a pooler assigns a server process only to a transaction.
    The transaction has no snapshot and changes nothing, so it does not prevent the server's
    clean-up. The server releases the lock when this process ends, for whatever reason, or when the
    connection is lost; `Lock.verify` detects the latter.

    Args:
        engine: the database.
        name: the text that the lock's key is computed from.
        busy: the error to raise if another process holds the lock.
        task: what this process does while it holds the lock, for `read_lock_holder`.

    Raises:
        BusyError: the given error, if another process holds the lock.
    """
    key = {"key": name}
    # At a higher level, which may be the server's default, the transaction would keep a snapshot.
    unattended = engine.execution_options(isolation_level="READ COMMITTED")
    with translated_errors(engine.url), unattended.connect() as connection:
        connection.execute(_NO_IDLE_LIMIT)
        if task is not None:
            # The server shows it to other processes, and forgets it together with the lock.
            setting = {"value": f"{_HOLDER}{task}"[:_NAME_BYTES]}
            connection.execute(text("select set_config('application_name', :value, true)"), setting)
        if not connection.scalar(text(f"select pg_try_advisory_xact_lock({_KEY})"), key):
            raise busy
        # The server keeps the snapshot of the last statement, unless it came without parameters.
        query = "select pg_backend_pid()"
        pid = connection.exec_driver_sql(query, execution_options={"no_parameters": True}).scalar()
        try:
            yield Lock(name, int(pid or 0))
        finally:
            _release(connection)


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
        if isinstance(error, DBAPIError) and _sqlstate(error) in _NO_RIGHT:
            raise _refused(url, error) from None
        raise


def _sqlstate(error: DBAPIError) -> str:
    """Return the code of a server's error; empty if the driver raised it."""
    return getattr(error.orig, "sqlstate", None) or ""


def _is_connection_error(error: DBAPIError) -> bool:
    if error.connection_invalidated:
        return True
    # Errors of libpq while connecting have no SQLSTATE; those of a server (57P01: shutdown) do.
    state = _sqlstate(error)
    name = type(error).__name__
    return (name == "OperationalError" and not state) or state.startswith(("08", "57P"))


def _place(url: URL) -> str:
    return f"{url.host or url.query.get('host') or 'localhost'}:{url.port or 5432}"


def _primary(error: DBAPIError) -> str:
    """Return the first line of a server's error."""
    return str(error.orig).strip().partition("\n")[0]


def _refused(url: URL, error: DBAPIError) -> UnavailableError:
    return UnavailableError(
        f"PostgreSQL at {_place(url)} refuses '{url.username}': {_primary(error)}",
        hint=f"log in as another role: {ROLE_NAMES['writer']} may store and delete,"
        f" {ROLE_NAMES['owner']} may migrate",
    )


def _unavailable(url: URL, message: str) -> UnavailableError:
    place = _place(url)
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

    Comments, views and rights are written again in any case; see `starcast.database.declaration`.

    Returns:
        Whether the revision changed.

    Raises:
        RejectedError: the schema is newer than this starcast, the database holds tables of another
            program, or its rows do not fit; nothing is changed.
        BusyError: another process has been migrating the database for a minute.
        UnavailableError: the role may not change the schema.
    """
    with _migrating(engine) as connection:
        revision = _known_revision(connection)
        if revision == head():
            declare(connection)
            reporter.say(f"the schema is up to date ({revision})")
            return False
        command.upgrade(_config(connection), "head")
    reporter.say(f"the schema was upgraded from {revision or 'nothing'} to {head()}")
    return True


def downgrade(engine: Engine, revision: str = "base", *, allow_data_loss: bool = False) -> None:
    """Migrate the schema back to a revision in one transaction.

    Revision ``base`` drops all tables of starcast with their rows.

    Raises:
        InputError: there is no such revision before the current one.
        RejectedError: rows would be deleted, and that is not allowed; or as for `upgrade`.
    """
    with _migrating(engine) as connection:
        losses = _downgrade(connection, revision)
        if losses and not allow_data_loss:
            raise RejectedError(
                f"the downgrade to {revision} would delete {', '.join(losses)}",
                hint="keep them with 'starcast backup FILE' first, then allow the loss",
            )


def downgrade_losses(engine: Engine, revision: str) -> list[str]:
    """Return what a downgrade would delete, such as ``2 verification runs``; change nothing.

    Raises:
        InputError, RejectedError: as for `downgrade`.
    """
    with _migrating(engine) as connection:
        losses = _downgrade(connection, revision)
        connection.rollback()
    return losses


@contextmanager
def _migrating(engine: Engine) -> Iterator[Connection]:
    """Open a transaction that holds the lock of migrations."""
    try:
        with translated_errors(engine.url), engine.connect() as connection, connection.begin():
            _lock_migrations(connection)
            yield connection
    except DBAPIError as error:
        if not _sqlstate(error).startswith(_OBSTACLES):
            raise
        raise RejectedError(
            f"the database does not fit the migration: {_primary(error)}",
            hint="correct or drop what it names, then try again; nothing was changed",
        ) from None


def _downgrade(connection: Connection, revision: str) -> list[str]:
    _known_revision(connection)
    losses: list[str] = []
    try:
        command.downgrade(_config(connection, losses), revision)
    except CommandError:
        known = ", ".join(sorted(_revisions()))
        raise InputError(
            f"'{revision}' is not a revision before {revision_of(connection)}",
            hint=f"revisions are {known}, and base for no schema",
        ) from None
    return losses


def current(engine: Engine) -> str | None:
    """Return the revision of the database's schema, or None if it has no schema.

    Raises:
        UnavailableError: the connection was lost.
    """
    with translated_errors(engine.url), engine.connect() as connection:
        return revision_of(connection)


def known_revision(engine: Engine) -> str | None:
    """Return the revision as `current` does, after checking that the tables are starcast's.

    Raises:
        RejectedError: they belong to another program, or to a newer starcast.
    """
    with translated_errors(engine.url), engine.connect() as connection:
        return _known_revision(connection)


def is_known(revision: str) -> bool:
    """Return whether this starcast knows a revision of the schema."""
    return revision in _revisions()


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
    revision = known_revision(engine)
    if revision is None:
        raise RejectedError("the database has no schema yet", hint="run 'starcast db upgrade'")
    if revision != head():
        raise RejectedError(
            f"the schema of the database is {revision}, this starcast needs {head()}",
            hint="run 'starcast db upgrade'",
        )


def differences(engine: Engine) -> list[str]:
    """Return the differences between tables and models, one line each; views only by name."""
    with translated_errors(engine.url), engine.connect() as connection:
        changes = compare_metadata(MigrationContext.configure(connection), Base.metadata)
        present = inspect(connection).get_view_names()
    missing = [view.name for view in VIEWS if view.name not in present]
    return [*map(_describe_change, changes), *(f"add view {name}" for name in missing)]


def _describe_change(change: object) -> str:
    # Alembic returns a tuple (verb, object, ...), or a list of such tuples for one changed column.
    first = change[0] if isinstance(change, list) else change
    if not isinstance(first, tuple):
        return str(first)
    verb = str(first[0]).replace("_", " ")
    return " ".join([verb, *(str(part) for part in first[1:] if part is not None)])


def _release(connection: Connection) -> None:
    try:
        connection.rollback()
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
    revision = revision_of(connection)
    tables = set(inspect(connection).get_table_names())
    foreign = tables - {VERSION_TABLE}
    ours = revision is not None and {"store", "materialization"} <= tables
    # Alembic's version table alone is also foreign: it belongs to another program's migrations.
    if not ours and (foreign or revision is not None):
        raise RejectedError(
            f"the database '{connection.engine.url.database}' holds tables of another program,"
            f" such as '{min(foreign, default=VERSION_TABLE)}'",
            hint="create an empty database for starcast and name it in STARCAST_POSTGRES_URI",
        )
    if revision is not None and revision not in _revisions():
        raise RejectedError(
            f"the schema of the database ({revision}) is newer than this starcast ({head()})",
            hint="update starcast",
        )
    return revision


def revision_of(connection: Connection) -> str | None:
    """Return the revision of the schema of an open connection."""
    return MigrationContext.configure(connection).get_current_revision()


@cache
def _revisions() -> frozenset[str]:
    script = ScriptDirectory.from_config(_config())
    return frozenset(revision.revision for revision in script.walk_revisions())


def _config(connection: Connection | None = None, losses: list[str] | None = None) -> Config:
    config = Config()
    config.set_main_option("script_location", str(folder("migrations")).replace("%", "%%"))
    config.attributes |= {"connection": connection, "losses": losses}
    return config
