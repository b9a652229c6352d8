"""Ingests killed by kill -9: incomplete artifacts are recognized, and the next ingest finishes."""

import multiprocessing
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from neo4j.exceptions import IncompleteCommit
from sqlalchemy import URL

from campaign.proxy import Proxy
from starcast.ingest import Plan, Stores, ingest
from starcast.ingest.artifacts import Artifact
from starcast.ingest.loading import STAGES
from starcast.stores import GraphAddress
from starcast.stores.database import sessions
from starcast.stores.graph.connection import Graph
from starcast.support.errors import UnavailableError
from support import break_off
from support.checks import (
    assert_stored,
    counts,
    finish_interrupted,
    only_verified_is_complete,
    states,
)
from support.fix_graph import FEW
from support.fix_servers import environment_for
from support.plans import S4, plan

pytestmark = pytest.mark.slow

#: A fork server that has imported starcast, so that the processes to kill start quickly.
SERVER = multiprocessing.get_context("forkserver")
SERVER.set_forkserver_preload(["pytest", "starcast.ingest", "starcast.support.settings"])


@pytest.fixture
def stored_plan() -> Plan:
    """Return the plan that `break_off.py` ingests."""
    return plan("S4", schedules="multiple", segments=2)


class Killable:
    """A process that runs `break_off.py` on the test's stores."""

    def __init__(self, address: GraphAddress, url: URL, folder: Path) -> None:
        secret = folder / "neo4j"
        secret.write_text(address.password, encoding="utf-8")
        self._environment = environment_for(url, folder) | {
            "STARCAST_NEO4J_URI": address.uri,
            "STARCAST_NEO4J_PASSWORD_FILE": str(secret),
            "STARCAST_BATCH": str(FEW),
        }

    def dies(self, *words: str) -> None:
        """Run the process, and check that it was killed rather than failed."""
        process = SERVER.Process(target=break_off.main, args=(words, self._environment))
        process.start()
        process.join()
        assert process.exitcode == -signal.SIGKILL


@pytest.fixture
def killable(
    stores: Stores, graph_address: GraphAddress, clean_database: URL, tmp_path: Path
) -> Killable:
    """A process that uses the stores of the test, and that the test can kill."""
    del stores
    return Killable(graph_address, clean_database, tmp_path)


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("kind", ["topology", "forest", "schedule"])
def test_a_killed_ingest_is_finished_by_the_next(
    stores: Stores, stored_plan: Plan, killable: Killable, kind: str, stage: str
) -> None:
    """Complete artifacts are kept, others are cleaned up, and a third ingest creates nothing."""
    killable.dies("ingest", kind, stage)
    summary = finish_interrupted(stores, stored_plan, kind, stage)
    killed = S4[("topology", "forest", "schedule").index(kind)]
    assert killed in (summary.present if stage == "complete" else summary.recovered)
    assert ingest(stores, stored_plan).created == []


@pytest.mark.parametrize("advances", [1, 6, 12, 20, 26])
def test_a_killed_drop_is_finished_by_the_next_ingest(
    stores: Stores, stored_plan: Plan, killable: Killable, advances: int
) -> None:
    """No partly dropped artifact is called complete. The ingest stores requested ones again."""
    ingest(stores, stored_plan)
    before = counts(stores.graph)
    killable.dies("drop", str(advances))
    only_verified_is_complete(stores)
    assert "loading" in states(stores).values()
    assert counts(stores.graph)[1] < before[1]
    ingest(stores, stored_plan)
    assert_stored(stores, stored_plan)


#: More bytes than a server sends in any test.
NEVER = 1 << 62


@contextmanager
def relayed(port: int, after: int = NEVER) -> Iterator[Proxy]:
    """Relay connections to a server, and cut one after a number of bytes from the server."""
    proxy = Proxy(port, "cut", after, 0.0)
    try:
        yield proxy
    finally:
        proxy.close()


def relayed_graph(address: GraphAddress, proxy: Proxy) -> Graph:
    """Open the graph through a proxy."""
    return Graph.open(replace(address, uri=f"bolt://127.0.0.1:{proxy.port}"))


def port_of(address: GraphAddress) -> int:
    return int(address.uri.rpartition(":")[2])


@pytest.mark.parametrize("stage", ["begun", "batch", "written"])
def test_a_stopped_graph_server_is_reported_in_one_sentence(
    few: Stores, stored_plan: Plan, graph_address: GraphAddress, stage: str
) -> None:
    """Complete artifacts stay, and an ingest after the server's return completes the rest."""

    def stop(at: str, artifact: Artifact) -> None:
        if (at, artifact.kind) == (stage, "forest"):
            proxy.close()

    with (
        relayed(port_of(graph_address)) as proxy,
        relayed_graph(graph_address, proxy) as fragile,
        pytest.raises(UnavailableError, match="cannot be reached or closed the conn") as caught,
    ):
        ingest(replace(few, graph=fragile), stored_plan, on_stage=stop)
    assert "\n" not in caught.value.message
    assert states(few) == {"S4": "complete", "S4:multiple:1234": "loading"}
    only_verified_is_complete(few)
    ingest(few, stored_plan)
    assert_stored(few, stored_plan)


@pytest.mark.parametrize("after", [5_000, 8_000, 16_000, 24_000])
def test_an_ingest_survives_a_lost_connection_to_the_graph(
    few: Stores, stored_plan: Plan, graph_address: GraphAddress, after: int
) -> None:
    """The transaction runs again on a new connection, and every row is stored once.

    A second ingest is needed only if the answer to a COMMIT is lost.
    """
    with (
        relayed(port_of(graph_address), after) as proxy,
        relayed_graph(graph_address, proxy) as fragile,
    ):
        try:
            ingest(replace(few, graph=fragile), stored_plan)
        except UnavailableError as error:
            # The driver cannot know whether the server has committed, so it does not retry.
            assert isinstance(error.__context__, IncompleteCommit)  # noqa: PT017 - mostly no error
            ingest(few, stored_plan)
        assert proxy.is_faulty
    assert_stored(few, stored_plan)


@pytest.mark.parametrize("stage", ["begun", "batch", "written", "finished"])
def test_a_lost_connection_to_postgresql_ends_an_ingest(
    few: Stores, stored_plan: Plan, stage: str
) -> None:
    """The lock on the stores is lost too, so another process may already be changing them."""
    url = few.engine.url
    assert url.port is not None

    def cut(at: str, artifact: Artifact) -> None:
        if (at, artifact.kind) == (stage, "forest"):
            proxy.cut()

    with relayed(url.port) as proxy:
        fragile = sessions.connect(url.set(port=proxy.port))
        with pytest.raises(UnavailableError, match=r"lost|cannot be reached") as caught:
            ingest(replace(few, engine=fragile), stored_plan, on_stage=cut)
        fragile.dispose()
    assert "\n" not in caught.value.message
    left = states(few)
    assert left["S4"] == "complete"
    assert left["S4:multiple:1234"] == "loading"
    if stage != "finished":
        only_verified_is_complete(few)
    ingest(few, stored_plan)
    assert_stored(few, stored_plan)
