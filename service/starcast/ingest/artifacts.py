"""Artifacts that can be stored: topologies, forests and schedules.

An artifact knows its size before it is built, and is verified when it is built. Its id contains
everything needed to build it again: ``S5``, ``S5:multiple:12345``,
``S5:broadcast:multiple:all:segments=4:12345``.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from sqlalchemy.orm import Session

from starcast.collectives import Schedule
from starcast.collectives.algorithm import Algorithm
from starcast.collectives.ids import ScheduleParameters, parse_schedule_id
from starcast.database import artifact_rows, models
from starcast.errors import InputError, NotFoundError, RejectedError, StarcastError
from starcast.graph.artifact_nodes import ArtifactNode, forest_node, schedule_node, topology_node
from starcast.graph.rows import (
    Content,
    Rows,
    join_blocks,
    link_blocks,
    links_at,
    rows_content,
    send_blocks,
    sends_at,
    topology_content,
    tree_blocks,
    tree_edges_at,
)
from starcast.ingest.stores import Reference, complete_rows
from starcast.plugins import Provenance, describe_used, find_missing
from starcast.simulator import Simulation, simulate
from starcast.topologies import Topology
from starcast.topologies import topology as parse_topology
from starcast.trees import Forest
from starcast.trees.catalogue import forest_from_id


@dataclass(frozen=True)
class BuiltArtifact:
    """An artifact that was built and verified.

    Attributes:
        node: its node in the graph.
        topology: its topology.
        blocks: returns a new iterator over its relationships.
        content: its counts and checksums in the graph.
        save: saves it to the relational store.
    """

    node: ArtifactNode
    topology: Topology
    blocks: Callable[[], Iterator[Rows]]
    content: Content
    save: Callable[[Session], None]

    @property
    def rows(self) -> Rows:
        """All its relationships, sorted by start node, as writing over Bolt needs them."""
        return join_blocks(self.blocks(), self.node.relationship, self.node.id, self.topology)


@dataclass(frozen=True)
class ArtifactSample:
    """An artifact's node, and its relationships at some nodes of the topology. Nothing is verified.

    Attributes:
        node: its node in the graph.
        rows: its relationships that begin or end at these nodes.
    """

    node: ArtifactNode
    rows: Rows


class PluginMissingError(InputError):
    """An artifact cannot be built, because a plug-in that it needs is not loaded."""


class Artifact(Protocol):
    """A topology, forest or schedule that can be stored."""

    @property
    def plugins(self) -> Provenance:
        """The provenance of the plug-ins that it was built by."""

    @property
    def kind(self) -> str:
        """``topology``, ``forest`` or ``schedule``."""

    @property
    def id(self) -> str:
        """Its id in both stores."""

    @property
    def topology(self) -> Topology:
        """Its topology."""

    @property
    def nodes(self) -> int:
        """Number of nodes that it adds to the graph."""

    @property
    def relationships(self) -> int:
        """Number of relationships that it adds to the graph."""

    def build(self) -> BuiltArtifact:
        """Build and verify it.

        Raises:
            RejectedError: the verification failed.
        """

    def sample(self, ranks: NDArray[np.int64]) -> ArtifactSample:
        """Build its node, and its relationships at the nodes with these ranks."""


@dataclass(frozen=True)
class TopologyArtifact:
    """The nodes and links of a topology."""

    topology: Topology
    kind = "topology"

    @property
    def plugins(self) -> Provenance:
        """The provenance of the plug-in of its family."""
        return describe_used(self.topology)

    @property
    def id(self) -> str:
        """The topology's spec."""
        return self.topology.spec

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        return self.topology.nodes

    @property
    def relationships(self) -> int:
        """Number of undirected links."""
        return self.topology.links

    def build(self) -> BuiltArtifact:
        """Collect the links, and verify that each can be crossed back; see `Artifact.build`."""
        topology = self.topology
        blocks = partial(link_blocks, topology)
        content = topology_content(topology, blocks())
        save = partial(artifact_rows.save_topology, topology=topology)
        return BuiltArtifact(topology_node(topology), topology, blocks, content, save)

    def sample(self, ranks: NDArray[np.int64]) -> ArtifactSample:
        """See `Artifact.sample`."""
        return ArtifactSample(topology_node(self.topology), links_at(self.topology, ranks))


@dataclass(frozen=True)
class ForestArtifact:
    """The edges of a forest's trees.

    Attributes:
        forest: the forest.
        recorded: the provenance of a stored forest, whose trees are not built again.
    """

    forest: Forest
    recorded: Provenance | None = None
    kind = "forest"
    nodes = 0

    @property
    def plugins(self) -> Provenance:
        """The provenance of the plug-ins that built the trees."""
        if self.recorded is not None:
            return self.recorded
        entry = ("construction", self.forest.construction)
        return describe_used(self.topology, entry, self.forest.arguments)

    @property
    def id(self) -> str:
        """The forest's id."""
        return self.forest.id

    @property
    def topology(self) -> Topology:
        """The forest's topology."""
        return self.forest.topology

    @property
    def relationships(self) -> int:
        """Number of tree edges: one for each node of each tree except the roots."""
        return int(self.forest.sizes.sum()) - self.forest.trees

    def build(self) -> BuiltArtifact:
        """Verify the forest and collect its edges; see `Artifact.build`."""
        self.forest.verify()
        blocks = partial(tree_blocks, self.forest)
        content = rows_content(blocks())
        save = partial(artifact_rows.save_forest, forest=self.forest)
        return BuiltArtifact(forest_node(self.forest), self.topology, blocks, content, save)

    def sample(self, ranks: NDArray[np.int64]) -> ArtifactSample:
        """See `Artifact.sample`."""
        return ArtifactSample(forest_node(self.forest), tree_edges_at(self.forest, ranks))


@dataclass(frozen=True)
class ScheduleArtifact:
    """The rows of a schedule; of a symmetric schedule, those of one source."""

    algorithm: Algorithm
    topology: Topology
    root: int
    ports: str
    arguments: Mapping[str, int | str]
    kind = "schedule"
    nodes = 0

    @property
    def plugins(self) -> Provenance:
        """The provenance of the plug-ins of its topology, algorithm and arguments."""
        entry = (f"{self.algorithm.collective} algorithm", self.algorithm.name)
        return describe_used(self.topology, entry, self.arguments)

    @property
    def id(self) -> str:
        """The schedule's id, which is known before it is built."""
        return self.algorithm.id(self.topology, self.ports, self.arguments, self.root)

    @cached_property
    def relationships(self) -> int:
        """Number of rows, computed without building the schedule."""
        return self.algorithm.count(self.topology, self.ports, self.arguments)

    def build(self) -> BuiltArtifact:
        """Build and simulate the schedule; see `Artifact.build`."""
        built = self._schedule()
        simulation = verify_schedule(built)
        if (built.id, len(built)) != (self.id, self.relationships):
            raise StarcastError(
                f"the schedule {self.id} of {self.relationships} rows was planned, but {built.id} "
                f"of {len(built)} rows was built",
                hint="this is a defect of starcast: please report it",
            )
        blocks = partial(send_blocks, built)
        content = rows_content(blocks())
        save = partial(artifact_rows.save_schedule, schedule=built, simulation=simulation)
        return BuiltArtifact(schedule_node(built), self.topology, blocks, content, save)

    def sample(self, ranks: NDArray[np.int64]) -> ArtifactSample:
        """See `Artifact.sample`."""
        built = self._schedule()
        return ArtifactSample(schedule_node(built), sends_at(built, ranks))

    def _schedule(self) -> Schedule:
        return ScheduleParameters(
            self.algorithm, self.topology, self.root, self.ports, self.arguments
        ).build()


def verify_schedule(built: Schedule) -> Simulation:
    """Return the simulation of a schedule, which must be complete and without violations.

    Raises:
        RejectedError: it violates its port model, or leaves units undelivered.
    """
    simulation = simulate(built)
    hint = "only verified schedules are stored"
    if simulation.violation is not None:
        raise RejectedError(f"{built.id} violates a rule: {simulation.violation}", hint=hint)
    if not simulation.complete:
        label, unit = simulation.undelivered[0]
        raise RejectedError(
            f"{built.id} leaves {simulation.missing} units undelivered: {label} never gets unit "
            f"{unit}",
            hint=hint,
        )
    return simulation


def artifact_from_id(session: Session, kind: str, artifact_id: str) -> Artifact:
    """Return the artifact with an id.

    A forest that PostgreSQL stores is loaded from there; everything else follows from the id.

    Raises:
        PluginMissingError: a plug-in that it needs is not loaded.
        InputError: the id is not one of this kind.
    """
    recorded = recorded_plugins(session, kind, artifact_id)
    try:
        if kind == "forest" and session.get(models.Forest, artifact_id) is not None:
            return ForestArtifact(artifact_rows.load_forest(session, artifact_id), recorded)
        artifact = plan_from_id(kind, artifact_id)
    except (InputError, NotFoundError):
        artifact = None
        require_plugins(f"{kind} {artifact_id}", recorded)
    if artifact is None or artifact.id != artifact_id:
        raise InputError(
            f"'{artifact_id}' is not the id of a {kind}",
            hint="another version of starcast may have stored it",
        )
    return artifact


def plan_from_id(kind: str, artifact_id: str) -> Artifact:
    """Return the artifact that an id describes, without a store.

    Raises:
        InputError: the id has another form, or names something that does not exist.
    """
    return _FROM_ID[kind](artifact_id)


def recorded_plugins(session: Session, kind: str, artifact_id: str) -> Provenance:
    """Return the provenance of the plug-ins by which an artifact was stored."""
    row = session.get(models.Materialization, (kind, artifact_id))
    return {} if row is None else row.plugins


def require_plugins(noun: str, recorded: Provenance) -> None:
    """Check that the plug-ins by which something was stored are loaded.

    Raises:
        PluginMissingError: one is not.
    """
    if missing := find_missing(recorded):
        raise PluginMissingError(
            f"{noun} was built by a plug-in that is not loaded: {', '.join(missing)}",
            hint="name its file with --plugin or STARCAST_PLUGINS",
        )


def stored_artifacts(session: Session, without: Collection[Reference] = ()) -> list[Artifact]:
    """Return all complete artifacts except for some, in the order of building."""
    references = [Reference(row.kind, row.id) for row in complete_rows(session)]
    return [
        artifact_from_id(session, reference.kind, reference.id)
        for reference in references
        if reference not in without
    ]


def _topology(spec: str) -> Artifact:
    return TopologyArtifact(parse_topology(spec))


def _forest(forest_id: str) -> Artifact:
    return ForestArtifact(forest_from_id(forest_id))


def _schedule(schedule_id: str) -> Artifact:
    return ScheduleArtifact(*parse_schedule_id(schedule_id))


_FROM_ID: Mapping[str, Callable[[str], Artifact]] = {
    "topology": _topology,
    "forest": _forest,
    "schedule": _schedule,
}
