"""``starcast compare``: compare stored runs."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from starcast.cli import axes, completion
from starcast.cli.db import store
from starcast.cli.output import (
    emit,
    fits,
    narrowed,
    omitted_columns,
    reporter,
    say,
    write_text,
)
from starcast.errors import InputError
from starcast.lab.files import check_suffix
from starcast.support.table import with_numbers
from starcast.vocabulary import Format, ListingFormat

if TYPE_CHECKING:
    from starcast.comparison.compare import Comparison
    from starcast.comparison.layout import Layout


#: The most crossovers printed below a table.
_MOST_CROSSOVERS = 12
#: The columns that a table omits until it fits on the terminal, the first one first.
_SPARE = ("steps", "gap")


def compare(
    ctx: typer.Context,
    names: Annotated[
        list[str],
        typer.Argument(
            help="Experiments by name, runs by number; a single experiment is split into parts.",
            autocompletion=completion.experiments,
        ),
    ],
    across: Annotated[
        list[str] | None,
        typer.Option(
            metavar="AXIS",
            help=(
                "Compare runs that differ in topology, ports, execution, t_s or t_c; may be"
                " repeated."
            ),
        ),
    ] = None,
    conditions: axes.ConditionsOption = None,
    baseline: Annotated[
        str | None,
        typer.Option(help="Side that the others are compared with.", show_default="the first"),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Show all parameters, figures and rows.")
    ] = False,
    sort: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Sort by this column; -COLUMN descends; time is the least time of all sides.",
        ),
    ] = None,
    crossovers: Annotated[
        bool, typer.Option("--crossovers", help="List the crossovers in message size.")
    ] = False,
    output: Annotated[
        Literal[ListingFormat, Format.HTML],
        typer.Option(
            "--format", "-f", help="Output format; html is the page of 'serve' as one file."
        ),
    ] = Format.TABLE,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="File for html.", show_default="stdout"),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the page's plots to .svg, .pdf or .png files."),
    ] = None,
) -> None:
    """Compare experiments, or single runs, at their common points.

    A row is a point, with the simulated figures and the gap (time / lower bound) of each side and
    the change in time of each side but the baseline. Rows without differences are hidden; the
    least time is bold. If runs are not comparable, the row says why. A single experiment is split
    by algorithm, base and copies. In json and csv, a parameter that differs between the sides has
    a column per side.

    With --plot FILE.svg the plots are written on their own, next to the listing. A single plot has
    this name; several are called FILE-times-N.svg (time against message size) and FILE-links-N.svg
    (links busy in each step), with the number N of the panel on the page. They need matplotlib.

    Runs on different topologies answer different questions. With --across topology, each side may
    have its own network; the sizes of the networks are listed and nothing is normalised.

    \b
    starcast compare substar multiple --format html --out page.html
    starcast compare substar multiple --format latex --plot figure.pdf > table.tex
    starcast compare sizes --across topology --where topology=S5 --where topology=Q7
    """
    from starcast.comparison.networks import check_crossed
    from starcast.comparison.page import render_file
    from starcast.comparison.sides import read_conditions
    from starcast.comparison.stored import compare_stored, load_profiles
    from starcast.database.sessions import session

    if out is not None and output is not Format.HTML:
        raise InputError(
            f"--out writes html, and the format is {output}",
            hint=f"add --format html for a page, or write the {output} with > {out}",
        )
    if out is not None:
        check_suffix(out, ".html", ".htm")
    if plot is not None:
        from starcast.comparison.plots import check_plot, plot_files

        check_plot(plot)
    check_crossed(across or ())  # before a server is needed
    read_conditions(conditions or ())
    listener = reporter()
    with store(ctx) as engine, session(engine) as opened:
        comparison = compare_stored(
            opened,
            names,
            listener,
            across=across or (),
            conditions=conditions or (),
            baseline=baseline,
            sort=sort,
        )
        if plot is not None or output is Format.HTML:
            profiles = load_profiles(opened, comparison)
        pictures = {} if plot is None else plot_files(comparison, profiles, plot)
        _explain(comparison, output, everything=everything)
        if output is Format.HTML:
            write_text(render_file(comparison, profiles, everything=everything), out)
        elif crossovers:
            _emit_crossovers(comparison, output)
        else:
            _emit(comparison, output, everything=everything)
            _say_crossovers(comparison)
        _say_commands(comparison)
    for file, content in pictures.items():
        _write_plot(file, content)


def _emit(comparison: "Comparison", output: Format, *, everything: bool) -> None:
    """Print the rows: laid out for people, or with one value per cell for programs."""
    from starcast.comparison.layout import as_cells, tabulate

    if output in (Format.JSON, Format.CSV):
        table = tabulate(comparison, everything=everything)
        emit(table.rows, table.columns, output)
        return
    shown, layout = _lay_out(comparison, output, everything=everything)
    rows = [as_cells(row) for row in layout.rows]
    if output is not Format.TABLE:
        caption = _caption(comparison, shown, everything=everything)
        emit(rows, layout.columns, output, title=caption, bold=layout.best)
        return
    columns = list(layout.columns)
    if not everything and not fits(rows, columns):
        columns = narrowed(rows, columns, _SPARE)
    below = omitted_columns(layout.columns, columns)
    title = "\n".join(_legend(comparison, shown))
    emit(rows, columns, output, title=title, bold=layout.best, below=below)


def _lay_out(
    comparison: "Comparison", output: Format, *, everything: bool
) -> tuple["Comparison", "Layout"]:
    """Return the comparison as shown, and its layout: the first that fits on the terminal."""
    from starcast.comparison.layout import MOST_ABREAST, as_cells, lay_out

    short = comparison.with_short_names()
    if output is not Format.TABLE:
        return short, lay_out(short, everything=everything)
    candidates = [(short, True, False), (short, True, True)]
    if len(comparison.sides) <= MOST_ABREAST:
        lettered = comparison.with_letters()
        candidates = [(lettered, False, False), (lettered, False, True), *candidates]
    for shown, stacked, brief in candidates:
        layout = lay_out(shown, everything=everything, stacked=stacked, brief=brief)
        if fits(map(as_cells, layout.rows), layout.columns):
            break
    return shown, layout


def _emit_crossovers(comparison: "Comparison", output: Format) -> None:
    from starcast.comparison import crossovers

    crossings = crossovers.all_crossovers(comparison)
    rows = [with_numbers(row) for row in crossovers.crossover_rows(crossings)]
    is_data = output in (Format.JSON, Format.CSV)
    emit(rows, crossovers.COLUMNS if is_data else crossovers.table_columns(rows), output)


def _say_crossovers(comparison: "Comparison") -> None:
    """Print the crossovers of all algorithms with their best segments on stderr."""
    from starcast.comparison.crossovers import all_crossovers, best_crossovers

    crossings = best_crossovers(all_crossovers(comparison))
    single = len({crossing.question for crossing in crossings}) == 1
    for crossing in crossings[:_MOST_CROSSOVERS]:
        say(f"crossover {crossing.change if single else crossing}")
    if len(crossings) > _MOST_CROSSOVERS:
        more = len(crossings) - _MOST_CROSSOVERS
        say(f"and {more} more crossovers; --crossovers lists all")


def _write_plot(file: Path, content: bytes) -> None:
    from starcast.support.atomic import atomic_write

    with atomic_write(file) as opened:
        opened.write(content)
    say(f"written to {file}")


def _explain(comparison: "Comparison", output: Format, *, everything: bool) -> None:
    baseline, *others = (side.name for side in comparison.sides)
    say(f"{', '.join(others)} against {baseline}; gap = time / lower bound")
    shared = comparison.header_parameters(everything=everything)
    if shared:
        say(f"in all rows: {', '.join(f'{name} {value}' for name, value in shared.items())}")
    if comparison.across:
        say(_describe_crossing(comparison))
        # A table lists the networks in its title.
        for network in comparison.networks if output is not Format.TABLE else ():
            say(f"  {network}")
    elif blocking := comparison.blocking_axes():
        options = " ".join(f"--across {axis}" for axis in blocking)
        say(
            "some rows are not comparable, because they answer different questions;"
            f" {options} compares them all the same"
        )
    hidden = len(comparison.matches) - len(comparison.different)
    if hidden and not everything:
        total = len(comparison.matches)
        say(f"{hidden} of {total} rows are the same on all sides; --all shows them")
    sources = comparison.sources()
    if len(sources) > 1:
        say(f"the runs come from different code: {'; '.join(sources)}")


def _describe_crossing(comparison: "Comparison") -> str:
    what = "networks of different size" if len(comparison.networks) > 1 else "different conditions"
    names = ", ".join(comparison.across)
    return (
        f"across {names}: {what}, nothing is normalised; each gap refers to the side's own lower"
        " bound"
    )


def _legend(comparison: "Comparison", shown: "Comparison") -> list[str]:
    """Return the full names of renamed sides, and the networks of a comparison across them."""
    renamed = [
        f"{short.name} = {side.name}"
        for short, side in zip(shown.sides, comparison.sides, strict=True)
        if not f"/{side.name}".endswith(f"/{short.name}")
    ]
    names = [", ".join(renamed)] if renamed else []
    return names + list(map(str, comparison.networks))


def _caption(comparison: "Comparison", shown: "Comparison", *, everything: bool) -> str:
    """Return the caption of a table in LaTeX: what is compared, and what all rows share."""
    baseline, *others = (side.name for side in shown.sides)
    shared = comparison.header_parameters(everything=everything)
    parts = [
        f"{', '.join(others)} against {baseline}",
        "gap = time / lower bound",
        ", ".join(f"{name} {value}" for name, value in shared.items()),
        *_legend(comparison, shown),
    ]
    return "; ".join(part for part in parts if part)


def _say_commands(comparison: "Comparison") -> None:
    repeat = dict.fromkeys(side.repeat for side in comparison.sides if side.repeat)
    elsewhere = dict.fromkeys(command for side in comparison.sides for command in side.commands)
    for heading, commands in (
        ("reproduce with:", repeat),
        ("on another machine, or in another database, with:", elsewhere),
    ):
        for line in [heading, *(f"  {command}" for command in commands)] if commands else []:
            say(line)
