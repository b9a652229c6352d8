"""``starcast experiment table``: the stored runs of an experiment as the table of its paper."""

import re
from typing import TYPE_CHECKING, Annotated

import typer

from starcast.cli import axes, completion
from starcast.cli.db import store
from starcast.cli.output import READABLE, Format, FormatOption, emit, reporter

if TYPE_CHECKING:
    from starcast.costs.paper_tables import Case, PaperTable, Row


def print_table(
    ctx: typer.Context,
    name: Annotated[
        str,
        typer.Argument(help="Name of the experiment.", autocompletion=completion.experiments),
    ],
    table: Annotated[
        str | None,
        typer.Option(
            metavar="TABLE",
            help="The paper's table, such as tseng-sheu-1997-table-1.",
            show_default="that of the experiment's shipped grid",
        ),
    ] = None,
    conditions: axes.ConditionsOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Print an experiment of a shipped grid as the table of its paper, with the paper's layout.

    Rows and columns are those of the paper, one table per topology and message. The figures of a
    row are those of the fastest stored run of the algorithm that is its basis. A row about a work
    that the paper cites and starcast cannot execute is marked as cited; its figures are those of
    the paper's closed form, if it has one. References are keys of references.bib.

    \b
    starcast experiment run ts1 --grid tseng-sheu-1997-table-1
    starcast experiment table ts1 --where topology=S5 --where message_bytes=1024
    starcast experiment table ts1 --where topology=S5 -f latex > table.tex
    """
    from starcast.comparison.paper_rows import find_table, load_table, tabulate
    from starcast.comparison.sides import read_conditions
    from starcast.database.sessions import session

    read_conditions(conditions or ())  # before a server is needed
    if table is not None:
        find_table(table)
    with store(ctx) as engine, session(engine) as opened:
        paper = load_table(opened, name, reporter(), table=table, conditions=conditions or ())
    if output in READABLE:
        for case, rows in paper.cases:
            _print_case(paper.table, paper.name, case, rows, output)
        return
    records = tabulate(paper)
    emit(records.rows, records.columns, output)


def _print_case(
    table: "PaperTable", name: str, case: "Case", rows: list["Row"], output: Format
) -> None:
    """Print the table of a case under the paper's headings; repeated models are left empty."""
    from starcast.comparison.paper_rows import case_values
    from starcast.support.table import with_numbers

    values = case_values(table, case)
    shown = ", ".join(f"{axis} {value}" for axis, value in with_numbers(values).items())
    title = f"{table.source}. {table.caption}: {shown}"
    columns = [column for column in table.headings if any(row[column] is not None for row in rows)]
    printed = []
    before = None
    for row in map(with_numbers, rows):
        cells = {column: row[column] for column in columns}
        if "model" in cells and cells["model"] == before:
            cells["model"] = None
        before = row.get("model")
        printed.append({table.headings[column]: cell for column, cell in cells.items()})
    headings = [table.headings[column] for column in columns]
    label = re.sub(r"[^\w.+-]", "-", "-".join([name, *map(str, values.values())]), flags=re.ASCII)
    if output is Format.MARKDOWN:
        print(f"{title}\n")
    emit(printed, headings, output, title=title, label=f"tab:{label}")
    if output is not Format.TABLE:
        print()
