"""Server processes: started detached, recognised for certain, stopped politely and then not.

A process number alone proves nothing: after a crash it may belong to somebody else. So nothing is signalled that
does not also say, by its command line or its working folder, that it is the server of this home.
"""

import os
import re
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from starcast.errors import StarcastError, UnavailableError
from starcast.local import files
from starcast.local.home import Running

if TYPE_CHECKING:
    import psutil

LOOPBACK = "127.0.0.1"
Mark = Callable[["psutil.Process"], bool]

_TELLING = re.compile(r"\b(ERROR|FATAL|PANIC|[Ee]rror|[Ee]xception|Caused by)\b|Exception:")
_FULL = re.compile(r"No space left on device|Disk quota exceeded")

#: The shell goes, the server stays: it becomes a child of init, which reaps it, and never a zombie of ours.
_DETACH = '"$@" >&2 & echo $!'
#: Clocks are set; the mark of the process decides, its age only guards against the rarest coincidence.
_CLOCK_TOLERANCE = 60.0


def start(command: Sequence[str], folder: Path, log: Path, environment: Mapping[str, str], user: int | None) -> int:
    """Start a server in a session of its own, its output appended to ``log``; returns its process number.

    ``folder`` is entered and ``log`` opened before the user is changed, so both may lie where that user cannot go.
    """
    with log.open("ab") as output:
        shell = subprocess.run(
            ["/bin/sh", "-c", _DETACH, "sh", *command],
            cwd=folder,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=output,
            start_new_session=True,
            umask=0o077,
            check=True,
            **identity(user),
        )
    return int(shell.stdout)


def identity(user: int | None) -> dict[str, int | list[int]]:
    """The arguments of `subprocess.run` that change to the user of that number; none for None."""
    import pwd

    if user is None:
        return {}
    return {"user": user, "group": pwd.getpwuid(user).pw_gid, "extra_groups": []}


def find(server: Running | None, mark: Mark) -> "psutil.Process | None":
    """The live process that a published entry speaks of, if it is still that one."""
    import psutil

    if server is None:
        return None
    with suppress(psutil.Error):
        process = psutil.Process(server.pid)
        if abs(process.create_time() - server.started) < _CLOCK_TOLERANCE and bears(process, mark):
            return process
    return None


def bears(process: "psutil.Process", mark: Mark) -> bool:
    """Whether a process lives and bears the mark; one that may not be looked at does not."""
    import psutil

    with suppress(psutil.Error, OSError):
        return process.status() != psutil.STATUS_ZOMBIE and mark(process)
    return False


def search(mark: Mark) -> Iterator["psutil.Process"]:
    """All live processes with the mark: also those that nobody wrote down."""
    import psutil

    return (process for process in psutil.process_iter() if bears(process, mark))


def stop(processes: Sequence["psutil.Process"], polite: signal.Signals, patience: float) -> bool:
    """Ask processes to end, and kill those that have not after ``patience`` seconds; True when none had to be killed."""
    ask(processes, polite)
    return wait(processes, patience)


def ask(processes: Sequence["psutil.Process"], polite: signal.Signals) -> None:
    """Send processes a signal; those that have ended meanwhile need none."""
    import psutil

    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.send_signal(polite)


def wait(processes: Sequence["psutil.Process"], patience: float) -> bool:
    """Wait for processes to end, and kill those that have not; True when none had to be killed."""
    import psutil

    _, stubborn = psutil.wait_procs(processes, timeout=patience)
    for process in stubborn:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    psutil.wait_procs(stubborn, timeout=5)
    return not stubborn


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


def environment() -> dict[str, str]:
    """What a server gets to see of our environment: nothing but where programs are."""
    return {"PATH": os.defpath, "LC_ALL": "C.UTF-8"}


def died(title: str, logs: Sequence[Path]) -> StarcastError:
    """The error of a server that ended while it started: its log, and the line there that tells most."""
    lines = [line for log in reversed(logs) for line in _tail(log)]
    telling = [line for line in lines if _TELLING.search(line)]
    said = (telling or lines or ["it said nothing"])[-1]
    if _FULL.search("\n".join(lines)):
        return files.full_disk(logs[0].parent)
    return UnavailableError(f"{title} ended while it started: {said}", hint=f"the whole story is in {logs[0]}")


def _tail(log: Path) -> list[str]:
    with suppress(OSError):
        text = log.read_bytes()[-20_000:].decode(errors="replace")
        return [line.strip() for line in text.splitlines() if line.strip()]
    return []
