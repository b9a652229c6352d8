"""The parent and children functions of the trees SPT, SPG and EDT, computed on labels.

They are Definitions 6 to 8 of Fragopoulou & Akl 1996, as written in
docs/definitions/edge-disjoint-trees.md, and do not use `starcast.trees`. Every function takes the
labels of all nodes, ``[nodes, n]``; k is the position of symbol 1, and S^k is the substar of the
nodes that have symbol 1 in position k.
"""

import numpy as np
from numpy.typing import NDArray

from starcast.claims.object_cache import CachedTopology
from starcast.claims.reference.labels import positions
from starcast.topologies.permutations import Perms, Ranks

#: Symbols, positions or dimensions.
Numbers = NDArray[np.int64]
Mask = NDArray[np.bool_]


def first_misplaced(labels: Perms) -> Numbers:
    """Return fmr(x,k), the first j of k+1, .., n, 2, .., k with x_j != j, int64 ``[nodes]``."""
    n = labels.shape[1]
    nodes = np.arange(len(labels))
    k = positions(labels)[0]
    first = k.copy()
    for offset in range(n - 1, 0, -1):
        j = (k - 2 + offset) % (n - 1) + 2
        first = np.where(labels[nodes, j - 1] != j, j, first)
    return np.asarray(first)


def parents_spt(labels: Perms) -> Numbers:
    """Return p(x), the dimension from x to its parent in SPT; 0 for nodes that start with 1."""
    k = positions(labels)[0]
    first = labels[:, 0]
    outside = np.where(first != k, first, first_misplaced(labels))
    return np.where(k == 1, 0, outside)


def is_next_to_root(labels: Perms) -> Mask:
    """Return whether x is a neighbour of the identity I, bool ``[nodes]``."""
    misplaced = (labels != np.arange(1, labels.shape[1] + 1)).sum(axis=1)
    return np.asarray((misplaced == 2) & (labels[:, 0] != 1))


def children_outside_s1(labels: Perms) -> Mask:
    """Return C1(x): whether a dimension leads from x to a child in SPT, for x outside S^1.

    Returns:
        bool ``[ports, nodes]``; False for nodes in S^1, which start with symbol 1.
    """
    n = labels.shape[1]
    first = labels[:, 0]
    position = positions(labels)
    k = position[0]
    j = np.asarray(position[k - 1, np.arange(len(labels))])
    d = np.arange(2, n + 1)[:, None]
    merged = (first != k) & (first != j) & (first_misplaced(labels) == j)
    is_child = (d == labels[:, 1:].T) | ((d == j) & merged)
    return np.asarray(is_child & (k != 1))


def children_spt(labels: Perms) -> Mask:
    """Return whether a dimension leads to a child in SPT, bool ``[ports, nodes]``."""
    children = children_outside_s1(labels)
    children[:, 0] = True
    return children


def children_spg(labels: Perms) -> Mask:
    """Return whether a dimension leads to a child in each subtree of SPG.

    In subtree l, a node with symbol 1 in position l also has a child that starts with 1.

    Returns:
        bool ``[trees, ports, nodes]``.
    """
    n = labels.shape[1]
    dimensions = np.arange(2, n + 1)
    below = _children_with_s1(labels)
    children = np.asarray(below[None] & (dimensions[:, None, None] == positions(labels)[0]))
    children[:, :, 0] = np.eye(n - 1, dtype=bool)
    return children


def children_edt(labels: Perms) -> Mask:
    """Return whether a dimension leads to a child in each subtree of EDT (Definition 8).

    Returns:
        bool ``[trees, ports, nodes]``.
    """
    n = labels.shape[1]
    nodes = np.arange(len(labels))
    position = positions(labels)
    k = position[0]
    first = labels[:, 0]
    dimensions = np.arange(2, n + 1)
    d = dimensions[:, None]
    in_own_substar = _children_with_s1(labels)
    remaining = ~children_outside_s1(labels) & (d != k)
    children = np.zeros((n - 1, n - 1, len(labels)), dtype=bool)
    for tree, subtree in enumerate(dimensions):
        b = position[subtree - 1]
        swapped = (d == position[b - 1, nodes]) & (b != subtree)
        other = np.where(first == subtree, remaining, (first == k) & swapped)
        outside = np.where(k == subtree, in_own_substar, other)
        inside = _placed_run(labels, b) & (b != subtree)
        children[tree] = np.where(k == 1, inside, outside)
    children[:, :, 0] = np.eye(n - 1, dtype=bool)
    return children


def parents_edt(labels: Perms) -> Numbers:
    """Return the dimension of each node's link to its parent in each subtree of EDT (Def. 8).

    Returns:
        int64 ``[trees, nodes]``; 0 at the identity.
    """
    n = labels.shape[1]
    nodes = np.arange(len(labels))
    position = positions(labels)
    k = position[0]
    first = labels[:, 0]
    q = np.clip(labels[nodes, np.clip(parents_spt(labels), 1, n) - 1], 1, n)
    parents = np.zeros((n - 1, len(labels)), dtype=np.int64)
    for tree, subtree in enumerate(range(2, n + 1)):
        first_or_1 = np.where(first == subtree, 1, subtree)
        q_or_1 = np.where(q == subtree, 1, subtree)
        neither = np.where(first == subtree, 1, np.where(q == subtree, k, subtree))
        other = np.where(first == k, q_or_1, np.where(q == k, first_or_1, neither))
        symbol = np.where(k == subtree, q, other)
        parents[tree] = np.where(k == 1, subtree, position[symbol - 1, nodes])
    parents[:, 0] = 0
    return parents


def _children_with_s1(labels: Perms) -> Mask:
    """Return C1(x), plus dimension k toward S^1 unless x is a neighbour of the identity."""
    d = np.arange(2, labels.shape[1] + 1)[:, None]
    toward_s1 = (d == positions(labels)[0]) & ~is_next_to_root(labels)
    return np.asarray(children_outside_s1(labels) | toward_s1)


def _placed_run(labels: Perms, m: Numbers) -> Mask:
    """Mark position m and the correctly placed symbols directly to its left, cyclically in 2..n.

    Returns:
        bool ``[ports, nodes]``.
    """
    n = labels.shape[1]
    nodes = np.arange(len(labels))
    run = np.zeros((n - 1, len(labels)), dtype=bool)
    unbroken = np.ones(len(labels), dtype=bool)
    for back in range(n - 1):
        j = (m - 2 - back) % (n - 1) + 2
        unbroken &= (labels[nodes, j - 1] == j) | (back == 0)
        run[j - 2, nodes] |= unbroken
    return run


# Children and branches in the trees of a forest


def is_child(network: CachedTopology, parent_port: NDArray[np.integer]) -> Mask:
    """Return whether a dimension leads to a child in a tree, bool ``[ports, nodes]``.

    The neighbour across dimension d is a child if its own link to its parent has dimension d.
    """
    dimensions = np.array(network.ports)[:, None]
    return np.asarray(parent_port[network.neighbours] == dimensions)


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
