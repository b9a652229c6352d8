"""Old names of commands and options: each is refused with an error that gives the new name."""

from typing import Any

import typer
from typer.core import TyperGroup

from starcast.errors import InputError

#: Old command -> new command, as typed after ``starcast``.
COMMANDS = {"tree": "forest", "claims ledgers": "claims runs"}
#: (Command or group, old option) -> new option.
OPTIONS = {
    ("forest", "--tree"): "--base",
    ("schedule", "--tree"): "--base",
    ("run once", "--tree"): "--base",
    ("experiment run", "--tree"): "--base",
    ("ingest", "--way"): "--method",
    ("graph rebuild", "--way"): "--method",
    ("claims report", "--ledger"): "--run",
    ("cost table", "--most-rows"): "--max-rows",
}


class RootGroup(TyperGroup):
    """The root command; it recognizes the old options of all commands below it."""

    def invoke(self, ctx: Any) -> Any:
        """Invoke a command.

        Raises:
            InputError: an option has a new name.
        """
        try:
            return super().invoke(ctx)
        except typer.TyperException as error:
            _check_option(error)
            raise


def add_old_commands(app: typer.Typer, **groups: typer.Typer) -> None:
    """Add a hidden command for each old name; it raises an error that gives the new name.

    Args:
        app: the root command.
        groups: the groups that have old subcommands, by name.
    """
    for old, new in COMMANDS.items():
        noun, _, name = old.rpartition(" ")
        group = groups[noun] if noun else app
        group.command(
            name,
            hidden=True,
            add_help_option=False,
            context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
        )(_refusal(old, new))


def _refusal(old: str, new: str) -> Any:
    def refuse() -> None:
        raise InputError(
            f"'starcast {old}' is now 'starcast {new}'", hint=f"see 'starcast {new} --help'"
        )

    return refuse


def _check_option(error: Any) -> None:
    option = getattr(error, "option_name", None)
    if option is None or error.ctx is None:
        return
    command = error.ctx.command_path.removeprefix(error.ctx.find_root().command_path).strip()
    group = command.partition(" ")[0]
    new = OPTIONS.get((command, option)) or OPTIONS.get((group, option))
    if new is not None:
        raise InputError(
            f"the option {option} of 'starcast {command}' is now {new}",
            hint=f"see 'starcast {command} --help'",
        )
