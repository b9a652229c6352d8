"""Topologies for checks, with cached objects and with arrays computed from definitions.

`CachedTopology` provides forests and schedules, and arrays that are computed from the neighbour
table alone, without `starcast.trees`: distances, trees and their levels.
"""

from collections.abc import Callable, Sequence
from functools import partial, wraps
from inspect import signature
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from starcast.collectives import algorithm as collectives
from starcast.collectives.model import Schedule
from starcast.judges.simulator import FaultLike, Simulation, simulate
from starcast.records import checkers
from starcast.support.arrays import freeze
from starcast.topologies import Topology, topology
from starcast.topologies.permutations import Ranks
from starcast.trees import construction as trees
from starcast.trees.model import Forest

Object = TypeVar("Object")
Cached = TypeVar("Cached", bound="CachedTopology")
P = ParamSpec("P")

_ALL_ROOTS = 24  # nodes of S4; if a topology has no more nodes, every node is a sample root
_SEED = 1997


class ObjectCache:
    """Cache of the objects that checks use; each object is created once. Arrays are read-only.

    Every new object passes through `intercept`. Mutation tests override `intercept` to corrupt
    objects.
    """

    def __init__(self) -> None:
        self._objects: dict[tuple[Any, ...], Any] = {}
        self._keys: dict[int, tuple[Any, ...]] = {}

    def intercept(self, kind: str, key: tuple[Any, ...], value: Any) -> Any:  # noqa: ARG002 - for overrides
        """Return the object that is cached for the new object ``value``; by default ``value``."""
        return value

    def get_or_create(
        self, kind: str, key: tuple[Any, ...], create: Callable[[], Object]
    ) -> Object:
        """Return the cached object with the given kind and key; create it if it is not cached yet.

        Args:
            kind: ``forest``, ``schedule``, ``simulation`` or ``array``. The kind ``array`` is also
                used for other results that several checks need and that take long to compute.
            key: identifies the object within its kind.
            create: function without arguments that returns a new object.
        """
        full_key = (kind, *key)
        if full_key not in self._objects:
            value = self.intercept(kind, key, create())
            if isinstance(value, np.ndarray):
                # A check that changes an array must not change the evidence of other checks.
                freeze(value)
            self._objects[full_key] = value
            # `simulation` identifies a schedule by this key, so that a mutated schedule does not
            # get the simulation of its original.
            self._keys[id(value)] = full_key
        return cast("Object", self._objects[full_key])

    def simulation(self, schedule: Schedule, faults: Sequence[FaultLike] = ()) -> Simulation:
        """Return the simulation of a schedule with the given faults (default: no faults).

        The simulation is cached only if the schedule is in this cache.
        """
        key = self._keys.get(id(schedule))
        if key is None:
            simulation = simulate(schedule, faults=faults)
            return cast(
                "Simulation", self.intercept("simulation", (schedule.id, *faults), simulation)
            )
        return self.get_or_create(
            "simulation", (*key, *map(str, faults)), lambda: simulate(schedule, faults=faults)
        )


def cached(
    create: Callable[Concatenate[Cached, P], Object],
) -> Callable[Concatenate[Cached, P], Object]:
    """Decorate a function of a topology and hashable arguments, so that its results are cached.

    Example:
        >>> @cached
        ... def odd_ranks(network: CachedTopology) -> NDArray[np.int64]:
        ...     return network.ranks[1::2]
    """
    parameters = signature(create)

    @wraps(create)
    def look_up(network: Cached, *args: P.args, **options: P.kwargs) -> Object:
        # Defaults are filled in, so that equal calls have equal keys.
        call = parameters.bind(network, *args, **options)
        call.apply_defaults()
        key = (
            f"{create.__module__}.{create.__qualname__}",
            network.spec,
            *list(call.arguments.values())[1:],
        )
        return network.objects.get_or_create(
            "array", key, lambda: create(network, *args, **options)
        )

    return cast("Callable[Concatenate[Cached, P], Object]", look_up)


class CachedTopology:
    """A topology on which claims are checked; its forests, schedules and arrays are cached.

    Attributes:
        topology: the topology; its most used attributes are also attributes of this object.
        objects: the cache for the forests, schedules and arrays.
        spec, n, nodes, degree, ports, label, labels, rank: the attributes of the topology with
            these names.
    """

    def __init__(self, topology: Topology, objects: ObjectCache) -> None:
        self.topology = topology
        self.objects = objects
        self.spec = topology.spec
        self.n = topology.n
        self.nodes = topology.nodes
        self.degree = topology.degree
        self.ports = topology.ports
        self.label = topology.label
        self.labels = topology.labels
        self.rank = topology.rank

    @property
    def n_and_k(self) -> tuple[int, int]:
        """The parameters n and k of the (n,k)-star S_{n,k}."""
        return self.n, int(self.topology.k or 0)

    @property
    def ranks(self) -> NDArray[np.int64]:
        """The ranks of all nodes, int64 ``[nodes]``."""
        return np.arange(self.nodes)

    @property
    def links(self) -> tuple[NDArray[np.integer], Ranks]:
        """The ranks of the tails ``[nodes, 1]`` and heads ``[nodes, ports]`` of all directed links.

        Across a port without a link, the head is the tail.
        """
        return self.ranks[:, None], self.neighbours.T

    @property
    @cached
    def neighbours(self) -> Ranks:
        """The ranks of the neighbours of all nodes, int32 ``[ports, nodes]``.

        Across a port without a link, a node is its own neighbour.
        """
        return self.topology.table()

    def at(self, spec: str) -> "CachedTopology":
        """Return the topology with another spec; it uses the same cache as this topology."""
        return CachedTopology(topology(spec), self.objects)

    def array(self, name: str, create: Callable[[], NDArray[Any]]) -> NDArray[Any]:
        """Return the array with the given name, such as ``distances by search``.

        If no array of this name is cached, ``create`` returns a new array, which is cached.
        """
        return self.objects.get_or_create("array", (name, self.spec), create)

    def forest(self, construction: str, root: int | str = 0, **arguments: int | str) -> Forest:
        """Return the forest that a construction builds; it is built only once per cache."""
        key = (self.spec, construction, root, *sorted(arguments.items()))
        create = partial(trees.forest, self.spec, construction, root=root, **arguments)
        return self.objects.get_or_create("forest", key, create)

    def schedule(
        self,
        collective: str,
        algorithm: str,
        ports: str = "all",
        root: int | str = 0,
        **arguments: int | str,
    ) -> Schedule:
        """Return the schedule that an algorithm builds; it is built only once per cache."""
        key = (self.spec, collective, algorithm, ports, root, *sorted(arguments.items()))
        options: dict[str, Any] = {"ports": ports, "root": root, **arguments}
        create = partial(collectives.schedule, self.spec, collective, algorithm, **options)
        return self.objects.get_or_create("schedule", key, create)

    def build(self, create: Callable[[], Schedule], *key: Any) -> Schedule:
        """Return the schedule cached under a key; ``create`` builds it when it is first used."""
        return self.objects.get_or_create("schedule", (self.spec, *key), create)

    # Distances and trees, by breadth-first search

    @cached
    def distances(self, root: int = 0) -> Ranks:
        """Return the distance of every node from the root, int32 ``[nodes]``; -1 if unreachable."""
        return search(self.neighbours, root)

    @property
    def degrees(self) -> NDArray[np.int64]:
        """The number of different neighbours of every node, int64 ``[nodes]``."""
        # Sorting puts equal values next to each other, so every change of value is one more
        # neighbour.
        changes = np.diff(np.sort(self.neighbours, axis=0), axis=0)
        lacks_link = (self.neighbours == self.ranks).any(axis=0)
        return np.asarray(1 + np.count_nonzero(changes, axis=0) - lacks_link)

    def profile(self, root: int = 0) -> NDArray[np.int64]:
        """Return the number of nodes at each distance 0, 1, .. from the root, int64."""
        return np.bincount(self.distances(root)).astype(np.int64)

    @property
    @cached
    def diameter(self) -> int:
        """The largest distance between two endpoints, found by breadth-first searches."""
        if self.topology.has_translations:
            # A translation maps the root to any other node and keeps distances, so the largest
            # distance is the same from all nodes.
            return int(self.distances().max())
        endpoints = range(self.topology.endpoints)
        return max(int(search(self.neighbours, node)[endpoints].max()) for node in endpoints)

    @property
    def distance_sum(self) -> int:
        """The sum of the distances of all nodes from the identity (the node of rank 0)."""
        return int(self.distances().sum(dtype=np.int64))

    def roots(self, count: int = 4) -> tuple[int, ...]:
        """Return sample roots: all nodes of a small topology, otherwise ``count`` nodes.

        These ``count`` nodes (at least 2) are the identity, the last node and random nodes.
        """
        if self.nodes <= _ALL_ROOTS:
            return tuple(range(self.nodes))
        # The seed is fixed, so that a counterexample can be reproduced.
        rng = np.random.default_rng(_SEED + self.nodes)
        drawn = rng.choice(np.arange(1, self.nodes - 1), count - 2, replace=False)
        return (0, *sorted(int(node) for node in drawn), self.nodes - 1)

    def parents(self, row: NDArray[np.uint8]) -> Ranks:
        """Return each node's parent in a tree, int32 ``[nodes]``; -1 for a node without a parent.

        The argument ``row`` contains the port of each node towards its parent.
        """
        parents = np.full(self.nodes, -1, dtype=np.int32)
        for port, neighbours in zip(self.ports, self.neighbours, strict=True):
            np.copyto(parents, neighbours, where=row == port)
        return parents

    def ports_between(self, tail: Ranks, head: Ranks) -> NDArray[np.int64]:
        """Return the port from each node of ``tail`` to the corresponding node of ``head``.

        Both arrays contain ranks; NumPy broadcasts them to the shape of the result. The port is 0
        for a pair of nodes that are not neighbours.
        """
        ports = np.zeros(np.broadcast_shapes(tail.shape, head.shape), dtype=np.int64)
        for port, neighbours in zip(self.ports, self.neighbours, strict=True):
            ports = np.where(neighbours[tail] == head, port, ports)
        return ports

    def depths(self, rows: NDArray[np.uint8], root: int = 0) -> Ranks:
        """Return the levels of all nodes in each tree of a forest, int32 ``[trees, nodes]``.

        The argument ``rows`` contains the port of each node towards its parent, ``[trees, nodes]``.
        """
        return np.stack([tree_levels(self.parents(row), root) for row in rows])

    @cached
    def random_tree(self, seed: int, root: int = 0) -> NDArray[np.uint8]:
        """Return the ports towards the parents in a random spanning tree, uint8 ``[nodes]``.

        In every round, each node adjacent to the tree joins it with probability one half, over a
        random link to the tree. Every spanning tree can occur.
        """
        neighbours = self.neighbours
        rng = np.random.default_rng([_SEED, seed, root])
        row = np.zeros(self.nodes, dtype=np.uint8)
        joined = np.zeros(self.nodes, dtype=bool)
        joined[root] = True
        ports = np.array(self.ports, dtype=np.uint8)
        while not joined.all():
            near = joined[neighbours] & ~joined
            if not near.any():
                break  # a mutation test disconnected the graph; checkers reject the partial tree
            # Only some adjacent nodes join: if all joined at once, all tree paths would be shortest
            # paths.
            new = np.flatnonzero(near.any(axis=0) & (rng.random(self.nodes) < 1 / 2))
            weights = rng.random((len(neighbours), len(new)))
            chosen = np.argmax(near[:, new] * weights, axis=0)
            row[new] = ports[chosen]
            joined[new] = True
        return row


# Functions of arrays


def search(neighbours: NDArray[Any], root: int) -> Ranks:
    """Return the distances from the root in a graph given by a neighbour table.

    Args:
        neighbours: ranks of the neighbours, ``[ports, nodes]``.
        root: rank of the root.

    Returns:
        The distances, int32 ``[nodes]``; -1 for unreachable nodes.
    """
    distances = np.full(neighbours.shape[1], -1, dtype=np.int32)
    distances[root] = 0
    front = np.array([root])
    distance = 0
    while len(front):
        distance += 1
        candidates = neighbours[:, front].ravel()
        candidates = candidates[distances[candidates] < 0]
        distances[candidates] = distance
        # Several nodes at one distance may have the same neighbour, so duplicates are removed.
        front = np.unique(candidates)
    return distances


def tree_levels(parent: Ranks, root: int) -> Ranks:
    """Return the level of each node in the tree with the given parents.

    Args:
        parent: rank of each node's parent, ``[nodes]``; -1 for a node without a parent.
        root: rank of the root.

    Returns:
        The levels, int32 ``[nodes]``; -1 for a node that has no path to the root.
    """
    nodes = np.arange(len(parent), dtype=np.int32)
    ancestor = np.where(parent >= 0, parent, nodes)
    ancestor[root] = root
    steps = (ancestor != nodes).astype(np.int32)
    for _ in range(len(parent).bit_length()):  # each round doubles the distance to `ancestor`
        steps = steps + steps[ancestor]
        ancestor = ancestor[ancestor]
        if (ancestor == root).all():
            break
    return np.where(ancestor == root, steps, np.int32(-1))


def heights(forest: Forest) -> list[int]:
    """Return the height of every tree of a forest, measured by `checkers.height`."""
    topology = forest.topology
    counted = checkers.height(topology, forest.parent_port, forest.root, bound=topology.nodes)
    return [int(height) for height in np.atleast_1d(counted.measured)]
