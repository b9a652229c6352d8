"""Neo4j's data directories: the one in force, which a small file names, and the fresh one that an import fills beside it.

The file ``store`` in Neo4j's home is the pointer. It is written whole, so at any moment it names one directory; where it is
missing, that is ``data``. Whatever else looks like a data directory was left by an import that was broken off, or replaced.
"""

import os
import re
import shutil
from pathlib import Path

from starcast.errors import UnavailableError
from starcast.support.atomic import write_text

_FIRST = "data"
_POINTER = "store"
_NAME = re.compile(r"data(?:-(\d+))?")
#: Where an import gets its files, its configuration and its logs.
_STAGING = "staging"
#: What a fresh directory takes over: users and their passwords, and who the server is. The graph is not among it.
_KEPT = ("dbms", "server_id", "databases/system", "transactions/system")


def current(home: Path) -> Path:
    """The data directory in force below Neo4j's home; a home that has not run has none yet.

    Raises:
        UnavailableError: the pointer names nothing, or a directory that is gone.
    """
    pointer = home / _POINTER
    name = pointer.read_text(encoding="utf-8").strip() if pointer.exists() else _FIRST
    there = _directories(home)
    if not _NAME.fullmatch(name) or (there and name not in there):
        says = f"{pointer} names '{name}'" if pointer.exists() else f"the file {pointer} is missing"
        raise UnavailableError(
            f"{says}, and the data directories in {home} are {', '.join(there) or 'none'}",
            hint=f"write the name of the one to use into {pointer}",
        )
    return home / name


def fresh(home: Path) -> Path:
    """The name of a data directory that does not exist yet."""
    numbers = [int(match[1] or 0) for match in map(_NAME.fullmatch, _directories(home)) if match]
    return home / f"{_FIRST}-{max(numbers, default=0) + 1}"


def take_over(old: Path, new: Path) -> None:
    """Copy what is no graph from a data directory whose server is down, so that passwords stay."""
    for name in _KEPT:
        source, target = old / name, new / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target)
        elif source.exists():
            shutil.copyfile(source, target)


def point(directory: Path) -> None:
    """Make a directory the one in force, in one step that outlives a power cut."""
    write_text(directory.parent / _POINTER, f"{directory.name}\n")
    folder = os.open(directory.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def staging(home: Path) -> Path:
    """The folder for what an import reads and logs."""
    return home / _STAGING


def leftovers(home: Path) -> list[str]:
    """The names of the directories that are not in force, and of the staging folder.

    Raises:
        UnavailableError: which one is in force cannot be told.
    """
    kept = current(home).name
    others = [name for name in _directories(home) if name != kept]
    return [*others, _STAGING] if staging(home).exists() else others


def sweep(home: Path) -> None:
    """Remove the `leftovers`, which no server and no import uses.

    Raises:
        UnavailableError: which directory is in force cannot be told; nothing is removed.
    """
    for name in leftovers(home):
        shutil.rmtree(home / name)


def _directories(home: Path) -> list[str]:
    return sorted(
        path.name
        for path in home.glob(f"{_FIRST}*")
        if _NAME.fullmatch(path.name) and path.is_dir()
    )
