"""Timing functions, benchmark figures, and growth tables."""

import gc
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, process_time

from starcast.embedded import stack
from starcast.support.progress import Silent
from starcast.support.settings import Settings


@dataclass(frozen=True)
class Figure:
    """A measured value, and the value of a yardstick (a reference) measured in the same run.

    Attributes:
        what: what was measured.
        value: the measured value.
        unit: the unit of both values.
        aim: the target, which begins with < (less is better) or >.
        yardstick: what the yardstick measures.
        yardstick_value: the measured value of the yardstick.
    """

    what: str
    value: float
    unit: str
    aim: str
    yardstick: str
    yardstick_value: float

    @property
    def met(self) -> bool:
        """Whether the measured value meets the target."""
        bound = float(self.aim[1:].replace(" ", ""))
        return self.value < bound if self.aim[0] == "<" else self.value > bound

    @property
    def speedup(self) -> float:
        """The speed relative to the yardstick; below 1 if slower."""
        ratio = self.value / self.yardstick_value
        return 1 / ratio if self.aim[0] == "<" else ratio

    def row(self) -> dict[str, object]:
        """Return the figure as a table row with the columns in `COLUMNS`."""
        return {
            "figure": self.what,
            "value": readable(self.value),
            "unit": self.unit,
            "target": self.aim,
            "met": self.met,
            "yardstick": self.yardstick,
            "speed relative to yardstick": readable(self.speedup),
        }


def readable(value: float) -> str:
    """Return a number with three significant digits, or as an integer from 1,000 on."""
    return f"{value:.3g}" if value < 999.5 else f"{value:,.0f}"


COLUMNS = [
    "figure",
    "value",
    "unit",
    "target",
    "met",
    "yardstick",
    "speed relative to yardstick",
]


@dataclass(frozen=True)
class Growth:
    """The costs of several programs that do the same work on several star graphs.

    Attributes:
        title: what was measured, with the unit.
        costs: the costs by program, then by topology; larger topologies may be missing.
    """

    title: str
    costs: Mapping[str, Mapping[str, float]]

    @property
    def specs(self) -> list[str]:
        """The specs of the star graphs, sorted by size."""
        return sorted({spec for costs in self.costs.values() for spec in costs}, key=_size)

    def rows(self) -> list[dict[str, object]]:
        """Return a row per topology with a column per program."""
        rows: list[dict[str, object]] = []
        for spec in self.specs:
            cells = {
                name: readable(costs[spec]) if spec in costs else ""
                for name, costs in self.costs.items()
            }
            rows.append({"topology": spec, **cells})
        return rows


@dataclass(frozen=True)
class Table:
    """A table of results that are not compared with a yardstick."""

    title: str
    columns: Sequence[str]
    content: Sequence[Mapping[str, object]]


def _size(spec: str) -> int:
    return int(spec.removeprefix("S"))


def seconds(
    work: Callable[[], object],
    repeats: int = 3,
    clock: Callable[[], float] = process_time,
) -> float:
    """Return the minimum duration of several runs, in seconds.

    The minimum is used because other processes can only lengthen a run.

    Args:
        work: the function to measure.
        repeats: the number of runs.
        clock: function that returns the time; by default the CPU time of this process, which hardly
            depends on other load. `elapsed` measures work of other processes.
    """
    best = float("inf")
    for _ in range(repeats):
        gc.collect()
        begin = clock()
        work()
        best = min(best, clock() - begin)
    return best


def elapsed(work: Callable[[], object], repeats: int = 3) -> float:
    """Return the minimum elapsed time of several runs, in seconds.

    Unlike CPU time, it includes the work of servers and child processes.
    """
    return seconds(work, repeats, perf_counter)


@contextmanager
def embedded_stack() -> Iterator[Settings]:
    """Start an embedded stack in a temporary home; stop and delete it afterwards."""
    with tempfile.TemporaryDirectory(prefix="starcast-bench-") as folder:
        settings = Settings.load(home=Path(folder) / "home")
        stack.up(settings, Silent())
        try:
            yield settings
        finally:
            stack.down(settings.home, Silent())
