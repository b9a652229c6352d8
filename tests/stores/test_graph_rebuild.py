"""Making the graph store anew over Bolt: what is mended, what is refused, and what is left when it is broken off."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from starcast.choices import LoadMethod
from starcast.database import models
from starcast.database.sessions import session
from starcast.errors import BusyError, InputError, NotFoundError, RejectedError
from starcast.graph.identity import NotOursError
from starcast.ingest import Plan, Stores, ingest, plan
from starcast.ingest.comparison import Depth
from starcast.ingest.rebuilding import REBUILDING, Order, rebuild
from starcast.ingest.recovery import LOST
from starcast.ingest.stores import exclusively
from starcast.ingest.verify import verify
from starcast.progress import Silent, Task
from starcast.settings import Settings
from support.checks import assert_stored, counts, nothing_unproved_is_complete, states

ALL = Depth(whole=True)
BOLT = Order(way=LoadMethod.BOLT)
TREES, SENDS = "S4:multiple:1234", "S4:broadcast:multiple:all:segments=2:1234"


@pytest.fixture
def what(stores: Stores) -> Plan:
    """S4 with the multiple trees and a broadcast, stored."""
    wanted = plan("S4", schedules="multiple", segments=2)
    ingest(stores, wanted)
    return wanted


def as_it_was(stores: Stores, what: Plan) -> None:
    """All of it is stored, and nothing can be said against it."""
    assert verify(stores, depth=ALL) == []
    assert_stored(stores, what)


def ids(stores: Stores, pattern: str) -> set[str]:
    """The server's own names of nodes or relationships ``n``: what is made anew has others."""
    return {row["id"] for row in stores.graph.read(f"MATCH {pattern} RETURN elementId(n) AS id")}


def test_all_is_made_anew(stores: Stores, what: Plan) -> None:
    """Every node and relationship is another one, and they are the same."""
    made = rebuild(stores, BOLT)
    assert [one.key for one in made] == ["S4", TREES, SENDS]
    assert [(one.nodes, one.relationships) for one in made] == [(24, 36), (0, 69), (0, 138)]
    as_it_was(stores, what)
    assert ingest(stores, what).created == []


def test_a_name_stands_for_what_depends_on_it_and_no_more(stores: Stores, what: Plan) -> None:
    """The topology stays as it is when its trees are made anew with their schedule."""
    nodes, edges, sends = "(n:Node)", "()-[n:TREE_EDGE]->()", "()-[n:SEND]->()"
    before = {pattern: ids(stores, pattern) for pattern in (nodes, edges, sends)}
    stores.graph.write("MATCH ()-[e:TREE_EDGE]->() SET e.level = 1")
    assert [one.key for one in rebuild(stores, Order([TREES], LoadMethod.BOLT))] == [TREES, SENDS]
    assert ids(stores, nodes) == before[nodes]
    as_it_was(stores, what)
    with pytest.raises(NotFoundError, match="S9"):
        rebuild(stores, Order(["S9"]))


def test_nothing_stored_is_nothing_to_make(stores: Stores) -> None:
    """An empty graph is claimed as by an ingest."""
    assert rebuild(stores, BOLT) == []
    assert counts(stores.graph) == (1, 0)


def test_a_graph_that_was_emptied_is_filled_again(stores: Stores, what: Plan) -> None:
    """Also after an ingest of something else, which takes what is gone for lost."""
    stores.graph.write("MATCH (n) DETACH DELETE n")
    small = plan("S3")
    ingest(stores, small)
    assert states(stores) == {"S3": "complete", "S4": "failed", TREES: "failed", SENDS: "failed"}
    assert error_of(stores, "forest", TREES) == LOST
    assert {one.key for one in rebuild(stores, BOLT)} == {"S3", "S4", TREES, SENDS}
    assert verify(stores, depth=ALL) == []
    assert {thing.key for thing in (*what.things, *small.things)} == {
        key for key, state in states(stores).items() if state == "complete"
    }


def error_of(stores: Stores, kind: str, key: str) -> str | None:
    """What PostgreSQL keeps as the reason."""
    with session(stores.engine) as opened:
        return opened.get_one(models.Materialization, (kind, key)).error


class Gone(BaseException):
    """Nobody catches it: what a process that is killed leaves is left."""


class Breaking(Silent):
    """A reporter whose tasks end with an error at the n-th advance."""

    def __init__(self, advances: int, error: type[BaseException]) -> None:
        self._left, self._error = advances, error

    @contextmanager
    def task(self, text: str, total: int, unit: str = "") -> Iterator[Task]:
        """A task that counts down."""
        del text, total, unit
        yield self

    def advance(self, amount: int = 1) -> None:
        """One step nearer."""
        del amount
        self._left -= 1
        if self._left == 0:
            raise self._error


#: Batches of ten rows: 14 of sends go first, 7 of edges, 12 of nodes with links; 3 of nodes, 4, 7 and 14 of the others come.
BREAKS = {
    "sends go": 3,
    "edges go": 18,
    "nodes go": 28,
    "nodes come": 35,
    "links come": 38,
    "edges come": 45,
    "sends come": 52,
}


@pytest.mark.parametrize(
    ("place", "error"),
    [
        *((place, Gone) for place in BREAKS),
        ("nodes go", KeyboardInterrupt),
        ("edges come", KeyboardInterrupt),
    ],
    ids=str,
)
def test_broken_off_it_goes_on(
    few: Stores, what: Plan, place: str, error: type[BaseException]
) -> None:
    """Nothing half made is complete, nothing is forgotten, and the next rebuild leaves all as it was."""
    with pytest.raises(error):
        rebuild(few, BOLT, Breaking(BREAKS[place], error))
    nothing_unproved_is_complete(few)
    assert set(states(few)) == {"S4", TREES, SENDS}
    assert set(states(few).values()) != {"complete"}
    rebuild(few, BOLT)
    as_it_was(few, what)
    assert [error_of(few, thing.kind, thing.key) for thing in what.things] == [None] * 3


def test_broken_off_an_ingest_makes_what_it_is_asked_for(few: Stores, what: Plan) -> None:
    """And keeps in mind what it is not asked for."""
    with pytest.raises(Gone):
        rebuild(few, BOLT, Breaking(BREAKS["edges come"], Gone))
    assert states(few) == {"S4": "complete", TREES: "loading", SENDS: "failed"}
    ingest(few, plan("S4"))
    assert states(few) == {"S4": "complete", TREES: "failed", SENDS: "failed"}
    assert error_of(few, "forest", TREES) == error_of(few, "schedule", SENDS) == REBUILDING
    ingest(few, what)
    as_it_was(few, what)


def test_somebody_s_nodes_stay(stores: Stores, what: Plan) -> None:
    """Nodes of other labels, and of ours without our properties, with what is between them, are theirs."""
    stores.graph.write(
        "CREATE (:Person {name: 'x'})-[:KNOWS]->(:Person {name: 'y'}), ({name: 'z'}), (:Node {name: 'w'})"
    )
    rebuild(stores, Order(way=LoadMethod.BOLT, discard_foreign=True))
    assert {
        row["name"]
        for row in stores.graph.read("MATCH (n) WHERE n.name <> 'S4' RETURN n.name AS name")
    } == {*"wxyz"}
    assert len(stores.graph.read("MATCH (:Person)-[r:KNOWS]->(:Person) RETURN r")) == 1
    stores.graph.write("MATCH (n) WHERE n.name IN ['w', 'x', 'y', 'z'] DETACH DELETE n")
    as_it_was(stores, what)


def test_relationships_at_our_nodes_go_only_if_asked_for(stores: Stores, what: Plan) -> None:
    """Theirs hang from nodes that are made anew; where only trees are, they stay."""
    stores.graph.write("MATCH (n:Node {rank: 3}) CREATE (:Person)-[:LIKES]->(n)")
    before = counts(stores.graph)
    with pytest.raises(
        RejectedError, match="would lose what is not starcast's: 1 relationship of the type LIKES"
    ) as caught:
        rebuild(stores, BOLT)
    assert "--discard-foreign" in caught.value.hint
    assert counts(stores.graph) == before
    rebuild(stores, Order([TREES], LoadMethod.BOLT))
    assert counts(stores.graph) == before
    rebuild(stores, replace(BOLT, discard_foreign=True))
    assert counts(stores.graph) == (before[0], before[1] - 1)
    stores.graph.write("MATCH (n:Person) DELETE n")
    as_it_was(stores, what)


@pytest.mark.parametrize("edit", ["DETACH DELETE s", "SET s.id = 'x'", "REMOVE s.schema"])
def test_whose_graph_it_is_nobody_guesses_on_a_server_of_the_user(
    stores: Stores, what: Plan, edit: str
) -> None:
    """The hint is the Cypher that says so, and then all is as it was."""
    stores.graph.write(f"MATCH (s:Store) {edit}")
    before = counts(stores.graph)
    with pytest.raises(NotOursError) as caught:
        rebuild(stores, BOLT)
    assert counts(stores.graph) == before
    for statement in caught.value.hint.partition("in Neo4j: ")[2].split("; "):
        stores.graph.write(statement)
    as_it_was(stores, what)


@pytest.mark.parametrize(
    "edit", ["DETACH DELETE s", "SET s.id = 'x'", "REMOVE s.schema", "SET s.schema = 0"]
)
def test_whose_the_embedded_graph_is_is_known(
    stores: Stores, stack_settings: Settings, what: Plan, edit: str
) -> None:
    """Both stores are of one home, and all that the graph holds is known: it is this one's."""
    stores.graph.write(f"MATCH (s:Store) {edit}")
    rebuild(replace(stores, embedded=stack_settings), BOLT)
    as_it_was(stores, what)


@pytest.mark.parametrize(
    "edit",
    [
        "MATCH (s:Store) SET s.schema = 99",
        "MATCH (s:Store) DELETE s CREATE (:Topology {name: 'S3'})",
    ],
)
def test_the_embedded_graph_of_somebody_else_is_refused(
    stores: Stores, stack_settings: Settings, what: Plan, edit: str
) -> None:
    """A newer starcast wrote it, or it holds what PostgreSQL does not know."""
    del what
    stores.graph.write(edit)
    before = counts(stores.graph)
    with pytest.raises(NotOursError):
        rebuild(replace(stores, embedded=stack_settings), BOLT)
    assert counts(stores.graph) == before


def test_what_is_of_no_thing_goes(stores: Stores, what: Plan) -> None:
    """Whatever is made anew: nodes and relationships that say they are part of something which does not exist."""
    stores.graph.write(
        "UNWIND range(1, 2500) AS i CREATE (:Node {key: i, topology: 'S9', rank: i, label: 'x'})"
    )
    stores.graph.write(
        "MATCH (a:Node {rank: 0}), (b:Node {rank: 1}) CREATE (a)-[:SEND {schedule: 'mine', step: 1}]->(b)"
    )
    rebuild(replace(stores, batch=1000), Order([SENDS], LoadMethod.BOLT))
    as_it_was(stores, what)


def test_bad_orders(stores: Stores, what: Plan) -> None:
    """An import into a server of the user's, and while another process is at it."""
    with pytest.raises(InputError, match="not starcast's own"):
        rebuild(stores, Order(way=LoadMethod.IMPORT))
    with exclusively(stores.engine, False, Silent()), pytest.raises(BusyError):
        rebuild(stores, BOLT)
    as_it_was(stores, what)
