"""Artifacts that can be stored: topologies, forests and schedules.

The size of an artifact is known, or estimated, before the artifact is built. An artifact is built
and verified before it is stored. Its id, such as ``S5``, ``S5:multiple:12345`` or
``S5:broadcast:multiple:all:segments=4:12345``, contains everything needed to build the artifact
again, except for the links of networks and the trees of a user's own forests: PostgreSQL stores
both.
"""

import shlex
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

from sqlalchemy import Row, select
from sqlalchemy.orm import Session

from starcast.catalogue.plugins import Provenance, describe_used, require_plugins
from starcast.collectives import Schedule
from starcast.collectives.algorithm import ScheduleParameters, parse_schedule_id
from starcast.collectives.model import Structure
from starcast.ingest.both_stores import LoadState
from starcast.judges.simulator import Simulation, simulate
from starcast.stores.database import models, repository
from starcast.stores.graph.artifacts import Content, GraphArtifact, graph_artifact
from starcast.support.errors import InputError, NotFoundError, RejectedError, StarcastError
from starcast.support.text import pluralize
from starcast.support.vocabulary import format_spec
from starcast.topologies import Topology
from starcast.topologies import topology as parse_topology
from starcast.trees import Forest, forest
from starcast.trees.construction import CONSTRUCTIONS, count_edges, forest_from_id


class Built(NamedTuple):
    """An artifact that has been built and verified.

    Attributes:
        graph: the artifact as nodes and relationships of Neo4j.
        save: function that saves the artifact to PostgreSQL.
        artifact: the `Artifact`, with the numbers of nodes and relationships in ``graph``.
    """

    graph: GraphArtifact
    save: Callable[[Session], None]
    artifact: "Artifact"


@dataclass(frozen=True)
class Artifact:
    """A topology, forest or schedule. Artifacts with the same kind and id are equal.

    Attributes:
        kind: ``topology``, ``forest`` or ``schedule``.
        id: the artifact's id in both stores.
        nodes: number of nodes that the artifact adds to the graph, other than its own node.
        relationships: number of links, tree edges or sends that the artifact adds to the graph.
        plugins: name, version and digest of each plug-in that builds the artifact.
        make: function that builds the topology, forest or schedule without verifying it; None if
            only id and sizes were read from PostgreSQL.
    """

    kind: str
    id: str
    nodes: int = field(default=0, compare=False)
    relationships: int = field(default=0, compare=False)
    plugins: Provenance = field(default_factory=dict, compare=False, repr=False)
    make: Callable[[], Structure] | None = field(default=None, compare=False, repr=False)

    @property
    def rows(self) -> int:
        """Total number of nodes and relationships."""
        return self.nodes + self.relationships

    @property
    def spec(self) -> str:
        """Spec of the artifact's topology, with which the artifact's id begins."""
        return self.id.partition(":")[0]

    @property
    def topology(self) -> Topology:
        """The artifact's topology.

        Raises:
            InputError: no topology has this spec, or the plug-in that defines it is not loaded.
        """
        return parse_topology(self.spec)

    @property
    def planned_columns(self) -> dict[str, Any]:
        """The values of ``materialization`` that are known before the build, keyed by column."""
        return {**self.counts, "plugins": self.plugins}

    @property
    def counts(self) -> dict[str, int]:
        """Numbers of nodes and relationships, keyed by column of the table ``materialization``."""
        return {"expected_nodes": self.nodes, "expected_relationships": self.relationships}

    @property
    def build_order(self) -> tuple[int, str]:
        """Sort key that puts topologies first, then forests, then schedules."""
        return (models.KINDS.index(self.kind), self.id)

    @property
    def deletion_order(self) -> tuple[int, str]:
        """Sort key that puts schedules first, then forests, then topologies."""
        return (-models.KINDS.index(self.kind), self.id)

    @property
    def drop_command(self) -> str:
        """The command that deletes this artifact and, for a topology, all artifacts on it."""
        option = " --cascade" if self.kind == "topology" else ""
        return f"starcast {self.kind} drop {shlex.quote(self.id)}{option}"

    @property
    def renewal(self) -> str:
        """Instructions to build the artifact again after its plug-in has changed."""
        # A rebuild keeps the trees of a forest, because PostgreSQL stores them.
        if self.kind == "forest":
            return f"{self.drop_command}; then ingest the forest again"
        return f"starcast graph rebuild {shlex.quote(self.id)}"

    def structure(self) -> Structure:
        """Build the topology, forest or schedule without verifying it.

        Raises:
            ValueError: only id and sizes of the artifact were read from PostgreSQL.
        """
        if self.make is None:
            raise ValueError(f"{self.kind} {self.id} was read without the data needed to build it")
        return self.make()

    def build(self) -> Built:
        """Build and verify the artifact.

        Raises:
            RejectedError: the verification failed, or a plug-in built a different number of rows
                (nodes and relationships) than it declared.
        """
        structure = self.structure()
        save = _verify(structure)
        graph = graph_artifact(structure)
        nodes, relationships = _size(structure)
        self._check_size(graph, nodes, relationships)
        return Built(graph, save, replace(self, nodes=nodes, relationships=relationships))

    def build_again(self) -> Built:
        """Build and verify an artifact that was stored before.

        Raises:
            RejectedError: as for `build`. The message names the stored artifact and, if a plug-in
                builds the artifact, the hint names the command that drops it.
        """
        with _building_again(self):
            return self.build()

    def matches_record(self, session: Session, graph: GraphArtifact) -> bool:
        """Return whether a newly built artifact has the checksum that PostgreSQL records."""
        row = session.get_one(models.Materialization, (self.kind, self.id))
        return bool(row.expected_checksum == self.content_of(graph).checksum)

    def _check_size(self, graph: GraphArtifact, nodes: int, relationships: int) -> None:
        """Check that the built artifact has the planned numbers of nodes and relationships.

        The limits on rows were checked only for the planned numbers.

        Args:
            graph: the built artifact.
            nodes: the number of nodes that were built.
            relationships: the number of relationships that were built.

        Raises:
            RejectedError: a plug-in built a different number of rows than it declared.
            StarcastError: starcast built a different number of rows than planned.
        """
        if (graph.id, nodes, relationships) == (self.id, self.nodes, self.relationships):
            return
        # For schedules of starcast's own algorithms, the planned number of rows is an estimate that
        # ignores the root. On networks with switches, the plan includes all rows to switches, but
        # rows that no endpoint needs are omitted from the built artifact.
        has_switches = self.topology.endpoints < self.topology.nodes
        is_estimate = (self.kind == "schedule" and not self.plugins) or (
            has_switches and relationships < self.relationships
        )
        if graph.id == self.id and is_estimate:
            return
        problem = (
            f"{self.id} was planned with {pluralize(self.rows, 'row')}, but {graph.id} was "
            f"built with {pluralize(nodes + relationships, 'row')}"
        )
        if self.plugins:
            raise RejectedError(
                problem,
                hint="declare the number of rows in the plug-in: rows=lambda topology, "
                "arguments: ...; if the schedule lists the rows of all sources, add "
                "sources=lambda topology, ports: topology.endpoints",
            )
        raise StarcastError(problem, hint="this is a defect of starcast: please report it")

    def content_of(self, graph: GraphArtifact) -> Content:
        """Return the counts and checksums of the built artifact's nodes and relationships.

        Raises:
            RejectedError: a plug-in built a different number of rows than it declared.
        """
        content = graph.content
        self._check_size(graph, content.nodes, content.relationships)
        return content


def _size(structure: Structure) -> tuple[int, int]:
    """Return the numbers of nodes and relationships that an artifact adds to Neo4j."""
    if isinstance(structure, Forest):
        return 0, int(structure.sizes.sum()) - structure.trees
    if isinstance(structure, Schedule):
        return 0, len(structure)
    return structure.nodes, structure.links


def _verify(structure: Structure) -> Callable[[Session], None]:
    """Verify a built artifact, and return the function that saves it to PostgreSQL.

    The links of a topology are verified later, when its relationships are collected.
    """
    if isinstance(structure, Forest):
        structure.verify()
        return partial(repository.save_forest, forest=structure)
    if isinstance(structure, Schedule):
        simulation = verify_schedule(structure)
        return partial(repository.save_schedule, schedule=structure, simulation=simulation)
    return partial(repository.save_topology, topology=structure)


def verify_schedule(built: Schedule) -> Simulation:
    """Simulate a schedule, check that it is complete and valid, and return the simulation.

    Raises:
        RejectedError: a row of the schedule violates a rule, or units remain undelivered.
    """
    simulation = simulate(built)
    hint = "fix the schedule; only schedules verified by simulation are stored"
    if simulation.violation is not None:
        raise RejectedError(f"{built.id} violates a rule: {simulation.violation}", hint=hint)
    if not simulation.complete:
        label, unit = simulation.undelivered[0]
        raise RejectedError(
            f"{built.id} leaves {pluralize(simulation.missing, 'unit')} undelivered: {label} never "
            f"receives unit {unit}",
            hint=hint,
        )
    return simulation


def topology_artifact(topology: Topology) -> Artifact:
    """Return the artifact of a topology; its rows are the nodes and the undirected links."""
    plugins = describe_used(topology)
    return Artifact("topology", topology.spec, *_size(topology), plugins, lambda: topology)


def forest_artifact(trees: Forest, recorded: Provenance | None = None) -> Artifact:
    """Return the artifact of a forest; its rows are the edges of all trees.

    Args:
        trees: the forest.
        recorded: the plug-ins that PostgreSQL records for a stored forest; by default, the loaded
            plug-ins that build the forest.
    """
    if recorded is None:
        entry = ("construction", trees.construction)
        recorded = describe_used(trees.topology, entry, trees.arguments)
    return Artifact("forest", trees.id, *_size(trees), recorded, lambda: trees)


def planned_forest(
    topology: Topology, construction: str, arguments: Mapping[str, int | str], root: int
) -> Artifact:
    """Return the artifact of a forest that is not built yet.

    Raises:
        InputError: the construction is not defined on the topology, or an argument is invalid.
    """
    entry = CONSTRUCTIONS.find(construction, topology)
    arguments = entry.spec_arguments(topology, arguments)
    return Artifact(
        "forest",
        f"{topology.spec}:{format_spec(construction, arguments)}:{topology.label(root)}",
        0,
        count_edges(topology, construction, **arguments),
        describe_used(topology, ("construction", construction), arguments),
        partial(forest, topology, construction, root, **arguments),
    )


def schedule_artifact(schedule: ScheduleParameters) -> Artifact:
    """Return the artifact of a schedule; a symmetric schedule has the rows of a single source."""
    algorithm = schedule.algorithm
    entry = (f"{algorithm.collective} algorithm", algorithm.name)
    plugins = describe_used(schedule.topology, entry, schedule.arguments)
    return Artifact("schedule", schedule.id, 0, schedule.count_rows(), plugins, schedule.build)


@contextmanager
def _building_again(artifact: Artifact) -> Iterator[None]:
    """In a RejectedError, name the stored artifact and, if a plug-in built it, how to drop it."""
    try:
        yield
    except RejectedError as error:
        raise RejectedError(
            f"the stored {artifact.kind} {artifact.id} is no longer valid: {error.message}",
            hint="load the version of the plug-in that built it, or drop it: "
            f"{artifact.drop_command}"
            if artifact.plugins
            else error.hint,
        ) from error


def artifact_from_id(session: Session, kind: str, artifact_id: str) -> Artifact:
    """Return the artifact with the given kind and id.

    A forest that PostgreSQL stores is loaded; any other artifact is derived from its id.

    Raises:
        PluginMissingError: a plug-in that the artifact needs is not loaded.
        RejectedError: a changed plug-in no longer builds the artifact, or builds a topology that
            the stored forest does not fit.
        InputError: the id is not the id of an artifact of this kind.
    """
    recorded = recorded_plugins(session, kind, artifact_id)
    try:
        if kind == "forest" and session.get(models.Forest, artifact_id) is not None:
            stored = Artifact(kind, artifact_id, plugins=recorded)
            parse_topology(stored.spec)  # an error here must not get the forest's hint
            with _building_again(stored):
                return forest_artifact(repository.load_forest(session, artifact_id), recorded)
        artifact = _FROM_ID[kind](artifact_id)
    except (InputError, NotFoundError) as error:
        artifact = None
        # If a plug-in is missing, the error names the plug-in instead of the id.
        require_plugins(f"{kind} {artifact_id}", recorded)
        if recorded:
            with _building_again(Artifact(kind, artifact_id, plugins=recorded)):
                raise RejectedError(error.message) from None
    if artifact is None or artifact.id != artifact_id:
        raise InputError(
            f"'{artifact_id}' is not the id of a {kind} in this version of starcast",
            hint="check the id, or use the version of starcast that stored the artifact",
        )
    return artifact


_FROM_ID: Mapping[str, Callable[[str], Artifact]] = {
    "topology": lambda spec: topology_artifact(parse_topology(spec)),
    "forest": lambda forest_id: forest_artifact(forest_from_id(forest_id)),
    "schedule": lambda schedule_id: schedule_artifact(parse_schedule_id(schedule_id)),
}


def recorded_plugins(session: Session, kind: str, artifact_id: str) -> Provenance:
    """Return the plug-ins that PostgreSQL records for an artifact; {} for an unknown artifact."""
    row = session.get(models.Materialization, (kind, artifact_id))
    return {} if row is None else row.plugins


def recorded_artifact(row: models.Materialization | Row[Any]) -> Artifact:
    """Convert a row of ``materialization`` to an artifact that has sizes but cannot be built."""
    return Artifact(row.kind, row.id, row.expected_nodes, row.expected_relationships, row.plugins)


def recorded_artifacts(session: Session) -> list[Artifact]:
    """Return all complete artifacts in build order, with the sizes that PostgreSQL records.

    These artifacts cannot be built; `stored_artifacts` returns artifacts that can be built.
    """
    rows = session.scalars(select(models.Materialization).filter_by(state=LoadState.COMPLETE.value))
    return sorted(map(recorded_artifact, rows), key=lambda artifact: artifact.build_order)


def stored_artifacts(session: Session, without: Collection[Artifact] = ()) -> list[Artifact]:
    """Return all complete artifacts except those in ``without``, in build order.

    Unlike the artifacts from `recorded_artifacts`, these artifacts can be built.
    """
    return [
        artifact_from_id(session, artifact.kind, artifact.id)
        for artifact in recorded_artifacts(session)
        if artifact not in without
    ]
