"""Connections that close when the server stops answering, instead of waiting forever.

TCP detects a dead network by keepalives and unacknowledged data. It does not detect a paused server
or a proxy that forwards nothing, because their kernel still acknowledges data. A statement may take
long, so silence alone is not an error: after `SILENT_SECONDS` a second connection finds out whether
the server still answers.
"""

from collections.abc import Generator
from contextlib import suppress
from time import monotonic
from typing import Any, TypeVar

import psycopg
from psycopg import errors, waiting
from psycopg.conninfo import make_conninfo
from sqlalchemy import Connection, text

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
