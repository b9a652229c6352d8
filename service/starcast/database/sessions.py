"""The way to PostgreSQL: connecting, migrating the schema, and judging whether a database is ours."""

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

#: The advisory lock that lets one process at a time migrate a database ("starcast" in ASCII).
UPGRADE_LOCK = int.from_bytes(b"starcast", "big", signed=True)

# What these log of a connection that they give up is in the error as well. A program that sets up logging still gets it.
for _name in ("sqlalchemy", "psycopg"):
    logging.getLogger(_name).addHandler(logging.NullHandler())

_VERSION_TABLE = "alembic_version"
_LOCK_NOT_AVAILABLE = "55P03"
_KEY = "hashtextextended(:key, 0)"
# How PostgreSQL shows an advisory lock with a key of 64 bits.
_HELD = text(
    "select exists (select from pg_locks where locktype = 'advisory' and granted and pid = :pid and objsubid = 1"
    " and (classid::bigint << 32) | objid::bigint = hashtextextended(:key, 0))"
)


def connect(url: URL) -> Engine:
    """An engine on that database, after a first connection has proved that it can be reached.

    Raises:
        UnavailableError: the server is down, refuses the login, has no such database, or is no PostgreSQL.
    """
    engine = create_engine(
        url,
        pool_pre_ping=True,
        connect_args={"connect_timeout": CONNECT_SECONDS, "application_name": "starcast"},
    )
    with reaching(engine.url), engine.connect():
        return engine


@contextmanager
def session(engine: Engine) -> Iterator[Session]:
    """A session that commits at the end, or leaves nothing behind when an error ends it.

    Raises:
        UnavailableError: the server went away.
    """
    with reaching(engine.url), Session(engine, expire_on_commit=False) as opened, opened.begin():
        yield opened


@dataclass(frozen=True)
class Lock:
    """An advisory lock that the server has given to one of this process's connections, of that number on the server."""

    name: str
    pid: int

    def demand(self, opened: Session) -> None:
        """Accept that the lock is still held, as the server sees it: it is gone with its connection.

        Raises:
            UnavailableError: that connection was lost.
        """
        if not opened.scalar(_HELD, {"key": self.name, "pid": self.pid}):
            raise UnavailableError(
                f"the connection to PostgreSQL that keeps others from the {self.name} was lost",
                hint="run the same command again: what is stored is whole",
            )


@contextmanager
def holding(engine: Engine, name: str, busy: BusyError) -> Iterator[Lock]:
    """Hold the database's advisory lock of that name; the server frees it when this process ends, however it ends.

    It frees it too when the connection that holds it is lost: `Lock.demand` finds out.

    Raises:
        BusyError: the one given, where another process holds the lock.
    """
    key = {"key": name}
    # Outside a transaction, which would keep the server from cleaning up for as long as the lock is held.
    unattended = engine.execution_options(isolation_level="AUTOCOMMIT")
    with reaching(engine.url), unattended.connect() as connection:
        if not connection.scalar(text(f"select pg_try_advisory_lock({_KEY})"), key):
            raise busy
        pid = connection.scalar(text("select pg_backend_pid()"))
        try:
            yield Lock(name, int(pid))
        finally:
            _let_go(connection, name)


def await_lock(opened: Session, name: str, seconds: int, busy: BusyError) -> None:
    """Take the lock of that name for the rest of the session's transaction, once whoever holds it is done.

    Raises:
        BusyError: the one given, where that takes longer than so many seconds.
    """
    _await(opened.connection(), _KEY, name, seconds, busy)


@contextmanager
def reaching(url: URL) -> Iterator[None]:
    """Turn the driver's errors about the connection itself into `UnavailableError`; others pass.

    Raises:
        UnavailableError: the server is down or went away, refuses the login, or has no such database.
        KeyboardInterrupt: Ctrl-C came while the driver was at work, and became an error on its way up.
    """
    try:
        yield
    except Exception as error:
        if caused_by_interrupt(error):
            raise KeyboardInterrupt from None
        if isinstance(error, DBAPIError) and _lost(error):
            raise _unavailable(url, str(error.orig)) from None
        raise


def _lost(error: DBAPIError) -> bool:
    return error.connection_invalidated or _lacks_connection(error)


def _lacks_connection(error: DBAPIError) -> bool:
    # Errors that libpq meets while it connects carry no SQLSTATE; those that a server sends (57P01: it shuts down) do.
    state = getattr(error.orig, "sqlstate", None)
    name = type(error).__name__
    return (name == "OperationalError" and state is None) or str(state).startswith(("08", "57P"))


def _unavailable(url: URL, words: str) -> UnavailableError:
    place = f"{url.host or url.query.get('host') or 'localhost'}:{url.port or 5432}"
    if "password" in words or "authentication failed" in words or "role" in words:
        return UnavailableError(
            f"PostgreSQL at {place} refuses the login of '{url.username}'",
            hint="put the right password into a file and name that in STARCAST_POSTGRES_PASSWORD_FILE",
        )
    if "database" in words and "does not exist" in words:
        return UnavailableError(
            f"PostgreSQL at {place} has no database '{url.database}'",
            hint=f"create it: createdb {url.database}",
        )
    reason = words.strip().partition("\n")[0].rpartition(": ")[2].strip()
    return UnavailableError(
        f"PostgreSQL at {place} cannot be reached: {reason}",
        hint="start it ('starcast up' starts the embedded one)",
    )


def upgrade(engine: Engine, reporter: Reporter) -> bool:
    """Bring the schema to the newest revision, in one transaction; False where it was there already.

    Raises:
        RejectedError: the schema is newer than this starcast, or the database is somebody else's; it stays untouched.
        BusyError: another process has been migrating it for a minute.
    """
    with reaching(engine.url), engine.begin() as connection:
        _lock(connection)
        revision = _known_revision(connection)
        if revision == head():
            reporter.say(f"the schema is up to date ({revision})")
            return False
        command.upgrade(_config(connection), "head")
    reporter.say(f"the schema went from {revision or 'nothing'} to {head()}")
    return True


def downgrade(engine: Engine, revision: str = "base") -> None:
    """Take the schema back to a revision; ``base`` drops every table of ours with its rows. For tests and developers.

    Raises:
        RejectedError: as for `upgrade`.
    """
    with reaching(engine.url), engine.begin() as connection:
        _lock(connection)
        _known_revision(connection)
        command.downgrade(_config(connection), revision)


def current(engine: Engine) -> str | None:
    """The revision of the database's schema; None where it has none.

    Raises:
        UnavailableError: the server went away.
    """
    with reaching(engine.url), engine.connect() as connection:
        return _revision(connection)


@cache
def head() -> str:
    """The newest revision that this starcast knows."""
    newest = ScriptDirectory.from_config(_config()).get_current_head()
    if newest is None:
        raise StarcastError("this starcast has no migrations", hint="install it again")
    return newest


def check(engine: Engine) -> None:
    """Accept a database whose schema is the one this starcast works with.

    Raises:
        RejectedError: the schema is missing, older, newer or somebody else's; the hint says what to do.
    """
    with reaching(engine.url), engine.connect() as connection:
        revision = _known_revision(connection)
    if revision is None:
        raise RejectedError("the database has no schema yet", hint="run 'starcast db upgrade'")
    if revision != head():
        raise RejectedError(
            f"the schema of the database is {revision}, this starcast needs {head()}",
            hint="run 'starcast db upgrade'",
        )


def differences(engine: Engine) -> list[str]:
    """Where the tables differ from the models, one line each; empty where they are equal."""
    with reaching(engine.url), engine.connect() as connection:
        found = compare_metadata(MigrationContext.configure(connection), Base.metadata)
    return [_difference(item) for item in found]


def _difference(item: object) -> str:
    # Alembic gives a tuple (verb, object, ...), or a list of such tuples for what changes in one column.
    first = item[0] if isinstance(item, list) else item
    if not isinstance(first, tuple):
        return str(first)
    return " ".join(
        [str(first[0]).replace("_", " "), *(str(part) for part in first[1:] if part is not None)]
    )


def _let_go(connection: Connection, name: str) -> None:
    try:
        connection.execute(text(f"select pg_advisory_unlock({_KEY})"), {"key": name})
    except DBAPIError as error:
        # The server has freed the lock of a connection that is lost, and what was done is stored.
        if not _lost(error):
            raise


def _lock(connection: Connection) -> None:
    busy = BusyError(
        f"another process has been migrating the database for {UPGRADE_SECONDS} s",
        hint="try again when it is done",
    )
    _await(connection, ":key", UPGRADE_LOCK, UPGRADE_SECONDS, busy)


def _await(
    connection: Connection, written: str, key: str | int, seconds: int, busy: BusyError
) -> None:
    connection.execute(text(f"set local lock_timeout = '{seconds}s'"))
    try:
        connection.execute(text(f"select pg_advisory_xact_lock({written})"), {"key": key})
    except DBAPIError as error:
        if getattr(error.orig, "sqlstate", None) != _LOCK_NOT_AVAILABLE:
            raise
        raise busy from None


def _known_revision(connection: Connection) -> str | None:
    revision = _revision(connection)
    tables = set(inspect(connection).get_table_names())
    foreign = tables - {_VERSION_TABLE}
    ours = revision is not None and {"store", "materialization"} <= tables
    # A revision without our tables is somebody else's, also where there is nothing but the table that holds it.
    if not ours and (foreign or revision is not None):
        raise RejectedError(
            f"the database '{connection.engine.url.database}' holds tables of somebody else,"
            f" '{min(foreign, default=_VERSION_TABLE)}' for one",
            hint="create an empty database for starcast and name it in STARCAST_POSTGRES_URI",
        )
    if revision is not None and revision not in _revisions():
        raise RejectedError(
            f"the schema of the database ({revision}) is newer than this starcast knows ({head()})",
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
