"""Stored artifacts, read back from the graph as arrays."""

from typing import Any

import numpy as np

from starcast.collectives import Schedule
from starcast.collectives.model import REDUCTIONS
from starcast.stores.graph.artifacts import Rows
from starcast.stores.graph.connection import Graph
from starcast.stores.graph.reader import pages
from starcast.stores.graph.schema import (
    FOREST,
    LINK,
    NODE,
    SCHEDULE,
    SEND,
    TREE_EDGE,
    Label,
    Relationship,
)
from starcast.support.vocabulary import parse_arguments
from starcast.topologies import Topology
from starcast.topologies import topology as parse_topology
from starcast.trees import Forest


def read_labels(graph: Graph, topology: Topology) -> list[str]:
    """Return the labels of the stored nodes of a topology, by rank."""
    cypher = (
        f"MATCH (n:{NODE.name}) WHERE $low <= n.key < $high AND n.topology = $topology "
        "RETURN n.label AS label ORDER BY n.rank"
    )
    results = (graph.read(cypher, {**page, "topology": topology.spec}) for page in pages(topology))
    return [row["label"] for rows in results for row in rows]


def read_links(graph: Graph, topology: Topology) -> Rows:
    """Return the stored links of a topology in sorted order."""
    return read_rows(graph, LINK, topology.spec, topology)


def read_rows(
    graph: Graph, relationship: Relationship, artifact_id: str, topology: Topology
) -> Rows:
    """Return the stored relationships of an artifact in sorted order."""
    names = ["a.rank", "b.rank", *(f"r.{name}" for name in relationship.columns)]
    cypher = (
        f"MATCH (a:{NODE.name})-[r:{relationship.name}]->(b) WHERE $low <= a.key < $high "
        f"AND r.{relationship.artifact_property} = $artifact RETURN [{', '.join(names)}] AS row"
    )
    found = []
    for page in pages(topology):
        found += [row["row"] for row in graph.read(cypher, {**page, "artifact": artifact_id})]
    table = np.array(found, dtype=np.int64).reshape(-1, len(names)).T
    return Rows(relationship, artifact_id, topology, table).sorted()


def read_forest(graph: Graph, forest_id: str) -> Forest:
    """Return a stored forest, rebuilt from its tree edges."""
    node = _read_node(graph, FOREST, forest_id)
    topology = parse_topology(node["topology"])
    rows = read_rows(graph, TREE_EDGE, forest_id, topology)
    ports = np.zeros((node["trees"], topology.nodes), dtype=np.uint8)
    ports[rows.columns["tree"], rows.end] = topology.reverse_ports()[rows.columns["port"]]
    return Forest(
        topology,
        ports,
        node["root"],
        construction=node["construction"],
        arguments=parse_arguments(node["arguments"]),
        spanning=len(rows) == node["trees"] * (topology.nodes - 1),
    )


def read_schedule(graph: Graph, schedule_id: str) -> Schedule:
    """Return a stored schedule, its rows sorted by step, sender, port and tree."""
    node = _read_node(graph, SCHEDULE, schedule_id)
    topology = parse_topology(node["topology"])
    rows = read_rows(graph, SEND, schedule_id, topology)
    columns = rows.columns
    order = np.lexsort((columns["tree"], columns["port"], rows.start, columns["step"]))
    return Schedule(
        topology=topology,
        collective=node["collective"],
        algorithm=node["algorithm"],
        ports=node["ports"],
        units=node["units"],
        packets=node["packets"],
        step=columns["step"][order].astype(np.int32),
        sender=rows.start[order].astype(np.int32),
        port=columns["port"][order].astype(np.uint8),
        receiver=rows.end[order].astype(np.int32),
        tree=columns["tree"][order].astype(np.uint8),
        unit=columns["unit"][order].astype(np.int32),
        root=node["root"],
        arguments=parse_arguments(node["arguments"]),
        symmetric=node["symmetric"],
        combine=columns["combine"][order] == 1 if node["collective"] in REDUCTIONS else None,
    )


def _read_node(graph: Graph, label: Label, artifact_id: str) -> dict[str, Any]:
    found = graph.read(
        f"MATCH (o:{label.name} {{{label.key}: $id}}) RETURN properties(o) AS node",
        {"id": artifact_id},
    )
    node: dict[str, Any] = found[0]["node"]
    return node
