"""Backups of the relational store: dumps by pg_dump, with checksums of all tables.

A backup is a zip archive with two members: ``postgres.dump`` in the custom format of ``pg_dump``,
which ``pg_restore`` reads without starcast as well, and ``manifest.json`` with the schema revision
and, for each table, the number of rows and a checksum. The dump and the checksums are taken from
the same snapshot of the database. A restored database is accepted only if its tables have these
checksums.
"""

import os
import re
import shlex
import subprocess
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from shutil import copyfileobj
from typing import Annotated, Any, Literal
from uuid import UUID

import pydantic
from psycopg import sql
from sqlalchemy import URL, Connection, Engine, inspect, text
from sqlalchemy.dialects.postgresql import BYTEA

from starcast.stores.database import migrations, sessions
from starcast.stores.database.server_errors import conninfo, describe_address
from starcast.stores.database.sessions import TCP_OPTIONS, is_pooled
from starcast.support.atomic import atomic_write
from starcast.support.errors import InputError, RejectedError, StarcastError, UnavailableError
from starcast.support.limited import open_archive, read_member
from starcast.support.progress import Reporter, Silent
from starcast.support.text import pluralize

_DUMP, _MANIFEST = "postgres.dump", "manifest.json"
#: Number of bytes copied at a time.
_CHUNK = 1 << 20
#: Maximum size of a manifest, in bytes.
_MAX_MANIFEST = 2**18
#: Maximum number of tables named in a message.
_LISTED = 3
#: Tables that have rows even in an empty store.
_ALWAYS_FILLED = {"store", "family", migrations.VERSION_TABLE}
#: Server settings on which the conversion of values to text depends.
_FORMATS = "set local timezone = 'UTC'; set local datestyle = 'ISO'; set local bytea_output = 'hex'"


#: A time that is far enough from datetime's limits to be converted to every time zone.
_Moment = Annotated[
    pydantic.AwareDatetime,
    pydantic.Field(ge=datetime(1970, 1, 2, tzinfo=UTC), le=datetime(9000, 1, 1, tzinfo=UTC)),
]


class TableContent(pydantic.BaseModel):
    """Number of rows and checksum of a table."""

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)

    rows: Annotated[int, pydantic.Field(ge=0, le=2**63 - 1)]
    checksum: str


class Manifest(pydantic.BaseModel):
    """The description of a backup.

    Attributes:
        format: identifies the kind of file and its version.
        created_at: when the backup was made.
        starcast: the version of starcast that made it.
        postgres: the version of the server.
        revision: the schema revision.
        store: the id of the store.
        tables: the content of each table.
    """

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)

    format: Literal["starcast backup 1"]
    created_at: _Moment
    starcast: str
    postgres: Annotated[str, pydantic.Field(pattern=r"^[1-9][0-9]{0,3}([^0-9]|$)")]
    revision: str
    store: UUID
    tables: dict[str, TableContent]

    @property
    def rows(self) -> int:
        """Total number of rows."""
        return sum(table.rows for table in self.tables.values())


def server_major(engine: Engine) -> int:
    """Return the major version of the server."""
    major, *_ = engine.dialect.server_version_info or (0,)
    return int(major)


def count_rows(engine: Engine) -> dict[str, int]:
    """Return the number of rows of each nonempty table, except tables that are never empty."""
    counts = {}
    with sessions.translated_errors(engine.url), engine.connect() as connection:
        for table in _tables(connection):
            if table not in _ALWAYS_FILLED:
                query = sql.SQL("select count(*) from {}").format(sql.Identifier(table))
                counts[table] = int(connection.exec_driver_sql(query.as_string()).scalar_one())
    return {table: rows for table, rows in counts.items() if rows}


def create(engine: Engine, file: Path, programs: Path) -> Manifest:
    """Write a backup of the database to a file, which appears only when it is complete.

    Args:
        engine: the database; any role that may read all tables is sufficient.
        file: the file to write; an existing one is replaced.
        programs: the folder of PostgreSQL's client programs of the server's major version.

    Raises:
        InputError: the file cannot be written, or the server is behind a connection pooler.
        RejectedError: the database does not hold a starcast store.
        UnavailableError: the server failed or refused the dump.
    """
    _check_direct(engine)
    # All statements of the transaction see the same snapshot of the database, which pg_dump uses
    # too.
    snapshots = engine.execution_options(isolation_level="REPEATABLE READ")
    with (
        sessions.translated_errors(engine.url),
        snapshots.connect() as connection,
        atomic_write(file) as output,
        zipfile.ZipFile(output, "w") as archive,
    ):
        manifest = _describe(connection)
        snapshot = str(connection.scalar(text("select pg_export_snapshot()")))
        # The server that restores the backup may lack the owner and the roles of this one.
        command = [str(programs / "pg_dump"), "--format=custom", "--no-owner", "--no-privileges"]
        command += [f"--snapshot={snapshot}"]
        command += [f'--table=public."{table}"' for table in manifest.tables]
        # The dump's size is not known in advance and may exceed the 4 GB limit of plain zip.
        with archive.open(_DUMP, "w", force_zip64=True) as member:
            _run(command, engine.url, lambda pg_dump: copyfileobj(pg_dump.stdout, member, _CHUNK))
        archive.writestr(_MANIFEST, manifest.model_dump_json(indent=2))
    return manifest


def read_manifest(file: Path) -> Manifest:
    """Return the description of a backup after reading the complete file.

    Raises:
        InputError: the file is missing, is not a backup, or is incomplete.
    """
    with _open(file) as archive:
        manifest = _manifest(archive, file)
        damaged = archive.testzip()
        if damaged is not None:
            raise _not_a_backup(file, f"its part {damaged} is damaged")
        return manifest


def restore(
    engine: Engine,
    file: Path,
    programs: Path,
    reporter: Reporter | None = None,
    *,
    keep: Path | None = None,
) -> Manifest:
    """Restore a backup into a store, verify it, and upgrade its schema.

    If any of this fails, the store keeps its previous content.

    Args:
        engine: the database, as its owner.
        file: the backup.
        programs: the folder of PostgreSQL's client programs of the server's major version.
        reporter: receives messages.
        keep: file to which existing data are backed up before they are replaced. If it is None, a
            store that holds data is refused.

    Raises:
        InputError: the file is not a complete backup, ``keep`` cannot be written, or the server
            is behind a connection pooler.
        RejectedError: the store is not empty, belongs to another program, or is too old for the
            backup; or the restored tables differ from the backup.
        UnavailableError: the server failed.
    """
    listener = reporter or Silent()
    manifest = read_manifest(file)
    _check_direct(engine)
    _check_target(engine, manifest)
    if keep is None:
        check_empty(engine)
    elif count_rows(engine):
        listener.say(f"backing up the existing rows: {keep}")
        create(engine, keep, programs)
    else:
        keep = None
    # The tables are dropped, because the dump creates them.
    migrations.drop(engine)
    try:
        _restore_dump(engine, file, programs)
        _verify(engine, manifest)
        migrations.upgrade(engine, listener)
    except BaseException as error:
        _put_back(engine, keep, programs, error)
        raise
    return manifest


def _put_back(engine: Engine, kept: Path | None, programs: Path, cause: BaseException) -> None:
    """Undo a failed restore: restore the backup taken before it, or empty the store.

    Raises:
        UnavailableError: the server fails; the backup remains.
    """
    try:
        migrations.drop(engine)
        if kept is not None:
            _restore_dump(engine, kept, programs)
        migrations.upgrade(engine, Silent())
    except StarcastError as error:
        if kept is None:
            raise
        raise UnavailableError(
            f"the restore failed ({str(cause) or 'interrupted'}), and the previous rows could not"
            f" be put back: {error.message}",
            hint=f"once the server is running again, run 'starcast restore"
            f" {shlex.quote(str(kept))} --replace': this backup contains the previous rows",
        ) from None


def check_empty(engine: Engine) -> None:
    """Check that a starcast store holds no data.

    Raises:
        RejectedError: the store holds data, or the database belongs to another program.
    """
    if migrations.known_revision(engine) is None:
        return
    if rows := count_rows(engine):
        found = [f"{pluralize(count, 'row')} in {name}" for name, count in rows.items()]
        listed = ", ".join(found if len(found) <= _LISTED else [*found[:_LISTED], "..."])
        raise RejectedError(
            f"the store is not empty: it has {listed}",
            hint="name another database or --home, or delete the stored data with --replace",
        )


def _check_direct(engine: Engine) -> None:
    """Check that the server is not behind a connection pooler.

    pg_dump and pg_restore empty the search path of their session. Behind a pooler in transaction
    mode, the next client of that session would not find its tables.

    Raises:
        InputError: the server is behind a connection pooler.
    """
    with sessions.translated_errors(engine.url), engine.connect() as connection:
        if is_pooled(connection):
            raise InputError(
                f"PostgreSQL at {describe_address(engine.url)} is behind a connection pooler,"
                " and pg_dump and pg_restore would change the settings of other sessions",
                hint="for this command, set STARCAST_POSTGRES_URI to the address of the server "
                "itself",
            )


def _check_target(engine: Engine, manifest: Manifest) -> None:
    migrations.check_known(manifest.revision, f"the backup has schema {manifest.revision}, which")
    major = server_major(engine)
    if int(re.split("[^0-9]", manifest.postgres)[0]) > major:
        raise RejectedError(
            f"the backup comes from PostgreSQL {manifest.postgres}, but this server is"
            f" PostgreSQL {major}",
            hint="restore it into a server that is at least as new",
        )
    migrations.known_revision(engine)


def _restore_dump(engine: Engine, file: Path, programs: Path) -> None:
    command = [
        str(programs / "pg_restore"),
        "--single-transaction",
        "--exit-on-error",
        "--no-owner",
    ]
    command += ["--no-privileges"]
    with _open(file) as archive, archive.open(_DUMP) as member:
        _run(command, engine.url, lambda restore: copyfileobj(member, restore.stdin, _CHUNK))


def _verify(engine: Engine, manifest: Manifest) -> None:
    with sessions.translated_errors(engine.url), engine.begin() as connection:
        restored = _describe(connection)
    different = {table for table, _ in manifest.tables.items() ^ restored.tables.items()}
    if different:
        raise RejectedError(
            f"the restored rows differ from the backup in {', '.join(sorted(different))}",
            hint="try another backup; the store is as it was before",
        )


def _describe(connection: Connection) -> Manifest:
    # Checksums are computed from text, which must not depend on the server's configuration.
    connection.exec_driver_sql(_FORMATS, execution_options={"no_parameters": True})
    revision = migrations.revision_of(connection)
    if revision is None:
        raise RejectedError(
            "the database has no schema yet, so there is nothing to back up",
            hint="run 'starcast db upgrade'",
        )
    return Manifest(
        format="starcast backup 1",
        created_at=datetime.now(UTC),
        starcast=version("starcast"),
        postgres=str(connection.scalar(text("select current_setting('server_version')"))),
        revision=revision,
        store=connection.scalar(text("select id from store")),
        tables={table: _content(connection, table) for table in _tables(connection)},
    )


def _tables(connection: Connection) -> list[str]:
    return sorted(inspect(connection).get_table_names("public"))


def _content(connection: Connection, table: str) -> TableContent:
    """Return the row count and the sum of all row hashes, which does not depend on row order."""
    # A bytea is hashed first, because its text is twice as long as its bytes.
    values = [
        sql.SQL("md5({})" if isinstance(column["type"], BYTEA) else "{}").format(
            sql.Identifier(column["name"])
        )
        for column in inspect(connection).get_columns(table, "public")
    ]
    # Only 60 bits of the hash are used, so that the bigint is never negative. PostgreSQL sums
    # bigints as numeric, which cannot overflow.
    query = sql.SQL(
        "select count(*), coalesce(sum(('x' || left(md5(row({})::text), 15))::bit(60)::bigint), 0)"
        " from public.{}"
    ).format(sql.SQL(", ").join(values), sql.Identifier(table))
    rows, checksum = connection.exec_driver_sql(query.as_string()).one()
    return TableContent(rows=rows, checksum=f"{int(checksum):x}")


def _run(command: list[str], url: URL, copy: Callable[[Any], None]) -> None:
    """Run a PostgreSQL program on a database.

    The password is passed in the environment, because every user can read command-line arguments.

    Args:
        command: the program and its options.
        url: the database.
        copy: writes to the standard input of the running process, or reads its standard output.
    """
    public = url._replace(password=None)
    target = conninfo(public, connect_timeout=sessions.CONNECT_SECONDS, **TCP_OPTIONS)
    # The locale makes messages English, so that their prefixes can be removed below.
    environment = os.environ | {"LC_ALL": "C", "PGPASSWORD": str(url.password or "")}
    # The messages go to a file, because they are read only at the end, and a full pipe would block
    # the program.
    with tempfile.TemporaryFile() as messages:
        with subprocess.Popen(
            # Without a terminal, a program that asks for a password would read its standard input.
            [*command, "--no-password", f"--dbname={target}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=messages,
            env=environment,
        ) as process:
            try:
                # A broken pipe means that the program has ended; its messages explain why.
                with suppress(BrokenPipeError):
                    copy(process)
                process.communicate()
            except BaseException:
                process.kill()
                raise
        messages.seek(0)
        reason = messages.read().decode(errors="replace").strip()
    if process.returncode != 0:
        name = Path(command[0]).name
        line = next(iter(reason.splitlines()), f"exit code {process.returncode}")
        raise UnavailableError(
            f"{name} failed: {line.removeprefix(f'{name}: ').removeprefix('error: ')}",
            hint="check the server with 'starcast doctor'; nothing was changed",
        )


@contextmanager
def _open(file: Path) -> Iterator[zipfile.ZipFile]:
    try:
        with open_archive(file) as archive:
            yield archive
    except (zipfile.BadZipFile, EOFError, NotImplementedError, UnicodeDecodeError) as error:
        reason = "it is incomplete or damaged" if _begins_as_zip(file) else str(error).lower()
        raise _not_a_backup(file, reason) from None
    except OSError as error:
        raise InputError(
            f"{file} cannot be read: {(error.strerror or str(error)).lower()}",
            hint="name a file that 'starcast backup' has written",
        ) from None


def _begins_as_zip(file: Path) -> bool:
    with file.open("rb") as opened:
        return opened.read(2) == b"PK"


def _manifest(archive: zipfile.ZipFile, file: Path) -> Manifest:
    if sorted(archive.namelist()) != [_MANIFEST, _DUMP]:
        raise _not_a_backup(file, f"it must contain exactly {_MANIFEST} and {_DUMP}")
    # `create` compresses neither member of the archive, and a compressed member could expand
    # without limit.
    for part in archive.infolist():
        if part.compress_type != zipfile.ZIP_STORED or part.flag_bits & 1:
            raise _not_a_backup(file, f"its part {part.filename} is compressed or encrypted")
    try:
        text = read_member(archive, _MANIFEST, _MAX_MANIFEST, f"the manifest of {file}")
        return Manifest.model_validate_json(text)
    except pydantic.ValidationError as error:
        details: Any = error.errors()[0]
        place = ".".join(map(str, details["loc"])) or "the text"
        raise _not_a_backup(file, f"{place} of its {_MANIFEST} is not valid") from None


def _not_a_backup(file: Path, reason: str) -> StarcastError:
    return InputError(
        f"{file} is not a complete backup of starcast: {reason}",
        hint="name a file that 'starcast backup' has written; nothing was changed",
    )
