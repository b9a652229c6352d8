"""The server's execution plans for all queries on stores of several sizes, and bad queries."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from starcast.queries import Query, load_queries, run
from starcast.queries.execution import find_problems, has_indexes, plan_operators
from starcast.queries.query import check_reads_only
from starcast.stores import GraphAddress
from starcast.stores.graph.connection import Graph
from starcast.stores.graph.schema import NODE
from starcast.stores.graph.writer import BoltWriter
from starcast.support.errors import InputError, StarcastError
from support.packs.stored_data import loaded, without_indexes

HEADER = """\
// title: Something
// question: What is it?
// parameters: none
// columns:
//   a: something
// revision: 1
// reference: ours
"""
#: Query for counts and sums that change with any write to a small store.
STATE = """
MATCH (n) OPTIONAL MATCH (n)-[r]->()
RETURN count(*) AS rows, count(DISTINCT n) AS nodes, sum(n.rank) AS ranks,
  count(DISTINCT labels(n)) AS labels, count(r) AS relationships"""


@pytest.fixture(
    scope="module",
    params=[(), ("S5",), ("S4", "S5", "S6")],
    ids=lambda specs: "+".join(specs) or "nothing",
)
def store(graph_address: GraphAddress, request: pytest.FixtureRequest) -> Iterator[Graph]:
    """Stores of several sizes with all indexes.

    Execution plans depend on the size: among a few dozen nodes, a scan costs no more than an index.
    """
    with Graph.open(graph_address) as graph, loaded(graph, request.param):
        yield graph


@pytest.fixture(scope="module")
def unprepared(graph_address: GraphAddress) -> Iterator[Graph]:
    """A store before the first ingest, without indexes."""
    with Graph.open(graph_address) as opened, without_indexes(opened):
        yield opened


@pytest.fixture(scope="module")
def graph(graph_address: GraphAddress) -> Iterator[Graph]:
    """A store that holds S3."""
    with Graph.open(graph_address) as opened, loaded(opened, ["S3"]):
        yield opened


@pytest.mark.parametrize("query", load_queries().values(), ids=lambda query: query.name)
def test_plans_have_no_notices_and_no_cartesian_products(store: Graph, query: Query) -> None:
    """One of the stores is empty, so that some relationship types do not occur in it."""
    assert find_problems(store, query) == []


@pytest.mark.parametrize("query", load_queries().values(), ids=lambda query: query.name)
def test_every_query_finds_nodes_by_an_index(store: Graph, query: Query) -> None:
    """No execution plan reads all nodes or all links of the store."""
    sample = {parameter.name: parameter.type.sample() for parameter in query.parameters}
    plan = store.run(f"EXPLAIN {query.for_server(store.version).cypher}", sample).plan
    assert plan is not None
    operators = {
        (operator["operatorType"], operator["args"].get("Details", ""))
        for operator in plan_operators(plan)
    }
    assert any("IndexSeek" in name for name, _ in operators)
    assert not {
        (name, of)
        for name, of in operators
        if name.startswith(("NodeByLabelScan", "NodeIndexScan")) and ":Node" in of
    }
    assert not {name for name, _ in operators if "RelationshipTypeScan" in name}


#: Statements that beginners write. The last one has a condition on the property `port` of links.
#: This property has no index, but the nodes are found by an index.
OBVIOUS = (
    "MATCH ()-[e:TREE_EDGE {forest: 'S4:multiple:1234'}]->() RETURN count(e) AS a",
    "MATCH (n:Node {topology: 'S4'})-[e:TREE_EDGE {forest: 'S4:multiple:1234'}]->() RETURN n.label",
    "MATCH (n:Node {label: '1234'}) RETURN n.topology",
    "MATCH (n:Node {topology: 'S4'}) RETURN n.label",
    "MATCH ()-[l:LINK {topology: 'S4'}]->() RETURN count(l) AS a",
    "MATCH ()-[s:SEND {schedule: 'S4:broadcast:multiple:all:segments=2:1234'}]->() RETURN s.step",
    "MATCH (t:Topology {spec: 'S4'}) MATCH (n:Node {topology: t.spec}) RETURN n LIMIT 100",
    "MATCH (n:Node {topology: 'S4'})-[l:LINK {port: 2}]->() RETURN count(l) AS a",
)


@pytest.mark.parametrize("statement", OBVIOUS)
def test_typical_statements_of_beginners_use_an_index(store: Graph, statement: str) -> None:
    plan = store.run(f"EXPLAIN {statement}").plan
    assert plan is not None
    names = [operator["operatorType"] for operator in plan_operators(plan)]
    assert any("IndexSeek" in name for name in names)
    assert not [name for name in names if "Scan" in name]


@pytest.mark.parametrize("query", load_queries().values(), ids=lambda query: query.name)
def test_no_query_has_problems_before_the_first_ingest(unprepared: Graph, query: Query) -> None:
    """There are no indexes yet, so a full scan is not the fault of the query."""
    assert not has_indexes(unprepared)
    assert find_problems(unprepared, query, indexes=False) == []


def test_errors_in_a_query_are_found_without_indexes(unprepared: Graph) -> None:
    for body, words in (("MATCH (n:Nod) RETURN n.rank AS a", "`Nod`"),
                        ("MATCH (n:Node) RETURN m.rank AS a", "refuses")):  # fmt: skip
        problems = find_problems(unprepared, own_query(body), indexes=False)
        assert any(words in problem for problem in problems)


def test_the_indexes_exist_after_an_ingest(graph: Graph) -> None:
    assert has_indexes(graph)
    name = NODE.indexes[-1].name
    graph.write(f"DROP INDEX {name}")
    try:
        assert not has_indexes(graph)
    finally:
        BoltWriter(graph, 20_000).prepare()


def own_query(body: str) -> Query:
    """Return a query with the given Cypher text and one declared column ``a``."""
    return Query(Path("/packs/mine/question.cypher"), HEADER + body)


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
        ("MATCH (n:Node)", "Neo4j refuses the statement"),
        ("RETURN 1 AS a UNION RETURN 2 AS b", "Neo4j refuses the statement"),
        ("RETURN 1 AS b", "the column 'a' is declared but not returned"),
        (
            "MATCH (n:Node {topology: 'S3', rank: 0}) RETURN n.rank",
            "'a' is declared but not returned",
        ),
        ("WITH 1 AS a, 2 AS b RETURN *", "the column 'b' is returned but not declared"),
    ],
)
def test_query_checks_on_the_server_find_the_problems_of_bad_queries(
    graph: Graph, body: str, words: str
) -> None:
    assert any(words in problem for problem in find_problems(graph, own_query(body)))


def test_query_checks_on_the_server_report_all_problems_at_once(graph: Graph) -> None:
    body = "MATCH (m:Node), (n:Nod) RETURN m.rank + n.rank AS b, m.rnk AS c"
    problems = find_problems(graph, own_query(body))
    words = ("'a' is declared", "'b' is returned", "'c' is returned", "`Nod`", "`rnk`", "Cartesian")
    assert [word for word in words if not any(word in problem for problem in problems)] == []


@pytest.mark.parametrize(
    "body",
    [
        "MATCH (n:Node {topology: 'S3', rank: 0}) RETURN n.label AS a",
        "MATCH (n:Node {topology: 'S3'}) RETURN DISTINCT n.rank AS a ORDER BY a SKIP 1 LIMIT 2",
        "RETURN CASE 1 WHEN 1, 2 THEN 3 ELSE 4 END AS a",
        "RETURN {b: 1, return: 2} AS a UNION ALL RETURN 2 AS `a`",
        "RETURN COLLECT { MATCH (n:Topology) RETURN n.spec ORDER BY n.spec } AS a LIMIT 3",
        "RETURN size('a, b AS c') AS `a`",
    ],
)
def test_returned_columns_are_recognized_in_statements_of_different_forms(
    graph: Graph, body: str
) -> None:
    assert find_problems(graph, own_query(body)) == []


def test_a_query_whose_columns_differ_from_its_header_is_refused_at_run_time(graph: Graph) -> None:
    with pytest.raises(InputError) as caught:
        run(graph, own_query("RETURN 1 AS b"), {})
    expected = "/packs/mine/question.cypher: the column 'a' is declared but not returned"
    assert caught.value.message == expected


@pytest.mark.parametrize(
    "statement",
    [
        "MATCH (n:Node) CREATE (m:Node) RETURN m",
        "MATCH (n:Node) MERGE (m:Node {key: 'hostile'}) RETURN m",
        "MATCH (n:Node) INSERT (m:Node) RETURN m",
        "MATCH (n:Node) SET n.rank = 1 RETURN n",
        "MATCH (n:Node) SET n:Hostile RETURN n",
        "MATCH (n:Node) REMOVE n.rank RETURN n",
        "MATCH (n:Node) DETACH DELETE n RETURN 1 AS a",
        "MATCH (n:Node) FOREACH (x IN [1] | SET n.rank = x) RETURN n",
        "MATCH (n:Node) CALL (n) { CREATE (m:Node) } RETURN n",
        "MATCH (n:Node) CALL (n) { CREATE (m:Node) } IN TRANSACTIONS RETURN n",
        "MATCH (n:Node) CALL (n) { RETURN 1 AS x } IN TRANSACTIONS RETURN n",
        "MATCH (n:Node) // a comment\rSET n.rank = 1 RETURN n",
        "MATCH (n:Node) WITH n, 1. SET n.rank = 1 RETURN n",
        "RETURN 1 AS a; MATCH (n:Node) SET n.rank = 1 RETURN n",
        "CALL db.createLabel('Hostile')",
        "CREATE INDEX hostile FOR (n:Node) ON (n.label)",
        "CREATE CONSTRAINT hostile FOR (n:Node) REQUIRE n.label IS UNIQUE",
        f"DROP INDEX {NODE.indexes[-1].name}",
        "CREATE USER hostile SET PASSWORD 'hostile-password'",
        "DROP USER neo4j",
        "STOP DATABASE neo4j",
        "LOAD CSV FROM 'file:///etc/passwd' AS row RETURN row",
        "LOAD CSV FROM 'http://127.0.0.1:1/x.csv' AS row RETURN row",
    ],
)
def test_statements_that_write_administer_or_load_files_are_refused(
    graph: Graph, statement: str
) -> None:
    """The refusal does not depend on starcast's keyword check, which refuses the statements too."""
    before = graph.read(STATE)
    with pytest.raises(StarcastError):
        graph.run(statement)
    assert graph.read(STATE) == before
    assert has_indexes(graph)
    with pytest.raises(InputError):
        check_reads_only(statement, Path("statement"))
