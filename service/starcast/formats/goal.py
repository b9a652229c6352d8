"""GOAL: the text format of the simulators LogGOPSim and ATLAHS.

Each rank has its sends and receives, and `requires` says which operations must end before another
begins. A packet is one send and one receive with a tag of its own. Its units, trees and step are
comments, from which `schedule_from_goal` restores the schedule; simulators ignore them.

Reference: T. Hoefler, T. Schneider, A. Lumsdaine, "LogGOPSim: simulating large-scale applications
in the LogGOPS model", HPDC 2010.
"""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from starcast.collectives import Schedule
from starcast.errors import LimitError
from starcast.formats.packets import Numbers, Packets, find_deliveries, find_packets

#: LogGOPSim keeps the number of a network interface in one byte.
MAX_INTERFACES = 256


def write_goal(schedule: Schedule, unit_bytes: int) -> Iterator[str]:
    """Yield a GOAL file.

    A send requires the receives of its units and the packet before it on its link; in the one-port
    model, the packet before it of its node. All-port nodes have a network interface per port, so
    that ports do not wait for each other. They have one CPU: LogGOPSim keeps a clock per CPU, and a
    send would not wait for a receive on another CPU that it requires.

    Raises:
        LimitError: a node has more ports than LogGOPSim has interfaces.
    """
    topology = schedule.topology
    if schedule.ports == "all" and topology.degree > MAX_INTERFACES:
        raise LimitError(
            f"nodes of {topology.spec} have {topology.degree} ports; GOAL has at most "
            f"{MAX_INTERFACES} network interfaces",
            hint="use a topology of a smaller degree, or --ports one",
        )
    packets = find_packets(schedule)
    yield f"// starcast {schedule.id}\nnum_ranks {topology.nodes}\n"
    operations = _Operations(schedule, packets, unit_bytes)
    count = len(packets.step)
    # A step's receives follow its sends, which cannot need them. Packet i is sent by operation i
    # and received by operation count + i.
    rank = np.concatenate([packets.sender, packets.receiver])
    step = np.concatenate([packets.step, packets.step])
    order = np.lexsort((np.arange(2 * count), step, rank))
    ends = np.searchsorted(rank[order], np.arange(topology.nodes + 1))
    for node, (first, end) in enumerate(pairwise(ends.tolist())):
        yield f"\nrank {node} {{\n"
        for operation in order[first:end].tolist():
            is_send = operation < count
            yield operations.send(operation) if is_send else operations.receive(operation - count)
        yield "}\n"


class _Operations:
    """The lines of each packet's send and receive."""

    def __init__(self, schedule: Schedule, packets: Packets, unit_bytes: int) -> None:
        self._one_port = schedule.ports == "one"
        self._interfaces = {port: place for place, port in enumerate(schedule.topology.ports)}
        self._reverse = schedule.topology.reverse_ports().tolist()
        self._unit_bytes = unit_bytes
        self._packets = Packets(*(column.tolist() for column in packets))
        self._units = schedule.unit.tolist()
        self._trees = schedule.tree.tolist()
        self._arrivals, self._arrival_bounds = _list_arrivals(schedule, packets)
        if self._one_port:
            self._before = _previous(packets.sender, packets.step).tolist()
            self._received_before = _previous(packets.receiver, packets.step).tolist()
        else:
            link = packets.sender * np.int64(256) + packets.port
            self._before = _previous(link, packets.step).tolist()

    def send(self, packet: int) -> str:
        packets = self._packets
        step = packets.step[packet]
        rows = range(packets.bounds[packet], packets.bounds[packet + 1])
        lines = [f"// unit {self._units[row]} tree {self._trees[row]} step {step}" for row in rows]
        interface = self._interface(packets.port[packet])
        lines.append(
            f"s{packet}: send {self._bytes(packet)}b to {packets.receiver[packet]} tag {packet}"
            f"{interface}"
        )
        first, end = self._arrival_bounds[packet : packet + 2]
        lines += [f"s{packet} requires r{needed}" for needed in self._arrivals[first:end]]
        if self._before[packet] >= 0:
            lines.append(f"s{packet} requires s{self._before[packet]}")
        return "\n".join(lines) + "\n"

    def receive(self, packet: int) -> str:
        packets = self._packets
        interface = self._interface(self._reverse[packets.port[packet]])
        line = (
            f"r{packet}: recv {self._bytes(packet)}b from {packets.sender[packet]} tag {packet}"
            f"{interface}\n"
        )
        if self._one_port and self._received_before[packet] >= 0:
            line += f"r{packet} requires r{self._received_before[packet]}\n"
        return line

    def _bytes(self, packet: int) -> int:
        return int(self._packets.size[packet]) * self._unit_bytes

    def _interface(self, port: int) -> str:
        number = self._interfaces[port]
        return "" if self._one_port else f" nic {number}"


def _list_arrivals(schedule: Schedule, packets: Packets) -> tuple[list[int], list[int]]:
    """Return the packets whose receives each send needs, as one list and its bounds."""
    delivery = find_deliveries(schedule)
    needs = np.flatnonzero(delivery >= 0)
    pairs = np.stack([packets.of_row[needs], packets.of_row[delivery[needs]]])
    pairs = np.unique(pairs, axis=1)
    bounds = np.searchsorted(pairs[0], np.arange(len(packets.step) + 1))
    return pairs[1].tolist(), bounds.tolist()


def _previous(key: Numbers, step: Numbers) -> Numbers:
    """Return the packet before each packet with the same key, in the order of steps; else -1."""
    order = np.lexsort((step, key))
    same = key[order][1:] == key[order][:-1]
    before = np.full(len(key), -1, dtype=np.int64)
    before[order[1:]] = np.where(same, order[:-1], -1)
    return before
