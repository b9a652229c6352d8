"""The packets that decide how long an execution takes."""

from fractions import Fraction
from typing import NamedTuple

import numpy as np

from starcast.judges.simulator.asynchronous import AsynchronousExecution
from starcast.judges.simulator.dependencies import Dependencies
from starcast.judges.simulator.packets import Packets, find_previous
from starcast.judges.simulator.rows import repeats_previous
from starcast.judges.simulator.ticks import Ticks, Times


class CriticalSend(NamedTuple):
    """A packet on the critical path.

    Attributes:
        step: the step of the packet.
        sender: label of the sending node; of several rows of a symmetric schedule, of the row
            whose unit the packet waited for, or of the first.
        port: the sender's port.
        receiver: label of the receiving node.
        units: the number of units in the packet.
        start: when the packet starts.
        end: when its units are at the receiver.
        waits_for: what decides the start: ``step``, the step before it; ``unit``, the arrival of
            its last unit; ``link``, ``sender`` or ``receiver``, which were busy until then. Empty
            if the packet starts at 0.
    """

    step: int
    sender: str
    port: int
    receiver: str
    units: int
    start: int | Fraction
    end: int | Fraction
    waits_for: str


class TracedPacket(NamedTuple):
    """A packet on the critical path, with times in ticks.

    Attributes:
        packet: the number of the packet.
        row: the row that represents it.
        start: the start of the packet.
        end: the end of the packet.
        waits_for: the reason for the start time, with the values of `CriticalSend.waits_for`.
    """

    packet: int
    row: int
    start: int
    end: int
    waits_for: str


def trace_steps(packets: Packets, clock: Times) -> list[TracedPacket]:
    """Return the first largest packet of each step; ``clock`` is the end of each step."""
    step = packets.first_of(packets.step)
    begins = np.flatnonzero(~repeats_previous(step))
    if not len(begins):
        return []
    # The last of the packets in ascending order of step, units and descending number.
    order = np.lexsort((-np.arange(len(step)), packets.units, step))
    largest = order[np.append(begins[1:], len(step)) - 1]
    return [
        TracedPacket(
            packet,
            int(packets.begins[packet]),
            int(clock[step[packet] - 1]),
            int(clock[step[packet]]),
            "step" if step[packet] > 1 else "",
        )
        for packet in largest.tolist()
    ]


def trace_data(
    packets: Packets, dependencies: Dependencies, execution: AsynchronousExecution
) -> list[TracedPacket]:
    """Return a chain of packets, each waiting for the one before it, up to the last to end."""
    if not len(packets):
        return []
    end = execution.end
    start = end - execution.duration
    before = {chain.name: find_previous(chain.number) for chain in packets.chains()}
    every_row = slice(0, len(packets.step))
    row_packet = np.repeat(np.arange(len(packets)), packets.units)
    gives = dependencies.gives(every_row)
    giver = np.full(dependencies.size, -1, dtype=np.int64)
    # Reversed, so that of several first deliveries the first row is written last.
    first = np.flatnonzero(end[row_packet] == execution.arrival[gives])[::-1]
    giver[gives[first]] = first
    path = []
    packet = int(np.argmax(end))
    while True:
        begin = int(packets.begins[packet])
        row, waits_for, previous = begin, "", -1
        if start[packet] > 0:
            for name, of in before.items():
                candidate = int(of[packet])
                if candidate >= 0 and end[candidate] == start[packet]:
                    waits_for, previous = name, candidate
                    break
            else:
                needs = dependencies.needs(slice(begin, begin + int(packets.units[packet])))
                last = int(np.argmax(execution.arrival[needs.entries] == start[packet]))
                row = begin + needs.row_of(last)
                waits_for, previous = "unit", int(row_packet[giver[needs.entries[last]]])
        path.append(TracedPacket(packet, row, int(start[packet]), int(end[packet]), waits_for))
        if previous < 0:
            return path[::-1]
        packet = previous


def describe_path(
    packets: Packets, ticks: Ticks, path: list[TracedPacket]
) -> tuple[CriticalSend, ...]:
    """Return the packets of a path with labels and times."""
    topology = packets.links.topology
    return tuple(
        CriticalSend(
            step=int(packets.step[traced.row]),
            sender=topology.label(int(packets.sender[traced.row])),
            port=int(packets.port[traced.row]),
            receiver=topology.label(int(packets.receiver[traced.row])),
            units=int(packets.units[traced.packet]),
            start=ticks.time(traced.start),
            end=ticks.time(traced.end),
            waits_for=traced.waits_for,
        )
        for traced in path
    )
