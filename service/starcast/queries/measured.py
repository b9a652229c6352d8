"""The listing of queries, and measured times of the shipped ones, from `queries/measured.json`.

`benchmarks/packs.py` writes the file; it is never edited by hand. It holds the machine, the version
of Neo4j, and for each query at one revision the seconds of its worst case by topology (null if it
did not finish within ``timeout`` seconds) and the seconds of other libraries on the largest
topology.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from starcast.queries.pack import Query
from starcast.support.errors import RejectedError
from starcast.support.paths import data_folder
from starcast.support.table import Table

SIZES = ("S6", "S7", "S8")
LARGEST = SIZES[-1]


@dataclass(frozen=True)
class Figures:
    """Measured times of one query.

    Attributes:
        revision: the revision that was measured.
        seconds: by topology; None if the query did not finish.
        others: seconds on `LARGEST` by library.
        timeout: the time-out in seconds.
    """

    revision: int
    seconds: Mapping[str, float | None]
    others: Mapping[str, float]
    timeout: float

    def format_seconds(self, spec: str) -> str:
        """Return the seconds on a topology: ``0.012``, ``> 30``, or nothing if not measured."""
        if spec not in self.seconds:
            return ""
        seconds = self.seconds[spec]
        return f"> {self.timeout:g}" if seconds is None else f"{seconds:.2g}"


@dataclass(frozen=True)
class Measurements:
    """All measured times, and where they were measured; empty without the file."""

    machine: str = ""
    neo4j: str = ""
    queries: Mapping[str, Figures] = field(default_factory=dict)

    def find(self, query: Query) -> Figures | None:
        """Return the times of a shipped query; None for other queries and changed revisions."""
        figures = self.queries.get(query.name)
        # A query of the user may have the name of a shipped one.
        is_shipped = query.path.is_relative_to(data_folder("queries"))
        if figures is None or not is_shipped or figures.revision != query.header.revision:
            return None
        return figures

    def describe(self, query: Query) -> str:
        """Return the times of a query as one sentence, or nothing if it was not measured."""
        figures = self.find(query)
        if figures is None:
            return ""
        measured = [spec for spec in SIZES if spec in figures.seconds]
        seconds = ", ".join(f"{spec} {figures.format_seconds(spec)} s" for spec in measured)
        others = ", ".join(f"{name} {value:.2g} s" for name, value in figures.others.items())
        comparison = f"; the same question on {LARGEST}: {others}" if others else ""
        return f"measured: {seconds}{comparison}"


def measurements() -> Measurements:
    """Return the contents of `queries/measured.json`.

    Raises:
        RejectedError: the file is not valid.
    """
    return read_measurements(data_folder("queries") / "measured.json")


@cache
def read_measurements(path: Path) -> Measurements:
    """Read a measurement file; a missing file has no measurements.

    Raises:
        RejectedError: the file is not valid.
    """
    if not path.is_file():
        return Measurements()
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        queries = dict(_figures(document))
        return Measurements(str(document["machine"]), str(document["neo4j"]), queries)
    # JSON of another form, such as a list in place of an object, fails in one of these ways.
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        raise RejectedError(
            f"{path} is not a valid measurement file",
            hint="run 'python -m benchmarks packs --write'",
        ) from None


def _figures(document: Mapping[str, Any]) -> Iterator[tuple[str, Figures]]:
    timeout = float(document["timeout"])
    for name, entry in document["queries"].items():
        seconds = {
            spec: None if value is None else float(value)
            for spec, value in entry["seconds"].items()
        }
        others = {library: float(value) for library, value in entry["others"].items()}
        yield name, Figures(int(entry["revision"]), seconds, others, timeout)


def list_queries(queries: Iterable[Query], note: str = "") -> Table:
    """Return queries with their parameters and the seconds measured on S6, S7 and S8."""
    seconds_columns = {f"seconds_{spec.lower()}": spec for spec in SIZES}
    known = measurements()
    rows = []
    for query in queries:
        figures = known.find(query)
        row = {
            "query": query.name,
            "question": query.header.question,
            "parameters": "; ".join(f"{p.name} ({p.declaration})" for p in query.parameters),
            "cost": query.header.cost,
        }
        for column, spec in seconds_columns.items():
            row[column] = figures.format_seconds(spec) if figures else ""
        rows.append(row)
    columns = ["query", "question", "parameters", "cost", *seconds_columns]
    return Table.of(rows, columns, note, spare=("cost",))
