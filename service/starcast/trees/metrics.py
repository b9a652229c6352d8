"""Metrics of a forest by name, as ``starcast forest show`` prints them."""

from typing import Any

import numpy as np

from starcast.topologies.permutations import Ranks
from starcast.trees.model import Forest


def forest_metrics(forest: Forest) -> dict[str, Any]:
    """Return the metrics of a forest by name, as plain Python values.

    Returns:
        Numbers and flags of the forest, and lists with an entry per tree. ``branches`` are
        the sizes of the subtrees of the root's children, in the order of the root's ports;
        ``levels`` are the numbers of nodes on the levels 0, 1, ..; ``links_by_load`` maps a number
        of trees to the number of directed links that so many trees use.

    Raises:
        RejectedError: the array is not a forest.

    Example:
        >>> forest_metrics(forest("S5", "multiple"))["congestion"]
        2
    """
    parents, levels = forest.parents(), forest.levels()
    profiles = [np.bincount(row[row >= 0]).tolist() for row in levels]
    distances = forest.topology.distances(forest.root)
    loads = forest.load_histogram()
    return {
        "trees": forest.trees,
        "spanning": bool((forest.sizes == forest.topology.nodes).all()),
        "sizes": forest.sizes.tolist(),
        "heights": [len(profile) - 1 for profile in profiles],
        "shortest_path": bool(((levels == distances) | (levels < 0)).all()),
        "leaves": forest.leaves.tolist(),
        "branches": [_branch_sizes(forest, row) for row in parents],
        "congestion": max(loads),
        "edge_disjoint": max(loads) <= 1,
        "links_by_load": loads,
        "levels": profiles,
    }


def _branch_sizes(forest: Forest, parents: Ranks) -> list[int]:
    """Return the sizes of the subtrees of the root's children, computed by pointer doubling."""
    nodes = np.arange(len(parents), dtype=np.int32)
    top = np.where((parents < 0) | (parents == forest.root), nodes, parents)
    while not np.array_equal(higher := top[top], top):
        top = higher
    sizes = np.bincount(top[parents >= 0], minlength=len(parents))
    topology = forest.topology
    neighbours = [int(topology.neighbours(port, [forest.root])[0]) for port in topology.ports]
    return [int(sizes[neighbour]) for neighbour in neighbours if sizes[neighbour]]
