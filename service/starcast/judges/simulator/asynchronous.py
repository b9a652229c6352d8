"""Execute schedules asynchronously: packets wait for their units and links, not for steps.

The critical path is the chain of packets that determines the total time of the execution.

A packet waits until all its units are at its sender, and until the previous packet on its directed
link has ended. If several rows deliver a unit, the earliest arrival counts. In the one-port model,
a packet waits for the previous packets at its sender and at its receiver, not for the previous
packet on its link; at a switch, however, it waits for the link. A packet ends when its duration has
passed. So the vector x of all end times is a fixed point x = F(x) of a monotone function F, which
consists of maxima, minima and additions. If all durations are positive, or all are 0, F has exactly
one fixed point. In this fixed point, no packet ends later than in the synchronous model. Iterating
F reaches the fixed point from any times between 0 and the synchronous times
(docs/execution-models.md has the proofs).

If no unit is delivered to a node twice, a packet depends on packets of earlier steps only. So a
single pass over the steps in their order gives the exact times; all packets of a step are executed
at once. Small steps are executed in batches: F is iterated on the packets of a batch until their
times no longer change; the times of all packets on a link are computed together, by a prefix
maximum. If a unit is delivered to a node twice, the row with the later step may deliver it first.
Then the passes are repeated until nothing changes. Each pass uses the arrival times of the previous
pass, which begin as upper bounds and decrease.
"""

from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from starcast.judges.simulator.dependencies import Dependencies
from starcast.judges.simulator.packets import Batch, Packets, Ticks, Times, find_previous
from starcast.judges.simulator.rows import Indices, pack_sort, repeats_previous
from starcast.support.arrays import Integers, Mask


class AsynchronousExecution:
    """An asynchronous execution: the end times of packets, and the arrival times of units.

    Args:
        packets: the packets to execute.
        dependencies: the arrival times that each row reads and writes.
        ticks: computes the durations of packets.
        clock: ``[steps + 1]``, the end time of each step in the synchronous model; the first value
            is 0.

    Attributes:
        end: ``[packets]``, the end of each packet, in ticks.
        arrival: ``[dependencies.size]``, the arrival times that rows read and write, in ticks.
        duration: ``[packets]``, the duration of each packet, in ticks.
    """

    def __init__(
        self, packets: Packets, dependencies: Dependencies, ticks: Ticks, clock: Times
    ) -> None:
        self._packets = packets
        self._dependencies = dependencies
        self._ticks = ticks
        self._clock = clock
        self._chains = packets.chains()
        self.duration = packets.durations(ticks)
        self.end = ticks.full(len(packets), 0)
        self.arrival = ticks.full(dependencies.size, ticks.never)
        self.arrival[dependencies.initial] = 0
        # One pass is enough if every node receives each unit only once. Otherwise a row of a later
        # step may deliver a unit earlier, which changes the times of packets that were executed
        # before that row.
        while self._execute_pass() and not dependencies.unique:
            pass

    def _execute_pass(self) -> bool:
        """Execute all packets in the order of steps; return whether a packet's end time changed."""
        free = [self._ticks.full(chain.size, 0) for chain in self._chains]
        changed = False
        for batch in self._packets.batches():
            step = self._packets.step[batch.rows]
            end = (self._execute_step if step[0] == step[-1] else self._execute_steps)(batch, free)
            changed = changed or not np.array_equal(end, self.end[batch.packets])
            self.end[batch.packets] = end
        return changed

    def _execute_step(self, batch: Batch, free: list[Times]) -> Times:
        """Execute a batch that has only one step; return the end time of each packet.

        Args:
            batch: a batch with a single step.
            free: for each kind of resource (`Chain`), the time from which each link or node is
                free; updated in place.
        """
        packets = self._packets
        start = self._dependencies.needs(batch.rows).latest(self.arrival)
        if not packets.single:
            start = np.maximum.reduceat(start, packets.begins[batch.packets] - batch.rows.start)
        used = [
            (free_from, chain.number[batch.packets])
            for free_from, chain in zip(free, self._chains, strict=True)
        ]
        for free_from, number in used:
            np.maximum(start, free_from[number], out=start)
        end: Times = start + self.duration[batch.packets]
        for free_from, number in used:
            free_from[number] = end
        rows_end = end if packets.single else np.repeat(end, packets.units[batch.packets])
        self._deliver(self._dependencies.gives(batch.rows), rows_end)
        return end

    def _execute_steps(self, batch: Batch, free: list[Times]) -> Times:
        """Execute a batch that has several steps; return the end time of each packet.

        The function F of the module docstring is iterated until the times no longer change. The
        parameters are those of `_execute_step`.
        """
        queues = [
            _Queue(chain.number[batch.packets], free_from)
            for chain, free_from in zip(self._chains, free, strict=True)
        ]
        order = queues[0].order
        row_order = self._row_order(batch, order)
        units = None if self._packets.single else self._packets.units[batch.packets][order]
        begins = None if units is None else np.cumsum(units) - units
        rows = batch.rows.start + row_order
        needs = self._dependencies.needs(rows)
        gives = self._dependencies.gives(rows)
        first = _FirstQueue(queues[0], self.duration[batch.packets][order], self._ticks)
        before = None if self._dependencies.unique else self.arrival[gives]
        end = self._guess(batch, free)[order]
        while True:
            # The arrivals are reset, because `_deliver` takes minima and would keep times of the
            # previous iteration.
            if before is not None:
                self.arrival[gives] = before
            self._deliver(gives, end if units is None else np.repeat(end, units))
            start = needs.latest(self.arrival)
            if begins is not None:
                start = np.maximum.reduceat(start, begins)
            if len(queues) > 1:
                ends = np.empty_like(end)
                ends[order] = end
                np.maximum(start, queues[1].previous_end(ends)[order], out=start)
            changed = first.ends(start)
            if np.array_equal(changed, end):
                break
            end = changed
        result = np.empty_like(end)
        result[order] = end
        for queue in queues:
            queue.release(result)
        return result

    def _guess(self, batch: Batch, free: list[Times]) -> Times:
        """Return initial end times for the iteration, between 0 and the synchronous times.

        These are the synchronous times, shifted so that the batch begins when the last link or node
        becomes free. If any packet has the duration 0, they are not shifted.
        """
        step = self._packets.step[self._packets.begins[batch.packets]]
        # If a duration is 0, the function F of the module docstring can have several fixed points.
        # An iteration that starts from an upper bound reaches the correct fixed point.
        if not self.duration.all():
            return np.asarray(self._clock[step], self._ticks.dtype)
        early = self._clock[step[0] - 1] - max(free_from.max() for free_from in free)
        return np.asarray(np.maximum(self._clock[step] - max(early, 0), 0), self._ticks.dtype)

    def _row_order(self, batch: Batch, order: Indices) -> Indices:
        """Return the indices of a batch's rows, in the given order of packets.

        The first row of the batch has the index 0.
        """
        if self._packets.single:
            return order
        units = self._packets.units[batch.packets][order]
        begins = self._packets.begins[batch.packets][order] - batch.rows.start
        return np.repeat(begins - np.cumsum(units) + units, units) + np.arange(units.sum())

    def _deliver(self, gives: Indices, end: Times) -> None:
        if self._dependencies.unique:
            self.arrival[gives] = end
        else:
            np.minimum.at(self.arrival, gives, end)


class _Queue:
    """The queues of a batch for one kind of resource: links, senders or receivers.

    A queue is the sequence of packets that use the same link or node.

    Attributes:
        order: the packets grouped by link or node, and in the order of steps within a group.
        is_first: for each packet in this order, whether it is the first of its queue.
        first_free: for each packet in this order, the time from which its link or node is free
            after earlier batches.
    """

    def __init__(self, number: Integers, free: Times) -> None:
        self._number = number
        self._free = free
        numbers, self.order = pack_sort(number)
        self.is_first: Mask = ~repeats_previous(numbers)
        self.first_free: Times = free[numbers]

    def previous_end(self, end: Times) -> Times:
        """Return, for each packet, the end time of the previous packet in the packet's queue.

        For the first packet of a queue, the result is the time from which its link or node is free.
        The argument ``end`` contains the end times of all packets of the batch.
        """
        free = np.where(self.is_first, self.first_free, np.roll(end[self.order], 1))
        result = np.empty_like(free)
        result[self.order] = free
        return result

    def release(self, end: Times) -> None:
        """Record the time from which the link or node of each queue is free after the batch.

        Args:
            end: the end time of each packet.
        """
        last = self.order[np.append(self.is_first[1:], True)]
        self._free[self._number[last]] = end[last]


class _FirstQueue:
    """Computes the end times of a batch's packets from the queues of one kind of resource.

    Let d_j be the duration of packet j in a queue, and ready_j the time at which packet j could
    start if it did not wait for its queue. Packet i ends at the maximum of ready_j + d_j + .. + d_i
    over j <= i. With the sums D_i = d_1 + .. + d_i, this is D_i plus a prefix maximum of ready_j -
    D_{j-1}. A single call computes the prefix maxima of all queues: an offset makes all values of a
    queue larger than the values of all earlier queues, so the maximum starts again with each queue.
    """

    def __init__(self, queue: _Queue, duration: Times, ticks: Ticks) -> None:
        self._least = np.where(queue.is_first, queue.first_free, 0)
        number = np.cumsum(queue.is_first) - 1
        total: Times = np.cumsum(duration, dtype=ticks.wide_dtype)
        total -= (total - duration)[queue.is_first][number]
        apart: Times = number.astype(ticks.wide_dtype) * (2 * ticks.never + 1)
        self._before = apart - (total - duration)
        self._after = total - apart
        self._dtype = ticks.dtype

    def ends(self, ready: Times) -> Times:
        """Return the end time of each packet.

        Args:
            ready: the time ready_j of each packet (see the docstring of the class). This array and
                the result have the order of `_Queue.order`.
        """
        start = np.maximum(ready, self._least) + self._before
        np.maximum.accumulate(start, out=start)
        start += self._after
        return np.asarray(start, dtype=self._dtype)


class CriticalSend(NamedTuple):
    """A packet on the critical path.

    Attributes:
        step: the step of the packet.
        sender: label of the sending node. In a symmetric schedule, the rows of a packet can have
            different senders. This is then the sender of the row whose unit the packet waited for
            or, if the packet did not wait for a unit, of its first row.
        port: the sender's port.
        receiver: label of the receiving node.
        units: the number of units in the packet.
        start: the time at which the packet starts.
        end: the time at which all units of the packet are at the receiver.
        waits_for: the reason why the packet did not start earlier. ``step``: the previous step had
            not ended. ``unit``: a unit of the packet had not arrived. ``link``, ``sender`` or
            ``receiver``: this resource was busy. Empty if the packet starts at 0.
    """

    step: int
    sender: str
    port: int
    receiver: str
    units: int
    start: int | Fraction
    end: int | Fraction
    waits_for: str


def _describe(
    packets: Packets, ticks: Ticks, packet: int, row: int, start: int, end: int, waits_for: str
) -> CriticalSend:
    """Describe a packet on the critical path; its sender and receiver are those of the given row.

    The times ``start`` and ``end`` are given in ticks.
    """
    topology = packets.links.topology
    return CriticalSend(
        step=int(packets.step[row]),
        sender=topology.label(int(packets.sender[row])),
        port=int(packets.port[row]),
        receiver=topology.label(int(packets.receiver[row])),
        units=int(packets.units[packet]),
        start=ticks.time(start),
        end=ticks.time(end),
        waits_for=waits_for,
    )


def trace_steps(packets: Packets, ticks: Ticks, clock: Times) -> tuple[CriticalSend, ...]:
    """Return the critical path of a synchronous execution: the longest packet of each step.

    If several packets of a step are equally long, the first one is returned. A step without packets
    is omitted. The argument ``clock`` contains the end time of each step.
    """
    step = packets.first_of(packets.step)
    begins = np.flatnonzero(~repeats_previous(step))
    if not len(begins):
        return ()
    # Packets are sorted by step and duration, ascending, and then by packet number, descending. So
    # the last packet of each step is the first of its longest packets.
    order = np.lexsort((-np.arange(len(step)), packets.durations(ticks), step))
    longest = order[np.append(begins[1:], len(step)) - 1]
    return tuple(
        _describe(
            packets,
            ticks,
            packet,
            int(packets.begins[packet]),
            clock[step[packet] - 1],
            clock[step[packet]],
            "step" if step[packet] > 1 else "",
        )
        for packet in longest.tolist()
    )


def trace_data(
    packets: Packets, ticks: Ticks, dependencies: Dependencies, execution: AsynchronousExecution
) -> tuple[CriticalSend, ...]:
    """Return the critical path of an asynchronous execution.

    The path ends with the last packet of the execution. Each packet of the path but the first
    started when the previous packet of the path ended.
    """
    if not len(packets):
        return ()
    end = execution.end
    start = end - execution.duration
    before = [(chain, find_previous(chain.number)) for chain in packets.chains()]
    every_row = slice(0, len(packets.step))
    row_packet = np.repeat(np.arange(len(packets)), packets.units)
    gives = dependencies.gives(every_row)
    giver = np.full(dependencies.size, -1, dtype=np.int64)
    # If several rows deliver at the earliest time, the row with the smallest number is kept: rows
    # are written in reverse order, and the value written last is kept.
    first = np.flatnonzero(end[row_packet] == execution.arrival[gives])[::-1]
    giver[gives[first]] = first

    def find_causes(packet: int) -> Iterator[tuple[int, str, int]]:
        """Yield the reasons why a packet did not start earlier.

        Each reason is a tuple: a row of the packet, the name of the reason (as in
        `CriticalSend.waits_for`), and the other packet, for whose end the row waited.
        """
        begin = int(packets.begins[packet])
        for chain, of in before:
            candidate = int(of[packet])
            if candidate >= 0 and end[candidate] == start[packet]:
                is_link = chain.number[packet] >= packets.links.topology.nodes
                yield begin, "link" if is_link else chain.name, candidate
        needs = dependencies.needs(slice(begin, begin + int(packets.units[packet])))
        latest = np.flatnonzero(execution.arrival[needs.entries] == start[packet]).tolist()
        for last in latest:
            entry = needs.entries[last]
            yield begin + needs.row_of(last), "unit", int(row_packet[giver[entry]])
        for last in latest:
            entry = needs.entries[last]
            for other in first[gives[first] == entry][::-1].tolist():
                yield begin + needs.row_of(last), "unit", int(row_packet[other])

    # Packets of duration 0 can deliver a unit to each other in a cycle. So no packet is added to
    # the path twice, and a packet without a new cause is removed from the path.
    path = [int(np.argmax(end))]
    causes = [find_causes(path[0])]
    reasons: list[tuple[int, str]] = []
    known = {*path}
    while start[path[-1]] > 0:
        cause = next((cause for cause in causes[-1] if cause[2] not in known), None)
        if cause is None:
            path.pop()
            causes.pop()
            reasons.pop()
            continue
        row, waits_for, packet = cause
        reasons.append((row, waits_for))
        path.append(packet)
        causes.append(find_causes(packet))
        known.add(packet)
    reasons.append((int(packets.begins[path[-1]]), ""))
    return tuple(
        _describe(packets, ticks, packet, row, start[packet], end[packet], waits_for)
        for packet, (row, waits_for) in zip(path[::-1], reasons[::-1], strict=True)
    )
