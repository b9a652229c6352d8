"""Faults: nodes and links that are down from the start or from a later step on.

Under faults a schedule is executed step by step, and rows that cannot deliver their unit are
dropped.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Self

import numpy as np
from numpy.typing import NDArray

from starcast.collectives.model import Schedule
from starcast.judges.simulator.ownership import (
    Held,
    PairIndex,
    Postcondition,
    derive_postcondition,
    make_pair_index,
)
from starcast.judges.simulator.rows import Indices, Links, Rows, repeats_previous
from starcast.judges.simulator.sums import Sums
from starcast.support.arrays import Mask
from starcast.support.errors import InputError
from starcast.support.vocabulary import parse_fault
from starcast.topologies import Topology

End = int | str
_NEVER = np.iinfo(np.int64).max


@dataclass(frozen=True)
class Fault:
    """A node or link that is down from a given step on.

    A node that is down neither sends nor receives; a link that is down carries nothing in either
    direction.

    Args:
        what: a node (label or rank), or a link (a pair of neighbours).
        step: the first step of the outage; step 1 means from the start.

    Raises:
        InputError: ``what`` is a tuple or list that does not have two elements, or the step is not
            a positive integer below 2^63 - 1.
    """

    what: End | tuple[End, End]
    step: int = 1

    def __post_init__(self) -> None:
        # The type is object, so that mypy accepts checks for values that the annotation excludes.
        what: object = self.what
        if isinstance(what, list | tuple):
            # A list is converted to a tuple, because a fault that contains a list has no hash.
            object.__setattr__(self, "what", tuple(what))
        if isinstance(what, list | tuple) and len(what) != 2:
            raise InputError(
                f"{what!r} is neither a node nor a link",
                hint="write a faulty link as a pair of neighbours",
            )
        step: object = self.step
        is_integer = isinstance(step, int | np.integer) and not isinstance(step, bool)
        if not is_integer or not 1 <= self.step < _NEVER:
            shown = "a larger number" if is_integer and self.step > _NEVER else repr(step)
            raise InputError(
                f"the fault {what!r} needs an integer step from 1 to {_NEVER - 1}, not {shown}",
                hint="use a positive integer; step 1 means from the start",
            )

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse a fault such as ``21345``, ``12345-21345`` or ``#6@3`` (rank 6 from step 3 on).

        Raises:
            InputError: the string does not have the form of a fault.
        """
        ends, step = parse_fault(text)
        return cls(ends[0] if len(ends) == 1 else (ends[0], ends[1]), step)

    @property
    def ends(self) -> tuple[End, ...]:
        """A tuple with the node that is down, or with the two ends of the link that is down."""
        return self.what if isinstance(self.what, tuple) else (self.what,)

    def on(self, topology: Topology) -> "Fault":
        """Return this fault with labels instead of ranks; a link names its lower-ranked end first.

        Raises:
            InputError: the topology has no such node or link.
        """
        ranks = sorted(topology.node(end) for end in self.ends)
        labels = [topology.label(rank) for rank in ranks]
        if len(ranks) == 1:
            return Fault(labels[0], self.step)
        topology.ports_between(*ranks)
        return Fault((labels[0], labels[1]), self.step)

    def __str__(self) -> str:
        what = "-".join(end if isinstance(end, str) else f"#{end}" for end in self.ends)
        return what if self.step == 1 else f"{what}@{self.step}"


FaultLike = Fault | End | tuple[End, End]


class Outages:
    """The faults of a simulation. Each faulty node or link is kept once, with its earliest step.

    Raises:
        InputError: ``faults`` is not an iterable of faults (for example, a string), or a fault
            is neither a node nor a link of the topology.
    """

    def __init__(self, topology: Topology, faults: Iterable[FaultLike]) -> None:
        self.topology = topology
        earliest: dict[object, Fault] = {}
        for given in _check_list(faults):
            if isinstance(given, str):
                fault = Fault.parse(given)
            else:
                fault = given if isinstance(given, Fault) else Fault(given)
            fault = fault.on(topology)
            known = earliest.get(fault.what, fault)
            earliest[fault.what] = min(fault, known, key=lambda candidate: candidate.step)
        self.faults = tuple(earliest.values())

    def __bool__(self) -> bool:
        return bool(self.faults)

    def alive(self) -> Mask:
        """Return which nodes do not fail in any step, bool ``[nodes]``."""
        alive = np.ones(self.topology.nodes, dtype=bool)
        alive[[rank for rank, _ in self._dead_nodes()]] = False
        return alive

    def down_from(self, links: Links) -> NDArray[np.int64]:
        """Return the first step in which each directed link is down, int64 ``[links]``.

        The value for links that are never down is the largest int64.
        """
        topology = self.topology
        first = np.full(links.count, _NEVER, dtype=np.int64)
        for fault in self.faults:
            node, *other = (topology.node(end) for end in fault.ends)
            for port in topology.ports_between(node, *other) if other else topology.ports:
                neighbour = int(topology.neighbours(port, [node])[0])
                senders = np.array([node, neighbour])
                both = links.number(senders, np.array([port, topology.reverse_port(port)]))
                first[both] = np.minimum(first[both], fault.step)
        return first

    def remarks(self, postcondition: Postcondition) -> tuple[str, ...]:
        """Return sentences that explain how dead nodes affect the results; empty if they do not."""
        dead = [(rank, step) for rank, step in self._dead_nodes() if rank < postcondition.endpoints]
        to_each = postcondition.many_senders and postcondition.collective != "gather"
        if (to_each or postcondition.reduces) and dead:
            label = self.topology.label(dead[0][0])
            nodes = f"{len(dead)} nodes are" if len(dead) > 1 else f"node {label} is"
            own, target = ("their", "them") if len(dead) > 1 else ("its", "it")
            sent = "contributions" if postcondition.reduces else "units"
            consequence = (
                f"{own} own {sent} need not be delivered, and nothing need be delivered to {target}"
            )
            return (f"{nodes} dead: {consequence}",)
        return tuple(
            self._remark_on_root(postcondition, step)
            for rank, step in dead
            if rank == postcondition.root
        )

    def _remark_on_root(self, postcondition: Postcondition, step: int) -> str:
        when = "the start" if step == 1 else f"step {step}"
        root = f"node {self.topology.label(postcondition.root)} is the root and dead from {when}"
        if postcondition.collective == "gather":
            return f"{root}: nothing need be delivered"
        return f"{root}: it sends nothing{'' if step == 1 else ' from then on'}"

    def _dead_nodes(self) -> list[tuple[int, int]]:
        return [
            (self.topology.node(fault.what), fault.step)
            for fault in self.faults
            if not isinstance(fault.what, tuple)
        ]


def execute_under_faults(
    rows: Rows, postcondition: Postcondition, outages: Outages, attempted: Mask | None = None
) -> tuple[Mask, Held, Sums | None]:
    """Execute rows under faults, and drop those that cannot deliver their unit.

    Args:
        rows: rows with valid nodes, ports and units.
        postcondition: the postcondition of the rows, which determines the source of each unit.
        outages: the faulty nodes and links, with the first step of each outage.
        attempted: bool ``[rows]``, the rows to execute if possible; all other rows are dropped. By
            default all rows.

    Returns:
        Three values: a mask of the executed rows, bool ``[rows]``; a function that checks whether
        nodes hold units at the end; and the partial sums, None unless the collective is a
        reduction.
    """
    possible = _find_links_up(rows, outages)
    if attempted is not None:
        possible &= attempted
    if postcondition.reduces:
        sums = Sums(postcondition, rows, len(rows), outages.alive(), possible)
        return sums.executed, sums.held_after(len(rows)), sums
    pair_index = make_pair_index(postcondition, rows, len(rows))
    held = np.zeros(pair_index.size, dtype=bool)
    held[pair_index.initial(postcondition)] = True
    executed = np.zeros(len(rows), dtype=bool)
    for batch in rows.batches(len(rows)):
        selected = np.flatnonzero(possible[batch]) + batch.start
        executed[selected] = _execute_batch(rows, selected, pair_index, held)
    return executed, lambda node, unit: held[pair_index.of(node, unit)], None


def find_executed(schedule: Schedule, faults: Iterable[FaultLike]) -> Mask:
    """Return which rows of a schedule are executed under faults, bool ``[rows]``.

    The entries are for the rows sorted by step, sender, port, tree and unit. The rows of a schedule
    from `starcast.schedule` already have this order.

    Args:
        schedule: a schedule that `starcast.simulate` accepts, and that is not symmetric.
        faults: faulty nodes, links (pairs of neighbours) and `Fault` objects.

    Raises:
        InputError: ``faults`` is not an iterable of faults (for example, a string), or a fault
            is neither a node nor a link of the topology.
    """
    outages = Outages(schedule.topology, faults)
    return execute_under_faults(Rows(schedule), derive_postcondition(schedule), outages)[0]


def _execute_batch(rows: Rows, selected: Indices, pair_index: PairIndex, held: Mask) -> Mask:
    """Execute the selected rows of a batch step by step; return which of them are executed.

    A row is executed if its sender holds the unit. Deliveries are recorded in ``held``.
    """
    source = pair_index.of(rows.sender[selected], rows.unit[selected])
    target = pair_index.of(rows.receiver[selected], rows.unit[selected])
    executed = np.zeros(len(selected), dtype=bool)
    # Steps are executed one by one, because each row depends on the deliveries of earlier steps.
    begins = np.flatnonzero(~repeats_previous(rows.step[selected])).tolist()
    for begin, end in pairwise([*begins, len(selected)]):
        executed[begin:end] = held[source[begin:end]]
        held[target[begin:end][executed[begin:end]]] = True
    return executed


def _find_links_up(rows: Rows, outages: Outages) -> Mask:
    """Return, for each row, whether its link is up in the row's step, bool ``[rows]``.

    All links of a dead node are down.
    """
    links = Links(outages.topology)
    down_from = outages.down_from(links)
    up = np.empty(len(rows), dtype=bool)
    for batch in rows.batches(len(rows)):
        up[batch] = rows.step[batch] < down_from[links.number(rows.sender[batch], rows.port[batch])]
    return up


def _check_list(faults: Iterable[FaultLike]) -> Iterable[FaultLike]:
    if isinstance(faults, str | Fault) or not isinstance(faults, Iterable):
        raise InputError(
            f"the faults must be a list, but are {faults!r}",
            hint="use a list of nodes and pairs: faults=['21345']",
        )
    return faults
