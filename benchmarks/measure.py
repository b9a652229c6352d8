"""Timing, and one line a figure."""

import gc
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter


@dataclass(frozen=True)
class Figure:
    """One measured figure: what, how much, the figure aimed at, and how it stands to a yardstick of the same run.

    ``aim`` begins with < or >; ``yardstick`` is in the same unit as ``value``.
    """

    what: str
    value: float
    unit: str
    aim: str
    yardstick: str
    yardstick_value: float

    @property
    def met(self) -> bool:
        """Whether the figure is on the right side of its aim."""
        bound = float(self.aim[1:].replace(" ", ""))
        return self.value < bound if self.aim[0] == "<" else self.value > bound

    def row(self) -> dict[str, object]:
        """The figure as a row to print."""
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
    """The least time of several runs: what the work costs when nobody disturbs it."""
    best = float("inf")
    for _ in range(repeats):
        gc.collect()
        begin = perf_counter()
        work()
        best = min(best, perf_counter() - begin)
    return best
