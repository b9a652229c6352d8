"""Cayley graphs of a group, given by their generators.

Node x is linked to the product x∘g for every generator g. If g is a permutation, it moves
positions, as port i of a star graph exchanges positions 1 and i. A translation x -> q∘x multiplies
from the left, so it maps every link to a link of the same port. Distances are found by
breadth-first search.
"""

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from starcast.support.arrays import freeze
from starcast.support.errors import InputError
from starcast.topologies.base import Topology
from starcast.topologies.groups import Permutations, Residues
from starcast.topologies.permutations import Ranks

#: Port numbers, which start at 2, are uint8.
MAX_GENERATORS = 254

Group = Permutations | Residues
Generators = tuple[tuple[int, ...], ...]


class CayleyGraph(Topology):
    """The Cayley graph of a group and given generators; by default of the permutations of 1..n.

    Args:
        spec: the spec of the graph, such as ``P5``.
        family: the name of its family.
        generators: elements of the group. Ports are numbered from 2 in their order.
        group: the group; by default all permutations of 1..n, and generators are permutations of
            the positions.

    Raises:
        InputError: the generators are not distinct elements of the group, one of them is the
            identity, or the inverse of one is missing.

    Example:
        >>> CayleyGraph("P3", "pancake", [[2, 1, 3], [3, 2, 1]]).diameter
        3
    """

    def __init__(
        self,
        spec: str,
        family: str,
        generators: Sequence[Sequence[int]],
        group: type[Permutations] | Residues = Permutations,
    ) -> None:
        self.spec = spec
        self.family = family
        self.group, self.generators = check_generators(generators, group)
        self.n = self.group.n
        self.k = None
        self.nodes = self.group.nodes
        self.ports = tuple(range(2, len(self.generators) + 2))
        numbers = dict(zip(self.generators, self.ports, strict=True))
        self._reverse = {port: numbers[_inverse(self.group, g)] for g, port in numbers.items()}

    @property
    def diameter(self) -> int:
        """The largest distance between two nodes, found by breadth-first search.

        Raises:
            InputError: the generators do not generate the group.
        """
        return len(self.distance_profile()) - 1

    def distance_profile(self) -> tuple[int, ...]:
        """Return the number of nodes at each distance from any node, found by breadth-first search.

        Raises:
            InputError: the generators do not generate the group.
        """
        return tuple(np.bincount(self._distances()).tolist())

    def reverse_port(self, port: int) -> int:
        """Return the port that leads back, which is the port of the inverse generator."""
        return self._reverse[self._check_port(port)]

    def neighbours(self, port: int, ranks: ArrayLike | None = None) -> Ranks:
        """Return the neighbours across a port; see `Topology.neighbours`."""
        generator = self.generators[self._check_port(port) - 2]
        if ranks is not None:
            return _move(self.group, self._check_ranks(ranks), generator)
        self._require_memory(4, "neighbours")
        out = np.empty(self.nodes, dtype=np.int32)
        for chunk in self.chunks():
            out[chunk] = _move(self.group, np.arange(chunk.start, chunk.stop), generator)
        return out

    def distances(self, root: int | str = 0) -> NDArray[np.uint8]:
        """Return the distance of every node from the root; see `Topology.distances`.

        Raises:
            InputError: the generators do not generate the group.
        """
        rank = self.node(root)
        distances = self._distances()
        if rank == 0:
            return distances
        inverse = self.group.inverse(self.group.elements(rank)[0])
        # Translations keep distances, so one search from the identity serves all roots.
        return distances[self.translation(int(self.group.ranks(inverse[None, :])[0]))]

    def translation(self, root: int | str) -> Ranks:
        """Return the image q∘x of each node x, for the root q; see `Topology.translation`."""
        image = self.group.elements(self.node(root))[0]
        self._require_memory(4, "images")
        out = np.empty(self.nodes, dtype=np.int32)
        for chunk in self.chunks():
            nodes = self.group.elements(np.arange(chunk.start, chunk.stop))
            out[chunk] = self.group.ranks(self.group.product(image, nodes))
        return out

    def labels(self, ranks: ArrayLike | None = None) -> NDArray[np.str_]:
        """Return the labels of nodes; see `Topology.labels`."""
        if ranks is None:
            self._require_memory(5 * self.n, "labels")
            ranks = np.arange(self.nodes)
        return self.group.labels(self.group.elements(self._check_ranks(ranks)))

    def rank(self, label: str) -> int:
        """Return the rank of the node with a label; see `Topology.rank`."""
        return int(self.group.ranks(self.group.parse(label)[None, :])[0])

    def _distances(self) -> NDArray[np.uint8]:
        self._require_memory(9, "distances")
        distances = _search(self.group, self.generators)
        reached = int(np.count_nonzero(distances)) + 1
        if reached < self.nodes:
            raise InputError(
                f"the generators of {self.spec} reach only {reached:,} of its {self.nodes:,} nodes",
                hint="give generators of the whole group, because the graph has to be connected",
            )
        return distances


def check_generators(
    generators: Sequence[Sequence[int]], group: type[Permutations] | Residues = Permutations
) -> tuple[Group, Generators]:
    """Check generators, and return their group and the generators as elements of the group.

    Raises:
        InputError: see `CayleyGraph`.
    """
    try:
        given = [tuple(int(value) for value in generator) for generator in generators]
    except (TypeError, ValueError):
        raise InputError(
            f"{generators!r} are not generators", hint="give a list of lists of positions"
        ) from None
    if not 1 <= len(given) <= MAX_GENERATORS:
        raise InputError(
            f"the number of generators is {len(given)}, not 1 to {MAX_GENERATORS}",
            hint=f"give 1 to {MAX_GENERATORS} generators",
        )
    elements = group(_check_size(group, given[0])) if isinstance(group, type) else group
    rows = []
    for generator in given:
        row = elements.reduce(generator)
        if row is None:
            raise InputError(
                f"{list(generator)} is not a generator",
                hint=f"give {elements.generator.format(n=elements.n)}",
            )
        rows.append(row)
    for row in rows:
        inverse = _inverse(elements, row)
        if inverse not in rows:
            raise InputError(
                f"the inverse of the generator {list(row)} is missing",
                hint=f"add {list(inverse)}, because links lead both ways",
            )
    repeated = next((a for a, b in pairwise(sorted(rows)) if a == b), None)
    if repeated is not None:
        raise InputError(f"the generator {list(repeated)} is repeated", hint="give it once")
    return elements, tuple(rows)


def _check_size(group: type[Permutations], generator: tuple[int, ...]) -> int:
    if not 2 <= len(generator) <= group.largest:
        raise InputError(
            f"the generators have the length {len(generator)}, not 2 to {group.largest}",
            hint=f"give generators of a length from 2 to {group.largest}",
        )
    return len(generator)


def _inverse(group: Group, generator: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(group.inverse(np.array(generator)).tolist())


def _move(group: Group, ranks: NDArray[np.integer], generator: Sequence[int]) -> Ranks:
    """Return the neighbours of nodes across the port of a generator, int32 ``[count]``."""
    return group.ranks(group.product(group.elements(ranks), np.array(generator)))


@lru_cache(maxsize=4)
def _search(group: Group, generators: Generators) -> NDArray[np.uint8]:
    """Return the distances from the identity; nodes that the search does not reach also have 0."""
    distances = np.zeros(group.nodes, dtype=np.uint8)
    # The root has distance 0, so 0 cannot mark the nodes that are not reached yet.
    is_new = np.ones(len(distances), dtype=bool)
    is_new[0] = False
    frontier = np.zeros(1, dtype=np.int32)
    distance = 0
    while len(frontier):
        distance += 1
        for generator in generators:
            nodes = _move(group, frontier, generator)
            distances[nodes[is_new[nodes]]] = distance
            is_new[nodes] = False
        # The new nodes are read from the array, because several generators reach the same node.
        frontier = np.flatnonzero(distances == distance).astype(np.int32)
    return freeze(distances)
