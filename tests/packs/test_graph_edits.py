"""Manual edits of the graph are detected, and a rebuild repairs those of starcast's own data."""

from collections.abc import Iterator

import pytest
from neo4j import Driver
from sqlalchemy import URL

from starcast.ingest import LoadMethod, Stores, ingest
from starcast.ingest.both_stores import open_engine
from starcast.ingest.rebuilding import rebuild
from starcast.ingest.verification import check_artifact, verify
from starcast.stores import GraphAddress
from starcast.stores.database import migrations
from starcast.stores.graph.connection import Graph
from starcast.support.errors import RejectedError
from starcast.support.progress import Silent
from support.checks import assert_stored, described
from support.fix_servers import empty, new_database
from support.plans import GREEDY, LARGER, SENDS, TREES

STORE = "the store"
DIFFERENT = "its rows in the graph differ from those of the newly built artifact"


@pytest.fixture(scope="module")
def stored_before(
    graph_address: GraphAddress, graph_driver: Driver, store_url: URL
) -> Iterator[Stores]:
    """PostgreSQL and Neo4j with S4, its forests `multiple` and `greedy`, and a broadcast."""
    empty(graph_address, graph_driver)
    with (
        new_database(store_url) as url,
        open_engine(url) as engine,
        Graph.open(graph_address) as graph,
    ):
        migrations.upgrade(engine, Silent())
        stores = Stores(engine, graph, 1000)
        ingest(stores, LARGER)
        yield stores
    empty(graph_address, graph_driver)


@pytest.fixture
def stores(stored_before: Stores) -> Stores:
    """The stores of `stored_before`; the graph is rebuilt if the previous test changed it."""
    if verify(stored_before, checksums=True):
        stored_before.graph.write("MATCH (n) DETACH DELETE n")
        rebuild(stored_before, method=LoadMethod.BOLT)
    return stored_before


_LABELS = "MATCH (a:Node {label: '1234'}), (b:Node {label: '2134'})"
_TREE = f"{_LABELS} MATCH (a)-[e:TREE_EDGE {{forest: '{GREEDY}'}}]->(b)"
_SEND = f"{_LABELS} MATCH (a)-[s:SEND]->(b) WITH a, s, b ORDER BY s.step, s.unit LIMIT 1"

#: Edits of rows and nodes, which change the count or the checksum of each named artifact.
ROW_EDITS = {
    "a label": ("MATCH (n:Node {rank: 3}) SET n.label = '1423x'", {"S4"}),
    "a key": ("MATCH (n:Node {label: '4321'}) SET n.key = 7", {"S4", GREEDY, TREES, SENDS}),
    "a rank": ("MATCH (n:Node {rank: 3}) SET n.rank = 99", {"S4"}),
    "a topology": ("MATCH (n:Node {rank: 3}) SET n.topology = 'S5'", {"S4", "S5"}),
    "a label of another type": ("MATCH (n:Node {rank: 3}) SET n.label = 1342", {"S4"}),
    "two labels are exchanged": (
        (
            "MATCH (a:Node {rank: 3}), (b:Node {rank: 4}) WITH a, b, a.label AS x, b.label AS y "
            "SET a.label = y, b.label = x"
        ),
        {"S4"},
    ),
    "an additional property of a node": ("MATCH (n:Node {rank: 3}) SET n.colour = 'red'", {"S4"}),
    "a link is gone": (f"{_LABELS} MATCH (a)-[r:LINK]-(b) DELETE r", {"S4"}),
    "an additional link": (
        (
            "MATCH (a:Node {label: '1234'}), (b:Node {label: '2143'}) "
            "CREATE (a)-[:LINK {topology: 'S4', port: 2}]->(b)"
        ),
        {"S4"},
    ),
    "a duplicate link": (
        f"{_LABELS} MATCH (a)-[r:LINK]->(b) CREATE (a)-[s:LINK]->(b) SET s = properties(r)",
        {"S4"},
    ),
    "a port of a link": (f"{_LABELS} MATCH (a)-[r:LINK]->(b) SET r.port = 3", {"S4"}),
    "a level": (f"{_TREE} SET e.level = 3", {GREEDY}),
    "a tree and a port": (f"{_TREE} SET e.tree = 1, e.port = 4", {GREEDY}),
    "a port of another type": (f"{_TREE} SET e.port = '2'", {GREEDY}),
    "a duplicate edge": (
        f"{_TREE} CREATE (a)-[x:TREE_EDGE]->(b) SET x = properties(e)",
        {GREEDY},
    ),
    "an edge to another node": (
        (
            f"{_TREE} MATCH (c:Node {{label: '4321'}}) "
            "CREATE (a)-[x:TREE_EDGE]->(c) SET x = properties(e) DELETE e"
        ),
        {GREEDY},
    ),
    "two edges exchange their ends": (
        (
            f"MATCH (a)-[e:TREE_EDGE {{forest: '{TREES}', tree: 0, level: 2}}]->(b) "
            "WITH a, e, b LIMIT 1 "
            f"MATCH (c)-[f:TREE_EDGE {{forest: '{TREES}', tree: 0, level: 3}}]->(d) "
            "WITH a, e, b, c, f, d LIMIT 1 CREATE (a)-[x:TREE_EDGE]->(d) SET x = properties(e) "
            "CREATE (c)-[y:TREE_EDGE]->(b) SET y = properties(f) DELETE e, f"
        ),
        {TREES},
    ),
    "a reversed edge": (
        f"{_TREE} CREATE (b)-[x:TREE_EDGE]->(a) SET x = properties(e) DELETE e",
        {GREEDY},
    ),
    "an edge of a forest that does not exist": (
        (
            f"{_TREE} CREATE (a)-[:TREE_EDGE "
            "{forest: 'S4:mine:1234', tree: 0, level: 1, port: 2}]->(b)"
        ),
        {"S4:mine:1234"},
    ),
    "an edge belongs to another forest": (f"{_TREE} SET e.forest = '{TREES}'", {GREEDY, TREES}),
    "an edge without a port": (f"{_TREE} REMOVE e.port", {GREEDY}),
    "the size of a subtree": (f"{_TREE} SET e.subtree_nodes = e.subtree_nodes + 1", {GREEDY}),
    "an edge without a tree": (f"{_TREE} REMOVE e.tree", {GREEDY}),
    "an additional property of an edge": (f"{_TREE} SET e.colour = 'red'", {GREEDY}),
    "a step": (f"{_SEND} SET s.step = 7", {SENDS}),
    "a send is gone": (f"{_SEND} DELETE s", {SENDS}),
}
#: Edits of artifact nodes and of the node :Store, and rows that belong to no artifact.
OTHER_EDITS = {
    "a new node": ("CREATE (:Node {key: 5, topology: 'S4', rank: 24, label: '4444'})", {"S4"}),
    "more orphan nodes than one batch deletes": (
        "UNWIND range(1, 2500) AS i CREATE (:Node {key: -i, topology: 'S9', rank: i, label: '44'})",
        {"S9"},
    ),
    "a node without a topology": ("MATCH (n:Node {rank: 3}) REMOVE n.topology", {STORE, "S4"}),
    "an edge without a forest": (f"{_TREE} REMOVE e.forest", {STORE, GREEDY}),
    "a property of a forest": (f"MATCH (f:Forest {{id: '{GREEDY}'}}) SET f.height = 9", {GREEDY}),
    "a forest's topology": (f"MATCH (f:Forest {{id: '{GREEDY}'}}) SET f.topology = 'S5'", {GREEDY}),
    "a property of a forest of another type": (
        f"MATCH (f:Forest {{id: '{GREEDY}'}}) SET f.trees = 1.0",
        {GREEDY},
    ),
    "an additional property of a topology": ("MATCH (t:Topology) SET t.colour = 'red'", {"S4"}),
    "a property of a schedule is gone": ("MATCH (s:Schedule) REMOVE s.ports", {SENDS}),
    "a state": ("MATCH (t:Topology) SET t.state = 'loading'", {"S4"}),
    "a forest's parent": (f"MATCH (f:Forest {{id: '{GREEDY}'}})-[r:ON]->() DELETE r", {GREEDY}),
    "a forest's node is gone": (f"MATCH (f:Forest {{id: '{GREEDY}'}}) DETACH DELETE f", {GREEDY}),
    "an additional forest": (
        (
            "MATCH (t:Topology) "
            "CREATE (:Forest {id: 'S4:mine:1234', topology: 'S4', state: 'complete'})-[:ON]->(t)"
        ),
        {"S4:mine:1234"},
    ),
    "a relationship of another type": (
        "MATCH (a:Node {rank: 0}), (b:Node {rank: 1}) CREATE (a)-[:`KNOWS OF`]->(b)",
        {STORE},
    ),
    "an additional label of a node": ("MATCH (n:Node {rank: 3}) SET n:Marked", {STORE}),
    "an additional property of the store's node": ("MATCH (s:Store) SET s.colour = 1", {STORE}),
}
#: Edits whose repair is not tested here: data of other programs, which only the user may delete,
#: and edits of the ownership record, which tests/packs/test_graph_rebuild.py repairs.
NOT_REPAIRED = {
    "a foreign node with a label of starcast": ("CREATE (:Node {name: 'x'})", {STORE}),
    "a malformed id": ("CREATE (:Topology {spec: 'mine'})", {"mine"}),
    "nodes of another program": ("CREATE (:Person {name: 'x'})-[:KNOWS]->(:Person)", {STORE}),
    "a node without a label": ("CREATE ({name: 'x'})", {STORE}),
    "the store's node is gone": ("MATCH (s:Store) DELETE s", {STORE}),
    "the store's id": ("MATCH (s:Store) SET s.id = 'x'", {STORE}),
    "everything is gone": ("MATCH (n) DETACH DELETE n", {STORE, "S4", GREEDY, TREES, SENDS}),
}
EDITS = ROW_EDITS | OTHER_EDITS | NOT_REPAIRED


@pytest.mark.parametrize("name", EDITS)
def test_a_manual_edit_is_detected_and_repaired(stores: Stores, name: str) -> None:
    """Verification names the artifacts that differ, and a rebuild repairs them.

    Edited rows are found by `verify`, which scans the entire store, and by `check_artifact`, which
    reads one artifact in pages.
    """
    cypher, artifacts = EDITS[name]
    stores.graph.write(cypher)
    problems = verify(stores, checksums=True)
    assert artifacts <= {problem.artifact for problem in problems}, described(problems)
    if name in ROW_EDITS:
        texts = {(problem.artifact, problem.problem) for problem in problems}
        for artifact in LARGER.artifacts:
            if artifact.id in artifacts:
                assert (artifact.id, DIFFERENT) in texts
                with pytest.raises(RejectedError, match="the graph contains"):
                    check_artifact(stores, artifact.kind, artifact.id)
    if name not in NOT_REPAIRED:
        rebuild(stores, method=LoadMethod.BOLT, discard_foreign=True)
        assert described(verify(stores, checksums=True)) == []


def test_the_repaired_graph_equals_newly_built_arrays(stores: Stores) -> None:
    """After all edits and repairs, every array read back equals a newly built one."""
    assert_stored(stores, LARGER)
