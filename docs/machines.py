"""Compute the tables of machines.md: allreduce and alltoall on GPU machines and a fat tree."""

import re
import tempfile
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

from marked import fill_tables, head, row

import starcast
from starcast.collectives import Schedule
from starcast.costs import Machine, lower_bound
from starcast.support.progress import Silent
from starcast.support.vocabulary import Collective
from starcast.topologies import Topology

PAGE = Path(__file__).parent / "machines.md"
#: The start-up time in microseconds, and the bandwidth of a link of the fat tree in bytes per
#: microsecond.
START_UP, FAT_TREE_LINK = Fraction(5), Fraction(12_500)
#: Message sizes in bytes. A message is the vector of a GPU in an allreduce, and the data from one
#: GPU to another in an alltoall.
SIZES = (2**10, 2**16, 2**20, 2**26)
#: The largest message size in bytes for which two algorithms are compared.
_LARGEST = 2**32
NAMES = ("DGX-1", "NVSwitch", "FT4")
#: The numbers of pieces into which messages are divided; the shortest time is used.
PIECES = (1, 2, 4, 8, 16, 32, 64)
#: For each collective, the algorithms by their names on the page. Each value consists of the
#: algorithm as written in a command, and the name of its argument for the number of pieces.
ALGORITHMS: dict[Collective, dict[str, tuple[str, str]]] = {
    "allreduce": {
        "ring": ("ring", "messages"),
        "tree": ("forest(base=breadth-first)", "segments"),
        "arc-disjoint": ("forest(base=arc-disjoint)", "segments"),
        "greedy": ("greedy", "messages"),
    },
    "alltoall": {"greedy": ("greedy", "messages")},
}


class Line(NamedTuple):
    """The time of a schedule in microseconds: start_ups + m * per_byte for messages of m bytes."""

    start_ups: Fraction
    per_byte: Fraction

    def at(self, size: int) -> Fraction:
        """Return the time in microseconds for messages of ``size`` bytes."""
        return self.start_ups + size * self.per_byte


def page() -> str:
    """Return the text of machines.md with newly computed tables."""
    return fill_tables(PAGE, Path(__file__).name, TABLES)


@cache
def machine(name: str) -> tuple[Topology, Machine]:
    """Return the network of a machine, and T_s and T_c in microseconds.

    T_c is the time per byte on a link of capacity 1.
    """
    if name == "FT4":
        return starcast.topology("FT4"), Machine(START_UP, 1 / FAT_TREE_LINK)
    file = {"DGX-1": "dgx1", "NVSwitch": "nvswitch"}[name]
    text = PAGE.read_text(encoding="utf-8")
    (content,) = re.findall(rf"cat >{file}\.txt <<END\n(.*?)END\n", text, re.DOTALL)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{file}.txt"
        path.write_text(content)
        made = starcast.network(path, reporter=Silent())
    return made, Machine(START_UP, 8 * 10**6 / Fraction(made.capacity_unit))


@cache
def lines(name: str, collective: Collective, algorithm: str) -> list[Line]:
    """Return the time of an algorithm on a machine, for each number of pieces in `PIECES`.

    The list is empty if starcast cannot build the schedules on this machine.
    """
    network, costs = machine(name)
    spec, pieces = ALGORITHMS[collective][algorithm]
    found = []
    for number in PIECES:
        options: dict[str, Any] = {pieces: number}
        try:
            built = starcast.schedule(network, collective, spec, **options)
        except starcast.StarcastError:
            return []
        if not starcast.simulate(built).complete:
            raise AssertionError(built.id)
        found.append(_line(built, costs))
    return found


def _line(built: Schedule, costs: Machine) -> Line:
    """Return the time of a schedule as a function of the message size.

    Links have no latency, so the time is linear in the size. It is computed for 1 and 2 bytes.
    """
    units = built.message_units
    short, long = (
        Fraction(starcast.timing(built, Fraction(size, units), costs.t_s, costs.t_c).time)
        for size in (1, 2)
    )
    return Line(2 * short - long, long - short)


def time_of(name: str, collective: Collective, algorithm: str, size: int) -> Fraction:
    """Return the shortest time of an algorithm in microseconds, over all numbers in `PIECES`."""
    return min(line.at(size) for line in lines(name, collective, algorithm))


def algorithms(name: str, collective: Collective) -> list[str]:
    """Return the names of the algorithms that can be executed on a machine."""
    return [each for each in ALGORITHMS[collective] if lines(name, collective, each)]


def _bound(name: str, collective: Collective, size: int) -> Fraction:
    network, costs = machine(name)
    return lower_bound(network, collective, "all", Fraction(size), costs).time


def _times(collective: Collective) -> Iterator[str]:
    yield from head("machine", "algorithm", *map(_bytes, SIZES))
    for name in NAMES:
        for algorithm in algorithms(name, collective):
            cells = [_micro(time_of(name, collective, algorithm, size)) for size in SIZES]
            yield row(name, f"`{algorithm}`", *cells)
        yield row(name, "bound", *(_micro(_bound(name, collective, size)) for size in SIZES))


def allreduce() -> Iterator[str]:
    """Yield the lines of a table with the times of all allreduce algorithms, by vector size."""
    return _times("allreduce")


def alltoall() -> Iterator[str]:
    """Yield the lines of a table with the times of all alltoall algorithms, by message size."""
    return _times("alltoall")


def crossovers() -> Iterator[str]:
    """Yield the lines of a table of crossovers, with a row for each pair of allreduce algorithms.

    A crossover is the vector size from which one algorithm is not slower than the other.
    """
    yield from head("machine", "for short vectors", "for long vectors", "from")
    for name in NAMES:
        for pair in combinations(algorithms(name, "allreduce"), 2):
            slow, fast = sorted(pair, key=lambda each: -time_of(name, "allreduce", each, _LARGEST))
            yield row(name, f"`{slow}`", f"`{fast}`", _crossover(name, slow, fast))


def _crossover(name: str, slow: str, fast: str) -> str:
    """Return, as text, the vector size from which the algorithm `fast` is not slower than `slow`.

    The times for the sizes 1, 2, 4, .., 2^32 are compared first. The result is "all" if `fast` is
    slower for none of these sizes. Otherwise, let s be the largest of these sizes for which `fast`
    is slower. The crossover is then found by bisection between s and 2s.
    """

    def is_faster(size: int) -> bool:
        return time_of(name, "allreduce", fast, size) <= time_of(name, "allreduce", slow, size)

    sizes = [2**exponent for exponent in range(33)]
    slower = [size for size in sizes if not is_faster(size)]
    if not slower:
        return "all"
    low, high = slower[-1], 2 * slower[-1]
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_faster(middle) else (middle, high)
    return f"{high:,} B".replace(",", " ")


def _bytes(size: int) -> str:
    power = (size.bit_length() - 1) // 10
    return f"{size >> 10 * power} {('B', 'KiB', 'MiB', 'GiB')[power]}"


def _micro(time: Fraction) -> str:
    return f"{float(time):,.1f}".replace(",", " ")


TABLES = {"allreduce": allreduce, "crossovers": crossovers, "alltoall": alltoall}
