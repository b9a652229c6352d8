"""Offline imports into an embedded stack: their results, and interruptions."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import starcast
from starcast.embedded import stack, system
from starcast.embedded.endpoints import graph_address
from starcast.embedded.home import Home
from starcast.embedded.neo4j import Neo4j
from starcast.ingest import (
    LoadMethod,
    Plan,
    Stores,
    drop,
    ingest,
    open_stores,
    parse_request,
    planning,
)
from starcast.ingest.artifacts import Artifact
from starcast.ingest.rebuilding import rebuild
from starcast.ingest.verification import check_artifact, verify
from starcast.stores.graph.connection import Graph
from starcast.support.errors import BusyError, LimitError, RejectedError, UnavailableError
from starcast.support.progress import Silent, Task
from starcast.support.settings import Settings
from starcast.trees import forest as grow
from support import readback
from support.checks import assert_stored, counts, graph_states, states
from support.plans import PLAN, S4, SENDS, TREES, plan
from support.recorder import Recorder

SCRIPT = Path(__file__).parents[1] / "support" / "break_off.py"
OLD = plan("S3", schedules="greedy")
OLD_IDS = {artifact.id for artifact in OLD.artifacts}
NEW_IDS = set(S4)
#: Plans with all constructions on S4,2, Q4 and S4, all algorithms on S4, and ids with commas and
#: parentheses.
EVERYTHING = (
    plan("S4,2", ["all"]),
    plan("Q4", ["all"]),
    plan("S5", ["multiple", "dimension-change(base=greedy,i=2)"], root="31425"),
    plan("S4", ["all"], ["all"], ports="both"),
)


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    """Settings of a stack with artifacts on S3 (`OLD`); the name of its home needs quoting."""
    settings = Settings.load(home=tmp_path_factory.mktemp("offline") / "a home: ü")
    stack.up(settings, Silent())
    try:
        with open_stores(settings) as stores:
            ingest(stores, OLD)
        yield settings
    finally:
        stack.down(settings.home, Silent())


@pytest.mark.usefixtures("clean_graph")
def test_an_import_replaces_the_store_of_a_running_server(stack_settings: Settings) -> None:
    """The new store has the earlier and the imported artifacts, and a new server process."""
    before = Home(stack_settings.home).published()["neo4j"].pid
    with open_stores(stack_settings) as stores:
        ingest(stores, OLD, method=LoadMethod.BOLT)
        ingest(stores, PLAN, method=LoadMethod.IMPORT)
    assert Home(stack_settings.home).published()["neo4j"].pid != before
    with open_stores(stack_settings) as stores:
        assert_complete(stores, OLD_IDS | NEW_IDS)


@pytest.mark.usefixtures("clean_graph")
@pytest.mark.parametrize("values", [{}, {"capacities": [1, 20, 4, 1], "latencies": [0, 7, 123, 0]}])
def test_networks_can_be_loaded_by_an_offline_import(
    stack_settings: Settings, values: dict[str, Any]
) -> None:
    """Labels and titles differ in length, and some titles need quotes in CSV."""
    links = [("Köln", 'say "A, B"'), ('say "A, B"', "c"), ("c", "Köln"), ("c", "100")]
    given = starcast.network(links, name="cities", switches=["c"], **values)
    with open_stores(stack_settings) as stores:
        request = parse_request(given, "breadth-first", schedules="allgather:greedy")
        ingest(stores, request, method=LoadMethod.IMPORT)
        assert verify(stores, [given.spec], checksums=True) == []
        drop(stores, "topology", given.spec, cascade=True)


@pytest.mark.slow
@pytest.mark.usefixtures("clean_graph")
def test_imported_artifacts_equal_the_built_ones(stack_settings: Settings) -> None:
    """Arrays read from the stores equal newly built arrays; every artifact is marked complete."""
    with open_stores(stack_settings) as stores:
        for name in [name for name in states(stores) if ":" not in name]:
            drop(stores, "topology", name, cascade=True)  # left by earlier tests
    for each in EVERYTHING:
        with open_stores(stack_settings) as stores:
            ingest(stores, each, method=LoadMethod.IMPORT)
    with open_stores(stack_settings) as stores:
        assert_stored(stores, Plan(tuple(one for each in EVERYTHING for one in each.artifacts)))
        assert verify(stores, checksums=True) == []


@contextmanager
def opened(own: Settings) -> Iterator[Stores]:
    """Run `up`, which cleans up after a kill, and open the stores of the stack."""
    stack.up(own, Silent())
    with open_stores(own) as stores:
        yield stores


def in_force(own: Settings) -> str:
    """Return the name of the data directory; check that no old directory or server is left."""
    home = Home(own.home)
    assert Neo4j(home).stale_folders() == []
    pids = [process.pid for process in Neo4j(home).find_processes()]
    assert pids == [home.published()["neo4j"].pid]
    return Neo4j(home).data.name


def in_graph(own: Settings) -> set[str]:
    """Return the ids of all artifacts in the graph."""
    with open_stores(own) as stores:
        return {artifact_id for _, artifact_id in graph_states(stores)}


def assert_complete(stores: Stores, ids: set[str]) -> None:
    """Check that exactly these artifacts are complete in the graph, with correct checksums."""
    found = graph_states(stores)
    assert {artifact_id for _, artifact_id in found} == ids
    assert set(found.values()) == {"complete"}
    for kind, artifact_id in found:
        check_artifact(stores, kind, artifact_id)


def dies(own: Settings, stage: str, command: str = "import") -> None:
    """Import or drop the new artifacts, and check that the command is killed at the given stage."""
    words = [sys.executable, str(SCRIPT), command, stage]
    environment = {**os.environ, "STARCAST_HOME": str(own.home)}
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("stage", ["saved", "written", "imported"])
def test_a_kill_before_the_server_stops_changes_nothing(own: Settings, stage: str) -> None:
    """The old server keeps answering, and the next `up` deletes the written files."""
    before, stored_before = in_force(own), in_graph(own)
    pid = Home(own.home).published()["neo4j"].pid
    dies(own, stage)
    with open_stores(own) as stores:  # no 'up' is needed: the server is running
        assert_complete(stores, stored_before)
        assert set(states(stores).values()) == {"complete", "loading"}
    stack.up(own, Silent())
    assert in_force(own) == before
    assert Home(own.home).published()["neo4j"].pid == pid


@pytest.mark.slow
def test_a_kill_during_the_comparison_of_an_imported_store_keeps_the_old_store(
    own: Settings,
) -> None:
    """An unpublished server remains, until `up` replaces it by a server on the old data."""
    before, stored_before = in_force(own), in_graph(own)
    dies(own, "compared")
    assert Neo4j(Home(own.home)).data.name == before
    with pytest.raises(UnavailableError, match="is not running"):
        graph_address(own)
    assert stack.status(own.home)[0].state == "starting"
    with opened(own) as stores:
        assert_complete(stores, stored_before)
    assert in_force(own) == before


@pytest.mark.slow
def test_a_kill_after_activation_keeps_the_new_store(own: Settings) -> None:
    """All artifacts are complete, the password is kept, and a second ingest creates nothing."""
    before, password, stored_before = in_force(own), Home(own.home).password("neo4j"), in_graph(own)
    dies(own, "changed")
    with opened(own) as stores:
        assert_complete(stores, stored_before | NEW_IDS)
        assert set(states(stores).values()) == {"complete"}
        forest = readback.read_forest(stores.graph, TREES)
        assert np.array_equal(forest.parent_port, grow("S4", "multiple").parent_port)
        assert ingest(stores, PLAN).created == []
    assert in_force(own) != before
    assert Home(own.home).password("neo4j") == password


@pytest.mark.slow
def test_an_imported_store_that_fails_the_comparison_is_never_used(own: Settings) -> None:
    """After the failed comparison, the old store is running again on its port."""
    before, address, stored_before = in_force(own), graph_address(own), in_graph(own)
    observed: list[str] = []

    def spoil(stage: str, _: Artifact) -> None:
        if stage == "started":
            observed.append(stack.status(own.home)[0].state)
            with pytest.raises(UnavailableError, match="is restarting on a newly imported store"):
                graph_address(own)
            with Graph.open(address) as fresh:
                fresh.write("MATCH (a {topology: 'S3'})-[r:LINK]->() WITH r LIMIT 1 DELETE r")

    stored_plan = plan("Q3", trees="binomial")
    with opened(own) as stores:
        with pytest.raises(
            RejectedError,
            match=r"the imported store differs from the built artifacts: the store: "
            r"LINK occurs \d+ times; expected \d+; S3: LINK .* missing",
        ):
            ingest(stores, stored_plan, on_stage=spoil, method=LoadMethod.IMPORT)
        assert observed == ["rebuilding"]
        assert in_force(own) == before
        assert_complete(stores, stored_before)
        failed = dict.fromkeys((each.id for each in stored_plan.artifacts), "failed")
        assert states(stores) == dict.fromkeys(stored_before, "complete") | failed


@pytest.mark.slow
def test_ctrl_c_ends_the_import_and_keeps_the_server(own: Settings) -> None:
    """The import tool ends, and the server is never stopped."""
    before, stored_before = Home(own.home).published(), in_graph(own)

    class Interrupting(Recorder):
        @contextmanager
        def task(self, text: str, total: int, unit: str = "") -> Iterator[Task]:
            """Raise an interrupt when the import tool starts."""
            if text.startswith("import "):
                raise KeyboardInterrupt
            with super().task(text, total, unit) as task:
                yield task

    with open_stores(own) as stores:
        with pytest.raises(KeyboardInterrupt):
            ingest(stores, plan("Q3"), reporter=Interrupting(), method=LoadMethod.IMPORT)
        assert Home(own.home).published() == before
        in_force(own)
        assert_complete(stores, stored_before)
        assert states(stores)["Q3"] == "failed"
        ingest(stores, plan("Q3"))
        assert_complete(stores, stored_before | {"Q3"})
        drop(stores, "topology", "Q3", cascade=True)


@pytest.mark.slow
def test_data_of_other_programs_are_kept(own: Settings) -> None:
    """An import is refused while the graph has nodes of other programs, but Bolt still works."""
    with open_stores(own) as stores:
        stores.graph.write("CREATE (:Person)-[:KNOWS]->(:Person)")
        with pytest.raises(
            RejectedError, match="2 nodes with the label Person, 1 relationship of the type KNOWS"
        ) as caught:
            ingest(stores, plan("Q2"), method=LoadMethod.IMPORT)
        assert "`method` bolt" in caught.value.hint
        ingest(stores, plan("Q2"))
        drop(stores, "topology", "Q2")
        assert stores.graph.write("MATCH (p:Person) DETACH DELETE p RETURN count(p) AS gone") == [
            {"gone": 2}
        ]


@pytest.mark.slow
def test_a_disk_that_is_too_small_is_reported(
    own: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error names the sizes, and neither store is changed."""

    def refuse(folder: Path, megabytes: int, purpose: str) -> None:
        raise LimitError(f"{purpose} needs {megabytes} MB below {folder}", hint="free some space")

    monkeypatch.setattr(system, "require_space", refuse)
    with open_stores(own) as stores:
        before = states(stores)
        with pytest.raises(
            LimitError, match=r"an import of \d+ nodes and \d+ relationships.* needs \d+ MB"
        ):
            ingest(stores, plan("Q3"), method=LoadMethod.IMPORT)
        assert states(stores) == before


@pytest.mark.slow
def test_a_rebuild_by_import_repairs_manual_edits(own: Settings) -> None:
    """The edits also add data of another program, which a rebuild discards only on request."""
    stored_before = in_graph(own)
    with open_stores(own) as stores:
        stores.graph.write("MATCH (n:Node) SET n.label = 'x'")
        stores.graph.write("MATCH (s:Store) DELETE s CREATE (:Person)-[:KNOWS]->(:Person)")
        with pytest.raises(
            RejectedError, match="2 nodes with the label Person, 1 relationship of the type KNOWS"
        ):
            rebuild(stores, method=LoadMethod.IMPORT)
        original = rebuild(stores, method=LoadMethod.IMPORT, discard_foreign=True)
        assert {one.id for one in original} == stored_before
    with open_stores(own) as stores:
        assert_complete(stores, stored_before)
        assert verify(stores, checksums=True) == []


@pytest.fixture
def both(own: Settings) -> set[str]:
    """Store old and new artifacts, and return the ids that remain when S4 is dropped."""
    with opened(own) as stores:
        ingest(stores, PLAN)
        if "Q3" in states(stores):  # left by the test in which the ingest of Q3 fails
            drop(stores, "topology", "Q3", cascade=True)
    return in_graph(own) - NEW_IDS


@pytest.mark.slow
def test_a_drop_by_import_keeps_everything_else(own: Settings, both: set[str]) -> None:
    """The estimated times of both methods are printed.

    Until the server restarts, other processes can read, but not ingest.
    """
    before = in_force(own)
    recorder = Recorder()
    observed: list[str] = []

    def observe(stage: str) -> None:
        if stage == "imported":
            with open_stores(own) as stores:
                assert set(states(stores).values()) == {"complete"}
                assert TREES in states(stores)
                with pytest.raises(BusyError) as busy:
                    ingest(stores, plan("Q2"))
                observed.append(busy.value.message)
        if stage == "compared":
            with pytest.raises(UnavailableError) as away:
                graph_address(own)
            observed.append(away.value.message)

    with open_stores(own) as stores:
        dropped = drop(
            stores,
            "topology",
            "S4",
            cascade=True,
            reporter=recorder,
            method=LoadMethod.IMPORT,
            on_stage=observe,
        )
    assert dropped == [*reversed(S4)]
    activity = r"another process has been dropping S4 since \d\d:\d\d:\d\d, for \d+ (s|min)"
    assert len(observed) == 2
    assert re.fullmatch(activity, observed[0])
    assert re.search(rf"restarting on a newly imported store: {activity}", observed[1])
    announced = (
        r"dropping 3 artifacts: by an offline import of the \d+ rows that remain, in about \d+ s, "
        r"with 0.0 GB of temporary disk space; deleting 267 rows over Bolt would take 0 s"
    )
    assert re.fullmatch(announced, recorder.lines[0])
    assert in_force(own) != before
    with open_stores(own) as stores:
        assert set(states(stores)) == both
        assert_complete(stores, both)
        assert verify(stores) == []


@pytest.mark.slow
@pytest.mark.parametrize("stage", ["written", "imported", "compared"])
def test_a_drop_by_import_killed_before_activation_drops_nothing(
    own: Settings, both: set[str], stage: str
) -> None:
    """The old store stays in use, and all its artifacts are complete."""
    before = in_force(own)
    dies(own, stage, "drop-by-import")
    with opened(own) as stores:
        assert in_force(own) == before
        assert set(states(stores).values()) == {"complete"}
        assert_complete(stores, both | NEW_IDS)


@pytest.mark.slow
@pytest.mark.parametrize("stage", ["marked", "changed"])
def test_a_drop_by_import_killed_at_activation_is_finished_by_the_next_command(
    own: Settings, both: set[str], stage: str
) -> None:
    """The process is killed after the drop was recorded, before or after the store is activated."""
    before = in_force(own)
    dies(own, stage, "drop-by-import")
    with opened(own) as stores:
        assert (in_force(own) == before) == (stage == "marked")
        assert {states(stores)[name] for name in S4} == {"loading"}
        assert set(ingest(stores, OLD).recovered) == NEW_IDS
        assert_complete(stores, both)
        assert set(states(stores)) == both


@pytest.mark.slow
def test_a_drop_deletes_rows_if_an_import_would_lose_data_or_exceed_the_disk(
    own: Settings, both: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By default, rows are then deleted over Bolt. An explicitly requested import is refused."""
    monkeypatch.setattr(planning, "DELETED_PER_SECOND", 0.001)
    before = in_force(own)
    with open_stores(own) as stores:
        stores.graph.write("CREATE (:Person)")
        with pytest.raises(RejectedError, match="1 node with the label Person"):
            drop(stores, "forest", TREES, True, method=LoadMethod.IMPORT)
        drop(stores, "schedule", SENDS)
        stores.graph.write("MATCH (p:Person) DELETE p")
        monkeypatch.setattr(planning, "BYTES_PER_NODE", 10**12)
        with pytest.raises(LimitError, match="but its disk has"):
            drop(stores, "topology", "S4", True, method=LoadMethod.IMPORT)
        drop(stores, "topology", "S4", cascade=True)
        assert_complete(stores, both)
    assert in_force(own) == before


@pytest.mark.slow
def test_the_last_artifact_can_be_dropped_by_import(own: Settings) -> None:
    """The new store is empty and belongs to the same PostgreSQL database."""
    with open_stores(own) as stores:
        *others, last = {artifact_id.partition(":")[0] for artifact_id in states(stores)}
        for spec in others:
            drop(stores, "topology", spec, cascade=True)
        drop(stores, "topology", last, cascade=True, method=LoadMethod.IMPORT)
    with open_stores(own) as stores:
        assert states(stores) == {}
        assert counts(stores.graph) == (1, 0)
        assert verify(stores) == []
        ingest(stores, OLD)
        assert_complete(stores, OLD_IDS)
