"""``starcast experiment``: named sets of runs from a grid."""

from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from starcast.axes.parameters import AXES, POINT_AXES
from starcast.cli import axes, completion, distribution, run_output
from starcast.cli.db import store
from starcast.cli.output import (
    AllOption,
    FormatOption,
    emit,
    emit_outcome,
    narrowed,
    omitted_columns,
    reporter,
    say,
)
from starcast.errors import InputError, RejectedError
from starcast.support.signals import sigterm_as_interrupt
from starcast.support.text import pluralize
from starcast.vocabulary import Format

if TYPE_CHECKING:
    from starcast.database.models import Experiment

app = typer.Typer(no_args_is_help=True, help="Experiments: named sets of runs from a grid.")

NameArgument = Annotated[
    str, typer.Argument(help="The experiment's name.", autocompletion=completion.experiments)
]


@app.command("run")
@axes.takes_axes(AXES, several=True)
def run_grid(
    ctx: typer.Context,
    name: NameArgument,
    grid: Annotated[
        str | None,
        typer.Option(
            help="TOML file with the axes, or a shipped example; an option replaces its axis."
        ),
    ] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Delete a stored experiment of this name first.")
    ] = False,
    jobs: distribution.JobsOption = None,
    workers: distribution.WorkersOption = None,
    shard: distribution.ShardOption = None,
    out: distribution.ShardFileOption = None,
    output: FormatOption = Format.TABLE,
    **values: list[str] | None,
) -> None:
    """Execute and store every combination of the axes that the experiment does not hold yet.

    Repeat the option of an axis for several values. An axis that an algorithm does not have is
    ignored for it. An interrupted experiment continues where it stopped; a complete one is left
    unchanged.
    """
    from starcast.experiments.design import read_design
    from starcast.experiments.running import run_experiment
    from starcast.experiments.sharding import run_shard
    from starcast.support.shards import parse_shard

    design = read_design(grid, {axis: given for axis, given in values.items() if given})
    part = parse_shard(shard, out)
    with (
        sigterm_as_interrupt(),
        ExitStack() as stack,
        distribution.open_executor(workers, jobs) as executor,
    ):
        if part is not None and out is not None:
            runs = run_shard(name, design, part, out, reporter(), jobs, executor)
            figures = {"experiment": name, "shard": shard, "runs": runs, "file": str(out)}
            sentence = f"shard {shard} of '{name}': {pluralize(runs, 'run')} written to {out}"
            emit_outcome(figures, output, sentence)
            return
        engine = stack.enter_context(store(ctx))
        outcome = run_experiment(
            engine, name, design, reporter(), replace=replace, jobs=jobs, executor=executor
        )
    created = pluralize(outcome.created, "run")
    kept = pluralize(outcome.kept, "was", "were")
    figures = {"experiment": name, **{key: getattr(outcome, key) for key in _OUTCOME}}
    sentence = f"experiment '{name}': {created} executed and stored, {kept} stored before"
    emit_outcome(figures, output, sentence)
    outcome.require_success()


@app.command("merge")
def merge(
    ctx: typer.Context,
    files: distribution.ShardFilesArgument,
    name: Annotated[
        str | None, typer.Option("--as", help="Another name for the experiment.")
    ] = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Store the experiment whose shards 'experiment run --shard' has written to files.

    Refused are incomplete, overlapping and damaged shards, and those of other versions; then
    nothing is stored.

    \b
    starcast experiment merge part-*.json
    """
    from starcast.experiments.sharding import merge_experiment

    with store(ctx) as engine:
        merged = merge_experiment(engine, files, name)
    created = pluralize(merged.created, "run")
    kept = pluralize(merged.kept, "was", "were")
    figures = {"experiment": merged.name, "created": merged.created, "kept": merged.kept}
    sentence = f"experiment '{merged.name}': {created} stored, {kept} stored before"
    emit_outcome(figures, output, sentence)


@app.command("reproduce")
def reproduce(
    ctx: typer.Context,
    name: Annotated[
        str,
        typer.Argument(
            help="The experiment's name, or a run's number.", autocompletion=completion.experiments
        ),
    ],
    jobs: distribution.JobsOption = None,
    workers: distribution.WorkersOption = None,
    everything: AllOption = False,
    output: FormatOption = Format.TABLE,
) -> None:
    """Execute every stored run again under the same faults and compare the figures.

    Nothing is stored. The exit code is 6 if a figure differs.
    """
    from starcast.comparison import listing
    from starcast.experiments.reproduction import FIGURES
    from starcast.experiments.reproduction import reproduce as repeat

    with (
        sigterm_as_interrupt(),
        store(ctx) as engine,
        distribution.open_executor(workers, jobs) as executor,
    ):
        repetitions = repeat(engine, name, reporter(), jobs, executor)
    rows = listing.list_repetitions(repetitions, name).rows
    figures: tuple[str, ...] = FIGURES
    if output is Format.TABLE and not everything:
        figures = tuple(name for name in FIGURES if any(row[name] != "same" for row in rows))
    columns = ("run", *POINT_AXES, "agrees", *figures)
    run_output.emit_runs(rows, columns, output, everything=everything, needed=figures)
    different = sum(not each.agrees for each in repetitions)
    total = pluralize(len(repetitions), "run")
    say(f"all figures agree in {len(repetitions) - different} of {total}")
    if different:
        raise RejectedError(
            f"{pluralize(different, 'run has', 'runs have')} figures that differ from the stored"
            " ones",
            hint="'starcast run show' lists the code and machine of a stored run",
        )


@app.command("examples")
def list_examples(output: FormatOption = Format.TABLE) -> None:
    """List the shipped experiments.

    Run one with 'starcast experiment run NAME --grid EXAMPLE'.
    """
    from starcast.comparison.listing import list_examples

    shipped = list_examples()
    is_data = output in (Format.JSON, Format.CSV)
    emit(shipped.rows, shipped.columns if is_data else ("example", "runs", "title"), output)


@app.command("list")
def list_experiments(
    ctx: typer.Context, everything: AllOption = False, output: FormatOption = Format.TABLE
) -> None:
    """List the stored experiments with their grids, stored runs and points."""
    from starcast.comparison.listing import list_experiments
    from starcast.database.sessions import session

    with store(ctx) as engine, session(engine) as opened:
        stored = list_experiments(opened)
    if output is not Format.TABLE or everything:
        joined = [row | {axis: " ".join(row[axis]) for axis in AXES if row[axis]} for row in stored]
        emit(joined, stored.columns, output)
        return
    short = [{**row, **_shortened(row, AXES)} for row in stored]
    columns = [
        name for name in stored.columns if name not in AXES or any(row[name] for row in stored)
    ]
    columns.remove("points")  # part of the column runs
    shown = narrowed(short, columns, _SPARE)
    emit(short, shown, output, below=omitted_columns(columns, shown))


@app.command("show")
def show(
    ctx: typer.Context,
    name: NameArgument,
    toml: Annotated[
        bool,
        typer.Option("--toml", help="Print the grids as a file for 'experiment run --grid'."),
    ] = False,
    everything: AllOption = False,
    output: FormatOption = Format.TABLE,
) -> None:
    """Print the runs of an experiment; its command and missing runs go to stderr."""
    from starcast.comparison.listing import list_grid
    from starcast.comparison.sides import experiment_side
    from starcast.database import repository
    from starcast.database.sessions import session

    with store(ctx) as engine, session(engine) as opened:
        experiment = repository.load_experiment(opened, name)
        if toml:
            print(_toml(experiment), end="")
            return
        side = experiment_side(opened, name)
        runs = list_grid(side)
    for command in side.commands:
        say(command)
    if runs.note:
        say(runs.note)
    run_output.emit_runs(runs.rows, runs.columns, output, everything=everything)


@app.command("export")
def export_file(
    ctx: typer.Context,
    names: Annotated[list[str], typer.Argument(metavar="NAME...", help="Names of experiments.")],
    out: Annotated[Path, typer.Option(help="File to write; compressed if it ends with .gz.")],
) -> None:
    """Write experiments with all runs, figures and provenance to a file for another store.

    \b
    starcast experiment export crossovers --out crossovers.json.gz
    """
    from starcast.experiments.exchange import export_experiments

    with store(ctx) as engine:
        runs = export_experiments(engine, names, out)
    say(f"{out}: {pluralize(runs, 'run')}")


@app.command("import")
def import_file(
    ctx: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="File of 'experiment export'.")],
    name: Annotated[
        str | None,
        typer.Option("--as", help="Name for the only experiment of the file.", show_default=False),
    ] = None,
) -> None:
    """Store the experiments of a file; runs that are stored already are kept.

    Nothing is stored if a run of the file has other figures than the same run in this store: the
    exit code is 6.
    """
    from starcast.experiments.exchange import import_experiments

    with store(ctx) as engine:
        imported = import_experiments(engine, file, name)
    for each in imported:
        created = pluralize(each.created, "run")
        kept = pluralize(each.kept, "was", "were")
        say(f"experiment '{each.name}': {created} stored, {kept} stored before")


@app.command("drop")
def drop(ctx: typer.Context, name: NameArgument, output: FormatOption = Format.TABLE) -> None:
    """Delete an experiment with its runs."""
    from starcast.experiments.running import drop_experiment

    with store(ctx) as engine:
        runs = drop_experiment(engine, name)
    sentence = f"deleted the experiment '{name}' with {pluralize(runs, 'run')}"
    emit_outcome({"experiment": name, "runs": runs}, output, sentence)


_OUTCOME = ("created", "kept", "failed")
#: The columns that a table omits until it fits on the terminal, the first one first.
_SPARE = ("created", *run_output.SPARE_AXES)
#: The number of values of an axis that a table shows.
_SHOWN_VALUES = 2


def _shortened(row: Mapping[str, Any], axes: Iterable[str]) -> dict[str, Any]:
    """Return the cells of a table: some values of each axis, and the points of incomplete grids."""
    incomplete = row["points"] is not None and row["runs"] < row["points"]
    runs = f"{row['runs']} of {row['points']}" if incomplete else row["runs"]
    given = [axis for axis in axes if row[axis]]
    return {"runs": runs} | {
        axis: run_output.abbreviate(row[axis], _SHOWN_VALUES) for axis in given
    }


def _toml(experiment: "Experiment") -> str:
    from starcast.experiments.design import stored_design

    if not experiment.grid:
        raise InputError(
            f"the experiment '{experiment.name}' is a collection of single runs without a grid",
            hint="omit --toml",
        )
    return stored_design(experiment).toml()
