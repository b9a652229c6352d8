"""Read schedules from MSCCL XML files that starcast or msccl-tools wrote, or that RCCL reads.

All thread blocks are executed, with unit numbers instead of data, to find the unit of each send
and to check that each step waits for the chunks that it reads and overwrites. In a reduction, the
execution also records the ranks whose contributions each chunk contains, and thus detects
contributions that are lost or counted twice.
"""

from collections import defaultdict, deque
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from starcast.collectives.model import Schedule, check_request
from starcast.formats.chunks import (
    HINT,
    ChunkExecution,
    ChunkPlace,
    Knowledge,
    RunningBlock,
    Sum,
)
from starcast.formats.msccl_elements import (
    ADDS,
    RECEIVES,
    SENDS,
    WRITES,
    Block,
    ElementReader,
    Instruction,
)
from starcast.support.errors import RejectedError, errors_in
from starcast.support.text import pluralize
from starcast.support.vocabulary import Collective, Ports
from starcast.topologies import Topology

#: The events for which a thread block may wait, as templates of messages. The placeholders stand
#: for a rank and a thread block, or for the sender, receiver and channel of a send.
_BLOCK = "thread block {1}"
_SEND = "a send of rank {0} on channel {2}"


def schedule_from_msccl(
    path: str | Path,
    topology: Topology | str,
    collective: Collective,
    ports: Ports = "all",
    root: int | str = 0,
) -> Schedule:
    """Read a schedule from an MSCCL XML file whose ranks are the endpoints of a topology.

    A file that starcast wrote has the steps and trees of its units in additional attributes. In
    other files, a send belongs to the first step after all sends that it waits for: earlier sends
    of its thread block, and sends on which it depends through ``depid`` and receives.
    The chunks that one step of a thread block sends form one packet. A send between endpoints that
    are not linked follows a shortest path through switches, one link per schedule step.

    Args:
        path: the path of the file to read.
        topology: the topology or its spec; the file must have a GPU for every endpoint.
        collective: the collective of the schedule, such as ``broadcast`` or ``allreduce``.
        ports: the port model: ``all`` or ``one``.
        root: rank or label of the root.

    Raises:
        InputError: the file cannot be read, is not MSCCL XML, is for another collective or
            topology, adds chunks although the collective is not a reduction, sends between nodes
            that are not linked, or sends partial sums through switches.
        LimitError: the file is too large, or has too many sends.
        RejectedError: a thread block waits forever, uses a chunk without waiting for its unit,
            counts a contribution twice, or leaves a wrong unit or an incomplete sum in an output;
            or the simulator finds a violation. The message names the rank, thread block and step.
    """
    network, origin = check_request(topology, collective, ports, root)
    with errors_in(path):
        elements = ElementReader(network, collective)
        elements.read(path)
        execution = _Execution(elements, network, collective, origin)
        execution.run()
        return execution.schedule(ports)


class _Message(NamedTuple):
    """The units of a send, and the step of the schedule in which they arrive."""

    units: list[Sum]
    arrival: int


class _Execution(ChunkExecution):
    """Executes the thread blocks of all GPUs in an MSCCL XML file, step by step."""

    def __init__(
        self, elements: ElementReader, topology: Topology, collective: Collective, root: int
    ) -> None:
        gpus = elements.gpus.values()
        chunks = max(max(gpu.chunks["i"], gpu.chunks["o"]) for gpu in gpus)
        super().__init__(topology, collective, root, chunks, elements.in_place)
        self._runs = {
            (gpu.rank, block.number): RunningBlock(
                block,
                block.number,
                Knowledge(np.full(len(gpu.blocks), -1, dtype=np.int16), 0, 0),
            )
            for gpu in sorted(gpus, key=lambda gpu: gpu.rank)
            for block in gpu.blocks
        }
        #: For each thread block, its `Knowledge` after each of its executed steps.
        self._after: dict[tuple[int, int], list[Knowledge]] = defaultdict(list)
        #: Messages that are not yet received, by sender, receiver and channel.
        self._wires: dict[tuple[int, int, int], deque[_Message]] = defaultdict(deque)

    def run(self) -> None:
        """Execute all steps; check that no step waits forever and that all sends are received.

        Raises:
            RejectedError: a step waits forever, uses a chunk without waiting for its unit, or
                counts a contribution twice; or a rank does not receive everything sent to it.
            InputError: a step sends between GPUs that are not linked, or sends partial sums through
                a switch.
            LimitError: the steps send too many units.
        """
        self.run_all(list(self._runs.values()), self._advance)
        for (sender, receiver, channel), wire in self._wires.items():
            if wire:
                problem = f"rank {receiver} does not receive everything that rank {sender} sends on"
                raise RejectedError(f"{problem} channel {channel}", hint=HINT)

    def _advance(self, run: RunningBlock) -> tuple[Any, ...]:
        """Execute the next step of a thread block, unless it must wait.

        Returns:
            An empty tuple or, if the step must wait, the awaited event; see `run_all`.
        """
        block: Block = run.block
        step = block.steps[run.done]
        wire = block.receive, block.rank, block.channel
        if step.needs[0] >= 0:
            other, needed = step.needs
            if self._runs[block.rank, other].done <= needed:
                return _BLOCK, block.rank, other
            run.now = run.now.merge(self._after[block.rank, other][needed], other, needed)
        if step.type in RECEIVES and not self._wires[wire]:
            return _SEND, *wire
        units: list[Sum] = []
        if step.type in RECEIVES:
            units, arrival = self._wires[wire].popleft()
            if len(units) != step.chunks:
                run.fail(f"receives {pluralize(step.chunks, 'chunk')}, but {len(units)} were sent")
            run.now = run.now._replace(arrived=max(run.now.arrived, arrival))
        elif step.type != "nop":
            units = self.read(run, self._chunk_places(run, step, step.source))
        if step.type in ADDS:
            own = step.target if step.type == "re" else step.source
            units = self.add(run, self.read(run, self._chunk_places(run, step, own)), units)
        if step.type in WRITES:
            targets = self._chunk_places(run, step, step.target)
            if step.source[0]:
                self.check_overlap(run, [self._chunk_places(run, step, step.source)], [targets])
            self.write(run, targets, units)
        if step.type in SENDS:
            run.now = run.now._replace(sent=self._send(run, step, units))
            self.wake((_SEND, block.rank, block.send, block.channel))
        self._after[block.rank, block.number].append(run.now)
        self.wake((_BLOCK, block.rank, block.number))
        return ()

    def _send(self, run: RunningBlock, step: Instruction, units: list[Sum]) -> int:
        """Send units as one packet, and return the step of the schedule in which they are sent."""
        block: Block = run.block
        arrived, sent = run.now.arrived, run.now.sent
        if step.row_step and step.row_step < max(arrived + 1, sent):
            run.fail(
                f"sends in step {step.row_step} of the schedule, before the steps that it waits for"
            )
        row_step = step.row_step or max(arrived, sent) + 1
        arrival = self.send(run, units, (block.rank, block.send), row_step, step.tree)
        self._wires[block.rank, block.send, block.channel].append(_Message(units, arrival))
        return row_step

    def _chunk_places(
        self, run: RunningBlock, step: Instruction, first: tuple[str, int]
    ) -> list[ChunkPlace]:
        buffer, offset = first
        return [self.place(run.block.rank, buffer, offset + each) for each in range(step.chunks)]
