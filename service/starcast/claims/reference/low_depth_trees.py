"""Edge-disjoint trees of small depth, one through each neighbour of the identity of S_n.

Such trees use every directed link between other nodes exactly once: n-2 links into each neighbour
of the identity, and n-1 into every other node. So in the n-1 trees the parents of a node are its
n-1 neighbours, each in one tree; a neighbour of the identity has the identity in its own tree. An
assignment of the parents of a node is a tuple with the index of the port for each tree.
"""

from itertools import count, permutations
from math import prod

import numpy as np
from numpy.typing import NDArray

from starcast.claims.object_cache import CachedTopology
from starcast.claims.reference import bfs, star_labels
from starcast.topologies.permutations import Ranks

#: Depth of a node that has no path to the root, greater than every real depth.
_UNREACHABLE = 1_000
_MAX_COMBINATIONS = 1_000_000
_BATCH = 100_000


def least_depth(network: CachedTopology) -> int:
    """Return a lower bound for the depth of such trees.

    In every tree a node is one level deeper than its parent. Assignments of parents by which a node
    exceeds a depth are impossible; the others can raise the smallest level of the node, which rules
    out assignments of its neighbours. If a node has no assignment left, trees of that depth do not
    exist, and the next depth is tried.
    """

    def create() -> NDArray[np.int64]:
        depths = (depth for depth in count(1) if _is_possible(network, depth))
        return np.array([next(depths)])

    return int(network.array("least depth of edge-disjoint trees", create)[0])


def rotated_trees(network: CachedTopology, depth: int) -> NDArray[np.uint8]:
    """Return edge-disjoint trees up to a depth that are rotations of one another.

    All combinations of assignments are tried, except those by which a single node is too deep. The
    first trees of the smallest depth are returned.

    Returns:
        uint8 ``[trees, nodes]``, the dimensions toward the parents; no rows if there are no such
        trees, or too many combinations.
    """
    return network.array(f"trees of depth {depth}", lambda: _search_rotated_trees(network, depth))


def _least_levels(network: CachedTopology) -> NDArray[np.int64]:
    """Return the distance of each node from the root in each tree, int64 ``[trees, nodes]``.

    Paths begin with the only child of the root in the tree, and do not return to the root.
    """
    without_root = network.neighbours.copy()
    for port, child in enumerate(network.neighbours[:, 0]):
        # The link back to the root becomes a loop, so that the search cannot pass the root.
        without_root[port, child] = child
    levels = [1 + bfs.search(without_root, int(child)) for child in network.neighbours[:, 0]]
    return np.stack(levels).astype(np.int64)


def _levels_by_parent(network: CachedTopology, levels: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the smallest level of a node if its parent is across a port.

    Returns:
        int64 ``[trees, ports, nodes]``.
    """
    by_parent = 1 + levels[:, network.neighbours]
    for port, child in enumerate(network.neighbours[:, 0]):
        by_parent[:, port, child] = _UNREACHABLE
        by_parent[port, port, child] = 1
    return by_parent


def _is_possible(network: CachedTopology, depth: int) -> bool:
    """Return whether the smallest levels leave every node an assignment within a depth."""
    levels = _least_levels(network)
    trees = np.arange(network.degree)
    while True:
        by_parent = _levels_by_parent(network, levels)
        raised = np.full_like(levels, _UNREACHABLE)
        for assignment in permutations(range(network.degree)):
            assigned = by_parent[trees, np.array(assignment)]
            within = np.where(assigned.max(axis=0) <= depth, assigned, _UNREACHABLE)
            np.minimum(raised, within, out=raised)
        raised[:, 0] = levels[:, 0]
        if raised.max() >= _UNREACHABLE or np.array_equal(raised, levels):
            return bool(raised.max() < _UNREACHABLE)
        # A raised level can raise the levels of other nodes, until nothing changes any more.
        levels = np.maximum(levels, raised)


def _search_rotated_trees(network: CachedTopology, depth: int) -> NDArray[np.uint8]:
    orbits = _rotation_orbits(network)
    levels = _levels_by_parent(network, _least_levels(network))
    options = [
        _parent_options(network.degree, orbit, levels[:, :, orbit[0]], depth) for orbit in orbits
    ]
    combinations = prod(map(len, options))
    best = np.empty((0, network.nodes), dtype=np.uint8)
    if combinations > _MAX_COMBINATIONS:
        return best
    best_depth = depth + 1
    for start in range(0, combinations, _BATCH):
        trees = np.zeros((min(_BATCH, combinations - start), network.nodes), dtype=np.uint8)
        # The number of a combination has one digit per orbit: the index of its option.
        remaining = np.arange(start, start + len(trees))
        for orbit, parents in zip(orbits, options, strict=True):
            remaining, chosen = np.divmod(remaining, len(parents))
            trees[:, orbit] = parents[chosen]
        depths = _tree_depths(network.neighbours, trees)
        if depths.min() < best_depth:
            best = trees[depths.argmin()][None]
            best_depth = int(depths.min())
    return _with_rotations(network, best[0]) if len(best) else best


def _rotation_orbits(network: CachedTopology) -> list[list[int]]:
    """Return the necklaces except that of the identity, each from its lowest node."""
    images = star_labels.rotations(network)
    sizes = star_labels.return_times(network)
    leaders = np.unique(images.min(axis=0))[1:]
    return [images[: sizes[leader], leader].tolist() for leader in leaders]


def _parent_options(
    trees: int, orbit: list[int], levels: NDArray[np.int64], depth: int
) -> NDArray[np.uint8]:
    """Return the possible dimensions toward the parents in tree 2, for the nodes of an orbit.

    An assignment for the first node gives those of the others: R^j takes the first node to node j,
    so R^-j takes tree 2 to the tree of the first node whose parent counts.

    Returns:
        uint8 ``[options, nodes of the orbit]``.
    """
    options = []
    size = len(orbit)
    for assignment in permutations(range(trees)):
        # A shorter orbit returns to its first node, which must then have the same assignment.
        returned = tuple((assignment[tree - size] + size) % trees for tree in range(trees))
        if returned != assignment:
            continue
        if levels[np.arange(trees), np.array(assignment)].max() <= depth:
            options.append([(assignment[-j % trees] + j) % trees + 2 for j in range(size)])
    return np.array(options, dtype=np.uint8).reshape(-1, size)


def _tree_depths(neighbours: Ranks, trees: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Return the depth of each tree, int64 ``[trees]``; `_UNREACHABLE` if it is not a tree."""
    nodes = trees.shape[1]
    # Pointer doubling: `ends` is the ancestor of each node `levels` links above the node.
    ends = neighbours[np.maximum(trees, 2) - 2, np.arange(nodes)[None, :]].astype(np.int64)
    ends[:, 0] = 0
    levels = np.broadcast_to(np.arange(nodes) > 0, trees.shape).astype(np.int64)
    for _ in range(nodes.bit_length()):
        levels = levels + np.take_along_axis(levels, ends, 1)
        ends = np.take_along_axis(ends, ends, 1)
    return np.where((ends == 0).all(axis=1), levels.max(axis=1), _UNREACHABLE)


def _with_rotations(network: CachedTopology, tree: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return a tree and its rotations."""
    rotated_node = star_labels.rotation(network)
    trees = [tree]
    for _ in range(network.degree - 1):
        rotated = np.zeros_like(tree)
        rotated[rotated_node] = star_labels.rotation_function(network.n)[trees[-1]]
        trees.append(rotated)
    return np.stack(trees)
