"""Artifacts as the graph stores them: a :Topology, :Forest or :Schedule node and relationships."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
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
    node_checksum,
    rows_content,
    send_blocks,
    sends_at,
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
from starcast.support.vocabulary import format_arguments
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

    @property
    def kind(self) -> str:
        """The kind of artifact: ``topology``, ``forest`` or ``schedule``."""
        return self.label.name.lower()

    @property
    def id(self) -> str:
        """The artifact's id."""
        return str(self.properties[self.label.key])

    @property
    def rows(self) -> Rows:
        """All relationships of the artifact, sorted by start node, as `BoltWriter` requires."""
        return join_blocks(self.blocks(), RELATIONSHIP_OF[self.kind], self.id, self.topology)

    @cached_property
    def content(self) -> Content:
        """Counts and checksums of the artifact, for which all its relationships are built."""
        if self.label is not TOPOLOGY:
            return rows_content(self.blocks())
        # numpy releases the GIL, so two threads use two processors.
        with ThreadPoolExecutor(1) as pool:
            nodes = pool.submit(node_checksum, self.topology)
            links = rows_content(self.blocks())
            return links + Content(self.topology.nodes, 0, (nodes.result(), 0))

    def at(self, ranks: NDArray[np.int64]) -> "GraphArtifact":
        """Return a small copy of the artifact, with only the relationships at these nodes."""
        rows = self.rows_at(ranks)
        return replace(self, blocks=lambda: [rows], rows_at=lambda _: rows)


def graph_artifact(structure: Topology | Forest | Schedule) -> GraphArtifact:
    """Convert a topology, a forest or a schedule to the form that the graph stores."""
    if isinstance(structure, Topology):
        # Cypher indexes this list by port, so it also has an element 0, although no port has the
        # number 0.
        reverse_ports = structure.reverse_ports()[: max(structure.ports) + 1].tolist()
        return GraphArtifact(
            TOPOLOGY,
            _properties(TOPOLOGY, structure, reverse_ports=reverse_ports),
            structure,
            partial(link_blocks, structure),
            partial(links_at, structure),
        )
    spec = structure.topology.spec
    given = {"topology": spec, "arguments": format_arguments(structure.arguments)}
    if isinstance(structure, Forest):
        return GraphArtifact(
            FOREST,
            _properties(FOREST, structure, **given),
            structure.topology,
            partial(tree_blocks, structure),
            partial(tree_edges_at, structure),
            (ON, TOPOLOGY, spec),
        )
    forest_id = structure.forest_id
    return GraphArtifact(
        SCHEDULE,
        _properties(SCHEDULE, structure, **given),
        structure.topology,
        partial(send_blocks, structure),
        partial(sends_at, structure),
        None if forest_id is None else (USES, FOREST, forest_id),
    )


def _properties(label: Label, structure: object, **given: Any) -> dict[str, Any]:
    """Return a label's properties except the state: those given, or attributes of that name."""
    names = [name for name in label.names if name != "state"]
    return {name: given[name] if name in given else getattr(structure, name) for name in names}
