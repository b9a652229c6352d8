"""Addresses and passwords of the PostgreSQL and Neo4j servers that run in a home folder."""

from dataclasses import dataclass, field
from pathlib import Path

from sqlalchemy import URL

from starcast.embedded import stack
from starcast.embedded.endpoints import embedded_graph, embedded_store
from starcast.support.progress import Silent
from starcast.support.settings import Settings


@dataclass(frozen=True)
class Endpoints:
    """Addresses and passwords of the two servers that run in a home folder."""

    neo4j_uri: str
    neo4j_password: str = field(repr=False)
    postgres_url: URL


def endpoints(home: Path) -> Endpoints:
    """Return the endpoints of both servers of a home folder.

    Raises:
        UnavailableError: a server is not running.
    """
    graph = embedded_graph(home)
    return Endpoints(graph.uri, graph.password, embedded_store(home))


def start_stack(settings: Settings) -> Endpoints:
    """Start the servers that are not running, and return the endpoints of both."""
    stack.up(settings, Silent())
    return endpoints(settings.home)
