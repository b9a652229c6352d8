"""Read schedules from MSCCL XML files that starcast or msccl-tools wrote, or that RCCL reads.

All thread blocks are executed, with unit numbers instead of data. This finds the unit of each send,
and checks that each step waits for the chunks that it reads and overwrites. In a reduction, each
chunk also records the ranks whose contributions it holds. Contributions that are lost or counted
twice are thus detected.
"""

from collections import defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from starcast.collectives.columns import schedule_from_columns
from starcast.collectives.model import (
    MAX_ROWS,
    REDUCTIONS,
    Schedule,
    check_request,
)
from starcast.formats.msccl import VECTORS, check_no_switches, lay_out
from starcast.formats.msccl_elements import (
    ADDS,
    HINT,
    RECEIVES,
    SENDS,
    WRITES,
    Block,
    ElementReader,
    Instruction,
)
from starcast.judges.simulator.simulation import execute
from starcast.support.errors import InputError, LimitError, RejectedError, StarcastError
from starcast.support.vocabulary import Collective, Ports
from starcast.topologies import Topology

#: The place where a chunk is stored: rank, buffer and offset.
ChunkPlace = tuple[int, str, int]
_COLUMNS = ("step", "sender", "port", "receiver", "unit", "tree", "combine")


def schedule_from_msccl(
    path: str | Path,
    topology: Topology | str,
    collective: Collective,
    ports: Ports = "all",
    root: int | str = 0,
) -> Schedule:
    """Read a schedule from an MSCCL XML file whose ranks are the nodes of a topology.

    A file that starcast wrote has the steps and trees of its units in additional attributes. In
    other files, a send belongs to the first step after all sends that it waits for. These are the
    earlier sends of its thread block, and those on which it depends through ``depid`` and receives.
    The chunks that a thread block's step sends are one packet.

    Args:
        path: the file.
        topology: the topology or its spec; the file must have a GPU for every node.
        collective: the name of the collective.
        ports: the port model: ``all`` or ``one``.
        root: rank or label of the root.

    Raises:
        InputError: the topology has switches; the file cannot be read, is not MSCCL XML, is for
            another collective or topology, adds chunks although the collective is not a
            reduction, or sends between nodes that are not linked.
        LimitError: the file is too large, or has too many sends.
        RejectedError: a thread block waits forever, uses a chunk without waiting for its unit,
            counts a contribution twice, or leaves a wrong unit or an incomplete sum in an output;
            or the simulator finds a violation. The message names the rank, thread block and step.
    """
    network, origin = check_request(topology, collective, ports, root)
    check_no_switches(network)
    try:
        elements = ElementReader(network, collective)
        elements.read(path)
        execution = _Execution(elements, network, collective, origin)
        execution.run()
        table = np.array(execution.rows, dtype=np.int64).reshape(-1, len(_COLUMNS))
        columns = dict(zip(_COLUMNS, table.T, strict=True))
        if collective not in REDUCTIONS:
            del columns["combine"]
        schedule = schedule_from_columns(columns, network, collective, ports=ports, root=origin)
        executed = execute(schedule)
        if executed.violation is not None:
            number, sentence = executed.violation
            row = tuple(int(getattr(executed.rows, name)[number]) for name in columns)
            raise RejectedError(f"{execution.places[row]}: {sentence}", hint=HINT)
    except StarcastError as error:
        raise type(error)(f"{path}: {error.message}", hint=error.hint) from None
    return schedule


class _Knowledge(NamedTuple):
    """The steps that must have ended, because a thread block has waited for them.

    Attributes:
        ended: for each thread block of the GPU, its last step that has ended; -1 for none.
        arrived: the last step of the schedule in which a chunk arrived.
        sent: the last step of the schedule in which a chunk was sent.
    """

    ended: NDArray[np.int16]
    arrived: int
    sent: int

    def merge(self, other: "_Knowledge", block: int, step: int) -> "_Knowledge":
        """Return the knowledge after also waiting for a step of the thread block ``block``."""
        ended = np.maximum(self.ended, other.ended)
        ended[block] = max(ended[block], step)
        return _Knowledge(ended, max(self.arrived, other.arrived), max(self.sent, other.sent))


@dataclass
class _RunningBlock:
    """A thread block during execution, with its knowledge now and its knowledge after each step."""

    block: Block
    now: _Knowledge
    after: list[_Knowledge] = field(default_factory=list)

    @property
    def done(self) -> int:
        return len(self.after)

    def knows(self, uses: dict[int, int]) -> Iterator[bool]:
        """Yield, for each thread block of ``uses``, whether its step is known to have ended."""
        for number, step in uses.items():
            yield number == self.block.number or self.now.ended[number] >= step

    def fail(self, problem: str) -> NoReturn:
        raise RejectedError(f"{self} {problem}", hint=HINT)

    def __str__(self) -> str:
        """Return the rank, the thread block and its next step, as text for messages."""
        return f"rank {self.block.rank}, thread block {self.block.number}, step {self.done}"


class _Sum(NamedTuple):
    """A unit or its partial sum: the unit number and, in reductions, one bit per contributor."""

    unit: int
    ranks: int


@dataclass
class _Chunk:
    """The content of a chunk in a buffer of a GPU, while the file is executed.

    Attributes:
        held: the unit.
        written: for each thread block that wrote the unit, the first step that did; empty for
            input.
        used: for each thread block that read or wrote the unit, the last step that did.
    """

    held: _Sum
    written: dict[int, int] = field(default_factory=dict)
    used: dict[int, int] = field(default_factory=dict)


class _Message(NamedTuple):
    """The units of a send, and its step in the schedule."""

    units: list[_Sum]
    step: int


class _Execution:
    """The execution of a file: all thread blocks of all GPUs, step by step.

    Attributes:
        rows: the rows of the schedule.
        places: the rank, thread block and step of each row, as text for messages.
    """

    def __init__(
        self, elements: ElementReader, topology: Topology, collective: Collective, root: int
    ) -> None:
        self.rows: list[tuple[int, ...]] = []
        self.places: dict[tuple[int, ...], str] = {}
        self._topology = topology
        self._input = "o" if elements.in_place else "i"
        nodes = topology.nodes
        chunks = max(max(gpu.chunks["i"], gpu.chunks["o"]) for gpu in elements.gpus.values())
        units, rest = divmod(chunks, 1 if collective in VECTORS else nodes)
        if rest or not units:
            raise InputError(f"buffers of {chunks} chunks do not suit {nodes} GPUs", hint=HINT)
        self._buffers = [lay_out(collective, nodes, units, root, rank) for rank in range(nodes)]
        # If a collective is executed in place, the input of an allgather is a part of its output,
        # and the output of a reduce-scatter is a part of its input.
        parts = {"allgather": "i", "reduce-scatter": "o"} if elements.in_place else {}
        self._part, self._part_units = parts.get(collective, ""), units
        #: One bit for each rank's contribution to a complete unit; 0 if this is not a reduction.
        self._complete = 2**nodes - 1 if collective in REDUCTIONS else 0
        self._ports = {
            (rank, neighbour): port
            for port in topology.ports
            for rank, neighbour in enumerate(topology.neighbours(port).tolist())
            if rank != neighbour  # else the node has no link at this port
        }
        self._runs = {
            rank: [
                _RunningBlock(block, _Knowledge(np.full(len(gpu.blocks), -1, dtype=np.int16), 0, 0))
                for block in gpu.blocks
            ]
            for rank, gpu in sorted(elements.gpus.items())
        }
        self._chunks: dict[ChunkPlace, _Chunk] = {}
        #: Messages that are not yet received, by sender, receiver and channel.
        self._wires: dict[tuple[int, int, int], deque[_Message]] = defaultdict(deque)

    def run(self) -> None:
        """Execute all steps; check that no step waits forever and that the outputs are correct.

        Raises:
            InputError, LimitError, RejectedError: as in `schedule_from_msccl`.
        """
        #: The waiting thread blocks, by the message or thread block for which they wait.
        waiting: dict[tuple[int, ...], list[_RunningBlock]] = defaultdict(list)
        ready = deque(run for runs in self._runs.values() for run in runs)
        while ready:
            run = ready.popleft()
            block = run.block
            while run.done < len(block.steps):
                missing = self._advance(run, block.steps[run.done])
                if missing:
                    waiting[missing].append(run)
                    break
                ready += waiting.pop((block.rank, block.number), [])
                ready += waiting.pop((block.rank, block.send, block.channel), [])
        for missing, runs in waiting.items():
            what = f"thread block {missing[1]}"
            if len(missing) == 3:
                what = f"a send of rank {missing[0]} on channel {missing[2]}"
            runs[0].fail(f"waits for ever for {what}")
        self._check_end()

    def _advance(self, run: _RunningBlock, step: Instruction) -> tuple[int, ...]:
        """Execute the next step of a thread block, unless the step must wait.

        Returns:
            An empty tuple if the step was executed; otherwise the key in ``waiting`` of the message
            or thread block for which it waits.
        """
        block = run.block
        wire = block.receive, block.rank, block.channel
        if step.needs[0] >= 0:
            other, needed = step.needs
            needed_run = self._runs[block.rank][other]
            if needed_run.done <= needed:
                return block.rank, other
            run.now = run.now.merge(needed_run.after[needed], other, needed)
        if step.type in RECEIVES and not self._wires[wire]:
            return wire
        units: list[_Sum] = []
        if step.type in RECEIVES:
            units, sent = self._wires[wire].popleft()
            if len(units) != step.chunks:
                run.fail(f"receives {step.chunks} chunks, but {len(units)} are sent")
            run.now = run.now._replace(arrived=max(run.now.arrived, sent))
        elif step.type != "nop":
            units = self._read(run, step, step.source)
        if step.type in ADDS:
            own = step.target if step.type == "re" else step.source
            units = self._add(run, self._read(run, step, own), units)
        if step.type in WRITES:
            self._write(run, step, units)
        if step.type in SENDS:
            run.now = run.now._replace(sent=self._send(run, step, units))
        run.after.append(run.now)
        return ()

    def _add(self, run: _RunningBlock, own: list[_Sum], units: list[_Sum]) -> list[_Sum]:
        """Return the contents of the GPU's own chunks after adding the arriving units."""
        sums = []
        for one, other in zip(own, units, strict=True):
            if one.unit != other.unit:
                run.fail(f"adds unit {other.unit} to the different unit {one.unit}")
            twice = one.ranks & other.ranks
            if twice:
                rank = twice.bit_length() - 1
                run.fail(f"counts the contribution of rank {rank} to unit {one.unit} twice")
            sums.append(_Sum(one.unit, one.ranks | other.ranks))
        return sums

    def _send(self, run: _RunningBlock, step: Instruction, units: list[_Sum]) -> int:
        """Send a packet, and return its step in the schedule."""
        block = run.block
        port = self._ports.get((block.rank, block.send))
        if port is None:
            problem = f"{run} sends to rank {block.send}, which is not linked in"
            raise InputError(f"{problem} {self._topology.spec}", hint=HINT)
        arrived, sent = run.now.arrived, run.now.sent
        if step.row_step and step.row_step < max(arrived + 1, sent):
            run.fail(
                f"sends in step {step.row_step} of the schedule, before the steps that it waits for"
            )
        row_step = step.row_step or max(arrived, sent) + 1
        for unit, ranks in units:
            combine = int(ranks != self._complete)
            row = row_step, block.rank, port, block.send, unit, step.tree, combine
            self.rows.append(row)
            # `schedule_from_msccl` looks up a row without `combine` if it is not a reduction.
            self.places[row if self._complete else row[:-1]] = str(run)
        if len(self.rows) > MAX_ROWS:
            raise LimitError(f"it sends more than {MAX_ROWS:,} units", hint="use fewer chunks")
        self._wires[block.rank, block.send, block.channel].append(_Message(units, row_step))
        return row_step

    def _read(self, run: _RunningBlock, step: Instruction, begin: tuple[str, int]) -> list[_Sum]:
        units = []
        for place in self._places(run, begin, step.chunks):
            chunk = self._chunk(place)
            if chunk is None:
                run.fail(f"reads {place[1]}[{place[2]}], which holds nothing yet")
            # All writers wrote the same unit, so waiting for one of them suffices.
            if chunk.written and not any(run.knows(chunk.written)):
                number, first = next(iter(chunk.written.items()))
                run.fail(
                    f"reads {place[1]}[{place[2]}] without waiting for thread block {number}, step "
                    f"{first}, which writes it"
                )
            chunk.used[run.block.number] = run.done
            units.append(chunk.held)
        return units

    def _write(self, run: _RunningBlock, step: Instruction, units: list[_Sum]) -> None:
        number = run.block.number
        for place, unit in zip(self._places(run, step.target, step.chunks), units, strict=True):
            chunk = self._chunk(place)
            if chunk is None or chunk.held != unit:
                if chunk is not None and not all(run.knows(chunk.used)):
                    run.fail(
                        f"writes {place[1]}[{place[2]}] without waiting for the thread blocks that "
                        f"use its unit {chunk.held.unit}"
                    )
                chunk = self._chunks[place] = _Chunk(unit, {number: run.done})
            elif chunk.written:
                # A second copy of the same unit may be written without a wait, because it does not
                # change the chunk.
                chunk.written.setdefault(number, run.done)
            chunk.used[number] = run.done

    def _places(
        self, run: _RunningBlock, first: tuple[str, int], chunks: int
    ) -> Iterator[ChunkPlace]:
        buffer, offset = first
        for index in range(chunks):
            yield self._place(run.block.rank, buffer, offset + index)

    def _place(self, rank: int, buffer: str, offset: int) -> ChunkPlace:
        start = rank * self._part_units if buffer == self._part else 0
        return rank, self._input if buffer == "i" else buffer, offset + start

    def _chunk(self, place: ChunkPlace) -> _Chunk | None:
        """Return the chunk at the given place, or None if it holds no unit yet."""
        if place not in self._chunks:
            rank, buffer, offset = place
            inputs = self._buffers[rank][0]
            offset -= rank * self._part_units if self._part == "i" else 0
            if buffer != self._input or not 0 <= offset < inputs.chunks:
                return None
            self._chunks[place] = _Chunk(_Sum(inputs.unit(offset), self._complete & 1 << rank))
        return self._chunks[place]

    def _check_end(self) -> None:
        for (sender, receiver, channel), wire in self._wires.items():
            if wire:
                problem = f"rank {receiver} does not receive all that rank {sender} sends on"
                raise RejectedError(f"{problem} channel {channel}", hint=HINT)
        for rank, (_, outputs) in enumerate(self._buffers):
            for offset in range(outputs.chunks):
                unit = outputs.unit(offset)
                chunk = self._chunk(self._place(rank, "o", offset))
                if chunk is None or chunk.held.unit != unit:
                    held = "nothing" if chunk is None else f"unit {chunk.held.unit}"
                    problem = f"rank {rank} ends with {held} in o[{offset}]"
                    raise RejectedError(f"{problem} instead of unit {unit}", hint=HINT)
                missing = self._complete & ~chunk.held.ranks
                if missing:
                    block, last = next(iter(chunk.written.items()), (0, 0))
                    problem = f"rank {rank}, thread block {block}, step {last} leaves unit {unit}"
                    problem += f" without the contribution of rank {missing.bit_length() - 1}"
                    raise RejectedError(f"{problem} in o[{offset}]", hint=HINT)
