"""Auditing the graph: artifacts' nodes, the (:Store) node, indexes, and undeclared content.

These queries must work on arbitrarily corrupted graphs: no property is assumed to exist or to have
the declared type.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass
from typing import Any

from starcast.graph.artifact_nodes import LABEL_OF, ArtifactNode, id_property
from starcast.graph.connection import Graph
from starcast.graph.reader import seek_keys
from starcast.graph.schema import (
    LABELS,
    NODE,
    RELATIONSHIPS,
    STORE,
    VERSION,
    GraphState,
    Label,
    PropertyType,
    Relationship,
)
from starcast.support.table import Table
from starcast.support.text import pluralize

#: Replaces the id of an artifact in problems that concern the entire store.
WHOLE_STORE = "the store"

#: The command that fixes an artifact, or everything.
REBUILD = "starcast graph rebuild"

#: Groups of invalid nodes or relationships that are reported individually.
_GROUPS = 50

_LABELS = {label.name for label in LABELS}


@dataclass(frozen=True)
class Problem:
    """A difference between the graph and what it should hold.

    Attributes:
        artifact: id of the artifact, or `WHOLE_STORE`.
        description: one sentence.
        found: the actual value, if there is one.
        expected: the expected value, if there is one.
        advice: how to fix it.
    """

    artifact: str
    description: str
    found: Any
    expected: Any
    advice: str


def list_problems(problems: Iterable[Problem]) -> Table:
    """Return problems as a table, one row each."""
    columns = ("artifact", "problem", "found", "expected", "advice")
    return Table.of((dict(zip(columns, astuple(each), strict=True)) for each in problems), columns)


@dataclass(frozen=True)
class StoredNode:
    """An artifact's node as it is in the graph; parents are relationship types and ids."""

    labels: tuple[str, ...]
    properties: dict[str, Any]
    parents: list[tuple[str, str]]


def read_artifact_nodes(graph: Graph) -> dict[tuple[str, str], list[StoredNode]]:
    """Return all nodes of topologies, forests and schedules, by kind and id.

    Ids are unique unless the graph was edited manually; a missing id is the empty string.
    """
    nodes = defaultdict(list)
    for kind, label in LABEL_OF.items():
        rows = graph.read(
            f"MATCH (o:{label.name}) RETURN toStringOrNull(o.{id_property(label)}) AS id, "
            "labels(o) AS labels, properties(o) AS properties, COLLECT { MATCH (o)-[r]->(p) "
            "RETURN [type(r), coalesce(p.spec, p.id, '')] } AS parents"
        )
        for row in rows:
            parents = [(name, str(parent)) for name, parent in row["parents"]]
            node = StoredNode(tuple(row["labels"]), row["properties"], parents)
            nodes[kind, row["id"] or ""].append(node)
    return dict(nodes)


def deletion_advice(kind: str, artifact_id: str) -> str:
    """Return the Cypher that deletes a node with an artifact's label and a malformed id."""
    label = LABEL_OF[kind]
    stored_id = f"toStringOrNull(o.{id_property(label)})"
    escaped = artifact_id.replace("\\", "\\\\").replace("'", "\\'")
    test = f"{stored_id} = '{escaped}'" if artifact_id else f"coalesce({stored_id}, '') = ''"
    return f"in Neo4j: MATCH (o:{label.name}) WHERE {test} DETACH DELETE o"


def check_artifact_node(node: ArtifactNode, stored: Sequence[StoredNode]) -> list[Problem]:
    """Compare the stored nodes of a complete artifact with the expected node."""
    name = f"(:{node.label.name})"
    advice = f"{REBUILD} '{node.id}'"
    if len(stored) != 1:
        description = f"there are {len(stored)} nodes {name}" if stored else f"no node {name}"
        return [Problem(node.id, description, len(stored), 1, advice)]
    [actual] = stored
    expected = {**node.properties, "state": GraphState.COMPLETE.value}
    problems = _check_properties(node.id, name, actual.properties, expected, advice)
    parents = [] if node.parent is None else [(node.parent[0].name, node.parent[2])]
    if actual.parents != parents:
        description = f"{name} depends on another artifact"
        found, wanted = _format_parents(actual.parents), _format_parents(parents)
        problems.append(Problem(node.id, description, found, wanted, advice))
    return problems


def _format_parents(parents: Sequence[tuple[str, str]]) -> str:
    return "; ".join(f"{name} {parent}" for name, parent in parents)


def _check_properties(
    artifact: str, name: str, actual: dict[str, Any], expected: dict[str, Any], advice: str
) -> list[Problem]:
    problems = []
    for key in sorted(expected.keys() | actual.keys()):
        found, wanted = actual.get(key), expected.get(key)
        # The types are compared too, since 1, 1.0 and true are equal in Python.
        if (type(found), found) != (type(wanted), wanted):
            description = f"{name} has {_format_difference(key, found, wanted)}"
            problems.append(Problem(artifact, description, found, wanted, advice))
    return problems


def _format_difference(name: str, found: Any, expected: Any) -> str:
    if expected is None:
        return f"the additional property {name}"
    return f"no {name}" if found is None else f"{name} {found}, not {expected}"


def check_store_node(graph: Graph, identity: str) -> list[Problem]:
    """Compare (:Store) with the node that the PostgreSQL database of this id creates."""
    rows = graph.read(
        f"MATCH (s:{STORE.name}) RETURN properties(s) AS properties ORDER BY elementId(s)"
    )
    name = f"(:{STORE.name})"
    advice = store_advice(identity)
    if len(rows) != 1:
        description = f"there are {len(rows)} nodes {name}" if rows else f"no node {name}"
        return [Problem(WHOLE_STORE, description, len(rows), 1, advice)]
    expected = {"id": identity, "schema": VERSION}
    return _check_properties(WHOLE_STORE, name, rows[0]["properties"], expected, advice)


def store_advice(identity: str) -> str:
    """Return how to pair a graph with a PostgreSQL database manually."""
    return (
        "check which servers are configured; if they are right, in Neo4j: "
        f"MATCH (s:{STORE.name}) DELETE s; MERGE (s:{STORE.name} {{schema: {VERSION}}}) "
        f"SET s = {{schema: {VERSION}, id: '{identity}'}}"
    )


@dataclass(frozen=True)
class _Index:
    """A declared index or constraint: name, what it is on, and the Cypher that creates it."""

    name: str
    on: str
    statement: str

    @property
    def is_constraint(self) -> bool:
        return self.statement.startswith("CREATE CONSTRAINT")


def check_indexes(graph: Graph) -> list[Problem]:
    """Report declared indexes and constraints that are missing, offline or differently defined."""
    problems = []
    for index, state, drop in _index_faults(graph):
        noun = "constraint" if index.is_constraint else "index"
        description = f"the {noun} {index.name} on {index.on} is {state}"
        cypher = "; ".join(filter(None, [drop, index.statement]))
        advice = f"in Neo4j: {cypher}; or {REBUILD}"
        problems.append(Problem(WHOLE_STORE, description, state, "ONLINE", advice))
    return problems


def drop_wrong_indexes(graph: Graph) -> None:
    """Drop indexes and constraints of starcast that are not as declared, or not declared."""
    for _, _, drop in list(_index_faults(graph)):
        if drop:
            graph.write(drop)
    declared = {index.name for index in _declared_indexes()}
    constraints = _constraint_names(graph)
    for row in graph.read(_INDEXES):
        if row["name"].startswith("starcast_") and row["name"] not in declared:
            graph.write(_drop(row["name"], constraints))


def _index_faults(graph: Graph) -> Iterator[tuple[_Index, str, str | None]]:
    """Yield faulty indexes, each with its state and the Cypher that drops it if it exists."""
    existing = {row["name"]: row for row in graph.read(_INDEXES)}
    constraints = _constraint_names(graph)
    for index in _declared_indexes():
        if index.name not in existing:
            yield index, "missing", None
            continue
        state = _index_state(index, existing[index.name], unique=index.name in constraints)
        if state is not None:
            yield index, state, _drop(index.name, constraints)


def _constraint_names(graph: Graph) -> set[str]:
    return {row["name"] for row in graph.read(_CONSTRAINTS)}


def _drop(name: str, constraints: set[str]) -> str:
    return f"DROP {'CONSTRAINT' if name in constraints else 'INDEX'} {name}"


_INDEXES = (
    "SHOW INDEXES YIELD name, state, labelsOrTypes, properties "
    "RETURN name, state, labelsOrTypes, properties"
)
_CONSTRAINTS = "SHOW CONSTRAINTS YIELD name, type WHERE type CONTAINS 'UNIQUENESS' RETURN name"


def _declared_indexes() -> Iterator[_Index]:
    for element in (*LABELS, *RELATIONSHIPS):
        properties = list(element.indexes)
        if isinstance(element, Label):
            properties = [*element.unique, *properties]
        declared = zip(element.index_names(), properties, element.statements(), strict=True)
        for name, indexed, statement in declared:
            yield _Index(name, f"{element.name}({', '.join(indexed)})", statement)


def _index_state(index: _Index, row: dict[str, Any], *, unique: bool) -> str | None:
    """Return what is wrong with an existing index, or None."""
    on = f"{(row['labelsOrTypes'] or ['nothing'])[0]}({', '.join(row['properties'] or [])})"
    if on != index.on:
        return f"on {on}"
    if unique != index.is_constraint:
        return "unique" if unique else "not unique"
    return None if row["state"] == "ONLINE" else str(row["state"])


def check_undeclared(graph: Graph) -> list[Problem]:
    """Report nodes and relationships whose labels and types the schema does not declare."""
    nodes, relationships = count_undeclared(graph)
    problems = [_undeclared_nodes(labels, count) for labels, count in nodes.items()]
    for name, count in relationships.items():
        subject = pluralize(count, "relationship has", "relationships have")
        description = f"{subject} the type {name}, which is not starcast's"
        advice = f"in Neo4j: MATCH ()-[r:{_quote(name)}]->() DELETE r"
        problems.append(Problem(WHOLE_STORE, description, count, 0, advice))
    return problems


def _undeclared_nodes(labels: tuple[str, ...], count: int) -> Problem:
    declared = [name for name in labels if name in _LABELS]
    others = "".join(f":{_quote(name)}" for name in labels if name not in declared)
    if len(declared) == 1:
        label = declared[0]
        subject = pluralize(count, f"node {label} has", f"nodes {label} have")
        description = f"{subject} the additional label {others}"
        advice = f"MATCH (n:{label}{others}) REMOVE n{others}"
    elif labels:
        subject = pluralize(count, "node has", "nodes have")
        description = f"{subject} the labels {', '.join(labels)}, which are not starcast's"
        advice = f"MATCH (n{others}) DETACH DELETE n"
    else:
        description = f"{pluralize(count, 'node has', 'nodes have')} no label"
        advice = "MATCH (n) WHERE size(labels(n)) = 0 DETACH DELETE n"
    return Problem(WHOLE_STORE, description, count, 0, f"in Neo4j: {advice}")


def count_undeclared(graph: Graph) -> tuple[dict[tuple[str, ...], int], dict[str, int]]:
    """Count nodes by labels, and relationships by type, that the schema does not declare.

    Neo4j maintains counts per label and type, so the nodes are scanned only if these show that
    undeclared labels or several labels on a node exist.
    """
    declared_types = {relationship.name for relationship in RELATIONSHIPS}
    types = graph.read("CALL db.relationshipTypes() YIELD relationshipType AS name RETURN name")
    other_types = sorted({row["name"] for row in types} - declared_types)
    relationships = {name: _count(graph, f"()-[n:{_quote(name)}]->()") for name in other_types}
    relationships = {name: count for name, count in relationships.items() if count}
    names = {row["name"] for row in graph.read("CALL db.labels() YIELD label AS name RETURN name")}
    declared = sum(_count(graph, f"(n:{name})") for name in names & _LABELS)
    others = sum(_count(graph, f"(n:{_quote(name)})") for name in names - _LABELS)
    nodes: dict[tuple[str, ...], int] = {}
    if others or declared != _count(graph, "(n)"):
        rows = graph.read(
            "MATCH (n) WITH labels(n) AS labels, count(*) AS count "
            "RETURN labels, count ORDER BY labels"
        )
        for row in rows:
            labels = tuple(sorted(row["labels"]))
            if len(labels) != 1 or labels[0] not in _LABELS:
                nodes[labels] = row["count"]
    return nodes, relationships


def _count(graph: Graph, pattern: str) -> int:
    return int(graph.read(f"MATCH {pattern} RETURN count(n) AS count")[0]["count"])


def _quote(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def check_properties(graph: Graph, keys: Sequence[int] | None = None) -> list[Problem]:
    """Report nodes and relationships whose properties are missing, mistyped or undeclared.

    Artifacts' nodes and (:Store) are excluded: other checks compare their values.

    Args:
        graph: the graph.
        keys: keys of the nodes to check with their relationships; None for the entire graph.
    """
    return [
        problem
        for element in (NODE, *RELATIONSHIPS)
        for problem in _check_element(graph, element, keys)
    ]


def _check_element(
    graph: Graph, element: Label | Relationship, keys: Sequence[int] | None
) -> list[Problem]:
    tests = {
        declared.name: f"n.{declared.name} IS :: {declared.type} NOT NULL"
        for declared in element.properties
    }
    valid = " AND ".join([*tests.values(), f"size(keys(n)) = {len(tests)}"])
    condition = f"NOT ({valid})"
    if isinstance(element, Label):
        pattern, artifact, node = f"(n:{element.name})", "n.topology", "n"
    else:
        artifact = f"n.{element.artifact_property}" if element.artifact_property else "null"
        pattern, node = f"()-[n:{element.name}]->()", None
        if keys is not None and element.start == NODE.name:
            pattern, node = f"(a:{NODE.name})-[n:{element.name}]-()", "a"
    count = "count(*)"
    if keys is not None and node is not None:
        pattern = f"{pattern} {seek_keys(node)}"
        condition = f"{node}.key IN $keys AND {condition}"
        count = "count(DISTINCT n)"  # both ends of a relationship may be among the nodes
    invalid = ", ".join(
        f"CASE WHEN {test} THEN null ELSE '{name}' END" for name, test in tests.items()
    )
    rows = graph.read(
        f"MATCH {pattern} WHERE {condition} WITH {artifact} AS artifact, "
        f"[name IN [{invalid}] WHERE name IS NOT NULL] AS invalid, "
        "[name IN keys(n) WHERE NOT name IN $names] AS undeclared, "
        f"{count} AS count RETURN artifact, invalid, undeclared, count "
        f"ORDER BY count DESC, invalid, undeclared LIMIT {_GROUPS}",
        {"names": list(tests), "keys": keys},
    )
    return [_describe_properties(element, row) for row in rows]


def _describe_properties(element: Label | Relationship, row: dict[str, Any]) -> Problem:
    types: dict[str, PropertyType] = {
        declared.name: declared.type for declared in element.properties
    }
    phrases = []
    if row["invalid"]:
        listed = ", ".join(f"{name} ({types[name]})" for name in row["invalid"])
        phrases.append(f"without a valid {listed}")
    if row["undeclared"]:
        listed = ", ".join(sorted(row["undeclared"]))
        phrases.append(f"with the additional property {listed}")
    description = f"{row['count']:,} {element.name} {' and '.join(phrases)}"
    if row["artifact"] is not None:
        artifact = str(row["artifact"])
        return Problem(artifact, description, row["count"], 0, f"{REBUILD} '{artifact}'")
    advice = REBUILD
    if element is NODE:
        advice += (
            "; nodes that remain are not starcast's, in Neo4j: "
            f"MATCH (n:{NODE.name}) WHERE n.topology IS NULL DETACH DELETE n"
        )
    return Problem(WHOLE_STORE, description, row["count"], 0, advice)


def describe_losses(graph: Graph, topologies: Sequence[str] | None) -> tuple[list[str], list[str]]:
    """Describe the undeclared nodes and relationships that a rebuild or an import would delete.

    Args:
        graph: the graph.
        topologies: specs of the topologies whose nodes are deleted; None if everything is deleted.

    Returns:
        Phrases for nodes, which are deleted only with everything, and for relationships, such as
        ``2 nodes with the label Person`` and ``1 relationship of the type KNOWS``.
    """
    nodes, types = count_undeclared(graph)
    if topologies is not None:
        types = {name: _count_at(graph, name, topologies) for name in types}
    node_phrases = []
    for labels, count in nodes.items():
        if not set(labels) & _LABELS:
            text = f"with the label {' and '.join(labels)}" if labels else "without a label"
            node_phrases.append(f"{pluralize(count, 'node')} {text}")
    relationship_phrases = [
        f"{pluralize(count, 'relationship')} of the type {name}"
        for name, count in types.items()
        if count
    ]
    return node_phrases, relationship_phrases


def _count_at(graph: Graph, name: str, topologies: Sequence[str]) -> int:
    cypher = (
        f"MATCH (n:{NODE.name})-[r:{_quote(name)}]-() WHERE n.topology IN $specs "
        "RETURN count(DISTINCT r) AS count"
    )
    return int(graph.read(cypher, {"specs": list(topologies)})[0]["count"])
