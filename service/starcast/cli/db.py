"""``starcast db``: the schema of the relational store."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from starcast.cli import context
from starcast.cli.output import Format, FormatOption, confirm, emit, emit_outcome, reporter, say
from starcast.errors import RejectedError

if TYPE_CHECKING:
    from sqlalchemy import Engine

app = typer.Typer(
    no_args_is_help=True, help="The schema of PostgreSQL: upgrade, downgrade, show and check it."
)


@contextmanager
def database(ctx: typer.Context, *, owner: bool = False) -> Iterator["Engine"]:
    """Connect to the configured PostgreSQL database, whatever its schema.

    Args:
        ctx: the context of the command.
        owner: log in as the owner of the schema, who may migrate it.

    Raises:
        UnavailableError: the server cannot be reached.
    """
    from starcast.database.sessions import connect
    from starcast.endpoints import migration_url, store_url

    settings = context.settings(ctx)
    engine = connect(migration_url(settings) if owner else store_url(settings))
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
    """Create the tables, or upgrade them to the newest revision.

    Comments, views, and the rights of the roles starcast_writer and starcast_reader are written
    again. On your own server the role needs the rights of the owner of the tables: see the setting
    postgres_owner.
    """
    from starcast.database.sessions import current, upgrade

    with database(ctx, owner=True) as engine:
        before = current(engine)
        upgrade(engine, reporter())
        emit_outcome({"previous": before, "revision": current(engine)}, output)


@app.command("downgrade")
def downgrade(
    ctx: typer.Context,
    revision: Annotated[
        str, typer.Argument(help="An earlier revision, such as 0004, or base for no tables.")
    ],
    yes: Annotated[
        bool, typer.Option("--yes", help="Do not ask, and accept the loss of rows.")
    ] = False,
) -> None:
    """Go back to an earlier revision of the tables, for an earlier version of starcast.

    Reports which rows this deletes, and asks before it changes anything.
    """
    from starcast.database.sessions import current, downgrade, downgrade_losses

    with database(ctx, owner=True) as engine:
        losses = downgrade_losses(engine, revision)
        deleted = f"it deletes {', '.join(losses)}" if losses else "no rows are lost"
        say(f"the downgrade goes from {current(engine)} to {revision}: {deleted}")
        if not yes:
            confirm("downgrade?", "nothing was changed")
        downgrade(engine, revision, allow_data_loss=True)
    say(f"the schema was downgraded to {revision}")


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
