"""How often trees use each dimension on each level (Tseng & Sheu 1997, Lemma 7)."""

import numpy as np

from starcast.checkers.evidence import Evidence
from starcast.checkers.shape import forest
from starcast.checkers.traversal import Ports
from starcast.permutations import Ranks
from starcast.topologies import Topology


def level_dimensions(topology: Topology, parent_port: Ports, root: int) -> Ranks:
    """How many links of each port all trees together have on each level, int32 ``[height + 1, ports]``; level 0 has none.

    The port is the parent's, the one across which the child is found.

    Raises:
        RejectedError: the array is no forest.
    """
    walk, trees = forest(topology, parent_port, root)
    deepest = max(int(tree.levels.max()) for tree in trees)
    counts = np.zeros((topology.degree, deepest + 1), dtype=np.int32)
    for tree in trees:
        children = np.flatnonzero(tree.levels > 0)
        parents = tree.parents[children]
        for column, across in enumerate(walk.across):
            found = tree.levels[children[across[parents] == children]]
            counts[column] += np.bincount(found, minlength=deepest + 1).astype(np.int32)
    return np.ascontiguousarray(counts.T)


def dimension_balance(topology: Topology, parent_port: Ports, root: int) -> Evidence:
    """On every level all trees together use every dimension equally often. Measured: the links of a dimension, by level from 1.

    Then the translations of these trees to all roots use every directed link equally often on every level. Where it does not
    hold, the measured number is that of the dimension used most.

    Raises:
        RejectedError: the array is no forest.
    """
    counts = level_dimensions(topology, parent_port, root)[1:]
    measured = tuple(counts.max(axis=1).tolist())
    uneven = np.flatnonzero(counts.min(axis=1) != counts.max(axis=1))
    if not len(uneven):
        return Evidence("dimension balance", measured)
    row = counts[uneven[0]]
    port = topology.ports[int(row.argmin())]
    return Evidence(
        "dimension balance",
        measured,
        {
            "level": int(uneven[0]) + 1,
            "dimension": port,
            "found": int(row.min()),
            "stated": int(row.max()),
        },
    )
