"""Functions that write the output of all commands: results to stdout, messages to stderr.

The package rich draws only the progress bars, because drawing a table with it takes longer than
most commands.
"""

import json
import logging
import os
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from shutil import get_terminal_size
from typing import Annotated, Any, TextIO

import typer

from starcast.cli.streams import encodable
from starcast.support import log
from starcast.support.errors import LAYOUT, InputError, escape
from starcast.support.progress import ProgressLines, Reporter, Silent, Task
from starcast.support.text import dump_json, fold_widths, format_value, is_numeric
from starcast.support.vocabulary import Format, ListingFormat

#: Formats for human readers, in which numbers are rounded and tables are shortened.
READABLE = (Format.TABLE, Format.MARKDOWN, Format.LATEX, Format.LATEX_WIDE)
#: The LaTeX formats: for a table as wide as a column, or as wide as a page with two columns.
IN_LATEX = (Format.LATEX, Format.LATEX_WIDE)

FormatOption = Annotated[ListingFormat, typer.Option("--format", "-f", help="Output format.")]
#: The option --all, for listings that otherwise omit columns which do not fit the terminal.
AllOption = Annotated[
    bool,
    typer.Option(
        "--all", help="Show all columns, even if the table becomes wider than the terminal."
    ),
]


#: Maximum width in characters of a table that is written to a file, if columns can be omitted.
PAGE = 120

#: The values of --quiet and --verbose of the running command.
quiet = False
verbosity = 0
#: Name of the log events that record messages to the user.
MESSAGE = "message"

#: Options that the errors of any command may mention, by parameter name.
_GLOBAL_OPTIONS = {
    "home": "--home", "plugins": "--plugin", "labels": "--labels", "executor": "--workers",
    "everything": "--all", "crossovers": "--crossovers", "host": "--host", "port": "--port",
    "quiet": "--quiet", "verbose": "--verbose",
}  # fmt: skip
#: The options of the running command by parameter name; `set_options` sets them.
_options = dict(_GLOBAL_OPTIONS)
_PARAMETER = re.compile(r"`(\w+)(=False)?`")

_BEYOND_ASCII = re.compile("[\x7f-\U0010ffff]")
#: Number of spaces between two columns of a table.
_COLUMN_GAP = 3
#: Terminal codes that begin and end bold text.
_BOLD, _PLAIN = "\x1b[1m", "\x1b[0m"


def emit(
    rows: Iterable[Mapping[str, Any]],
    columns: Sequence[str],
    output: Format = Format.TABLE,
    title: str = "",
    bold: Sequence[Collection[str]] = (),
    below: Sequence[str] = (),
    label: str | None = None,
    spare: Sequence[str] = (),
) -> None:
    """Write rows to stdout in the given format.

    Args:
        rows: the rows; missing values are left empty.
        columns: the columns to write, in this order.
        output: the format.
        title: lines above a table, or the caption of a table in LaTeX.
        bold: the columns to emphasize in each row; used on a terminal, in Markdown and in LaTeX.
        below: lines below a table.
        label: the label by which LaTeX refers to the table.
        spare: the columns that a table in LaTeX may omit if it is too wide, in the order of
            omission.
    """
    table = [[row.get(column) for column in columns] for row in rows]
    if output is Format.JSON:
        records = [dict(zip(columns, values, strict=True)) for values in table]
        _print_json(records)
    elif output is Format.CSV:
        from starcast.support.table import write_csv

        if sys.stdout.isatty():
            table = [[escape(format_value(value, exact=True)) for value in row] for row in table]
        write_csv(sys.stdout, columns, table)
    elif output is Format.MARKDOWN:
        print(markdown(columns, table, bold))
    elif output in IN_LATEX:
        from starcast.support.latex import booktabs

        is_wide = output is Format.LATEX_WIDE
        print(
            booktabs(
                columns, table, title or None, label,
                bold=bold, below=below, spare=spare, wide=is_wide,
            )
        )  # fmt: skip
    else:
        _print_table(columns, table, title, bold, below)


def emit_properties(properties: Mapping[str, Any], output: Format) -> None:
    """Write named values to stdout, as a JSON object or as a table with one row per value."""
    if output is Format.JSON:
        _print_json(dict(properties))
        return
    rows = []
    for name, value in properties.items():
        # In a table, each sentence of a list gets its own row. In other formats, a list is one
        # value in one row.
        is_split = output is Format.TABLE and _is_list_of_sentences(value)
        first, *others = value if is_split else [value]
        rows.append({"property": name, "value": first})
        rows += [{"property": "", "value": text} for text in others]
    emit(rows, ["property", "value"], output)


def _is_list_of_sentences(value: Any) -> bool:
    return isinstance(value, list) and any(" " in text for text in value if isinstance(text, str))


def write_text(text: str, out: Path | None) -> None:
    """Write a page or a drawing to a file, or to stdout if no file is given.

    Raises:
        LimitError: the disk is full.
        InputError: the file cannot be written for another reason.
    """
    from starcast.support.atomic import atomic_write

    if out is None:
        print(text.rstrip("\n"))
        return
    with atomic_write(out) as file:
        file.write(text.encode())
    say(f"written to {out}")


def confirm(question: str, unchanged: str) -> None:
    """Ask a question on the terminal, and exit unless the answer is yes.

    Args:
        question: the question; the option ``--yes`` of the command skips the question.
        unchanged: message if the answer is no, such as "nothing was deleted".

    Raises:
        InputError: there is no terminal.
    """
    if not sys.stdin.isatty():
        raise InputError(
            f"{unchanged}: confirmation needs a terminal", hint="add --yes to skip the question"
        )
    try:
        # The question goes to stderr, because stdout is only for data.
        is_confirmed = typer.confirm(question, err=True)
    except typer.Abort:
        # The user pressed Ctrl-C or ended the input; Typer would exit with code 1.
        raise KeyboardInterrupt from None
    if not is_confirmed:
        say(unchanged)
        raise typer.Exit


def _print_json(value: Any) -> None:
    # With `ensure_ascii`, letters such as é would become unreadable escape sequences.
    print(_BEYOND_ASCII.sub(_as_json, dump_json(value, indent=2)))


def _as_json(found: re.Match[str]) -> str:
    return found[0] if found[0].isprintable() else json.dumps(found[0])[1:-1]


def fits(rows: Iterable[Mapping[str, Any]], columns: Sequence[str]) -> bool:
    """Return whether a table fits on the terminal, or in 1,000 characters without a terminal."""
    return _fit(_widths(rows, columns).values(), _terminal_width())


def narrowed(
    rows: Sequence[Mapping[str, Any]], columns: Sequence[str], optional: Sequence[str]
) -> list[str]:
    """Remove optional columns, in order, while the table is too wide; return the other columns.

    A table that is written to a file is limited to the width `PAGE`, so that it can be read on a
    terminal later.
    """
    kept = list(columns)
    widths = _widths(rows, columns)
    width = _terminal_width() if sys.stdout.isatty() else PAGE
    for name in optional:
        if _fit((widths[column] for column in kept), width):
            break
        kept = [column for column in kept if column != name]
    return kept


def omitted_columns(columns: Sequence[str], shown: Collection[str]) -> list[str]:
    """Return a list with one line that names the omitted columns; [] if no column is omitted."""
    omitted = [name for name in columns if name not in shown]
    return [f"not shown: {', '.join(omitted)}; --all shows all columns"] if omitted else []


def _widths(rows: Iterable[Mapping[str, Any]], columns: Sequence[str]) -> dict[str, int]:
    listed = list(rows)
    return {
        column: max(len(column), *(len(format_value(row.get(column))) for row in listed), 0)
        for column in columns
    }


def _fit(widths: Iterable[int], room: int) -> bool:
    # There is no gap after the last column, but a margin of one space on each side of the table.
    return sum(width + _COLUMN_GAP for width in widths) - 1 <= room


def markdown(
    columns: Sequence[str], table: Sequence[Sequence[Any]], bold: Sequence[Collection[str]] = ()
) -> str:
    """Return a Markdown table in GitHub's dialect."""
    lines = [list(columns), ["---"] * len(columns)]
    for values, emphasized in _with_emphasis(table, bold):
        cells = [escape(format_value(value)).replace("|", "\\|") for value in values]
        lines.append(
            [
                f"**{cell}**" if cell and name in emphasized else cell
                for name, cell in zip(columns, cells, strict=True)
            ]
        )
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _with_emphasis(
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
    cells = [[encodable(escape(format_value(value))) for value in values] for values in table]
    title, *below = (encodable(escape(line, LAYOUT)) for line in (title, *below))
    is_terminal = sys.stdout.isatty()
    widths = _column_widths(columns, cells, _terminal_width() if is_terminal else None)
    if widths is None:
        _print_records(columns, cells, title, below)
        return
    is_right = [is_numeric(values[index] for values in table) for index in range(len(columns))]
    inner = sum(widths) + _COLUMN_GAP * (len(columns) - 1)
    blank = " " * (inner + 2)
    # Many programs use this variable to print styles even without a terminal.
    is_forced = bool(os.environ.get("FORCE_COLOR"))
    has_styles = (is_terminal or is_forced) and os.environ.get("TERM") != "dumb"

    def print_row(texts: Sequence[str], emphasized: Collection[str]) -> None:
        folded = [_fold(text, width) for text, width in zip(texts, widths, strict=True)]
        for number in range(max(map(len, folded))):
            parts = []
            for lines, width, right in zip(folded, widths, is_right, strict=True):
                part = lines[number] if number < len(lines) else ""
                parts.append(part.rjust(width) if right else part.ljust(width))
            if has_styles:
                parts = [
                    f"{_BOLD}{part}{_PLAIN}" if name in emphasized else part
                    for name, part in zip(columns, parts, strict=True)
                ]
            print(f" {(' ' * _COLUMN_GAP).join(parts)} ")

    for line in title.splitlines():
        for part in _fold(line, len(blank)):
            print(part.ljust(len(blank)))
    print(blank)
    print_row(columns, columns)
    print(f" {'─' * inner} ")
    for texts, emphasized in _with_emphasis(cells, bold):
        print_row(texts, emphasized)
    print(blank)
    for line in below:
        print(line)


def _fold(text: str, width: int) -> list[str]:
    """Wrap text to the width of a column; break words that are too long."""
    if len(text) <= width:
        return [text]
    import textwrap

    return textwrap.wrap(text, width, break_on_hyphens=False) or [""]


def _column_widths(
    columns: Sequence[str], cells: Sequence[Sequence[str]], terminal_width: int | None
) -> list[int] | None:
    """Return the widths of columns, or None if the terminal is too narrow.

    Every column has at least the width of its longest word, such as an id, so that no word is
    broken. The widest columns wrap first. Without a terminal, no column wraps.
    """
    complete = [
        max(len(name), *(len(line[index]) for line in cells), 0)
        for index, name in enumerate(columns)
    ]
    if terminal_width is None:
        return complete
    words = [
        max(map(len, " ".join([name, *(line[index] for line in cells)]).split()), default=0)
        for index, name in enumerate(columns)
    ]
    room = terminal_width - len(columns) * _COLUMN_GAP + 1
    if sum(words) > room:
        return None
    return fold_widths(complete, words, room)


def _print_records(
    columns: Sequence[str], cells: Sequence[Sequence[str]], title: str, below: Sequence[str]
) -> None:
    """Print each row as a block with one value per line.

    A value is never wrapped, so it can be copied from the terminal.
    """
    margin = max(map(len, columns))
    blocks = [
        "\n".join(
            f"{name:{margin}}  {cell}".rstrip() for name, cell in zip(columns, line, strict=True)
        )
        for line in cells
    ]
    print("\n\n".join(part for part in (title, *blocks, "\n".join(below)) if part))


def _terminal_width() -> int:
    """Return the width of the terminal in characters, or 1,000 if stdout is not a terminal."""
    return get_terminal_size().columns if sys.stdout.isatty() else 1_000


def in_shell(text: str) -> str:
    """Replace parameter names in backticks by the command's options: `jobs` becomes --jobs.

    A name in backticks may be followed by a value: `store=False` becomes --no-store.
    """

    def replace(named: re.Match[str]) -> str:
        given, _, negated = _options.get(named[1], named[0]).partition("/")
        return negated if named[2] and negated else given

    return _PARAMETER.sub(replace, text)


def set_options(options: Mapping[str, str]) -> None:
    """Store the option, such as ``--jobs``, of each parameter of the command, for `in_shell`."""
    _options.clear()
    _options.update({**options, **_GLOBAL_OPTIONS})


def say(line: str) -> None:
    """Write a line to stderr, unless the command is quiet, and to the log."""
    line = in_shell(line)
    log.event(MESSAGE, text=line)
    if not quiet:
        print(escape(line, LAYOUT), file=sys.stderr, flush=True)


def warn(line: str) -> None:
    """Write a warning to stderr and to the log."""
    log.event("warning", logging.WARNING, text=line)
    print(f"warning: {escape(line)}", file=sys.stderr, flush=True)


def reset() -> None:
    """Undo the effects of an earlier command line in this process on the flags and options."""
    global quiet, verbosity  # noqa: PLW0603 - one command line per process, except in tests
    quiet = False
    verbosity = 0
    set_options({})
    for handler in log.LOGGER.handlers[:]:
        if isinstance(handler, _Echo):
            log.LOGGER.removeHandler(handler)


def echo_log(level: int) -> None:
    """Print log events to stderr, in addition to the log file.

    Messages and errors are excluded, because the command prints them anyway.
    """
    log.LOGGER.addHandler(_Echo(level))
    log.lower_level(level)


class _Echo(logging.StreamHandler[TextIO]):
    """A log handler that prints each event as a line, with its values as ``name=value``."""

    def __init__(self, level: int) -> None:
        super().__init__(sys.stderr)
        self.setLevel(level)
        # Messages are already printed by `say`, and errors by `main`.
        self.addFilter(lambda record: record.getMessage() not in {MESSAGE, "error"})

    def format(self, record: logging.LogRecord) -> str:
        fields = getattr(record, "fields", {})
        values = [f"{name}={escape(log.redact(str(value)))}" for name, value in fields.items()]
        return " ".join([f"{record.levelname.lower()}:", record.getMessage(), *values])


class _Terminal:
    """A `Reporter` that shows progress bars on a terminal; a nested task has no bar."""

    def __init__(self) -> None:
        self._has_bar = False

    def say(self, line: str) -> None:
        say(line)

    @contextmanager
    def task(self, line: str, total: int, unit: str = "") -> Iterator[Task]:
        if self._has_bar:
            with Silent().task(line, total, unit) as silent:
                yield silent
            return
        from rich import progress
        from rich.console import Console

        amount = (
            (progress.DownloadColumn(), progress.TransferSpeedColumn())
            if unit == "bytes"
            else (progress.MofNCompleteColumn(), _rate_column(unit))
        )
        columns = (
            progress.TextColumn("{task.description}", markup=False),
            progress.BarColumn(),
            *amount,
            progress.TimeRemainingColumn(),
        )
        self._has_bar = True
        try:
            # With emoji on, rich would replace `:name:` in an id by an emoji of this name.
            with progress.Progress(
                *columns, console=Console(stderr=True, highlight=False, emoji=False)
            ) as bars:
                yield _Bar(bars, bars.add_task(escape(line), total=total))
        finally:
            self._has_bar = False


class _Bar:
    def __init__(self, bars: Any, task_id: Any) -> None:
        self._bars = bars
        self._task_id = task_id

    def advance(self, amount: int = 1) -> None:
        self._bars.advance(self._task_id, amount)


def _rate_column(unit: str) -> Any:
    """Return a progress column for the rate in units per second.

    The column for rates in the package rich supports only bytes.
    """
    from rich.progress import ProgressColumn
    from rich.text import Text

    class Rate(ProgressColumn):
        def render(self, task: Any) -> Text:
            return Text(f"{task.finished_speed or task.speed or 0:,.0f} {unit}/s")

    return Rate()


def reporter() -> Reporter:
    """Return a reporter that shows progress bars on a terminal, and prints lines elsewhere.

    With ``--quiet``, the reporter is silent.
    """
    if quiet:
        return Silent()
    return _Terminal() if sys.stderr.isatty() else ProgressLines(say)
