"""The nodes that stand for a whole thing: (:Topology), (:Forest), (:Schedule)."""

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
from starcast.topologies import Topology
from starcast.trees import Forest
from starcast.trees.spec_syntax import format_arguments

#: Kinds of things, by the names of the relational store, in the order in which they are built.
LABEL_OF: dict[str, Label] = {"topology": TOPOLOGY, "forest": FOREST, "schedule": SCHEDULE}
RELATIONSHIP_OF: dict[str, Relationship] = {"topology": LINK, "forest": TREE_EDGE, "schedule": SEND}


@dataclass(frozen=True)
class Owner:
    """A thing's node: its label, all its properties but the state, and what it hangs from."""

    label: Label
    properties: dict[str, Any]
    parent: tuple[Relationship, Label, str] | None = None

    def __post_init__(self) -> None:
        if (*self.properties, "state") != self.label.names:
            raise ValueError(
                f"{self.label.name} has {self.label.names}, not {(*self.properties, 'state')}"
            )

    @property
    def key_name(self) -> str:
        """The property that names it."""
        return self.label.unique[0][0]

    @property
    def key(self) -> str:
        """Its name."""
        return str(self.properties[self.key_name])


def kind_of(owner: Owner) -> Relationship:
    """The relationships that a thing consists of."""
    return next(RELATIONSHIP_OF[kind] for kind, label in LABEL_OF.items() if label is owner.label)


def topology_owner(topology: Topology) -> Owner:
    """The node of a topology."""
    names = ("family", "n", "k", "nodes", "links", "degree", "diameter")
    return Owner(
        TOPOLOGY, {"name": topology.spec, **{name: getattr(topology, name) for name in names}}
    )


def forest_owner(forest: Forest) -> Owner:
    """The node of a forest, on its topology."""
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
    return Owner(FOREST, properties, (ON, TOPOLOGY, forest.topology.spec))


def schedule_owner(schedule: Schedule) -> Owner:
    """The node of a schedule, along its forest if it has one."""
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
    return Owner(SCHEDULE, properties, parent)
