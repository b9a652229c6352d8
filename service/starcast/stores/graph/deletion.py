"""Deletion of artifacts, and of the remains of unknown artifacts, in many small transactions.

Tree edges and sends are found by the index on their artifact, and nodes by their keys. So every
transaction starts where the previous one ended. This may miss elements that were edited manually.
So if fewer elements were found than expected, all relationships of the type, or all nodes, are
scanned once. The artifact's own node is deleted last.
"""

from collections.abc import Collection, Mapping
from typing import Any

from starcast.stores.graph.artifacts import LABEL_OF, RELATIONSHIP_OF
from starcast.stores.graph.connection import Graph
from starcast.stores.graph.reader import pages
from starcast.stores.graph.schema import NODE, TOPOLOGY, GraphState, Relationship
from starcast.stores.graph.writer import set_state
from starcast.support.progress import Task
from starcast.topologies import Topology


def delete_artifact(
    graph: Graph,
    kind: str,
    artifact_id: str,
    topology: Topology,
    batch: int,
    task: Task,
    relationships: int = 0,
) -> None:
    """Delete an artifact from the graph, if it exists.

    After an interruption the artifact is in state ``loading`` and can be deleted again.

    Args:
        graph: the database.
        kind: topology, forest or schedule.
        artifact_id: the artifact's id.
        topology: the artifact's topology.
        batch: maximum number of nodes or relationships per transaction.
        task: the progress task, advanced by the number of deleted nodes and relationships.
        relationships: the number of tree edges or sends that the undamaged artifact has.
    """
    label = LABEL_OF[kind]
    # From here on queries ignore the artifact, even if the deletion is interrupted.
    set_state(graph, label, artifact_id, GraphState.LOADING)
    if kind == "topology":
        _delete_nodes(graph, topology, batch, task)
    else:
        _delete_relationships(graph, kind, artifact_id, batch, task, relationships)
    # The artifact's node is deleted last, so that an interrupted deletion can be repeated.
    graph.write(
        f"MATCH (o:{label.name} {{{label.key}: $id}}) DETACH DELETE o",
        {"id": artifact_id},
    )


def _delete_nodes(graph: Graph, topology: Topology, batch: int, task: Task) -> None:
    """Delete the nodes of a topology with their links."""
    deleted = 0
    # A page has so many nodes that together with their links they make about one batch.
    for page in pages(topology, max(1, batch // (topology.degree + 1))):
        count = graph.write(_DELETE_PAGE, page)[0]["deleted"]
        # Deleting a node also deletes its links: on average links / nodes, as links have two ends.
        task.advance(count + count * topology.links // topology.nodes)
        deleted += count
    if deleted < topology.nodes:
        _repeat(graph, _DELETE_STRAYS, {"artifact": topology.spec}, batch, task)


def _delete_relationships(
    graph: Graph, kind: str, artifact_id: str, batch: int, task: Task, expected: int
) -> None:
    relationship = RELATIONSHIP_OF[kind]
    _create_index(graph, relationship)
    parameters = {"artifact": artifact_id}
    if _repeat(graph, _delete_by_index(relationship), parameters, batch, task) < expected:
        _repeat(graph, _delete_by_scan(relationship), parameters, batch, task)


def clear(graph: Graph, batch: int) -> int:
    """Delete all starcast data; return the number of deleted nodes and relationships.

    Topologies of plug-ins that are not loaded are deleted too, since no topology has to be built.
    Data of other programs are kept, except for relationships at deleted nodes.
    """
    deleted = delete_orphans(graph, (), batch)
    delete_outdated_nodes(graph)
    for label in LABEL_OF.values():
        statement = (
            f"MATCH (n:{label.name}) WHERE n.{label.key} IS NOT NULL"
            f" AND n.state IS NOT NULL {_DETACH_DELETE}"
        )
        deleted += _repeat(graph, statement, {}, batch)
    return deleted


def delete_orphans(graph: Graph, known: Collection[tuple[str, str]], batch: int) -> int:
    """Delete nodes and relationships whose properties name an artifact that does not exist.

    They are left over from manual edits. Only elements with starcast's properties are deleted: a
    node that has only the label may belong to another program.

    Args:
        graph: the database.
        known: the artifacts that exist, by kind and id.
        batch: maximum number of nodes or relationships per transaction.

    Returns:
        The number of deleted nodes and relationships.
    """
    deleted = 0
    for kind, relationship in RELATIONSHIP_OF.items():
        parameters = {"ids": [name for of_kind, name in known if of_kind == kind]}
        deleted += _repeat(graph, _delete_unknown(relationship), parameters, batch)
    specs = [name for of_kind, name in known if of_kind == "topology"]
    return deleted + _repeat(graph, _DELETE_UNKNOWN_NODES, {"ids": specs}, batch)


def _repeat(
    graph: Graph,
    cypher: str,
    parameters: Mapping[str, Any],
    batch: int,
    task: Task | None = None,
) -> int:
    """Repeat a statement until it deletes less than a full batch, and return the total deleted."""
    total = 0
    deleted = batch
    while deleted == batch:
        deleted = graph.write(cypher, {**parameters, "batch": batch})[0]["deleted"]
        total += deleted
        if task is not None:
            task.advance(deleted)
    return total


_DELETE = "WITH r LIMIT $batch DELETE r RETURN count(*) AS deleted"
_DETACH_DELETE = "WITH n LIMIT $batch DETACH DELETE n RETURN count(*) AS deleted"
_DELETE_PAGE = (
    f"MATCH (n:{NODE.name}) WHERE $low <= n.key < $high DETACH DELETE n RETURN count(*) AS deleted"
)
_DELETE_STRAYS = f"MATCH (n:{NODE.name}) WHERE n.topology = $artifact {_DETACH_DELETE}"
_DELETE_UNKNOWN_NODES = (
    f"MATCH (n:{NODE.name}) WHERE n.key IS NOT NULL AND n.topology IS NOT NULL "
    f"AND NOT n.topology IN $ids {_DETACH_DELETE}"
)


def _delete_by_index(relationship: Relationship) -> str:
    # Neo4j uses the index only if there is a condition on its second property as well.
    second = relationship.indexed[0][1]
    return (
        f"MATCH ()-[r:{relationship.name} WHERE r.{relationship.artifact_property} = $artifact "
        f"AND r.{second} >= 0]->() {_DELETE}"
    )


def _delete_by_scan(relationship: Relationship) -> str:
    """Return Cypher that deletes an artifact's relationships, including those not in the index."""
    return (
        f"MATCH ()-[r:{relationship.name}]->() "
        f"WHERE r.{relationship.artifact_property} = $artifact {_DELETE}"
    )


def _delete_unknown(relationship: Relationship) -> str:
    return (
        f"MATCH (:{relationship.start})-[r:{relationship.name}]->(:{relationship.end}) "
        f"WHERE NOT coalesce(r.{relationship.artifact_property} IN $ids, false) {_DELETE}"
    )


def _create_index(graph: Graph, relationship: Relationship) -> None:
    """Create the index if it is missing; without it every batch would scan all relationships."""
    for index in relationship.indexes:
        graph.write(index.statement)
    # A new index is filled in the background, and statements do not use it until it is complete.
    graph.read("CALL db.awaitIndexes(300)")


def delete_outdated_nodes(graph: Graph) -> None:
    """Delete topologies written with schema 1, which have a ``name`` instead of a ``spec``.

    Nodes of other programs are kept, because they lack the properties ``family`` and ``n``.
    """
    graph.write(
        f"MATCH (t:{TOPOLOGY.name}) WHERE t.spec IS NULL AND t.name IS NOT NULL "
        "AND t.family IS NOT NULL AND t.n IS NOT NULL DETACH DELETE t"
    )
