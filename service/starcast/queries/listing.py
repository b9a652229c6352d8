"""Listings of queries, and results as people read them: paths hop by hop, nodes by their labels."""

from collections.abc import Iterable, Sequence
from typing import Any

from starcast.graph.connection import QueryResult
from starcast.queries import measured
from starcast.queries.catalogue import describe_type
from starcast.queries.pack import Query
from starcast.queries.picture import PATH
from starcast.support.table import Table


def list_queries(queries: Iterable[Query]) -> Table:
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
    return Table.of(rows, columns)


def _seconds_column(spec: str) -> str:
    return f"seconds_{spec.lower()}"


def as_read(result: QueryResult | Table) -> Table:
    """Return the rows of a result for people: paths hop by hop, and nodes by their labels."""
    columns = list(result.columns)
    rows = [dict(row) for row in result.rows]
    if {PATH, "ports"} <= set(columns) and _are_paths(rows, PATH):
        for row in rows:
            row["path"] = hops(row[PATH] or [], row["ports"] or [])
        columns = ["path" if name == PATH else name for name in columns if name != "ports"]
    rows = [{name: _short(value) for name, value in row.items()} for row in rows]
    return Table.of(rows, columns)


def _short(value: Any) -> Any:
    """Return a node as its label, spec or id, and a relationship with its type and properties."""
    match value:
        case {"type": str(kind), **properties}:
            listed = (f"{name}={item}" for name, item in properties.items())
            return f"{kind}({', '.join(listed)})"
        case {"topology": _, "label": label}:
            return label
        case {"spec": identity} | {"id": identity}:
            return identity
        case list():
            return [_short(item) for item in value]
    return value


def _are_paths(rows: Sequence[dict[str, Any]], path: str) -> bool:
    """Return whether the columns hold paths: one port for every node but the last."""
    pairs = [(row[path] or [], row["ports"] or []) for row in rows]
    return all(
        isinstance(nodes, list) and isinstance(ports, list) and len(nodes) in {0, len(ports) + 1}
        for nodes, ports in pairs
    )


def hops(nodes: Sequence[Any], ports: Sequence[Any]) -> str:
    """Return a path hop by hop, ``123 -2-> 213 -3-> 312``, with the port of each sender."""
    steps = [f" -{port}-> {node}" for node, port in zip(nodes[1:], ports, strict=True)]
    return "".join([str(nodes[0]), *steps]) if nodes else ""
