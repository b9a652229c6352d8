"""Ingests ended by kill -9: incomplete artifacts are recognized, and the next ingest adds them."""

import multiprocessing
import signal
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from neo4j.exceptions import IncompleteCommit
from sqlalchemy import URL

from campaign.proxy import Proxy
from starcast.ingest import Stores, ingest
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
from support.fix_graph import FEW, at_stage, proxied
from support.fix_servers import environment_for
from support.plans import PLAN, S4, TREES

pytestmark = pytest.mark.slow

#: A fork server that has imported starcast, so that the processes to kill start quickly.
SERVER = multiprocessing.get_context("forkserver")
SERVER.set_forkserver_preload(["pytest", "starcast.ingest", "starcast.support.settings"])


@pytest.fixture
def dies(clean_graph: GraphAddress, clean_database: URL, tmp_path: Path) -> Callable[..., None]:
    """A function that runs `break_off.py` on the test's stores, and checks that it was killed."""
    secret = tmp_path / "neo4j"
    secret.write_text(clean_graph.password, encoding="utf-8")
    environment = environment_for(clean_database, tmp_path) | {
        "STARCAST_NEO4J_URI": clean_graph.uri,
        "STARCAST_NEO4J_PASSWORD_FILE": str(secret),
        "STARCAST_BATCH": str(FEW),
    }

    def run(*words: str) -> None:
        process = SERVER.Process(target=break_off.main, args=(words, environment))
        process.start()
        process.join()
        assert process.exitcode == -signal.SIGKILL

    return run


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("kind", ["topology", "forest", "schedule"])
def test_a_killed_ingest_is_finished_by_the_next_ingest(
    stores: Stores, dies: Callable[..., None], kind: str, stage: str
) -> None:
    """Complete artifacts are kept, others are cleaned up, and a third ingest creates nothing."""
    dies("ingest", kind, stage)
    summary = finish_interrupted(stores, PLAN, kind, stage)
    killed = S4[("topology", "forest", "schedule").index(kind)]
    assert killed in (summary.present if stage == "complete" else summary.recovered)
    assert ingest(stores, PLAN).created == []


@pytest.mark.parametrize("advances", [1, 6, 12, 20, 26])
def test_a_killed_drop_is_finished_by_the_next_ingest(
    stores: Stores, dies: Callable[..., None], advances: int
) -> None:
    """No partly dropped artifact is marked complete; the ingest stores the requested artifacts."""
    ingest(stores, PLAN)
    before = counts(stores.graph)
    dies("drop", str(advances))
    only_verified_is_complete(stores)
    assert "loading" in states(stores).values()
    assert counts(stores.graph)[1] < before[1]
    ingest(stores, PLAN)
    assert_stored(stores, PLAN)


@pytest.mark.parametrize("stage", ["begun", "batch", "written"])
def test_an_ingest_reports_a_stopped_graph_server_in_one_line(
    few: Stores, graph_address: GraphAddress, stage: str
) -> None:
    """Complete artifacts are kept; once the server is back, an ingest completes the rest."""
    with (
        proxied(graph_address) as (proxy, address),
        Graph.open(address) as fragile,
        pytest.raises(UnavailableError, match="cannot be reached or closed the conn") as caught,
    ):
        ingest(replace(few, graph=fragile), PLAN, on_stage=at_stage(stage, "forest", proxy.close))
    assert "\n" not in caught.value.message
    assert states(few) == {"S4": "complete", TREES: "loading"}
    only_verified_is_complete(few)
    ingest(few, PLAN)
    assert_stored(few, PLAN)


@pytest.mark.parametrize("after", [5_000, 8_000, 16_000, 24_000])
def test_an_ingest_survives_a_lost_connection_to_the_graph(
    few: Stores, graph_address: GraphAddress, after: int
) -> None:
    """The transaction runs again on a new connection, and every row is stored once.

    A second ingest is needed only if the answer to a COMMIT is lost.
    """
    with proxied(graph_address, "cut", after) as (proxy, address), Graph.open(address) as fragile:
        try:
            ingest(replace(few, graph=fragile), PLAN)
        except UnavailableError as error:
            # The driver cannot know whether the server has committed, so it does not retry.
            assert isinstance(error.__context__, IncompleteCommit)  # noqa: PT017 - usually no error is raised
            ingest(few, PLAN)
        assert proxy.is_faulty
    assert_stored(few, PLAN)


@pytest.mark.parametrize("stage", ["begun", "batch", "written", "finished"])
def test_a_lost_connection_to_postgresql_ends_an_ingest(few: Stores, stage: str) -> None:
    """The lock on the stores is lost too, so another process may already be changing them."""
    url = few.engine.url
    assert url.port is not None
    with closing(Proxy(url.port)) as proxy:
        fragile = sessions.connect(url.set(port=proxy.port))
        cut = at_stage(stage, "forest", proxy.cut)
        with pytest.raises(UnavailableError, match=r"lost|cannot be reached") as caught:
            ingest(replace(few, engine=fragile), PLAN, on_stage=cut)
        fragile.dispose()
    assert "\n" not in caught.value.message
    assert states(few) == {"S4": "complete", TREES: "loading"}
    if stage != "finished":
        only_verified_is_complete(few)
    ingest(few, PLAN)
    assert_stored(few, PLAN)
