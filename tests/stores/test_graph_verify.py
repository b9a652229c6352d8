"""What somebody's hand changed in the graph is named, each edit in one line, and a rebuild mends it."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import pytest
from sqlalchemy import select

from checks import assert_stored
from starcast.errors import NotFoundError
from starcast.graph import indexes
from starcast.graph.audit import Finding
from starcast.graph.identity import NotOursError
from starcast.graph.writer import make_indexes
from starcast.ingest import Plan, Stores, drop, ingest, plan
from starcast.ingest.comparison import NAMED, Depth
from starcast.ingest.rebuild import Order, rebuild
from starcast.ingest.verify import verify
from starcast.ingest.ways import Way
from starcast.progress import Silent
from starcast.runs import models
from starcast.runs.database import session
from starcast.trees import Forest, forest

ALL = Depth(whole=True)
TREES, GREEDY, SENDS = "S4:multiple:1234", "S4:greedy:1234", "S4:broadcast:multiple:all:segments=2:1234"
STORE = "the store"


@pytest.fixture
def stores(stores: Stores) -> Stores:
    """Both stores, with batches as they are in use: batches are tested elsewhere."""
    return replace(stores, batch=1000)


@pytest.fixture
def what(stores: Stores) -> Plan:
    """S4 with the multiple trees, the greedy tree and a broadcast, stored."""
    wanted = plan("S4", "greedy", "multiple", segments=2)
    ingest(stores, wanted)
    return wanted


class Edit(NamedTuple):
    """What somebody does, and what has to be said of it, beginning with the name of the thing.

    ``counted`` are all lines without a comparison of rows, ``named`` those that it adds. ``mends`` is whether a rebuild does.
    """

    cypher: str
    counted: Sequence[str]
    named: Sequence[str] = ()
    mends: bool = True


_LABELS = "MATCH (a:Node {label: '1234'}), (b:Node {label: '2134'})"
_TREE = f"{_LABELS} MATCH (a)-[e:TREE_EDGE {{forest: '{GREEDY}'}}]->(b)"
_SEND = f"{_LABELS} MATCH (a)-[s:SEND]->(b) WITH a, s, b ORDER BY s.step, s.payload LIMIT 1"

EDITS = {
    "a label": Edit(
        "MATCH (n:Node {rank: 3}) SET n.label = '1423x'",
        ["S4: its nodes are not those that were built"],
        ["S4: the node 1342: label 1423x, not 1342"],
    ),
    "a rank": Edit(
        "MATCH (n:Node {rank: 3}) SET n.rank = 99",
        ["S4: its nodes are not those that were built"],
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
            "S4: 1 Node without a right label (STRING)",
            "S4: its rows cannot be summed: a property is missing or of another type",
        ],
        ["S4: the node 1342: label 1342, not 1342"],
    ),
    "a node more": Edit(
        "CREATE (:Node {key: 5, topology: 'S4', rank: 24, label: '4444'})",
        ["S4: it has 25 nodes, not 24"],
        ["S4: a node of key 5, rank 24 and label 4444 should not be in S4"],
    ),
    "a node of no topology": Edit(
        "CREATE (:Node {key: 5, topology: 'S9', rank: 24, label: '4444'})", ["S9: 1 node of a topology that does not exist"]
    ),
    "a property of a node more": Edit(
        "MATCH (n:Node {rank: 3}) SET n.colour = 'red'", ["S4: 1 Node with the additional property colour"]
    ),
    "a link is gone": Edit(
        f"{_LABELS} MATCH (a)-[r:LINK]-(b) DELETE r", ["S4: it has 35 links, not 36"], ["S4: LINK 1234-2134 is missing"]
    ),
    "a link more": Edit(
        "MATCH (a:Node {label: '1234'}), (b:Node {label: '2143'}) CREATE (a)-[:LINK {topology: 'S4', port: 2}]->(b)",
        ["S4: it has 37 links, not 36"],
        ["S4: LINK 1234-2143 should not be there"],
    ),
    "a link stands twice": Edit(
        f"{_LABELS} MATCH (a)-[r:LINK]->(b) CREATE (a)-[s:LINK]->(b) SET s = properties(r)",
        ["S4: it has 37 links, not 36"],
        ["S4: LINK 1234-2134 stands more than once"],
    ),
    "a port of a link": Edit(
        f"{_LABELS} MATCH (a)-[r:LINK]->(b) SET r.port = 3",
        ["S4: its links are not those that were built"],
        ["S4: LINK 1234-2134: port 3, not 2"],
    ),
    "a level": Edit(
        f"{_TREE} SET e.level = 3",
        [f"{GREEDY}: its tree edges are not those that were built"],
        [f"{GREEDY}: TREE_EDGE of tree 0 from 1234 to 2134: level 3, not 1"],
    ),
    "a tree and a port": Edit(
        f"{_TREE} SET e.tree = 1, e.port = 4",
        [f"{GREEDY}: its tree edges are not those that were built"],
        [f"{GREEDY}: TREE_EDGE from 1234 to 2134: tree 1, not 0, port 4, not 2"],
    ),
    "an edge is turned round": Edit(
        f"{_TREE} CREATE (b)-[x:TREE_EDGE]->(a) SET x = properties(e) DELETE e",
        [f"{GREEDY}: its tree edges are not those that were built"],
        [
            f"{GREEDY}: TREE_EDGE of tree 0 from 1234 to 2134 is missing",
            f"{GREEDY}: TREE_EDGE of tree 0 from 2134 to 1234 should not be there",
        ],
    ),
    "an edge of a forest that does not exist": Edit(
        f"{_TREE} CREATE (a)-[:TREE_EDGE {{forest: 'S4:mine:1234', tree: 0, level: 1, port: 2}}]->(b)",
        ["S4:mine:1234: 1 TREE_EDGE of a forest that does not exist"],
    ),
    "an edge belongs to another forest": Edit(
        f"{_TREE} SET e.forest = '{TREES}'",
        [f"{GREEDY}: it has 22 tree edges, not 23", f"{TREES}: it has 70 tree edges, not 69"],
        [
            f"{GREEDY}: TREE_EDGE of tree 0 from 1234 to 2134 is missing",
            f"{TREES}: TREE_EDGE of tree 0 from 1234 to 2134 stands more than once",
        ],
    ),
    "an edge without a port": Edit(
        f"{_TREE} REMOVE e.port",
        [f"{GREEDY}: 1 TREE_EDGE without a right port (INTEGER)", f"{GREEDY}: its tree edges are not those that were built"],
        [f"{GREEDY}: TREE_EDGE of tree 0 from 1234 to 2134: port no integer, not 2"],
    ),
    "an edge without a tree": Edit(
        f"{_TREE} REMOVE e.tree",
        [f"{GREEDY}: 1 TREE_EDGE without a right tree (INTEGER)", f"{GREEDY}: its tree edges are not those that were built"],
        [f"{GREEDY}: TREE_EDGE of tree 0 from 1234 to 2134 is missing"],
    ),
    "an edge without a forest": Edit(
        f"{_TREE} REMOVE e.forest",
        [f"{STORE}: 1 TREE_EDGE without a right forest (STRING)", f"{GREEDY}: it has 22 tree edges, not 23"],
        [f"{GREEDY}: TREE_EDGE of tree 0 from 1234 to 2134 is missing"],
    ),
    "a property of an edge more": Edit(
        f"{_TREE} SET e.colour = 'red'", [f"{GREEDY}: 1 TREE_EDGE with the additional property colour"]
    ),
    "a step": Edit(
        f"{_SEND} SET s.step = 7",
        [f"{SENDS}: its sends are not those that were built"],
        [f"{SENDS}: SEND of tree 0, payload 0 from 1234 to 2134: step 7, not 1"],
    ),
    "a send is gone": Edit(
        f"{_SEND} DELETE s",
        [f"{SENDS}: it has 137 sends, not 138"],
        [f"{SENDS}: SEND of step 1, tree 0, payload 0 from 1234 to 2134 is missing"],
    ),
    "a property of a forest": Edit(
        f"MATCH (f:Forest {{id: '{GREEDY}'}}) SET f.height = 9", [f"{GREEDY}: (:Forest) has height 9, not 4"]
    ),
    "a forest's topology": Edit(
        f"MATCH (f:Forest {{id: '{GREEDY}'}}) SET f.topology = 'S5'", [f"{GREEDY}: (:Forest) has topology S5, not S4"]
    ),
    "a property of a forest of another type": Edit(
        f"MATCH (f:Forest {{id: '{GREEDY}'}}) SET f.trees = 1.0", [f"{GREEDY}: (:Forest) has trees 1.0, not 1"]
    ),
    "a property of a topology more": Edit(
        "MATCH (t:Topology) SET t.colour = 'red'", ["S4: (:Topology) has the additional property colour"]
    ),
    "a property of a schedule is gone": Edit("MATCH (s:Schedule) REMOVE s.ports", [f"{SENDS}: (:Schedule) has no ports"]),
    "a state": Edit("MATCH (t:Topology) SET t.state = 'loading'", ["S4: (:Topology) has state loading, not complete"]),
    "what a forest hangs from": Edit(
        f"MATCH (f:Forest {{id: '{GREEDY}'}})-[r:ON]->() DELETE r", [f"{GREEDY}: (:Forest) hangs from something else"]
    ),
    "a forest's node is gone": Edit(
        f"MATCH (f:Forest {{id: '{GREEDY}'}}) DETACH DELETE f", [f"{GREEDY}: the node (:Forest) is missing"]
    ),
    "a forest more": Edit(
        "MATCH (t:Topology) CREATE (:Forest {id: 'S4:mine:1234', topology: 'S4', state: 'complete'})-[:ON]->(t)",
        ["S4:mine:1234: the graph has a forest that PostgreSQL does not know"],
    ),
    "a thing of no name": Edit(
        "CREATE (:Topology {name: 'mine'})", ["mine: the graph has a topology that PostgreSQL does not know"], mends=False
    ),
    "a relationship of another type": Edit(
        "MATCH (a:Node {rank: 0}), (b:Node {rank: 1}) CREATE (a)-[:`KNOWS OF`]->(b)",
        [f"{STORE}: 1 relationship is of the type KNOWS OF, which is not starcast's"],
    ),
    "another label of a node": Edit(
        "MATCH (n:Node {rank: 3}) SET n:Marked", [f"{STORE}: 1 node of the label Node bears the additional label :`Marked`"]
    ),
    "somebody's nodes": Edit(
        "CREATE (:Person {name: 'x'})-[:KNOWS]->(:Person)",
        [
            f"{STORE}: 2 nodes are of the labels Person, and not starcast's",
            f"{STORE}: 1 relationship is of the type KNOWS, which is not starcast's",
        ],
        mends=False,
    ),
    "a node without a label": Edit(
        "CREATE ({name: 'x'})", [f"{STORE}: 1 node is without a label, and not starcast's"], mends=False
    ),
    "the store's node is gone": Edit("MATCH (s:Store) DELETE s", [f"{STORE}: the node (:Store) is missing"], mends=False),
    "the store's id": Edit("MATCH (s:Store) SET s.id = 'x'", [f"{STORE}: (:Store) has id x, not"], mends=False),
    "the store's node more": Edit(
        "MATCH (s:Store) SET s.colour = 1", [f"{STORE}: (:Store) has the additional property colour"], mends=False
    ),
    "everything is gone": Edit(
        "MATCH (n) DETACH DELETE n",
        [f"{STORE}: the node (:Store) is missing", *(f"{key}: it is not in the graph" for key in ("S4", GREEDY, TREES, SENDS))],
    ),
}


def said(findings: Sequence[Finding]) -> list[str]:
    """Things and sentences."""
    return [f"{finding.thing}: {finding.what}" for finding in findings]


def starts(lines: Sequence[str], beginnings: Sequence[str]) -> bool:
    """Whether there is one line for each beginning, and no other."""
    matched = [[line for line in lines if line.startswith(one)] for one in beginnings]
    return len(lines) == len(beginnings) and all(len(found) == 1 for found in matched)


def test_what_was_ingested_is_as_it_should_be(stores: Stores, what: Plan) -> None:
    """Nothing is found, however closely one looks."""
    assert {thing.key for thing in what.things} == {"S4", GREEDY, TREES, SENDS}
    for depth in (Depth(), Depth(sample=24, seed=1), Depth(sample=1000), ALL):
        assert verify(stores, depth=depth) == []
    assert verify(stores, ["S4"], ALL) == []


@pytest.mark.parametrize("name", EDITS, ids=str)
def test_an_edit_by_hand_is_named_and_mended(stores: Stores, what: Plan, name: str) -> None:
    """By counts and checksums the thing, by rows the row; a rebuild then leaves nothing to find."""
    edit = EDITS[name]
    stores.graph.write(edit.cypher)
    lines = said(verify(stores))
    assert starts(lines, edit.counted), lines
    findings = verify(stores, depth=ALL)
    assert starts(said(findings), [*edit.counted, *edit.named]), said(findings)
    assert all(finding.advice for finding in findings)
    if edit.mends:
        rebuild(stores, Order(way=Way.BOLT, discard_foreign=True))
        assert said(verify(stores, depth=ALL)) == []
        assert_stored(stores, what)


def test_a_node_that_is_gone_takes_its_rows_along(stores: Stores, what: Plan) -> None:
    """The amounts of every thing on the topology differ; row by row, the first are named and the others counted."""
    stores.graph.write("MATCH (n:Node {label: '4321'}) DETACH DELETE n")
    counted = ["S4: it has 23 nodes, not 24", "S4: it has 33 links, not 36", f"{GREEDY}: it has 22 tree edges, not 23"]
    counted += [f"{TREES}: it has 63 tree edges, not 69", f"{SENDS}: it has 126 sends, not 138"]
    assert starts(said(verify(stores)), counted)
    closer = said(verify(stores, depth=ALL))
    assert {f"S4: LINK {label}-4321 is missing" for label in ("1324", "2341", "3421")} <= set(closer)
    assert any(line.startswith("S4: the node 4321 (rank 23, key ") and line.endswith(" is missing") for line in closer)
    assert f"{SENDS}: and {138 - 126 - NAMED} more differences" in closer
    assert ingest(stores, what).created == []  # an ingest takes PostgreSQL's word
    rebuild(stores, Order(["S4"], Way.BOLT))
    assert verify(stores, depth=ALL) == []
    assert_stored(stores, what)


def test_a_key_that_was_changed(stores: Stores, what: Plan) -> None:
    """By keys ends are told apart, so all that is at the node differs; the node is where it should not be."""
    stores.graph.write("MATCH (n:Node {label: '4321'}) SET n.key = 7")
    counted = [f"S4: its {noun}s are not those that were built" for noun in ("node", "link")]
    counted += [f"{key}: its tree edges are not those that were built" for key in (GREEDY, TREES)]
    assert starts(said(verify(stores)), [*counted, f"{SENDS}: its sends are not those that were built"])
    closer = said(verify(stores, depth=ALL))
    assert any(line.startswith("S4: the node 4321 (rank 23, key ") and line.endswith(" is missing") for line in closer)
    assert "S4: a node of key 7, rank 23 and label 4321 should not be in S4" in closer
    assert f"{GREEDY}: TREE_EDGE of tree 0 from 1324 to a node of key 7 should not be there" in closer
    rebuild(stores, Order(way=Way.BOLT))
    assert verify(stores, depth=ALL) == []
    assert_stored(stores, what)


def test_a_thing_that_stands_twice(stores: Stores, what: Plan) -> None:
    """Only without the constraint it can; both nodes go, and the constraint comes back."""
    stores.graph.write("DROP CONSTRAINT starcast_forest_id")
    try:
        stores.graph.write("CREATE (:Forest {id: $key})", {"key": GREEDY})
        sentences = ["the store: the constraint starcast_forest_id on Forest(id) is missing"]
        assert said(verify(stores)) == [*sentences, f"{GREEDY}: the node (:Forest) stands 2 times"]
        rebuild(stores, Order([GREEDY], Way.BOLT))
        assert verify(stores, depth=ALL) == []
        assert_stored(stores, what)
    finally:
        stores.graph.write("MATCH (f:Forest) DETACH DELETE f")
        make_indexes(stores.graph)


def test_a_sample_is_the_same_by_the_same_seed(stores: Stores, what: Plan) -> None:
    """Nodes in the sample are compared with all that is at them; an edit elsewhere is not named, but counted."""
    where = what.things[0].topology
    drawn = Depth(sample=4, seed=7).ranks(where)
    assert drawn.tolist() == Depth(sample=4, seed=7).ranks(where).tolist()
    assert drawn.tolist() != Depth(sample=4, seed=8).ranks(where).tolist()
    inside, outside = int(drawn[0]), min(set(range(where.nodes)) - set(drawn.tolist()))
    for rank in (inside, outside):
        stores.graph.write("MATCH (n:Node {rank: $rank}) SET n.label = 'x'", {"rank": rank})
    lines = said(verify(stores, depth=Depth(sample=4, seed=7)))
    named = f"S4: the node {where.label(inside)}: label x, not {where.label(inside)}"
    assert lines == ["S4: its nodes are not those that were built", named]
    stores.graph.write("MATCH (a:Node {rank: $rank})-[e:TREE_EDGE]-() DELETE e", {"rank": inside})
    lines = said(verify(stores, depth=Depth(sample=4, seed=7)))
    gone = [line for line in lines if line.endswith("is missing")]
    assert len(gone) == sum(int(at_node(kept, inside)) for kept in (forest(where, "greedy"), forest(where, "multiple")))
    assert all(where.label(inside) in line for line in gone)


def at_node(grown: Forest, rank: int) -> int:
    """Tree edges that begin or end at a node."""
    parents = grown.parents()
    return int((parents == rank).sum() + (parents[:, rank] >= 0).sum())


def test_names_narrow_what_is_looked_at(stores: Stores, what: Plan) -> None:
    """A name stands for the thing and what depends on it; what is elsewhere is not seen, and an unknown name is refused."""
    del what
    stores.graph.write(EDITS["a level"].cypher)
    stores.graph.write(EDITS["somebody's nodes"].cypher)
    assert verify(stores, [TREES]) == []
    assert {finding.thing for finding in verify(stores, ["S4"])} == {GREEDY}
    assert {finding.thing for finding in verify(stores, [GREEDY, TREES])} == {GREEDY}
    with pytest.raises(NotFoundError, match="S4:greddy:1234") as caught:
        verify(stores, ["S4:greddy:1234"])
    assert GREEDY in caught.value.hint


INDEXES = {
    "an index is gone": (
        "DROP INDEX starcast_node_topology_label",
        "the index starcast_node_topology_label on Node(topology, label) is missing",
    ),
    "an index of relationships is gone": (
        "DROP INDEX starcast_tree_edge_forest_tree",
        "the index starcast_tree_edge_forest_tree on TREE_EDGE(forest, tree) is missing",
    ),
    "a constraint is gone": (
        "DROP CONSTRAINT starcast_node_key",
        "the constraint starcast_node_key on Node(key) is missing",
    ),
    "an index is on something else": (
        "DROP INDEX starcast_node_topology_label; CREATE INDEX starcast_node_topology_label FOR (n:Node) ON (n.label)",
        "the index starcast_node_topology_label on Node(topology, label) is on Node(label)",
    ),
    "a constraint is but an index": (
        "DROP CONSTRAINT starcast_node_key; CREATE INDEX starcast_node_key FOR (n:Node) ON (n.key)",
        "the constraint starcast_node_key on Node(key) is not unique",
    ),
}


@pytest.mark.parametrize("name", INDEXES, ids=str)
def test_indexes_are_looked_at(stores: Stores, what: Plan, name: str) -> None:
    """Dropped ones and others of the same name are told with the Cypher that makes them, and a rebuild makes them."""
    cypher, sentence = INDEXES[name]
    try:
        for statement in cypher.split(";"):
            stores.graph.write(statement)
        [finding] = verify(stores)
        assert finding.what == sentence
        assert "CREATE " in finding.advice
        assert [one.what for one in verify(stores, ["S4"])] == [sentence]
        rebuild(stores, Order([GREEDY], Way.BOLT))
        assert verify(stores, depth=ALL) == []
        assert_stored(stores, what)
    finally:  # the server is that of all tests
        indexes.make_way(stores.graph)
        make_indexes(stores.graph)


def test_another_forest_in_postgresql_is_told(stores: Stores, what: Plan) -> None:
    """The generator decides, not what was remembered: neither the kept trees nor the checksum."""
    del what
    with session(stores.engine) as opened:
        opened.get_one(models.Materialization, ("forest", GREEDY)).expected_checksum = "0-1"
        tree = opened.scalars(select(models.Tree).where(models.Tree.forest == TREES, models.Tree.number == 0)).one()
        other = opened.scalars(select(models.Tree).where(models.Tree.forest == TREES, models.Tree.number == 1)).one()
        tree.parent_port, other.parent_port = other.parent_port, tree.parent_port
    assert said(verify(stores)) == [
        f"{GREEDY}: PostgreSQL remembers other counts or another checksum than those of what is built",
        f"{TREES}: PostgreSQL keeps other trees than those that 'multiple' grows",
    ]


def test_what_is_not_complete_is_left_out(stores: Stores, what: Plan) -> None:
    """An ingest may be at it; it is told, and judged by nobody."""
    del what
    stores.graph.write(EDITS["a level"].cypher)
    stores.graph.write("MATCH (f:Forest {id: $key}) SET f.state = 'loading'", {"key": GREEDY})
    with session(stores.engine) as opened:
        opened.get_one(models.Materialization, ("forest", GREEDY)).state = "loading"
    heard = Hearing()
    assert verify(stores, reporter=heard) == []
    assert f"{GREEDY} is loading, not complete, and is left out" in heard.lines


def test_what_changes_meanwhile_is_left_out(stores: Stores, what: Plan) -> None:
    """Nobody holds a lock: a drop that begins after the look at PostgreSQL is told, and nothing is found of it."""
    del what

    class Dropping(Hearing):
        def say(self, text: str) -> None:
            super().say(text)
            if text.startswith("counting"):
                drop(stores, "forest", GREEDY)

    heard = Dropping()
    assert verify(stores, reporter=heard) == []
    assert f"{GREEDY} was changed while it was compared, and is left out: verify it again" in heard.lines


class Hearing(Silent):
    """Keeps what is said."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def say(self, text: str) -> None:
        """Keep it."""
        self.lines.append(text)


def test_somebody_else_s_database_is_refused(stores: Stores) -> None:
    """There is nothing of ours to judge."""
    stores.graph.write("CREATE (:Person)")
    with pytest.raises(NotOursError, match="not ours"):
        verify(stores)


def test_nothing_stored_is_nothing_found_but_no_store(stores: Stores) -> None:
    """A graph that nobody has used yet is not claimed."""
    make_indexes(stores.graph)
    assert verify(stores) == []
