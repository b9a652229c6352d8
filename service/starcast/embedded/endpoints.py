"""Addresses of the two databases, from the settings or from the embedded servers.

Nearly every command needs the addresses, so this module imports neither the servers nor a driver.
"""

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starcast.embedded.home import GRAPH_USER, STORE_DATABASE, Home, read_secret
from starcast.embedded.system import LOOPBACK, translate_os_errors
from starcast.stores import ROLE_NAMES, GraphAddress, Role
from starcast.support.errors import InputError, UnavailableError

if TYPE_CHECKING:
    from pydantic import SecretStr
    from sqlalchemy import URL

    from starcast.support.settings import Settings

#: The driver in URLs for SQLAlchemy, and the URI schemes that users may write.
_DRIVER = "postgresql+psycopg"
_POSTGRES_SCHEMES = {"postgresql", _DRIVER, "postgres"}
_LAST_PORT = 65_535


def graph_address(settings: "Settings") -> GraphAddress:
    """Return the address of the Neo4j server.

    Raises:
        UnavailableError: the embedded server is not running, no password is set, or the password
            file cannot be used.
    """
    if settings.neo4j_uri is None:
        return embedded_graph(settings.home)
    password = _password(settings.neo4j_password, settings.neo4j_password_file)
    if password is None:
        raise UnavailableError(
            f"no password is set for the Neo4j server {settings.neo4j_uri}",
            hint="write the password to a file, and set STARCAST_NEO4J_PASSWORD_FILE to its path",
        )
    return GraphAddress(settings.neo4j_uri, settings.neo4j_user, password, settings.neo4j_database)


def store_url(settings: "Settings") -> "URL":
    """Return the URL of the PostgreSQL database. The URL's string form hides the password.

    Raises:
        InputError: the URI in the settings is not a PostgreSQL URI, or its port is out of range.
        UnavailableError: the embedded server is not running, or a password file is not readable.
    """
    if settings.postgres_uri is None:
        return embedded_store(settings.home)
    url = _postgres_url(settings.postgres_uri)
    password = _password(settings.postgres_password, settings.postgres_password_file)
    return url.set(drivername=_DRIVER, password=password)


def migration_url(settings: "Settings") -> "URL":
    """Return the URL of the PostgreSQL database for the role that owns and migrates the tables.

    Raises:
        InputError: the URI in the settings is not a PostgreSQL URI, or its port is out of range.
        UnavailableError: the embedded server is not running, or a password file is not readable.
    """
    if settings.postgres_uri is None:
        return embedded_store(settings.home, "owner")
    url = store_url(settings)
    if settings.postgres_owner is None:
        return url
    password = _password(settings.postgres_owner_password, settings.postgres_owner_password_file)
    return url._replace(username=settings.postgres_owner, password=password)


def embedded_graph(home: Path) -> GraphAddress:
    """Return the address of a home's embedded Neo4j; PostgreSQL need not be running.

    Raises:
        UnavailableError: Neo4j is not running, or its password file cannot be read or could have
            been replaced by another user.
    """
    stack_home = Home(home)
    uri = f"bolt://{LOOPBACK}:{stack_home.port('neo4j')}"
    return GraphAddress(uri, GRAPH_USER, stack_home.password("neo4j"))


def embedded_store(home: Path, role: Role = "writer") -> "URL":
    """Return the URL of a home's embedded PostgreSQL for a role; Neo4j need not be running.

    Raises:
        UnavailableError: PostgreSQL is not running, or the role's password file is missing, cannot
            be read, or could have been replaced by another user.
    """
    # Imported only here, so that graph queries do not load SQLAlchemy.
    from sqlalchemy import URL  # noqa: PLC0415

    stack_home = Home(home)
    port = stack_home.port("postgres")
    file = stack_home.role_password_file(role)
    with translate_os_errors(stack_home.root):
        is_missing = not file.exists()
    if is_missing:
        raise UnavailableError(
            f"the password of the role {ROLE_NAMES[role]} is missing in {stack_home.root}",
            hint="run 'starcast up', which creates the role",
        )
    password = stack_home.password(file.name)
    return URL.create(_DRIVER, ROLE_NAMES[role], password, LOOPBACK, port, STORE_DATABASE)


def _postgres_url(uri: str) -> "URL":
    # Imported only here, so that graph queries load neither SQLAlchemy nor libpq.
    from psycopg import ProgrammingError, pq  # noqa: PLC0415
    from psycopg.conninfo import conninfo_to_dict  # noqa: PLC0415
    from sqlalchemy import URL  # noqa: PLC0415

    scheme, separator, rest = uri.partition("://")
    hint = "write postgresql://USER@HOST:PORT/DATABASE"
    if scheme not in _POSTGRES_SCHEMES or not separator:
        raise InputError(f"'{uri}' is not a PostgreSQL URI", hint=hint)
    try:
        # libpq itself parses the URI, so all forms are accepted, such as sockets and lists of
        # hosts.
        given: dict[str, Any] = conninfo_to_dict(f"postgresql://{rest}")
    except ProgrammingError as error:
        reason = str(error).strip()
        if reason.startswith("invalid URI query parameter"):
            hint = "remove the parameter: PostgreSQL's library libpq does not know it"
        raise InputError(f"'{uri}' is not a PostgreSQL URI: {reason}", hint=hint) from None
    if "service" not in given:
        # Parts that the URI omits come from environment variables such as PGHOST, or are defaults.
        defaults = {each.keyword.decode(): each.val for each in pq.Conninfo.get_defaults()}
        known = {name: os.fsdecode(defaults[name] or b"") for name in ("user", "host", "port")}
        given = {name: value for name, value in known.items() if value} | given
        database = os.fsdecode(defaults["dbname"] or b"")
        given.setdefault("dbname", database or given.get("user", ""))
    ports = str(given.pop("port", "")).split(",")
    for port in filter(None, ports):
        if not port.isdecimal():
            raise InputError(
                f"'{uri}' is not a PostgreSQL URI: its port '{port}' is not a number", hint=hint
            )
        if not 1 <= int(port) <= _LAST_PORT:
            raise InputError(
                f"the port {port} of '{uri}' is out of range",
                hint=f"choose a port from 1 to {_LAST_PORT}",
            )
    user, database = given.pop("user", None), given.pop("dbname", None)
    hosts = str(given.get("host", "")).split(",")
    if len(hosts) == 1 and len(ports) == 1:
        number = int(ports[0]) if ports[0] else None
        # A socket path, or an IPv6 address with a zone, can be written only as a URL parameter.
        host = given.pop("host", None) if re.fullmatch(r"[\w.:-]+", hosts[0]) else None
        return URL.create(_DRIVER, user, None, host, number, database, given)
    # libpq uses a single port for all hosts, whereas SQLAlchemy needs a port for each host.
    given["port"] = ",".join(ports * len(hosts) if len(ports) == 1 else ports)
    return URL.create(_DRIVER, user, None, None, None, database, given)


def _password(value: "SecretStr | None", file: Path | None) -> str | None:
    if value is not None:
        return value.get_secret_value()
    return None if file is None else read_secret(file)
