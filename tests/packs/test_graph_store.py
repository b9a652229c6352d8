"""The graph store: pairing with a database, and writing and deleting artifacts over Bolt."""

import uuid
from functools import partial
from threading import Barrier

import numpy as np
import pytest

from starcast.stores.graph import audit, reader, writer
from starcast.stores.graph.artifacts import graph_artifact
from starcast.stores.graph.audit import OutdatedSchemaError, check_ownership, pair, read_owner
from starcast.stores.graph.connection import Graph
from starcast.stores.graph.schema import STORE, TOPOLOGY, TREE_EDGE, VERSION
from starcast.stores.graph.writer import BoltWriter, refresh_plans
from starcast.support.errors import RejectedError, UnavailableError
from starcast.topologies import Topology, topology
from starcast.trees import Forest, forest
from support import readback
from support.checks import check_nodes, counts
from support.packs.stored_data import write

OURS, OTHER = uuid.UUID(int=1), uuid.UUID(int=2)


#: The fixture `bolt` creates the constraints, as any ingest does.
pytestmark = pytest.mark.usefixtures("bolt")


def test_a_graph_can_be_paired_with_the_same_database_again(graph: Graph) -> None:
    """A second call finds the graph already paired with the database."""
    pair(graph, OURS)
    pair(graph, OURS)
    assert check_nodes(graph, "Store", ("id", "schema")) == {(str(OURS), VERSION)}
    check_ownership(graph, OURS)


def test_checking_an_empty_graph_does_not_pair_it_with_a_database(graph: Graph) -> None:
    """The check reports the graph as empty."""
    assert read_owner(graph) is None
    with pytest.raises(UnavailableError, match="is empty"):
        check_ownership(graph, OURS)
    assert counts(graph) == (0, 0)


@pytest.mark.parametrize(
    ("theirs", "named"),
    [
        ("CREATE (:Person {name: 'Ada'})-[:KNOWS]->(:Person:Author)", ":Author, :Person"),
        ("CREATE (:Node {rank: 0}), (:Topology {spec: 'mine'})", ":Node, :Topology"),
        ("CREATE ({name: 'nobody'})", "nodes without a label"),
        ("CREATE (:Store {name: 'a shop', id: 7})", ":Store"),
    ],
)
def test_a_foreign_graph_is_refused_and_not_changed(graph: Graph, theirs: str, named: str) -> None:
    """The error names the labels of the graph, even if they equal labels of starcast."""
    graph.write(theirs)
    before = counts(graph)
    for function in (pair, check_ownership):
        with pytest.raises(UnavailableError, match="belongs to another program") as caught:
            function(graph, OURS)
        assert named in caught.value.message
        assert "a separate Neo4j database" in caught.value.hint
    assert counts(graph) == before


def test_a_graph_of_another_database_is_refused(graph: Graph) -> None:
    """The error names both ids and the settings to check, even if the schema is older."""
    pair(graph, OTHER)
    for version in (VERSION, 1):
        graph.write("MATCH (s:Store) SET s.schema = $version", {"version": version})
        with pytest.raises(UnavailableError, match="another PostgreSQL database") as caught:
            pair(graph, OURS)
        assert str(OURS) in caught.value.message
        assert str(OTHER) in caught.value.message
        assert "STARCAST_POSTGRES_URI" in caught.value.hint
    assert check_nodes(graph, "Store", ("id",)) == {(str(OTHER),)}


@pytest.mark.parametrize(
    ("version", "hint"),
    [(99, "update starcast"), (1, "starcast graph rebuild"), (0, "starcast graph rebuild")],
)
def test_a_graph_of_another_schema_version_is_refused(
    graph: Graph, version: int, hint: str
) -> None:
    """A newer schema requires a newer starcast. A graph with an older schema can be rebuilt."""
    pair(graph, OURS)
    graph.write("MATCH (s:Store) SET s.schema = $version", {"version": version})
    with pytest.raises(UnavailableError, match=f"has schema {version}") as caught:
        pair(graph, OURS)
    assert hint in caught.value.hint
    assert isinstance(caught.value, OutdatedSchemaError) == (version < VERSION)


def test_only_one_of_several_databases_can_be_paired_with_a_new_graph(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Several databases find a new graph empty at the same time, before it has constraints."""
    for index in STORE.indexes:
        graph.write(f"DROP CONSTRAINT {index.name}")
    stores = [uuid.UUID(int=number) for number in range(1, 5)]
    all_found_it_empty = Barrier(len(stores))
    check_empty = audit._check_empty

    def check_and_wait(graph: Graph) -> None:
        check_empty(graph)
        all_found_it_empty.wait(timeout=60)

    monkeypatch.setattr(audit, "_check_empty", check_and_wait)
    with graph.concurrent(len(stores)) as pool:
        pairings = [pool.submit(pair, graph, store) for store in stores]
    errors = [error for result in pairings if (error := result.exception())]
    assert len(errors) == len(stores) - 1
    assert all("another PostgreSQL database" in str(error) for error in errors)
    assert len(check_nodes(graph, "Store", ("id", "schema"))) == 1


@pytest.fixture
def s4(bolt: BoltWriter) -> Topology:
    """The topology S4, which has been written to the graph."""
    network = topology("S4")
    write(bolt, network)
    return network


@pytest.fixture
def trees(bolt: BoltWriter, s4: Topology) -> Forest:
    """The forest `multiple` of S4 with root 3142, which has been written to the graph."""
    built_forest = forest(s4, "multiple", "3142")
    write(bolt, built_forest)
    return built_forest


def test_the_node_of_a_topology_has_all_declared_properties(graph: Graph, s4: Topology) -> None:
    """The node has every declared property but `k`, which only (n,k)-star graphs have."""
    (row,) = graph.read("MATCH (t:Topology) RETURN properties(t) AS properties")
    source = "Akers & Krishnamurthy 1989"
    values = ("S4", "star", 4, 24, 24, 36, 3, 4, True, source, [0, 0, 2, 3, 4], "complete")
    names = (name for name in TOPOLOGY.names if name != "k")
    assert row["properties"] == dict(zip(names, values, strict=True))
    [node] = reader.read_artifact_nodes(graph)["topology", "S4"]
    assert reader.find_node_differences(graph_artifact(s4), [node]) == []


@pytest.mark.parametrize("batch", [1, 7, 24, 1000])
def test_the_batch_size_does_not_change_the_stored_rows(
    graph: Graph, bolt: BoltWriter, batch: int
) -> None:
    """A batch may end between rows with the same start node. The reported progress is complete."""
    bolt.prepare()
    network, writer, written = topology("S3"), BoltWriter(graph, batch), list[int]()
    writer.begin(graph_artifact(network))
    writer.write(graph_artifact(network), written.append)
    assert sum(written) == network.nodes + network.links
    assert reader.read_content(graph, "topology", "S3", network) == graph_artifact(network).content


def test_artifacts_that_are_read_in_pages_do_not_depend_on_the_page_size(
    graph: Graph, bolt: BoltWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a page size of 7, counts, checksums and arrays equal those of the built artifacts."""
    network = topology("S5")
    built_forest = forest(network, "greedy")
    write(bolt, network)
    write(bolt, built_forest)
    monkeypatch.setattr(reader, "pages", partial(reader.pages, size=7))
    assert reader.read_content(graph, "topology", "S5", network) == graph_artifact(network).content
    assert (
        reader.read_content(graph, "forest", built_forest.id, network)
        == graph_artifact(built_forest).content
    )
    assert np.array_equal(
        readback.read_forest(graph, built_forest.id).parent_port, built_forest.parent_port
    )


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        ("SET f.height = 99", ["(:Forest) has height 99, not 8"]),
        ("SET f.trees = 3.0", ["(:Forest) has trees 3.0, not 3"]),
        ("REMOVE f.root", ["(:Forest) has root None, not 13"]),
        ("SET f.colour = 'red'", ["(:Forest) has colour red, not None"]),
        (
            "WITH f MATCH (f)-[r:ON]->() DELETE r",
            ["(:Forest) depends on [], not on [('ON', 'S4')]"],
        ),
        ("DETACH DELETE f", ["no node (:Forest) exists"]),
    ],
)
def test_an_edit_of_an_artifact_node_is_described(
    graph: Graph, trees: Forest, edit: str, words: list[str]
) -> None:
    """The description names each property, relationship or node that differs."""
    graph.write(f"MATCH (f:Forest) {edit}")
    nodes = reader.read_artifact_nodes(graph, trees.id).get(("forest", trees.id), [])
    assert reader.find_node_differences(graph_artifact(trees), nodes) == words


def test_a_relationship_without_an_end_node_is_refused(
    graph: Graph, bolt: BoltWriter, s4: Topology
) -> None:
    """MATCH would silently skip such a row, so the written rows of a batch are counted."""
    graph.write("MATCH (n:Node {rank: 5}) DETACH DELETE n")
    with pytest.raises(RejectedError, match="lack a node at one end"):
        write(bolt, forest(s4, "greedy"))


def test_a_forest_without_its_topology_is_refused(bolt: BoltWriter) -> None:
    """Otherwise the forest's node would have no parent node."""
    with pytest.raises(RejectedError, match="depends on S4, which is not in the graph"):
        bolt.begin(graph_artifact(forest("S4", "greedy")))


def test_refreshed_query_plans_use_the_index(graph: Graph, trees: Forest) -> None:
    """Without a refresh, the planner does not know the new tree edges and scans all edges."""
    refresh_plans(graph)
    condition = "n.forest = $forest AND n.tree >= 0"
    counting = f"MATCH ()-[n:TREE_EDGE WHERE {condition}]->() RETURN count(n) AS edges"
    for statement in (counting, writer._delete(TREE_EDGE, condition)):
        plan = graph.run(f"EXPLAIN {statement}", {"forest": trees.id, "batch": 1}).plan
        while plan is not None and "children" in plan:
            (plan,) = plan["children"]
        assert plan is not None
        assert plan["operatorType"].startswith("DirectedRelationshipIndexSeek")
        assert plan["args"]["EstimatedRows"] > 0
