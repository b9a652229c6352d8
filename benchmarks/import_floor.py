"""Compare the time of an offline import with the time of Neo4j alone (`docs/decisions/0026`).

The time of Neo4j alone is the floor. It consists of three steps: `neo4j-admin` imports files that
are already written, a server starts on the new store, and one statement creates the constraint for
node look-ups. The table also shows the CPU time of each step, which depends less on other load.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from resource import RUSAGE_CHILDREN, getrusage
from time import perf_counter
from uuid import UUID

from benchmarks.measure import Figure, Table, embedded_stack, readable
from starcast.embedded.endpoints import graph_address
from starcast.embedded.home import Home
from starcast.embedded.neo4j import Neo4j
from starcast.embedded.rebuild import rebuild_store
from starcast.ingest import LoadMethod, Plan, ingest, open_stores, parse_request
from starcast.stores.graph import bulk_files
from starcast.stores.graph.artifacts import graph_artifact
from starcast.stores.graph.connection import Graph
from starcast.stores.graph.schema import NODE
from starcast.stores.graph.writer import await_indexes
from starcast.support.progress import Silent
from starcast.support.settings import Settings

#: The measured ingests, each with the permitted ratio of its time to the time of ``neo4j-admin``.
INGESTS = ((("S9", "multiple"), 2.2), (("S10",), 1.6))
_CONSTRAINT = f"CREATE CONSTRAINT bare FOR (n:{NODE.name}) REQUIRE n.key IS UNIQUE"


@dataclass(frozen=True)
class Station:
    """A step of an import, with the step's duration and Java's CPU time, both in seconds."""

    name: str
    seconds: float
    processor: float

    def row(self) -> dict[str, object]:
        """Return the step as a table row."""
        times = {"seconds": readable(self.seconds), "processor": readable(self.processor)}
        return {"station": self.name, **times}


def figures() -> Iterator[Figure | Table]:
    """Compare the time of each ingest with the time of Neo4j alone.

    Both times are stated as multiples of the time of ``neo4j-admin``.
    """
    for words, most in INGESTS:
        wanted = parse_request(*words)
        with embedded_stack() as settings:
            begin = perf_counter()
            with open_stores(settings) as stores:
                ingest(stores, wanted, method=LoadMethod.IMPORT)
            complete = perf_counter() - begin
            with Graph.open(graph_address(settings)) as graph:
                # The server is still filling indexes, which would slow down the steps of `_floor`.
                await_indexes(graph)
            stations = list(_floor(settings, wanted))
        name = " ".join(words)
        importing = stations[0].seconds
        floor = sum(station.seconds for station in stations)
        rows = [station.row() for station in stations]
        yield Table(f"{name}: Neo4j alone", ["station", "seconds", "processor"], rows)
        yield Figure(
            f"{name}: ingest",
            complete / importing,
            "importing processes",
            f"< {most}",
            "Neo4j alone",
            floor / importing,
        )


def _floor(settings: Settings, wanted: Plan) -> Iterator[Station]:
    """Measure the time of the three steps of Neo4j alone, on a second, temporary store."""
    with rebuild_store(settings, Silent(), "measuring an import") as work:
        artifacts = [graph_artifact(artifact.structure()) for artifact in wanted.artifacts]
        written = bulk_files.write(work.folder, UUID(int=0), artifacts, 0, Silent())
        arguments = [*bulk_files.OPTIONS, *written.arguments]
        yield _timed("importing process", lambda: work.load(arguments), _of_children)
        server = Neo4j(Home(settings.home))
        begin = perf_counter()
        address = work.start()
        # The old server has ended, so `_of_server` returns the CPU time of the new server alone.
        yield Station("stop and start", perf_counter() - begin, _of_server(server))
        with Graph.open(address) as graph:
            yield _timed(
                "constraint on keys", lambda: graph.write(_CONSTRAINT), lambda: _of_server(server)
            )


def _timed(name: str, work: Callable[[], object], processor: Callable[[], float]) -> Station:
    begin, before = perf_counter(), processor()
    work()
    return Station(name, perf_counter() - begin, processor() - before)


def _of_children() -> float:
    """Return the CPU time, in seconds, of all child processes that have ended."""
    usage = getrusage(RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _of_server(server: Neo4j) -> float:
    """Return the CPU time, in seconds, of the running Neo4j processes of a home."""
    times = [process.cpu_times() for process in server.find_processes()]
    return sum(each.user + each.system for each in times)
