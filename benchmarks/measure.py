"""Timing, and benchmark figures as rows of a table."""

import gc
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter


@dataclass(frozen=True)
class Figure:
    """One measured figure and its ratio to a yardstick of the same run.

    Attributes:
        what: what was measured.
        value: the figure.
        unit: its unit.
        aim: the figure aimed at; begins with < or >.
        yardstick: what the yardstick measures.
        yardstick_value: its figure, in the same unit.
    """

    what: str
    value: float
    unit: str
    aim: str
    yardstick: str
    yardstick_value: float

    @property
    def met(self) -> bool:
        """Whether the figure meets its aim."""
        bound = float(self.aim[1:].replace(" ", ""))
        return self.value < bound if self.aim[0] == "<" else self.value > bound

    def row(self) -> dict[str, object]:
        """Return the figure as a row of COLUMNS."""
        return {
            "figure": self.what,
            "value": f"{self.value:,.3g}" if self.value < 1000 else f"{self.value:,.0f}",
            "unit": self.unit,
            "aim": self.aim,
            "met": self.met,
            "yardstick": self.yardstick,
            "ratio": self.value / self.yardstick_value,
        }


COLUMNS = ["figure", "value", "unit", "aim", "met", "yardstick", "ratio"]


def seconds(work: Callable[[], object], repeats: int = 3) -> float:
    """Return the least duration of several runs, which other processes disturbed the least."""
    best = float("inf")
    for _ in range(repeats):
        gc.collect()
        begin = perf_counter()
        work()
        best = min(best, perf_counter() - begin)
    return best
