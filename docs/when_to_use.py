"""The tables of when-to-use-what.md: starcast next to other tools, from the stored measurements.

``python -m benchmarks packs --write`` writes `queries/measured.json`, and ``make bench`` writes
`benchmarks/ratios.jsonl`.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import median
from typing import Any

from marked import fill_tables, head, row

HERE = Path(__file__).parent
PAGE = HERE / "when-to-use-what.md"
MEASURED = HERE.parent / "queries" / "measured.json"
RATIOS = HERE.parent / "benchmarks" / "ratios.jsonl"
LARGEST = "S8"
ENGINES = {"duckdb": "DuckDB", "ladybug": "Ladybug"}
LIBRARIES = ("numpy", "igraph", "networkx")

#: Seconds by name of a library or engine, Neo4j included, by query.
Times = Mapping[str, Mapping[str, float]]


def page() -> str:
    """Return the page with its tables."""
    return fill_tables(PAGE, Path(__file__).name, TABLES)


def read_measured(file: Path = MEASURED) -> dict[str, Any]:
    """Return the stored measurements of the query packs."""
    document: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return document


def times_on_star(document: Mapping[str, Any]) -> Times:
    """Return the seconds on the largest star graph; a query that Neo4j did not finish is absent."""
    return {
        name: {"neo4j": entry["seconds"][LARGEST], **entry["others"]}
        for name, entry in document["queries"].items()
        if entry["seconds"][LARGEST] is not None
    }


def times_on_network(document: Mapping[str, Any]) -> Times:
    """Return the seconds on the network; a query that Neo4j did not finish is absent."""
    queries: Times = document["network"]["queries"]
    return {name: entry for name, entry in queries.items() if entry["neo4j"] is not None}


def factors(times: Times, pack: str, names: tuple[str, ...]) -> list[float]:
    """Return how many times as long as the fastest of some others Neo4j takes, by query of a pack.

    A query that none of the others answers is absent.
    """
    return sorted(
        entry["neo4j"] / min(entry[name] for name in names if name in entry)
        for query, entry in times.items()
        if query.startswith(f"{pack}/") and any(name in entry for name in names)
    )


def describe(values: list[float]) -> str:
    """Return the number of queries, the faster side, and the median and range of the factors."""
    if not values:
        return "none answered"
    middle = median(values)
    faster, low, high = ("faster", values[0], values[-1])
    if middle < 1:
        faster, middle, low, high = ("slower", 1 / middle, 1 / values[-1], 1 / values[0])
    count = f"{len(values)} quer{'y' if len(values) == 1 else 'ies'}"
    if len(values) == 1:
        return f"{_digits(middle)} times {faster} ({count})"
    return f"{_digits(middle)} times {faster} ({_digits(low)} to {_digits(high)}; {count})"


def _digits(value: float) -> str:
    return f"{value:.2g}" if value < 99.5 else f"{value:.0f}"


def _summary(times: Times) -> Iterator[str]:
    columns = {**{title: (name,) for name, title in ENGINES.items()}}
    columns["fastest of NetworkX, igraph and numpy"] = LIBRARIES
    yield from head("pack", *columns)
    for pack in dict.fromkeys(query.partition("/")[0] for query in times):
        cells = (describe(factors(times, pack, names)) for names in columns.values())
        yield row(f"`{pack}`", *cells)


def _on_star() -> Iterator[str]:
    yield from _summary(times_on_star(read_measured()))


def _on_network() -> Iterator[str]:
    yield from _summary(times_on_network(read_measured()))


def _paths() -> Iterator[str]:
    others = {**ENGINES, "igraph": "igraph", "networkx": "NetworkX"}
    yield from head("query", "Neo4j", *others.values())
    for query, entry in times_on_star(read_measured()).items():
        if query.startswith("paths/"):
            cells = (_milliseconds(entry.get(name)) for name in ("neo4j", *others))
            yield row(f"`{query}`", *cells)


def _milliseconds(seconds: float | None) -> str:
    return (
        ""
        if seconds is None
        else f"{seconds * 1000:.2g}"
        if seconds < 0.1
        else (f"{seconds * 1000:.0f}")
    )


def _loading() -> Iterator[str]:
    document = read_measured()
    yield from head("store", "version", f"seconds to load the rows of {LARGEST}")
    versions = {"neo4j": document["neo4j"], **document["engines"]}
    titles = {"neo4j": "Neo4j", **ENGINES}
    for name, release in versions.items():
        yield row(titles[name], release, _digits(document["built"][name]))


def _building() -> Iterator[str]:
    record = json.loads(RATIOS.read_text(encoding="utf-8").splitlines()[-1])
    yield from head("task", "library", "starcast is faster by")
    for name, ratio in record["ratios"].items():
        task, _, library = name.partition(" | ")
        if library in ("NetworkX", "SageMath", "igraph") and task.startswith(LARGEST):
            yield row(task, library, _digits(ratio))


def _machine() -> Iterator[str]:
    document = read_measured()
    before, after = document["load"]
    yield from head("machine", "load before and after", "network")
    yield row(document["machine"], f"{before} and {after}", f"`{document['network']['topology']}`")


TABLES = {
    "star": _on_star,
    "network": _on_network,
    "paths": _paths,
    "loading": _loading,
    "building": _building,
    "machine": _machine,
}
