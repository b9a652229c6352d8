"""Exceptions of drivers, decoders and the operating system become errors of a documented kind."""

import csv
import errno
import gzip
import io
import json
import socket
import subprocess
import sys
import tomllib
import zipfile
import zlib
from pathlib import Path
from urllib.error import URLError
from xml.etree import ElementTree as ET

import neo4j.exceptions
import psycopg
import pytest
import sqlalchemy.exc

from starcast.support.failures import translate
from starcast.web.api import as_starcast_error


def raised(code: str) -> Exception:
    """Return the exception that a statement raises."""
    try:
        exec(code, dict(globals()))  # noqa: S102 - the statements of this file
    except Exception as error:  # noqa: BLE001 - any
        return error
    raise AssertionError(f"{code} raised nothing")


def os_error(number: int, file: str | None = None) -> str:
    """Return a statement that raises an error of the operating system."""
    return f"raise OSError({number}, 'reason', {file!r})"


#: Statements, exit codes, and messages.
KINDS = {
    os_error(errno.ENOSPC): (7, "a file cannot be written: reason"),
    os_error(errno.EDQUOT, "/a/b"): (7, "/a/b cannot be written: reason"),
    os_error(errno.EFBIG, "/a"): (7, "/a cannot be written: reason"),
    os_error(errno.EMFILE, "/a"): (7, "the operating system refuses more resources: /a: reason"),
    os_error(errno.ENOMEM): (7, "the operating system refuses more resources: reason"),
    os_error(errno.EIO): (2, "a file cannot be used: reason"),
    os_error(errno.EROFS, "/a"): (2, "/a cannot be used: reason"),
    os_error(errno.ELOOP, "/a"): (2, "/a cannot be used: reason"),
    os_error(errno.ECONNREFUSED): (4, "a connection failed: reason"),
    os_error(errno.EHOSTUNREACH): (4, "a connection failed: reason"),
    os_error(errno.EACCES, "/a\x1b"): (2, "/a\\x1b cannot be used: reason"),
    "open('/nowhere/x')": (2, "/nowhere/x cannot be used: No such file or directory"),
    "open(b'/nowhere/\\xff')": (2, "/nowhere/\\udcff cannot be used: No such file or directory"),
    "open('/dev/null/x')": (2, "/dev/null/x cannot be used: Not a directory"),
    "open('/tmp')": (2, "/tmp cannot be used: Is a directory"),
    f"open('/tmp/{'x' * 300}')": (2, "cannot be used: File name too long"),
    "io.open_code('/nowhere')": (2, "/nowhere cannot be used: No such file or directory"),
    "socket.create_connection(('127.0.0.1', 1), 1)": (4, "a connection failed: Connection refused"),
    "raise TimeoutError": (4, "a connection failed: no message"),
    "raise socket.gaierror(-2, 'Name or service not known')": (
        4, "a connection failed: Name or service not known",
    ),
    "raise URLError('no host')": (4, "a connection failed: <urlopen error no host>"),
    "raise BrokenPipeError(32, 'Broken pipe')": (4, "a connection failed: Broken pipe"),
    "b'\\xff'.decode()": (2, "a file or text cannot be decoded: 'utf-8' codec can't decode byte"),
    "'\\ud800'.encode()": (2, "a file or text cannot be decoded: 'utf-8' codec can't encode"),
    "json.loads('{')": (2, "a file or text cannot be decoded: Expecting property name"),
    "tomllib.loads('=')": (2, "a file or text cannot be decoded: Invalid statement"),
    "zipfile.ZipFile(io.BytesIO(b'x'))": (
        2, "a file or text cannot be decoded: File is not a zip file",
    ),
    "zlib.decompress(b'x')": (2, "a file or text cannot be decoded: Error -"),
    "gzip.decompress(gzip.compress(b'x' * 99)[:-9])": (
        2, "a file or text cannot be decoded: Compressed file ended before",
    ),
    "gzip.decompress(b'xxxx')": (2, "a file cannot be used: Not a gzipped file (b'xx')"),
    "list(csv.reader(['x' * 200_000]))": (2, "a file or text cannot be decoded: field larger"),
    "ET.fromstring('<a>')": (2, "a file or text cannot be decoded: no element found: line 1"),
    "raise MemoryError": (7, "memory ran out"),
    "raise RecursionError('deep')": (7, "an input is nested too deeply"),
    "subprocess.run([sys.executable, '-c', 'exit(3)'], check=True)": (4, "a program failed: Comm"),
    "psycopg.connect('nonsense=1')": (4, "PostgreSQL failed: ProgrammingError: invalid connection"),
    "raise psycopg.errors.DiskFull('could not extend')": (
        7, "PostgreSQL failed: DiskFull: could not extend",
    ),
    "raise psycopg.errors.UndefinedTable('no table\\nLINE 1')": (
        4, "PostgreSQL failed: UndefinedTable: no table",
    ),
    "raise psycopg.OperationalError('at postgresql://u:secret@h/d')": (
        4, "PostgreSQL failed: OperationalError: at postgresql://u:***@h/d",
    ),
    "raise sqlalchemy.exc.DBAPIError('select', {'a': 'secret'}, psycopg.errors.OutOfMemory('m'))": (
        7, "PostgreSQL failed: OutOfMemory: m",
    ),
    "raise sqlalchemy.exc.TimeoutError('pool')": (4, "PostgreSQL failed: TimeoutError: pool"),
    "raise neo4j.exceptions.ServiceUnavailable('gone')": (
        4, "Neo4j failed: ServiceUnavailable: gone",
    ),
    "raise neo4j.exceptions.ClientError('wrong')": (4, "Neo4j failed: ClientError: wrong"),
}  # fmt: skip


@pytest.mark.whole
@pytest.mark.parametrize("statement", KINDS)
def test_a_mishap_is_an_error_of_its_kind(statement: str) -> None:
    code, message = KINDS[statement]
    error = translate(raised(statement), "x")
    assert message in error.message
    assert error.exit_code == code
    assert error.hint
    assert error.message.isprintable()


@pytest.mark.parametrize(
    "defect", [TypeError("a"), KeyError("b"), AssertionError(), ValueError("c"), IndexError("d")]
)
def test_a_defect_is_reported_as_one(defect: Exception) -> None:
    error = translate(defect, "the log")
    assert error.message.startswith(f"starcast itself failed: {type(defect).__name__}: ")
    assert (error.exit_code, error.hint) == (1, "please report it, with the log")


def test_an_exception_whose_text_raises_is_reported() -> None:
    class Silent(Exception):
        def __str__(self) -> str:
            raise ZeroDivisionError

    assert translate(Silent(), "x").message == "starcast itself failed: Silent: no message"


def test_pages_and_commands_report_the_same_error() -> None:
    error = PermissionError(errno.EACCES, "Permission denied", str(Path("/a")))
    assert as_starcast_error(error).message == "/a cannot be used: Permission denied"
    assert as_starcast_error(error).message == translate(error, "").message
