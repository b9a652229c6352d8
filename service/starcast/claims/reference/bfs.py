"""What several papers' checks find out by search, from the table of neighbours alone."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from starcast.claims.object_cache import ObjectCache
from starcast.permutations import Ranks
from starcast.topologies import Topology

_ALL_ROOTS = 24  # up to S_4 every node is taken as a root
_SEED = 1997


def distances(objects: ObjectCache, spec: str, root: int = 0) -> Ranks:
    """Every node's distance from the root by breadth-first search, int32 ``[nodes]``; -1 where it is not reached."""
    return objects.array(
        f"distances by search from {root}", spec, lambda: searched(objects.neighbours(spec), root)
    )


def searched(across: NDArray[Any], root: int) -> Ranks:
    """Distances from the root in a graph that is given by its neighbours, ``[ports, nodes]``."""
    found = np.full(across.shape[1], -1, dtype=np.int32)
    found[root] = 0
    front, distance = np.array([root]), 0
    while len(front):
        distance += 1
        around = across[:, front].ravel()
        around = around[found[around] < 0]
        found[around] = distance
        front = np.unique(around)
    return found


def profile(objects: ObjectCache, spec: str, root: int = 0) -> NDArray[np.int64]:
    """How many nodes stand at each distance 0, 1, .. from the root."""
    return np.bincount(distances(objects, spec, root)).astype(np.int64)


def diameter(objects: ObjectCache, spec: str) -> int:
    """The greatest distance from the identity; topologies here are vertex-symmetric, which TS.size looks at by itself."""
    return int(distances(objects, spec).max())


def distance_sum(objects: ObjectCache, spec: str) -> int:
    """The sum of all distances from the identity."""
    return int(distances(objects, spec).sum(dtype=np.int64))


def roots(topology: Topology, count: int = 4) -> tuple[int, ...]:
    """Roots to look at: all nodes of a small topology, else the identity, the last node and some drawn at random."""
    if topology.nodes <= _ALL_ROOTS:
        return tuple(range(topology.nodes))
    drawn = np.random.default_rng(_SEED + topology.nodes).choice(
        np.arange(1, topology.nodes - 1), count - 2, replace=False
    )
    return (0, *sorted(int(node) for node in drawn), topology.nodes - 1)


def parents(objects: ObjectCache, topology: Topology, row: NDArray[np.uint8]) -> Ranks:
    """Each node's parent in one tree, across the port that its row of a forest names; -1 where that is 0 or no port."""
    found = np.full(topology.nodes, -1, dtype=np.int32)
    for port, across in zip(topology.ports, objects.neighbours(topology.spec), strict=True):
        np.copyto(found, across, where=row == port)
    return found


def levels(parent: Ranks, root: int) -> Ranks:
    """How many links each node is from the root, along its parents; -1 where they do not lead to the root."""
    nodes = np.arange(len(parent), dtype=np.int32)
    end = np.where(parent >= 0, parent, nodes)
    end[root] = root
    steps = (end != nodes).astype(np.int32)
    for _ in range(len(parent).bit_length()):  # every round doubles what is looked ahead
        steps = steps + steps[end]
        end = end[end]
        if (end == root).all():
            break
    return np.where(end == root, steps, np.int32(-1))


def depths(
    objects: ObjectCache, topology: Topology, rows: NDArray[np.uint8], root: int = 0
) -> Ranks:
    """The levels of all nodes in each tree of a forest, given by its ports, int32 ``[trees, nodes]``."""
    return np.stack([levels(parents(objects, topology, row), root) for row in rows])


def random_tree(
    objects: ObjectCache, topology: Topology, seed: int, root: int = 0
) -> NDArray[np.uint8]:
    """The ports towards the parents in a spanning tree drawn at random, uint8 ``[nodes]``; every tree can come out.

    In every round each node next to the tree joins it with probability one half, over one of its links to it.
    """
    across = objects.neighbours(topology.spec)
    rng = np.random.default_rng([_SEED, seed, root])
    row = np.zeros(topology.nodes, dtype=np.uint8)
    joined = np.zeros(topology.nodes, dtype=bool)
    joined[root] = True
    ports = np.array(topology.ports, dtype=np.uint8)
    while not joined.all():
        near = joined[across] & ~joined
        if not near.any():
            break  # the rest is not connected to it: no tree, which the checkers say
        new = np.flatnonzero(near.any(axis=0) & (rng.random(topology.nodes) < 1 / 2))
        chosen = np.argmax(near[:, new] * rng.random((len(across), len(new))), axis=0)
        row[new] = ports[chosen]
        joined[new] = True
    return row
