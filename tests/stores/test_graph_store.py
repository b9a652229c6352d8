"""Writing over Bolt and reading back S4 and S5; manual edits are detected."""

import numpy as np
import pytest

from starcast.collectives import schedule
from starcast.judges.simulator import simulate
from starcast.stores.graph import deletion, reader, rows
from starcast.stores.graph.artifacts import graph_artifact
from starcast.stores.graph.connection import Graph
from starcast.stores.graph.deletion import delete_artifact
from starcast.stores.graph.schema import FOREST, TOPOLOGY, TREE_EDGE, first_key
from starcast.stores.graph.writer import BoltWriter, refresh_plans
from starcast.support.errors import NotFoundError, RejectedError
from starcast.support.progress import Silent
from starcast.topologies import Topology, topology
from starcast.trees import Forest, forest
from support import readback
from support.checks import check_nodes, check_relationships, counts, same_rows


class Counting:
    """A progress task that adds up its advances."""

    def __init__(self) -> None:
        self.done = 0

    def advance(self, amount: int = 1) -> None:
        """Add the amount to the total."""
        self.done += amount


def write(bolt: BoltWriter, structure: Topology | Forest) -> None:
    """Write a topology or a forest, and the node that describes it."""
    artifact = graph_artifact(structure)
    bolt.begin(artifact)
    with Silent().task("", 0) as task:
        if isinstance(structure, Topology):
            bolt.write_nodes(structure, task)
        bolt.write_relationships(artifact.rows, task)
    bolt.finish(artifact)


@pytest.fixture
def s4(bolt: BoltWriter) -> Topology:
    """S4 in the graph."""
    network = topology("S4")
    write(bolt, network)
    return network


@pytest.fixture
def trees(bolt: BoltWriter, s4: Topology) -> Forest:
    """The multiple trees of S4 with root 3142, in the graph."""
    built_forest = forest(s4, "multiple", "3142")
    write(bolt, built_forest)
    return built_forest


def test_nodes_have_key_topology_rank_and_label(graph: Graph, s4: Topology) -> None:
    """All 24 nodes of S4 are compared."""
    expected = {
        (first_key(s4) + rank, "S4", rank, label) for rank, label in enumerate(s4.labels().tolist())
    }
    assert check_nodes(graph, "Node", ("key", "topology", "rank", "label")) == expected
    assert readback.read_labels(graph, s4) == s4.labels().tolist()


def test_links_are_stored_once_and_lead_to_the_higher_rank(graph: Graph, s4: Topology) -> None:
    """The 36 links of S4 are compared with the definition."""
    expected = sorted(
        (rank, int(other), "S4", port)
        for port in s4.ports
        for rank, other in enumerate(s4.neighbours(port))
        if rank < other
    )
    assert check_relationships(graph, "LINK", "rank", ("topology", "port")) == expected


def test_the_topology_node_has_all_properties(graph: Graph, s4: Topology) -> None:
    """The node has every declared property, and its state is complete."""
    (row,) = graph.read("MATCH (t:Topology) RETURN properties(t) AS properties")
    values = ("S4", "star", 4, 24, 36, 3, 4, [0, 0, 2, 3, 4], "complete")
    names = (name for name in TOPOLOGY.names if name != "k")
    assert row["properties"] == dict(zip(names, values, strict=True))
    [node] = reader.read_artifact_nodes(graph)["topology", "S4"]
    assert reader.find_node_differences(graph_artifact(s4), [node]) == []


def test_a_forest_is_read_back_unchanged(graph: Graph, trees: Forest) -> None:
    """The forest passes verification and has the same id."""
    actual = readback.read_forest(graph, trees.id)
    assert np.array_equal(actual.parent_port, trees.parent_port)
    assert (actual.id, actual.root, actual.spanning) == (trees.id, trees.root, True)
    actual.verify()
    expected = {(trees.id, "S4", "multiple", "", trees.root, 3, trees.height, 2, "complete")}
    assert check_nodes(graph, "Forest", FOREST.names) == expected
    assert graph.read("MATCH (f:Forest)-[:ON]->(t:Topology) RETURN f.id AS f, t.spec AS t") == [
        {"f": trees.id, "t": "S4"}
    ]


@pytest.mark.parametrize("ports", ["all", "one"])
def test_a_schedule_is_read_back_unchanged(
    graph: Graph, bolt: BoltWriter, trees: Forest, ports: str
) -> None:
    """The rows and parameters read back suffice to simulate the schedule again."""
    original = schedule("S4", "broadcast", "multiple", ports, root="3142", segments=3)
    bolt.begin(graph_artifact(original))
    with Silent().task("", 0) as task:
        bolt.write_relationships(graph_artifact(original).rows, task)
    actual = readback.read_schedule(graph, original.id)
    assert (actual.id, actual.units, actual.packets) == (
        original.id,
        original.units,
        original.packets,
    )
    assert simulate(actual).complete
    assert simulate(actual).violation is None
    assert same_rows(graph_artifact(actual).rows, graph_artifact(original).rows)
    assert graph.read("MATCH (s:Schedule)-[:USES]->(f) RETURN f.id AS f") == [{"f": trees.id}]
    assert (
        reader.read_content(graph, "schedule", original.id, trees.topology)
        == graph_artifact(original).content
    )


@pytest.mark.parametrize("batch", [1, 7, 24, 1000])
def test_the_batch_size_does_not_change_the_result(
    graph: Graph, bolt: BoltWriter, batch: int
) -> None:
    """A batch may end between rows with the same start node. Every row advances the progress."""
    bolt.prepare()
    network, writer, task = topology("S3"), BoltWriter(graph, batch), Counting()
    writer.begin(graph_artifact(network))
    writer.write_nodes(network, task)
    writer.write_relationships(graph_artifact(network).rows, task)
    assert task.done == network.nodes + network.links
    assert reader.read_content(graph, "topology", "S3", network) == graph_artifact(network).content


def test_results_do_not_depend_on_the_page_size(
    graph: Graph, bolt: BoltWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counts, checksums and arrays are equal for all page sizes."""
    network = topology("S5")
    built_forest = forest(network, "greedy")
    write(bolt, network)
    write(bolt, built_forest)
    monkeypatch.setattr(reader, "pages", lambda network, size=7: _small_pages(network, size))
    assert reader.read_content(graph, "topology", "S5", network) == graph_artifact(network).content
    assert (
        reader.read_content(graph, "forest", built_forest.id, network)
        == graph_artifact(built_forest).content
    )
    assert np.array_equal(
        readback.read_forest(graph, built_forest.id).parent_port, built_forest.parent_port
    )


def _small_pages(topology: Topology, size: int) -> list[dict[str, int]]:
    first = first_key(topology)
    return [
        {"low": first + r, "high": first + min(r + size, topology.nodes)}
        for r in range(0, topology.nodes, size)
    ]


EDITS = {
    "a missing relationship": (
        "MATCH ()-[r:TREE_EDGE {tree: 1, level: 2}]->() WITH r LIMIT 1 DELETE r"
    ),
    "a relationship is doubled": (
        "MATCH (a)-[r:TREE_EDGE]->(b) WITH a, r, b LIMIT 1 "
        "CREATE (a)-[s:TREE_EDGE]->(b) SET s = properties(r)"
    ),
    "a port is edited": "MATCH ()-[r:TREE_EDGE {port: 2}]->() WITH r LIMIT 1 SET r.port = 3",
    "a level is edited": "MATCH ()-[r:TREE_EDGE {level: 1}]->() WITH r LIMIT 1 SET r.level = 2",
    "a tree is edited": "MATCH ()-[r:TREE_EDGE {tree: 0}]->() WITH r LIMIT 1 SET r.tree = 1",
    "a property is gone": "MATCH ()-[r:TREE_EDGE {tree: 0}]->() WITH r LIMIT 1 REMOVE r.port",
    "a property more": "MATCH ()-[r:TREE_EDGE {tree: 0}]->() WITH r LIMIT 1 SET r.colour = 1",
    "another type": "MATCH ()-[r:TREE_EDGE {tree: 0}]->() WITH r LIMIT 1 SET r.port = '2'",
    "a relationship is moved": (
        "MATCH (a)-[r:TREE_EDGE]->(b) WITH a, r, b ORDER BY a.rank, b.rank LIMIT 1 "
        "MATCH (c:Node {rank: (b.rank + 1) % 24}) "
        "CREATE (a)-[s:TREE_EDGE]->(c) SET s = properties(r) DELETE r"
    ),
    "a relationship is turned round": (
        "MATCH (a)-[r:TREE_EDGE]->(b) WITH a, r, b LIMIT 1 "
        "CREATE (b)-[s:TREE_EDGE]->(a) SET s = properties(r) DELETE r"
    ),
    "two relationships exchange their ends": (
        "MATCH (a)-[r:TREE_EDGE {tree: 0, level: 2}]->(b) WITH a, r, b LIMIT 1 "
        "MATCH (c)-[s:TREE_EDGE {tree: 0, level: 3}]->(d) WITH a, r, b, c, s, d LIMIT 1 "
        "CREATE (a)-[x:TREE_EDGE]->(d) SET x = properties(r) "
        "CREATE (c)-[y:TREE_EDGE]->(b) SET y = properties(s) DELETE r, s"
    ),
    "a relationship of another forest": (
        "MATCH ()-[r:TREE_EDGE]->() WITH r LIMIT 1 SET r.forest = 'S4:greedy:1234'"
    ),
}


NODE_EDITS = {
    "a label is edited": "MATCH (n:Node {rank: 3}) SET n.label = '1423'",
    "a rank is edited": "MATCH (n:Node {rank: 3}) SET n.rank = 99",
    "two labels are exchanged": (
        "MATCH (a:Node {rank: 3}), (b:Node {rank: 4}) WITH a, b, a.label AS x, b.label AS y "
        "SET a.label = y, b.label = x"
    ),
    "a node is gone": "MATCH (n:Node {rank: 3}) DETACH DELETE n",
    "a node has another topology": "MATCH (n:Node {rank: 3}) SET n.topology = 'S5'",
    "a link has another port": "MATCH ()-[r:LINK]->() WITH r LIMIT 1 SET r.port = r.port % 3 + 2",
}


@pytest.mark.parametrize("edit", [*EDITS, *NODE_EDITS])
def test_an_edit_changes_the_content(graph: Graph, trees: Forest, edit: str) -> None:
    """After any edit, the server's counts or checksums differ from those of the arrays."""
    structure = trees if edit in EDITS else trees.topology
    artifact = graph_artifact(structure)

    def content() -> rows.Content:
        return reader.read_content(graph, artifact.kind, artifact.id, trees.topology)

    assert content() == artifact.content
    statement = (EDITS | NODE_EDITS)[edit]
    assert graph.write(f"{statement} RETURN count(*) AS edits") == [{"edits": 1}]
    assert content() != artifact.content


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
    """Properties are compared one by one."""
    graph.write(f"MATCH (f:Forest) {edit}")
    nodes = reader.read_artifact_nodes(graph, ["forest"], trees.id).get(("forest", trees.id), [])
    assert reader.find_node_differences(graph_artifact(trees), nodes) == words


def test_a_relationship_without_an_end_is_refused(
    graph: Graph, bolt: BoltWriter, s4: Topology
) -> None:
    """MATCH would skip such rows silently, therefore the rows of a batch are counted."""
    graph.write("MATCH (n:Node {rank: 5}) DETACH DELETE n")
    with pytest.raises(RejectedError, match="lack a node at one end"):
        write(bolt, forest(s4, "greedy"))


def test_a_forest_without_its_topology_is_refused(bolt: BoltWriter) -> None:
    """Otherwise the forest's node would have no parent node."""
    with pytest.raises(RejectedError, match="depends on S4, which is not in the graph"):
        bolt.begin(graph_artifact(forest("S4", "greedy")))


@pytest.mark.parametrize("batch", [1, 5, 1000])
def test_deletion_deletes_exactly_one_artifact(
    graph: Graph, bolt: BoltWriter, trees: Forest, batch: int
) -> None:
    """The other forest, its topology and another topology are unchanged."""
    network = trees.topology
    other, task = forest(network, "greedy"), Counting()
    write(bolt, other)
    write(bolt, topology("S3"))
    before = counts(graph)
    delete_artifact(graph, "forest", trees.id, network, batch, task)
    assert task.done == 3 * 23
    assert counts(graph) == (before[0] - 1, before[1] - 3 * 23 - 1)
    assert reader.read_content(graph, "forest", other.id, network) == graph_artifact(other).content
    delete_artifact(graph, "forest", other.id, network, batch, task)
    delete_artifact(graph, "topology", "S4", network, batch, task)
    assert check_nodes(graph, "Node", ("topology",)) == {("S3",)}
    assert check_nodes(graph, "Topology", ("spec",)) == {("S3",)}
    delete_artifact(graph, "topology", "S4", network, batch, task)


def test_an_absent_artifact_is_not_found(graph: Graph) -> None:
    """Reading an absent forest or schedule raises NotFoundError."""
    with pytest.raises(NotFoundError, match="S4:greedy:1234"):
        readback.read_forest(graph, "S4:greedy:1234")
    with pytest.raises(NotFoundError, match="no schedule"):
        readback.read_schedule(graph, "S4:broadcast:greedy:all:segments=1:1234")


def test_refreshed_query_plans_use_the_index(graph: Graph, trees: Forest) -> None:
    """Without a refresh, the planner does not know the new tree edges and scans all edges."""
    refresh_plans(graph)
    condition = "n.forest = $forest AND n.tree >= 0"
    counting = f"MATCH ()-[n:TREE_EDGE WHERE {condition}]->() RETURN count(n) AS edges"
    for statement in (counting, deletion._delete(TREE_EDGE, condition)):
        plan = graph.run(f"EXPLAIN {statement}", {"forest": trees.id, "batch": 1}).plan
        while plan is not None and "children" in plan:
            (plan,) = plan["children"]
        assert plan is not None
        assert plan["operatorType"].startswith("DirectedRelationshipIndexSeek")
        assert plan["args"]["EstimatedRows"] > 0
