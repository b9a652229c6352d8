"""Backups of the relational store: the rows of all tables as text, with checksums.

A backup is a zip archive. Its member ``manifest.json`` states the schema revision and, for each
table, the number of rows and a checksum. For each table, a member ``TABLE.copy`` holds a line with
the column names, then the rows in the text format of PostgreSQL's COPY. Rows and checksums come
from the same snapshot of the database. Backups in format 1, which earlier versions of starcast
wrote, contain a ``pg_dump`` dump instead.

A backup contains only rows; a restore creates the tables by migrations. Nothing in a backup file is
executed, and a dump is only decoded. A restored database is accepted only if its tables match the
manifest's checksums.
"""

import re
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, Literal
from uuid import UUID

import pydantic
from psycopg import sql
from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import DBAPIError

from starcast.stores.database import dumps, migrations, sessions
from starcast.stores.database.dumps import DumpedRows, not_a_backup
from starcast.stores.database.models import Base
from starcast.stores.database.server_errors import sqlstate
from starcast.stores.database.sessions import execute_sql, open_copy
from starcast.stores.failures import first_line
from starcast.support.atomic import atomic_write
from starcast.support.errors import RejectedError, StarcastError, unreadable
from starcast.support.json_files import Moment
from starcast.support.limited import open_archive, read_member
from starcast.support.progress import Reporter, Silent
from starcast.support.text import pluralize

#: Error recorded for an artifact that has not yet been recreated in the graph after a restore or
#: during a rebuild.
REBUILDING = "'starcast graph rebuild' has not recreated it yet"

_DUMP, _MANIFEST = "postgres.dump", "manifest.json"
_MEMBER = "{}.copy"
#: Number of bytes copied at a time.
_CHUNK = 1 << 20
#: Maximum size of a manifest, in bytes.
_MAX_MANIFEST = 2**18
#: Maximum number of tables named in a message.
_LISTED = 3
#: Tables that have rows even in an empty store.
_ALWAYS_FILLED = {"store", "family"}
#: SQLSTATE prefixes of errors about rows that are invalid, violate a constraint, or exceed a limit.
_BAD_ROWS = ("22", "23", "54")
_COLUMNS = text(
    "select attname as name, attgenerated <> '' as generated, atttypid::regtype::text as type"
    " from pg_attribute where attrelid = to_regclass(:table) and attnum > 0 and not attisdropped"
    " order by attnum"
)
#: SQL that marks all complete artifacts as failed, because a restore does not fill the graph.
_FORGET_GRAPH = text(
    "update materialization set state = 'failed', error = :error, finished_at = now(),"
    " found_nodes = null, found_relationships = null, found_checksum = null"
    " where state = 'complete'"
)


class TableContent(pydantic.BaseModel):
    """The number of rows and the checksum of a table."""

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)

    rows: Annotated[int, pydantic.Field(ge=0, le=2**63 - 1)]
    checksum: str


class Manifest(pydantic.BaseModel):
    """The content of a backup's ``manifest.json``.

    Attributes:
        format: the file format and its version.
        created_at: when the backup was made.
        starcast: the version of starcast that made the backup.
        postgres: the version of the PostgreSQL server.
        revision: the schema revision.
        store: the id of the store.
        tables: the row count and checksum of each table, keyed by table name.
    """

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)

    format: Literal["starcast backup 1", "starcast backup 2"]
    created_at: Moment
    starcast: str
    postgres: Annotated[str, pydantic.Field(pattern=r"^[1-9][0-9]{0,3}([^0-9]|$)")]
    revision: str
    store: UUID
    tables: dict[str, TableContent]

    @property
    def dumped_by(self) -> int | None:
        """Major version of the pg_dump that wrote the rows, or None if COPY wrote them."""
        is_dump = self.format == "starcast backup 1"
        return int(re.split("[^0-9]", self.postgres)[0]) if is_dump else None

    @property
    def rows(self) -> int:
        """Total number of rows in all tables."""
        return sum(table.rows for table in self.tables.values())


def count_rows(engine: Engine) -> dict[str, int]:
    """Return the number of rows of each nonempty table, keyed by table name.

    Tables that contain rows even in a new store are omitted.
    """
    with sessions.translated_errors(engine.url), engine.connect() as connection:
        return _count_rows(connection)


def _count_rows(connection: Connection) -> dict[str, int]:
    schema = migrations.enter_schema(connection)
    counts = {}
    for table in migrations.find_tables(connection):
        if table.name not in _ALWAYS_FILLED:
            query = sql.SQL("select count(*) from {}").format(sql.Identifier(schema, table.name))
            counts[table.name] = int(execute_sql(connection, query).scalar_one())
    return {table: rows for table, rows in counts.items() if rows}


def create(engine: Engine, file: Path) -> Manifest:
    """Write a backup of the database to a file, which appears only when the backup is complete.

    Args:
        engine: the database; a role with read access to all tables is sufficient.
        file: the file to write; an existing file is replaced.

    Raises:
        InputError: the file cannot be written.
        RejectedError: the database does not contain a complete starcast store.
        UnavailableError: the server failed.
    """
    with sessions.translated_errors(engine.url), engine.connect() as connection:
        tables = _name_tables(connection)
    # All statements of the transaction see the same snapshot of the database.
    snapshots = engine.execution_options(isolation_level="REPEATABLE READ")
    with sessions.translated_errors(engine.url), snapshots.connect() as connection:
        if tables is not None:
            # LOCK waits until no other process is restoring a backup. The statement takes no
            # snapshot, so the snapshot of the next statement contains the restored rows.
            execute_sql(connection, sql.SQL("lock table {} in access share mode").format(tables))
        return _write(connection, file)


def _write(connection: Connection, file: Path) -> Manifest:
    # Members are not compressed, because `read_manifest` refuses compressed members, which could
    # expand a thousandfold.
    with atomic_write(file) as output, zipfile.ZipFile(output, "w") as archive:
        manifest = _describe(connection)
        for name in manifest.tables:
            columns = _columns(connection, name)
            statement = sql.SQL(
                "copy (select {} from only {}) to stdout with (encoding 'UTF8')"
            ).format(sql.SQL(", ").join(map(sql.Identifier, columns)), sql.Identifier(name))
            # The size of a member is not known in advance and may exceed the 4 GB limit of plain
            # zip.
            with (
                archive.open(_MEMBER.format(name), "w", force_zip64=True) as member,
                open_copy(connection, statement) as copy,
            ):
                member.write("\t".join(columns).encode() + b"\n")
                member.writelines(copy)
        archive.writestr(_MANIFEST, manifest.model_dump_json(indent=2))
    return manifest


def read_manifest(file: Path) -> Manifest:
    """Return the manifest of a backup after checking that the file is complete.

    Raises:
        InputError: the file cannot be read, is not a backup, or is incomplete or damaged.
    """
    with _open(file) as archive:
        manifest = _manifest(archive, file)
        damaged = archive.testzip()
        if damaged is not None:
            raise not_a_backup(file, f"its part {damaged} is damaged")
        return manifest


def restore(
    engine: Engine,
    file: Path,
    reporter: Reporter | None = None,
    *,
    keep: Path | None = None,
    decoder: Path | None = None,
    writer: str | None = None,
) -> Manifest:
    """Restore a backup into a store, verify the rows, and upgrade the schema, in one transaction.

    If a step fails, or the process is killed, the store keeps its previous content. A restore marks
    all complete artifacts as failed, because the graph does not contain them.

    Args:
        engine: the database, connected as the owner of the tables.
        file: the backup.
        reporter: reports that existing rows are being backed up.
        keep: file to which existing data are backed up before they are replaced. If None, a store
            that contains data is refused.
        decoder: path of the program pg_restore, which is needed only for a backup in format 1.
        writer: a further role to which the privileges of the role ``starcast_writer`` are granted.

    Raises:
        InputError: the file is not a complete backup, or ``keep`` cannot be written.
        RejectedError: the store is not empty and ``keep`` is None; the store belongs to another
            program; this version of starcast does not support the schema of the store or of the
            backup; objects of another program prevent the restore; or the restored tables differ
            from the backup.
        BusyError: another process is using or migrating the tables.
        UnavailableError: the server failed.
    """
    listener = reporter or Silent()
    manifest = read_manifest(file)
    migrations.check_known(manifest.revision, f"the backup has schema {manifest.revision}, which")
    with migrations.migrating(engine) as connection:
        revision = migrations.check_owner(connection)
        if revision is not None:
            _lock_tables(connection)
            rows = _count_rows(connection)
            if rows and keep is None:
                raise _not_empty(rows)
            if rows and keep is not None:
                listener.say(f"backing up the existing rows: {keep}")
                _write(connection, keep)
            migrations.drop_tables(connection, revision)
        migrations.upgrade_to(connection, manifest.revision, writer)
        _fill(connection, file, manifest, decoder)
        _verify(connection, manifest)
        migrations.upgrade_to(connection, "head", writer)
        connection.execute(_FORGET_GRAPH, {"error": REBUILDING})
    return manifest


def _lock_tables(connection: Connection) -> None:
    """Wait until no other transaction changes starcast's tables, and block changes to them.

    The tables are locked until this transaction ends.
    """
    if tables := _name_tables(connection):
        execute_sql(connection, sql.SQL("lock table {} in exclusive mode").format(tables))


def _name_tables(connection: Connection) -> sql.Composed | None:
    """Return an SQL list of starcast's tables, or None if none of these tables exists."""
    schema = migrations.enter_schema(connection)
    names = [table.name for table in migrations.find_tables(connection)]
    return migrations.join_names(schema, names) if names else None


def _not_empty(rows: dict[str, int]) -> StarcastError:
    found = [f"{pluralize(count, 'row')} in {name}" for name, count in rows.items()]
    listed = ", ".join(found if len(found) <= _LISTED else [*found[:_LISTED], "..."])
    return RejectedError(
        f"the store is not empty: it has {listed}",
        hint="use another database or `home`, or add `replace` to replace the stored data",
    )


def _fill(connection: Connection, file: Path, manifest: Manifest, decoder: Path | None) -> None:
    """Replace all rows of newly created tables with the rows of a backup file.

    Args:
        connection: the transaction of the restore.
        file: the backup.
        manifest: the manifest of the backup.
        decoder: path of the program pg_restore, which is needed only for a backup in format 1.
    """
    schema = migrations.enter_schema(connection)
    tables = [table.name for table in migrations.find_tables(connection)]
    if {*tables} != {*manifest.tables}:
        raise not_a_backup(file, f"its tables differ from those of revision {manifest.revision}")
    # The migrations have inserted a few rows, which the backup also contains.
    execute_sql(connection, sql.SQL("truncate {}").format(migrations.join_names(schema, tables)))
    with _open_rows(file, manifest, decoder) as rows_of:
        for name in tables:
            try:
                _copy_in(connection, file, name, rows_of(name))
            except DBAPIError as error:
                if not sqlstate(error).startswith(_BAD_ROWS):
                    raise
                raise not_a_backup(
                    file, f"its table {name} cannot be restored: {first_line(error)}"
                ) from None


def _copy_in(connection: Connection, file: Path, name: str, rows: DumpedRows) -> None:
    """Insert rows from a backup into a table, after checking that both have the same columns."""
    columns, chunks = rows
    if sorted(columns) != _columns(connection, name):
        raise not_a_backup(file, f"its table {name} has unexpected columns: {', '.join(columns)}")
    statement = sql.SQL("copy {} ({}) from stdin with (encoding 'UTF8')").format(
        sql.Identifier(name), sql.SQL(", ").join(map(sql.Identifier, columns))
    )
    with open_copy(connection, statement) as copy:
        for chunk in chunks:
            copy.write(chunk)
    for column in Base.metadata.tables[name].columns:
        if column.identity is not None:
            # COPY does not advance the sequence, so new rows would reuse restored numbers.
            numbers = "select setval(pg_get_serial_sequence({}, {}), max({})) from {}"
            literals = map(sql.Literal, (name, column.name))
            identifiers = map(sql.Identifier, (column.name, name))
            execute_sql(connection, sql.SQL(numbers).format(*literals, *identifiers))


def _columns(connection: Connection, table: str) -> list[str]:
    """Return the sorted names of a table's columns, except generated columns.

    A backup contains exactly these columns.
    """
    columns = connection.execute(_COLUMNS, {"table": table})
    return sorted(column.name for column in columns if not column.generated)


@contextmanager
def _open_rows(
    file: Path, manifest: Manifest, decoder: Path | None
) -> Iterator[Callable[[str], DumpedRows]]:
    """Open a backup file, and yield a function that maps a table's name to the table's rows."""
    with _open(file) as archive, tempfile.TemporaryDirectory() as folder:
        if manifest.dumped_by is None:
            yield partial(_read_member, archive)
        else:
            dump = archive.extract(_DUMP, folder)
            if decoder is None:
                raise ValueError("reading a backup in format 1 needs the path of pg_restore")
            dumps.check_contents(file, decoder, dump, manifest.tables)
            yield partial(dumps.read_rows, file, decoder, dump)


def _read_member(archive: zipfile.ZipFile, table: str) -> DumpedRows:
    member = archive.open(_MEMBER.format(table))
    header = member.readline(_CHUNK).decode(errors="replace")
    return header.rstrip("\n").split("\t"), iter(partial(member.read, _CHUNK), b"")


def _verify(connection: Connection, manifest: Manifest) -> None:
    """Check that the row counts and checksums of all tables match a backup's manifest."""
    restored = _describe(connection)
    different = {table for table, _ in manifest.tables.items() ^ restored.tables.items()}
    if different:
        raise RejectedError(
            "the restored rows of some tables differ from the backup:"
            f" {', '.join(sorted(different))}",
            hint="use another backup; the store was not changed",
        )


def _describe(connection: Connection) -> Manifest:
    """Return the manifest for a backup of the current rows of the database.

    Raises:
        RejectedError: the database does not contain a complete starcast store.
    """
    revision = migrations.check_owner(connection)
    if revision is None:
        raise RejectedError(
            "the database has no schema yet, so there is nothing to back up",
            hint="run 'starcast db upgrade'",
        )
    tables = [table.name for table in migrations.find_tables(connection)]
    store = connection.scalar(text("select id from store"))
    if store is None or (revision == migrations.head() and {*tables} != {*Base.metadata.tables}):
        lost = sorted({*Base.metadata.tables} - {*tables}) or ["the row of the table store"]
        raise RejectedError(
            f"a backup would be incomplete, because tables or rows are missing: {', '.join(lost)}",
            hint="run 'starcast db check' to see the differences, or restore an earlier backup",
        )
    # With this setting, PostgreSQL raises an error if a policy hides rows. Otherwise the backup
    # would silently lack them.
    connection.execute(text("set local row_security = off"))
    return Manifest(
        format="starcast backup 2",
        created_at=datetime.now(UTC),
        starcast=version("starcast"),
        postgres=str(connection.scalar(text("select current_setting('server_version')"))),
        revision=revision,
        store=store,
        tables={table: _content(connection, table) for table in sorted(tables)},
    )


def _content(connection: Connection, table: str) -> TableContent:
    """Return the number of rows and the checksum (the sum of the row hashes) of a table.

    The checksum does not depend on the order of the rows.
    """
    # Values of type bytea are hashed before the row is hashed, because their text form is twice as
    # long as the values themselves.
    values = [
        sql.SQL("md5({})" if column.type == "bytea" else "{}").format(sql.Identifier(column.name))
        for column in connection.execute(_COLUMNS, {"table": table})
    ]
    # Only 60 bits of the hash are used, so that the bigint is never negative. PostgreSQL sums
    # bigints as numeric, which cannot overflow.
    query = sql.SQL(
        "select count(*) as rows, coalesce("
        "sum(('x' || left(md5(row({})::text), 15))::bit(60)::bigint), 0) as checksum from only {}"
    ).format(sql.SQL(", ").join(values), sql.Identifier(table))
    found = execute_sql(connection, query).one()
    return TableContent(rows=found.rows, checksum=f"{int(found.checksum):x}")


@contextmanager
def _open(file: Path) -> Iterator[zipfile.ZipFile]:
    try:
        with open_archive(file) as archive:
            yield archive
    except (zipfile.BadZipFile, EOFError, NotImplementedError, UnicodeDecodeError) as error:
        reason = "it is incomplete or damaged" if _begins_as_zip(file) else str(error).lower()
        raise not_a_backup(file, reason) from None
    except OSError as error:
        raise unreadable(file, error, "use a file written by 'starcast backup'") from None


def _begins_as_zip(file: Path) -> bool:
    with file.open("rb") as opened:
        return opened.read(2) == b"PK"


def _manifest(archive: zipfile.ZipFile, file: Path) -> Manifest:
    """Return the manifest of a backup after comparing it with the members of the archive."""
    names = sorted(archive.namelist())
    if _MANIFEST not in names:
        raise not_a_backup(file, f"it contains no {_MANIFEST}")
    # `create` writes only uncompressed members, and a compressed member could expand without limit.
    for part in archive.infolist():
        if part.compress_type != zipfile.ZIP_STORED or part.flag_bits & 1:
            raise not_a_backup(file, f"its part {part.filename} is compressed or encrypted")
    try:
        text = read_member(archive, _MANIFEST, _MAX_MANIFEST, f"the manifest of {file}")
        manifest = Manifest.model_validate_json(text)
    except pydantic.ValidationError as error:
        details: Any = error.errors()[0]
        place = ".".join(map(str, details["loc"])) or "the text"
        raise not_a_backup(file, f"{place} of its {_MANIFEST} is invalid") from None
    # The manifest of a backup in format 1 also lists alembic's version table.
    tables = {key: each for key, each in manifest.tables.items() if key != migrations.VERSION_TABLE}
    members = [_MEMBER.format(table) for table in tables] if manifest.dumped_by is None else [_DUMP]
    if names != sorted([_MANIFEST, *members]):
        raise not_a_backup(file, f"its parts differ from those listed in its {_MANIFEST}")
    return manifest.model_copy(update={"tables": tables})
