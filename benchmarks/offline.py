"""Measure the time and memory of offline imports, and the time to verify and to drop S10."""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter

import psutil

from benchmarks.measure import Figure, elapsed, embedded_stack
from starcast.cli.output import say
from starcast.embedded import system
from starcast.embedded.endpoints import graph_address
from starcast.embedded.home import Home
from starcast.embedded.neo4j import Neo4j
from starcast.ingest import (
    LoadMethod,
    Plan,
    Summary,
    drop,
    ingest,
    open_stores,
    parse_request,
)
from starcast.ingest.artifacts import Artifact
from starcast.ingest.planning import Estimate
from starcast.ingest.verification import Sample, verify
from starcast.stores.graph.connection import Graph
from starcast.support.settings import Settings

#: The measured ingests. Each consists of the artifacts to ingest, the artifacts that are stored
#: before, and the maximum time in seconds until a query about the new artifacts is answered.
ASKED = ((("S9", "multiple"), ("S6", "all"), 60), (("S10",), ("S9",), 60))
#: A small ingest over Bolt, from which the speed of Bolt on this machine is estimated.
SMALL = ("S6", "all")
_ASK = "MATCH (:Node {topology: $topology, rank: 0})-[:LINK]-(n) RETURN count(n) AS neighbours"
_LOOK_SECONDS = 0.5


def figures() -> Iterator[Figure]:
    """Measure the time and memory of offline imports, and the time to verify and to drop S10.

    The time of each import is compared with that of loading over Bolt.
    """
    for words, before, most in ASKED:
        wanted = parse_request(*words)
        with embedded_stack() as settings:
            rate = _rate(_ingest(settings, parse_request(*SMALL), LoadMethod.BOLT, {}))
            if before != SMALL:
                _ingest(settings, parse_request(*before), LoadMethod.AUTO, {})
            stages: dict[str, float] = {}
            say(f"{' '.join(words)}: load {os.getloadavg()[0]:.1f} before")
            with _peak(Home(settings.home)) as peak:
                began = perf_counter()
                _ingest(settings, wanted, LoadMethod.AUTO, stages)
                _answered(settings, wanted)
                duration = perf_counter() - began
            yield from _figures(" ".join(words), wanted, duration, most, stages, rate)
            yield Figure(
                f"{' '.join(words)}: memory of all processes",
                peak() / 1e9,
                "GB",
                "< 6",
                "the limit",
                6,
            )
            if words == ("S10",):
                yield from _verified_and_dropped(settings, wanted)


def _verified_and_dropped(settings: Settings, stored: Plan) -> Iterator[Figure]:
    """Measure the time to verify and to drop a topology, and the disk space after the drop.

    The verification of a sample is compared with the verification of all counts and checksums, and
    the drop is compared with the estimated time of a deletion over Bolt.
    """
    spec = stored.artifacts[0].id

    def compare(*, checksums: bool) -> None:
        with open_stores(settings) as stores:
            if problems := verify(stores, sample=Sample(seed=1), checksums=checksums):
                raise AssertionError(problems)

    full = elapsed(lambda: compare(checksums=True), repeats=1)
    sampled = elapsed(lambda: compare(checksums=False), repeats=1)
    name = f"{spec}: verify"
    yield Figure(name, sampled, "s", "< 10", "all counts and sums", full)
    before = _bytes(settings)
    began = perf_counter()
    with open_stores(settings) as stores:
        drop(stores, "topology", spec)
    duration = perf_counter() - began
    deletion = Estimate.of(stored.artifacts).deletion_seconds
    yield Figure(f"{spec}: drop", duration, "s", "< 90", "deletion, estimated", deletion)
    name = f"{spec}: disk of Neo4j after the drop"
    yield Figure(name, _bytes(settings) / 1e6, "MB", "< 500", "before", before / 1e6)


def _bytes(settings: Settings) -> int:
    files = Home(settings.home).neo4j.rglob("*")
    return sum(file.stat().st_size for file in files if file.is_file())


def _figures(
    name: str,
    wanted: Plan,
    duration: float,
    most: int,
    stages: dict[str, float],
    rate: float,
) -> Iterator[Figure]:
    sizes = wanted.artifacts
    rows = sum(one.nodes + one.relationships for one in sizes)
    relationships = sum(one.relationships for one in sizes)
    yield Figure(
        f"{name}: to an answered query", duration, "s", f"< {most}", "over Bolt", rows / rate
    )
    importing = relationships / (stages["imported"] - stages["written"])
    yield Figure(
        f"{name}: import alone", importing, "relationships/s", "> 500 000", "Bolt with proofs", rate
    )
    names = ("written", "imported", "started", "compared", "changed")
    say(", ".join(f"{stage} after {stages[stage] - stages['begun']:.1f} s" for stage in names))


def _ingest(
    settings: Settings, wanted: Plan, method: LoadMethod, stages: dict[str, float]
) -> Summary:
    """Run an ingest, and store in ``stages`` the time at which each stage was last finished."""
    stages["begun"] = perf_counter()

    def note(stage: str, _: Artifact) -> None:
        stages[stage] = perf_counter()

    with open_stores(settings) as stores:
        return ingest(stores, wanted, on_stage=note, method=method)


def _rate(summary: Summary) -> float:
    """Return the rows ingested per second, where the time includes the verification."""
    return summary.rows / sum(one.seconds for one in summary.created)


def _answered(settings: Settings, wanted: Plan) -> None:
    with Graph.open(graph_address(settings)) as graph:
        neighbours = graph.read(_ASK, {"topology": wanted.artifacts[0].id})[0]["neighbours"]
        if neighbours != wanted.artifacts[0].topology.degree:
            raise AssertionError(
                f"in Neo4j, a node of {wanted.artifacts[0].id} has {neighbours} neighbours instead"
                f" of {wanted.artifacts[0].topology.degree}"
            )


@contextmanager
def _peak(home: Home) -> Iterator[Callable[[], int]]:
    """Return a context that samples the memory of this process, its children and the servers.

    The context yields a function that returns the largest sampled total so far, in bytes.
    """
    most, over = [0], threading.Event()

    def watch() -> None:
        while not over.wait(_LOOK_SECONDS):
            most[0] = max(most[0], sum(map(system.memory_bytes, _family(home))))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield lambda: most[0]
    finally:
        over.set()
        watcher.join()


def _family(home: Home) -> set[int]:
    """Return the ids of this process and of the servers that are not its children.

    The memory of children is counted together with the memory of this process.
    """
    own = psutil.Process()
    children = {child.pid for child in own.children(recursive=True)}
    servers = [home.published()["postgres"].pid] + [
        process.pid for process in Neo4j(home).find_processes()
    ]
    return {own.pid, *(set(servers) - children)}
