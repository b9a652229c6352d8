"""Comments, views and rights: the parts of the schema that every upgrade writes again.

They hold no data, so they need no revision: `declare` writes them when an upgrade has reached the
newest revision. A revision that changes the columns of a view drops the view first.
"""

from collections.abc import Iterator

import psycopg
from psycopg import sql
from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError

from starcast.database.models import Base
from starcast.database.roles import ROLE_NAMES
from starcast.database.sessions import VERSION_TABLE
from starcast.database.views import VIEWS, View

#: Tables that only migrations change.
_OWNED = ("store", VERSION_TABLE)
_ROLES = text("select rolname from pg_roles where rolname = any(:names)")
_INVALID_TABLE_DEFINITION = "42P16"


def declare(connection: Connection) -> None:
    """Write all comments, create all views, and grant the rights of the writer and the reader.

    A role that the server does not have gets no rights: create it and upgrade again.
    """
    for view in VIEWS:
        _create(connection, view)
    statements = [*_comments()]
    present = set(connection.scalars(_ROLES, {"names": list(ROLE_NAMES.values())}))
    if ROLE_NAMES["reader"] in present:
        statements += _grants(ROLE_NAMES["reader"], writes=False)
    if ROLE_NAMES["writer"] in present:
        statements += _grants(ROLE_NAMES["writer"], writes=True)
    # All in one exchange: with arguments, even none, the server would accept only one statement.
    driver = connection.connection.driver_connection
    if not isinstance(driver, psycopg.Connection):
        raise TypeError("the declaration needs psycopg")
    driver.execute(sql.SQL("; ").join(statements))


def _create(connection: Connection, view: View) -> None:
    """Create a view, or replace it so that views of other programs that read it remain."""
    try:
        with connection.begin_nested():
            connection.exec_driver_sql(f"create or replace view {view.name} as {view.query}")
    except DBAPIError as error:
        if getattr(error.orig, "sqlstate", None) != _INVALID_TABLE_DEFINITION:
            raise
        connection.exec_driver_sql(f"drop view {view.name}")
        connection.exec_driver_sql(f"create view {view.name} as {view.query}")


def _comments() -> Iterator[sql.Composed]:
    on_column = sql.SQL("comment on column {}.{} is {}")
    for table in Base.metadata.sorted_tables:
        about = sql.Identifier(table.name), sql.Literal(table.comment)
        yield sql.SQL("comment on table {} is {}").format(*about)
        for column in table.columns:
            names = sql.Identifier(table.name), sql.Identifier(column.name)
            yield on_column.format(*names, sql.Literal(column.comment))
    for view in VIEWS:
        about = sql.Identifier(view.name), sql.Literal(view.meaning)
        yield sql.SQL("comment on view {} is {}").format(*about)
        for name, meaning in view.columns.items():
            names = sql.Identifier(view.name), sql.Identifier(name)
            yield on_column.format(*names, sql.Literal(meaning))


def _grants(role: str, *, writes: bool) -> Iterator[sql.Composed]:
    name = sql.Identifier(role)
    tables = [table.name for table in Base.metadata.sorted_tables]
    readable = [*tables, VERSION_TABLE, *(view.name for view in VIEWS)]
    yield sql.SQL("grant usage on schema public to {}").format(name)
    yield sql.SQL("grant select on {} to {}").format(_listed(readable), name)
    # pg_dump reads the sequences of identities.
    yield sql.SQL("grant select on all sequences in schema public to {}").format(name)
    if writes:
        written = [table for table in tables if table not in _OWNED]
        statement = "grant insert, update, delete on {} to {}"
        yield sql.SQL(statement).format(_listed(written), name)


def _listed(names: list[str]) -> sql.Composed:
    return sql.SQL(", ").join(sql.Identifier(name) for name in names)
