"""Checkers of the properties of trees, independent of the code that built the trees.

The arguments of every checker are a topology, the array ``parent_port`` (uint8 ``[trees, nodes]``:
each node's port towards its parent, 0 at the root and outside the tree) and the root's rank. From
the topology, a checker uses only nodes, ports, neighbours and labels. Parents are the neighbours
across the ports, levels are counted from the root outwards, and distances are found by
breadth-first search. Checkers share no code with `starcast.trees`, so their results are independent
of that package.

The result of a check is an `Evidence` object: whether the property holds, the measured values, and
the first counterexample. The functions `branch_sizes`, `loads` and `level_dimensions` return arrays
of counts. All checkers except `rooted` and `spanning` raise an error if a tree is not rooted.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from starcast.support.errors import InputError, RejectedError
from starcast.topologies import Topology
from starcast.topologies.permutations import Ranks

ParentPorts = NDArray[np.uint8]


class TraversedTree(NamedTuple):
    """A tree traversed from its root; each attribute is an array int32 ``[nodes]``.

    Attributes:
        parents: the parent of each node; -1 if the node has no parent port, or a parent port that
            does not exist.
        levels: the distance from the root in the tree; -1 for nodes that the root does not reach.
        branches: for each node, the child of the root whose subtree contains the node; for the
            root, the root itself; -1 for nodes that the root does not reach.
    """

    parents: Ranks
    levels: Ranks
    branches: Ranks


class UncheckedForest:
    """A topology and an array of parent ports that may not describe trees.

    Attributes:
        rows: the array of parent ports, ``[trees, nodes]``.
        root: rank of the root.
        neighbours: the neighbours of all nodes across all ports, int32 ``[ports, nodes]``.

    Raises:
        InputError: the array does not have the shape ``[trees, nodes]`` with at least one tree, or
            the root does not exist.
    """

    def __init__(self, topology: Topology, parent_port: ParentPorts, root: int) -> None:
        self.topology = topology
        self.rows = np.asarray(parent_port)
        if self.rows.ndim != 2 or self.rows.shape[1] != topology.nodes or not len(self.rows):
            raise InputError(
                f"trees on {topology.spec} need an array of shape [trees, {topology.nodes}] with at"
                f" least one tree, not {list(self.rows.shape)}",
                hint="use one row per tree with one entry per node",
            )
        self.root = topology.node(root)
        self.neighbours = np.stack([topology.neighbours(port) for port in topology.ports])

    def label(self, node: int | np.integer) -> str:
        """Return the label of a node."""
        return self.topology.label(int(node))

    def link(self, tail: int | np.integer, head: int | np.integer) -> str:
        """Return a directed link as a string, such as ``1234 -> 2134``."""
        return f"{self.label(tail)} -> {self.label(head)}"

    @cached_property
    def trees(self) -> list[TraversedTree]:
        """The trees, traversed from the root outwards."""
        return [self._traverse(self._parents(row)) for row in self.rows]

    @cached_property
    def distances(self) -> Ranks:
        """Every node's distance from the root by breadth-first search, int32 ``[nodes]``."""
        distances = np.full(self.topology.nodes, -1, dtype=np.int32)
        distances[self.root] = 0
        front, distance = np.array([self.root]), 0
        while len(front):
            distance += 1
            neighbours = self.neighbours[:, front].ravel()
            distances[neighbours[distances[neighbours] < 0]] = distance
            front = np.unique(neighbours[distances[neighbours] == distance])
        return distances

    def _parents(self, row: ParentPorts) -> Ranks:
        """Return the parent of each node of a tree, given the nodes' parent ports; -1 if none."""
        # If an entry is not a port, the parent stays -1; `_explain` reports such an entry.
        parents = np.full(self.topology.nodes, -1, dtype=np.int32)
        ranks = np.arange(self.topology.nodes)
        for port, neighbours in zip(self.topology.ports, self.neighbours, strict=True):
            # Across a port without a link, a node is its own neighbour.
            parents = np.where((row == port) & (neighbours != ranks), neighbours, parents)
        return parents

    def _traverse(self, parents: Ranks) -> TraversedTree:
        """Traverse the descendants of the root, level by level, given the parent of each node."""
        above = parents.copy()
        above[self.root] = -1  # the traversal begins at the root and never returns to it
        # Nodes are sorted by parent, so that the children of a node form a slice.
        siblings = np.argsort(above, kind="stable").astype(np.int32)
        first = np.searchsorted(above[siblings], np.arange(self.topology.nodes + 1))
        levels, branches = np.full((2, self.topology.nodes), -1, dtype=np.int32)
        front, level = np.array([self.root], dtype=np.int32), 0
        branches[front] = front
        while len(front):
            levels[front] = level
            begin, count = first[front], first[front + 1] - first[front]
            ends = np.cumsum(count)
            children = siblings[np.arange(ends[-1]) + np.repeat(begin - ends + count, count)]
            branches[children] = children if level == 0 else np.repeat(branches[front], count)
            front, level = children, level + 1
        return TraversedTree(parents, levels, branches)


#: Maximum total number of links on the paths that `disjoint_paths` compares in one batch. A full
#: batch needs about 100 MB, including the memory for sorting.
_CELLS = 4_000_000


@dataclass(frozen=True)
class Evidence:
    """The result of checking a property, with the measured values.

    Attributes:
        check: the name of the property.
        measured: the measured value, or one value per tree or port, as the checker documents.
        counterexample: None if the property holds. Otherwise the first failure: its ``tree``, its
            ``node`` (label) or ``link`` (``1234 -> 2134``), and either the value ``found`` and the
            limit ``stated``, or the reason ``why``.
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
            place = dict(self.counterexample)
            found, stated = place.pop("found", None), place.pop("stated", None)
            reason = place.pop("why", f"the value is {found}, but the limit is {stated}")
            location = ", ".join(f"{name} {value}" for name, value in place.items())
            raise RejectedError(
                f"the check '{self.check}' fails at {location}: {reason}",
                hint="correct the array `parent_port`",
            )


def _failure(check: str, measured: int | tuple[int, ...], **place: int | str) -> Evidence:
    """Return evidence that a property does not hold, with ``place`` as the counterexample."""
    return Evidence(check, measured, place)


def rooted(topology: Topology, parent_port: ParentPorts, root: int) -> Evidence:
    """Check that the root has no parent, and that all nodes with a parent descend from the root.

    If this holds, a tree has neither a cycle nor a second root. The measured values are the numbers
    of nodes in the trees, including the root.
    """
    return _check_trees("rooted", UncheckedForest(topology, parent_port, root))


def spanning(topology: Topology, parent_port: ParentPorts, root: int) -> Evidence:
    """Check that every tree is rooted and contains all nodes.

    The measured values are the numbers of nodes in the trees, including the root.
    """
    return _check_trees("spanning", UncheckedForest(topology, parent_port, root), spanning=True)


def height(topology: Topology, parent_port: ParentPorts, root: int, bound: int) -> Evidence:
    """Check that no tree is higher than ``bound``; the measured values are the trees' heights.

    Raises:
        RejectedError: a tree fails the check `rooted`.
    """
    graph = _rooted_forest(topology, parent_port, root)
    heights = tuple(int(tree.levels.max()) for tree in graph.trees)
    number = next((i for i, measured in enumerate(heights) if measured > bound), None)
    if number is None:
        return Evidence("height", heights)
    node = graph.label(np.argmax(graph.trees[number].levels))
    return _failure("height", heights, tree=number, node=node, found=heights[number], stated=bound)


def shortest_paths(
    topology: Topology, parent_port: ParentPorts, root: int, detour: int = 0
) -> Evidence:
    """Check that tree paths from the root are at most ``detour`` links longer than shortest paths.

    The measured values are the largest differences between the two lengths, one per tree.

    Raises:
        RejectedError: a tree fails the check `rooted`.
    """
    graph = _rooted_forest(topology, parent_port, root)
    excesses = [np.where(tree.levels < 0, 0, tree.levels - graph.distances) for tree in graph.trees]
    greatest = tuple(int(excess.max()) for excess in excesses)
    number = next((i for i, measured in enumerate(greatest) if measured > detour), None)
    if number is None:
        return Evidence("shortest paths", greatest)
    node = int(np.flatnonzero(excesses[number] > detour)[0])
    found = int(graph.trees[number].levels[node])
    stated = int(graph.distances[node]) + detour
    label = graph.label(node)
    return _failure("shortest paths", greatest, tree=number, node=label, found=found, stated=stated)


def branch_sizes(topology: Topology, parent_port: ParentPorts, root: int) -> Ranks:
    """Return the number of nodes that each tree reaches through each link of the root.

    Returns:
        int32 ``[trees, ports]``, in the order of the topology's ports.

    Raises:
        RejectedError: a tree fails the check `rooted`.
    """
    graph = _rooted_forest(topology, parent_port, root)
    children = graph.neighbours[:, graph.root]
    nodes = topology.nodes
    counts = [np.bincount(tree.branches[tree.levels > 0], minlength=nodes) for tree in graph.trees]
    return np.stack([count[children] for count in counts]).astype(np.int32)


def balance(topology: Topology, parent_port: ParentPorts, root: int, slack: int = 1) -> Evidence:
    """Check that the root's links lead to equal numbers of nodes, up to a difference of ``slack``.

    The numbers are sums over all trees. For a single tree, the check compares the sizes of the
    branches. If each tree uses a single link of the root, and no two trees the same link, the check
    compares the sizes of the trees. The measured values are the numbers of nodes, one per port of
    the root; a node in several trees counts several times. For a port without a link, the number is
    0, and is not compared.

    Raises:
        RejectedError: a tree fails the check `rooted`.
    """
    sizes = branch_sizes(topology, parent_port, root).sum(axis=0)
    measured = tuple(sizes.tolist())
    # A port without a link leads back to the root, and does not count as an empty branch.
    is_link = [int(topology.neighbours(port, [root])[0]) != root for port in topology.ports]
    smallest = int(sizes[is_link].min(initial=max(measured)))
    if max(measured) - smallest <= slack:
        return Evidence("balance", measured)
    port = topology.ports[int(sizes.argmax())]
    child = int(topology.neighbours(port, [root])[0])
    link = f"{topology.label(root)} -> {topology.label(child)}"
    stated = smallest + slack
    return _failure("balance", measured, link=link, found=max(measured), stated=stated)


def loads(topology: Topology, parent_port: ParentPorts, root: int) -> Ranks:
    """Return the number of trees that use each directed link, int32 ``[nodes, ports]``.

    A link is indexed by the parent and by the parent's port to the child, in the order of the
    topology's ports. The two directions of a link count as two directed links.

    Raises:
        RejectedError: a tree fails the check `rooted`.
    """
    return _loads(_rooted_forest(topology, parent_port, root))


def congestion(topology: Topology, parent_port: ParentPorts, root: int, bound: int) -> Evidence:
    """Check that no directed link is used by more than ``bound`` trees.

    The measured value is the largest number of trees that use the same directed link.

    Raises:
        RejectedError: a tree fails the check `rooted`.
    """
    return _check_loads("congestion", _rooted_forest(topology, parent_port, root), bound)


def edge_disjoint(topology: Topology, parent_port: ParentPorts, root: int) -> Evidence:
    """Check that no directed link is used by two trees.

    The measured value is the largest number of trees that use the same directed link.

    Raises:
        RejectedError: a tree fails the check `rooted`.
    """
    return _check_loads("edge-disjoint", _rooted_forest(topology, parent_port, root), 1)


def level_dimensions(topology: Topology, parent_port: ParentPorts, root: int) -> Ranks:
    """Count the links of all trees by level and port.

    A link is counted at the level of its child, and at the parent's port that leads to the child.

    Returns:
        int32 ``[height + 1, ports]``; level 0 has no links.

    Raises:
        RejectedError: a tree fails the check `rooted`.
    """
    graph = _rooted_forest(topology, parent_port, root)
    height = max(int(tree.levels.max()) for tree in graph.trees)
    counts = np.zeros((topology.port_count, height + 1), dtype=np.int32)
    for column, tree, children in _children_by_port(graph):
        levels = np.bincount(tree.levels[children], minlength=height + 1)
        counts[column] += levels.astype(np.int32)
    return np.ascontiguousarray(counts.T)


def _children_by_port(graph: UncheckedForest) -> Iterator[tuple[int, TraversedTree, Ranks]]:
    """Yield, for each tree and port, the children that their parents reach through the port.

    Yields:
        The index of the port, the tree, and the ranks of the children.
    """
    for tree in graph.trees:
        children = np.flatnonzero(tree.levels > 0)
        parents = tree.parents[children]
        for column, neighbours in enumerate(graph.neighbours):
            # The parent's port is found by comparing the parent's neighbours with the child, so the
            # result does not rely on reverse ports.
            yield column, tree, children[neighbours[parents] == children]


def _loads(graph: UncheckedForest) -> Ranks:
    nodes = graph.topology.nodes
    load = np.zeros((graph.topology.port_count, nodes), dtype=np.int32)
    for column, tree, children in _children_by_port(graph):
        users = np.bincount(tree.parents[children], minlength=nodes)
        load[column] += users.astype(np.int32)
    return np.ascontiguousarray(load.T)


def _check_loads(check: str, graph: UncheckedForest, bound: int) -> Evidence:
    load = _loads(graph)
    greatest = int(load.max())
    if greatest <= bound:
        return Evidence(check, greatest)
    node, column = (int(index) for index in np.argwhere(load > bound)[0])
    child = int(graph.neighbours[column, node])
    users = [
        number
        for number, tree in enumerate(graph.trees)
        if tree.levels[child] > 0 and tree.parents[child] == node
    ]
    link, found = graph.link(node, child), int(load[node, column])
    return _failure(check, greatest, tree=users[bound], link=link, found=found, stated=bound)


def disjoint_paths(
    topology: Topology,
    parent_port: ParentPorts,
    root: int,
    apart: Literal["nodes", "links"] = "nodes",
) -> Evidence:
    """Check for each node that the paths from the root to this node, one per tree, are disjoint.

    The measured value is the largest number of paths to one node that share a node or a link; it is
    1 if the paths are disjoint.

    Args:
        topology: the topology that contains the trees.
        parent_port: the trees.
        root: rank of the root.
        apart: for "nodes", the paths must share no inner node, and at most one path may be the
            direct link between root and node. For "links", the paths must share no link in either
            direction, so that a broken link interrupts at most one path.

    Raises:
        RejectedError: a tree fails the check `rooted`.
    """
    graph = _rooted_forest(topology, parent_port, root)
    height = max(int(tree.levels.max()) for tree in graph.trees)
    # To save memory, paths are compared in batches of nodes: the paths of a tree to all N nodes
    # together have up to N * height links.
    batch = max(1, _CELLS // (len(graph.trees) * max(height, 1)))
    greatest, first = 1, None
    for start in range(0, topology.nodes if len(graph.trees) > 1 else 0, batch):
        ends = np.arange(start, min(start + batch, topology.nodes))
        steps = np.concatenate([_steps(graph, tree, ends, apart) for tree in graph.trees])
        shared = _repetitions(steps)
        greatest = max(greatest, int(shared.max()))
        if first is None and greatest > 1:
            first = _place(graph, int(ends[np.flatnonzero(shared > 1)[0]]), apart)
    return Evidence(f"paths disjoint by {apart}", greatest, first)


def _steps(
    graph: UncheckedForest, tree: TraversedTree, ends: NDArray[np.int64], apart: str
) -> NDArray[np.int64]:
    """Return the nodes or links on the paths to ``ends``, int64 ``[height, ends]``, padded with -1.

    If ``apart`` is "nodes", only the inner nodes of the paths are returned; the entry of a path
    without inner nodes is the root. For "links", the two ends of a link are combined into one
    number.
    """
    count = graph.topology.nodes
    nodes = np.where(tree.levels[ends] > 0, ends, graph.root)
    # The number of a link can exceed int32, so the parents are converted to int64.
    all_parents = tree.parents.astype(np.int64)
    steps = []
    for step in range(int(tree.levels[ends].max())):
        moving = nodes != graph.root
        parents = np.where(moving, all_parents[nodes], graph.root)
        if apart == "links":
            links = np.minimum(nodes, parents) * count + np.maximum(nodes, parents)
            steps.append(np.where(moving, links, -1))
        else:
            # A direct link has no inner node, so the root is entered instead. If two trees use this
            # link, the check therefore finds a shared node.
            inner = moving & ((parents != graph.root) | (step == 0))
            steps.append(np.where(inner, parents, -1))
        nodes = parents
    return np.array(steps, dtype=np.int64).reshape(len(steps), len(ends))


def _repetitions(steps: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return, for each column, how often its most frequent number occurs.

    Entries of -1 are ignored, but the result for a column is at least 1.
    """
    # In sorted columns, equal numbers are next to each other.
    ordered = np.sort(steps, axis=0)
    run = np.ones(steps.shape[1], dtype=np.int64)
    longest = run.copy()
    for previous, current in pairwise(ordered):
        run = np.where((current == previous) & (current >= 0), run + 1, 1)
        np.maximum(longest, run, out=longest)
    return longest


def _place(graph: UncheckedForest, end: int, apart: str) -> dict[str, int | str]:
    """Return the counterexample for node ``end``, whose paths in two trees share a node or link."""
    first_tree: dict[int, int] = {}
    for number, tree in enumerate(graph.trees):
        for step in _steps(graph, tree, np.array([end]), apart)[:, 0].tolist():
            if step >= 0 and step in first_tree:
                reason = _explain_sharing(graph, step, first_tree[step], apart)
                return {"tree": number, "node": graph.label(end), "why": reason}
            first_tree[step] = number
    raise AssertionError(f"the paths to rank {end} share no node or link")


def _explain_sharing(graph: UncheckedForest, step: int, other: int, apart: str) -> str:
    """Describe the node or link ``step`` (see `_steps`) that a path shares with tree ``other``."""
    if apart == "links":
        a, b = divmod(step, graph.topology.nodes)
        link = f"{graph.label(a)} - {graph.label(b)}"
        return f"the path shares the link {link} with the path of tree {other}"
    shared = "is the direct link" if step == graph.root else f"passes {graph.label(step)}"
    return f"the path {shared}, like the path of tree {other}"


def _rooted_forest(topology: Topology, parent_port: ParentPorts, root: int) -> UncheckedForest:
    """Return the topology and the trees, after checking that the trees are rooted.

    Raises:
        RejectedError: a tree is not rooted.
    """
    graph = UncheckedForest(topology, parent_port, root)
    _check_trees("rooted", graph).require()
    return graph


def _check_trees(check: str, graph: UncheckedForest, *, spanning: bool = False) -> Evidence:
    """Check that the trees are rooted and, if ``spanning`` is True, contain all nodes."""
    measured = tuple(int(np.count_nonzero(tree.levels >= 0)) for tree in graph.trees)
    for number, (row, tree) in enumerate(zip(graph.rows, graph.trees, strict=True)):
        # A partial tree has entries only for its own nodes.
        member = row != 0
        member[graph.root] = True
        wrong = np.flatnonzero((tree.levels < 0) & (member | spanning))
        # A parent of the root is reported separately, because the traversal ignores this parent.
        if row[graph.root]:
            wrong = np.array([graph.root])
        if len(wrong):
            node = int(wrong[0])
            reason = _explain(graph, row, tree, node)
            return _failure(check, measured, tree=number, node=graph.label(node), why=reason)
    return Evidence(check, measured)


def _explain(graph: UncheckedForest, row: ParentPorts, tree: TraversedTree, node: int) -> str:
    """Return the reason why the check `rooted` or `spanning` fails at a node."""
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
