"""What the server's planner makes of queries: of every shipped one, whatever is stored, and of unsound ones."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from starcast.graph.address import GraphAddress
from starcast.graph.connection import Graph
from starcast.graph.schema import NODE
from starcast.graph.writer import Bolt
from starcast.queries import Query, load_queries
from starcast.queries.plan import find_problems, has_indexes
from support.packs.loading import loaded, without_indexes

HEADER = """\
// title: Something
// question: What is it?
// parameters: none
// columns:
//   a: something
// revision: 1
// reference: ours

"""


@pytest.fixture(
    scope="module",
    params=[(), ("S2",), ("S3",), ("S5",), ("S4", "S5", "S6")],
    ids=lambda specs: "+".join(specs) or "nothing",
)
def store(graph_address: GraphAddress, request: pytest.FixtureRequest) -> Iterator[Graph]:
    """Stores of several sizes, all with our indexes: the planner decides by what it counts."""
    with Graph.open(graph_address) as graph, loaded(graph, request.param):
        yield graph


@pytest.fixture(scope="module")
def unprepared(graph_address: GraphAddress) -> Iterator[Graph]:
    """A store that nobody has ingested into: not even our indexes are there."""
    with Graph.open(graph_address) as opened, without_indexes(opened):
        yield opened


@pytest.fixture(scope="module")
def graph(graph_address: GraphAddress) -> Iterator[Graph]:
    """A store that holds S3."""
    with Graph.open(graph_address) as opened, loaded(opened, ["S3"]):
        yield opened


@pytest.mark.parametrize("query", load_queries().values(), ids=lambda query: query.name)
def test_the_planner_has_no_remark_and_multiplies_nothing(store: Graph, query: Query) -> None:
    """In an empty store too, where it has not seen some of our types: they are no mistake of the query."""
    assert find_problems(store, query) == []


@pytest.mark.parametrize("query", load_queries().values(), ids=lambda query: query.name)
def test_nodes_are_found_by_an_index(store: Graph, query: Query) -> None:
    """No plan reads all nodes or all links of the store, which holds other topologies and forests too."""
    sample = {parameter.name: parameter.type.sample() for parameter in query.parameters}
    plan = store.ask(f"EXPLAIN {query.cypher}", sample).plan
    assert plan is not None
    read = {(step["operatorType"], step["args"].get("Details", "")) for step in steps(plan)}
    assert any("IndexSeek" in name for name, _ in read)
    assert not {
        (name, of)
        for name, of in read
        if name.startswith(("NodeByLabelScan", "NodeIndexScan")) and ":Node" in of
    }
    assert not {name for name, _ in read if "RelationshipTypeScan" in name}


@pytest.mark.parametrize("query", load_queries().values(), ids=lambda query: query.name)
def test_a_shipped_query_is_sound_before_the_first_ingest(unprepared: Graph, query: Query) -> None:
    """Where the planner has no index, what it reads all of says nothing about the query."""
    assert not has_indexes(unprepared)
    assert find_problems(unprepared, query, indexes=False) == []


def test_what_is_wrong_with_a_query_itself_is_found_without_indexes(unprepared: Graph) -> None:
    assert any(
        "`Nod`" in problem
        for problem in judged(unprepared, "MATCH (n:Nod) RETURN n.rank AS a", indexes=False)
    )
    assert any(
        "refuses" in problem
        for problem in judged(unprepared, "MATCH (n:Node) RETURN m.rank AS a", indexes=False)
    )


def test_without_indexes_some_shipped_query_would_be_judged_wrongly(unprepared: Graph) -> None:
    """The reason why they are looked for."""
    assert any(find_problems(unprepared, query) for query in load_queries().values())


def test_the_indexes_are_there_after_an_ingest(graph: Graph) -> None:
    assert has_indexes(graph)
    name = NODE.index_names()[-1]
    graph.write(f"DROP INDEX {name}")
    try:
        assert not has_indexes(graph)
    finally:
        Bolt(graph, 20_000).prepare()


def steps(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Every operator of a plan."""
    yield plan
    for child in plan.get("children", ()):
        yield from steps(child)


def judged(graph: Graph, body: str, indexes: bool = True) -> list[str]:
    """What the planner finds in a query with this Cypher, which returns one column ``a``."""
    header = "// title: T\n// question: Q?\n// parameters: none\n// columns:\n//   a: something\n// revision: 1\n// reference: R\n"
    return find_problems(graph, Query(Path("/packs/mine/question.cypher"), header + body), indexes)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("MATCH (m:Node), (n:Node) RETURN m.rank + n.rank AS a", "CartesianProduct"),
        ("MATCH (m:Node) MATCH (n:Node) RETURN m.rank + n.rank AS a", "CartesianProduct"),
        ("MATCH (n) RETURN n.rank AS a", "AllNodesScan"),
        ("MATCH (n:Nod) RETURN n.rank AS a", "`Nod`"),
        ("MATCH (n:Node)-[:LNK]->() RETURN n.rank AS a", "`LNK`"),
        ("MATCH (n:Node) RETURN n.rnk AS a", "`rnk`"),
        ("MATCH (n:Node) RETURN id(n) AS a", "deprecated"),
        ("MATCH (n:Node) WHERE RETURN n.rank AS a", "Neo4j refuses the statement"),
        ("MATCH (n:Node) RETURN m.rank AS a", "Neo4j refuses the statement"),
    ],
)
def test_the_check_on_the_server_finds(graph: Graph, body: str, words: str) -> None:
    assert any(words in problem for problem in judged(graph, body))


def test_a_sound_query_of_ones_own_passes(graph: Graph) -> None:
    assert judged(graph, "MATCH (n:Node {topology: 'S3', rank: 0}) RETURN n.label AS a") == []
