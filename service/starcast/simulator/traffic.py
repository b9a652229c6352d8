"""What the directed links carry: the rules of the port models, and how many links are busy in each step.

There are three ways to know it: the rows of a schedule say it; those of one source say it for all, where translation keeps
ports; else all sources are written out.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from starcast.collectives.model import Schedule
from starcast.errors import LimitError
from starcast.simulator.links import Links
from starcast.simulator.rows import Broken, Column, Mask, Rows, runs
from starcast.simulator.rules import first
from starcast.topologies import memory

Counts = NDArray[np.int64]
Rules = Iterator[tuple[Mask, str]]

_CARRIED = "the packet already carries this unit of this tree"


class Traffic:
    """The traffic that rows say, one by one.

    Attributes:
        rows: the rows that are judged.
        sources: for how many sources each of them stands.
    """

    def __init__(self, rows: Rows, sources: int = 1) -> None:
        self.rows, self.sources = rows, sources

    def crowded(self, end: int) -> Broken | None:
        """The first of the first ``end`` rows that the port model does not allow beside those before it."""
        for batch in self.rows.batches(end):
            broken = first(self.rows, batch.start, *self._rules(batch))
            if broken:
                return broken
        return None

    def packets(self, done: slice | Mask) -> tuple[Counts, Counts]:
        """How many directed links are busy in each step, and the units of its largest packet, int64 ``[steps]`` each."""
        step = self.rows.step[done]
        steps = _last(step)
        begins = np.flatnonzero(~runs(step, self.rows.sender[done], self.rows.port[done]))
        links = _per_step(step[begins], steps)
        if len(begins) == len(step):  # nothing shares a link
            return links, (links > 0).astype(np.int64)
        return links, _greatest(np.diff(begins, append=len(step)), links)

    def _rules(self, batch: slice) -> Rules:
        rows, schedule = self.rows, self.rows.schedule
        step, sender = rows.step[batch], rows.sender[batch]
        same_link = runs(step, sender, rows.port[batch])
        if schedule.packets:
            yield same_link & runs(rows.tree[batch], rows.unit[batch]), _CARRIED
        else:
            yield same_link, "the directed link already carries a unit in this step"
        if schedule.ports == "one":
            sends_more = runs(step, sender) & ~same_link
            yield sends_more, "one-port: the sender already sends over another port in this step"
            receives_more = _receives_more(step, sender, rows.receiver[batch], ~same_link)
            yield (
                receives_more,
                "one-port: the receiver already receives from another node in this step",
            )


class Translated(Traffic):
    """The traffic of all sources, where translation keeps ports.

    A row's link, translated to all sources, is every directed link of its port once: a link carries in a step as many units
    as there are rows of that step and port. Their sources differ, so that they are different units.
    """

    def packets(self, done: slice | Mask) -> tuple[Counts, Counts]:
        """See `Traffic.packets`."""
        links = Links(self.rows.schedule.topology)
        degree, step = links.topology.degree, self.rows.step[done]
        steps = _last(step, degree)
        place = (
            np.multiply(step, degree, dtype=np.int64) - degree + links.place(self.rows.port[done])
        )
        units = np.bincount(place, minlength=steps * degree).reshape(steps, degree)
        return self.sources * np.count_nonzero(units, axis=1), units.max(axis=1)

    def _rules(self, batch: slice) -> Rules:
        rows, schedule = self.rows, self.rows.schedule
        step, port = rows.step[batch], rows.port[batch]
        if schedule.packets:
            yield runs(step, rows.sender[batch], port, rows.tree[batch], rows.unit[batch]), _CARRIED
        else:
            rule = "translated to all sources, every directed link of that port already carries a unit in this step"
            yield _again(step, port), rule
        if schedule.ports == "one":
            begins = np.flatnonzero(~runs(step))
            earlier = np.repeat(port[begins], np.diff(begins, append=len(step)))
            rule = "one-port: translated to another source, the sender already sends over another port in this step"
            yield port != earlier, rule


class Expanded(Traffic):
    """The traffic of all sources written out, where translation moves links to other ports.

    Raises:
        LimitError: they are more than memory holds.
    """

    def crowded(self, end: int) -> Broken | None:
        """See `Traffic.crowded`."""
        self._all = Traffic(Rows(self.rows.of_time(end).expand()))
        broken = self._all.crowded(len(self._all.rows))
        if broken is None:
            return None
        step = self._all.rows.step[broken.row]
        return Broken(int(np.searchsorted(self.rows.step, step)), broken.sentence)

    def packets(self, done: slice | Mask) -> tuple[Counts, Counts]:
        """See `Traffic.packets`; for rows of whole steps that were judged."""
        last = _last(self.rows.step[done])
        return self._all.packets(
            slice(int(np.searchsorted(self._all.rows.step, last, side="right")))
        )


def traffic(schedule: Schedule, rows: Rows) -> Traffic:
    """What these rows of a schedule have the links carry, those of all sources together."""
    topology = schedule.topology
    if not schedule.symmetric:
        return Traffic(rows)
    return (Translated if topology.translation_keeps_ports else Expanded)(rows, topology.nodes)


def _receives_more(step: Column, sender: Column, receiver: Column, packet: Mask) -> Mask:
    """Where a node receives from a second one in a step; ``packet`` marks the first row of each packet."""
    broken = np.zeros(len(step), dtype=bool)
    # Numbers are sorted at once, rows slowly; mostly the numbers say that there is nothing to find.
    receipts = (
        np.multiply(step[packet] - step[0], int(receiver.max()) + 1, dtype=np.int64)
        + receiver[packet]
    )
    receipts.sort()
    if runs(receipts).any():
        order = np.lexsort((sender, receiver, step))
        step, receiver, sender = step[order], receiver[order], sender[order]
        broken[order] = runs(step, receiver) & ~runs(step, receiver, sender)
    return broken


def _again(step: Column, port: Column) -> Mask:
    """Where an earlier row has the same step and port."""
    broken = np.zeros(len(step), dtype=bool)
    key = np.multiply(step - step[0], 256, dtype=np.int64) + port
    if runs(np.sort(key)).any():
        order = np.argsort(key, kind="stable")
        broken[order] = runs(key[order])
    return broken


def _last(step: Column, width: int = 2) -> int:
    """The last step of rows in order; ``width`` numbers are to be kept for each.

    Raises:
        LimitError: memory does not hold them.
    """
    last = int(step[-1]) if len(step) else 0
    if 8 * width * last > memory.physical():
        raise LimitError(
            f"figures of {last:,} steps do not fit into memory",
            hint="number the steps from 1, without gaps",
        )
    return last


def _per_step(step: Column, steps: int) -> Counts:
    """How many rows, in order, each step has, int64 ``[steps]``."""
    upto = np.searchsorted(step, np.arange(1, steps + 1, dtype=step.dtype), side="right")
    return np.diff(upto, prepend=0)


def _greatest(sizes: Counts, counts: Counts) -> Counts:
    """The greatest of each step's sizes, of which there are ``counts``; 0 where there are none."""
    greatest = np.zeros(len(counts), dtype=np.int64)
    some = counts > 0
    greatest[some] = np.maximum.reduceat(sizes, (np.cumsum(counts) - counts)[some])
    return greatest
