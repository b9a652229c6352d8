"""Export to GOAL, the text format of the simulators LogGOPSim and ATLAHS.

A file lists the sends and receives of each rank, and `requires` specifies which operations must end
before another operation begins. A packet is one send and one receive with a unique tag. The units,
trees and step of a packet are written as comments, which simulators ignore and from which the
module `goal_reader` restores the schedule.

Reference: T. Hoefler, T. Schneider, A. Lumsdaine, "LogGOPSim: simulating large-scale applications
in the LogGOPS model", HPDC 2010; ``sim/LogGOPSim`` of spcl/atlahs.
"""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from starcast.judges.simulator.dependencies import find_awaited
from starcast.judges.simulator.packets import PacketColumns, Packets, find_previous
from starcast.judges.simulator.simulation import Executed
from starcast.support.errors import LimitError
from starcast.support.vocabulary import GoalDialect

#: LogGOPSim stores the indices of network interfaces and of CPUs in one byte each.
MAX_INTERFACES = 256


def write_goal(executed: Executed, unit_bytes: int, dialect: GoalDialect) -> Iterator[str]:
    """Yield the parts of a GOAL file.

    A send requires the receives of its units. In the one-port model, a send also requires the
    previous send of its node, and a receive requires the previous receive of its node. In the
    all-port model, a send also requires the previous send on its link. Nodes then have a network
    interface per port, so that ports do not wait for each other.

    For LogGOPSim, each node has one CPU: LogGOPSim keeps a clock per CPU, and with several CPUs, a
    send would not wait for a required receive on another CPU. For ATLAHS, each node has a CPU per
    port and direction, so that ports and directions do not wait for each other. Several CPUs are
    possible because ATLAHS passes the end time of a receive to the operations that require it.

    Args:
        executed: the executed rows of the schedule, expanded to all sources.
        unit_bytes: the size of a unit in bytes.
        dialect: the simulator that reads the file.

    Raises:
        LimitError: a node needs more network interfaces or CPUs than the simulator supports.
    """
    schedule = executed.rows.schedule
    topology = schedule.topology
    # For ATLAHS, each direction of a port has its own CPU and interface.
    limit = MAX_INTERFACES // 2 if dialect == "atlahs" else MAX_INTERFACES
    if schedule.ports == "all" and topology.port_count > limit:
        raise LimitError(
            f"{topology.spec} has {topology.port_count} ports; a GOAL file for {dialect} "
            f"supports at most {limit}",
            hint="use a topology with fewer ports, or the port model one",
        )
    packets = Packets(executed)
    columns = packets.columns()
    yield f"// starcast {schedule.id}\nnum_ranks {topology.nodes}\n"
    operations = _Operations(executed, packets, unit_bytes, dialect)
    count = len(packets)
    # Within a step, the sends come before the receives, because no send depends on a receive of the
    # same step. Packet i is sent by operation i and received by operation count + i.
    rank = np.concatenate([columns.sender, columns.receiver])
    step = np.concatenate([columns.step, columns.step])
    order = np.lexsort((np.arange(2 * count), step, rank))
    ends = np.searchsorted(rank[order], np.arange(topology.nodes + 1))
    for node, (first, end) in enumerate(pairwise(ends.tolist())):
        yield f"\nrank {node} {{\n"
        for operation in order[first:end].tolist():
            is_send = operation < count
            yield operations.send(operation) if is_send else operations.receive(operation - count)
        yield "}\n"


class _Operations:
    """Writes the lines of a GOAL file: a send and a receive for each packet."""

    def __init__(
        self, executed: Executed, packets: Packets, unit_bytes: int, dialect: GoalDialect
    ) -> None:
        topology = packets.links.topology
        self._one_port = packets.one_port
        self._has_cpus = dialect == "atlahs"
        # In the one-port model all ports share one interface.
        self._interfaces = {
            port: 0 if packets.one_port else place for place, port in enumerate(topology.ports)
        }
        self._reverse = topology.reverse_ports().tolist()
        self._unit_bytes = unit_bytes
        self._packets = PacketColumns(*(column.tolist() for column in packets.columns()))
        self._begins = [*packets.begins.tolist(), len(packets.unit)]
        self._units = packets.unit.tolist()
        self._trees = executed.rows.tree.tolist()
        combine = executed.rows.combine
        self._combine = None if combine is None else combine.tolist()
        self._arrivals, self._arrival_bounds = _list_arrivals(executed, packets)
        before = [find_previous(chain.number).tolist() for chain in packets.chains()]
        # In the one-port model, `before[0]` contains, for each packet, the previous packet with the
        # same sender, and `before[-1]` the previous packet with the same receiver. In the all-port
        # model, both are the same list, which contains the previous packet on the same link.
        self._sent_before = before[0]
        self._received_before = before[-1]

    def send(self, packet: int) -> str:
        packets = self._packets
        step = packets.step[packet]
        rows = range(self._begins[packet], self._begins[packet + 1])
        lines = [f"// unit {self._units[row]} tree {self._trees[row]} step {step}" for row in rows]
        if self._combine is not None:
            adds = [int(self._combine[row]) for row in rows]
            lines = [f"{line} combine {each}" for line, each in zip(lines, adds, strict=True)]
        place = self._place(packets.port[packet], direction=0)
        lines.append(
            f"s{packet}: send {self._bytes(packet)}b to {packets.receiver[packet]} tag {packet}"
            f"{place}"
        )
        first, end = self._arrival_bounds[packet : packet + 2]
        lines += [f"s{packet} requires r{needed}" for needed in self._arrivals[first:end]]
        if self._sent_before[packet] >= 0:
            lines.append(f"s{packet} requires s{self._sent_before[packet]}")
        return "\n".join(lines) + "\n"

    def receive(self, packet: int) -> str:
        packets = self._packets
        place = self._place(self._reverse[packets.port[packet]], direction=1)
        line = (
            f"r{packet}: recv {self._bytes(packet)}b from {packets.sender[packet]} tag {packet}"
            f"{place}\n"
        )
        if self._one_port and self._received_before[packet] >= 0:
            line += f"r{packet} requires r{self._received_before[packet]}\n"
        return line

    def _bytes(self, packet: int) -> int:
        return int(self._packets.units[packet]) * self._unit_bytes

    def _place(self, port: int, direction: int) -> str:
        """Return the CPU and network interface of an operation as GOAL text.

        A CPU or interface number that is 0 for all operations is omitted. The argument
        ``direction`` is 0 for a send and 1 for a receive.
        """
        number = self._interfaces[port]
        if self._has_cpus:
            number = 2 * number + direction
            return f" cpu {number} nic {number}"
        return "" if self._one_port else f" nic {number}"


def _list_arrivals(executed: Executed, packets: Packets) -> tuple[list[int], list[int]]:
    """Return, for each send, the indices of the packets that must arrive before the send begins.

    Returns:
        Two lists. The first contains the packets, send by send. The second contains the index in
        the first list at which the packets of each send begin, then the length of the first list.
    """
    packet_of = np.repeat(np.arange(len(packets)), packets.units)
    pairs = packet_of[find_awaited(packets, executed)]
    pairs = np.unique(pairs, axis=1)
    bounds = np.searchsorted(pairs[0], np.arange(len(packets) + 1))
    return pairs[1].tolist(), bounds.tolist()
