"""What the shipped queries take: measured by `benchmarks/packs.py`, which writes `queries/measured.json`, never by hand.

The file holds the machine, Neo4j's version, and for each query at one revision the seconds of its worst case by topology (none
where it did not end within ``timeout`` seconds) and the seconds of the same question in other libraries on the largest one.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from starcast.errors import RejectedError
from starcast.queries.pack import Query
from starcast.resources import folder

SIZES = ("S6", "S7", "S8")
LARGEST = SIZES[-1]
#: Cypher is the wrong tool where it takes more seconds than this, and another library takes this many times less.
SLOW, FASTER = 1.0, 20.0


@dataclass(frozen=True)
class Figures:
    """What one query takes at one revision: seconds by topology, None where it did not end; others' on `LARGEST`."""

    revision: int
    seconds: Mapping[str, float | None]
    others: Mapping[str, float]
    timeout: float

    def written(self, spec: str) -> str:
        """The seconds on a topology in words: ``0.012``, ``> 30`` where it did not end, nothing where nobody measured."""
        if spec not in self.seconds:
            return ""
        found = self.seconds[spec]
        return f"> {self.timeout:g}" if found is None else f"{found:.2g}"

    def better(self) -> tuple[str, float] | None:
        """The library that is so much faster that Cypher is the wrong tool, and how many times faster; else None."""
        ours = self.seconds.get(LARGEST, 0.0)
        ours = self.timeout if ours is None else ours
        if ours <= SLOW or not self.others:
            return None
        name = min(self.others, key=lambda one: self.others[one])
        ratio = ours / self.others[name]
        return (name, ratio) if ratio >= FASTER else None


@dataclass(frozen=True)
class Measurements:
    """All figures, and where they were taken; empty where the file is not there."""

    machine: str = ""
    neo4j: str = ""
    queries: Mapping[str, Figures] = field(default_factory=dict)

    def of(self, query: Query) -> Figures | None:
        """The figures of a shipped query as it is now; None for one's own, and for what changed since it was measured."""
        found = self.queries.get(query.name)
        shipped = query.path.is_relative_to(folder("queries"))
        return (
            found
            if found is not None and shipped and found.revision == query.header.revision
            else None
        )

    def told(self, query: Query) -> str:
        """The figures of a query as one sentence; nothing where there are none."""
        figures = self.of(query)
        if figures is None:
            return ""
        seconds = [f"{spec} {figures.written(spec)} s" for spec in SIZES if spec in figures.seconds]
        others = [f"{name} {value:.2g} s" for name, value in figures.others.items()]
        beside = f"; the same question on {LARGEST}: {', '.join(others)}" if others else ""
        return f"measured: {', '.join(seconds)}{beside}"


def measurements() -> Measurements:
    """What `queries/measured.json` holds.

    Raises:
        RejectedError: it is not of the form that the benchmark writes.
    """
    return read(folder("queries") / "measured.json")


@cache
def read(path: Path) -> Measurements:
    """The measurements in a file; none if it is not there.

    Raises:
        RejectedError: it is not of the form.
    """
    if not path.is_file():
        return Measurements()
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
        return Measurements(str(told["machine"]), str(told["neo4j"]), dict(_figures(told)))
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        raise RejectedError(
            f"{path} is not of the form that the benchmark writes",
            hint="run 'python -m benchmarks packs --write'",
        ) from None


def _figures(told: Mapping[str, Any]) -> Iterator[tuple[str, Figures]]:
    timeout = float(told["timeout"])
    for name, one in told["queries"].items():
        seconds = {
            spec: None if value is None else float(value) for spec, value in one["seconds"].items()
        }
        others = {library: float(value) for library, value in one["others"].items()}
        yield name, Figures(int(one["revision"]), seconds, others, timeout)
