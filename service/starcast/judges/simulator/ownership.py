"""Determine the nodes that must receive each unit, and the step after which a node holds a unit.

The *postcondition* of a collective consists of the source of every unit, and the nodes that must
receive the unit. Both follow from the number of the unit (see `starcast.collectives.Schedule`).

If every endpoint must receive every unit, as in broadcasts and allgathers, nearly every
(node, unit) pair occurs. Then arrays contain the arrival time of every pair. If each unit has one
destination, the rows of each unit are followed from its source (`Journeys`). If some rows do not
form such a journey, arrival times are stored for the pairs that occur; a pair is found by binary
search.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from starcast.collectives.model import REDUCTIONS, Schedule
from starcast.judges.simulator.rows import Indices, Rows, Violation, pack_sort, repeats_previous
from starcast.support.arrays import Integers, Mask
from starcast.support.errors import InputError, LimitError
from starcast.support.text import pluralize, with_article
from starcast.support.vocabulary import Collective

#: Collectives in which every endpoint is a source. The units of dead sources need not be delivered.
_MANY_SENDERS = ("allgather", "gather", "alltoall")
#: For each collective, the exponent e in its number of units, which is M * endpoints^e.
_POWERS = {
    "broadcast": 0,
    "allgather": 1,
    "scatter": 1,
    "gather": 1,
    "alltoall": 2,
    "reduce": 0,
    "reduce-scatter": 1,
    "allreduce": 0,
}
#: For each collective with symmetric schedules, the collective that the rows of one source perform.
_OF_ONE_SOURCE: dict[str, Collective] = {
    "allgather": "broadcast",
    "alltoall": "scatter",
    "reduce-scatter": "reduce",
    "allreduce": "allreduce",
}


@dataclass(frozen=True)
class Postcondition:
    """The units that each endpoint must hold after a collective; switches need not hold any.

    Attributes:
        collective: the collective; for a symmetric schedule, the collective of its single source: a
            broadcast instead of an allgather, a scatter instead of an alltoall, a reduce instead of
            a reduce-scatter.
        nodes: the number of nodes, including switches.
        endpoints: the number of nodes that are not switches.
        units: the number of units.
        root: rank of the root.
        multiplicity: M, the number of units per source, per destination, or per pair of source and
            destination, depending on the collective. In a broadcast, reduce or allreduce, M is the
            total number of units.
    """

    collective: Collective
    nodes: int
    endpoints: int
    units: int
    root: int
    multiplicity: int

    @property
    def to_all(self) -> bool:
        """Whether every endpoint must receive every unit; otherwise a unit has one destination."""
        return self.collective in ("broadcast", "allgather", "allreduce")

    @property
    def reduces(self) -> bool:
        """Whether the collective is a reduction, in which all endpoints contribute to every unit.

        In a reduction, a node holds a unit only when it has the contributions of all endpoints.
        """
        return self.collective in REDUCTIONS

    @property
    def many_senders(self) -> bool:
        """Whether every endpoint, and not only the root, is a source of units."""
        return self.collective in _MANY_SENDERS

    @property
    def pairs(self) -> int:
        """The number of required (node, unit) pairs, including those held from the start."""
        return self.units * (self.endpoints if self.to_all else 1)

    def source(self, unit: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the node that holds each unit from the start; undefined for reductions."""
        if self.collective == "alltoall":
            return unit // (self.multiplicity * self.endpoints)
        return unit // self.multiplicity if self.many_senders else np.full(len(unit), self.root)

    def destination(self, unit: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the destination of each unit, for collectives with one destination per unit."""
        if self.collective in ("gather", "reduce"):
            return np.full(len(unit), self.root)
        return unit // self.multiplicity % self.endpoints


def derive_postcondition(schedule: Schedule) -> Postcondition:
    """Return the postcondition of a schedule's collective.

    Raises:
        InputError: the number of units is negative, or (depending on the collective) not divisible
            by the number of sources, destinations or (source, destination) pairs.
    """
    topology = schedule.topology
    units = schedule.units
    collective = schedule.collective
    if schedule.symmetric:
        collective = _OF_ONE_SOURCE[collective]
    parts = topology.endpoints ** _POWERS[collective]
    if units < 0 or units % parts:
        raise InputError(
            f"{with_article(schedule.collective)} on {topology.spec} cannot have {units:,} units",
            hint=f"use a multiple of {parts:,}" if units >= 0 else "use 0 or more",
        )
    # The multiplicity is at least 1 even if there are no units, because other methods divide by it.
    multiplicity = max(units // parts, 1)
    return Postcondition(
        collective, topology.nodes, topology.endpoints, units, schedule.root, multiplicity
    )


#: The type of a function ``held(node, unit)``, which returns for each index i whether ``node[i]``
#: holds ``unit[i]``.
Held = Callable[[Indices, Indices], Mask]

#: Maximum number of (node, unit) pairs in collectives that need tables of all pairs: in reductions,
#: and if every endpoint must receive every unit. A table has at least one byte per pair.
_MAX_PAIRS = 2**31
#: Maximum number of units that have one destination each. Delivering more units would take more
#: rows than a schedule can have.
_MAX_UNITS = 2**27
#: Maximum number of pairs in a schedule with too few rows to deliver them. Such schedules occur
#: because a row from a file or plug-in may name a unit with a very large number.
_MAX_SPARSE_PAIRS = 2**22
_CHUNK = 2**20
_NOT_HELD = "the sender does not hold the unit yet"


class PairIndex(ABC):
    """A mapping from (node, unit) pairs to indices in arrays of ``size`` entries."""

    size: int

    @abstractmethod
    def of(self, node: Integers, unit: Integers) -> Indices:
        """Return the index of each (node, unit) pair; the nodes and units must exist."""

    def initial(self, postcondition: Postcondition) -> Indices:
        """Return the indices of the pairs that are held from the start: each unit at its source."""
        units = np.arange(postcondition.units)
        return self.of(postcondition.source(units), units)


class AllPairs(PairIndex):
    """An index of all (node, unit) pairs, computed from the node and the unit."""

    def __init__(self, postcondition: Postcondition) -> None:
        self.units = postcondition.units
        self.size = postcondition.nodes * postcondition.units

    def of(self, node: Integers, unit: Integers) -> Indices:
        """Return the index of each (node, unit) pair in an array of all pairs."""
        index: Indices = np.multiply(node, self.units, dtype=np.int64)
        index += unit
        return index


class Pairs(PairIndex):
    """An index of the (node, unit) pairs that are held initially or delivered by some row.

    All other pairs map to the last index.
    """

    def __init__(self, postcondition: Postcondition, rows: Rows, end: int) -> None:
        self.nodes = postcondition.nodes
        units = np.arange(postcondition.units)
        delivered = self._key(rows.receiver[:end], rows.unit[:end])
        initial = self._key(postcondition.source(units), units)
        keys = np.concatenate([delivered, initial])
        keys.sort()
        self.keys = keys[~repeats_previous(keys)]
        self.size = len(self.keys) + 1

    def of(self, node: Integers, unit: Integers) -> Indices:
        """Return the index of each given pair; the last index for a pair that cannot be held."""
        key = self._key(node, unit)
        index = np.searchsorted(self.keys, key)
        known = np.zeros(len(key), dtype=bool)
        if len(self.keys):
            known = np.take(self.keys, index, mode="clip") == key
        index[~known] = self.size - 1
        return index

    def _key(self, node: Integers, unit: Integers) -> Indices:
        key: Indices = np.multiply(unit, self.nodes, dtype=np.int64)
        key += node
        return key


def make_pair_index(postcondition: Postcondition, rows: Rows, end: int) -> PairIndex:
    """Return an index of the (node, unit) pairs that are possible after the first ``end`` rows.

    A pair is possible if the node can have the unit. If every endpoint must receive every unit, the
    index contains all pairs.
    """
    return AllPairs(postcondition) if postcondition.to_all else Pairs(postcondition, rows, end)


def check_size(postcondition: Postcondition, rows: int, sources: int = 1) -> None:
    """Check that a postcondition does not have too many (node, unit) pairs to simulate.

    Args:
        postcondition: the postcondition of the rows.
        rows: the number of rows.
        sources: the number of sources whose rows are executed; each source has ``rows`` rows.

    Raises:
        LimitError: the number of (node, unit) pairs exceeds a fixed limit, which is lower if there
            are too few rows to deliver all units.
    """
    pairs, limit = postcondition.pairs, _MAX_UNITS
    if postcondition.to_all or postcondition.reduces:
        pairs, limit = postcondition.units * postcondition.nodes, _MAX_PAIRS
    hint = "use fewer segments or messages, or a smaller topology"
    # In a complete schedule, at least half of the pairs have a row of their own. The lower limit is
    # for schedules with far fewer rows.
    if postcondition.multiplicity > 1 and pairs > 4 * rows:
        limit, hint = _MAX_SPARSE_PAIRS, f"number the units from 0, without gaps; {hint}"
    if pairs * sources > limit:
        raise LimitError(
            f"{postcondition.units:,} units on {postcondition.nodes:,} nodes are too many to "
            f"simulate with {pluralize(rows, 'row')}",
            hint=hint,
        )


class Deliveries(ABC):
    """The deliveries of the first ``end`` rows, assuming that every row delivers its unit."""

    def __init__(self, postcondition: Postcondition, rows: Rows, end: int) -> None:
        self.postcondition = postcondition
        self.rows = rows
        self.end = end

    @abstractmethod
    def find_early_send(self) -> Violation | None:
        """Find the first row whose sender does not hold the row's unit when the step begins."""

    @abstractmethod
    def held_after(self, done: int) -> Held:
        """Return a function that checks whether nodes hold units after the first ``done`` rows.

        These rows must form complete steps. The returned function accepts only pairs of a node and
        a unit that the node must receive.
        """


class ArrivalTimes(Deliveries):
    """The step in which each node first receives each unit; 0 for units held from the start."""

    def __init__(
        self,
        postcondition: Postcondition,
        rows: Rows,
        end: int,
        pair_index: PairIndex | None = None,
    ) -> None:
        super().__init__(postcondition, rows, end)
        self.pair_index = pair_index or AllPairs(postcondition)
        # The table is read and written in random order, which is faster if the table is small. So
        # if there are few steps, an entry has only one byte.
        dtype = np.min_scalar_type(int(rows.step[end - 1]) + 1 if end else 1)
        self._never = int(np.iinfo(dtype).max)
        self._time = np.full(self.pair_index.size, self._never, dtype=dtype)
        # Batches are processed from the last to the first, so the earliest step is written last.
        for batch in reversed(list(rows.batches(end))):
            index = self.pair_index.of(rows.receiver[batch], rows.unit[batch])
            # A unit can arrive at a node several times. numpy keeps the last value written, which
            # is the earliest step because the batch is reversed.
            self._time[index[::-1]] = rows.step[batch][::-1]
        self._time[self.pair_index.initial(postcondition)] = 0

    def early(self, selection: slice | Indices) -> Indices:
        """Return which of the selected rows are early: the sender does not hold the unit yet.

        Returns:
            The indices of these rows within the selection, ascending.
        """
        rows = self.rows
        time = self._time[self.pair_index.of(rows.sender[selection], rows.unit[selection])]
        return np.flatnonzero(time >= rows.step[selection])

    def find_early_send(self) -> Violation | None:
        """Find the first row that sends a unit before the unit has arrived at the sender."""
        for batch in self.rows.batches(self.end):
            early = self.early(batch)
            if len(early):
                return self.rows.violation(batch.start + int(early[0]), _NOT_HELD)
        return None

    def held_after(self, done: int) -> Held:
        """Return a function that checks whether nodes hold units after the first ``done`` rows."""
        step = self._never if done == len(self.rows) else int(self.rows.step[done])
        # The limit is at least 1, so that units held from the start (time 0) are included even
        # before any row has been executed.
        before = min(max(step, 1), self._never)
        return lambda node, unit: np.asarray(self._time[self.pair_index.of(node, unit)] < before)


class SortedRows(NamedTuple):
    """Rows sorted by unit, so that the rows of a unit's journey to its destination are adjacent.

    The rows of a unit may also be sorted by tree. A row continues a journey if the previous row has
    delivered the unit to its sender, even if the two rows belong to different trees.

    Attributes:
        order: the index that each row had before sorting.
        unit: the unit of each sorted row.
        receiver: the receiver of each sorted row.
        departs: whether the sender of each sorted row is the source of the row's unit.
        continues: ``[rows - 1]``, for each sorted row but the last, whether the next row forwards
            the unit that this row has delivered.
    """

    order: Indices
    unit: Integers
    receiver: Integers
    departs: Mask
    continues: Mask


def sort_rows(
    columns: tuple[Integers, Integers, Integers, Integers],
    group: Integers,
    source: Callable[[Indices], Indices],
) -> SortedRows:
    """Sort rows by unit, and mark the rows that start or continue the journey of a unit.

    Args:
        columns: step, sender, receiver and unit of the rows, in the order of steps.
        group: the key to sort by, such as a number for each pair of unit and tree. Rows with equal
            keys stay in the order of steps.
        source: a function that returns the source of each unit, as `Postcondition.source` does.
    """
    order = pack_sort(group).order
    step, sender, receiver, unit = (column[order] for column in columns)
    continues = (sender[1:] == receiver[:-1]) & (unit[1:] == unit[:-1]) & (step[1:] > step[:-1])
    return SortedRows(order, unit, receiver, sender == source(unit.astype(np.int64)), continues)


class Journeys(Deliveries):
    """Deliveries of units with one destination each, found by following each unit's journey."""

    @cached_property
    def sorted_rows(self) -> SortedRows:
        """The first ``end`` rows, sorted by unit and tree."""
        rows = self.rows
        first = slice(self.end)
        columns = (rows.step[first], rows.sender[first], rows.receiver[first], rows.unit[first])
        trees = int(rows.tree[first].max(initial=0)) + 1
        group = np.multiply(rows.unit[first], trees, dtype=np.int64) + rows.tree[first]
        return sort_rows(columns, group, self.postcondition.source)

    def find_early_send(self) -> Violation | None:
        """Find the first row whose sender does not hold the row's unit when the step begins.

        Only the rows from `_find_suspects` are checked; there are usually few.
        """
        suspects = self._find_suspects()
        if not len(suspects):
            return None
        pair_index = make_pair_index(self.postcondition, self.rows, self.end)
        times = ArrivalTimes(self.postcondition, self.rows, self.end, pair_index)
        early = suspects[times.early(suspects)]
        return self.rows.violation(int(early[0]), _NOT_HELD) if len(early) else None

    def held_after(self, done: int) -> Held:
        """Return a function that checks whether nodes hold units after the first ``done`` rows.

        The returned function takes arrays of nodes and units. Each node must be the destination of
        its unit, because only arrivals at destinations are recorded.
        """
        postcondition = self.postcondition
        arrived = np.zeros(postcondition.units, dtype=bool)
        for batch in self.rows.batches(done):
            unit = self.rows.unit[batch].astype(np.int64)
            delivered = self.rows.receiver[batch] == postcondition.destination(unit)
            arrived[unit[delivered]] = True
        return lambda node, unit: arrived[unit] | (postcondition.source(unit) == node)

    def _find_suspects(self) -> Indices:
        """Return, in ascending order, the rows whose sender may lack the row's unit.

        The sender of such a row is not the unit's source, and the unit's previous row in
        `sorted_rows` has not delivered the unit to this sender.
        """
        journeys = self.sorted_rows
        is_sound = journeys.departs.copy()
        is_sound[1:] |= journeys.continues
        return np.sort(journeys.order[~is_sound])


def find_missing(
    postcondition: Postcondition, held: Held, alive: Mask | None, examples: int
) -> tuple[int, list[tuple[int, int]]]:
    """Return the number of required (node, unit) pairs that are not held, and the first such pairs.

    Args:
        postcondition: the required pairs.
        held: a function that returns a mask of the (node, unit) pairs that are held; called only
            with required pairs.
        alive: bool ``[nodes]``, the nodes that do not fail in any step; None if there are no
            faults. Units to nodes that fail need not be delivered. If every endpoint sends units,
            units from nodes that fail need not be delivered either.
        examples: the maximum number of missing pairs to return.
    """
    units = np.arange(postcondition.units)
    if alive is not None and postcondition.many_senders:
        units = units[alive[postcondition.source(units)]]
    if postcondition.to_all:
        return _find_missing_to_all(postcondition, held, alive, units, examples)
    node = postcondition.destination(units)
    missing = ~held(node, units)
    if alive is not None:
        missing &= alive[node]
    node = node[missing]
    units = units[missing]
    first = np.lexsort((units, node))[:examples]
    return len(units), list(zip(node[first].tolist(), units[first].tolist(), strict=True))


def _find_missing_to_all(
    postcondition: Postcondition, held: Held, alive: Mask | None, units: Indices, examples: int
) -> tuple[int, list[tuple[int, int]]]:
    count = 0
    named: list[tuple[int, int]] = []
    # Endpoints are processed in chunks, because arrays of all pairs would not fit into memory.
    chunk = max(_CHUNK // max(len(units), 1), 1)
    for begin in range(0, postcondition.endpoints, chunk):
        nodes = np.arange(begin, min(begin + chunk, postcondition.endpoints))
        if alive is not None:
            nodes = nodes[alive[nodes]]
        missing = ~held(np.repeat(nodes, len(units)), np.tile(units, len(nodes)))
        count += int(np.count_nonzero(missing))
        if len(named) < examples:
            first = np.flatnonzero(missing)[: examples - len(named)]
            node, unit = np.divmod(first, max(len(units), 1))
            named += zip(nodes[node].tolist(), units[unit].tolist(), strict=True)
    return count, named
