"""Search for a Hamiltonian cycle of a topology by Pósa rotations, in a limited number of steps.

A path grows at its end, towards neighbours with few unvisited neighbours of their own. If the end
has no unvisited neighbour, the path is rotated: a link from the end back to a node of the path
replaces the link after this node, so the path gets another end. The result depends only on the
topology.

Reference: L. Pósa, "Hamiltonian circuits in random graphs", Discrete Mathematics 14(4), 1976.
"""

import random
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from starcast.topologies.base import Topology

#: Topologies with more nodes are not searched, because the schedule of an allgather along the cycle
#: would have too many rows.
MAX_NODES = 10_000
#: The maximum number of steps of a search is `_STEPS`, plus `_STEPS_PER_NODE` for each node.
_STEPS, _STEPS_PER_NODE = 10_000, 20


def find_hamiltonian_cycle(topology: Topology) -> NDArray[np.uint8] | None:
    """Return the ports along a Hamiltonian cycle that begins and ends at rank 0.

    Returns:
        uint8 ``[nodes]``. None if the topology has fewer than 3 or more than `MAX_NODES` nodes, if
        a node has fewer than 2 neighbours, or if the search found no cycle (it can miss a cycle).
    """
    if not 3 <= topology.nodes <= MAX_NODES:
        return None
    table = topology.table()
    # The cache key is not the spec: a plug-in may later define another topology with this spec.
    found = _search(table.tobytes(), *table.shape)
    if found is None:
        return None
    cycle = np.roll(found, -int(np.flatnonzero(found == 0)[0]))
    slots = (table[:, cycle] == np.roll(cycle, -1)).argmax(axis=0)
    return np.asarray(np.array(topology.ports, dtype=np.uint8)[slots])


@lru_cache(maxsize=16)
def _search(table: bytes, ports: int, nodes: int) -> NDArray[np.int64] | None:
    """Return the nodes along a Hamiltonian cycle, int64 ``[nodes]``; None if none was found."""
    rows = np.frombuffer(table, dtype=np.int32).reshape(ports, nodes).T.tolist()
    # Each neighbour is listed once, because a topology of a plug-in may have parallel links.
    linked = [[end for end in dict.fromkeys(ends) if end != node] for node, ends in enumerate(rows)]
    if min(map(len, linked)) < 2:
        return None
    chance = random.Random(0)  # noqa: S311 - not a secret
    path = np.zeros(nodes, dtype=np.int64)
    position = np.full(nodes, -1)
    position[0], length = 0, 1
    for _ in range(_STEPS + _STEPS_PER_NODE * nodes):
        end = int(path[length - 1])
        fresh = [node for node in linked[end] if position[node] < 0]
        if fresh:
            ways = [sum(position[each] < 0 for each in linked[node]) for node in fresh]
            best = [node for node, count in zip(fresh, ways, strict=True) if count == min(ways)]
            path[length] = best[int(chance.random() * len(best))]
            position[path[length]] = length
            length += 1
            continue
        if length == nodes and path[0] in linked[end]:
            return path
        others = [node for node in linked[end] if node != path[length - 2]]
        # With probability 1/8 the path is reversed, so that it can also grow at its other end.
        turn = chance.random() * 8
        first = 0 if turn < 1 else int(position[others[int((turn - 1) / 7 * len(others))]]) + 1
        path[first:length] = path[first:length][::-1].copy()
        position[path[first:length]] = np.arange(first, length)
    return None
