"""Connections to PostgreSQL: sessions, COPY, advisory locks, and the detection of silent servers.

TCP detects a dead network by keepalives and unacknowledged data. It does not detect a paused server
or a proxy that forwards nothing, because their kernel still acknowledges data. A statement may take
long, so silence alone is not an error: after `SILENT_SECONDS` a second connection finds out whether
the server still answers.
"""

import logging
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from time import monotonic
from typing import Any, TypeVar

import psycopg
from psycopg import errors, sql, waiting
from psycopg.conninfo import make_conninfo
from sqlalchemy import URL, Connection, Engine, Table, create_engine, event, text
from sqlalchemy.exc import DataError, DBAPIError
from sqlalchemy.orm import Session

from starcast.stores import ROLE_NAMES
from starcast.support.errors import BusyError, InputError, UnavailableError
from starcast.support.progress import caused_by_interrupt

#: Seconds of silence before the server is probed, and seconds allowed for its answer. Including one
#: attempt to reconnect, a command ends after 30 seconds.
SILENT_SECONDS = 20.0
PROBE_SECONDS = 5
#: Seconds that a server may take to cancel the statement that Ctrl-C interrupted.
CANCEL_SECONDS = 1

#: libpq parameters that make TCP give up after 30 seconds.
TCP_OPTIONS = {
    "keepalives": 1,
    # After 10 seconds of silence, four probes at intervals of 5 seconds.
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 4,
    "tcp_user_timeout": 30_000,
}

Result = TypeVar("Result")
Protocol = Generator[Any, Any, Result]

CONNECT_SECONDS = 5

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
#: Maximum length of an application name in PostgreSQL.
_NAME_BYTES = 63
# The transaction that holds a lock is idle on purpose. Servers before version 17 have only one of
# these time limits.
_NO_IDLE_LIMIT = text(
    "select set_config(name, '0', true) from pg_settings"
    " where name in ('idle_in_transaction_session_timeout', 'transaction_timeout')"
)


def is_pooled(connection: Connection) -> bool:
    """Return whether a pooler is between the connection and the server.

    A server reports the id of the process that serves the client; a pooler invents one.
    """
    driver: Any = connection.connection.driver_connection
    return bool(connection.scalar(text("select pg_backend_pid()")) != driver.info.backend_pid)


class WatchedConnection(psycopg.Connection[Any]):
    """A connection that closes itself with an OperationalError if the server is silent.

    Attributes:
        patience: seconds of silence after which the connection closes without probing the server;
            None to probe the server after `SILENT_SECONDS`.
    """

    patience: float | None = None

    def wait(self, gen: Protocol[Result], *args: Any, **options: Any) -> Result:
        """Run one exchange with the server as psycopg does, but detect a silent server."""
        try:
            return waiting.wait(self._watched(gen), self.pgconn.socket, *args, **options)
        except KeyboardInterrupt:
            # psycopg itself would wait ten seconds for the server to cancel the statement.
            with suppress(psycopg.Error):
                self.cancel_safe(timeout=CANCEL_SECONDS)
            self.close()
            raise

    def _watched(self, exchange: Protocol[Result]) -> Protocol[Result]:
        deadline = self._deadline()
        try:
            awaited = next(exchange)
            while True:
                # psycopg sends the operations for which the socket is ready; if there are none, it
                # sends an empty value ten times per second.
                ready = yield awaited
                if ready:
                    deadline = self._deadline()
                elif monotonic() > deadline:
                    self._check_server()
                    deadline = self._deadline()
                awaited = exchange.send(ready)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]

    def _deadline(self) -> float:
        return monotonic() + (SILENT_SECONDS if self.patience is None else self.patience)

    def _check_server(self) -> None:
        if self.patience is None and self._is_answered():
            return
        self.close()
        seconds = SILENT_SECONDS + PROBE_SECONDS
        raise psycopg.OperationalError(f"it has not answered for {seconds:.0f} seconds")

    def _is_answered(self) -> bool:
        target = make_conninfo(
            self.info.dsn, password=self.info.password, connect_timeout=PROBE_SECONDS
        )
        try:
            with WatchedConnection.connect(target, autocommit=True) as probe:
                probe.patience = PROBE_SECONDS
                # A pooler accepts connections even if its server does not answer.
                probe.execute("select 1")
        # A server that refuses another connection is still answering.
        except errors.TooManyConnections:
            return True
        except psycopg.OperationalError:
            return False
        return True


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
        InputError: a text contains a character that PostgreSQL does not have.
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
        if isinstance(error, UnicodeEncodeError):
            raise _unstorable(f"the text {error.object!r} contains an unpaired surrogate") from None
        # Only psycopg itself raises this error without a SQLSTATE.
        if isinstance(error, DataError) and not sqlstate(error) and "NUL" in str(error.orig):
            raise _unstorable("a text contains the character NUL") from None
        raise


def _unstorable(problem: str) -> InputError:
    return InputError(
        f"PostgreSQL does not accept a value: {problem}", hint="remove this character from the text"
    )


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
