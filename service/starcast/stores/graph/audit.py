"""Audit of the graph: indexes, and data that the schema does not declare.

These queries must work on arbitrarily edited graphs: no property is assumed to exist or to have the
declared type.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from starcast.stores.graph.connection import Graph
from starcast.stores.graph.schema import LABELS, NODE, RELATIONSHIPS, Label, Relationship
from starcast.support.text import pluralize

_LABELS = {label.name for label in LABELS}


class _Index(NamedTuple):
    """An index or constraint: its label and properties, whether it is unique, and its state."""

    on: str
    unique: bool
    state: str = "ONLINE"

    def serves_as(self, declared: "_Index") -> bool:
        """Return whether an index in the store can serve as the declared one."""
        # A constraint left by an earlier version also serves as an index, and so does an index that
        # is still being filled after an import.
        is_usable = self.state in {"ONLINE", "POPULATING"}
        return self.on == declared.on and self.unique >= declared.unique and is_usable


def find_index_faults(graph: Graph) -> list[str]:
    """Describe each index or constraint of the schema that is missing or differs in the store."""
    stored = _read_indexes(graph)
    faults = []
    for name, declared in _declared_indexes().items():
        noun = "constraint" if declared.unique else "index"
        if name not in stored:
            faults.append(f"the {noun} {name} on {declared.on} is missing")
        elif not stored[name].serves_as(declared):
            on, unique, state = stored[name]
            is_unique = "unique" if unique else "not unique"
            faults.append(
                f"the {noun} {name} on {declared.on} differs from the schema: it is on {on}, "
                f"{is_unique} and {state.lower()}"
            )
    return faults


def drop_wrong_indexes(graph: Graph) -> None:
    """Drop starcast's indexes and constraints that the schema does not declare in this form."""
    declared = _declared_indexes()
    for name, index in _read_indexes(graph).items():
        is_declared = name in declared and index.serves_as(declared[name])
        if name.startswith("starcast_") and not is_declared:
            graph.write(f"DROP {'CONSTRAINT' if index.unique else 'INDEX'} {name}")


def _declared_indexes() -> dict[str, _Index]:
    indexes = {}
    for element in (*LABELS, *RELATIONSHIPS):
        unique = element.unique if isinstance(element, Label) else ()
        for name, properties in zip(
            element.index_names(), [*unique, *element.indexes], strict=True
        ):
            on = f"{element.name}({', '.join(properties)})"
            indexes[name] = _Index(on, properties in unique)
    return indexes


def _read_indexes(graph: Graph) -> dict[str, _Index]:
    rows = graph.read(
        "SHOW INDEXES YIELD name, state, labelsOrTypes, properties, owningConstraint "
        "RETURN name, state, labelsOrTypes, properties, owningConstraint"
    )
    return {
        row["name"]: _Index(
            # Neo4j's own token look-up indexes have neither labels nor properties.
            f"{(row['labelsOrTypes'] or ['nothing'])[0]}({', '.join(row['properties'] or [])})",
            row["owningConstraint"] is not None,
            row["state"],
        )
        for row in rows
    }


def count_undeclared(graph: Graph) -> tuple[dict[tuple[str, ...], int], dict[str, int]]:
    """Count nodes and relationships that the schema does not declare, by their labels or type.

    Neo4j maintains counts per label and type, so the nodes are scanned only if these show that
    undeclared labels or several labels on a node exist.
    """
    declared_types = {relationship.name for relationship in RELATIONSHIPS}
    types = graph.read("CALL db.relationshipTypes() YIELD relationshipType AS name RETURN name")
    other_types = sorted({row["name"] for row in types} - declared_types)
    numbers = _count(graph, [f"()-[n:{_quote(name)}]->()" for name in other_types])
    relationships = {
        name: number for name, number in zip(other_types, numbers, strict=True) if number
    }
    labels = [row["name"] for row in graph.read("CALL db.labels() YIELD label AS name RETURN name")]
    total, *numbers = _count(graph, ["(n)", *(f"(n:{_quote(name)})" for name in labels)])
    of_label = dict(zip(labels, numbers, strict=True))
    others = [number for name, number in of_label.items() if number and name not in _LABELS]
    nodes: dict[tuple[str, ...], int] = {}
    # A node with two labels is counted under each of them, so the sums differ even if both labels
    # are declared.
    if others or sum(numbers) != total:
        rows = graph.read(
            "MATCH (n) WITH labels(n) AS labels, count(*) AS count "
            "RETURN labels, count ORDER BY labels"
        )
        for row in rows:
            names = tuple(sorted(row["labels"]))
            if len(names) != 1 or names[0] not in _LABELS:
                nodes[names] = row["count"]
    return nodes, relationships


def count(
    graph: Graph, elements: Iterable[Label | Relationship]
) -> dict[Label | Relationship, int]:
    """Return the number of elements per label and type, which Neo4j keeps as statistics."""
    listed = list(elements)
    patterns = [
        f"(n:{each.name})" if isinstance(each, Label) else f"()-[n:{each.name}]->()"
        for each in listed
    ]
    return dict(zip(listed, _count(graph, patterns), strict=True))


def _count(graph: Graph, patterns: Sequence[str]) -> list[int]:
    # One statement counts everything, because a freshly started server plans statements slowly.
    cypher = " UNION ALL ".join(
        # The count is in WITH, because `RETURN {place}, count(n)` would return no row if nothing is
        # counted.
        f"MATCH {pattern} WITH count(n) AS count RETURN {place} AS place, count"
        for place, pattern in enumerate(patterns)
    )
    rows = graph.read(cypher) if patterns else []
    return [row["count"] for row in sorted(rows, key=lambda row: row["place"])]


def _quote(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def describe_undeclared(graph: Graph) -> list[str]:
    """Return phrases that describe all nodes and relationships not declared in the schema."""
    nodes, types = count_undeclared(graph)
    return [
        *(_describe_nodes(labels, number) for labels, number in nodes.items()),
        *(_describe_relationships(name, number) for name, number in types.items()),
    ]


def describe_losses(graph: Graph, topologies: Sequence[str] | None) -> tuple[list[str], list[str]]:
    """Describe the undeclared nodes and relationships that a rebuild or an import would delete.

    Args:
        topologies: specs of the topologies whose nodes are deleted; None if everything is deleted.

    Returns:
        Phrases for nodes (only if everything is deleted) and for relationships, such as
        ``2 nodes with the label Person`` and ``1 relationship of the type KNOWS``.
    """
    nodes, types = count_undeclared(graph)
    if topologies is not None:
        types = {name: _count_at(graph, name, topologies) for name in types}
    foreign = {labels: number for labels, number in nodes.items() if not set(labels) & _LABELS}
    return (
        [_describe_nodes(labels, number) for labels, number in foreign.items()],
        [_describe_relationships(name, number) for name, number in types.items() if number],
    )


def _describe_nodes(labels: Sequence[str], number: int) -> str:
    text = f"with the label {' and '.join(labels)}" if labels else "without a label"
    return f"{pluralize(number, 'node')} {text}"


def _describe_relationships(name: str, number: int) -> str:
    return f"{pluralize(number, 'relationship')} of the type {name}"


def _count_at(graph: Graph, name: str, topologies: Sequence[str]) -> int:
    cypher = (
        f"MATCH (n:{NODE.name})-[r:{_quote(name)}]-() WHERE n.topology IN $specs "
        "RETURN count(DISTINCT r) AS count"
    )
    return int(graph.read(cypher, {"specs": list(topologies)})[0]["count"])
