"""The ``starcast`` command: its nouns, its global flags, and where errors become sentences and exit codes."""

import sys
from typing import Annotated

import typer

from starcast.cli import compare, config, context, db, demo, experiment, ingest, query, run, schedule, stack, topology, tree
from starcast.errors import StarcastError

INTERRUPTED = 130

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
app.add_typer(topology.app, name="topology")
app.add_typer(tree.app, name="tree")
app.add_typer(schedule.app, name="schedule")
app.add_typer(query.app, name="query")
app.add_typer(run.app, name="run")
app.add_typer(experiment.app, name="experiment")
app.command("compare")(compare.compare)
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
    postgres_uri: Annotated[str | None, typer.Option(help="A PostgreSQL server of your own, without a password.")] = None,
    version: Annotated[  # noqa: ARG001 - read by its callback
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Global flags; every other setting is in the environment or in starcast.toml: see 'starcast config'."""
    context.remember(ctx, home=home, neo4j_uri=neo4j_uri, postgres_uri=postgres_uri)


def main() -> None:
    """Run the command line; never a traceback for what the user can mend."""
    try:
        app()
    except StarcastError as error:
        print(f"error: {error.message}", file=sys.stderr)
        if error.hint:
            print(f"hint: {error.hint}", file=sys.stderr)
        sys.exit(error.exit_code)
    except SystemExit as end:
        if end.code == INTERRUPTED:
            print("interrupted", file=sys.stderr)
        raise


if __name__ == "__main__":
    main()
