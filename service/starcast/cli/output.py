"""What every command shares: data to stdout in one of four formats, everything else to stderr.

`rich` is imported when something is printed, not when the command line starts.
"""

import csv
import json
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from enum import StrEnum
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any

import typer

from starcast.progress import Reporter, Silent, Task

if TYPE_CHECKING:
    from rich.console import Console


class Format(StrEnum):
    """How a listing is written."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    MARKDOWN = "markdown"


#: The option that every listing has.
FormatOption = Annotated[Format, typer.Option("--format", "-f", help="How to write the rows.")]

#: The option of a listing whose table is to fit on a terminal.
AllOption = Annotated[
    bool, typer.Option("--all", help="Show all columns in the table, as other formats do.")
]

Row = Mapping[str, Any]

#: Columns of text on a wide terminal.
PAGE = 120

_BETWEEN = 3  # blanks from one column of a table to the next


def emit(
    rows: Iterable[Row],
    columns: Sequence[str],
    output: Format = Format.TABLE,
    title: str = "",
    bold: Sequence[Collection[str]] = (),
    below: Sequence[str] = (),
) -> None:
    """Write rows to stdout: the columns named, in that order, in the format asked for.

    ``bold`` names for each row the columns to mark, where the format has a way to: on a terminal and in markdown. A table has
    ``title`` above it, and below it the lines of ``below``.
    """
    table = [[row.get(column) for column in columns] for row in rows]
    if output is Format.JSON:
        records = [dict(zip(columns, values, strict=True)) for values in table]
        print(json.dumps(records, default=_plain, ensure_ascii=False, indent=2))
    elif output is Format.CSV:
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows([text(value) for value in values] for values in table)
    elif output is Format.MARKDOWN:
        print(markdown(columns, table, bold))
    else:
        _print_table(columns, table, title, bold, below)


def fits(rows: Iterable[Row], columns: Sequence[str], unwatched: int | None = None) -> bool:
    """Whether a table of these is no wider than the terminal; where nobody watches, than ``unwatched``, if that is given."""
    return _fit(_widths(rows, columns).values(), unwatched)


def narrowed(rows: Sequence[Row], columns: Sequence[str], spare: Sequence[str]) -> list[str]:
    """The columns of a table that fits on the terminal: those of ``spare`` go, the first one first, until it does.

    Where nobody watches it is to fit on `PAGE` columns, so that what is written to a file can be read on a terminal.
    """
    kept, widths = list(columns), _widths(rows, columns)
    for name in spare:
        if _fit((widths[column] for column in kept), PAGE):
            break
        kept = [column for column in kept if column != name]
    return kept


def _widths(rows: Iterable[Row], columns: Sequence[str]) -> dict[str, int]:
    listed = list(rows)
    return {
        column: max(len(column), *(len(text(row.get(column))) for row in listed), 0)
        for column in columns
    }


def _fit(widths: Iterable[int], unwatched: int | None) -> bool:
    room = unwatched if unwatched and not sys.stdout.isatty() else console(sys.stdout).width
    return sum(width + _BETWEEN for width in widths) <= room


def markdown(
    columns: Sequence[str], table: Sequence[Sequence[Any]], bold: Sequence[Collection[str]] = ()
) -> str:
    """A GitHub table of these cells."""
    lines = [columns, ["---"] * len(columns)]
    lines += [
        [
            f"**{cell}**" if cell and name in marked else cell
            for name, cell in zip(columns, cells, strict=True)
        ]
        for cells, marked in _marked(
            [[text(value).replace("|", "\\|") for value in values] for values in table], bold
        )
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def text(value: Any) -> str:
    """A cell as words: nothing for None, a list by blanks, figures to six significant digits."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, datetime):
        return value.isoformat(sep=" ", timespec="seconds")
    if isinstance(value, list | tuple):
        return " ".join(text(item) for item in value)
    if isinstance(value, dict):
        return json.dumps(value, default=_plain, ensure_ascii=False)
    return str(value)


def _plain(value: Any) -> Any:
    if isinstance(value, Fraction):
        return float(value)
    return value.item() if hasattr(value, "item") else str(value)


def _marked(
    table: Sequence[Sequence[Any]], bold: Sequence[Collection[str]]
) -> Iterable[tuple[Sequence[Any], Collection[str]]]:
    return zip(table, bold or [()] * len(table), strict=True)


def _print_table(
    columns: Sequence[str],
    table: Sequence[Sequence[Any]],
    title: str,
    bold: Sequence[Collection[str]],
    below: Sequence[str],
) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    view = Table(title=title or None, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for index, column in enumerate(columns):
        numeric = all(isinstance(values[index], int | float | Fraction | None) for values in table)
        view.add_column(column, justify="right" if numeric and table else "left", overflow="fold")
    for values, marked in _marked(table, bold):
        cells = zip(columns, map(_escaped, values), strict=True)
        view.add_row(*(f"[bold]{cell}[/bold]" if name in marked else cell for name, cell in cells))
    printer = console(sys.stdout)
    printer.print(view, *([Text("\n".join(below))] if below else []))


def _escaped(value: Any) -> str:
    from rich.markup import escape

    return escape(text(value))


def console(stream: Any) -> "Console":
    """A console that wraps nothing where nobody watches."""
    from rich.console import Console

    return Console(
        file=stream, highlight=False, emoji=False, width=None if stream.isatty() else 1_000
    )


def say(line: str) -> None:
    """Tell a step on stderr."""
    print(line, file=sys.stderr, flush=True)


class _Terminal:
    """A `Reporter` with progress bars."""

    def say(self, line: str) -> None:
        say(line)

    @contextmanager
    def task(self, line: str, total: int, unit: str = "") -> Iterator[Task]:
        from rich.progress import (
            BarColumn,
            DownloadColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeRemainingColumn,
            TransferSpeedColumn,
        )

        amount = (
            (DownloadColumn(), TransferSpeedColumn())
            if unit == "bytes"
            else (MofNCompleteColumn(), _Rate(unit))
        )
        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            *amount,
            TimeRemainingColumn(),
        )
        with Progress(*columns, console=console(sys.stderr)) as bar:
            identity = bar.add_task(line, total=total)
            yield _Bar(bar, identity)


class _Bar:
    def __init__(self, bar: Any, identity: Any) -> None:
        self._bar, self._identity = bar, identity

    def advance(self, amount: int = 1) -> None:
        self._bar.advance(self._identity, amount)


def _Rate(unit: str) -> Any:  # noqa: N802 - stands where a column class stands
    from rich.progress import ProgressColumn
    from rich.text import Text

    class Rate(ProgressColumn):
        def render(self, task: Any) -> Text:
            return Text(f"{task.finished_speed or task.speed or 0:,.0f} {unit}/s")

    return Rate()


class _Lines(Silent):
    """A `Reporter` for logs: a line a step, no bars."""

    def say(self, line: str) -> None:
        say(line)


def reporter(quiet: bool = False) -> Reporter:
    """Progress bars on a terminal, plain lines elsewhere, nothing if asked."""
    if quiet:
        return Silent()
    return _Terminal() if sys.stderr.isatty() else _Lines()
