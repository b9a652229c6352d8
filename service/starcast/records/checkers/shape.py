"""Checks of the shape of trees: rooted, spanning, height, shortest paths, balance."""

import numpy as np

from starcast.records.checkers.evidence import Evidence
from starcast.records.checkers.traversal import Ports, TraversedTree, UncheckedForest
from starcast.topologies import Topology
from starcast.topologies.permutations import Ranks


def rooted(topology: Topology, parent_port: Ports, root: int) -> Evidence:
    """Check that the root has no parent, and that all nodes with a parent are its descendants.

    Hence there is no cycle and no second root. The measured values are the numbers of nodes of the
    trees, including the root.
    """
    return _check_trees("rooted", UncheckedForest(topology, parent_port, root), spanning=False)


def spanning(topology: Topology, parent_port: Ports, root: int) -> Evidence:
    """Check that every tree is rooted and contains all nodes.

    The measured values are the numbers of nodes of the trees, including the root.
    """
    return _check_trees("spanning", UncheckedForest(topology, parent_port, root), spanning=True)


def height(topology: Topology, parent_port: Ports, root: int, bound: int) -> Evidence:
    """Check that no tree is higher than ``bound``; the measured values are the trees' heights.

    Raises:
        RejectedError: the array is not a forest.
    """
    graph, trees = traverse_forest(topology, parent_port, root)
    heights = tuple(int(tree.levels.max()) for tree in trees)
    number = next((i for i, measured in enumerate(heights) if measured > bound), None)
    if number is None:
        return Evidence("height", heights)
    place: dict[str, int | str] = {
        "tree": number,
        "node": graph.label(np.argmax(trees[number].levels)),
        "found": heights[number],
        "stated": bound,
    }
    return Evidence("height", heights, place)


def shortest_paths(topology: Topology, parent_port: Ports, root: int, detour: int = 0) -> Evidence:
    """Check that no tree path from the root exceeds a shortest path by more than ``detour`` links.

    The measured value of a tree is the largest excess of its paths.

    Raises:
        RejectedError: the array is not a forest.
    """
    graph, trees = traverse_forest(topology, parent_port, root)
    excesses = [np.where(tree.levels < 0, 0, tree.levels - graph.distances) for tree in trees]
    greatest = tuple(int(excess.max()) for excess in excesses)
    number = next((i for i, measured in enumerate(greatest) if measured > detour), None)
    if number is None:
        return Evidence("shortest paths", greatest)
    node = int(np.flatnonzero(excesses[number] > detour)[0])
    place: dict[str, int | str] = {
        "tree": number,
        "node": graph.label(node),
        "found": int(trees[number].levels[node]),
        "stated": int(graph.distances[node]) + detour,
    }
    return Evidence("shortest paths", greatest, place)


def branch_sizes(topology: Topology, parent_port: Ports, root: int) -> Ranks:
    """Return the number of nodes that each tree reaches through each link of the root.

    Returns:
        int32 ``[trees, ports]``, in the order of the topology's ports.

    Raises:
        RejectedError: the array is not a forest.
    """
    graph, trees = traverse_forest(topology, parent_port, root)
    children = graph.neighbours[:, graph.root]
    nodes = topology.nodes
    counts = [np.bincount(tree.branches[tree.levels > 0], minlength=nodes) for tree in trees]
    return np.stack([count[children] for count in counts]).astype(np.int32)


def balance(topology: Topology, parent_port: Ports, root: int, slack: int = 1) -> Evidence:
    """Check that the numbers of nodes reached through the root's links differ by ``slack`` at most.

    The numbers are sums over all trees. For one tree, this compares the sizes of its branches. For
    partial trees that use one link of the root each, it compares the sizes of the trees. The
    measured values are the numbers by port; a node in several trees counts several times.

    Raises:
        RejectedError: the array is not a forest.
    """
    sizes = branch_sizes(topology, parent_port, root).sum(axis=0)
    measured = tuple(sizes.tolist())
    if max(measured) - min(measured) <= slack:
        return Evidence("balance", measured)
    port = topology.ports[int(sizes.argmax())]
    child = int(topology.neighbours(port, [root])[0])
    place: dict[str, int | str] = {
        "link": f"{topology.label(root)} -> {topology.label(child)}",
        "found": max(measured),
        "stated": min(measured) + slack,
    }
    return Evidence("balance", measured, place)


def traverse_forest(
    topology: Topology, parent_port: Ports, root: int
) -> tuple[UncheckedForest, list[TraversedTree]]:
    """Traverse the trees, and check that they are rooted.

    Raises:
        RejectedError: a tree is not rooted.
    """
    graph = UncheckedForest(topology, parent_port, root)
    trees = list(graph.trees())
    _check_trees("rooted", graph, spanning=False, trees=trees).require()
    return graph, trees


def _check_trees(
    check: str,
    graph: UncheckedForest,
    *,
    spanning: bool,
    trees: list[TraversedTree] | None = None,
) -> Evidence:
    trees = list(graph.trees()) if trees is None else trees
    measured = tuple(int(np.count_nonzero(tree.levels >= 0)) for tree in trees)
    for number, (row, tree) in enumerate(zip(graph.rows, trees, strict=True)):
        # A partial tree has entries only for its own nodes.
        member = row != 0
        member[graph.root] = True
        wrong = np.flatnonzero((tree.levels < 0) & (member | spanning))
        # A parent of the root is reported first, because the traversal ignores it.
        if row[graph.root]:
            wrong = np.array([graph.root])
        if len(wrong):
            node = int(wrong[0])
            reason = _explain(graph, row, tree, node)
            node_label = graph.label(node)
            return Evidence(check, measured, {"tree": number, "node": node_label, "why": reason})
    return Evidence(check, measured)


def _explain(graph: UncheckedForest, row: Ports, tree: TraversedTree, node: int) -> str:
    """Return why a node is not a descendant of the root."""
    if node == graph.root:
        return "the root has a parent"
    visited: set[int] = set()
    while node not in visited:
        visited.add(node)
        if row[node] == 0:
            return f"{graph.label(node)} is not in the tree"
        if tree.parents[node] < 0:
            return f"{graph.label(node)} has the entry {row[node]}, which is not a port"
        node = int(tree.parents[node])
    return f"{graph.label(node)} is on a cycle"
