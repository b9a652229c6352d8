"""What there is to say about a forest, by name: what `starcast tree show` prints, and what the papers state values of."""

from typing import Any

import numpy as np

from starcast.permutations import Ranks
from starcast.trees.model import Forest


def measures(forest: Forest) -> dict[str, Any]:
    """The measures of a forest as plain Python values, by name; lists have an entry a tree.

    ``branches`` are the subtrees that hang from the root, as their sizes, by the root's ports; ``levels`` are the numbers of
    nodes on the levels 0, 1, ..; ``links by load`` maps the number of trees on a directed link to the number of such links.

    Raises:
        RejectedError: the array is no forest.
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
        "shortest path": bool(((levels == distances) | (levels < 0)).all()),
        "leaves": forest.leaves.tolist(),
        "branches": [_branches(forest, row) for row in parents],
        "congestion": max(loads),
        "edge-disjoint": max(loads) <= 1,
        "links by load": loads,
        "levels": profiles,
    }


def _branches(forest: Forest, parents: Ranks) -> list[int]:
    """How many nodes hang below each of the root's links that the tree uses, by pointer doubling."""
    here = np.arange(len(parents), dtype=np.int32)
    top = np.where((parents < 0) | (parents == forest.root), here, parents)
    while not np.array_equal(further := top[top], top):
        top = further
    below = np.bincount(top[parents >= 0], minlength=len(parents))
    across = [
        int(forest.topology.neighbours(port, [forest.root])[0]) for port in forest.topology.ports
    ]
    return [int(below[child]) for child in across if below[child]]
