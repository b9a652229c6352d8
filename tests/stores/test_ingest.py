"""Ingestion: both stores hold exactly the built artifacts, even after errors."""

import re
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
from sqlalchemy import URL, text

from starcast.collectives import Schedule, algorithm, schedule
from starcast.collectives.algorithm import ScheduleParameters, find_algorithm
from starcast.ingest import Plan, Stores, artifacts, drop, ingest, offline
from starcast.ingest.artifacts import (
    Artifact,
    artifact_from_id,
    forest_artifact,
    schedule_artifact,
    topology_artifact,
)
from starcast.ingest.both_stores import lock_stores
from starcast.ingest.loading import STAGES, ignore_stage, recover
from starcast.ingest.rebuilding import rebuild
from starcast.ingest.verification import verify
from starcast.stores import Role
from starcast.stores.database import sessions
from starcast.stores.database.repository import artifact_columns, describe_artifact, list_artifacts
from starcast.stores.database.sessions import open_session
from starcast.support.errors import (
    BusyError,
    LimitError,
    RejectedError,
    StarcastError,
    UnavailableError,
)
from starcast.support.progress import Silent
from starcast.support.vocabulary import format_spec
from starcast.topologies import topology
from starcast.trees import Forest, constructions, forest
from starcast.trees.construction import CONSTRUCTIONS
from support.checks import (
    assert_stored,
    check_nodes,
    counts,
    finish_interrupted,
    states,
    stored_counts,
)
from support.fix_graph import FEW, PowerCut, at_stage
from support.plans import PLAN, S4, TREES, plan
from support.recorder import Recorder

#: Id of the forest `own_forest`.
MINE = "S4:mine:1234"


def constructions_with_arguments(spec: str) -> list[str]:
    """Return all constructions of a topology, with arguments where needed."""
    trees = {"S": "multiple", "Q": "edge-disjoint-binomial"}[spec[0]]
    arguments: dict[str, str | int] = {"base": f"nk-{trees}" if "," in spec else trees, "i": 1}
    return [
        format_spec(
            name,
            {each.name: arguments[each.name] for each in entry.arguments if each.default is None},
        )
        for name, entry in ((name, CONSTRUCTIONS[name]) for name in constructions(spec))
    ]


@pytest.mark.parametrize(
    ("spec", "root"),
    [
        ("Q3", "101"),
        *(
            pytest.param(*place.split(), marks=pytest.mark.slow)
            for place in ("S3 213", "S4,1 3", "S4,2 31", "S4 4321", "S5 31425")
        ),
    ],
)
def test_stored_artifacts_equal_the_built_ones(stores: Stores, spec: str, root: str) -> None:
    """The plan has all constructions and all algorithms, in both port models."""
    words = constructions_with_arguments(spec)
    everything = plan(spec, words, "all", root=root, ports="both", segments=2)
    summary = ingest(stores, everything)
    assert [one.id for one in summary.created] == [artifact.id for artifact in everything.artifacts]
    assert summary.rows == sum(artifact.rows for artifact in everything.artifacts)
    assert_stored(stores, everything)
    assert verify(stores, checksums=True) == []


def test_a_schedule_with_its_own_trees_has_no_stored_forest(stores: Stores) -> None:
    """The schedule uses dimension-changed trees. Only the schedule and its topology are stored."""
    wanted = plan("S4", schedules="allgather:dimension-change(base=balanced)")
    ingest(stores, wanted)
    assert [artifact.kind for artifact in wanted.artifacts] == ["topology", "schedule"]
    assert_stored(stores, wanted)
    assert stores.graph.read("MATCH (:Schedule)-[u:USES]->() RETURN count(u) AS n") == [{"n": 0}]


def test_query_plans_are_refreshed_after_the_last_artifact(
    stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An ingest that stores artifacts refreshes the server's query plans once."""
    reported: list[int] = []
    monkeypatch.setattr(
        "starcast.ingest.loaders.refresh_plans", lambda _: reported.append(len(states(stores)))
    )
    ingest(stores, PLAN)
    ingest(stores, PLAN)
    assert reported == [len(S4)]


def test_a_second_ingest_creates_nothing(stores: Stores) -> None:
    """The second ingest adds no nodes, relationships or rows."""
    ingest(stores, PLAN)
    before = counts(stores.graph), stored_counts(stores)
    summary = ingest(stores, PLAN)
    assert (summary.created, summary.present, summary.recovered, summary.rows) == (
        [],
        list(S4),
        [],
        0,
    )
    assert str(summary) == "nothing to create: 3 of 3 are already stored"
    assert (counts(stores.graph), stored_counts(stores)) == before


def test_an_artifact_is_marked_complete_only_in_the_last_stages(few: Stores) -> None:
    """PostgreSQL marks an artifact complete at the last stage, Neo4j at the stage `finished`.

    The tests below interrupt an ingest at each of these stages.
    """
    observed: list[tuple[str, str]] = []

    def look(stage: str, artifact: Artifact) -> None:
        observed.append((artifact.kind, stage))
        assert (states(few)[artifact.id] == "complete") == (stage == "complete")
        label = f"{artifact.kind.capitalize()} {{state: 'complete'}}"
        key = "spec" if artifact.kind == "topology" else "id"
        is_complete = (artifact.id,) in check_nodes(few.graph, label, (key,))
        assert is_complete == (stage in {"finished", "complete"})

    ingest(few, PLAN, on_stage=look)
    for kind in ("topology", "forest", "schedule"):
        actual = [stage for one, stage in observed if one == kind]
        assert list(dict.fromkeys(actual)) == list(STAGES)
        assert actual.count("batch") >= 3


class Break(Exception):  # noqa: N818 - not an error of starcast
    """An error of a class that starcast does not expect."""


#: Interruptions without cleanup (`PowerCut`) at every stage, and two with cleanup. The others, also
#: with cleanup, are slow tests.
INTERRUPTIONS = [
    *((PowerCut, "forest", stage) for stage in STAGES),
    (KeyboardInterrupt, "topology", "batch"),
    (Break, "schedule", "compared"),
    *(
        pytest.param(how, kind, stage, marks=pytest.mark.slow)
        for how in (KeyboardInterrupt, Break)
        for kind in ("topology", "forest", "schedule")
        for stage in STAGES
    ),
]


@pytest.mark.whole
@pytest.mark.parametrize(("how", "kind", "stage"), INTERRUPTIONS)
def test_an_interrupted_ingest_is_finished_by_the_next_ingest(
    few: Stores, how: type[BaseException], kind: str, stage: str
) -> None:
    """Complete artifacts are kept, no others are marked complete; the next ingest adds the rest."""
    with pytest.raises(how):
        ingest(few, PLAN, on_stage=at_stage(stage, kind, Mock(side_effect=how)))
    finish_interrupted(few, PLAN, kind, stage, None if how is PowerCut else "failed")


def test_the_error_of_a_failed_artifact_is_recorded(stores: Stores) -> None:
    """The artifact's row in PostgreSQL states the error; nothing else of the artifact is stored."""
    failing = Mock(side_effect=Break("out of cheese"))
    with pytest.raises(Break):
        ingest(stores, PLAN, on_stage=at_stage("written", "forest", failing))
    with open_session(stores.engine) as session:
        assert [(row["state"], row["error"]) for row in list_artifacts(session, "forest")] == [
            ("failed", "Break: out of cheese")
        ]
    assert check_nodes(stores.graph, "Forest", ("id",)) == set()
    assert stores.graph.read("MATCH ()-[r:TREE_EDGE]->() RETURN count(r) AS n") == [{"n": 0}]
    assert stored_counts(stores)["forest"] == stored_counts(stores)["tree"] == 0


def test_a_rejected_forest_is_not_stored(stores: Stores) -> None:
    """A forest with a cycle is not stored, but its topology is."""
    network = topology("S4")
    ports = forest(network, "greedy").parent_port.copy()
    ports[0, 5], ports[0, network.neighbours(2)[5]] = 2, 2
    bad = Forest(network, ports, construction="cyclic")
    with pytest.raises(RejectedError, match="is not a forest"):
        ingest(stores, Plan((topology_artifact(network), forest_artifact(bad))))
    assert states(stores) == {"S4": "complete", bad.id: "failed"}
    assert stored_counts(stores)["forest"] == 0
    assert check_nodes(stores.graph, "Forest", ("id",)) == set()


#: Errors of wrong schedules, and the change of a correct schedule that causes each error: if all
#: rows are in step 1, senders lack units; without the last row, one unit is undelivered.
WRONG_SCHEDULES: dict[str, Callable[[Schedule], Schedule]] = {
    "violates a rule: step 1": lambda built: replace(built, step=np.ones_like(built.step)),
    "leaves 1 unit undelivered: ": lambda built: replace(
        built, **{name: values[:-1] for name, values in built.columns.present().items()}
    ),
}


@pytest.mark.parametrize("reason", WRONG_SCHEDULES, ids=str)
def test_a_wrong_schedule_is_not_stored(
    stores: Stores, monkeypatch: pytest.MonkeyPatch, reason: str
) -> None:
    """The schedule has a violation, or leaves units undelivered."""

    def wrong(*words: Any, **options: Any) -> Schedule:
        return WRONG_SCHEDULES[reason](schedule(*words, **options))

    monkeypatch.setattr(algorithm, "schedule", wrong)
    with pytest.raises(RejectedError, match=reason):
        ingest(stores, plan("S4", schedules="greedy"))
    assert stored_counts(stores)["schedule"] == 0
    assert states(stores)["S4:broadcast:greedy:all:segments=1:1234"] == "failed"


#: Changes of a stored forest by another program, as Cypher statements.
MEDDLING = {
    "a port": "MATCH ()-[r:TREE_EDGE]->() WITH r LIMIT 1 SET r.port = r.port % 3 + 2",
    "a relationship": (
        "MATCH (a)-[r:TREE_EDGE]->(b) WITH a, b, r LIMIT 1 "
        "CREATE (a)-[s:TREE_EDGE]->(b) SET s = properties(r)"
    ),
    "the forest's node": "MATCH (f:Forest) SET f.height = 77",
}


def test_an_artifact_whose_number_of_rows_differs_from_the_plan_is_not_stored(
    stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The built rows are counted, because the plan computes their number without building them."""
    monkeypatch.setattr(artifacts, "_size", lambda _: (24, 35))
    wanted = plan("S4")
    with pytest.raises(StarcastError, match="planned with 59 rows, but S4 was built with 60 rows"):
        ingest(stores, wanted)
    (planned,) = wanted.artifacts
    with pytest.raises(StarcastError, match="planned with 59 rows"):
        planned.content_of(planned.build().graph)
    assert states(stores) == {"S4": "failed"}
    assert check_nodes(stores.graph, "Topology", ("spec",)) == set()


@pytest.mark.parametrize("edit", MEDDLING, ids=str)
def test_an_artifact_fails_if_another_program_changes_it_during_loading(
    stores: Stores, edit: str
) -> None:
    """Another program writes to the graph between the load and the comparison."""
    meddle = at_stage("written", "forest", lambda: stores.graph.write(MEDDLING[edit]))
    with pytest.raises(RejectedError, match="does not match S4:multiple:1234: expected"):
        ingest(stores, PLAN, on_stage=meddle)
    assert states(stores) == {"S4": "complete", TREES: "failed"}
    assert check_nodes(stores.graph, "Forest", ("id",)) == set()
    ingest(stores, PLAN)
    assert_stored(stores, PLAN)


@pytest.mark.parametrize(("first", "label"), [*enumerate(["Topology", "Forest", "Schedule"])])
def test_a_lost_artifact_and_its_dependents_are_recreated(
    stores: Stores, first: int, label: str
) -> None:
    """All other artifacts are kept. For an emptied graph, see `test_graph_rebuild.py`."""
    ingest(stores, PLAN)
    stores.graph.write(f"MATCH (o:{label}) DETACH DELETE o")
    summary = ingest(stores, PLAN)
    assert summary.present == list(S4[:first])
    assert_stored(stores, PLAN)


def own_forest(first: int) -> Forest:
    """Return a user's forest of two trees of `multiple`, from number ``first`` on."""
    ports = forest("S4", "multiple").parent_port[first : first + 2]
    return Forest(topology("S4"), ports, construction="mine")


def test_a_forest_of_an_interrupted_ingest_does_not_prevent_the_next_one(stores: Stores) -> None:
    """After Ctrl-C, a forest with other trees can be stored under the same name."""
    with pytest.raises(KeyboardInterrupt):
        ingest(
            stores,
            plan("S4", forests=[own_forest(0)]),
            on_stage=at_stage("saved", "forest", Mock(side_effect=KeyboardInterrupt)),
        )
    assert states(stores)[MINE] == "failed"
    corrected = plan("S4", forests=[own_forest(1)])
    ingest(stores, corrected)
    assert_stored(stores, corrected)
    with pytest.raises(RejectedError, match="different trees is already stored"):
        ingest(stores, plan("S4", forests=[own_forest(0)]))


@pytest.mark.parametrize("stage", ["planned", "batch"])
def test_a_drop_works_after_an_interrupted_ingest(few: Stores, stage: str) -> None:
    with pytest.raises(PowerCut):
        ingest(few, PLAN, on_stage=at_stage(stage, "topology", Mock(side_effect=PowerCut)))
    assert drop(few, "topology", "S4") == ["S4"]
    assert states(few) == {}


def test_a_forest_survives_an_import_that_fails_when_it_replaces_the_store(
    stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The trees of a user's forest exist only in PostgreSQL, so a failed import must keep them."""
    requested = plan("S4", forests=[own_forest(0)])
    ingest(stores, requested)

    def fill_disk(*given: Any) -> None:
        accept = next(each for each in given if getattr(each, "__name__", "") in {"accept", "mark"})
        with accept():
            raise LimitError("the disk is full", hint="free some space")

    monkeypatch.setattr(offline, "_import", fill_disk)
    with lock_stores(stores, False, Silent()) as locked:
        complete = [*reversed(requested.artifacts)]
        with pytest.raises(LimitError):
            offline.import_remaining(locked, Mock(), complete, Silent(), ignore_stage)
        assert states(stores) == {"S4": "complete", MINE: "complete"}
        stores.graph.write("MATCH (f:Forest) DETACH DELETE f")
        recover(locked, Silent())
        with locked.session() as session:
            lost = artifact_from_id(session, "forest", MINE)
        with pytest.raises(LimitError):
            offline.import_all(locked, Mock(), [lost], Silent(), ignore_stage)
    assert states(stores)[MINE] == "failed"
    rebuild(stores)
    assert_stored(stores, requested)


def test_an_ingest_deletes_artifacts_that_postgresql_does_not_know(stores: Stores) -> None:
    """The graph has such artifacts after an older backup of PostgreSQL has been restored."""
    ingest(stores, PLAN)
    with stores.engine.begin() as connection:
        for table in ("schedule", "tree", "forest"):
            connection.execute(text(f"delete from {table}"))  # noqa: S608 - constant table names
        connection.execute(text("delete from materialization where kind <> 'topology'"))
    only = plan("S4")
    assert ingest(stores, only).recovered == [S4[2], S4[1]]
    assert_stored(stores, only)


def test_a_second_concurrent_ingest_is_refused_or_waits(stores: Stores) -> None:
    """The processes exclude each other by a lock in PostgreSQL."""
    activity = r"another process has been dropping Q3 since \d\d:\d\d:\d\d, for \d+ (s|min)"
    reported = threading.Event()

    class Listener(Silent):
        def say(self, text: str) -> None:
            if text.startswith("waiting: another process has been dropping Q3 since "):
                reported.set()

    with ThreadPoolExecutor() as pool:
        with lock_stores(stores, wait=False, reporter=Silent(), task="dropping Q3"):
            for call in (lambda: ingest(stores, PLAN), lambda: drop(stores, "topology", "S4")):
                with pytest.raises(BusyError) as caught:
                    call()
                assert re.fullmatch(activity, caught.value.message)
                assert "`wait`" in caught.value.hint
            assert counts(stores.graph) == (0, 0)
            waiting = pool.submit(ingest, stores, PLAN, wait=True, reporter=Listener())
            assert reported.wait(60)
            assert not waiting.done()
        waiting.result(60)
    assert_stored(stores, PLAN)


@pytest.mark.parametrize(
    ("statement", "reason", "before"),
    [
        ("CREATE (:Person)-[:KNOWS]->(:Person)", ":Person", (2, 1)),
        ("CREATE (:Store {id: 'another', schema: 3})", "another PostgreSQL database", (1, 0)),
    ],
)
def test_an_ingest_does_not_change_the_graph_of_another_owner(
    stores: Stores, statement: str, reason: str, before: tuple[int, int]
) -> None:
    """The owner is read before anything is written to either store."""
    stores.graph.write(statement)
    with pytest.raises(UnavailableError, match=reason):
        ingest(stores, PLAN)
    assert counts(stores.graph) == before
    assert set(stored_counts(stores).values()) == {0}


def test_a_refused_drop_names_the_dependents_of_the_artifact(stores: Stores) -> None:
    """With cascade, the dependents are dropped first. Dropped artifacts can be ingested again."""
    ingest(stores, PLAN)
    before = counts(stores.graph), stored_counts(stores)
    for kind, artifact_id, leaning in (
        ("topology", S4[0], (S4[2], S4[1])),
        ("forest", S4[1], (S4[2],)),
    ):
        with pytest.raises(RejectedError) as caught:
            drop(stores, kind, artifact_id)
        reason = f"cannot be dropped because artifacts depend on it: {', '.join(leaning)}"
        assert caught.value.message == f"{artifact_id} {reason}"
    assert (counts(stores.graph), stored_counts(stores)) == before
    assert drop(stores, "forest", S4[1], cascade=True) == [S4[2], S4[1]]
    assert_stored(stores, plan("S4"))
    assert drop(stores, "topology", "S4") == ["S4"]
    assert counts(stores.graph) == (1, 0)
    assert set(stored_counts(stores).values()) == {0}
    ingest(stores, PLAN)
    assert_stored(stores, PLAN)


def test_a_drop_keeps_other_artifacts(few: Stores) -> None:
    """Other topologies, other forests of the topology and other schedules are kept.

    The artifacts are deleted in several batches, and the progress counts every deleted row.
    """
    ingest(few, plan("S3"))
    ingest(few, plan("S4", schedules="greedy,multiple,recursive-substar", ports="both"))
    recorder = Recorder()
    drop(few, "topology", "S3", reporter=recorder)
    drop(few, "schedule", "S4:broadcast:greedy:one:segments=1:1234", reporter=recorder)
    drop(few, "forest", TREES, cascade=True, reporter=recorder)
    assert len(recorder.tasks) == 5
    assert all(task.done == task.total > FEW for task in recorder.tasks)
    left = plan("S4", "greedy,recursive-substar", "recursive-substar", ports="both")
    kept = schedule_artifact(
        ScheduleParameters(
            find_algorithm("broadcast", "greedy"), topology("S4"), 0, "all", {"segments": 1}
        )
    )
    assert_stored(few, Plan((*left.artifacts, kept)))


def test_stored_artifacts_are_listed_and_described(stores: Stores) -> None:
    """The description of a forest includes its metrics."""
    ingest(stores, PLAN)
    built_forest = forest("S4", "multiple")
    with open_session(stores.engine) as session:
        row = list_artifacts(session, "forest", "S4")[0]
        measures = (3, built_forest.height, built_forest.congestion)
        values = (S4[1], "S4", "multiple", "1234", *measures, "complete", None)
        assert tuple(row[name] for name in artifact_columns("forest")) == values
        assert list_artifacts(session, "forest", "S5") == []
        shown = describe_artifact(session, "forest", S4[1])
        for name in ("heights", "leaves", "sizes"):
            assert shown[name] == getattr(built_forest, name).tolist()
        assert shown["expected_checksum"] == shown["found_checksum"]
        assert {row["arguments"] for row in list_artifacts(session, "schedule")} == {"segments=2"}


@pytest.mark.parametrize("access", ["the reader", "read-only transactions"])
def test_a_user_without_write_access_is_refused_before_the_graph_changes(
    stores: Stores, role_url: Callable[[URL, Role], URL], access: str
) -> None:
    """The role lacks the right to write, or the server is read-only, such as a hot standby."""
    url = role_url(stores.engine.url, "reader")
    if access == "read-only transactions":
        options = {"options": "-c default_transaction_read_only=on"}
        url = stores.engine.url.update_query_dict(options)
    engine = sessions.connect(url)
    reading = replace(stores, engine=engine)
    with pytest.raises(UnavailableError, match=r"permission denied|read-only") as refused:
        ingest(reading, PLAN)
    assert "\n" not in refused.value.message
    assert counts(stores.graph) == (0, 0)
    ingest(stores, PLAN)
    with pytest.raises(UnavailableError, match=r"permission denied|read-only"):
        drop(reading, "topology", "S4", cascade=True)
    assert_stored(stores, PLAN)
    engine.dispose()
