"""Whose graph it is: an empty one is taken, our own is known again, everybody else's is left alone."""

import uuid

import pytest

from starcast.errors import UnavailableError
from starcast.graph.connection import Graph
from starcast.graph.ownership import check_ownership, claim, read_owner
from starcast.graph.writer import BoltWriter
from support.checks import check_nodes, counts

OURS, OTHER = uuid.UUID(int=1), uuid.UUID(int=2)


@pytest.fixture(autouse=True)
def _constraints(bolt: BoltWriter) -> None:
    """The constraints are there, as after any ingest."""
    bolt.prepare()


def test_an_empty_graph_is_taken_once(graph: Graph) -> None:
    """The second time it is known."""
    assert claim(graph, OURS)
    assert not claim(graph, OURS)
    assert check_nodes(graph, "Store", ("id", "schema")) == {(str(OURS), 1)}
    check_ownership(graph, OURS)


def test_an_empty_graph_is_nobody_s(graph: Graph) -> None:
    """Checking takes nothing."""
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
def test_a_foreign_graph_is_refused_untouched(graph: Graph, theirs: str, named: str) -> None:
    """Its labels are named, even where they look like ours."""
    graph.write(theirs)
    before = counts(graph)
    for ask in (claim, check_ownership):
        with pytest.raises(UnavailableError, match="is not ours") as caught:
            ask(graph, OURS)
        assert named in caught.value.message
        assert caught.value.hint
    assert counts(graph) == before


def test_a_graph_of_another_database_is_refused(graph: Graph) -> None:
    """Both ids are told, and which settings to look at."""
    claim(graph, OTHER)
    with pytest.raises(UnavailableError, match="another PostgreSQL database") as caught:
        claim(graph, OURS)
    assert str(OURS) in caught.value.message
    assert str(OTHER) in caught.value.message
    assert "STARCAST_POSTGRES_URI" in caught.value.hint
    assert check_nodes(graph, "Store", ("id",)) == {(str(OTHER),)}


@pytest.mark.parametrize(("version", "hint"), [(99, "update starcast"), (0, "ingest again")])
def test_another_schema_is_refused(graph: Graph, version: int, hint: str) -> None:
    """A newer one needs a newer starcast; an older one can be rebuilt."""
    claim(graph, OURS)
    graph.write("MATCH (s:Store) SET s.schema = $version", {"version": version})
    with pytest.raises(UnavailableError, match=f"has schema {version}") as caught:
        claim(graph, OURS)
    assert hint in caught.value.hint


def test_there_cannot_be_two_owners(graph: Graph) -> None:
    """Two first ingests at once end with one (:Store): MERGE on the unique property."""
    claim(graph, OURS)
    graph.write("MERGE (s:Store {schema: 1}) ON CREATE SET s.id = 'second'")
    assert check_nodes(graph, "Store", ("id",)) == {(str(OURS),)}
