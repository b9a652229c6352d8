"""Fixtures for both stores: a database with the current schema, and an empty graph store.

The graph store does not belong to a database yet.
"""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace

import pytest
from sqlalchemy import Engine

from campaign.proxy import Fault, Proxy
from starcast.ingest import Stores
from starcast.ingest.artifacts import Artifact
from starcast.stores import GraphAddress
from starcast.stores.graph.connection import Graph
from starcast.stores.graph.writer import BoltWriter

BATCH = 1_000
#: A number of rows per batch so small that every artifact of S4 takes several batches.
FEW = 10


@pytest.fixture
def graph(clean_graph: GraphAddress) -> Iterator[Graph]:
    """An open, empty graph store."""
    with Graph.open(clean_graph) as opened:
        yield opened


@pytest.fixture
def bolt(graph: Graph) -> BoltWriter:
    """A writer over Bolt that has created the constraints and indexes."""
    writer = BoltWriter(graph, FEW)
    writer.prepare()
    return writer


@pytest.fixture
def stores(engine: Engine, graph: Graph) -> Stores:
    """PostgreSQL and Neo4j as a pair of empty stores."""
    return Stores(engine, graph, BATCH)


@pytest.fixture
def few(stores: Stores) -> Stores:
    """A pair of empty stores, with a small batch size for rows."""
    return replace(stores, batch=FEW)


class PowerCut(BaseException):
    """An error that no handler catches: it leaves the stores as a killed process would."""


def at_stage(stage: str, kind: str, act: Callable[[], object]) -> Callable[[str, Artifact], None]:
    """Return a callback that calls ``act`` after a given stage for artifacts of one kind."""

    def on_stage(at: str, artifact: Artifact) -> None:
        if (at, artifact.kind) == (stage, kind):
            act()

    return on_stage


@contextmanager
def proxied(
    address: GraphAddress, fault: Fault | None = None, after: int = 0, *, forever: bool = False
) -> Iterator[tuple[Proxy, GraphAddress]]:
    """Start a `Proxy` of a graph store, and yield it with the address that connects through it."""
    scheme, _, place = address.uri.partition("://")
    host, _, port = place.partition(":")
    with closing(Proxy(int(port), fault, after, forever=forever)) as proxy:
        yield proxy, replace(address, uri=f"{scheme}://{host}:{proxy.port}")
