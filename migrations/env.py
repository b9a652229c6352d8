"""The entry point of alembic, with the connection given by `starcast.database.sessions`.

With `alembic -c migrations/alembic.ini` it uses the database of starcast's settings.
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
    from starcast.endpoints import store_url  # noqa: PLC0415 - a given connection needs no settings
    from starcast.settings import Settings  # noqa: PLC0415

    with connect(store_url(Settings.load())).begin() as connection:
        migrate(connection)


given_connection = context.config.attributes.get("connection")
if given_connection is None:
    migrate_configured()
else:
    migrate(given_connection)
