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
#: Sources in claims/ that store or show evidence and do not decide what a check finds.
_NOT_DECIDING = {
    "claims/claim_run.py",
    "claims/diff.py",
    "claims/fingerprint.py",
    "claims/parallel.py",
    "claims/report.py",
    "claims/sharding.py",
    "claims/storage.py",
}


#: A file's name in the package, and values that change with its content: mtime, ctime, size, inode.
_Stamp = tuple[str, int, int, int, int]


def fingerprint(package: Path = _PACKAGE) -> str:
    """Return the SHA-256 of the names and bytes of the sources that decide verdicts."""
    total = sha256()
    for name, _ in _sources(package):
        content = sha256((package / name).read_bytes()).hexdigest()
        total.update(f"{name} {content}\n".encode())
    return total.hexdigest()


def demand_same(before: str, package: Path = _PACKAGE) -> None:
    """Check that the sources still have this fingerprint, since workers that start later load them.

    The check runs after every task, so files are read again only if their metadata or the list of
    files changed.

    Raises:
        RejectedError: the sources changed.
    """
    if _read(package, _stamps(package)) != before:
        raise RejectedError(
            "the sources of starcast were changed during the verification run",
            hint="run the same command again: evidence from before the change is stored with the"
            " fingerprint of the old sources",
        )


@lru_cache(maxsize=1)
def _read(package: Path, stamps: tuple[_Stamp, ...]) -> str:  # noqa: ARG001 - part of the cache key
    return fingerprint(package)


def _stamps(package: Path) -> tuple[_Stamp, ...]:
    """Return the metadata of all sources; copying a file with its mtime still changes st_ctime."""
    seen = ((name, entry.stat()) for name, entry in _sources(package))
    return tuple(
        (name, file.st_mtime_ns, file.st_ctime_ns, file.st_size, file.st_ino) for name, file in seen
    )


def _sources(package: Path) -> list[tuple[str, os.DirEntry[str]]]:
    """Return the sources in the order of their names below the package, with slashes."""
    return sorted(
        ((name, entry) for name, entry in _below(package, "") if name not in _NOT_DECIDING),
        key=itemgetter(0),
    )


def _below(folder: Path | str, name: str) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """Yield the sources below a folder; `os.scandir` is five times as fast as `Path.rglob`."""
    with os.scandir(folder) as entries:
        for entry in entries:
            below = f"{name}{entry.name}"
            if not name and entry.name not in _PARTS:
                continue
            if entry.is_dir():
                yield from _below(entry.path, f"{below}/")
            elif below.endswith((".py", ".toml")):
                yield below, entry
