"""Reading of schedules from GOAL files, written by `starcast.formats.goal` or other programs.

Files are not trusted: line lengths, numbers and the count of operations are limited, and errors
name the file and the line. The simulator, not this module, decides whether a schedule is valid.
"""

import re
from collections import defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, NamedTuple, NoReturn

import numpy as np

from starcast.collectives.columns import schedule_from_columns
from starcast.collectives.model import MAX_ROWS, Schedule, check_collective, check_ports
from starcast.judges.simulator.rows import Indices
from starcast.support.errors import InputError, LimitError, StarcastError, unreadable
from starcast.support.vocabulary import Collective, Ports
from starcast.topologies import Topology, as_topology

_MAX_LINE = 4096
_NUMBER = r"(\d{1,10})"
_NAME = r"([A-Za-z][A-Za-z0-9_]*)"
_RANKS = re.compile(rf"num_ranks\s+{_NUMBER}")
_RANK = re.compile(rf"rank\s+{_NUMBER}\s*\{{")
_PLACE = r"(?:\s+cpu\s+\d{1,3})?(?:\s+nic\s+\d{1,3})?"
_TRANSFER = re.compile(
    rf"(?:{_NAME}\s*:\s*)?(send|recv)\s+(\d{{1,19}})\s*b\s+(to|from)\s+{_NUMBER}"
    rf"(?:\s+tag\s+{_NUMBER})?{_PLACE}"
)
_CALCULATION = re.compile(rf"(?:{_NAME}\s*:\s*)?calc\s+\d{{1,19}}(?:\s+cpu\s+\d{{1,3}})?")
_REQUIREMENT = re.compile(rf"{_NAME}\s+(i?requires)\s+{_NAME}")
_ROW = re.compile(
    rf"//\s*unit\s+{_NUMBER}\s+tree\s+{_NUMBER}\s+step\s+{_NUMBER}(?:\s+combine\s+([01]))?"
)
_FORMS = "num_ranks, rank, send, recv, calc, requires, irequires, comments and }"


class _Row(NamedTuple):
    """A row of a schedule, read from a comment that starcast wrote before a packet's send."""

    unit: int
    tree: int
    step: int
    combine: int | None = None


@dataclass
class _Operation:
    """A send, a receive or a calculation, with the operations that must end or start before it."""

    kind: str
    line: int
    rank: int
    peer: int = -1
    size: int = 0
    tag: int = 0
    rows: list[_Row] = field(default_factory=list)
    requires: list[int] = field(default_factory=list)
    start_requires: list[int] = field(default_factory=list)


def schedule_from_goal(
    path: str | Path,
    topology: Topology | str,
    collective: Collective,
    ports: Ports = "all",
    root: int | str = 0,
) -> Schedule:
    """Read a schedule from a GOAL file whose ranks are the nodes of a topology.

    A file that starcast wrote has the units, trees and steps of its packets in comments. In other
    files, a send carries one unit, whose number is the tag. Its step follows from `requires`: it is
    the first step after all sends on which it depends. The schedule is not checked; check it with
    `starcast.simulate`.

    Args:
        path: the file.
        topology: the topology or its spec; the file must have a rank for every node.
        collective: the collective of the schedule, such as ``broadcast`` or ``allreduce``.
        ports: the port model: ``all`` or ``one``.
        root: rank or label of the root.

    Raises:
        InputError: the file cannot be read, is not GOAL, has a send without a matching receive, or
            sends between nodes that are not linked. The message names the file and the line.
        LimitError: the file has too many operations.
    """
    network = as_topology(topology)
    check_collective(collective)
    check_ports(ports)
    origin = network.node(root)
    reader = _Reader(str(path), network.nodes)
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - a device or a pipe is read as well
            operations = reader.read(file)
    except OSError as error:
        raise unreadable(path, error) from None
    columns = _columns(reader, network, operations)
    try:
        return schedule_from_columns(columns, network, collective, ports=ports, root=origin)
    except StarcastError as error:
        raise type(error)(f"{path}: {error.message}", hint=error.hint) from None


class _Reader:
    """Reads the operations of one file. Errors name a line, by default the last line read."""

    def __init__(self, path: str, nodes: int) -> None:
        self._path = path
        self._nodes = nodes
        self._line = 0
        self._rank: int | None = None
        self._names: dict[str, int] = {}
        self._rows: list[_Row] = []
        self._operations: list[_Operation] = []

    def read(self, file: BinaryIO) -> list[_Operation]:
        """Return all operations, which refer to one another by their positions in this list."""
        ranks: set[int] = set()
        has_count = False
        for text in self._lines(file):
            if text.startswith("//"):
                self._read_comment(text)
            elif match := _RANKS.fullmatch(text):
                has_count = True
                self._check_count(int(match[1]))
            elif match := _RANK.fullmatch(text):
                if not has_count:
                    self.fail("precedes 'num_ranks'", "begin the file with num_ranks")
                self._begin_rank(int(match[1]), ranks)
            elif text == "}" and self._rank is not None:
                self._end_rank()
            elif self._rank is None:
                self.fail(f"has '{text}' outside a rank", "write operations in rank N { ... }")
            else:
                self._read_operation(text, self._rank)
        if self._rank is not None:
            self.fail(f"ends within rank {self._rank}", "copy the file again: it is cut off")
        if len(ranks) < self._nodes:
            missing = min(set(range(self._nodes)) - ranks)
            raise InputError(
                f"{self._path} has no rank {missing}",
                hint=f"give all ranks from 0 to {self._nodes - 1}, also those without operations",
            )
        return self._operations

    def fail(self, problem: str, hint: str, line: int | None = None) -> NoReturn:
        """Raise an error that names the file and a line, by default the last line read."""
        raise InputError(f"{self._path}, line {line or self._line} {problem}", hint=hint)

    def _lines(self, file: BinaryIO) -> Iterator[str]:
        """Yield the stripped lines of a file, without empty lines and ``/* */`` comments."""
        inside = False
        while line := file.readline(_MAX_LINE + 1):
            self._line += 1
            if len(line) > _MAX_LINE:
                self.fail(f"has more than {_MAX_LINE} bytes", "give a GOAL file as text")
            try:
                text = line.decode("ascii").strip()
            except UnicodeDecodeError:
                self.fail("is not text", "give the text file, not the output of txt2bin")
            while inside or text.startswith("/*"):
                _, end, rest = text.partition("*/")
                inside = not end
                text = rest.strip()
                if inside:
                    break
            if text and not inside:
                yield text

    def _check_count(self, count: int) -> None:
        if count != self._nodes:
            self.fail(
                f"declares {count} ranks, but the topology has {self._nodes} nodes",
                "name the topology for which the file was written",
            )

    def _begin_rank(self, rank: int, ranks: set[int]) -> None:
        if self._rank is not None:
            self.fail(f"begins rank {rank} within rank {self._rank}", "end each rank with }")
        if rank >= self._nodes or rank in ranks:
            problem = "a second time" if rank in ranks else f"in a file of {self._nodes} ranks"
            self.fail(
                f"begins rank {rank} {problem}", f"give each rank from 0 to {self._nodes - 1} once"
            )
        ranks.add(rank)
        self._rank = rank

    def _end_rank(self) -> None:
        self._check_comments()
        self._rank = None
        # The labels of operations are local to a rank.
        self._names = {}

    def _read_comment(self, text: str) -> None:
        if match := _ROW.fullmatch(text):
            self._rows.append(_Row(*map(int, filter(None, match.groups()))))

    def _check_comments(self) -> None:
        if self._rows:
            self.fail(
                "is not the send that must follow the comments on the units of a packet",
                "write the send directly after its comments",
            )

    def _read_operation(self, text: str, rank: int) -> None:
        if match := _REQUIREMENT.fullmatch(text):
            first, kind, second = match.groups()
            operation = self._operations[self._named(first)]
            is_start = kind == "irequires"
            needs = operation.start_requires if is_start else operation.requires
            needs.append(self._named(second))
            return
        # A schedule of `MAX_ROWS` rows needs at most one send and one receive per row.
        if len(self._operations) == 2 * MAX_ROWS:
            raise LimitError(
                f"{self._path} has more than {2 * MAX_ROWS:,} operations",
                hint="use a smaller topology or fewer units",
            )
        if match := _TRANSFER.fullmatch(text):
            name, kind, size, preposition, peer, tag = match.groups()
            if (kind == "send") != (preposition == "to") or int(peer) >= self._nodes:
                self.fail(
                    f"has the invalid operation '{text}'",
                    f"write 'send ... to' or 'recv ... from' a rank from 0 to {self._nodes - 1}",
                )
            operation = _Operation(kind, self._line, rank, int(peer), int(size), int(tag or 0))
        elif match := _CALCULATION.fullmatch(text):
            name = match[1]
            operation = _Operation("calc", self._line, rank)
        else:
            self.fail(
                f"has the unsupported line '{text}'",
                f"use only {_FORMS}, with a source and a tag that are numbers",
            )
        if operation.kind == "send":
            operation.rows, self._rows = self._rows, []
        self._check_comments()
        if name is not None:
            if name in self._names:
                self.fail(
                    f"uses the label {name} a second time", "give each operation its own label"
                )
            self._names[name] = len(self._operations)
        self._operations.append(operation)

    def _named(self, name: str) -> int:
        if name not in self._names:
            self.fail(f"names the unknown label {name}", "define a label before it is required")
        return self._names[name]


def _columns(
    reader: _Reader, topology: Topology, operations: list[_Operation]
) -> dict[str, Indices]:
    """Return the columns of a schedule that has one row for each unit of each send."""
    receives = _match(reader, operations)
    sends = [number for number, operation in enumerate(operations) if operation.kind == "send"]
    described = [bool(operations[number].rows) for number in sends]
    # Comments and tags number the units differently, so a file cannot mix sends with and without
    # comments.
    if any(described) and not all(described):
        line = operations[sends[described.index(False)]].line
        reader.fail(
            "has a send without comments on its units, unlike other sends",
            "write such comments for all sends or for none",
            line,
        )
    steps = {} if all(described) else _derive_steps(reader, operations, receives)
    rows = []
    combine: list[int | None] = []
    for number in sends:
        send = operations[number]
        units = send.rows or [_Row(send.tag, 0, steps[number])]
        rows += [(row.step, send.rank, send.peer, row.tree, row.unit, send.line) for row in units]
        combine += [row.combine for row in units]
    table = np.array(rows, dtype=np.int64).reshape(-1, 6)
    step, sender, receiver, tree, unit, lines = table.T
    port = _find_ports(reader, topology, sender, receiver, lines)
    columns = (step, sender, port, receiver, tree, unit)
    names = ("step", "sender", "port", "receiver", "tree", "unit")
    found = dict(zip(names, columns, strict=True))
    if combine and None not in combine:
        found["combine"] = np.array(combine, dtype=np.int64)
    return found


def _match(reader: _Reader, operations: list[_Operation]) -> dict[int, int]:
    """Return a mapping from the number of each receive to the number of the matching send.

    A receive matches the first unmatched send with the same sender, receiver and tag.
    """
    waiting: dict[tuple[int, int, int], deque[int]] = defaultdict(deque)
    for number, operation in enumerate(operations):
        if operation.kind == "send":
            waiting[operation.rank, operation.peer, operation.tag].append(number)
    sends: dict[int, int] = {}
    for number, operation in enumerate(operations):
        if operation.kind == "recv":
            queue = waiting[operation.peer, operation.rank, operation.tag]
            if not queue or operations[queue[0]].size != operation.size:
                reader.fail(
                    f"receives {operation.size} bytes with the tag {operation.tag}, which rank "
                    f"{operation.peer} does not send",
                    "the file is damaged: write it again",
                    operation.line,
                )
            sends[number] = queue.popleft()
    left = [queue[0] for queue in waiting.values() if queue]
    if left:
        send = operations[min(left)]
        reader.fail(
            f"sends a packet to rank {send.peer}, which does not receive it",
            "the file is damaged: write it again",
            send.line,
        )
    return sends


def _derive_steps(
    reader: _Reader, operations: list[_Operation], sends: dict[int, int]
) -> dict[int, int]:
    """Return the step of each send: the first step after all sends on which it depends."""
    # For each operation, the operations that it waits for, and whether it only waits for their
    # start.
    before: list[list[tuple[int, bool]]] = [
        [
            *((needed, False) for needed in operation.requires),
            *((needed, True) for needed in operation.start_requires),
            *([(sends[number], False)] if number in sends else []),
        ]
        for number, operation in enumerate(operations)
    ]
    after: list[list[int]] = [[] for _ in operations]
    for number, needs in enumerate(before):
        for needed, _ in needs:
            after[needed].append(number)
    left = [len(needs) for needs in before]
    # Recursion could be too deep, because a chain of requirements can be as long as the file.
    ready = deque(number for number, count in enumerate(left) if not count)
    # For a send, its step. For another operation, the last step of the sends on which it depends.
    level = [0] * len(operations)
    done = 0
    while ready:
        number = ready.popleft()
        done += 1
        is_send = operations[number].kind == "send"
        level[number] = int(is_send)
        for needed, start_suffices in before[number]:
            is_later = is_send and not (start_suffices and operations[needed].kind == "send")
            level[number] = max(level[number], level[needed] + is_later)
        for following in after[number]:
            left[following] -= 1
            if not left[following]:
                ready.append(following)
    if done < len(operations):
        line = next(operations[number].line for number, count in enumerate(left) if count)
        reader.fail("requires an operation that waits for it", "remove the cycle", line)
    return {number: level[number] for number in range(len(operations))}


def _find_ports(
    reader: _Reader,
    topology: Topology,
    sender: Indices,
    receiver: Indices,
    line: Indices,
) -> Indices:
    ports = np.zeros(len(sender), dtype=np.int64)
    for port in topology.ports:
        ports[topology.neighbours(port, sender) == receiver] = port
    unlinked = np.flatnonzero(ports == 0)
    if len(unlinked):
        first = int(unlinked[0])
        reader.fail(
            f"sends from rank {sender[first]} to rank {receiver[first]}, which are not linked in "
            f"{topology.spec}",
            "name the topology for which the file was written",
            int(line[first]),
        )
    return ports
