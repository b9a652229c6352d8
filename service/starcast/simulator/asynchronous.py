"""Asynchronous execution: every packet starts as soon as its units and its link are free.

A packet p waits for the arrival of each of its units at its sender, the earliest if several rows
deliver the unit, and for the packet before it on its directed link (one-port: for the packet before
it at its sender, and at its receiver). It ends after its duration. So the vector of all ends is a
fixed point x = F(x) of a function F made of maxima, minima and additions, which is monotone.

*F has one fixed point.* Durations are positive, or all are 0 and so are all times. Let x and y be
fixed points, and p a packet with the least start, in either of them, among those with different
ends; say it starts earlier in x. What p waits for in x, of several deliveries the earliest, ends no
later than p starts, so it starts earlier than p and has the same end in y. So p starts in y no
later than in x, a contradiction.

*Times never exceed the synchronous ones*, by induction on the steps: a packet of step s waits only
for packets of earlier steps, or for a later one that delivers even earlier.

*Iterating F reaches the fixed point from any times between 0 and the synchronous ones.* From 0 the
iterates ascend, from the synchronous times they descend, all are integers, and iterates from times
in between stay in between.

If no unit is delivered twice, a packet depends on packets of earlier steps only. So the steps are
executed in their order, all packets of a step at once: one pass is exact. Small steps are executed
in batches: F is iterated on the packets of a batch until they no longer change, and packets along a
link are added up at once by a prefix maximum. If units are delivered twice, a delivery of a later
step can be the earlier one. Then the passes are repeated, each with the arrivals of the previous
one, which descend from upper bounds, until nothing changes.
"""

import numpy as np

from starcast.simulator.dependencies import Dependencies
from starcast.simulator.packets import Batch, Chain, Packets
from starcast.simulator.rows import Column, Indices, Mask, pack_sort, repeats_previous
from starcast.simulator.ticks import Ticks, Times


class AsynchronousExecution:
    """The ends of all packets, and the arrivals of units.

    Attributes:
        end: ``[packets]``, the end of each packet, in ticks.
        arrival: ``[entries]``, the earliest delivery of each entry of the dependencies.
        duration: ``[packets]``.
    """

    def __init__(self, packets: Packets, dependencies: Dependencies, ticks: Ticks) -> None:
        self._packets = packets
        self._dependencies = dependencies
        self._ticks = ticks
        self._chains = packets.chains()
        self.duration = ticks.durations(packets.units)
        self.end = ticks.full(len(packets), 0)
        self.arrival = ticks.full(dependencies.size, ticks.never)
        self.arrival[dependencies.initial] = 0
        while self._execute_pass() and not dependencies.unique:
            pass

    def _execute_pass(self) -> bool:
        """Execute all packets in the order of steps; return whether an end changed."""
        free = [self._ticks.full(chain.count, 0) for chain in self._chains]
        changed = False
        for batch in self._packets.batches():
            before = self.end[batch.packets].copy()
            self._execute_batch(batch, free)
            changed = changed or not np.array_equal(before, self.end[batch.packets])
        return changed

    def _execute_batch(self, batch: Batch, free: list[Times]) -> None:
        step = self._packets.step[batch.rows]
        queues = [
            _Queue(chain, batch.packets, free_from)
            for chain, free_from in zip(self._chains, free, strict=True)
        ]
        if step[0] == step[-1]:
            self._execute_step(batch, queues)
        else:
            self._execute_steps(batch, queues)

    def _execute_step(self, batch: Batch, queues: list["_Queue"]) -> None:
        start = self._ready(batch, self._dependencies.needs(batch.rows))
        for queue in queues:
            np.maximum(start, queue.free[queue.number], out=start)
        end = start + self.duration[batch.packets]
        for queue in queues:
            queue.free[queue.number] = end
        self.end[batch.packets] = end
        self._deliver(self._dependencies.gives(batch.rows), self._of_rows(batch, end))

    def _execute_steps(self, batch: Batch, queues: list["_Queue"]) -> None:
        """Iterate from the least times: units that the batch itself delivers are there at 0."""
        needs = self._dependencies.needs(batch.rows)
        gives = self._dependencies.gives(batch.rows)
        before = self.arrival[gives]
        self.arrival[gives[before == self._ticks.never]] = 0
        first, *others = queues
        for queue in queues:
            queue.sort()
        duration = self.duration[batch.packets]
        end = self._ticks.full(len(duration), -1)
        while True:
            start = self._ready(batch, needs)
            for queue in others:
                np.maximum(start, queue.previous_end(end), out=start)
            changed = first.ends(start, duration)
            if np.array_equal(changed, end):
                break
            end = changed
            if not self._dependencies.unique:
                self.arrival[gives] = before
            self._deliver(gives, self._of_rows(batch, end))
        for queue in queues:
            queue.release(end)
        self.end[batch.packets] = end

    def _ready(self, batch: Batch, needs: Indices) -> Times:
        """Return when the last unit of each packet of a batch is at its sender."""
        arrival: Times = self.arrival[needs]
        if self._packets.single:
            return arrival
        begins = self._packets.begins[batch.packets] - batch.rows.start
        return np.asarray(np.maximum.reduceat(arrival, begins))

    def _of_rows(self, batch: Batch, end: Times) -> Times:
        return end if self._packets.single else np.repeat(end, self._packets.units[batch.packets])

    def _deliver(self, gives: Indices, end: Times) -> None:
        if self._dependencies.unique:
            self.arrival[gives] = end
        else:
            np.minimum.at(self.arrival, gives, end)


class _Queue:
    """The packets of a batch that use the same link or node, one after the other."""

    def __init__(self, chain: Chain, packets: slice, free: Times) -> None:
        self.number: Column = chain.number[packets]
        self.free = free

    def sort(self) -> None:
        """Put the packets of each link or node together, in the order of steps."""
        number, self._order = pack_sort(self.number)
        self._is_first: Mask = ~repeats_previous(number)
        self._is_last: Mask = np.append(self._is_first[1:], np.ones(min(len(number), 1), bool))
        self._queue = np.cumsum(self._is_first) - 1
        self._first_free = self.free[number]

    def ends(self, ready: Times, duration: Times) -> Times:
        """Return the ends of packets that start once they are ready and the queue is free.

        In the order of a queue, the end of packet i is the greatest of ready_j + d_j + .. + d_i
        over j <= i: with the sums D_i = d_1 + .. + d_i, a prefix maximum of ready_j - D_{j-1}.
        """
        sorted_duration = duration[self._order]
        total = np.cumsum(sorted_duration)
        total -= (total - sorted_duration)[self._is_first][self._queue]
        start = np.where(
            self._is_first, np.maximum(ready[self._order], self._first_free), ready[self._order]
        )
        start -= total - sorted_duration
        # Adding more per queue than times can differ makes one prefix maximum serve all queues.
        width = int(start.max()) - int(start.min()) + 1
        apart = self._queue.astype(start.dtype) * width
        end = np.empty_like(start)
        end[self._order] = np.maximum.accumulate(start + apart) - apart + total
        return end

    def previous_end(self, end: Times) -> Times:
        """Return when the queue is free for each packet, if its packets end at these times."""
        sorted_end = end[self._order]
        free = np.where(self._is_first, self._first_free, np.roll(sorted_end, 1))
        result = np.empty_like(free)
        result[self._order] = free
        return result

    def release(self, end: Times) -> None:
        """Record when the queue is free after the batch."""
        last = self._order[self._is_last]
        self.free[self.number[last]] = end[last]
