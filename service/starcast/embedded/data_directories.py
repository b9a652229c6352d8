"""Neo4j's data directories: the current one, and the new one that an offline import fills.

The file ``store`` in Neo4j's home names the current directory; without that file, the current
directory is ``data``. The file is written atomically, so it always names exactly one directory.
Every other data directory is stale: an interrupted import left it, or a newer one replaced it.
"""

import os
import re
import shutil
from pathlib import Path

from starcast.support.atomic import write_text
from starcast.support.errors import UnavailableError

_FIRST = "data"
_POINTER = "store"
_NAME = re.compile(r"data(?:-(\d+))?")
#: Folder for the input files, the configuration and the logs of an import.
_STAGING = "staging"
#: Files copied to a new directory: users, passwords and the server's id, but not the graph.
_SYSTEM_PARTS = ("dbms", "server_id", "databases/system", "transactions/system")


def current(home: Path) -> Path:
    """Return the current data directory of a Neo4j home, which the first start creates.

    Raises:
        UnavailableError: the pointer file names a directory that does not exist.
    """
    pointer = home / _POINTER
    name = pointer.read_text(encoding="utf-8").strip() if pointer.exists() else _FIRST
    directories = _directories(home)
    if not _NAME.fullmatch(name) or (directories and name not in directories):
        problem = f"{pointer} names '{name}'" if pointer.exists() else f"{pointer} is missing"
        if not directories:
            raise UnavailableError(
                f"{problem}, and {home} has no data directory",
                hint=f"delete {pointer} to start with an empty store",
            )
        raise UnavailableError(
            f"{problem}, but the data directories in {home} are {', '.join(directories)}",
            hint=f"write the name of the directory to use into {pointer}",
        )
    return home / name


def new_directory(home: Path) -> Path:
    """Return the path of a data directory that does not exist yet."""
    matches = map(_NAME.fullmatch, _directories(home))
    numbers = [int(match[1] or 0) for match in matches if match]
    return home / f"{_FIRST}-{max(numbers, default=0) + 1}"


def copy_system_data(old: Path, new: Path) -> None:
    """Copy users, passwords and the server's id from a directory whose server is stopped.

    Links are copied as links: the server's account could have created them to make root copy other
    files.
    """
    for name in _SYSTEM_PARTS:
        source = old / name
        target = new / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, symlinks=True)
        elif source.exists():
            shutil.copyfile(source, target, follow_symlinks=False)


def activate(directory: Path) -> None:
    """Make a directory the current one, atomically and safe against a power failure."""
    write_text(directory.parent / _POINTER, f"{directory.name}\n")
    # The renaming of the pointer file survives a power failure only if its folder is synced.
    folder = os.open(directory.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def staging(home: Path) -> Path:
    """Return the folder for an import's input files, configuration and logs."""
    return home / _STAGING


def stale_names(home: Path) -> list[str]:
    """Return the names of the staging folder and of all data directories but the current one.

    Raises:
        UnavailableError: the current directory cannot be determined.
    """
    current_name = current(home).name
    stale = [name for name in _directories(home) if name != current_name]
    return [*stale, _STAGING] if staging(home).exists() else stale


def delete_stale(home: Path) -> None:
    """Delete the directories that `stale_names` lists; no server or import may be using them.

    Raises:
        UnavailableError: the current directory cannot be determined; nothing is deleted.
    """
    for name in stale_names(home):
        shutil.rmtree(home / name)


def _directories(home: Path) -> list[str]:
    paths = home.glob(f"{_FIRST}*")
    return sorted(path.name for path in paths if _NAME.fullmatch(path.name) and path.is_dir())
