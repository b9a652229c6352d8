"""Rows of a schedule in chronological order, processed in batches of complete steps.

This module numbers the directed links, and checks that every row names an existing link and unit.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from starcast.collectives.model import Schedule
from starcast.support.arrays import Integers, Mask
from starcast.topologies import Topology

Indices = NDArray[np.int64]

_ORDER = ("step", "sender", "port", "tree", "unit")
#: Number of rows per batch, chosen so that temporary arrays fit into the processor's cache.
_BATCH = 2**16


class Violation(NamedTuple):
    """A row that violates a rule.

    Attributes:
        row: the index of the row in chronological order.
        sentence: one sentence that names step, sender, port, receiver and the rule.
    """

    row: int
    sentence: str


class Rows:
    """The rows of a schedule, as columns sorted by step, sender, port, tree and unit."""

    step: Integers
    sender: Integers
    port: Integers
    receiver: Integers
    tree: Integers
    unit: Integers
    combine: Mask | None = None

    def __init__(self, schedule: Schedule) -> None:
        self.schedule = schedule
        columns = schedule.columns.apply(_as_signed).present()
        if not _is_sorted([columns[name] for name in _ORDER]):
            order = np.lexsort([columns[name] for name in _ORDER[::-1]])
            columns = {name: column[order] for name, column in columns.items()}
        vars(self).update(columns)

    def __len__(self) -> int:
        return len(self.step)

    def count_before(self, row: int) -> int:
        """Return the number of rows that belong to earlier steps than the given row.

        If ``row`` is ``len(self)``, the number of all rows is returned.
        """
        if row == len(self):
            return row
        return int(np.searchsorted(self.step, self.step[row]))

    def batches(self, end: int) -> Iterator[slice]:
        """Yield slices of the first ``end`` rows; each slice contains complete steps."""
        return complete_steps(self.step[:end])

    def first_rows(self, end: int) -> Schedule:
        """Return a schedule that has only the first ``end`` rows."""
        names = self.schedule.columns.present()
        return replace(self.schedule, **{name: getattr(self, name)[:end] for name in names})

    def violation(self, row: int, rule: str) -> Violation:
        """Return a `Violation` for a row, given the rule that the row violates."""
        sender = self._label(self.sender[row])
        receiver = self._label(self.receiver[row])
        sends = f"{sender} sends unit {self.unit[row]} over port {self.port[row]} to {receiver}"
        return Violation(row, f"step {self.step[row]}: {sends}: {rule}")

    def first_violation(self, begin: int, *checks: tuple[Mask, str]) -> Violation | None:
        """Return the first violation among the rows from ``begin`` on, or None.

        Args:
            begin: the index of the first row that the masks cover.
            checks: pairs of a mask of rows and the rule that these rows violate. If a row violates
                several rules, the rule of the first pair is reported.
        """
        violations = [(int(mask.argmax()), rule) for mask, rule in checks if mask.any()]
        if not violations:
            return None
        row, rule = min(violations, key=lambda violation: violation[0])
        return self.violation(begin + row, rule)

    def _label(self, rank: int) -> str:
        topology = self.schedule.topology
        return topology.label(int(rank)) if 0 <= rank < topology.nodes else f"node {rank}"


def complete_steps(step: Integers, rows: int = _BATCH) -> Iterator[slice]:
    """Yield slices of rows; each slice contains complete steps.

    Args:
        step: the steps of all rows, ascending.
        rows: the minimum number of rows per slice; only the last slice can have fewer. A slice ends
            with the step that reaches this number.
    """
    begin = 0
    end = len(step)
    while begin < end:
        last = step[min(begin + rows, end) - 1]
        stop = int(np.searchsorted(step, last, side="right"))
        yield slice(begin, stop)
        begin = stop


def repeats_previous(*columns: Integers) -> Mask:
    """Return which rows have the same values as the previous row in all the given columns."""
    same = np.zeros(len(columns[0]), dtype=bool)
    same[1:] = True
    for column in columns:
        same[1:] &= column[1:] == column[:-1]
    return same


def count_earlier(*columns: Integers) -> Indices:
    """Return, for each row, the number of earlier rows with the same values in all columns."""
    order = np.lexsort(columns)
    first = np.flatnonzero(~repeats_previous(*(column[order] for column in columns)))
    earlier = np.empty_like(order)
    earlier[order] = np.arange(len(order)) - np.repeat(first, np.diff(first, append=len(order)))
    return earlier


def _as_signed(column: Integers) -> Integers:
    # If uint64 and signed integers are combined, NumPy converts both to inexact floats.
    return column.astype(np.int64) if column.dtype == np.uint64 else column


def _is_sorted(columns: list[Integers]) -> bool:
    """Return whether rows are sorted by the given columns; the first column is the primary key."""
    length = len(columns[0])
    for begin in range(0, length, _BATCH):
        # Parts overlap by one row, so the last row of each part is also compared with the row after
        # it.
        part = slice(begin, begin + _BATCH + 1)
        if not _is_part_sorted([column[part] for column in columns]):
            return False
    return True


def _is_part_sorted(columns: list[Integers]) -> bool:
    in_order = np.ones(len(columns[0]) - 1, dtype=bool)
    for column in columns[::-1]:
        in_order = (column[1:] > column[:-1]) | ((column[1:] == column[:-1]) & in_order)
    return bool(in_order.all())


class SortedKeys(NamedTuple):
    """Sorted keys, with the index of each key before sorting; equal keys keep their order."""

    keys: Indices
    order: Indices


def pack_sort(keys: Integers) -> SortedKeys:
    """Sort non-negative keys; equal keys keep their order.

    Sorting pairs of key and row as single integers is several times as fast as a stable argsort.
    """
    if keys.max(initial=0) >= 2**31:
        order = np.argsort(keys, kind="stable")
        return SortedKeys(keys[order].astype(np.int64), order)
    packed = keys.astype(np.int64) << 32
    # The low bits contain the row indices, so equal keys keep their order.
    packed |= np.arange(len(keys))
    packed.sort()
    return SortedKeys(packed >> 32, packed & (2**32 - 1))


#: Number of trees that rows may name if the schedule has no forest: all values of type uint8.
_TREE_NUMBERS = 256


class Links:
    """The indices of directed links, ordered by port and sender; ports are in the topology's order.

    If a port does not exist, the index is negative.
    """

    def __init__(self, topology: Topology) -> None:
        self.topology = topology
        self.count = topology.port_count * topology.nodes
        # The table has an entry for every uint8 value, and one to which larger numbers are clipped.
        # Ports that do not exist give negative numbers.
        self._first = np.full(257, -self.count, dtype=np.int64)
        self._first[list(topology.ports)] = np.arange(topology.port_count) * topology.nodes

    def has_port(self, port: Integers) -> Mask:
        """Return, for each row, whether the topology has the row's port, bool ``[rows]``."""
        # A column with a larger dtype than uint8 can contain larger or negative numbers. They are
        # clipped to 256 or 0, which are not ports.
        return np.asarray(np.take(self._first, port, mode="clip") >= 0)

    def port_index(self, port: Integers) -> Indices:
        """Return the index of each row's port in the topology's list of ports."""
        return np.asarray(np.take(self._first, port) // self.topology.nodes)

    def number(self, sender: Integers, port: Integers) -> Indices:
        """Return the index of the directed link from each sender over the given port.

        Returns:
            int64 ``[rows]``.
        """
        index: Indices = np.take(self._first, port, mode="clip")
        index += sender
        return index


class Receivers:
    """Looks up the receivers of rows, given the rows' senders and ports."""

    def __init__(self, topology: Topology, rows: int) -> None:
        self.links = Links(topology)
        # For many rows, a table of all neighbours is faster. For few rows, building this table
        # would take longer than computing the receivers.
        self._table = topology.table().reshape(-1) if rows > topology.nodes // 8 else None

    def of(self, sender: Integers, port: Integers) -> NDArray[np.int32]:
        """Return the receivers, int32 ``[rows]``; arbitrary for invalid senders and ports."""
        if self._table is not None:
            return np.take(self._table, self.links.number(sender, port), mode="clip")
        topology = self.links.topology
        known_port = np.where(self.links.has_port(port), port, topology.ports[0]).astype(np.uint8)
        return topology.step(known_port, np.clip(sender, 0, topology.nodes - 1))


def find_invalid_address(rows: Rows) -> Violation | None:
    """Find the first row with an invalid step, sender, port, receiver, unit or tree."""
    if len(rows) and rows.step[0] < 1:
        return rows.violation(0, "steps are numbered from 1")
    topology = rows.schedule.topology
    units = rows.schedule.units
    forest = rows.schedule.forest
    trees = _TREE_NUMBERS if forest is None else forest.trees
    receivers = Receivers(topology, len(rows))
    for batch in rows.batches(len(rows)):
        sender = rows.sender[batch]
        port = rows.port[batch]
        across = receivers.of(sender, port)
        violation = rows.first_violation(
            batch.start,
            (_out_of_range(sender, topology.nodes), "the sender is not a node"),
            (~receivers.links.has_port(port), "the sender has no such port"),
            (across == sender, "the sender has no link at that port"),
            (across != rows.receiver[batch], "the receiver is not across that port"),
            (_out_of_range(rows.unit[batch], units), f"the collective has units 0 to {units - 1}"),
            (
                _out_of_range(rows.tree[batch], trees),
                f"the forest has trees 0 to {trees - 1}, but the row names another",
            ),
        )
        if violation:
            return violation
    return None


def _out_of_range(column: Integers, count: int) -> Mask:
    return (column < 0) | (column >= count)
