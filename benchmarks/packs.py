"""Time every query of the packs on S6, S7 and S8, and the same question in other libraries.

The other libraries are NetworkX, igraph and numpy. All times are medians of several warm runs. The
results are compared first. ``python -m benchmarks
packs --write`` writes the times to `queries/measured.json`, for the page about the queries.
"""

import json
import os
import platform
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from benchmarks import packs_arrays  # noqa: F401 - registers the functions of numpy
from benchmarks.measure import Figure, Table, embedded_stack, readable
from benchmarks.packs_cases import CASES, COMPARED
from benchmarks.packs_peers import PEERS
from benchmarks.packs_place import Place
from starcast.cli.output import say
from starcast.embedded.endpoints import graph_address
from starcast.queries import Query, load_queries, run
from starcast.queries.parameters import bind
from starcast.stores.graph.connection import Graph
from starcast.stores.graph.writer import BoltWriter
from starcast.support.errors import LimitError
from starcast.support.settings import Settings

SIZES = ("S6", "S7", "S8")
LIBRARIES = ("networkx", "igraph", "numpy")
FILE = Path(__file__).parents[1] / "queries" / "measured.json"
#: The maximum number of runs per question, and the total seconds after which no run is added.
MAX_RUNS = 25
ENOUGH_SECONDS = 1.5
ALL_ROWS = 10_000_000
YARDSTICK = "topology/neighbours"

Rows = list[tuple[Any, ...]]


@dataclass
class Measured:
    """Measured times of one query.

    Attributes:
        query: the query.
        worst: seconds of its worst case, by topology; None if it did not finish.
        typical: seconds of its typical case, by topology.
        others: seconds of other libraries on the largest topology, by library.
    """

    query: Query
    worst: dict[str, float | None] = field(default_factory=dict)
    typical: dict[str, float | None] = field(default_factory=dict)
    others: dict[str, float] = field(default_factory=dict)

    def row(self) -> dict[str, object]:
        """Return a table row: milliseconds by topology, and ratios to other libraries."""
        cells: dict[str, object] = {"query": self.query.name}
        for spec in SIZES:
            cells[spec] = _milliseconds(self.worst[spec])
        cells["typical"] = _milliseconds(self.typical[SIZES[-1]])
        ours = self.worst[SIZES[-1]]
        return cells | {
            name: readable(ours / theirs)
            for name, theirs in self.others.items()
            if ours is not None
        }

    def record(self) -> dict[str, object]:
        """Return the entry for `queries/measured.json`."""
        seconds = {spec: _digits(value) for spec, value in self.worst.items()}
        others = {name: _digits(value) for name, value in self.others.items()}
        return {"revision": self.query.header.revision, "seconds": seconds, "others": others}


def figures(write: bool = False) -> Iterator[Figure | Table]:
    """Yield the time of every query on S6 relative to a neighbour look-up (aim: below 1 s).

    Args:
        write: write the times to `queries/measured.json`.

    Raises:
        AssertionError: the results of a query and another library differ.
    """
    with embedded_stack() as settings, Graph.open(graph_address(settings)) as graph:
        found, built = measured(graph, settings)
        version = graph.version
    title = (
        "Time of each query in ms, in the worst case; in a typical case on S8; and how many times"
        " as long as a library takes on S8"
    )
    yield Table(title, ["query", *SIZES, "typical", *LIBRARIES], [one.row() for one in found])
    say(
        f"built on {SIZES[-1]}, seconds: "
        + ", ".join(f"{name} {value:.2g}" for name, value in built.items())
    )
    if write:
        FILE.write_text(
            json.dumps(_document(found, built, version, settings), indent=2) + "\n",
            encoding="utf-8",
        )
    lookup = next(one.worst[SIZES[0]] for one in found if one.query.name == YARDSTICK)
    for one in found:
        value = one.worst[SIZES[0]]
        yield Figure(
            f"{one.query.name} on {SIZES[0]}",
            value or settings.timeout,
            "s",
            "< 1",
            YARDSTICK,
            lookup or 1.0,
        )


def keep_figures(renamed: Mapping[str, str]) -> None:
    """Keep the measured times of queries whose text or name changed, but not their plan.

    A new revision or a new name would otherwise require a new measurement. Call this
    function from Python, and only if `tests/packs/test_plans.py` passes and nothing but names and
    comments changed in the Cypher.

    Args:
        renamed: new names by old names.
    """
    document = json.loads(FILE.read_text(encoding="utf-8"))
    revisions = {query.name: query.header.revision for query in load_queries().values()}
    entries = {renamed.get(name, name): entry for name, entry in document["queries"].items()}
    document["queries"] = {
        name: entries[name] | {"revision": revisions[name]} for name in sorted(entries)
    }
    FILE.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")


def measured(
    graph: Graph, settings: Settings, only: Sequence[str] = ()
) -> tuple[list[Measured], dict[str, float]]:
    """Measure all or some queries on every topology.

    Returns:
        The times, and the seconds to build the data structure of each library on the largest one.
    """
    way = BoltWriter(graph, settings.batch)
    way.prepare()
    found = [Measured(query) for name, query in load_queries().items() if not only or name in only]
    built: dict[str, float] = {}
    for spec in SIZES:
        place = Place(spec)
        place.write(way)
        built = place.building()
        for one in found:
            _ask(graph, settings.timeout, place, one)
            say(f"{one.query.name} on {spec}: {_milliseconds(one.worst[spec])} ms")
    return found, built


def _ask(graph: Graph, timeout: float, place: Place, one: Measured) -> None:
    spec, cases = place.topology.spec, CASES[one.query.name]
    for kind, case in cases.items():
        given, took = place.parameters(case), None
        try:
            values = bind(one.query.parameters, given)
            answer = run(graph, one.query, values, row_limit=ALL_ROWS, timeout=timeout)
            took = _median(partial(run, graph, one.query, values, timeout=timeout))
            _compare(place, one.query, given, answer.rows)
        except LimitError as error:
            say(f"{one.query.name} on {spec}: {error.message}")
        (one.worst if kind == "worst" else one.typical)[spec] = took
    one.typical.setdefault(spec, one.worst[spec])
    if spec == SIZES[-1]:
        works = _others(place, one.query, place.parameters(cases["worst"]))
        one.others = {name: _median(work) for name, work in works.items()}


def _others(place: Place, query: Query, given: Mapping[str, str]) -> dict[str, Callable[[], Rows]]:
    """Return the functions that answer a query's question in each library."""
    typed = bind(query.parameters, given)
    return {
        name: partial(PEERS[query.name, name], place, typed)
        for name in LIBRARIES
        if (query.name, name) in PEERS
    }


def _compare(
    place: Place, query: Query, given: Mapping[str, str], rows: list[dict[str, Any]]
) -> None:
    for name, work in _others(place, query, given).items():
        assert sorted(work()) == sorted(_normalise(place, rows, COMPARED[query.name])), (
            query.name,
            name,
            given,
        )


def _normalise(place: Place, rows: list[dict[str, Any]], columns: Sequence[str]) -> Rows:
    """Convert rows for comparison with other libraries: nodes to ranks, sets of numbers to bits."""
    return [
        tuple(cell for column in columns for cell in _cells(place, row[column])) for row in rows
    ]


def _cells(place: Place, value: Any) -> list[int]:
    if isinstance(value, list):
        nodes = [place.rank[item] for item in value if isinstance(item, str)]
        return nodes or [sum(1 << item for item in value)]
    if value is None:
        return [-1]
    return [place.rank[value] if isinstance(value, str) else int(value)]


def _median(work: Callable[[], object]) -> float:
    """Return the median time of several runs; a long query is run only once."""
    times: list[float] = []
    while not times or (len(times) < MAX_RUNS and sum(times) < ENOUGH_SECONDS):
        begin = perf_counter()
        work()
        times.append(perf_counter() - begin)
    return median(times)


def _milliseconds(seconds: float | None) -> str:
    return "none" if seconds is None else readable(seconds * 1000)


def _digits(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.3g}")


def _document(
    found: list[Measured], built: Mapping[str, float], version: str, settings: Settings
) -> dict[str, object]:
    """Return the JSON document; a time of null means a time-out or insufficient memory."""
    return {
        "machine": (
            f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}, "
            f"heap {settings.neo4j_heap}"
        ),
        "neo4j": version,
        "timeout": settings.timeout,
        "built": {name: _digits(value) for name, value in built.items()},
        "queries": {one.query.name: one.record() for one in found},
    }
