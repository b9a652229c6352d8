"""Audit of the graph: its owner, its indexes, and data that the schema does not declare.

The node (:Store) records the id of the PostgreSQL database to which the graph belongs. All queries
here must work on arbitrarily edited graphs: no property is assumed to exist or to have the declared
type.
"""

from collections.abc import Sequence
from uuid import UUID

from starcast.stores.graph.connection import Graph
from starcast.stores.graph.schema import INDEXES, LABELS, NODE, RELATIONSHIPS, STORE, VERSION, Index
from starcast.support.errors import UnavailableError
from starcast.support.table import Row
from starcast.support.text import pluralize

_CHECK_SETTINGS = "check the servers named in STARCAST_NEO4J_URI and STARCAST_POSTGRES_URI"

_LABELS = {label.name for label in LABELS}
_TYPES = {relationship.name for relationship in RELATIONSHIPS}


class OwnershipError(UnavailableError):
    """The graph belongs to another program, database, or version of starcast."""


class OutdatedSchemaError(OwnershipError):
    """The graph was written by an older starcast, and must be rebuilt before it can be used."""


def pair(graph: Graph, store: UUID) -> None:
    """Pair an empty graph with a PostgreSQL database, or check an existing pairing.

    Args:
        graph: the graph store.
        store: id of the PostgreSQL database.

    Raises:
        OwnershipError: the graph contains nodes of another program, belongs to another PostgreSQL
            database, or was written by another version of starcast.
    """
    if find_owner(graph, store) is not None:
        return
    # With the constraint and MERGE, simultaneous first ingests create a single node.
    for index in STORE.indexes:
        graph.write(index.statement)
    rows = graph.write(
        f"MERGE (s:{STORE.name} {{schema: $schema}}) ON CREATE SET s.id = $id RETURN s.id AS id",
        {"schema": VERSION, "id": str(store)},
    )
    _check_identity(graph, rows[0]["id"], store)


def check_ownership(graph: Graph, store: UUID) -> None:
    """Check that the graph is paired with a PostgreSQL database; change nothing.

    Raises:
        OwnershipError: the graph contains nodes of another program, is paired with another
            database, or has another schema version.
        UnavailableError: the graph is empty.
    """
    if find_owner(graph, store) is None:
        raise UnavailableError(
            f"the graph store at {graph.uri} is empty", hint="run 'starcast ingest' first"
        )


def find_owner(graph: Graph, expected: UUID | None = None) -> str | None:
    """Return the id of the paired PostgreSQL database, or None if the graph is empty.

    Args:
        graph: the graph store.
        expected: id of the only accepted database; by default any database is accepted.

    Raises:
        OwnershipError: the graph contains nodes of another program, belongs to a database other
            than the expected one, or was written by another version of starcast.
    """
    owner = read_owner(graph)
    if owner is None:
        _check_empty(graph)
        return None
    identity, version = owner
    if expected is not None:
        _check_identity(graph, identity, expected)
    _check_version(graph, version)
    return identity


def read_owner(graph: Graph) -> tuple[str, int] | None:
    """Return the id of the paired database and the schema version of the graph.

    The result is None if the graph is not paired. A version that is not an integer, because it was
    edited manually, is returned as 0.
    """
    rows = graph.read(
        f"MATCH (s:{STORE.name}) WHERE s.schema IS NOT NULL RETURN toStringOrNull(s.id) AS id, "
        "coalesce(toIntegerOrNull(s.schema), 0) AS version LIMIT 1"
    )
    return (rows[0]["id"], rows[0]["version"]) if rows else None


def record_owner(graph: Graph, identity: str) -> None:
    """Replace all (:Store) nodes with one node that has the given id and the schema version."""
    graph.write(
        # A single statement is used, so that an interruption cannot leave the graph without an
        # owner.
        f"OPTIONAL MATCH (s:{STORE.name}) WITH collect(s) AS others "
        "FOREACH (s IN others | DETACH DELETE s) "
        f"CREATE (:{STORE.name} {{schema: $schema, id: $id}})",
        {"schema": VERSION, "id": identity},
    )


def _check_identity(graph: Graph, identity: str, store: UUID) -> None:
    if identity != str(store):
        raise OwnershipError(
            f"the graph store at {graph.uri} belongs to another PostgreSQL database "
            f"({identity}, not {store})",
            hint=f"{_CHECK_SETTINGS}; or run 'starcast graph rebuild --replace' to empty the graph"
            " store and rebuild it",
        )


def _check_version(graph: Graph, version: int) -> None:
    message = (
        f"the graph store at {graph.uri} has schema {version}, but this starcast needs {VERSION}"
    )
    if version > VERSION:
        raise OwnershipError(message, hint="update starcast")
    if version < VERSION:
        raise OutdatedSchemaError(
            message,
            hint="run 'starcast graph rebuild', which recreates everything from PostgreSQL's "
            "records",
        )


def _check_empty(graph: Graph) -> None:
    """Check that a graph without a :Store node is empty; otherwise another program uses it."""
    # A sample of the nodes is enough for the message.
    rows = graph.read("MATCH (n) WITH labels(n) AS labels LIMIT 1000 RETURN DISTINCT labels")
    if rows:
        names = sorted({name for row in rows for name in row["labels"]})
        held = ", ".join(f":{name}" for name in names[:5]) or "nodes without a label"
        raise OwnershipError(
            f"the Neo4j database '{graph.database}' at {graph.uri} belongs to another program: "
            f"it contains {held} but not the node :{STORE.name} of starcast",
            hint="use a separate Neo4j database for starcast; this database was not changed",
        )


def find_index_faults(graph: Graph) -> list[str]:
    """Return a sentence for each index or constraint that is missing or differs from the schema.

    An index that cannot be used is reported too.
    """
    stored = _read_indexes(graph)
    faults = []
    for index in INDEXES:
        name = f"the {'constraint' if index.unique else 'index'} {index.name} on {index.on}"
        found = stored.get(index.name)
        if found is None:
            faults.append(f"{name} is missing")
        elif not _serves_as(found, index):
            is_unique = "unique" if found["unique"] else "not unique"
            faults.append(
                f"{name} differs from the schema: it is on {found['on']}, {is_unique} and "
                f"{found['state'].lower()}"
            )
    return faults


def drop_wrong_indexes(graph: Graph) -> None:
    """Drop starcast's indexes and constraints that are undeclared, unusable or wrongly defined."""
    declared = {index.name: index for index in INDEXES}
    for name, found in _read_indexes(graph).items():
        is_declared = name in declared and _serves_as(found, declared[name])
        if name.startswith("starcast_") and not is_declared:
            graph.write(f"DROP {'CONSTRAINT' if found['unique'] else 'INDEX'} {name}")


def _serves_as(found: Row, declared: Index) -> bool:
    """Return whether an existing index or constraint can serve as the declared index."""
    # A constraint from an earlier version of starcast can replace an index. An index that is still
    # being filled after an import is usable too.
    is_usable = found["state"] in {"ONLINE", "POPULATING"}
    return found["on"] == declared.on and found["unique"] >= declared.unique and is_usable


def _read_indexes(graph: Graph) -> dict[str, Row]:
    """Return all indexes of the graph, keyed by name, with state, uniqueness and properties."""
    rows = graph.read(
        "SHOW INDEXES YIELD name, state, labelsOrTypes, properties, owningConstraint "
        # Neo4j's own token look-up indexes have neither labels nor properties.
        "RETURN name, state, owningConstraint IS NOT NULL AS unique, "
        "coalesce(labelsOrTypes[0], 'nothing') AS element, coalesce(properties, []) AS properties"
    )
    return {
        row["name"]: {**row, "on": f"{row['element']}({', '.join(row['properties'])})"}
        for row in rows
    }


def _count_undeclared(graph: Graph) -> tuple[dict[tuple[str, ...], int], dict[str, int]]:
    """Count the graph's nodes and relationships that the schema does not declare, by label or type.

    Neo4j maintains counts per label and type, so the nodes are scanned only if these counts show
    undeclared labels, or nodes with several labels.
    """
    [names] = graph.read(
        "RETURN COLLECT { CALL db.labels() YIELD label AS name RETURN name } AS labels, "
        "COLLECT { CALL db.relationshipTypes() YIELD relationshipType AS name RETURN name } "
        "AS types"
    )
    labels, types = names["labels"], sorted(set(names["types"]) - _TYPES)
    label_patterns = [f"(n:{_quote(name)})" for name in labels]
    type_patterns = [f"()-[n:{_quote(name)}]->()" for name in types]
    total, *counts = count(graph, ["(n)", *label_patterns, *type_patterns])
    of_labels, of_types = counts[: len(labels)], counts[len(labels) :]
    relationships = {name: count for name, count in zip(types, of_types, strict=True) if count}
    used = [name for name, count in zip(labels, of_labels, strict=True) if count]
    # A node with two labels is counted under each of them, so the sums differ even if both labels
    # are declared.
    if _LABELS.issuperset(used) and sum(of_labels) == total:
        return {}, relationships
    rows = graph.read(
        "MATCH (n) WITH labels(n) AS labels, count(*) AS count RETURN labels, count ORDER BY labels"
    )
    nodes = {tuple(sorted(row["labels"])): row["count"] for row in rows}
    undeclared = {
        labels: number
        for labels, number in nodes.items()
        if len(labels) != 1 or not _LABELS.issuperset(labels)
    }
    return undeclared, relationships


def count(graph: Graph, patterns: Sequence[str]) -> list[int]:
    """Return the number of matches of each Cypher pattern; a pattern has at most one label or type.

    Neo4j maintains these numbers as statistics, so counting is fast.
    """
    # One statement counts everything, because a freshly started server plans statements slowly.
    counts = ", ".join(f"COUNT {{ MATCH {pattern} }}" for pattern in patterns)
    [row] = graph.read(f"RETURN [{counts}] AS counts")
    return list(row["counts"])


def _quote(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def describe_undeclared(graph: Graph) -> list[str]:
    """Return descriptions of all nodes and relationships that the schema does not declare."""
    nodes, types = _count_undeclared(graph)
    return [*_describe_nodes(nodes), *_describe_relationships(types)]


def describe_losses(
    graph: Graph, topologies: Sequence[str] | None = None
) -> tuple[list[str], list[str]]:
    """Return descriptions of other programs' data that a rebuild or an import keeps or deletes.

    The nodes of the replaced topologies are deleted with all their relationships, including those
    that other programs have created. The nodes of other programs are kept. An offline import
    replaces the entire database, so it keeps nothing.

    Args:
        graph: the database.
        topologies: specs of the replaced topologies; None if the entire database is replaced.

    Returns:
        Two lists of phrases about other programs' data: the nodes that would be kept, such as ``2
        nodes with the label Person``; and the data that would be deleted, such as ``1 relationship
        of the type KNOWS``.
    """
    nodes, types = _count_undeclared(graph)
    if topologies is not None:
        types = {name: _count_at(graph, name, topologies) for name in types}
    relationships = _describe_relationships(types)
    foreign = {labels: count for labels, count in nodes.items() if not _LABELS & set(labels)}
    described = _describe_nodes(foreign)
    return ([], described + relationships) if topologies is None else (described, relationships)


def _describe_nodes(counts: dict[tuple[str, ...], int]) -> list[str]:
    return [
        f"{pluralize(count, 'node')} "
        + (f"with the label {' and '.join(labels)}" if labels else "without a label")
        for labels, count in counts.items()
    ]


def _describe_relationships(counts: dict[str, int]) -> list[str]:
    return [
        f"{pluralize(count, 'relationship')} of the type {name}"
        for name, count in counts.items()
        if count
    ]


def _count_at(graph: Graph, name: str, topologies: Sequence[str]) -> int:
    """Count the relationships of a type at nodes of the given topologies."""
    cypher = (
        f"MATCH (n:{NODE.name})-[r:{_quote(name)}]-() WHERE n.topology IN $specs "
        "RETURN count(DISTINCT r) AS count"
    )
    return int(graph.read(cypher, {"specs": list(topologies)})[0]["count"])
