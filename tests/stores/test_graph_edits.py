"""Every manual edit of the graph is described, and following the advice repairs it."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import pytest
from neo4j import Driver
from sqlalchemy import URL

from starcast.database import migrations, sessions
from starcast.graph.address import GraphAddress
from starcast.graph.audit import REBUILD, Problem
from starcast.graph.connection import Graph
from starcast.ingest import LoadMethod, Stores, ingest
from starcast.ingest.ingestion import RebuildRequest, rebuild
from starcast.ingest.row_comparison import Depth
from starcast.ingest.verification import verify
from starcast.progress import Silent
from support.checks import assert_stored, described, match_once
from support.fix_servers import empty, new_database
from support.plans import plan

ALL = Depth(all_rows=True)
TREES, GREEDY, SENDS = (
    "S4:multiple:1234",
    "S4:greedy:1234",
    "S4:broadcast:multiple:all:segments=2:1234",
)
STORE = "the store"
WHAT = plan("S4", "greedy", "multiple", segments=2)


@pytest.fixture(scope="module")
def stored_before(
    graph_address: GraphAddress, graph_driver: Driver, store_url: URL
) -> Iterator[Stores]:
    """S4 with the multiple trees, the greedy tree and a broadcast, stored."""
    empty(graph_address, graph_driver)
    with new_database(store_url) as url, Graph.open(graph_address) as graph:
        engine = sessions.connect(url)
        migrations.upgrade(engine, Silent())
        stores = Stores(engine, graph, 1000)
        ingest(stores, WHAT)
        yield stores
        engine.dispose()
    empty(graph_address, graph_driver)


@pytest.fixture
def stores(stored_before: Stores) -> Stores:
    """The same, rebuilt if the previous test failed."""
    if verify(stored_before):
        stored_before.graph.write("MATCH (n) DETACH DELETE n")
        rebuild(stored_before, RebuildRequest(method=LoadMethod.BOLT))
    return stored_before


class Edit(NamedTuple):
    """A manual edit, and the beginnings of the expected descriptions.

    ``counted`` are the lines of counts and checksums, ``named`` those of the rows.
    """

    cypher: str
    counted: Sequence[str]
    named: Sequence[str] = ()


_ALL_OF_NODE = "key (INTEGER), topology (STRING), rank (INTEGER), label (STRING)"
_LABELS = "MATCH (a:Node {label: '1234'}), (b:Node {label: '2134'})"
_TREE = f"{_LABELS} MATCH (a)-[e:TREE_EDGE {{forest: '{GREEDY}'}}]->(b)"
_SEND = f"{_LABELS} MATCH (a)-[s:SEND]->(b) WITH a, s, b ORDER BY s.step, s.unit LIMIT 1"

EDITS = {
    "a label": Edit(
        "MATCH (n:Node {rank: 3}) SET n.label = '1423x'",
        ["S4: its nodes differ from those of the generator"],
        ["S4: the node 1342: label 1423x, not 1342"],
    ),
    "a rank": Edit(
        "MATCH (n:Node {rank: 3}) SET n.rank = 99",
        ["S4: its nodes differ from those of the generator"],
        ["S4: the node 1342: rank 99, not 3"],
    ),
    "a topology": Edit(
        "MATCH (n:Node {rank: 3}) SET n.topology = 'S5'",
        ["S4: it has 23 nodes, not 24", "S5: 1 node of a topology that does not exist"],
        ["S4: the node 1342: topology S5, not S4"],
    ),
    "a label of another type": Edit(
        "MATCH (n:Node {rank: 3}) SET n.label = 1342",
        [
            "S4: 1 Node without a valid label (STRING)",
            "S4: its rows cannot be summed: a property is missing or has another type",
        ],
        ["S4: the node 1342: label 1342, not 1342"],
    ),
    "a node more": Edit(
        "CREATE (:Node {key: 5, topology: 'S4', rank: 24, label: '4444'})",
        ["S4: it has 25 nodes, not 24"],
        ["S4: unexpected node in S4: key 5, rank 24, label 4444"],
    ),
    "a node of no topology": Edit(
        "CREATE (:Node {key: 5, topology: 'S9', rank: 24, label: '4444'})",
        ["S9: 1 node of a topology that does not exist"],
    ),
    "a foreign node with a label of starcast": Edit(
        "CREATE (:Node {name: 'x'})",
        [f"{STORE}: 1 Node without a valid {_ALL_OF_NODE} and with the additional property name"],
    ),
    "a node without a topology": Edit(
        "MATCH (n:Node {rank: 3}) REMOVE n.topology",
        [f"{STORE}: 1 Node without a valid topology (STRING)", "S4: it has 23 nodes, not 24"],
        ["S4: the node 1342: no topology, not S4"],
    ),
    "a property of a node more": Edit(
        "MATCH (n:Node {rank: 3}) SET n.colour = 'red'",
        ["S4: 1 Node with the additional property colour"],
    ),
    "a link is gone": Edit(
        f"{_LABELS} MATCH (a)-[r:LINK]-(b) DELETE r",
        ["S4: it has 35 links, not 36"],
        ["S4: LINK 1234-2134 is missing"],
    ),
    "a link more": Edit(
        "MATCH (a:Node {label: '1234'}), (b:Node {label: '2143'}) "
        "CREATE (a)-[:LINK {topology: 'S4', port: 2}]->(b)",
        ["S4: it has 37 links, not 36"],
        ["S4: LINK 1234-2143 is unexpected"],
    ),
    "a duplicate link": Edit(
        f"{_LABELS} MATCH (a)-[r:LINK]->(b) CREATE (a)-[s:LINK]->(b) SET s = properties(r)",
        ["S4: it has 37 links, not 36"],
        ["S4: LINK 1234-2134 is duplicated"],
    ),
    "a port of a link": Edit(
        f"{_LABELS} MATCH (a)-[r:LINK]->(b) SET r.port = 3",
        ["S4: its links differ from those of the generator"],
        ["S4: LINK 1234-2134: port 3, not 2"],
    ),
    "a level": Edit(
        f"{_TREE} SET e.level = 3",
        [f"{GREEDY}: its tree edges differ from those of the generator"],
        [f"{GREEDY}: TREE_EDGE of tree 0 from 1234 to 2134: level 3, not 1"],
    ),
    "a tree and a port": Edit(
        f"{_TREE} SET e.tree = 1, e.port = 4",
        [f"{GREEDY}: its tree edges differ from those of the generator"],
        [f"{GREEDY}: TREE_EDGE from 1234 to 2134: tree 1, not 0, port 4, not 2"],
    ),
    "a reversed edge": Edit(
        f"{_TREE} CREATE (b)-[x:TREE_EDGE]->(a) SET x = properties(e) DELETE e",
        [f"{GREEDY}: its tree edges differ from those of the generator"],
        [
            f"{GREEDY}: TREE_EDGE of tree 0 from 1234 to 2134 is missing",
            f"{GREEDY}: TREE_EDGE of tree 0 from 2134 to 1234 is unexpected",
        ],
    ),
    "an edge of a forest that does not exist": Edit(
        f"{_TREE} CREATE (a)-[:TREE_EDGE "
        "{forest: 'S4:mine:1234', tree: 0, level: 1, port: 2}]->(b)",
        ["S4:mine:1234: 1 TREE_EDGE of a forest that does not exist"],
    ),
    "an edge belongs to another forest": Edit(
        f"{_TREE} SET e.forest = '{TREES}'",
        [f"{GREEDY}: it has 22 tree edges, not 23", f"{TREES}: it has 70 tree edges, not 69"],
        [
            f"{GREEDY}: TREE_EDGE of tree 0 from 1234 to 2134 is missing",
            f"{TREES}: TREE_EDGE of tree 0 from 1234 to 2134 is duplicated",
        ],
    ),
    "an edge without a port": Edit(
        f"{_TREE} REMOVE e.port",
        [
            f"{GREEDY}: 1 TREE_EDGE without a valid port (INTEGER)",
            f"{GREEDY}: its tree edges differ from those of the generator",
        ],
        [f"{GREEDY}: TREE_EDGE of tree 0 from 1234 to 2134: port not an integer, not 2"],
    ),
    "an edge without a tree": Edit(
        f"{_TREE} REMOVE e.tree",
        [
            f"{GREEDY}: 1 TREE_EDGE without a valid tree (INTEGER)",
            f"{GREEDY}: its tree edges differ from those of the generator",
        ],
        [f"{GREEDY}: TREE_EDGE of tree 0 from 1234 to 2134 is missing"],
    ),
    "an edge without a forest": Edit(
        f"{_TREE} REMOVE e.forest",
        [
            f"{STORE}: 1 TREE_EDGE without a valid forest (STRING)",
            f"{GREEDY}: it has 22 tree edges, not 23",
        ],
        [f"{GREEDY}: TREE_EDGE of tree 0 from 1234 to 2134 is missing"],
    ),
    "a property of an edge more": Edit(
        f"{_TREE} SET e.colour = 'red'",
        [f"{GREEDY}: 1 TREE_EDGE with the additional property colour"],
    ),
    "a step": Edit(
        f"{_SEND} SET s.step = 7",
        [f"{SENDS}: its sends differ from those of the generator"],
        [f"{SENDS}: SEND of tree 0, unit 0 from 1234 to 2134: step 7, not 1"],
    ),
    "a send is gone": Edit(
        f"{_SEND} DELETE s",
        [f"{SENDS}: it has 137 sends, not 138"],
        [f"{SENDS}: SEND of step 1, tree 0, unit 0 from 1234 to 2134 is missing"],
    ),
    "a property of a forest": Edit(
        f"MATCH (f:Forest {{id: '{GREEDY}'}}) SET f.height = 9",
        [f"{GREEDY}: (:Forest) has height 9, not 4"],
    ),
    "a forest's topology": Edit(
        f"MATCH (f:Forest {{id: '{GREEDY}'}}) SET f.topology = 'S5'",
        [f"{GREEDY}: (:Forest) has topology S5, not S4"],
    ),
    "a property of a forest of another type": Edit(
        f"MATCH (f:Forest {{id: '{GREEDY}'}}) SET f.trees = 1.0",
        [f"{GREEDY}: (:Forest) has trees 1.0, not 1"],
    ),
    "a property of a topology more": Edit(
        "MATCH (t:Topology) SET t.colour = 'red'",
        ["S4: (:Topology) has the additional property colour"],
    ),
    "a property of a schedule is gone": Edit(
        "MATCH (s:Schedule) REMOVE s.ports", [f"{SENDS}: (:Schedule) has no ports"]
    ),
    "a state": Edit(
        "MATCH (t:Topology) SET t.state = 'loading'",
        ["S4: (:Topology) has state loading, not complete"],
    ),
    "a forest's parent": Edit(
        f"MATCH (f:Forest {{id: '{GREEDY}'}})-[r:ON]->() DELETE r",
        [f"{GREEDY}: (:Forest) depends on another artifact"],
    ),
    "a forest's node is gone": Edit(
        f"MATCH (f:Forest {{id: '{GREEDY}'}}) DETACH DELETE f",
        [f"{GREEDY}: no node (:Forest)"],
    ),
    "a forest more": Edit(
        "MATCH (t:Topology) "
        "CREATE (:Forest {id: 'S4:mine:1234', topology: 'S4', state: 'complete'})-[:ON]->(t)",
        ["S4:mine:1234: the graph has a forest that PostgreSQL does not know"],
    ),
    "a malformed id": Edit(
        "CREATE (:Topology {spec: 'mine'})",
        ["mine: the graph has a topology that PostgreSQL does not know"],
    ),
    "a relationship of another type": Edit(
        "MATCH (a:Node {rank: 0}), (b:Node {rank: 1}) CREATE (a)-[:`KNOWS OF`]->(b)",
        [f"{STORE}: 1 relationship has the type KNOWS OF, which is not starcast's"],
    ),
    "another label of a node": Edit(
        "MATCH (n:Node {rank: 3}) SET n:Marked",
        [f"{STORE}: 1 node Node has the additional label :`Marked`"],
    ),
    "nodes of another program": Edit(
        "CREATE (:Person {name: 'x'})-[:KNOWS]->(:Person)",
        [
            f"{STORE}: 2 nodes have the labels Person, which are not starcast's",
            f"{STORE}: 1 relationship has the type KNOWS, which is not starcast's",
        ],
    ),
    "a node without a label": Edit("CREATE ({name: 'x'})", [f"{STORE}: 1 node has no label"]),
    "the store's node is gone": Edit("MATCH (s:Store) DELETE s", [f"{STORE}: no node (:Store)"]),
    "the store's id": Edit("MATCH (s:Store) SET s.id = 'x'", [f"{STORE}: (:Store) has id x, not"]),
    "the store's node more": Edit(
        "MATCH (s:Store) SET s.colour = 1",
        [f"{STORE}: (:Store) has the additional property colour"],
    ),
    "everything is gone": Edit(
        "MATCH (n) DETACH DELETE n",
        [
            f"{STORE}: no node (:Store)",
            *(
                f"{artifact_id}: it is not in the graph"
                for artifact_id in ("S4", GREEDY, TREES, SENDS)
            ),
        ],
    ),
}


def follow_advice(stores: Stores, problems: Sequence[Problem]) -> None:
    """Do what the advice of the problems says."""
    commands = set()
    for problem in problems:
        command, _, cypher = problem.advice.partition("in Neo4j: ")
        for statement in filter(None, cypher.split("; ")):
            stores.graph.write(statement)
        commands.add(command.partition(";")[0])
    names = {
        command.removeprefix(REBUILD).strip(" '")
        for command in commands
        if command.startswith(REBUILD)
    }
    if names:
        rebuild(stores, RebuildRequest([] if "" in names else sorted(names), LoadMethod.BOLT))


@pytest.mark.parametrize("name", EDITS, ids=str)
def test_a_manual_edit_is_described_and_repaired(stores: Stores, name: str) -> None:
    """Counts and checksums show the artifact, rows the row; after the advice nothing differs."""
    edit = EDITS[name]
    stores.graph.write(edit.cypher)
    problems = verify(stores, depth=ALL)
    assert match_once(described(problems), [*edit.counted, *edit.named]), described(problems)
    follow_advice(stores, problems)
    assert described(verify(stores, depth=ALL)) == []


def test_the_repaired_graph_is_the_stored_graph(stores: Stores) -> None:
    """After all edits every array equals a newly built one."""
    assert_stored(stores, WHAT)
