"""The ``starcast`` command: command groups, global flags, and exit codes of errors."""

import atexit
import gc
import os
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from functools import cache
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from starcast.cli import commands, completion, context, streams
from starcast.cli.output import in_shell, warn
from starcast.support.errors import NetworkWarning, StarcastError, clean_message
from starcast.support.text import add_flags

INTERRUPTED = 130
#: Number of new objects after which garbage is collected (the default of Python 3.11 is 700). A
#: large number does no harm, because most of starcast's data are in a few large arrays.
_ALLOCATIONS = 300_000
_REPORT = "the output of the same command under STARCAST_DEBUG=1"


class _Root(TyperGroup):
    """The root command, which imports command groups on demand, so that it starts quickly.

    The options ``--quiet`` and ``--verbose`` are added to all commands.
    """

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return the command or command group with this name, or None for an unknown name.

        For an unknown name all commands are loaded, because the error suggests similar names.
        """
        if cmd_name in commands.PARTS:
            self._add(cmd_name)
        else:
            self.list_commands(ctx)
        return super().get_command(ctx, cmd_name)

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        """Return the names of all commands and command groups, in the order of the help page."""
        for name in commands.PARTS:
            self._add(name)
        self.commands = {name: self.commands[name] for name in commands.PARTS}
        return list(self.commands)

    def _add(self, name: str) -> None:
        if name in commands.PARTS and name not in self.commands:
            part = typer.Typer(rich_markup_mode=None)
            commands.PARTS[name](part)
            added = dict(typer.main.get_group(part).commands)
            flags = _params()
            for command in _leaves(added):
                command.params += flags
            self.commands.update(added)

    def make_context(self, *arguments: Any, **options: Any) -> Any:
        """Parse the command line up to the command's name.

        In error messages, special characters of the input are escaped, and long input is shortened.
        """
        with _clean_errors():
            return super().make_context(*arguments, **options)

    def invoke(self, ctx: Any) -> Any:
        """Run the command.

        In error messages, special characters of the input are escaped, and long input is shortened.
        """
        with _clean_errors():
            return super().invoke(ctx)


@contextmanager
def _clean_errors() -> Iterator[None]:
    try:
        yield
    except typer.TyperException as error:
        ctx = getattr(error, "ctx", None)
        # If a command group is called without a command, the message is the group's help, which has
        # nothing to escape or shorten.
        if ctx is None or error.message != ctx.get_help():
            error.message = clean_message(error.message)
        # Only an error about an unknown option has `possibilities`.
        if ctx is not None and hasattr(error, "possibilities"):
            _show_place(error, ctx)
        raise
    except (EOFError, BrokenPipeError) as error:
        # Click would print nothing, or "Aborted!", and exit with 1.
        raise _as_starcast_error(error) from error


def _show_place(error: Any, ctx: Any) -> None:
    """Change the error for an unknown option if the root command has this option.

    The new message states that the option must precede the command.
    """
    root = ctx.find_root()
    if any(error.option_name in option.opts for option in root.command.params):
        name, command = root.info_name, ctx.command_path.removeprefix(f"{root.info_name} ")
        error.possibilities = None
        error.message = (
            f"{error.option_name} belongs before the command: "
            f"{name} {error.option_name} ... {command}"
        )


def _leaves(listed: dict[str, Any]) -> Iterator[Any]:
    """Yield the given commands, and the commands within the given groups."""
    for command in listed.values():
        if hasattr(command, "commands"):
            yield from _leaves(command.commands)
        else:
            yield command


def _params() -> list[Any]:
    """Return the flags --quiet and --verbose as hidden options for a command."""
    # Typer creates options only from the signature of a command, so `_flags` becomes a command that
    # is never run.
    app = typer.Typer(add_completion=False)
    app.command()(_flags)
    command: Any = typer.main.get_command(app)
    return list(command.params)


def _flags(
    quiet: Annotated[
        bool,
        typer.Option("--quiet", "-q", callback=context.set_quiet, expose_value=False, hidden=True),
    ] = False,
    verbose: Annotated[
        int,
        typer.Option(
            "--verbose", "-v", count=True, callback=context.begin, expose_value=False, hidden=True
        ),
    ] = 0,
) -> None:
    pass


app = typer.Typer(
    name="starcast",
    cls=_Root,
    help=(
        "A laboratory for collective communication on star graphs: build, verify by execution, "
        "store, query and compare."
    ),
    no_args_is_help=True,
    # `main` prints an unexpected error as one sentence. Typer would print a traceback before it.
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def all_commands() -> Any:
    """Return the root command with all commands loaded, for the generator of docs/commands.md."""
    group: Any = typer.main.get_command(app)
    group.list_commands(None)
    return group


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(f"starcast {version('starcast')}")
        raise typer.Exit


@app.callback()
def root(
    ctx: typer.Context,
    home: context.HomeOption = None,
    neo4j_uri: Annotated[
        str | None, typer.Option(help="URI of your own Neo4j server, instead of the embedded one.")
    ] = None,
    postgres_uri: Annotated[
        str | None, typer.Option(help="URI of your own PostgreSQL server, without a password.")
    ] = None,
    quiet: Annotated[  # noqa: ARG001 - read by its callback, like the flags below
        bool,
        typer.Option(
            "--quiet",
            "-q",
            callback=context.set_quiet,
            help="Print only results, warnings and errors. Can also be given after a command.",
        ),
    ] = False,
    verbose: Annotated[  # noqa: ARG001
        int,
        typer.Option(
            "--verbose",
            "-v",
            count=True,
            callback=context.set_verbose,
            show_default=False,
            help="Also print log events to stderr; -vv includes each Cypher statement.",
        ),
    ] = 0,
    plugin: Annotated[
        list[str] | None,
        typer.Option(
            help="Plug-in to load: a module, a .py file, or a folder with a paper's claims. Can be "
            "repeated."
        ),
    ] = None,
    version: Annotated[  # noqa: ARG001
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Store the global flags for the command, and load the plug-ins."""
    ctx.obj = {
        "home": home, "neo4j_uri": neo4j_uri, "postgres_uri": postgres_uri,
        "plugins": plugin or None,
    }  # fmt: skip
    context.load_plugins(ctx)


def main() -> None:
    """Run the command line and exit with a documented code.

    An error is printed as one sentence with a hint. With ``STARCAST_DEBUG`` set, the traceback of
    an unexpected exception, or of an error caused by a plug-in or a server, is printed too.
    """
    # By default, garbage is collected hundreds of times while a command imports its libraries. This
    # takes a tenth of a short command's time, and finds nothing.
    gc.freeze()
    gc.set_threshold(_ALLOCATIONS)
    # Without this call, Python would collect garbage at exit, which takes as long again.
    atexit.register(gc.freeze)
    streams.prepare()
    # Shell completion is handled before logs and errors, because it must print neither.
    if completion.VARIABLE in os.environ:
        completion.complete_and_exit(app)
    context.reset()
    try:
        _run()
    except KeyboardInterrupt:
        _end(INTERRUPTED)
    except SystemExit as end:
        completion.finish_installation()
        _end(end.code if isinstance(end.code, int) else int(end.code is not None))
    except Exception as error:  # noqa: BLE001 - the last resort
        reported = _as_starcast_error(error)
        context.finish(reported.exit_code, error)
        print(f"error: {in_shell(reported.message)}", file=sys.stderr)
        if reported.hint:
            hint = add_flags(in_shell(reported.hint), context.named_flags(sys.argv[1:]))
            print(f"hint: {hint}", file=sys.stderr)
        sys.exit(reported.exit_code)


def _end(code: int) -> NoReturn:
    if code == INTERRUPTED:
        print("interrupted", file=sys.stderr)
    context.finish(code)
    sys.exit(code)


def _run() -> None:
    """Run the command, and flush stdout.

    Python itself flushes stdout only at exit, when a failed write can no longer be reported.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("default", NetworkWarning)
            warnings.showwarning = _show_warning
            _command()()
    except BaseException as error:
        is_done = isinstance(error, SystemExit) and not error.code
        # If the command failed, its error is reported, not the failure to write its output.
        with nullcontext() if is_done else suppress(StarcastError, SystemExit):
            sys.stdout.flush()
        raise


def _show_warning(
    message: Warning | str, category: type[Warning], filename: str, lineno: int, *_: Any, **__: Any
) -> None:
    if issubclass(category, NetworkWarning):
        warn(str(message))
    else:
        print(warnings.formatwarning(message, category, filename, lineno), file=sys.stderr, end="")


@cache
def _command() -> Callable[[], Any]:
    """Return the root command, cached for processes that run several commands, such as tests."""
    return typer.main.get_command(app)


def _as_starcast_error(error: Exception) -> StarcastError:
    from starcast.stores.failures import translate

    if os.environ.get("STARCAST_DEBUG") and (
        not isinstance(error, StarcastError) or error.__cause__
    ):
        # An expected error has a cause only if a plug-in or a server raised an exception.
        traceback.print_exception(error)
    return translate(error, report=_REPORT)


if __name__ == "__main__":
    main()
