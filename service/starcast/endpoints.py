"""Which servers are meant: those that the settings name, else the embedded ones in ``home``."""

from pathlib import Path

from pydantic import SecretStr
from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from starcast.embedded import stack
from starcast.errors import InputError, UnavailableError
from starcast.graph.address import GraphAddress
from starcast.settings import Settings

#: What a PostgreSQL URI begins with; we connect with psycopg whichever it is.
_POSTGRES = {"postgresql", "postgresql+psycopg", "postgres"}
_LAST_PORT = 65_535


def graph_address(settings: Settings) -> GraphAddress:
    """The Neo4j server in force.

    Raises:
        UnavailableError: it is the embedded one, which does not run, or no password is set.
    """
    if settings.neo4j_uri is None:
        uri, embedded_password = stack.graph_endpoint(settings.home)
        return GraphAddress(uri, "neo4j", embedded_password)
    password = _password(settings.neo4j_password, settings.neo4j_password_file)
    if password is None:
        raise UnavailableError(
            f"no password is set for the Neo4j server {settings.neo4j_uri}",
            hint="put it into a file and name that in STARCAST_NEO4J_PASSWORD_FILE",
        )
    return GraphAddress(settings.neo4j_uri, settings.neo4j_user, password, settings.neo4j_database)


def store_url(settings: Settings) -> URL:
    """The PostgreSQL database in force, as SQLAlchemy's URL (which hides its password when printed).

    Raises:
        InputError: the URI is none of PostgreSQL's, or its port is out of range.
        UnavailableError: it is the embedded one, which does not run.
    """
    if settings.postgres_uri is None:
        return stack.store_endpoint(settings.home)
    url = _postgres_url(settings.postgres_uri)
    password = _password(settings.postgres_password, settings.postgres_password_file)
    return url.set(drivername="postgresql+psycopg", password=password)


def _postgres_url(uri: str) -> URL:
    try:
        url = make_url(uri)
    except (ArgumentError, ValueError):  # SQLAlchemy reads a port as int() does
        raise _no_uri(uri) from None
    if url.drivername not in _POSTGRES:
        raise _no_uri(uri)
    if url.port is not None and not 1 <= url.port <= _LAST_PORT:
        raise InputError(
            f"the port {url.port} of '{uri}' is out of range",
            hint=f"ports go from 1 to {_LAST_PORT}",
        )
    return url


def _no_uri(uri: str) -> InputError:
    return InputError(
        f"'{uri}' is no PostgreSQL URI", hint="write postgresql://USER@HOST:PORT/DATABASE"
    )


def _password(value: SecretStr | None, file: Path | None) -> str | None:
    if value is not None:
        return value.get_secret_value()
    if file is None:
        return None
    try:
        return file.read_text(encoding="utf-8").strip()
    except OSError as error:
        raise UnavailableError(
            f"the password file {file} cannot be read: {error.strerror}",
            hint="check its path and its mode",
        ) from None
