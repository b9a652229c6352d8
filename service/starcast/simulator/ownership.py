"""Who holds what: a place for each (node, unit) pair that matters, and what is known there.

Where everybody is owed everything (broadcast, allgather) nearly every pair is reached, and a pair's place is its position in
the table of all pairs. Where a unit has one destination it passes a handful of nodes: the pairs that occur are sorted, and a
pair is looked up.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from starcast.errors import LimitError
from starcast.simulator.postconditions import Promise
from starcast.simulator.rows import Column, Mask, Rows, runs

Indices = NDArray[np.int64]
#: Whether nodes hold units, pair by pair.
Held = Callable[[Indices, Indices], Mask]

_MOST_PAIRS = 2**31  # of a table, a byte or two each
_MOST_UNITS = 2**27  # with one destination: more than a schedule may have rows
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
        found = [
            self._key(rows.receiver[:end], rows.unit[:end]),
            self._key(promise.source(units), units),
        ]
        keys = np.concatenate(found)
        keys.sort()
        self.keys = keys[~runs(keys)]
        self.size = len(self.keys) + 1

    def of(self, node: Column, unit: Column) -> Indices:
        """See `Places.of`."""
        key = self._key(node, unit)
        place = np.searchsorted(self.keys, key)
        found = (
            np.take(self.keys, place, mode="clip") == key
            if len(self.keys)
            else np.zeros(len(key), dtype=bool)
        )
        place[~found] = self.size - 1
        return place

    def _key(self, node: Column, unit: Column) -> Indices:
        key: Indices = np.multiply(unit, self.nodes, dtype=np.int64)
        key += node
        return key


def places(promise: Promise, rows: Rows, end: int) -> Places:
    """Places for the pairs that the first ``end`` rows and the promise speak of."""
    return Table(promise) if promise.to_all else Pairs(promise, rows, end)


def check_size(promise: Promise) -> None:
    """Accept a promise whose pairs fit into memory.

    Raises:
        LimitError: they do not.
    """
    if promise.pairs > (_MOST_PAIRS if promise.to_all else _MOST_UNITS):
        raise LimitError(
            f"{promise.units:,} units on {promise.nodes:,} nodes are too many to simulate",
            hint="take fewer segments or messages, or a smaller topology",
        )


def at_the_start(promise: Promise, topology: Places) -> Mask:
    """Who holds what before the first step, bool ``[places]``."""
    units, held = np.arange(promise.units), np.zeros(topology.size, dtype=bool)
    held[topology.of(promise.source(units), units)] = True
    return held


def lacking(
    promise: Promise, held: Held, alive: Mask | None, few: int
) -> tuple[int, list[tuple[int, int]]]:
    """How many owed pairs are not held, and the first few of them, (node, unit).

    Args:
        promise: what is owed.
        held: asked of pairs that are owed, and of no others.
        alive: bool ``[nodes]``, None where everybody is: dead nodes are owed nothing, and nobody what they had to send.
        few: how many are named.
    """
    units = np.arange(promise.units)
    if alive is not None and promise.many_senders:
        units = units[alive[promise.source(units)]]
    if promise.to_all:
        return _lacking_to_all(promise, held, alive, units, few)
    node = promise.destination(units)
    lost = ~held(node, units)
    if alive is not None:
        lost &= alive[node]
    node, units = node[lost], units[lost]
    first = np.lexsort((units, node))[:few]
    return len(units), list(zip(node[first].tolist(), units[first].tolist(), strict=True))


def _lacking_to_all(
    promise: Promise, held: Held, alive: Mask | None, units: Indices, few: int
) -> tuple[int, list[tuple[int, int]]]:
    count, named = 0, list[tuple[int, int]]()
    chunk = max(_CHUNK // max(len(units), 1), 1)
    for begin in range(0, promise.nodes, chunk):
        nodes = np.arange(begin, min(begin + chunk, promise.nodes))
        if alive is not None:
            nodes = nodes[alive[nodes]]
        lost = ~held(np.repeat(nodes, len(units)), np.tile(units, len(nodes)))
        count += int(np.count_nonzero(lost))
        if len(named) < few:
            node, unit = np.divmod(np.flatnonzero(lost)[: few - len(named)], max(len(units), 1))
            named += zip(nodes[node].tolist(), units[unit].tolist(), strict=True)
    return count, named
