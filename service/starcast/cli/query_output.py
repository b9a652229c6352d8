"""Output and input of queries: listings with paths hop by hop, pictures, free statements."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starcast.cli.output import READABLE, check_suffix, emit, say, write_text
from starcast.errors import InputError
from starcast.support.limited import SMALL_TEXT, LimitedStream, read_bytes
from starcast.vocabulary import Format, Layout

if TYPE_CHECKING:
    from starcast.graph.connection import QueryResult
    from starcast.queries import Query


def check_options(output: Format, layout: Layout | None, out: Path | None) -> None:
    """Refuse the options of pictures for other formats.

    Raises:
        InputError: an option of pictures is given for a listing.
    """
    if output is Format.SVG:
        if out is not None:
            check_suffix(out, ".svg")
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
    """Print the rows; formats for people show paths hop by hop."""
    from starcast.queries.listing import as_read

    shown = as_read(result) if output in READABLE else result
    emit(shown.rows, shown.columns, output)


def read_statement(argument: str) -> tuple[str, Path]:
    """Return the Cypher that an argument is or names, and the file that errors name.

    Raises:
        InputError: the file or stdin cannot be read.
    """
    from starcast.queries.pack import is_file

    if argument == "-":
        data = LimitedStream(sys.stdin.buffer, SMALL_TEXT, "stdin").read()
        return _decode(data, "stdin"), Path("stdin")
    if " " in argument or not is_file(argument):
        return argument, Path("statement")
    try:
        return _decode(read_bytes(argument, SMALL_TEXT), argument), Path(argument)
    except OSError as error:
        raise InputError(
            f"{argument} cannot be read: {error.strerror}", hint="check its path and its mode"
        ) from None


def _decode(data: bytes, source: str) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise InputError(f"{source} is not UTF-8 text", hint="convert it to UTF-8") from None


def parse_values(arguments: Sequence[str], *, typed: bool = False) -> dict[str, Any]:
    """Return the values by parameter.

    Args:
        arguments: ``key=value``.
        typed: whether ``key:=JSON`` is a value of JSON.

    Raises:
        InputError: an argument has another form, is not JSON, or repeats a key.
    """
    hint = "write key=value; 'starcast query show NAME' lists the keys"
    if typed:
        hint = "write name=TEXT, or name:=JSON for numbers, lists and truth values"
    values: dict[str, Any] = {}
    for argument in arguments:
        key, sign, value = argument.partition("=")
        if not sign or not key:
            raise InputError(f"'{argument}' is not a parameter", hint=hint)
        is_json = typed and key.endswith(":")
        key = key.removesuffix(":") if is_json else key
        if key in values:
            raise InputError(f"the parameter '{key}' is given twice", hint="remove one of them")
        values[key] = _parse_json(argument, value) if is_json else value
        if typed and not is_json and value.isdecimal():
            say(f"${key} is the text '{value}'; write {key}:={value} for a number")
    return values


def _parse_json(argument: str, value: str) -> Any:
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        raise InputError(
            f"the value of '{argument}' is not JSON",
            hint="write name:=5, name:=true or name:='[1, 2]'; name=TEXT needs no JSON",
        ) from None


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

    svg = drawing.sketch(build_picture(query, values, result), layout)
    write_text(svg, out, f"drew the result of {query.name} to {out}")
