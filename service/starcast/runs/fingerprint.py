"""Which code decides what a check finds: one sum over its sources."""

from hashlib import sha256
from pathlib import Path

from starcast.errors import RejectedError

_PACKAGE = Path(__file__).resolve().parents[1]
_PARTS = (
    "permutations.py",
    "arrays.py",
    "whole.py",
    "topologies",
    "trees",
    "checkers",
    "collectives",
    "simulator",
    "costs",
    "claims",
)
#: Of the ledger, what shows or moves findings and has no part in them.
_SHOWS = {"claims/running.py", "claims/report.py", "claims/report.html.j2", "claims/changes.py"}


def fingerprint(package: Path = _PACKAGE) -> str:
    """The SHA-256 of the sources that decide what is found and how it is judged: their names and their bytes."""
    total = sha256()
    for file in _sources(package):
        content = sha256(file.read_bytes()).hexdigest()
        total.update(f"{file.relative_to(package).as_posix()} {content}\n".encode())
    return total.hexdigest()


def demand_same(before: str) -> None:
    """Accept that the sources are still those of this fingerprint: processes that start later load what is there then.

    Raises:
        RejectedError: they were changed meanwhile.
    """
    if fingerprint() != before:
        raise RejectedError(
            "the sources of starcast were changed while it looked at statements",
            hint="run the same command again: what was found before the change is stored under the sources of then",
        )


def _sources(package: Path) -> list[Path]:
    found: list[Path] = []
    for part in _PARTS:
        where = package / part
        found += [where] if where.is_file() else [file for file in where.rglob("*") if file.suffix in (".py", ".md")]
    return sorted(file for file in found if file.relative_to(package).as_posix() not in _SHOWS)
