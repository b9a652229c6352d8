"""Read schedules from MSCCL++ execution plans, JSON files written by the MSCCL++ language.

Thread blocks write to and read from the memory of other GPUs. Signals, barriers and semaphores
order these operations; a packet carries a flag, for which its reader waits. The plan is executed
with unit numbers instead of data. Switch operations and pipelines are refused.

Reference: ``python/mscclpp/language``, ``src/core/executor/execution_plan.cc`` and
``src/core/include/execution_kernel.hpp`` of microsoft/mscclpp.
"""

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from functools import partial, reduce
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from starcast.collectives.model import REDUCTIONS, Schedule, check_request
from starcast.formats.chunks import (
    HINT,
    ChunkExecution,
    ChunkPlace,
    Knowledge,
    RunningBlock,
    Sum,
    find_mismatch,
)
from starcast.support.errors import InputError, errors_in
from starcast.support.vocabulary import Collective, Ports
from starcast.topologies import Topology

if TYPE_CHECKING:
    from starcast.formats.mscclpp_plan import ChunkRange, Plan, PlanBlock, PlanOperation, References

Item = TypeVar("Item")

#: Operations that write each source to the target with the same index.
_MOVES = ("put", "pws", "pwsf", "get", "copy", "ppkt", "cpkt", "upkt")
#: Operations that write the sum of all sources to every target.
_ADDS = ("re", "res", "rre", "rres", "repkt", "respkt", "recpkt", "recspkt")
_SIGNALS = ("signal", "rlxsignal", "pws", "pwsf", "sem_release")
_WAITS = ("wait", "rlxwait", "sem_acquire")
_DATA = ("rppkt", *_MOVES, *_ADDS)
_OPERATIONS = ("nop", "flush", "barrier", *_SIGNALS, *_WAITS, *_DATA)
_UNSUPPORTED = {
    **dict.fromkeys(("glres", "gstore", "gstorepkt"), "which a switch executes"),
    "pipeline": "which repeats operations for parts of a chunk",
}
#: For each operation on packets, the index of the first source that is read as a packet, and of the
#: first target that is written as a packet.
_PACKET_SOURCES = {"rppkt": 0, "upkt": 0, "repkt": 1, "respkt": 1, "recpkt": 1, "recspkt": 1}
_PACKET_TARGETS = {"ppkt": 0, "cpkt": 0, "rppkt": 0, "respkt": 1, "recpkt": 1, "recspkt": 1}
#: In the scratch buffer, packets take twice the space of their data. The execution therefore keeps
#: packets in a separate buffer.
_PACKETS = "packet s"

#: The events for which a thread block may wait, as templates of messages.
_SIGNAL = "a signal of rank {0} to rank {1} on {2} channel {3}"
_BARRIER = "the other thread blocks at barrier {1} of rank {0}"
_SEMAPHORE = "semaphore {1} of rank {0}"
_PACKET = "the packet s[{1}] of rank {0}"


def schedule_from_mscclpp(
    path: str | Path,
    topology: Topology | str,
    collective: Collective,
    ports: Ports = "all",
    root: int | str = 0,
) -> Schedule:
    """Read a schedule from an MSCCL++ plan whose ranks are the endpoints of a topology.

    A transfer belongs to the first step after all transfers that it waits for: earlier transfers of
    its thread block, and transfers before a signal, barrier, semaphore or packet that it waits for.
    All transfers by which an operation reads from other GPUs begin in one step, and all transfers
    by which it writes to other GPUs begin in one step after these reads.

    Args:
        path: the path of the file to read.
        topology: the topology or its spec; the plan must have a GPU for every endpoint.
        collective: the collective of the schedule, such as ``broadcast`` or ``allreduce``.
        ports: the port model: ``all`` or ``one``.
        root: rank or label of the root.

    Raises:
        InputError: the file cannot be read, is not an MSCCL++ plan, is for another collective or
            topology, has an unsupported operation, or transfers between nodes that are not linked.
        LimitError: the file is too large, or has too many thread blocks or transfers.
        RejectedError: a thread block waits forever, uses a chunk without waiting for its unit,
            counts a contribution twice, or leaves a wrong unit or an incomplete sum in an output;
            or the simulator finds a violation.
    """
    from starcast.formats.mscclpp_plan import read_plan  # noqa: PLC0415 - pydantic

    network, origin = check_request(topology, collective, ports, root)
    with errors_in(path):
        plan = read_plan(path)
        mismatch = find_mismatch(plan.collective, len(plan.gpus), plan.inplace, network, collective)
        if mismatch:
            raise InputError(f"the file {mismatch}", hint=HINT)
        execution = _Execution(plan, network, collective, origin)
        execution.run_all(execution.blocks, execution.advance)
        return execution.schedule(ports)


def _numbers(references: "Sequence[References]", kind: str) -> list[int]:
    return [number for each in references if each.kind == kind for number in each.numbers]


def _pick(run: RunningBlock, values: Sequence[Item], index: int) -> Item:
    if index >= len(values):
        problem = f"{run} uses index {index} in a list of {len(values)} channels or remote buffers"
        raise InputError(problem, hint=HINT)
    return values[index]


class _Execution(ChunkExecution):
    """Executes the thread blocks of all GPUs in an MSCCL++ plan, operation by operation.

    Attributes:
        blocks: the thread blocks.
    """

    def __init__(self, plan: "Plan", topology: Topology, collective: Collective, root: int) -> None:
        self._units = plan.chunk_units
        chunks = max(max(gpu.input_chunks, gpu.output_chunks) for gpu in plan.gpus)
        super().__init__(topology, collective, root, chunks * self._units, plan.inplace)
        self._sizes: list[dict[str, int]] = [
            {"i": gpu.input_chunks, "o": gpu.output_chunks, "s": gpu.scratch_chunks}
            for gpu in plan.gpus
        ]
        blocks = [block for gpu in plan.gpus for block in gpu.threadblocks]
        nothing = Knowledge(np.full(len(blocks), -1, dtype=np.int32), 0, 0)
        self.blocks = [RunningBlock(block, index, nothing) for index, block in enumerate(blocks)]
        self._remote_buffers = [gpu.remote_buffers for gpu in plan.gpus]
        #: For each rank and type of channel, a pair for each channel: the rank at the other end,
        #: and the channel's number among the channels of its type between the two ranks.
        self._channels: dict[tuple[int, str], list[tuple[int, int]]] = defaultdict(list)
        #: For each event (signal or semaphore), the number of signals that each thread block sends
        #: in the entire plan.
        self._totals: dict[tuple[Any, ...], Counter[int]] = defaultdict(Counter)
        #: For each event, the number of signals that were sent and not yet received.
        self._unused = Counter[tuple[Any, ...]]()
        #: For each event and sending thread block, its signals so far. A signal is stored as the
        #: `Knowledge` that its receiver gets.
        self._signals: dict[tuple[Any, ...], dict[int, list[Knowledge]]] = defaultdict(dict)
        #: For each event and waiting thread block, its operations that received a signal.
        self._waits: dict[tuple[Any, ...], dict[int, list[int]]] = defaultdict(dict)
        numbers = Counter[tuple[int, str, int]]()
        for gpu in plan.gpus:
            for channel in gpu.channels:
                for peer in channel.connected_to:
                    key = gpu.id, channel.channel_type, peer
                    self._channels[key[:2]].append((peer, numbers[key]))
                    numbers[key] += 1
            for number, semaphore in enumerate(gpu.semaphores):
                # The semaphore's initial value counts as signals of a thread block -1. Receiving
                # them gives a thread block no knowledge of other operations.
                event = _SEMAPHORE, gpu.id, number
                self._unused[event] = self._totals[event][-1] = semaphore.get("init_value", 0)
        self._at_barrier: dict[tuple[Any, ...], list[RunningBlock]] = defaultdict(list)
        #: For each written packet, the `Knowledge` that its reader gets.
        self._packets: dict[ChunkPlace, Knowledge] = {}
        self._check_events()

    def _check_events(self) -> None:
        """Count all signals, and check that no barrier has more users than it waits for.

        Raises:
            RejectedError: more thread blocks use a barrier than it waits for, so it may release
                some of them too early.
        """
        users = defaultdict[tuple[int, int], set[int]](set)
        for run in self.blocks:
            for place, step in enumerate(run.block.steps):
                here = replace(run, done=place)
                if step.name in _SIGNALS:
                    for event in self._signal_keys(here, step):
                        self._totals[event][run.number] += 1
                if step.name == "barrier":
                    blocks = users[run.block.rank, step.barrier_id]
                    blocks.add(run.number)
                    if len(blocks) > step.num_threadblocks:
                        here.fail(
                            f"waits at barrier {step.barrier_id} for {step.num_threadblocks} thread"
                            f" blocks, but {len(blocks)} use it"
                        )

    def name_block(self, number: int) -> str:
        """Return the name of a thread block for messages."""
        return str(self.blocks[number].block)

    def name_place(self, place: ChunkPlace) -> str:
        """Return the name of a chunk's place for messages, such as ``o[3] of rank 0``."""
        rank, buffer, offset = place
        return f"{buffer}[{offset // self._units}] of rank {rank}"

    def advance(self, run: RunningBlock) -> tuple[Any, ...]:
        """Execute the next operation of a thread block, unless it must wait.

        Returns:
            An empty tuple or, if the operation must wait, the awaited event; see `run_all`.
        """
        step: PlanOperation = run.block.steps[run.done]
        if step.name not in _OPERATIONS:
            reason = _UNSUPPORTED.get(step.name, "which is unknown")
            problem = f"has the operation '{step.name}', {reason}"
            raise InputError(f"{run} {problem}", hint=f"use only {', '.join(_OPERATIONS)}")
        if step.name in _ADDS and self.collective not in REDUCTIONS:
            problem = f"has the operation '{step.name}', but {self.collective} does not add data"
            raise InputError(f"{run} {problem}", hint="use operations that only move data")
        if step.name == "barrier":
            return self._wait_at_barrier(run, step)
        missing: tuple[Any, ...] = ()
        if step.name in _WAITS:
            missing = self._wait(run, step)
        elif step.name in _DATA:
            missing = self._move(run, step)
        if not missing and step.name in _SIGNALS:
            known = self._knowledge_after(run, step)
            for key in self._signal_keys(run, step):
                self._signals[key].setdefault(run.number, []).append(known)
                self._unused[key] += 1
                self.wake(key)
        return missing

    def _knowledge_after(self, run: RunningBlock, step: "PlanOperation") -> Knowledge:
        """Return the `Knowledge` that an operation's signal or packet gives to the receiver."""
        known = run.now.merge(run.now, run.number, run.done)
        # A relaxed signal does not order accesses to memory.
        is_relaxed = step.name == "rlxsignal"
        return known._replace(ended=np.full_like(known.ended, -1)) if is_relaxed else known

    def _signal_keys(self, run: RunningBlock, step: "PlanOperation") -> list[tuple[Any, ...]]:
        """Return the keys of the signals or semaphores that an operation sends or waits for."""
        block: PlanBlock = run.block
        if step.semaphore_ids:
            return [(_SEMAPHORE, block.rank, number) for number in step.semaphore_ids]
        keys = []
        kind = step.channel_type
        for index in step.channel_ids:
            channel = _pick(run, _numbers(block.channels, kind), index)
            peer, number = _pick(run, self._channels[block.rank, kind], channel)
            ends = (peer, block.rank) if step.name in _WAITS else (block.rank, peer)
            keys.append((_SIGNAL, *ends, kind, number))
        return keys

    def _wait(self, run: RunningBlock, step: "PlanOperation") -> tuple[Any, ...]:
        keys = self._signal_keys(run, step)
        for key, count in Counter(keys).items():
            if self._unused[key] < count:
                return key
        for key in keys:
            self._unused[key] -= 1
            self._waits[key].setdefault(run.number, []).append(run.done)
            for known in self._received(run, key):
                ended = run.now.ended if step.name == "rlxwait" else known.ended
                run.now = run.now.merge(known._replace(ended=ended), run.number, run.done)
        return ()

    def _received(self, run: RunningBlock, key: tuple[Any, ...]) -> list[Knowledge]:
        """Return the last signal that each sender must have sent before this operation.

        A signal does not name its sender. If several thread blocks send signals, an operation may
        have received any of them. Suppose that this operation and earlier operations have received
        R signals, and that all senders except S send T < R signals in the entire plan. Then S must
        have sent at least R - T signals. Senders that need not have sent any signal are omitted.
        """
        last = {number: run.now.ended[number] for number in self._waits[key]}
        last[run.number] = run.done
        waits = sum(bisect_right(done, last[each]) for each, done in self._waits[key].items())
        totals = self._totals[key]
        sent = {number: waits - totals.total() + totals[number] for number in self._signals[key]}
        return [self._signals[key][number][most - 1] for number, most in sent.items() if most > 0]

    def _wait_at_barrier(self, run: RunningBlock, step: "PlanOperation") -> tuple[Any, ...]:
        key = _BARRIER, run.block.rank, step.barrier_id, step.num_threadblocks
        arrived = self._at_barrier[key]
        arrived.append(run)
        if len(arrived) < step.num_threadblocks:
            return key
        known = run.now
        for other in arrived:
            known = known.merge(other.now, other.number, other.done)
        for other in arrived:
            other.now = known
            # The operation of `run` itself is counted by `run_all`.
            other.done += other is not run
        arrived.clear()
        self.wake(key)
        return ()

    def _move(self, run: RunningBlock, step: "PlanOperation") -> tuple[Any, ...]:
        """Execute an operation on chunks, unless it must wait.

        Returns:
            An empty tuple or, if the operation must wait, the awaited event; see `run_all`.
        """
        sources, targets = (
            [self._find(run, step, each, at >= packets.get(step.name, at + 1))
             for at, each in enumerate(buffers)]
            for buffers, packets in
            ((step.src_buff, _PACKET_SOURCES), (step.dst_buff, _PACKET_TARGETS))
        )  # fmt: skip
        sizes = [len(each) for each in sources], [len(each) for each in targets]
        is_move = step.name in _MOVES
        is_equal = sizes[0] == sizes[1] if is_move else len({*sizes[0], *sizes[1]}) == 1
        if not all(sizes) or not is_equal:
            problem = f"has the operation '{step.name}' whose sources and targets do not match"
            raise InputError(f"{run} {problem}", hint=HINT)
        for place in (place for places in sources for place in places if place[1] == _PACKETS):
            if place not in self._packets:
                return _PACKET, place[0], place[2] // self._units
            run.now = run.now.merge(self._packets[place], run.number, run.done - 1)
        if is_move:
            # The sources of a move are processed one after the other.
            self.check_overlap(run, [[*chain(*sources)]], [[*chain(*targets)]])
        else:
            self.check_overlap(run, sources, targets)
        here = run.block.rank
        values = [self.read(run, places) for places in sources]
        self._transfer(run, values, [(places[0][0], here) for places in sources])
        if not is_move:
            values = [reduce(partial(self.add, run), values)] * len(targets)
        self._transfer(run, values, [(here, places[0][0]) for places in targets])
        known = self._knowledge_after(run, step)
        for places, units in zip(targets, values, strict=True):
            self.write(run, places, units)
            for place in places:
                if place[1] == _PACKETS:
                    if place in self._packets:
                        # A reader could not distinguish the second packet from the first.
                        run.fail(f"writes {self.name_place(place)} a second time")
                    self._packets[place] = known
                    self.wake((_PACKET, place[0], place[2] // self._units))
        return ()

    def _find(
        self, run: RunningBlock, step: "PlanOperation", place: "ChunkRange", is_packet: bool
    ) -> list[ChunkPlace]:
        rank, buffer = run.block.rank, str(place.type)
        if place.buffer_id is not None:
            numbers = _numbers(run.block.remote_buffer_refs, step.channel_type)
            number = _pick(run, numbers, place.buffer_id)
            remote = _pick(run, self._remote_buffers[rank], number)
            rank, buffer = remote.rank, remote.type
        chunks = self._sizes[rank].get(buffer, 0) if rank < len(self._sizes) else 0
        group = step.tbg_info
        if place.index + place.size > chunks or group.tb_id >= group.tbg_size:
            last = f"{buffer}[{place.index + place.size - 1}] of rank {rank}"
            raise InputError(f"{run} uses {last}, which does not exist", hint=HINT)
        if is_packet and buffer != "s":
            problem = f"{run} has packets in {buffer}[{place.index}] of rank {rank}"
            raise InputError(problem, hint="keep packets in the scratch buffer, s")
        part = place.size * self._units // group.tbg_size
        begin = place.index * self._units + part * group.tb_id
        name = _PACKETS if is_packet else buffer
        return [self.place(rank, name, offset) for offset in range(begin, begin + part)]

    def _transfer(
        self, run: RunningBlock, values: list[list[Sum]], ends: list[tuple[int, int]]
    ) -> None:
        """Send units between GPUs, all in the same step of the schedule.

        Args:
            run: the thread block that executes the operation.
            values: the chunk contents of each transfer.
            ends: the sender and receiver of each transfer; if they are equal, nothing is sent.
        """
        step = max(run.now.arrived, run.now.sent) + 1
        for units, pair in zip(values, ends, strict=True):
            if pair[0] != pair[1]:
                arrival = self.send(run, units, pair, step)
                run.now = run.now._replace(sent=max(run.now.sent, arrival))
