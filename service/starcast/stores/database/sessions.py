"""Connections to PostgreSQL: sessions, COPY, advisory locks, and the detection of silent servers.

TCP detects a dead network by keepalives and unacknowledged data. TCP does not detect a paused
server or a proxy that forwards nothing, because the operating system still acknowledges data. A
statement can take a long time, so silence alone is not an error. After `SILENT_SECONDS`, a second
connection checks whether the server still answers.
"""

import logging
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from time import monotonic
from typing import Any, TypeVar

import psycopg
from psycopg import sql, waiting
from psycopg.conninfo import make_conninfo
from sqlalchemy import URL, Connection, CursorResult, Engine, Table, create_engine, event, text
from sqlalchemy.exc import DataError, DBAPIError
from sqlalchemy.orm import Session

from starcast.stores.database.server_errors import (
    LOCK_NOT_AVAILABLE,
    TOO_MANY_CONNECTIONS,
    describe_error,
    is_about_values,
    read_reason,
    sqlstate,
)
from starcast.support.errors import BusyError, InputError, UnavailableError
from starcast.support.progress import Reporter, caused_by_interrupt
from starcast.support.text import describe_activity, pluralize

#: Seconds of silence after which the server is probed. If the server stays silent, the command
#: fails after 30 seconds in total, which include the probe and one attempt to reconnect.
SILENT_SECONDS = 20.0
#: Seconds to wait for the probe's connection, and for each part of the probe's answer.
PROBE_SECONDS = 5
#: Seconds that a server may take to cancel the statement that Ctrl-C interrupted.
CANCEL_SECONDS = 1
#: Seconds between two checks for Ctrl-C and for a silent server during a statement.
CHECK_SECONDS = 0.1

#: libpq parameters that make TCP give up after 30 seconds.
TCP_OPTIONS = {
    "keepalives": 1,
    # After 10 seconds of silence, TCP sends four probes at intervals of 5 seconds.
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

#: Settings that determine the meaning of values and statements. Roles, databases and PGOPTIONS can
#: specify other values. starcast applies the settings in each transaction, because a pooler might
#: run the next transaction in another server process.
_SETTINGS = (
    "set local datestyle = 'ISO, MDY'; set local intervalstyle = 'postgres';"
    " set local timezone = 'UTC'; set local standard_conforming_strings = on;"
    " set local extra_float_digits = 1; set local bytea_output = 'hex';"
    " set local idle_in_transaction_session_timeout = 0"
)
# A database can contain several stores, each in its own schema. The key of a lock depends on the
# schema, so that processes that use different stores do not block each other.
_KEY = "hashtextextended(concat(current_schema(), '.', cast(:key as text)), 0)"
# PostgreSQL shows the 64-bit key of an advisory lock as two 32-bit numbers. The transaction
# that holds a lock is idle, so its state last changed when it acquired the lock. A process that
# holds or awaits exclusive access is listed first, because it makes all other processes wait.
_HOLDERS_OF = text(
    "select pid, granted, mode, application_name,"  # noqa: S608 - only constants
    " extract(epoch from clock_timestamp() - state_change)::float8 as seconds"
    " from pg_locks left join pg_stat_activity using (pid)"
    " where locktype = 'advisory' and objsubid = 1"
    " and database = (select oid from pg_database where datname = current_database())"
    f" and (classid::bigint << 32) | objid::bigint = {_KEY}"
    " order by mode = 'ExclusiveLock' desc, granted desc, state_change"
)
#: Prefix of the application name of a connection that holds a lock; the name ends with the task.
_HOLDER = "starcast: "
#: Maximum length of an application name in PostgreSQL, in bytes.
_NAME_BYTES = 63
# The names are looked up in pg_settings, because transaction_timeout is unknown to servers before
# version 17.
_NO_TIME_LIMITS = text(
    "select set_config(name, '0', true) from pg_settings"
    " where name in ('transaction_timeout', 'statement_timeout', 'lock_timeout')"
)
#: Name of the advisory lock of a store. Every command that writes holds this lock in shared mode;
#: operations that exclude all other writers, such as a restore, hold it in exclusive mode.
STORE_LOCK = "store"
#: Name of an engine's execution option. The value is the store's `Lock`, which the sessions of the
#: engine verify; the value None makes these sessions read-only.
_HELD = "starcast_store_lock"
#: Name of a connection's execution option; True makes the connection's transactions read-only.
_READING = "starcast_reading"


def is_pooled(connection: Connection) -> bool:
    """Return whether the connection goes through a pooler instead of directly to the server.

    At login, a server reports the id of the process that serves the client, whereas a pooler
    reports a fictitious id.
    """
    driver: Any = connection.connection.driver_connection
    return bool(connection.scalar(text("select pg_backend_pid()")) != driver.info.backend_pid)


class WatchedConnection(psycopg.Connection[Any]):
    """A psycopg connection that closes with an OperationalError if the server stops answering.

    Attributes:
        patience: seconds of silence after which the connection closes without probing the server;
            None to probe the server after `SILENT_SECONDS`.
    """

    patience: float | None = None

    def wait(
        self, gen: Protocol[Result], interval: float = CHECK_SECONDS, *args: Any, **options: Any
    ) -> Result:
        """Exchange messages with the server as psycopg does, but detect a silent server."""
        exchange = self._watched(gen)
        try:
            # Without an interval, psycopg would check continuously, which occupies a processor.
            return waiting.wait(exchange, self.pgconn.socket, interval, *args, **options)
        except KeyboardInterrupt:
            # psycopg itself would wait up to ten seconds for the server to cancel the statement.
            with suppress(psycopg.Error):
                self.cancel_safe(timeout=CANCEL_SECONDS)
            self.close()
            raise

    def _watched(self, exchange: Protocol[Result]) -> Protocol[Result]:
        """Wrap an exchange of messages, so that the server is probed if it is silent."""
        deadline = self._deadline()
        try:
            awaited = next(exchange)
            while True:
                # psycopg passes the operations for which the socket is ready, or an empty value if
                # the socket was not ready during an interval.
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
        """Close the connection and raise an OperationalError, unless the server answers a probe.

        If `patience` is set, no probe is sent.
        """
        if self.patience is None and self._is_answered():
            return
        self.close()
        seconds = SILENT_SECONDS + PROBE_SECONDS
        raise psycopg.OperationalError(f"the server has not answered for {seconds:.0f} seconds")

    def _is_answered(self) -> bool:
        """Return whether the server answers a statement on a second connection."""
        target = make_conninfo(
            self.info.dsn, password=self.info.password, connect_timeout=PROBE_SECONDS
        )
        try:
            with WatchedConnection.connect(target, autocommit=True) as probe:
                probe.patience = PROBE_SECONDS
                # A pooler accepts connections even if its server does not answer.
                probe.execute("select 1")
        # A server that refuses further connections, because it has too many, has answered.
        except psycopg.OperationalError as error:
            return read_reason(error)[0] == TOO_MANY_CONNECTIONS
        return True


def connect(url: URL) -> Engine:
    """Return an engine for a database after checking that a connection can be opened.

    Raises:
        UnavailableError: the server cannot be reached, rejects the login, lacks the database, or is
            not PostgreSQL.
    """
    engine = create_engine(
        url,
        # The server may have been restarted since a pooled connection was last used.
        pool_pre_ping=True,
        isolation_level="READ COMMITTED",
        connect_args={
            "connect_timeout": CONNECT_SECONDS,
            "client_encoding": "UTF8",
            "application_name": "starcast",
            # A pooler may send the next transaction to another server process, which lacks the
            # prepared statements.
            "prepare_threshold": None,
            **TCP_OPTIONS,
        },
    )
    event.listen(
        engine, "do_connect", lambda *given: WatchedConnection.connect(*given[2], **given[3])
    )
    event.listen(engine, "begin", _set_up_transaction)
    with translated_errors(engine.url), engine.connect():
        return engine


def _set_up_transaction(connection: Connection) -> None:
    """Apply starcast's settings to a new transaction; make it read-only if this is requested.

    The connection's execution option `_READING` requests a read-only transaction.
    """
    # All settings are sent at once, which PostgreSQL allows only without parameters.
    is_reading = connection.get_execution_options().get(_READING, False)
    settings = f"{_SETTINGS}; set transaction read only" if is_reading else _SETTINGS
    connection.exec_driver_sql(settings, execution_options={"no_parameters": True})


@contextmanager
def open_session(engine: Engine) -> Iterator[Session]:
    """Open a session that commits at the end of the context, and rolls back after an error.

    Raises:
        UnavailableError: the connection was lost, or the engine lost the store's lock.
        StarcastError: the server reported another error; see `translated_errors`.
    """
    with (
        translated_errors(engine.url),
        # Objects keep their values after the commit, because callers read them after the session.
        Session(engine, expire_on_commit=False) as session,
        session.begin(),
    ):
        # The transaction begins here; `_set_up_transaction` makes it read-only if required.
        is_reading = engine.get_execution_options().get(_HELD, True) is None
        session.connection(execution_options={_READING: is_reading})
        verify_store_lock(engine, session)
        yield session


def read_only(engine: Engine) -> Engine:
    """Return a copy of the engine for which `open_session` opens read-only sessions.

    A command that writes without the store's lock therefore fails at its first attempt to write.
    """
    return engine.execution_options(**{_HELD: None})


def holds_store(engine: Engine) -> bool:
    """Return whether the engine comes from `lock_store` and therefore holds the store's lock."""
    return engine.get_execution_options().get(_HELD) is not None


def verify_store_lock(engine: Engine, session: Session | Connection) -> None:
    """Check that an engine from `lock_store` still holds the lock; accept any other engine.

    Raises:
        UnavailableError: the connection that held the lock was lost.
    """
    if lock := engine.get_execution_options().get(_HELD):
        lock.verify(session)


@contextmanager
def lock_store(
    engine: Engine, task: str, reporter: Reporter, *, wait: bool = False, exclusive: bool = False
) -> Iterator[Engine]:
    """Hold a store's lock within the context.

    Commands that write rows hold the lock in shared mode. Commands that replace the store hold it
    in exclusive mode.

    Args:
        engine: the database. An engine that already holds the lock is yielded unchanged.
        task: the activity shown to other processes, such as ``running the experiment 'a'``.
        reporter: reports the activity of the process that holds the lock.
        wait: wait for other processes instead of raising BusyError.
        exclusive: exclude all other processes that write.

    Yields:
        The engine, whose sessions check that the lock is still held.

    Raises:
        BusyError: only if ``wait`` is False: another process is replacing the store, is waiting to
            replace the store, or (if ``exclusive`` is True) is writing to the store.
    """
    if holds_store(engine):
        yield engine
        return
    waiting = reporter.say if wait else None
    held = advisory_lock(engine, STORE_LOCK, None, task, shared=not exclusive, waiting=waiting)
    with held as lock:
        yield engine.execution_options(**{_HELD: lock})


@dataclass(frozen=True)
class Lock:
    """An advisory lock held by one of this process's connections.

    Attributes:
        name: the name from which the lock's key is computed.
        pid: the id of the server process that serves the connection.
    """

    name: str
    pid: int

    def verify(self, session: Session | Connection) -> None:
        """Check on the server that the connection still holds the lock.

        Raises:
            UnavailableError: the connection was lost.
        """
        holders = session.execute(_HOLDERS_OF, {"key": self.name})
        if not any(each.granted and each.pid == self.pid for each in holders):
            raise UnavailableError(
                f"the connection to PostgreSQL that holds the lock '{self.name}' was lost",
                hint="run the same command again; all data stored so far are complete",
            )


@contextmanager
def advisory_lock(
    engine: Engine,
    name: str,
    busy: BusyError | None,
    task: str | None = None,
    *,
    shared: bool = False,
    waiting: Callable[[str], None] | None = None,
) -> Iterator[Lock]:
    """Hold the advisory lock with this name within the context.

    Each schema of a database has its own locks.

    An open transaction holds the lock, because a connection pooler might run each transaction in
    another server process. The transaction has no snapshot and changes nothing, so it does not keep
    VACUUM from removing dead rows. The server releases the lock when this process ends, for any
    reason, or when the connection is lost; `Lock.verify` detects a lost connection.

    Args:
        engine: the database.
        name: the name from which the lock's key is computed.
        busy: the error to raise if the lock is not available; None for an error that names the
            activity of the process that holds the lock.
        task: the activity of this process, which the messages of waiting processes name; None to
            show no activity.
        shared: let other processes hold the lock in shared mode at the same time.
        waiting: function called with the activity of the process that holds the lock, before
            waiting for the lock; None to raise BusyError instead of waiting.

    Raises:
        BusyError: ``waiting`` is None, and another process holds the lock (in exclusive mode, if
            ``shared`` is True) or waits for exclusive access.
    """
    function = "advisory_xact_lock_shared" if shared else "advisory_xact_lock"
    key = {"key": name}
    # At a higher isolation level, possibly the server's default, the transaction would keep a
    # snapshot, and VACUUM could not remove dead rows.
    unattended = engine.execution_options(isolation_level="READ COMMITTED")
    with translated_errors(engine.url), unattended.connect() as connection:
        connection.execute(_NO_TIME_LIMITS)
        if task is not None:
            # The server shows this name to other processes until the lock is released.
            setting = {"value": f"{_HOLDER}{task}"[:_NAME_BYTES]}
            connection.execute(text("select set_config('application_name', :value, true)"), setting)
        # Another process may hold the lock for a long time, so do not wait for it silently.
        if not connection.scalar(text(f"select pg_try_{function}({_KEY})"), key):
            activity = _describe_holders(connection, name, shared=shared)
            if waiting is None:
                hint = "try again when it has finished, or add `wait`"
                raise busy or BusyError(activity, hint=hint)
            waiting(f"waiting: {activity}")
            connection.execute(text(f"select pg_{function}({_KEY})"), key)
        # This last statement has no parameters: with parameters, its snapshot would stay open.
        query = "select pg_backend_pid()"
        pid = connection.exec_driver_sql(query, execution_options={"no_parameters": True}).scalar()
        driver: Any = connection.connection.driver_connection
        try:
            yield Lock(name, int(pid or 0))
        except BaseException:
            # The server may have stopped answering, so wait only briefly for the end of the
            # transaction.
            driver.patience = CANCEL_SECONDS
            raise
        finally:
            _release(connection)
            driver.patience = None


def _release(connection: Connection) -> None:
    """End the transaction that holds an advisory lock; ignore a lost connection."""
    try:
        connection.rollback()
    except DBAPIError as error:
        # The server released the lock together with the lost connection.
        if not isinstance(describe_error(error), UnavailableError):
            raise


def _describe_holders(connection: Connection, name: str, *, shared: bool) -> str:
    """Describe one process that holds or awaits the lock with this name, and count the others.

    If ``shared`` is True, processes with shared access are ignored, because they do not prevent
    further shared access.
    """
    # `row.seconds` can be None, because the server hides the times of other roles' processes.
    holders = [
        (row.application_name.removeprefix(_HOLDER), row.seconds)
        for row in connection.execute(_HOLDERS_OF, {"key": name})
        if str(row.application_name).startswith(_HOLDER)
        and not (shared and row.mode == "ShareLock")
    ] or [("changing these stores", None)]
    others = len(holders) - 1
    also = f" (and {pluralize(others, 'other process', 'other processes')})" if others else ""
    return describe_activity(*holders[0]) + also


def wait_for_lock(
    session: Session | Connection, name: str, seconds: int, busy: BusyError, *, shared: bool = False
) -> None:
    """Acquire the advisory lock with this name for the rest of the transaction.

    Args:
        session: an open transaction.
        name: the name of the lock.
        seconds: the maximum time to wait; 0 to fail at once if another transaction holds the lock.
        busy: the error to raise if the lock is not acquired in time.
        shared: acquire the lock in shared mode.

    Raises:
        BusyError: the lock was not acquired in time; the argument ``busy`` is raised.
    """
    function = "advisory_xact_lock_shared" if shared else "advisory_xact_lock"
    if not seconds:
        if not session.scalar(text(f"select pg_try_{function}({_KEY})"), {"key": name}):
            raise busy
        return
    session.execute(text(f"set local lock_timeout = '{seconds}s'"))
    try:
        session.execute(text(f"select pg_{function}({_KEY})"), {"key": name})
    except DBAPIError as error:
        if sqlstate(error) != LOCK_NOT_AVAILABLE:
            raise
        raise busy from None


@contextmanager
def translated_errors(url: URL) -> Iterator[None]:
    """Convert errors of the server and of the driver to starcast's errors.

    Errors about values and rows are not converted, because callers can explain them better.

    Raises:
        StarcastError: the error that `describe_error` returns, or an error for a string with a
            character that PostgreSQL cannot store.
        KeyboardInterrupt: the driver's error was caused by Ctrl-C.
    """
    try:
        yield
    except Exception as error:
        if caused_by_interrupt(error):
            raise KeyboardInterrupt from None
        if isinstance(error, UnicodeEncodeError) and error.encoding != "idna":
            raise _unstorable(
                f"the string {error.object!r} contains an unpaired surrogate"
            ) from None
        # An error without a SQLSTATE comes from psycopg itself, not from the server.
        if isinstance(error, DataError) and not sqlstate(error) and "NUL" in str(error.orig):
            raise _unstorable("a string contains the character NUL") from None
        described = describe_error(error, url)
        if described is None or is_about_values(error):
            raise
        raise described from None


def _unstorable(problem: str) -> InputError:
    return InputError(
        f"PostgreSQL does not accept a value: {problem}", hint="remove this character"
    )


def copy_rows(
    session: Session, table: Table, names: Sequence[str], rows: Iterable[Sequence[Any]]
) -> None:
    """Insert rows with the columns ``names`` by binary COPY; other columns get their defaults."""
    types = [
        table.c[name].type.compile(dialect=session.get_bind().dialect).lower() for name in names
    ]
    statement = sql.SQL("copy {} ({}) from stdin (format binary)").format(
        sql.Identifier(table.name), sql.SQL(", ").join(map(sql.Identifier, names))
    )
    with open_copy(session.connection(), statement) as copy:
        # Binary COPY converts no values, so psycopg needs the type of each column.
        copy.set_types(types)
        for row in rows:
            copy.write_row(row)


@contextmanager
def open_copy(connection: Connection, statement: sql.Composed) -> Iterator[psycopg.Copy]:
    """Open a COPY in the connection's transaction, and convert driver errors to DBAPIError.

    Raises:
        DBAPIError: the server rejected the rows, or the connection was lost.
    """
    driver: Any = connection.connection.driver_connection
    try:
        with driver.cursor().copy(statement) as copy:
            yield copy
    # SQLAlchemy is not involved in the COPY, so it does not convert the driver's errors.
    except psycopg.Error as error:
        raise DBAPIError.instance(statement.as_string(), None, error, psycopg.Error) from error


def execute_sql(connection: Connection, statement: sql.Composable) -> CursorResult[Any]:
    """Execute a statement without parameters, in which a percent sign has no special meaning."""
    options = {"no_parameters": True}
    return connection.exec_driver_sql(statement.as_string(), execution_options=options)
