"""Compute the tables of when-to-use-what.md, which compare starcast with other tools.

The measurements are stored in two files. ``python -m benchmarks packs --write`` writes
`queries/measured.json`, and ``make bench`` writes `benchmarks/ratios.jsonl`.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from marked import fill_tables, head, row

sys.path.append(str(Path(__file__).parents[1]))  # `benchmarks` is not an installed package

from benchmarks.packs_summary import (
    COLUMNS,
    LARGEST,
    Times,
    digits,
    summarize,
    times_of,
)

HERE = Path(__file__).parent
PAGE = HERE / "when-to-use-what.md"
MEASURED = HERE.parent / "queries" / "measured.json"
RATIOS = HERE.parent / "benchmarks" / "ratios.jsonl"
ENGINES = {"duckdb": "DuckDB", "ladybug": "Ladybug"}


def page() -> str:
    """Return the text of when-to-use-what.md with newly computed tables."""
    return fill_tables(PAGE, Path(__file__).name, TABLES)


def read_measured(file: Path = MEASURED) -> dict[str, Any]:
    """Return the stored measurements of the query packs."""
    document: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return document


def _summary(times: Times) -> Iterator[str]:
    yield from head("pack", *COLUMNS)
    for cells in summarize(times):
        yield row(*cells.values())


def _on_star() -> Iterator[str]:
    yield from _summary(times_of(read_measured(), "star"))


def _on_network() -> Iterator[str]:
    yield from _summary(times_of(read_measured(), "network"))


def _paths() -> Iterator[str]:
    others = {**ENGINES, "igraph": "igraph", "networkx": "NetworkX"}
    yield from head("query", "Neo4j", *others.values())
    for query, entry in times_of(read_measured(), "star").items():
        if query.startswith("paths/"):
            cells = (_milliseconds(entry.get(name)) for name in ("neo4j", *others))
            yield row(f"`{query}`", *cells)


def _milliseconds(seconds: float | None) -> str:
    return "" if seconds is None else digits(seconds * 1000)


def _loading() -> Iterator[str]:
    document = read_measured()
    yield from head("store", "version", f"seconds to load the rows of {LARGEST}")
    versions = {"neo4j": document["neo4j"], **document["engines"]}
    titles = {"neo4j": "Neo4j", **ENGINES}
    for name, release in versions.items():
        yield row(titles[name], release, digits(document["built"][name]))


def _building() -> Iterator[str]:
    record = json.loads(RATIOS.read_text(encoding="utf-8").splitlines()[-1])
    yield from head("task", "library", "CPU time / CPU time of starcast")
    for name, ratio in record["ratios"].items():
        task, _, library = name.partition(" | ")
        if library in ("NetworkX", "SageMath", "igraph") and task.startswith(LARGEST):
            yield row(task, library, digits(ratio))


def _machine() -> Iterator[str]:
    document = read_measured()
    before, after = document["load"]
    yield from head("machine", "load average before and after", "network")
    yield row(document["machine"], f"{before} and {after}", f"`{document['network']['topology']}`")


TABLES = {
    "star": _on_star,
    "network": _on_network,
    "paths": _paths,
    "loading": _loading,
    "building": _building,
    "machine": _machine,
}
