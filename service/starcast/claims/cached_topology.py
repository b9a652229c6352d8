"""Topologies as checks see them: cached objects, and arrays computed by definition.

`CachedTopology` has the forests and schedules of the catalogue, and arrays that are computed from
the neighbour table and the labels alone: distances, trees, translations, the rotation R, and the
necklaces that nodes form under R. Translation and R are defined in docs/definitions/conventions.md
(Fragopoulou & Akl 1993, Definitions 2 and 5). The arrays use neither `starcast.trees` nor the
ranking of `starcast.topologies.permutations`. The number 0 is not a symbol and is left unchanged:
it occurs in labels that the mutation tests corrupt.
"""

from collections.abc import Callable, Sequence
from functools import partial, wraps
from inspect import signature
from itertools import permutations
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from starcast.collectives import algorithm as collectives
from starcast.collectives.model import Schedule
from starcast.judges.simulator import FaultLike, Simulation, simulate
from starcast.records import checkers
from starcast.topologies import Topology, topology
from starcast.topologies.permutations import Perms, Ranks
from starcast.trees import construction as trees
from starcast.trees.model import Forest

Object = TypeVar("Object")
AnyCached = TypeVar("AnyCached", bound="CachedTopology")
P = ParamSpec("P")

_ALL_ROOTS = 24  # nodes of S_4: up to this size every node is a sample root
_SEED = 1997


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


def cached(
    create: Callable[Concatenate[AnyCached, P], Object],
) -> Callable[Concatenate[AnyCached, P], Object]:
    """Decorate a function of a topology and hashable arguments, so that its results are cached.

    Example:
        >>> @cached
        ... def odd_ranks(network: CachedTopology) -> NDArray[np.int64]:
        ...     return network.ranks[1::2]
    """
    parameters = signature(create)

    @wraps(create)
    def look_up(network: AnyCached, *args: P.args, **options: P.kwargs) -> Object:
        # With the defaults, so that equal calls have equal keys.
        call = parameters.bind(network, *args, **options)
        call.apply_defaults()
        key = (create.__qualname__, network.spec, *list(call.arguments.values())[1:])
        return network.objects.get_or_create(
            "array", key, lambda: create(network, *args, **options)
        )

    return cast("Callable[Concatenate[AnyCached, P], Object]", look_up)


class CachedTopology:
    """A topology on which claims are checked; its forests, schedules and arrays are cached.

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
    @cached
    def neighbours(self) -> Ranks:
        """All neighbours, int32 ``[ports, nodes]``; see `Topology.table`."""
        return self.topology.table()

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

    # Distances and trees, by breadth-first search

    @cached
    def distances(self, root: int = 0) -> Ranks:
        """Return the distance of every node from the root, int32 ``[nodes]``; -1 if unreachable."""
        return search(self.neighbours, root)

    @property
    def degrees(self) -> NDArray[np.int64]:
        """The number of different neighbours of every node."""
        # Equal neighbours are adjacent after sorting, so every change of value is one more.
        changes = np.diff(np.sort(self.neighbours, axis=0), axis=0)
        return np.asarray(1 + np.count_nonzero(changes, axis=0))

    def profile(self, root: int = 0) -> NDArray[np.int64]:
        """Return the number of nodes at each distance 0, 1, .. from the root."""
        return np.bincount(self.distances(root)).astype(np.int64)

    @property
    def diameter(self) -> int:
        """The largest distance from the identity.

        This equals the diameter, because the topologies are node-symmetric (claim TS.size).
        """
        return int(self.distances().max())

    @property
    def distance_sum(self) -> int:
        """The sum of all distances from the identity."""
        return int(self.distances().sum(dtype=np.int64))

    def roots(self, count: int = 4) -> tuple[int, ...]:
        """Return sample roots: all nodes of a small topology, otherwise ``count`` nodes.

        The sample contains the identity, the last node and ``count - 2`` random nodes.
        """
        if self.nodes <= _ALL_ROOTS:
            return tuple(range(self.nodes))
        # A fixed seed, so that a counterexample can be reproduced.
        rng = np.random.default_rng(_SEED + self.nodes)
        drawn = rng.choice(np.arange(1, self.nodes - 1), count - 2, replace=False)
        return (0, *sorted(int(node) for node in drawn), self.nodes - 1)

    def parents(self, row: NDArray[np.uint8]) -> Ranks:
        """Return the parent of each node in one tree, int32 ``[nodes]``; -1 if there is none.

        The argument ``row`` holds the port of each node towards its parent.
        """
        found = np.full(self.nodes, -1, dtype=np.int32)
        for port, neighbours in zip(self.ports, self.neighbours, strict=True):
            np.copyto(found, neighbours, where=row == port)
        return found

    def ports_between(self, tail: Ranks, head: Ranks) -> NDArray[np.int64]:
        """Return the port of each tail that leads to the head; 0 if they are not neighbours.

        Tails and heads broadcast to the shape of the result.
        """
        found = np.zeros(np.broadcast_shapes(tail.shape, head.shape), dtype=np.int64)
        for port, neighbours in zip(self.ports, self.neighbours, strict=True):
            found = np.where(neighbours[tail] == head, port, found)
        return found

    def depths(self, rows: NDArray[np.uint8], root: int = 0) -> Ranks:
        """Return the levels of all nodes in each tree of a forest, int32 ``[trees, nodes]``."""
        return np.stack([tree_levels(self.parents(row), root) for row in rows])

    @cached
    def random_tree(self, seed: int, root: int = 0) -> NDArray[np.uint8]:
        """Return the ports towards the parents in a random spanning tree, uint8 ``[nodes]``.

        In every round, each node adjacent to the tree joins it with probability one half, over one
        of its links to the tree. Every spanning tree can occur.
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
            # Only some adjacent nodes join: if all joined at once, all paths would be shortest.
            new = np.flatnonzero(near.any(axis=0) & (rng.random(self.nodes) < 1 / 2))
            weights = rng.random((len(neighbours), len(new)))
            chosen = np.argmax(near[:, new] * weights, axis=0)
            row[new] = ports[chosen]
            joined[new] = True
        return row

    # Labels, translations and the rotation R; labels are in rank order

    @property
    @cached
    def symbols(self) -> Perms:
        """The symbols x_1, .., x_n of every node, in rank order, uint8 ``[nodes, n]``.

        Nodes of an (n,k)-star have k symbols.
        """
        length = int(self.topology.k or self.n)
        return np.array(list(permutations(range(1, self.n + 1), length)), dtype=np.uint8)

    def ranks_of(self, rows: NDArray[np.integer]) -> Ranks:
        """Return the lexicographic ranks of rows of symbols, int32 ``[rows]``."""
        # As numbers in base n+1, labels in rank order ascend, so a binary search finds ranks.
        weights = (self.n + 1) ** np.arange(self.n - 1, -1, -1)
        found = np.searchsorted(self.symbols @ weights, rows @ weights)
        # A label that a mutation test corrupted can be larger than all labels.
        return np.minimum(found, self.nodes - 1).astype(np.int32)

    @cached
    def translation(self, q: int) -> Ranks:
        """Return the rank of the label (q[x_1], .., q[x_n]) for every node x, int32 ``[nodes]``.

        The papers call this translation F_q(x), T_q(x), LC(q, .) or q∘x.
        """
        rows = self.symbols
        return self.ranks_of(np.append(0, rows[q])[rows])

    @property
    @cached
    def translations(self) -> Ranks:
        """The translation of every node x by every node q, int32 ``[nodes q, nodes x]``."""
        rows = self.symbols
        return np.stack([self.ranks_of(np.append(0, q)[rows]) for q in rows])

    @property
    @cached
    def rotation(self) -> Ranks:
        """The rank of R(x) for every node x, int32 ``[nodes]``.

        R(x) has the symbol r(x_s) in position r(s); see `rotation_function`. In cycle notation
        (Definition 5): if s is followed by x_s in x, r(s) is followed by r(x_s) in R(x).
        """
        rows, to = self.symbols, rotation_function(self.n)
        out = np.empty_like(rows)
        out[:, to[1:] - 1] = to[rows]
        return self.ranks_of(out)

    @property
    def rotations(self) -> Ranks:
        """The images of all nodes after 0, 1, .., n-2 rotations, int32 ``[n-1, nodes]``."""
        rotated = self.rotation
        rows = [np.arange(self.nodes, dtype=np.int32)]
        for _ in range(self.n - 2):
            rows.append(rotated[rows[-1]])
        return np.stack(rows)

    @property
    def return_times(self) -> NDArray[np.int64]:
        """The number of rotations after which each node returns; 0 if it is 4n or more."""
        node = rotated = self.rotation
        times = np.zeros(self.nodes, dtype=np.int64)
        for count in range(1, 4 * self.n):
            times = np.where((node == np.arange(self.nodes)) & (times == 0), count, times)
            node = rotated[node]
        return times

    # Necklaces (Fragopoulou & Akl 1993)

    @property
    @cached
    def leaders(self) -> NDArray[np.int32]:
        """The smallest rank in every node's necklace (its orbit under R), int32 ``[nodes]``."""
        return np.asarray(self.rotations.min(axis=0))

    @property
    def leader_distances(self) -> NDArray[np.int32]:
        """The distance of every other necklace from 12..n, in order of the smallest rank."""
        distinct = np.unique(self.leaders)
        return self.distances()[distinct[distinct > 0]]

    @property
    @cached
    def periods(self) -> NDArray[np.int64]:
        """The number of nodes in each node's necklace."""
        leader = self.leaders
        return np.asarray(np.bincount(leader, minlength=self.nodes)[leader])

    @property
    @cached
    def named_generators(self) -> NDArray[np.bool_]:
        """The nodes that Definition 7 names as generators, bool ``[nodes]``.

        It names none in the necklace of the identity 12..n, where symbol 2 is in no cycle.
        """
        labels = self.symbols
        leader = self.leaders.tolist()
        is_generator = np.asarray(labels[:, 1] == 1)
        starting = np.flatnonzero((labels[:, 0] == 1) & (labels[:, 1] != 2)).tolist()
        cycles = {node: cycle_of(labels[node].tolist(), 2) for node in starting}
        least: dict[int, tuple[int, ...]] = {}
        for node, cycle in cycles.items():
            least[leader[node]] = min(cycle, least.get(leader[node], cycle))
        for node, cycle in cycles.items():
            is_generator[node] = cycle == least[leader[node]]
        return is_generator

    @property
    @cached
    def displacements(self) -> NDArray[np.int64]:
        """The number of rotations from each node's generator to the node (Definition 8).

        Returns:
            int64 ``[nodes]``, counted from the first generator if there are several; -1 for 12..n.
        """
        leader = self.leaders
        rotated = self.rotation
        generators = np.flatnonzero(self.named_generators)
        _, first = np.unique(leader[generators], return_index=True)
        displacement = np.full(self.nodes, -1, dtype=np.int64)
        members = generators[first].astype(np.int32)
        for turns in range(self.n - 1):
            displacement[members[displacement[members] < 0]] = turns
            members = rotated[members]
        return displacement


# Functions of arrays


def search(neighbours: NDArray[Any], root: int) -> Ranks:
    """Return the distances from the root in a graph given by a neighbour table.

    Args:
        neighbours: ranks, ``[ports, nodes]``.
        root: rank of the root.

    Returns:
        int32 ``[nodes]``; -1 for unreachable nodes.
    """
    found = np.full(neighbours.shape[1], -1, dtype=np.int32)
    found[root] = 0
    front = np.array([root])
    distance = 0
    while len(front):
        distance += 1
        candidates = neighbours[:, front].ravel()
        candidates = candidates[found[candidates] < 0]
        found[candidates] = distance
        # Several nodes of the front may have the same neighbour, so duplicates are removed.
        front = np.unique(candidates)
    return found


def tree_levels(parent: Ranks, root: int) -> Ranks:
    """Return the level of each node, int32; -1 if its parents do not lead to the root."""
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


def branches(parent: Ranks, root: int) -> Ranks:
    """Return the child of the root on each node's path to the root; -1 without such a path."""
    current = np.arange(len(parent), dtype=np.int32)
    for _ in range(len(parent)):
        above = parent[current]
        higher = np.where((above == root) | (above < 0), current, above)
        if np.array_equal(higher, current):
            break
        current = higher
    return np.where(parent[current] == root, current, np.int32(-1))


def heights(forest: Forest) -> list[int]:
    """Return the height of every tree of a forest, counted by a checker."""
    topology = forest.topology
    counted = checkers.height(topology, forest.parent_port, forest.root, bound=topology.nodes)
    return [int(height) for height in np.atleast_1d(counted.measured)]


def positions(rows: Perms) -> NDArray[np.int64]:
    """Return in row s the position (from 1) of symbol s+1 in each node, int64 ``[n, nodes]``."""
    return np.argsort(rows, axis=1).T + 1


def rotation_function(n: int) -> NDArray[np.int64]:
    """Return the function r that R applies to symbols, positions and dimensions, int64 ``[n+1]``.

    r(1) = 1, r(n) = 2, and r(s) = s+1 for any other s.
    """
    return np.array([0, 1, *range(3, n + 1), 2][: n + 1])


def cycle_of(label: list[int], symbol: int) -> tuple[int, ...]:
    """Return the cycle that starts with a symbol; s is followed by x_s."""
    cycle = [symbol]
    while label[cycle[-1] - 1] != symbol:
        cycle.append(label[cycle[-1] - 1])
    return tuple(cycle)
