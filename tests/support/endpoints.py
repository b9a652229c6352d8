"""Addresses and passwords of the PostgreSQL and Neo4j servers that run in a home folder."""

from dataclasses import dataclass, field
from pathlib import Path

import psutil
from neo4j import Driver, GraphDatabase
from sqlalchemy import URL

from starcast.embedded import stack
from starcast.embedded.endpoints import embedded_graph, embedded_store
from starcast.embedded.neo4j import Neo4j
from starcast.support.progress import Silent
from starcast.support.settings import Settings


@dataclass(frozen=True)
class Endpoints:
    """Addresses and passwords of the two servers that run in a home folder."""

    neo4j_uri: str
    neo4j_password: str = field(repr=False)
    postgres_url: URL

    def driver(self) -> Driver:
        """Connect to Neo4j."""
        return GraphDatabase.driver(self.neo4j_uri, auth=(Neo4j.user, self.neo4j_password))


def endpoints(home: Path) -> Endpoints:
    """Return the endpoints of both servers of a home folder.

    Raises:
        UnavailableError: a server is not running.
    """
    graph = embedded_graph(home)
    return Endpoints(graph.uri, graph.password, embedded_store(home))


def listening(pid: int) -> set[tuple[str, int]]:
    """Return the addresses and ports on which a process listens."""
    connections = psutil.Process(pid).net_connections("inet")
    found = {each.laddr for each in connections if each.status == psutil.CONN_LISTEN}
    return {(address.ip.removeprefix("::ffff:"), address.port) for address in found}


def start_stack(settings: Settings) -> Endpoints:
    """Start the servers that are not running, and return the endpoints of both."""
    stack.up(settings, Silent())
    return endpoints(settings.home)
