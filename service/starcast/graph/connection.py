"""The connection to Neo4j: the official driver, with its errors turned into ours in this one place.

Every statement names its database and runs in a managed transaction (so that routing works and transient errors are
retried) with its access mode. What the server remarks about a statement is kept in the `Answer`.
"""

import logging
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self, cast

from neo4j import (
    Driver,
    GraphDatabase,
    ManagedTransaction,
    NotificationMinimumSeverity,
    Session,
    unit_of_work,
)
from neo4j.exceptions import (
    AuthError,
    ConfigurationError,
    DriverError,
    Neo4jError,
    TransientError,
    UnsupportedServerProduct,
)

from starcast.errors import InputError, LimitError, RejectedError, StarcastError, UnavailableError
from starcast.graph.address import GraphAddress
from starcast.graph.results import Answer, Row, answered
from starcast.support.signals import defer_signals

#: The oldest server that speaks our Cypher: the LTS release of version 5.
OLDEST = (5, 26)
CONNECT_SECONDS = 5.0
#: How long transient errors are tried again. A server that dies is reported after this, so it is short.
RETRY_SECONDS = 5.0

_NEEDED = f"starcast needs Neo4j {'.'.join(map(str, OLDEST))} (LTS) or newer"
_SCHEME = re.compile(r"(bolt|neo4j)(\+s|\+ssc)?://.+")

# What the driver logs is in an Answer or in an error as well. A program that sets up logging still gets it.
logging.getLogger("neo4j").addHandler(logging.NullHandler())

Parameters = Mapping[str, Any]
Work = Callable[[ManagedTransaction], "Answer"]


class Graph:
    """A Neo4j database. Use it as a context manager, or `close` it.

    Attributes:
        driver: the official driver.
        database: the database's name, given with every call.
        version: the server's, such as ``2026.08.1``.
    """

    def __init__(self, address: GraphAddress) -> None:
        self.driver = _driver(address)
        self.database = address.database
        self.uri = address.uri
        self.user = address.user
        self.version = ""
        self._hung_up = False

    @classmethod
    def open(cls, address: GraphAddress) -> Self:
        """Connect, and see that the server answers.

        Raises:
            InputError: the URI is none.
            UnavailableError: the server is down, refuses the login or lacks the database.
            RejectedError: it is no Neo4j, or one that is too old.
        """
        graph = cls(address)
        try:
            graph._meet()
        except BaseException:
            graph.close()
            raise
        return graph

    def close(self) -> None:
        """Close all connections."""
        self.driver.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def read(
        self, cypher: str, parameters: Parameters | None = None, timeout: float | None = None
    ) -> list[Row]:
        """Rows of a statement that only reads.

        Args:
            cypher: the statement.
            parameters: its parameters.
            timeout: seconds that the server may take.

        Raises:
            StarcastError: see `_translated`.
        """
        return self.ask(cypher, parameters, timeout).rows

    def ask(
        self,
        cypher: str,
        parameters: Parameters | None = None,
        timeout: float | None = None,
        most: int | None = None,
    ) -> Answer:
        """Like `read`, with all that the server says; at most so many rows.

        Raises:
            StarcastError: see `_translated`.
        """
        with self._translated(timeout), self._session() as session:
            return session.execute_read(self._work(cypher, parameters, timeout, most))

    def write(
        self, cypher: str, parameters: Parameters | None = None, timeout: float | None = None
    ) -> list[Row]:
        """Rows of a statement that writes; one transaction, tried again after a transient error.

        Raises:
            StarcastError: see `_translated`.
        """
        with self._translated(timeout), self._session() as session:
            return session.execute_write(self._work(cypher, parameters, timeout, None)).rows

    @contextmanager
    def _session(self) -> Iterator[Session]:
        with self._interruptible(), self.driver.session(database=self.database) as session:
            yield session

    @contextmanager
    def _interruptible(self) -> Iterator[None]:
        """Let Ctrl-C end what the driver is at, and strike when it is out of it.

        Struck in the middle of a message the driver would wait without end, and else for the end of the statement.
        """
        self._hung_up = False
        with defer_signals(self._hang_up):
            yield

    def _hang_up(self) -> None:
        self._hung_up = True
        for connections in self.driver._pool.connections.values():  # noqa: SLF001 - to close the driver is to talk with the server
            for connection in connections:
                connection.kill()

    def _work(
        self, cypher: str, parameters: Parameters | None, timeout: float | None, most: int | None
    ) -> Work:
        @unit_of_work(timeout=timeout)
        def work(transaction: ManagedTransaction) -> Answer:
            if self._hung_up:  # the driver tries again what it takes for a server that went away
                raise KeyboardInterrupt
            try:
                return answered(transaction.run(cypher, dict(parameters or {})), most)
            except TransientError as error:
                if "Memory" in (error.code or ""):
                    # Transient to the driver, but the same statement needs the same memory again.
                    raise self._of_server(error, timeout) from error
                raise

        return cast("Work", work)  # the decorator keeps the type to itself

    def _meet(self) -> None:
        with self._translated(None), self._interruptible():
            # Unlike a transaction this is not tried again and again: a server that is down is reported at once.
            self.driver.verify_connectivity()
        self.version = self._ask_version()
        if not new_enough(self.version):
            raise RejectedError(
                f"the server at {self.uri} is Neo4j {self.version}, which is too old", hint=_NEEDED
            )

    def _ask_version(self) -> str:
        rows = self.read(
            "CALL dbms.components() YIELD name, versions WHERE name STARTS WITH 'Neo4j' RETURN versions"
        )
        if not rows:
            raise RejectedError(f"the server at {self.uri} is no Neo4j", hint=_NEEDED)
        return str(rows[0]["versions"][0])

    @contextmanager
    def _translated(self, timeout: float | None) -> Iterator[None]:
        """Turn the driver's errors into ours.

        Raises:
            UnavailableError: the server is down, went away, refuses the login or lacks the database.
            LimitError: time, memory or disk ran out.
            InputError: the statement is wrong, or writes where it may only read.
            RejectedError: a constraint forbids what it writes, or the server is none that we can talk to.
        """
        try:
            yield
        except (Neo4jError, DriverError, OSError) as error:
            raise self._in_words(error, timeout) from (
                error if isinstance(error, Neo4jError) else None
            )

    def _in_words(self, error: Exception, timeout: float | None) -> StarcastError:
        match error:
            case AuthError():
                return UnavailableError(
                    f"Neo4j at {self.uri} refuses the login of '{self.user}'",
                    hint="put the right password into a file and name that in STARCAST_NEO4J_PASSWORD_FILE",
                )
            case Neo4jError():
                return self._of_server(error, timeout)
            case UnsupportedServerProduct():
                return RejectedError(
                    f"the server at {self.uri} speaks no Bolt that we know", hint=_NEEDED
                )
        start = "start it ('starcast up' starts the embedded one), then try again"
        return UnavailableError(
            f"Neo4j at {self.uri} cannot be reached or went away",
            hint="this port speaks HTTP; Bolt's is another, often 7687"
            if "looks like HTTP" in str(error)
            else start,
        )

    def _of_server(self, error: Neo4jError, timeout: float | None) -> StarcastError:
        code, words = error.code or "", (error.message or "").strip().splitlines()
        text = words[0] if words else code
        if "TransactionTimedOut" in code or ("Terminated" in code and timeout is not None):
            return LimitError(
                f"the statement took longer than {timeout:g} s and was stopped"
                if timeout is not None
                else f"the server stopped the statement: {text}",
                hint="narrow it (one topology, one forest, shorter paths, LIMIT), or raise STARCAST_TIMEOUT",
            )
        if "OutOfMemory" in code or "MemoryPool" in code:
            return LimitError(
                f"Neo4j at {self.uri} ran out of memory: {text}",
                hint="narrow the statement, lower STARCAST_BATCH, or raise STARCAST_NEO4J_HEAP",
            )
        if "space left" in text or "disk" in text.lower():
            return LimitError(
                f"Neo4j at {self.uri} ran out of disk: {text}", hint="free some, then try again"
            )
        if "DatabaseNotFound" in code:
            return UnavailableError(
                f"Neo4j at {self.uri} has no database '{self.database}'",
                hint="name another in STARCAST_NEO4J_DATABASE",
            )
        if ".Security." in code:
            return UnavailableError(
                f"Neo4j at {self.uri} refuses '{self.user}': {text}", hint="log in as another user"
            )
        if "AccessMode" in code:
            return InputError(
                f"the statement writes, and may only read: {text}",
                hint="leave the writing clauses out",
            )
        if "ConstraintValidation" in code:
            return RejectedError(
                f"Neo4j refuses a row: {text}", hint="something of that name is already there"
            )
        if code.startswith("Neo.ClientError."):
            return InputError(
                f"Neo4j refuses the statement: {text}", hint="mend the statement or its parameters"
            )
        return UnavailableError(
            f"Neo4j at {self.uri} failed: {text} ({code})", hint="see its log; 'starcast doctor'"
        )


def _driver(address: GraphAddress) -> Driver:
    if not _SCHEME.fullmatch(address.uri):
        raise _no_uri(address.uri)
    try:
        return GraphDatabase.driver(
            address.uri,
            auth=(address.user, address.password),
            connection_timeout=CONNECT_SECONDS,
            connection_acquisition_timeout=2 * CONNECT_SECONDS,
            max_transaction_retry_time=RETRY_SECONDS,
            notifications_min_severity=NotificationMinimumSeverity.INFORMATION,
            warn_notification_severity=NotificationMinimumSeverity.OFF,
        )
    except (ConfigurationError, ValueError):
        raise _no_uri(address.uri) from None


def new_enough(version: str) -> bool:
    """Whether a server of this version speaks our Cypher; versions are numbers, and 2026.08 is newer than 5.26."""
    numbers = re.match(r"(\d+)\.(\d+)", version)
    return numbers is not None and (int(numbers[1]), int(numbers[2])) >= OLDEST


def _no_uri(given: str) -> InputError:
    return InputError(
        f"'{given}' is no URI of a Neo4j server", hint="write bolt://HOST:7687 or neo4j://HOST:7687"
    )
