"""``starcast db``: the schema of the relational store."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer

from starcast.cli import context
from starcast.cli.output import Format, FormatOption, emit, emit_outcome, reporter
from starcast.errors import RejectedError

if TYPE_CHECKING:
    from sqlalchemy import Engine

app = typer.Typer(
    no_args_is_help=True, help="The schema of PostgreSQL: upgrade, show and check it."
)


@contextmanager
def database(ctx: typer.Context) -> Iterator["Engine"]:
    """Connect to the configured PostgreSQL database, whatever its schema.

    Raises:
        UnavailableError: the server cannot be reached.
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
    """Connect to the configured PostgreSQL database and check its schema revision.

    Raises:
        UnavailableError: the server cannot be reached.
        RejectedError: the schema has another revision than this version needs.
    """
    from starcast.database.sessions import check

    with database(ctx) as engine:
        check(engine)
        yield engine


@app.command("upgrade")
def upgrade(ctx: typer.Context, output: FormatOption = Format.TABLE) -> None:
    """Create the tables, or upgrade them to the newest revision."""
    from starcast.database.sessions import current, upgrade

    with database(ctx) as engine:
        before = current(engine)
        upgrade(engine, reporter())
        emit_outcome({"previous": before, "revision": current(engine)}, output)


@app.command("current")
def current(ctx: typer.Context, output: FormatOption = Format.TABLE) -> None:
    """Print the revision of the schema and the newest known revision."""
    from starcast.database.sessions import current, head

    with database(ctx) as engine:
        emit([{"revision": current(engine), "newest": head()}], ["revision", "newest"], output)


@app.command("check")
def check(ctx: typer.Context, output: FormatOption = Format.TABLE) -> None:
    """Check that the schema has the newest revision and that its tables match the models."""
    from starcast.database.sessions import differences, head

    with store(ctx) as engine:
        found = differences(engine)
    if found:
        raise RejectedError(
            f"the tables differ from revision {head()}: {'; '.join(found)}",
            hint="undo the manual changes, or start with an empty database",
        )
    sentence = f"the schema has the newest revision ({head()}) and its tables match the models"
    emit_outcome({"revision": head(), "differences": found}, output, sentence)
