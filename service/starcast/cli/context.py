"""The settings that a command runs under: what its flags and the global ones say, over everything else."""

import os
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from starcast.cli.output import say

if TYPE_CHECKING:
    from starcast.settings import Settings

#: Where the embedded stack lies; a global flag that the stack's own commands take as well.
HomeOption = Annotated[Path | None, typer.Option("--home", help="Folder of the embedded stack.")]


def remember(ctx: typer.Context, **flags: Any) -> None:
    """Keep the global flags until a command asks for its settings."""
    ctx.obj = flags


def settings(ctx: typer.Context, **flags: Any) -> "Settings":
    """The settings of this command: its own flags, then the global ones, then everything else.

    Raises:
        InputError: one of them is wrong.
    """
    from starcast.settings import Settings

    warn_of_unknown_variables()
    given = {name: value for name, value in flags.items() if value is not None}
    return Settings.load(**{**(ctx.find_root().obj or {}), **given})


@cache
def warn_of_unknown_variables() -> None:
    """Warn once about ``STARCAST_*`` variables that are not settings; docker compose may set some."""
    from starcast.settings import unknown_variables

    for name, near in unknown_variables(os.environ).items():
        say(
            f"warning: {name} is not a setting and has no effect"
            + (f"; did you mean {near}?" if near else "")
        )
