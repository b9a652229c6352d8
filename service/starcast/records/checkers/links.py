"""Checks of how many trees use each directed link from parent to child.

Level by level, they count the links of each dimension (Tseng & Sheu 1997, Lemma 7).
"""

from collections.abc import Iterator

import numpy as np

from starcast.records.checkers.traversal import (
    Evidence,
    Ports,
    TraversedTree,
    UncheckedForest,
    traverse_forest,
)
from starcast.topologies import Topology
from starcast.topologies.permutations import Ranks


def loads(topology: Topology, parent_port: Ports, root: int) -> Ranks:
    """Return the number of trees that use each directed link, int32 ``[nodes, ports]``.

    A link is indexed by the parent and by the parent's port to the child, in the order of the
    topology's ports. The two directions of a link count as two directed links.

    Raises:
        RejectedError: the array is not a forest.
    """
    return _loads(*traverse_forest(topology, parent_port, root))


def congestion(topology: Topology, parent_port: Ports, root: int, bound: int) -> Evidence:
    """Check that no directed link is used by more than ``bound`` trees.

    The measured value is the largest number of trees on a directed link.

    Raises:
        RejectedError: the array is not a forest.
    """
    return _check_loads("congestion", *traverse_forest(topology, parent_port, root), bound)


def edge_disjoint(topology: Topology, parent_port: Ports, root: int) -> Evidence:
    """Check that no directed link is used by two trees.

    The measured value is the largest number of trees on a directed link.

    Raises:
        RejectedError: the array is not a forest.
    """
    return _check_loads("edge-disjoint", *traverse_forest(topology, parent_port, root), 1)


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
    for column, tree, children in _children_by_port(graph, trees):
        levels = np.bincount(tree.levels[children], minlength=height + 1)
        counts[column] += levels.astype(np.int32)
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


def _children_by_port(
    graph: UncheckedForest, trees: list[TraversedTree]
) -> Iterator[tuple[int, TraversedTree, Ranks]]:
    """Yield each port's index and each tree, with the children that parents reach over the port."""
    for tree in trees:
        children = np.flatnonzero(tree.levels > 0)
        parents = tree.parents[children]
        for column, neighbours in enumerate(graph.neighbours):
            # The parent's port is found by comparing the parent's neighbours with the child. So the
            # count does not rely on reverse ports.
            yield column, tree, children[neighbours[parents] == children]


def _loads(graph: UncheckedForest, trees: list[TraversedTree]) -> Ranks:
    nodes = graph.topology.nodes
    load = np.zeros((graph.topology.degree, nodes), dtype=np.int32)
    for column, tree, children in _children_by_port(graph, trees):
        users = np.bincount(tree.parents[children], minlength=nodes)
        load[column] += users.astype(np.int32)
    return np.ascontiguousarray(load.T)


def _check_loads(
    check: str, graph: UncheckedForest, trees: list[TraversedTree], bound: int
) -> Evidence:
    load = _loads(graph, trees)
    greatest = int(load.max())
    if greatest <= bound:
        return Evidence(check, greatest)
    node, column = (int(index) for index in np.argwhere(load > bound)[0])
    child = int(graph.neighbours[column, node])
    users = [
        number
        for number, tree in enumerate(trees)
        if tree.levels[child] > 0 and tree.parents[child] == node
    ]
    place: dict[str, int | str] = {
        "tree": users[bound],
        "link": graph.link(node, child),
        "found": int(load[node, column]),
        "stated": bound,
    }
    return Evidence(check, greatest, place)
