"""How ``starcast query run`` writes an answer: as every listing, with paths hop by hop, or as a picture."""

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starcast.cli.output import Format, emit, say
from starcast.errors import InputError

if TYPE_CHECKING:
    from starcast.graph.connection import QueryResult
    from starcast.queries import Query


class Output(StrEnum):
    """How an answer is written: as every listing, or as a picture."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    MARKDOWN = "markdown"
    SVG = "svg"


class Layout(StrEnum):
    """How the nodes of a picture stand: `starcast.drawing.Layout`, which is imported when something is drawn."""

    LEVELS = "levels"
    RING = "ring"


def check_options(output: Output, layout: Layout | None, out: Path | None) -> None:
    """Refuse what only pictures have.

    Raises:
        InputError: it was given, and the answer is no picture.
    """
    if output is Output.SVG:
        return
    if layout is not None:
        raise InputError(
            f"--layout is of pictures, and the format is {output}", hint="add --format svg"
        )
    if out is not None:
        raise InputError(
            f"--out writes svg, and the format is {output}",
            hint=f"add --format svg for a picture, or write the {output} with > {out}",
        )


def show(answer: "QueryResult", output: Format) -> None:
    """Print the rows; in what people read, paths hop by hop."""
    columns = list(answer.columns)
    if (
        output in {Format.TABLE, Format.MARKDOWN}
        and {"path", "ports"} <= set(columns)
        and _are_paths(answer.rows)
    ):
        columns = _with_hops(answer.rows, columns)
    emit(answer.rows, columns, output)


def draw(
    query: "Query",
    values: dict[str, Any],
    answer: "QueryResult",
    layout: Layout | None,
    out: Path | None,
) -> None:
    """Write the picture of an answer to stdout, or to a file.

    Raises:
        InputError: there is nothing to draw, or the file cannot be written.
        LimitError: there are too many nodes.
    """
    from starcast import drawing
    from starcast.queries.picture import build_picture
    from starcast.support.atomic import atomic_write

    drawn = drawing.sketch(
        build_picture(query, values, answer), drawing.Layout(layout) if layout else None
    )
    if out is None:
        print(drawn, end="")
        return
    with atomic_write(out) as file:
        file.write(drawn.encode())
    say(f"drew the answer of {query.name} as {out}")


def _with_hops(rows: list[dict[str, Any]], columns: list[str]) -> list[str]:
    """Replace the columns ``path`` and ``ports`` by one column ``path`` with the hops."""
    for row in rows:
        row["path"] = hops(row["path"] or [], row["ports"] or [])
    return [column for column in columns if column != "ports"]


def _are_paths(rows: Sequence[dict[str, Any]]) -> bool:
    """Return whether ``path`` and ``ports`` are the hops of paths: a port per node but the last."""
    pairs = [(row["path"] or [], row["ports"] or []) for row in rows]
    return all(
        isinstance(nodes, list) and isinstance(ports, list) and len(nodes) in {0, len(ports) + 1}
        for nodes, ports in pairs
    )


def hops(nodes: Sequence[Any], ports: Sequence[Any]) -> str:
    """A path hop by hop: ``123 -2-> 213 -3-> 312``; each port is that of the node before it."""
    steps = [f" -{port}-> {node}" for node, port in zip(nodes[1:], ports, strict=True)]
    return "".join([str(nodes[0]), *steps]) if nodes else ""
