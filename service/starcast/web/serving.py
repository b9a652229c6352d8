"""Run the web server: open the socket that it listens on, and configure uvicorn."""

import errno
import logging
import os
import socket
from collections.abc import Callable
from contextlib import closing

import uvicorn
from starlette.types import ASGIApp

from starcast.support.errors import InputError, UnavailableError
from starcast.support.progress import sigterm_as_interrupt
from starcast.support.settings import Settings
from starcast.web.app import create_app
from starcast.web.guard import is_loopback
from starcast.web.service import Service

#: Number of connections that may wait to be accepted.
BACKLOG = 128
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
        port: the port; 0 for a free port.
        say: function that prints the message with the address of the server.
        warn: function that prints the warning that other machines can reach the server.
        flags: the flags --home and --plugin of this server, which are added to commands in hints
            and on pages.

    Raises:
        InputError: the host is not an address of this machine.
        UnavailableError: another program uses the port, or only root can use the port.
        KeyboardInterrupt: the server was stopped.
    """
    with closing(_listen(host, port)) as listener:
        bound = listener.getsockname()[1]
        shown = f"[{host}]" if ":" in host else host
        if not is_loopback(host):
            warn(
                f"other machines can reach this server on {host}:{bound}: it has no passwords, and "
                "shows all stored data"
            )
        say(f"serving on http://{shown}:{bound}; stop it with Ctrl-C")
        config = configure(create_app(Service(settings, flags=flags), host))
        # uvicorn's log is off, because starcast's own log contains the requests and errors.
        logging.getLogger("uvicorn").addHandler(logging.NullHandler())
        logging.getLogger("uvicorn").propagate = False
        with sigterm_as_interrupt():
            uvicorn.Server(config).run(sockets=[listener])
    # uvicorn returns normally after an interrupt, but the command must end as interrupted.
    raise KeyboardInterrupt


def configure(app: ASGIApp) -> uvicorn.Config:
    """Return the uvicorn configuration that serves an application.

    uvicorn's ``limit_concurrency`` is not used: it counts connections, so clients that send
    nothing could make all requests fail. `Guard` limits the number of running requests.
    """
    return uvicorn.Config(
        app,
        http="h11",
        ws="none",  # `Guard` does not check WebSockets
        log_config=None,
        access_log=False,
        server_header=False,
        # Headers such as X-Forwarded-For are ignored, because clients could forge them.
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
    # A name with an empty part, such as 127.0..1, raises a UnicodeError.
    except (OSError, UnicodeError) as error:
        number = getattr(error, "errno", None) or 0
        raise InputError(
            f"'{host}' is not an address of this machine: {os.strerror(number)}"
            if number > 0
            else f"'{host}' is not an address of this machine",
            hint="use the `host` 127.0.0.1, or omit `host`",
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
            hint="stop that program, or choose another `port` (0 for a free port)",
        )
    if error.errno == errno.EACCES:
        return UnavailableError(
            f"only root can use the port {port}",
            hint="choose a port from 1024 to 65535 with `port`",
        )
    if error.errno in {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}:
        return UnavailableError(
            f"this machine cannot open another port: {(error.strerror or '').lower()}",
            hint="end other programs, or raise the limit on open files",
        )
    return InputError(
        f"'{host}' is not an address of this machine: {(error.strerror or '').lower()}",
        hint="use the `host` 127.0.0.1, or omit `host`",
    )
