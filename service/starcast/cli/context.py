"""The global flags and the settings of a command, and the log entries for its start and end.

Flags of a command override global flags; all flags override environment variables and settings
files.

The flags ``--quiet`` and ``--verbose`` may also follow a command, although the help of commands
does not list them. The callbacks of these two flags run just before the command, after the options
of the command are parsed and ``--help`` is handled.
"""

import logging
import os
import shlex
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from functools import cache
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from starcast.cli import output
from starcast.support import log
from starcast.support.errors import StarcastError, only_one_of
from starcast.support.progress import close_all

if TYPE_CHECKING:
    from starcast.support.settings import Settings

_start = perf_counter()
_is_logging = False

#: The flag --home, which is a global flag and also an option of commands for the embedded servers.
HomeOption = Annotated[
    Path | None, typer.Option("--home", help="Folder of the embedded servers and their data.")
]


def settings(ctx: typer.Context, **flags: Any) -> "Settings":
    """Return the settings of a command; warn about unknown environment variables.

    Args:
        ctx: the context of the command.
        flags: settings given as flags of the command. A flag that is not None overrides the global
            flag.

    Raises:
        InputError: a setting is invalid.
    """
    warn_of_unknown_variables()
    return load_settings(ctx, **flags)


def named_flags(arguments: Sequence[str]) -> str:
    """Return the flags --home and --plugin of a command line, with their values, as one string.

    These flags are added to the commands that hints suggest.
    """
    # The flags are not taken from Click's context, because an error may occur before the context
    # contains them.
    flags = []
    for index, word in enumerate(arguments):
        name, equals, value = word.partition("=")
        if name in ("--home", "--plugin"):
            flags += [name, value if equals else next(iter(arguments[index + 1 :]), "")]
    return shlex.join(flags)


def load_settings(ctx: typer.Context | None, **flags: Any) -> "Settings":
    """Return the settings of a command, as `settings` does, but without warnings.

    If ``ctx`` is None, there are no global flags.

    Raises:
        InputError: a setting is invalid.
    """
    from starcast.support.settings import Settings

    own_flags = {name: value for name, value in flags.items() if value is not None}
    global_flags = (ctx.find_root().obj or {}) if ctx else {}
    return Settings.load(**{**global_flags, **own_flags})


def load_plugins(ctx: typer.Context) -> None:
    """Load the plug-ins given by --plugin, by the settings, or by installed packages.

    Paper packs among them are checked. If the help or a completion is requested, nothing is loaded.

    Raises:
        InputError: a setting or a paper pack is invalid, a plug-in cannot be imported, or one of
            its definitions is invalid.
    """
    from starcast.support.installation import is_declared

    if "--help" in sys.argv or ctx.resilient_parsing:
        return
    named = ctx.obj.get("plugins") or _is_set("plugins")
    if named or is_declared("starcast.plugins"):
        from starcast.catalogue import packs, plugins

        with redirect_stdout(sys.stderr):
            plugins.load(load_settings(ctx).plugins)
            if packs.loaded():
                from starcast.claims.catalogue import claim_entries

                claim_entries()  # raises an error for an invalid pack


def first_symbol(ctx: typer.Context) -> int:
    """Return the first symbol of node labels, 0 or 1, from the setting ``labels``.

    Raises:
        InputError: a setting is invalid.
    """
    return load_settings(ctx).labels if _is_set("labels") else 1


def _is_set(name: str) -> bool:
    """Return whether the environment or the settings file may contain a setting.

    The settings file is only searched for the name, which is much faster than loading all settings.
    """
    from starcast.support.installation import config_file

    # `Settings` also accepts names of variables in lower case.
    variable = f"STARCAST_{name.upper()}"
    if any(value and key.upper() == variable for key, value in os.environ.items()):
        return True
    try:
        # The name may also occur in a comment or a value. The settings are then loaded
        # unnecessarily, which only takes time.
        return name.encode() in config_file().read_bytes()
    except OSError:
        # An unreadable file is reported when the command loads its settings.
        return False


@cache
def warn_of_unknown_variables() -> None:
    """Warn once about environment variables that look like settings but are not.

    Such variables are not an error, because docker compose and other tools may use them.
    """
    from starcast.support.settings import unknown_variables

    for name, similar in unknown_variables(os.environ).items():
        suggestion = f"; did you mean {similar}?" if similar else ""
        output.warn(f"{name} is not a setting and has no effect{suggestion}")


def set_quiet(value: bool) -> None:
    """If ``value`` is True, suppress messages: only results, warnings and errors are printed.

    Raises:
        InputError: ``--verbose`` is given too.
    """
    if value:
        output.quiet = True
        _check_combination()


def set_verbose(count: int) -> None:
    """Choose the log events that are printed to stderr, in addition to the log file.

    Args:
        count: how often ``--verbose`` is given. If it is given once, events of level info and
            higher are printed; if it is given more often, also events of level debug.

    Raises:
        InputError: ``--quiet`` is given too.
    """
    if count:
        output.verbosity = max(output.verbosity, count)
        _check_combination()


def _check_combination() -> None:
    only_one_of(quiet=output.quiet, verbose=output.verbosity > 0)


def reset() -> None:
    """Undo the effects of an earlier command line in this process on the flags and the log."""
    global _is_logging, _start  # noqa: PLW0603 - one command line per process, except in tests
    output.reset()
    log.stop()
    _is_logging = False
    _start = perf_counter()


def begin(ctx: typer.Context, count: int) -> None:
    """Set the verbosity, and log the command that is about to start."""
    if ctx.resilient_parsing:
        return
    set_verbose(count)
    _start_log(ctx)
    log.event("command started", command=ctx.command_path, arguments=sys.argv[1:])


def _start_log(ctx: typer.Context | None) -> None:
    """Open the log file that the settings name; do nothing if the settings are invalid.

    The command reports invalid settings when it loads them.
    """
    global _is_logging  # noqa: PLW0603
    if _is_logging:
        return
    _is_logging = True
    try:
        settings = load_settings(ctx)
    except StarcastError:
        return
    failure = log.start(log.Target(settings.log_file, settings.log_level))
    # The default location may be read-only. Only a location that the user chose causes a warning.
    if failure is not None and settings.sources["log_file"] != "default":
        output.warn(f"the log {settings.log_file} cannot be written: {failure.strerror}")
    if output.verbosity:
        output.echo_log(logging.INFO if output.verbosity == 1 else logging.DEBUG)


def finish(code: int, error: Exception | None = None) -> None:
    """Stop progress reports; log the command's exit code, its duration, and the error, if any."""
    close_all()
    # If the arguments were wrong, the callback that opens the log has not run.
    if error is not None:
        _start_log(None)
    seconds = round(perf_counter() - _start, 3)
    if isinstance(error, StarcastError):
        kind = type(error).__name__
        log.event("error", logging.ERROR, kind=kind, message=error.message, hint=error.hint)
    elif error is not None:
        log.error_event("internal error", error)
    log.event("command ended", exit_code=code, seconds=seconds)
