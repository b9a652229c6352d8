"""Caches of objects that checks share: `ObjectCache`, and `CachedTopology` for one topology."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from starcast.collectives import algorithm as collectives
from starcast.collectives.algorithm import Algorithm
from starcast.collectives.model import Schedule
from starcast.judges.simulator import FaultLike, Simulation, simulate
from starcast.topologies import Topology, topology
from starcast.topologies.permutations import Ranks
from starcast.trees import construction as trees
from starcast.trees.construction import CONSTRUCTIONS
from starcast.trees.construction import single_trees as all_single_trees
from starcast.trees.model import Forest

Object = TypeVar("Object")


class ObjectCache:
    """Objects that checks use, each created once and kept for the lifetime of the cache.

    Every new object passes through `intercept`, with which the mutation tests corrupt objects.
    """

    def __init__(self) -> None:
        self._objects: dict[tuple[Any, ...], Any] = {}
        self._keys: dict[int, tuple[Any, ...]] = {}

    def intercept(self, kind: str, key: tuple[Any, ...], value: Any) -> Any:  # noqa: ARG002 - for overrides
        """Return the object that is cached in place of a new object; by default the new object."""
        return value

    def get_or_create(
        self, kind: str, key: tuple[Any, ...], create: Callable[[], Object]
    ) -> Object:
        """Return the object of a kind with a key; create it if it is not cached yet.

        Args:
            kind: ``forest``, ``schedule``, ``simulation``, ``array`` or ``absent``. The kind
                ``array`` also holds other results that take long and that several checks need.
            key: identifies the object within its kind.
            create: called without arguments.
        """
        full_key = (kind, *key)
        if full_key not in self._objects:
            value = self.intercept(kind, key, create())
            self._objects[full_key] = value
            # `simulation` identifies a schedule by this key, so that a mutated schedule does not
            # get the simulation of its original.
            self._keys[id(value)] = full_key
        return cast("Object", self._objects[full_key])

    def simulation(self, schedule: Schedule, faults: Sequence[FaultLike] = ()) -> Simulation:
        """Return the execution of a schedule; it is cached if the schedule itself is cached."""
        key = self._keys.get(id(schedule))
        if key is None:
            simulation = simulate(schedule, faults=faults)
            return cast(
                "Simulation", self.intercept("simulation", (schedule.id, *faults), simulation)
            )
        return self.get_or_create(
            "simulation", (*key, *map(str, faults)), lambda: simulate(schedule, faults=faults)
        )


class CachedTopology:
    """A topology with its forests, schedules and arrays, which checks share.

    Attributes:
        topology: the topology; its most used attributes are available on this object, too.
        objects: the cache.
        spec, n, nodes, degree, ports, label, labels, rank: those of the topology.
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
        """Tails and heads of all directed links; they broadcast to arrays ``[nodes, ports]``."""
        return self.ranks[:, None], self.neighbours.T

    @property
    def neighbours(self) -> Ranks:
        """All neighbours, int32 ``[ports, nodes]``; see `Topology.table`."""
        return self.array("neighbours", self.topology.table)

    def at(self, spec: str) -> "CachedTopology":
        """Return another topology with the same cache."""
        return CachedTopology(topology(spec), self.objects)

    def array(self, name: str, create: Callable[[], NDArray[Any]]) -> NDArray[Any]:
        """Return a named array, such as ``distances by search``; create it if it is not cached."""
        return self.objects.get_or_create("array", (name, self.spec), create)

    def forest(self, construction: str, root: int | str = 0, **arguments: int | str) -> Forest:
        """Return a forest built by a construction of the catalogue."""
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
        """Return a schedule built by an algorithm of the catalogue."""
        key = (self.spec, collective, algorithm, ports, root, *sorted(arguments.items()))
        options: dict[str, Any] = {"ports": ports, "root": root, **arguments}
        create = partial(collectives.schedule, self.spec, collective, algorithm, **options)
        return self.objects.get_or_create("schedule", key, create)

    def build(self, create: Callable[[], Schedule], *key: Any) -> Schedule:
        """Return a schedule that is not in the catalogue, cached under the given key."""
        return self.objects.get_or_create("schedule", (self.spec, *key), create)


# Single-tree constructions and algorithms that come with starcast; claims ignore plug-ins


def single_trees(topology: Topology) -> tuple[str, ...]:
    """Return the names of starcast's constructions of a single spanning tree on a topology."""
    entries = (CONSTRUCTIONS[name] for name in all_single_trees(topology))
    return tuple(entry.name for entry in entries if entry.origin.is_shipped and entry.families)


def algorithms_on(topology: Topology, collective: str) -> tuple[Algorithm, ...]:
    """Return starcast's algorithms of a collective that have no required arguments."""
    return tuple(
        algorithm
        for algorithm in collectives.algorithms_on(topology, collective)
        if algorithm.origin.is_shipped
    )
