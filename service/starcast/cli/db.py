"""The relational store for the commands that are not operations yet."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer

from starcast.cli import context

if TYPE_CHECKING:
    from sqlalchemy import Engine


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
