"""Plans of ingests: the requested artifacts and their sizes. No server is needed.

`IngestRequest.sizes` builds nothing, so that the size of a request that exceeds the limits can be
reported as well.

Schedules are requested by algorithms: ``multiple``, ``allgather:necklace``,
``alltoall:edge-disjoint(copies=2)``. ``allgather:all`` names all algorithms of a collective that
are defined on the topology, and ``all`` those of every collective. A named schedule must be
possible as requested; those that ``all`` covers are skipped otherwise, and the reason is reported.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from starcast.collectives import catalogue
from starcast.collectives.algorithm import Algorithm
from starcast.collectives.model import PORT_MODELS, check_collective, check_ports
from starcast.errors import InputError, RejectedError
from starcast.ingest.artifacts import Artifact, ForestArtifact, ScheduleArtifact, TopologyArtifact
from starcast.ingest.load_methods import Estimate, limit_error
from starcast.support.integers import check_count
from starcast.support.spec_syntax import format_spec, parse_spec, split_specs
from starcast.topologies import Topology
from starcast.topologies import topology as parse_topology
from starcast.trees import Forest, forest, plain_constructions
from starcast.trees.catalogue import find_difference
from starcast.trees.sizes import count_edges
from starcast.vocabulary import LoadMethod

ALL = "all"
BOTH = "both"
#: Requests the default port model of each algorithm.
DEFAULT_PORTS = "default"

Arguments = Mapping[str, int | str]


@dataclass(frozen=True)
class ArtifactSize:
    """Id of an artifact, and the nodes and relationships that it adds to the graph."""

    kind: str
    id: str
    nodes: int
    relationships: int


@dataclass(frozen=True)
class SelectedSchedule:
    """A selected schedule: algorithm, port model and all arguments."""

    algorithm: Algorithm
    ports: str
    arguments: Arguments

    def id(self, topology: Topology, root: int) -> str:
        """Return the schedule's id."""
        return self.algorithm.id(topology, self.ports, self.arguments, root)


@dataclass
class Selection:
    """Selected schedules.

    Attributes:
        schedules: the schedules, by id for root 0.
        skipped: the reasons why schedules covered by ``all`` were skipped.
    """

    schedules: dict[str, SelectedSchedule] = field(default_factory=dict)
    skipped: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class IngestRequest:
    """A checked request to store artifacts of one topology.

    Attributes:
        topology: the topology.
        root: rank of the root of forests and schedules.
        constructions: name and arguments of the constructions, by their text.
        selection: the schedules.
        forests: forests of the user, by id.
    """

    topology: Topology
    root: int
    constructions: Mapping[str, tuple[str, Arguments]]
    selection: Selection
    forests: Mapping[str, Forest] = field(default_factory=dict)

    def sizes(self) -> list[ArtifactSize]:
        """Return the size of each artifact, in the order of `plan`, without building any."""
        topology = self.topology
        sizes = [ArtifactSize("topology", topology.spec, topology.nodes, topology.links)]
        for artifact_id, (name, arguments) in self._forests.items():
            sizes.append(
                ArtifactSize("forest", artifact_id, 0, count_edges(topology, name, **arguments))
            )
        for artifact_id, given in self.forests.items():
            sizes.append(
                ArtifactSize("forest", artifact_id, 0, ForestArtifact(given).relationships)
            )
        for artifact_id, artifact in self._schedules.items():
            sizes.append(ArtifactSize("schedule", artifact_id, 0, artifact.relationships))
        return sizes

    def plan(self, ids: Collection[str] | None = None) -> "Plan":
        """Return the artifacts with their forests built, optionally only those with given ids.

        Raises:
            LimitError: they exceed the limits of all load methods; nothing has been built.
        """
        sizes = [size for size in self.sizes() if ids is None or size.id in ids]
        excess = limit_error(Estimate.of(sizes), LoadMethod.IMPORT, embedded=True)
        if excess is not None:
            raise excess
        artifacts = tuple(self._artifact(size.id) for size in sizes)
        return Plan(artifacts, tuple(self.selection.skipped))

    def _artifact(self, artifact_id: str) -> Artifact:
        if artifact_id == self.topology.spec:
            return TopologyArtifact(self.topology)
        if artifact_id in self.forests:
            return ForestArtifact(self.forests[artifact_id])
        if artifact_id in self._forests:
            # This creates only the array of ports, one byte per node and tree.
            name, arguments = self._forests[artifact_id]
            return ForestArtifact(forest(self.topology, name, self.root, **arguments))
        return self._schedules[artifact_id]

    @cached_property
    def _forests(self) -> dict[str, tuple[str, Arguments]]:
        spec = self.topology.spec
        label = self.topology.label(self.root)
        ids = {f"{spec}:{text}:{label}": chosen for text, chosen in self.constructions.items()}
        # A user's forest with the id of a construction has the same trees.
        return {name: chosen for name, chosen in ids.items() if name not in self.forests}

    @cached_property
    def _schedules(self) -> dict[str, ScheduleArtifact]:
        artifacts = [
            ScheduleArtifact(
                chosen.algorithm, self.topology, self.root, chosen.ports, chosen.arguments
            )
            for chosen in self.selection.schedules.values()
        ]
        return {artifact.id: artifact for artifact in artifacts}


@dataclass(frozen=True)
class Plan:
    """Artifacts to store, in the order of their dependencies.

    Attributes:
        artifacts: the topology, its forests, and their schedules.
        skipped: the reasons why schedules covered by ``all`` were skipped.
    """

    artifacts: tuple[Artifact, ...]
    skipped: tuple[str, ...] = ()

    def plan(self, ids: Collection[str] | None = None) -> "Plan":
        """Return the plan, or its artifacts with given ids; as `IngestRequest.plan`."""
        if ids is None:
            return self
        return replace(
            self, artifacts=tuple(artifact for artifact in self.artifacts if artifact.id in ids)
        )

    def sizes(self) -> list[ArtifactSize]:
        """Return the size of each artifact."""
        return [
            ArtifactSize(artifact.kind, artifact.id, artifact.nodes, artifact.relationships)
            for artifact in self.artifacts
        ]

    @property
    def estimate(self) -> Estimate:
        """Total size of all artifacts."""
        return Estimate.of(self.artifacts)


def parse_request(
    spec: str,
    trees: str | Iterable[str] = (),
    schedules: str | Iterable[str] = (),
    root: int | str = 0,
    ports: str = DEFAULT_PORTS,
    segments: int | None = None,
    messages: int | None = None,
    forests: Iterable[Forest] = (),
) -> IngestRequest:
    """Check a request to store artifacts of a topology, regardless of their size.

    Args:
        spec: the topology, such as ``S5``.
        trees: constructions, such as ``greedy`` or ``dimension-change(base=multiple,i=2)``, or
            ``all`` for those that need no arguments.
        schedules: algorithms, such as ``multiple``, ``allgather:necklace`` or ``all``. The forests
            that they use are stored with them.
        root: label or rank of the root of forests and schedules.
        ports: port model of the schedules: ``all``, ``one``, ``both``, or ``default``: the default
            of each algorithm.
        segments: segments per tree, for algorithms that segment the message; None for their
            defaults.
        messages: number of unit messages, for algorithms that send them; None for their defaults.
        forests: forests that are not built by a construction, such as those of files. Each is
            stored under the name of its `Forest.construction`.

    Raises:
        InputError: a name, the root or a number is wrong, or a forest is on another topology.
        RejectedError: a forest is named after a construction that builds other trees.

    Example:
        >>> [artifact.id for artifact in parse_request("S4", "greedy").plan().artifacts]
        ['S4', 'S4:greedy:1234']
    """
    topology = parse_topology(spec)
    selection = select_schedules(topology, schedules, ports, segments, messages)
    texts = [
        construction
        for text in split_specs(trees)
        for construction in (plain_constructions(topology) if text == ALL else (text,))
    ]
    for chosen in selection.schedules.values():
        used = chosen.algorithm.forest_construction(topology, chosen.ports, chosen.arguments)
        if used is not None:
            texts.append(used)
    # Different texts of the same construction have the same normal form.
    constructions = {
        format_spec(*construction): construction for construction in map(parse_spec, texts)
    }
    own = _check_forests(topology, forests)
    return IngestRequest(topology, topology.node(root), constructions, selection, own)


def _check_forests(topology: Topology, forests: Iterable[Forest]) -> dict[str, Forest]:
    checked: dict[str, Forest] = {}
    for given in forests:
        if given.topology.spec != topology.spec:
            raise InputError(
                f"the forest {given.id} is on {given.topology.spec}, not on {topology.spec}",
                hint=f"ingest {given.topology.spec}",
            )
        if given.id in checked:
            raise InputError(
                f"two forests have the id {given.id}", hint="give one of them another name"
            )
        if difference := find_difference(given):
            raise RejectedError(
                f"{given.id} is named after a construction that builds other trees: {difference}",
                hint="give it another name: Forest(..., construction='mine')",
            )
        checked[given.id] = given
    return checked


def select_schedules(
    topology: Topology,
    schedules: str | Iterable[str],
    ports: str = DEFAULT_PORTS,
    segments: int | None = None,
    messages: int | None = None,
) -> Selection:
    """Select schedules by the words of a user; see `parse_request` for the arguments.

    Raises:
        InputError: a word, a port model or an argument is wrong, or a named algorithm does not
            support it.
    """
    models = _port_models(ports)
    counts = {"segments": segments, "messages": messages}
    for name, count in counts.items():
        if count is not None:
            check_count(name, count)
    selection = Selection()
    for word in split_specs(schedules):
        name, own_arguments = parse_spec(word, "algorithm")
        collective, _, algorithm_name = name.rpartition(":")
        is_wildcard = algorithm_name == ALL
        if is_wildcard:
            algorithms = _all_algorithms(topology, collective, own_arguments)
        else:
            algorithms = (_named_algorithm(topology, collective, algorithm_name),)
        for algorithm in algorithms:
            # Numbers for all algorithms apply only to those that have the argument; arguments in
            # parentheses are for this algorithm.
            arguments = dict(own_arguments)
            split_argument = algorithm.split_argument
            count = counts.get(split_argument or "")
            if split_argument is not None and count is not None:
                arguments = {split_argument: count, **arguments}
            _add(selection, algorithm, topology, models, arguments, is_wildcard=is_wildcard)
    return selection


def _add(
    selection: Selection,
    algorithm: Algorithm,
    topology: Topology,
    models: tuple[str | None, ...],
    requested: Arguments,
    *,
    is_wildcard: bool,
) -> None:
    try:
        arguments = algorithm.resolve_arguments(topology, requested)
        chosen = [
            SelectedSchedule(algorithm, algorithm.resolve_ports(model), arguments)
            for model in models
            if len(models) == 1 or model in algorithm.ports
        ]
    except InputError as error:
        if not is_wildcard:
            raise
        selection.skipped.append(error.message)
        return
    for selected in chosen:
        selection.schedules[selected.id(topology, 0)] = selected


def _named_algorithm(topology: Topology, collective: str, name: str) -> Algorithm:
    algorithm = catalogue.find(collective or _collective_of(name), name)
    catalogue.check_topology(algorithm, topology)
    return algorithm


def _collective_of(name: str) -> str:
    """Return the collective of an algorithm that is named without one.

    It is broadcast if that has such an algorithm, else the only collective that has it.
    """
    collectives = [
        algorithm.collective for algorithm in catalogue.algorithms() if algorithm.name == name
    ]
    if len(collectives) > 1 and "broadcast" not in collectives:
        words = " or ".join(f"'{collective}:{name}'" for collective in collectives)
        raise InputError(f"'{name}' is an algorithm of several collectives", hint=f"write {words}")
    return collectives[0] if len(collectives) == 1 else "broadcast"


def _all_algorithms(
    topology: Topology, collective: str, arguments: Mapping[str, object]
) -> tuple[Algorithm, ...]:
    if arguments:
        raise InputError(
            f"'{ALL}' takes no arguments",
            hint="give --segments or --messages, or name an algorithm",
        )
    if collective:
        check_collective(collective)
    return catalogue.algorithms_on(topology, collective or None)


def _port_models(ports: str) -> tuple[str | None, ...]:
    if ports == DEFAULT_PORTS:
        return (None,)
    if ports == BOTH:
        return tuple(PORT_MODELS)
    check_ports(ports, (BOTH, DEFAULT_PORTS))
    return (ports,)
