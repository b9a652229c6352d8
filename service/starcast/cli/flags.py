"""The flags of every command, ``--quiet`` and ``--verbose``, and the log's events of commands.

The flags may follow any command, where the help does not repeat them. Their callbacks run when a
command is about to start, after its options were parsed and ``--help`` was handled.
"""

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from starcast.cli import context, output
from starcast.support import log
from starcast.support.errors import InputError, StarcastError, clean_message
from starcast.support.progress import close_all

_start = perf_counter()
_is_logging = False


def set_quiet(value: bool) -> None:
    """Print results, warnings and errors only.

    Raises:
        InputError: the command is to be verbose.
    """
    if value:
        output.quiet = True
        _check_combination()


def set_verbose(count: int) -> None:
    """Print the events of the log to stderr too; those of level debug if given twice.

    Raises:
        InputError: the command is to be quiet.
    """
    if count:
        output.verbosity = max(output.verbosity, count)
        _check_combination()


def _check_combination() -> None:
    if output.quiet and output.verbosity:
        raise InputError("--quiet and --verbose cannot be combined", hint="remove one of them")


def reset() -> None:
    """Begin a command line: forget the flags of the one before in this process."""
    global _is_logging, _start  # noqa: PLW0603 - one command line per process, except in tests
    output.reset()
    log.stop()
    _is_logging = False
    _start = perf_counter()


def _begin(ctx: typer.Context, count: int) -> None:
    """Set the verbosity, and log the command that is about to start."""
    if ctx.resilient_parsing:
        return
    set_verbose(count)
    _start_log(ctx)
    log.event("command started", command=ctx.command_path, arguments=sys.argv[1:])


def _start_log(ctx: typer.Context | None) -> None:
    """Open the log that the settings name; invalid settings are reported by what needs them."""
    global _is_logging  # noqa: PLW0603
    if _is_logging:
        return
    _is_logging = True
    try:
        settings = context.load_settings(ctx)
    except StarcastError:
        return
    failure = log.start(log.Target(settings.log_file, settings.log_level))
    # A default place may well be read-only; only a place that the user chose is worth a warning.
    if failure is not None and settings.sources["log_file"] != "default":
        output.warn(f"the log {settings.log_file} cannot be written: {failure.strerror}")
    if output.verbosity:
        output.echo_log(logging.INFO if output.verbosity == 1 else logging.DEBUG)


def finish(code: int, error: Exception | None = None) -> None:
    """Log the end of the command: its exit code, its duration, and the error that ended it."""
    close_all()
    # An error in the arguments comes before the callback that opens the log.
    if error is not None:
        _start_log(None)
    seconds = round(perf_counter() - _start, 3)
    if isinstance(error, StarcastError):
        kind = type(error).__name__
        log.event("error", logging.ERROR, kind=kind, message=error.message, hint=error.hint)
    elif error is not None:
        log.error_event("internal error", error)
    log.event("command ended", exit_code=code, seconds=seconds)


class RootGroup(TyperGroup):
    """The root command, which adds the flags to all commands."""

    def add_commands(self, commands: dict[str, Any]) -> None:
        """Add nouns and commands."""
        options = _params()
        for command in _leaves(commands):
            command.params += options
        self.commands.update(commands)

    def make_context(self, *arguments: Any, **options: Any) -> Any:
        """Parse the words before the command; errors repeat input only escaped and shortened."""
        with _clean_errors():
            return super().make_context(*arguments, **options)

    def invoke(self, ctx: Any) -> Any:
        """Invoke a command."""
        with _clean_errors():
            return super().invoke(ctx)


@contextmanager
def _clean_errors() -> Iterator[None]:
    try:
        yield
    except typer.TyperException as error:
        ctx = getattr(error, "ctx", None)
        if ctx is None or error.message != ctx.get_help():  # the help of a noun without a command
            error.message = clean_message(error.message)
        if ctx is not None and hasattr(error, "possibilities"):  # an unknown option
            _show_place(error, ctx)
        raise


def _show_place(error: Any, ctx: Any) -> None:
    """Say where an option of the root command belongs that follows another command."""
    root = ctx.find_root()
    if any(error.option_name in option.opts for option in root.command.params):
        name, command = root.info_name, ctx.command_path.removeprefix(f"{root.info_name} ")
        error.possibilities = None
        error.message = (
            f"{error.option_name} belongs before the command: "
            f"{name} {error.option_name} ... {command}"
        )


def _leaves(commands: dict[str, Any]) -> Iterator[Any]:
    """Yield commands, and those of the groups among them."""
    for command in commands.values():
        if hasattr(command, "commands"):
            yield from _leaves(command.commands)
        else:
            yield command


def _params() -> list[Any]:
    """Return the flags as hidden options for a command."""
    # Typer makes options only from the signature of a command, so one is made for them.
    app = typer.Typer(add_completion=False)
    app.command()(_flags)
    command: Any = typer.main.get_command(app)
    return list(command.params)


def _flags(
    quiet: Annotated[
        bool,
        typer.Option("--quiet", "-q", callback=set_quiet, expose_value=False, hidden=True),
    ] = False,
    verbose: Annotated[
        int,
        typer.Option(
            "--verbose", "-v", count=True, callback=_begin, expose_value=False, hidden=True
        ),
    ] = 0,
) -> None:
    pass
