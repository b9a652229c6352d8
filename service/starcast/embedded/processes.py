"""Server processes: started detached, recognised for certain, stopped politely and then not.

A process number alone proves nothing: after a crash it may belong to somebody else. So nothing is signalled that
does not also say by its command line that it is the server of this home.
"""

import os
import re
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from starcast.embedded import files
from starcast.embedded.home import Running
from starcast.errors import StarcastError, UnavailableError

LOOPBACK = "127.0.0.1"
#: Whether a process is a certain server.
Mark = Callable[[psutil.Process], bool]

#: The shell goes, the server stays: it becomes a child of init, which reaps it, and never a zombie of ours.
_DETACH = '"$@" >&2 & echo $!'
#: Clocks are set; the mark of the process decides, its age only guards against the rarest coincidence.
_CLOCK_TOLERANCE = 60.0
_TELLING = re.compile(r"\b(ERROR|FATAL|PANIC|error|Error|\w*Exception|Caused by)\b")
FULL = re.compile(r"No space left on device|Disk quota exceeded")


@dataclass(frozen=True)
class User:
    """Who a program runs as: the numbers of a user and a group, or None for ourselves."""

    number: int | None = None
    group: int | None = None

    @property
    def more_groups(self) -> list[int] | None:
        """No other group: root's are not for others."""
        return None if self.number is None else []


def environment() -> dict[str, str]:
    """What a server gets to see of our environment: nothing but where programs are."""
    return {"PATH": os.defpath, "LC_ALL": "C.UTF-8"}


def start(command: Sequence[str], folder: Path, log: Path, user: User) -> int:
    """Start a server in a session of its own, its output appended to ``log``; returns its process number.

    ``folder`` is entered and ``log`` opened before the user is changed, so both may lie where that user cannot go.
    """
    with log.open("ab") as output:
        shell = subprocess.run(
            ["/bin/sh", "-c", _DETACH, "sh", *command],
            cwd=folder,
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=output,
            start_new_session=True,
            umask=0o077,
            user=user.number,
            group=user.group,
            extra_groups=user.more_groups,
            check=True,
        )
    return int(shell.stdout)


def find(server: Running | None, mark: Mark) -> psutil.Process | None:
    """The live process that a published entry speaks of, if it is still that one."""
    with suppress(psutil.Error):
        if server is not None:
            process = psutil.Process(server.pid)
            if abs(process.create_time() - server.started) < _CLOCK_TOLERANCE and bears(
                process, mark
            ):
                return process
    return None


def search(mark: Mark) -> list[psutil.Process]:
    """All live processes with the mark: also those that nobody wrote down."""
    return [process for process in psutil.process_iter() if bears(process, mark)]


def bears(process: psutil.Process, mark: Mark) -> bool:
    """Whether a process lives and bears the mark; one that may not be looked at does not."""
    with suppress(psutil.Error, OSError):
        return process.status() != psutil.STATUS_ZOMBIE and mark(process)
    return False


def lives(pid: int) -> bool:
    """Whether there is a process of that number that has not ended."""
    with suppress(psutil.Error):
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    return False


def ask(processes: Sequence[psutil.Process], polite: signal.Signals) -> None:
    """Send processes a signal; those that have ended meanwhile need none."""
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.send_signal(polite)


def wait(processes: Sequence[psutil.Process], patience: float) -> list[psutil.Process]:
    """Wait for processes to end, and kill those that have not after ``patience`` seconds; returns these."""
    stubborn = _outlast(processes, patience)
    ask(stubborn, signal.SIGKILL)
    _outlast(stubborn, 3)
    return stubborn


def _outlast(processes: Sequence[psutil.Process], patience: float) -> list[psutil.Process]:
    # Not psutil's wait: where init is slow to reap, or never does, it takes the dead for living.
    deadline = time.monotonic() + patience
    while living := [process for process in processes if not _has_ended(process)]:
        if time.monotonic() > deadline:
            break
        time.sleep(0.02)
    return living


def _has_ended(process: psutil.Process) -> bool:
    """Whether nothing of a process is left; of a killed one, threads may still hold its files for a moment."""
    with suppress(psutil.Error):
        return not process.is_running() or (
            process.status() == psutil.STATUS_ZOMBIE and process.num_threads() <= 1
        )
    return True


def free_port(wish: int | None = None) -> int:
    """A TCP port on loopback that nobody listens on: the one wished for if it is free."""
    for port in (wish or 0, 0):
        with socket.socket() as probe:
            # As the servers do it: a port that is only cooling down after a restart counts as free.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            with suppress(OSError):
                probe.bind((LOOPBACK, port))
                return int(probe.getsockname()[1])
    raise OSError("no TCP port is free on loopback")


def listens(port: int) -> bool:
    """Whether somebody listens on a port on loopback."""
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex((LOOPBACK, port)) == 0


def serves(pid: int, port: int) -> bool:
    """Whether it is this process that listens on that port, so that no stranger is told a password."""
    try:
        connections = psutil.Process(pid).net_connections("tcp")
    except psutil.NoSuchProcess:
        return False
    except (
        psutil.AccessDenied
    ):  # another user's process, and we are root without all its powers, as in a container
        return listens(port)
    return any(
        each.status == psutil.CONN_LISTEN and each.laddr.port == port for each in connections
    )


def memory(pid: int) -> int:
    """Bytes that a process and its children hold, each shared page once where the system lets us see that."""
    with suppress(psutil.NoSuchProcess):
        process = psutil.Process(pid)
        family = [process, *process.children(recursive=True)]
        try:
            return sum(each.memory_full_info().pss for each in family)
        except psutil.AccessDenied:
            return int(process.memory_info().rss)
    return 0


def died(title: str, logs: Sequence[Path]) -> StarcastError:
    """The error of a server that ended while it started: its log, and the line there that tells most."""
    lines = [(log, line) for log in logs for line in _tail(log)]
    telling = [(log, line) for log, line in lines if _TELLING.search(line)]
    log, line = (telling or lines or [(logs[0], "it said nothing")])[-1]
    if any(FULL.search(line) for _, line in lines):
        return files.full_disk(log.parent)
    return UnavailableError(
        f"{title} ended while it started: {line}", hint=f"the whole story is in {log}"
    )


def _tail(log: Path) -> list[str]:
    with suppress(OSError):
        text = log.read_bytes()[-20_000:].decode(errors="replace")
        return [line.strip() for line in text.splitlines() if line.strip()]
    return []
