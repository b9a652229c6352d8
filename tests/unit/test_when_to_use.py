"""The tables that compare starcast with other tools: factors of measured times, and their text."""

import pytest
import when_to_use
from benchmarks.packs_summary import describe, factors, times_on_network, times_on_star

DOCUMENT = {
    "queries": {
        "paths/a": {"seconds": {"S8": 0.2}, "others": {"duckdb": 0.4, "numpy": 0.1}},
        "paths/b": {"seconds": {"S8": 3.0}, "others": {"numpy": 0.5, "igraph": 0.3}},
        "paths/c": {"seconds": {"S8": None}, "others": {"duckdb": 0.1}},
        "trees/d": {"seconds": {"S8": 1.0}, "others": {}},
    },
    "network": {
        "topology": "RR60,4,1",
        "queries": {"paths/a": {"neo4j": 1.0, "duckdb": 0.5}, "paths/b": {"neo4j": None}},
    },
}


def test_a_factor_is_the_time_of_neo4j_over_that_of_the_fastest_of_the_others() -> None:
    times = times_on_star(DOCUMENT)
    assert factors(times, "paths", ("duckdb",)) == pytest.approx([0.5])
    assert factors(times, "paths", ("numpy", "igraph")) == pytest.approx([2.0, 10.0])
    assert factors(times, "trees", ("duckdb",)) == []
    assert factors(times_on_network(DOCUMENT), "paths", ("duckdb",)) == pytest.approx([2.0])


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ([], "none measured"),
        ([4.0], "4 times faster (1 query)"),
        ([2.0, 4.0, 250.0], "4 times faster (2 to 250; 3 queries)"),
        ([0.1, 0.25, 2.0], "4 times slower (10 times slower to 2 times faster; 3 queries)"),
    ],
)
def test_factors_are_described_by_their_median_and_range(values: list[float], text: str) -> None:
    assert describe(values) == text


def test_every_pack_has_a_row_in_the_tables() -> None:
    packs = {name.partition("/")[0] for name in when_to_use.read_measured()["queries"]}
    rows = [*when_to_use.TABLES["star"]()]
    assert len(rows) == 2 + len(packs)
