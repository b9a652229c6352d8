"""Faults and the copies that they keep from a node, where a copy goes on in its tree only if it came there in that tree.

That is how the paper's nodes pass messages on; the simulator lets a node that has a unit send it in every tree.
"""

from collections.abc import Iterable
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from starcast.claims.object_cache import ObjectCache
from starcast.collectives.model import Schedule
from starcast.topologies import Topology

#: For each unit, copy, fault and node: whether the fault keeps that copy of the unit from that healthy node.
Cuts = NDArray[np.bool_]
#: A node, or the two ends of a link.
Place = int | tuple[int, int]
_SEED = 1996


class Faulty:
    """All that can be faulty beside the source: the other nodes in the order of ranks, then the links, lower end first."""

    def __init__(self, objects: ObjectCache, topology: Topology, source: int = 0) -> None:
        self.topology, self.source = topology, source
        self.nodes = np.delete(np.arange(topology.nodes), source)
        across = objects.neighbours(topology.spec)
        self.links = [
            (a, int(across[port, a]))
            for a in range(topology.nodes)
            for port in range(len(across))
            if a < across[port, a]
        ]
        self.number: NDArray[np.int64] = np.full(
            across.shape, -1
        )  # of the fault at a port and node
        place = {link: len(self.nodes) + i for i, link in enumerate(self.links)}
        for port, row in enumerate(across):
            for node, there in enumerate(row.tolist()):
                self.number[port, node] = place.get((min(node, there), max(node, there)), -1)
        self.at = np.full(topology.nodes, -1)
        self.at[self.nodes] = np.arange(len(self.nodes))

    def __len__(self) -> int:
        return len(self.nodes) + len(self.links)

    def fault(self, fault: int) -> Place:
        """A fault for the simulator."""
        return (
            int(self.nodes[fault])
            if fault < len(self.nodes)
            else self.links[fault - len(self.nodes)]
        )

    def describe(self, faults: Iterable[int]) -> str:
        """A set of faults in words."""
        return ", ".join(self._label(self.fault(int(fault))) for fault in faults) or "none"

    def _label(self, fault: Place) -> str:
        return (
            " - ".join(map(self.topology.label, fault))
            if isinstance(fault, tuple)
            else self.topology.label(fault)
        )

    def sets(self, size: int, most: int = 3_000) -> NDArray[np.int64]:
        """All sets of so many faults, ``[sets, size]``; of too many, some that are drawn, half of them near a node."""
        if size == 0:
            return np.empty((1, 0), dtype=np.int64)
        if size == 1 or (size == 2 and len(self) ** 2 // 2 <= most):
            return np.array(list(combinations(range(len(self)), size)), dtype=np.int64)
        rng = np.random.default_rng([_SEED, self.topology.n, size])
        drawn = [rng.choice(len(self), size, replace=False) for _ in range(most // 4)]
        return np.array(
            [np.sort(one) for one in (*drawn, *(self._near(rng, size) for _ in range(most // 4)))]
        )

    def _near(self, rng: np.random.Generator, size: int) -> NDArray[np.int64]:
        """Faults among the neighbours of a node and the links to them, where they hurt most."""
        node = int(rng.choice(self.nodes))
        links = self.number[:, node]
        pairs = np.array([self.links[link - len(self.nodes)] for link in links])
        others = self.at[np.where(pairs[:, 0] == node, pairs[:, 1], pairs[:, 0])]
        return rng.choice(np.append(links, others[others >= 0]), size, replace=False)


def cuts(objects: ObjectCache, made: Schedule, faulty: Faulty) -> Cuts:
    """Which faults keep which copies of a broadcast from which nodes, bool ``[units, copies, faults, nodes]``.

    The trees of a unit are its copies. A copy that does not come by any path from the source is kept off by every fault.
    """

    def make() -> Cuts:
        units = [
            [_cut(made, faulty, unit, tree) for tree in copies_of(made, unit)]
            for unit in range(made.units)
        ]
        most = max(map(len, units))
        lost = np.ones((len(faulty), made.topology.nodes), dtype=bool)
        return np.stack([np.stack(row + [lost] * (most - len(row))) for row in units])

    return objects.array(f"cuts of {made.id}", made.topology.spec, make)


def at_once(found: Cuts, faulty: Faulty) -> NDArray[np.uint8]:
    """How many copies of a unit each fault keeps from each node, uint8 ``[units, faults, nodes]``; who is down is owed none."""
    out: NDArray[np.uint8] = found.sum(axis=1, dtype=np.uint8)
    out[:, np.arange(len(faulty.nodes)), faulty.nodes] = 0
    return out


def copies_of(made: Schedule, unit: int) -> list[int]:
    """The trees that carry a unit."""
    trees: list[int] = np.unique(made.tree[made.unit == unit]).tolist()
    return trees


def lacking(found: Cuts, faulty: Faulty, sets: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many (healthy node, unit) pairs are missing under each set of faults, int64 ``[sets]``."""
    out = np.zeros(len(sets), dtype=np.int64)
    for row, faults in enumerate(sets):
        dead = faulty.nodes[faults[faults < len(faulty.nodes)]]
        lost: NDArray[np.bool_] = np.all(np.any(found[:, :, faults], axis=2), axis=1)
        lost[:, [faulty.source, *dead]] = False
        out[row] = np.count_nonzero(lost)
    return out


def _cut(made: Schedule, faulty: Faulty, unit: int, tree: int) -> Cuts:
    """Which faults are on the way of one copy to each node, bool ``[faults, nodes]``."""
    nodes, rows = made.topology.nodes, (made.unit == unit) & (made.tree == tree)
    parent, port = np.full((2, nodes), -1, dtype=np.int32)
    parent[made.receiver[rows]], port[made.receiver[rows]] = (
        made.sender[rows],
        made.port[rows].astype(np.int32) - 2,
    )
    found = np.zeros((len(faulty), nodes), dtype=bool)
    end, at = np.arange(nodes), np.arange(nodes, dtype=np.int32)
    for _ in range(nodes):
        on = (at != faulty.source) & (parent[at] >= 0)
        if not on.any():
            break
        above = parent[at[on]]
        found[faulty.number[port[at[on]], at[on]], end[on]] = True
        inner = above != faulty.source
        found[faulty.at[above[inner]], end[on][inner]] = True
        at = np.where(on, parent[at], at)
    found[:, at != faulty.source] = True
    return found
