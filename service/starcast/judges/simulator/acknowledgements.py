"""Simulate the allgather that waits for acknowledgements (Fragopoulou & Akl 1996, section 4.4).

In each tree of each source, the messages traverse the tree depth first: a node sends the messages
to its next child when the previous child has acknowledged them. When all children have acknowledged
them, the node sends an acknowledgement to its parent. An acknowledgement takes no extra step.
Without faults the rows are executed in the steps of the schedule, since the rows of one source and
tree already have the order of this traversal. With faults, a blocked hop is never acknowledged, so
the traversal *stalls*: the nodes that wait for the acknowledgement wait forever.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from starcast.collectives.model import Schedule
from starcast.judges.simulator.faults import FaultLike, Outages
from starcast.judges.simulator.ownership import check_size, derive_postcondition
from starcast.judges.simulator.rows import Indices, Links, Rows, repeats_previous
from starcast.judges.simulator.simulation import Simulation, execute_outages, simulate
from starcast.support.arrays import Mask
from starcast.support.errors import InputError

_INSTEAD = "use an allgather such as edge-disjoint, or omit `acknowledged`"


@dataclass(frozen=True, eq=False)
class AcknowledgedRun:
    """The results of an execution in which nodes wait for acknowledgements.

    A traversal sends the messages of one source through one tree. It stalls if a node waits for an
    acknowledgement forever.

    Attributes:
        simulation: the results of the simulation; a traversal executes no rows after it stalls.
        source: int64 ``[stalled]``, rank of the source of each traversal that stalled.
        tree: int64 ``[stalled]``, the tree of each of these traversals.
        hops: int64 ``[stalled]``, the number of hops that each traversal completed; 0 if the
            traversal's first hop was blocked. If the traversal completed all hops, only
            acknowledgements after the last hop are missing.
    """

    simulation: Simulation
    source: Indices
    tree: Indices
    hops: Indices

    @property
    def stalled(self) -> tuple[tuple[int, int, int], ...]:
        """The stalled traversals, each as a tuple (source, tree, number of completed hops)."""
        return tuple(zip(self.source.tolist(), self.tree.tolist(), self.hops.tolist(), strict=True))


def simulate_acknowledged(schedule: Schedule, faults: Iterable[FaultLike] = ()) -> AcknowledgedRun:
    """Execute an allgather in which nodes wait for acknowledgements, not for fixed steps.

    Args:
        schedule: an allgather that traverses each tree depth first, such as ``edge-disjoint``. All
            rows with the same source, tree and link form one hop, which ends when its last unit
            arrives.
        faults: the faulty nodes and links, in the form that `simulate` accepts. A hop is blocked if
            its link, sender or receiver fails before the hop ends. The acknowledgement of a hop
            returns over the same link after the last hop in the subtree beyond the link. The
            acknowledgement is blocked if the link, its sender or its receiver has failed by then.

    Raises:
        InputError: the schedule is not an allgather that traverses each tree depth first, it has a
            violation, its number of units is not divisible by the number of sources, or a fault is
            invalid.
        LimitError: the schedule has too many steps or units, or the rows of all sources do not fit
            into memory.

    Reference:
        Fragopoulou & Akl 1996, section 4.4.
    """
    outages = Outages(schedule.topology, faults)
    if schedule.collective != "allgather":
        raise InputError(
            f"acknowledgements need an allgather, but {schedule.id} is not an allgather",
            hint=_INSTEAD,
        )
    by_steps = simulate(schedule)
    if by_steps.violation is not None:
        raise InputError(
            f"{schedule.id} violates a rule: {by_steps.violation}",
            hint="use a schedule that obeys its port model",
        )
    rows = Rows(schedule.expand() if outages else schedule)
    traversals = _Traversals(rows)
    if not outages:
        none = np.empty(0, dtype=np.int64)
        return AcknowledgedRun(by_steps, none, none, none)
    check_size(derive_postcondition(rows.schedule), len(rows))
    attempted, stalled, hops = traversals.find_stalled(outages)
    simulation = execute_outages(rows.schedule, outages, attempted=attempted).simulation
    return AcknowledgedRun(simulation, traversals.source[stalled], traversals.tree[stalled], hops)


class _Traversals:
    """The hops of all depth-first traversals, one traversal per tree and source.

    Hops are sorted by traversal; the hops of a traversal are in chronological order.

    Attributes:
        source: int64 ``[traversals]``, the source of each traversal.
        tree: int64 ``[traversals]``, the tree of each traversal.
    """

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        source = derive_postcondition(rows.schedule).source(rows.unit.astype(np.int64))
        self._order = np.lexsort((rows.step, rows.tree, source))
        source = source[self._order]
        tree = rows.tree[self._order]
        sender = rows.sender[self._order]
        receiver = rows.receiver[self._order]
        starts_traversal = ~repeats_previous(source, tree)
        starts_hop = ~repeats_previous(source, tree, sender, receiver)
        begins = np.flatnonzero(starts_hop)
        self._hop_of_row = np.cumsum(starts_hop) - 1
        self._traversal_of_hop = (np.cumsum(starts_traversal) - 1)[begins]
        self._first_hop = np.flatnonzero(starts_traversal[begins])
        self.source = source[begins][self._first_hop]
        self.tree = tree[begins][self._first_hop].astype(np.int64)
        self._sender = sender[begins]
        self._receiver = receiver[begins]
        self._port = rows.port[self._order][begins]
        last_row = np.append(begins[1:], len(rows)) - 1
        self._end_step = rows.step[self._order][last_row].astype(np.int64)
        self._last_beyond = self._find_last_hops_beyond(source[begins])
        # In a depth-first traversal, a hop starts only after the previous hop has ended.
        is_next = self._traversal_of_hop[1:] == self._traversal_of_hop[:-1]
        first_step = rows.step[self._order][begins]
        if (is_next & (first_step[1:] <= self._end_step[:-1])).any():
            raise self._refusal()

    def find_stalled(self, outages: Outages) -> tuple[Mask, Indices, Indices]:
        """Find the traversals that stall because of faults.

        Returns:
            Three arrays: whether each row is attempted, bool ``[rows]``; the indices of the stalled
            traversals; and the number of hops that each stalled traversal completed.
        """
        links = Links(outages.topology)
        hop = np.arange(len(self._traversal_of_hop))
        down_from = outages.down_from(links)[links.number(self._sender, self._port)]
        never = len(hop)
        # A blocked hop is the last hop that its traversal attempts. If only the acknowledgement of
        # a hop is blocked, the traversal still attempts all hops of the subtree beyond this hop.
        is_blocked = down_from <= self._end_step
        blocked = self._least_per_traversal(np.where(is_blocked, hop, never))
        is_unheard = down_from <= self._end_step[self._last_beyond]
        unheard = self._least_per_traversal(np.where(is_unheard, self._last_beyond, never))
        last = np.minimum(blocked, unheard)
        attempted = np.empty(len(self.rows), dtype=bool)
        attempted[self._order] = (hop <= last[self._traversal_of_hop])[self._hop_of_row]
        stalled = np.flatnonzero(last < never)
        hops = np.where(blocked <= unheard, blocked, unheard + 1) - self._first_hop
        return attempted, stalled, hops[stalled]

    def _least_per_traversal(self, values: Indices) -> Indices:
        # `reduceat` does not accept empty arrays.
        if not len(values):
            return values
        return np.asarray(np.minimum.reduceat(values, self._first_hop))

    def _find_last_hops_beyond(self, source: Indices) -> Indices:
        """Return, for each hop, the last hop in its receiver's subtree.

        If the receiver is a leaf, this is the hop itself.

        Raises:
            InputError: the hops of a subtree are not consecutive, so the traversal is not depth
                first.
        """
        parent = self._find_parent_hops(source)
        hop = np.arange(len(source))
        size = np.ones_like(hop)
        last = hop.copy()
        depth = np.zeros_like(hop)
        ancestor = parent
        while (ancestor >= 0).any():
            depth += ancestor >= 0
            ancestor = np.where(ancestor >= 0, parent[ancestor], -1)
        # The deepest hops are processed first, so a subtree is complete before it is added to the
        # subtree of its parent.
        for level in range(int(depth.max(initial=0)), 0, -1):
            on_level = np.flatnonzero(depth == level)
            np.add.at(size, parent[on_level], size[on_level])
            np.maximum.at(last, parent[on_level], last[on_level])
        if (last - hop + 1 != size).any():
            raise self._refusal()
        return last

    def _find_parent_hops(self, source: Indices) -> Indices:
        """Return, for each hop, the earlier hop that reached the hop's sender, int64 ``[hops]``.

        The value is -1 if the sender is the source.

        Args:
            source: the source of each hop's traversal.

        Raises:
            InputError: no earlier hop reached a sender, a node is reached twice, or a hop returns
                to the source.
        """
        nodes = self.rows.schedule.topology.nodes
        hop = np.arange(len(source))
        reached = self._traversal_of_hop * nodes + self._receiver
        wanted = self._traversal_of_hop * nodes + self._sender
        order = np.argsort(reached)
        # If no hop reached a sender, `searchsorted` returns a hop to another node. The mask `wrong`
        # below detects these cases.
        found = np.minimum(np.searchsorted(reached, wanted, sorter=order), max(len(order) - 1, 0))
        parent = np.where(self._sender == source, -1, order[found])
        wrong = (parent >= 0) & ((reached[parent] != wanted) | (parent >= hop))
        returns = (self._receiver == source).any() or repeats_previous(reached[order]).any()
        if wrong.any() or returns:
            raise self._refusal()
        return parent

    def _refusal(self) -> InputError:
        return InputError(
            "an execution with acknowledgements needs a depth-first traversal of every tree, but"
            f" the steps of {self.rows.schedule.id} have another order",
            hint=_INSTEAD,
        )
