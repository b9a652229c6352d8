"""Ingest plans: the requested artifacts with their sizes.

Planning needs no server and builds nothing, so it can also report the size of a plan that exceeds
the limits.

Schedules are requested by algorithms: ``multiple``, ``allgather:necklace``,
``alltoall:edge-disjoint(copies=2)``. ``allgather:all`` names all algorithms of a collective that
are defined on the topology, and ``all`` those of every collective. A schedule requested by name
must be possible. Schedules covered by ``all`` that are not possible are skipped, and the reason is
reported.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from starcast.collectives.algorithm import (
    Algorithm,
    ScheduleParameters,
    algorithms,
    algorithms_on,
    find_algorithm,
)
from starcast.collectives.model import PORT_MODELS, check_collective, check_ports
from starcast.ingest.artifacts import (
    Artifact,
    forest_artifact,
    planned_forest,
    schedule_artifact,
    topology_artifact,
)
from starcast.support.errors import InputError, RejectedError
from starcast.support.integers import check_count
from starcast.support.vocabulary import parse_spec, split_specs
from starcast.topologies import Topology
from starcast.topologies import topology as parse_topology
from starcast.trees import Forest, plain_constructions
from starcast.trees.construction import find_difference

ALL = "all"
BOTH = "both"
#: The name that requests the default port model of each algorithm.
DEFAULT_PORTS = "default"


@dataclass(frozen=True)
class Plan:
    """Artifacts to store.

    Attributes:
        artifacts: the topology, its forests, and their schedules.
        skipped: the reasons why schedules covered by ``all`` were skipped.
        forests: the user's own forests among the artifacts, by id.
    """

    artifacts: tuple[Artifact, ...]
    skipped: tuple[str, ...] = ()
    forests: Mapping[str, Forest] = field(default_factory=dict)


def parse_request(
    spec: str,
    trees: str | Iterable[str] = (),
    schedules: str | Iterable[str] = (),
    root: int | str = 0,
    ports: str = DEFAULT_PORTS,
    segments: int | None = None,
    messages: int | None = None,
    forests: Iterable[Forest] = (),
) -> Plan:
    """Return the plan for storing a topology, forests and schedules, regardless of their size.

    Args:
        spec: the topology, such as ``S5``.
        trees: constructions, such as ``greedy`` or ``dimension-change(base=multiple,i=2)``, or
            ``all`` for those that need no arguments.
        schedules: algorithms, such as ``multiple``, ``allgather:necklace`` or ``all``. The forests
            that they use are stored with them.
        root: label or rank of the root of forests and schedules.
        ports: port model of the schedules: ``all``, ``one``, ``both``, or ``default`` for the
            default of each algorithm.
        segments: segments per tree, for algorithms that segment the message; None for their
            defaults.
        messages: number of unit messages, for algorithms that send unit messages; None for their
            defaults.
        forests: forests that no construction builds, such as forests read from files. Each is
            stored under the name of its `Forest.construction`.

    Raises:
        InputError: a name, the root or a number is wrong, or a forest is on another topology.
        RejectedError: a forest is named after a construction that builds other trees.

    Example:
        >>> [artifact.id for artifact in parse_request("S4", "greedy").artifacts]
        ['S4', 'S4:greedy:1234']
    """
    topology = parse_topology(spec)
    start = topology.node(root)
    selected, skipped = _select_schedules(topology, schedules, start, ports, segments, messages)
    texts = [
        construction
        for text in split_specs(trees)
        for construction in (plain_constructions(topology) if text == ALL else (text,))
    ]
    for each in selected:
        used = each.algorithm.forest_construction(topology, each.ports, each.arguments)
        if used is not None:
            texts.append(used)
    own = _check_forests(topology, forests)
    planned = [planned_forest(topology, *parse_spec(text), start) for text in texts]
    artifacts = [
        topology_artifact(topology),
        # If a user's forest and a construction's forest have the same id, their trees are equal, so
        # only the user's is kept.
        *(each for each in planned if each.id not in own),
        *map(forest_artifact, own.values()),
        *map(schedule_artifact, selected),
    ]
    # Different spellings may name the same construction or schedule.
    return Plan(tuple(dict.fromkeys(artifacts)), tuple(skipped), own)


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
                f"{given.id} has the name of a construction that builds different trees: "
                f"{difference}",
                hint="give it another name: Forest(..., construction='mine')",
            )
        checked[given.id] = given
    return checked


def _select_schedules(
    topology: Topology,
    schedules: str | Iterable[str],
    root: int,
    ports: str,
    segments: int | None,
    messages: int | None,
) -> tuple[list[ScheduleParameters], list[str]]:
    """Select the requested schedules; see `parse_request` for the arguments.

    Returns:
        The schedules, and the reasons why others that ``all`` covers were skipped.

    Raises:
        InputError: a name, a port model or an argument is wrong, or is not supported by a named
            algorithm.
    """
    check_ports(ports, (BOTH, DEFAULT_PORTS))
    models: Mapping[str, Sequence[str | None]] = {DEFAULT_PORTS: (None,), BOTH: [*PORT_MODELS]}
    requested = models.get(ports, (ports,))
    given = {"segments": segments, "messages": messages}
    counts = {name: count for name, count in given.items() if count is not None}
    for name, count in counts.items():
        check_count(name, count)
    selected: list[ScheduleParameters] = []
    skipped: list[str] = []
    for word in split_specs(schedules):
        name, own_arguments = parse_spec(word, "algorithm")
        collective, _, algorithm_name = name.rpartition(":")
        is_wildcard = algorithm_name == ALL
        if is_wildcard:
            chosen = _all_algorithms(topology, collective, own_arguments)
        else:
            collective = collective or _collective_of(algorithm_name)
            chosen = (find_algorithm(collective, algorithm_name, topology),)
        for algorithm in chosen:
            # A number of segments or messages applies to each algorithm with that argument, unless
            # the algorithm's own arguments, in parentheses, override it.
            split = {name: counts[name] for name in counts if name == algorithm.split_argument}
            try:
                resolved = algorithm.resolve_arguments(topology, {**split, **own_arguments})
                # If several port models are requested, an algorithm uses those that it supports. A
                # single requested model must be supported.
                selected += [
                    ScheduleParameters(
                        algorithm, topology, root, algorithm.resolve_ports(model), resolved
                    )
                    for model in requested
                    if len(requested) == 1 or model in algorithm.ports
                ]
            except InputError as error:
                if not is_wildcard:
                    raise
                skipped.append(error.message)
    return selected, skipped


def _collective_of(name: str) -> str:
    """Return the collective of an algorithm that is named without one.

    It is the only collective with an algorithm of this name, or broadcast if there are several.
    """
    collectives = [algorithm.collective for algorithm in algorithms() if algorithm.name == name]
    if len(collectives) > 1 and "broadcast" not in collectives:
        words = " or ".join(f"'{collective}:{name}'" for collective in collectives)
        raise InputError(f"'{name}' is an algorithm of several collectives", hint=f"write {words}")
    return collectives[0] if len(collectives) == 1 else "broadcast"


def _all_algorithms(
    topology: Topology, collective: str, arguments: Mapping[str, object]
) -> tuple[Algorithm, ...]:
    if arguments:
        raise InputError(
            f"'{ALL}' takes no arguments in parentheses",
            hint="use the options --segments or --messages, or name one algorithm",
        )
    if collective:
        check_collective(collective)
    return algorithms_on(topology, collective or None)
