"""The server interface, and server processes: detached start, identification and stop.

A process id alone proves nothing: after a crash another process may have the same id. So no process
receives a signal unless its command line identifies it as a server of this home.
"""

import os
import re
import signal
import socket
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import psutil

from starcast.embedded import files
from starcast.embedded.home import Home, ServerProcess
from starcast.support.errors import StarcastError, UnavailableError

if TYPE_CHECKING:
    from starcast.support.settings import Settings

LOOPBACK = "127.0.0.1"
#: A function that returns whether a process is a particular server.
Matcher = Callable[[psutil.Process], bool]

#: The shell exits and the server becomes a child of init, which reaps it, so no zombie is left.
_DETACH = '"$@" >&2 & echo $!'
#: Tolerance in seconds when start times are compared, because a clock may have been adjusted. The
#: command line identifies a server; start times only detect the unlikely case that its process id
#: was reused.
_CLOCK_TOLERANCE = 60.0
_ERROR_LINE = re.compile(r"\b(ERROR|FATAL|PANIC|error|Error|\w*Exception|Caused by)\b")
DISK_FULL = re.compile(r"No space left on device|Disk quota exceeded")


@dataclass(frozen=True)
class User:
    """The user and group that a program runs as; None stands for those of this process."""

    uid: int | None = None
    gid: int | None = None

    @property
    def extra_groups(self) -> list[int] | None:
        """Supplementary groups: none for another user, which must not inherit root's groups."""
        return None if self.uid is None else []


class UnreadableDataError(Exception):
    """A server is running, but cannot open its data."""


class Server(ABC):
    """One server of one home.

    Attributes:
        name: the server's name in file names.
        title: the server's name in messages.
        user: the user to log in as.
        database: the database to connect to.
        stop_signal: the signal that makes it shut down cleanly.
        port_setting: the setting that chooses its port.
        greeting: the first bytes that a client sends; the server answers without a login.
        required_mb: disk space for its empty data and a first ingest, in megabytes.
        home: the home folder that it belongs to.
        logs: the log files to search after a failed start, the most important first.
        password_file: the file with the password of its user.
        marker: the command-line argument that identifies its process.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    user: ClassVar[str]
    database: ClassVar[str]
    stop_signal: ClassVar[signal.Signals]
    required_mb: ClassVar[int]
    port_setting: ClassVar[str]
    greeting: ClassVar[bytes]

    def __init__(self, home: Home) -> None:
        self.home = home
        self.logs: tuple[Path, ...] = (home.logs / f"{self.name}.log",)
        self.password_file = home.password_file(self.name)
        self.marker = home.marker(self.name)

    @property
    def password(self) -> str:
        """The password of the server's user."""
        return self.home.password(self.name)

    def refused_password(self) -> UnavailableError:
        """Return the error to raise when the server refuses the password of its home."""
        return UnavailableError(
            f"the embedded {self.title} refuses the password in {self.password_file}",
            hint=f"restore that file, or delete {self.home.root} and repeat 'starcast up' and "
            "your ingests",
        )

    @abstractmethod
    def find_processes(self) -> list[psutil.Process]:
        """Return all processes of this server, whether ``stack.json`` lists them or not."""

    @abstractmethod
    def prepare(self, settings: "Settings") -> None:
        """Create the server's folders, password and data; the server must not be running."""

    @abstractmethod
    def launch(self, settings: "Settings", port: int) -> int:
        """Start the server and return its process id, without waiting until it is ready."""

    @abstractmethod
    def is_ready(self, port: int) -> bool:
        """Finish the first-time set-up; return whether the server accepts logins on a port.

        Raises:
            UnavailableError: the server refuses the password of the home.
            UnreadableDataError: the server cannot open its data.
        """

    def tolerate_damage(self) -> bool:
        """Let the next start accept damaged data; return whether the server can do that."""
        return False


def minimal_environment() -> dict[str, str]:
    """Return the environment of the servers: the default search path and locale, nothing else."""
    return {"PATH": os.defpath, "LC_ALL": "C.UTF-8"}


def start_detached(command: Sequence[str], folder: Path, log: Path, user: User) -> int:
    """Start a server in a session of its own and return its process id.

    Args:
        command: the program and its arguments.
        folder: the working directory, entered before the user changes.
        log: the file to which the output is appended, opened before the user changes. Therefore
            the user need not have access to the paths of ``folder`` and ``log``.
        user: the user to run as.
    """
    with log.open("ab") as output:
        shell = subprocess.run(
            ["/bin/sh", "-c", _DETACH, "sh", *command],
            cwd=folder,
            env=minimal_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=output,
            # In a session of its own, the server does not receive a Ctrl-C from the terminal.
            start_new_session=True,
            # Data and logs stay private, whatever the user's umask is.
            umask=0o077,
            user=user.uid,
            group=user.gid,
            extra_groups=user.extra_groups,
            check=True,
        )
    return int(shell.stdout)


def has_argument(*markers: str) -> Matcher:
    """Return a matcher for processes with at least one of these command-line arguments."""
    return lambda process: not set(markers).isdisjoint(process.cmdline())


def find_server(server: ServerProcess | None, matcher: Matcher) -> psutil.Process | None:
    """Return the process of a ``stack.json`` entry, or None if it ended or its id was reused."""
    with suppress(psutil.Error):
        if server is not None:
            process = psutil.Process(server.pid)
            age_agrees = abs(process.create_time() - server.started) < _CLOCK_TOLERANCE
            if age_agrees and is_match(process, matcher):
                return process
    return None


def find_all(matcher: Matcher) -> list[psutil.Process]:
    """Return all live processes that match, whether ``stack.json`` lists them or not."""
    return [process for process in psutil.process_iter() if is_match(process, matcher)]


def is_match(process: psutil.Process, matcher: Matcher) -> bool:
    """Return whether a process is alive and matches; False if it may not be inspected."""
    with suppress(psutil.Error, OSError):
        return process.status() != psutil.STATUS_ZOMBIE and matcher(process)
    return False


def is_alive(pid: int) -> bool:
    """Return whether a process exists and is not a zombie."""
    with suppress(psutil.Error):
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    return False


def send_signal(processes: Sequence[psutil.Process], number: signal.Signals) -> None:
    """Send a signal to processes; those that have ended are skipped."""
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.send_signal(number)


def wait_or_kill(processes: Sequence[psutil.Process], seconds: float) -> list[psutil.Process]:
    """Wait for processes to end; kill and return those that are alive after ``seconds``."""
    remaining = _wait(processes, seconds)
    send_signal(remaining, signal.SIGKILL)
    _wait(remaining, 3)
    return remaining


def _wait(processes: Sequence[psutil.Process], seconds: float) -> list[psutil.Process]:
    # psutil's wait would treat a zombie as alive, and init may be slow to reap it.
    deadline = time.monotonic() + seconds
    while remaining := [process for process in processes if not _has_ended(process)]:
        if time.monotonic() > deadline:
            break
        time.sleep(0.02)
    return remaining


def _has_ended(process: psutil.Process) -> bool:
    # Threads of a killed process may hold its files for a moment after it became a zombie.
    with suppress(psutil.Error):
        return not process.is_running() or (
            process.status() == psutil.STATUS_ZOMBIE and process.num_threads() <= 1
        )
    return True


def free_port(preferred: int | None = None) -> int:
    """Return a free TCP port on loopback: the preferred one if it is free."""
    for port in (preferred or 0, 0):
        with socket.socket() as probe:
            # Like the servers, treat a port in TIME_WAIT after a restart as free.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            with suppress(OSError):
                probe.bind((LOOPBACK, port))
                return int(probe.getsockname()[1])
    raise OSError("no TCP port is free on loopback")


def choose_port(wanted: int | None, preferred: int | None, title: str) -> int:
    """Return a free TCP port on loopback for a server.

    Args:
        wanted: the port of the settings; None for any port.
        preferred: the port to return if it is free and no port is wanted.
        title: the name of the server in the error message.

    Raises:
        UnavailableError: the wanted port is not free.
    """
    port = free_port(wanted or preferred)
    if wanted is not None and port != wanted:
        raise UnavailableError(
            f"port {wanted} for {title} is used by another process",
            hint="choose another port, see 'starcast up --help'",
        )
    return port


def responds(port: int, greeting: bytes, seconds: float) -> bool:
    """Return whether the server on a loopback port answers a greeting within some seconds."""
    with suppress(OSError), socket.create_connection((LOOPBACK, port), timeout=seconds) as client:
        client.sendall(greeting)
        return bool(client.recv(1))
    return False


def is_listening(port: int) -> bool:
    """Return whether any process listens on a loopback port."""
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex((LOOPBACK, port)) == 0


def owns_port(pid: int, port: int) -> bool:
    """Return whether a process listens on a port, so that no other process gets its password."""
    try:
        connections = psutil.Process(pid).net_connections("tcp")
    except psutil.NoSuchProcess:
        return False
    except psutil.AccessDenied:
        # The process belongs to another user. Even root may not inspect it in some containers.
        return is_listening(port)
    return any(
        connection.status == psutil.CONN_LISTEN and connection.laddr.port == port
        for connection in connections
    )


def memory_bytes(pid: int) -> int:
    """Return the memory of a process and its children in bytes.

    Shared pages are counted once if the operating system reports them; otherwise the result is the
    resident memory of the process alone.
    """
    total = 0
    with suppress(psutil.NoSuchProcess):
        process = psutil.Process(pid)
        for member in [process, *process.children(recursive=True)]:
            # A child, such as one for a closed connection, may end meanwhile.
            with suppress(psutil.NoSuchProcess):
                try:
                    total += member.memory_full_info().pss
                except psutil.AccessDenied:
                    return int(process.memory_info().rss)
    return total


def startup_error(title: str, logs: Sequence[Path]) -> StarcastError:
    """Return the error for a server that exited during startup, with the last error in its logs."""
    lines = [(log, line) for log in logs for line in _last_lines(log)]
    errors = [(log, line) for log, line in lines if _ERROR_LINE.search(line)]
    log, line = (errors or lines or [(logs[0], "no output")])[-1]
    if any(DISK_FULL.search(line) for _, line in lines):
        return files.disk_full_error(log.parent)
    return UnavailableError(f"{title} exited during startup: {line}", hint=f"see the log {log}")


def _last_lines(log: Path) -> list[str]:
    with suppress(OSError):
        # A log can be long, and the reason for a failed start is at its end.
        text = log.read_bytes()[-20_000:].decode(errors="replace")
        return [line.strip() for line in text.splitlines() if line.strip()]
    return []
