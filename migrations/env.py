"""The script that Alembic runs for all migration commands.

`starcast.stores.database.migrations` passes an open connection. The command
`alembic -c migrations/alembic.ini` passes no connection, so the database in starcast's settings is
used.
"""

from alembic import context
from alembic.runtime.migration import MigrationContext, MigrationInfo
from sqlalchemy import Connection

from starcast.stores.database.migrations import declare, enter_schema
from starcast.stores.database.models import Base


def declare_at_head(*, ctx: MigrationContext, step: MigrationInfo, **_: object) -> None:
    """Write comments, create views and grant privileges after an upgrade to the newest revision."""
    newest = context.script.get_current_head()
    if step.is_upgrade and step.up_revision_id == newest and ctx.connection is not None:
        declare(ctx.connection, context.config.attributes.get("writer"))


def migrate(connection: Connection) -> None:
    enter_schema(connection)
    context.configure(
        connection=connection,
        target_metadata=Base.metadata,
        on_version_apply=declare_at_head,
    )
    with context.begin_transaction():
        context.run_migrations()


def migrate_configured() -> None:
    from starcast.embedded.endpoints import migration_url, store_url  # noqa: PLC0415 - a connection needs no settings
    from starcast.stores.database.sessions import connect  # noqa: PLC0415
    from starcast.support.settings import Settings  # noqa: PLC0415

    settings = Settings.load()
    context.config.attributes["writer"] = store_url(settings).username
    with connect(migration_url(settings)).begin() as connection:
        migrate(connection)


given_connection = context.config.attributes.get("connection")
if given_connection is None:
    migrate_configured()
else:
    migrate(given_connection)
