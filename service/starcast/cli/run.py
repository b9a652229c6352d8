"""``starcast run``: execute one algorithm at one point, and list stored runs."""

from typing import Annotated

import typer

from starcast.axes.parameters import AXES
from starcast.cli import axes, completion, run_output
from starcast.cli.db import store
from starcast.cli.output import AllOption, FormatOption, emit, emit_properties, reporter, say
from starcast.vocabulary import Format

app = typer.Typer(
    no_args_is_help=True, help="Runs: execute and price one, list and show stored runs."
)

_ARGUMENTS = ("topology", "collective", "algorithm")


@app.command("once")
@axes.takes_axes(name for name in AXES if name not in _ARGUMENTS)
def once(
    ctx: typer.Context,
    topology: axes.TopologyArgument,
    collective: axes.CollectiveArgument,
    algorithm: axes.AlgorithmArgument,
    experiment: Annotated[
        str,
        typer.Option(
            help="Collection of single runs to store the run in.",
            autocompletion=completion.experiments,
        ),
    ] = "adhoc",
    stored: Annotated[
        bool,
        typer.Option("--store/--no-store", help="Store the run; --no-store needs no server."),
    ] = True,
    output: FormatOption = Format.TABLE,
    **values: str | None,
) -> None:
    """Build, verify and simulate a schedule; print its exact costs and the lower bound.

    A stored run of the same point in the same collection is replaced.
    """
    from starcast.comparison import listing
    from starcast.experiments.execution import execute, price_run
    from starcast.experiments.grid import Grid
    from starcast.experiments.running import run_once

    values |= {"topology": topology, "collective": collective, "algorithm": algorithm}
    given = {axis: value for axis, value in values.items() if value is not None}
    (point,) = Grid.from_json(given).points()
    if stored:
        with store(ctx) as engine:
            run = run_once(engine, point, experiment, reporter())
        say(f"stored as run {run.id} in '{experiment}'")
    else:
        result = execute(point)
        run = price_run(point, result)
        for remark in result.remarks:
            say(remark)
    listing.require_complete(run)
    if run.faults:
        say(listing.describe_loss(run))
    emit(listing.cost_rows(run), listing.COST_COLUMNS, output)


@app.command("list")
def list_runs(
    ctx: typer.Context,
    experiment: Annotated[
        str | None,
        typer.Option(
            help="Only the runs of this experiment.", autocompletion=completion.experiments
        ),
    ] = None,
    everything: AllOption = False,
    output: FormatOption = Format.TABLE,
) -> None:
    """List the stored runs, each with its simulated time and its gap (time / lower bound)."""
    from starcast.comparison import listing
    from starcast.database.sessions import session

    with store(ctx) as engine, session(engine) as opened:
        runs = listing.list_runs(opened, experiment)
    run_output.emit_runs(runs.rows, runs.columns, output, everything=everything)


@app.command("show")
def show(
    ctx: typer.Context,
    number: Annotated[int, typer.Argument(help="The run's number in 'starcast run list'.")],
    steps: Annotated[bool, typer.Option("--steps", help="Print the step profile instead.")] = False,
    output: FormatOption = Format.TABLE,
) -> None:
    """Print a stored run: parameters, costs, seconds per phase, provenance."""
    from starcast.comparison import listing
    from starcast.database import repository
    from starcast.database.sessions import session

    with store(ctx) as engine, session(engine) as opened:
        run = repository.load_run(opened, number)
        facts = listing.run_facts(run, repository.experiment_name(opened, run.experiment))
        profile = listing.list_profile(repository.load_profile(opened, number))
    if steps:
        emit(profile.rows, profile.columns, output)
        return
    emit_properties(facts, output)
