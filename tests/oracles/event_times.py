"""Execution times, computed event by event or step by step, with dictionaries and fractions.

The rows come from `oracles.simulator`, which executes the rows of all sources without using
symmetry.
"""

import heapq
from collections import defaultdict, deque
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from fractions import Fraction

from oracles.reductions import REDUCTIONS, Awaited
from oracles.schedule_rows import Row
from oracles.simulator import NO_FAULTS, Faults, Plan, World, execute_all, expanded


@dataclass(frozen=True)
class Machine:
    """The cost parameters: bytes per unit, start-up time per packet, and time per byte."""

    unit_bytes: Fraction
    t_s: Fraction
    t_c: Fraction

    def duration(self, rows: list[Row], world: World) -> Fraction:
        """Return the time that a packet with the given rows takes on its link."""
        link = rows[0].sender, rows[0].port
        start_up = self.t_s + world.latencies.get(link, 0)
        per_byte = self.t_c / world.capacities.get(link, 1)
        return start_up + len(rows) * self.unit_bytes * per_byte


@dataclass
class Packet:
    """A packet: the rows with the same step, sender and port, and its start and end times."""

    rows: list[Row]
    start: Fraction | None = None
    end: Fraction | None = None


@dataclass
class Times:
    """The total time of an execution, and the times of nodes, links and packets.

    ``arrivals`` has None for nodes that are dead or never receive all their units.
    """

    time: Fraction
    arrivals: dict[str, Fraction | None]
    link_busy: dict[tuple[str, int], Fraction]
    packets: list[Packet]


def timed(plan: Plan, machine: Machine, faults: Faults = NO_FAULTS, *, by_steps: bool) -> Times:
    """Compute the times of a valid schedule.

    All packets of a step start together (``by_steps``), or each packet starts as soon as its data
    have arrived.
    """
    moved = execute_all(plan, faults).moved
    groups = defaultdict[tuple[int, str, int], list[Row]](list)
    for row in moved:
        groups[row.step, row.sender, row.port].append(row)
    packets = [Packet(groups[key]) for key in sorted(groups)]
    everyone = expanded(plan) if plan.symmetric else plan
    latest = (
        clock(plan.world, packets, machine)
        if by_steps
        else events(everyone, packets, machine, faults)
    )
    busy = defaultdict[tuple[str, int], Fraction](Fraction)
    for packet in packets:
        row = packet.rows[0]
        busy[row.sender, row.port] += machine.duration(packet.rows, plan.world)
    return Times(latest, arrivals(everyone, packets, faults), busy, packets)


def clock(world: World, packets: list[Packet], machine: Machine) -> Fraction:
    """Start all packets of a step together, and return the end of the last step."""
    now = Fraction(0)
    for step in range(1, max((packet.rows[0].step for packet in packets), default=0) + 1):
        together = [packet for packet in packets if packet.rows[0].step == step]
        durations = [machine.duration(packet.rows, world) for packet in together]
        last = now + max(durations, default=machine.t_s)
        for packet in together:
            packet.start, packet.end = now, last
        now = last
    return now


def events(plan: Plan, packets: list[Packet], machine: Machine, faults: Faults) -> Fraction:
    """Start every packet as soon as possible, and return the end of the last packet."""
    held = {(source, unit) for unit, source, _ in plan.messages()}
    awaited = awaited_rows(plan, packets, faults)
    queues = defaultdict[Hashable, deque[int]](deque)
    for number, packet in enumerate(packets):
        for resource in resources(plan, packet):
            queues[resource].append(number)
    waiting = set(range(len(packets)))
    running: list[tuple[Fraction, int]] = []
    now = Fraction(0)
    while waiting:
        for number in sorted(waiting):
            packet = packets[number]
            is_next = all(queues[name][0] == number for name in resources(plan, packet))
            if is_next and all(may_start(row, held, awaited) for row in packet.rows):
                waiting.remove(number)
                packet.start = now
                packet.end = now + machine.duration(packet.rows, plan.world)
                heapq.heappush(running, (packet.end, number))
        assert running, "no packet can start"
        now = running[0][0]
        while running and running[0][0] == now:
            number = heapq.heappop(running)[1]
            finish(plan, packets[number], queues, held)
            if awaited is not None:
                awaited.arrived.update(packets[number].rows)
    return max((end for end, _ in running), default=now)


def awaited_rows(plan: Plan, packets: list[Packet], faults: Faults) -> Awaited | None:
    """Return the rows that each row of a reduction waits for, or None for other collectives."""
    if plan.collective not in REDUCTIONS:
        return None
    rows = [row for packet in packets for row in packet.rows]
    alive = [node for node in plan.world.endpoints if frozenset([node]) not in faults]
    units = {unit for unit, _, _ in plan.messages()}
    return Awaited(rows, units, plan.world.endpoints, alive)


def may_start(row: Row, held: set[tuple[str, int]], awaited: Awaited | None) -> bool:
    """Return whether the sender of a row already has the data to send."""
    return (row.sender, row.unit) in held if awaited is None else awaited.may_start(row)


def finish(
    plan: Plan,
    packet: Packet,
    queues: dict[Hashable, deque[int]],
    held: set[tuple[str, int]],
) -> None:
    """Free the resources of a packet and deliver its units."""
    for resource in resources(plan, packet):
        queues[resource].popleft()
    held |= {(row.receiver, row.unit) for row in packet.rows}


def resources(plan: Plan, packet: Packet) -> Iterable[Hashable]:
    """Return the resources that a packet occupies: its link, or if one-port, both end nodes.

    A switch sends and receives over all of its links at once.
    """
    row = packet.rows[0]
    ends = [("sends", row.sender), ("receives", row.receiver)]
    nodes = [end for end in ends if plan.one_port and end[1] not in plan.world.switches]
    return nodes if len(nodes) == 2 else [*nodes, ("link", row.sender, row.port)]


def arrivals(plan: Plan, packets: list[Packet], faults: Faults) -> dict[str, Fraction | None]:
    """Return the time at which each node has received all units that it must receive."""
    dead = {node for node in plan.world.nodes if frozenset([node]) in faults}
    voided = dead if plan.collective in ("allgather", "gather", "alltoall") else set()
    first: dict[tuple[str, int], Fraction] = {}
    awaited = awaited_rows(plan, packets, faults)
    if awaited is not None:
        return sum_arrivals(plan, packets, dead, awaited)
    for packet in packets:
        for row in packet.rows:
            assert packet.end is not None
            place = (row.receiver, row.unit)
            first[place] = min(first.get(place, packet.end), packet.end)
    for unit, source, _ in plan.messages():
        first[source, unit] = Fraction(0)
    owed: dict[str, list[Fraction | None]] = {node: [] for node in plan.world.nodes}
    for unit, source, destination in plan.messages():
        if source not in voided:
            for node in plan.world.endpoints if destination is None else [destination]:
                owed[node].append(first.get((node, unit)))
    return last_arrivals(owed, dead)


def sum_arrivals(
    plan: Plan, packets: list[Packet], dead: set[str], awaited: Awaited
) -> dict[str, Fraction | None]:
    """Return the time at which each node has the complete results of a reduction."""
    end = {row: packet.end for packet in packets for row in packet.rows}
    owed: dict[str, list[Fraction | None]] = {node: [] for node in plan.world.nodes}
    for unit, _, destination in plan.messages():
        for node in plan.world.endpoints if destination is None else [destination]:
            ways = [
                max((end[row] or Fraction(0) for row in rows), default=Fraction(0))
                for rows in awaited.complete.get((node, unit), [])
            ]
            owed[node].append(min(ways, default=None))
    return last_arrivals(owed, dead)


def last_arrivals(
    owed: dict[str, list[Fraction | None]], dead: set[str]
) -> dict[str, Fraction | None]:
    """Return each node's last arrival, or None if the node is dead or one of its times is None."""
    return {
        node: None
        if node in dead or None in times
        else max(filter(None, times), default=Fraction(0))
        for node, times in owed.items()
    }
