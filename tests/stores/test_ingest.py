"""Ingestion: both stores hold what was built, once, and nothing else; what goes wrong leaves nothing half."""

import threading
from collections.abc import Callable
from contextlib import ExitStack

import numpy as np
import pytest
from sqlalchemy import text

from starcast.collectives.catalogue import find
from starcast.database.sessions import session
from starcast.errors import BusyError, NotFoundError, RejectedError, UnavailableError
from starcast.ingest import Plan, Stores, drop, ingest, plan
from starcast.ingest.artifacts import ForestThing, ScheduleThing, Thing, TopologyThing
from starcast.ingest.loading import STAGES
from starcast.ingest.stored import check, columns, description, listing
from starcast.ingest.stores import exclusively
from starcast.progress import Silent
from starcast.topologies import topology
from starcast.trees import Forest, forest
from support.checks import (
    assert_stored,
    check_nodes,
    counts,
    nothing_unproved_is_complete,
    states,
    stored_counts,
)

S4 = ("S4", "S4:multiple:1234", "S4:broadcast:multiple:all:segments=2:1234")


@pytest.fixture
def what() -> Plan:
    """S4 with the multiple trees and their broadcast."""
    return plan("S4", schedules="multiple", segments=2)


def test_everything_is_stored_and_equals_the_arrays(stores: Stores) -> None:
    """The main job on S5: three constructions, both port models."""
    everything = plan("S5", "all", "all", ports="both", segments=2, messages=3)
    summary = ingest(stores, everything)
    assert [one.key for one in summary.created] == [thing.key for thing in everything.things]
    assert summary.rows == everything.estimate.nodes + everything.estimate.relationships
    assert_stored(stores, everything)


def test_the_planner_is_told_when_all_is_written(
    stores: Stores, what: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once, after the last thing."""
    told: list[int] = []
    monkeypatch.setattr("starcast.ingest.refresh_plans", lambda _: told.append(len(states(stores))))
    ingest(stores, what)
    ingest(stores, what)
    assert told == [len(S4)]


@pytest.mark.parametrize("root", ["1234", "4321", "2143"])
def test_any_root(stores: Stores, root: str) -> None:
    """The root is in names, arrays and nodes."""
    rooted = plan("S4", "all", "all", root=root)
    ingest(stores, rooted)
    assert_stored(stores, rooted)
    assert check_nodes(stores.graph, "Forest", ("root",)) == {(topology("S4").rank(root),)}


@pytest.mark.parametrize(
    ("spec", "root", "construction"),
    [("S4,2", "31", "nk-multiple"), ("S4,1", "3", "nk-greedy"), ("Q3", "101", "binomial")],
)
def test_other_families(stores: Stores, spec: str, root: str, construction: str) -> None:
    """Nodes, links of every port and trees of (n,k)-stars and hypercubes."""
    everything = plan(spec, "all", "all", root=root)
    assert f"{spec}:{construction}:{root}" in [thing.key for thing in everything.things]
    ingest(stores, everything)
    assert_stored(stores, everything)


def test_a_second_time_creates_nothing(stores: Stores, what: Plan) -> None:
    """Not a node, not a relationship, not a row."""
    ingest(stores, what)
    before = counts(stores.graph), stored_counts(stores)
    summary = ingest(stores, what)
    assert (summary.created, summary.present, summary.recovered, summary.rows) == (
        [],
        list(S4),
        [],
        0,
    )
    assert str(summary) == "nothing to create: 3 of 3 are already there"
    assert (counts(stores.graph), stored_counts(stores)) == before


def test_what_is_missing_is_added(stores: Stores) -> None:
    """A larger plan over a smaller one, and another topology beside it."""
    ingest(stores, plan("S4", "greedy"))
    larger = plan("S4", "all", "all")
    summary = ingest(stores, larger)
    assert summary.present == ["S4", "S4:greedy:1234"]
    assert_stored(stores, larger)
    ingest(stores, plan("S3", "all"))
    assert set(states(stores).values()) == {"complete"}
    assert check_nodes(stores.graph, "Topology", ("name", "state")) == {
        ("S3", "complete"),
        ("S4", "complete"),
    }


def test_the_stages_come_in_order(few: Stores, what: Plan) -> None:
    """And every one of them, for every thing: tests below break off at each."""
    seen: list[tuple[str, str]] = []
    ingest(few, what, on_stage=lambda stage, thing: seen.append((thing.kind, stage)))
    for kind in ("topology", "forest", "schedule"):
        found = [stage for one, stage in seen if one == kind]
        assert list(dict.fromkeys(found)) == list(STAGES)
        assert found.count("batch") >= 3


@pytest.mark.parametrize("stage", STAGES)
def test_while_loading_nobody_calls_it_complete(few: Stores, what: Plan, stage: str) -> None:
    """At every stage of every thing, what either store calls complete is whole there."""

    def look(at: str, thing: Thing) -> None:
        if at != stage:
            return
        state = states(few)[thing.key]
        assert (state == "complete") == (at == "complete")
        if at not in {"finished", "complete"}:
            assert (thing.key,) not in check_nodes(
                few.graph, f"{thing.kind.capitalize()} {{state: 'complete'}}", ("id",)
            )

    ingest(few, what, on_stage=look)


class Break(Exception):  # noqa: N818 - not an error of anybody's
    """Something that nobody foresaw."""


@pytest.mark.parametrize(
    ("how", "kind", "stage"),
    [
        *(
            (KeyboardInterrupt, kind, stage)
            for kind in ("topology", "forest", "schedule")
            for stage in STAGES
        ),
        *((Break, "forest", stage) for stage in STAGES),
    ],
)
def test_what_is_broken_off_is_cleaned_up_by_the_next(
    few: Stores, what: Plan, how: type[BaseException], kind: str, stage: str
) -> None:
    """Ctrl-C or a defect at any stage: what was complete stays, the rest is failed, and the next ingest makes it whole."""

    def broken(at: str, thing: Thing) -> None:
        if (at, thing.kind) == (stage, kind):
            raise how

    with pytest.raises(how):
        ingest(few, what, on_stage=broken)
    place = ("topology", "forest", "schedule").index(kind)
    done = place + (stage == "complete")
    assert {key for key, state in states(few).items() if state == "complete"} == set(S4[:done])
    if stage != "complete":
        assert states(few)[S4[place]] == "failed"
    if stage != "finished":
        nothing_unproved_is_complete(few)
    summary = ingest(few, what)
    assert summary.present == list(S4[:done])
    assert_stored(few, what)


def test_a_defect_s_words_are_kept(stores: Stores, what: Plan) -> None:
    """`failed` says why, and nothing of the thing is left."""

    def broken(at: str, thing: Thing) -> None:
        if (at, thing.kind) == ("written", "forest"):
            raise Break("out of cheese")

    with pytest.raises(Break):
        ingest(stores, what, on_stage=broken)
    with session(stores.engine) as opened:
        assert [(row["state"], row["error"]) for row in listing(opened, "forest")] == [
            ("failed", "Break: out of cheese")
        ]
    assert check_nodes(stores.graph, "Forest", ("id",)) == set()
    assert stores.graph.read("MATCH ()-[r:TREE_EDGE]->() RETURN count(r) AS n") == [{"n": 0}]
    assert stored_counts(stores)["forest"] == stored_counts(stores)["tree"] == 0


def test_what_a_checker_rejects_is_not_stored(stores: Stores) -> None:
    """A forest with a cycle: the topology is there, the forest is not."""
    where = topology("S4")
    ports = forest(where, "greedy").parent_port.copy()
    ports[0, 5], ports[0, where.neighbours(2)[5]] = 2, 2
    bad = Forest(where, ports, construction="cyclic")
    with pytest.raises(RejectedError, match="is not a forest"):
        ingest(stores, Plan((TopologyThing(where), ForestThing(bad))))
    assert states(stores) == {"S4": "complete", bad.id: "failed"}
    assert stored_counts(stores)["forest"] == 0
    assert check_nodes(stores.graph, "Forest", ("id",)) == set()


def test_a_schedule_that_breaks_a_rule_is_not_stored(
    stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One-port rows of an all-port schedule: the simulator says no."""
    import dataclasses

    from starcast.collectives import schedule
    from starcast.ingest import artifacts

    def wrong(*words: object, **options: object) -> object:
        return dataclasses.replace(schedule(*words, **options), step=np.ones(23, dtype=np.int32))  # type: ignore[arg-type]

    monkeypatch.setattr(artifacts, "schedule", wrong)
    with pytest.raises(RejectedError, match="breaks a rule: step 1"):
        ingest(stores, plan("S4", schedules="greedy"))
    assert stored_counts(stores)["schedule"] == 0
    assert states(stores)["S4:broadcast:greedy:all:segments=1:1234"] == "failed"


def test_a_schedule_that_leaves_somebody_out_is_not_stored(
    stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No violation, but not complete."""
    import dataclasses

    from starcast.collectives import schedule
    from starcast.ingest import artifacts

    def short(*words: object, **options: object) -> object:
        made = schedule(*words, **options)  # type: ignore[arg-type]
        return dataclasses.replace(
            made, **{name: getattr(made, name)[:-1] for name in things_columns}
        )

    things_columns = ("step", "sender", "port", "receiver", "tree", "unit")
    monkeypatch.setattr(artifacts, "schedule", short)
    with pytest.raises(RejectedError, match="leaves 1 units undelivered"):
        ingest(stores, plan("S4", schedules="greedy"))
    assert stored_counts(stores)["schedule"] == 0


MEDDLING = {
    "a port": "MATCH ()-[r:TREE_EDGE]->() WITH r LIMIT 1 SET r.port = r.port % 3 + 2",
    "a relationship": "MATCH (a)-[r:TREE_EDGE]->(b) WITH a, b, r LIMIT 1 CREATE (a)-[s:TREE_EDGE]->(b) SET s = properties(r)",
    "the forest's node": "MATCH (f:Forest) SET f.height = 77",
}


@pytest.mark.parametrize("edit", MEDDLING, ids=str)
def test_a_graph_that_differs_from_the_arrays_is_not_complete(
    stores: Stores, what: Plan, edit: str
) -> None:
    """Somebody else writes between our writing and our reading back."""

    def meddle(at: str, thing: Thing) -> None:
        if (at, thing.kind) == ("written", "forest"):
            stores.graph.write(MEDDLING[edit])

    with pytest.raises(RejectedError, match="does not hold S4:multiple:1234 as it was built"):
        ingest(stores, what, on_stage=meddle)
    assert states(stores) == {"S4": "complete", "S4:multiple:1234": "failed"}
    assert check_nodes(stores.graph, "Forest", ("id",)) == set()
    ingest(stores, what)
    assert_stored(stores, what)


def test_a_graph_that_was_emptied_is_filled_again(stores: Stores, what: Plan) -> None:
    """It is a materialization: PostgreSQL knows what was in it."""
    ingest(stores, plan("S3", "greedy"))
    ingest(stores, what)
    stores.graph.write("MATCH (n) DETACH DELETE n")
    summary = ingest(stores, what)
    assert [one.key for one in summary.created] == list(S4)
    assert {key: state for key, state in states(stores).items() if key.startswith("S3")} == {
        "S3": "failed",
        "S3:greedy:123": "failed",
    }
    with session(stores.engine) as opened:
        assert {row["error"] for row in listing(opened, "topology", "S3")} == {
            "it is no longer in the graph store"
        }
    drop(stores, "topology", "S3", cascade=True)
    assert_stored(stores, what)


@pytest.mark.parametrize("label", ["Topology", "Forest", "Schedule"])
def test_a_thing_that_is_lost_takes_along_what_depends_on_it(
    stores: Stores, what: Plan, label: str
) -> None:
    """The rest stays, and everything is whole again."""
    ingest(stores, what)
    stores.graph.write(f"MATCH (o:{label}) DETACH DELETE o")
    summary = ingest(stores, what)
    first = ("Topology", "Forest", "Schedule").index(label)
    assert summary.present == list(S4[:first])
    assert_stored(stores, what)


def test_what_postgresql_does_not_know_is_taken_out(stores: Stores, what: Plan) -> None:
    """As after restoring an older copy of its data."""
    ingest(stores, what)
    with stores.engine.begin() as connection:
        for table in ("schedule", "tree", "forest"):
            connection.execute(text(f"delete from {table}"))  # noqa: S608 - names of ours
        connection.execute(text("delete from materialization where kind <> 'topology'"))
    only = plan("S4")
    assert ingest(stores, only).recovered == [S4[2], S4[1]]
    assert_stored(stores, only)


def test_a_second_process_is_refused_or_waits(stores: Stores, what: Plan) -> None:
    """The lock is the database's."""
    with ExitStack() as stack:
        stack.enter_context(exclusively(stores.engine, wait=False, reporter=Silent()))
        calls: list[Callable[[], object]] = [
            lambda: ingest(stores, what),
            lambda: drop(stores, "topology", "S4"),
        ]
        for call in calls:
            with pytest.raises(BusyError) as caught:
                call()
            assert "--wait" in caught.value.hint
        assert counts(stores.graph) == (0, 0)
        told = threading.Event()

        class Listener(Silent):
            def say(self, text: str) -> None:
                if text.startswith("waiting"):
                    told.set()

        done: list[object] = []
        waiting = threading.Thread(
            target=lambda: done.append(ingest(stores, what, wait=True, reporter=Listener()))
        )
        waiting.start()
        assert told.wait(60)
        assert not done
        stack.close()
        waiting.join(60)
        assert len(done) == 1
    assert_stored(stores, what)


def test_a_foreign_graph_stays_as_it_is(stores: Stores, what: Plan) -> None:
    """Nothing is written to either store."""
    stores.graph.write("CREATE (:Person)-[:KNOWS]->(:Person)")
    with pytest.raises(UnavailableError, match=":Person"):
        ingest(stores, what)
    assert counts(stores.graph) == (2, 1)
    assert set(stored_counts(stores).values()) == {0}


def test_a_graph_of_another_database_stays_as_it_is(stores: Stores, what: Plan) -> None:
    """The ids are compared before anything is written."""
    stores.graph.write("CREATE (:Store {id: 'another', schema: 1})")
    with pytest.raises(UnavailableError, match="another PostgreSQL database"):
        ingest(stores, what)
    assert counts(stores.graph) == (1, 0)
    assert set(stored_counts(stores).values()) == {0}


def test_dropping_names_what_depends_on_it(stores: Stores, what: Plan) -> None:
    """And with cascade takes it along, in the order in which it may go."""
    ingest(stores, what)
    before = counts(stores.graph), stored_counts(stores)
    for kind, key, leaning in (("topology", S4[0], (S4[2], S4[1])), ("forest", S4[1], (S4[2],))):
        with pytest.raises(RejectedError) as caught:
            drop(stores, kind, key)
        assert caught.value.message == f"{', '.join(leaning)} depend on {key}"
    assert (counts(stores.graph), stored_counts(stores)) == before
    assert drop(stores, "forest", S4[1], cascade=True) == [S4[2], S4[1]]
    assert_stored(stores, plan("S4"))
    assert drop(stores, "topology", "S4") == ["S4"]
    assert counts(stores.graph) == (1, 0)
    assert set(stored_counts(stores).values()) == {0}


def test_what_was_dropped_can_come_back(stores: Stores, what: Plan) -> None:
    """As it was."""
    ingest(stores, what)
    drop(stores, "topology", "S4", cascade=True)
    ingest(stores, what)
    assert_stored(stores, what)


def test_dropping_leaves_the_neighbours_alone(stores: Stores) -> None:
    """Other forests of the topology, other schedules of the forest."""
    ingest(stores, plan("S4", schedules="greedy,multiple,recursive-substar", ports="both"))
    drop(stores, "schedule", "S4:broadcast:greedy:one:segments=1:1234")
    drop(stores, "forest", "S4:multiple:1234", cascade=True)
    left = plan("S4", "greedy,recursive-substar", "recursive-substar", ports="both")
    kept = ScheduleThing(find("broadcast", "greedy"), topology("S4"), 0, "all", {"segments": 1})
    assert_stored(stores, Plan((*left.things, kept)))


@pytest.mark.parametrize(
    ("kind", "key", "near"),
    [
        ("topology", "S44", "S4"),
        ("forest", "S4:multipl:1234", "S4:multiple:1234"),
        ("schedule", "zzz", "starcast schedule list"),
    ],
)
def test_an_unknown_name_is_not_found_and_the_nearest_is_named(
    stores: Stores, what: Plan, kind: str, key: str, near: str
) -> None:
    """For dropping and for showing."""
    ingest(stores, what)
    with pytest.raises(NotFoundError) as caught:
        drop(stores, kind, key)
    assert near in caught.value.hint
    with session(stores.engine) as opened, pytest.raises(NotFoundError):
        description(opened, kind, key)


def test_what_is_stored_is_listed_and_described(stores: Stores, what: Plan) -> None:
    """The figures are the forest's own."""
    ingest(stores, what)
    grown = forest("S4", "multiple")
    with session(stores.engine) as opened:
        row = listing(opened, "forest", "S4")[0]
        assert [row[name] for name in columns("forest")] == [
            "S4:multiple:1234", "S4", "multiple", "1234", 3, grown.height, grown.congestion, "complete", None,
        ]  # fmt: skip
        assert listing(opened, "forest", "S5") == []
        shown = {row["property"]: row["value"] for row in description(opened, "forest", S4[1])}
        assert (shown["heights"], shown["leaves"]) == (
            grown.heights.tolist(),
            grown.leaves.tolist(),
        )
        assert shown["expected checksum"] == shown["found checksum"]
        assert {row["arguments"] for row in listing(opened, "schedule")} == {"segments=2"}


def test_a_stored_thing_can_be_checked_again(stores: Stores, what: Plan) -> None:
    """An edit by hand is found long after the ingest."""
    ingest(stores, what)
    for kind, key in zip(("topology", "forest", "schedule"), S4, strict=True):
        check(stores, kind, key)
    stores.graph.write("MATCH ()-[r:SEND]->() WITH r LIMIT 1 SET r.unit = r.unit + 1")
    with pytest.raises(RejectedError, match="the graph holds"):
        check(stores, "schedule", S4[2])
    check(stores, "forest", S4[1])
