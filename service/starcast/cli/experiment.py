"""``starcast experiment``: named sets of runs from a grid."""

from pathlib import Path
from typing import Annotated, Any

import typer

from starcast.cli import figures
from starcast.cli import run as words
from starcast.cli.db import store
from starcast.cli.output import Format, FormatOption, emit, reporter, say
from starcast.errors import InputError, RejectedError

app = typer.Typer(no_args_is_help=True, help="Experiments: named sets of runs from a grid.")

NameArgument = Annotated[str, typer.Argument(help="The experiment's name.")]


@app.command("run")
def run_grid(
    ctx: typer.Context,
    name: NameArgument,
    topology: Annotated[list[str] | None, typer.Option(help="Such as S5; repeat for more, as every axis.")] = None,
    algorithm: Annotated[list[str] | None, typer.Option(help="Such as multiple.")] = None,
    message: Annotated[list[str] | None, typer.Option("-m", help=words.MESSAGE_HELP)] = None,
    collective: Annotated[str | None, typer.Option(help="Such as broadcast.", show_default="broadcast")] = None,
    ports: Annotated[list[str] | None, typer.Option(help=words.PORTS_HELP, show_default="all")] = None,
    segments: Annotated[list[int] | None, typer.Option(help=words.SEGMENTS_HELP, show_default="1")] = None,
    t_s: Annotated[list[str] | None, typer.Option(help=words.START_UP_HELP, show_default="100")] = None,
    t_c: Annotated[list[str] | None, typer.Option(help=words.BYTE_HELP, show_default="1")] = None,
    grid: Annotated[Path | None, typer.Option(help="TOML file with the axes; a flag replaces its axis.")] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Drop what is stored under this name first.")] = False,
) -> None:
    """Execute every combination of the axes that the experiment does not hold yet, and store each whole.

    An interrupted experiment goes on where it stopped; a complete one is left as it is.
    """
    from starcast.runs.experiment import run_experiment
    from starcast.runs.grid import Grid

    flags = {
        "topology": topology, "algorithm": algorithm, "m": message, "collective": collective, "ports": ports,
        "segments": segments, "T_s": t_s, "T_c": t_c,
    }  # fmt: skip
    wanted = Grid.from_json({**_axes(grid), **{axis: values for axis, values in flags.items() if values}})
    with store(ctx) as engine:
        outcome = run_experiment(engine, name, wanted, reporter(), replace=replace)
    say(f"experiment '{name}': {outcome.created} runs executed and stored, {outcome.kept} were there")
    if outcome.failed:
        raise RejectedError(
            f"{outcome.failed} of the runs failed and will not be compared",
            hint=f"see 'starcast run list --experiment {name}' and 'starcast run show'",
        )


@app.command("list")
def list_experiments(ctx: typer.Context, output: FormatOption = Format.TABLE) -> None:
    """List the stored experiments: their runs, how many failed, and their grids."""
    from starcast.runs import repository
    from starcast.runs.database import session

    rows = []
    with store(ctx) as engine, session(engine) as opened:
        for experiment in repository.list_experiments(opened):
            runs = repository.load_runs(opened, experiment.id)
            failed = sum(run.status == "failed" for run in runs)
            facts = {"runs": len(runs), "failed": failed, "created": experiment.created_at.astimezone()}
            axes = {axis: " ".join(map(str, values)) for axis, values in experiment.grid.items() if axis != "collective"}
            rows.append({**axes, **facts, "experiment": experiment.name})
    emit(rows, ("experiment", "runs", "failed", *_GRID_COLUMNS, "created"), output)


@app.command("show")
def show(ctx: typer.Context, name: NameArgument, output: FormatOption = Format.TABLE) -> None:
    """Print the runs of an experiment; the command that reproduces it goes to stderr."""
    from starcast.runs import repository
    from starcast.runs.database import session
    from starcast.runs.sides import load_side

    with store(ctx) as engine, session(engine) as opened:
        repository.load_experiment(opened, name)
        side = load_side(opened, name)
        rows = [figures.run_row(run, name) for run in side.runs]
    for command in side.commands:
        say(command)
    emit(rows, [column for column in figures.RUN_COLUMNS if column != "experiment"], output)


@app.command("drop")
def drop(ctx: typer.Context, name: NameArgument) -> None:
    """Forget an experiment with its runs."""
    from starcast.runs.experiment import drop_experiment

    with store(ctx) as engine:
        runs = drop_experiment(engine, name)
    say(f"the experiment '{name}' is gone with its {runs} runs")


_GRID_COLUMNS = ("topology", "algorithm", "ports", "segments", "m", "T_s", "T_c")


def _axes(file: Path | None) -> dict[str, Any]:
    import tomllib

    if file is None:
        return {}
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"the grid {file} cannot be read: {error.strerror}", hint="check its path") from None
    except ValueError as error:
        raise InputError(f"the grid {file} is not TOML: {error}", hint='write lines like m = [1024, "23/3"]') from None
