"""Every shipped query, asked of a real server and compared with brute force."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from starcast.errors import InputError, LimitError, NotFoundError
from starcast.graph.address import GraphAddress
from starcast.graph.connection import Graph
from starcast.queries import Query, load_library, run
from support.packs import (
    oracles_faults,
    oracles_overlap,
    oracles_paths,
    oracles_schedules,
    oracles_topology,
    oracles_trees,
)
from support.packs.asking import ORACLES, Case
from support.packs.loading import forests, loaded

#: Each registers its pack's oracles when it is imported.
PACKS = (
    oracles_faults,
    oracles_overlap,
    oracles_paths,
    oracles_schedules,
    oracles_topology,
    oracles_trees,
)
#: Read once, not for every case.
LIBRARY = load_library()
QUERIES = LIBRARY.require_valid()
FOREST = next(forest for forest in forests("S4") if forest.id == "S4:multiple:1234")


@pytest.fixture(scope="module")
def graph(graph_address: GraphAddress) -> Iterator[Graph]:
    """The store with all topologies, their forests and schedules, and nothing else; empty afterwards."""
    with Graph.open(graph_address) as opened, loaded(opened):
        yield opened


def questions() -> list[object]:
    return [
        pytest.param(name, case, id=" ".join([name, *(str(value) for value in case.values())]))
        for name, known in ORACLES.items()
        for case in known.cases
    ]


@pytest.mark.parametrize("query", QUERIES.values(), ids=lambda query: query.name)
def test_every_shipped_query_has_an_oracle_with_cases_on_every_topology(query: Query) -> None:
    """But where the oracle says that the question is of some only."""
    known = ORACLES[query.name]
    for spec in known.specs:
        assert any(
            str(value).split(":")[0] == spec for case in known.cases for value in case.values()
        )


@pytest.mark.parametrize("name", ORACLES)
def test_an_oracle_is_in_the_module_of_its_pack(name: str) -> None:
    """By which a pack that is added is found to be missing in `PACKS`."""
    assert ORACLES[name].rows.__module__ in {pack.__name__ for pack in PACKS}
    assert ORACLES[name].rows.__module__.endswith(f"_{name.partition('/')[0]}")


def test_every_oracle_is_of_a_shipped_query() -> None:
    assert set(ORACLES) == set(QUERIES)


@pytest.mark.parametrize(("name", "case"), questions())
def test_the_answer_is_that_of_brute_force(graph: Graph, name: str, case: Case) -> None:
    answer = run(graph, QUERIES[name], case, row_limit=100_000)
    assert answer.columns == tuple(column.name for column in QUERIES[name].columns)
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


def test_the_load_of_a_forest_is_that_of_its_array(graph: Graph) -> None:
    """The brute force and the array agree, so all three do."""
    rows = run(graph, LIBRARY.find("load-histogram"), {"forest": FOREST.id}).rows
    assert {row["load"]: row["links"] for row in rows if row["links"]} == FOREST.load_histogram()


def test_rows_beyond_the_limit_are_left_out_and_told(graph: Graph) -> None:
    query = LIBRARY.find("shared-links")
    rows = run(graph, query, {"forest": FOREST.id}).rows
    cut = run(graph, query, {"forest": FOREST.id}, row_limit=len(rows) - 1)
    assert cut.more
    assert cut.rows == rows[:-1]
    assert not run(graph, query, {"forest": FOREST.id}, row_limit=len(rows)).more


def test_values_are_taken_as_text_too(graph: Graph) -> None:
    query = LIBRARY.find("shared-links")
    given = run(graph, query, {"forest": FOREST.id, "least": "1"}).rows
    assert given == run(graph, query, {"forest": FOREST.id, "least": 1}).rows


@pytest.mark.parametrize(
    ("name", "values", "missing", "command"),
    [
        (
            "neighbours",
            {"topology": "S7", "node": "1234567"},
            "topology 'S7'",
            "starcast ingest S7",
        ),
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
            "starcast ingest S4 --schedules 'broadcast:greedy(segments=7)' --ports all --root 1234",
        ),
    ],
)
def test_what_is_not_stored_is_named_with_the_command_that_stores_it(
    graph: Graph, name: str, values: Case, missing: str, command: str
) -> None:
    with pytest.raises(NotFoundError) as refused:
        run(graph, LIBRARY.find(name), values)
    assert refused.value.message == f"the {missing} is not in the graph"
    assert f"run '{command}'" in refused.value.hint


def test_a_name_that_is_nearly_one_is_told_with_the_one_meant(graph: Graph) -> None:
    with pytest.raises(NotFoundError) as refused:
        run(graph, LIBRARY.find("load-histogram"), {"forest": "S4:multipel:1234"})
    assert refused.value.hint.startswith("did you mean 'S4:multiple:1234'?")


def test_a_tree_that_the_forest_does_not_have_is_refused(graph: Graph) -> None:
    values = {"forest": FOREST.id, "tree": FOREST.trees, "source": "1234", "target": "4321"}
    with pytest.raises(InputError, match=f"has no tree {FOREST.trees}") as refused:
        run(graph, LIBRARY.find("tree-path"), values)
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
def test_what_is_half_loaded_is_never_used(
    graph: Graph, name: str, values: Case, half: str
) -> None:
    assert run(graph, LIBRARY.find(name), values).rows
    graph.write(f"MATCH {half} SET o.state = 'loading'")
    try:
        with pytest.raises(NotFoundError, match="its state is 'loading'") as refused:
            run(graph, LIBRARY.find(name), values)
        assert "starcast ingest S3" in refused.value.hint
    finally:
        graph.write(f"MATCH {half} SET o.state = 'complete'")


def test_what_was_imported_and_not_compared_is_never_used(graph: Graph) -> None:
    graph.write("MATCH (o:Topology {name: 'S3'}) SET o.state = 'imported'")
    try:
        with pytest.raises(
            NotFoundError, match="the topology 'S3' was imported, and nobody has compared it"
        ) as refused:
            run(graph, LIBRARY.find("neighbours"), {"topology": "S3", "node": "123"})
        assert "starcast graph adopt" in refused.value.hint
    finally:
        graph.write("MATCH (o:Topology {name: 'S3'}) SET o.state = 'complete'")


def test_a_query_that_takes_too_long_is_stopped_and_says_what_to_narrow(graph: Graph) -> None:
    with pytest.raises(
        LimitError, match=r"^overlap/shared-links: .* took longer than 0\.2 s"
    ) as refused:
        run(graph, _runaway(), {"forest": forests("S6")[0].id}, timeout=0.2)
    assert "name a smaller one in forest, tighten least" in refused.value.hint


def _runaway() -> Query:
    """The query of shared links after five times as many nodes have been multiplied."""
    query = LIBRARY.find("shared-links")
    many = " ".join(f"MATCH (n{i}:Node)" for i in range(5)) + " WITH sum(n0.rank + n4.rank) AS much"
    return replace(
        query, text=query.text.replace("MATCH (sender:Node)", f"{many}\nMATCH (sender:Node)")
    )
