"""Traversal of trees from the root outwards, and the check that an array of ports is a forest."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from starcast.support.errors import InputError, RejectedError
from starcast.topologies import Topology
from starcast.topologies.permutations import Ranks

Ports = NDArray[np.uint8]


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


class TraversedTree(NamedTuple):
    """A tree traversed from its root; each attribute is an array int32 ``[nodes]``.

    Attributes:
        parents: the parent of each node; -1 if the node has no entry or its entry is not a port.
        levels: the distance from the root in the tree; -1 for nodes that the root does not reach.
        branches: the child of the root whose subtree contains the node; for the root, the root
            itself; -1 for nodes that the root does not reach.
    """

    parents: Ranks
    levels: Ranks
    branches: Ranks


class UncheckedForest:
    """A topology and an array of parent ports, which may not be a forest.

    Attributes:
        rows: the array of parent ports, ``[trees, nodes]``.
        root: rank of the root.
        neighbours: the neighbours across all ports, int32 ``[degree, nodes]``.

    Raises:
        InputError: the array has a wrong shape, or the root does not exist.
    """

    def __init__(self, topology: Topology, parent_port: Ports, root: int) -> None:
        self.topology = topology
        self.rows = np.asarray(parent_port)
        if self.rows.ndim != 2 or self.rows.shape[1] != topology.nodes or not len(self.rows):
            raise InputError(
                f"trees on {topology.spec} need an array [trees, {topology.nodes}], not "
                f"{list(self.rows.shape)}",
                hint="give one row per tree with one entry per node",
            )
        self.root = topology.node(root)
        self.neighbours = np.stack([topology.neighbours(port) for port in topology.ports])

    def label(self, node: int | np.integer) -> str:
        """Return the label of a node."""
        return self.topology.label(int(node))

    def link(self, tail: int | np.integer, head: int | np.integer) -> str:
        """Return a directed link as text."""
        return f"{self.label(tail)} -> {self.label(head)}"

    def trees(self) -> Iterator[TraversedTree]:
        """Traverse the trees one after the other."""
        return (self._traverse(self._parents(row)) for row in self.rows)

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

    def _parents(self, row: Ports) -> Ranks:
        # The parent stays -1 if the entry is not a port; such entries are reported with their node.
        parents = np.full(self.topology.nodes, -1, dtype=np.int32)
        for port, neighbours in zip(self.topology.ports, self.neighbours, strict=True):
            parents = np.where(row == port, neighbours, parents)
        return parents

    def _traverse(self, parents: Ranks) -> TraversedTree:
        above = parents.copy()
        above[self.root] = -1  # the traversal begins here and never returns to the root
        # In this order, the children of a node are next to each other, so they form a slice.
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
