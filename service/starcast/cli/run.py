"""``starcast run``: one algorithm executed at one point, and what is stored of runs."""

from typing import Annotated

import typer

from starcast.cli import axes, run_output
from starcast.cli.db import store
from starcast.cli.output import AllOption, Format, FormatOption, emit, reporter, say

app = typer.Typer(
    no_args_is_help=True, help="Runs: execute and price one, list and show those that are stored."
)


@app.command("once")
def once(
    ctx: typer.Context,
    topology: Annotated[str, typer.Argument(help="Such as S5.")],
    collective: Annotated[str, typer.Argument(help="Such as broadcast.")],
    algorithm: Annotated[str, typer.Argument(help="Such as multiple.")],
    message: Annotated[str, typer.Option("-m", help=axes.MESSAGE_HELP)],
    ports: Annotated[
        str | None, typer.Option(help=axes.PORTS_HELP, show_default="the algorithm's first")
    ] = None,
    segments: Annotated[str | None, typer.Option(help=axes.SEGMENTS_HELP, show_default="1")] = None,
    messages: Annotated[str | None, typer.Option(help=axes.MESSAGES_HELP, show_default="1")] = None,
    copies: Annotated[str, typer.Option(help=axes.COPIES_HELP)] = "1",
    tree: Annotated[str | None, typer.Option(help=axes.TREE_HELP)] = None,
    faults: Annotated[str, typer.Option(help=axes.FAULTS_HELP)] = "none",
    seed: Annotated[str, typer.Option(help=axes.SEED_HELP)] = "0",
    t_s: Annotated[str, typer.Option(help=axes.START_UP_HELP)] = "100",
    t_c: Annotated[str, typer.Option(help=axes.BYTE_HELP)] = "1",
    experiment: Annotated[
        str, typer.Option(help="Collection of single runs to store it in.")
    ] = "adhoc",
    stored: Annotated[
        bool, typer.Option("--store/--no-store", help="Store it; without, no server is needed.")
    ] = True,
    output: FormatOption = Format.TABLE,
) -> None:
    """Build a schedule, verify and simulate it, and print what it costs, exactly and against the lower bound.

    A stored run of the same point in the same collection is replaced.
    """
    from starcast.experiments.execution import execute, priced
    from starcast.experiments.grid import Grid
    from starcast.experiments.running import run_once

    values = {
        "topology": topology, "collective": collective, "algorithm": algorithm, "ports": ports, "segments": segments,
        "messages": messages, "copies": copies, "base": tree, "faults": faults, "seed": seed, "message_bytes": message, "t_s": t_s,
        "t_c": t_c,
    }  # fmt: skip
    (point,) = Grid.from_json(
        {axis: value for axis, value in values.items() if value is not None}
    ).points()
    if stored:
        with store(ctx) as engine:
            run = run_once(engine, point, experiment, reporter())
        say(f"stored as run {run.id} in '{experiment}'")
    else:
        execution = execute(point)
        run = priced(point, execution)
        for remark in execution.remarks:
            say(remark)
    run_output.demand_complete(run)
    if run.faults:
        say(run_output.loss(run))
    emit(run_output.cost_rows(run), run_output.COST_COLUMNS, output)


@app.command("list")
def list_runs(
    ctx: typer.Context,
    experiment: Annotated[
        str | None, typer.Option(help="Only the runs of this experiment.")
    ] = None,
    everything: AllOption = False,
    output: FormatOption = Format.TABLE,
) -> None:
    """List the stored runs, each with its simulated time and its gap (time / lower bound)."""
    from starcast.database import repository
    from starcast.database.sessions import session

    with store(ctx) as engine, session(engine) as opened:
        chosen = repository.list_experiments(opened)
        if experiment is not None:
            chosen = [repository.load_experiment(opened, experiment)]
        rows = [
            run_output.run_row(run, one.name)
            for one in chosen
            for run in repository.load_runs(opened, one.id)
        ]
    run_output.emit_runs(rows, run_output.RUN_COLUMNS, output, everything=everything)


@app.command("show")
def show(
    ctx: typer.Context,
    number: Annotated[int, typer.Argument(help="The run's number in 'starcast run list'.")],
    steps: Annotated[
        bool, typer.Option("--steps", help="Its profile instead: what each step carries.")
    ] = False,
    output: FormatOption = Format.TABLE,
) -> None:
    """Print all that is stored of a run: parameters, costs, seconds of each phase, provenance."""
    from starcast.database import repository
    from starcast.database.sessions import session
    from starcast.simulator.step_profile import COLUMNS

    with store(ctx) as engine, session(engine) as opened:
        run = repository.load_run(opened, number)
        facts = run_output.run_facts(run, repository.experiment_name(opened, run.experiment))
        profile = repository.load_profile(opened, number)
    if steps:
        columns = ("step", *COLUMNS)
        emit(({name: getattr(step, name) for name in columns} for step in profile), columns, output)
        return
    emit(
        ({"what": what, "value": value} for what, value in facts.items()), ("what", "value"), output
    )
