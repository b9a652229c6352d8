"""The settings of a command.

Flags of the command override global flags; both override environment variables and settings files.
"""

import os
import shlex
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from starcast.cli.output import warn

if TYPE_CHECKING:
    from starcast.support.settings import Settings

#: The flag --home, which is a global flag and also an option of commands for the embedded servers.
HomeOption = Annotated[Path | None, typer.Option("--home", help="Folder of the embedded stack.")]


def remember(ctx: typer.Context, **flags: Any) -> None:
    """Store the global flags in the context, for the command to load its settings."""
    ctx.obj = flags


def settings(ctx: typer.Context, **flags: Any) -> "Settings":
    """Return the settings of a command; warn about unknown environment variables.

    Args:
        ctx: the context of the command.
        flags: settings given as flags of the command. Unless they are None, they override global
            flags.

    Raises:
        InputError: a setting is invalid.
    """
    warn_of_unknown_variables()
    return load_settings(ctx, **flags)


def named_flags(arguments: Sequence[str]) -> str:
    """Return the flags --home and --plugin of a command line as text.

    Hints that name a command repeat these flags.
    """
    # The context cannot be used, because an error may occur before it contains the flags.
    flags = []
    for index, word in enumerate(arguments):
        name, equals, value = word.partition("=")
        if name in ("--home", "--plugin"):
            flags += [name, value if equals else next(iter(arguments[index + 1 :]), "")]
    return shlex.join(flags)


def load_settings(ctx: typer.Context | None, **flags: Any) -> "Settings":
    """Return the settings of a command without warnings, otherwise like `settings`.

    Raises:
        InputError: a setting is invalid.
    """
    from starcast.support.settings import Settings

    own_flags = {name: value for name, value in flags.items() if value is not None}
    global_flags = (ctx.find_root().obj or {}) if ctx else {}
    return Settings.load(**{**global_flags, **own_flags})


def load_plugins(ctx: typer.Context) -> None:
    """Load the plug-ins given by --plugin, by the settings, or by installed packages.

    Raises:
        InputError: a plug-in cannot be imported, or defines something invalid.
    """
    from starcast.support.paths import is_declared

    if "--help" in sys.argv or ctx.resilient_parsing:
        return
    named = ctx.obj.get("plugins") or _is_set("plugins")
    if named or is_declared("starcast.plugins"):
        from starcast.catalogue import plugins

        plugins.load(load_settings(ctx).plugins)


def first_symbol(ctx: typer.Context) -> int:
    """Return the setting ``labels``, the first symbol of node labels: 0 or 1.

    Raises:
        InputError: a setting is invalid.
    """
    return load_settings(ctx).labels if _is_set("labels") else 1


def _is_set(name: str) -> bool:
    """Return whether the environment or the settings file may contain this setting.

    The test is much faster than loading all settings, which is often unnecessary.
    """
    from starcast.support.paths import config_file

    if os.environ.get(f"STARCAST_{name.upper()}"):
        return True
    try:
        # The name may also occur in a comment or a value. Then the settings are loaded in vain,
        # which only takes time.
        return name.encode() in config_file().read_bytes()
    except OSError:
        # An unreadable file is reported when the command loads its settings.
        return False


@cache
def warn_of_unknown_variables() -> None:
    """Warn once about environment variables that look like settings but are not.

    They are not an error: docker compose and other tools use such variables.
    """
    from starcast.support.settings import unknown_variables

    for name, similar in unknown_variables(os.environ).items():
        suggestion = f"; did you mean {similar}?" if similar else ""
        warn(f"{name} is not a setting and has no effect{suggestion}")
