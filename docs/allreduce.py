"""The tables of allreduce.md: the runs of the shipped experiment ``allreduce``."""

from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

from marked import fill_tables, head, row

from starcast.collectives.catalogue import find
from starcast.costs import Machine, closed_form, optimal_pieces
from starcast.experiments.design import read_design
from starcast.experiments.execution import execute, price_run
from starcast.experiments.grid import group_by_structure

PAGE = Path(__file__).parent / "allreduce.md"
TOPOLOGIES = ("S5", "S6", "Q7", "Q10")
_MACHINE = Machine(Fraction(100), Fraction(1))
_LARGEST = 2**40


def page() -> str:
    """Return the page with its tables."""
    return fill_tables(PAGE, Path(__file__).name, TABLES)


@cache
def times() -> dict[tuple[str, str, str, int], Fraction]:
    """Return the times by topology, algorithm (or "bound"), execution model and bytes."""
    found = {}
    for together in group_by_structure(read_design("allreduce").points()):
        execution = execute(together[0])
        for point in together:
            costs = {cost.kind: cost.time for cost in price_run(point, execution).costs}
            place = point.execution, int(point.message_bytes)
            found[point.topology, point.algorithm, *place] = costs["simulated"]
            found[point.topology, "bound", *place] = costs["lower bound"]
    return found


def sizes() -> Iterator[str]:
    """Yield the times of every algorithm by message size: synchronous / asynchronous."""
    lengths = sorted({length for *_, length in times()})
    yield from head("topology", "algorithm", *(f"{_thousands(length)} B" for length in lengths))
    for topology in TOPOLOGIES:
        names = dict.fromkeys(name for spec, name, *_ in times() if spec == topology)
        for name in [*(name for name in names if name != "bound"), "bound"]:
            cells = [_pair(topology, name, length) for length in lengths]
            yield row(topology, name if name == "bound" else f"`{name}`", *cells)


def crossovers() -> Iterator[str]:
    """Yield the message sizes from which the second algorithm is faster, by closed forms."""
    yield from head("topology", "for short vectors", "for long vectors", "from bytes")
    for topology, first, second in (
        ("S5", "ring", "dimension-change"),
        ("S5", "multiple", "dimension-change"),
        ("S6", "ring", "dimension-change"),
        ("S6", "multiple", "dimension-change"),
        ("Q7", "binomial", "ring"),
        ("Q7", "binomial", "edge-disjoint-binomial"),
        ("Q10", "binomial", "ring"),
        ("Q10", "binomial", "edge-disjoint-binomial"),
    ):
        yield row(topology, f"`{first}`", f"`{second}`", _crossover(topology, first, second))


def _crossover(topology: str, first: str, second: str) -> str:
    low, high = 1, _LARGEST
    if _is_faster(topology, second, first, low):
        return "always"
    while high - low > 1:
        middle = (low + high) // 2
        if _is_faster(topology, second, first, middle):
            high = middle
        else:
            low = middle
    return _thousands(high)


def _is_faster(topology: str, name: str, other: str, length: int) -> bool:
    return _price(topology, name, length) < _price(topology, other, length)


def _price(topology: str, name: str, length: int) -> Fraction:
    """Return the time of the closed form with the best number of segments."""
    split = find("allreduce", name).split_argument
    problem = (topology, "allreduce", name, "all", Fraction(length), _MACHINE)
    pieces: dict[str, Any] = {}
    if split is not None:
        pieces[split] = 1 if name == "ring" else optimal_pieces(*problem)[1]
    return closed_form(*problem, **pieces).time


def _pair(topology: str, name: str, length: int) -> str:
    pair = [
        _thousands(round(times()[topology, name, model, length]))
        for model in ("synchronous", "asynchronous")
    ]
    return pair[0] if pair[0] == pair[1] else " / ".join(pair)


def _thousands(number: int) -> str:
    return f"{number:,}".replace(",", " ")


TABLES = {"sizes": sizes, "crossovers": crossovers}
