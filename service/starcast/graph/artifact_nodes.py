"""The nodes that represent artifacts: (:Topology), (:Forest) and (:Schedule)."""

from dataclasses import dataclass
from typing import Any

from starcast.collectives import Schedule
from starcast.graph.schema import (
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

#: Labels by kind of artifact, in the order in which artifacts are built.
LABEL_OF: dict[str, Label] = {"topology": TOPOLOGY, "forest": FOREST, "schedule": SCHEDULE}
#: Types of the relationships that an artifact of each kind consists of.
RELATIONSHIP_OF: dict[str, Relationship] = {"topology": LINK, "forest": TREE_EDGE, "schedule": SEND}


@dataclass(frozen=True)
class ArtifactNode:
    """The node of an artifact.

    Attributes:
        label: its label.
        properties: all declared properties except the state.
        parent: the artifact that it depends on, as relationship type, label and id; None if it
            depends on none.
    """

    label: Label
    properties: dict[str, Any]
    parent: tuple[Relationship, Label, str] | None = None

    def __post_init__(self) -> None:
        names = (*self.properties, "state")
        if names != self.label.names:
            raise ValueError(f"{self.label.name} has {self.label.names}, not {names}")

    @property
    def kind(self) -> str:
        """``topology``, ``forest`` or ``schedule``."""
        return next(kind for kind, label in LABEL_OF.items() if label is self.label)

    @property
    def relationship(self) -> Relationship:
        """Type of the relationships that the artifact consists of."""
        return RELATIONSHIP_OF[self.kind]

    @property
    def id_property(self) -> str:
        """Name of the property that identifies the artifact."""
        return id_property(self.label)

    @property
    def id(self) -> str:
        """The artifact's id."""
        return str(self.properties[self.id_property])


def id_property(label: Label) -> str:
    """Return the name of the property that identifies the nodes of a label."""
    return label.unique[0][0]


def topology_node(topology: Topology) -> ArtifactNode:
    """Return the node of a topology."""
    names = ("family", "n", "k", "nodes", "links", "degree", "diameter")
    properties = {name: getattr(topology, name) for name in names}
    properties["reverse_ports"] = topology.reverse_ports()[: max(topology.ports) + 1].tolist()
    return ArtifactNode(TOPOLOGY, {"spec": topology.spec, **properties})


def forest_node(forest: Forest) -> ArtifactNode:
    """Return the node of a forest; its parent is the topology."""
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
    return ArtifactNode(FOREST, properties, (ON, TOPOLOGY, forest.topology.spec))


def schedule_node(schedule: Schedule) -> ArtifactNode:
    """Return the node of a schedule; its parent is the forest that it uses, if any."""
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
    parent = None if schedule.forest_id is None else (USES, FOREST, schedule.forest_id)
    return ArtifactNode(SCHEDULE, properties, parent)
