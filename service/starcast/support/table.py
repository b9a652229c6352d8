"""Tables: the results of queries, listings and comparisons, as Python values.

A table can be converted for other libraries, which are imported on demand, and is displayed in
notebooks. Notebooks also display topologies, forests and schedules, which are `Displayable`.
"""

import csv
import io
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from fractions import Fraction
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, SupportsIndex, TextIO, overload

from starcast.support.errors import InputError, StarcastError
from starcast.support.errors import escape as escape_unprintable
from starcast.support.installation import import_library
from starcast.support.text import did_you_mean, dump_json, format_value, is_numeric, pluralize

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl


Row = dict[str, Any]

#: Integers of this absolute value or more do not fit into polars' 128-bit integers.
_POLARS_BOUND = 2**127
#: Maximum number of rows shown in a notebook or an interpreter.
MAX_SHOWN = 60

_STYLE = "border-collapse:collapse;font-size:90%;font-variant-numeric:tabular-nums;margin:0.3em 0"
_CELL = "padding:0.15em 0.7em;white-space:nowrap;text-align:"


def as_number(value: Any) -> Any:
    """Convert a fraction to an integer if possible, else to a float; keep any other value."""
    if not isinstance(value, Fraction):
        return value
    return value.numerator if value.denominator == 1 else float(value)


def with_numbers(row: Mapping[str, Any]) -> Row:
    """Return a row with its fractions converted to integers or floats."""
    return {name: as_number(value) for name, value in row.items()}


def rounded(value: Fraction | None) -> float | None:
    """Return a fraction as a float rounded to three decimal places; None stays None."""
    return None if value is None else round(float(value), 3)


@dataclass(frozen=True, repr=False)
class Table:
    """Rows with named columns.

    A table is a sequence of rows: ``len(table)``, ``table[0]``, ``for row in table``; ``table[:2]``
    is a table. Indexing a table with a name returns a column: ``table["time"]``.

    Attributes:
        columns: the names of the columns, in order.
        rows: one dictionary per row, with a value for each column.
        note: text about the rows, for example how many more rows exist; may be empty.
        failure: the error that a command raises after it has printed the table, or None.
        spare: the columns that may be omitted in a narrow terminal, in this order.
    """

    columns: tuple[str, ...]
    rows: list[Row]
    note: str = ""
    failure: StarcastError | None = None
    spare: tuple[str, ...] = ()

    #: For each row, the columns whose values are printed in bold; subclasses may override this.
    best: ClassVar[Sequence[Collection[str]]] = ()

    @classmethod
    def of(
        cls,
        rows: Iterable[Mapping[str, Any]],
        columns: Iterable[str],
        note: str = "",
        failure: StarcastError | None = None,
        spare: tuple[str, ...] = (),
    ) -> Self:
        """Return a table with the given columns of the rows; missing values become None."""
        names = tuple(columns)
        chosen = [{name: row.get(name) for name in names} for row in rows]
        return cls(names, chosen, note, failure, spare)

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    @overload
    def __getitem__(self, key: SupportsIndex) -> Row: ...

    @overload
    def __getitem__(self, key: slice) -> "Table": ...

    @overload
    def __getitem__(self, key: str) -> list[Any]: ...

    def __getitem__(self, key: SupportsIndex | slice | str) -> "Row | Table | list[Any]":
        if isinstance(key, slice):
            return Table(self.columns, self.rows[key])
        if isinstance(key, SupportsIndex):
            return self.rows[key]
        if key not in self.columns:
            raise InputError(
                f"the table has no column '{key}'",
                hint=f"{did_you_mean(key, self.columns)}choose one of {', '.join(self.columns)}",
            )
        return [row[key] for row in self.rows]

    def select(self, *columns: str) -> "Table":
        """Return a table with only the given columns.

        Raises:
            InputError: the table lacks one of the given columns.
        """
        values = [self[name] for name in columns]
        rows = [dict(zip(columns, cells, strict=True)) for cells in zip(*values, strict=True)]
        return Table(columns, rows, self.note)

    def readable(self) -> "Table":
        """Return the table that is shown to human readers; subclasses may override this method."""
        return self

    def to_json(self) -> str:
        """Return the rows as JSON, as the command line prints them with ``--format json``."""
        return dump_json(self.rows, indent=2)

    def to_csv(self) -> str:
        """Return the rows as CSV with a header line, as ``--format csv`` prints them."""
        text = io.StringIO()
        write_csv(text, self.columns, ([row[name] for name in self.columns] for row in self.rows))
        return text.getvalue()

    def to_polars(self) -> "pl.DataFrame":
        """Return the rows as a polars data frame.

        A column whose values have no common type becomes text.

        Raises:
            UnavailableError: polars is not installed.
        """
        polars = import_library("polars", "pip install polars")
        frame: pl.DataFrame = polars.DataFrame(
            [_series(polars, name, self[name]) for name in self.columns]
        )
        return frame

    def to_pandas(self) -> "pd.DataFrame":
        """Return the rows as a pandas data frame.

        Raises:
            UnavailableError: pandas is not installed.
        """
        pandas = import_library("pandas", "pip install pandas")
        rows = [[_as_plain(row[name]) for name in self.columns] for row in self.rows]
        return pandas.DataFrame(rows, columns=list(self.columns))

    def to_latex(
        self,
        caption: str | None = None,
        label: str | None = None,
        alignment: str | None = None,
        *,
        wide: bool = False,
    ) -> str:
        """Return the rows as a LaTeX table that fits into a page column.

        The first line names the LaTeX packages that the table needs. If the table is too wide,
        `spare` columns are omitted, and long texts are wrapped. Comparisons and cost tables have
        captions, labels and footnotes by default.

        Args:
            caption: the text above the table; with a caption or a label, the table is a float.
            label: the name by which LaTeX documents refer to the table, such as ``tab:costs``.
            alignment: a letter l, c or r per column; by default numbers are aligned right.
            wide: use the entire width of the text, even on a two-column page.

        Raises:
            InputError: the label or the alignment is invalid.
        """
        from starcast.support.latex import booktabs  # noqa: PLC0415 - loads tables of symbols

        given = {"caption": caption, "label": label, "alignment": alignment}
        chosen = {name: text for name, text in given.items() if text is not None}
        tables = []
        for part in self.latex_parts():
            rows = [[row.get(name) for name in part["columns"]] for row in part["rows"]]
            tables.append(booktabs(**{**part, "rows": rows, **chosen}, wide=wide))
        return "\n\n".join(tables)

    def latex_parts(self) -> list[Row]:
        """Return one dictionary per LaTeX table, with the arguments for `booktabs` by name.

        The value of ``rows`` is a list with one dictionary per table row. Subclasses may override
        this method.
        """
        return [{"columns": self.columns, "rows": self.rows, "spare": self.spare}]

    def html(self) -> str:
        """Return all rows as an HTML table."""
        lines = [f'<table style="{_STYLE}">', "<thead>", "<tr>"]
        sides = ["right" if self.is_numeric(name) else "left" for name in self.columns]
        lines += [
            f'<th style="{_CELL}{side}">{escape(name)}</th>'
            for name, side in zip(self.columns, sides, strict=True)
        ]
        lines += ["</tr>", "</thead>", "<tbody>"]
        emphasized = self.best or [()] * len(self.rows)
        # `best` may be longer than the rows, because `head` removes rows but keeps all entries of
        # `best`.
        for row, best in zip(self.rows, emphasized, strict=False):
            lines.append("<tr>")
            for name, side in zip(self.columns, sides, strict=True):
                cell = escape(escape_unprintable(format_value(row[name])))
                text = f"<b>{cell}</b>" if name in best else cell
                lines.append(f'<td style="{_CELL}{side}">{text}</td>')
            lines.append("</tr>")
        lines += ["</tbody>", "</table>"]
        if self.note:
            lines.append(f'<p style="font-size:90%">{escape(self.note)}</p>')
        return "\n".join(lines)

    def head(self, rows: int = MAX_SHOWN) -> "Table":
        """Return a table of the first rows; if rows are omitted, a note states the total number."""
        if len(self.rows) <= rows:
            return self
        more = f"{rows} of {pluralize(len(self.rows), 'row')}"
        return replace(
            self, rows=self.rows[:rows], note=f"{more}; {self.note}" if self.note else more
        )

    def is_numeric(self, name: str) -> bool:
        """Return whether a column contains numbers, and no other values except None."""
        return is_numeric(row[name] for row in self.rows)

    def _repr_html_(self) -> str:
        return self.head().readable().html()

    def __str__(self) -> str:
        shown = self.head()
        lines = [list(shown.columns)]
        lines += [[format_value(row[name]) for name in shown.columns] for row in shown.rows]
        widths = [max(map(len, cells)) for cells in zip(*lines, strict=True)]
        right = [shown.is_numeric(name) for name in shown.columns]
        text = [
            "  ".join(
                cell.rjust(width) if is_right else cell.ljust(width)
                for cell, width, is_right in zip(line, widths, right, strict=True)
            ).rstrip()
            for line in lines
        ]
        return "\n".join([*text, *([shown.note] if shown.note else [])])

    __repr__ = __str__


class Facts(dict[str, Any]):
    """Named values: the properties of one object, or the result of an operation.

    Attributes:
        sentence: text printed instead of the values. With an empty text, the values are printed.
            With None, nothing is printed, because messages have already reported the result.
        failure: the error that a command raises after it has printed the values, or None.
    """

    def __init__(
        self,
        values: Mapping[str, Any],
        sentence: str | None = "",
        failure: StarcastError | None = None,
    ) -> None:
        super().__init__(values)
        self.sentence = sentence
        self.failure = failure

    def _repr_html_(self) -> str:
        return properties(self).html()


def write_csv(file: TextIO, columns: Sequence[str], lines: Iterable[Sequence[Any]]) -> None:
    """Write lines of values as CSV, after a header line with the column names."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([format_value(value, exact=True) for value in values] for values in lines)


def as_rows(columns: Mapping[str, Any]) -> list[Row]:
    """Convert numpy arrays of equal length, given by column name, to one dictionary per row."""
    lines = zip(*(column.tolist() for column in columns.values()), strict=True)
    return [dict(zip(columns, line, strict=True)) for line in lines]


def properties(values: Mapping[str, Any]) -> Table:
    """Return named values as a table with one value per row."""
    rows = [{"property": name, "value": value} for name, value in values.items()]
    return Table(("property", "value"), rows)


def _as_plain(value: Any) -> Any:
    """Convert a path, an enumeration member or a fraction to a plain value for data frames."""
    if isinstance(value, Enum | Path):
        return str(value)
    return as_number(value)


def _series(polars: Any, name: str, values: Sequence[Any]) -> Any:
    """Return a column as a polars series; values without a common type become text."""
    plain = [_as_plain(value) for value in values]
    kinds = {type(value) for value in plain if value is not None}
    # polars would replace numbers in a column of text by nulls.
    if len(kinds) > 1 and not kinds <= {int, float, bool}:
        plain = [None if value is None else format_value(value, exact=True) for value in plain]
    # polars would also replace integers of more than 128 bits by nulls.
    elif any(isinstance(value, int) and abs(value) >= _POLARS_BOUND for value in plain):
        plain = [float(value) if isinstance(value, int) else value for value in plain]
    return polars.Series(name, plain, strict=False)


DisplayForm = Literal["svg", "html"]
#: Function that returns an object as SVG or HTML, or None if the object has no such representation.
Renderer = Callable[[object, DisplayForm], str | None]

_renderers: list[Renderer] = []


def register_renderer(renderer: Renderer) -> None:
    """Set the function that renders all `Displayable` objects in notebooks."""
    _renderers[:] = [renderer]


class Displayable:
    """An object that notebooks show as a drawing, or as a table if a drawing would be too large."""

    def _repr_svg_(self) -> str | None:
        return _render(self, "svg")

    def _repr_html_(self) -> str | None:
        return _render(self, "html")


def _render(thing: object, form: DisplayForm) -> str | None:
    return _renderers[0](thing, form) if _renderers else None
