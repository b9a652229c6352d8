"""The listing of queries."""

from collections.abc import Iterable
from typing import Any

from starcast.queries import measured
from starcast.queries.catalogue import describe_type
from starcast.queries.pack import Query
from starcast.support.table import Table


def list_queries(queries: Iterable[Query], note: str = "") -> Table:
    """Return queries with their parameters and the seconds measured on S6, S7 and S8."""
    rows = []
    for query in queries:
        figures = measured.measurements().find(query)
        row: dict[str, Any] = {
            "query": query.name,
            "question": query.header.question,
            "parameters": "; ".join(f"{p.name} ({describe_type(p)})" for p in query.parameters),
            "cost": query.header.cost,
        }
        for spec in measured.SIZES:
            row[_seconds_column(spec)] = figures.format_seconds(spec) if figures else ""
        rows.append(row)
    columns = ["query", "question", "parameters", "cost", *map(_seconds_column, measured.SIZES)]
    return Table.of(rows, columns, note, spare=("cost",))


def _seconds_column(spec: str) -> str:
    return f"seconds_{spec.lower()}"
