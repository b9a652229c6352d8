"""The last resort for exceptions that no caller has translated, by their kind.

Mishaps of the operating system, of files and of servers become errors with a documented exit code.
Everything else is a defect of starcast, and is reported as such.
"""

import csv
import errno
import json
import os
import subprocess
import tomllib
import zipfile
import zlib
from xml.etree.ElementTree import ParseError

from starcast.support.errors import InputError, LimitError, StarcastError, UnavailableError
from starcast.support.log import redact

#: Error numbers of a full disk or an exhausted quota.
_DISK_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
#: Error numbers of exhausted memory, files or processes.
_EXHAUSTED = {errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN}
_NETWORK = {errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN, errno.EADDRNOTAVAIL}
#: Modules whose subclasses of OSError are about connections.
_NETWORK_MODULES = {"socket", "ssl", "urllib", "http"}
#: Exceptions of the decoders of files.
_DAMAGED = (
    *(csv.Error, json.JSONDecodeError, tomllib.TOMLDecodeError, zipfile.BadZipFile, zlib.error),
    *(ParseError, UnicodeError, EOFError),
)
#: Drivers are recognized by their packages, because importing them takes long.
_SERVERS = {"neo4j": "Neo4j", "psycopg": "PostgreSQL", "sqlalchemy": "PostgreSQL"}


def translate(error: Exception, report: str) -> StarcastError:
    """Return the error to report for any exception.

    Args:
        error: the exception.
        report: what to add to the report of a defect.
    """
    packages = {each.__module__.partition(".")[0] for each in type(error).__mro__}
    server = next((name for package, name in _SERVERS.items() if package in packages), None)
    match error:
        case StarcastError():
            return error
        case _ if server:
            return _from_driver(server, error)
        case OSError():
            return from_os_error(error)
        case MemoryError():
            return LimitError("memory ran out", hint="ask for a smaller topology, or free memory")
        case RecursionError():
            return LimitError("an input is nested too deeply", hint="simplify the input")
        case subprocess.SubprocessError():
            return UnavailableError(
                f"a program failed: {first_line(error)}", hint="'starcast doctor' checks programs"
            )
        case _ if isinstance(error, _DAMAGED):
            return InputError(
                f"a file or text cannot be decoded: {first_line(error)}",
                hint="check that the input is complete, in the right format, and UTF-8 if a text",
            )
    return StarcastError(
        f"starcast itself failed: {type(error).__name__}: {first_line(error)}",
        hint=f"please report it, with {report}",
    )


def from_os_error(error: OSError, place: str = "") -> StarcastError:
    """Return the error to report for an error of the operating system.

    Args:
        error: the error.
        place: the file or stream (default: the file name in the error).
    """
    reason = error.strerror or first_line(error)
    if not place and error.filename is not None:
        place = os.fsdecode(error.filename) if isinstance(error.filename, bytes) else ""
        place = place or str(error.filename)
    if error.errno in _DISK_FULL:
        return LimitError(
            f"{place or 'a file'} cannot be written: {reason}",
            hint="free some space, or write elsewhere",
        )
    if error.errno in _EXHAUSTED:
        return LimitError(
            f"the operating system refuses more resources: {': '.join(filter(None, (place, reason)))}",
            hint="end other programs, or raise the limits that 'ulimit -a' prints",
        )
    is_network = (
        isinstance(error, ConnectionError | TimeoutError)
        or error.errno in _NETWORK
        or type(error).__module__.partition(".")[0] in _NETWORK_MODULES
    )
    if is_network and not place:
        return UnavailableError(
            f"a connection failed: {reason}", hint="'starcast doctor' checks the servers"
        )
    return InputError(
        f"{place or 'a file'} cannot be used: {reason}",
        hint="check the path, its permissions and its disk",
    )


def first_line(error: BaseException) -> str:
    """Return the first line of an exception's text; it may contain no password."""
    try:
        text = str(error).strip()
    except Exception:  # noqa: BLE001 - a plug-in's exception may raise another
        text = ""
    return redact(next(iter(text.splitlines()), "no message"))


def _from_driver(server: str, error: Exception) -> StarcastError:
    # SQLAlchemy's errors contain the statement with its values; the driver's own error does not.
    cause = getattr(error, "orig", None) or error
    # SQLSTATE class 53: the server has too little memory, disk or connections.
    is_limit = (getattr(cause, "sqlstate", None) or "").startswith("53")
    kind: type[StarcastError] = LimitError if is_limit else UnavailableError
    return kind(
        f"{server} failed: {type(cause).__name__}: {first_line(cause)}",
        hint="'starcast doctor' checks the servers; STARCAST_DEBUG=1 prints the details",
    )
