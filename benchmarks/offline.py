"""Offline imports by an embedded stack that holds S6 with all trees, up to an answered query."""

import os
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter

import psutil

from benchmarks.measure import Figure
from starcast.cli.output import say
from starcast.database import sessions
from starcast.embedded import processes, stack
from starcast.embedded.home import Home
from starcast.embedded.neo4j import Neo4j
from starcast.endpoints import graph_address, store_url
from starcast.graph.connection import Graph
from starcast.ingest import IngestRequest, LoadMethod, Summary, ingest, open_stores, parse_request
from starcast.ingest.artifacts import Artifact
from starcast.progress import Silent
from starcast.settings import Settings

#: The measured ingests, and the seconds allowed from the command to an answered query.
ASKED = ((("S9", "multiple"), 60), (("S10",), 90))
BEFORE = ("S6", "all")
_ASK = "MATCH (:Node {topology: $topology, rank: 0})-[:LINK]-(n) RETURN count(n) AS neighbours"
_LOOK_SECONDS = 0.5


def figures() -> Iterator[Figure]:
    """Measure each ingest against Bolt at the previous rate, the import alone, and memory."""
    for words, most in ASKED:
        wanted = parse_request(*words)
        with _stack() as settings:
            rate = _rate(_ingest(settings, parse_request(*BEFORE), LoadMethod.BOLT, {}))
            stages: dict[str, float] = {}
            say(f"{' '.join(words)}: load {os.getloadavg()[0]:.1f} before")
            with _peak(Home(settings.home)) as peak:
                began = perf_counter()
                _ingest(settings, wanted, LoadMethod.AUTO, stages)
                _answered(settings, wanted)
                seconds = perf_counter() - began
            yield from _figures(" ".join(words), wanted, seconds, most, stages, rate)
            yield Figure(
                f"{' '.join(words)}: memory of all processes",
                peak() / 1e9,
                "GB",
                "< 6",
                "the limit",
                6,
            )


def _figures(
    name: str,
    wanted: IngestRequest,
    seconds: float,
    most: int,
    stages: dict[str, float],
    rate: float,
) -> Iterator[Figure]:
    sizes = wanted.sizes()
    rows = sum(one.nodes + one.relationships for one in sizes)
    relationships = sum(one.relationships for one in sizes)
    yield Figure(
        f"{name}: to an answered query", seconds, "s", f"< {most}", "over Bolt", rows / rate
    )
    importing = relationships / (stages["imported"] - stages["written"])
    yield Figure(
        f"{name}: import alone", importing, "relationships/s", "> 500 000", "Bolt with proofs", rate
    )
    names = ("written", "imported", "started", "compared", "changed")
    say(", ".join(f"{stage} after {stages[stage] - stages['begun']:.1f} s" for stage in names))


@contextmanager
def _stack() -> Iterator[Settings]:
    with tempfile.TemporaryDirectory(prefix="starcast-bench-") as folder:
        settings = Settings.load(home=Path(folder) / "home")
        stack.up(settings, Silent())
        try:
            engine = sessions.connect(store_url(settings))
            sessions.upgrade(engine, Silent())
            engine.dispose()
            yield settings
        finally:
            stack.down(settings.home, Silent())


def _ingest(
    settings: Settings, wanted: IngestRequest, method: LoadMethod, stages: dict[str, float]
) -> Summary:
    """Ingest, and record when each stage was last finished."""
    stages["begun"] = perf_counter()

    def note(stage: str, _: Artifact) -> None:
        stages[stage] = perf_counter()

    with open_stores(settings) as stores:
        return ingest(stores, wanted, on_stage=note, method=method)


def _rate(summary: Summary) -> float:
    """Return the rows per second, including verification."""
    return summary.rows / sum(one.seconds for one in summary.created)


def _answered(settings: Settings, wanted: IngestRequest) -> None:
    with Graph.open(graph_address(settings)) as graph:
        neighbours = graph.read(_ASK, {"topology": wanted.topology.spec})[0]["neighbours"]
        if neighbours != wanted.topology.degree:
            raise AssertionError(f"{neighbours} neighbours of a node of {wanted.topology.spec}")


@contextmanager
def _peak(home: Home) -> Iterator[Callable[[], int]]:
    """Sample the greatest memory of this process, its children and the servers."""
    most, over = [0], threading.Event()

    def watch() -> None:
        while not over.wait(_LOOK_SECONDS):
            most[0] = max(most[0], sum(map(processes.memory_bytes, _family(home))))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield lambda: most[0]
    finally:
        over.set()
        watcher.join()


def _family(home: Home) -> set[int]:
    """Return this process and the servers, published or not."""
    own = psutil.Process()
    children = {child.pid for child in own.children(recursive=True)}
    servers = [home.published()["postgres"].pid] + [
        process.pid for process in Neo4j(home).find_processes()
    ]
    return {own.pid, *(set(servers) - children)}
