"""``starcast schedule``: schedules that are stored."""

from typing import Annotated

import typer

from starcast.cli import stored
from starcast.cli.output import Format, FormatOption

app = typer.Typer(no_args_is_help=True, help="Schedules that are stored: list, show, drop.")

NameArgument = Annotated[str, typer.Argument(help="As in 'starcast schedule list'.")]


@app.command("list")
def list_stored(
    ctx: typer.Context,
    topology: stored.TopologyOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """List the schedules that are stored, and whether they are complete."""
    stored.list_things(ctx, "schedule", topology, output)


@app.command("show")
def show(
    ctx: typer.Context, name: NameArgument, verify: stored.VerifyOption = False, output: FormatOption = Format.TABLE
) -> None:
    """Print a schedule's parameters, what its simulation counted, and how it was stored."""
    stored.show_thing(ctx, "schedule", name, verify, output)


@app.command("drop")
def drop(
    ctx: typer.Context, name: NameArgument, cascade: stored.CascadeOption = False, wait: stored.WaitOption = False
) -> None:
    """Drop a schedule."""
    stored.drop_thing(ctx, "schedule", name, cascade, wait)
