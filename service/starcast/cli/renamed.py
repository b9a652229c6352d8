"""The root command: its flags at every command, errors about options, and old names.

Each old name of a command or option is refused with an error that gives the new one.
"""

from collections.abc import Iterator
from typing import Any

import typer
from typer.core import TyperGroup

from starcast.cli import flags
from starcast.errors import InputError, clean_message

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
    """The root command; it adds flags to all commands, and recognizes their old options."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        options = flags.params()
        for command in _leaves(self):
            command.params += options

    def make_context(self, *arguments: Any, **options: Any) -> Any:
        """Parse the words before the command; errors repeat input only escaped and shortened."""
        try:
            return super().make_context(*arguments, **options)
        except typer.TyperException as error:
            error.message = clean_message(error.message)
            raise

    def invoke(self, ctx: Any) -> Any:
        """Invoke a command.

        Raises:
            InputError: an option has a new name.
        """
        try:
            return super().invoke(ctx)
        except typer.TyperException as error:
            error.message = clean_message(error.message)
            _check_option(error)
            raise


def _leaves(group: Any) -> Iterator[Any]:
    """Yield the commands of a group and of the groups below it."""
    for command in group.commands.values():
        if hasattr(command, "commands"):
            yield from _leaves(command)
        else:
            yield command


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
