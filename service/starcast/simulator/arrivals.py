"""When units arrive, if all rows deliver: which senders have their units in time, and who holds what in the end."""

from abc import ABC, abstractmethod

import numpy as np

from starcast.simulator.ownership import Held, Indices, Places, Table, places
from starcast.simulator.postconditions import Promise
from starcast.simulator.rows import Broken, Rows

_LATE = "the sender does not hold the unit yet"


class Arrivals(ABC):
    """What the first ``end`` rows deliver."""

    def __init__(self, promise: Promise, rows: Rows, end: int) -> None:
        self.promise, self.rows, self.end = promise, rows, end

    @abstractmethod
    def premature(self) -> Broken | None:
        """The first row whose sender does not hold the unit when the step begins."""

    @abstractmethod
    def held(self, done: int) -> Held:
        """Whether nodes hold the units that they are owed, after the first ``done`` rows, which are whole steps."""


class Times(Arrivals):
    """The step in which each node first has each unit, pair by pair; 0 where it has it from the start."""

    def __init__(
        self, promise: Promise, rows: Rows, end: int, topology: Places | None = None
    ) -> None:
        super().__init__(promise, rows, end)
        self.places = topology or Table(promise)
        # One byte where the steps are few: the table is read and written all over.
        kind = np.min_scalar_type(int(rows.step[end - 1]) + 1 if end else 1)
        self._never = int(np.iinfo(kind).max)
        self._time = np.full(self.places.size, self._never, dtype=kind)
        for batch in reversed(list(rows.batches(end))):
            place = self.places.of(rows.receiver[batch], rows.unit[batch])
            # Of several values for one place the last one written stays: the earliest.
            self._time[place[::-1]] = rows.step[batch][::-1]
        units = np.arange(promise.units)
        self._time[self.places.of(promise.source(units), units)] = 0

    def late(self, which: slice | Indices) -> Indices:
        """Those of some rows, by their places among them, whose sender does not hold the unit when the step begins."""
        rows = self.rows
        time = self._time[self.places.of(rows.sender[which], rows.unit[which])]
        return np.flatnonzero(time >= rows.step[which])

    def premature(self) -> Broken | None:
        """See `Arrivals.premature`."""
        for batch in self.rows.batches(self.end):
            late = self.late(batch)
            if len(late):
                return self.rows.broken(batch.start + int(late[0]), _LATE)
        return None

    def held(self, done: int) -> Held:
        """See `Arrivals.held`."""
        step = self._never if done == len(self.rows) else int(self.rows.step[done])
        before = min(
            max(step, 1), self._never
        )  # what is there from the start is there before any step
        return lambda node, unit: np.asarray(self._time[self.places.of(node, unit)] < before)


class Journeys(Arrivals):
    """Units with one destination each: they go from node to node, and it is enough to follow them."""

    def premature(self) -> Broken | None:
        """See `Arrivals.premature`."""
        suspects = self._suspects()
        if not len(suspects):
            return None
        late = suspects[
            Times(
                self.promise, self.rows, self.end, places(self.promise, self.rows, self.end)
            ).late(suspects)
        ]
        return self.rows.broken(int(late[0]), _LATE) if len(late) else None

    def held(self, done: int) -> Held:
        """See `Arrivals.held`."""
        promise, rows = self.promise, self.rows
        arrived = np.zeros(promise.units, dtype=bool)
        for batch in rows.batches(done):
            unit = rows.unit[batch].astype(np.int64)
            arrived[unit[rows.receiver[batch] == promise.destination(unit)]] = True
        return lambda node, unit: arrived[unit] | (promise.source(unit) == node)

    def _suspects(self) -> Indices:
        """Rows, ascending, whose sender is neither the source nor the receiver of the row before of the same unit and tree.

        The tree need not be believed: a row that follows so on another has its unit, whatever tree it claims.
        """
        rows, first = self.rows, slice(self.end)
        width = int(rows.tree[first].max(initial=0)) + 1
        kind = (
            np.int32 if self.promise.units * width < 2**31 else np.int64
        )  # half as wide, sorted faster
        key = np.multiply(rows.unit[first], width, dtype=kind) + rows.tree[first]
        order = np.argsort(key, kind="stable")
        unit, step = rows.unit[order], rows.step[order]
        sender, receiver = rows.sender[order], rows.receiver[order]
        sound = sender == self.promise.source(unit.astype(np.int64))
        sound[1:] |= (
            (sender[1:] == receiver[:-1]) & (unit[1:] == unit[:-1]) & (step[1:] > step[:-1])
        )
        return np.sort(order[~sound])


def arrivals(promise: Promise, rows: Rows, end: int) -> Arrivals:
    """What the first ``end`` rows deliver, known in the way that suits the promise."""
    return (Times if promise.to_all else Journeys)(promise, rows, end)
