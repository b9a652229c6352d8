"""Output of ``starcast query run``: a listing with paths hop by hop, or a picture."""

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starcast.cli.output import Format, emit, say
from starcast.errors import InputError
from starcast.vocabulary import Layout

if TYPE_CHECKING:
    from starcast.graph.connection import QueryResult
    from starcast.queries import Query


class Output(StrEnum):
    """Format of a query result: a listing or a picture."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    MARKDOWN = "markdown"
    SVG = "svg"


def check_options(output: Output, layout: Layout | None, out: Path | None) -> None:
    """Refuse the options of pictures for other formats.

    Raises:
        InputError: an option of pictures is given for a listing.
    """
    if output is Output.SVG:
        return
    if layout is not None:
        raise InputError(
            f"--layout is for pictures, but the format is {output}", hint="add --format svg"
        )
    if out is not None:
        raise InputError(
            f"--out writes svg, but the format is {output}",
            hint=f"add --format svg for a picture, or write the {output} with > {out}",
        )


def show(result: "QueryResult", output: Format) -> None:
    """Print the rows; tables and Markdown show paths hop by hop."""
    from starcast.queries.picture import PATH

    columns = list(result.columns)
    readable = output in {Format.TABLE, Format.MARKDOWN}
    if readable and {PATH, "ports"} <= set(columns) and _are_paths(result.rows, PATH):
        for row in result.rows:
            row["path"] = hops(row[PATH] or [], row["ports"] or [])
        columns = ["path" if name == PATH else name for name in columns if name != "ports"]
    emit(result.rows, columns, output)


def draw(
    query: "Query",
    values: dict[str, Any],
    result: "QueryResult",
    layout: Layout | None,
    out: Path | None,
) -> None:
    """Draw a query result to a file, or to stdout.

    Raises:
        InputError: the result has no nodes, or the file cannot be written.
        LimitError: the picture has too many nodes.
    """
    from starcast import drawing
    from starcast.queries.picture import build_picture
    from starcast.support.atomic import atomic_write

    svg = drawing.sketch(build_picture(query, values, result), layout)
    if out is None:
        print(svg, end="")
        return
    with atomic_write(out) as file:
        file.write(svg.encode())
    say(f"drew the result of {query.name} to {out}")


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
