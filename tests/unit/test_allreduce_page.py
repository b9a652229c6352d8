"""The documentation page on allreduce: its tables agree with runs of the experiment grid."""

from collections.abc import Callable, Iterator
from itertools import product

import allreduce
import pytest
from marked import BEGIN, END

from starcast.support.vocabulary import EXECUTION_MODELS

SLOW = [pytest.param(spec, marks=pytest.mark.slow) for spec in ("S5", "S6", "Q10")]
EVERY = pytest.mark.parametrize("topology", ["Q7", *SLOW])


def lines(table: str, topology: str) -> list[str]:
    """Return the lines for a topology in a table on the allreduce page."""
    text = allreduce.PAGE.read_text(encoding="utf-8")
    text = text.partition(BEGIN.format(table, "allreduce.py"))[2].partition(END)[0]
    return [line for line in text.splitlines() if line.startswith(f"| {topology} |")]


@pytest.mark.parametrize(
    "table", [allreduce.sizes, pytest.param(allreduce.crossovers, marks=pytest.mark.slow)]
)
@EVERY
def test_the_tables_on_the_allreduce_page_agree_with_the_experiment_runs(
    topology: str, table: Callable[[], Iterator[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(allreduce, "TOPOLOGIES", (topology,))
    assert lines(table.__name__, topology) == list(table())[2:]


@EVERY
def test_the_algorithm_for_long_vectors_is_faster_at_and_above_the_crossover(
    topology: str,
) -> None:
    """For vectors one byte shorter than the crossover, the algorithm is not faster."""
    crossovers = lines("crossovers", topology)
    assert crossovers
    for line in crossovers:
        slow, fast, *cells = (cell.strip(" `") for cell in line.strip("| ").split("|")[1:])
        for clock, cell in zip(allreduce.CLOCKS, cells, strict=True):
            if cell == "all":
                times = allreduce.times(topology)
                for length in allreduce.lengths(topology):
                    assert times[fast, clock, length] < times[slow, clock, length]
                continue
            length = int(cell.replace(" ", ""))
            before, after = (
                allreduce.gain(topology, slow, fast, clock, each) for each in (length - 1, length)
            )
            assert before <= 0 < after


@pytest.mark.parametrize("topology", allreduce.TOPOLOGIES)
def test_no_time_on_the_allreduce_page_is_below_the_lower_bound(topology: str) -> None:
    *algorithms, bound = ([*row] for row in map(cells_of, lines("sizes", topology)))
    assert bound[0] == ["bound"]
    for name, *times in algorithms:
        assert name != ["bound"]
        for pair, (least,) in zip(times, bound[1:], strict=True):
            synchronous, asynchronous = map(int, (pair[0], pair[-1]))
            assert synchronous >= asynchronous >= int(least)


def cells_of(line: str) -> list[list[str]]:
    """Return the values of each cell after the first, which names the topology.

    A cell has one value, or two values separated by a slash.
    """
    cells = line.strip("| ").split("|")[1:]
    return [cell.replace(" ", "").strip("`").split("/") for cell in cells]


def test_the_allreduce_grid_has_all_algorithms_execution_models_and_vector_lengths() -> None:
    for topology in allreduce.TOPOLOGIES:
        points = allreduce.points(topology)
        found = {(each.algorithm, each.execution, int(each.message_bytes)) for each in points}
        expected = product(
            allreduce.algorithms(topology), EXECUTION_MODELS, allreduce.lengths(topology)
        )
        assert found == set(expected)
        assert "ring" in allreduce.algorithms(topology)
