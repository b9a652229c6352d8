"""Operating system functions for the servers: their account, processes, ports, files and locks.

Neo4j and PostgreSQL must not run as root: a query could then read every file of the machine. If
root starts them, they run as the system user ``starcast``. That user might be unable to traverse
the folders above the home folder, such as ``/root`` or pytest's temporary folders, and starcast
must not change the modes of these folders. So the working directory is set before switching to that
user, and a server opens its files below `WORKING_DIRECTORY`, without traversing the path. For the
same reason, logs and passwords are passed as open files. Only programs are started by path;
`starcast.embedded.programs` copies them if that user cannot read their folder.

A process id does not identify a server: after a crash, another process may get the same id. So a
process receives a signal only if its command line identifies it as a server of this home.
"""

import fcntl
import os
import pwd
import re
import shlex
import shutil
import signal
import socket
import stat
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil

from starcast.support.errors import LimitError, StarcastError, UnavailableError, is_disk_full

LOOPBACK = "127.0.0.1"
#: The system user that runs the servers if starcast is run by root.
SYSTEM_USER = "starcast"
#: The account comment by which `starcast uninstall` recognizes an account that starcast created.
COMMENT = "servers of starcast"
#: Path of a process's own working directory, which can be opened without access to the folders
#: above it.
WORKING_DIRECTORY = "/proc/self/cwd"
#: The entire environment of the servers: the default search path, and a locale with UTF-8.
ENVIRONMENT = {"PATH": os.defpath, "LC_ALL": "C.UTF-8"}
#: The account that runs the servers; None stands for the current user.
Account = pwd.struct_passwd | None
#: A function that returns whether a process is a particular server.
Matcher = Callable[[psutil.Process], bool]

#: A shell command that starts a server in the background and prints its process id. When the shell
#: exits, the server becomes a child of init, which reaps the server when it ends.
_DETACH = '"$@" >&2 & echo $!'
_ERROR_LINE = re.compile(r"\b(ERROR|FATAL|PANIC|error|Error|\w*Exception|Caused by)\b")
#: Log lines that do not explain a failed start: Java's messages about its class archive, which also
#: occur in a successful start; frames of stack traces; and PostgreSQL's failed statements.
_HARMLESS = re.compile(r"\[(cds|aot)[,\]]|^at |\] STATEMENT: ")
DISK_FULL = re.compile(r"No space left on device|Disk quota exceeded")

MB = 1_000_000


def server_account() -> Account:
    """Return the account that runs the servers; None stands for the current user.

    If the current user is root, the account is the system user, which is created if it is missing.

    Raises:
        UnavailableError: the system user cannot be created.
    """
    if os.geteuid() != 0:
        return None
    entry = find_system_user()
    if entry is None:
        command = ["useradd", "--system", "--user-group", "--no-create-home", "--comment", COMMENT]
        command += ["--home-dir", "/nonexistent", "--shell", "/usr/sbin/nologin", SYSTEM_USER]
        # If useradd is missing or not permitted, the check below raises an error.
        with suppress(OSError):
            subprocess.run(command, check=False, capture_output=True)
        entry = find_system_user()
    if entry is None:
        raise UnavailableError(
            "the servers must not run as root, and their system user "
            f"'{SYSTEM_USER}' cannot be created",
            hint=f"run starcast as another user, or create the system user '{SYSTEM_USER}'",
        )
    return entry


def find_system_user() -> Account:
    """Return the account of the system user, or None if the account does not exist."""
    with suppress(KeyError):
        return pwd.getpwnam(SYSTEM_USER)
    return None


def hand_over(folder: Path, account: Account) -> None:
    """Make an account the owner of a folder and its contents; do nothing if the account is None.

    The contents are checked even if the folder already belongs to the account, because an offline
    import that was run by root may have written to the folder.
    """
    if account is None:
        return
    for path in (*folder.rglob("*"), folder):
        if path.lstat().st_uid != account.pw_uid:
            os.chown(path, account.pw_uid, account.pw_gid, follow_symlinks=False)


def start_detached(command: Sequence[str], folder: Path, log: Path, account: Account) -> int:
    """Start a server in a new session, and return its process id.

    Args:
        command: the program and its arguments.
        folder: the working directory, entered before switching to the account.
        log: the file to which the output is appended, opened before switching to the account. So
            the account needs no access to the paths of ``folder`` and ``log``.
        account: the account to run as.
    """
    with log.open("ab") as output:
        shell = run_as(
            account,
            ["/bin/sh", "-c", _DETACH, "sh", *command],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=output,
            # In a new session, the server does not receive a Ctrl-C from the terminal.
            start_new_session=True,
            check=True,
        )
    return int(shell.stdout)


def run_as(
    account: Account, command: Sequence[str], **options: Any
) -> subprocess.CompletedProcess[Any]:
    """Run a program under an account, in the environment of the servers.

    Args:
        account: the account to run as.
        command: the program and its arguments.
        options: further arguments of `subprocess.run`.
    """
    return subprocess.run(  # noqa: PLW1510 - the caller chooses whether to check
        command,
        env=ENVIRONMENT,
        stdin=subprocess.DEVNULL,
        # Other users must not read data and logs, even if the user's umask would permit it.
        umask=0o077,
        user=account and account.pw_uid,
        group=account and account.pw_gid,
        # Another user must not inherit root's supplementary groups.
        extra_groups=account and [],
        **options,
    )


def has_argument(*markers: str) -> Matcher:
    """Return a matcher that accepts a process if its command line has one of the arguments."""
    return lambda process: not set(markers).isdisjoint(process.cmdline())


def find_all(matcher: Matcher) -> list[psutil.Process]:
    """Return all running processes that a matcher accepts, listed in ``stack.json`` or not."""
    return [process for process in psutil.process_iter() if is_match(process, matcher)]


def is_match(process: psutil.Process, matcher: Matcher) -> bool:
    """Return whether a process is alive and the matcher accepts it; False if it is inaccessible."""
    with suppress(psutil.Error, OSError):
        return process.status() != psutil.STATUS_ZOMBIE and matcher(process)
    return False


def is_alive(pid: int) -> bool:
    """Return whether a process exists and is not a zombie."""
    with suppress(psutil.Error):
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    return False


def send_signal(processes: Sequence[psutil.Process], number: signal.Signals) -> None:
    """Send a signal to processes; ended processes are skipped."""
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.send_signal(number)


def wait_or_kill(processes: Sequence[psutil.Process], seconds: float) -> list[psutil.Process]:
    """Wait until processes have ended; kill and return those that are alive after ``seconds``."""
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
    """Return the preferred TCP port on loopback if it is free, otherwise another free port."""
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
        wanted: the port in the settings; None for any port.
        preferred: the port to return if ``wanted`` is None and this port is free.
        title: the name of the server in the error message.

    Raises:
        UnavailableError: the wanted port is not free.
    """
    port = free_port(wanted or preferred)
    if wanted is not None and port != wanted:
        raise UnavailableError(
            f"port {wanted} for {title} is used by another process",
            hint="choose another port; 'starcast up --help' lists the options",
        )
    return port


def responds(port: int, greeting: bytes, seconds: float) -> bool:
    """Return whether the server on a loopback port answers a greeting within ``seconds``."""
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
    """Return whether a process listens on a port; check this before sending a password.

    If the process cannot be inspected, return whether any process listens on the port.
    """
    # The owner is looked up only if the port is open, because the look-up reads all sockets.
    if not is_listening(port):
        return False
    try:
        connections = psutil.Process(pid).net_connections("tcp")
    except psutil.NoSuchProcess:
        return False
    except psutil.AccessDenied:
        # The process belongs to another user. In some containers, not even root can inspect it.
        return True
    return any(
        connection.status == psutil.CONN_LISTEN and connection.laddr.port == port
        for connection in connections
    )


def memory_bytes(pid: int) -> int:
    """Return the memory of a process and its children in bytes.

    Memory pages that several of these processes share count once. If the operating system does not
    permit reading the shared pages, the result is the resident memory of the process alone.
    """
    total = 0
    with suppress(psutil.NoSuchProcess):
        process = psutil.Process(pid)
        for member in [process, *process.children(recursive=True)]:
            # A child process may end in the meantime, for example when a connection is closed.
            with suppress(psutil.NoSuchProcess):
                try:
                    total += member.memory_full_info().pss
                except psutil.AccessDenied:
                    return int(process.memory_info().rss)
    return total


def startup_error(title: str, log: Path) -> StarcastError:
    """Return the error for a server that exited during startup.

    The message contains the last error in the log. If the log reports a full disk, the error is a
    LimitError.
    """
    # A log can be long, and the reason for a failed start is at its end.
    text = log.read_bytes()[-20_000:].decode(errors="replace") if log.exists() else ""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    lines = [line for line in lines if not _HARMLESS.search(line)]
    if any(map(DISK_FULL.search, lines)):
        return disk_full_error(log.parent)
    errors = [line for line in lines if _ERROR_LINE.search(line)]
    line = (errors or lines or ["no output"])[-1]
    return UnavailableError(f"{title} exited during startup: {line}", hint=f"see the log {log}")


@contextmanager
def translate_os_errors(folder: Path) -> Iterator[None]:
    """Convert operating system errors about files below ``folder`` to starcast errors.

    Raises:
        LimitError: the disk is full.
        UnavailableError: another operating system error occurred in the context.
    """
    try:
        yield
    except OSError as error:
        if is_disk_full(error):
            raise disk_full_error(folder) from error
        path = error.filename or folder
        raise UnavailableError(
            f"{path} cannot be used: {(error.strerror or str(error)).lower()}",
            hint="choose other folders with `home` and STARCAST_CACHE",
        ) from error


def disk_full_error(folder: Path) -> LimitError:
    """Return the error for a full disk; ``folder`` is a folder on this disk."""
    return LimitError(
        f"the disk of {folder} is full", hint="free some space, then run the same command again"
    )


def require_space(
    folder: Path,
    megabytes: int,
    purpose: str,
    hint: str = "free some space, or choose another disk with `home` and STARCAST_CACHE",
) -> None:
    """Check the free space on the disk of a folder, which need not exist yet.

    Args:
        folder: the folder to be written to.
        megabytes: the space needed, in units of 10^6 bytes.
        purpose: subject of the error message, such as ``the embedded stack``.
        hint: the hint of the error.

    Raises:
        LimitError: the disk has less free space.
    """
    free = shutil.disk_usage(nearest_existing(folder)).free // MB
    if free < megabytes:
        raise LimitError(
            f"{purpose} needs {megabytes} MB in {folder}, but its disk has only {free} MB free",
            hint=hint,
        )


def require_private(folder: Path) -> None:
    """Check that only the current user and root can change the contents of a folder.

    Raises:
        UnavailableError: the folder belongs to another user, or other users can write to it.
    """
    status = folder.stat()
    if status.st_uid not in {0, os.geteuid()}:
        raise UnavailableError(
            f"{folder} belongs to the user with id {status.st_uid}, who could change its contents",
            hint="run starcast as that user, or choose another folder with `home`",
        )
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise UnavailableError(
            f"{folder} has mode {stat.S_IMODE(status.st_mode):o}: other users can write to it",
            hint=f"check its contents, then run: chmod go-w {shlex.quote(str(folder))}",
        )


def nearest_existing(folder: Path) -> Path:
    """Return the folder, or its nearest ancestor that exists."""
    return next(path for path in (folder, *folder.parents) if path.exists())


@contextmanager
def exclusive_lock(path: Path, on_wait: Callable[[], None], task: str = "") -> Iterator[None]:
    """Hold the lock on a file within the context; wait first if it is already locked.

    The kernel releases the lock even if the process is killed.

    Args:
        path: the lock file, created if missing.
        on_wait: called once, before waiting, if another process or thread holds the lock.
        task: the activity of this process while it holds the lock, which `read_lock_holder` returns
            to other processes.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            on_wait()
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        # The previous holder's task text may be longer than the new text.
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{time.time():.3f} {task}".encode(), 0)
        yield
    finally:
        os.close(descriptor)


def is_locked(path: Path) -> bool:
    """Return whether a process holds the lock on the file ``path``."""
    with suppress(FileNotFoundError), path.open("rb") as file:
        try:
            # Try a shared lock, so that processes that only check do not see each other's lock.
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def read_lock_holder(path: Path) -> tuple[str, float | None]:
    """Return the task of the process that holds the lock on a file, and the task's age in seconds.

    If the lock file names no task, return an empty string and None.
    """
    since, _, task = path.read_text(encoding="utf-8").partition(" ")
    return task, time.time() - float(since) if task else None


def rotate_log(log: Path) -> None:
    """Rename a log to ``NAME.before``, replacing the previous ``NAME.before``."""
    if log.exists():
        log.replace(log.with_name(f"{log.name}.before"))
