"""The schema of the database: its revision, migrations, comments, views and privileges.

Most commands only read the revision, so alembic, whose import is slow, is imported only by the
functions that need it. Comments, views and privileges contain no data and are not part of a
revision. The function `declare` writes them after an upgrade to the newest revision. A revision
that changes the columns of a view drops the view first.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING

import psycopg
from psycopg import sql
from sqlalchemy import Connection, Engine, Table, inspect, text
from sqlalchemy.exc import DBAPIError

from starcast.stores import ROLE_NAMES
from starcast.stores.database.models import Base
from starcast.stores.database.server_errors import sqlstate
from starcast.stores.database.sessions import (
    STORE_LOCK,
    execute_sql,
    holds_store,
    translated_errors,
    verify_store_lock,
    wait_for_lock,
)
from starcast.stores.database.views import VIEWS, View
from starcast.stores.failures import first_line
from starcast.support.errors import BusyError, RejectedError, StarcastError, UnavailableError
from starcast.support.installation import data_folder
from starcast.support.progress import Reporter

if TYPE_CHECKING:
    from alembic.config import Config

VERSION_TABLE = "alembic_version"
#: The oldest major version of PostgreSQL that supports the SQL of starcast.
OLDEST_POSTGRES = 15
UPGRADE_SECONDS = 60
#: Name of the advisory lock that serializes migrations.
UPGRADE_LOCK = "migration"

#: SQLSTATE prefixes of migration errors caused by existing rows or other programs' views.
_OBSTACLES = ("23", "2BP01", "0A000")
#: Tables that only migrations change.
_OWNED = ("store", VERSION_TABLE)
# The temporary schema comes last, because PostgreSQL searches it first if it is not in the path.
_ENTER = text(
    "select current_schema() as schema, current_setting('search_path') as path,"
    " quote_ident(current_user) as role,"
    " set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true)"
)
_TABLES = text(
    "select relname from pg_class where relkind in ('r', 'p')"
    " and relnamespace = quote_ident(current_schema())::regnamespace"
)
_REVISION = text("select version_num from alembic_version")
_SERVER = text(
    "select current_setting('server_version_num')::int / 10000 as major,"
    " current_setting('server_encoding') as encoding, current_database() as database"
)
_MAY_CREATE = text("select has_schema_privilege(current_schema(), 'create')")
_ROLES = text(
    "select rolname from pg_roles where rolname = any(:names) and rolname <> current_user"
)
# In a database from PostgreSQL 14 or older, every role may create tables in the schema public,
# until the owner of the schema revokes this right.
_OWNS_SCHEMA = text(
    "select pg_get_userbyid(nspowner) = current_user"
    " or nspowner = 'pg_database_owner'::regrole and pg_get_userbyid(datdba) = current_user"
    " from pg_namespace, pg_database"
    " where nspname = current_schema() and datname = current_database()"
)
# Objects of other programs that affect starcast's tables: triggers, rules, row policies, foreign
# keys that refer to these tables, and tables that inherit from them.
_TOUCHING = text("""
    with own as (
        select oid from pg_class
        where relnamespace = quote_ident(current_schema())::regnamespace and relname = any(:names)
    ), found (class, oid) as (
        select 'pg_trigger'::regclass, oid from pg_trigger
            where tgrelid in (table own) and not tgisinternal
        union all select 'pg_rewrite'::regclass, oid from pg_rewrite
            where ev_class in (table own) and rulename <> '_RETURN'
        union all select 'pg_policy'::regclass, oid from pg_policy where polrelid in (table own)
        union all select 'pg_constraint'::regclass, oid from pg_constraint
            where confrelid in (table own) and conrelid not in (table own)
        union all select 'pg_class'::regclass, inhrelid from pg_inherits
            where inhparent in (table own)
    )
    select type || ' ' || identity from found, pg_identify_object(class, oid, 0)
    union all select 'row security on ' || oid::regclass from pg_class
        where oid in (table own) and relrowsecurity
    order by 1
""")
# Tables, views and functions in the schema that belong neither to starcast nor to an extension.
_OTHERS = text("""
    select type || ' ' || identity from (
        select 'pg_class'::regclass as class, oid from pg_class
        where relnamespace = quote_ident(current_schema())::regnamespace and relname <> all(:names)
            and relkind in ('r', 'p', 'v', 'm', 'f')
        union all select 'pg_proc'::regclass, oid from pg_proc
        where pronamespace = quote_ident(current_schema())::regnamespace
    ) as found, pg_identify_object(class, oid, 0)
    where not exists (select from pg_depend
        where classid = class and objid = oid and deptype = 'e')
    order by 1
""")
_INVALID_TABLE_DEFINITION = "42P16"


def enter_schema(connection: Connection) -> str:
    """Return the store's schema, and remove other programs' schemas from the search path.

    The changed search path applies until the transaction ends.

    Every function that reads or changes tables by name calls this function first, so that a name
    never refers to a table of another store or program in the same database.

    Raises:
        RejectedError: no schema in the search path exists and is accessible to the role.
    """
    schema, path, role, _ = connection.execute(_ENTER).one()
    if schema is None:
        raise RejectedError(
            f"the role {role} can access no schema in its search path (PostgreSQL's setting"
            f" search_path is {path})",
            hint="create one of these schemas as an administrator of the database: create schema"
            f" NAME authorization {role}; or let the role use another schema: alter role {role}"
            f" set search_path = NAME; grant usage on schema NAME to {role}",
        )
    return str(schema)


def find_tables(connection: Connection) -> list[Table]:
    """Return starcast's tables in the current schema, each after the tables to which it refers."""
    present = set(connection.scalars(_TABLES))
    return [table for table in Base.metadata.sorted_tables if table.name in present]


def join_names(schema: str, names: Iterable[str]) -> sql.Composed:
    """Return a comma-separated SQL list of tables or views, each qualified by the schema."""
    return sql.SQL(", ").join(sql.Identifier(schema, name) for name in names)


def current(engine: Engine) -> str | None:
    """Return the schema revision of the database, or None if no revision is recorded.

    Raises:
        UnavailableError: the connection was lost.
        RejectedError: no schema in the search path exists and is accessible to the role.
    """
    with translated_errors(engine.url), engine.connect() as connection:
        enter_schema(connection)
        has_revision = VERSION_TABLE in connection.scalars(_TABLES)
        return connection.scalar(_REVISION) if has_revision else None


def check_known(revision: str, subject: str) -> None:
    """Check that this version of starcast supports a schema revision.

    Args:
        revision: the schema revision, such as ``0007``.
        subject: beginning of the error message, such as ``the schema of the database (0007)``.

    Raises:
        RejectedError: the revision is too new, or too old to be upgraded.
    """
    if revision in revisions():
        return
    newest, oldest = head(), revisions()[0]
    # Revisions have leading zeros, so comparing the strings compares the numbers.
    if revision < oldest:
        raise RejectedError(
            f"{subject} is too old: this starcast upgrades only schema {oldest} or newer",
            hint="run experiments and searches again in an empty database (docs/upgrades.md)",
        )
    raise RejectedError(
        f"{subject} is newer than {newest}, the newest schema that this starcast supports",
        hint="update starcast",
    )


def head() -> str:
    """Return the newest schema revision that this version of starcast supports.

    Raises:
        StarcastError: the migrations are missing from the installation.
    """
    if not revisions():
        raise StarcastError("this installation contains no migrations", hint="reinstall starcast")
    return revisions()[-1]


@cache
def revisions() -> tuple[str, ...]:
    """Return the schema revisions that this version of starcast supports, oldest first.

    The revisions are read from the file names of the migrations, without importing alembic.
    """
    files = (data_folder("migrations") / "versions").glob("[0-9]*.py")
    return tuple(sorted(file.name.partition("_")[0] for file in files))


def check(engine: Engine) -> None:
    """Check that the database has the schema of this version of starcast.

    Raises:
        RejectedError: the schema is missing, older or newer, or belongs to another program.
    """
    with translated_errors(engine.url), engine.connect() as connection:
        revision = check_owner(connection)
    if revision is None:
        raise RejectedError("the database has no schema yet", hint="run 'starcast db upgrade'")
    if revision != head():
        raise RejectedError(
            f"the schema of the database is {revision}, but this starcast needs {head()}",
            hint="run 'starcast db upgrade'",
        )


def check_server(connection: Connection) -> None:
    """Check the server's version and the database's encoding, which a session cannot change.

    Raises:
        RejectedError: the server is too old, or the encoding is not UTF8.
    """
    server = connection.execute(_SERVER).one()
    if server.major < OLDEST_POSTGRES:
        raise RejectedError(
            f"PostgreSQL {server.major} is too old",
            hint=f"use PostgreSQL {OLDEST_POSTGRES}.0 or newer",
        )
    if server.encoding != "UTF8":
        raise RejectedError(
            f"the database '{server.database}' has the encoding {server.encoding}, but starcast"
            " needs UTF8",
            hint="create another database: createdb -E UTF8 -T template0 NAME",
        )


def check_owner(connection: Connection) -> str | None:
    """Check that the tables belong to starcast, and return the schema revision.

    The result is None if the schema contains no tables.

    Raises:
        RejectedError: the tables belong to another program, or to a newer or much older starcast;
            or there are no tables, but a view of another program has the name of a starcast view.
    """
    schema = enter_schema(connection)
    tables = set(connection.scalars(_TABLES))
    revision = connection.scalar(_REVISION) if VERSION_TABLE in tables else None
    foreign = tables - {VERSION_TABLE}
    ours = revision is not None and {"store", "materialization"} <= tables
    # If alembic's version table is the only table, another program's migrations created it.
    if not ours and (foreign or revision is not None):
        raise RejectedError(
            f"the schema {schema} of the database '{connection.engine.url.database}' holds tables"
            f" of another program, such as '{min(foreign, default=VERSION_TABLE)}'",
            hint="create an empty database for starcast and name it in STARCAST_POSTGRES_URI",
        )
    if revision is not None:
        check_known(revision, f"the schema of the database ({revision})")
    # A schema without starcast's tables has no views of starcast either. So a view with the name of
    # a starcast view belongs to another program, and `declare` would replace it.
    elif taken := {view.name for view in VIEWS}.intersection(inspect(connection).get_view_names()):
        raise RejectedError(
            f"the schema {schema} of the database '{connection.engine.url.database}' holds the view"
            f" '{min(taken)}', which belongs to another program",
            hint="create an empty database for starcast and name it in STARCAST_POSTGRES_URI",
        )
    return revision


def upgrade(engine: Engine, reporter: Reporter, writer: str | None = None) -> bool:
    """Upgrade the schema to the newest revision in one transaction.

    Comments, views and privileges are written again even if the revision is already the newest.

    Args:
        engine: the database, connected as the owner of the tables.
        reporter: reports the revision before and after the upgrade.
        writer: a further role to which the privileges of the role ``starcast_writer`` are granted.

    Returns:
        True if the revision changed.

    Raises:
        RejectedError: the schema is too new or too old for this starcast, the database contains
            tables of another program or has an encoding other than UTF8, the server is too old, or
            existing rows or another program's views prevent the upgrade; nothing is changed.
        BusyError: another process has been migrating or restoring the database for a minute.
        UnavailableError: the role lacks the privilege to change the schema.
    """
    with migrating(engine) as connection:
        check_server(connection)
        revision = check_owner(connection)
        if revision == head():
            # The revision does not cover comments, views and privileges, which may be outdated.
            declare(connection, writer)
            reporter.say(f"the schema is up to date ({revision})")
            return False
        upgrade_to(connection, "head", writer)
    reporter.say(f"the schema was upgraded from {revision or 'nothing'} to {head()}")
    return True


def upgrade_to(connection: Connection, revision: str, writer: str | None = None) -> None:
    """Run the migrations up to a revision, in the connection's transaction.

    Args:
        connection: an open transaction of the owner.
        revision: the schema revision, or ``head`` for the newest one.
        writer: a further role to which the privileges of the role ``starcast_writer`` are granted.

    Raises:
        UnavailableError: the role lacks the privilege to create tables in the schema.
    """
    from alembic import command  # noqa: PLC0415 - see the module's docstring

    schema = enter_schema(connection)
    if not connection.scalar(_MAY_CREATE):
        url = connection.engine.url
        right = sql.SQL("grant create on schema {} to {}").format(
            sql.Identifier(schema), sql.Identifier(url.username or "")
        )
        raise UnavailableError(
            f"the role '{url.username}' lacks the privilege CREATE on the schema {schema} of the"
            f" database '{url.database}'",
            hint="name the owner of the tables in STARCAST_POSTGRES_OWNER; or, as an administrator,"
            f" run: {right.as_string()}",
        )
    command.upgrade(_config(connection, writer), revision)


def drop(engine: Engine) -> None:
    """Drop all starcast tables with their rows, in one transaction.

    Raises:
        RejectedError: the tables belong to another program, or to a newer or much older starcast;
            nothing is changed.
        BusyError: another process has been migrating or restoring the database for a minute.
        UnavailableError: the role lacks the privilege to drop the tables.
    """
    with migrating(engine) as connection:
        drop_tables(connection, check_owner(connection))


def drop_tables(connection: Connection, revision: str | None) -> None:
    """Drop starcast's views and tables in the current schema, in the connection's transaction.

    Args:
        connection: an open transaction of the owner.
        revision: the schema revision of the tables, returned by `check_owner`.
    """
    schema = enter_schema(connection)
    tables = [*(table.name for table in Base.metadata.sorted_tables), VERSION_TABLE]
    # PostgreSQL refuses to drop a table that a view reads, so views are dropped first.
    views = [view.name for view in VIEWS]
    if revision is not None and revision < "0016":
        # Revision 0016 dropped this view. In newer schemas, a view with this name belongs to
        # another program.
        views.append("comparison")
    for kind, names in (("view", views), ("table", tables)):
        dropped = sql.SQL("drop {} if exists ").format(sql.SQL(kind)) + join_names(schema, names)
        execute_sql(connection, dropped)


@contextmanager
def migrating(engine: Engine) -> Iterator[Connection]:
    """Open a transaction that holds the migration lock and excludes restores by other processes.

    An error rolls the transaction back.

    Raises:
        BusyError: another process has been migrating or restoring the database for a minute.
        RejectedError: existing rows or objects of another program prevent the migration.
    """
    busy = BusyError(
        f"another process has been migrating or restoring the database for {UPGRADE_SECONDS} s",
        hint="try again when it has finished",
    )
    try:
        # At a higher isolation level, possibly the server's default, statements after the wait for
        # a lock would not see the rows stored by the previous holder of the lock.
        committed = engine.execution_options(isolation_level="READ COMMITTED")
        with translated_errors(engine.url), committed.begin() as connection:
            if not holds_store(engine):
                wait_for_lock(connection, STORE_LOCK, UPGRADE_SECONDS, busy, shared=True)
            wait_for_lock(connection, UPGRADE_LOCK, UPGRADE_SECONDS, busy)
            yield connection
            verify_store_lock(engine, connection)
    except DBAPIError as error:
        if not sqlstate(error).startswith(_OBSTACLES):
            raise
        # If a view prevents the migration, only the detail of PostgreSQL's error names the view.
        detail = error.orig.diag.message_detail if isinstance(error.orig, psycopg.Error) else None
        raise RejectedError(
            f"the tables cannot be migrated: {first_line(error)}"
            + (f" ({detail})" if detail else ""),
            hint="correct or drop the object that the message names, and try again; nothing was"
            " changed",
        ) from None


def _config(connection: Connection, writer: str | None = None) -> "Config":
    from alembic.config import Config  # noqa: PLC0415 - see the module's docstring

    config = Config()
    # A % in the path is doubled, because it has a special meaning in alembic's configuration.
    config.set_main_option("script_location", str(data_folder("migrations")).replace("%", "%%"))
    config.attributes |= {"connection": connection, "writer": writer}
    return config


def differences(engine: Engine) -> list[str]:
    """Return descriptions of the changes that would make the schema match starcast's models.

    The function compares the tables with the models, and checks that all views exist. It also
    reports objects of other programs that can change or hide starcast's rows, such as triggers and
    policies. `find_others` describes all other objects in the schema, which are harmless.
    """
    # Imported only here, because importing alembic is slow.
    from alembic.autogenerate import compare_metadata  # noqa: PLC0415
    from alembic.migration import MigrationContext  # noqa: PLC0415

    with translated_errors(engine.url), engine.connect() as connection:
        enter_schema(connection)
        options = {"include_name": lambda name, kind, _: kind != "table" or name in _names()}
        context = MigrationContext.configure(connection, opts=options)
        changes = compare_metadata(context, Base.metadata)
        present = inspect(connection).get_view_names()
        touching = connection.scalars(_TOUCHING, {"names": _names()}).all()
    missing = [view.name for view in VIEWS if view.name not in present]
    return [
        *map(_describe_change, changes),
        *(f"add view {name}" for name in missing),
        *(f"remove {name}" for name in touching),
    ]


def find_others(engine: Engine) -> list[str]:
    """Return descriptions of other programs' tables, views and functions in the store's schema.

    Such objects are harmless; `differences` reports objects that can change or hide rows.
    Objects of extensions are omitted.
    """
    with translated_errors(engine.url), engine.connect() as connection:
        enter_schema(connection)
        return list(connection.scalars(_OTHERS, {"names": _names()}))


def _names() -> list[str]:
    """Return the names of starcast's tables and views, and of alembic's version table."""
    return [*Base.metadata.tables, VERSION_TABLE, *(view.name for view in VIEWS)]


def _describe_change(change: object) -> str:
    """Convert a difference reported by alembic to text, such as ``add table tree``."""
    # Alembic returns a tuple (verb, object, ...), or a list of such tuples for one changed column.
    first = change[0] if isinstance(change, list) else change
    if not isinstance(first, tuple):
        return str(first)
    verb = str(first[0]).replace("_", " ")
    return " ".join([verb, *(str(part) for part in first[1:] if part is not None)])


def declare(connection: Connection, writer: str | None = None) -> None:
    """Write all comments, create all views, and grant privileges to the writer and the reader.

    Roles that do not exist on the server are skipped; after creating a role, upgrade again. If the
    current role owns the schema, PUBLIC loses the privilege to create objects in the schema.

    Args:
        connection: an open transaction of the owner.
        writer: a further role to which the privileges of the role ``starcast_writer`` are granted.
    """
    schema = sql.Identifier(enter_schema(connection)).as_string()
    for view in VIEWS:
        _create(connection, view)
    statements = [*_comments()]
    # Whether each role gets write access. If ``writer`` is the reader's role, the reader's entry
    # overrides the first entry, so the reader never gets write access.
    granted = {writer: True, ROLE_NAMES["reader"]: False, ROLE_NAMES["writer"]: True}
    for role in connection.scalars(_ROLES, {"names": [*filter(None, granted)]}):
        statements += _grants(sql.Identifier(role).as_string(), schema, writes=granted[role])
    if connection.scalar(_OWNS_SCHEMA):
        statements.append(f"revoke create on schema {schema} from public")
    # All statements are sent at once. If parameters were passed, even an empty list, the server
    # would accept only one statement.
    execute_sql(connection, sql.SQL("; ".join(statements)))


def _create(connection: Connection, view: View) -> None:
    """Create a view, or replace an existing view, if possible without dropping it.

    Other programs' views may depend on the existing view.
    """
    try:
        # Without a savepoint, a failed statement would abort the transaction.
        with connection.begin_nested():
            connection.exec_driver_sql(f"create or replace view {view.name} as {view.query}")
    except DBAPIError as error:
        if sqlstate(error) != _INVALID_TABLE_DEFINITION:
            raise
        # PostgreSQL cannot replace a view whose columns were removed or renamed.
        connection.exec_driver_sql(f"drop view {view.name}")
        connection.exec_driver_sql(f"create view {view.name} as {view.query}")


def _comments() -> Iterator[str]:
    """Yield the SQL statements that set the comments of all tables, views and columns."""
    commented = [
        ("table", table.name, table.comment, {each.name: each.comment for each in table.columns})
        for table in Base.metadata.sorted_tables
    ]
    commented += [("view", view.name, view.meaning, dict(view.columns)) for view in VIEWS]
    for kind, name, meaning, columns in commented:
        yield f"comment on {kind} {name} is {sql.quote(meaning)}"
        for column, comment in columns.items():
            yield f'comment on column {name}."{column}" is {sql.quote(comment)}'


def _grants(role: str, schema: str, *, writes: bool) -> Iterator[str]:
    """Yield the SQL statements that let a role read all tables and views.

    With ``writes``, the role may also change the tables that commands write.
    """
    tables = [table.name for table in Base.metadata.sorted_tables]
    yield f"grant usage on schema {schema} to {role}"
    yield f"grant select on {', '.join(_names())} to {role}"
    if writes:
        written = [table for table in tables if table not in _OWNED]
        yield f"grant insert, update, delete on {', '.join(written)} to {role}"
