"""Cayley graphs of all permutations of 1..n, given by their generators.

Node x is linked to (x[g_1], .., x[g_n]) for every generator g: a generator moves positions, as
port i of a star graph exchanges positions 1 and i. Distances are found by breadth-first search.
Translations x -> (q[x_1], .., q[x_n]) act on symbols, and therefore keep the ports.
"""

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from math import factorial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from starcast.errors import InputError
from starcast.support.arrays import freeze
from starcast.topologies import permutations
from starcast.topologies.base import Topology
from starcast.topologies.permutations import Ranks

#: Ranks are int32, and port numbers, which start at 2, are uint8.
LARGEST, MOST_GENERATORS = 12, 254

Generators = tuple[tuple[int, ...], ...]


class CayleyGraph(Topology):
    """The Cayley graph of the permutations of 1..n with some generators.

    Args:
        spec: its spec, such as ``P5``.
        family: the name of its family.
        generators: permutations of the positions 1..n. Ports are numbered from 2 in their order.

    Raises:
        InputError: the generators are not distinct permutations of 1..n for one n, one of them is
            the identity, or the inverse of one is missing.

    Example:
        >>> CayleyGraph("P3", "pancake", [[2, 1, 3], [3, 2, 1]]).diameter
        3
    """

    def __init__(self, spec: str, family: str, generators: Sequence[Sequence[int]]) -> None:
        self.spec = spec
        self.family = family
        self.generators = check_generators(generators)
        self.n = len(self.generators[0])
        self.k = None
        self.nodes = factorial(self.n)
        self.ports = tuple(range(2, len(self.generators) + 2))
        numbers = dict(zip(self.generators, self.ports, strict=True))
        self._reverse = {port: numbers[_inverse(g)] for g, port in numbers.items()}

    @property
    def diameter(self) -> int:
        """The greatest distance, found by search.

        Raises:
            InputError: the generators do not generate all permutations.
        """
        return len(self.distance_profile()) - 1

    def distance_profile(self) -> tuple[int, ...]:
        """See `Topology.distance_profile`.

        Raises:
            InputError: the generators do not generate all permutations.
        """
        return tuple(np.bincount(self._distances()).tolist())

    def reverse_port(self, port: int) -> int:
        """See `Topology.reverse_port`: the port of the inverse generator."""
        return self._reverse[self._check_port(port)]

    def neighbours(self, port: int, ranks: ArrayLike | None = None) -> Ranks:
        """See `Topology.neighbours`."""
        generator = self.generators[self._check_port(port) - 2]
        if ranks is not None:
            return _move(self.n, self._check_ranks(ranks), generator)
        self._require_memory(4, "neighbours")
        out = np.empty(self.nodes, dtype=np.int32)
        for chunk in self.chunks():
            out[chunk] = _move(self.n, np.arange(chunk.start, chunk.stop), generator)
        return out

    def distances(self, root: int | str = 0) -> NDArray[np.uint8]:
        """See `Topology.distances`.

        Raises:
            InputError: the generators do not generate all permutations.
        """
        rank = self.node(root)
        distances = self._distances()
        if rank == 0:
            return distances
        inverse = permutations.inverse(permutations.unrank(self.n, rank)[0])
        return distances[self.translation(int(permutations.rank(inverse[None, :])[0]))]

    def translation(self, root: int | str) -> Ranks:
        """See `Topology.translation`: x -> (q[x_1], .., q[x_n]) for the root q."""
        image = permutations.unrank(self.n, self.node(root))[0]
        self._require_memory(4, "images")
        out = np.empty(self.nodes, dtype=np.int32)
        for chunk in self.chunks():
            nodes = permutations.unrank(self.n, np.arange(chunk.start, chunk.stop))
            out[chunk] = permutations.rank(permutations.compose(image, nodes))
        return out

    def labels(self, ranks: ArrayLike | None = None) -> NDArray[np.str_]:
        """See `Topology.labels`."""
        if ranks is None:
            self._require_memory(5 * self.n, "labels")
            return permutations.labels(permutations.arrangements(self.n, self.n))
        return permutations.labels(permutations.unrank(self.n, self._check_ranks(ranks)))

    def rank(self, label: str) -> int:
        """See `Topology.rank`."""
        return int(permutations.rank(permutations.parse(label, self.n)[None, :])[0])

    def _distances(self) -> NDArray[np.uint8]:
        self._require_memory(9, "distances")
        distances = _search(self.n, self.generators)
        reached = int(np.count_nonzero(distances)) + 1
        if reached < self.nodes:
            raise InputError(
                f"the generators of {self.spec} reach {reached:,} of its {self.nodes:,} nodes",
                hint="give generators of all permutations: the graph has to be connected",
            )
        return distances


def check_generators(generators: Sequence[Sequence[int]]) -> Generators:
    """Return generators as tuples after checking them.

    Raises:
        InputError: see `CayleyGraph`.
    """
    try:
        rows = tuple(tuple(int(position) for position in generator) for generator in generators)
    except (TypeError, ValueError):
        raise InputError(
            f"{generators!r} are not generators", hint="give a list of lists of positions"
        ) from None
    if not 1 <= len(rows) <= MOST_GENERATORS:
        raise InputError(
            f"there are {len(rows)} generators", hint=f"give 1 to {MOST_GENERATORS} of them"
        )
    n = len(rows[0])
    if not 2 <= n <= LARGEST:
        raise InputError(f"the generators have n = {n}", hint=f"n goes from 2 to {LARGEST}")
    identity = tuple(range(1, n + 1))
    for row in rows:
        if tuple(sorted(row)) != identity or row == identity:
            raise InputError(
                f"{list(row)} is not a generator",
                hint=f"give a permutation of the positions 1 to {n} that moves one of them",
            )
        if _inverse(row) not in rows:
            raise InputError(
                f"the inverse of the generator {list(row)} is missing",
                hint=f"add {list(_inverse(row))}: links lead both ways",
            )
    repeated = next((a for a, b in pairwise(sorted(rows)) if a == b), None)
    if repeated is not None:
        raise InputError(f"the generator {list(repeated)} is repeated", hint="give it once")
    return rows


def _inverse(generator: tuple[int, ...]) -> tuple[int, ...]:
    positions = range(1, len(generator) + 1)
    return tuple(sorted(positions, key=lambda position: generator[position - 1]))


def _move(n: int, ranks: NDArray[np.integer], generator: Sequence[int]) -> Ranks:
    """Return the nodes across the port of a generator, int32 ``[count]``."""
    nodes = permutations.unrank(n, ranks)
    return permutations.rank(nodes[:, np.array(generator) - 1])


@lru_cache(maxsize=4)
def _search(n: int, generators: Generators) -> NDArray[np.uint8]:
    """Return the distances from the identity; 0 also for nodes that are not reached."""
    distances = np.zeros(factorial(n), dtype=np.uint8)
    is_new = np.ones(len(distances), dtype=bool)
    is_new[0] = False
    frontier = np.zeros(1, dtype=np.int32)
    distance = 0
    while len(frontier):
        distance += 1
        for generator in generators:
            nodes = _move(n, frontier, generator)
            distances[nodes[is_new[nodes]]] = distance
            is_new[nodes] = False
        frontier = np.flatnonzero(distances == distance).astype(np.int32)
    return freeze(distances)
