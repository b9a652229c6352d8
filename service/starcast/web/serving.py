"""The web server, whose connections have limits so that no client can block the others.

uvicorn closes idle connections (``timeout_keep_alive``), limits the size of headers
(``h11_max_incomplete_event_size``), and refuses all requests while there are too many connections
(``limit_concurrency``). It does not limit the time in which a request arrives or a response is
read. This module does: a request must be complete after `REQUEST_SECONDS`, and a client must keep
reading its response. A new connection is never refused. If there are too many connections, the
server closes the longest waiting connection of the client address that has the most connections.
"""

import asyncio
import errno
import logging
import os
import resource
import socket
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import closing
from typing import Any

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from starcast.support.errors import InputError, UnavailableError
from starcast.support.progress import sigterm_as_interrupt
from starcast.support.settings import Settings
from starcast.web.app import create_app
from starcast.web.guard import is_loopback
from starcast.web.service import Service

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
_KEEP_ALIVE_SECONDS = 5
_STOP_SECONDS = 3


def serve(
    settings: Settings,
    host: str,
    port: int,
    say: Callable[[str], None],
    warn: Callable[[str], None],
    flags: str = "",
) -> None:
    """Serve the API and the pages until Ctrl-C or SIGTERM.

    Args:
        settings: the settings that name the servers.
        host: the address or name to listen on.
        port: the port; 0 for a free one.
        say: receives the address.
        warn: receives a warning if other machines can reach the server.
        flags: see `Service`.

    Raises:
        InputError: there is no such address on this machine.
        UnavailableError: another program uses the port, or the port needs root.
        KeyboardInterrupt: the server was stopped.
    """
    with closing(_listen(host, port)) as listener:
        bound = listener.getsockname()[1]
        shown = f"[{host}]" if ":" in host else host
        if not is_loopback(host):
            warn(
                f"other machines can reach this server on {host}:{bound}: it has no passwords, and "
                "shows everything that is stored"
            )
        say(f"serving on http://{shown}:{bound}; stop it with Ctrl-C")
        config = configure(create_app(Service(settings, flags=flags), host))
        # uvicorn's log is off, because starcast's own log has the requests and errors.
        logging.getLogger("uvicorn").addHandler(logging.NullHandler())
        logging.getLogger("uvicorn").propagate = False
        with sigterm_as_interrupt():
            uvicorn.Server(config).run(sockets=[listener])
    # uvicorn returns normally after an interrupt, but the command must end as interrupted.
    raise KeyboardInterrupt


def configure(app: ASGIApp) -> uvicorn.Config:
    """Return the uvicorn configuration that serves an application.

    uvicorn's ``limit_concurrency`` is not used: it counts connections, so clients that send
    nothing could make all requests fail. `ClientConnection` and `Guard` have other limits.
    """
    return uvicorn.Config(
        app,
        http=ClientConnection,
        ws="none",  # `Guard` does not check WebSockets
        log_config=None,
        access_log=False,
        server_header=False,
        # `Guard` limits the requests per client address, and clients could forge the address in the
        # headers of a proxy.
        proxy_headers=False,
        backlog=BACKLOG,
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=_STOP_SECONDS,
    )


def _listen(host: str, port: int) -> socket.socket:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except OSError as error:
        raise InputError(
            f"'{host}' is not an address of this machine: {os.strerror(error.errno or 0)}"
            if error.errno and error.errno > 0
            else f"'{host}' is not an address of this machine",
            hint="give the `host` 127.0.0.1, or omit `host`",
        ) from None
    listener = socket.socket(family, kind, protocol)
    # With this option, a port can be used again as soon as the server on it has ended.
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(address)
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        raise _cannot_listen(error, host, port) from None
    return listener


def _cannot_listen(error: OSError, host: str, port: int) -> InputError | UnavailableError:
    if error.errno == errno.EADDRINUSE:
        return UnavailableError(
            f"another program uses the port {port} on {host}",
            hint="stop it, or choose another `port`; `port` 0 takes a free one",
        )
    if error.errno == errno.EACCES:
        return UnavailableError(
            f"the port {port} needs root", hint="choose a port from 1024 to 65535 with `port`"
        )
    return InputError(
        f"'{host}' is not an address of this machine: {(error.strerror or '').lower()}",
        hint="give the `host` 127.0.0.1, or omit `host`",
    )


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
