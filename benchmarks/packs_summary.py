"""Summarize, for each query pack, how much faster or slower than Neo4j other tools are."""

from collections.abc import Iterator, Mapping
from statistics import median
from typing import Any

LARGEST = "S8"
#: The libraries or engines that a column of the summary compares with Neo4j, by column title.
COLUMNS: Mapping[str, tuple[str, ...]] = {
    "DuckDB": ("duckdb",),
    "Ladybug": ("ladybug",),
    "fastest of NetworkX, igraph and numpy": ("networkx", "igraph", "numpy"),
}

#: For each query, the seconds of Neo4j and of each library and engine, by name.
Times = Mapping[str, Mapping[str, float]]


def times_of(document: Mapping[str, Any], part: str) -> Times:
    """Return the stored times for ``star`` or ``network``, the two parts of the measurements.

    Queries that Neo4j did not finish are omitted.
    """
    queries: Mapping[str, Mapping[str, Any]] = document[part]["queries"]
    return {name: entry for name, entry in queries.items() if entry["neo4j"] is not None}


def summarize(times: Times) -> Iterator[dict[str, object]]:
    """Yield a row for each pack that states how much faster or slower other tools are."""
    for pack in dict.fromkeys(query.partition("/")[0] for query in times):
        row: dict[str, object] = {"pack": pack}
        row |= {title: describe(factors(times, pack, names)) for title, names in COLUMNS.items()}
        yield row


def factors(times: Times, pack: str, names: tuple[str, ...]) -> list[float]:
    """Return, for each query, Neo4j's time divided by the time of the fastest named tool, sorted.

    A query of the pack that none of the named tools answers is omitted.
    """
    return sorted(
        entry["neo4j"] / min(entry[name] for name in names if name in entry)
        for query, entry in times.items()
        if query.startswith(f"{pack}/") and any(name in entry for name in names)
    )


def describe(values: list[float]) -> str:
    """Describe sorted speed ratios as text: the median, the range and the number of queries."""
    if not values:
        return "none measured"
    middle, low, high = (_compare(value) for value in (median(values), values[0], values[-1]))
    if len(values) == 1:
        return f"{middle} (1 query)"
    if (values[0] >= 1) == (values[-1] >= 1):
        low, high = _factor(values[0]), _factor(values[-1])
    return f"{middle} ({low} to {high}; {len(values)} queries)"


def _compare(value: float) -> str:
    if _factor(value) == "1":
        return "equally fast"
    return f"{_factor(value)} times {'slower' if value < 1 else 'faster'}"


def _factor(value: float) -> str:
    return digits(max(value, 1 / value))


def digits(value: float) -> str:
    """Return a number with two significant digits, or as an integer from 100 on."""
    return f"{value:.2g}" if value < 99.5 else f"{value:.0f}"
