"""Convert exceptions that no other code has handled to starcast errors.

Operating-system, file and server failures become errors with a documented exit code.
All other exceptions are reported as defects of starcast.
"""

import csv
import errno
import subprocess
import zipfile
import zlib
from json import JSONDecodeError
from tomllib import TOMLDecodeError
from xml.etree.ElementTree import ParseError

from starcast.support.errors import (
    InputError,
    LimitError,
    StarcastError,
    UnavailableError,
    is_disk_full,
)
from starcast.support.log import redact

_EXHAUSTED = {errno.EMFILE, errno.ENFILE, errno.ENOMEM}
#: Modules that define subclasses of OSError for failed connections.
_NETWORK_MODULES = {"socket", "ssl", "urllib", "http"}
#: Exceptions that decoders raise for damaged files.
_DAMAGED = (
    *(csv.Error, JSONDecodeError, TOMLDecodeError, zipfile.BadZipFile, zlib.error, ParseError),
    *(UnicodeError, EOFError),
)
#: Server of each driver, keyed by the driver's package. An exception is recognized by the package
#: that defines its class, because importing a driver is slow.
_SERVERS = {"neo4j": "Neo4j", "psycopg": "PostgreSQL", "sqlalchemy": "PostgreSQL"}
#: Value of ``report`` in `translate` for errors in a server process, which has no terminal.
LOG_LINES = "the lines of the log that 'starcast config' names"
_DOCTOR = "'starcast doctor' checks servers and programs; STARCAST_DEBUG=1 prints the details"


def translate(error: Exception, report: str) -> StarcastError:
    """Convert any exception to the StarcastError that is reported to the user.

    Args:
        error: the exception.
        report: what a bug report should include, for the hint of an unexpected error.
    """
    if isinstance(error, StarcastError):
        return error
    text = first_line(error)
    for kind in type(error).__mro__:
        if server := _SERVERS.get(_package(kind)):
            return _from_driver(server, error)
    if isinstance(error, OSError):
        return from_os_error(error)
    if isinstance(error, MemoryError):
        return LimitError("memory ran out", hint="use a smaller topology")
    if isinstance(error, RecursionError):
        return LimitError("an input is nested too deeply", hint="simplify the input")
    if isinstance(error, subprocess.SubprocessError):
        return UnavailableError(f"an external program failed: {text}", hint=_DOCTOR)
    if isinstance(error, _DAMAGED):
        return InputError(
            f"a file or text cannot be decoded: {text}",
            hint="check that the input is complete, in the right format, and UTF-8 if it is text",
        )
    return StarcastError(
        f"starcast itself failed: {type(error).__name__}: {text}",
        hint=f"please report it, with {report}",
    )


def from_os_error(error: OSError, place: str = "") -> StarcastError:
    """Convert an OSError to the StarcastError that is reported to the user.

    Args:
        error: the error.
        place: the file or stream (default: the file that the error names).
    """
    place = place or str(error.filename or "")
    reason = error.strerror or first_line(error)
    text = f"{place or 'a file'} cannot be used: {reason}"
    if is_disk_full(error):
        text = f"{place or 'the output'} cannot be written: {reason}"
        return LimitError(text, hint="free some space, or write elsewhere")
    if error.errno in _EXHAUSTED:
        return LimitError(
            text, hint="close other programs, or raise the limits that 'ulimit -a' shows"
        )
    is_network = isinstance(error, ConnectionError | TimeoutError)
    if not place and (is_network or _package(type(error)) in _NETWORK_MODULES):
        return UnavailableError(f"a connection failed: {reason}", hint=_DOCTOR)
    return InputError(text, hint="check the path, its permissions and its disk")


def first_line(error: BaseException) -> str:
    """Return the first line of an exception's message without passwords, or ``no message``.

    For an SQLAlchemy error, the message of the driver's error is used.
    """
    # SQLAlchemy's errors contain the statement with its values; the driver's own error does not.
    cause = getattr(error, "orig", None) or error
    try:
        lines = str(cause).strip().splitlines()
    except Exception:  # noqa: BLE001 - a plug-in's exception may raise another
        lines = []
    return redact(lines[0]) if lines else "no message"


def _from_driver(server: str, error: Exception) -> StarcastError:
    if server == "PostgreSQL":
        from starcast.stores.database.server_errors import describe_error  # noqa: PLC0415 - slow

        if described := describe_error(error):
            return described
    cause = getattr(error, "orig", None) or error
    text = f"{server} failed: {type(cause).__name__}: {first_line(error)}"
    return UnavailableError(text, hint=_DOCTOR)


def _package(kind: type) -> str:
    return kind.__module__.partition(".")[0]
