"""Graph verification: scope, samples and skips. For manual edits see `test_graph_edits.py`."""

from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import select

from starcast.ingest import Stores, drop, ingest
from starcast.ingest.rebuilding import rebuild
from starcast.ingest.verification import Sample, verify
from starcast.queries.execution import operator_name, plan_operators
from starcast.stores.database import models
from starcast.stores.database.sessions import open_session
from starcast.stores.graph import audit, reader
from starcast.stores.graph.connection import Graph, QueryResult
from starcast.stores.graph.schema import first_key
from starcast.stores.graph.writer import BoltWriter
from starcast.support.errors import NotFoundError
from starcast.support.vocabulary import LoadMethod
from starcast.topologies import topology
from starcast.trees import forest
from support.checks import assert_stored, described
from support.plans import GREEDY, LARGER, SENDS, TREES, plan
from support.recorder import Recorder


@pytest.fixture
def stored(stores: Stores) -> Stores:
    """PostgreSQL and Neo4j with S4, its forests `multiple` and `greedy`, and a broadcast."""
    ingest(stores, LARGER)
    return stores


#: A statement that changes the level of an edge, which makes the greedy tree differ.
LEVEL = (
    "MATCH ()-[e:TREE_EDGE {forest: 'S4:greedy:1234', level: 1}]->() WITH e LIMIT 1 SET e.level = 3"
)


@pytest.mark.slow
def test_a_deleted_node_is_reported_in_every_artifact(stored: Stores) -> None:
    """The problems name all wrong counts and checksums, and the first missing rows."""
    stored.graph.write("MATCH (n:Node {label: '4321'}) DETACH DELETE n")
    numbers = [
        "the store: Node occurs 23 times; expected 24",
        "the store: LINK occurs 33 times; expected 36",
        "the store: TREE_EDGE occurs 85 times; expected 92",
        "the store: SEND occurs 126 times; expected 138",
    ]
    assert described(verify(stored, sample=Sample(1, seed=1)))[:4] == numbers
    lines = described(verify(stored, checksums=True))
    differing = [
        f"{name}: its rows in the graph differ from those of the newly built artifact"
        for name in ("S4", GREEDY, TREES, SENDS)
    ]
    assert set(numbers) | set(differing) <= set(lines)
    assert "S4: the key, rank, label, title, is_switch or topology of node 4321 differs" in lines
    missing = [line for line in lines if line.startswith("S4: LINK ")]
    assert len(missing) == 3
    assert all("-4321 (port " in line and line.endswith("is missing") for line in missing)
    assert f"{SENDS}: 9 more rows differ" in lines
    # An ingest does not repair the graph, since it trusts the states in PostgreSQL.
    assert ingest(stored, LARGER).created == []
    rebuild(stored, ["S4"], LoadMethod.BOLT)
    assert verify(stored, checksums=True) == []
    assert_stored(stored, LARGER)


@pytest.mark.slow
def test_a_changed_key_is_described(stored: Stores) -> None:
    """Keys identify the ends of relationships, so the relationships of the node differ too."""
    stored.graph.write("MATCH (n:Node {label: '4321'}) SET n.key = 7")
    lines = described(verify(stored))
    assert "S4: the key, rank, label, title, is_switch or topology of node 4321 differs" in lines
    assert any("to the key 7 (" in line for line in lines)


@pytest.mark.slow
def test_a_duplicate_artifact_node_is_repaired(stored: Stores) -> None:
    """A rebuild deletes both nodes, and recreates the constraint that prevents duplicates."""
    stored.graph.write("DROP CONSTRAINT starcast_forest_id")
    try:
        stored.graph.write("CREATE (:Forest {id: $key})", {"key": GREEDY})
        assert described(verify(stored)) == [
            "the store: the constraint starcast_forest_id on Forest(id) is missing",
            "the store: Forest occurs 3 times; expected 2",
            f"{GREEDY}: 2 nodes (:Forest) exist instead of one",
        ]
        rebuild(stored, [GREEDY], LoadMethod.BOLT)
        assert verify(stored, checksums=True) == []
        assert_stored(stored, LARGER)
    finally:
        stored.graph.write("MATCH (f:Forest) DETACH DELETE f")
        BoltWriter(stored.graph, 1).prepare()


@pytest.mark.slow
def test_a_sample_depends_on_the_seed_and_detects_changed_values_only_at_its_nodes(
    stored: Stores,
) -> None:
    """All rows at sampled nodes are compared. Changed values at other nodes are not detected."""
    topology = LARGER.artifacts[0].topology
    drawn = Sample(4, seed=7).ranks(topology)
    assert drawn.tolist() == Sample(4, seed=7).ranks(topology).tolist()
    assert drawn.tolist() != Sample(4, seed=8).ranks(topology).tolist()
    inside = int(drawn[0])
    others = set(range(topology.nodes)) - set(drawn.tolist())
    outside = next(
        rank for rank in others if not set(drawn) & set(topology.table()[:, rank].tolist())
    )
    stored.graph.write("MATCH (n:Node {rank: $rank}) SET n.label = 'x'", {"rank": outside})
    stored.graph.write("MATCH (n:Node {rank: $rank})-[r]-() SET r.port = 9", {"rank": outside})
    assert verify(stored, sample=Sample(4, seed=7)) == []
    stored.graph.write("MATCH (n:Node {rank: $rank}) SET n.label = 'x'", {"rank": inside})
    label = topology.label(inside)
    named = f"S4: the key, rank, label, title, is_switch or topology of node {label} differs"
    assert described(verify(stored, sample=Sample(4, seed=7))) == [named]
    stored.graph.write(
        f"MATCH (a:Node {{rank: $rank}})-[e:TREE_EDGE {{forest: '{GREEDY}'}}]-() DELETE e",
        {"rank": inside},
    )
    lines = described(verify(stored, sample=Sample(4, seed=7)))
    gone = [line for line in lines if line.endswith("is missing")]
    parents = forest(topology, "greedy").parents()
    assert len(gone) == (parents == inside).sum() + (parents[:, inside] >= 0).sum()
    assert all(label in line for line in gone)


@pytest.mark.slow
@pytest.mark.parametrize("whole_store", [True, False])
def test_verification_of_a_sample_describes_edited_rows_and_artifact_nodes(
    stored: Stores, whole_store: bool
) -> None:
    """The edits concern links, tree edges and sends at sampled nodes, and artifact nodes."""
    topology = LARGER.artifacts[0].topology
    rank = int(Sample(1, seed=3).ranks(topology)[0])
    label = topology.label(rank)
    for name in ("LINK", "TREE_EDGE", "SEND"):
        stored.graph.write(
            f"MATCH (:Node {{rank: $rank}})-[r:{name}]-() WITH r LIMIT 1 SET r.port = '9'",
            {"rank": rank},
        )
    stored.graph.write("MATCH (f:Forest {id: $key}) SET f.height = 99", {"key": GREEDY})
    lines = described(verify(stored, [] if whole_store else ["S4"], Sample(1, seed=3)))
    additional = [line for line in lines if "port '9'" in line]
    assert len(additional) == 3
    assert all(
        label in line and line.endswith("is not in the newly built artifact") for line in additional
    )
    assert len([line for line in lines if label in line and line.endswith("is missing")]) == 3
    height = forest("S4", "greedy").height
    assert f"{GREEDY}: (:Forest) has height 99, not {height}" in lines
    assert len(lines) == 7


@pytest.mark.slow
def test_verifying_a_sample_reads_only_the_sampled_nodes(stores: Stores) -> None:
    """The number of records read depends on the degree, not on the size of the topology."""
    profiled = ProfiledGraph(stores.graph)
    hits = []
    for spec in ("S4", "S6"):
        ingest(stores, plan(spec, "greedy", "greedy"))
        profiled.hits = 0
        assert verify(replace(stores, graph=profiled), [spec], Sample(2, seed=1)) == []
        hits.append(profiled.hits)
        drop(stores, "topology", spec, cascade=True)
    degrees = (3, 5)
    assert hits[1] < hits[0] * degrees[1] / degrees[0] * 1.5
    assert hits[1] < plan("S6").artifacts[0].nodes


def test_sampled_nodes_are_looked_up_by_key_even_in_a_tiny_graph(stores: Stores) -> None:
    """In a tiny graph the planner prefers a scan, and would keep that plan as the graph grows."""
    ingest(stores, plan("S2", "greedy", "greedy"))
    profiled = ProfiledGraph(stores.graph)
    reader.read_around(profiled, [first_key(topology("S2"))])
    assert "NodeUniqueIndexSeek" in profiled.operators
    assert not [name for name in profiled.operators if name.endswith("Scan")]


def test_row_counts_of_artifacts_include_orphaned_relationships(stored: Stores) -> None:
    """The orphans are a link of S4 at a node of S3, and an edge of a forest that does not exist."""
    ingest(stored, plan("S3"))
    stored.graph.write(
        "MATCH (n:Node {topology: 'S3', rank: 0}) CREATE (n)-[:LINK {topology: 'S4', port: 2}]->(n)"
    )
    stored.graph.write(
        "MATCH (n:Node {topology: 'S3', rank: 0}) "
        "CREATE (n)-[:TREE_EDGE {forest: 'none', tree: 0}]->(n)"
    )
    actual = reader.read_all_contents(stored.graph)
    assert actual["topology", "S4"].relationships == 37
    assert actual["forest", "none"].relationships == 1
    assert len(actual) == len(LARGER.artifacts) + 2


class ProfiledGraph(Graph):
    """A graph connection that counts the server's record accesses and collects plan operators."""

    def __init__(self, graph: Graph) -> None:
        self.__dict__.update(graph.__dict__)
        self.hits = 0
        self.operators: set[str] = set()

    def run(self, cypher: str, *arguments: Any, **options: Any) -> QueryResult:
        """Profile the statement, and record its accesses and operators."""
        if cypher.startswith("SHOW"):
            return super().run(cypher, *arguments, **options)
        result = super().run(f"PROFILE {cypher}", *arguments, **options)
        assert result.plan is not None
        for operator in plan_operators(result.plan):
            self.hits += int(operator["args"].get("DbHits", 0))
            self.operators.add(operator_name(operator))
        return result


def test_verification_can_be_restricted_to_given_ids(stored: Stores) -> None:
    """Only the named artifacts and their dependents are verified; an unknown id is refused."""
    stored.graph.write(LEVEL)
    stored.graph.write("CREATE (:Person)-[:KNOWS]->(:Person)")
    assert verify(stored, [TREES]) == []
    assert {problem.artifact for problem in verify(stored, ["S4"])} == {GREEDY}
    assert {problem.artifact for problem in verify(stored, [GREEDY, TREES])} == {GREEDY}
    with pytest.raises(NotFoundError, match="S4:greddy:1234") as caught:
        verify(stored, ["S4:greddy:1234"])
    assert GREEDY in caught.value.hint


@pytest.mark.slow
@pytest.mark.parametrize(
    ("declared", "on", "indexed"),
    [
        ("INDEX starcast_node_topology_label", "Node(topology, label)", ""),
        ("INDEX starcast_tree_edge_forest_tree", "TREE_EDGE(forest, tree)", ""),
        ("CONSTRAINT starcast_node_key", "Node(key)", ""),
        ("INDEX starcast_node_topology_label", "Node(topology, label)", "title"),
        ("CONSTRAINT starcast_node_key", "Node(key)", "key"),
    ],
)
def test_a_missing_or_wrong_index_is_described_and_recreated(
    stored: Stores, declared: str, on: str, indexed: str
) -> None:
    """Any rebuild creates the index again, even if another index has its name."""
    name = declared.split()[1]
    try:
        stored.graph.write(f"DROP {declared}")
        problem = f"the {declared.lower()} on {on} is missing"
        if indexed:
            stored.graph.write(f"CREATE INDEX {name} FOR (n:Node) ON (n.{indexed})")
            problem = (
                f"the {declared.lower()} on {on} differs from the schema: it is on "
                f"Node({indexed}), not unique and online"
            )
        assert [one.problem for one in verify(stored)] == [problem]
        assert [one.problem for one in verify(stored, ["S4"])] == [problem]
        rebuild(stored, [GREEDY], LoadMethod.BOLT)
        assert verify(stored, checksums=True) == []
        assert_stored(stored, LARGER)
    finally:  # restore the schema, since all tests share this server
        audit.drop_wrong_indexes(stored.graph)
        BoltWriter(stored.graph, 1).prepare()


def test_the_constraint_of_an_earlier_version_serves_as_the_index(stored: Stores) -> None:
    """A store with the constraint instead of the index can be used and need not be rebuilt."""
    name = "starcast_node_topology_rank"
    stored.graph.write(f"DROP INDEX {name}")
    stored.graph.write(
        f"CREATE CONSTRAINT {name} FOR (n:Node) REQUIRE (n.topology, n.rank) IS UNIQUE"
    )
    try:
        BoltWriter(stored.graph, 1).prepare()
        assert verify(stored) == []
        audit.drop_wrong_indexes(stored.graph)
        assert audit.find_index_faults(stored.graph) == []
    finally:
        stored.graph.write(f"DROP CONSTRAINT {name}")
        BoltWriter(stored.graph, 1).prepare()


@pytest.mark.parametrize(("state", "faults"), [("POPULATING", 0), ("FAILED", 1)])
def test_an_index_that_is_still_being_filled_is_accepted(
    stores: Stores, monkeypatch: pytest.MonkeyPatch, state: str, faults: int
) -> None:
    """After an import, the server fills the indexes while the store is in use."""
    BoltWriter(stores.graph, 1).prepare()
    read = Graph.read

    def read_with_state(*arguments: Any) -> list[dict[str, Any]]:
        rows = read(*arguments)
        for row in rows:
            if row.get("name") == "starcast_tree_edge_forest_tree":
                row["state"] = state
        return rows

    monkeypatch.setattr(Graph, "read", read_with_state)
    assert len(audit.find_index_faults(stores.graph)) == faults


def test_a_forest_that_differs_in_postgresql_is_described(stored: Stores) -> None:
    """Stored trees and recorded checksums are compared with newly generated trees."""
    with open_session(stored.engine) as session:
        session.get_one(models.Materialization, ("forest", GREEDY)).expected_checksum = "0-1"
        first_two = models.Tree.forest == TREES, models.Tree.number < 2
        tree, other = session.scalars(select(models.Tree).where(*first_two))
        tree.parent_port, other.parent_port = other.parent_port, tree.parent_port
    swapped = (
        f"{TREES}: the trees in PostgreSQL differ from those that 'multiple' builds; to store the "
        "latter, drop the forest and ingest it again"
    )
    assert described(verify(stored)) == [swapped]
    assert described(verify(stored, checksums=True)) == [
        (
            f"{GREEDY}: the checksum recorded in PostgreSQL differs from that of the newly built "
            "artifact"
        ),
        swapped,
    ]


def test_an_incomplete_artifact_is_skipped(stored: Stores) -> None:
    """The artifact is reported as skipped, since an ingest may be working on it."""
    stored.graph.write(LEVEL)
    stored.graph.write("MATCH (f:Forest {id: $key}) SET f.state = 'loading'", {"key": GREEDY})
    with open_session(stored.engine) as session:
        session.get_one(models.Materialization, ("forest", GREEDY)).state = "loading"
    recorder = Recorder()
    assert verify(stored, reporter=recorder) == []
    assert f"skipped {GREEDY}: it is loading, not complete" in recorder.lines


def test_an_artifact_that_changes_during_verification_is_skipped(stored: Stores) -> None:
    """Verification holds no lock. An artifact dropped in the meantime is reported as skipped."""

    class DroppingRecorder(Recorder):
        def say(self, text: str) -> None:
            super().say(text)
            if text.startswith("computing"):
                drop(stored, "forest", GREEDY)

    recorder = DroppingRecorder()
    assert verify(stored, reporter=recorder, checksums=True) == []
    assert f"skipped {GREEDY}: changed during the verification; verify it again" in recorder.lines
