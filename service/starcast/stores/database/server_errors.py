"""Convert errors of PostgreSQL and of its driver to starcast errors.

The SQLSTATE, the server's error code, determines the error class. While connecting, psycopg
receives no SQLSTATE, so the SQLSTATE is derived from the server's message. The entire message is
compared with known forms, because a single word could be part of a name.
"""

import re
from itertools import zip_longest
from typing import Any

import psycopg
from psycopg.conninfo import make_conninfo
from sqlalchemy import URL
from sqlalchemy.exc import DataError, DBAPIError

from starcast.stores import ROLE_NAMES
from starcast.support.errors import (
    BusyError,
    InputError,
    LimitError,
    RejectedError,
    StarcastError,
    UnavailableError,
)
from starcast.support.log import redact

LOCK_NOT_AVAILABLE = "55P03"
TOO_MANY_CONNECTIONS = "53300"
_NO_RIGHT = "42501"
_CONNECTION_FAILURE = "08006"
_UNTRANSLATABLE = "22P05"
_OTHER_TABLES = "does not have the tables that this starcast expects"
_LOGIN_HINT = (
    "write the user's password to a file, which STARCAST_POSTGRES_PASSWORD_FILE names (for the "
    "owner of the tables, STARCAST_POSTGRES_OWNER_PASSWORD_FILE); 'starcast up' sets the passwords "
    "of the embedded PostgreSQL again"
)
_CHECK_TABLES = "run 'starcast db check'; another program or version has changed the tables"
#: Pattern of the text before the reason for a failed connection, written by psycopg and libpq. If
#: the reason is a message from the server, this text ends with the severity (in the server's
#: language), a colon and two spaces.
_ADDRESS = re.compile(
    r"(connection (failed|is bad): )?"
    r"(connection to server (at \".*?\"( \(.*?\))?, port \d+|on socket \".*?\") failed: )?"
    r"([^\s:]+:  )?"
)
#: Patterns of the messages with which servers, poolers and libpq refuse a connection, by SQLSTATE.
_LOGIN_FORMS = {
    "28000": r"\S+ authentication failed.*|role \".*\" (does not exist|is not permitted to log in)"
    r"|no pg_hba\.conf entry .*|pg_hba\.conf rejects .*|no such user.*"
    r"|fe_sendauth: no password supplied",
    "3D000": r"database \".*\" does not exist|no such database: .*",
    _NO_RIGHT: r"permission denied for database .*",
    TOO_MANY_CONNECTIONS: r"sorry, too many clients .*|too many connections for \w+ \".*"
    r"|remaining connection slots .*|no more connections allowed.*",
}
#: SQLSTATE prefixes, each with the error class, the words between the server's address and the
#: server's own message, and the hint. The first matching prefix is used.
# fmt: off
_KINDS: tuple[tuple[str, type[StarcastError], str, str], ...] = (
    ("28", UnavailableError, "refuses the login of '{user}'",
     _LOGIN_HINT),
    ("3D000", UnavailableError, "has no database '{database}'", "create it: createdb {database}"),
    (_NO_RIGHT, UnavailableError, "refuses '{user}'",
     "log in as another role: {writer} may store and delete, {owner} may migrate"),
    ("25006", UnavailableError, "does not accept writes of '{user}'",
     "name the primary server, or set default_transaction_read_only to off for the role"),
    (TOO_MANY_CONNECTIONS, UnavailableError, "has no free connection for '{user}'",
     "close connections, or raise max_connections or the role's or database's CONNECTION LIMIT"),
    ("53100", LimitError, "has a full disk",
     "free some space on the server's disk, then run the same command again"),
    ("53", LimitError, "ran out of memory", "request less data, or give the server more memory"),
    ("54", LimitError, "rejected a statement that exceeds its limits", "request less data"),
    ("57014", LimitError, "stopped a statement",
     "run the same command again; the role's or database's statement_timeout may be too low"),
    ("40", BusyError, "canceled one of two conflicting transactions",
     "run the same command again"),
    (LOCK_NOT_AVAILABLE, BusyError, "stopped waiting for another transaction", "try again later"),
    ("42P01", RejectedError, _OTHER_TABLES, _CHECK_TABLES),
    ("42703", RejectedError, _OTHER_TABLES, _CHECK_TABLES),
    ("3F000", RejectedError, "has no schema for the tables of '{user}'",
     "create the schema that search_path names, or set search_path for the role"),
    (_UNTRANSLATABLE, RejectedError, "cannot store a character in '{database}'",
     "move the store to a database with the encoding UTF8: createdb -E UTF8 -T template0 NAME"),
    ("22", InputError, "rejected a value", "correct the value"),
    ("23", RejectedError, "rejected a row",
     "run the same command again; another program may have changed the store meanwhile"),
    *((state, UnavailableError, "failed", "see the log of the server")
      for state in ("58", "F0", "XX")),
    *((state, UnavailableError, "cannot be reached",
       "start it ('starcast up' starts the embedded PostgreSQL), or correct STARCAST_POSTGRES_URI")
      for state in ("08", "25P03", "25P04", "57P")),
)
# fmt: on
#: Hints for a missing privilege, by the beginning of the server's message.
_RIGHTS = {
    "permission denied for schema": "grant usage on the schema to '{user}'; 'starcast db upgrade'"
    " also needs create on the schema",
    "permission denied for database": "grant connect on the database '{database}' to '{user}'",
    "must be owner of": "name the role that owns the tables in STARCAST_POSTGRES_OWNER",
}


def describe_error(error: Exception, url: URL | None = None) -> StarcastError | None:
    """Convert a PostgreSQL or driver error to a StarcastError that quotes the server's message.

    Args:
        error: an exception raised by SQLAlchemy or psycopg.
        url: the database's URL, whose address is used if the error contains no address.

    Returns:
        The error to raise; None for an error of another kind, such as an invalid SQL statement.
    """
    cause = error.orig if isinstance(error, DBAPIError) else error
    # Python resolves the host name. For an invalid name, it raises a UnicodeError whose encoding is
    # "idna" or not set.
    if url and isinstance(cause, UnicodeError) and getattr(cause, "encoding", "idna") == "idna":
        return UnavailableError(
            f"PostgreSQL at {describe_address(url)} cannot be reached: {cause}",
            hint="check the host in the URI",
        )
    if not isinstance(cause, psycopg.Error):
        return None
    state, reason = read_reason(cause)
    is_lost = isinstance(error, DBAPIError) and error.connection_invalidated
    if is_lost or (isinstance(cause, psycopg.OperationalError) and not state):
        state = state or _CONNECTION_FAILURE
    for beginning, kind, words, hint in _KINDS:
        if state.startswith(beginning):
            place, user, database = _name_target(url, cause)
            rights = (right for start, right in _RIGHTS.items() if reason.startswith(start))
            advice = next(rights, hint) if state == _NO_RIGHT else hint
            names = ROLE_NAMES | {"user": user, "database": database}
            message = f"PostgreSQL at {place} {words.format(**names)}: {redact(reason)}"
            return kind(message, hint=advice.format(**names))
    return None


def is_about_values(error: Exception) -> bool:
    """Return whether an error means that a value or a row was rejected.

    Only the caller knows the origin of the value, and can therefore explain such an error. For a
    character that the database's encoding lacks, the result is False, because `describe_error`
    explains this error.
    """
    state = getattr(getattr(error, "orig", error), "sqlstate", None) or ""
    if state == _UNTRANSLATABLE:
        return False
    return isinstance(error, DataError | psycopg.DataError) or state.startswith("23")


def read_reason(error: psycopg.Error) -> tuple[str, str]:
    """Return an error's SQLSTATE ("" if unknown), and the first line of the server's message.

    If a connection fails, psycopg receives no SQLSTATE, but only a text with the server's address
    and message. The SQLSTATE is then derived from the form of the message.
    """
    text = str(error).strip()
    if error.sqlstate:
        return error.sqlstate, (error.diag.message_primary or text).partition("\n")[0]
    if isinstance(error, psycopg.DataError):
        return "22000", text
    address = _ADDRESS.match(text)
    reason = text[address.end() if address else 0 :].partition("\n")[0]
    states = (state for state, form in _LOGIN_FORMS.items() if re.fullmatch(form, reason))
    return next(states, ""), reason


def _name_target(url: URL | None, error: psycopg.Error) -> tuple[str, str, str]:
    """Return the address, user name and database name of a PostgreSQL connection.

    The values come from libpq if the connection failed, and otherwise from the URL. Without a URL,
    the result has words such as ``the user`` instead.
    """
    if error.pgconn is not None and error.pgconn.port:
        known = error.pgconn
        parts = (known.host, known.port, known.user, known.db)
        host, port, user, database = (part.decode(errors="replace") for part in parts)
        return f"{host or 'localhost'}:{port}", user, database
    if url is None:
        return "its address", "the user", "the database"
    return describe_address(url), str(url.username), str(url.database)


def sqlstate(error: DBAPIError) -> str:
    """Return the SQLSTATE of a server's error, or an empty string for an error of the driver."""
    return getattr(error.orig, "sqlstate", None) or ""


def conninfo(url: URL, **options: str | int) -> str:
    """Convert a database's URL to a libpq connection string, with values quoted where necessary.

    Args:
        url: the database's URL.
        options: further parameters of libpq.
    """
    named = url.translate_connect_args(username="user", database="dbname")
    parts: dict[str, Any] = {**named, **url.query, **options}
    return make_conninfo("", **parts)


def describe_address(url: URL) -> str:
    """Return the hosts and ports in a database's URL, such as ``db.example:5432``.

    A host that is a path is the folder of a Unix socket.
    """
    hosts = str(url.host or url.query.get("host") or "localhost").split(",")
    ports = str(url.port or url.query.get("port") or "").split(",")
    return ",".join(f"{host}:{port or 5432}" for host, port in zip_longest(hosts, ports))
