"""What `verify` looks at, how closely, and what it leaves out; `test_graph_edits.py` has all kinds of edits by hand."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from sqlalchemy import select

from starcast.choices import LoadMethod
from starcast.database import models
from starcast.database.sessions import session
from starcast.errors import NotFoundError
from starcast.graph import indexes
from starcast.graph.audit import Finding
from starcast.graph.identity import NotOursError
from starcast.graph.writer import make_indexes
from starcast.ingest import Plan, Stores, drop, ingest, plan
from starcast.ingest.comparison import NAMED, Depth
from starcast.ingest.rebuilding import Order, rebuild
from starcast.ingest.verify import verify
from starcast.progress import Silent
from starcast.trees import Forest, forest
from support.checks import assert_stored

ALL = Depth(whole=True)
TREES, GREEDY, SENDS = (
    "S4:multiple:1234",
    "S4:greedy:1234",
    "S4:broadcast:multiple:all:segments=2:1234",
)
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


#: An edge of the greedy tree has another level, which is a finding about that tree.
LEVEL = (
    "MATCH ()-[e:TREE_EDGE {forest: 'S4:greedy:1234', level: 1}]->() WITH e LIMIT 1 SET e.level = 3"
)


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


def test_a_node_that_is_gone_takes_its_rows_along(stores: Stores, what: Plan) -> None:
    """The amounts of every thing on the topology differ; row by row, the first are named and the others counted."""
    stores.graph.write("MATCH (n:Node {label: '4321'}) DETACH DELETE n")
    counted = [
        "S4: it has 23 nodes, not 24",
        "S4: it has 33 links, not 36",
        f"{GREEDY}: it has 22 tree edges, not 23",
    ]
    counted += [f"{TREES}: it has 63 tree edges, not 69", f"{SENDS}: it has 126 sends, not 138"]
    assert starts(said(verify(stores)), counted)
    closer = said(verify(stores, depth=ALL))
    assert {f"S4: LINK {label}-4321 is missing" for label in ("1324", "2341", "3421")} <= set(
        closer
    )
    assert any(
        line.startswith("S4: the node 4321 (rank 23, key ") and line.endswith(" is missing")
        for line in closer
    )
    assert f"{SENDS}: and {138 - 126 - NAMED} more differences" in closer
    assert ingest(stores, what).created == []  # an ingest takes PostgreSQL's word
    rebuild(stores, Order(["S4"], LoadMethod.BOLT))
    assert verify(stores, depth=ALL) == []
    assert_stored(stores, what)


def test_a_key_that_was_changed(stores: Stores, what: Plan) -> None:
    """By keys ends are told apart, so all that is at the node differs; the node is where it should not be."""
    stores.graph.write("MATCH (n:Node {label: '4321'}) SET n.key = 7")
    counted = [f"S4: its {noun}s are not those that were built" for noun in ("node", "link")]
    counted += [f"{key}: its tree edges are not those that were built" for key in (GREEDY, TREES)]
    assert starts(
        said(verify(stores)), [*counted, f"{SENDS}: its sends are not those that were built"]
    )
    closer = said(verify(stores, depth=ALL))
    assert any(
        line.startswith("S4: the node 4321 (rank 23, key ") and line.endswith(" is missing")
        for line in closer
    )
    assert "S4: a node of key 7, rank 23 and label 4321 should not be in S4" in closer
    assert (
        f"{GREEDY}: TREE_EDGE of tree 0 from 1324 to a node of key 7 should not be there" in closer
    )
    rebuild(stores, Order(way=LoadMethod.BOLT))
    assert verify(stores, depth=ALL) == []
    assert_stored(stores, what)


def test_a_thing_that_stands_twice(stores: Stores, what: Plan) -> None:
    """Only without the constraint it can; both nodes go, and the constraint comes back."""
    stores.graph.write("DROP CONSTRAINT starcast_forest_id")
    try:
        stores.graph.write("CREATE (:Forest {id: $key})", {"key": GREEDY})
        sentences = ["the store: the constraint starcast_forest_id on Forest(id) is missing"]
        assert said(verify(stores)) == [*sentences, f"{GREEDY}: the node (:Forest) stands 2 times"]
        rebuild(stores, Order([GREEDY], LoadMethod.BOLT))
        assert verify(stores, depth=ALL) == []
        assert_stored(stores, what)
    finally:
        stores.graph.write("MATCH (f:Forest) DETACH DELETE f")
        make_indexes(stores.graph)


def test_a_sample_is_the_same_by_the_same_seed(stores: Stores, what: Plan) -> None:
    """Nodes in the sample are compared with all that is at them; an edit elsewhere is not named, but counted."""
    topology = what.things[0].topology
    drawn = Depth(sample=4, seed=7).ranks(topology)
    assert drawn.tolist() == Depth(sample=4, seed=7).ranks(topology).tolist()
    assert drawn.tolist() != Depth(sample=4, seed=8).ranks(topology).tolist()
    inside, outside = int(drawn[0]), min(set(range(topology.nodes)) - set(drawn.tolist()))
    for rank in (inside, outside):
        stores.graph.write("MATCH (n:Node {rank: $rank}) SET n.label = 'x'", {"rank": rank})
    lines = said(verify(stores, depth=Depth(sample=4, seed=7)))
    named = f"S4: the node {topology.label(inside)}: label x, not {topology.label(inside)}"
    assert lines == ["S4: its nodes are not those that were built", named]
    stores.graph.write("MATCH (a:Node {rank: $rank})-[e:TREE_EDGE]-() DELETE e", {"rank": inside})
    lines = said(verify(stores, depth=Depth(sample=4, seed=7)))
    gone = [line for line in lines if line.endswith("is missing")]
    assert len(gone) == sum(
        int(at_node(kept, inside))
        for kept in (forest(topology, "greedy"), forest(topology, "multiple"))
    )
    assert all(topology.label(inside) in line for line in gone)


def at_node(grown: Forest, rank: int) -> int:
    """Tree edges that begin or end at a node."""
    parents = grown.parents()
    return int((parents == rank).sum() + (parents[:, rank] >= 0).sum())


def test_names_narrow_what_is_looked_at(stores: Stores, what: Plan) -> None:
    """A name stands for the thing and what depends on it; what is elsewhere is not seen, and an unknown name is refused."""
    del what
    stores.graph.write(LEVEL)
    stores.graph.write("CREATE (:Person)-[:KNOWS]->(:Person)")
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
        rebuild(stores, Order([GREEDY], LoadMethod.BOLT))
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
        tree = opened.scalars(
            select(models.Tree).where(models.Tree.forest == TREES, models.Tree.number == 0)
        ).one()
        other = opened.scalars(
            select(models.Tree).where(models.Tree.forest == TREES, models.Tree.number == 1)
        ).one()
        tree.parent_port, other.parent_port = other.parent_port, tree.parent_port
    assert said(verify(stores)) == [
        f"{GREEDY}: PostgreSQL remembers other counts or another checksum than those of what is built",
        f"{TREES}: PostgreSQL keeps other trees than those that 'multiple' grows",
    ]


def test_what_is_not_complete_is_left_out(stores: Stores, what: Plan) -> None:
    """An ingest may be at it; it is told, and judged by nobody."""
    del what
    stores.graph.write(LEVEL)
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
    assert (
        f"{GREEDY} was changed while it was compared, and is left out: verify it again"
        in heard.lines
    )


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
