"""Every query that comes with starcast, run on a real server and compared with brute force."""

from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module

import pytest

from starcast.queries import Query, load_library, run
from starcast.queries.execution import ingest_command
from starcast.stores import GraphAddress
from starcast.stores.graph.connection import Graph
from starcast.support.errors import InputError, LimitError, NotFoundError
from support.packs import oracle_tools, oracles_paths
from support.packs.oracle_tools import ORACLES, Case
from support.packs.stored_data import forests, loaded

#: The modules of oracles, one per query pack. Importing a module registers its oracles.
PACKS = [
    import_module(f"support.packs.oracles_{pack}")
    for pack in ("faults", "overlap", "paths", "schedules", "topology", "trees")
]
#: The query library, loaded once rather than for every case.
LIBRARY = load_library()
QUERIES = LIBRARY.require_valid()
FOREST = next(forest for forest in forests("S4") if forest.id == "S4:multiple:1234")


@pytest.fixture(scope="module")
def graph(graph_address: GraphAddress) -> Iterator[Graph]:
    """A graph store with exactly the test data of the query packs; it is emptied afterwards."""
    with Graph.open(graph_address) as opened, loaded(opened):
        yield opened


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
def test_every_query_has_an_oracle_with_cases_on_every_topology(query: Query) -> None:
    """An oracle may restrict the topologies, since not every query applies to all."""
    oracle = ORACLES[query.name]
    for spec in oracle.specs:
        assert any(
            str(value).split(":")[0] == spec for case in oracle.cases for value in case.values()
        )


@pytest.mark.parametrize("name", ORACLES)
def test_an_oracle_is_in_the_module_of_its_pack(name: str) -> None:
    """The test detects a new pack that is missing in `PACKS`."""
    assert ORACLES[name].rows.__module__ in {pack.__name__ for pack in PACKS}
    assert ORACLES[name].rows.__module__.endswith(f"_{name.partition('/')[0]}")


def test_every_oracle_belongs_to_a_query() -> None:
    assert set(ORACLES) == set(QUERIES)


@pytest.mark.parametrize(("name", "case"), all_cases())
def test_query_results_equal_those_of_brute_force(graph: Graph, name: str, case: Case) -> None:
    result = run(graph, QUERIES[name], case, row_limit=100_000)
    assert result.columns == tuple(column.name for column in QUERIES[name].columns)
    assert not result.more
    assert result.notices == ()
    judge = ORACLES[name].judge
    if judge is None:
        assert result.rows == ORACLES[name].rows(**case)
    else:
        judge(case, result.rows)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("spec", "sources", "targets"), [("S4", 24, 24), ("S5", 1, 120), ("S6", 2, 8)]
)
def test_disjoint_paths_are_as_many_as_a_maximum_flow_allows(
    graph: Graph, spec: str, sources: int, targets: int
) -> None:
    """All pairs of nodes are tested on S4, those with the identity on S5, and some on S6."""
    names = oracle_tools.labels(spec)
    for source in names[:sources]:
        for target in names[:: len(names) // targets]:
            if source != target:
                case = {"topology": spec, "source": source, "target": target}
                rows = run(graph, QUERIES["paths/disjoint-paths"], case).rows
                oracles_paths.judge_disjoint_paths(case, rows)


def test_disjoint_paths_need_two_different_nodes(graph: Graph) -> None:
    case = {"topology": "S4", "source": "2134", "target": "2134"}
    with pytest.raises(InputError, match="source and target are both 2134"):
        run(graph, QUERIES["paths/disjoint-paths"], case)


@pytest.mark.parametrize("name", ORACLES)
def test_every_oracle_has_a_case_with_rows(name: str) -> None:
    """An oracle that always expects no rows would prove nothing."""
    assert any(ORACLES[name].rows(**case) for case in ORACLES[name].cases)


def test_rows_beyond_the_limit_are_cut_off_and_reported(graph: Graph) -> None:
    query = LIBRARY.find("shared-links")
    rows = run(graph, query, {"forest": FOREST.id}).rows
    limited = run(graph, query, {"forest": FOREST.id}, row_limit=len(rows) - 1)
    assert limited.more
    assert limited.rows == rows[:-1]
    assert not run(graph, query, {"forest": FOREST.id}, row_limit=len(rows)).more


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
        run(graph, LIBRARY.find(name), {kind: artifact_id, **node})
    assert caught.value.message == f"the {kind} '{artifact_id}' is not in the graph"
    assert f"run '{ingest_command(kind, artifact_id)}'" in caught.value.hint


def test_the_error_of_a_misspelled_id_suggests_the_right_one(graph: Graph) -> None:
    with pytest.raises(NotFoundError) as caught:
        run(graph, LIBRARY.find("load-histogram"), {"forest": "S4:multipel:1234"})
    assert caught.value.hint.startswith("did you mean 'S4:multiple:1234'?")


def test_a_tree_number_that_the_forest_does_not_have_is_refused(graph: Graph) -> None:
    values = {"forest": FOREST.id, "tree": FOREST.trees, "source": "1234", "target": "4321"}
    with pytest.raises(InputError, match=f"has no tree {FOREST.trees}") as caught:
        run(graph, LIBRARY.find("tree-path"), values)
    assert caught.value.hint == f"its trees are 0 to {FOREST.trees - 1}"


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
    assert run(graph, LIBRARY.find(name), values).rows
    graph.write(f"MATCH {pattern} SET o.state = 'loading'")
    try:
        with pytest.raises(NotFoundError, match="its state is 'loading'") as caught:
            run(graph, LIBRARY.find(name), values)
        assert "starcast ingest S3" in caught.value.hint
    finally:
        graph.write(f"MATCH {pattern} SET o.state = 'complete'")


def test_a_query_that_takes_too_long_is_stopped_and_the_hint_says_how_to_narrow_it(
    graph: Graph,
) -> None:
    with pytest.raises(
        LimitError, match=r"^overlap/shared-links: .* took longer than 0\.2 s"
    ) as caught:
        run(graph, _endless_query(), {"forest": forests("S6")[0].id}, timeout=0.2)
    assert "choose a smaller forest, tighten min_load" in caught.value.hint


def _endless_query() -> Query:
    """Return the shared-links query, preceded by a cartesian product of five node patterns."""
    query = LIBRARY.find("shared-links")
    many = " ".join(f"MATCH (n{i}:Node)" for i in range(5)) + " WITH sum(n0.rank + n4.rank) AS much"
    return replace(
        query, text=query.text.replace("MATCH (sender:Node)", f"{many}\nMATCH (sender:Node)")
    )
