"""How a terminal shows the results of operations, one kind of result at a time.

A printer is a function of the options that its kind of result has. They are checked before the
operation begins; it returns the function that prints the result.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from starcast.cli.output import FormatOption, check_suffix, emit, emit_properties, say, write_text
from starcast.lab.files import ExchangeFile, Picture
from starcast.support.table import Facts, Table
from starcast.vocabulary import Format

Show = Callable[[Any], None]
PictureFile = Annotated[
    Path | None,
    typer.Option("--out", help="Output file: .svg, .png or .pdf (default: SVG on stdout)."),
]
OutFile = Annotated[Path | None, typer.Option("--out", help="Output file (default: stdout).")]


def table(output: FormatOption = Format.TABLE) -> Show:
    """Print rows; a note, such as that there is nothing, replaces an empty table."""

    def show(result: Table) -> None:
        if result.rows or not result.note or output is not Format.TABLE:
            emit(result.rows, result.columns, output)
        if result.note:
            say(result.note)

    return show


def facts(output: FormatOption = Format.TABLE) -> Show:
    """Print named values; a sentence, if there is one, replaces them for people."""

    def show(result: Facts) -> None:
        if output is not Format.TABLE or not result.sentence:
            emit_properties(_readable(result) if output is not Format.JSON else result, output)
        if result.sentence:
            say(result.sentence)

    return show


def _readable(properties: dict[str, Any]) -> dict[str, Any]:
    """Return properties with nested values as text."""
    shown: dict[str, Any] = {}
    for name, value in properties.items():
        if name == "levels":
            shown |= {f"levels_of_tree_{number}": profile for number, profile in enumerate(value)}
        elif name == "branches":
            shown[name] = "; ".join(" ".join(map(str, sizes)) for sizes in value)
        elif name == "links_by_load":
            shown[name] = ", ".join(f"{links} carry {load}" for load, links in value.items())
        else:
            shown[name] = value
    return shown


def picture(out: PictureFile = None) -> Show:
    """Write a picture in the format that the name of the file says, or as SVG to stdout."""
    if out is not None:
        check_suffix(out, ".svg", ".png", ".pdf")

    def show(result: Picture) -> None:
        if out is None:
            write_text(result.svg, None)
        else:
            result.save(out)
            say(f"drew {result.subject} to {out}")

    return show


def exchange_file(out: OutFile = None) -> Show:
    """Write a file of another program, or print it if it is text."""

    def show(result: ExchangeFile) -> None:
        if out is None:
            sys.stdout.writelines(part.decode() for part in result.parts())
            return
        check_suffix(out, *result.format.suffixes)
        result.save(out)
        held = result.artifact
        say(f"wrote {held.spec if hasattr(held, 'spec') else held.id} to {out}")

    return show


#: The printer of each kind of result.
PRINTERS: dict[Any, Callable[..., Show]] = {
    Table: table,
    Facts: facts,
    Picture: picture,
    ExchangeFile: exchange_file,
}
