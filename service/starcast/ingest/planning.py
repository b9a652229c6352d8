"""Ingest plans: the requested artifacts, their sizes, and the faster load method.

Planning needs no server and does not build the planned artifacts, so it can also report the size of
a plan that exceeds the limits.

Schedules are requested by algorithms: ``multiple``, ``allgather:necklace``,
``alltoall:edge-disjoint(copies=2)``. ``allgather:all`` requests all allgather algorithms that are
defined on the topology, and ``all`` requests the algorithms of every collective. An algorithm
requested by name must support the topology, the port model and the arguments. An algorithm covered
by ``all`` is skipped if it does not support the topology, the port model or the arguments, or if
its schedule has too many rows; the reason is reported.

The load method determines how rows get into Neo4j. Over Bolt, rows are written to a running server,
at about 40 000 relationships per second. An offline import writes files and fills a new store from
them, which is up to nine times as fast. But the new store replaces the old one, so all stored
artifacts have to be imported again, and the server, which must be the embedded Neo4j, has to be
restarted. So large ingests into the embedded Neo4j use the import, and all other ingests use Bolt.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import NamedTuple, Self

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
from starcast.stores.graph.bulk_files import node_bytes, row_bytes
from starcast.support.errors import InputError, LimitError, RejectedError
from starcast.support.integers import check_count
from starcast.support.table import Table
from starcast.support.text import format_duration
from starcast.support.vocabulary import (
    STORED_NAME,
    Arguments,
    LoadMethod,
    parse_spec,
    split_specs,
)
from starcast.topologies import Topology, as_topology
from starcast.trees import Forest, plain_constructions
from starcast.trees.construction import find_difference

ALL = "all"
#: Maximum number of rows of a schedule that ``all`` includes; larger schedules must be requested by
#: name.
MAX_ROWS_OF_ALL = 1_000_000
BOTH = "both"
#: The name that requests the default port model of each algorithm.
DEFAULT_PORTS = "default"

#: Nodes and relationships written per second over Bolt on a warm server (see
#: docs/decisions/0002-keys-and-labels.md), and rows compared per second by reading them in pages.
NODES_PER_SECOND = 30_000
RELATIONSHIPS_PER_SECOND = 40_000
COMPARED_PER_SECOND = 400_000
#: Costs of a server that has just started: seconds to plan the first statements; additional seconds
#: per row until Java has compiled the code that writes rows; and the number of rows written until
#: then. Measured with S7 and its trees (docs/engines.md).
FIRST_STATEMENTS_SECONDS = 2
COLD_SECONDS_PER_ROW = 65e-6
COLD_ROWS = 100_000
#: Nodes and relationships deleted per second over Bolt, measured with S8, S9 and S10.
DELETED_PER_SECOND = 70_000

#: Seconds that every import takes on two idle processors to start neo4j-admin and restart Neo4j.
RESTART_SECONDS = 20
#: Rows per second of an import, including building, importing, indexing and comparing, measured
#: with S10 and S9: ``python -m benchmarks offline``.
IMPORTED_NODES_PER_SECOND = 130_000
IMPORTED_RELATIONSHIPS_PER_SECOND = 330_000

#: Bytes per node or relationship in Neo4j's store files, measured on S8. Most of the bytes of a
#: node are in five indexes.
#: Relationships of schedules take more, because Neo4j stores the long schedule id outside the
#: fixed-size record of the relationship.
BYTES_PER_NODE = 360
BYTES_PER_RELATIONSHIP = {"topology": 120, "forest": 260, "schedule": 370}
#: Number of digits assumed for ranks and units in import files, enough for all artifacts within
#: `IMPORT_ROW_LIMIT`.
_WIDTH = 8

#: Maximum number of rows that are loaded over Bolt. S10 without forests fits and takes about ten
#: minutes. Rows are sorted in memory, at about 100 bytes per row.
BOLT_ROW_LIMIT = 25_000_000
#: Maximum number of rows that an import writes, including those already stored. S10 with the trees
#: of the construction ``multiple`` fits; all processes together then need less than 6 GB of memory.
IMPORT_ROW_LIMIT = 60_000_000

_REDUCE = (
    "choose a smaller topology, fewer trees or schedules, or fewer segments or messages; "
    "`dry_run` shows the size of each artifact, and 'starcast run once' stores the results and "
    "steps of a schedule without its rows"
)


@dataclass(frozen=True)
class Plan:
    """The artifacts that an ingest stores unless they are already stored.

    Attributes:
        artifacts: the topology, and the requested forests and schedules.
        skipped: the reasons why schedules covered by ``all`` were skipped.
        forests: the user's own forests among the artifacts, keyed by id.
    """

    artifacts: tuple[Artifact, ...]
    skipped: tuple[str, ...] = ()
    forests: Mapping[str, Forest] = field(default_factory=dict)


def parse_request(
    topology: Topology | str,
    trees: str | Iterable[str] = (),
    schedules: str | Iterable[str] = (),
    root: int | str = 0,
    ports: str = DEFAULT_PORTS,
    segments: int | None = None,
    messages: int | None = None,
    forests: Iterable[Forest] = (),
) -> Plan:
    """Return the plan for storing a topology, forests and schedules.

    The total size of the plan is not limited.

    Args:
        topology: the topology or its spec, such as ``S5``.
        trees: list or comma-separated string of constructions, such as ``greedy`` or
            ``dimension-change(base=multiple,i=2)``; ``all`` requests all constructions
            that need no arguments.
        schedules: algorithms, such as ``multiple``, ``allgather:necklace`` or ``all``, as a string
            or a list. The forests that the algorithms use are stored too.
        root: label or rank of the root of forests and schedules.
        ports: port model of the schedules: ``all``, ``one``, ``both`` for one schedule per port
            model, or ``default`` for each algorithm's default.
        segments: number of equal parts into which each tree's share of a message is divided, for
            algorithms that segment messages; None for each algorithm's default.
        messages: number of unit messages, for algorithms that send unit messages; None for each
            algorithm's default.
        forests: forests that no construction builds, such as forests read from files. Each is
            stored under the name of its `Forest.construction`.

    Raises:
        InputError: a name, the root or a number is invalid, a forest is on another topology, or two
            forests have the same id.
        RejectedError: a forest is named after a construction that builds different trees.

    Example:
        >>> [artifact.id for artifact in parse_request("S4", "greedy").artifacts]
        ['S4', 'S4:greedy:1234']
    """
    topology = as_topology(topology)
    start = topology.root(root)
    selected, skipped = _select_schedules(topology, schedules, start, ports, segments, messages)
    texts = [
        construction
        for text in _listed(trees)
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
        # only the user's forest is kept.
        *(each for each in planned if each.id not in own),
        *map(forest_artifact, own.values()),
        *map(schedule_artifact, selected),
    ]
    # The same construction or schedule may be requested twice, in different notations.
    return Plan(tuple(dict.fromkeys(artifacts)), tuple(skipped), own)


def _listed(specs: str | Iterable[str]) -> Iterable[str]:
    return split_specs(specs) if isinstance(specs, str) else specs


def _check_forests(topology: Topology, forests: Iterable[Forest]) -> dict[str, Forest]:
    checked: dict[str, Forest] = {}
    for given in forests:
        if given.topology.spec != topology.spec:
            raise InputError(
                f"the forest {given.id} is on {given.topology.spec}, not on {topology.spec}",
                hint=f"ingest it together with the topology {given.topology.spec}",
            )
        if not re.fullmatch(STORED_NAME, given.construction):
            raise InputError(
                f"the forest {given.id} cannot be stored under the name {given.construction!r}",
                hint="use a name that consists of a lower-case letter followed by lower-case "
                "letters, digits or hyphens: Forest(..., construction='mine')",
            )
        if given.id in checked:
            raise InputError(
                f"two forests have the id {given.id}", hint="use another name for one of them"
            )
        if difference := find_difference(given):
            raise RejectedError(
                f"{given.id} has the name of a construction that builds different trees: "
                f"{difference}",
                hint="use another name: Forest(..., construction='mine')",
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
    """Return the schedules to store; `parse_request` describes the arguments.

    Returns:
        The schedules, and the reasons why other schedules covered by ``all`` were skipped.

    Raises:
        InputError: a name, a port model or an argument is invalid, or an algorithm requested by
            name does not support the topology, the port model or an argument.
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
    for word in _listed(schedules):
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
                if is_wildcard:
                    _check_rows(algorithm, topology, resolved)
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


def _check_rows(algorithm: Algorithm, topology: Topology, arguments: Arguments) -> None:
    """Raise an InputError if a schedule has too many rows to be included in ``all``."""
    rows = algorithm.count(topology, algorithm.ports[0], arguments)
    if rows > MAX_ROWS_OF_ALL:
        raise InputError(
            f"'{ALL}' omits {algorithm}, whose schedule has {rows:,} rows",
            hint="request the algorithm by name",
        )


def _collective_of(name: str) -> str:
    """Return the collective to use for an algorithm that is named without a collective.

    If exactly one collective has the algorithm, return this collective; otherwise broadcast.

    Raises:
        InputError: several collectives have the algorithm, but broadcast does not.
    """
    collectives = [algorithm.collective for algorithm in algorithms() if algorithm.name == name]
    if len(collectives) > 1 and "broadcast" not in collectives:
        words = " or ".join(f"'{collective}:{name}'" for collective in collectives)
        raise InputError(f"'{name}' names algorithms of several collectives", hint=f"write {words}")
    return collectives[0] if len(collectives) == 1 else "broadcast"


def _all_algorithms(
    topology: Topology, collective: str, arguments: Mapping[str, object]
) -> tuple[Algorithm, ...]:
    if arguments:
        raise InputError(
            f"'{ALL}' takes no arguments in parentheses",
            hint="use `segments` or `messages`, or name one algorithm",
        )
    if collective:
        check_collective(collective)
    return algorithms_on(topology, collective or None)


@dataclass(frozen=True)
class Estimate:
    """The estimated size of artifacts in Neo4j, and the time to write or delete them.

    Attributes:
        nodes: number of nodes in Neo4j.
        relationships: number of relationships in Neo4j.
        bytes: size of the artifacts in Neo4j's store, in bytes.
        import_bytes: temporary disk space of an import, in bytes: the files, and the new store next
            to the old store.
    """

    nodes: int
    relationships: int
    bytes: int
    import_bytes: int

    @classmethod
    def of(cls, artifacts: Iterable[Artifact]) -> Self:
        """Return the estimated total size of several artifacts."""
        listed = list(artifacts)
        nodes = sum(artifact.nodes for artifact in listed)
        relationships = sum(artifact.relationships for artifact in listed)
        stored = nodes * BYTES_PER_NODE + sum(
            artifact.relationships * BYTES_PER_RELATIONSHIP[artifact.kind] for artifact in listed
        )
        return cls(nodes, relationships, stored, stored + sum(map(_file_bytes, listed)))

    def __str__(self) -> str:
        return f"{self.nodes:,} nodes and {self.relationships:,} relationships"

    @property
    def rows(self) -> int:
        """Total number of nodes and relationships."""
        return self.nodes + self.relationships

    @property
    def seconds(self) -> float:
        """Estimated seconds to write and compare the built artifacts over Bolt on a warm server.

        A warm server has run long enough for Java to compile the code that writes rows.
        """
        writing = self.nodes / NODES_PER_SECOND + self.relationships / RELATIONSHIPS_PER_SECOND
        return writing + self.rows / COMPARED_PER_SECOND

    @property
    def cold_seconds(self) -> float:
        """Estimated seconds to write and compare the built artifacts over Bolt on a cold server.

        A cold server has just started.
        """
        cold_rows = min(self.rows, COLD_ROWS)
        return self.seconds + FIRST_STATEMENTS_SECONDS + cold_rows * COLD_SECONDS_PER_ROW

    @property
    def deletion_seconds(self) -> float:
        """Estimated seconds to delete the artifacts over Bolt."""
        return self.rows / DELETED_PER_SECOND

    @property
    def import_seconds(self) -> float:
        """Estimated seconds to import the artifacts into an empty store."""
        nodes = self.nodes / IMPORTED_NODES_PER_SECOND
        return RESTART_SECONDS + nodes + self.relationships / IMPORTED_RELATIONSHIPS_PER_SECOND


def _file_bytes(artifact: Artifact) -> int:
    nodes = 0
    if artifact.nodes:
        # If the topology's plug-in is not loaded, the import will fail anyway, so the size is not
        # needed.
        with suppress(InputError):
            nodes = artifact.nodes * node_bytes(artifact.topology, _WIDTH)
    return nodes + artifact.relationships * row_bytes(artifact.kind, artifact.id, _WIDTH)


def list_estimates(artifacts: Iterable[Artifact]) -> Table:
    """Return a table of the estimated size and time of each artifact, with totals at the end."""
    listed = list(artifacts)
    parts = [(each.kind, each.id, Estimate.of([each])) for each in listed]
    rows = [
        {
            "kind": kind,
            "id": artifact_id,
            "nodes": estimate.nodes,
            "relationships": estimate.relationships,
            "megabytes": estimate.bytes / 1e6,
            "bolt_seconds": estimate.seconds,
            "bolt_cold_seconds": estimate.cold_seconds,
            "import_seconds": estimate.import_seconds,
            "import_megabytes": estimate.import_bytes / 1e6,
        }
        for kind, artifact_id, estimate in [*parts, ("all", "", Estimate.of(listed))]
    ]
    return Table.of(rows, rows[0])


class ChosenMethod(NamedTuple):
    """A load method (``bolt`` or ``import``), and one sentence with the reason for the choice."""

    method: LoadMethod
    reason: str


def choose_method(
    requested: LoadMethod, new: Iterable[Artifact], stored: Iterable[Artifact], embedded: bool
) -> ChosenMethod:
    """Choose the load method for new artifacts.

    Args:
        requested: the method requested by the user.
        new: the artifacts to store.
        stored: the artifacts that are already stored.
        embedded: whether the graph store is the embedded Neo4j, which may be stopped and replaced.

    Raises:
        InputError: an import is requested, but Neo4j is not the embedded server.
        LimitError: the artifacts have more rows than the load method allows.
    """
    listed = list(new)
    adding = Estimate.of(listed)
    total = Estimate.of([*listed, *stored])
    duration = format_duration(total.import_seconds)
    # An import also writes all stored artifacts again, while Bolt writes only the new rows.
    is_faster = total.import_seconds < adding.seconds
    if _by_import(requested, embedded, is_faster):
        _check_import_limit(total)
        reason = (
            f"by offline import: all {total.rows:,} rows in about {duration}, with "
            f"{total.import_bytes / 1e9:.1f} GB of temporary disk space; {adding.rows:,} rows over "
            f"Bolt would take {format_duration(adding.seconds)}"
        )
        return ChosenMethod(LoadMethod.IMPORT, reason)
    if adding.rows > BOLT_ROW_LIMIT:
        alternative = "omit `method`; or " if embedded else ""
        raise LimitError(
            f"{adding} exceed the limit of {BOLT_ROW_LIMIT:,} rows for loading over Bolt; they "
            f"would need {adding.bytes / 1e9:.1f} GB and, on a warm server, "
            f"{format_duration(adding.seconds)} of writing and comparing",
            hint=f"{alternative}{_REDUCE}",
        )
    reason = (
        f"over Bolt: {adding.rows:,} rows in about {format_duration(max(1, adding.seconds))}, or "
        f"{format_duration(max(1, adding.cold_seconds))} if Neo4j has just started"
    )
    if embedded and is_faster:
        reason += (
            f"; an offline import, which also writes all stored rows, would take {duration} for "
            f"{total.rows:,} rows"
        )
    return ChosenMethod(LoadMethod.BOLT, reason)


def choose_deletion(
    requested: LoadMethod,
    dropped: Iterable[Artifact],
    remaining: Iterable[Artifact],
    embedded: bool,
) -> ChosenMethod:
    """Choose how to drop artifacts: delete them over Bolt, or import all others into a new store.

    Args:
        requested: the method requested by the user.
        dropped: the artifacts to drop.
        remaining: the artifacts that remain.
        embedded: whether the graph store is the embedded Neo4j, which may be stopped and replaced.

    Raises:
        InputError: an import is requested, but Neo4j is not the embedded server.
        LimitError: an import is requested, and the remaining artifacts have too many rows for it.
    """
    dropping, total = Estimate.of(dropped), Estimate.of(remaining)
    deletion = f"{dropping.rows:,} rows over Bolt"
    deletion_time = format_duration(dropping.deletion_seconds)
    importing = f"an offline import of the {total.rows:,} rows that remain"
    import_time = format_duration(total.import_seconds)
    is_faster = total.import_seconds < dropping.deletion_seconds
    if _by_import(requested, embedded, is_faster and total.rows <= IMPORT_ROW_LIMIT):
        _check_import_limit(total)
        reason = (
            f"by {importing}, in about {import_time}, with {total.import_bytes / 1e9:.1f} GB of "
            f"temporary disk space; deleting {deletion} would take {deletion_time}"
        )
        return ChosenMethod(LoadMethod.IMPORT, reason)
    reason = f"deleting {deletion} in about {deletion_time}"
    if embedded and is_faster:
        reason += f"; {importing} would take {import_time}"
    return ChosenMethod(LoadMethod.BOLT, reason)


def _by_import(requested: LoadMethod, embedded: bool, is_better: bool) -> bool:
    """Return whether an import is used instead of Bolt.

    An import is used if the user requests the method ``import``. With the method ``auto``, an
    import is used if it is possible and better.

    Raises:
        InputError: an import is requested, but Neo4j is not the embedded server.
    """
    if requested is LoadMethod.IMPORT and not embedded:
        raise InputError(
            "an offline import stops Neo4j and replaces its store, which starcast does only with "
            "the embedded Neo4j",
            hint="omit `method` to load over Bolt",
        )
    is_chosen = requested is LoadMethod.AUTO and embedded and is_better
    return is_chosen or requested is LoadMethod.IMPORT


def _check_import_limit(size: Estimate) -> None:
    if size.rows > IMPORT_ROW_LIMIT:
        raise LimitError(
            f"{size}, including all stored artifacts, exceed the limit of {IMPORT_ROW_LIMIT:,} "
            f"rows for an offline import; they would need {size.import_bytes / 1e9:.1f} GB of "
            f"temporary disk space and {format_duration(size.import_seconds)}",
            hint=_REDUCE,
        )
