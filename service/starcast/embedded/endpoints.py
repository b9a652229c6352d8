"""Addresses of the two databases: those in the settings, or else those of the embedded servers."""

from pathlib import Path
from typing import TYPE_CHECKING

from starcast.embedded import addresses
from starcast.stores.servers import GraphAddress
from starcast.support.errors import InputError, UnavailableError

if TYPE_CHECKING:
    from pydantic import SecretStr
    from sqlalchemy import URL

    from starcast.support.settings import Settings

#: Accepted schemes of a PostgreSQL URI; the driver is always psycopg.
_POSTGRES_SCHEMES = {"postgresql", "postgresql+psycopg", "postgres"}
_LAST_PORT = 65_535


def graph_address(settings: "Settings") -> GraphAddress:
    """Return the address of the Neo4j server.

    Raises:
        UnavailableError: the embedded server is not running, or no password is set.
    """
    if settings.neo4j_uri is None:
        uri, embedded_password = addresses.graph_endpoint(settings.home)
        return GraphAddress(uri, "neo4j", embedded_password)
    password = _password(settings.neo4j_password, settings.neo4j_password_file)
    if password is None:
        raise UnavailableError(
            f"no password is set for the Neo4j server {settings.neo4j_uri}",
            hint="write it to a file and name the file in STARCAST_NEO4J_PASSWORD_FILE",
        )
    return GraphAddress(settings.neo4j_uri, settings.neo4j_user, password, settings.neo4j_database)


def store_url(settings: "Settings") -> "URL":
    """Return the URL of the PostgreSQL database; SQLAlchemy hides its password when printed.

    Raises:
        InputError: the URI is not a PostgreSQL URI, or its port is out of range.
        UnavailableError: the embedded server is not running.
    """
    if settings.postgres_uri is None:
        return addresses.store_endpoint(settings.home)
    url = _postgres_url(settings.postgres_uri)
    password = _password(settings.postgres_password, settings.postgres_password_file)
    return url.set(drivername="postgresql+psycopg", password=password)


def migration_url(settings: "Settings") -> "URL":
    """Return the URL of the PostgreSQL database for the owner role, which migrates and restores it.

    Raises:
        InputError, UnavailableError: as for `store_url`.
    """
    if settings.postgres_uri is None:
        return addresses.store_endpoint(settings.home, "owner")
    url = store_url(settings)
    if settings.postgres_owner is None:
        return url
    password = _password(settings.postgres_owner_password, settings.postgres_owner_password_file)
    return url._replace(username=settings.postgres_owner, password=password)


def _postgres_url(uri: str) -> "URL":
    # Imported only here, so that graph queries do not load SQLAlchemy.
    from sqlalchemy import make_url  # noqa: PLC0415
    from sqlalchemy.exc import ArgumentError  # noqa: PLC0415

    try:
        url = make_url(uri)
    except (ArgumentError, ValueError):  # ValueError: the port is not a number
        raise _invalid_uri(uri) from None
    if url.drivername not in _POSTGRES_SCHEMES:
        raise _invalid_uri(uri)
    if url.port is not None and not 1 <= url.port <= _LAST_PORT:
        raise InputError(
            f"the port {url.port} of '{uri}' is out of range",
            hint=f"valid ports are 1 to {_LAST_PORT}",
        )
    return url


def _invalid_uri(uri: str) -> InputError:
    return InputError(
        f"'{uri}' is not a PostgreSQL URI", hint="write postgresql://USER@HOST:PORT/DATABASE"
    )


def _password(value: "SecretStr | None", file: Path | None) -> str | None:
    if value is not None:
        return value.get_secret_value()
    if file is None:
        return None
    try:
        return file.read_text(encoding="utf-8").strip()
    except OSError as error:
        raise UnavailableError(
            f"the password file {file} cannot be read: {error.strerror}",
            hint="check path and permissions",
        ) from None
