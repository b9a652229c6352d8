"""The settings that a command runs under: what its flags and the global ones say, over everything else."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

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

    given = {name: value for name, value in flags.items() if value is not None}
    return Settings.load(**{**(ctx.find_root().obj or {}), **given})
