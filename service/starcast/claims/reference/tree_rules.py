"""The rules of the trees SPT, SPG and EDT on labels (Fragopoulou & Akl, edge-disjoint trees, Def. 6 to 8).

Written from docs/definitions/edge-disjoint-trees.md, node by node in arrays, without `starcast.trees`.
"""

import numpy as np
from numpy.typing import NDArray

from starcast.claims.object_cache import ObjectCache
from starcast.claims.reference.star_labels import positions
from starcast.permutations import Perms, Ranks
from starcast.topologies import Topology

#: Symbols, positions or dimensions.
Numbers = NDArray[np.int64]
Mask = NDArray[np.bool_]


# The rules


def first_misplaced(rows: Perms) -> Numbers:
    """fmr(x,k), k the position of symbol 1: the first j in k+1, .., n, 2, .., k with x_j != j, int64 ``[nodes]``."""
    n, node = rows.shape[1], np.arange(len(rows))
    k = positions(rows)[0]
    found = k.copy()
    for off in range(n - 1, 0, -1):
        j = (k - 2 + off) % (n - 1) + 2
        found = np.where(rows[node, j - 1] != j, j, found)
    return np.asarray(found)


def toward_root(rows: Perms) -> Numbers:
    """p(x): the dimension of the link from x to its parent in SPT; 0 in S^1."""
    k, first = positions(rows)[0], rows[:, 0]
    return np.where(k == 1, 0, np.where(first != k, first, first_misplaced(rows)))


def adjacent(rows: Perms) -> Mask:
    """Whether x is a neighbour of I."""
    misplaced = (rows != np.arange(1, rows.shape[1] + 1)).sum(axis=1)
    return np.asarray((misplaced == 2) & (rows[:, 0] != 1))


def staying(rows: Perms) -> Mask:
    """C1(x): whether dimension d leads to a child of x in SPT, bool ``[ports, nodes]``, for x in S^2, .., S^n."""
    n, first = rows.shape[1], rows[:, 0]
    place = positions(rows)
    k, fmr = place[0], first_misplaced(rows)
    j = np.asarray(place[k - 1, np.arange(len(rows))])
    d = np.arange(2, n + 1)[:, None]
    merged = (first != k) & (first != j) & (fmr == j)
    return np.asarray(((d == rows[:, 1:].T) | ((d == j) & merged)) & (k != 1))


def children_spt(rows: Perms) -> Mask:
    """Whether dimension d leads to a child of x in SPT, bool ``[ports, nodes]``; the root's neighbours are all children."""
    found = staying(rows)
    found[:, 0] = True
    return found


def children_spg(rows: Perms) -> Mask:
    """The same in subtree l of SPG, bool ``[trees, ports, nodes]``: x in S^l has a child in S^1 as well."""
    n = rows.shape[1]
    dims, k = np.arange(2, n + 1), positions(rows)[0]
    below = staying(rows) | ((dims[:, None] == k) & ~adjacent(rows))
    found = np.asarray(below[None] & (dims[:, None, None] == k))
    found[:, :, 0] = np.eye(n - 1, dtype=bool)
    return found


def children_edt(rows: Perms) -> Mask:
    """The same in subtree l of EDT, bool ``[trees, ports, nodes]`` (Def. 8)."""
    n = rows.shape[1]
    dims, node, place = np.arange(2, n + 1), np.arange(len(rows)), positions(rows)
    d, k, first = dims[:, None], place[0], rows[:, 0]
    c1 = staying(rows)
    home = c1 | ((d == k) & ~adjacent(rows))
    c2 = ~c1 & (d != k)
    found = np.zeros((n - 1, n - 1, len(rows)), dtype=bool)
    for tree, own in enumerate(dims):
        b = place[own - 1]
        swapped = (d == place[b - 1, node]) & (b != own)
        outside = np.where(k == own, home, np.where(first == own, c2, (first == k) & swapped))
        found[tree] = np.where(k == 1, _run_to(rows, b) & (b != own), outside)
    found[:, :, 0] = np.eye(n - 1, dtype=bool)
    return found


def _run_to(rows: Perms, m: Numbers) -> Mask:
    """Position m, and the run of correctly placed positions left of it, cyclically in 2..n; bool ``[ports, nodes]``."""
    n, node = rows.shape[1], np.arange(len(rows))
    found = np.zeros((n - 1, len(rows)), dtype=bool)
    unbroken = np.ones(len(rows), dtype=bool)
    for back in range(n - 1):
        j = (m - 2 - back) % (n - 1) + 2
        unbroken &= (rows[node, j - 1] == j) | (back == 0)
        found[j - 2, node] |= unbroken
    return found


def parents_edt(rows: Perms) -> Numbers:
    """The dimension of the link from x to its parent in subtree l of EDT, int64 ``[trees, nodes]``; 0 at I (Def. 8)."""
    n, node, place = rows.shape[1], np.arange(len(rows)), positions(rows)
    k, first = place[0], rows[:, 0]
    q = np.clip(rows[node, np.clip(toward_root(rows), 1, n) - 1], 1, n)
    found = np.zeros((n - 1, len(rows)), dtype=np.int64)
    for tree, own in enumerate(range(2, n + 1)):
        case_1 = np.where(first == own, 1, own)
        case_2 = np.where(q == own, 1, own)
        case_3 = np.where(first == own, 1, np.where(q == own, k, own))
        other = np.where(first == k, case_2, np.where(q == k, case_1, case_3))
        symbol = np.where(k == own, q, other)
        found[tree] = np.where(k == 1, own, place[symbol - 1, node])
    found[:, 0] = 0
    return found


# Trees as they are found


def is_child(objects: ObjectCache, topology: Topology, row: NDArray[np.integer]) -> Mask:
    """Whether the node across dimension d from x has its parent across d, which is x, bool ``[ports, nodes]``."""
    dims = np.array(topology.ports)[:, None]
    return np.asarray(row[objects.neighbours(topology.spec)] == dims)


def branch(parent: Ranks, root: int) -> Ranks:
    """The child of the root from which each node hangs, along its parents; -1 where it hangs from none."""
    at = np.arange(len(parent), dtype=np.int32)
    for _ in range(len(parent)):
        above = parent[at]
        further = np.where((above == root) | (above < 0), at, above)
        if np.array_equal(further, at):
            break
        at = further
    return np.where(parent[at] == root, at, np.int32(-1))
