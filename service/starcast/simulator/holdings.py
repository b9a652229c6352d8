"""Who holds what: a place for each (node, unit) pair that matters, and what is known there.

Where nearly every pair is reached (broadcast, allgather), a pair's place is its position in the table of all pairs. Where few
are (a unit with one destination passes a handful of nodes), the pairs that occur are sorted, and a pair is looked up.
"""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from starcast.errors import LimitError
from starcast.simulator.promises import Promise
from starcast.simulator.rows import Column, Mask, Rows

Indices = NDArray[np.int64]

_PAIRS_A_ROW = 16  # a table this much larger than the rows is still smaller and faster than sorted pairs
_SMALL = 2**22
_MOST_PAIRS = 2**31  # of a table, a byte or two each
_MOST_UNITS = 2**27  # to sort: more than a schedule may have rows
_CHUNK = 2**20


class Places(ABC):
    """Where each (node, unit) pair stands in arrays of ``size`` entries."""

    size: int

    @abstractmethod
    def of(self, node: Column, unit: Column) -> Indices:
        """The place of each pair; nodes and units exist."""


class Table(Places):
    """A place for every pair."""

    def __init__(self, promise: Promise) -> None:
        self.units, self.size = promise.units, promise.nodes * promise.units

    def of(self, node: Column, unit: Column) -> Indices:
        """See `Places.of`."""
        place: Indices = np.multiply(node, self.units, dtype=np.int64)
        place += unit
        return place


class Pairs(Places):
    """A place for every pair that is held from the start or delivered, and one, the last, for all the others."""

    def __init__(self, promise: Promise, rows: Rows, end: int) -> None:
        self.nodes = promise.nodes
        units = np.arange(promise.units)
        keys = [self._key(rows.receiver[:end], rows.payload[:end]), self._key(promise.source(units), units)]
        self.keys = np.unique(np.concatenate(keys))
        self.size = len(self.keys) + 1

    def of(self, node: Column, unit: Column) -> Indices:
        """See `Places.of`."""
        key = self._key(node, unit)
        place = np.searchsorted(self.keys, key)
        found = np.take(self.keys, place, mode="clip") == key if len(self.keys) else np.zeros(len(key), dtype=bool)
        place[~found] = self.size - 1
        return place

    def _key(self, node: Column, unit: Column) -> Indices:
        key: Indices = np.multiply(unit, self.nodes, dtype=np.int64)
        key += node
        return key


def places(promise: Promise, rows: Rows, end: int) -> Places:
    """Places for the pairs that the first ``end`` rows and the promise speak of.

    Raises:
        LimitError: there are too many.
    """
    if promise.pairs > _MOST_PAIRS or (promise.units > _MOST_UNITS and not promise.to_all):
        raise LimitError(
            f"{promise.units:,} units on {promise.nodes:,} nodes are too many to simulate",
            hint="take fewer segments or messages, or a smaller topology",
        )
    if promise.nodes * promise.units <= max(_PAIRS_A_ROW * end, _SMALL) or promise.to_all:
        return Table(promise)
    return Pairs(promise, rows, end)


class Arrivals:
    """When each node first has each unit, if the first ``end`` rows all deliver: 0 where it has it from the start."""

    def __init__(self, promise: Promise, rows: Rows, end: int) -> None:
        self.places, self.end = places(promise, rows, end), end
        # One byte where the steps are few: the table is read and written all over.
        kind = np.min_scalar_type(int(rows.step[end - 1]) + 1 if end else 1)
        self.never = int(np.iinfo(kind).max)
        self.time: NDArray[np.unsignedinteger[Any]] = np.full(self.places.size, self.never, dtype=kind)
        for batch in reversed(list(rows.batches(end))):
            # Of several values for one place the last one written stays: the earliest.
            self.time[self.places.of(rows.receiver[batch], rows.payload[batch])[::-1]] = rows.step[batch][::-1]
        self.time[self.places.of(*_at_the_start(promise))] = 0

    def held(self, step: int | None) -> Mask:
        """Who holds what before a step, or in the end, bool ``[places]``."""
        return np.asarray(self.time < (self.never if step is None else step))


def at_the_start(promise: Promise, where: Places) -> Mask:
    """Who holds what before the first step, bool ``[places]``."""
    held = np.zeros(where.size, dtype=bool)
    held[where.of(*_at_the_start(promise))] = True
    return held


def lacking(promise: Promise, where: Places, held: Mask, alive: Mask | None, few: int) -> tuple[int, list[tuple[int, int]]]:
    """How many owed pairs are not held, and the first few of them, (node, unit).

    Args:
        promise: what is owed.
        where: the places of the pairs.
        held: bool ``[places]``.
        alive: bool ``[nodes]``, None where everybody is: dead nodes are owed nothing, and nobody what they had to send.
        few: how many are named.
    """
    units = np.arange(promise.units)
    if alive is not None and promise.many_senders:
        units = units[alive[promise.source(units)]]
    if promise.to_all:
        return _lacking_to_all(promise, where, held, alive, units, few)
    node = promise.destination(units)
    lost = ~held[where.of(node, units)]
    if alive is not None:
        lost &= alive[node]
    node, units = node[lost], units[lost]
    first = np.lexsort((units, node))[:few]
    return len(units), list(zip(node[first].tolist(), units[first].tolist(), strict=True))


def _lacking_to_all(
    promise: Promise, where: Places, held: Mask, alive: Mask | None, units: Indices, few: int
) -> tuple[int, list[tuple[int, int]]]:
    count, named = 0, list[tuple[int, int]]()
    chunk = max(_CHUNK // max(len(units), 1), 1)
    for begin in range(0, promise.nodes, chunk):
        nodes = np.arange(begin, min(begin + chunk, promise.nodes))
        if alive is not None:
            nodes = nodes[alive[nodes]]
        lost = ~held[where.of(np.repeat(nodes, len(units)), np.tile(units, len(nodes)))]
        count += int(np.count_nonzero(lost))
        if len(named) < few:
            node, unit = np.divmod(np.flatnonzero(lost)[: few - len(named)], max(len(units), 1))
            named += zip(nodes[node].tolist(), units[unit].tolist(), strict=True)
    return count, named


def _at_the_start(promise: Promise) -> tuple[Indices, Indices]:
    units = np.arange(promise.units)
    return promise.source(units), units
