"""Addresses and passwords of the running embedded servers of a home folder.

Ports are read from the folder's file ``stack.json``, which `up` writes, and passwords from its
folder ``secrets``. Nearly every command needs them, so this module imports neither the servers nor
a driver.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from starcast.embedded import processes
from starcast.embedded.home import Home, ServerProcess
from starcast.embedded.processes import LOOPBACK
from starcast.stores.servers import ROLE_NAMES, Role
from starcast.support.errors import UnavailableError

if TYPE_CHECKING:
    from sqlalchemy import URL

#: Names of the servers in messages, by their names in file names.
TITLES = {"neo4j": "Neo4j", "postgres": "PostgreSQL"}
GRAPH_USER = "neo4j"
STORE_DATABASE = "starcast"


def graph_endpoint(home: Path) -> tuple[str, str]:
    """Return the Bolt URI and password of a home's Neo4j. PostgreSQL need not be running.

    Raises:
        UnavailableError: Neo4j is not running.
    """
    return f"bolt://{LOOPBACK}:{server_port('neo4j', home)}", Home(home).password("neo4j")


def store_endpoint(home: Path, role: Role = "writer") -> "URL":
    """Return a role's URL for a home's PostgreSQL. Neo4j need not be running.

    SQLAlchemy hides the password when the URL is printed.

    Raises:
        UnavailableError: PostgreSQL is not running, or the password of the role is missing.
    """
    # Imported only here, so that graph queries do not load SQLAlchemy.
    from sqlalchemy import URL  # noqa: PLC0415

    port = server_port("postgres", home)
    stack_home = Home(home)
    file = stack_home.role_password_file(role)
    if not file.exists():
        raise UnavailableError(
            f"the embedded PostgreSQL in {stack_home.root} has no role {ROLE_NAMES[role]} yet",
            hint="run 'starcast up', which creates it",
        )
    password = stack_home.password(file.name)
    return URL.create(
        "postgresql+psycopg", ROLE_NAMES[role], password, LOOPBACK, port, STORE_DATABASE
    )


def running_servers(home: Home) -> dict[str, ServerProcess]:
    """Return the servers listed in ``stack.json`` that are alive, by name."""
    published = home.published()
    return {
        name: published[name]
        for name in TITLES
        if processes.find_server(published.get(name), processes.has_argument(home.marker(name)))
    }


def server_port(name: str, home: Path) -> int:
    """Return the port of a running server of a home, by the server's name.

    Raises:
        UnavailableError: the server is not running.
    """
    stack_home = Home(home)
    running = running_servers(stack_home)
    if name in running:
        return running[name].port
    if name == "neo4j" and stack_home.is_rebuilding:
        raise UnavailableError(
            f"the embedded Neo4j in {home} is restarting on a newly imported store: "
            f"{stack_home.activity}",
            hint="try again in a minute; 'starcast status' shows when it is running",
        )
    subject = f"the embedded {TITLES[name]}" if running else "the embedded stack"
    raise UnavailableError(f"{subject} in {home} is not running", hint="run 'starcast up'")
