"""Connections that end when the server is silent instead of waiting without limit.

TCP detects a dead network by keepalives and by data that stay unacknowledged. It does not detect a
proxy, a tunnel or a paused server that keeps the connection open and answers nothing. A statement
may take long, so silence alone is not an error: after `SILENT_SECONDS` a second connection asks
the server whether it is still working on the statement.

Behind a pooler such as PgBouncer, a connection is not tied to a process of the server, and the
number that the pooler gives the client is not that of a process. The server is then asked whether
any statement of starcast has been running that long.
"""

from collections.abc import Generator
from time import monotonic
from typing import Any, TypeVar

import psycopg
from psycopg import errors
from psycopg.conninfo import make_conninfo

#: Seconds of silence after which the server is asked, and seconds that it may take to answer. With
#: one attempt to connect again, a command ends after 30 seconds.
SILENT_SECONDS = 20.0
PROBE_SECONDS = 5

#: Parameters of libpq, by which TCP gives up after 30 seconds.
TCP_OPTIONS = {
    "keepalives": 1,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 4,
    "tcp_user_timeout": 30_000,
}
_IS_WORKING = """
    select case when pg_backend_pid() = %(own)s
        then exists(select from pg_stat_activity where pid = %(pid)s and state = 'active')
        else exists(
            select from pg_stat_activity
            where application_name like 'starcast%%' and state = 'active'
            and query_start < clock_timestamp() - make_interval(secs => %(seconds)s)
        )
    end
"""

Result = TypeVar("Result")
Protocol = Generator[Any, Any, Result]


def is_pooled(connection: psycopg.Connection[Any]) -> bool:
    """Return whether a pooler is between the connection and the server.

    A server tells each client the number of the process that serves it; a pooler invents a number.
    """
    row = connection.execute("select pg_backend_pid()").fetchone()
    return row is None or row[0] != connection.info.backend_pid


class WatchedConnection(psycopg.Connection[Any]):
    """A connection that closes itself with an OperationalError if the server is silent."""

    _doubted = False

    @property
    def _limit(self) -> float:
        return SILENT_SECONDS

    def wait(self, gen: Protocol[Result], *args: Any, **options: Any) -> Result:
        """Run an exchange with the server, as psycopg does, and watch for silence."""
        return super().wait(self._watched(gen), *args, **options)

    def _watched(self, exchange: Protocol[Result]) -> Protocol[Result]:
        # psycopg sends what the socket is ready for, and nothing ten times per second.
        deadline = monotonic() + self._limit
        try:
            awaited = next(exchange)
            while True:
                ready = yield awaited
                if ready:
                    deadline = monotonic() + self._limit
                    self._doubted = False
                elif monotonic() > deadline:
                    self._check_server()
                    deadline = monotonic() + (PROBE_SECONDS if self._doubted else self._limit)
                awaited = exchange.send(ready)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]

    def _check_server(self) -> None:
        """Ask the server whether it is working on the statement of this connection.

        Raises:
            psycopg.OperationalError: it is not, or it does not answer.
        """
        target = make_conninfo(
            self.info.dsn, password=self.info.password, connect_timeout=PROBE_SECONDS
        )
        try:
            with _Probe.connect(target, autocommit=True) as probe:
                question = {
                    "own": probe.info.backend_pid,
                    "pid": self.info.backend_pid,
                    "seconds": SILENT_SECONDS,
                }
                row = probe.execute(_IS_WORKING, question).fetchone()
        except errors.TooManyConnections:
            return  # the server answers
        except psycopg.OperationalError:
            self._give_up()
        else:
            # The answer of a statement that has just ended may be on its way: ask twice.
            working = row is not None and row[0]
            if not working and self._doubted:
                self._give_up()
            self._doubted = not working

    def _give_up(self) -> None:
        self.close()
        seconds = SILENT_SECONDS + PROBE_SECONDS
        raise psycopg.OperationalError(f"it has not answered for {seconds:.0f} seconds")


class _Probe(WatchedConnection):
    """A connection for one question, which has to be answered at once."""

    @property
    def _limit(self) -> float:
        return PROBE_SECONDS

    def _check_server(self) -> None:
        self._give_up()


def connect_watched(
    dialect: object,  # noqa: ARG001 - SQLAlchemy's event do_connect
    record: object,  # noqa: ARG001
    args: tuple[Any, ...],
    parameters: dict[str, Any],
) -> WatchedConnection:
    """Open a connection for SQLAlchemy."""
    return WatchedConnection.connect(*args, **parameters)
