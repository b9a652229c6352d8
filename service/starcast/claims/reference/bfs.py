"""Breadth-first search and trees, computed only from the neighbour table."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from starcast.claims.object_cache import CachedTopology
from starcast.records import checkers
from starcast.topologies.permutations import Ranks
from starcast.trees.model import Forest

_ALL_ROOTS = 24  # nodes of S_4: up to this size every node is a sample root
_SEED = 1997


def distances(network: CachedTopology, root: int = 0) -> Ranks:
    """Return the distance of every node from the root, int32 ``[nodes]``; -1 if unreachable."""
    name = f"distances by search from {root}"
    return network.array(name, lambda: search(network.neighbours, root))


def search(neighbours: NDArray[Any], root: int) -> Ranks:
    """Return the distances from the root in a graph given by a neighbour table.

    Args:
        neighbours: ranks, ``[ports, nodes]``.
        root: rank of the root.

    Returns:
        int32 ``[nodes]``; -1 for unreachable nodes.
    """
    found = np.full(neighbours.shape[1], -1, dtype=np.int32)
    found[root] = 0
    front = np.array([root])
    distance = 0
    while len(front):
        distance += 1
        candidates = neighbours[:, front].ravel()
        candidates = candidates[found[candidates] < 0]
        found[candidates] = distance
        # Several nodes of the front may have the same neighbour, so duplicates are removed.
        front = np.unique(candidates)
    return found


def degrees(network: CachedTopology) -> NDArray[np.int64]:
    """Return the number of different neighbours of every node."""
    # Equal neighbours are adjacent after sorting, so every change of value is one more neighbour.
    changes = np.diff(np.sort(network.neighbours, axis=0), axis=0)
    return np.asarray(1 + np.count_nonzero(changes, axis=0))


def profile(network: CachedTopology, root: int = 0) -> NDArray[np.int64]:
    """Return the number of nodes at each distance 0, 1, .. from the root."""
    return np.bincount(distances(network, root)).astype(np.int64)


def diameter(network: CachedTopology) -> int:
    """Return the largest distance from the identity.

    This equals the diameter, because the topologies are node-symmetric (claim TS.size).
    """
    return int(distances(network).max())


def distance_sum(network: CachedTopology) -> int:
    """Return the sum of all distances from the identity."""
    return int(distances(network).sum(dtype=np.int64))


def roots(network: CachedTopology, count: int = 4) -> tuple[int, ...]:
    """Return sample roots: all nodes of a small topology, otherwise ``count`` nodes.

    The sample contains the identity, the last node and ``count - 2`` nodes drawn with a fixed seed.
    """
    if network.nodes <= _ALL_ROOTS:
        return tuple(range(network.nodes))
    # A fixed seed, so that a counterexample can be reproduced.
    rng = np.random.default_rng(_SEED + network.nodes)
    drawn = rng.choice(np.arange(1, network.nodes - 1), count - 2, replace=False)
    return (0, *sorted(int(node) for node in drawn), network.nodes - 1)


def parents(network: CachedTopology, row: NDArray[np.uint8]) -> Ranks:
    """Return the parent of each node in one tree, int32 ``[nodes]``; -1 if there is none.

    The argument ``row`` holds the port of each node towards its parent.
    """
    found = np.full(network.nodes, -1, dtype=np.int32)
    for port, neighbours in zip(network.ports, network.neighbours, strict=True):
        np.copyto(found, neighbours, where=row == port)
    return found


def ports_between(network: CachedTopology, tail: Ranks, head: Ranks) -> NDArray[np.int64]:
    """Return the port of each tail that leads to the head; 0 if they are not neighbours.

    Tails and heads broadcast to the shape of the result.
    """
    found = np.zeros(np.broadcast_shapes(tail.shape, head.shape), dtype=np.int64)
    for port, neighbours in zip(network.ports, network.neighbours, strict=True):
        found = np.where(neighbours[tail] == head, port, found)
    return found


def levels(parent: Ranks, root: int) -> Ranks:
    """Return the level of each node, int32; -1 if its parents do not lead to the root."""
    nodes = np.arange(len(parent), dtype=np.int32)
    ancestor = np.where(parent >= 0, parent, nodes)
    ancestor[root] = root
    steps = (ancestor != nodes).astype(np.int32)
    for _ in range(len(parent).bit_length()):  # each round doubles the distance to `ancestor`
        steps = steps + steps[ancestor]
        ancestor = ancestor[ancestor]
        if (ancestor == root).all():
            break
    return np.where(ancestor == root, steps, np.int32(-1))


def branches(parent: Ranks, root: int) -> Ranks:
    """Return the child of the root on each node's path to the root; -1 without such a path."""
    current = np.arange(len(parent), dtype=np.int32)
    for _ in range(len(parent)):
        above = parent[current]
        higher = np.where((above == root) | (above < 0), current, above)
        if np.array_equal(higher, current):
            break
        current = higher
    return np.where(parent[current] == root, current, np.int32(-1))


def depths(network: CachedTopology, rows: NDArray[np.uint8], root: int = 0) -> Ranks:
    """Return the levels of all nodes in each tree of a forest, int32 ``[trees, nodes]``."""
    return np.stack([levels(parents(network, row), root) for row in rows])


def heights(forest: Forest) -> list[int]:
    """Return the height of every tree of a forest, counted by a checker."""
    topology = forest.topology
    counted = checkers.height(topology, forest.parent_port, forest.root, bound=topology.nodes)
    return [int(height) for height in np.atleast_1d(counted.measured)]


def random_tree(network: CachedTopology, seed: int, root: int = 0) -> NDArray[np.uint8]:
    """Return the ports towards the parents in a random spanning tree, uint8 ``[nodes]``.

    In every round, each node adjacent to the tree joins it with probability one half, over one of
    its links to the tree. Every spanning tree can occur.
    """
    neighbours = network.neighbours
    rng = np.random.default_rng([_SEED, seed, root])
    row = np.zeros(network.nodes, dtype=np.uint8)
    joined = np.zeros(network.nodes, dtype=bool)
    joined[root] = True
    ports = np.array(network.ports, dtype=np.uint8)
    while not joined.all():
        near = joined[neighbours] & ~joined
        if not near.any():
            break  # a mutation test disconnected the graph; the checkers reject the partial tree
        # Only some adjacent nodes join: if all joined at once, all paths would be shortest paths.
        new = np.flatnonzero(near.any(axis=0) & (rng.random(network.nodes) < 1 / 2))
        weights = rng.random((len(neighbours), len(new)))
        chosen = np.argmax(near[:, new] * weights, axis=0)
        row[new] = ports[chosen]
        joined[new] = True
    return row
