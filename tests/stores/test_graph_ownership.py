"""Graph ownership: a PostgreSQL database claims an empty graph; other graphs are not changed."""

import uuid
from threading import Barrier

import pytest

from starcast.stores.graph import audit
from starcast.stores.graph.audit import OutdatedSchemaError, check_ownership, pair, read_owner
from starcast.stores.graph.connection import Graph
from starcast.stores.graph.schema import STORE, VERSION
from starcast.stores.graph.writer import BoltWriter
from starcast.support.errors import UnavailableError
from support.checks import check_nodes, counts

OURS, OTHER = uuid.UUID(int=1), uuid.UUID(int=2)


@pytest.fixture(autouse=True)
def _constraints(bolt: BoltWriter) -> None:
    """Create the constraints, as any ingest does."""
    bolt.prepare()


def test_an_empty_graph_is_claimed_once(graph: Graph) -> None:
    """A second claim finds the graph already paired with the database."""
    pair(graph, OURS)
    pair(graph, OURS)
    assert check_nodes(graph, "Store", ("id", "schema")) == {(str(OURS), VERSION)}
    check_ownership(graph, OURS)


def test_checking_an_empty_graph_does_not_claim_it(graph: Graph) -> None:
    """The check reports the graph as empty."""
    assert read_owner(graph) is None
    with pytest.raises(UnavailableError, match="is empty"):
        check_ownership(graph, OURS)
    assert counts(graph) == (0, 0)


@pytest.mark.parametrize(
    ("theirs", "named"),
    [
        ("CREATE (:Person {name: 'Ada'})-[:KNOWS]->(:Person:Author)", ":Author, :Person"),
        ("CREATE (:Node {rank: 0}), (:Topology {spec: 'mine'})", ":Node, :Topology"),
        ("CREATE ({name: 'nobody'})", "nodes without a label"),
        ("CREATE (:Store {name: 'a shop', id: 7})", ":Store"),
    ],
)
def test_a_foreign_graph_is_refused_and_not_changed(graph: Graph, theirs: str, named: str) -> None:
    """The error names the labels of the graph, even if they equal labels of starcast."""
    graph.write(theirs)
    before = counts(graph)
    for function in (pair, check_ownership):
        with pytest.raises(UnavailableError, match="belongs to another program") as caught:
            function(graph, OURS)
        assert named in caught.value.message
        assert "a Neo4j database of its own" in caught.value.hint
    assert counts(graph) == before


def test_a_graph_of_another_database_is_refused(graph: Graph) -> None:
    """The error names both ids and the settings to check, even if the schema is older."""
    pair(graph, OTHER)
    for version in (VERSION, 1):
        graph.write("MATCH (s:Store) SET s.schema = $version", {"version": version})
        with pytest.raises(UnavailableError, match="another PostgreSQL database") as caught:
            pair(graph, OURS)
        assert str(OURS) in caught.value.message
        assert str(OTHER) in caught.value.message
        assert "STARCAST_POSTGRES_URI" in caught.value.hint
    assert check_nodes(graph, "Store", ("id",)) == {(str(OTHER),)}


@pytest.mark.parametrize(
    ("version", "hint"),
    [(99, "update starcast"), (1, "starcast graph rebuild"), (0, "starcast graph rebuild")],
)
def test_a_graph_of_another_schema_version_is_refused(
    graph: Graph, version: int, hint: str
) -> None:
    """A newer schema requires a newer starcast. A graph with an older schema can be rebuilt."""
    pair(graph, OURS)
    graph.write("MATCH (s:Store) SET s.schema = $version", {"version": version})
    with pytest.raises(UnavailableError, match=f"has schema {version}") as caught:
        pair(graph, OURS)
    assert hint in caught.value.hint
    assert isinstance(caught.value, OutdatedSchemaError) == (version < VERSION)


def test_one_of_several_concurrent_pairings_succeeds(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Several databases find a new graph empty at the same time, before it has constraints."""
    for index in STORE.indexes:
        graph.write(f"DROP CONSTRAINT {index.name}")
    stores = [uuid.UUID(int=number) for number in range(1, 5)]
    all_found_it_empty = Barrier(len(stores))
    check_empty = audit._check_empty

    def check_and_wait(graph: Graph) -> None:
        check_empty(graph)
        all_found_it_empty.wait(timeout=60)

    monkeypatch.setattr(audit, "_check_empty", check_and_wait)
    with graph.concurrent(len(stores)) as pool:
        pairings = [pool.submit(pair, graph, store) for store in stores]
    errors = [error for result in pairings if (error := result.exception())]
    assert len(errors) == len(stores) - 1
    assert all("another PostgreSQL database" in str(error) for error in errors)
    assert len(check_nodes(graph, "Store", ("id", "schema"))) == 1
