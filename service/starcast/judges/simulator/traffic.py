"""The traffic of directed links: the rules of the port models, and the links busy in each step.

There are three cases. The rows of a schedule are the traffic; or the rows of one source represent
all sources, if translation keeps ports; or the schedule is expanded to all sources.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from starcast.collectives.model import Schedule
from starcast.judges.simulator.links import Links
from starcast.judges.simulator.rows import Column, Mask, Rows, Violation, repeats_previous
from starcast.support.errors import LimitError
from starcast.topologies import memory

Counts = NDArray[np.int64]
Checks = Iterator[tuple[Mask, str]]

_DUPLICATE = "the packet already carries this unit of this tree"
_BUSY = "the directed link already carries a unit in this step"
_TRANSLATED_BUSY = (
    "translated to all sources, every directed link of that port already carries a unit in this "
    "step"
)
_SENDS_TWICE = "one-port: the sender already sends over another port in this step"
_RECEIVES_TWICE = "one-port: the receiver already receives from another node in this step"
_TRANSLATED_SENDS_TWICE = (
    "one-port: translated to another source, the sender already sends over another port in this "
    "step"
)


class Traffic:
    """The traffic of rows that represent only themselves.

    Attributes:
        sources: the number of sources that each row represents.
    """

    def __init__(self, rows: Rows, sources: int = 1) -> None:
        self.rows = rows
        self.sources = sources

    def find_violation(self, end: int) -> Violation | None:
        """Return the first of the first ``end`` rows that violates the port model."""
        for batch in self.rows.batches(end):
            violation = self.rows.first_violation(batch.start, *self._checks(batch))
            if violation:
                return violation
        return None

    def measure(self, executed: slice | Mask) -> tuple[Counts, Counts]:
        """Return the links used and the units of the largest packet, int64 ``[steps]`` each."""
        step = self.rows.step[executed]
        steps = _last_step(step)
        same_packet = repeats_previous(step, self.rows.sender[executed], self.rows.port[executed])
        begins = np.flatnonzero(~same_packet)
        links = _count_per_step(step[begins], steps)
        if len(begins) == len(step):  # every packet has one unit
            return links, (links > 0).astype(np.int64)
        return links, _greatest_per_step(np.diff(begins, append=len(step)), links)

    def _checks(self, batch: slice) -> Checks:
        rows = self.rows
        step = rows.step[batch]
        sender = rows.sender[batch]
        same_link = repeats_previous(step, sender, rows.port[batch])
        if rows.schedule.packets:
            yield same_link & repeats_previous(rows.tree[batch], rows.unit[batch]), _DUPLICATE
        else:
            yield same_link, _BUSY
        if rows.schedule.ports == "one":
            yield repeats_previous(step, sender) & ~same_link, _SENDS_TWICE
            yield _receives_again(step, sender, rows.receiver[batch], ~same_link), _RECEIVES_TWICE


class TranslatedTraffic(Traffic):
    """The traffic of all sources, if translation keeps ports.

    A row's link, translated to all sources, is every directed link of its port exactly once, so a
    link carries as many units in a step as there are rows of that step and port. The sources of
    these units differ, so they are different units.
    """

    def measure(self, executed: slice | Mask) -> tuple[Counts, Counts]:
        """Return the links used and the largest packet of all sources, int64 ``[steps]`` each."""
        links = Links(self.rows.schedule.topology)
        degree = links.topology.degree
        step = self.rows.step[executed]
        steps = _last_step(step, degree)
        first_cell = np.multiply(step, degree, dtype=np.int64) - degree
        cell = first_cell + links.port_index(self.rows.port[executed])
        units = np.bincount(cell, minlength=steps * degree).reshape(steps, degree)
        return self.sources * np.count_nonzero(units, axis=1), units.max(axis=1)

    def _checks(self, batch: slice) -> Checks:
        rows = self.rows
        step = rows.step[batch]
        port = rows.port[batch]
        if rows.schedule.packets:
            same_unit = repeats_previous(rows.tree[batch], rows.unit[batch])
            yield same_unit & repeats_previous(step, rows.sender[batch], port), _DUPLICATE
        else:
            yield _occurred_before(step, port), _TRANSLATED_BUSY
        if rows.schedule.ports == "one":
            begins = np.flatnonzero(~repeats_previous(step))
            first_port = np.repeat(port[begins], np.diff(begins, append=len(step)))
            yield port != first_port, _TRANSLATED_SENDS_TWICE


class ExpandedTraffic(Traffic):
    """The traffic of all sources written out, if translation moves links to other ports.

    Raises:
        LimitError: the expanded schedule does not fit into memory.
    """

    def find_violation(self, end: int) -> Violation | None:
        """Return the first row of which a translation violates the port model."""
        self._all = Traffic(Rows(self.rows.first_rows(end).expand()))
        violation = self._all.find_violation(len(self._all.rows))
        if violation is None:
            return None
        # The row may be one of another source: only its step is known among the given rows.
        step = self._all.rows.step[violation.row]
        return Violation(int(np.searchsorted(self.rows.step, step)), violation.sentence)

    def measure(self, executed: slice | Mask) -> tuple[Counts, Counts]:
        """Return the links used and the largest packet of all sources, int64 ``[steps]`` each.

        The rows must be complete steps that `find_violation` has checked.
        """
        last = _last_step(self.rows.step[executed])
        end = int(np.searchsorted(self._all.rows.step, last, side="right"))
        return self._all.measure(slice(end))


def make_traffic(schedule: Schedule, rows: Rows) -> Traffic:
    """Return the traffic of the rows of a schedule, all sources together."""
    topology = schedule.topology
    if not schedule.symmetric:
        return Traffic(rows)
    kind = TranslatedTraffic if topology.translation_keeps_ports else ExpandedTraffic
    return kind(rows, topology.nodes)


def _receives_again(step: Column, sender: Column, receiver: Column, packet: Mask) -> Mask:
    """Return the rows whose receiver receives from another node in the same step.

    Args:
        step: the steps, ascending.
        sender: ranks.
        receiver: ranks.
        packet: marks the first row of each packet.
    """
    again = np.zeros(len(step), dtype=bool)
    # Sorting keys is much faster than sorting rows, and usually shows that there is no conflict.
    key = np.multiply(step[packet] - step[0], int(receiver.max()) + 1, dtype=np.int64)
    key += receiver[packet]
    key.sort()
    if repeats_previous(key).any():
        order = np.lexsort((sender, receiver, step))
        step = step[order]
        receiver = receiver[order]
        sender = sender[order]
        same_receiver = repeats_previous(step, receiver)
        again[order] = same_receiver & ~repeats_previous(step, receiver, sender)
    return again


def _occurred_before(step: Column, port: Column) -> Mask:
    """Return the rows whose step and port occur in an earlier row."""
    repeated = np.zeros(len(step), dtype=bool)
    # Ports are uint8: with this factor no two pairs of step and port have the same key.
    key = np.multiply(step - step[0], 256, dtype=np.int64) + port
    if repeats_previous(np.sort(key)).any():
        order = np.argsort(key, kind="stable")
        repeated[order] = repeats_previous(key[order])
    return repeated


def _last_step(step: Column, width: int = 2) -> int:
    """Return the last step of ascending steps, after checking that step figures fit into memory.

    Args:
        step: the steps.
        width: the count of numbers kept per step.

    Raises:
        LimitError: they do not fit.
    """
    last = int(step[-1]) if len(step) else 0
    if 8 * width * last > memory.physical():
        raise LimitError(
            f"the figures of {last:,} steps do not fit into memory",
            hint="number the steps from 1, without gaps",
        )
    return last


def _count_per_step(step: Column, steps: int) -> Counts:
    """Return the number of rows of each step, int64 ``[steps]``, for ascending steps."""
    ends = np.searchsorted(step, np.arange(1, steps + 1, dtype=step.dtype), side="right")
    return np.diff(ends, prepend=0)


def _greatest_per_step(sizes: Counts, counts: Counts) -> Counts:
    """Return the maximum of the ``counts`` sizes of each step; 0 for a step without any."""
    greatest = np.zeros(len(counts), dtype=np.int64)
    used = counts > 0
    greatest[used] = np.maximum.reduceat(sizes, (np.cumsum(counts) - counts)[used])
    return greatest
