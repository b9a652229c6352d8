"""``starcast compare``: stored runs beside each other."""

from collections.abc import Mapping
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from starcast.cli import run_output
from starcast.cli.db import store
from starcast.cli.output import Format, emit, fits, reporter, say
from starcast.errors import InputError

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

    from starcast.comparison.compare import Comparison
    from starcast.comparison.layout import Layout


class Output(StrEnum):
    """How a comparison is written: as every listing, or as a page."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    MARKDOWN = "markdown"
    HTML = "html"


#: So many changes of places are told beside a table; more are a listing of their own.
_TOLD = 12


def compare(
    ctx: typer.Context,
    names: Annotated[
        list[str],
        typer.Argument(help="Experiments by name, runs by number; one experiment is taken apart."),
    ],
    across: Annotated[
        list[str] | None,
        typer.Option(
            metavar="AXIS",
            help="Compare runs that differ in it: topology, ports, T_s or T_c; may be repeated.",
        ),
    ] = None,
    topology: Annotated[
        list[str] | None,
        typer.Option(
            metavar="AXIS=VALUE",
            help="Only runs with this value, such as topology=S5; repeated, any of an axis.",
        ),
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option(help="What the others are compared with.", show_default="the first"),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Show all parameters, figures and rows.")
    ] = False,
    sort: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Order of the rows; -COLUMN descends; time alone is the fastest side's.",
        ),
    ] = None,
    crossovers: Annotated[
        bool, typer.Option("--crossovers", help="List where along m the better one changes.")
    ] = False,
    output: Annotated[
        Output, typer.Option("--format", "-f", help="How to write it; html is a page with plots.")
    ] = Output.TABLE,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Where to write html.", show_default="stdout"),
    ] = None,
) -> None:
    """Compare experiments, or single runs, at the points that they have in common.

    Rows are points; for each side there are the simulated figures and the gap (time / lower bound), for each but the
    baseline the change in time. Only what differs is shown, the least time in bold. A row that is no comparison says
    why. One experiment alone is taken apart by algorithm, tree and copies. In json and csv a parameter in which
    the sides differ has a column for each side.

    Runs on different topologies answer different questions. With --across topology the topology is a choice as the
    algorithm is: each side has a network of its own, whose nodes, degree and links are told, and nothing is normalised.

    \b
    starcast compare substar multiple --format html --out page.html
    starcast compare sizes --across topology --where topology=S5 --where topology=Q7
    """
    from starcast.comparison.compare import compare
    from starcast.comparison.filters import chosen, wanted
    from starcast.comparison.networks import crossed
    from starcast.comparison.sides import load_side
    from starcast.database.sessions import session

    if out is not None and output is not Output.HTML:
        raise InputError(
            f"--out writes html, and the format is {output}",
            hint=f"add --format html for a page, or write the {output} with > {out}",
        )
    axes, conditions = crossed(across or ()), wanted(topology or ())
    with store(ctx) as engine, session(engine) as opened:
        sides = [load_side(opened, name) for name in names]
        for sentence in dict.fromkeys(side.lacking for side in sides if side.lacking):
            say(sentence)
        comparison = compare(chosen(sides, conditions), baseline, axes)
        comparison = comparison if sort is None else comparison.ordered(sort)
        _explain(comparison, output, everything=everything)
        if output is Output.HTML:
            _write(_page(comparison, opened, everything=everything), out)
        elif crossovers:
            _emit_crossovers(comparison, Format(output))
        else:
            _emit(comparison, Format(output), everything=everything)
            _tell_crossovers(comparison)
        _reproduce(comparison)


def _emit(comparison: "Comparison", output: Format, *, everything: bool) -> None:
    """The rows: for people laid out, for programs a column a figure of each run, and one that names the best."""
    if output in (Format.JSON, Format.CSV):
        emit(
            map(_plain, comparison.rows(everything=everything)),
            comparison.listed(everything=everything),
            output,
        )
        return
    shown, layout = _laid_out(comparison, output, everything=everything)
    title = "\n".join(_legend(comparison, shown)) if output is Format.TABLE else ""
    emit(map(_plain, layout.rows), layout.columns, output, title=title, bold=layout.best)


def _laid_out(
    comparison: "Comparison", output: Format, *, everything: bool
) -> tuple["Comparison", "Layout"]:
    """The comparison as it is shown, and its layout: of a table the first that fits on the terminal, else the last."""
    from starcast.comparison.layout import MOST_ABREAST, laid_out

    brief = comparison.briefly()
    if output is not Format.TABLE:
        return brief, laid_out(brief, everything=everything)
    tried = [(brief, True, False), (brief, True, True)]
    if len(comparison.sides) <= MOST_ABREAST:
        lettered = comparison.lettered()
        tried = [(lettered, False, False), (lettered, False, True), *tried]
    for shown, stacked, short in tried:
        layout = laid_out(shown, everything=everything, stacked=stacked, brief=short)
        if fits(map(_plain, layout.rows), layout.columns):
            break
    return shown, layout


def _plain(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row with figures as people read them."""
    read = run_output.plain_row(row)
    gaps = [name for name in read if name.split()[0] == "gap" and read[name] is not None]
    return read | {name: round(read[name], 3) for name in gaps}


def _emit_crossovers(comparison: "Comparison", output: Format) -> None:
    from starcast.comparison import crossovers

    rows = [run_output.plain_row(row) for row in crossovers.rows(crossovers.of(comparison))]
    columns = (
        crossovers.COLUMNS if output in (Format.JSON, Format.CSV) else crossovers.told_columns(rows)
    )
    emit(rows, columns, output)


def _tell_crossovers(comparison: "Comparison") -> None:
    """On stderr, those of every algorithm at its best."""
    from starcast.comparison import crossovers

    found = crossovers.marked(crossovers.of(comparison))
    alone = len({crossing.question for crossing in found}) == 1
    for crossing in found[:_TOLD]:
        say(f"crossover {crossing.change if alone else crossing}")
    if len(found) > _TOLD:
        say(f"and {len(found) - _TOLD} more crossovers; --crossovers lists all")


def _page(comparison: "Comparison", opened: "Session", *, everything: bool) -> str:
    import logging

    # A home that cannot be written, or fonts that are looked up for the first time, are no news to who compares runs.
    logging.getLogger("matplotlib").setLevel(logging.ERROR)

    from starcast.comparison import report
    from starcast.database import repository

    runs = dict.fromkeys(run.id for run in report.profiled(comparison))
    profiles = {
        run: [step.links_used for step in repository.load_profile(opened, run)] for run in runs
    }
    return report.page(
        comparison, profiles, datetime.now(UTC), everything=everything, reporter=reporter()
    )


def _write(page: str, out: Path | None) -> None:
    from starcast.support.atomic import atomic_write

    if out is None:
        print(page)
        return
    with atomic_write(out) as file:
        file.write(page.encode())
    say(f"written to {out}")


def _explain(comparison: "Comparison", output: Output, *, everything: bool) -> None:
    baseline, *others = (side.name for side in comparison.sides)
    say(f"{', '.join(others)} against {baseline}; gap = time / lower bound")
    shared = comparison.worth_saying(everything=everything)
    if shared:
        say(f"in all rows: {', '.join(f'{name} {value}' for name, value in shared.items())}")
    if comparison.across:
        say(_crossing(comparison))
        # A table has them in its title.
        for network in comparison.networks if output is not Output.TABLE else ():
            say(f"  {network}")
    elif apart := comparison.kept_apart():
        flags = " ".join(f"--across {axis}" for axis in apart)
        say(
            f"some rows are no comparison, since they answer different questions; {flags} compares them all the same"
        )
    hidden = len(comparison.matches) - len(comparison.different)
    if hidden and not everything:
        say(
            f"{hidden} of {len(comparison.matches)} rows are the same on all sides; --all shows them"
        )
    sources = comparison.sources()
    if len(sources) > 1:
        say(f"the runs come from different code: {'; '.join(sources)}")


def _crossing(comparison: "Comparison") -> str:
    what = "networks of different size" if len(comparison.networks) > 1 else "different conditions"
    return f"across {', '.join(comparison.across)}: {what}, nothing is normalised; each gap is by the bound of its own"


def _legend(comparison: "Comparison", shown: "Comparison") -> list[str]:
    """What the sides are called in a table, where it calls them something else, and the networks that it is across."""
    pairs = zip(shown.sides, comparison.sides, strict=True)
    renamed = [
        f"{short.name} = {side.name}"
        for short, side in pairs
        if not f"/{side.name}".endswith(f"/{short.name}")
    ]
    return [", ".join(renamed)] * bool(renamed) + list(map(str, comparison.networks))


def _reproduce(comparison: "Comparison") -> None:
    repeat = dict.fromkeys(side.repeat for side in comparison.sides if side.repeat)
    elsewhere = dict.fromkeys(command for side in comparison.sides for command in side.commands)
    for told, commands in (
        ("reproduce with:", repeat),
        ("on another machine, or in another database, with:", elsewhere),
    ):
        for line in [told, *(f"  {command}" for command in commands)] if commands else []:
            say(line)
