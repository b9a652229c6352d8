"""The tables of execution-models.md: synchronous and asynchronous times of the catalogue."""

from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from marked import fill_tables, head, row

from starcast.collectives import schedule
from starcast.collectives.algorithm import Algorithm
from starcast.collectives.catalogue import algorithms_on
from starcast.simulator import timing
from starcast.topologies import topology
from starcast.vocabulary import Ports

PAGE = Path(__file__).parent / "execution-models.md"
SIZES = (4, 5, 6, 7)
PIECES = 4
MOST_ROWS = 2_000_000


def page() -> str:
    """Return the page with its tables."""
    return fill_tables(PAGE, Path(__file__).name, TABLES)


@cache
def times(n: int, collective: str, name: str, ports: Ports, pieces: int) -> tuple[int, int] | None:
    """Return the synchronous and the asynchronous time on S_n; None for too many rows."""
    spec = f"S{n}"
    algorithm = _find(n, collective, name)
    arguments = {} if algorithm.split_argument is None else {algorithm.split_argument: pieces}
    if (
        algorithm.count(
            topology(spec), ports, algorithm.resolve_arguments(topology(spec), arguments)
        )
        > MOST_ROWS
    ):
        return None
    built = schedule(spec, collective, name, ports, **arguments)
    return int(timing(built).time), int(timing(built, execution="asynchronous").time)


def _find(n: int, collective: str, name: str) -> Algorithm:
    (entry,) = [
        entry
        for entry in algorithms_on(topology(f"S{n}"))
        if (entry.collective, entry.name) == (collective, name)
    ]
    return entry


def overstatement() -> Iterator[str]:
    """Yield by how many per cent of the asynchronous time the synchronous one is longer."""
    yield from head("collective", "algorithm", "ports", "pieces", *(f"S{n}" for n in SIZES))
    for entry in algorithms_on(topology("S4")):
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
    """Yield the times of the broadcast along n-1 trees for several numbers of segments."""
    counts = (1, 4, 16, 64)
    yield from head("topology", *(f"p = {count}" for count in counts))
    for n in SIZES:
        pairs = [times(n, "broadcast", "multiple", "all", count) for count in counts]
        yield row(f"S{n}", *(_pair(pair) for pair in pairs))


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


TABLES = {"overstatement": overstatement, "segments": segments}
