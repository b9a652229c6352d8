"""The arrival times that each row of a schedule reads and writes.

Each arrival time is that of one unit at one node, and has an index. Every row *needs* (reads) the
arrival time of its unit at its sender, and *gives* (writes) the arrival time of its unit at its
receiver. If every endpoint must receive every unit (broadcast, allgather), there is an arrival time
for every (node, unit) pair. If each unit has one destination, it makes a journey from node to node.
Then there is one arrival time per row, which the next row of the journey reads. If journeys branch,
join or return to a node (copies of units along several trees), or are very long, there is one
arrival time per (node, unit) pair that occurs; pairs are looked up in a sorted list.

In a reduction, each row that sends a partial sum writes a separate arrival time. A row that sends
the sum of a node reads the arrival times of all rows whose sums this node has added in earlier
steps; the latest of these times determines when the sum is ready.
"""

from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np

from starcast.judges.simulator.ownership import (
    Journeys,
    PairIndex,
    Postcondition,
    derive_postcondition,
    make_pair_index,
    sort_rows,
)
from starcast.judges.simulator.packets import Packets, Times
from starcast.judges.simulator.rows import Indices, Rows, repeats_previous
from starcast.judges.simulator.simulation import Executed
from starcast.judges.simulator.sums import Sums
from starcast.support.arrays import Integers, Mask

#: Maximum number of hops per unit that `_never_returns` checks. On star graphs, the units of
#: starcast's own schedules make fewer hops.
_MAX_HOPS = 64


class Needs(NamedTuple):
    """The arrival times that rows read, given by indices; a row waits for the latest of them.

    Attributes:
        entries: the indices of these arrival times, row by row.
        begins: int64 ``[rows]``, the index in ``entries`` of each row's first arrival time; None if
            each row reads exactly one arrival time.
    """

    entries: Indices
    begins: Indices | None = None

    def latest(self, arrival: Times) -> Times:
        """Return, for each row, the latest of the arrival times that it reads."""
        arrived = arrival[self.entries]
        return arrived if self.begins is None else np.maximum.reduceat(arrived, self.begins)

    def row_of(self, index: int) -> int:
        """Return the row that reads the arrival time at the given index of ``entries``."""
        if self.begins is None:
            return index
        return int(np.searchsorted(self.begins, index, side="right")) - 1


class Dependencies(ABC):
    """The indices of the arrival times that each row reads and writes.

    A row reads the arrival time of its unit at its sender or, in a reduction, the arrival times of
    all sums that it passes on. It writes the arrival time of its unit at its receiver.

    Attributes:
        size: the number of arrival times.
        initial: the indices of the arrival times of units at their sources.
        unique: True only if at most one row writes each arrival time, and no row writes an initial
            arrival time. It may be False although this is the case.
    """

    size: int
    initial: Indices
    unique: bool

    @abstractmethod
    def needs(self, rows: slice | Indices) -> Needs:
        """Return the indices of the arrival times that each given row reads."""

    @abstractmethod
    def gives(self, rows: slice | Indices) -> Indices:
        """Return the index of the arrival time that each given row writes."""


class PairDependencies(Dependencies):
    """Dependencies with one arrival time for each (node, unit) pair.

    If units have one destination each, only pairs that occur have an arrival time.
    """

    def __init__(self, packets: Packets, executed: Executed) -> None:
        postcondition = executed.postcondition
        self._packets = packets
        self.pair_index: PairIndex = make_pair_index(
            postcondition, executed.rows, len(executed.rows)
        )
        self.size = self.pair_index.size
        self.initial = self.pair_index.initial(postcondition)
        # Every pair that is held at the end but not at the start was delivered by some row. If
        # there are as many rows as such pairs, each pair was delivered only once.
        gained = (postcondition.pairs - postcondition.units) * executed.sources
        gained -= executed.simulation.missing
        is_counted = postcondition.to_all and executed.alive is None
        self.unique = is_counted and executed.simulation.transmissions == gained

    def needs(self, rows: slice | Indices) -> Needs:
        """Return, for each row, the index of the arrival time of its unit at its sender."""
        return Needs(self.pair_index.of(self._packets.sender[rows], self._packets.unit[rows]))

    def gives(self, rows: slice | Indices) -> Indices:
        """Return, for each row, the index of the arrival time of its unit at its receiver."""
        return self.pair_index.of(self._packets.receiver[rows], self._packets.unit[rows])


class JourneyDependencies(Dependencies):
    """Dependencies with one arrival time per row, for units that never return to a node.

    Each unit travels from its source to one destination. Row i writes the arrival time with index
    i + 1. Index 0 is the arrival time of units at their sources.
    """

    def __init__(self, previous: Indices) -> None:
        self._previous = previous
        self.size = len(previous) + 1
        self.initial = np.zeros(1, dtype=np.int64)
        self.unique = True

    def needs(self, rows: slice | Indices) -> Needs:
        """Return, for each row, the index of the arrival time of its unit at its sender.

        The row that delivers the unit to the sender writes this arrival time. The index is 0 if the
        sender is the unit's source.
        """
        return Needs(self._previous[rows])

    def gives(self, rows: slice | Indices) -> Indices:
        """Return, for each given row i, the index of the arrival time that it writes: i + 1."""
        return _row_indices(rows) + 1


class SumDependencies(Dependencies):
    """Dependencies in a reduction, whose rows add partial sums or pass on complete units.

    Index 0 is the time of the nodes' own contributions, which exist from the start. The next
    indices are those of the arrival times of rows, one per row. They are followed by the arrival
    times of complete units, one per (node, unit) pair. A row that passes on a complete unit reads
    the arrival times of all sums that make up the sender's first complete sum. If the sender
    received the complete unit earlier, the row reads the arrival time of this (node, unit) pair
    instead.

    Attributes:
        sums: the partial sums of the reduction.
    """

    def __init__(self, packets: Packets, executed: Executed) -> None:
        if not isinstance(executed.deliveries, Sums):
            raise TypeError("the execution of a reduction must contain its partial sums")
        self._packets = packets
        self.sums = executed.deliveries
        self._units = self.sums.postcondition.units
        trees = self.sums.lanes.trees
        unit = packets.unit.astype(np.int64)
        self._lane = unit * trees + packets.tree if trees > 1 else unit
        added = np.flatnonzero(packets.combine)
        keys = self._key(packets.receiver[added], self._lane[added], packets.step[added])
        order = np.argsort(keys, kind="stable")
        self._keys = keys[order]
        self._added = added[order] + 1
        self._pairs = len(packets.step) + 1
        self.size = self._pairs + len(self.sums.taken)
        self.initial = np.zeros(1, dtype=np.int64)
        passed = ~packets.combine
        taken = np.sort(self._pair(packets.receiver[passed], unit[passed]))
        self.unique = not repeats_previous(taken).any()

    def needs(self, rows: slice | Indices) -> Needs:
        """Return the indices of the arrival times that each given row reads.

        A row that adds a partial sum reads the arrival times of all sums that the sender has added
        before. A row that passes on a complete unit reads those that `completes` returns for the
        sender.
        """
        packets = self._packets
        index = _row_indices(rows)
        sender, step, lane = packets.sender[index], packets.step[index], self._lane[index]
        passes = ~packets.combine[index]
        return self._needs(sender, packets.unit[index], lane, step, passes)

    def gives(self, rows: slice | Indices) -> Indices:
        """Return, for each given row, the index of the arrival time that it writes.

        The index is i + 1 for a row i whose partial sum the receiver adds. For a row that passes on
        a complete unit, it is the index of the pair (receiver, unit).
        """
        packets = self._packets
        index = _row_indices(rows)
        taken = self._pairs + self._pair(packets.receiver[index], packets.unit[index])
        return np.where(packets.combine[index], index + 1, taken)

    def completes(self, node: Indices, unit: Indices) -> Needs:
        """Return the arrival times, as indices, after which each given node has the given unit.

        A node has a unit when it has added all contributions, or has received the complete unit.
        For a node that never has the unit, the result has no meaning.
        """
        passes = np.ones(len(node), dtype=bool)
        return self._needs(node, unit, unit, np.zeros_like(node), passes)

    def _needs(
        self, node: Integers, unit: Integers, lane: Indices, step: Integers, passes: Mask
    ) -> Needs:
        pair = node.astype(np.int64) * self._units + unit
        summed = self.sums.summed[pair].astype(np.int64)
        takes = passes & (self.sums.taken[pair] < summed)
        lane = np.where(passes, self.sums.lane[pair], lane)
        step = np.where(passes, summed + 1, step)
        begins = np.searchsorted(self._keys, self._key(node, lane, 0))
        counts = np.searchsorted(self._keys, self._key(node, lane, step)) - begins
        direct = takes | (counts == 0)
        counts[direct] = 1
        starts = np.cumsum(counts) - counts
        sources = np.repeat(begins - starts, counts) + np.arange(counts.sum())
        entries = np.take(np.append(self._added, 0), sources, mode="clip")
        entries[starts[direct]] = np.where(takes, self._pairs + pair, 0)[direct]
        return Needs(entries, starts)

    def _pair(self, node: Integers, unit: Integers) -> Indices:
        return np.asarray(node.astype(np.int64) * self._units + unit)

    def _key(self, node: Integers, lane: Indices, step: Integers | int) -> Indices:
        """Return keys that sort partial sums by node, lane (a pair of unit and tree) and step."""
        last = int(self._packets.step[-1]) + 2 if len(self._packets.step) else 2
        sums = np.int64(self.sums.lanes.count)
        return (node.astype(np.int64) * sums + lane) * last + np.minimum(step, last - 1)


def _row_indices(rows: slice | Indices) -> Indices:
    return np.arange(rows.start, rows.stop) if isinstance(rows, slice) else rows


def make_dependencies(packets: Packets, executed: Executed) -> Dependencies:
    """Return the dependencies of the executed rows; the collective determines their class."""
    if executed.postcondition.reduces:
        return SumDependencies(packets, executed)
    if not executed.postcondition.to_all:
        previous = _follow_journeys(packets, executed)
        if previous is not None:
            return JourneyDependencies(previous)
    return PairDependencies(packets, executed)


def _follow_journeys(packets: Packets, executed: Executed) -> Indices | None:
    """Return the index of the arrival time that each row reads, if all journeys are simple.

    On a simple journey, a unit starts at its source and never returns to a node. If any journey is
    not simple, or has more than `_MAX_HOPS` rows, the result is None.
    """
    postcondition = executed.postcondition
    if isinstance(executed.deliveries, Journeys) and packets.keeps_rows:
        order, unit, receiver, departs, continues = executed.deliveries.sorted_rows
    else:
        columns = (packets.step, packets.sender, packets.receiver, packets.unit)
        order, unit, receiver, departs, continues = sort_rows(
            columns, packets.unit, postcondition.source
        )
    sound = departs.copy()
    sound[1:] = np.where(unit[1:] == unit[:-1], continues, departs[1:])
    if not sound.all() or not _never_returns(unit, receiver, postcondition):
        return None
    previous = np.zeros(len(unit), dtype=np.int64)
    previous[order[1:]] = np.where(continues, order[:-1] + 1, 0)
    return previous


def _never_returns(unit: Integers, receiver: Integers, postcondition: Postcondition) -> bool:
    """Return whether every unit visits each node at most once; rows must be sorted by unit.

    The result is also False if a unit has more than `_MAX_HOPS` rows.
    """
    if (receiver == postcondition.source(unit.astype(np.int64))).any():
        return False
    # The rows of a unit are adjacent, so each pass compares rows at distance `hops`.
    for hops in range(1, _MAX_HOPS + 1):
        same_journey = unit[hops:] == unit[:-hops]
        if not same_journey.any():
            return True
        if (same_journey & (receiver[hops:] == receiver[:-hops])).any():
            return False
    return False


def find_awaited(packets: Packets, executed: Executed) -> Indices:
    """Return all pairs of rows in which the first row waits for a delivery by the second row.

    Args:
        packets: the packets of an execution without faults, with rows in the order of the
            execution.
        executed: the execution of a schedule that is not symmetric.

    Returns:
        int64 ``[2, pairs]``: the waiting row and the delivering row of each pair.
    """
    if not executed.postcondition.reduces:
        delivery = find_deliveries(executed.rows)
        row = np.flatnonzero(delivery >= 0)
        return np.stack([row, delivery[row]])
    sums = SumDependencies(packets, executed)
    every = np.arange(len(packets.step))
    entries, begins = sums.needs(every)
    ends = every if begins is None else begins
    row = np.repeat(every, np.diff(ends, append=len(entries)))
    giver = np.full(sums.size, -1, dtype=np.int64)
    # Rows are written in reverse order. So if there are several deliveries, the first one is
    # written last and is kept.
    giver[sums.gives(every)[::-1]] = every[::-1]
    awaited = giver[entries]
    return np.stack([row, awaited])[:, awaited >= 0]


def find_deliveries(rows: Rows) -> Indices:
    """Return, for each row, the row that first delivers its unit to its sender.

    Args:
        rows: the rows of a schedule that has no violations and is not symmetric.

    Returns:
        int64 ``[rows]``, the index of the delivering row; -1 if the sender is the unit's source.
    """
    units = np.int64(rows.schedule.units)
    delivered = rows.receiver * units + rows.unit
    order = np.lexsort((rows.step, delivered))
    first = order[~repeats_previous(delivered[order])]
    if not len(first):
        return np.empty(0, dtype=np.int64)
    wanted = rows.sender * units + rows.unit
    found = np.minimum(np.searchsorted(delivered[first], wanted), len(first) - 1)
    row = first[found]
    # A source never waits for its own unit, even if the unit returns and is sent again.
    source = derive_postcondition(rows.schedule).source(rows.unit.astype(np.int64))
    is_source = rows.sender == source
    is_delivery = (delivered[row] == wanted) & ~is_source
    return np.where(is_delivery, row, -1)
