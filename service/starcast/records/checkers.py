"""Checkers that decide properties of trees independently of the code that built the trees.

Every checker takes a topology, the array ``parent_port`` (uint8 ``[trees, nodes]``: each node's
port towards its parent, 0 at the root and where a node is not in that tree) and the root's rank.
It uses only `Topology.neighbours` and the labels of the topology. Parents are the neighbours across
the ports, levels are counted from the root outwards, and distances are found by breadth-first
search. Checkers share no code with `starcast.trees`, so the two can be compared.

The result is an `Evidence`: whether the property holds, the measured values, and the first
counterexample. All checkers except `rooted` and `spanning` raise an error for arrays that are not
forests.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from starcast.records.traversal import Ports, TraversedTree, UncheckedForest
from starcast.support.errors import RejectedError
from starcast.topologies import Topology
from starcast.topologies.permutations import Ranks

#: Maximum number of links of all paths in a batch. A full batch needs about 100 MB, including the
#: memory for sorting.
_CELLS = 4_000_000


@dataclass(frozen=True)
class Evidence:
    """The result of checking a property, with the measured values.

    Attributes:
        check: the name of the property.
        measured: the measured value, or one value per tree or port; see the checker.
        counterexample: None if the property holds. Otherwise the first place where it fails, given
            by ``tree``, ``node`` (label), ``link`` (``1234 -> 2134``), ``level`` or ``dimension``.
            It also has the values ``found`` and ``stated``, or the reason ``why``.
    """

    check: str
    measured: int | tuple[int, ...]
    counterexample: Mapping[str, int | str] | None = None

    @property
    def holds(self) -> bool:
        """True if the property holds, that is, if there is no counterexample."""
        return self.counterexample is None

    def require(self) -> None:
        """Raise an error unless the property holds.

        Raises:
            RejectedError: the property does not hold; the message contains the counterexample.
        """
        if self.counterexample is not None:
            place = ", ".join(f"{name} {value}" for name, value in self.counterexample.items())
            raise RejectedError(
                f"the check '{self.check}' fails: {place}", hint="correct the array of ports"
            )


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
    graph, trees = _traverse_forest(topology, parent_port, root)
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
    graph, trees = _traverse_forest(topology, parent_port, root)
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
    graph, trees = _traverse_forest(topology, parent_port, root)
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


def loads(topology: Topology, parent_port: Ports, root: int) -> Ranks:
    """Return the number of trees that use each directed link, int32 ``[nodes, ports]``.

    A link is indexed by the parent and by the parent's port to the child, in the order of the
    topology's ports. The two directions of a link count as two directed links.

    Raises:
        RejectedError: the array is not a forest.
    """
    return _loads(*_traverse_forest(topology, parent_port, root))


def congestion(topology: Topology, parent_port: Ports, root: int, bound: int) -> Evidence:
    """Check that no directed link is used by more than ``bound`` trees.

    The measured value is the largest number of trees on a directed link.

    Raises:
        RejectedError: the array is not a forest.
    """
    return _check_loads("congestion", *_traverse_forest(topology, parent_port, root), bound)


def edge_disjoint(topology: Topology, parent_port: Ports, root: int) -> Evidence:
    """Check that no directed link is used by two trees.

    The measured value is the largest number of trees on a directed link.

    Raises:
        RejectedError: the array is not a forest.
    """
    return _check_loads("edge-disjoint", *_traverse_forest(topology, parent_port, root), 1)


def level_dimensions(topology: Topology, parent_port: Ports, root: int) -> Ranks:
    """Return the number of links for each level and port, in all trees together.

    A link belongs to the level of its child, and to the port of the parent that leads to the child.

    Returns:
        int32 ``[height + 1, ports]``; level 0 has no links.

    Raises:
        RejectedError: the array is not a forest.
    """
    graph, trees = _traverse_forest(topology, parent_port, root)
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
    graph, trees = _traverse_forest(topology, parent_port, root)
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
                reason = _explain_sharing(graph, step, first_tree[step], apart)
                return {"tree": number, "node": graph.label(end), "why": reason}
            first_tree[step] = number
    raise AssertionError(f"the paths to {end} share a place")


def _explain_sharing(graph: UncheckedForest, step: int, other: int, apart: str) -> str:
    if apart == "links":
        a, b = divmod(step, graph.topology.nodes)
        link = f"{graph.label(a)} - {graph.label(b)}"
        return f"the path shares the link {link} with the path of tree {other}"
    shared = "is the direct link" if step == graph.root else f"passes {graph.label(step)}"
    return f"the path {shared}, like the path of tree {other}"


def _traverse_forest(
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
