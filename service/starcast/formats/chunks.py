"""Execute MSCCL XML files and MSCCL++ plans with unit numbers instead of data.

These files contain programs for thread blocks, which copy, send and add chunks of buffers.
The execution finds the unit of each send, and checks that each operation waits for the chunks that
it reads and overwrites. In a reduction, the execution also records the ranks whose contributions
each chunk contains, and thus detects contributions that are lost or counted twice.
"""

from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from starcast.collectives.columns import schedule_from_columns
from starcast.collectives.model import MAX_ROWS, REDUCTIONS, Schedule
from starcast.collectives.rows import DTYPES
from starcast.formats.msccl import VECTORS, lay_out
from starcast.judges.simulator.simulation import execute
from starcast.support.errors import InputError, LimitError, RejectedError
from starcast.support.vocabulary import Collective, Ports
from starcast.topologies import Topology

HINT = "write the file again, for this topology and collective"
#: Collectives that can be executed in place, with overlapping input and output buffers.
IN_PLACE: tuple[Collective, ...] = ("broadcast", "allgather", "alltoall", *REDUCTIONS)
#: The place where a chunk is stored: rank, buffer and offset.
ChunkPlace = tuple[int, str, int]
_COLUMNS = ("step", "sender", "port", "receiver", "unit", "tree", "combine")


#: Collectives for which MSCCL has no name; msccl-tools writes "custom" for them.
_UNNAMED = ("scatter", "gather")


def find_mismatch(
    name: str, gpus: int | str, in_place: bool, topology: Topology, collective: Collective
) -> str | None:
    """Compare the header of a file with the topology and the collective that a user specified.

    Args:
        name: the collective in the file.
        gpus: the number of GPUs in the file.
        in_place: whether the file's collective is executed in place.
        topology: the topology that the user specifies; the file must have one GPU per endpoint.
        collective: the collective that the user specifies.

    Returns:
        The first difference, as a phrase such as "has 8 GPUs, but S3 has 6 nodes"; None if there
        is no difference.
    """
    # msccl-tools writes "reduce_scatter"; RCCL and MSCCL++ write "reducescatter".
    names = {collective, collective.replace("-", "_"), collective.replace("-", "")}
    if name not in names and not (name == "custom" and collective in _UNNAMED):
        return f"is for the collective '{name}', not {collective}"
    if str(gpus) != str(topology.endpoints):
        noun = "GPU" if str(gpus) == "1" else "GPUs"
        nodes = "nodes" if topology.endpoints == topology.nodes else "endpoints"
        return f"has {gpus} {noun}, but {topology.spec} has {topology.endpoints} {nodes}"
    if in_place and collective not in IN_PLACE:
        return f"has an in-place {collective}; only {', '.join(IN_PLACE)} can be in-place"
    return None


class Knowledge(NamedTuple):
    """The operations that a thread block knows to have ended, because it has waited for them.

    Attributes:
        ended: for each thread block, the index of its last operation known to have ended, or -1.
        arrived: the last schedule step in which one of these operations received a chunk, or 0.
        sent: the last schedule step in which one of these operations sent a chunk, or 0.
    """

    ended: NDArray[Any]
    arrived: int
    sent: int

    def merge(self, other: "Knowledge", block: int, step: int) -> "Knowledge":
        """Return the knowledge of a thread block after it has waited for another thread block.

        ``self`` is its knowledge before, and ``other`` that of thread block ``block`` after the
        operation ``step``, for which it has waited.
        """
        ended = np.maximum(self.ended, other.ended)
        ended[block] = max(ended[block], step)
        return Knowledge(ended, max(self.arrived, other.arrived), max(self.sent, other.sent))


@dataclass
class RunningBlock:
    """A thread block during execution.

    Attributes:
        block: the thread block in the file; it has the attributes `rank` and `steps` (operations).
        number: the index of the thread block in `Knowledge.ended`.
        now: the `Knowledge` of the thread block before its next operation.
        done: the number of executed operations, which is the index of the next operation.
    """

    block: Any
    number: int
    now: Knowledge
    done: int = 0

    def knows(self, uses: dict[int, int]) -> Iterator[bool]:
        """Yield, for each operation in ``uses``, whether this block knows that the operation ended.

        The dict ``uses`` maps indices of thread blocks to the index of one operation in each of
        these blocks. A thread block knows that its own earlier operations have ended.
        """
        for number, step in uses.items():
            yield number == self.number or self.now.ended[number] >= step

    def fail(self, problem: str) -> NoReturn:
        """Raise an error that names the thread block and its next operation."""
        raise RejectedError(f"{self} {problem}", hint=HINT)

    def __str__(self) -> str:
        """Return the thread block and its next operation, as text for messages."""
        return f"{self.block}, step {self.done}"


class Sum(NamedTuple):
    """The content of a chunk: a unit and, in reductions, the contributions added to it.

    Attributes:
        unit: the number of the unit.
        ranks: a bit mask of the ranks whose contributions are added; 0 outside of reductions.
    """

    unit: int
    ranks: int


@dataclass
class _Chunk:
    """A chunk in a buffer of a GPU during execution, and the operations that have used it.

    Attributes:
        held: the unit or partial sum in the chunk.
        written: for each thread block that wrote the chunk, the first operation that wrote it;
            empty for a chunk of the input.
        used: for each thread block that read or wrote the chunk, the last operation that used it.
        replaced: the chunk with the previous content of the same place, if any.
    """

    held: Sum
    written: dict[int, int] = field(default_factory=dict)
    used: dict[int, int] = field(default_factory=dict)
    replaced: "_Chunk | None" = None


class ChunkExecution:
    """Executes the thread blocks of an MSCCL XML file or MSCCL++ plan, operation by operation.

    Args:
        topology: the topology, with an endpoint for each GPU.
        collective: the collective that the file executes.
        root: the rank of the root.
        chunks: the number of units in the largest input or output buffer.
        in_place: whether the input and output buffers overlap.

    Attributes:
        rows: the schedule rows found so far, as tuples with the values of `_COLUMNS`.
        collective: the collective that the file executes.

    Raises:
        InputError: the buffers are empty, or cannot be divided into messages of equal size.
    """

    def __init__(
        self, topology: Topology, collective: Collective, root: int, chunks: int, in_place: bool
    ) -> None:
        self.rows: list[tuple[int, ...]] = []
        # The rows do not name all units: units that never leave their GPU have no row, and may have
        # the highest numbers.
        self._unit_count = chunks * (topology.endpoints if collective == "alltoall" else 1)
        #: The thread block and operation that caused each row, as text for messages.
        self._places: dict[tuple[int, ...], str] = {}
        self._topology, self.collective, self._root = topology, collective, root
        self._input = "o" if in_place else "i"
        nodes = topology.endpoints
        units, rest = divmod(chunks, 1 if collective in VECTORS else nodes)
        if rest or not units:
            raise InputError(
                f"buffers of {chunks} chunks cannot be divided into equal messages for {nodes} "
                "GPUs",
                hint=HINT,
            )
        self._buffers = [lay_out(collective, nodes, units, root, rank) for rank in range(nodes)]
        # In-place execution: the input of an allgather is a part of its output, and the output of
        # a reduce-scatter is a part of its input.
        parts = {"allgather": "i", "reduce-scatter": "o"} if in_place else {}
        self._part, self._part_units = parts.get(collective, ""), units
        #: The ranks that contribute to a complete unit, one bit each; 0 outside of reductions.
        self._complete = 2**nodes - 1 if collective in REDUCTIONS else 0
        self._ports = {
            (rank, neighbour): port
            for port in topology.ports
            for rank, neighbour in enumerate(topology.neighbours(port).tolist())
            if rank != neighbour  # without a link at a port, a node is its own neighbour
        }
        self._neighbours = defaultdict[int, list[int]](list)
        for rank, neighbour in sorted(self._ports):
            self._neighbours[rank].append(neighbour)
        #: For each sender, a breadth-first tree through switches: the parent of each reached node.
        self._parents: dict[int, dict[int, int]] = {}
        #: For each unit, the receivers reached through switches, numbered in the order of sends.
        self._receivers: dict[int, dict[int, int]] = defaultdict(dict)
        self._chunks: dict[ChunkPlace, _Chunk] = {}
        #: For each awaited event, the thread blocks that wait for it. An event is a tuple: a
        #: message template, followed by the values of the template's placeholders.
        self._waiting: dict[tuple[Any, ...], list[RunningBlock]] = defaultdict(list)
        self._ready: deque[RunningBlock] = deque()

    def run_all(
        self, runs: list[RunningBlock], advance: Callable[[RunningBlock], tuple[Any, ...]]
    ) -> None:
        """Execute all operations, and check that no operation waits forever.

        Args:
            runs: all thread blocks.
            advance: executes the next operation of a thread block and returns an empty tuple. If
                the operation must wait, ``advance`` returns the awaited event as a tuple: a
                message template, followed by the values of the template's placeholders.

        Raises:
            InputError: an operation sends between GPUs that are not linked, or sends partial sums
                through a switch.
            LimitError: the operations send too many units.
            RejectedError: an operation waits forever, uses a chunk without waiting for its unit, or
                counts a contribution twice.
        """
        self._ready.extend(runs)
        while self._ready:
            run = self._ready.popleft()
            while run.done < len(run.block.steps):
                missing = advance(run)
                if missing:
                    self._waiting[missing].append(run)
                    break
                run.done += 1
        for (text, *values), blocked in self._waiting.items():
            blocked[0].fail(f"waits forever for {text.format(*values)}")

    def wake(self, key: tuple[Any, ...]) -> None:
        """Resume the thread blocks that wait for the event ``key``, which has happened."""
        self._ready += self._waiting.pop(key, [])

    def schedule(self, ports: Ports) -> Schedule:
        """Return the executed schedule, after checking the outputs and simulating the schedule.

        Raises:
            InputError: the sends do not form a schedule of the collective on the topology.
            RejectedError: an output has a wrong unit or an incomplete sum, or the simulator finds a
                violation.
        """
        self._check_outputs()
        table = np.array(self.rows, dtype=np.int64).reshape(-1, len(_COLUMNS))
        columns = dict(zip(_COLUMNS, table.T, strict=True))
        if not self._complete:
            del columns["combine"]
        mapping = columns | {"units": self._unit_count}
        schedule = schedule_from_columns(
            mapping, self._topology, self.collective, ports=ports, root=self._root
        )
        executed = execute(schedule)
        if executed.violation is not None:
            number, sentence = executed.violation
            row = tuple(int(getattr(executed.rows, name)[number]) for name in columns)
            raise RejectedError(f"{self._places[row]}: {sentence}", hint=HINT)
        return schedule

    def add(self, run: RunningBlock, own: list[Sum], units: list[Sum]) -> list[Sum]:
        """Add each arriving partial sum to the content of a local chunk, and return the results.

        Args:
            run: the thread block that executes the operation.
            own: the contents of the local chunks.
            units: the arriving partial sums, one per local chunk.

        Raises:
            RejectedError: two different units are added, or a contribution is counted twice.
        """
        sums = []
        for one, other in zip(own, units, strict=True):
            if one.unit != other.unit:
                run.fail(f"adds unit {other.unit} to unit {one.unit}")
            twice = one.ranks & other.ranks
            if twice:
                rank = twice.bit_length() - 1
                run.fail(f"counts the contribution of rank {rank} to unit {one.unit} twice")
            sums.append(Sum(one.unit, one.ranks | other.ranks))
        return sums

    def send(
        self, run: RunningBlock, units: list[Sum], ends: tuple[int, int], step: int, tree: int = 0
    ) -> int:
        """Append a row for each unit and each link on the path from sender to receiver.

        The path may pass through switches.

        Args:
            run: the thread block that executes the operation.
            units: the chunk contents to send.
            ends: the ranks of the sender and the receiver.
            step: the step of the schedule in which the sender sends.
            tree: the tree number of the rows, if the path does not pass through switches.

        Returns:
            The step in which the units arrive.

        Raises:
            InputError: sender and receiver are not linked, or exchange partial sums through
                switches.
            LimitError: the file sends too many units, or sends a unit through switches to too many
                receivers.
        """
        path = self._find_path(*ends)
        which = f"to rank {ends[1]}" if ends[0] == run.block.rank else f"from rank {ends[0]}"
        if not path:
            problem = f"{run} sends {which}, but the ranks are not linked in {self._topology.spec}"
            raise InputError(problem, hint=HINT)
        for unit, ranks in units:
            if len(path) > 2:
                # On their way through switches, copies of a unit for several receivers may use the
                # same link. With one tree per receiver, the rows of different copies differ.
                receivers = self._receivers[unit]
                tree = receivers.setdefault(ends[1], len(receivers))
                if tree > np.iinfo(DTYPES["tree"]).max:
                    raise LimitError(
                        f"{run} sends unit {unit} {which}, but a unit can be sent through switches"
                        f" to at most {tree} receivers",
                        hint="use a network in which GPUs are linked, or fewer GPUs",
                    )
            combine = int(ranks != self._complete)
            if combine and len(path) > 2:
                # Rows cannot express that a switch forwards several partial sums separately.
                problem = f"{run} sends a partial sum {which} over a switch of"
                raise InputError(
                    f"{problem} {self._topology.spec}, which is not supported",
                    hint=f"link GPUs that exchange sums, or use K{self._topology.endpoints}",
                )
            for hop, pair in enumerate(pairwise(path)):
                row = step + hop, pair[0], self._ports[pair], pair[1], unit, tree, combine
                self.rows.append(row)
                # Outside of reductions, `schedule` looks up rows without `combine`.
                self._places[row if self._complete else row[:-1]] = str(run)
        if len(self.rows) > MAX_ROWS:
            raise LimitError(
                f"the file needs more than {MAX_ROWS:,} transfers of a unit over a link",
                hint="use fewer chunks",
            )
        return step + len(path) - 2

    def _find_path(self, sender: int, receiver: int) -> list[int]:
        """Return a shortest path through switches as a list of nodes; [] if no such path exists.

        Of several shortest paths, the result is the lexicographically first list of ranks.
        """
        if (sender, receiver) in self._ports:
            return [sender, receiver]
        if sender not in self._parents:
            parents = self._parents[sender] = {sender: sender}
            queue = deque([sender])
            while queue:
                node = queue.popleft()
                if node == sender or node >= self._topology.endpoints:
                    found = [end for end in self._neighbours[node] if end not in parents]
                    parents |= dict.fromkeys(found, node)
                    queue += found
        path, parents = [receiver], self._parents[sender]
        while path[-1] != sender:
            if path[-1] not in parents:
                return []
            path.append(parents[path[-1]])
        return path[::-1]

    def read(self, run: RunningBlock, places: list[ChunkPlace]) -> list[Sum]:
        """Return the contents of the chunks at the given places.

        Raises:
            RejectedError: a chunk is empty, or the thread block has waited for none of the chunk's
                writers.
        """
        units = []
        for place in places:
            chunk = self._chunk(place)
            if chunk is None:
                run.fail(f"reads {self.name_place(place)}, which is still empty")
            # All writers wrote the same unit, so waiting for one of them suffices.
            if chunk.written and not any(run.knows(chunk.written)):
                number, first = next(iter(chunk.written.items()))
                run.fail(
                    f"reads {self.name_place(place)} without waiting for "
                    f"{self.name_block(number)}, step {first}, which writes it"
                )
            chunk.used[run.number] = run.done
            units.append(chunk.held)
        return units

    def write(self, run: RunningBlock, places: list[ChunkPlace], units: list[Sum]) -> None:
        """Write units to the chunks at the given places.

        Raises:
            RejectedError: this write, or an earlier write of the same unit, replaces another unit,
                and the thread block has not waited for all operations that use the other unit.
        """
        for place, unit in zip(places, units, strict=True):
            chunk = self._chunk(place)
            is_copy = chunk is not None and chunk.held == unit
            replaced = chunk.replaced if chunk is not None and is_copy else chunk
            if replaced is not None and not all(run.knows(replaced.used)):
                run.fail(
                    f"writes {self.name_place(place)} without waiting for the thread blocks "
                    f"that use its unit {replaced.held.unit}"
                )
            if chunk is None or not is_copy:
                if chunk is not None:
                    # Only the content that this write replaces is needed; earlier contents are
                    # dropped.
                    chunk.replaced = None
                chunk = self._chunks[place] = _Chunk(unit, {run.number: run.done}, replaced=chunk)
            elif chunk.written:
                # A second copy of the same unit may be written without a wait, because it does not
                # change the chunk.
                chunk.written.setdefault(run.number, run.done)
            chunk.used[run.number] = run.done

    def check_overlap(
        self, run: RunningBlock, sources: list[list[ChunkPlace]], targets: list[list[ChunkPlace]]
    ) -> None:
        """Check that an operation does not overwrite its own source chunks.

        An operation reads and writes chunks by position, and the threads of a thread block process
        the positions in no fixed order. A chunk that is a source at one position and a target at
        another position might therefore be overwritten before it is read.

        Raises:
            RejectedError: a chunk is a source and a target at different positions.
        """
        positions = {place: position for places in sources for position, place in enumerate(places)}
        for places in targets:
            for position, place in enumerate(places):
                if positions.get(place, position) != position:
                    run.fail(f"writes {self.name_place(place)}, which it also reads")

    def name_block(self, number: int) -> str:
        """Return the name of a thread block for messages."""
        return f"thread block {number}"

    def name_place(self, place: ChunkPlace) -> str:
        """Return the name of a chunk's place for messages, such as ``o[3]``."""
        return f"{place[1]}[{place[2]}]"

    def place(self, rank: int, buffer: str, offset: int) -> ChunkPlace:
        """Return the place of a chunk; a chunk in two overlapping buffers has only one place."""
        start = rank * self._part_units if buffer == self._part else 0
        return rank, self._input if buffer == "i" else buffer, offset + start

    def _chunk(self, place: ChunkPlace) -> _Chunk | None:
        """Return the chunk at the given place, or None if the place is still empty."""
        if place not in self._chunks:
            rank, buffer, offset = place
            inputs = self._buffers[rank][0]
            offset -= rank * self._part_units if self._part == "i" else 0
            if buffer != self._input or not 0 <= offset < inputs.chunks:
                return None
            self._chunks[place] = _Chunk(Sum(inputs.unit(offset), self._complete & 1 << rank))
        return self._chunks[place]

    def _check_outputs(self) -> None:
        """Check that each output buffer has the units that the collective must deliver there."""
        for rank, (_, outputs) in enumerate(self._buffers):
            for offset in range(outputs.chunks):
                unit = outputs.unit(offset)
                chunk = self._chunk(self.place(rank, "o", offset))
                if chunk is None or chunk.held.unit != unit:
                    held = "nothing" if chunk is None else f"unit {chunk.held.unit}"
                    problem = f"rank {rank} ends with {held} in o[{offset}]"
                    raise RejectedError(f"{problem} instead of unit {unit}", hint=HINT)
                missing = self._complete & ~chunk.held.ranks
                if missing:
                    block, last = next(iter(chunk.written.items()), (0, 0))
                    problem = f"rank {rank}, {self.name_block(block)}, step {last} leaves unit"
                    problem += f" {unit} in o[{offset}] without the contribution of rank"
                    raise RejectedError(f"{problem} {missing.bit_length() - 1}", hint=HINT)
