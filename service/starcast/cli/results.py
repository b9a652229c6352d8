"""Printers: functions that prepare the output of operations, one per class of results.

A printer's parameters are the output options of the command. A printer is called before the
operation begins; it checks the options, and returns a function that prints the result. The
docstring of a printer describes this function.
"""

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from starcast.cli.output import (
    IN_LATEX,
    READABLE,
    AllOption,
    FormatOption,
    emit,
    emit_properties,
    fits,
    narrowed,
    omitted_columns,
    say,
    write_text,
)
from starcast.lab.signature import check_suffix
from starcast.support.errors import LAYOUT, InputError, escape
from starcast.support.vocabulary import Format, Layout, ListingFormat, Plot

if TYPE_CHECKING:
    from starcast.lab.claims import ClaimReport
    from starcast.lab.results import Answer, ComparisonTable, CostTable, ExchangeFile, Picture
    from starcast.support.table import Facts, Table

Show = Callable[[Any], None]
PictureFile = Annotated[
    Path | None,
    typer.Option("--out", help="Output file: .svg, .png or .pdf (default: SVG on stdout)."),
]
OutOption = Annotated[Path | None, typer.Option("--out", help="Output file (default: stdout).")]


def table(output: FormatOption = Format.TABLE) -> Show:
    """Print a table and its note; formats for readers omit a table that has a note but no rows."""

    def show(result: "Table") -> None:
        shown = result.readable() if output in READABLE else result
        if shown.rows or not shown.note or output not in READABLE:
            emit(shown.rows, shown.columns, output)
        if shown.note:
            say(shown.note)

    return show


def wide_table(everything: AllOption = False, output: FormatOption = Format.TABLE) -> Show:
    """Print a table. If it is too wide, omit optional columns, and name them below the table."""
    if output is not Format.TABLE and output not in IN_LATEX:
        return table(output)

    def show(result: "Table") -> None:
        shown = result if everything else result.readable()
        spare = () if everything else result.spare
        if output is Format.TABLE:
            columns = narrowed(shown.rows, shown.columns, spare)
            emit(shown.rows, columns, output, below=omitted_columns(shown.columns, columns))
        else:
            emit(shown.rows, shown.columns, output, spare=spare)
            for line in shown.note.splitlines():
                print(f"% {escape(line)}")
        if shown.note:
            say(shown.note)

    return show


def answer(
    output: Annotated[
        Literal[ListingFormat, Format.SVG],
        typer.Option(
            "--format", "-f", help="Output format; svg draws the nodes and links in the rows."
        ),
    ] = Format.TABLE,
    layout: Annotated[
        Layout | None,
        typer.Option(
            help="Arrangement of the nodes in a drawing: ring, or levels (by distance from the "
            "source or root)."
        ),
    ] = None,
    out: PictureFile = None,
    show_cypher: Annotated[
        bool,
        typer.Option(
            "--show-cypher", help="Also print the Cypher statement and its parameters, to stderr."
        ),
    ] = False,
) -> Show:
    """Print the rows of a query result, or draw them."""
    draw = picture(out)
    if output is not Format.SVG:
        for option, value in {"--layout": layout, "--out": out}.items():
            if value is not None:
                raise InputError(
                    f"{option} applies only to drawings, but the format is {output}",
                    hint="add --format svg",
                )

    def show(result: "Answer") -> None:
        if show_cypher:
            # JSON values are valid Cypher, so these lines can be pasted into Neo4j Browser.
            for name, value in result.parameters.items():
                say(f":param {name} => {json.dumps(value, ensure_ascii=False)}")
            say(result.cypher)
        if output is not Format.SVG:
            table(output)(result)
            return
        from starcast.lab.results import Picture

        draw(Picture(result.svg(layout), "the result"))
        if result.note:
            say(result.note)

    return show


def cost_table(everything: AllOption = False, output: FormatOption = Format.TABLE) -> Show:
    """Print the parts of a cost table: one per collective and port model.

    A table from a paper has one part per set of parameters instead.
    """

    def show(result: "CostTable") -> None:
        if output not in (READABLE if result.is_paper else (Format.TABLE, *IN_LATEX)):
            table(output)(result)
            return
        if output in IN_LATEX and (result.is_paper or not everything):
            print(result.to_latex(wide=output is Format.LATEX_WIDE))
            return
        for part in result.parts:
            if everything and not result.is_paper:
                # The title names topology and collective, so their columns are omitted.
                emit(part.rows, result.columns[2:], output, part.title, label=part.label)
            elif output is Format.MARKDOWN:
                print(f"{part.title}\n")
                emit(part.rows, part.columns, output)
                print()
            else:
                fitting = narrowed(part.rows, part.columns, part.spare)
                emit(part.rows, fitting, output, part.title, below=[*part.sources, ""])

    return show


def comparison(
    crossovers: Annotated[
        bool,
        typer.Option(
            "--crossovers",
            help="List the message sizes at which the faster of two algorithms changes.",
        ),
    ] = False,
    runs: Annotated[
        bool,
        typer.Option(
            "--runs",
            help="List the compared runs, one run per row. The columns do not depend on the "
            "comparison.",
        ),
    ] = False,
    output: Annotated[
        Literal[ListingFormat, Format.HTML],
        typer.Option(
            "--format",
            "-f",
            help="Output format; html is a page with the comparison and its plots, in one file.",
        ),
    ] = Format.TABLE,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Output file, for --format html.", show_default="stdout"),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Also write the plots of the HTML page to this .svg, .pdf or .png file.",
        ),
    ] = None,
    plot_only: Annotated[
        Plot | None,
        typer.Option(
            "--plot-only",
            help="Write only plots of this kind to the file of --plot: time (against message size) "
            "or links (used per step).",
        ),
    ] = None,
) -> Show:
    """Print a comparison with remarks, in the widest layout that fits the terminal."""
    if out is not None and output is not Format.HTML:
        raise InputError(
            f"--out needs --format html, but the format is {output}",
            hint=f"add --format html for a page, or redirect the {output} with > {out}",
        )
    if out is not None:
        check_suffix(out, ".html", ".htm")
    if crossovers and runs:
        raise InputError("--crossovers and --runs cannot be combined", hint="remove one of them")
    if plot is None and plot_only is not None:
        raise InputError("--plot-only needs --plot", hint="add --plot FILE, or omit --plot-only")
    if plot is not None:
        from starcast.comparison.plots import check_plot

        check_plot(plot)

    def show(result: "ComparisonTable") -> None:
        from starcast.comparison import presentation
        from starcast.comparison.crossovers import table_columns

        compared = result.comparison
        if plot is not None:
            result.plots(plot, plot_only)
        networks = [] if output is Format.TABLE else [f"  {each}" for each in compared.networks]
        for line in [*presentation.explain(compared), *networks]:
            say(line)
        below = presentation.tell_commands(compared)
        if output is Format.HTML:
            write_text(result.html(), out)
        elif crossovers:
            found = result.crossovers()
            columns = table_columns(found.rows) if output in READABLE else found.columns
            if found.rows or output not in READABLE:
                emit(found.rows, columns, output)
            below = [found.note, *below] if found.note else below
        elif runs:
            table(output)(result.runs())
        else:
            _emit_comparison(result, output)
            below = [*presentation.tell_crossovers(compared), *below]
        for line in [*below, *([] if plot is None else [f"written to {plot}"])]:
            say(line)

    return show


def _emit_comparison(result: "ComparisonTable", output: Format) -> None:
    from starcast.comparison import presentation

    compared = result.comparison
    if output not in READABLE:
        emit(result.rows, result.columns, output)
        return
    if output in IN_LATEX:
        print(result.to_latex(wide=output is Format.LATEX_WIDE))
        return
    if output is Format.MARKDOWN:
        layout = presentation.lay_out(compared.with_short_names())
        emit(layout.rows, layout.columns, output, bold=layout.best)
        return
    for shown, layout in presentation.layouts(compared):
        rule = presentation.describe_pairing(compared)
        title = "\n".join([*presentation.legend(compared, shown), rule])
        if fits(layout.rows, layout.columns):
            break
    columns: Sequence[str] = layout.columns
    if not compared.everything and not fits(layout.rows, columns):
        columns = narrowed(layout.rows, columns, ("steps", "gap"))
    below = omitted_columns(layout.columns, columns)
    emit(layout.rows, columns, output, title, layout.best, below)


def text() -> Show:
    """Print a string, or the path of a file."""
    return lambda result: print(escape(str(result).rstrip(), LAYOUT))


def facts(output: FormatOption = Format.TABLE) -> Show:
    """Print named values, and a sentence that summarizes them, if there is one.

    With ``--format table``, the sentence replaces the values; if the sentence is None, nothing is
    printed.
    """

    def show(result: "Facts") -> None:
        if output is not Format.TABLE or result.sentence == "":
            emit_properties(_readable(result) if output is not Format.JSON else result, output)
        if result.sentence:
            say(result.sentence)

    return show


def claim(
    cypher: Annotated[
        bool,
        typer.Option(
            "--cypher",
            help="Print a Cypher statement that shows the counterexample in the stored graph.",
        ),
    ] = False,
    output: FormatOption = Format.TABLE,
) -> Show:
    """Print the properties of a claim, or its counterexample as Cypher."""
    return (lambda result: print(result.cypher())) if cypher else facts(output)


def claim_report(
    out: OutOption = None,
    page: Annotated[
        Literal[Format.MARKDOWN, Format.HTML] | None,
        typer.Option(
            "--format",
            "-f",
            help="Format of the report; html is a self-contained page.",
            show_default="html if --out ends in .html or .htm, else markdown",
        ),
    ] = None,
) -> Show:
    """Write a claim report to a file or to stdout.

    By default, the file's suffix determines the format; the default format on stdout is Markdown.
    """
    suffixes = {Format.HTML: (".html", ".htm"), Format.MARKDOWN: (".md", ".markdown")}
    is_named_html = out is not None and out.suffix.lower() in suffixes[Format.HTML]
    chosen = page or (Format.HTML if is_named_html else Format.MARKDOWN)
    if out is not None:
        check_suffix(out, *suffixes[chosen])

    def show(result: "ClaimReport") -> None:
        say(result.subject)
        write_text(result.html() if chosen is Format.HTML else result.markdown(), out)

    return show


def _readable(properties: dict[str, Any]) -> dict[str, Any]:
    """Return an artifact's properties with nested values converted to strings or lists."""
    shown: dict[str, Any] = {}
    for name, value in properties.items():
        if name == "levels":
            shown |= {f"levels_of_tree_{number}": profile for number, profile in enumerate(value)}
        elif name == "branches":
            shown[name] = "; ".join(" ".join(map(str, sizes)) for sizes in value)
        elif name == "load_histogram":
            shown[name] = ", ".join(f"{links} carry {load}" for load, links in value.items())
        else:
            shown[name] = value
    return shown


def picture(out: PictureFile = None) -> Show:
    """Write a drawing in the format of the file's suffix, or as SVG to stdout."""
    if out is not None:
        check_suffix(out, ".svg", ".png", ".pdf")

    def show(result: "Picture") -> None:
        if out is None:
            write_text(result.svg, None)
        else:
            result.save(out)
            say(f"drew {result.subject} to {out}")

    return show


def exchange_file(out: OutOption = None) -> Show:
    """Write a topology, forest or schedule to a file for another program, or to stdout."""

    def show(result: "ExchangeFile") -> None:
        if out is None:
            sys.stdout.writelines(part.decode() for part in result.parts())
            return
        check_suffix(out, *result.format.suffixes)
        result.save(out)
        held = result.artifact
        say(f"wrote {held.spec if hasattr(held, 'spec') else held.id} to {out}")

    return show


#: The printer of each class of results, by the name of the class.
PRINTERS: dict[str, Callable[..., Show]] = {
    "Table": table,
    "RunTable": table,
    "ComparisonTable": comparison,
    "Answer": answer,
    "str": text,
    "Path": text,
    "CostTable": cost_table,
    "Facts": facts,
    "ClaimFacts": claim,
    "ClaimReport": claim_report,
    "Picture": picture,
    "ExchangeFile": exchange_file,
}
