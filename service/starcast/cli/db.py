"""``starcast db``: the schema of the relational store."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer

from starcast.cli import context
from starcast.cli.output import Format, FormatOption, emit, reporter, say
from starcast.errors import RejectedError

if TYPE_CHECKING:
    from sqlalchemy import Engine

app = typer.Typer(
    no_args_is_help=True,
    help="The schema of the relational store: bring it up to date, look, check.",
)


@contextmanager
def database(ctx: typer.Context) -> Iterator["Engine"]:
    """The PostgreSQL database in force, whatever its schema.

    Raises:
        UnavailableError: it cannot be reached.
    """
    from starcast.database.sessions import connect
    from starcast.endpoints import store_url

    engine = connect(store_url(context.settings(ctx)))
    try:
        yield engine
    finally:
        engine.dispose()


@contextmanager
def store(ctx: typer.Context) -> Iterator["Engine"]:
    """The PostgreSQL database in force, with the schema that this starcast works with.

    Raises:
        UnavailableError: it cannot be reached.
        RejectedError: its schema is not the right one.
    """
    from starcast.database.sessions import check

    with database(ctx) as engine:
        check(engine)
        yield engine


@app.command("upgrade")
def upgrade(ctx: typer.Context) -> None:
    """Create the tables, or bring them to the newest revision; does nothing where they are."""
    from starcast.database.sessions import upgrade

    with database(ctx) as engine:
        upgrade(engine, reporter())


@app.command("current")
def current(ctx: typer.Context, output: FormatOption = Format.TABLE) -> None:
    """Print the schema's revision, and the newest one that this starcast knows."""
    from starcast.database.sessions import current, head

    with database(ctx) as engine:
        emit([{"revision": current(engine), "newest": head()}], ["revision", "newest"], output)


@app.command("check")
def check(ctx: typer.Context) -> None:
    """Accept the schema only if it is the newest revision and its tables are exactly the models'."""
    from starcast.database.sessions import differences, head

    with store(ctx) as engine:
        found = differences(engine)
    if found:
        raise RejectedError(
            f"the tables differ from what revision {head()} made: {'; '.join(found)}",
            hint="somebody changed them by hand: undo that, or start with an empty database",
        )
    say(f"the schema is the newest ({head()}) and its tables are as they should be")
