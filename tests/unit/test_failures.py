"""Exceptions of drivers, decoders and the operating system become errors of a documented kind."""

import csv
import errno
import gzip
import io
import json
import socket
import subprocess
import tomllib
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from urllib.error import URLError
from xml.etree import ElementTree as ET

import psycopg
import pytest
import sqlalchemy.exc
from neo4j.exceptions import ClientError, ServiceUnavailable

from starcast.stores.failures import translate
from starcast.web.api.problems import describe_problem


def os_error(number: int, file: str | None = None) -> OSError:
    """Return an error of the operating system."""
    return OSError(number, "reason", file)


def pg_error(kind: type[psycopg.Error], text: str = "m") -> Exception:
    """Return a PostgreSQL error, wrapped in an exception of SQLAlchemy."""
    return sqlalchemy.exc.DBAPIError("select", {"a": "secret"}, kind(text))


UNDECODABLE = "a file or text cannot be decoded: "
OS_ERRORS: list[tuple[Exception, int, str]] = [
    (os_error(errno.ENOSPC), 7, "the output cannot be written: reason"),
    (os_error(errno.EDQUOT, "/a/b"), 7, "/a/b cannot be written: reason"),
    (os_error(errno.EFBIG, "/a"), 7, "/a cannot be written: reason"),
    (os_error(errno.EMFILE, "/a"), 7, "/a cannot be used: reason"),
    (os_error(errno.ENOMEM), 7, "a file cannot be used: reason"),
    (os_error(errno.EIO), 2, "a file cannot be used: reason"),
    (os_error(errno.EROFS, "/a"), 2, "/a cannot be used: reason"),
    (os_error(errno.ELOOP, "/a"), 2, "/a cannot be used: reason"),
    (os_error(errno.EACCES, "/a\x1b"), 2, r"/a\x1b cannot be used: reason"),
    (os_error(errno.ECONNREFUSED), 4, "a connection failed: reason"),
    (TimeoutError(), 4, "a connection failed: no message"),
    (socket.gaierror(-2, "Name not known"), 4, "a connection failed: Name not known"),
    (URLError("no host"), 4, "a connection failed: <urlopen error no host>"),
    (BrokenPipeError(32, "Broken pipe"), 4, "a connection failed: Broken pipe"),
]
SERVER_ERRORS: list[tuple[Exception, int, str]] = [
    (pg_error(psycopg.errors.DiskFull), 7, "PostgreSQL at its address has a full disk: m"),
    (pg_error(psycopg.errors.OutOfMemory), 7, "PostgreSQL at its address ran out of memory: m"),
    (
        pg_error(psycopg.errors.UndefinedTable, "a\nb"),
        6,
        "PostgreSQL at its address does not have the tables that this starcast expects: a",
    ),
    (
        pg_error(psycopg.errors.ForeignKeyViolation),
        6,
        "PostgreSQL at its address rejected a row: m",
    ),
    (
        pg_error(psycopg.errors.SyntaxError),
        4,
        "PostgreSQL failed: SyntaxError: m",
    ),
    (
        psycopg.OperationalError("at postgresql://u:secret@h/d"),
        4,
        "PostgreSQL at its address cannot be reached: at postgresql://u:***@h/d",
    ),
    (sqlalchemy.exc.TimeoutError("pool"), 4, "PostgreSQL failed: TimeoutError: pool"),
    (ServiceUnavailable("gone"), 4, "Neo4j failed: ServiceUnavailable: gone"),
    (ClientError("wrong"), 4, "Neo4j failed: ClientError: wrong"),
    (MemoryError(), 7, "memory ran out"),
    (RecursionError("deep"), 7, "an input is nested too deeply"),
]
#: Calls that raise an exception, each with the exit code and a part of the reported message.
CALLS: list[tuple[Callable[[], object], int, str]] = [
    (lambda: Path("/nowhere/x").read_bytes(), 2, "/nowhere/x cannot be used: No such file or"),
    (lambda: Path("/dev/null/x").read_bytes(), 2, "/dev/null/x cannot be used: Not a directory"),
    (lambda: Path("/").read_bytes(), 2, "/ cannot be used: Is a directory"),
    (lambda: Path("/" + "x" * 300).read_bytes(), 2, "cannot be used: File name too long"),
    (lambda: socket.create_connection(("127.0.0.1", 1), 1), 4, "a connection failed: Connection"),
    (b"\xff".decode, 2, f"{UNDECODABLE}'utf-8' codec can't decode byte 0xff"),
    ("\ud800".encode, 2, f"{UNDECODABLE}'utf-8' codec can't encode"),
    (lambda: json.loads("{"), 2, f"{UNDECODABLE}Expecting property name"),
    (lambda: tomllib.loads("="), 2, f"{UNDECODABLE}Invalid statement"),
    (lambda: zipfile.ZipFile(io.BytesIO(b"x")), 2, f"{UNDECODABLE}File is not a zip file"),
    (lambda: zlib.decompress(b"x"), 2, f"{UNDECODABLE}Error -"),
    (lambda: gzip.decompress(b"xxxx"), 2, "a file cannot be used: Not a gzipped file (b'xx')"),
    (lambda: gzip.decompress(gzip.compress(b"x")[:-9]), 2, f"{UNDECODABLE}Compressed file ended"),
    (lambda: list(csv.reader(["x" * 200_000])), 2, f"{UNDECODABLE}field larger than field limit"),
    (lambda: ET.XML("<a>"), 2, f"{UNDECODABLE}no element found: line 1"),
    (lambda: subprocess.run(["false"], check=True), 4, "an external program failed: Command"),
    (lambda: psycopg.connect("no=1"), 4, "PostgreSQL failed: ProgrammingError: invalid connection"),
]


@pytest.mark.parametrize(("error", "code", "message"), OS_ERRORS + SERVER_ERRORS)
def test_exceptions_of_servers_and_the_operating_system_become_documented_errors(
    error: Exception, code: int, message: str
) -> None:
    check(error, code, message)
    assert translate(error, "x").message == message


@pytest.mark.parametrize(("call", "code", "message"), CALLS)
def test_exceptions_of_failed_calls_become_documented_errors(
    call: Callable[[], object], code: int, message: str
) -> None:
    with pytest.raises(Exception) as failure:  # noqa: PT011 - any exception
        call()
    check(failure.value, code, message)


def check(error: BaseException, code: int, message: str) -> None:
    """Check the message and the exit code of the error that is reported for an exception."""
    assert isinstance(error, Exception)
    reported = translate(error, "x")
    assert message in reported.message
    assert reported.exit_code == code
    assert reported.hint
    assert reported.message.isprintable()


@pytest.mark.parametrize(
    "defect", [TypeError("a"), KeyError("b"), AssertionError(), ValueError("c"), IndexError("d")]
)
def test_a_defect_of_starcast_is_reported_as_an_internal_error(defect: Exception) -> None:
    error = translate(defect, "the log")
    assert error.message.startswith(f"starcast itself failed: {type(defect).__name__}: ")
    assert (error.exit_code, error.hint) == (1, "please report it, with the log")


def test_an_exception_whose_str_method_raises_an_exception_is_reported() -> None:
    class SilentError(Exception):
        def __str__(self) -> str:
            raise ZeroDivisionError

    assert translate(SilentError(), "x").message.endswith("failed: SilentError: no message")


def test_web_pages_and_commands_report_the_same_error() -> None:
    error = PermissionError(errno.EACCES, "Permission denied", str(Path("/a")))
    assert describe_problem(error, "/x").detail == "/a cannot be used: Permission denied"
    assert describe_problem(error, "/x").detail == translate(error, "").message
