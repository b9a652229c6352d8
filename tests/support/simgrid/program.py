"""A program that simulates packets with SimGrid, by processes that send, receive and wait.

It runs in an interpreter that has SimGrid's Python module, reads a list of problems from stdin as
JSON and writes a list of results to stdout, in the same order. It imports no code of starcast. It
derives everything from the rows alone: which units are sent together, which units a node holds, and
what a process waits for.

SimGrid has one engine per operating system process, whose clock cannot be reset. Every problem is
therefore executed in a forked child.

In the all-port model every directed link has a process; in the one-port model every node has a
process that sends and a process that receives. A process serves its packets in the order of steps.
Every directed link is a SimGrid link between two hosts. Its latency is the start-up time plus the
latency of the link, and its bandwidth in bytes per unit of time is the capacity of the link.
"""

import json
import multiprocessing
import sys
from collections import defaultdict
from collections.abc import Callable
from typing import Any, NamedTuple

#: The store-and-forward model: a packet takes the latency of its link plus the time for its bytes,
#: and packets on different links do not slow each other down.
CONFIGURATION = (
    "network/model:CM02",
    "network/TCP-gamma:0",
    "network/latency-factor:1",
    "network/bandwidth-factor:1",
    "network/weight-S:0",
    "network/crosstraffic:0",
)
#: Exit code of the program if the interpreter does not have SimGrid's module.
NOT_INSTALLED = 3


class Packet(NamedTuple):
    """The units that cross one directed link in one step."""

    step: int
    sender: int
    receiver: int
    units: list[int]
    rows: list[int]


Action = Callable[[Packet], None]


class Sums:
    """The contributions that nodes of a reduction hold, as sets.

    Args:
        problem: the description of a reduction; see `Processes`.
    """

    def __init__(self, problem: dict[str, Any]) -> None:
        self._contributors = set(problem["contributors"])
        names = ("step", "sender", "receiver", "unit", "tree", "combine")
        self._rows = list(zip(*(problem[name] for name in names), strict=True))
        self._held: dict[tuple[int, int, int], set[int]] = {}
        self._awaited: dict[tuple[int, int, int], list[int]] = defaultdict(list)
        self._trees: dict[int, set[int]] = defaultdict(set)
        for step, _, receiver, unit, tree, combine in self._rows:
            if combine:
                self._awaited[receiver, unit, tree].append(step)
                self._trees[unit].add(tree)
        self._added: dict[tuple[int, int, int], list[int]] = defaultdict(list)
        self._sent: dict[int, set[int]] = {}

    def are_ready(self, row: int) -> bool:
        """Return whether the sender has the partial sum or complete unit that a row sends.

        A sum is ready when all rows that add to it in earlier steps have arrived. A complete unit
        is ready if a sum of the sender was complete in an earlier step. Complete units that the
        sender has received are not considered.
        """
        step, sender, _, unit, tree, combine = self._rows[row]
        if not combine:
            return any(self._is_complete((sender, unit, each), step) for each in self._trees[unit])
        awaited = [each for each in self._awaited[sender, unit, tree] if each < step]
        if sum(each < step for each in self._added[sender, unit, tree]) < len(awaited):
            return False
        self._sent.setdefault(row, set(self._contributions((sender, unit, tree))))
        return True

    def add(self, row: int) -> bool:
        """Add a row's contributions to the receiver's sum.

        Returns:
            False if the row sends a complete unit; then nothing is added.
        """
        step, _, receiver, unit, tree, combine = self._rows[row]
        if combine:
            self._contributions((receiver, unit, tree)).update(self._sent[row])
            self._added[receiver, unit, tree].append(step)
        return bool(combine)

    def _contributions(self, place: tuple[int, int, int]) -> set[int]:
        return self._held.setdefault(place, {place[0]})

    def _is_complete(self, place: tuple[int, int, int], step: int) -> bool:
        earlier = all(each < step for each in self._added[place])
        return earlier and self._contributions(place) >= self._contributors


class Processes:
    """The processes of all packets, and the units or sums that each node holds.

    Args:
        simgrid: SimGrid's module.
        problem: ``nodes``, ``links`` (two nodes, capacity and latency), ``one_port``,
            ``synchronous``, ``steps``, ``start_up``, ``per_unit``, ``source`` (the node that has
            each unit) and the columns ``step``, ``sender``, ``receiver`` and ``unit``. A
            reduction has no ``source`` but ``contributors`` (the nodes whose contributions make a
            unit complete) and the columns ``tree`` and ``combine``.
    """

    def __init__(self, simgrid: Any, problem: dict[str, Any]) -> None:
        self._simgrid = simgrid
        self._problem = problem
        self._synchronous = problem["synchronous"]
        # The step in which a node received a unit; 0 if the node had it from the start.
        self._received = {(node, unit): 0 for unit, node in enumerate(problem.get("source", ()))}
        self._waiting: dict[tuple[int, int], list[Any]] = defaultdict(list)
        self._ends: list[float | None] = [None] * len(problem["step"])
        self._packets = self._group_rows()
        self._sums = Sums(problem) if "combine" in problem else None
        self._processes: list[tuple[int, Action, dict[int, Packet]]] = []

    def run(self) -> dict[str, Any]:
        """Run all processes; return the total time and the end of each row."""
        simgrid = self._simgrid
        arguments = ["starcast", "--log=root.thres:critical"]
        engine = simgrid.Engine([*arguments, *(f"--cfg={item}" for item in CONFIGURATION)])
        self._create_network()
        self._add_processes()
        self._barrier = simgrid.Barrier(len(self._processes) + 1)
        for node, action, packets in self._processes:
            function = self._serve_by_steps if self._synchronous else self._serve
            simgrid.Actor.create("process", self._hosts[node], function, action, packets)
        if self._synchronous:
            simgrid.Actor.create("clock", self._hosts[0], self._count_steps)
        engine.run()
        return {"time": engine.clock, "ends": self._ends}

    def _group_rows(self) -> list[Packet]:
        columns = (self._problem[name] for name in ("step", "sender", "receiver", "unit"))
        packets: dict[tuple[int, int, int], Packet] = {}
        for row, (step, sender, receiver, unit) in enumerate(zip(*columns, strict=True)):
            empty = Packet(step, sender, receiver, [], [])
            packet = packets.setdefault((step, sender, receiver), empty)
            packet.units.append(unit)
            packet.rows.append(row)
        return list(packets.values())

    def _create_network(self) -> None:
        simgrid = self._simgrid
        zone = simgrid.NetZone.create_full_zone("network")
        self._hosts = [zone.create_host(str(node), 1.0) for node in range(self._problem["nodes"])]
        for sender, receiver, capacity, latency in self._problem["links"]:
            link = zone.create_link(f"{sender}-{receiver}", float(capacity))
            link.set_latency(float(self._problem["start_up"] + latency)).seal()
            ends = (self._hosts[sender].netpoint, self._hosts[receiver].netpoint)
            zone.add_route(*ends, None, None, [simgrid.LinkInRoute(link)], False)
        zone.seal()

    def _add_processes(self) -> None:
        if self._problem["one_port"]:
            self._add(self._put, lambda packet: (packet.sender,))
            self._add(self._get, lambda packet: (packet.receiver,))
        else:
            self._add(self._send, lambda packet: (packet.sender, packet.receiver))

    def _add(self, action: Action, owner: Callable[[Packet], tuple[int, ...]]) -> None:
        """Add a process for each owner of packets: a node, or a link given by its two nodes.

        The process runs on the host of the node or, for a link, of its sender.
        """
        served: dict[tuple[int, ...], dict[int, Packet]] = defaultdict(dict)
        for packet in self._packets:
            served[owner(packet)][packet.step] = packet
        self._processes += [(key[0], action, packets) for key, packets in served.items()]

    # SimGrid calls the methods below within its processes, so they may block.

    def _serve(self, action: Action, packets: dict[int, Packet]) -> None:
        for _, packet in sorted(packets.items()):
            action(packet)

    def _serve_by_steps(self, action: Action, packets: dict[int, Packet]) -> None:
        # Every process takes part in every barrier, even in steps in which it has no packet.
        for step in range(1, self._problem["steps"] + 1):
            if step in packets:
                action(packets[step])
            self._barrier.wait()

    def _count_steps(self) -> None:
        """Take part in the barrier of each step, but not before the start-up time has passed.

        So a step without packets lasts as long as the start-up time.
        """
        for _ in range(self._problem["steps"]):
            self._simgrid.this_actor.sleep_for(self._problem["start_up"])
            self._barrier.wait()

    def _send(self, packet: Packet) -> None:
        """Send a packet as soon as the sender has its units, and deliver it."""
        self._wait_for_units(packet)
        ends = (self._hosts[packet.sender], self._hosts[packet.receiver])
        self._simgrid.Comm.sendto(*ends, self._bytes(packet))
        self._deliver(packet)

    def _put(self, packet: Packet) -> None:
        """Send a packet as soon as the sender has its units and the receiver is ready."""
        self._wait_for_units(packet)
        self._mailbox(packet).put(packet, self._bytes(packet))

    def _get(self, packet: Packet) -> None:
        """Receive a packet and deliver its units."""
        self._deliver(self._mailbox(packet).get())

    def _wait_for_units(self, packet: Packet) -> None:
        for unit, row in zip(packet.units, packet.rows, strict=True):
            while not self._holds(packet, unit, row):
                semaphore = self._simgrid.Semaphore(0)
                self._waiting[packet.sender, unit].append(semaphore)
                semaphore.acquire()

    def _holds(self, packet: Packet, unit: int, row: int) -> bool:
        """Return whether the sender has the unit or sum that a row sends.

        In the synchronous model, it must have received the unit in an earlier step.
        """
        if self._sums is not None and self._sums.are_ready(row):
            return True
        step = self._received.get((packet.sender, unit))
        return step is not None and not (self._synchronous and step >= packet.step)

    def _deliver(self, packet: Packet) -> None:
        now = self._simgrid.Engine.clock
        for unit, row in zip(packet.units, packet.rows, strict=True):
            if self._sums is None or not self._sums.add(row):
                self._received.setdefault((packet.receiver, unit), packet.step)
            for semaphore in self._waiting.pop((packet.receiver, unit), ()):
                semaphore.release()
        for row in packet.rows:
            self._ends[row] = now

    def _bytes(self, packet: Packet) -> int:
        return len(packet.units) * int(self._problem["per_unit"])

    def _mailbox(self, packet: Packet) -> Any:
        return self._simgrid.Mailbox.by_name(f"{packet.sender}-{packet.receiver}")


def execute_in_child(simgrid: Any, problem: dict[str, Any]) -> dict[str, Any]:
    """Execute a problem in a child process, and return the result of `Processes.run`."""
    context = multiprocessing.get_context("fork")
    receiving, sending = context.Pipe(duplex=False)
    child = context.Process(target=lambda: sending.send(Processes(simgrid, problem).run()))
    child.start()
    sending.close()
    result: dict[str, Any] = receiving.recv()  # raises EOFError if the child fails
    child.join()
    return result


def main() -> None:
    """Read problems from stdin, execute each and write the results to stdout."""
    try:
        import simgrid
    except ImportError as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(NOT_INSTALLED)
    problems = json.load(sys.stdin)
    json.dump([execute_in_child(simgrid, problem) for problem in problems], sys.stdout)


if __name__ == "__main__":
    main()
