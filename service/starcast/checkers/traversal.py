"""The graph and the trees as the checkers see them: across ports, and outwards from the root."""

from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from starcast.errors import InputError
from starcast.permutations import Ranks
from starcast.topologies import Topology

Ports = NDArray[np.uint8]


class Grown(NamedTuple):
    """One tree as it grows from its root, each int32 ``[nodes]``; -1 for what the root does not reach."""

    parents: Ranks  # what is found across the entry; -1 where there is none, or it is no port
    levels: Ranks
    branches: Ranks  # the child of the root over which a node is reached, itself included; the root at the root


class Walk:
    """A topology and an array of trees, with the neighbours across all ports, int32 ``[degree, nodes]``.

    Raises:
        InputError: the array has a wrong shape, or the root is no node.
    """

    def __init__(self, topology: Topology, parent_port: Ports, root: int) -> None:
        self.topology = topology
        self.rows = np.asarray(parent_port)
        if self.rows.ndim != 2 or self.rows.shape[1] != topology.nodes or not len(self.rows):
            raise InputError(
                f"trees on {topology.spec} are an array [trees, {topology.nodes}], not {list(self.rows.shape)}",
                hint="give one row a tree, one entry a node",
            )
        self.root = topology.node(root)
        self.across = np.stack([topology.neighbours(port) for port in topology.ports])

    def label(self, node: int | np.integer) -> str:
        """The node as text."""
        return self.topology.label(int(node))

    def link(self, tail: int | np.integer, head: int | np.integer) -> str:
        """The directed link as text."""
        return f"{self.label(tail)} -> {self.label(head)}"

    def trees(self) -> Iterator[Grown]:
        """The trees one after the other."""
        return (self._grow(self._parents(row)) for row in self.rows)

    @cached_property
    def distances(self) -> Ranks:
        """Every node's distance from the root by breadth-first search, int32 ``[nodes]``."""
        distances = np.full(self.topology.nodes, -1, dtype=np.int32)
        distances[self.root] = 0
        front, distance = np.array([self.root]), 0
        while len(front):
            distance += 1
            around = self.across[:, front].ravel()
            distances[around[distances[around] < 0]] = distance
            front = np.unique(around[distances[around] == distance])
        return distances

    def _parents(self, row: Ports) -> Ranks:
        parents = np.full(self.topology.nodes, -1, dtype=np.int32)
        for port, across in zip(self.topology.ports, self.across, strict=True):
            parents = np.where(row == port, across, parents)
        return parents

    def _grow(self, parents: Ranks) -> Grown:
        hung = parents.copy()
        hung[self.root] = -1  # whatever its entry says, growth begins here and does not come back
        siblings = np.argsort(hung, kind="stable").astype(np.int32)
        first = np.searchsorted(hung[siblings], np.arange(self.topology.nodes + 1))
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
        return Grown(parents, levels, branches)
