"""The rows of a schedule in the order of time, looked at in batches of whole steps."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from starcast.collectives.model import COLUMNS, Schedule

Column = NDArray[np.integer[Any]]
Mask = NDArray[np.bool_]

_ORDER = ("step", "sender", "port", "tree", "unit")
_BATCH = 2**16  # rows whose temporary arrays stay in the cache


class Broken(NamedTuple):
    """A row that breaks a rule, and the sentence that says so."""

    row: int
    sentence: str


class Rows:
    """The columns of a schedule as narrow as they came, sorted by step, sender, port, tree and unit."""

    step: Column
    sender: Column
    port: Column
    receiver: Column
    tree: Column
    unit: Column

    def __init__(self, schedule: Schedule) -> None:
        self.schedule = schedule
        columns = {name: _signed(getattr(schedule, name)) for name in COLUMNS}
        if not _ascending([columns[name] for name in _ORDER]):
            order = np.lexsort([columns[name] for name in _ORDER[::-1]])
            columns = {name: column[order] for name, column in columns.items()}
        vars(self).update(columns)

    def __len__(self) -> int:
        return len(self.step)

    def before(self, row: int) -> int:
        """How many rows are of earlier steps than a row; all of them for the row behind the last."""
        if row == len(self):
            return row
        return int(np.searchsorted(self.step, self.step[row]))

    def batches(self, end: int) -> Iterator[slice]:
        """The first ``end`` rows, whole steps together."""
        begin, step = 0, self.step[:end]
        while begin < end:
            last = step[min(begin + _BATCH, end) - 1]
            stop = int(np.searchsorted(step, last, side="right"))
            yield slice(begin, stop)
            begin = stop

    def of_time(self, end: int) -> Schedule:
        """The schedule of the first ``end`` rows alone."""
        return replace(self.schedule, **{name: getattr(self, name)[:end] for name in COLUMNS})

    def broken(self, row: int, rule: str) -> Broken:
        """The sentence about a row: step, sender, port, receiver and the rule it breaks."""
        sender, receiver = self._label(self.sender[row]), self._label(self.receiver[row])
        sends = f"{sender} sends unit {self.unit[row]} over port {self.port[row]} to {receiver}"
        return Broken(row, f"step {self.step[row]}: {sends}: {rule}")

    def _label(self, rank: int) -> str:
        topology = self.schedule.topology
        return topology.label(int(rank)) if 0 <= rank < topology.nodes else f"node {rank}"


def runs(*columns: Column) -> Mask:
    """Where a row agrees with the row before in all columns; never the first row."""
    same = np.zeros(len(columns[0]), dtype=bool)
    same[1:] = True
    for column in columns:
        same[1:] &= column[1:] == column[:-1]
    return same


def _signed(column: Column) -> Column:
    """Unsigned numbers of 64 bits would make fractions of whole numbers where they meet signed ones."""
    return column.astype(np.int64) if column.dtype == np.uint64 else column


def _ascending(columns: list[Column]) -> bool:
    """Whether rows are sorted by these columns, the first one first."""
    length = len(columns[0])
    for begin in range(0, length, _BATCH):
        part = slice(begin, begin + _BATCH + 1)  # one row more: batches overlap
        if not _part_ascending([column[part] for column in columns]):
            return False
    return True


def _part_ascending(columns: list[Column]) -> bool:
    in_order = np.ones(len(columns[0]) - 1, dtype=bool)
    for column in columns[::-1]:
        in_order = (column[1:] > column[:-1]) | ((column[1:] == column[:-1]) & in_order)
    return bool(in_order.all())
