"""``starcast topology``: topologies that are stored."""

from typing import Annotated

import typer

from starcast.cli import stored
from starcast.cli.output import Format, FormatOption

app = typer.Typer(no_args_is_help=True, help="Topologies that are stored: list, show, drop.")

NameArgument = Annotated[str, typer.Argument(help="Such as S5.")]


@app.command("list")
def list_stored(
    ctx: typer.Context,
    output: FormatOption = Format.TABLE,
) -> None:
    """List the topologies that are stored, and whether they are complete."""
    stored.list_things(ctx, "topology", None, output)


@app.command("show")
def show(
    ctx: typer.Context, name: NameArgument, verify: stored.VerifyOption = False, output: FormatOption = Format.TABLE
) -> None:
    """Print a topology's counts and how it was stored."""
    stored.show_thing(ctx, "topology", name, verify, output)


@app.command("drop")
def drop(
    ctx: typer.Context, name: NameArgument, cascade: stored.CascadeOption = False, wait: stored.WaitOption = False
) -> None:
    """Drop a topology, its nodes and links; refuses while trees or schedules on it are stored."""
    stored.drop_thing(ctx, "topology", name, cascade, wait)
