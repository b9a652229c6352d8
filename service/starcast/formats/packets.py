"""The packets of a schedule, their dependencies and their times.

A packet is all units with the same step, sender and port.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from starcast.collectives import Schedule
from starcast.costs import Machine
from starcast.simulator import Simulation
from starcast.simulator.rows import repeats_previous

Numbers = NDArray[np.int64]


class Packets(NamedTuple):
    """Packets in the order of the rows of their schedule, as columns of equal length.

    Attributes:
        bounds: rows ``bounds[i]`` to ``bounds[i + 1] - 1`` are the units of packet i.
        of_row: the packet of each row.
        step: the steps.
        sender: the ranks of the senders.
        port: the ports of the senders.
        receiver: the ranks of the receivers.
        size: the number of units.
    """

    bounds: Numbers
    of_row: Numbers
    step: Numbers
    sender: Numbers
    port: Numbers
    receiver: Numbers
    size: Numbers


def find_packets(schedule: Schedule) -> Packets:
    """Return the packets of a schedule."""
    begins = ~repeats_previous(schedule.step, schedule.sender, schedule.port)
    first = np.flatnonzero(begins)
    return Packets(
        bounds=np.append(first, len(schedule)),
        of_row=np.cumsum(begins) - 1,
        step=schedule.step[first].astype(np.int64),
        sender=schedule.sender[first].astype(np.int64),
        port=schedule.port[first].astype(np.int64),
        receiver=schedule.receiver[first].astype(np.int64),
        size=np.diff(first, append=len(schedule)),
    )


def find_deliveries(schedule: Schedule) -> Numbers:
    """Return for each row the row that first delivers its unit to its sender.

    Args:
        schedule: a schedule without violations that is not symmetric.

    Returns:
        int64 ``[rows]``; -1 if the sender is the source of the unit.
    """
    unit = schedule.unit.astype(np.int64)
    arrivals, first = np.unique(schedule.receiver * np.int64(schedule.units) + unit, True)
    if not len(arrivals):
        return np.empty(0, dtype=np.int64)
    wanted = schedule.sender * np.int64(schedule.units) + unit
    place = np.minimum(np.searchsorted(arrivals, wanted), len(arrivals) - 1)
    row = first[place]
    # A unit may return to its source, which sent it before.
    is_delivery = (arrivals[place] == wanted) & (schedule.step[row] < schedule.step)
    return np.where(is_delivery, row, -1)


def time_packets(
    packets: Packets, simulation: Simulation, machine: Machine, unit_bytes: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the start and the duration of each packet in the synchronous model.

    A step begins when the step before it ends; it lasts as long as its largest packet. This is the
    only function of the formats that depends on the execution model.
    """
    t_s, t_byte = float(machine.t_s), float(machine.t_c * unit_bytes)
    units_before = np.cumsum(simulation.packet_sizes) - simulation.packet_sizes
    steps_before = packets.step - 1
    start = np.asarray(steps_before * t_s + units_before[steps_before] * t_byte, dtype=np.float64)
    duration = np.asarray(t_s + packets.size * t_byte, dtype=np.float64)
    return start, duration
