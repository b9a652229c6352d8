"""Read schedules from GOAL files, written by starcast or other programs.

Operations are kept in arrays, because a file of a few megabytes can have a million operations.
"""

import re
from array import array
from collections import defaultdict, deque
from collections.abc import Iterator
from heapq import heapify, heappop, heappush
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, TextIO

import numpy as np

from starcast.collectives.columns import schedule_from_columns
from starcast.collectives.model import MAX_ROWS, REDUCTIONS, Schedule, check_request
from starcast.judges.simulator.rows import Indices, count_earlier, repeats_previous
from starcast.judges.simulator.simulation import execute
from starcast.support.errors import (
    InputError,
    LimitError,
    RejectedError,
    errors_in,
    unreadable,
)
from starcast.support.limited import invalid_utf16, open_lines
from starcast.support.text import with_article
from starcast.support.vocabulary import Collective, Ports
from starcast.topologies import Topology
from starcast.topologies.base import find_ports

_MAX_LINE = 4096
_NUMBER = r"(\d{1,10})"
_LONG = r"(\d{1,19})"
_NAME = r"([A-Za-z][A-Za-z0-9_]*)"
_CPU, _NIC = r"(?:\s+cpu\s+\d{1,3})?", r"(?:\s+nic\s+\d{1,3})?"
_RANKS = re.compile(rf"num_ranks\s+{_NUMBER}")
_RANK = re.compile(rf"rank\s+{_NUMBER}\s*\{{")
_OPERATION = re.compile(
    rf"(?:{_NAME}\s*:\s*)?(?:calc\s+\d{{1,19}}{_CPU}"
    rf"|(send|recv)\s+{_LONG}\s*b\s+(to|from)\s+{_NUMBER}(?:\s+tag\s+{_LONG})?{_CPU}{_NIC})"
)
_REQUIREMENT = re.compile(rf"{_NAME}\s+(i?requires)\s+{_NAME}")
_ROW = re.compile(
    rf"//\s*unit\s+{_NUMBER}\s+tree\s+{_NUMBER}\s+step\s+{_NUMBER}(?:\s+combine\s+([01]))?"
)
_HINT = (
    "use only num_ranks, rank, send, recv, calc, requires, irequires, comments and }, with numbers "
    "as sources and tags; if the file uses nothing else, write it again"
)
_DAMAGED = "the file is damaged: write it again"
_OTHER_TOPOLOGY = "name the topology for which the file was written"
_CALC, _SEND, _RECEIVE = range(3)


class _OperationTable(NamedTuple):
    """The operations of a file as columns.

    One object per operation would take ten times as much memory as columns.

    Attributes:
        kind: `_CALC`, `_SEND` or `_RECEIVE`.
        line: the number of the operation's line in the file.
        rank: the rank that executes the operation.
        peer: the rank at the other end: the destination of a send, the source of a receive.
        size: the number of bytes that a send or receive transfers.
        tag: the tag, by which receives are matched with sends.
    """

    kind: Any
    line: Any
    rank: Any
    peer: Any
    size: Any
    tag: Any


def schedule_from_goal(
    path: str | Path,
    topology: Topology | str,
    collective: Collective,
    ports: Ports = "all",
    root: int | str = 0,
) -> Schedule:
    """Read a schedule from a GOAL file whose ranks are the nodes of a topology.

    A file that starcast wrote has the units, trees and steps of its packets in comments. In other
    files, a send carries one unit, and `requires` determines its step: the first step after all
    sends on which the send depends. In the one-port model, the step may be later, because a node
    sends and receives at most one packet per step.

    A file without comments does not name the unit that a send carries, and its tags need not be
    unit numbers. Units are therefore derived from the sends:

    * If every message goes directly from its source to its destination, each send is a unit.
    * Otherwise, sends with the same tag carry the same unit: along a path to its destination in a
      gather, scatter or alltoall, and along a tree in an allgather and a broadcast.
    * If tags do not distinguish the units of a broadcast, each node is assumed to receive the units
      in the order of tags and steps.

    Args:
        path: the path of the file to read.
        topology: the topology or its spec; the file must have a rank for every node.
        collective: the collective of the schedule, such as ``broadcast`` or ``allreduce``.
        ports: the port model: ``all`` or ``one``.
        root: rank or label of the root.

    Raises:
        InputError: the file cannot be read, is not a GOAL file, has a send without a matching
            receive, sends between nodes that are not linked, or lacks necessary comments.
            Comments with units are necessary for a reduction, and if the sends do not determine the
            units. The message names file and line.
        LimitError: the file has too many operations.
        RejectedError: the file has no comments, and its sends do not form the collective, for
            example because a node sends a unit that it does not have.
    """
    network, origin = check_request(topology, collective, ports, root)
    reader = _Reader(str(path), network, collective, ports, origin)
    try:
        with open_lines(path) as file:
            reader.read(file)
    except OSError as error:
        raise unreadable(path, error) from None
    except UnicodeError:
        raise invalid_utf16(path) from None
    columns = reader.columns()
    with errors_in(path):
        schedule = schedule_from_columns(columns, network, collective, ports=ports, root=origin)
        if reader.has_comments:
            return schedule
        result = execute(schedule).simulation
        if result.violation is None and (result.complete or reader.is_certain):
            return schedule
    kind = RejectedError if reader.is_certain else InputError
    problem = result.violation or "node {} does not receive unit {}".format(*result.undelivered[0])
    raise kind(
        f"{path}: if the units are derived from tags or addresses, the sends are not "
        f"{with_article(collective)} with the root {network.label(origin)}: {problem}",
        hint="specify the collective and root of the file, or write comments on the units",
    )


def _view(values: Any) -> memoryview:
    """Return a memory view of an array; mypy on Python 3.11 does not accept arrays as buffers."""
    return memoryview(values)


class _Reader:
    """Reads the operations of one GOAL file, and numbers them in the order of the file.

    Files are not trusted: line lengths, numbers and the count of operations are limited. The
    simulator, not this class, decides whether a schedule is valid.
    """

    def __init__(
        self, path: str, topology: Topology, collective: Collective, ports: Ports, root: int
    ) -> None:
        #: Whether comments, tags or addresses determine the unit of each send. Otherwise, the units
        #: are a guess.
        self.is_certain = True
        #: Whether the units, trees and steps of all sends are written in comments.
        self.has_comments = True
        self._path = path
        self._topology = topology
        self._collective = collective
        self._ports = ports
        self._root = root
        self._line = 0
        # The numbers of the current rank's operations, by label. Labels are local to a rank.
        self._names: dict[str, int] = {}
        self._operations = _OperationTable(*(array(code) for code in "bqqqQQ"))
        # Five numbers for each comment on a unit: operation, unit, tree, step, combine (or -1).
        self._rows = array("q")
        # Three numbers for each requirement: the waiting operation, the required operation, and a
        # flag: 1 if the required operation only has to start, 0 if it has to end.
        self._requirements = array("q")
        self._expects_send = False

    def read(self, file: TextIO) -> None:
        """Read all operations of an open GOAL file."""
        nodes = self._topology.nodes
        ranks: set[int] = set()
        rank: int | None = None
        has_count = False
        for text in self._lines(file):
            if text.startswith("//"):
                if match := _ROW.fullmatch(text):
                    unit, tree, step, combine = match.groups(default="-1")
                    number = len(self._operations.kind)
                    self._rows.extend((number, int(unit), int(tree), int(step), int(combine)))
                    self._expects_send = True
            elif match := _RANKS.fullmatch(text):
                has_count = True
                if int(match[1]) != nodes:
                    problem = f"declares {match[1]} ranks, but the topology has {nodes} nodes"
                    self.fail(problem, hint=_OTHER_TOPOLOGY)
            elif rank is None:
                match = _RANK.fullmatch(text)
                if match and not has_count:
                    self.fail("precedes 'num_ranks'", hint="begin the file with num_ranks")
                rank = int(match[1]) if match else nodes
                if rank >= nodes or rank in ranks:
                    self._fail_at(text)
                ranks.add(rank)
                self._names = {}
            elif text == "}" and not self._expects_send:
                rank = None
            elif not self._read_operation(text, rank):
                self._fail_at(text)
        if rank is not None or len(ranks) < nodes:
            missing = min({*range(nodes)} - ranks) if rank is None else rank
            self.fail(
                f"is the end of the file, but rank {missing} is not complete",
                hint=f"write all ranks, 0 to {nodes - 1}; if the file is truncated, copy it again",
            )

    def fail(self, problem: str, line: int | None = None, hint: str = _HINT) -> NoReturn:
        """Raise an error that names the file and a line, by default the last line read."""
        raise InputError(f"{self._path}, line {line or self._line} {problem}", hint=hint)

    def _fail_at(self, text: str) -> NoReturn:
        self.fail(f"is damaged, misplaced or not supported: '{text}'")

    def _lines(self, file: TextIO) -> Iterator[str]:
        """Yield stripped non-empty lines without comments, but with lines that begin with //."""
        inside = False
        while line := file.readline(_MAX_LINE + 1):
            self._line += 1
            if len(line) > _MAX_LINE or not line.isascii():
                self.fail(
                    f"is not text, or has more than {_MAX_LINE} bytes",
                    hint="use the text file, not the output of txt2bin",
                )
            text = line.strip()
            while inside or text.startswith("/*"):
                _, end, rest = (text if inside else text[2:]).partition("*/")
                inside = not end
                text = rest.strip()
                if inside:
                    break
            if not text.startswith("//"):
                text = text.partition("//")[0].strip()
            if text and not inside:
                yield text

    def _read_operation(self, text: str, rank: int) -> bool:
        """Read an operation or requirement of a rank; return False if the line is invalid."""
        if match := _REQUIREMENT.fullmatch(text):
            first, word, second = match.groups()
            if first not in self._names or second not in self._names:
                return False
            numbers = self._names[first], self._names[second]
            self._requirements.extend((*numbers, word == "irequires"))
            return True
        match = _OPERATION.fullmatch(text)
        if match is None:
            return False
        number = len(self._operations.kind)
        # A schedule of `MAX_ROWS` rows needs at most one send and one receive per row.
        if number == 2 * MAX_ROWS:
            raise LimitError(
                f"{self._path} has more than {2 * MAX_ROWS:,} operations",
                hint="use a smaller topology or fewer units",
            )
        name, word, size, preposition, peer, tag = match.groups()
        kind = {None: _CALC, "send": _SEND, "recv": _RECEIVE}[word]
        is_misdirected = word is not None and (word == "send") != (preposition == "to")
        # After comments on units, the send of these units must follow.
        is_misplaced = self._expects_send and kind != _SEND
        if is_misdirected or is_misplaced or name in self._names:
            return False
        if kind != _CALC and int(peer) >= self._topology.nodes:
            return False
        self._expects_send = False
        if name is not None:
            self._names[name] = number
        values = (kind, self._line, rank, int(peer or 0), int(size or 0), int(tag or 0))
        for column, value in zip(self._operations, values, strict=True):
            column.append(value)
        return True

    def columns(self) -> dict[str, Indices]:
        """Return the columns of the schedule by name, with a row for each unit of each send."""
        operations = _OperationTable(*map(np.asarray, self._operations))
        sends, receives = self._match(operations)
        rows = np.asarray(self._rows).reshape(-1, 5)
        unlike = np.setdiff1d(sends, rows[:, 0])
        # Comments and tags number the units differently, so a file cannot mix sends with and
        # without comments.
        if 0 < len(unlike) < len(sends):
            self.fail(
                "has a send without comments on its units, unlike other sends",
                int(operations.line[unlike[0]]),
                "write such comments for all sends or for none",
            )
        number, unit, tree, step, combine = rows.T
        if len(unlike) and self._collective in REDUCTIONS:
            self.fail(
                f"has a send without comments on its units; {with_article(self._collective)} adds"
                " data, which GOAL files do not contain",
                int(operations.line[unlike[0]]),
                "write a line such as '// unit 0 tree 0 step 1 combine 1' before each send",
            )
        if len(unlike):
            self.has_comments = False
            number = np.sort(sends)
            step = self._derive_steps(operations, sends, receives)[number]
            unit = self._derive_units(operations, number, step)
            tree = np.zeros_like(number)
            combine = np.full_like(number, -1)
        sender, receiver = operations.rank[number], operations.peer[number]
        found = {
            "step": step,
            "sender": sender,
            "port": self._find_ports(sender, receiver, operations.line[number]),
            "receiver": receiver,
            "tree": tree,
            "unit": unit,
        }
        if len(combine) and combine.min() >= 0:
            found["combine"] = combine
        return found

    def _derive_units(self, operations: _OperationTable, sends: Indices, step: Indices) -> Indices:
        """Return each send's unit in a file without comments, as `schedule_from_goal` describes."""
        sender, receiver = operations.rank[sends], operations.peer[sends]
        _, tag = np.unique(operations.tag[sends], return_inverse=True)
        if self._collective == "broadcast":
            counts = np.bincount(receiver)
            counts = counts[counts > 0]
            pairs = np.unique(np.stack([receiver, tag]), axis=1).shape[1]
            is_shared = len(tag) > len(counts) == 1 or int(np.bincount(tag).max(initial=0)) > 1
            if pairs == len(tag) and is_shared:
                return tag
            self.is_certain = int(counts.max(initial=0)) < 2
            order = np.lexsort((step, tag, receiver))
            tag[order] = np.arange(len(tag)) - np.repeat(np.cumsum(counts) - counts, counts)
            return tag
        nodes = self._topology.endpoints
        if (ends := self._trace_tags(sender, receiver, tag)) is not None:
            message, (source, destination) = tag, ends
        elif self._is_direct(sender, receiver):
            sizes = np.unique(operations.size[sends])
            message, source, destination = np.arange(len(tag)), sender, receiver
            _, counts = np.unique(sender * nodes + receiver, return_counts=True)
            # With different counts or sizes, some sends may forward units of other nodes.
            self.is_certain = len(np.unique(counts)) == len(sizes) == 1
        else:
            self.fail(
                f"has a send of an unknown unit: the sends are not "
                f"{with_article(self._collective)} in which tags or addresses identify the units",
                int(operations.line[sends[0]]),
                "use one tag for each unit, or comments such as '// unit 0 tree 0 step 1'",
            )
        turn = count_earlier(source * nodes + destination)
        key = {"scatter": destination, "alltoall": source * nodes + destination}
        first = key.get(self._collective, source) * (turn.max(initial=0) + 1)
        return np.asarray((first + turn)[message], dtype=np.int64)

    def _trace_tags(
        self, sender: Indices, receiver: Indices, tag: Indices
    ) -> tuple[Indices, Indices] | None:
        """Return the source and destination of each tag; None if a tag does not identify one unit.

        A tag identifies one unit if the sends with this tag form a path to the destination or, in
        an allgather, a tree. The result is also None if the ends of the paths do not fit the
        collective. In an allgather, 0 is returned as the destination of every tag.
        """
        nodes = self._topology.nodes
        sent, received = tag * nodes + sender, tag * nodes + receiver
        tags, source = np.divmod(np.setdiff1d(sent, received), nodes)
        ended, destination = np.divmod(np.setdiff1d(received, sent), nodes)
        each = np.unique(tag)
        is_tree = len(np.unique(received)) == len(tag) > len(each) and np.array_equal(tags, each)
        if self._collective == "allgather":
            is_all = is_tree and np.array_equal(np.unique(source), range(self._topology.endpoints))
            return (source, np.zeros_like(source)) if is_all else None
        is_path = is_tree and len(np.unique(sent)) == len(tag) and np.array_equal(ended, each)
        # A switch neither sends nor receives units of its own.
        if max(source.max(initial=0), destination.max(initial=0)) >= self._topology.endpoints:
            return None
        root = {"gather": destination, "scatter": source}.get(self._collective, self._root)
        return (source, destination) if is_path and np.all(root == self._root) else None

    def _is_direct(self, sender: Indices, receiver: Indices) -> bool:
        """Return whether every message seems to go directly from its source to its destination."""
        if max(sender.max(), receiver.max()) >= self._topology.endpoints:
            return False
        if self._collective in ("gather", "scatter"):
            ends = receiver if self._collective == "gather" else sender
            return bool((ends == self._root).all())
        nodes = self._topology.nodes
        # A direct exchange has a send for every ordered pair of endpoints. If more than three
        # quarters of the pairs have one, the file is treated as a direct exchange with missing
        # sends. Exchanges of four nodes that forward units in two steps have sends for only two
        # thirds of the pairs.
        count = self._topology.endpoints
        return 4 * len(np.unique(sender * nodes + receiver)) > 3 * count * (count - 1)

    def _match(self, operations: _OperationTable) -> tuple[Indices, Indices]:
        """Match sends with receives, and return the indices of both as parallel arrays.

        A receive matches the first unmatched send with the same sender, receiver and tag.

        Raises:
            InputError: a send or receive has no match, or its match has another size.
        """
        kind, line, rank, peer, size, tag = operations
        moves = np.flatnonzero(kind)
        receives = kind[moves] == _RECEIVE
        sender = np.where(receives, peer[moves], rank[moves])
        receiver = np.where(receives, rank[moves], peer[moves])
        keys = [receives, tag[moves], receiver, sender]
        keys.insert(1, count_earlier(*keys))
        order = np.lexsort(keys)
        second = np.flatnonzero(repeats_previous(*(key[order] for key in keys[1:])))
        pairs = moves[np.stack([order[second - 1], order[second]])]
        sent, received = pairs[:, size[pairs[0]] == size[pairs[1]]]
        left = np.setdiff1d(moves, np.concatenate([sent, received]))
        if len(lost := left[kind[left] == _RECEIVE]):
            number = lost[0]
            self.fail(
                f"receives {size[number]} bytes with the tag {tag[number]}, which rank "
                f"{peer[number]} does not send",
                int(line[number]),
                _DAMAGED,
            )
        if len(left):
            problem = f"sends a packet to rank {peer[left[0]]}, which does not receive it"
            self.fail(problem, int(line[left[0]]), _DAMAGED)
        return sent, received

    def _derive_steps(
        self, operations: _OperationTable, sends: Indices, receives: Indices
    ) -> Indices:
        """Return the step of each send, the first step after all sends on which the send depends.

        In the one-port model, a node sends one packet per step, in the order in which its sends can
        begin, then in the order of the file; a packet waits until its receiver has a free step. For
        an operation that is not a send, the result is the last step of the sends on which it
        depends.
        """
        count = len(operations.kind)
        arrivals = np.stack([receives, sends, np.zeros_like(sends)], axis=1)
        requirements = np.concatenate([np.asarray(self._requirements).reshape(-1, 3), arrivals])
        waiting, needed, start_suffices = requirements[np.argsort(requirements[:, 1])].T
        is_send = operations.kind == _SEND
        later = is_send[waiting] & ~(start_suffices.astype(bool) & is_send[needed])
        level: Indices = is_send.astype(np.int64)
        left = np.bincount(waiting, minlength=count)
        # Views, unlike lists, do not need an object for each number.
        levels, lefts, sending = _view(level), _view(left), _view(is_send)
        begins = _view(np.searchsorted(needed, np.arange(count + 1)))
        followers, delays = _view(waiting.copy()), _view(later)
        sender, receiver = _view(operations.rank), _view(operations.peer)
        sent, received = (array("q", bytes(8 * self._topology.nodes)) for _ in range(2))
        #: For each node, in the one-port model, the sends that could begin but wait for their turn.
        queues: dict[int, deque[int]] = defaultdict(deque)
        # A heap of the operations that can begin; the keys are sorted by step, then by number.
        ready = [levels[number] * count + number for number in np.flatnonzero(left == 0).tolist()]
        heapify(ready)
        done = 0
        while ready:
            now, number = divmod(heappop(ready), count)
            if self._ports == "one" and sending[number]:
                start, end = sender[number], receiver[number]
                queue = queues[start]
                if not queue or queue[0] != number:
                    queue.append(number)
                if queue[0] != number:
                    continue
                if sent[start] >= now:
                    heappush(ready, (sent[start] + 1) * count + number)
                    continue
                step = max(now, received[end] + 1)
                sent[start] = received[end] = levels[number] = step
                queue.popleft()
                if queue:
                    heappush(ready, (step + 1) * count + queue[0])
            done += 1
            for each in range(begins[number], begins[number + 1]):
                following = followers[each]
                levels[following] = max(levels[following], levels[number] + delays[each])
                lefts[following] -= 1
                if not lefts[following]:
                    heappush(ready, levels[following] * count + following)
        if done < count:
            line = int(operations.line[np.flatnonzero(left)[0]])
            self.fail("waits forever, because requirements form a cycle", line, "remove the cycle")
        return level

    def _find_ports(self, sender: Indices, receiver: Indices, line: Indices) -> Indices:
        ports = find_ports(self._topology, sender, receiver).astype(np.int64)
        for row in np.flatnonzero(ports == 0).tolist():
            problem = f"sends from rank {sender[row]} to rank {receiver[row]}, which are not linked"
            self.fail(f"{problem} in {self._topology.spec}", int(line[row]), _OTHER_TOPOLOGY)
        return ports
