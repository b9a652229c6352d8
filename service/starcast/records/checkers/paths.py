"""Checks that the paths from the root to a node, one in each tree, are disjoint."""

from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from starcast.records.checkers.traversal import (
    Evidence,
    Ports,
    TraversedTree,
    UncheckedForest,
    traverse_forest,
)
from starcast.topologies import Topology

#: Maximum number of links of all paths in a batch. A full batch needs about 100 MB, including the
#: memory for sorting.
_CELLS = 4_000_000


def disjoint_paths(
    topology: Topology, parent_port: Ports, root: int, apart: Literal["nodes", "links"] = "nodes"
) -> Evidence:
    """Check, for every node, that its paths from the root in different trees are disjoint.

    The measured value is the largest number of paths to one node that share a node or link.

    Args:
        parent_port: the trees.
        root: rank of the root.
        apart: "nodes" if the paths may share no node except their two ends, and not the direct
            link between the ends; "links" if they may share no link, in either direction, so that
            a broken link interrupts at most one path.

    Raises:
        RejectedError: the array is not a forest.
    """
    graph, trees = traverse_forest(topology, parent_port, root)
    height = max(int(tree.levels.max()) for tree in trees)
    # Paths are compared in batches, because all paths of a tree together have up to N * height
    # numbers.
    batch = max(1, _CELLS // (len(trees) * max(height, 1)))
    greatest, first = 1, None
    for start in range(0, topology.nodes if len(trees) > 1 else 0, batch):
        ends = np.arange(start, min(start + batch, topology.nodes))
        steps = np.concatenate([_steps(graph, tree, ends, apart) for tree in trees])
        shared = _repetitions(steps)
        greatest = max(greatest, int(shared.max()))
        if first is None and greatest > 1:
            first = _place(graph, trees, int(ends[np.flatnonzero(shared > 1)[0]]), apart)
    return Evidence(f"paths disjoint by {apart}", greatest, first)


def _steps(
    graph: UncheckedForest, tree: TraversedTree, ends: NDArray[np.int64], apart: str
) -> NDArray[np.int64]:
    """Return the nodes or links on the paths to ``ends``, int64 ``[height, ends]``, padded with -1.

    For nodes, these are the interior nodes; a path without interior nodes is represented by the
    root. For links, both ends of each link are combined into one number.
    """
    count = graph.topology.nodes
    nodes = np.where(tree.levels[ends] > 0, ends, graph.root)
    steps = []
    for step in range(int(tree.levels[ends].max())):
        moving = nodes != graph.root
        parents = np.where(moving, tree.parents[nodes], graph.root)
        if apart == "links":
            links = np.minimum(nodes, parents) * count + np.maximum(nodes, parents)
            steps.append(np.where(moving, links, -1))
        else:
            # A path that consists of the direct link is represented by the root. So two trees that
            # both use this link count as sharing a node.
            inner = moving & ((parents != graph.root) | (step == 0))
            steps.append(np.where(inner, parents, -1))
        nodes = parents
    return np.array(steps, dtype=np.int64).reshape(len(steps), len(ends))


def _repetitions(steps: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how often the most frequent non-negative number occurs in each column, at least 1."""
    # In sorted columns, equal numbers are next to each other.
    ordered = np.sort(steps, axis=0)
    run = np.ones(steps.shape[1], dtype=np.int64)
    longest = run.copy()
    for previous, current in pairwise(ordered):
        run = np.where((current == previous) & (current >= 0), run + 1, 1)
        np.maximum(longest, run, out=longest)
    return longest


def _place(
    graph: UncheckedForest, trees: list[TraversedTree], end: int, apart: str
) -> dict[str, int | str]:
    first_tree: dict[int, int] = {}
    for number, tree in enumerate(trees):
        for step in _steps(graph, tree, np.array([end]), apart)[:, 0].tolist():
            if step >= 0 and step in first_tree:
                reason = _explain(graph, step, first_tree[step], apart)
                return {"tree": number, "node": graph.label(end), "why": reason}
            first_tree[step] = number
    raise AssertionError(f"the paths to {end} share a place")


def _explain(graph: UncheckedForest, step: int, other: int, apart: str) -> str:
    if apart == "links":
        a, b = divmod(step, graph.topology.nodes)
        link = f"{graph.label(a)} - {graph.label(b)}"
        return f"the path shares the link {link} with the path of tree {other}"
    shared = "is the direct link" if step == graph.root else f"passes {graph.label(step)}"
    return f"the path {shared}, like the path of tree {other}"
