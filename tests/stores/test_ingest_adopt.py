"""Adopting an import: what is as it should be becomes complete in both stores, what is not never does.

Things get in over Bolt here and are then said to be imported; `test_graph_bulk.py` has a real import.
"""

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
from starcast.ingest import Plan, Stores, artifacts, drop, ingest, plan
from starcast.ingest.adoption import Expected, adopt
from starcast.ingest.recovery import Reference, recover
from starcast.progress import Silent
from support.checks import assert_stored, states

FOREST = "S4:multiple:1234"


class Ear(Silent):
    """A reporter that remembers what it is told."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    def say(self, text: str) -> None:
        """Remember it."""
        self.heard.append(text)


@pytest.fixture
def what(stores: Stores) -> Plan:
    """Things of every kind, in both stores; the graph says of each that it was imported."""
    chosen = plan(
        "S4",
        ["multiple", "shortest-path", "perfectly-balanced"],
        ["broadcast:multiple", "alltoall:exact"],
    )
    ingest(stores, chosen)
    say_imported(stores.graph)
    return chosen


def say_imported(graph: Graph) -> None:
    """Make all things in the graph such that nobody has compared."""
    graph.write("MATCH (o) WHERE o.state IS NOT NULL SET o.state = 'imported'")


def forget_all(stores: Stores) -> None:
    """PostgreSQL as it is in another laboratory of the same id: it knows of nothing."""
    with session(stores.engine) as opened:
        for table in (models.Materialization, models.Schedule, models.Forest, models.Topology):
            opened.execute(delete(table))


def in_graph(stores: Stores) -> dict[str, str]:
    """The state of each thing in the graph."""
    return {key: row["state"] for (_, key), row in reader.states(stores.graph).items()}


def keys(references: Sequence[Reference]) -> list[str]:
    """Their names."""
    return [one.key for one in references]


def test_what_postgresql_knows_is_compared_and_complete(stores: Stores, what: Plan) -> None:
    """In the order of building; a second time there is nothing to adopt."""
    order = sorted(
        what.things,
        key=lambda thing: (["topology", "forest", "schedule"].index(thing.kind), thing.key),
    )
    assert keys(adopt(stores, Silent())) == [thing.key for thing in order]
    assert_stored(stores, what)
    assert adopt(stores, Silent()) == []
    with session(stores.engine) as opened:
        for row in opened.query(models.Materialization):
            assert (row.method, row.found_nodes, row.found_relationships) == (
                "import",
                row.expected_nodes,
                row.expected_relationships,
            )
            assert row.found_checksum == row.expected_checksum


def test_what_postgresql_does_not_know_is_taken_into_it(stores: Stores, what: Plan) -> None:
    """By the names in the graph: trees, schedules, figures and all."""
    forget_all(stores)
    adopt(stores, Silent())
    assert_stored(stores, what)


def test_recovery_leaves_alone_what_nobody_has_compared(stores: Stores, what: Plan) -> None:
    """Whether PostgreSQL knows of it or not; the next ingest adopts it."""
    assert recover(stores, Silent()) == []
    forget_all(stores)
    assert recover(stores, Silent()) == []
    assert set(in_graph(stores).values()) == {"imported"}
    summary = ingest(stores, what)
    assert (summary.created, len(summary.present)) == ([], len(what.things))
    assert_stored(stores, what)


def test_a_drop_adopts_first(stores: Stores, what: Plan) -> None:
    drop(stores, "topology", "S4", cascade=True)
    assert in_graph(stores) == states(stores) == {}
    assert len(what.things) > 1


DAMAGES = {
    "a relationship is missing": (
        f"MATCH ()-[e:TREE_EDGE {{forest: '{FOREST}', tree: 1, level: 2}}]->() WITH e LIMIT 1 DELETE e",
        "68",
    ),
    "a relationship has another port": (
        f"MATCH ()-[e:TREE_EDGE {{forest: '{FOREST}'}}]->() WITH e LIMIT 1 SET e.port = e.port % 3 + 2",
        "checksum",
    ),
    "there is a relationship too many": (
        f"MATCH (a)-[e:TREE_EDGE {{forest: '{FOREST}'}}]->(b) WITH a, b, e LIMIT 1 CREATE (b)-[f:TREE_EDGE]->(a) SET f = e",
        "70 of 69 relationships",
    ),
    "its node says otherwise": (
        f"MATCH (f:Forest {{id: '{FOREST}'}}) SET f.height = 1",
        "the property height",
    ),
    "it hangs from nothing": (
        f"MATCH (:Forest {{id: '{FOREST}'}})-[r:ON]->() DELETE r",
        "what it hangs from",
    ),
}


@pytest.mark.parametrize(
    ("damage", "known"),
    [*((damage, True) for damage in DAMAGES), ("a relationship is missing", False)],
)
def test_what_differs_is_never_complete(
    stores: Stores, what: Plan, damage: str, known: bool
) -> None:
    """It is named, with what was found; what does not depend on it is complete, and the next ingest makes it whole."""
    cypher, said = DAMAGES[damage]
    stores.graph.write(cypher)
    if not known:
        forget_all(stores)
    with pytest.raises(RejectedError, match="what was imported is not what was built") as error:
        adopt(stores, Silent())
    assert FOREST in error.value.message
    assert said in error.value.message
    assert "shortest-path" not in error.value.message
    broadcast = next(thing.key for thing in what.things if thing.key.startswith("S4:broadcast"))
    assert {key for key, state in in_graph(stores).items() if state != "complete"} == {
        FOREST,
        broadcast,
    }
    assert states(stores)[FOREST] == "failed"
    ingest(stores, what)
    assert_stored(stores, what)


def test_a_strict_comparison_accepts_all_or_nothing(stores: Stores, what: Plan) -> None:
    """Neither store is changed where one thing differs."""
    before = states(stores)
    stores.graph.write(DAMAGES["a relationship is missing"][0])
    with pytest.raises(RejectedError, match=FOREST):
        adopt(stores, Silent(), strict=True)
    assert states(stores) == before
    assert set(in_graph(stores).values()) == {"imported"}
    assert len(before) == len(what.things)


def test_what_the_caller_has_built_is_not_built_again(
    stores: Stores, what: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    """His counts and checksums are what counts."""
    known = {}
    for thing in what.things:
        built = thing.build()
        known[Reference(thing.kind, thing.key)] = Expected(built.owner, built.content)
    monkeypatch.delattr(artifacts.TopologyThing, "build")
    monkeypatch.delattr(artifacts.ForestThing, "build")
    monkeypatch.delattr(artifacts.ScheduleThing, "build")
    other = {
        **known,
        Reference("topology", "S4"): replace(
            known[Reference("topology", "S4")], content=Content(24, 36, (1, 2))
        ),
    }
    with pytest.raises(
        RejectedError, match=r"S4: 24 of 24 nodes, 36 of 36 relationships, checksum .* for 1-2"
    ):
        adopt(stores, Silent(), other, strict=True)
    assert len(adopt(stores, Silent(), known, strict=True)) == len(what.things)


def test_broken_off_between_the_stores_it_goes_on(
    stores: Stores, what: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PostgreSQL is first: nothing that it calls complete was not compared, and what the graph does not is adopted again."""

    def away(*_: object) -> None:
        raise UnavailableError("Neo4j went away", hint="start it")

    forget_all(stores)
    with monkeypatch.context() as patch:
        patch.setattr(sys.modules[adopt.__module__], "set_state", away)
        with pytest.raises(UnavailableError):
            adopt(stores, Silent())
    assert set(states(stores).values()) == {"complete"}
    assert recover(stores, Silent()) == []
    assert len(adopt(stores, Silent())) == len(what.things)
    assert_stored(stores, what)


def test_what_another_starcast_built_otherwise_is_saved_anew(stores: Stores, what: Plan) -> None:
    """PostgreSQL's figures are then those of what the graph holds."""
    with session(stores.engine) as opened:
        row = opened.get_one(models.Materialization, ("forest", FOREST))
        row.expected_checksum, row.expected_relationships = "0-0", 1
        opened.get_one(models.Forest, FOREST).height = 1
    adopt(stores, Silent())
    assert_stored(stores, what)
    with session(stores.engine) as opened:
        row = opened.get_one(models.Materialization, ("forest", FOREST))
        assert (row.expected_relationships, row.expected_checksum) == (69, row.found_checksum)
        assert opened.get_one(models.Forest, FOREST).height > 1


def test_a_name_that_nobody_knows_is_left_as_it_is(stores: Stores, what: Plan) -> None:
    """A newer starcast may have exported it; it is told, and does not stand in the way."""
    stores.graph.write(
        "CREATE (:Forest {id: 'S4:unheard-of:1234', topology: 'S4', state: 'imported'})"
    )
    ear = Ear()
    assert len(adopt(stores, ear)) == len(what.things)
    assert "left as it is: 'S4:unheard-of:1234' is the name of no forest" in ear.heard
    assert in_graph(stores)["S4:unheard-of:1234"] == "imported"


def test_the_graph_of_another_laboratory_is_not_adopted(stores: Stores, what: Plan) -> None:
    """The files were exported from another PostgreSQL database."""
    stores.graph.write("MATCH (s:Store) SET s.id = 'another'")
    with pytest.raises(UnavailableError, match="belongs to another PostgreSQL database"):
        adopt(stores, Silent())
    assert set(in_graph(stores).values()) == {"imported"}
    assert len(what.things) > 1


def test_all_contents_at_once_are_those_of_each(stores: Stores, what: Plan) -> None:
    """Counts and checksums by scans of each type, against pages of each thing, on two topologies."""
    ingest(stores, plan("S4,2", ["nk-multiple"]))
    found = reader.contents(stores.graph)
    assert len(found) == len(what.things) + 2
    for (kind, key), content in found.items():
        topology = next(
            thing.topology
            for thing in (*what.things, *plan("S4,2").things)
            if thing.topology.spec == key.split(":")[0]
        )
        assert content == reader.content(stores.graph, kind, key, topology)


def test_all_contents_count_what_does_not_belong(stores: Stores, what: Plan) -> None:
    """A link that somebody says is S4's and lies elsewhere, and what is part of a thing that is not there."""
    ingest(stores, plan("S3"))
    stores.graph.write(
        "MATCH (n:Node {topology: 'S3', rank: 0}) CREATE (n)-[:LINK {topology: 'S4', port: 2}]->(n)"
    )
    stores.graph.write(
        "MATCH (n:Node {topology: 'S3', rank: 0}) CREATE (n)-[:TREE_EDGE {forest: 'none', tree: 0}]->(n)"
    )
    found = reader.contents(stores.graph)
    assert found["topology", "S4"].relationships == 37
    assert found["forest", "none"].relationships == 1
    assert len(found) == len(what.things) + 2
