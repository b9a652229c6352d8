"""Alembic's entry: migrate over the connection that `starcast.database.sessions` hands over.

A developer who calls `alembic -c migrations/alembic.ini` gets the database that starcast's settings name.
"""

from alembic import context
from sqlalchemy import Connection

from starcast.database.models import Base


def migrate(connection: Connection) -> None:
    context.configure(connection=connection, target_metadata=Base.metadata)
    with context.begin_transaction():
        context.run_migrations()


def migrate_configured() -> None:
    from starcast.database.sessions import connect  # noqa: PLC0415
    from starcast.endpoints import store_url  # noqa: PLC0415 - a handed-over connection needs no settings
    from starcast.settings import Settings  # noqa: PLC0415

    with connect(store_url(Settings.load())).begin() as connection:
        migrate(connection)


handed_over = context.config.attributes.get("connection")
if handed_over is None:
    migrate_configured()
else:
    migrate(handed_over)
