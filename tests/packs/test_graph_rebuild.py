"""Rebuilding the graph over Bolt: repairs, refusals, and interruptions."""

from dataclasses import replace
from functools import partial
from typing import Any
from unittest.mock import Mock

import pytest
from sqlalchemy import Engine

from starcast.ingest import LoadMethod, Stores, drop, ingest
from starcast.ingest.both_stores import lock_stores
from starcast.ingest.loading import LOST
from starcast.ingest.rebuilding import rebuild
from starcast.ingest.verification import Problem, check_artifact, verify
from starcast.stores.database import models
from starcast.stores.database.backup import REBUILDING
from starcast.stores.database.sessions import open_session
from starcast.stores.graph import writer
from starcast.stores.graph.audit import OutdatedSchemaError, OwnershipError
from starcast.stores.graph.connection import Graph
from starcast.support.errors import BusyError, InputError, NotFoundError, RejectedError
from starcast.support.progress import Reporter, Silent
from starcast.support.settings import Settings
from support.break_off import Countdown
from support.checks import assert_stored, counts, only_verified_is_complete, states
from support.fix_graph import BATCH, PowerCut
from support.plans import PLAN, S4, SENDS, TREES, plan

over_bolt = partial(rebuild, method=LoadMethod.BOLT)


@pytest.fixture
def stores(stores: Stores) -> Stores:
    """PostgreSQL and Neo4j with S4, its forest `multiple` and a broadcast."""
    ingest(stores, PLAN)
    return stores


def assert_correct(stores: Stores) -> None:
    """Check that both stores hold the planned artifacts, and that verification finds no problem."""
    assert verify(stores, checksums=True) == []
    assert_stored(stores, PLAN)


def element_ids(stores: Stores) -> set[str]:
    """Return the server's ids of all nodes of topologies; a recreated node has a new id."""
    return {row["id"] for row in stores.graph.read("MATCH (n:Node) RETURN elementId(n) AS id")}


def test_a_rebuild_recreates_every_node_and_relationship(stores: Stores) -> None:
    """The content of every artifact is the same as before."""
    original = over_bolt(stores)
    assert [one.id for one in original] == list(S4)
    assert [(one.nodes, one.relationships) for one in original] == [(24, 36), (0, 69), (0, 138)]
    assert_correct(stores)
    assert ingest(stores, PLAN).created == []


def test_rebuilding_one_artifact_recreates_only_it_and_its_dependents(stores: Stores) -> None:
    """The topology is unchanged when its trees are recreated with their schedule."""
    before = element_ids(stores)
    stores.graph.write("MATCH ()-[e:TREE_EDGE]->() SET e.level = 1")
    assert [one.id for one in over_bolt(stores, [TREES])] == [TREES, SENDS]
    assert element_ids(stores) == before
    assert_correct(stores)
    with pytest.raises(NotFoundError, match="S9"):
        rebuild(stores, ["S9"])


def test_a_rebuild_of_an_empty_store_only_creates_the_ownership_record(
    engine: Engine, graph: Graph
) -> None:
    """The record is the only node. If it is missing, a graph with other nodes is refused."""
    empty = Stores(engine, graph, BATCH)
    assert verify(empty) == []
    assert counts(graph) == (0, 0)
    assert over_bolt(empty) == []
    assert counts(graph) == (1, 0)
    graph.write("MATCH (s:Store) DELETE s CREATE (:Person)")
    with pytest.raises(OwnershipError, match="belongs to another program"):
        verify(empty)


def test_an_emptied_graph_is_rebuilt(stores: Stores) -> None:
    """Before the rebuild, an ingest of another topology marks the missing artifacts as lost."""
    stores.graph.write("MATCH (n) DETACH DELETE n")
    ingest(stores, plan("S3"))
    assert states(stores) == {"S3": "complete", "S4": "failed", TREES: "failed", SENDS: "failed"}
    # A rebuild finds the lost artifacts by this stored text.
    assert error_of(stores, "forest", TREES) == LOST == "it is no longer in the graph store"
    assert Problem(TREES, f"the forest is missing: {LOST}") in verify(stores)
    assert {one.id for one in over_bolt(stores)} == {"S3", *S4}
    assert verify(stores, checksums=True) == []
    assert states(stores) == dict.fromkeys(("S3", *S4), "complete")


def test_an_ingest_deletes_an_incomplete_topology_and_its_artifacts(stores: Stores) -> None:
    """Rows of the artifacts cannot stay in PostgreSQL without the rows of the topology."""
    with open_session(stores.engine) as session:
        session.get_one(models.Materialization, ("topology", "S4")).state = "loading"
        session.commit()
    ingest(stores, plan("S3"))
    assert states(stores) == {"S3": "complete"}
    assert verify(stores, checksums=True) == []
    ingest(stores, PLAN)
    assert verify(stores, checksums=True) == []


@pytest.mark.parametrize("is_marked", [False, True], ids=["complete", "failed"])
def test_rebuilding_a_schedule_also_rebuilds_its_missing_topology_and_forest(
    stores: Stores, is_marked: bool
) -> None:
    """The graph is emptied. In the case `failed`, another ingest then records the loss."""
    stores.graph.write("MATCH (n) DETACH DELETE n")
    if is_marked:
        ingest(stores, plan("S3"))
        with pytest.raises(RejectedError) as caught:
            check_artifact(stores, "schedule", SENDS)
        assert caught.value.hint == f"run 'starcast graph rebuild {SENDS}'"
    assert [one.id for one in over_bolt(stores, [SENDS])] == list(S4)
    if is_marked:
        drop(stores, "topology", "S3")
    assert_correct(stores)


def test_artifacts_of_unknown_networks_are_deleted(stores: Stores) -> None:
    """The graph has such artifacts if PostgreSQL was restored from an older backup."""
    stores.graph.write(
        "CREATE (:Forest {id: 'old-abc123:x:0', state: 'complete'})"
        "-[:ON]->(:Topology {spec: 'old-abc123', state: 'complete'}), "
        "(:Node {key: 5, topology: 'old-abc123'})-[:LINK {topology: 'old-abc123'}]->"
        "(:Node {key: 6, topology: 'old-abc123'})"
    )
    assert len(verify(stores)) > 0
    over_bolt(stores, [TREES])
    assert_correct(stores)


def test_a_refused_rebuild_by_import_deletes_nothing(stores: Stores) -> None:
    with pytest.raises(InputError, match="only with the embedded Neo4j"):
        rebuild(stores, method=LoadMethod.IMPORT, replace=True)
    assert_correct(stores)


def test_an_ingest_creates_the_artifacts_that_an_interrupted_rebuild_has_deleted(
    stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rebuild stops after deleting the nodes; the next ingest creates all artifacts again."""

    def delete_rows(graph: Graph, cypher: str, *given: Any) -> int:
        if "(n:Topology)" in cypher:
            raise PowerCut
        return repeat(graph, cypher, *given)

    repeat = writer._repeat
    monkeypatch.setattr(writer, "_repeat", delete_rows)
    with pytest.raises(PowerCut):
        over_bolt(stores, replace=True)
    monkeypatch.undo()
    assert len(ingest(stores, PLAN).created) == len(S4)
    assert_correct(stores)


def error_of(stores: Stores, kind: str, artifact_id: str) -> str | None:
    """Return the error that PostgreSQL records for an artifact."""
    with open_session(stores.engine) as session:
        return session.get_one(models.Materialization, (kind, artifact_id)).error


#: For each phase of a rebuild, the number of a progress report during that phase, counted from the
#: start of the rebuild. The phases, in this order, have 14, 7, 12, 3, 6, 12 and 18 reports: one for
#: each deleted batch of ten rows or written batch of ten nodes. Relationships within a half of the
#: nodes are written in pairs of batches, with one report per pair. Relationships between the halves
#: are written in batches of two rows.
BREAKS = {
    "delete sends": 3,
    "delete edges": 18,
    "delete nodes": 28,
    "write nodes": 35,
    "write links": 39,
    "write edges": 48,
    "write sends": 60,
}


def breaking(place: str, error: type[BaseException] = PowerCut) -> Reporter:
    """Return a reporter that raises an error in the given phase."""
    return Countdown(BREAKS[place], Mock(side_effect=error))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("place", "error"),
    [
        *((place, PowerCut) for place in BREAKS),
        ("delete nodes", KeyboardInterrupt),
        ("write edges", KeyboardInterrupt),
    ],
    ids=str,
)
def test_an_interrupted_rebuild_is_finished_by_the_next_rebuild(
    few: Stores, place: str, error: type[BaseException]
) -> None:
    """No incomplete artifact is marked complete, and the next rebuild restores all artifacts."""
    with pytest.raises(error):
        over_bolt(few, reporter=breaking(place, error))
    only_verified_is_complete(few)
    assert set(states(few)) == set(S4)
    assert set(states(few).values()) != {"complete"}
    over_bolt(few)
    assert_correct(few)
    assert not any(error_of(few, artifact.kind, artifact.id) for artifact in PLAN.artifacts)


@pytest.mark.slow
def test_an_ingest_works_after_an_interrupted_rebuild(few: Stores) -> None:
    """The ingest creates the requested artifacts; the other artifacts remain recorded as failed."""
    with pytest.raises(PowerCut):
        over_bolt(few, reporter=breaking("write edges"))
    assert states(few) == {"S4": "complete", TREES: "loading", SENDS: "failed"}
    ingest(few, plan("S4"))
    assert states(few) == {"S4": "complete", TREES: "failed", SENDS: "failed"}
    assert error_of(few, "forest", TREES) == error_of(few, "schedule", SENDS) == REBUILDING
    ingest(few, PLAN)
    assert_correct(few)


def test_a_rebuild_keeps_nodes_of_other_programs_even_with_discard_foreign(stores: Stores) -> None:
    """The nodes have a foreign label, no label, or the label `Node` without its properties."""
    stores.graph.write(
        "CREATE (:Person {name: 'x'})-[:KNOWS]->(:Person {name: 'y'}), ({name: 'z'}), "
        "(:Node {name: 'w'})"
    )
    over_bolt(stores, discard_foreign=True)
    assert {
        row["name"]
        for row in stores.graph.read("MATCH (n) WHERE n.name IS NOT NULL RETURN n.name AS name")
    } == {*"wxyz"}
    assert len(stores.graph.read("MATCH (:Person)-[r:KNOWS]->(:Person) RETURN r")) == 1
    stores.graph.write("MATCH (n) WHERE n.name IN ['w', 'x', 'y', 'z'] DETACH DELETE n")
    assert_correct(stores)


@pytest.mark.slow
def test_foreign_relationships_are_deleted_only_with_discard_foreign(stores: Stores) -> None:
    """Only recreating their nodes deletes such relationships; a rebuild of trees keeps them."""
    stores.graph.write("MATCH (n:Node {rank: 3}) CREATE (:Person)-[:LIKES]->(n)")
    before = counts(stores.graph)
    with pytest.raises(
        RejectedError, match="would delete data of other programs: 1 relationship of the type LIKES"
    ) as caught:
        over_bolt(stores)
    assert "`discard_foreign`" in caught.value.hint
    assert counts(stores.graph) == before
    over_bolt(stores, [TREES])
    assert counts(stores.graph) == before
    over_bolt(stores, discard_foreign=True)
    assert counts(stores.graph) == (before[0], before[1] - 1)
    stores.graph.write("MATCH (n:Person) DELETE n")
    assert_correct(stores)


@pytest.mark.slow
@pytest.mark.parametrize("edit", ["DETACH DELETE s", "SET s.id = 'x'", "REMOVE s.schema"])
def test_a_changed_ownership_record_is_repaired_only_on_the_embedded_server(
    stores: Stores, stack_settings: Settings, edit: str
) -> None:
    """Embedded stores belong to one home, and PostgreSQL knows all artifacts, so a repair is safe.

    On a server that the user runs, the hint contains the Cypher statement that repairs the record.
    """
    stores.graph.write(f"MATCH (s:Store) {edit}")
    before = counts(stores.graph)
    with pytest.raises(OwnershipError) as caught:
        over_bolt(stores)
    assert counts(stores.graph) == before
    for statement in caught.value.hint.partition("in Neo4j: ")[2].split("; "):
        stores.graph.write(statement)
    assert_correct(stores)
    stores.graph.write(f"MATCH (s:Store) {edit}")
    over_bolt(replace(stores, embedded=stack_settings))
    assert_correct(stores)


@pytest.mark.parametrize(
    "edit",
    [
        "MATCH (s:Store) SET s.schema = 99",
        "MATCH (s:Store) DELETE s CREATE (:Topology {spec: 'S3'})",
    ],
)
def test_a_foreign_embedded_graph_is_refused(
    stores: Stores, stack_settings: Settings, edit: str
) -> None:
    """The graph was written by a newer starcast, or has artifacts unknown to PostgreSQL."""
    stores.graph.write(edit)
    before = counts(stores.graph)
    with pytest.raises(OwnershipError):
        over_bolt(replace(stores, embedded=stack_settings))
    assert counts(stores.graph) == before


def test_impossible_rebuild_requests_are_refused(stores: Stores) -> None:
    """The request needs an embedded server, the stores are locked, or an artifact is incomplete."""
    with pytest.raises(InputError, match="only with the embedded Neo4j"):
        rebuild(stores, method=LoadMethod.IMPORT)
    with lock_stores(stores, False, Silent()), pytest.raises(BusyError):
        over_bolt(stores)
    with pytest.raises(KeyboardInterrupt):
        ingest(stores, plan("S3"), on_stage=Mock(side_effect=KeyboardInterrupt))
    with pytest.raises(RejectedError, match="S3 is not complete, so it cannot be rebuilt"):
        over_bolt(stores, ["S3"])
    drop(stores, "topology", "S3")
    assert_correct(stores)


#: Statements that give the graph schema 1: Topology.name, SEND.payload and the old constraint.
SCHEMA_1 = (
    "DROP CONSTRAINT starcast_topology_spec",
    "CREATE CONSTRAINT starcast_topology_name FOR (n:Topology) REQUIRE (n.name) IS UNIQUE",
    "MATCH (t:Topology) SET t.name = t.spec REMOVE t.spec",
    "MATCH ()-[s:SEND]->() SET s.payload = s.unit REMOVE s.unit",
    "MATCH (s:Store) SET s.schema = 1",
)


def assert_current(stores: Stores) -> None:
    """Check that no constraint or property of schema 1 is left."""
    assert_correct(stores)
    names = {row["name"] for row in stores.graph.read("SHOW INDEXES YIELD name RETURN name")}
    assert "starcast_topology_name" not in names
    assert "starcast_topology_spec" in names
    old = "MATCH ()-[s:SEND]->() WHERE s.payload IS NOT NULL RETURN count(s) AS n"
    assert stores.graph.read(old) == [{"n": 0}]


@pytest.mark.slow
def test_a_graph_of_schema_1_is_refused_and_rebuilt(stores: Stores) -> None:
    """`ingest`, `drop`, `verify` and `check_artifact` refuse the graph and name the rebuild.

    A rebuild of one artifact rebuilds the entire graph.
    """
    for statement in SCHEMA_1:
        stores.graph.write(statement)
    for operation in (
        lambda: ingest(stores, PLAN),
        lambda: drop(stores, "schedule", SENDS),
        lambda: verify(stores),
        lambda: check_artifact(stores, "forest", TREES),
    ):
        with pytest.raises(OutdatedSchemaError, match="has schema 1") as caught:
            operation()
        assert "starcast graph rebuild" in caught.value.hint
    assert [one.id for one in over_bolt(stores, [SENDS])] == list(S4)
    assert_current(stores)


@pytest.mark.slow
@pytest.mark.parametrize("place", ["delete edges", "write nodes"])
def test_an_interrupted_rebuild_of_schema_1_continues(few: Stores, place: str) -> None:
    """The graph keeps its old version until all its content has been deleted."""
    for statement in SCHEMA_1:
        few.graph.write(statement)
    with pytest.raises(PowerCut):
        over_bolt(few, reporter=breaking(place))
    if place == "delete edges":
        with pytest.raises(OutdatedSchemaError):
            ingest(few, PLAN)
    over_bolt(few)
    assert_current(few)
