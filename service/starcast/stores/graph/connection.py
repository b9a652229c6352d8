"""Connections to Neo4j through the official driver, whose errors this module translates.

Every statement is sent with the name of the database, and runs in a managed transaction for reading
or writing, so that routing works and transient errors are retried. The server's notifications about
a statement are part of its `QueryResult`.
"""

import logging
import re
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Self, cast

import psutil

from starcast.stores import GraphAddress
from starcast.stores.graph.answer_limits import LimitedSocket, describe_timeout, limit_answer
from starcast.stores.graph.driver import describe_unreachable, neo4j
from starcast.support import log
from starcast.support.errors import (
    InputError,
    LimitError,
    RejectedError,
    StarcastError,
    UnavailableError,
)
from starcast.support.progress import defer_signals
from starcast.support.table import Row

#: The oldest server version that supports starcast's Cypher: the LTS release of Neo4j 5.
OLDEST = (5, 26)
CONNECT_SECONDS = 5.0
#: Seconds for retries after transient errors. The time is short, because an unreachable server is
#: reported only after these retries.
RETRY_SECONDS = 5.0

#: Number of records fetched between two checks of the available memory.
_FETCH = 10_000
#: Bytes of memory to leave for other programs.
_SPARE = 2**28

_NEEDED = f"use Neo4j {'.'.join(map(str, OLDEST))} (LTS) or newer"
_DISK_FULL = re.compile("space left|disk", re.IGNORECASE)
_SCHEME = re.compile(r"(bolt|neo4j)(\+s|\+ssc)?://.+", re.IGNORECASE)

# Everything that the driver logs is also part of a QueryResult or of an error. Programs that
# configure logging still receive the driver's log.
logging.getLogger("neo4j").addHandler(logging.NullHandler())

QueryParameters = Mapping[str, Any]
TransactionWork = Callable[[neo4j.ManagedTransaction], "QueryResult"]


@dataclass(frozen=True)
class Notice:
    """A notification from the server, such as a deprecation or an unknown name in a statement.

    Attributes:
        status: the GQLSTATUS code.
        text: the description of the status.
    """

    status: str
    text: str


@dataclass(frozen=True)
class QueryResult:
    """Result of a statement.

    Attributes:
        columns: names of the columns, in the order of the statement.
        rows: the rows, up to the row limit.
        more: whether the result has more rows than the row limit permits.
        notices: notifications of the server.
        plan: the query plan; None unless the statement begins with EXPLAIN or PROFILE.
        parameters: the values with which the statement ran.
    """

    columns: tuple[str, ...]
    rows: list[Row]
    more: bool
    notices: tuple[Notice, ...]
    plan: dict[str, Any] | None
    parameters: QueryParameters


class Graph:
    """A connection to a Neo4j database. Use a ``with`` statement, or call `close` at the end.

    Attributes:
        driver: the official driver.
        database: name of the database, sent with every statement.
        version: version of the server, such as ``2026.08.1``.
    """

    def __init__(self, address: GraphAddress) -> None:
        self.driver = _create_driver(address)
        self.database = address.database
        self.uri = address.uri
        self.user = address.user
        self.version = ""
        self._connections_killed = False
        self._wrap_new_connections()

    @classmethod
    def open(cls, address: GraphAddress) -> Self:
        """Connect, and check that the server answers and is new enough.

        Raises:
            InputError: the URI is malformed.
            UnavailableError: the server is not running, rejects the login or lacks the database.
            RejectedError: the server is not Neo4j, or is too old.
        """
        graph = cls(address)
        try:
            graph._check_server()
            log.event("connected to Neo4j", uri=graph.uri, user=graph.user, version=graph.version)
        except BaseException:
            graph.close()
            raise
        return graph

    def close(self) -> None:
        """Close all connections."""
        self.driver.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def read(
        self, cypher: str, parameters: QueryParameters | None = None, timeout: float | None = None
    ) -> list[Row]:
        """Run a read-only statement, and return its rows.

        Args:
            cypher: the statement.
            parameters: values of the statement's parameters, keyed by parameter name.
            timeout: time limit in seconds; None for no limit.

        Raises:
            StarcastError: an error of the driver or server; see `_translate_errors`.
        """
        return self.run(cypher, parameters, timeout).rows

    def run(
        self,
        cypher: str,
        parameters: QueryParameters | None = None,
        timeout: float | None = None,
        row_limit: int | None = None,
    ) -> QueryResult:
        """Run a read-only statement, and return its result with notices and plan.

        Args:
            cypher: the statement.
            parameters: values of the statement's parameters, keyed by parameter name.
            timeout: time limit in seconds; None for no limit.
            row_limit: maximum number of rows to fetch; None for all.

        Raises:
            StarcastError: an error of the driver or server; see `_translate_errors`.
        """
        start = perf_counter()
        with self._translate_errors(timeout), self._session() as session:
            result = session.execute_read(self._work(cypher, parameters, timeout, row_limit))
        seconds = round(perf_counter() - start, 3)
        rows = len(result.rows)
        log.event("read Neo4j", logging.DEBUG, statement=cypher, rows=rows, seconds=seconds)
        return result

    def write(self, cypher: str, parameters: QueryParameters | None = None) -> list[Row]:
        """Run a write statement in one transaction, and return its rows.

        Raises:
            StarcastError: an error of the driver or server; see `_translate_errors`.
        """
        with self._translate_errors(None), self._session() as session:
            return session.execute_write(self._work(cypher, parameters, None, None)).rows

    @contextmanager
    def concurrent(self, threads: int) -> Iterator[ThreadPoolExecutor]:
        """Open a thread pool for statements. Ctrl-C cancels all statements and ends the context."""
        with ThreadPoolExecutor(threads) as pool:
            try:
                yield pool
            except KeyboardInterrupt:
                self._kill_connections()
                raise

    @contextmanager
    def _session(self) -> Iterator[neo4j.Session]:
        with self._interruptible(), self.driver.session(database=self.database) as session:
            yield session

    @contextmanager
    def _interruptible(self) -> Iterator[None]:
        """On Ctrl-C, close all connections, and raise KeyboardInterrupt once the driver returns.

        An interrupt raised inside the driver would make the driver hang in the middle of a message,
        or wait for the end of the statement.
        """
        self._connections_killed = False
        with defer_signals(self._kill_connections):
            yield

    def _kill_connections(self) -> None:
        self._connections_killed = True
        # Closing the driver would exchange messages with the server, so the connections in its pool
        # are killed directly.
        for connections in self.driver._pool.connections.values():  # noqa: SLF001
            for connection in connections:
                connection.kill()

    def _wrap_new_connections(self) -> None:
        """Make the driver's new connections enforce the limits on the memory and time of answers.

        After Ctrl-C, no new connections are opened, because the server might not answer.
        """
        pool = self.driver._pool  # noqa: SLF001
        open_connection = pool.opener

        def open_unless_killed(*arguments: Any) -> Any:
            if self._connections_killed:
                raise KeyboardInterrupt
            connection = open_connection(*arguments)
            connection.inbox._socket = LimitedSocket(connection.inbox._socket)  # noqa: SLF001
            return connection

        pool.opener = open_unless_killed

    def _work(
        self,
        cypher: str,
        parameters: QueryParameters | None,
        timeout: float | None,
        row_limit: int | None,
    ) -> TransactionWork:
        """Return a function that runs a statement in a given transaction and fetches the result."""

        @neo4j.unit_of_work(timeout=timeout)
        def work(transaction: neo4j.ManagedTransaction) -> QueryResult:
            # The driver treats a killed connection as a transient error, and retries this function.
            if self._connections_killed:
                raise KeyboardInterrupt
            try:
                with limit_answer(row_limit, timeout):
                    return fetch_result(transaction.run(cypher, dict(parameters or {})), row_limit)
            except (
                ValueError,
                TypeError,
                OverflowError,
                neo4j.exceptions.BrokenRecordError,
            ) as error:
                # The driver raises these errors for dates, points and data frames that it cannot
                # convert.
                raise InputError(
                    f"the Neo4j driver cannot convert a value: {error.__cause__ or error}",
                    hint="use numbers, strings, lists or maps instead",
                ) from error
            except neo4j.exceptions.TransientError as error:
                if "Memory" in (error.code or ""):
                    # The driver would retry, but the statement would need the same memory again.
                    raise self._translate_server_error(error, timeout) from error
                raise

        return cast("TransactionWork", work)  # the decorator's return type is untyped

    def _check_server(self) -> None:
        """Check that the server answers, is Neo4j and is new enough, and set `version`."""
        with self._translate_errors(None), self._interruptible():
            # Unlike a transaction, this check is not retried, so a stopped server is reported at
            # once.
            self.driver.verify_connectivity()
        self.version = self._read_version()
        if not new_enough(self.version):
            raise RejectedError(
                f"the server at {self.uri} is Neo4j {self.version}, which is too old", hint=_NEEDED
            )

    def _read_version(self) -> str:
        rows = self.read(
            "CALL dbms.components() YIELD name, versions WHERE name STARTS WITH 'Neo4j' "
            "RETURN versions"
        )
        if not rows:
            raise RejectedError(
                f"the server at {self.uri} is not Neo4j", hint=f"check the address; {_NEEDED}"
            )
        return str(rows[0]["versions"][0])

    @contextmanager
    def _translate_errors(self, timeout: float | None) -> Iterator[None]:
        """Translate driver errors into starcast errors.

        Raises:
            UnavailableError: the server is not running, closed the connection, rejects the login,
                lacks the database, does not accept writes or failed.
            LimitError: time, memory or disk space is exhausted.
            InputError: the statement is invalid, or writes in a read transaction; or the URI is
                malformed.
            RejectedError: a constraint rejects the data, or the server does not speak Bolt.
        """
        try:
            yield
        except neo4j.exceptions.AuthError as error:
            raise UnavailableError(
                f"Neo4j at {self.uri} refuses the login of '{self.user}': {error.message}",
                hint="write the correct password to a file and name the file in "
                "STARCAST_NEO4J_PASSWORD_FILE",
            ) from error
        except neo4j.exceptions.Neo4jError as error:
            raise self._translate_server_error(error, timeout) from error
        except neo4j.exceptions.UnsupportedServerProduct:
            raise RejectedError(
                f"the server at {self.uri} does not support a known version of the Bolt protocol",
                hint=f"{_NEEDED}; a server that requires TLS needs bolt+s:// or neo4j+s://",
            ) from None
        except (neo4j.exceptions.DriverError, OSError) as error:
            raise describe_unreachable(self.uri, error) from None
        except (ValueError, OverflowError) as error:
            # The driver raises these errors for an invalid host or port when it first connects.
            if self.version:
                raise
            raise _malformed(self.uri, str(error)) from None

    def _read_status_message(self) -> str:
        """Return the reason why the server closed the database, or an empty string if unknown."""
        drivers_errors = (neo4j.exceptions.DriverError, neo4j.exceptions.Neo4jError)
        with suppress(*drivers_errors), self.driver.session(database="system") as session:
            rows = session.run("SHOW DATABASE $name YIELD statusMessage", name=self.database)
            return " ".join(row["statusMessage"] for row in rows)
        return ""

    def _translate_server_error(
        self, error: neo4j.exceptions.Neo4jError, timeout: float | None
    ) -> StarcastError:
        """Convert a server error to a StarcastError that depends on the error's code and text."""
        code = error.code or ""
        lines = (error.message or "").strip().splitlines()
        text = lines[0] if lines else code
        # Neo4j reports an exceeded time limit as a time-out or as a terminated transaction.
        if "TransactionTimedOut" in code or ("Terminated" in code and timeout is not None):
            return describe_timeout(timeout, text)
        if "OutOfMemory" in code or "MemoryPool" in code:
            return LimitError(
                f"Neo4j at {self.uri} ran out of memory: {text}",
                hint="let the statement match less data, lower STARCAST_BATCH, or raise "
                "STARCAST_NEO4J_HEAP",
            )
        # A full disk can be recognized only by the operating system's error text. Errors of the
        # client quote names and values, which may contain the same words.
        is_server_fault = not code.startswith("Neo.ClientError.")
        if is_server_fault and ("needs to be restarted" in text or "TransactionLog" in code):
            text = self._read_status_message() or text
            restart = "restart it: 'starcast down' and 'starcast up' restart the embedded servers"
            if _DISK_FULL.search(text):
                return LimitError(
                    f"the disk of Neo4j at {self.uri} is full; Neo4j has to be restarted: {text}",
                    hint=f"free some space, then {restart}",
                )
            return UnavailableError(
                f"Neo4j at {self.uri} has to be restarted: {text}",
                hint=f"see the server's log, then {restart}",
            )
        if is_server_fault and _DISK_FULL.search(text):
            return LimitError(
                f"Neo4j at {self.uri} ran out of disk space: {text}",
                hint="free some space, then try again",
            )
        # The server is a follower in a cluster, or its database is read-only.
        if "ForbiddenOnReadOnlyDatabase" in code or "NotALeader" in code:
            return UnavailableError(
                f"Neo4j at {self.uri} does not accept writes: {text}",
                hint="if the server is part of a cluster, write neo4j:// instead of bolt://; if its"
                " database is read-only, use another database",
            )
        if "DatabaseNotFound" in code:
            return UnavailableError(
                f"Neo4j at {self.uri} has no database '{self.database}': {text}",
                hint="name another database in STARCAST_NEO4J_DATABASE",
            )
        if ".Security." in code:
            is_locked_out = code.endswith("AuthenticationRateLimit")
            hint = "wait a few seconds, then use the correct password"
            return UnavailableError(
                f"Neo4j at {self.uri} refuses the user '{self.user}': {text}",
                hint=hint if is_locked_out else "log in as another user",
            )
        # The server has detected a write in a read transaction.
        if "AccessMode" in code:
            return InputError(
                f"the statement writes, but statements must be read-only: {text}",
                hint="remove the writing clauses",
            )
        if "ConstraintValidation" in code:
            return RejectedError(
                f"Neo4j rejected a row: {text}",
                hint="a node with the same key already exists; run 'starcast graph verify'",
            )
        # All other errors in the request, such as invalid syntax or a missing parameter.
        if code.startswith("Neo.ClientError."):
            return InputError(
                f"Neo4j refuses the statement: {text}",
                hint="correct the statement or its parameters",
            )
        return UnavailableError(
            f"Neo4j at {self.uri} failed: {text} ({code})",
            hint="see the server's log, or run 'starcast doctor'",
        )


def fetch_result(result: neo4j.Result, row_limit: int | None) -> QueryResult:
    """Fetch the result of a statement, with at most ``row_limit`` rows (None for all rows).

    Raises:
        LimitError: ``row_limit`` is given, and the rows do not fit into the available memory.
    """
    columns = tuple(result.keys())
    # Fetching one row more than the limit shows whether the limit omits any rows.
    records = list(result) if row_limit is None else _fetch(result, row_limit + 1)
    more = row_limit is not None and len(records) > row_limit
    summary = result.consume()
    notices = tuple(
        Notice(status.gql_status, status.status_description)
        for status in summary.gql_status_objects
        if status.is_notification
    )
    rows = [
        dict(zip(columns, map(_as_data, record), strict=True)) for record in records[:row_limit]
    ]
    plan = summary.plan or summary.profile
    return QueryResult(columns, rows, more, notices, plan, summary.parameters or {})


def _as_data(value: Any) -> Any:
    """Convert a value of a result: nodes and relationships become dicts, paths become lists.

    The dict of a relationship begins with its type and, if the server sent them, the labels of the
    relationship's end nodes. The driver's `Record.data` would omit the properties of relationships.
    """
    match value:
        case neo4j.graph.Node():
            return dict(value)
        case neo4j.graph.Relationship():
            ends = {"start": value.start_node, "end": value.end_node}
            known = {name: node["label"] for name, node in ends.items() if node and "label" in node}
            return {"type": value.type, **known, **value}
        case neo4j.graph.Path():
            steps = zip(value.relationships, value.nodes[1:], strict=True)
            return [
                dict(value.start_node or {}),
                *(_as_data(part) for step in steps for part in step),
            ]
        case list():
            return [_as_data(item) for item in value]
        case dict():
            return {name: _as_data(item) for name, item in value.items()}
    return value


def _fetch(result: neo4j.Result, limit: int) -> list[neo4j.Record]:
    """Fetch at most ``limit`` rows of a result, as long as enough memory is available.

    Raises:
        LimitError: the rows do not fit into the available memory.
    """
    process = psutil.Process()
    resident_before = process.memory_info().rss
    records: list[neo4j.Record] = []
    # Records are fetched in parts, because their size is unknown before they arrive.
    while len(records) < limit and (batch := result.fetch(min(_FETCH, limit - len(records)))):
        records += batch
        available = psutil.virtual_memory().available
        # The records are converted to rows and later to text, which takes as much memory again.
        if 2 * (process.memory_info().rss - resident_before) + _SPARE > available:
            raise LimitError(
                f"the result does not fit into memory: {len(records):,} rows were read, "
                f"and {available / 1e6:,.0f} MB are left",
                hint="lower the row limit (`row_limit`, STARCAST_ROW_LIMIT)",
            )
    return records


def _create_driver(address: GraphAddress) -> neo4j.Driver:
    if not _SCHEME.fullmatch(address.uri):
        raise _malformed(address.uri, "its scheme is unknown")
    if "\0" in address.uri:
        raise _malformed(address.uri, "it contains the character NUL")
    try:
        return neo4j.GraphDatabase.driver(
            address.uri,
            auth=(address.user, address.password),
            connection_timeout=CONNECT_SECONDS,
            # Acquiring a connection can include opening one, so it needs a longer limit.
            connection_acquisition_timeout=2 * CONNECT_SECONDS,
            max_transaction_retry_time=RETRY_SECONDS,
            notifications_min_severity=neo4j.NotificationMinimumSeverity.INFORMATION,
            # Notices are part of the result. By default, the driver would also report them as
            # Python warnings.
            warn_notification_severity=neo4j.NotificationMinimumSeverity.OFF,
        )
    except (neo4j.exceptions.ConfigurationError, ValueError) as error:
        raise _malformed(address.uri, str(error).partition(" Given URI")[0]) from None


def _malformed(uri: str, reason: str) -> InputError:
    return InputError(
        f"'{uri}' is not the URI of a Neo4j server: {reason}",
        hint="write bolt://HOST:7687, or neo4j://HOST:7687 for a cluster; with TLS bolt+s:// or"
        " neo4j+s://",
    )


def new_enough(version: str) -> bool:
    """Return whether a server version such as ``5.26.30`` or ``2026.08.1`` is at least `OLDEST`."""
    numbers = re.match(r"(\d+)\.(\d+)", version)
    # A calendar version such as 2026.08 compares as larger than every version 5.x.
    return numbers is not None and (int(numbers[1]), int(numbers[2])) >= OLDEST
