"""Which code decides what a check finds: one sum over its sources."""

import os
from collections.abc import Iterator
from functools import lru_cache
from hashlib import sha256
from operator import itemgetter
from pathlib import Path

from starcast.errors import RejectedError

_PACKAGE = Path(__file__).resolve().parents[1]
_PARTS = (
    "permutations.py",
    "support",
    "topologies",
    "trees",
    "checkers",
    "collectives",
    "simulator",
    "costs",
    "claims",
)
#: Of the ledger, what shows or moves findings and has no part in them.
_SHOWS = {"claims/parallel.py", "claims/report.py", "claims/report.html.j2", "claims/diff.py"}


#: Of a file: its name in the package, and what changes with its content: times of two kinds, size, and place on the disk.
_Stamp = tuple[str, int, int, int, int]


def fingerprint(package: Path = _PACKAGE) -> str:
    """The SHA-256 of the sources that decide what is found and how it is judged: their names and their bytes."""
    total = sha256()
    for name, _ in _sources(package):
        content = sha256((package / name).read_bytes()).hexdigest()
        total.update(f"{name} {content}\n".encode())
    return total.hexdigest()


def demand_same(before: str, package: Path = _PACKAGE) -> None:
    """Accept that the sources are still those of this fingerprint: processes that start later load what is there then.

    It is asked after every task, so files are read again only if one of them, or which there are, seems to have changed.

    Raises:
        RejectedError: they were changed meanwhile.
    """
    if _read(package, _stamps(package)) != before:
        raise RejectedError(
            "the sources of starcast were changed while it looked at statements",
            hint="run the same command again: what was found before the change is stored under the sources of then",
        )


@lru_cache(maxsize=1)
def _read(package: Path, stamps: tuple[_Stamp, ...]) -> str:  # noqa: ARG001 - with other stamps, it is read again
    return fingerprint(package)


def _stamps(package: Path) -> tuple[_Stamp, ...]:
    """Nobody sets st_ctime back, as those do who copy a file with its time."""
    seen = ((name, entry.stat()) for name, entry in _sources(package))
    return tuple(
        (name, file.st_mtime_ns, file.st_ctime_ns, file.st_size, file.st_ino) for name, file in seen
    )


def _sources(package: Path) -> list[tuple[str, os.DirEntry[str]]]:
    """By their names below the package, with slashes, in order."""
    return sorted(
        ((name, entry) for name, entry in _below(package, "") if name not in _SHOWS),
        key=itemgetter(0),
    )


def _below(folder: Path | str, name: str) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """By `os.scandir`: `Path.rglob` takes five times as long, and this is asked after every task."""
    with os.scandir(folder) as entries:
        for entry in entries:
            below = f"{name}{entry.name}"
            if not name and entry.name not in _PARTS:
                continue
            if entry.is_dir():
                yield from _below(entry.path, f"{below}/")
            elif below.endswith((".py", ".toml")):
                yield below, entry
