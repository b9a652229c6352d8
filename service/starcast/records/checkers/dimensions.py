"""A check of how often each dimension is used on each level (Tseng & Sheu 1997, Lemma 7)."""

import numpy as np

from starcast.records.checkers.evidence import Evidence
from starcast.records.checkers.shape import traverse_forest
from starcast.records.checkers.traversal import Ports
from starcast.topologies import Topology
from starcast.topologies.permutations import Ranks


def level_dimensions(topology: Topology, parent_port: Ports, root: int) -> Ranks:
    """Return the number of links for each level and port, in all trees together.

    A link belongs to the level of its child, and to the port of the parent that leads to the child.

    Returns:
        int32 ``[height + 1, ports]``; level 0 has no links.

    Raises:
        RejectedError: the array is not a forest.
    """
    graph, trees = traverse_forest(topology, parent_port, root)
    height = max(int(tree.levels.max()) for tree in trees)
    counts = np.zeros((topology.degree, height + 1), dtype=np.int32)
    for tree in trees:
        children = np.flatnonzero(tree.levels > 0)
        parents = tree.parents[children]
        for column, neighbours in enumerate(graph.neighbours):
            levels = tree.levels[children[neighbours[parents] == children]]
            counts[column] += np.bincount(levels, minlength=height + 1).astype(np.int32)
    return np.ascontiguousarray(counts.T)


def dimension_balance(topology: Topology, parent_port: Ports, root: int) -> Evidence:
    """Check that all trees together use every dimension equally often on every level.

    If so, the translations of these trees to all roots use every directed link equally often on
    every level. The measured values are the numbers of links in the most used dimension, one for
    each level from 1.

    Raises:
        RejectedError: the array is not a forest.
    """
    counts = level_dimensions(topology, parent_port, root)[1:]
    measured = tuple(counts.max(axis=1).tolist())
    uneven = np.flatnonzero(counts.min(axis=1) != counts.max(axis=1))
    if not len(uneven):
        return Evidence("dimension balance", measured)
    row = counts[uneven[0]]
    place = {
        "level": int(uneven[0]) + 1,
        "dimension": topology.ports[int(row.argmin())],
        "found": int(row.min()),
        "stated": int(row.max()),
    }
    return Evidence("dimension balance", measured, place)
