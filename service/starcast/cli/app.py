"""The ``starcast`` command: its nouns, its global flags, and where errors become sentences and exit codes."""

import errno
import os
import sys
import traceback
from contextlib import suppress
from typing import Annotated

import typer

from starcast.cli import (
    claims,
    compare,
    config,
    context,
    cost,
    db,
    demo,
    experiment,
    export,
    forest,
    graph,
    ingest,
    query,
    run,
    schedule,
    stack,
    topology,
)
from starcast.errors import LimitError, StarcastError

INTERRUPTED = 130
#: A disk, or a user's share of it, is full.
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}

app = typer.Typer(
    name="starcast",
    help="A laboratory for collective communication on star graphs: build, prove by execution, store, ask, compare.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command("demo")(demo.demo)
app.command("up")(stack.up)
app.command("down")(stack.down)
app.command("status")(stack.status)
app.command("doctor")(stack.doctor)
app.command("config")(config.show)
app.command("ingest")(ingest.ingest)
app.command("export")(export.export)
app.add_typer(topology.app, name="topology")
app.add_typer(forest.app, name="tree")
app.add_typer(schedule.app, name="schedule")
app.add_typer(cost.app, name="cost")
app.add_typer(query.app, name="query")
app.add_typer(run.app, name="run")
app.add_typer(experiment.app, name="experiment")
app.command("compare")(compare.compare)
app.add_typer(claims.app, name="claims")
app.add_typer(graph.app, name="graph")
app.add_typer(db.app, name="db")


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(f"starcast {version('starcast')}")
        raise typer.Exit


@app.callback()
def root(
    ctx: typer.Context,
    home: context.HomeOption = None,
    neo4j_uri: Annotated[str | None, typer.Option(help="A Neo4j server of your own.")] = None,
    postgres_uri: Annotated[
        str | None, typer.Option(help="A PostgreSQL server of your own, without a password.")
    ] = None,
    version: Annotated[  # noqa: ARG001 - read by its callback
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Global flags; every other setting is in the environment or in starcast.toml: see 'starcast config'."""
    context.remember(ctx, home=home, neo4j_uri=neo4j_uri, postgres_uri=postgres_uri)


def main() -> None:
    """Run the command line; every error is a sentence, with a traceback only where ``STARCAST_DEBUG`` asks for it."""
    try:
        _run()
    except SystemExit as end:
        if end.code == INTERRUPTED:
            print("interrupted", file=sys.stderr)
        raise
    except Exception as error:  # noqa: BLE001 - the last resort
        sys.exit(_told(_in_words(error)))


def _run() -> None:
    """Run the command and write out what it printed: Python would do so too late for an error to be told."""
    try:
        app()
    finally:
        if sys.stdout is not None:
            _flush()


def _flush() -> None:
    try:
        sys.stdout.flush()
    except OSError as error:
        with suppress(
            OSError
        ):  # what cannot be written would be tried again, and complained about, when Python ends
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if (
            error.errno == errno.EPIPE
        ):  # the reader has had enough: as Click ends when it meets this earlier
            sys.exit(1)
        raise _unwritten(error) from None


def _in_words(error: Exception) -> StarcastError:
    if isinstance(error, StarcastError):
        return error
    if isinstance(error, OSError) and error.errno in _FULL:
        return _unwritten(error)
    if os.environ.get("STARCAST_DEBUG"):
        traceback.print_exception(error)
    words = next(iter(str(error).strip().splitlines()), "without a word")
    return StarcastError(
        f"starcast itself failed: {type(error).__name__}: {words}",
        hint="please report it, with what the same command prints under STARCAST_DEBUG=1",
    )


def _unwritten(error: OSError) -> LimitError:
    what = error.filename or "the output"
    return LimitError(
        f"{what} cannot be written: {error.strerror}", hint="free some space, or write elsewhere"
    )


def _told(error: StarcastError) -> int:
    print(f"error: {error.message}", file=sys.stderr)
    if error.hint:
        print(f"hint: {error.hint}", file=sys.stderr)
    return error.exit_code


if __name__ == "__main__":
    main()
