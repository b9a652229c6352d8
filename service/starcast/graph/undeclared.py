"""What the store holds and the schema does not declare: other labels and types, other properties, and values of other types."""

from typing import Any

from starcast.graph.audit import REBUILD, WHOLE, Finding
from starcast.graph.connection import Graph
from starcast.graph.schema import LABELS, NODE, RELATIONSHIPS, Label, Relationship, Type
from starcast.support.text import pluralize

#: Groups of misshapen nodes or relationships that are told one by one.
_MOST = 50


def strangers(graph: Graph) -> list[Finding]:
    """Nodes and relationships of kinds that the schema does not declare."""
    nodes, relationships = foreign(graph)
    found = [_strange_nodes(labels, count) for labels, count in nodes.items()]
    for name, count in relationships.items():
        words = pluralize(
            count, f"relationship is of the type {name}", f"relationships are of the type {name}"
        )
        advice = f"in Neo4j: MATCH ()-[r:{_quoted(name)}]->() DELETE r"
        found.append(Finding(WHOLE, f"{words}, which is not starcast's", count, 0, advice))
    return found


def _strange_nodes(labels: tuple[str, ...], count: int) -> Finding:
    ours = [name for name in labels if name in _LABELS]
    others = "".join(f":{_quoted(name)}" for name in labels if name not in ours)
    if len(ours) == 1:
        words = pluralize(
            count, f"node of the label {ours[0]} bears", f"nodes of the label {ours[0]} bear"
        )
        advice = f"in Neo4j: MATCH (n:{ours[0]}{others}) REMOVE n{others}"
        return Finding(WHOLE, f"{words} the additional label {others}", count, 0, advice)
    words = pluralize(count, "node is", "nodes are")
    named = f"of the labels {', '.join(labels)}" if labels else "without a label"
    pattern = f"(n{others})" if labels else "(n) WHERE size(labels(n)) = 0"
    return Finding(
        WHOLE,
        f"{words} {named}, and not starcast's",
        count,
        0,
        f"in Neo4j: MATCH {pattern} DETACH DELETE n",
    )


def foreign(graph: Graph) -> tuple[dict[tuple[str, ...], int], dict[str, int]]:
    """Nodes by labels and relationships by type, and how many, of what the schema does not declare.

    Neo4j keeps the counts, so nothing is looked through unless they do not add up.
    """
    known = graph.read(
        "CALL db.relationshipTypes() YIELD relationshipType AS name RETURN name ORDER BY name"
    )
    other = [
        row["name"] for row in known if row["name"] not in {kind.name for kind in RELATIONSHIPS}
    ]
    types = {name: _count(graph, f"()-[n:{_quoted(name)}]->()") for name in other}
    labels = [
        row["name"]
        for row in graph.read("CALL db.labels() YIELD label AS name RETURN name ORDER BY name")
    ]
    ours = sum(_count(graph, f"(n:{label.name})") for label in LABELS if label.name in labels)
    strange = sum(_count(graph, f"(n:{_quoted(name)})") for name in labels if name not in _LABELS)
    nodes: dict[tuple[str, ...], int] = {}
    if strange or ours != _count(graph, "(n)"):
        rows = graph.read(
            "MATCH (n) WITH labels(n) AS labels, count(*) AS found RETURN labels, found ORDER BY labels"
        )
        sets = ((tuple(sorted(row["labels"])), row["found"]) for row in rows)
        nodes = {
            names: found for names, found in sets if not (len(names) == 1 and names[0] in _LABELS)
        }
    return nodes, {name: count for name, count in types.items() if count}


_LABELS = {label.name for label in LABELS}


def _count(graph: Graph, pattern: str) -> int:
    return int(graph.read(f"MATCH {pattern} RETURN count(n) AS found")[0]["found"])


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def shapes(graph: Graph) -> list[Finding]:
    """Nodes and relationships that lack a declared property, have it of another type, or have more than those.

    The nodes of things are left out: `things` and `owner_findings` compare them one by one.
    """
    return [finding for kind in (NODE, *RELATIONSHIPS) for finding in _misshapen(graph, kind)]


def _misshapen(graph: Graph, kind: Label | Relationship) -> list[Finding]:
    pattern = f"(n:{kind.name})" if isinstance(kind, Label) else f"()-[n:{kind.name}]->()"
    right = {one.name: f"n.{one.name} IS :: {one.type.value} NOT NULL" for one in kind.properties}
    wrong = ", ".join(
        f"CASE WHEN {test} THEN null ELSE '{name}' END" for name, test in right.items()
    )
    owner = "n.topology" if isinstance(kind, Label) else f"n.{kind.owner}" if kind.owner else "null"
    rows = graph.read(
        f"MATCH {pattern} WHERE NOT ({' AND '.join([*right.values(), f'size(keys(n)) = {len(right)}'])}) "
        f"WITH {owner} AS owner, [name IN [{wrong}] WHERE name IS NOT NULL] AS wrong, "
        "[name IN keys(n) WHERE NOT name IN $names] AS more, count(*) AS found "
        f"RETURN owner, wrong, more, found ORDER BY found DESC, wrong, more LIMIT {_MOST}",
        {"names": list(right)},
    )
    return [_shape(kind, row) for row in rows]


def _shape(kind: Label | Relationship, row: dict[str, Any]) -> Finding:
    types = {one.name: one.type for one in kind.properties}
    words = []
    if row["wrong"]:
        listed = ", ".join(f"{name} ({Type(types[name]).value})" for name in row["wrong"])
        words.append(f"without a right {listed}")
    if row["more"]:
        words.append(f"with the additional property {', '.join(sorted(row['more']))}")
    sentence = f"{row['found']:,} {kind.name} {' and '.join(words)}"
    thing = WHOLE if row["owner"] is None else str(row["owner"])
    advice = REBUILD if thing == WHOLE else f"{REBUILD} '{thing}'"
    if thing == WHOLE and kind is NODE:
        advice += f"; what then is left is not starcast's, in Neo4j: MATCH (n:{NODE.name}) WHERE n.topology IS NULL DETACH DELETE n"
    return Finding(thing, sentence, row["found"], 0, advice)


def losses(
    graph: Graph, topologies: list[str] | None
) -> tuple[list[tuple[str, int]], list[tuple[str, int]]]:
    """What is not starcast's: nodes by their labels, written out, and relationships by type, each with how many there are.

    With topologies, only the relationships at their nodes count.
    """
    nodes, types = foreign(graph)
    if topologies is not None:
        types = {name: _at(graph, name, topologies) for name in types}
    others = [
        (" and ".join(labels), count)
        for labels, count in nodes.items()
        if not set(labels) & _LABELS
    ]
    return others, [(name, count) for name, count in types.items() if count]


def _at(graph: Graph, kind: str, topologies: list[str]) -> int:
    cypher = f"MATCH (n:{NODE.name})-[r:{_quoted(kind)}]-() WHERE n.topology IN $names RETURN count(DISTINCT r) AS found"
    return int(graph.read(cypher, {"names": topologies})[0]["found"])
