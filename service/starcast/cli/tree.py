"""``starcast tree``: trees that are stored."""

from typing import Annotated

import typer

from starcast.cli import stored
from starcast.cli.output import Format, FormatOption

app = typer.Typer(no_args_is_help=True, help="Trees that are stored, by forest: list, show, drop.")

NameArgument = Annotated[str, typer.Argument(help="As in 'starcast tree list', such as S5:multiple:12345.")]


@app.command("list")
def list_stored(
    ctx: typer.Context,
    topology: stored.TopologyOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """List the trees that are stored, and whether they are complete."""
    stored.list_things(ctx, "forest", topology, output)


@app.command("show")
def show(
    ctx: typer.Context, name: NameArgument, verify: stored.VerifyOption = False, output: FormatOption = Format.TABLE
) -> None:
    """Print a forest's heights, leaves, sizes and loads, and how it was stored."""
    stored.show_thing(ctx, "forest", name, verify, output)


@app.command("drop")
def drop(
    ctx: typer.Context, name: NameArgument, cascade: stored.CascadeOption = False, wait: stored.WaitOption = False
) -> None:
    """Drop the trees of a forest; refuses while schedules along them are stored."""
    stored.drop_thing(ctx, "forest", name, cascade, wait)
