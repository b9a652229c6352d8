"""Labels of S_{n,k}: cycles towards Id, right shifts, and cyclic shifts of positions.

The cycles are those of docs/definitions/nk-star.md: position i leads to the position that its
symbol has in Id. A position that never leads to a symbol beyond k is on an internal cycle; any
other position is on the external chain of that symbol.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from starcast.claims.object_cache import CachedTopology
from starcast.topologies import permutations
from starcast.topologies.permutations import Perms, Ranks

Counts = NDArray[np.int64]


class Cycles(NamedTuple):
    """Cycles of every node; positions are counted from 0.

    Attributes:
        end: int64 ``[nodes, k]``: symbol beyond k to which a position leads; 0 on internal cycles.
        first: first position of the internal cycle; -1 on external chains.
        length: number of positions of that cycle; 0 on external chains.
    """

    end: Counts
    first: Counts
    length: Counts

    @property
    def misplaced(self) -> NDArray[np.bool_]:
        """Positions on an internal cycle of at least two."""
        return self.length > 1

    @property
    def chained(self) -> Counts:
        """M': number of positions on external chains."""
        return np.asarray(np.count_nonzero(self.end, axis=1))

    @property
    def beta(self) -> Counts:
        """Number of symbols beyond k, which is the number of external chains."""
        ordered = np.sort(self.end, axis=1)
        new = np.diff(ordered, axis=1, prepend=0) > 0
        return np.asarray(np.count_nonzero(new, axis=1))

    def count_internal(self, length: int) -> Counts:
        """Return the number of internal cycles of a length."""
        return np.asarray(np.count_nonzero(self.length == length, axis=1) // length)

    @property
    def internal_steps(self) -> Counts:
        """Formula (1), summed over the internal cycles of each node."""
        begins = self.misplaced & (self.first == np.arange(self.first.shape[1]))
        steps = np.where(self.first == 0, self.length - 1, self.length + 1)
        return np.asarray(np.where(begins, steps, 0).sum(axis=1))

    @property
    def external_steps(self) -> Counts:
        """Formula (2) for nodes with external chains; 0 for others."""
        at_first = np.where(self.end[:, 0] > 0, -1, 1)
        return np.where(self.beta > 0, self.chained + self.beta + at_first, 0)


def symbols(network: CachedTopology) -> Perms:
    """Return the symbols of every node, uint8 ``[nodes, k]``."""
    return network.array("symbols", lambda: permutations.arrangements(*network.n_and_k))


def cycles(label_symbols: Perms) -> Cycles:
    """Return the cycles of nodes with these symbols."""
    count, k = label_symbols.shape
    label_symbols = label_symbols.astype(np.int64)
    start = np.broadcast_to(np.arange(k), (count, k))
    position = start.copy()
    first = start.copy()
    end, length = np.zeros((2, count, k), dtype=np.int64)
    for step in range(1, k + 1):
        symbol = np.take_along_axis(label_symbols, position, axis=1)
        outside = (symbol > k) & (end == 0)
        end[outside] = symbol[outside]
        position = np.where(end > 0, position, symbol - 1)
        first = np.minimum(first, position)
        length = np.where((length == 0) & (position == start) & (end == 0), step, length)
    chained = end > 0
    return Cycles(end, np.where(chained, -1, first), np.where(chained, 0, length))


def right_shifts(network: CachedTopology) -> Perms:
    """Return R_1(Id), .., R_n(Id): the label 12..n shifted right by i, uint8 ``[n, n]``."""

    def create() -> Perms:
        label = np.arange(1, network.n + 1, dtype=np.uint8)
        return np.stack([np.roll(label, i) for i in range(1, network.n + 1)])

    return network.array("right shifts", create)


def shifted_roots(network: CachedTopology) -> list[int]:
    """Return the ranks of the nodes R_1(Id), .., R_{n-1}(Id)."""
    _, k = network.n_and_k
    shifts = right_shifts(network)[:-1]
    return [network.rank(label) for label in permutations.labels(shifts[:, :k])]


def shifted_places(n: int, last: int, places: int) -> Counts:
    """Return the new place of each of 0..n if 2..last are shifted cyclically."""
    shifted = np.arange(n + 1)
    if last > 1:
        shifted[2 : last + 1] = (np.arange(last - 1) + places) % (last - 1) + 2
    return shifted


def shift_nodes(network: CachedTopology, label_symbols: Perms, last: int, places: int) -> Ranks:
    """Return the images of nodes if positions and symbols 2..last are shifted cyclically.

    Args:
        network: S_{n,k}, of which the shift is an automorphism.
        label_symbols: symbols of the nodes.
        last: k, or n for k = n-1, where the missing symbol is in position n.
        places: number of places of the shift.
    """
    n, k = network.n_and_k
    shifted = shifted_places(n, last, places)
    if last > label_symbols.shape[1]:
        # For k = n-1 one symbol is missing: the sum of 1..n less the others.
        missing = n * (n + 1) // 2 - label_symbols.sum(axis=1, dtype=np.int64)
        label_symbols = np.column_stack([label_symbols, missing])
    image = np.empty_like(label_symbols)
    image[:, shifted[1 : label_symbols.shape[1] + 1] - 1] = shifted[label_symbols]
    return permutations.arrangement_rank(image[:, :k].astype(np.uint8), n)
