"""The allgather that waits for acknowledgements: Fragopoulou & Akl 1996, section 4.4, as printed.

In each tree of each source the messages go round depth first: a node passes them to its next child when the child before has
acknowledged them, and acknowledges them itself when it has no more children. An acknowledgement takes no step of its own.
While nothing fails this is the schedule driven by steps: the rows of one source and tree, in the order of time, are that
traversal. But what is blocked is never acknowledged, and whoever waits for it waits for ever.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from starcast.collectives.model import Schedule
from starcast.errors import InputError
from starcast.simulator.faults import FaultLike, Outages
from starcast.simulator.links import Links
from starcast.simulator.postconditions import promised
from starcast.simulator.results import Simulation
from starcast.simulator.rows import Mask, Rows, runs
from starcast.simulator.simulation import simulate, under_faults

Indices = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Acknowledged:
    """What happened when everybody waited for acknowledgements.

    Attributes:
        simulation: the run; no rows are carried out after a traversal has stalled.
        source: int64 ``[stalled]``: rank of the source of each traversal that stalled.
        tree: int64 ``[stalled]``: its tree.
        hops: int64 ``[stalled]``: after how many hops it stalled; 0 where the first one was blocked. Where it made all of
            them, the source waits for the last acknowledgement alone.
    """

    simulation: Simulation
    source: Indices
    tree: Indices
    hops: Indices

    @property
    def stalled(self) -> tuple[tuple[int, int, int], ...]:
        """The stalled traversals: (source, tree, hops)."""
        return tuple(zip(self.source.tolist(), self.tree.tolist(), self.hops.tolist(), strict=True))


def acknowledged(schedule: Schedule, faults: Iterable[FaultLike] = ()) -> Acknowledged:
    """Execute an allgather whose nodes wait for acknowledgements instead of steps.

    Args:
        schedule: an allgather that goes round each tree depth first, such as that of ``edge-disjoint``. All rows of a
            source, tree and link are one hop, made when its last unit has arrived.
        faults: as in `simulate`. A hop is blocked when the link, the sender or the receiver fails before it is made, and
            an acknowledgement when one of them has failed by the step in which the hops beyond the link are done.

    Raises:
        InputError: it is no such schedule, or a fault is none.
        LimitError: its rows for all sources are too many for memory.
    """
    outages = Outages(schedule.topology, faults)
    if schedule.collective != "allgather":
        raise InputError(
            f"{schedule.id} is no allgather", hint="give that of the algorithm edge-disjoint"
        )
    driven = simulate(schedule)
    if driven.violation is not None:
        raise InputError(
            f"{schedule.id} breaks a rule: {driven.violation}",
            hint="give a schedule that keeps its port model",
        )
    rows = Rows(schedule.expand() if outages else schedule)
    hops = _Hops(rows)
    if not outages:
        none = np.empty(0, dtype=np.int64)
        return Acknowledged(driven, none, none, none)
    sent, walk, made = hops.stalled(outages)
    simulation = under_faults(rows.schedule, outages, sent=sent)
    return Acknowledged(simulation, hops.source[walk], hops.tree[walk], made)


class _Hops:
    """The hops of all traversals, each in its order, and those one after the other.

    Attributes:
        source, tree: int64 ``[walks]``: of each traversal.
    """

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        source = promised(rows.schedule).source(rows.unit.astype(np.int64))
        self._order = np.lexsort((rows.step, rows.tree, source))
        source, tree = source[self._order], rows.tree[self._order]
        sender, receiver = rows.sender[self._order], rows.receiver[self._order]
        new_walk, new_hop = ~runs(source, tree), ~runs(source, tree, sender, receiver)
        begins = np.flatnonzero(new_hop)
        self._hop = np.cumsum(new_hop) - 1  # of each row in order
        self._walk = (np.cumsum(new_walk) - 1)[begins]  # of each hop
        self._first = np.flatnonzero(new_walk[begins])  # hop of each walk
        self.source, self.tree = (
            source[begins][self._first],
            tree[begins][self._first].astype(np.int64),
        )
        self._sender, self._receiver = sender[begins], receiver[begins]
        self._port = rows.port[self._order][begins]
        self._made = rows.step[self._order][np.append(begins[1:], len(rows)) - 1].astype(np.int64)
        self._beyond = self._depth_first(source[begins])

    def stalled(self, outages: Outages) -> tuple[Mask, Indices, Indices]:
        """Which rows are tried, bool ``[rows]``, which walks stall, and after how many hops each."""
        links, hop = Links(outages.topology), np.arange(len(self._walk))
        down_from = outages.down_from(links)[links.number(self._sender, self._port)]
        endless = len(hop)
        # A blocked hop is the last one that is tried; without a hop's acknowledgement the last one beyond it is.
        blocked = self._least(np.where(down_from <= self._made, hop, endless))
        unheard = self._least(
            np.where(down_from <= self._made[self._beyond], self._beyond, endless)
        )
        last = np.minimum(blocked, unheard)
        sent = np.empty(len(self.rows), dtype=bool)
        sent[self._order] = (hop <= last[self._walk])[self._hop]
        walk = np.flatnonzero(last < endless)
        made = np.where(blocked <= unheard, blocked, unheard + 1) - self._first
        return sent, walk, made[walk]

    def _least(self, of_hops: Indices) -> Indices:
        return np.asarray(np.minimum.reduceat(of_hops, self._first)) if len(of_hops) else of_hops

    def _depth_first(self, source: Indices) -> Indices:
        """The last hop of the part of the tree that each hop leads to, which must be all hops from it to there.

        Raises:
            InputError: the hops of a walk are no depth-first traversal of a tree.
        """
        above, hop = self._above(source), np.arange(len(source))
        size, last, depth, at = np.ones_like(hop), hop.copy(), np.zeros_like(hop), above
        while (at >= 0).any():
            depth += at >= 0
            at = np.where(at >= 0, above[at], -1)
        for level in range(int(depth.max(initial=0)), 0, -1):
            lower = np.flatnonzero(depth == level)
            np.add.at(size, above[lower], size[lower])
            np.maximum.at(last, above[lower], last[lower])
        if (last - hop + 1 != size).any():
            raise self._refusal()
        return last

    def _above(self, source: Indices) -> Indices:
        """The hop that reached each hop's sender, int64 ``[hops]``; -1 where that is the source."""
        nodes, hop = self.rows.schedule.topology.nodes, np.arange(len(source))
        reached, asked = self._walk * nodes + self._receiver, self._walk * nodes + self._sender
        order = np.argsort(reached)
        place = np.minimum(np.searchsorted(reached, asked, sorter=order), max(len(order) - 1, 0))
        above = np.where(self._sender == source, -1, order[place])
        inner = above >= 0
        wrong = (reached[above] != asked) | (above >= hop)
        if (wrong & inner).any() or (self._receiver == source).any() or runs(reached[order]).any():
            raise self._refusal()
        return above

    def _refusal(self) -> InputError:
        schedule = self.rows.schedule
        return InputError(
            f"{schedule.id} does not go round each tree of a source depth first",
            hint="only the allgather by edge-disjoint trees has acknowledgements to wait for",
        )
