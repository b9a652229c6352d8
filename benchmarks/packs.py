"""Measure the times of all packs' queries, and of other tools that answer the same questions.

The other tools are the libraries NetworkX, igraph and numpy, which keep their data in memory, and
the engines DuckDB and Ladybug, which store the same rows as Neo4j. Queries are measured
on S6, S7, S8 and a random regular network, and the other tools on S8 and this network. All times
are medians of several runs, except that a slow query is run only once.

The results of libraries must agree with those of Neo4j in some columns (`COMPARED`), and the
results of engines in all columns. The command ``python -m benchmarks packs --write`` writes the
times to `queries/measured.json`, from which ``make docs`` generates the pages about queries and
about other tools.
"""

import json
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from benchmarks import packs_arrays  # noqa: F401 - registers the functions of numpy
from benchmarks.measure import Figure, Table, embedded_stack, readable
from benchmarks.packs_cases import CASES, COMPARED, ONLY_STAR
from benchmarks.packs_engines import DuckDB, Engine, Ladybug
from benchmarks.packs_peers import PEERS
from benchmarks.packs_place import Place
from benchmarks.packs_summary import COLUMNS, LARGEST, summarize, times_of
from benchmarks.report import describe_machine
from starcast.cli.output import say
from starcast.embedded.endpoints import graph_address
from starcast.queries import Query, load_queries, run
from starcast.queries.parameters import bind
from starcast.stores.graph.connection import Graph
from starcast.stores.graph.writer import BoltWriter
from starcast.support.errors import LimitError
from starcast.support.settings import Settings

SIZES = ("S6", "S7", LARGEST)
NETWORK = "RR5040,6,1"
LIBRARIES = ("networkx", "igraph", "numpy")
ENGINES = ("duckdb", "ladybug")
FILE = Path(__file__).parents[1] / "queries" / "measured.json"
#: A question is not run again after this number of runs, or after this total time in seconds.
MAX_RUNS = 9
ENOUGH_SECONDS = 0.5
ALL_ROWS = 10_000_000
YARDSTICK = "topology/neighbours"
#: Queries with several valid results. For other queries, all columns of engines must agree.
ANY_RESULT = ("paths/shortest-path",)

Rows = list[tuple[Any, ...]]


@dataclass
class Measured:
    """Measured times of one query.

    Attributes:
        query: the query.
        worst: seconds of the query's worst case, by topology; None if the query did not finish.
        typical: seconds of the query's typical case, by topology; without a typical case, the
            seconds of the worst case.
        others: seconds of each library and engine, by topology (the largest star graph and the
            network) and by name.
    """

    query: Query
    worst: dict[str, float | None] = field(default_factory=dict)
    typical: dict[str, float | None] = field(default_factory=dict)
    others: dict[str, dict[str, float]] = field(default_factory=dict)

    def row(self) -> dict[str, object]:
        """Return a table row: milliseconds by topology, and ratios to libraries and engines."""
        cells: dict[str, object] = {"query": self.query.name}
        for spec in SIZES:
            cells[spec] = _milliseconds(self.worst[spec])
        cells["typical"] = _milliseconds(self.typical[LARGEST])
        ours = self.worst[LARGEST]
        return cells | {
            name: readable(ours / theirs)
            for name, theirs in self.others[LARGEST].items()
            if ours is not None
        }

    def record(self) -> dict[str, object]:
        """Return the entry for `queries/measured.json`."""
        seconds = {spec: _digits(self.worst[spec]) for spec in SIZES}
        others = {
            name: _digits(value)
            for name, value in self.others[LARGEST].items()
            if name in LIBRARIES
        }
        return {"revision": self.query.header.revision, "seconds": seconds, "others": others}

    def comparison(self, spec: str) -> dict[str, float | None]:
        """Return the seconds of Neo4j and of each library and engine on a topology, by name."""
        seconds = {"neo4j": self.worst[spec], **self.others[spec]}
        return {name: _digits(value) for name, value in seconds.items()}


def figures(write: bool = False) -> Iterator[Figure | Table]:
    """Yield tables of all measured times, and the time of each query on S6.

    The times on S6 are compared with the time of a neighbour look-up, and should be below 1 s.

    Args:
        write: whether to write the times to `queries/measured.json`.

    Raises:
        AssertionError: the results of a query and of a library or engine differ.
    """
    load = os.getloadavg()[0]
    with (
        embedded_stack() as settings,
        Graph.open(graph_address(settings)) as graph,
        tempfile.TemporaryDirectory(prefix="starcast-bench-") as folder,
    ):
        engines = (DuckDB(Path(folder)), Ladybug(Path(folder)))
        found, built = measured(graph, settings, engines)
        version = graph.version
    title = (
        "Time of each query in ms, in the worst case; in a typical case on S8; and how many times"
        " as long as a library or engine takes on S8"
    )
    columns = ["query", *SIZES, "typical", *LIBRARIES, *ENGINES]
    yield Table(title, columns, [one.row() for one in found])
    say(
        f"built on {LARGEST}, seconds: "
        + ", ".join(f"{name} {value:.2g}" for name, value in built.items())
    )
    document = _document(found, built, version, settings)
    document["engines"] = {engine.name: engine.release for engine in engines}
    document["load"] = [round(load, 1), round(os.getloadavg()[0], 1)]
    for where, times in (
        (LARGEST, times_of(document, "star")),
        (NETWORK, times_of(document, "network")),
    ):
        title = f"Other libraries and engines on {where}, compared with Neo4j"
        yield Table(title, ["pack", *COLUMNS], [*summarize(times)])
    if write:
        FILE.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
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
    """Keep the stored times of queries whose revision or name has changed.

    Without this function, such queries must be measured again. Call it from Python, and only if the
    execution plans are unchanged: `tests/packs/test_plans.py` must pass, and only names and
    comments may have changed in the Cypher statements.

    Args:
        renamed: the new names of queries, by their old names.
    """
    document = json.loads(FILE.read_text(encoding="utf-8"))
    revisions = {query.name: query.header.revision for query in load_queries().values()}
    entries = {renamed.get(name, name): entry for name, entry in document["queries"].items()}
    document["queries"] = {
        name: entries[name] | {"revision": revisions[name]} for name in sorted(entries)
    }
    FILE.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")


def measured(
    graph: Graph, settings: Settings, engines: Sequence[Engine] = (), only: Sequence[str] = ()
) -> tuple[list[Measured], dict[str, float]]:
    """Measure all queries, or only those named in ``only``, on the topologies of the benchmark.

    Returns:
        Two values: the times of the queries; and, for the largest star graph, the seconds in which
        each library builds its data structure and each store loads the rows.
    """
    way = BoltWriter(graph, settings.batch)
    way.prepare()
    found = [Measured(query) for name, query in load_queries().items() if not only or name in only]
    built: dict[str, float] = {}
    for spec in (NETWORK, *SIZES):
        place = Place(spec)
        stores = {"neo4j": partial(place.write, way)}
        stores |= {engine.name: partial(engine.write, place) for engine in engines}
        built = {name: _elapsed(load) for name, load in stores.items()} | place.building()
        for one in found:
            elsewhere = _others(place, one.query, engines)
            # On the random network, only queries that other tools can also answer are measured.
            if place.is_star or elsewhere:
                _ask(graph, settings.timeout, place, one, elsewhere)
                say(f"{one.query.name} on {spec}: {_milliseconds(one.worst[spec])} ms")
    return found, built


#: A function by which a library or engine answers a question, given the typed parameters.
Answer = Callable[[Mapping[str, Any]], Any]


def _ask(
    graph: Graph, timeout: float, place: Place, one: Measured, elsewhere: Mapping[str, Answer]
) -> None:
    spec, cases = place.topology.spec, CASES[one.query.name]
    for kind, case in cases.items():
        took = None
        values = bind(one.query.parameters, place.parameters(case))
        try:
            answer = run(graph, one.query, values, row_limit=ALL_ROWS, timeout=timeout)
            took = _median(partial(run, graph, one.query, values, timeout=timeout))
            _compare(place, one.query, values, answer.rows, elsewhere)
        except LimitError as error:
            say(f"{one.query.name} on {spec}: {error.message}")
        (one.worst if kind == "worst" else one.typical)[spec] = took
    one.typical.setdefault(spec, one.worst[spec])
    if spec in (NETWORK, LARGEST):
        values = bind(one.query.parameters, place.parameters(cases["worst"]))
        one.others[spec] = {
            name: _median(partial(answer, values)) for name, answer in elsewhere.items()
        }


def _others(place: Place, query: Query, engines: Sequence[Engine]) -> dict[str, Answer]:
    """Return the functions that answer the question of a query, by library or engine."""
    if not place.is_star and query.name in ONLY_STAR:
        return {}
    # The numpy functions rely on the ports of S_n, which exchange symbols.
    libraries = [name for name in LIBRARIES if place.is_star or name != "numpy"]
    answers: dict[str, Answer] = {
        name: partial(PEERS[query.name, name], place)
        for name in libraries
        if (query.name, name) in PEERS
    }
    for engine in engines:
        if engine.answers(query):
            answers[engine.name] = partial(engine.ask, place, query)
    return answers


def _compare(
    place: Place,
    query: Query,
    values: Mapping[str, Any],
    rows: list[dict[str, Any]],
    elsewhere: Mapping[str, Answer],
) -> None:
    for name, answer in elsewhere.items():
        theirs, ours = answer(values), rows
        if name in ENGINES and query.name not in ANY_RESULT:
            equal = complete_rows(theirs) == complete_rows(ours)
        else:
            if name in ENGINES:
                theirs = compared_cells(place, theirs, COMPARED[query.name])
            equal = sorted(theirs) == sorted(compared_cells(place, ours, COMPARED[query.name]))
        assert equal, (query.name, name, values)


def complete_rows(rows: list[dict[str, Any]]) -> list[str]:
    """Return the rows as sorted strings, which do not depend on the order of rows or columns."""
    return sorted(str({name: row[name] for name in sorted(row)}) for row in rows)


def compared_cells(place: Place, rows: list[dict[str, Any]], columns: Sequence[str]) -> Rows:
    """Return the given columns of rows in a form that is comparable with results of libraries.

    Nodes are replaced by ranks, lists of numbers by bit masks, and null by -1.
    """
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


def _elapsed(work: Callable[[], object]) -> float:
    begin = perf_counter()
    work()
    return perf_counter() - begin


def _median(work: Callable[[], object]) -> float:
    """Return the median time of several calls, or the time of one call if the call is slow."""
    times: list[float] = []
    while not times or (len(times) < MAX_RUNS and sum(times) < ENOUGH_SECONDS):
        times.append(_elapsed(work))
    return median(times)


def _milliseconds(seconds: float | None) -> str:
    return "none" if seconds is None else readable(seconds * 1000)


def _digits(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.3g}")


def _document(
    found: list[Measured], built: Mapping[str, float], version: str, settings: Settings
) -> dict[str, object]:
    """Return the content of `queries/measured.json`.

    A time is null if the query reached the time limit or the memory limit.
    """
    return {
        "machine": f"{describe_machine()}, heap {settings.neo4j_heap}",
        "neo4j": version,
        "timeout": settings.timeout,
        "built": {name: _digits(value) for name, value in built.items()},
        "queries": {one.query.name: one.record() for one in found},
        "star": _comparisons(found, LARGEST),
        "network": _comparisons(found, NETWORK),
    }


def _comparisons(found: list[Measured], spec: str) -> dict[str, object]:
    entries = {one.query.name: one.comparison(spec) for one in found if spec in one.others}
    return {"topology": spec, "queries": entries}
