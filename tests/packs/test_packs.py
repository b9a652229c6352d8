"""Every query that comes with starcast, compared with brute force and with the simulator."""

from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from itertools import pairwise
from typing import Any

import pytest

from starcast import schedule, simulate
from starcast.collectives import Schedule
from starcast.drawing import draw_subgraph
from starcast.queries import Query, load_library, run
from starcast.queries.execution import ingest_command, unexpected_notices
from starcast.queries.parameters import bind, named_topologies
from starcast.queries.picture import build_subgraph, check_drawable
from starcast.queries.query import Column
from starcast.stores import GraphAddress
from starcast.stores.graph.connection import Graph
from starcast.support.errors import InputError, LimitError, NotFoundError
from starcast.trees import forest
from support.packs import oracle_tools, oracles_paths
from support.packs.oracle_tools import ORACLES, Case, labels
from support.packs.oracles_faults import some_faults
from support.packs.stored_data import forests, loaded, schedules

# Importing the module of a query pack registers its oracles.
for pack in ("faults", "overlap", "paths", "schedules", "topology", "trees"):
    import_module(f"support.packs.oracles_{pack}")

#: The query library, loaded once rather than for every case.
LIBRARY = load_library()
QUERIES = LIBRARY.require_valid()


@pytest.fixture(scope="module")
def graph(graph_address: GraphAddress) -> Iterator[Graph]:
    """A graph store with exactly the test data of the query packs; it is emptied afterwards."""
    with Graph.open(graph_address) as opened, loaded(opened):
        yield opened


def query_rows(graph: Graph, name: str, **given: Any) -> list[dict[str, Any]]:
    """Return the rows of the named query."""
    query = LIBRARY.find(name)
    return run(graph, query, bind(query.parameters, given)).rows


def all_cases() -> list[object]:
    return [
        pytest.param(
            name,
            case,
            id=" ".join([name, *(str(value) for value in case.values())]),
            # The oracles on S6 take seconds.
            marks=pytest.mark.slow if "S6" in str(case.values()) else (),
        )
        for name, oracle in ORACLES.items()
        for case in oracle.cases
    ]


@pytest.mark.parametrize("query", QUERIES.values(), ids=lambda query: query.name)
def test_every_query_has_an_oracle_with_a_case_on_each_of_its_topologies(query: Query) -> None:
    """An oracle names its topologies, since not every query applies to all."""
    oracle = ORACLES[query.name]
    for spec in oracle.specs:
        assert any(
            str(value).split(":")[0] == spec for case in oracle.cases for value in case.values()
        )


def test_oracles_and_queries_have_the_same_names() -> None:
    assert set(ORACLES) == set(QUERIES)


@pytest.mark.parametrize(("name", "case"), all_cases())
def test_query_results_equal_those_of_brute_force(graph: Graph, name: str, case: Case) -> None:
    query = QUERIES[name]
    result = run(graph, query, bind(query.parameters, case), row_limit=100_000)
    assert result.columns == tuple(column.name for column in query.columns)
    assert not result.more
    assert unexpected_notices(result) == []
    judge = ORACLES[name].judge
    if judge is None:
        assert result.rows == ORACLES[name].rows(**case)
    else:
        judge(case, result.rows)


OLDER = [name for name, query in QUERIES.items() if query.for_server("5.26.30") is not query]


@pytest.mark.parametrize("name", OLDER)
def test_statements_for_older_servers_give_the_expected_rows(graph: Graph, name: str) -> None:
    """Newer servers accept these statements too, so one server suffices for the test."""
    query = QUERIES[name].for_server("5.26.30")
    assert "CYPHER 25" not in query.cypher
    for case in ORACLES[name].cases:
        rows = run(graph, query, bind(query.parameters, case), row_limit=100_000).rows
        judge = ORACLES[name].judge
        assert judge is not None
        judge(case, rows)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("spec", "sources", "targets"), [("S4", 24, 24), ("S5", 1, 120), ("S6", 2, 8)]
)
def test_the_number_of_disjoint_paths_equals_the_maximum_flow(
    graph: Graph, spec: str, sources: int, targets: int
) -> None:
    """All pairs of nodes are tested on S4, all pairs with the identity on S5, and some on S6."""
    names = oracle_tools.labels(spec)
    for source in names[:sources]:
        for target in names[:: len(names) // targets]:
            if source != target:
                case = {"topology": spec, "source": source, "target": target}
                rows = query_rows(graph, "disjoint-paths", **case)
                oracles_paths.judge_disjoint_paths(case, rows)


def test_disjoint_paths_need_two_different_nodes(graph: Graph) -> None:
    with pytest.raises(InputError, match="source and target are both 2134"):
        query_rows(graph, "disjoint-paths", topology="S4", source="2134", target="2134")


@pytest.mark.parametrize("name", sorted(set(ORACLES) - {"topology/cut-nodes"}))
def test_every_oracle_has_a_case_with_rows(name: str) -> None:
    """An oracle that always expects no rows would prove nothing.

    The query cut-nodes is exempt: only topologies in test_packs_irregular have cut nodes.
    """
    assert any(ORACLES[name].rows(**case) for case in ORACLES[name].cases)


@pytest.mark.parametrize(
    ("name", "kind", "artifact_id"),
    [
        ("neighbours", "topology", "S7"),
        ("load-histogram", "forest", "S4:multiple:2134"),
        ("deliveries", "schedule", "S4:broadcast:greedy:all:segments=7:1234"),
    ],
)
def test_the_error_of_a_missing_artifact_has_the_command_that_stores_it(
    graph: Graph, name: str, kind: str, artifact_id: str
) -> None:
    node = {} if kind == "forest" else {"node": "1234567" if kind == "topology" else "1234"}
    with pytest.raises(NotFoundError) as caught:
        query_rows(graph, name, **{kind: artifact_id}, **node)
    assert caught.value.message == f"the {kind} '{artifact_id}' is not in the graph"
    assert f"run '{ingest_command(kind, artifact_id)}'" in caught.value.hint


def test_the_error_of_a_misspelled_id_suggests_the_right_one(graph: Graph) -> None:
    with pytest.raises(NotFoundError) as caught:
        query_rows(graph, "load-histogram", forest="S4:multipel:1234")
    assert caught.value.hint.startswith("did you mean 'S4:multiple:1234'?")


def test_a_tree_number_that_the_forest_does_not_have_is_refused(graph: Graph) -> None:
    values = {"forest": "S4:multiple:1234", "tree": 3, "source": "1234", "target": "4321"}
    with pytest.raises(InputError, match="has no tree 3") as caught:
        query_rows(graph, "tree-path", **values)
    assert caught.value.hint == "choose a tree from 0 to 2"


@pytest.mark.parametrize(
    ("name", "values", "pattern"),
    [
        ("neighbours", {"topology": "S3", "node": "123"}, "(o:Topology {spec: 'S3'})"),
        ("load-histogram", {"forest": "S3:multiple:123"}, "(o:Forest {id: 'S3:multiple:123'})"),
        ("load-histogram", {"forest": "S3:multiple:123"}, "(o:Topology {spec: 'S3'})"),
        ("deliveries", {"schedule": "S3:broadcast:multiple:one:segments=1:123", "node": "321"},
         "(o:Schedule {id: 'S3:broadcast:multiple:one:segments=1:123'})"),
    ],
)  # fmt: skip
def test_queries_refuse_incomplete_artifacts(
    graph: Graph, name: str, values: Case, pattern: str
) -> None:
    assert query_rows(graph, name, **values)
    graph.write(f"MATCH {pattern} SET o.state = 'loading'")
    try:
        with pytest.raises(NotFoundError, match="its state is 'loading'") as caught:
            query_rows(graph, name, **values)
        assert "starcast ingest S3" in caught.value.hint
    finally:
        graph.write(f"MATCH {pattern} SET o.state = 'complete'")


def test_a_query_is_stopped_at_its_time_limit_with_a_hint_to_narrow_it(
    graph: Graph,
) -> None:
    """The shared-links query is preceded by a cartesian product of five node patterns."""
    query = LIBRARY.find("shared-links")
    many = " ".join(f"MATCH (n{i}:Node)" for i in range(5)) + " WITH sum(n0.rank + n4.rank) AS much"
    begin = "MATCH (sender:Node)"
    endless = replace(query, text=query.text.replace(begin, f"{many}\n{begin}"))
    values = bind(query.parameters, {"forest": forests("S6")[0].id})
    with pytest.raises(
        LimitError, match=r"^overlap/shared-links: .* took longer than 0\.2 s"
    ) as caught:
        run(graph, endless, values, timeout=0.2)
    assert "choose a smaller forest, tighten min_load" in caught.value.hint


SPEC = "S4"


def expected_results(query: Query) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """Yield the cases of a query on S4 with their expected rows, if the rows have all columns."""
    oracle = ORACLES[query.name]
    columns = {column.name for column in query.columns}
    for case in oracle.cases:
        values = bind(query.parameters, case)
        if [network.spec for network in named_topologies(query.parameters, values)] == [SPEC]:
            rows = oracle.rows(**case)
            if all(columns == row.keys() for row in rows):
                yield values, rows


def is_of_nodes(column: Column) -> bool:
    return column.type is not None and column.type.name == "node"


@pytest.mark.parametrize("query", QUERIES.values(), ids=lambda query: query.name)
def test_exactly_the_columns_that_contain_nodes_have_the_type_node(query: Query) -> None:
    """On S4, labels can be recognized: no other value consists of four different digits."""
    nodes = set(labels(SPEC))
    for _, rows in expected_results(query):
        for column in query.columns:
            for value in (row[column.name] for row in rows if row[column.name] is not None):
                values = as_list(value)
                assert (
                    is_of_nodes(column)
                    == all(isinstance(each, str) and each in nodes for each in values)
                    or not values
                )
                if column.type is not None:
                    assert column.type.many == isinstance(value, list)


@pytest.mark.parametrize("query", QUERIES.values(), ids=lambda query: query.name)
def test_a_drawing_of_a_result_shows_every_node_in_the_result(query: Query) -> None:
    columns = [column.name for column in query.columns if is_of_nodes(column)]
    for values, rows in expected_results(query):
        if not columns:
            with pytest.raises(InputError, match=r"none of its columns \(.*\) contains nodes"):
                check_drawable(query, values)
            return
        drawing = build_subgraph(query, values, rows)
        if not drawing.nodes:
            continue
        drawn = set(drawing.topology.labels(list(drawing.nodes)).tolist())
        assert drawn == {label for row in rows for name in columns for label in as_list(row[name])}
        text = draw_subgraph(drawing)
        assert all(f">{label}<" in text for label in drawn)


def as_list(value: Any) -> list[Any]:
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


@pytest.mark.parametrize("query", QUERIES.values(), ids=lambda query: query.name)
def test_a_path_has_a_port_for_each_hop(query: Query) -> None:
    """A row has one port fewer than nodes in its path. Tables print both columns hop by hop."""
    if {"path", "ports"} <= {column.name for column in query.columns}:
        for _, rows in expected_results(query):
            assert all(len(row["path"] or []) in {0, len(row["ports"] or []) + 1} for row in rows)


DISJOINT = forest("S4", "edge-disjoint")
FAULTS = [some_faults(DISJOINT.id, seed) for seed in range(3, 12)]
STAR = [plan for spec in ("S3", "S4") for plan in schedules(spec)]


def missing(case: Case, messages: int, copies: int) -> int:
    """Broadcast under faults; return the number of (node, message) pairs that are not delivered."""
    sent = schedule("S4", "broadcast", "edge-disjoint", messages=messages, copies=copies)
    links = [tuple(link.split("-")) for link in case["dead_links"]]
    return simulate(sent, [*case["dead_nodes"], *links]).missing


def test_the_sends_of_an_allreduce_show_which_units_are_combined(graph: Graph) -> None:
    plan = next(plan for plan in STAR if plan.collective == "allreduce")
    combined = set()
    for step in range(1, plan.steps + 1):
        case = {"schedule": plan.id, "step": step}
        rows = query_rows(graph, "sends", **case)
        assert rows == ORACLES["schedules/sends"].rows(**case)
        combined |= {row["combine"] for row in rows}
    assert combined == {True, False}


@pytest.mark.slow
@pytest.mark.parametrize("case", FAULTS, ids=str)
def test_nodes_that_a_tree_does_not_reach_miss_its_message(graph: Graph, case: Case) -> None:
    """Message m uses tree m, so it is missing at the nodes that this tree does not reach."""
    totals = [0, *(missing(case, messages, copies=1) for messages in range(1, DISJOINT.trees + 1))]
    unreached = [row["unreached"] for row in query_rows(graph, "damage", **case)]
    assert unreached == [more - fewer for fewer, more in pairwise(totals)]
    assert len(query_rows(graph, "cut-off", **case)) == totals[-1]


@pytest.mark.parametrize("copies", range(1, DISJOINT.trees + 1))
@pytest.mark.parametrize("case", FAULTS, ids=str)
def test_nothing_is_missing_if_the_query_reports_that_all_nodes_are_reached(
    graph: Graph, case: Case, copies: int
) -> None:
    """With one copy of each message, the converse is also true.

    With several copies, the query may report unreached nodes although nothing is missing. A node
    that is cut off in one tree can forward, in this tree, a message received in another tree.
    """
    (row,) = query_rows(graph, "faults/copies", **case, copies=copies, messages=DISJOINT.trees)
    lacking = missing(case, DISJOINT.trees, copies)
    assert not (row["all_reached"] and lacking)
    assert copies > 1 or row["all_reached"] == (not lacking)
    assert row["all_choices_reach"] <= row["all_reached"]


@pytest.mark.whole
@pytest.mark.parametrize("plan", STAR, ids=lambda plan: plan.id)
def test_step_profiles_equal_those_of_the_simulator(graph: Graph, plan: Schedule) -> None:
    """In a symmetric schedule, all sources together use all links of each dimension in use."""
    if plan.symmetric:
        rows = query_rows(graph, "dimensions", schedule=plan.id)
        used = [plan.topology.nodes * len(row["dimensions"]) for row in rows]
        largest = [max(row["units"]) for row in rows]
    else:
        rows = query_rows(graph, "steps", schedule=plan.id)
        used = [row["links_used"] for row in rows]
        largest = [row["largest_packet"] for row in rows]
    executed = simulate(plan)
    assert used == executed.links_used.tolist()
    assert largest == executed.packet_sizes.tolist()
