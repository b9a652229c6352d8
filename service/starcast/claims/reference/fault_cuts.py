"""Copies of a broadcast message that faults prevent from reaching nodes.

As in Fragopoulou & Akl 1996, a node forwards a copy in a tree only if the copy arrived in that
tree. The simulator is less strict: a node that has a unit sends it in every tree.
"""

from collections.abc import Iterable
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from starcast.claims.object_cache import CachedTopology
from starcast.collectives.model import Schedule

#: Whether a fault keeps a unit's copy from a node, bool ``[units, copies, faults, nodes]``.
Cuts = NDArray[np.bool_]
#: A faulty node, or the two ends of a faulty link.
FaultyPart = int | tuple[int, int]
_SEED = 1996
_MAX_SETS = 3_000  # all pairs of faults are tried up to this number; samples have half as many


def describe_fault(network: CachedTopology, fault: FaultyPart) -> str:
    """Return the label of a faulty node, or the labels of the ends of a faulty link."""
    ends = fault if isinstance(fault, tuple) else (fault,)
    return " - ".join(map(network.label, ends))


class PossibleFaults:
    """All nodes and links that can be faulty, numbered from 0; the source is healthy.

    Attributes:
        network: the topology.
        source: rank of the source, which is healthy.
        nodes: the other nodes in rank order, numbered 0, 1, ..
        links: the two ends of each link, lower rank first; links are numbered after the nodes.
        of_link: number of the link at a port and node, int64 ``[ports, nodes]``.
        of_node: number of a node, int64 ``[nodes]``; -1 for the source.
    """

    def __init__(self, network: CachedTopology) -> None:
        self.network = network
        self.source = 0
        self.nodes = np.arange(1, network.nodes)
        self.of_node = np.full(network.nodes, -1)
        self.of_node[self.nodes] = np.arange(len(self.nodes))
        neighbours = network.neighbours
        tails = np.repeat(np.arange(network.nodes), len(neighbours))
        heads = neighbours.T.ravel()
        ordered = tails < heads
        self.links = list(zip(tails[ordered].tolist(), heads[ordered].tolist(), strict=True))
        number = {link: len(self.nodes) + index for index, link in enumerate(self.links)}
        self.of_link: NDArray[np.int64] = np.full(neighbours.shape, -1)
        for port, row in enumerate(neighbours.tolist()):
            for node, neighbour in enumerate(row):
                link = (min(node, neighbour), max(node, neighbour))
                self.of_link[port, node] = number.get(link, -1)

    def __len__(self) -> int:
        return len(self.nodes) + len(self.links)

    def fault(self, number: int) -> FaultyPart:
        """Return a fault in the form that the simulator expects."""
        if number < len(self.nodes):
            return int(self.nodes[number])
        return self.links[number - len(self.nodes)]

    def describe(self, numbers: Iterable[int]) -> str:
        """Return the labels of a set of faults."""
        faults = [self.fault(int(number)) for number in numbers]
        return ", ".join(describe_fault(self.network, fault) for fault in faults) or "none"

    def sets(self, size: int) -> NDArray[np.int64]:
        """Return all sets of one fault, all pairs if they are few, otherwise a random sample.

        In half of the sample, all faults of a set are next to one node.

        Returns:
            int64 ``[sets, size]``.
        """
        if size == 0:
            return np.empty((1, 0), dtype=np.int64)
        if size == 1 or (size == 2 and len(self) ** 2 // 2 <= _MAX_SETS):
            return np.array(list(combinations(range(len(self)), size)), dtype=np.int64)
        rng = np.random.default_rng([_SEED, self.network.n, size])
        drawn = [rng.choice(len(self), size, replace=False) for _ in range(_MAX_SETS // 4)]
        drawn += [self._draw_near_node(rng, size) for _ in range(_MAX_SETS // 4)]
        return np.sort(np.array(drawn), axis=1)

    def _draw_near_node(self, rng: np.random.Generator, size: int) -> NDArray[np.int64]:
        """Draw faults among the neighbours and links of one node, where they block most copies."""
        node = int(rng.choice(self.nodes))
        links = self.of_link[:, node]
        ends = np.array([self.links[link - len(self.nodes)] for link in links])
        neighbours = self.of_node[np.where(ends[:, 0] == node, ends[:, 1], ends[:, 0])]
        return rng.choice(np.append(links, neighbours[neighbours >= 0]), size, replace=False)


def blocked_copies(schedule: Schedule, faults: PossibleFaults) -> Cuts:
    """Return, for each copy, fault and node, whether the fault keeps the copy from the node.

    Each tree that carries a unit delivers one copy. A copy without a path from the source counts as
    blocked by every fault. If a unit has fewer copies than other units, its missing copies count as
    blocked too.
    """

    def create() -> Cuts:
        cuts_of_units = []
        for unit in range(schedule.units):
            trees = trees_of_unit(schedule, unit)
            cuts_of_units.append([_cuts_of_copy(schedule, faults, unit, tree) for tree in trees])
        copies = max(map(len, cuts_of_units))
        # A missing copy of a unit counts as blocked by every fault.
        missing = np.ones((len(faults), schedule.topology.nodes), dtype=bool)
        padded = [cuts + [missing] * (copies - len(cuts)) for cuts in cuts_of_units]
        return np.array(padded)

    return faults.network.array(f"cuts of {schedule.id}", create)


def count_blocked_copies(cuts: Cuts, faults: PossibleFaults) -> NDArray[np.uint8]:
    """Return the number of copies of each unit that each fault keeps from each healthy node.

    Returns:
        uint8 ``[units, faults, nodes]``; 0 for the faulty node itself.
    """
    counts: NDArray[np.uint8] = cuts.sum(axis=1, dtype=np.uint8)
    # A faulty node need not receive copies, so its own fault is not counted against it.
    counts[:, np.arange(len(faults.nodes)), faults.nodes] = 0
    return counts


def trees_of_unit(schedule: Schedule, unit: int) -> list[int]:
    """Return the trees that carry a unit."""
    trees: list[int] = np.unique(schedule.tree[schedule.unit == unit]).tolist()
    return trees


def count_missing(
    cuts: Cuts, faults: PossibleFaults, fault_sets: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the number of missing (healthy node, unit) pairs for each set of faults."""
    missing = np.zeros(len(fault_sets), dtype=np.int64)
    for index, chosen in enumerate(fault_sets):
        faulty_nodes = faults.nodes[chosen[chosen < len(faults.nodes)]]
        lost: NDArray[np.bool_] = np.all(np.any(cuts[:, :, chosen], axis=2), axis=1)
        lost[:, [faults.source, *faulty_nodes]] = False
        missing[index] = np.count_nonzero(lost)
    return missing


def _cuts_of_copy(schedule: Schedule, faults: PossibleFaults, unit: int, tree: int) -> Cuts:
    """Return which faults are on the path of a copy to each node, bool ``[faults, nodes]``."""
    nodes = schedule.topology.nodes
    rows = (schedule.unit == unit) & (schedule.tree == tree)
    receivers = schedule.receiver[rows]
    parent = np.full(nodes, -1, dtype=np.int32)
    parent[receivers] = schedule.sender[rows]
    port = np.full(nodes, -1, dtype=np.int32)
    port[receivers] = schedule.port[rows].astype(np.int32) - 2
    cuts = np.zeros((len(faults), nodes), dtype=bool)
    ends = np.arange(nodes)
    current = np.arange(nodes, dtype=np.int32)
    for _ in range(nodes):
        has_parent = (current != faults.source) & (parent[current] >= 0)
        if not has_parent.any():
            break
        children = current[has_parent]
        parents = parent[children]
        cuts[faults.of_link[port[children], children], ends[has_parent]] = True
        is_inner = parents != faults.source
        cuts[faults.of_node[parents[is_inner]], ends[has_parent][is_inner]] = True
        current = np.where(has_parent, parent[current], current)
    # Nodes that this copy never reaches count as cut off by every fault.
    cuts[:, current != faults.source] = True
    return cuts
