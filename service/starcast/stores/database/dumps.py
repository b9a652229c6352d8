"""Read the pg_dump dumps in backups of format 1 by running pg_restore.

pg_restore does not connect to a server, and its output is not executed. Rows of the expected tables
are copied, and everything else is refused.
"""

import os
import re
import select
import subprocess
import tempfile
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from starcast.stores.database import sessions
from starcast.stores.database.migrations import VERSION_TABLE
from starcast.support.errors import InputError, UnavailableError

#: Number of bytes read at a time.
_CHUNK = 1 << 20
#: Seconds without output after which pg_restore is terminated.
_DECODER_SECONDS = sessions.SILENT_SECONDS
#: Pattern of an entry in a dump's table of contents, with the kind, schema and name of an object.
_ENTRY = re.compile(r"^\d+; \d+ \d+ ([A-Z ]+) (\S+) (\S+)", re.MULTILINE)
#: The kinds of objects in a dump of starcast's tables.
_EXPECTED_KINDS = {
    "TABLE", "TABLE DATA", "DEFAULT", "CONSTRAINT", "FK CONSTRAINT", "INDEX", "COMMENT",
    "SEQUENCE", "SEQUENCE SET", "SEQUENCE OWNED BY",
}  # fmt: skip
#: Pattern of the statement before a table's rows in pg_restore's output.
_COPY = re.compile(rb"^COPY public\.\S+ \(([^\n]*)\) FROM stdin;\n", re.MULTILINE)
#: The rows of a table in a backup: the column names, and chunks of bytes, which together are the
#: rows in the text format of COPY.
DumpedRows = tuple[list[str], Iterable[bytes]]


def check_contents(file: Path, decoder: Path, dump: str, tables: Collection[str]) -> None:
    """Check that a dump contains the rows of exactly the given tables, and no unexpected objects.

    Args:
        file: the backup, for messages.
        decoder: path of the program pg_restore.
        dump: path of the dump, extracted from the backup.
        tables: the names of the tables in the backup's manifest.

    Raises:
        InputError: the dump lacks the rows of a given table, contains the rows of another table or
            an object of an unexpected kind or schema, or cannot be read.
        UnavailableError: pg_restore has stopped producing output.
    """
    listing = b"".join(_run(decoder, "--list", dump))
    entries = _ENTRY.findall(listing.decode(errors="replace"))
    for kind, schema, name in entries:
        if kind not in _EXPECTED_KINDS or schema != "public":
            raise not_a_backup(
                file,
                "its dump contains an object of another program, the"
                f" {kind.lower()} {schema} {name}",
            )
    found = {name for kind, _, name in entries if kind == "TABLE DATA"}
    if found - {VERSION_TABLE} != {*tables}:
        raise not_a_backup(file, "the tables of its dump differ from those of its manifest")


def read_rows(file: Path, decoder: Path, dump: str, table: str) -> DumpedRows:
    """Return the columns and rows of a table in a dump.

    Args:
        file: the backup, for messages.
        decoder: path of the program pg_restore.
        dump: path of the dump, extracted from the backup.
        table: the name of the table.

    Raises:
        InputError: the dump does not contain the table's rows, or cannot be read.
        UnavailableError: pg_restore has stopped producing output.
    """
    output = _run(decoder, "--data-only", f"--table={table}", "--file=-", dump)
    text = b""
    for chunk in output:
        text += chunk
        if match := _COPY.search(text):
            columns = [name.strip('"') for name in match[1].decode(errors="replace").split(", ")]
            # Other output can follow the rows, but the server ignores all data after the
            # end-of-data marker of the rows.
            return columns, chain([text[match.end() :]], output)
        if len(text) > _CHUNK:
            break
    raise not_a_backup(file, f"its dump does not contain the rows of the table {table}")


def _run(program: Path, *options: str) -> Iterator[bytes]:
    """Run pg_restore with the given options, and yield its output in chunks.

    pg_restore converts a dump to text. It neither connects to a server nor executes the dump.

    Raises:
        InputError: the program cannot read the dump.
        UnavailableError: pg_restore has stopped producing output.
    """
    # Error messages are written to a file, because they are read only at the end, and a full pipe
    # would block the program.
    with (
        tempfile.TemporaryFile() as messages,
        subprocess.Popen(
            [program, *options],
            bufsize=0,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=messages,
            env=os.environ | {"LC_ALL": "C"},
        ) as process,
    ):
        try:
            yield from iter(partial(_read_output, process.stdout), b"")
            with suppress(subprocess.TimeoutExpired):
                process.wait(_DECODER_SECONDS)
        finally:
            process.kill()
        messages.seek(0)
        reason = messages.read(_CHUNK).decode(errors="replace").strip()
    if process.returncode != 0:
        line = next(iter(reason.splitlines()), f"exit code {process.returncode}")
        raise InputError(
            f"pg_restore cannot read the dump of the backup: {line.removeprefix('pg_restore: ')}",
            hint="use another backup; nothing was changed",
        )


def _read_output(output: Any) -> bytes:
    if not select.select([output], [], [], _DECODER_SECONDS)[0]:
        raise UnavailableError(
            f"pg_restore has written nothing for {_DECODER_SECONDS:.0f} seconds",
            hint="try again; nothing was changed",
        )
    return bytes(output.read(_CHUNK))


def not_a_backup(file: Path, reason: str) -> InputError:
    """Return the error for a file that is not a backup, or is an incomplete or damaged backup."""
    return InputError(
        f"{file} is not a complete backup of starcast: {reason}",
        hint="use a file written by 'starcast backup'; nothing was changed",
    )
