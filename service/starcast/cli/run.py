"""``starcast run``: one algorithm executed at one point, and what is stored of runs."""

from typing import Annotated

import typer

from starcast.cli import figures
from starcast.cli.db import store
from starcast.cli.output import Format, FormatOption, emit, say

app = typer.Typer(no_args_is_help=True, help="Runs: execute and price one, list and show those that are stored.")

#: Options of one point; `experiment run` takes lists of the same.
MESSAGE_HELP = "Bytes of the message: 1024, 2.5, 23/3."
SEGMENTS_HELP = "Pieces that a tree's share of the message is cut into; for an algorithm of messages, packets."
PORTS_HELP = "Port model: all or one."
START_UP_HELP = "T_s, time to start a packet up."
BYTE_HELP = "T_c, time a byte."


@app.command("once")
def once(
    ctx: typer.Context,
    topology: Annotated[str, typer.Argument(help="Such as S5.")],
    collective: Annotated[str, typer.Argument(help="Such as broadcast.")],
    algorithm: Annotated[str, typer.Argument(help="Such as multiple.")],
    message: Annotated[str, typer.Option("-m", help=MESSAGE_HELP)],
    ports: Annotated[str, typer.Option(help=PORTS_HELP)] = "all",
    segments: Annotated[int, typer.Option(help=SEGMENTS_HELP)] = 1,
    t_s: Annotated[str, typer.Option(help=START_UP_HELP)] = "100",
    t_c: Annotated[str, typer.Option(help=BYTE_HELP)] = "1",
    experiment: Annotated[str, typer.Option(help="Collection of single runs to store it in.")] = "adhoc",
    stored: Annotated[bool, typer.Option("--store/--no-store", help="Store it; without, no server is needed.")] = True,
    output: FormatOption = Format.TABLE,
) -> None:
    """Build a schedule, verify and simulate it, and print what it costs, exactly and against the lower bound.

    A stored run of the same point in the same collection is replaced.
    """
    from starcast.runs.execution import execute, priced
    from starcast.runs.experiment import run_once
    from starcast.runs.grid import Point, number

    exact = number(message, "m"), number(t_s, "T_s"), number(t_c, "T_c")
    point = Point(topology, collective, algorithm, ports, segments, *exact)
    if stored:
        with store(ctx) as engine:
            run = run_once(engine, point, experiment)
        say(f"stored as run {run.id} in '{experiment}'")
    else:
        run = priced(point, execute(point))
    figures.demand_complete(run)
    emit(figures.cost_rows(run), figures.COST_COLUMNS, output)


@app.command("list")
def list_runs(
    ctx: typer.Context,
    experiment: Annotated[str | None, typer.Option(help="Only the runs of this experiment.")] = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """List the stored runs, each with its simulated time and its gap (time / lower bound)."""
    from starcast.runs import repository
    from starcast.runs.database import session

    with store(ctx) as engine, session(engine) as opened:
        chosen = repository.list_experiments(opened)
        if experiment is not None:
            chosen = [repository.load_experiment(opened, experiment)]
        rows = [figures.run_row(run, one.name) for one in chosen for run in repository.load_runs(opened, one.id)]
    emit(rows, figures.RUN_COLUMNS, output)


@app.command("show")
def show(
    ctx: typer.Context,
    number: Annotated[int, typer.Argument(help="The run's number in 'starcast run list'.")],
    steps: Annotated[bool, typer.Option("--steps", help="Its profile instead: what each step carries.")] = False,
    output: FormatOption = Format.TABLE,
) -> None:
    """Print all that is stored of a run: parameters, costs, seconds of each phase, provenance."""
    from starcast.runs import repository
    from starcast.runs.database import session

    with store(ctx) as engine, session(engine) as opened:
        run = repository.load_run(opened, number)
        facts = figures.run_facts(run, repository.experiment_name(opened, run.experiment))
        profile = repository.load_profile(opened, number)
    if steps:
        columns = ("step", "links_used", "packets", "largest_packet")
        emit(({name: getattr(step, name) for name in columns} for step in profile), columns, output)
        return
    emit(({"what": what, "value": value} for what, value in facts.items()), ("what", "value"), output)
