"""``starcast experiment``: named sets of runs from a grid."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from starcast.cli import axes, run_output
from starcast.cli.db import store
from starcast.cli.output import AllOption, Format, FormatOption, emit, narrowed, reporter, say
from starcast.errors import InputError, RejectedError
from starcast.support.signals import sigterm_as_interrupt
from starcast.support.text import pluralize

if TYPE_CHECKING:
    from starcast.database.models import Experiment

app = typer.Typer(no_args_is_help=True, help="Experiments: named sets of runs from a grid.")

NameArgument = Annotated[str, typer.Argument(help="The experiment's name.")]
JobsOption = Annotated[
    int | None, typer.Option(help="Processes that execute at once.", show_default="one a core")
]


@app.command("run")
def run_grid(
    ctx: typer.Context,
    name: NameArgument,
    topology: Annotated[
        list[str] | None, typer.Option(help="Such as S5; repeat for more, as every axis.")
    ] = None,
    collective: Annotated[
        list[str] | None, typer.Option(help="Such as broadcast.", show_default="broadcast")
    ] = None,
    algorithm: Annotated[list[str] | None, typer.Option(help="Such as multiple.")] = None,
    tree: Annotated[list[str] | None, typer.Option(help=axes.TREE_HELP)] = None,
    ports: Annotated[
        list[str] | None, typer.Option(help=axes.PORTS_HELP, show_default="each algorithm's first")
    ] = None,
    segments: Annotated[
        list[str] | None, typer.Option(help=axes.SEGMENTS_HELP, show_default="1")
    ] = None,
    messages: Annotated[
        list[str] | None, typer.Option(help=axes.MESSAGES_HELP, show_default="the segments")
    ] = None,
    copies: Annotated[
        list[str] | None, typer.Option(help=axes.COPIES_HELP, show_default="1")
    ] = None,
    faults: Annotated[
        list[str] | None, typer.Option(help=axes.FAULTS_HELP, show_default="none")
    ] = None,
    seed: Annotated[list[str] | None, typer.Option(help=axes.SEED_HELP, show_default="0")] = None,
    message: Annotated[list[str] | None, typer.Option("-m", help=axes.MESSAGE_HELP)] = None,
    t_s: Annotated[
        list[str] | None, typer.Option(help=axes.START_UP_HELP, show_default="100")
    ] = None,
    t_c: Annotated[list[str] | None, typer.Option(help=axes.BYTE_HELP, show_default="1")] = None,
    grid: Annotated[
        str | None,
        typer.Option(
            help="TOML file with the axes, or a name of 'experiment examples'; a flag replaces its axis."
        ),
    ] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Drop what is stored under this name first.")
    ] = False,
    jobs: JobsOption = None,
) -> None:
    """Execute every combination of the axes that the experiment does not hold yet, and store each whole.

    An axis that an algorithm does not have collapses for it. An interrupted experiment goes on where it stopped; a
    complete one is left as it is.
    """
    from starcast.experiments.design import read
    from starcast.experiments.running import run_experiment

    flags = {
        "topology": topology, "collective": collective, "algorithm": algorithm, "base": tree, "ports": ports,
        "segments": segments, "messages": messages, "copies": copies, "faults": faults, "seed": seed, "message_bytes": message,
        "t_s": t_s, "t_c": t_c,
    }  # fmt: skip
    design = read(grid, {axis: values for axis, values in flags.items() if values})
    with sigterm_as_interrupt(), store(ctx) as engine:
        outcome = run_experiment(engine, name, design, reporter(), replace=replace, jobs=jobs)
    created, kept = pluralize(outcome.created, "run"), pluralize(outcome.kept, "was", "were")
    say(f"experiment '{name}': {created} executed and stored, {kept} there")
    if outcome.failed:
        raise RejectedError(
            f"{outcome.failed} of the runs failed and will not be compared",
            hint=f"see 'starcast run list --experiment {name}' and 'starcast run show'",
        )


@app.command("reproduce")
def reproduce(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(help="The experiment's name, or a run's number.")],
    jobs: JobsOption = None,
    everything: AllOption = False,
    output: FormatOption = Format.TABLE,
) -> None:
    """Repeat every stored run at the same point, under the same faults, and say whether the figures agree.

    Nothing is stored. The exit code is 6 if a figure does not agree.
    """
    from starcast.experiments.reproduction import FIGURES
    from starcast.experiments.reproduction import reproduce as repeat

    with sigterm_as_interrupt(), store(ctx) as engine:
        repeated = repeat(engine, name, reporter(), jobs)
    rows = [
        {**run_output.run_row(one.run, name), **one.figures, "agrees": one.agrees}
        for one in repeated
    ]
    columns = ("run", *run_output.POINT, "agrees", *FIGURES)
    run_output.emit_runs(rows, columns, output, everything=everything, needed=FIGURES)
    wrong = sum(not one.agrees for one in repeated)
    say(f"all figures agree in {len(repeated) - wrong} of {pluralize(len(repeated), 'run')}")
    if wrong:
        raise RejectedError(
            f"{pluralize(wrong, 'run gives', 'runs give')} other figures than are stored",
            hint="the provenance in 'starcast run show' says what made a run",
        )


@app.command("examples")
def list_examples(output: FormatOption = Format.TABLE) -> None:
    """List the experiments that starcast ships: run one with 'starcast experiment run NAME --grid EXAMPLE'."""
    from starcast.experiments.design import examples, read

    designs = {name: read(str(file)) for name, file in examples().items()}
    rows = [
        {
            "example": name,
            "runs": len(design.points()),
            "title": design.title,
            "description": design.description,
        }
        for name, design in designs.items()
    ]
    shown = (
        ("example", "runs", "title")
        if output in (Format.TABLE, Format.MARKDOWN)
        else tuple(rows[0])
    )
    emit(rows, shown, output)


@app.command("list")
def list_experiments(
    ctx: typer.Context, everything: AllOption = False, output: FormatOption = Format.TABLE
) -> None:
    """List the stored experiments: how many runs they hold of how many that their grids ask for, and their grids."""
    from starcast.database import repository
    from starcast.database.sessions import session
    from starcast.experiments.design import stored_axes

    rows: list[dict[str, Any]] = []
    with store(ctx) as engine, session(engine) as opened:
        counts = repository.count_runs(opened)
        for experiment in repository.list_experiments(opened):
            runs, failed = counts.get(experiment.id, (0, 0))
            facts = {"runs": runs, "points": experiment.points, "failed": failed}
            made = {"experiment": experiment.name, "created": experiment.created_at.astimezone()}
            rows.append({**stored_axes(experiment.grid), **facts, **made})
    if output is not Format.TABLE or everything:
        emit([{**row, **_joined(row)} for row in rows], _COLUMNS, output)
        return
    short = [{**row, **_shortened(row)} for row in rows]
    said = [
        name for name in _COLUMNS if name not in _GRID_COLUMNS or any(name in row for row in rows)
    ]
    said.remove("points")  # told beside the runs
    shown = narrowed(short, said, _SPARE)
    emit(short, shown, output, below=run_output.not_shown(said, shown))


@app.command("show")
def show(
    ctx: typer.Context,
    name: NameArgument,
    toml: Annotated[
        bool,
        typer.Option("--toml", help="Its grids instead, as a file for 'experiment run --grid'."),
    ] = False,
    everything: AllOption = False,
    output: FormatOption = Format.TABLE,
) -> None:
    """Print the runs of an experiment; the command that runs it, and what it lacks, go to stderr."""
    from starcast.comparison.sides import load_side
    from starcast.database import repository
    from starcast.database.sessions import session
    from starcast.experiments.design import in_order

    with store(ctx) as engine, session(engine) as opened:
        experiment = repository.load_experiment(opened, name)
        if toml:
            print(_toml(experiment), end="")
            return
        side = load_side(opened, name)
        rows = [run_output.run_row(run, name) for run in in_order(experiment, side.runs)]
    for command in side.commands:
        say(command)
    if side.lacking:
        say(side.lacking)
    run_output.emit_runs(
        rows,
        [name for name in run_output.RUN_COLUMNS if name != "experiment"],
        output,
        everything=everything,
    )


@app.command("drop")
def drop(ctx: typer.Context, name: NameArgument) -> None:
    """Forget an experiment with its runs."""
    from starcast.experiments.running import drop_experiment

    with store(ctx) as engine:
        runs = drop_experiment(engine, name)
    say(f"the experiment '{name}' is gone with its {pluralize(runs, 'run')}")


_GRID_COLUMNS = (
    "topology", "collective", "algorithm", "base", "ports", "segments", "messages", "copies", "faults", "seed", "message_bytes", "t_s",
    "t_c",
)  # fmt: skip
_COLUMNS = ("experiment", "runs", "points", "failed", *_GRID_COLUMNS, "created")
#: The columns that leave a table which does not fit on the terminal, the first one first.
_SPARE = (
    "created",
    "seed",
    "t_c",
    "t_s",
    "faults",
    "copies",
    "messages",
    "segments",
    "ports",
    "base",
    "message_bytes",
)
#: Values of an axis that such a table has room for.
_SAID = 2


def _shortened(row: Mapping[str, Any]) -> dict[str, Any]:
    """What a table says of an experiment: some values of each axis, and the points only where some are not run."""
    lacks = row["points"] is not None and row["runs"] < row["points"]
    runs = f"{row['runs']} of {row['points']}" if lacks else row["runs"]
    return {
        "runs": runs,
        **{axis: run_output.brief(row[axis], _SAID) for axis in _GRID_COLUMNS if axis in row},
    }


def _joined(row: Mapping[str, Any]) -> dict[str, str]:
    return {axis: " ".join(row[axis]) for axis in _GRID_COLUMNS if axis in row}


def _toml(experiment: "Experiment") -> str:
    from starcast.experiments.design import stored_design

    if not experiment.grid:
        raise InputError(
            f"the experiment '{experiment.name}' collects single runs and has no grid",
            hint="leave --toml out",
        )
    return stored_design(experiment).toml()
