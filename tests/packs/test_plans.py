"""What the server's planner makes of queries: of every shipped one, whatever is stored, and of unsound ones."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from packs.loading import loaded
from starcast.connections import GraphAddress
from starcast.graph.connection import Graph
from starcast.queries import Query, library
from starcast.queries.plan import problems

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
    """Stores of several sizes: the planner decides by what it counts."""
    with Graph.open(graph_address) as graph, loaded(graph, request.param):
        yield graph


@pytest.fixture(scope="module")
def graph(graph_address: GraphAddress) -> Iterator[Graph]:
    """A store that holds S3."""
    with Graph.open(graph_address) as opened, loaded(opened, ["S3"]):
        yield opened


@pytest.mark.parametrize("query", library().values(), ids=lambda query: query.name)
def test_the_planner_has_no_remark_and_multiplies_nothing(store: Graph, query: Query) -> None:
    """In an empty store too, where it has not seen some of our types: they are no mistake of the query."""
    assert problems(store, query) == []


@pytest.mark.parametrize("query", library().values(), ids=lambda query: query.name)
def test_nodes_are_found_by_an_index(store: Graph, query: Query) -> None:
    """No plan reads all nodes or all links of the store, which holds other topologies and forests too."""
    sample = {parameter.name: parameter.type.sample() for parameter in query.parameters}
    plan = store.ask(f"EXPLAIN {query.cypher}", sample).plan
    assert plan is not None
    read = {(step["operatorType"], step["args"].get("Details", "")) for step in steps(plan)}
    assert any("IndexSeek" in name for name, _ in read)
    assert not {(name, of) for name, of in read if name.startswith(("NodeByLabelScan", "NodeIndexScan")) and ":Node" in of}
    assert not {name for name, _ in read if "RelationshipTypeScan" in name}


def steps(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Every operator of a plan."""
    yield plan
    for child in plan.get("children", ()):
        yield from steps(child)


def judged(graph: Graph, body: str) -> list[str]:
    """What the planner finds in a query with this Cypher, which returns one column ``a``."""
    header = (
        "// title: T\n// question: Q?\n// parameters: none\n// columns:\n//   a: something\n// revision: 1\n// reference: R\n"
    )
    return problems(graph, Query(Path("/packs/mine/question.cypher"), header + body))


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
