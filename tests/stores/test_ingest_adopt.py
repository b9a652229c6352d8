"""Adopting an import: correct artifacts become complete in both stores, others never do."""

import sys
from collections.abc import Sequence
from dataclasses import replace

import pytest
from sqlalchemy import delete

from starcast.database import models
from starcast.database.sessions import session
from starcast.errors import RejectedError, UnavailableError
from starcast.graph import reader
from starcast.graph.connection import Graph
from starcast.graph.rows import Content
from starcast.ingest import Plan, Stores, artifacts, drop, ingest
from starcast.ingest.loading import recover
from starcast.ingest.offline import ExpectedArtifact, adopt
from starcast.ingest.stores import Reference
from starcast.progress import Silent
from support.checks import assert_stored, states
from support.plans import plan
from support.recorder import Recorder

FOREST = "S4:multiple:1234"


@pytest.fixture
def stored_plan(stores: Stores) -> Plan:
    """Artifacts of every kind, in both stores, in state imported in the graph."""
    chosen = plan(
        "S4",
        ["multiple", "shortest-path", "perfectly-balanced"],
        ["broadcast:multiple", "alltoall:exact"],
    )
    ingest(stores, chosen)
    mark_imported(stores.graph)
    return chosen


def mark_imported(graph: Graph) -> None:
    """Set the state of all artifacts in the graph to imported."""
    graph.write("MATCH (o) WHERE o.state IS NOT NULL SET o.state = 'imported'")


def forget_all(stores: Stores) -> None:
    """Empty PostgreSQL, as in another installation with the same id."""
    with session(stores.engine) as opened:
        for table in (models.Materialization, models.Schedule, models.Forest, models.Topology):
            opened.execute(delete(table))


def in_graph(stores: Stores) -> dict[str, str]:
    """Return the state of each artifact in the graph."""
    return {
        artifact_id: row["state"]
        for (_, artifact_id), row in reader.read_states(stores.graph).items()
    }


def artifact_ids(references: Sequence[Reference]) -> list[str]:
    """Return the ids of the artifacts."""
    return [one.id for one in references]


def test_known_artifacts_become_complete(stores: Stores, stored_plan: Plan) -> None:
    """In the order of building; a second adoption finds nothing."""
    order = sorted(
        stored_plan.artifacts,
        key=lambda artifact: (["topology", "forest", "schedule"].index(artifact.kind), artifact.id),
    )
    assert artifact_ids(adopt(stores, Silent())) == [artifact.id for artifact in order]
    assert_stored(stores, stored_plan)
    assert adopt(stores, Silent()) == []
    with session(stores.engine) as opened:
        for row in opened.query(models.Materialization):
            assert (row.method, row.found_nodes, row.found_relationships) == (
                "import",
                row.expected_nodes,
                row.expected_relationships,
            )
            assert row.found_checksum == row.expected_checksum


@pytest.mark.slow
def test_unknown_artifacts_are_saved(stores: Stores, stored_plan: Plan) -> None:
    """From their ids in the graph, with trees, schedules and figures."""
    forget_all(stores)
    adopt(stores, Silent())
    assert_stored(stores, stored_plan)


@pytest.mark.slow
def test_recovery_keeps_imported_artifacts(stores: Stores, stored_plan: Plan) -> None:
    """Imported artifacts are kept also if PostgreSQL lacks them; the next ingest adopts them."""
    assert recover(stores, Silent()) == []
    forget_all(stores)
    assert recover(stores, Silent()) == []
    assert set(in_graph(stores).values()) == {"imported"}
    summary = ingest(stores, stored_plan)
    assert (summary.created, len(summary.present)) == ([], len(stored_plan.artifacts))
    assert_stored(stores, stored_plan)


@pytest.mark.slow
def test_a_drop_adopts_first(stores: Stores, stored_plan: Plan) -> None:
    drop(stores, "topology", "S4", cascade=True)
    assert in_graph(stores) == states(stores) == {}
    assert len(stored_plan.artifacts) > 1


DAMAGES = {
    "a relationship is missing": (
        (
            f"MATCH ()-[e:TREE_EDGE {{forest: '{FOREST}', tree: 1, level: 2}}]->() "
            "WITH e LIMIT 1 DELETE e"
        ),
        "68",
    ),
    "a relationship has another port": (
        (
            f"MATCH ()-[e:TREE_EDGE {{forest: '{FOREST}'}}]->() "
            "WITH e LIMIT 1 SET e.port = e.port % 3 + 2"
        ),
        "checksum",
    ),
    "an additional relationship": (
        (
            f"MATCH (a)-[e:TREE_EDGE {{forest: '{FOREST}'}}]->(b) WITH a, b, e LIMIT 1 "
            "CREATE (b)-[f:TREE_EDGE]->(a) SET f = e"
        ),
        "70 relationships",
    ),
    "its node differs": (
        f"MATCH (f:Forest {{id: '{FOREST}'}}) SET f.height = 1",
        "the property height",
    ),
    "it has no parent": (
        f"MATCH (:Forest {{id: '{FOREST}'}})-[r:ON]->() DELETE r",
        "the artifact that it depends on",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("damage", "known"),
    [*((damage, True) for damage in DAMAGES), ("a relationship is missing", False)],
)
def test_a_differing_artifact_is_never_complete(
    stores: Stores, stored_plan: Plan, damage: str, known: bool
) -> None:
    """It is described; independent artifacts become complete, and the next ingest repairs it."""
    cypher, message = DAMAGES[damage]
    stores.graph.write(cypher)
    if not known:
        forget_all(stores)
    with pytest.raises(RejectedError, match="the import differs from") as error:
        adopt(stores, Silent())
    assert FOREST in error.value.message
    assert message in error.value.message
    assert "shortest-path" not in error.value.message
    broadcast = next(
        artifact.id for artifact in stored_plan.artifacts if artifact.id.startswith("S4:broadcast")
    )
    assert {
        artifact_id for artifact_id, state in in_graph(stores).items() if state != "complete"
    } == {
        FOREST,
        broadcast,
    }
    assert states(stores)[FOREST] == "failed"
    ingest(stores, stored_plan)
    assert_stored(stores, stored_plan)


@pytest.mark.slow
def test_a_strict_comparison_accepts_all_or_nothing(stores: Stores, stored_plan: Plan) -> None:
    """Neither store is changed if one artifact differs."""
    before = states(stores)
    stores.graph.write(DAMAGES["a relationship is missing"][0])
    with pytest.raises(RejectedError, match=FOREST):
        adopt(stores, Silent(), strict=True)
    assert states(stores) == before
    assert set(in_graph(stores).values()) == {"imported"}
    assert len(before) == len(stored_plan.artifacts)


@pytest.mark.slow
def test_artifacts_built_by_the_caller_are_not_built_again(
    stores: Stores, stored_plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The caller's counts and checksums are used."""
    known = {}
    for artifact in stored_plan.artifacts:
        built = artifact.build()
        known[Reference(artifact.kind, artifact.id)] = ExpectedArtifact(built.node, built.content)
    monkeypatch.delattr(artifacts.TopologyArtifact, "build")
    monkeypatch.delattr(artifacts.ForestArtifact, "build")
    monkeypatch.delattr(artifacts.ScheduleArtifact, "build")
    other = {
        **known,
        Reference("topology", "S4"): replace(
            known[Reference("topology", "S4")], content=Content(24, 36, (1, 2))
        ),
    }
    with pytest.raises(
        RejectedError,
        match=r"S4: found 24 nodes, 36 relationships, checksum .*; expected .* checksum 1-2",
    ):
        adopt(stores, Silent(), other, strict=True)
    assert len(adopt(stores, Silent(), known, strict=True)) == len(stored_plan.artifacts)


@pytest.mark.slow
def test_an_interruption_between_the_stores(
    stores: Stores, stored_plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PostgreSQL comes first; what the graph calls imported is adopted again."""

    def away(*_: object) -> None:
        raise UnavailableError("Neo4j went away", hint="start it")

    forget_all(stores)
    with monkeypatch.context() as patch:
        patch.setattr(sys.modules[adopt.__module__], "_set_graph_state", away)
        with pytest.raises(UnavailableError):
            adopt(stores, Silent())
    assert set(states(stores).values()) == {"complete"}
    assert recover(stores, Silent()) == []
    assert len(adopt(stores, Silent())) == len(stored_plan.artifacts)
    assert_stored(stores, stored_plan)


@pytest.mark.slow
def test_artifacts_of_another_version_are_saved_again(stores: Stores, stored_plan: Plan) -> None:
    """PostgreSQL then records the figures of the graph."""
    with session(stores.engine) as opened:
        row = opened.get_one(models.Materialization, ("forest", FOREST))
        row.expected_checksum, row.expected_relationships = "0-0", 1
        opened.get_one(models.Forest, FOREST).height = 1
    adopt(stores, Silent())
    assert_stored(stores, stored_plan)
    with session(stores.engine) as opened:
        row = opened.get_one(models.Materialization, ("forest", FOREST))
        assert (row.expected_relationships, row.expected_checksum) == (69, row.found_checksum)
        assert opened.get_one(models.Forest, FOREST).height > 1


def test_an_unknown_id_is_left_unchanged(stores: Stores, stored_plan: Plan) -> None:
    """A newer starcast may have exported it; it is reported and does not block others."""
    stores.graph.write(
        "CREATE (:Forest {id: 'S4:unheard-of:1234', topology: 'S4', state: 'imported'})"
    )
    recorder = Recorder()
    assert len(adopt(stores, recorder)) == len(stored_plan.artifacts)
    assert "left unchanged: 'S4:unheard-of:1234' is not the id of a forest" in recorder.lines
    assert in_graph(stores)["S4:unheard-of:1234"] == "imported"


@pytest.mark.slow
def test_a_graph_of_another_database_is_not_adopted(stores: Stores, stored_plan: Plan) -> None:
    """The files were exported from another PostgreSQL database."""
    stores.graph.write("MATCH (s:Store) SET s.id = 'another'")
    with pytest.raises(UnavailableError, match="belongs to another PostgreSQL database"):
        adopt(stores, Silent())
    assert set(in_graph(stores).values()) == {"imported"}
    assert len(stored_plan.artifacts) > 1


@pytest.mark.slow
def test_all_contents_equal_single_contents(stores: Stores, stored_plan: Plan) -> None:
    """Scans of each type, against pages of each artifact, on two topologies."""
    ingest(stores, plan("S4,2", ["nk-multiple"]))
    actual = reader.read_all_contents(stores.graph)
    assert len(actual) == len(stored_plan.artifacts) + 2
    for (kind, artifact_id), content in actual.items():
        topology = next(
            artifact.topology
            for artifact in (*stored_plan.artifacts, *plan("S4,2").artifacts)
            if artifact.topology.spec == artifact_id.split(":")[0]
        )
        assert content == reader.read_content(stores.graph, kind, artifact_id, topology)


def test_all_contents_include_orphans(stores: Stores, stored_plan: Plan) -> None:
    """A link outside its topology, and rows of an artifact that does not exist."""
    ingest(stores, plan("S3"))
    stores.graph.write(
        "MATCH (n:Node {topology: 'S3', rank: 0}) CREATE (n)-[:LINK {topology: 'S4', port: 2}]->(n)"
    )
    stores.graph.write(
        "MATCH (n:Node {topology: 'S3', rank: 0}) "
        "CREATE (n)-[:TREE_EDGE {forest: 'none', tree: 0}]->(n)"
    )
    actual = reader.read_all_contents(stores.graph)
    assert actual["topology", "S4"].relationships == 37
    assert actual["forest", "none"].relationships == 1
    assert len(actual) == len(stored_plan.artifacts) + 2
