"""Artifacts as the graph stores them: a :Topology, :Forest or :Schedule node and relationships."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from starcast.collectives import Schedule
from starcast.stores.graph.rows import (
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
from starcast.stores.graph.schema import (
    FOREST,
    LINK,
    ON,
    SCHEDULE,
    SEND,
    TOPOLOGY,
    TREE_EDGE,
    USES,
    Label,
    Relationship,
)
from starcast.support.spec_syntax import format_arguments
from starcast.topologies import Topology
from starcast.trees import Forest

#: Label of an artifact's node by kind of artifact, in the order in which artifacts are built.
LABEL_OF: dict[str, Label] = {"topology": TOPOLOGY, "forest": FOREST, "schedule": SCHEDULE}
#: Type of the relationships that make up an artifact, by kind of artifact.
RELATIONSHIP_OF: dict[str, Relationship] = {"topology": LINK, "forest": TREE_EDGE, "schedule": SEND}


@dataclass(frozen=True, eq=False)
class GraphArtifact:
    """An artifact as the graph stores it.

    Attributes:
        label: label of the artifact's node.
        properties: all declared properties of that node except the state.
        topology: the artifact's topology. If the artifact is itself a topology, the graph also has
            its nodes.
        blocks: returns a new iterator over the relationships, in blocks.
        rows_at: returns the relationships that begin or end at nodes with the given ranks.
        parent: the artifact that it depends on, as relationship type, label and id; None if it
            depends on none.
    """

    label: Label
    properties: dict[str, Any]
    topology: Topology
    blocks: Callable[[], Iterable[Rows]]
    rows_at: Callable[[NDArray[np.int64]], Rows]
    parent: tuple[Relationship, Label, str] | None = None

    def __post_init__(self) -> None:
        # Offline files hold the values in the declared order, so a missing or swapped property
        # must fail here.
        names = (*self.properties, "state")
        if names != self.label.names:
            raise ValueError(
                f"{self.label.name} needs the properties {self.label.names}; given: {names}"
            )

    @property
    def kind(self) -> str:
        """The kind of artifact: ``topology``, ``forest`` or ``schedule``."""
        return next(kind for kind, label in LABEL_OF.items() if label is self.label)

    @property
    def relationship(self) -> Relationship:
        """The type of the relationships that make up the artifact."""
        return RELATIONSHIP_OF[self.kind]

    @property
    def id(self) -> str:
        """The artifact's id."""
        return str(self.properties[id_property(self.label)])

    @property
    def parents(self) -> list[tuple[str, str]]:
        """The parent, if any, as a list of (relationship type, id), like `StoredNode.parents`."""
        return [] if self.parent is None else [(self.parent[0].name, self.parent[2])]

    @property
    def rows(self) -> Rows:
        """All relationships of the artifact, sorted by start node, as `BoltWriter` requires."""
        return join_blocks(self.blocks(), self.relationship, self.id, self.topology)

    @cached_property
    def content(self) -> Content:
        """Counts and checksums of the artifact, for which all its relationships are built."""
        if self.label is TOPOLOGY:
            return topology_content(self.topology, self.blocks())
        return rows_content(self.blocks())

    def at(self, ranks: NDArray[np.int64]) -> "GraphArtifact":
        """Return a small copy of the artifact, with only the relationships at these nodes."""
        rows = self.rows_at(ranks)
        return replace(self, blocks=lambda: [rows], rows_at=lambda _: rows)


def id_property(label: Label) -> str:
    """Return the name of the property that identifies the nodes of a label."""
    return label.unique[0][0]


def graph_artifact(structure: Topology | Forest | Schedule) -> GraphArtifact:
    """Convert a topology, a forest or a schedule to the form that the graph stores."""
    if isinstance(structure, Forest):
        return _forest(structure)
    return _schedule(structure) if isinstance(structure, Schedule) else _topology(structure)


def _topology(topology: Topology) -> GraphArtifact:
    names = ("family", "n", "k", "nodes", "links", "degree", "diameter")
    # Cypher indexes this list by port, so it also has an element 0, although no port has the number
    # 0.
    properties = {name: getattr(topology, name) for name in names}
    properties["reverse_ports"] = topology.reverse_ports()[: max(topology.ports) + 1].tolist()
    return GraphArtifact(
        TOPOLOGY,
        {"spec": topology.spec, **properties},
        topology,
        partial(link_blocks, topology),
        partial(links_at, topology),
    )


def _forest(forest: Forest) -> GraphArtifact:
    properties = {
        "id": forest.id,
        "topology": forest.topology.spec,
        "construction": forest.construction,
        "arguments": format_arguments(forest.arguments),
        "root": forest.root,
        "trees": forest.trees,
        "height": forest.height,
        "congestion": forest.congestion,
    }
    return GraphArtifact(
        FOREST,
        properties,
        forest.topology,
        partial(tree_blocks, forest),
        partial(tree_edges_at, forest),
        (ON, TOPOLOGY, forest.topology.spec),
    )


def _schedule(schedule: Schedule) -> GraphArtifact:
    properties = {
        "id": schedule.id,
        "topology": schedule.topology.spec,
        "collective": schedule.collective,
        "algorithm": schedule.algorithm,
        "ports": schedule.ports,
        "arguments": format_arguments(schedule.arguments),
        "root": schedule.root,
        "units": schedule.units,
        "packets": schedule.packets,
        "steps": schedule.steps,
        "symmetric": schedule.symmetric,
    }
    return GraphArtifact(
        SCHEDULE,
        properties,
        schedule.topology,
        partial(send_blocks, schedule),
        partial(sends_at, schedule),
        None if schedule.forest_id is None else (USES, FOREST, schedule.forest_id),
    )
