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
from starcast.stores.graph.schema import NODE, TOPOLOGY, Element, GraphState, Label, Relationship
from starcast.stores.graph.writer import Advance, set_state
from starcast.topologies import Topology


def delete_artifact(
    graph: Graph,
    kind: str,
    artifact_id: str,
    topology: Topology,
    batch: int,
    advance: Advance,
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
        advance: called after each transaction.
        relationships: the number of tree edges or sends that the undamaged artifact has.
    """
    label = LABEL_OF[kind]
    # From here on queries ignore the artifact, even if the deletion is interrupted.
    set_state(graph, label, artifact_id, GraphState.LOADING)
    element: Element
    if kind == "topology":
        element, expected = NODE, topology.nodes
        deleted = _delete_nodes(graph, topology, batch, advance)
    else:
        element, expected = RELATIONSHIP_OF[kind], relationships
        deleted = _delete_by_index(graph, element, artifact_id, batch, advance)
    if deleted < expected:
        scan = _delete(element, f"n.{element.artifact_property} = $artifact")
        _repeat(graph, scan, {"artifact": artifact_id}, batch, advance)
    # The artifact's node is deleted last, so that an interrupted deletion can be repeated.
    graph.write(
        f"MATCH (o:{label.name} {{{label.key}: $id}}) DETACH DELETE o",
        {"id": artifact_id},
    )


def _delete_nodes(graph: Graph, topology: Topology, batch: int, advance: Advance) -> int:
    """Delete the nodes of a topology with their links; return the number of nodes."""
    cypher = _delete(NODE, "$low <= n.key < $high")
    deleted = 0
    # A page has so many nodes that together with their links they make about one batch.
    for page in pages(topology, max(1, batch // (topology.degree + 1))):
        count = graph.write(cypher, {**page, "batch": batch})[0]["deleted"]
        # Deleting a node also deletes its links: on average links / nodes, as links have two ends.
        advance(count + count * topology.links // topology.nodes)
        deleted += count
    return deleted


def _delete_by_index(
    graph: Graph, relationship: Relationship, artifact_id: str, batch: int, advance: Advance
) -> int:
    """Delete the relationships of an artifact that are in the index; return their number."""
    [index] = relationship.indexes
    # Without the index, every batch would scan all relationships.
    graph.write(index.statement)
    # A new index is filled in the background, and statements do not use it until it is complete.
    graph.read("CALL db.awaitIndexes(300)")
    artifact, second = index.properties
    # Neo4j uses the index only if there is a condition on its second property as well.
    cypher = _delete(relationship, f"n.{artifact} = $artifact AND n.{second} >= 0")
    return _repeat(graph, cypher, {"artifact": artifact_id}, batch, advance)


def clear(graph: Graph, batch: int) -> int:
    """Delete all starcast data; return the number of deleted nodes and relationships.

    Topologies of plug-ins that are not loaded are deleted too, since no topology has to be built.
    Data of other programs are kept, except for relationships at deleted nodes.
    """
    deleted = delete_orphans(graph, (), batch)
    delete_outdated_nodes(graph)
    for label in LABEL_OF.values():
        statement = _delete(label, f"n.{label.key} IS NOT NULL AND n.state IS NOT NULL")
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
        condition = (
            f"startNode(n):{relationship.start} AND endNode(n):{relationship.end} "
            f"AND NOT coalesce(n.{relationship.artifact_property} IN $ids, false)"
        )
        parameters = {"ids": [name for of_kind, name in known if of_kind == kind]}
        deleted += _repeat(graph, _delete(relationship, condition), parameters, batch)
    condition = "n.key IS NOT NULL AND n.topology IS NOT NULL AND NOT n.topology IN $ids"
    specs = [name for of_kind, name in known if of_kind == "topology"]
    return deleted + _repeat(graph, _delete(NODE, condition), {"ids": specs}, batch)


def _delete(element: Element, condition: str) -> str:
    """Return Cypher that deletes up to ``$batch`` elements ``n`` with a condition."""
    detach = "DETACH " if isinstance(element, Label) else ""
    return (
        f"MATCH {element.pattern} WHERE {condition} WITH n LIMIT $batch {detach}DELETE n "
        "RETURN count(*) AS deleted"
    )


def _repeat(
    graph: Graph,
    cypher: str,
    parameters: Mapping[str, Any],
    batch: int,
    advance: Advance = lambda _: None,
) -> int:
    """Repeat a statement until it deletes less than a full batch, and return the total deleted."""
    total = 0
    deleted = batch
    while deleted == batch:
        deleted = graph.write(cypher, {**parameters, "batch": batch})[0]["deleted"]
        total += deleted
        advance(deleted)
    return total


def delete_outdated_nodes(graph: Graph) -> None:
    """Delete topologies written with schema 1, which have a ``name`` instead of a ``spec``.

    Nodes of other programs are kept, because they lack the properties ``family`` and ``n``.
    """
    graph.write(
        f"MATCH (t:{TOPOLOGY.name}) WHERE t.spec IS NULL AND t.name IS NOT NULL "
        "AND t.family IS NOT NULL AND t.n IS NOT NULL DETACH DELETE t"
    )
