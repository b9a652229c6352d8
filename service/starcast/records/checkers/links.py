"""Checks of how many trees use each directed link from parent to child."""

import numpy as np

from starcast.records.checkers.evidence import Evidence
from starcast.records.checkers.shape import traverse_forest
from starcast.records.checkers.traversal import Ports, TraversedTree, UncheckedForest
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


def _loads(graph: UncheckedForest, trees: list[TraversedTree]) -> Ranks:
    nodes = graph.topology.nodes
    load = np.zeros((graph.topology.degree, nodes), dtype=np.int32)
    for tree in trees:
        children = np.flatnonzero(tree.levels > 0)
        parents = tree.parents[children]
        for column, neighbours in enumerate(graph.neighbours):
            # The parent's port is found by comparing the parent's neighbours with the child. So the
            # count does not rely on reverse ports.
            users = parents[neighbours[parents] == children]
            load[column] += np.bincount(users, minlength=nodes).astype(np.int32)
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
