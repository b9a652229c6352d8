"""What can be ingested: a topology, a forest, a schedule. Each knows its size before it is built, and is proved when it is."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Protocol

from sqlalchemy.orm import Session

from starcast.collectives import Schedule, schedule
from starcast.collectives.algorithm import Algorithm
from starcast.database import repository
from starcast.errors import RejectedError, StarcastError
from starcast.graph import artifact_nodes
from starcast.graph.rows import (
    Content,
    Rows,
    joined,
    link_blocks,
    rows_content,
    send_blocks,
    topology_content,
    tree_blocks,
)
from starcast.simulator import Simulation, simulate
from starcast.topologies import Topology
from starcast.trees import Forest


@dataclass(frozen=True)
class Built:
    """A thing that was built and proved.

    Attributes:
        owner: its node.
        topology: where it lies.
        blocks: its relationships; every call begins anew.
        content: how much it adds to the graph.
        save: how the relational store keeps it.
    """

    owner: artifact_nodes.Owner
    topology: Topology
    blocks: Callable[[], Iterator[Rows]]
    content: Content
    save: Callable[[Session], None]

    @property
    def rows(self) -> Rows:
        """All its relationships at once, sorted by start node: for a way in that looks up each start once."""
        return joined(
            self.blocks(), artifact_nodes.kind_of(self.owner), self.owner.key, self.topology
        )


class Thing(Protocol):
    """A thing to ingest. ``nodes`` and ``relationships`` count what it adds to the graph."""

    @property
    def kind(self) -> str:
        """``topology``, ``forest`` or ``schedule``."""

    @property
    def key(self) -> str:
        """Its name in both stores."""

    @property
    def topology(self) -> Topology:
        """Where it lies."""

    @property
    def nodes(self) -> int:
        """Nodes it adds."""

    @property
    def relationships(self) -> int:
        """Relationships it adds."""

    def build(self) -> Built:
        """Build and prove it.

        Raises:
            RejectedError: its checker does not accept it.
        """


@dataclass(frozen=True)
class TopologyThing:
    """Nodes and links."""

    topology: Topology
    kind = "topology"

    @property
    def key(self) -> str:
        """The topology's name."""
        return self.topology.spec

    @property
    def nodes(self) -> int:
        """All nodes."""
        return self.topology.nodes

    @property
    def relationships(self) -> int:
        """Each undirected link once."""
        return self.topology.links

    def build(self) -> Built:
        """See `Thing.build`: every link leads back."""
        topology, blocks = self.topology, partial(link_blocks, self.topology)
        content = topology_content(topology, blocks())
        return Built(
            artifact_nodes.topology_owner(topology),
            topology,
            blocks,
            content,
            lambda s: repository.save_topology(s, topology),
        )


@dataclass(frozen=True)
class ForestThing:
    """The edges of a forest's trees."""

    forest: Forest
    kind = "forest"
    nodes = 0

    @property
    def key(self) -> str:
        """The forest's id."""
        return self.forest.id

    @property
    def topology(self) -> Topology:
        """Where it grows."""
        return self.forest.topology

    @property
    def relationships(self) -> int:
        """Each node of each tree but the roots hangs from one edge."""
        return int(self.forest.sizes.sum()) - self.forest.trees

    def build(self) -> Built:
        """See `Thing.build`: `Forest.verify`."""
        self.forest.verify()
        made, blocks = self.forest, partial(tree_blocks, self.forest)
        content = rows_content(blocks())
        return Built(
            artifact_nodes.forest_owner(made),
            self.topology,
            blocks,
            content,
            lambda s: repository.save_forest(s, made),
        )


@dataclass(frozen=True)
class ScheduleThing:
    """The rows of a schedule; those of one source where it is symmetric."""

    rule: Algorithm
    topology: Topology
    root: int
    ports: str
    arguments: Mapping[str, int | str]
    kind = "schedule"
    nodes = 0

    @property
    def key(self) -> str:
        """The schedule's id, known before it is built."""
        return self.rule.id(self.topology, self.ports, self.arguments, self.root)

    @cached_property
    def relationships(self) -> int:
        """One a row, counted without building the schedule."""
        return self.rule.count(self.topology, self.ports, self.arguments)

    def build(self) -> Built:
        """See `Thing.build`: the simulation is complete and without a violation."""
        rule = self.rule
        made = schedule(
            self.topology,
            rule.collective,
            rule.name,
            ports=self.ports,
            root=self.root,
            **self.arguments,
        )
        simulation = proved(made)
        if (made.id, len(made)) != (self.key, self.relationships):
            raise StarcastError(
                f"the schedule {self.key} of {self.relationships} rows was planned, and {made.id} of {len(made)} was built",
                hint="this is a defect of starcast: please report it",
            )
        blocks = partial(send_blocks, made)
        content = rows_content(blocks())
        return Built(
            artifact_nodes.schedule_owner(made),
            self.topology,
            blocks,
            content,
            lambda s: repository.save_schedule(s, made, simulation),
        )


def proved(made: Schedule) -> Simulation:
    """The simulation of a schedule that keeps its promise.

    Raises:
        RejectedError: it breaks a rule of its port model, or leaves somebody without a unit.
    """
    result = simulate(made)
    if result.violation is not None:
        raise RejectedError(
            f"{made.id} breaks a rule: {result.violation}", hint="only proved schedules are stored"
        )
    if not result.complete:
        label, unit = result.undelivered[0]
        raise RejectedError(
            f"{made.id} leaves {result.missing} units undelivered: {label} never gets unit {unit}",
            hint="only proved schedules are stored",
        )
    return result
