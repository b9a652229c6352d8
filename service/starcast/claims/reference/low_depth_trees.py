"""Edge-disjoint trees of small depth, one from each neighbour of the identity of S_n: a bound, and a search.

Such trees use every directed link between other nodes exactly once, n-2 links into each neighbour of the identity and n-1 into
every other node. So in the n-1 trees a node hangs from its n-1 neighbours, one each (from the identity in the one tree only).
"""

from itertools import count
from itertools import permutations as orders
from math import prod

import numpy as np
from numpy.typing import NDArray

from starcast.claims.object_cache import ObjectCache
from starcast.claims.reference import bfs
from starcast.claims.reference.star_labels import rotation, rotation_function
from starcast.permutations import Ranks
from starcast.topologies import Topology

_FAR = 1_000
_MOST = 1_000_000
_TOGETHER = 100_000


def least_depth(objects: ObjectCache, topology: Topology) -> int:
    """A bound: such trees are at least so deep.

    In tree l a node is one link further from the identity than the neighbour from which it hangs. A dealing of its neighbours
    to the trees that makes it deeper than the trees may be is out. What is left may put it deeper in a tree, which counts
    against its neighbours' dealings. Where a node has none left, there are no trees of that depth: the next depth is tried.
    """

    def make() -> NDArray[np.int64]:
        return np.array([next(depth for depth in count(1) if _possible(objects, topology, depth))])

    return int(objects.array("least depth of edge-disjoint trees", topology.spec, make)[0])


def rotated_trees(objects: ObjectCache, topology: Topology, depth: int) -> NDArray[np.uint8]:
    """Edge-disjoint trees at the identity that are rotations of one another and no deeper, uint8 ``[trees, nodes]``.

    All ways to hang the nodes are gone through, but those by which a single node is too deep; the first least deep trees count.
    No rows where there are none, or too many ways.
    """
    return objects.array(
        f"trees of depth {depth}", topology.spec, lambda: _searched(objects, topology, depth)
    )


def _reached(objects: ObjectCache, topology: Topology) -> NDArray[np.int64]:
    """How far each node is from the identity at least in each tree: through the tree's own child of the root, and not back."""
    across = objects.neighbours(topology.spec)
    without = across.copy()
    for port, there in enumerate(across[:, 0]):
        without[port, there] = there
    return np.stack([1 + bfs.search(without, int(child)) for child in across[:, 0]]).astype(
        np.int64
    )


def _costs(
    objects: ObjectCache, topology: Topology, levels: NDArray[np.int64]
) -> NDArray[np.int64]:
    """How deep a node is in a tree at least if it hangs from the neighbour across a port, int64 ``[trees, ports, nodes]``."""
    across = objects.neighbours(topology.spec)
    costs = 1 + levels[:, across]
    for port, child in enumerate(across[:, 0]):
        costs[:, port, child] = _FAR
        costs[port, port, child] = 1
    return costs


def _possible(objects: ObjectCache, topology: Topology, depth: int) -> bool:
    """Whether every node has a dealing of its neighbours by which it is no deeper, as far as the least levels tell."""
    levels, tree = _reached(objects, topology), np.arange(topology.degree)
    while True:
        costs, further = _costs(objects, topology, levels), np.full_like(levels, _FAR)
        for dealing in orders(range(topology.degree)):
            own = costs[tree, np.array(dealing)]
            np.minimum(further, np.where(own.max(axis=0) <= depth, own, _FAR), out=further)
        further[:, 0] = levels[:, 0]
        if further.max() >= _FAR or np.array_equal(further, levels):
            return bool(further.max() < _FAR)
        levels = np.maximum(levels, further)


def _searched(objects: ObjectCache, topology: Topology, depth: int) -> NDArray[np.uint8]:
    orbits = _orbits(rotation(objects, topology))
    costs = _costs(objects, topology, _reached(objects, topology))
    options = [_options(topology.degree, orbit, costs[:, :, orbit[0]], depth) for orbit in orbits]
    total = prod(map(len, options))
    none = np.empty((0, topology.nodes), dtype=np.uint8)
    if total > _MOST:
        return none
    best, least = none, depth + 1
    for start in range(0, total, _TOGETHER):
        row = np.zeros((min(_TOGETHER, total - start), topology.nodes), dtype=np.uint8)
        rest = np.arange(start, start + len(row))
        for orbit, ways in zip(orbits, options, strict=True):
            rest, chosen = np.divmod(rest, len(ways))
            row[:, orbit] = ways[chosen]
        depths = _depths(objects.neighbours(topology.spec), row)
        if depths.min() < least:
            best, least = row[depths.argmin()][None], int(depths.min())
    return _turned(objects, topology, best[0]) if len(best) else none


def _orbits(turn: Ranks) -> list[list[int]]:
    """The necklaces but the identity's, each from its lowest node on."""
    found, seen = [], {0}
    for node in range(len(turn)):
        if node not in seen:
            orbit, further = [node], int(turn[node])
            seen.add(node)
            while further not in seen:
                orbit.append(further)
                seen.add(further)
                further = int(turn[further])
            found.append(orbit)
    return found


def _options(
    trees: int, orbit: list[int], costs: NDArray[np.int64], depth: int
) -> NDArray[np.uint8]:
    """The dimensions toward the parent in tree 2 for the nodes of an orbit, uint8 ``[ways, nodes of the orbit]``.

    A way deals the first node's ports to the trees. What R^j takes to the node j of the orbit, R^-j takes to tree 2. A shorter
    orbit comes back to its first node, with the same dealing.
    """
    ways = []
    for dealing in orders(range(trees)):
        again = tuple((dealing[tree - len(orbit)] + len(orbit)) % trees for tree in range(trees))
        if again == dealing and costs[np.arange(trees), np.array(dealing)].max() <= depth:
            ways.append([(dealing[-j % trees] + j) % trees + 2 for j in range(len(orbit))])
    return np.array(ways, dtype=np.uint8).reshape(-1, len(orbit))


def _depths(across: Ranks, rows: NDArray[np.uint8]) -> NDArray[np.int64]:
    """How deep each of many trees is, int64 ``[rows]``; `_FAR` where it is none."""
    node = np.arange(rows.shape[1])
    end = across[np.maximum(rows, 2) - 2, node[None, :]].astype(np.int64)
    end[:, 0] = 0
    steps = np.broadcast_to(node > 0, rows.shape).astype(np.int64)
    for _ in range(rows.shape[1].bit_length()):
        steps = steps + np.take_along_axis(steps, end, 1)
        end = np.take_along_axis(end, end, 1)
    return np.where((end == 0).all(axis=1), steps.max(axis=1), _FAR)


def _turned(objects: ObjectCache, topology: Topology, row: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """A tree and its rotations."""
    turn, rows = rotation(objects, topology), [row]
    for _ in range(topology.degree - 1):
        further = np.zeros_like(row)
        further[turn] = rotation_function(topology.n)[rows[-1]]
        rows.append(further)
    return np.stack(rows)
