"""Migrations of the schema, and its differences from the models: what needs alembic.

Alembic imports slowly, and most commands only read the revision: see `starcast.database.sessions`.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.util import CommandError
from sqlalchemy import Connection, Engine, inspect
from sqlalchemy.exc import DBAPIError

from starcast.database.declaration import declare
from starcast.database.models import Base
from starcast.database.sessions import (
    check_owner,
    first_line,
    head,
    revision_of,
    revisions,
    sqlstate,
    translated_errors,
    wait_for_key,
)
from starcast.database.views import VIEWS
from starcast.errors import BusyError, InputError, RejectedError
from starcast.progress import Reporter
from starcast.resources import folder

UPGRADE_SECONDS = 60

#: The key of the advisory lock that serializes migrations ("starcast" in ASCII).
UPGRADE_LOCK = int.from_bytes(b"starcast", "big", signed=True)

#: SQLSTATEs of migrations that rows or views of other programs prevent.
_OBSTACLES = ("23", "2BP01")


def upgrade(engine: Engine, reporter: Reporter) -> bool:
    """Migrate the schema to the newest revision in one transaction.

    Comments, views and rights are written again in any case; see `starcast.database.declaration`.

    Returns:
        Whether the revision changed.

    Raises:
        RejectedError: the schema is newer than this starcast, the database holds tables of another
            program, or its rows do not fit; nothing is changed.
        BusyError: another process has been migrating the database for a minute.
        UnavailableError: the role may not change the schema.
    """
    with _migrating(engine) as connection:
        revision = check_owner(connection)
        if revision == head():
            declare(connection)
            reporter.say(f"the schema is up to date ({revision})")
            return False
        command.upgrade(_config(connection), "head")
    reporter.say(f"the schema was upgraded from {revision or 'nothing'} to {head()}")
    return True


def downgrade(engine: Engine, revision: str = "base", *, allow_data_loss: bool = False) -> None:
    """Migrate the schema back to a revision in one transaction.

    Revision ``base`` drops all tables of starcast with their rows.

    Raises:
        InputError: there is no such revision before the current one.
        RejectedError: rows would be deleted, and that is not allowed; or as for `upgrade`.
    """
    with _migrating(engine) as connection:
        losses = _downgrade(connection, revision)
        if losses and not allow_data_loss:
            raise RejectedError(
                f"the downgrade to {revision} would delete {', '.join(losses)}",
                hint="keep them with 'starcast backup FILE' first, then allow the loss",
            )


def downgrade_losses(engine: Engine, revision: str) -> list[str]:
    """Return what a downgrade would delete, such as ``2 verification runs``; change nothing.

    Raises:
        InputError, RejectedError: as for `downgrade`.
    """
    with _migrating(engine) as connection:
        losses = _downgrade(connection, revision)
        connection.rollback()
    return losses


@contextmanager
def _migrating(engine: Engine) -> Iterator[Connection]:
    """Open a transaction that holds the lock of migrations."""
    try:
        with translated_errors(engine.url), engine.connect() as connection, connection.begin():
            _lock_migrations(connection)
            yield connection
    except DBAPIError as error:
        if not sqlstate(error).startswith(_OBSTACLES):
            raise
        raise RejectedError(
            f"the database does not fit the migration: {first_line(error)}",
            hint="correct or drop what it names, then try again; nothing was changed",
        ) from None


def _downgrade(connection: Connection, revision: str) -> list[str]:
    check_owner(connection)
    losses: list[str] = []
    try:
        command.downgrade(_config(connection, losses), revision)
    except CommandError:
        known = ", ".join(revisions())
        raise InputError(
            f"'{revision}' is not a revision before {revision_of(connection)}",
            hint=f"revisions are {known}, and base for no schema",
        ) from None
    return losses


def differences(engine: Engine) -> list[str]:
    """Return the differences between tables and models, one line each; views only by name."""
    with translated_errors(engine.url), engine.connect() as connection:
        changes = compare_metadata(MigrationContext.configure(connection), Base.metadata)
        present = inspect(connection).get_view_names()
    missing = [view.name for view in VIEWS if view.name not in present]
    return [*map(_describe_change, changes), *(f"add view {name}" for name in missing)]


def _describe_change(change: object) -> str:
    # Alembic returns a tuple (verb, object, ...), or a list of such tuples for one changed column.
    first = change[0] if isinstance(change, list) else change
    if not isinstance(first, tuple):
        return str(first)
    verb = str(first[0]).replace("_", " ")
    return " ".join([verb, *(str(part) for part in first[1:] if part is not None)])


def _lock_migrations(connection: Connection) -> None:
    busy = BusyError(
        f"another process has been migrating the database for {UPGRADE_SECONDS} s",
        hint="try again when it has finished",
    )
    wait_for_key(connection, ":key", UPGRADE_LOCK, UPGRADE_SECONDS, busy)


def _config(connection: Connection | None = None, losses: list[str] | None = None) -> Config:
    config = Config()
    config.set_main_option("script_location", str(folder("migrations")).replace("%", "%%"))
    config.attributes |= {"connection": connection, "losses": losses}
    return config
