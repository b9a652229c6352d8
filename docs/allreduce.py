"""Compute the tables of allreduce.md from the experiment ``allreduce`` and more vector lengths."""

from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import combinations, count
from math import ceil
from pathlib import Path

from marked import fill_tables, head, row

from starcast.experiments.design import group_by_structure, read_design
from starcast.experiments.execution import execute, formula_costs, price_run
from starcast.experiments.point import Point
from starcast.support.vocabulary import EXECUTION_MODELS

PAGE = Path(__file__).parent / "allreduce.md"
TOPOLOGIES = ("S5", "S6", "Q7", "Q10")
CLOSED_FORM = "closed form"
CLOCKS = (*EXECUTION_MODELS, CLOSED_FORM)
#: Key of a time: the algorithm or "bound", the execution model or `CLOSED_FORM`, and the vector
#: length in bytes.
Question = tuple[str, str, int]


def page() -> str:
    """Return the text of allreduce.md with newly computed tables."""
    return fill_tables(PAGE, Path(__file__).name, TABLES)


@cache
def points(topology: str, length: int | None = None) -> list[Point]:
    """Return the runs of the example experiment ``allreduce`` on a topology.

    Vectors have the given length in bytes or, by default, the lengths of the experiment.
    """
    options = {} if length is None else {"message_bytes": [length]}
    design = read_design("allreduce", options)
    return [point for point in design.points() if point.topology == topology]


@cache
def times(topology: str) -> dict[Question, Fraction]:
    """Return the simulated times, closed forms and lower bounds of the experiment on a topology."""
    return _execute(points(topology))


def _execute(chosen: list[Point]) -> dict[Question, Fraction]:
    found = {}
    for together in group_by_structure(chosen):
        execution = execute(together[0])
        for point in together:
            costs = {cost.kind: cost.time for cost in price_run(point, execution).costs}
            length = int(point.message_bytes)
            found[point.algorithm, point.execution, length] = costs["simulated"]
            found["bound", point.execution, length] = costs["lower bound"]
            found[point.algorithm, CLOSED_FORM, length] = costs["closed form"]
    return found


@cache
def time_of(topology: str, name: str, clock: str, length: int) -> Fraction:
    """Return the time of an allreduce of vectors of any length.

    All other parameters are those of the experiment.

    Args:
        topology: the topology.
        name: the algorithm.
        clock: an execution model, or `CLOSED_FORM`.
        length: the length of a vector in bytes.
    """
    if clock == CLOSED_FORM:
        (point, *_) = (each for each in points(topology, length) if each.algorithm == name)
        return formula_costs(point)[CLOSED_FORM].time
    chosen = [
        point
        for point in points(topology, length)
        if (point.algorithm, point.execution) == (name, clock)
    ]
    return _execute(chosen)[name, clock, length]


def algorithms(topology: str) -> list[str]:
    """Return the algorithms that the experiment executes on a topology."""
    return list(dict.fromkeys(point.algorithm for point in points(topology)))


def lengths(topology: str) -> list[int]:
    """Return the vector lengths of the experiment on a topology, in bytes."""
    return sorted({int(point.message_bytes) for point in points(topology)})


def sizes() -> Iterator[str]:
    """Yield the lines of a table of each algorithm's times, and of lower bounds, by vector length.

    A cell contains the synchronous and the asynchronous time, each rounded to an integer, or one
    number if the rounded times are equal.
    """
    shipped = lengths(TOPOLOGIES[0])
    yield from head("topology", "algorithm", *(f"{_thousands(length)} B" for length in shipped))
    for topology in TOPOLOGIES:
        for name in (*algorithms(topology), "bound"):
            cells = [_pair(topology, name, length) for length in shipped]
            yield row(topology, name if name == "bound" else f"`{name}`", *cells)


def crossovers() -> Iterator[str]:
    """Yield the lines of a table of crossovers, with a row for each pair of algorithms.

    A crossover is the vector length from which one algorithm is faster than the other.
    """
    yield from head("topology", "for short vectors", "for long vectors", *CLOCKS)
    for topology in TOPOLOGIES:
        longest = lengths(topology)[-1]
        for pair in combinations(algorithms(topology), 2):
            slow, fast = sorted(
                pair, key=lambda name: -times(topology)[name, "synchronous", longest]
            )
            cells = [_crossover(topology, slow, fast, clock) for clock in CLOCKS]
            yield row(topology, f"`{slow}`", f"`{fast}`", *cells)


def _crossover(topology: str, slow: str, fast: str, clock: str) -> str:
    """Return, as text, the vector length from which the algorithm `fast` is faster than `slow`.

    The exact length is searched between two lengths of the experiment. The result is "all" if
    `fast` is faster for all lengths of the experiment, and "none" if `fast` is not faster for the
    longest vectors.
    """
    gains = {
        length: times(topology)[slow, clock, length] - times(topology)[fast, clock, length]
        for length in lengths(topology)
    }
    if min(gains.values()) > 0:
        return "all"
    low = max(length for length in gains if gains[length] <= 0)
    high = min((length for length in gains if length > low), default=low)
    if low == high:
        return "none"
    for turn in count():
        if high - low == 1:
            break
        # Between lengths with equal schedules, the gain is linear in the length. So the search
        # alternates between the zero of the line through both ends and the middle of the interval.
        share = Fraction(1, 2) if turn % 2 else gains[low] / (gains[low] - gains[high])
        middle = min(max(ceil(low + share * (high - low)), low + 1), high - 1)
        gains[middle] = gain(topology, slow, fast, clock, middle)
        low, high = (low, middle) if gains[middle] > 0 else (middle, high)
    return _thousands(high)


def gain(topology: str, slow: str, fast: str, clock: str, length: int) -> Fraction:
    """Return the time of the algorithm `slow` minus that of `fast`, for a vector length."""
    return time_of(topology, slow, clock, length) - time_of(topology, fast, clock, length)


def _pair(topology: str, name: str, length: int) -> str:
    pair = [_thousands(round(times(topology)[name, model, length])) for model in EXECUTION_MODELS]
    return pair[0] if pair[0] == pair[1] else " / ".join(pair)


def _thousands(number: int) -> str:
    return f"{number:,}".replace(",", " ")


TABLES = {"sizes": sizes, "crossovers": crossovers}
