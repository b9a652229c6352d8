"""Client connections, with limits so that no client can block the others.

uvicorn closes idle connections (``timeout_keep_alive``), limits the size of headers
(``h11_max_incomplete_event_size``), and refuses all requests while there are too many connections
(``limit_concurrency``). It does not limit the time in which a request arrives or a response is
read. This module does: a request must be complete after `REQUEST_SECONDS`, and a client must keep
reading its response. A new connection is never refused. If there are too many connections, the
server closes the longest waiting connection of the client address that has the most connections.
"""

import asyncio
import resource
from collections import Counter
from collections.abc import Iterable
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

#: Seconds in which a request must arrive completely.
REQUEST_SECONDS = 10.0
#: A client must read at least `LEAST_READ_BYTES` of a response every `READ_SECONDS`.
LEAST_READ_BYTES = 64 * 1024
READ_SECONDS = 10.0
#: Largest number of open connections, which a low limit on open files reduces.
MAX_CONNECTIONS = 600
#: Largest number of bytes kept in memory because clients have not read them yet.
MAX_UNREAD_BYTES = 120_000_000
#: Number of connections that may wait to be accepted.
BACKLOG = 128

_LATE = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"


class ClientConnection(H11Protocol):
    """A connection with time limits for its requests and responses."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.since = 0.0
        self._unread = 0
        self._request_timer: asyncio.TimerHandle | None = None
        self._read_timer: asyncio.TimerHandle | None = None

    @property
    def address(self) -> str:
        """The address of the client."""
        return self.client[0] if self.client else ""

    @property
    def is_waiting(self) -> bool:
        """Whether the server waits for the client to send a request or to read a response."""
        return self._is_awaiting_request() or self._read_timer is not None

    @property
    def unread(self) -> int:
        """The number of bytes that the client has not read yet."""
        size: int = self.transport.get_write_buffer_size()
        return size

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the timer of the first request, and close a connection if too many are open."""
        super().connection_made(transport)
        self.since = self.loop.time()
        self._watch_request()
        others = [each for each in self.connections if isinstance(each, ClientConnection)]
        if len(others) > most_connections():
            close_longest_waiting(others)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop all timers."""
        self._stop_request_timer()
        self._stop_read_timer()
        super().connection_lost(exc)

    def handle_events(self) -> None:
        """Handle the received data, and wait for the rest if the request is incomplete."""
        super().handle_events()
        self._watch_request()

    def on_response_complete(self) -> None:
        """Begin to wait for the next request."""
        self.since = self.loop.time()
        super().on_response_complete()

    def pause_writing(self) -> None:
        """Start to check how much the client reads, because too many bytes are waiting for it."""
        super().pause_writing()
        self.since = self.loop.time()
        self._watch_reading()
        _limit_unread_bytes(each for each in self.connections if isinstance(each, ClientConnection))

    def resume_writing(self) -> None:
        """Stop checking how much the client reads, because few bytes are waiting for it."""
        self._stop_read_timer()
        super().resume_writing()

    def _is_awaiting_request(self) -> bool:
        return self.conn.their_state in (h11.IDLE, h11.SEND_BODY)

    def _watch_request(self) -> None:
        if not self._is_awaiting_request() or self.transport.is_closing():
            self._stop_request_timer()
        elif self._request_timer is None and self.timeout_keep_alive_task is None:
            self._request_timer = self.loop.call_later(REQUEST_SECONDS, self._end_late_request)

    def _end_late_request(self) -> None:
        self._request_timer = None
        if self.transport.is_closing():
            return
        # An error can be sent only before a response has begun.
        if self.conn.our_state is h11.IDLE:
            self.transport.write(_LATE)
        self.transport.close()

    def _stop_request_timer(self) -> None:
        if self._request_timer is not None:
            self._request_timer.cancel()
            self._request_timer = None

    def _watch_reading(self) -> None:
        self._unread = self.unread
        self._read_timer = self.loop.call_later(READ_SECONDS, self._check_reading)

    def _check_reading(self) -> None:
        self._read_timer = None
        # Without a minimum, a client could read single bytes and keep the connection for ever.
        if self._unread - self.unread < LEAST_READ_BYTES:
            self.transport.abort()
        else:
            self._watch_reading()

    def _stop_read_timer(self) -> None:
        if self._read_timer is not None:
            self._read_timer.cancel()
            self._read_timer = None


def most_connections() -> int:
    """Return the maximum number of connections, at most half of the files that may be open."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MAX_CONNECTIONS if files < 0 else min(MAX_CONNECTIONS, files // 2)


def close_longest_waiting(connections: Iterable[ClientConnection]) -> None:
    """Find the address with the most waiting connections, and close its longest waiting one."""
    waiting = [
        each
        for each in connections
        # A connection that is closing and has no unread bytes ends by itself.
        if each.is_waiting and (each.unread or not each.transport.is_closing())
    ]
    if not waiting:
        return
    counts = Counter(each.address for each in waiting)
    victim = min(waiting, key=lambda each: (-counts[each.address], each.since))
    victim.transport.abort()


def _limit_unread_bytes(connections: Iterable[ClientConnection]) -> None:
    """Close connections, the longest waiting first, until the unread bytes are within the limit."""
    unread = sorted((each for each in connections if each.unread), key=lambda each: each.since)
    total = sum(each.unread for each in unread)
    for each in unread:
        if total <= MAX_UNREAD_BYTES:
            return
        total -= each.unread
        each.transport.abort()
