"""What the labels of S_{n,k} say: cycles towards Id, right shifts, and what a change of positions does to nodes.

The cycles are those of docs/definitions/nk-star.md, found by following symbols: position i leads to the position that its
symbol has in Id. Who never comes to a symbol beyond k stands on an internal cycle; who does, on the external chain of it.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from starcast import permutations
from starcast.claims.object_cache import ObjectCache
from starcast.permutations import Perms, Ranks
from starcast.topologies import Topology

Counts = NDArray[np.int64]


class Cycles(NamedTuple):
    """Of every node; positions are counted from 0.

    Attributes:
        end: int64 ``[nodes, k]``: the symbol beyond k to which a position leads; 0 on internal cycles.
        first: the first position of the internal cycle; -1 on external chains.
        length: how many positions that cycle has; 0 on external chains.
    """

    end: Counts
    first: Counts
    length: Counts

    @property
    def moved(self) -> NDArray[np.bool_]:
        """Which positions stand on an internal cycle of at least two."""
        return self.length > 1

    @property
    def chained(self) -> Counts:
        """M': how many positions stand on external chains."""
        return np.asarray(np.count_nonzero(self.end, axis=1))

    @property
    def beta(self) -> Counts:
        """How many symbols beyond k there are, each with a chain: the ends that differ."""
        ordered = np.sort(self.end, axis=1)
        new = np.diff(ordered, axis=1, prepend=0) > 0
        return np.asarray(np.count_nonzero(new, axis=1))

    def internal_of(self, length: int) -> Counts:
        """How many internal cycles of that length each node has."""
        return np.asarray(np.count_nonzero(self.length == length, axis=1) // length)

    @property
    def internal_steps(self) -> Counts:
        """Formula (1), summed over the internal cycles of each node."""
        begins = self.moved & (self.first == np.arange(self.first.shape[1]))
        each = np.where(self.first == 0, self.length - 1, self.length + 1)
        return np.asarray(np.where(begins, each, 0).sum(axis=1))

    @property
    def external_steps(self) -> Counts:
        """Formula (2), of nodes with external chains; 0 of others."""
        at_first = np.where(self.end[:, 0] > 0, -1, 1)
        return np.where(self.beta > 0, self.chained + self.beta + at_first, 0)


def symbols(objects: ObjectCache, topology: Topology) -> Perms:
    """The symbols of every node, uint8 ``[nodes, k]``."""
    return objects.array(
        "symbols", topology.spec, lambda: permutations.arrangements(topology.n, size(topology))
    )


def size(topology: Topology) -> int:
    """The k of S_{n,k}."""
    return int(topology.k or 0)


def cycles(rows: Perms) -> Cycles:
    """The cycles of nodes that are given by their symbols."""
    count, k = rows.shape
    given = rows.astype(np.int64)
    start = np.broadcast_to(np.arange(k), (count, k))
    at, first = start.copy(), start.copy()
    end, length = np.zeros((2, count, k), dtype=np.int64)
    for step in range(1, k + 1):
        symbol = np.take_along_axis(given, at, axis=1)
        outside = (symbol > k) & (end == 0)
        end[outside] = symbol[outside]
        at = np.where(end > 0, at, symbol - 1)
        first = np.minimum(first, at)
        length = np.where((length == 0) & (at == start) & (end == 0), step, length)
    chained = end > 0
    return Cycles(end, np.where(chained, -1, first), np.where(chained, 0, length))


def right_shifts(objects: ObjectCache, topology: Topology) -> Perms:
    """R_1(Id), .., R_n(Id) with the symbols in brackets, uint8 ``[n, n]``: the label 12..n shifted right by i positions."""

    def make() -> Perms:
        label = np.arange(1, topology.n + 1, dtype=np.uint8)
        return np.stack(
            [
                np.concatenate([label[topology.n - i :], label[: topology.n - i]])
                for i in range(1, topology.n + 1)
            ]
        )

    return objects.array("right shifts", topology.spec, make)


def shifted_roots(objects: ObjectCache, topology: Topology) -> list[int]:
    """The nodes R_1(Id), .., R_{n-1}(Id)."""
    shifts = right_shifts(objects, topology)[:-1]
    return [topology.rank(permutations.labels(row[None, : size(topology)])[0]) for row in shifts]


def turned(topology: Topology, rows: Perms, last: int, by: int) -> Ranks:
    """Where the automorphism takes nodes that shifts positions and symbols 2..last cyclically by some places.

    ``last`` is k, or n where k = n-1: there the missing symbol stands in position n.
    """
    to = np.arange(topology.n + 1)
    to[2 : last + 1] = (np.arange(last - 1) + by) % (last - 1) + 2 if last > 1 else to[2 : last + 1]
    if last > rows.shape[1]:
        missing = topology.n * (topology.n + 1) // 2 - rows.sum(axis=1, dtype=np.int64)
        rows = np.column_stack([rows, missing])
    image = np.empty_like(rows)
    image[:, to[1 : rows.shape[1] + 1] - 1] = to[rows]
    return permutations.arrangement_rank(image[:, : size(topology)].astype(np.uint8), topology.n)
