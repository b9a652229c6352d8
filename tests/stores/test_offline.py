"""The offline import into an embedded stack of the tests' own: what it leaves, and what is left of it when it is broken off.

Every start of Neo4j takes seven seconds, so these tests are few and go on from each other's store.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from starcast.choices import LoadMethod
from starcast.database import sessions
from starcast.embedded import data_directories, files, stack
from starcast.embedded.home import Home
from starcast.embedded.neo4j import Neo4j
from starcast.endpoints import graph_address
from starcast.errors import LimitError, RejectedError, UnavailableError
from starcast.graph import reader
from starcast.graph.connection import Graph
from starcast.ingest import Plan, Stores, drop, ingest, open_stores, plan
from starcast.ingest.artifacts import Thing
from starcast.ingest.comparison import Depth
from starcast.ingest.rebuilding import Order, rebuild
from starcast.ingest.stored import check
from starcast.ingest.verify import verify
from starcast.progress import Silent
from starcast.settings import Settings
from starcast.trees import forest as grow
from support.checks import states

SCRIPT = Path(__file__).with_name("break_off.py")
OLD = plan("S3", schedules="greedy")
NEW = plan("S4", schedules="multiple", segments=2)  # as `break_off.py` has it


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    """A stack with the old things, in a home whose name has to be written with care."""
    settings = Settings.load(home=tmp_path_factory.mktemp("offline") / "a home: ü")
    stack.up(settings, Silent())
    try:
        engine = sessions.connect(stack.store_endpoint(settings.home))
        sessions.upgrade(engine, Silent())
        engine.dispose()
        with open_stores(settings) as stores:
            ingest(stores, OLD)
        yield settings
    finally:
        stack.down(settings.home, Silent())


@contextmanager
def opened(own: Settings) -> Iterator[Stores]:
    """Its stores, after the next `up` has seen to it."""
    stack.up(own, Silent())
    with open_stores(own) as stores:
        yield stores


def in_force(own: Settings) -> str:
    """The name of the data directory in force; there is no other, and no leftover."""
    home = Home(own.home)
    assert data_directories.leftovers(home.neo4j) == []
    assert [process.pid for process in Neo4j(home).leftovers()] == [home.published()["neo4j"].pid]
    return data_directories.current(home.neo4j).name


def names(what: Plan) -> set[tuple[str, str]]:
    """What a plan stores, by kind and key."""
    return {(thing.kind, thing.key) for thing in what.things}


def there(own: Settings) -> set[tuple[str, str]]:
    """What the graph holds, by kind and key."""
    with open_stores(own) as stores:
        return set(reader.states(stores.graph))


def whole(stores: Stores, things: set[tuple[str, str]]) -> None:
    """These things, and nothing else, are complete in the graph, and counted and summed anew they are as they were built."""
    found = reader.states(stores.graph)
    assert {name: row["state"] for name, row in found.items()} == dict.fromkeys(things, "complete")
    for kind, key in things:
        check(stores, kind, key)


def dies(own: Settings, stage: str) -> None:
    """An import of the new things is killed after a stage, as by a power cut."""
    words = [sys.executable, str(SCRIPT), "import", stage]
    environment = {**os.environ, "STARCAST_HOME": str(own.home)}
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr


@pytest.mark.parametrize("stage", ["saved", "written", "imported"])
def test_killed_before_the_server_stops(own: Settings, stage: str) -> None:
    """The old server has answered all the time, and answers; what was written goes with the next command."""
    before, pid = (
        data_directories.current(Home(own.home).neo4j),
        Home(own.home).published()["neo4j"].pid,
    )
    held = there(own)
    dies(own, stage)
    with open_stores(own) as stores:  # no 'up' is needed
        whole(stores, held)
        assert set(states(stores).values()) == {"complete", "loading"}
    stack.up(own, Silent())
    assert in_force(own) == before.name
    assert Home(own.home).published()["neo4j"].pid == pid


def test_killed_while_it_compares_the_old_store_is_in_force(own: Settings) -> None:
    """A server runs that nobody knows of; the next `up` ends it, and starts on the old directory."""
    before, held = in_force(own), there(own)
    dies(own, "compared")
    assert data_directories.current(Home(own.home).neo4j).name == before
    with pytest.raises(UnavailableError, match="does not run"):
        graph_address(own)
    assert stack.status(own.home)[0].state == "starting"
    with opened(own) as stores:
        whole(stores, held)
    assert in_force(own) == before


def test_killed_after_the_change_the_new_store_is_in_force(own: Settings) -> None:
    """Before anybody was told; old and new are whole, the password is the same, and a second ingest has nothing to do."""
    before, password, held = in_force(own), Home(own.home).password("neo4j"), there(own)
    dies(own, "changed")
    with opened(own) as stores:
        whole(stores, held | names(NEW))
        assert set(states(stores).values()) == {"complete"}
        forest = reader.read_forest(stores.graph, NEW.things[1].key)
        assert np.array_equal(forest.parent_port, grow("S4", "multiple").parent_port)
        assert ingest(stores, NEW).created == []
    assert in_force(own) != before
    assert Home(own.home).password("neo4j") == password


def test_a_store_that_differs_never_comes_into_force(own: Settings) -> None:
    """Somebody changes the fresh store before it is compared: it is refused, and the old one runs again on its port.

    Meanwhile status and every command say that Neo4j is away.
    """
    before, address, held = in_force(own), graph_address(own), there(own)
    seen: list[str] = []

    def spoil(stage: str, _: Thing) -> None:
        if stage == "indexed":
            seen.append(stack.status(own.home)[0].state)
            with pytest.raises(UnavailableError, match="is away while its data are replaced"):
                graph_address(own)
            with Graph.open(address) as fresh:
                fresh.write("MATCH (a {topology: 'S3'})-[r:LINK]->() WITH r LIMIT 1 DELETE r")

    what = plan("Q3", trees="binomial")
    with opened(own) as stores:
        with pytest.raises(RejectedError, match="S3: 6 of 6 nodes, 5 of 6 relationships"):
            ingest(stores, what, on_stage=spoil, way=LoadMethod.IMPORT)
        assert seen == ["rebuilding"]
        assert in_force(own) == before
        whole(stores, held)
        failed = {key: state for key, state in states(stores).items() if state != "complete"}
        assert failed == {thing.key: "failed" for thing in what.things}


def test_ctrl_c_during_the_import(own: Settings) -> None:
    """The tool ends, the server was never away."""
    before, held = Home(own.home).published(), there(own)

    class Interrupting(Silent):
        @contextmanager
        def task(self, text: str, total: int, unit: str = "") -> Iterator["Interrupting"]:
            """Interrupt the first step of the tool."""
            del total, unit
            if text.startswith("import "):
                raise KeyboardInterrupt
            yield self

        def advance(self, amount: int = 1) -> None:
            """Go on."""

    with open_stores(own) as stores:
        with pytest.raises(KeyboardInterrupt):
            ingest(stores, plan("Q3"), reporter=Interrupting(), way=LoadMethod.IMPORT)
        assert Home(own.home).published() == before
        in_force(own)
        whole(stores, held)
        assert states(stores)["Q3"] == "failed"
        ingest(stores, plan("Q3"))
        whole(stores, held | names(plan("Q3")))
        drop(stores, "topology", "Q3", cascade=True)


def test_what_is_not_starcast_s_is_not_lost(own: Settings) -> None:
    """Nodes of the user's beside ours: an import is refused, and they stay; over Bolt it goes."""
    with open_stores(own) as stores:
        stores.graph.write("CREATE (:Person)-[:KNOWS]->(:Person)")
        with pytest.raises(
            RejectedError, match="2 nodes of Person, 1 relationship KNOWS"
        ) as caught:
            ingest(stores, plan("Q2"), way=LoadMethod.IMPORT)
        assert "--method bolt" in caught.value.hint
        ingest(stores, plan("Q2"))
        drop(stores, "topology", "Q2")
        assert stores.graph.write("MATCH (p:Person) DETACH DELETE p RETURN count(p) AS gone") == [
            {"gone": 2}
        ]


def test_a_disk_that_is_too_small(own: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures before anything is written, in either store."""

    def refuse(folder: Path, megabytes: int, purpose: str) -> None:
        raise LimitError(f"{purpose} needs {megabytes} MB below {folder}", hint="free some space")

    monkeypatch.setattr(files, "need_space", refuse)
    with open_stores(own) as stores:
        before = states(stores)
        with pytest.raises(
            LimitError, match=r"an import of \d+ nodes and \d+ relationships.* needs \d+ MB"
        ):
            ingest(stores, plan("Q3"), way=LoadMethod.IMPORT)
        assert states(stores) == before


def test_a_rebuild_mends_what_was_edited_by_hand(own: Settings) -> None:
    """What is not starcast's is kept unless it may go; then a fresh store of what PostgreSQL knows takes the place of all."""
    held, order = there(own), Order(way=LoadMethod.IMPORT)
    with open_stores(own) as stores:
        stores.graph.write("MATCH (n:Node) SET n.label = 'x'")
        stores.graph.write("MATCH (s:Store) DELETE s CREATE (:Person)-[:KNOWS]->(:Person)")
        with pytest.raises(
            RejectedError, match="2 nodes of Person, 1 relationship of the type KNOWS"
        ):
            rebuild(stores, order)
        made = rebuild(stores, replace(order, discard_foreign=True))
        assert {(one.kind, one.key) for one in made} == held
    with open_stores(own) as stores:
        whole(stores, held)
        assert verify(stores, depth=Depth(whole=True)) == []
