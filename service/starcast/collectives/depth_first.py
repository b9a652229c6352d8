"""The order in which a depth-first traversal meets the links of edge-disjoint trees (Fragopoulou & Akl 1996, section 3)."""

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from starcast.permutations import Ranks
from starcast.trees import Forest


def hops(along: Forest) -> Ranks:
    """For each tree and node, which link of the tree's depth-first traversal leads to it, int32 ``[trees, nodes]``.

    Links are counted from 1 when they are first crossed; the root has 0. In tree k (k = 2..n) the children of a node are
    visited in the order phi_k of their dimensions: k, k+1, .., n, 2, .., k-1. The trees are rotations of one another, and so
    are these orders: link h of the n-1 trees has n-1 different dimensions, for every h.

    Args:
        along: n-1 spanning trees on S_n, tree k in row k-2.
    """
    places = np.zeros(along.parent_port.shape, dtype=np.int32)
    down = along.topology.reverse_ports()[along.parent_port].astype(np.int32)
    for tree, (row, parents, levels, sizes) in enumerate(
        zip(places, along.parents(), along.levels(), along.subtree_sizes(), strict=True)
    ):
        phi = (down[tree] - 2 - tree) % along.trees
        ahead = _ahead(parents, phi, sizes)
        order = np.argsort(levels, kind="stable")
        starts = np.searchsorted(levels, np.arange(1, levels.max() + 2), sorter=order)
        for first, last in pairwise(starts.tolist()):  # level by level, from the root's child on
            nodes = order[first:last]
            row[nodes] = row[parents[nodes]] + 1 + ahead[nodes]
    return places


def _ahead(parents: Ranks, turn: NDArray[np.int32], sizes: Ranks) -> NDArray[np.int64]:
    """How many nodes hang below the siblings visited before each node, int64 ``[nodes]``."""
    order = np.lexsort((turn, parents))
    before = np.cumsum(sizes[order], dtype=np.int64) - sizes[order]
    above = parents[order]
    eldest = np.flatnonzero(np.r_[True, above[1:] != above[:-1]])
    count = np.diff(np.r_[eldest, len(order)])
    ahead = np.empty(len(order), dtype=np.int64)
    ahead[order] = before - np.repeat(before[eldest], count)
    return ahead
