"""Compute the tables of execution-models.md: synchronous and asynchronous execution times."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import get_args

from marked import fill_tables, head, row

from starcast.collectives import Schedule, schedule
from starcast.collectives.algorithm import Algorithm, algorithms_on, find_algorithm
from starcast.collectives.model import REDUCTIONS
from starcast.costs import FORMS, Machine, execute_in_model, price_simulation
from starcast.judges.simulator import Simulation, simulate, timing
from starcast.support.vocabulary import EXECUTION_MODELS, ExecutionModel, Ports
from starcast.topologies import topology

PAGE = Path(__file__).parent / "execution-models.md"
SIZES = (4, 5, 6, 7, 8)
PIECES = 4
MAX_ROWS = 2_000_000
#: A broadcast is executed with each of these numbers of segments; the shortest time is used.
SEGMENTS = (1, 2, 4, 8, 16, 32, 64)


def page() -> str:
    """Return the text of execution-models.md with newly computed tables."""
    return fill_tables(PAGE, Path(__file__).name, TABLES)


@cache
def times(n: int, collective: str, name: str, ports: Ports, pieces: int) -> tuple[int, int] | None:
    """Return the synchronous and the asynchronous time of an algorithm on S_n.

    Units have 64 bytes, T_s is 100 and T_c is 1. The result is None if the schedule has more than
    `MAX_ROWS` rows, or if the algorithm is not defined on S_n. The argument ``pieces`` is the
    number of segments or messages; algorithms with neither argument ignore it.
    """
    spec = f"S{n}"
    algorithm = _find(n, collective, name)
    if algorithm is None:
        return None
    arguments = {} if algorithm.split_argument is None else {algorithm.split_argument: pieces}
    if (
        algorithm.count(
            topology(spec), ports, algorithm.resolve_arguments(topology(spec), arguments)
        )
        > MAX_ROWS
    ):
        return None
    built = schedule(spec, collective, name, ports, **arguments)
    return int(timing(built).time), int(timing(built, execution="asynchronous").time)


def _find(n: int, collective: str, name: str) -> Algorithm | None:
    """Return the algorithm with the given name, or None if it is not defined on S_n."""
    entries = algorithms_on(topology(f"S{n}"))
    return next(
        (each for each in entries if (each.collective, each.name) == (collective, name)), None
    )


def overstatement() -> Iterator[str]:
    """Yield the lines of a table that compares synchronous with asynchronous times.

    A cell shows by how many per cent the synchronous time exceeds the asynchronous time.
    """
    yield from head(
        "collective", "algorithm", "ports", "segments or messages", *(f"S{n}" for n in SIZES)
    )
    entries = [
        each
        for each in algorithms_on(topology("S4"))
        if each.collective not in REDUCTIONS and (each.collective, each.name) in FORMS
    ]
    for entry in entries:
        for ports in entry.ports:
            pieces = "n-1" if entry.name == "perfectly-balanced" else str(PIECES)
            cells = [
                _excess(
                    times(
                        n, entry.collective, entry.name, ports, n - 1 if pieces == "n-1" else PIECES
                    )
                )
                for n in SIZES
            ]
            shown = "" if entry.split_argument is None else pieces
            yield row(entry.collective, f"`{entry.name}`", ports, shown, *cells)


def segments() -> Iterator[str]:
    """Yield the lines of a table of times of a broadcast along n-1 trees, by number of segments."""
    counts = (1, 4, 16, 64)
    yield from head("topology", *(f"p = {count}" for count in counts))
    for n in SIZES:
        pairs = [times(n, "broadcast", "multiple", "all", count) for count in counts]
        yield row(f"S{n}", *(_pair(pair) for pair in pairs))


def crossovers() -> Iterator[str]:
    """Yield the lines of a table of crossovers between two broadcasts.

    A crossover is the message size from which `multiple` is faster than `recursive-substar`.
    """
    yield from head("topology", "ports", "synchronous", "asynchronous")
    for n in (4, 5, 6):
        for ports in get_args(Ports):
            cells = [f"{_crossover(n, ports, model):,}" for model in EXECUTION_MODELS]
            yield row(f"S{n}", ports, *(cell.replace(",", " ") for cell in cells))


def _crossover(n: int, ports: Ports, model: ExecutionModel) -> int:
    """Return the message size in bytes from which `multiple` is faster than `recursive-substar`.

    The size is found by bisection. The result is 2^20 if the size is 2^20 or larger.
    """

    def is_faster(m: int) -> bool:
        first, second = (
            _least_time(n, name, ports, model, m) for name in ("multiple", "recursive-substar")
        )
        return first < second

    return bisect_left(range(2**20), True, key=is_faster)


def _least_time(n: int, name: str, ports: Ports, model: ExecutionModel, m: int) -> Fraction:
    """Return the shortest time of a broadcast over all numbers of segments in `SEGMENTS`."""
    machine = Machine(Fraction(100), Fraction(1))
    times = []
    for segments in SEGMENTS:
        built = _broadcast(n, name, ports, segments)
        unit = Fraction(m, max(1, built.message_units))
        critical = None
        simulation = _simulation(n, name, ports, segments)
        if model == "asynchronous":
            simulation, critical = execute_in_model(built, unit, machine, model)
        times.append(price_simulation(simulation, unit, machine, critical).time)
    return min(times)


@cache
def _broadcast(n: int, name: str, ports: Ports, segments: int) -> Schedule:
    argument = str(find_algorithm("broadcast", name).split_argument)
    return schedule(f"S{n}", "broadcast", name, ports, **{argument: segments})


@cache
def _simulation(n: int, name: str, ports: Ports, segments: int) -> Simulation:
    return simulate(_broadcast(n, name, ports, segments))


def _pair(pair: tuple[int, int] | None) -> str:
    if pair is None:
        return ""
    return f"{pair[0]:,} / {pair[1]:,}".replace(",", " ")


def _excess(pair: Sequence[int] | None) -> str:
    if pair is None:
        return ""
    synchronous, asynchronous = pair
    if synchronous == asynchronous:
        return "equal"
    return f"{100 * (synchronous / asynchronous - 1):.2g} %"


TABLES = {"overstatement": overstatement, "segments": segments, "crossovers": crossovers}
