"""Every shipped query, asked of a real server and compared with brute force."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from packs.loading import SPECS, forests, load
from packs.oracles import ORACLES, Case
from starcast.connections import GraphAddress
from starcast.errors import InputError, LimitError, NotFoundError
from starcast.graph.connection import Graph
from starcast.queries import Query, find, library, run
from starcast.queries.plan import problems

CLEAN = "MATCH (n) CALL (n) { DETACH DELETE n } IN TRANSACTIONS OF 10000 ROWS"
FOREST = forests("S4")[1]


@pytest.fixture(scope="module")
def graph(graph_address: GraphAddress) -> Iterator[Graph]:
    """The store with S2..S6, their forests and broadcasts, and nothing else; empty afterwards."""
    with Graph.open(graph_address) as opened:
        with opened.driver.session(database=opened.database) as session:
            session.run(CLEAN).consume()
        load(opened)
        yield opened
        with opened.driver.session(database=opened.database) as session:
            session.run(CLEAN).consume()


def questions() -> list[object]:
    return [
        pytest.param(name, case, id=" ".join([name, *(str(value) for value in case.values())]))
        for name, known in ORACLES.items()
        for case in known.cases
    ]


@pytest.mark.parametrize("query", library().values(), ids=lambda query: query.name)
def test_every_shipped_query_has_an_oracle_with_cases_on_every_topology(query: Query) -> None:
    cases = ORACLES[query.name].cases
    for spec in SPECS:
        assert any(str(value).split(":")[0] == spec for case in cases for value in case.values())


def test_every_oracle_is_of_a_shipped_query() -> None:
    assert set(ORACLES) == set(library())


@pytest.mark.parametrize(("name", "case"), questions())
def test_the_answer_is_that_of_brute_force(graph: Graph, name: str, case: Case) -> None:
    answer = run(graph, find(name), case, row_limit=100_000)
    assert answer.columns == tuple(column.name for column in find(name).columns)
    assert not answer.more
    assert answer.notices == ()
    judge = ORACLES[name].judge
    if judge is None:
        assert answer.rows == ORACLES[name].rows(**case)
    else:
        judge(case, answer.rows)


@pytest.mark.parametrize("name", ORACLES)
def test_the_cases_are_not_all_empty(name: str) -> None:
    """An oracle that expects nothing everywhere would prove nothing."""
    assert any(ORACLES[name].rows(**case) for case in ORACLES[name].cases)


@pytest.mark.parametrize("query", library().values(), ids=lambda query: query.name)
def test_the_planner_has_no_remark_and_multiplies_nothing(graph: Graph, query: Query) -> None:
    assert problems(graph, query) == []


@pytest.mark.parametrize("query", library().values(), ids=lambda query: query.name)
def test_nodes_are_found_by_an_index(graph: Graph, query: Query) -> None:
    """No plan reads all nodes or all links of the store, which holds other topologies and forests too."""
    sample = {parameter.name: parameter.type.sample() for parameter in query.parameters}
    plan = graph.ask(f"EXPLAIN {query.cypher}", sample).plan
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


def test_the_load_of_a_forest_is_that_of_its_array(graph: Graph) -> None:
    """The brute force and the array agree, so all three do."""
    rows = run(graph, find("load-histogram"), {"forest": FOREST.id}).rows
    assert {row["load"]: row["links"] for row in rows if row["links"]} == FOREST.load_histogram()


def test_rows_beyond_the_limit_are_left_out_and_told(graph: Graph) -> None:
    query = find("shared-links")
    rows = run(graph, query, {"forest": FOREST.id}).rows
    cut = run(graph, query, {"forest": FOREST.id}, row_limit=len(rows) - 1)
    assert cut.more
    assert cut.rows == rows[:-1]
    assert not run(graph, query, {"forest": FOREST.id}, row_limit=len(rows)).more


def test_values_are_taken_as_text_too(graph: Graph) -> None:
    query = find("shared-links")
    given = run(graph, query, {"forest": FOREST.id, "least": "1"}).rows
    assert given == run(graph, query, {"forest": FOREST.id, "least": 1}).rows


@pytest.mark.parametrize(
    ("name", "values", "missing", "command"),
    [
        ("neighbours", {"topology": "S7", "node": "1234567"}, "topology 'S7'", "starcast ingest S7"),
        (
            "load-histogram",
            {"forest": "S4:multiple:2134"},
            "forest 'S4:multiple:2134'",
            "starcast ingest S4 --trees multiple --root 2134",
        ),
        (
            "deliveries",
            {"schedule": "S4:broadcast:greedy:all:segments=7:1234", "node": "1234"},
            "schedule 'S4:broadcast:greedy:all:segments=7:1234'",
            "starcast ingest S4 --trees greedy --schedules greedy --root 1234",
        ),
    ],
)
def test_what_is_not_stored_is_named_with_the_command_that_stores_it(
    graph: Graph, name: str, values: Case, missing: str, command: str
) -> None:
    with pytest.raises(NotFoundError) as refused:
        run(graph, find(name), values)
    assert refused.value.message == f"the {missing} is not in the graph"
    assert f"run '{command}'" in refused.value.hint


def test_a_name_that_is_nearly_one_is_told_with_the_one_meant(graph: Graph) -> None:
    with pytest.raises(NotFoundError) as refused:
        run(graph, find("load-histogram"), {"forest": "S4:multipel:1234"})
    assert refused.value.hint.startswith("did you mean 'S4:multiple:1234'?")


def test_a_tree_that_the_forest_does_not_have_is_refused(graph: Graph) -> None:
    values = {"forest": FOREST.id, "tree": FOREST.trees, "source": "1234", "target": "4321"}
    with pytest.raises(InputError, match=f"has no tree {FOREST.trees}") as refused:
        run(graph, find("tree-path"), values)
    assert refused.value.hint == f"its trees are 0 to {FOREST.trees - 1}"


@pytest.mark.parametrize(
    ("name", "values", "half"),
    [
        ("neighbours", {"topology": "S3", "node": "123"}, "(o:Topology {name: 'S3'})"),
        ("load-histogram", {"forest": "S3:multiple:123"}, "(o:Forest {id: 'S3:multiple:123'})"),
        ("load-histogram", {"forest": "S3:multiple:123"}, "(o:Topology {name: 'S3'})"),
        (
            "deliveries",
            {"schedule": "S3:broadcast:multiple:one:segments=1:123", "node": "321"},
            "(o:Schedule {id: 'S3:broadcast:multiple:one:segments=1:123'})",
        ),
    ],
)
def test_what_is_half_loaded_is_never_used(graph: Graph, name: str, values: Case, half: str) -> None:
    assert run(graph, find(name), values).rows
    graph.write(f"MATCH {half} SET o.state = 'loading'")
    try:
        with pytest.raises(NotFoundError, match="its state is 'loading'") as refused:
            run(graph, find(name), values)
        assert "starcast ingest S3" in refused.value.hint
    finally:
        graph.write(f"MATCH {half} SET o.state = 'complete'")


def test_a_query_that_takes_too_long_is_stopped_and_says_what_to_narrow(graph: Graph) -> None:
    with pytest.raises(LimitError, match=r"^overlap/shared-links: .* took longer than 0\.2 s") as refused:
        run(graph, _runaway(), {"forest": "S6:multiple:123456"}, timeout=0.2)
    assert "name a smaller one in forest, tighten least" in refused.value.hint


def _runaway() -> Query:
    """The query of shared links with its nodes multiplied five times."""
    query = find("shared-links")
    many = "".join(f"\nMATCH (n{i}:Node)" for i in range(5)) + "\nWITH f, sum(n0.rank + n4.rank) AS much"
    return replace(query, text=query.text.replace("MATCH (f:Forest {id: $forest})", f"MATCH (f:Forest {{id: $forest}}){many}"))


def judged(graph: Graph, body: str, columns: str = "a") -> list[str]:
    """What the planner finds in a query with this Cypher."""
    declared = "".join(f"\n//   {name}: something" for name in columns.split())
    header = f"// title: T\n// question: Q?\n// parameters: none\n// columns:{declared}\n// revision: 1\n// reference: R\n"
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


def test_names_of_the_schema_are_no_fault_where_nothing_of_that_kind_is_stored(graph: Graph) -> None:
    """An empty store has not seen the type SEND; a fresh `query check` must not blame the queries."""
    assert judged(graph, "MATCH (n:Store) RETURN n.id AS a") == []
