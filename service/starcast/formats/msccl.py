"""Export to MSCCL XML, the format of algorithms that MSCCL and RCCL execute on GPUs.

A node becomes a GPU, and a unit becomes a chunk. For each direction of a link, a thread block at
one end sends the chunks in the order of the schedule, and a thread block at the other end receives
them. A send waits for the receive that brought its chunk. Chunks in transit are kept in the scratch
buffer. In a reduction, a receive that adds (``rrc``) reads a partial sum and writes the next
partial sum to a separate chunk, so that no chunk is overwritten before it is sent. A send also has
the ``step`` and ``tree`` of its row as attributes, for `starcast.schedule_from_msccl`; other
parsers ignore them.

Reference: ``src/include/msccl.h`` and ``src/graph/xml.h`` of microsoft/msccl; M. Cowan et al.,
"MSCCLang: Microsoft Collective Communication Language", ASPLOS 2023.
"""

from collections import Counter
from collections.abc import Iterator
from html import escape
from itertools import groupby
from typing import NamedTuple

import numpy as np

from starcast.collectives.model import MULTI_SOURCE
from starcast.judges.simulator.dependencies import find_deliveries
from starcast.judges.simulator.rows import Rows, count_earlier
from starcast.support.errors import InputError, LimitError
from starcast.support.vocabulary import Collective
from starcast.topologies import Topology


class RuntimeLimits(NamedTuple):
    """Limits of MSCCL or RCCL: channels, steps per thread block, and thread blocks per rank."""

    channels: int
    steps: int
    blocks: int


#: The limits of each runtime, by name. A file is read if each number is within the limit of at
#: least one runtime; exported files are for MSCCL. Sources: ``src/include/msccl.h`` and
#: ``devcomm.h`` of microsoft/msccl; ``src/include/msccl/msccl_struct.h`` and ``device.h`` of
#: ROCm/rccl.
RUNTIMES = {"MSCCL": RuntimeLimits(32, 256, 216), "RCCL": RuntimeLimits(128, 64, 64)}
MAX_CHANNELS, MAX_STEPS, MAX_BLOCKS = RUNTIMES["MSCCL"]
#: Maximum number of XML elements that a rank can parse. Each rank parses the entire file, but skips
#: the thread blocks of other GPUs.
MAX_ELEMENTS = 4096
#: Maximum number of children of an XML element.
MAX_CHILDREN = 1024
MAX_CHUNKS_PER_STEP = 71
#: Limits due to the widths of MSCCL's fields, without the sign bit: 7 bits for the number of a
#: thread block that a step depends on, and 15 bits for an offset in a buffer.
MAX_DEPENDED_BLOCKS = 2**7
MAX_OFFSET = 2**15 - 1
#: Maximum number of sends of a thread block on one channel. One step of the thread block is
#: reserved to wait for the previous channel.
_SENDS_PER_CHANNEL = MAX_STEPS - 1
_MAX_NAME = 63
#: The largest message, in bytes, for which MSCCL may use the algorithm: in practice, no limit.
_MAX_BYTES = 2**62

#: Collectives in which a buffer contains one message, an entire vector. In the other collectives, a
#: buffer can contain a message for each rank.
VECTORS: tuple[Collective, ...] = ("broadcast", "reduce", "allreduce")

_NO_BUFFERS = 'srcbuf="i" srcoff="-1" dstbuf="o" dstoff="-1"'
_HINT = "use a smaller topology, or fewer segments or messages"


class _Place(NamedTuple):
    """The place of a chunk: an offset in buffer ``i`` (input), ``o`` (output), ``s`` (scratch)."""

    buffer: str
    offset: int


class Buffer(NamedTuple):
    """The units in an input or output buffer, given by their numbers.

    A buffer consists of messages of equal size; the units of a message have consecutive numbers.

    Attributes:
        first: the first unit of the first message.
        stride: the difference between the first units of successive messages.
        messages: the number of messages.
        units: the number of units in a message.
    """

    first: int
    stride: int
    messages: int
    units: int

    @property
    def chunks(self) -> int:
        """The number of chunks in the buffer, one for each unit."""
        return self.messages * self.units

    def unit(self, offset: int) -> int:
        """Return the unit in the chunk at the given offset."""
        message, index = divmod(offset, self.units)
        return self.first + message * self.stride + index

    def offset(self, unit: int) -> int | None:
        """Return the offset of a unit's chunk, or None if the unit is not in the buffer."""
        message, index = divmod(unit - self.first, self.stride)
        is_inside = 0 <= message < self.messages and index < self.units
        return message * self.units + index if is_inside else None


def lay_out(
    collective: Collective, nodes: int, units: int, root: int, rank: int
) -> tuple[Buffer, Buffer]:
    """Return the input and output buffers of a rank; each message has ``units`` units.

    A rank that contributes nothing has an empty input buffer. A rank that receives no result has an
    empty output buffer.
    """
    message = Buffer(rank * units, units, 1, units)
    all_messages = Buffer(0, units, nodes, units)
    vector = Buffer(0, units, 1, units)
    nothing = Buffer(0, units, 0, units)
    match collective:
        case "broadcast":
            return vector if rank == root else nothing, vector
        case "allgather":
            return message, all_messages
        case "scatter":
            return all_messages if rank == root else nothing, message
        case "gather":
            return message, all_messages if rank == root else nothing
        case "alltoall":
            sent = Buffer(rank * nodes * units, units, nodes, units)
            return sent, Buffer(rank * units, nodes * units, nodes, units)
        case "reduce-scatter":
            return all_messages, message
        case "reduce" | "allreduce":
            return vector, vector if collective == "allreduce" or rank == root else nothing


class _Copy(NamedTuple):
    """Consecutive chunks to copy from input offset `source` to output offset `target`."""

    source: int
    target: int
    chunks: int


def check_no_switches(topology: Topology) -> None:
    """Check that all nodes of a topology can be GPUs.

    Raises:
        InputError: some nodes are switches.
    """
    if topology.endpoints < topology.nodes:
        raise InputError(
            f"{topology.spec} has switches, but MSCCL files describe only GPUs",
            hint="use the format csv, or goal with the port model all",
        )


def write_msccl(rows: Rows) -> Iterator[str]:
    """Yield the parts of an MSCCL XML file.

    There is no XML declaration, because MSCCL's parsers do not support it.

    Raises:
        InputError: the topology has switches.
        LimitError: the file would exceed a limit of MSCCL.
    """
    schedule = rows.schedule
    check_no_switches(schedule.topology)
    nodes = schedule.topology.nodes
    if nodes > MAX_CHILDREN:
        raise LimitError(
            f"{schedule.topology.spec} has {nodes:,} nodes; MSCCL XML supports at most "
            f"{MAX_CHILDREN:,} GPUs",
            hint="use a smaller topology",
        )
    program = _Program(rows)
    # All GPUs are rendered before the first line is written: if a limit is exceeded, no incomplete
    # file is left.
    blocks = [program.write_gpu(rank) for rank in range(nodes)]
    yield (
        f'<algo name="{escape(schedule.id[:_MAX_NAME])}" proto="Simple" '
        f'nchannels="{program.channels}" '
        f'nchunksperloop="{program.loop}" ngpus="{nodes}" '
        f'coll="{schedule.collective.replace("-", "_")}" inplace="0" outofplace="1" '
        f'minBytes="0" maxBytes="{_MAX_BYTES}">\n'
    )
    yield from blocks
    yield "</algo>\n"


class _Program:
    """The thread blocks of a schedule, written as XML text."""

    def __init__(self, rows: Rows) -> None:
        schedule = rows.schedule
        self._schedule = schedule
        self._ranks = schedule.topology.nodes
        self._chunks = schedule.message_units
        has_parts = schedule.collective in MULTI_SOURCE and schedule.collective not in VECTORS
        self.loop = self._chunks * (self._ranks if has_parts else 1)
        self._buffers = [
            lay_out(schedule.collective, self._ranks, self._chunks, schedule.root, rank)
            for rank in range(self._ranks)
        ]
        # For each row, the number of earlier rows on the same link; rows are in the order of steps.
        place = count_earlier(rows.sender, rows.port)
        longest = int(place.max(initial=-1)) + 1
        self.channels = max(1, -(-longest // _SENDS_PER_CHANNEL))
        if self.channels > MAX_CHANNELS:
            raise LimitError(
                f"a link carries {longest:,} units, which need {self.channels} channels of "
                f"{_SENDS_PER_CHANNEL} sends; MSCCL XML supports at most {MAX_CHANNELS} channels",
                hint=_HINT,
            )
        self._channel = (place // _SENDS_PER_CHANNEL).tolist()
        self._step = (place % _SENDS_PER_CHANNEL).tolist()
        self._sender = rows.sender.tolist()
        self._receiver = rows.receiver.tolist()
        self._unit = rows.unit.tolist()
        self._row = [
            f' step="{step}" tree="{tree}"'
            for step, tree in zip(rows.step.tolist(), rows.tree.tolist(), strict=True)
        ]
        self._reduces = rows.combine is not None
        self._adds = [False] * len(rows) if rows.combine is None else rows.combine.tolist()
        self._delivery, self._addend, self._partial = _follow_chunks(rows)
        self._needed = {*self._delivery, *self._addend}
        self._targets = self._place_chunks()
        self._text = self._write_buffers(self._sender, self._delivery)
        self._add_text = self._write_buffers(self._receiver, self._addend)
        self._sends = _group(self._sender, self._ranks)
        self._receives = _group(self._receiver, self._ranks)

    def write_gpu(self, rank: int) -> str:
        """Return the XML element of a GPU.

        Raises:
            LimitError: the GPU's program would exceed a limit of MSCCL.
        """
        receives = self._blocks(self._receives[rank], self._sender)
        sends = self._blocks(self._sends[rank], self._receiver)
        numbers = {("r", *key): number for number, key in enumerate(receives)}
        numbers |= {("s", *key): len(receives) + number for number, key in enumerate(sends)}
        self._last_steps: dict[int, int] = {}
        elements = [self._receive_block(numbers, key, rows) for key, rows in receives.items()]
        elements += [
            self._send_block(numbers, key, rows, is_last=(key[0], key[1] + 1) not in sends)
            for key, rows in sends.items()
        ]
        copy = self._copy(rank)
        if copy.chunks:
            elements.append(_copy_block(len(elements), copy))
        self._check(rank, elements, copy)
        inputs, outputs = self._buffers[rank]
        return (
            f'  <gpu id="{rank}" i_chunks="{inputs.chunks}" o_chunks="{outputs.chunks}" '
            f's_chunks="{self._scratch_sizes[rank]}">\n' + "".join(elements) + "  </gpu>\n"
        )

    def _check(self, rank: int, blocks: list[str], copy: _Copy) -> None:
        """Check that the program of a GPU is within the limits of MSCCL."""
        subject = f"node {self._schedule.topology.label(rank)} of {self._schedule.id} needs"
        if len(blocks) > min(MAX_BLOCKS, MAX_DEPENDED_BLOCKS):
            raise LimitError(
                f"{subject} {len(blocks)} thread blocks; MSCCL XML supports at most "
                f"{MAX_DEPENDED_BLOCKS} that depend on each other",
                hint=_HINT,
            )
        if copy.chunks > MAX_STEPS * MAX_CHUNKS_PER_STEP:
            raise LimitError(
                f"{subject} to copy {copy.chunks:,} chunks; MSCCL XML supports at most "
                f"{MAX_STEPS * MAX_CHUNKS_PER_STEP:,}",
                hint=_HINT,
            )
        # The parser also counts the root element and all GPUs, and needs one more element for an
        # end tag.
        elements = 1 + self._ranks + sum(block.count("<tb ") for block in blocks)
        elements += sum(block.count("<step ") for block in blocks)
        if elements >= MAX_ELEMENTS:
            raise LimitError(
                f"{subject} {elements:,} XML elements; MSCCL XML supports fewer than "
                f"{MAX_ELEMENTS:,} per rank",
                hint=_HINT,
            )
        largest = max(self._scratch_sizes[rank], *(each.chunks for each in self._buffers[rank]))
        if largest - 1 > MAX_OFFSET:
            raise LimitError(
                f"{subject} a buffer of {largest:,} chunks; MSCCL XML supports offsets up to "
                f"{MAX_OFFSET:,}",
                hint=_HINT,
            )

    def _blocks(self, rows: list[int], peer: list[int]) -> dict[tuple[int, int], list[int]]:
        """Return the rows of each thread block by peer and channel, sorted by these two numbers."""
        blocks: dict[tuple[int, int], list[int]] = {}
        for row in rows:
            blocks.setdefault((peer[row], self._channel[row]), []).append(row)
        # A sending thread block waits for the thread block that uses the previous channel to the
        # same peer, so that other block must come first.
        return dict(sorted(blocks.items()))

    def _receive_block(
        self, numbers: dict[tuple[str, int, int], int], key: tuple[int, int], rows: list[int]
    ) -> str:
        steps = []
        for row in rows:
            kind, buffers = ("rrc", self._add_text) if self._adds[row] else ("r", self._text)
            needs = self._end_of_receive(numbers, self._addend[row])
            has_dependent = row in self._needed
            step = _step(self._step[row], kind, buffers[row], needs, has_dependent=has_dependent)
            steps.append(step)
        return _block(numbers["r", *key], send=-1, receive=key[0], channel=key[1], steps=steps)

    def _end_of_receive(
        self, numbers: dict[tuple[str, int, int], int], row: int
    ) -> tuple[int, int]:
        """Return the numbers of the thread block and step in which a GPU receives a row's unit.

        Args:
            numbers: the numbers of the GPU's thread blocks by direction, peer and channel.
            row: the row of the schedule; -1 for no row, for which (-1, -1) is returned.
        """
        if row < 0:
            return -1, -1
        return numbers["r", self._sender[row], self._channel[row]], self._step[row]

    def _send_block(
        self,
        numbers: dict[tuple[str, int, int], int],
        key: tuple[int, int],
        rows: list[int],
        *,
        is_last: bool,
    ) -> str:
        peer, channel = key
        steps: list[str] = []
        waits = (-1, -1)
        if channel:
            # The first send waits for the last send of the previous channel, so that the units of a
            # link stay in order.
            before = numbers["s", peer, channel - 1]
            waits = before, self._last_steps[before]
        for row in rows:
            needs = waits
            delivery = self._delivery[row]
            if delivery >= 0:
                # A step can wait for only one other step. If there are two waits, an additional
                # `nop` step performs the first one.
                if waits != (-1, -1):
                    steps.append(_step(len(steps), "nop", _NO_BUFFERS, waits, count=0))
                needs = self._end_of_receive(numbers, delivery)
            waits = (-1, -1)
            dependent = not is_last and row == rows[-1]
            buffers = self._text[row] + self._row[row]
            steps.append(_step(len(steps), "s", buffers, needs, has_dependent=dependent))
        self._last_steps[numbers["s", *key]] = len(steps) - 1
        return _block(numbers["s", *key], send=peer, receive=-1, channel=channel, steps=steps)

    def _copy(self, rank: int) -> _Copy:
        """Return the chunks that a rank copies from its input to its output.

        In a reduction, a rank copies nothing, because its input contains contributions, not units.
        """
        inputs, outputs = self._buffers[rank]
        for source in range(0, inputs.chunks, self._chunks):
            target = outputs.offset(inputs.unit(source))
            if target is not None and not self._reduces:
                return _Copy(source, target, self._chunks)
        return _Copy(0, 0, 0)

    def _fixed_place(self, node: int, unit: int) -> _Place | None:
        """Return the place of a unit in a node's input or output; None if it is in neither.

        The input of a reduction is not considered, because it contains contributions, not units.
        """
        for name, buffer in zip("io", self._buffers[node], strict=True):
            offset = buffer.offset(unit)
            if offset is not None and (name == "o" or not self._reduces):
                return _Place(name, offset)
        return None

    def _place_chunks(self) -> list[_Place]:
        """Return, for each row, the place at the receiver to which the unit is written.

        Each unit and each partial sum in transit has its own chunk in the scratch buffer.
        """
        places = []
        scratch: dict[tuple[int, int, int], _Place] = {}
        self._scratch_sizes: Counter[int] = Counter()
        for row, (node, unit) in enumerate(zip(self._receiver, self._unit, strict=True)):
            is_partial = row in self._partial
            key = node, unit, row if is_partial else -1
            place = None if is_partial else self._fixed_place(node, unit)
            if place is None and key not in scratch:
                scratch[key] = _Place("s", self._scratch_sizes[node])
                self._scratch_sizes[node] += 1
            places.append(place or scratch[key])
        return places

    def _write_buffers(self, nodes: list[int], writers: list[int]) -> list[str]:
        """Return, for each row, the XML attributes of its source and target chunks.

        Args:
            nodes: for each row, the GPU that executes the step.
            writers: for each row, the row that wrote the source chunk; -1 for a chunk of the input.
        """
        texts = []
        for node, writer, unit, b in zip(nodes, writers, self._unit, self._targets, strict=True):
            # If the node's input lacks the unit, the offset is None. Then the source is another
            # row's chunk, and the offset is not used.
            offset = self._buffers[node][0].offset(unit) or 0
            a = self._targets[writer] if writer >= 0 else _Place("i", offset)
            texts.append(
                f'srcbuf="{a.buffer}" srcoff="{a.offset}" dstbuf="{b.buffer}" dstoff="{b.offset}"'
            )
        return texts


def _follow_chunks(rows: Rows) -> tuple[list[int], list[int], set[int]]:
    """Find, for each row, the earlier rows that wrote the chunk it sends and the chunk it adds to.

    In a reduction, a node has a separate sum for each tree.

    Returns:
        Three values: for each row, the earlier row that wrote the sent chunk; for each row, the
        earlier row that wrote the chunk to which the row adds; and the set of rows that write
        partial sums. In both lists, -1 stands for a chunk of the input; in the second, also for
        rows that add to nothing.
    """
    delivery, addend = [-1] * len(rows), [-1] * len(rows)
    partial: set[int] = set()
    if rows.combine is None:
        return find_deliveries(rows).tolist(), addend, partial
    # A chunk is identified by its node, its unit and a number. The number is the tree of a partial
    # sum, or -1 for a complete unit.
    of_unit = rows.unit.tolist(), np.where(rows.combine, rows.tree, np.int64(-1)).tolist()
    sent = list(zip(rows.sender.tolist(), *of_unit, strict=True))
    received = list(zip(rows.receiver.tolist(), *of_unit, strict=True))
    nodes = rows.schedule.topology.nodes
    #: The value in `held` for a chunk of the input: no row wrote it, and it has one contribution.
    own = (-1, 1)
    #: For each chunk, the row that wrote its content, and the number of contributions in it.
    held: dict[tuple[int, int, int], tuple[int, int]] = {}
    for _, step in groupby(range(len(rows)), key=rows.step.tolist().__getitem__):
        # A chunk that arrives in a step can be sent only in a later step.
        for row, (writer, arriving) in {row: held.get(sent[row], own) for row in step}.items():
            delivery[row] = writer
            size = arriving
            if rows.combine[row]:
                addend[row], added = held.get(received[row], own)
                size = arriving + added
                held[received[row]] = row, size
            if size < nodes:
                partial.add(row)
            else:
                held.setdefault((*received[row][:2], -1), (row, nodes))
    return delivery, addend, partial


def _group(keys: list[int], count: int) -> list[list[int]]:
    groups: list[list[int]] = [[] for _ in range(count)]
    for row, key in enumerate(keys):
        groups[key].append(row)
    return groups


def _copy_block(number: int, copy: _Copy) -> str:
    steps: list[str] = []
    for done in range(0, copy.chunks, MAX_CHUNKS_PER_STEP):
        count = min(MAX_CHUNKS_PER_STEP, copy.chunks - done)
        buffers = (
            f'srcbuf="i" srcoff="{copy.source + done}" dstbuf="o" dstoff="{copy.target + done}"'
        )
        steps.append(_step(len(steps), "cpy", buffers, count=count))
    return _block(number, send=-1, receive=-1, channel=0, steps=steps)


def _block(number: int, send: int, receive: int, channel: int, steps: list[str]) -> str:
    head = f'    <tb id="{number}" send="{send}" recv="{receive}" chan="{channel}">\n'
    return head + "".join(steps) + "    </tb>\n"


def _step(
    number: int,
    kind: str,
    buffers: str,
    needs: tuple[int, int] = (-1, -1),
    *,
    has_dependent: bool = False,
    count: int = 1,
) -> str:
    return (
        f'      <step s="{number}" type="{kind}" {buffers} cnt="{count}" depid="{needs[0]}" '
        f'deps="{needs[1]}" hasdep="{int(has_dependent)}"/>\n'
    )
