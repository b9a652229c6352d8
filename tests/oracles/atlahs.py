"""Replay of GOAL files by the rules of LogGOPSim in ATLAHS (spcl/atlahs 8837294).

Every rank has one clock per CPU and two clocks per network interface, one for sending and one for
receiving. An operation can start when all operations that it requires have ended, on any CPU. The
LogGOPS parameters L, o and O are 0, and all messages are eager. Simultaneous events are processed
in random order, since LogGOPSim's heap does not define their order.
"""

import heapq
import random
import re
from collections import defaultdict
from dataclasses import dataclass, field

_LINE = re.compile(
    r"(\w+): (send|recv) (\d+)b (?:to|from) (\d+) tag (\d+)(?: cpu (\d+))?(?: nic (\d+))?"
)


@dataclass
class Operation:
    """A send or receive operation.

    ``left`` is the number of required operations that have not ended yet. All other required
    operations have ended at time ``free`` or earlier.
    """

    rank: int
    kind: str
    size: int
    peer: int
    tag: int
    cpu: int
    nic: int
    left: int = 0
    free: int = 0
    needed_by: list["Operation"] = field(default_factory=list)


def read(text: str) -> list[Operation]:
    """Return the operations of a GOAL file."""
    operations: list[Operation] = []
    names: dict[str, Operation] = {}
    rank = -1
    for line in text.splitlines():
        if line.startswith("rank"):
            rank = int(line.split()[1])
        elif match := _LINE.fullmatch(line):
            name, kind, *texts = match.groups()
            size, peer, tag, cpu, nic = (int(text or 0) for text in texts)
            names[name] = Operation(rank, kind, size, peer, tag, cpu, nic)
            operations.append(names[name])
        elif " requires " in line:
            name, _, needed = line.split()
            names[name].left += 1
            names[needed].needed_by.append(names[name])
    return operations


def finishing_time(text: str, gap: int, gap_per_byte: int, seed: int = 0) -> int:
    """Return the time at which the last CPU finishes.

    The options of LogGOPSim are ``-g gap -G gap_per_byte -L 0 -o 0``.

    The seed determines the order of simultaneous events.
    """
    order = random.Random(seed)  # noqa: S311
    cpu: dict[tuple[int, int], int] = defaultdict(int)
    sending: dict[tuple[int, int], int] = defaultdict(int)
    receiving: dict[tuple[int, int], int] = defaultdict(int)
    posted: dict[tuple[int, int, int], Operation] = {}
    arrived: set[tuple[int, int, int]] = set()
    events: list[tuple[int, float, int, str, Operation]] = []

    def push(time: int, kind: str, operation: Operation) -> None:
        heapq.heappush(events, (time, order.random(), len(events), kind, operation))

    def finish(operation: Operation, time: int) -> None:
        for other in operation.needed_by:
            other.free = max(other.free, time)
            other.left -= 1
            if not other.left:
                push(other.free, other.kind, other)

    operations = read(text)
    for operation in operations:
        if not operation.left:
            push(0, operation.kind, operation)
    ended = 0
    while events:
        time, _, _, kind, operation = heapq.heappop(events)
        rank, own = operation.rank, (operation.rank, operation.cpu)
        if kind == "send":
            wire = rank, operation.nic
            ready = max(cpu[own], sending[wire])
            if ready > time:
                push(ready, "send", operation)
                continue
            cpu[own] = time
            spread = (operation.size - 1) * gap_per_byte
            sending[wire] = time + gap + spread
            push(time + spread, "message", operation)
            finish(operation, time)
        elif kind == "recv":
            key = operation.peer, rank, operation.tag
            if key not in arrived:
                posted[key] = operation
                continue
            # LogGOPSim's source uses the clock for sending here, not the one for receiving.
            wire = rank, operation.nic
            receiving[wire] = cpu[own] = max(sending[wire], time) + gap
            finish(operation, cpu[own])
            ended += 1
        else:
            key = rank, operation.peer, operation.tag
            if key not in posted:
                arrived.add(key)
                continue
            receive = posted[key]
            own = receive.rank, receive.cpu
            # A message arrives at the interface that has the same number as the sender's.
            wire = receive.rank, operation.nic
            ready = max(cpu[own], receiving[wire])
            if ready > time:
                push(ready, "message", operation)
                continue
            receiving[wire] = cpu[own] = time + gap
            finish(receive, cpu[own])
            ended += 1
    assert 2 * ended == len(operations)
    return max(cpu.values())
