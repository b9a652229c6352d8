"""Which servers are meant: those that the settings name, else the embedded ones in ``home``."""

from dataclasses import dataclass, field
from pathlib import Path

from pydantic import SecretStr
from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from starcast.errors import InputError, UnavailableError
from starcast.local import stack
from starcast.settings import Settings


@dataclass(frozen=True)
class GraphAddress:
    """A Neo4j server: where it is and how to log in."""

    uri: str
    user: str
    password: str = field(repr=False)
    database: str = "neo4j"


def graph_address(settings: Settings) -> GraphAddress:
    """The Neo4j server in force.

    Raises:
        UnavailableError: it is the embedded one, which does not run, or no password is set.
    """
    if settings.neo4j_uri is None:
        running = stack.endpoints(settings.home)
        return GraphAddress(running.neo4j_uri, "neo4j", running.neo4j_password)
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
        InputError: the URI is none.
        UnavailableError: it is the embedded one, which does not run.
    """
    if settings.postgres_uri is None:
        return stack.endpoints(settings.home).postgres_url
    try:
        url = make_url(settings.postgres_uri)
    except ArgumentError:
        raise InputError(
            f"'{settings.postgres_uri}' is no PostgreSQL URI", hint="write postgresql://USER@HOST:PORT/DATABASE"
        ) from None
    password = _password(settings.postgres_password, settings.postgres_password_file)
    return url.set(drivername="postgresql+psycopg", password=password)


def _password(value: SecretStr | None, file: Path | None) -> str | None:
    if value is not None:
        return value.get_secret_value()
    if file is None:
        return None
    try:
        return file.read_text(encoding="utf-8").strip()
    except OSError as error:
        raise UnavailableError(
            f"the password file {file} cannot be read: {error.strerror}", hint="check its path and its mode"
        ) from None
