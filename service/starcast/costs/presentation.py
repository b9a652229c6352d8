"""Format cost tables for display: columns, titles, sources and headings."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from starcast.costs.paper_tables import PaperTable
from starcast.support.latex import table_label
from starcast.support.table import Row, with_numbers
from starcast.support.text import letter

COLUMNS = (
    "ports", "name", "source", "cited", "pieces", "real_pieces", "start_ups", "bytes", "steps",
    "transmissions", "time", "lower_bound", "gap", "simulated_steps", "simulated_time",
    "simulated_gap", "note",
)  # fmt: skip
#: Columns of the printed table; ``ref`` is the letter that refers to a source below the table.
NARROW = (
    "name", "pieces", "start_ups", "bytes", "time", "gap", "simulated_time", "simulated_gap", "ref",
)  # fmt: skip
#: Columns of `NARROW` that are removed, in this order, until the table is narrow enough.
SPARE = ("start_ups", "bytes", "simulated_time", "pieces")


class CostPart(NamedTuple):
    """A cost table of one collective in one port model, or a paper's table for one parameter set.

    Attributes:
        title: collective, topology, message, machine and port model; or the source and caption of a
            paper's table.
        rows: rows of the printed table; ``ref``, if present, is the letter of the row's source.
        columns: columns of the printed table.
        spare: the columns to omit from a table that is too wide, in this order.
        sources: the lines below the table: letter, source and note.
        label: the LaTeX label.
    """

    title: str
    rows: list[Row]
    columns: tuple[str, ...]
    spare: tuple[str, ...]
    sources: tuple[str, ...] = ()
    label: str | None = None


def part_of_costs(rows: list[Row], title: str, label: str) -> CostPart:
    """Return the cost table of one collective in one port model, with the sources below it."""
    letters = _letters(map(_source, rows))
    lettered = [{**row, "ref": letters[_source(row)]} for row in rows]
    simulated = any(row.get("simulated_time") is not None for row in rows)
    columns = tuple(name for name in NARROW if simulated or "simulated" not in name)
    return CostPart(title, lettered, columns, SPARE, _footnotes(letters), label)


def part_of_paper(
    paper: str, table: PaperTable, values: Mapping[str, Any], rows: list[Row]
) -> CostPart:
    """Return a paper's table for one set of parameters, with the headings as printed in the paper.

    Args:
        paper: the name of the table, such as tseng-sheu-1997-table-1.
        table: the paper's table, with its printed headings.
        values: the parameter values, by axis.
        rows: the rows of the table for these parameters.
    """
    shown = ", ".join(f"{axis} {value}" for axis, value in with_numbers(values).items())
    headings = {
        column: heading
        for column, heading in table.headings.items()
        if any(row[column] is not None for row in rows)
    }
    notes = _letters(row["note"] for row in rows if row.get("note"))
    printed = []
    before = None
    for row in map(with_numbers, rows):
        cells = {heading: row[column] for column, heading in headings.items()}
        # Of consecutive rows with the same model, only the first row names the model, so that the
        # rows form a group.
        if "model" in headings and row["model"] == before:
            cells[headings["model"]] = None
        before = row.get("model")
        if "note" in headings:
            cells[headings["note"]] = notes.get(row["note"])
        printed.append(cells)
    title = f"{table.source}. {table.caption}: {shown}"
    spare = (headings["reference"],) if "reference" in headings else ()
    label = table_label(paper, *values.values())
    return CostPart(title, printed, tuple(headings.values()), spare, _footnotes(notes), label)


def _letters(remarks: Iterable[str]) -> dict[str, str]:
    """Return the labels ``a)``, ``b)``, .. of the distinct remarks, as a dict by remark."""
    # Letters are used, because numbers could be confused with table and theorem numbers in sources.
    listed = enumerate(dict.fromkeys(remarks))
    return {remark: f"{letter(place).lower()})" for place, remark in listed}


def _footnotes(letters: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(f"{letter} {remark}" for remark, letter in letters.items())


def _source(row: Mapping[str, Any]) -> str:
    """Return the remark on a row's source, which is printed below the table."""
    cited = " (cited)" if row["cited"] else ""
    note = f"; {row['note']}" if row["note"] else ""
    return f"{row['source']}{cited}{note}"
