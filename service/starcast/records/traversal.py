"""Traversal of trees, given by arrays of ports that may not be forests, from the root outwards."""

from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from starcast.support.errors import InputError
from starcast.topologies import Topology
from starcast.topologies.permutations import Ranks

Ports = NDArray[np.uint8]


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
