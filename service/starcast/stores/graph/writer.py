"""Write artifacts over Bolt into a running Neo4j, and delete them.

Offline imports, which create a new store from files, are in `starcast.stores.graph.bulk_files`.

Artifacts, and the remains of unknown artifacts, are deleted in many small transactions. Tree edges
and sends are found by the index on their artifact, and nodes by their keys, so every transaction
starts where the previous one ended. Elements with a manually edited key or artifact are not found
in this way. If fewer elements than expected were found, all relationships of the type, or all
nodes, are scanned once. The artifact's own node is deleted last.
"""

from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from itertools import pairwise
from typing import Any

import numpy as np

from starcast.stores.graph.artifacts import LABEL_OF, RELATIONSHIP_OF, GraphArtifact, Rows
from starcast.stores.graph.connection import Graph
from starcast.stores.graph.reader import pages
from starcast.stores.graph.schema import (
    INDEXES,
    NODE,
    TOPOLOGY,
    Element,
    GraphState,
    Label,
    Relationship,
    find_titles,
    first_key,
)
from starcast.support.errors import RejectedError, StarcastError
from starcast.topologies import Topology

#: Time limit for creating indexes, in seconds. For the nodes of S10, this takes 15 s on an idle
#: machine.
_INDEX_SECONDS = 3_600

#: A function that is called after each transaction, with the number of rows that the transaction
#: wrote or deleted.
Advance = Callable[[int], object]


class BoltWriter:
    """A writer that sends artifacts to Neo4j over Bolt, in batches.

    Two transactions run at a time, and each of them writes one batch with UNWIND.

    The writer writes 25 000 to 70 000 relationships per second once the server is warm, depending
    on the machine. A batch has few nodes, and shares no node with the batch that is written at the
    same time (`Rows.batches`). The rows of a batch are grouped by start node, so that each start
    node is looked up once (``docs/decisions/0002-keys-and-labels.md``). The driver retries a batch
    after a transient error. If a commit succeeded but its confirmation was lost, the batch is
    written twice; the comparison of counts and checksums detects this rare case.

    Args:
        graph: the database to write to.
        batch: rows per transaction.
    """

    def __init__(self, graph: Graph, batch: int) -> None:
        self._graph = graph
        self._batch = batch

    def prepare(self) -> None:
        """Create missing constraints and indexes."""
        # Indexes are filled in the background while the constraints are created.
        create_indexes(self._graph)
        create_constraints(self._graph)
        await_indexes(self._graph)

    def begin(self, artifact: GraphArtifact) -> None:
        """Create the artifact's node, in state ``loading``.

        Raises:
            RejectedError: the artifact on which the given artifact depends is not in the graph.
        """
        name = artifact.label.name
        properties = {**artifact.properties, "state": GraphState.LOADING.value}
        if artifact.parent is None:
            # CREATE instead of MERGE, so that the constraint raises an error if the node already
            # exists.
            self._graph.write(f"CREATE (o:{name}) SET o = $properties", {"properties": properties})
            return
        relationship, label, parent_id = artifact.parent
        rows = self._graph.write(
            f"MATCH (p:{label.name} {{{label.key}: $parent}}) "
            f"CREATE (o:{name})-[:{relationship.name}]->(p) SET o = $properties "
            "RETURN count(o) AS created",
            {"parent": parent_id, "properties": properties},
        )
        if rows[0]["created"] != 1:
            raise RejectedError(
                f"{artifact.id} depends on {parent_id}, which is not in the graph",
                hint="run the same ingest again",
            )

    def write(self, artifact: GraphArtifact, advance: Advance) -> None:
        """Write an artifact's relationships and, for a topology, the topology's nodes.

        The artifact's own node, with the label Topology, Forest or Schedule, is not written.

        Args:
            artifact: the artifact.
            advance: function called after each batch with the number of rows.

        Raises:
            RejectedError: an end node of a relationship was not found.
        """
        if artifact.label is TOPOLOGY:
            self.write_nodes(artifact.topology, advance)
        self.write_relationships(artifact.rows, advance)

    def write_nodes(self, topology: Topology, advance: Advance) -> None:
        """Write a topology's nodes in batches; call ``advance`` with the size of each batch."""
        titles = find_titles(topology)

        def create(start: int) -> int:
            ranks = np.arange(start, min(start + self._batch, topology.nodes))
            parameters = {
                "first": first_key(topology) + start,
                "topology": topology.spec,
                "rank": start,
                "labels": topology.labels(ranks).tolist(),
                "titles": titles[start : start + len(ranks)],
                "endpoints": topology.endpoints,
            }
            self._graph.write(_CREATE_NODES, parameters)
            return len(ranks)

        with self._graph.concurrent(2) as pool:
            for count in pool.map(create, range(0, topology.nodes, self._batch)):
                advance(count)

    def write_relationships(self, rows: Rows, advance: Advance) -> None:
        """Write an artifact's relationships in batches; call ``advance`` with each batch size."""
        with self._graph.concurrent(2) as pool:
            for batches in rows.batches(self._batch):
                created = sum(pool.map(self._create, batches))
                count = sum(map(len, batches))
                if created != count:
                    artifact, spec = rows.artifact_id, rows.topology.spec
                    raise RejectedError(
                        f"{count - created} of {count} relationships of {artifact} lack a node at "
                        "one end",
                        hint=f"drop {spec}, then ingest it again; some of its nodes are missing in "
                        "the graph",
                    )
                advance(count)

    def _create(self, rows: Rows) -> int:
        """Create a batch of relationships in Neo4j, and return how many were created."""
        groups = group_by_start(rows, first_key(rows.topology))
        parameters = {"rows": groups, "artifact": rows.artifact_id}
        created = self._graph.write(create_statement(rows.relationship), parameters)[0]["created"]
        return int(created)

    def finish(self, artifact: GraphArtifact) -> None:
        """Set the state of the artifact's node to ``complete``."""
        set_state(self._graph, artifact.label, artifact.id, GraphState.COMPLETE)


def create_constraints(graph: Graph) -> None:
    """Create the missing uniqueness constraints.

    Neo4j also uses the indexes of the constraints to look up nodes by key.
    """
    # The constraint on node keys takes longest to create, so its creation begins first.
    ordered = sorted(INDEXES, key=lambda index: index.element is not NODE)
    with graph.concurrent(2) as pool:
        list(pool.map(graph.write, [index.statement for index in ordered if index.unique]))


def create_indexes(graph: Graph) -> None:
    """Create missing indexes; the server fills them in the background."""
    for index in INDEXES:
        if not index.unique:
            graph.write(index.statement)


def await_indexes(graph: Graph) -> None:
    """Wait until all indexes are online."""
    graph.read("CALL db.awaitIndexes($seconds)", {"seconds": _INDEX_SECONDS})


def refresh_plans(graph: Graph) -> None:
    """Make Neo4j plan its queries again, with statistics that include the new data.

    The server samples the indexes and discards cached query plans. Without this call, the server
    would do so only later, and queries would scan indexes instead of seeking in them. Errors are
    ignored: the user might lack the privilege, and then queries are only slower.
    """
    with suppress(StarcastError):
        graph.read("CALL db.prepareForReplanning($seconds)", {"seconds": _INDEX_SECONDS})


def set_state(graph: Graph, label: Label, artifact_id: str, state: GraphState) -> None:
    """Set the state of an artifact's node, if the node exists."""
    graph.write(
        f"MATCH (o:{label.name} {{{label.key}: $id}}) SET o.state = $state",
        {"id": artifact_id, "state": state.value},
    )


_CREATE_NODES = (
    "UNWIND range(0, size($labels) - 1) AS i "
    f"CREATE (:{NODE.name} "
    "{key: $first + i, topology: $topology, rank: $rank + i, label: $labels[i], title: $titles[i], "
    "is_switch: CASE WHEN $rank + i >= $endpoints THEN true END})"
)


def create_statement(relationship: Relationship) -> str:
    """Return the Cypher that creates a batch of relationships of one type.

    The statement's parameter ``$rows`` is ``[[start key, [[end key, column, ..], ..]], ..]``.
    """
    columns = [f"{name}: r[{index}]" for index, name in enumerate(relationship.columns, start=1)]
    properties = ", ".join([f"{relationship.artifact_property}: $artifact", *columns])
    return (
        f"UNWIND $rows AS g MATCH (a:{relationship.start} {{key: g[0]}}) "
        f"UNWIND g[1] AS r MATCH (b:{relationship.end} {{key: r[0]}}) "
        f"CREATE (a)-[:{relationship.name} {{{properties}}}]->(b) RETURN count(*) AS created"
    )


def group_by_start(rows: Rows, first: int) -> list[Any]:
    """Group rows by start node, as the parameter ``$rows`` of `create_statement` requires.

    Args:
        rows: the relationships, sorted by start node.
        first: key of the topology's node 0.
    """
    start = rows.start + first
    values = np.column_stack([rows.end + first, *rows.columns.values()]).tolist()
    bounds = [0, *(np.flatnonzero(np.diff(start)) + 1).tolist(), len(start)]
    groups = zip(start[bounds[:-1]].tolist(), pairwise(bounds), strict=True)
    return [[key, values[low:high]] for key, (low, high) in groups]


def delete_artifact(
    graph: Graph,
    kind: str,
    artifact_id: str,
    topology: Topology | None,
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
        topology: the topology that is deleted; None if the artifact is a forest or schedule, or if
            the topology cannot be built.
        batch: maximum number of nodes or relationships per transaction.
        advance: function called after each transaction with the number of deleted elements.
        relationships: the expected number of tree edges or sends. If fewer are found by index, all
            relationships of the type are scanned.
    """
    label = LABEL_OF[kind]
    # Queries ignore an artifact in the state loading, even if the deletion is interrupted.
    set_state(graph, label, artifact_id, GraphState.LOADING)
    element: Element
    if kind == "topology":
        element = NODE
        is_deleted = (
            topology is not None
            and _delete_nodes(graph, topology, batch, advance) >= topology.nodes
        )
    else:
        element = RELATIONSHIP_OF[kind]
        found = _delete_by_index(graph, element, artifact_id, batch, advance)
        is_deleted = found >= relationships
    if not is_deleted:
        scan = _delete(element, f"n.{element.artifact_property} = $artifact")
        _repeat(graph, scan, {"artifact": artifact_id}, batch, advance)
    # The artifact's node is deleted last, so that an interrupted deletion can be repeated.
    graph.write(
        f"MATCH (o:{label.name} {{{label.key}: $id}}) DETACH DELETE o",
        {"id": artifact_id},
    )


def _delete_nodes(graph: Graph, topology: Topology, batch: int, advance: Advance) -> int:
    """Delete the nodes of a topology with their links from Neo4j; return the number of nodes."""
    cypher = _delete(NODE, "$low <= n.key < $high")
    deleted = 0
    # The nodes of a page and their links together fill about one batch.
    for page in pages(topology, max(1, batch // (topology.degree + 1))):
        count = graph.write(cypher, {**page, "batch": batch})[0]["deleted"]
        # The links of a deleted node are deleted too: on average, the number of links in the
        # topology divided by the number of nodes.
        advance(count + count * topology.links // topology.nodes)
        deleted += count
    return deleted


def _delete_by_index(
    graph: Graph, relationship: Relationship, artifact_id: str, batch: int, advance: Advance
) -> int:
    """Delete an artifact's relationships with the help of an index; return their number."""
    index = relationship.indexes[0]  # the index on the artifact's id
    # Without the index, every batch would scan all relationships.
    graph.write(index.statement)
    # A new index is filled in the background, and statements do not use it until it is complete.
    graph.read("CALL db.awaitIndexes(300)")
    cypher = _delete(relationship, f"n.{relationship.artifact_property} = $artifact")
    return _repeat(graph, cypher, {"artifact": artifact_id}, batch, advance)


def clear(graph: Graph, batch: int) -> int:
    """Delete all artifacts, and the remains of unknown artifacts; keep the node (:Store).

    Topologies of plug-ins that are not loaded are deleted too, since no topology has to be built.
    Data of other programs are kept, except for relationships at deleted nodes.

    Returns:
        The number of deleted nodes, links, tree edges and sends.
    """
    for label in LABEL_OF.values():
        # Queries ignore artifacts in the state loading, even if the deletion is interrupted.
        graph.write(
            f"MATCH {label.pattern} WHERE {_is_ours(label)} SET n.state = $state",
            {"state": GraphState.LOADING.value},
        )
    delete_outdated_nodes(graph)
    return delete_orphans(graph, (), batch)


def _is_ours(label: Label) -> str:
    """Return a Cypher condition that excludes nodes of other programs with the same label."""
    return f"n.{label.key} IS NOT NULL AND n.state IS NOT NULL"


def delete_orphans(graph: Graph, known: Collection[tuple[str, str]], batch: int) -> int:
    """Delete nodes and relationships whose properties name an artifact that is not in ``known``.

    Such elements remain after manual edits, or if PostgreSQL no longer records their artifact, for
    example after the restore of a backup that is older than the artifact. Relationships of
    starcast's types between nodes with the label ``Node`` are deleted even if they name no
    artifact. Only nodes with starcast's properties are deleted, because a node that has only the
    label may belong to another program.

    Args:
        graph: the database.
        known: the artifacts that exist, as pairs of kind and id.
        batch: maximum number of nodes or relationships per transaction.

    Returns:
        The number of deleted nodes and relationships.
    """
    ids = {kind: [name for of_kind, name in known if of_kind == kind] for kind in LABEL_OF}
    deleted = 0
    for kind, relationship in RELATIONSHIP_OF.items():
        condition = (
            f"startNode(n):{relationship.start} AND endNode(n):{relationship.end} "
            f"AND NOT coalesce(n.{relationship.artifact_property} IN $ids, false)"
        )
        deleted += _repeat(graph, _delete(relationship, condition), {"ids": ids[kind]}, batch)
    condition = "n.key IS NOT NULL AND n.topology IS NOT NULL AND NOT n.topology IN $ids"
    deleted += _repeat(graph, _delete(NODE, condition), {"ids": ids["topology"]}, batch)
    # The nodes of artifacts are deleted last, so that an interrupted deletion can be repeated.
    for kind, label in LABEL_OF.items():
        condition = f"{_is_ours(label)} AND NOT n.{label.key} IN $ids"
        deleted += _repeat(graph, _delete(label, condition), {"ids": ids[kind]}, batch)
    return deleted


def _delete(element: Element, condition: str) -> str:
    """Return Cypher that deletes up to ``$batch`` nodes or relationships that meet a condition."""
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
    """Repeat a Cypher statement until it deletes less than a full batch.

    Return the total number of deleted elements.

    Args:
        graph: the database.
        cypher: a statement returned by `_delete`, which deletes up to ``$batch`` elements.
        parameters: the other parameters of the statement.
        batch: maximum number of nodes or relationships per transaction.
        advance: function called after each transaction with the number of deleted elements.
    """
    total = 0
    deleted = batch
    while deleted == batch:
        deleted = graph.write(cypher, {**parameters, "batch": batch})[0]["deleted"]
        total += deleted
        advance(deleted)
    return total


def delete_outdated_nodes(graph: Graph) -> None:
    """Delete the Topology nodes of schema 1, which have a ``name`` instead of a ``spec``.

    Nodes of other programs are kept, because they lack the properties ``family`` and ``n``.
    """
    graph.write(
        f"MATCH (t:{TOPOLOGY.name}) WHERE t.spec IS NULL AND t.name IS NOT NULL "
        "AND t.family IS NOT NULL AND t.n IS NOT NULL DETACH DELETE t"
    )
