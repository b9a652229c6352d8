"""Tables that compare starcast with other tools: ratios of measured times, and their wording."""

import pytest
import when_to_use
from benchmarks.packs_summary import describe, factors, times_of

DOCUMENT = {
    "star": {
        "queries": {
            "paths/a": {"neo4j": 0.2, "duckdb": 0.4, "numpy": 0.1},
            "paths/b": {"neo4j": 3.0, "numpy": 0.5, "igraph": 0.3},
            "paths/c": {"neo4j": None, "duckdb": 0.1},
            "trees/d": {"neo4j": 1.0},
        }
    },
    "network": {"queries": {"paths/a": {"neo4j": 1.0, "duckdb": 0.5}}},
}


def test_a_speed_factor_is_the_time_of_neo4j_divided_by_that_of_the_fastest_other_tool() -> None:
    times = times_of(DOCUMENT, "star")
    assert factors(times, "paths", ("duckdb",)) == pytest.approx([0.5])
    assert factors(times, "paths", ("numpy", "igraph")) == pytest.approx([2.0, 10.0])
    assert factors(times, "trees", ("duckdb",)) == []
    assert factors(times_of(DOCUMENT, "network"), "paths", ("duckdb",)) == pytest.approx([2.0])


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ([], "none measured"),
        ([4.0], "4 times faster (1 query)"),
        ([2.0, 4.0, 250.0], "4 times faster (2 to 250; 3 queries)"),
        ([0.5, 0.98, 2.0], "equally fast (2 times slower to 2 times faster; 3 queries)"),
        ([0.1, 0.25, 2.0], "4 times slower (10 times slower to 2 times faster; 3 queries)"),
    ],
)
def test_several_speed_factors_are_described_by_their_median_and_range(
    values: list[float], text: str
) -> None:
    assert describe(values) == text


def test_the_table_of_speed_factors_on_star_graphs_has_a_row_for_each_query_pack() -> None:
    packs = {name.partition("/")[0] for name in when_to_use.read_measured()["queries"]}
    rows = [*when_to_use.TABLES["star"]()]
    assert len(rows) == 2 + len(packs)
