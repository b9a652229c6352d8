"""The query listing, with the measured times of the queries that come with starcast.

The times are in `queries/measured.json`, which `benchmarks/packs.py` writes and which is never
edited by hand. The file contains the machine, the Neo4j version, and the times of one revision of
each query. These are the seconds of the query's worst case on each topology (null if it did not
finish within ``timeout`` seconds), and the seconds that other libraries took on the largest
topology.
"""

from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pydantic

from starcast.queries.pack import Query
from starcast.support.errors import RejectedError
from starcast.support.paths import data_folder
from starcast.support.table import Table

SIZES = ("S6", "S7", "S8")
LARGEST = SIZES[-1]


class Figures(pydantic.BaseModel):
    """Measured times of one query.

    Attributes:
        revision: the revision of the query that was measured.
        seconds: the query's seconds by topology; None if it did not finish.
        others: the seconds of other libraries on the topology `LARGEST`, by library.
    """

    model_config = pydantic.ConfigDict(frozen=True)

    revision: int
    seconds: dict[str, float | None]
    others: dict[str, float]


class Measurements(pydantic.BaseModel):
    """All measured times and the machine used; empty if there is no file of measurements.

    Attributes:
        timeout: the time-out of the measured queries in seconds.
    """

    model_config = pydantic.ConfigDict(frozen=True)

    machine: str = ""
    neo4j: str = ""
    timeout: float = 30.0
    queries: dict[str, Figures] = {}

    def find(self, query: Query) -> Figures | None:
        """Return a query's times, or None if this revision of the query was not measured."""
        figures = self.queries.get(query.name)
        # A query of the user may have the same name as one that comes with starcast.
        is_shipped = query.path.is_relative_to(data_folder("queries"))
        if figures is None or not is_shipped or figures.revision != query.header.revision:
            return None
        return figures

    def format_seconds(self, figures: Figures | None, spec: str) -> str:
        """Return the seconds on a topology as text: ``0.012``, ``> 30``, or empty if unknown."""
        if figures is None or spec not in figures.seconds:
            return ""
        seconds = figures.seconds[spec]
        return f"> {self.timeout:g}" if seconds is None else f"{seconds:.2g}"

    def describe(self, query: Query) -> str:
        """Return the times of a query as one sentence; empty if it was not measured."""
        figures = self.find(query)
        if figures is None:
            return ""
        measured = [spec for spec in SIZES if spec in figures.seconds]
        seconds = ", ".join(f"{spec} {self.format_seconds(figures, spec)} s" for spec in measured)
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
    """Read a measurement file; a missing file counts as empty.

    Raises:
        RejectedError: the file is not valid.
    """
    try:
        return Measurements.model_validate_json(path.read_bytes())
    # The query packs can still be used if they were copied without this file.
    except FileNotFoundError:
        return Measurements()
    except (OSError, pydantic.ValidationError):
        raise RejectedError(
            f"{path} is not a valid measurement file",
            hint="run 'python -m benchmarks packs --write'",
        ) from None


def list_queries(queries: Iterable[Query], note: str = "") -> Table:
    """Return a table of queries with their parameters and the seconds on S6, S7 and S8."""
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
            row[column] = known.format_seconds(figures, spec)
        rows.append(row)
    columns = ["query", "question", "parameters", "cost", *seconds_columns]
    return Table.of(rows, columns, note, spare=("cost",))
