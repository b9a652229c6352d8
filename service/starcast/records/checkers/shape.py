"""Checks of the shape of trees: height, shortest paths, balance."""

import numpy as np

from starcast.records.checkers.traversal import Evidence, Ports, traverse_forest
from starcast.topologies import Topology
from starcast.topologies.permutations import Ranks


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
