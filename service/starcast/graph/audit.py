"""Whether the nodes that stand for a thing, and for the whole store, are as they should be; what is found is a `Finding`.

Nothing that the store says of itself is believed: a query here works whatever somebody's hand has made of it.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from starcast.graph.artifact_nodes import LABEL_OF, Owner
from starcast.graph.connection import Graph
from starcast.graph.schema import STORE, VERSION, State

#: What stands for the whole store where a thing is named.
WHOLE = "the store"

#: What mends a thing, unless something is said beside a finding.
REBUILD = "starcast graph rebuild"


@dataclass(frozen=True)
class Finding:
    """Something that is not as it should be.

    Attributes:
        thing: its name, or `WHOLE`.
        what: one sentence.
        found: the value there, where there is one.
        expected: the value that should be there.
        advice: what to do.
    """

    thing: str
    what: str
    found: Any
    expected: Any
    advice: str


@dataclass(frozen=True)
class ThingNode:
    """The node of a thing as it stands in the graph, with what it hangs from."""

    labels: tuple[str, ...]
    properties: dict[str, Any]
    parents: list[tuple[str, str]]


def things(graph: Graph) -> dict[tuple[str, str], list[ThingNode]]:
    """All nodes of topologies, forests and schedules by kind and name; more than one of a name is somebody's doing."""
    found = defaultdict(list)
    for kind, label in LABEL_OF.items():
        rows = graph.read(
            f"MATCH (o:{label.name}) RETURN toStringOrNull(o.{label.unique[0][0]}) AS key, labels(o) AS labels, "
            "properties(o) AS properties, COLLECT { MATCH (o)-[r]->(p) RETURN [type(r), coalesce(p.name, p.id, '')] } "
            "AS parents"
        )
        for row in rows:
            parents = [(name, str(key)) for name, key in row["parents"]]
            found[kind, row["key"] or ""].append(
                ThingNode(tuple(row["labels"]), row["properties"], parents)
            )
    return dict(found)


def taking_out(kind: str, key: str) -> str:
    """How to delete by hand a node that bears our label and a name that no thing can have, or none."""
    label = LABEL_OF[kind]
    name = f"toStringOrNull(o.{label.unique[0][0]})"
    escaped = key.replace("\\", "\\\\").replace("'", "\\'")
    test = f"{name} = '{escaped}'" if key else f"coalesce({name}, '') = ''"
    return f"in Neo4j: MATCH (o:{label.name}) WHERE {test} DETACH DELETE o"


def owner_findings(owner: Owner, found: Sequence[ThingNode]) -> list[Finding]:
    """Where the node of a thing that is complete is not as it should be: its number, a property, its state, its place."""
    label, key = owner.label.name, owner.key
    advice = f"{REBUILD} '{key}'"
    if len(found) != 1:
        words = "is missing" if not found else f"stands {len(found)} times"
        return [Finding(key, f"the node (:{label}) {words}", len(found), 1, advice)]
    [node] = found
    meant = {**owner.properties, "state": State.COMPLETE.value}
    wrong = sorted(
        name
        for name in meant.keys() | node.properties.keys()
        if _unlike(meant, node.properties, name)
    )
    values = [(name, node.properties.get(name), meant.get(name)) for name in wrong]
    findings = [
        Finding(key, f"(:{label}) has {_valued(*one)}", one[1], one[2], advice) for one in values
    ]
    parents = [] if owner.parent is None else [(owner.parent[0].name, owner.parent[2])]
    if node.parents != parents:
        there, right = (
            "; ".join(f"{name} {parent}" for name, parent in listed)
            for listed in (node.parents, parents)
        )
        findings.append(Finding(key, f"(:{label}) hangs from something else", there, right, advice))
    return findings


def _unlike(meant: dict[str, Any], there: dict[str, Any], name: str) -> bool:
    """Whether a property differs, in value or in type: 1, 1.0 and true are three things."""
    return (type(meant.get(name)), meant.get(name)) != (type(there.get(name)), there.get(name))


def _valued(name: str, found: Any, expected: Any) -> str:
    if expected is None:
        return f"the additional property {name}"
    return f"no {name}" if found is None else f"{name} {found}, not {expected}"


def store_findings(graph: Graph, identity: str) -> list[Finding]:
    """Where the node (:Store) is not the one that this PostgreSQL database made."""
    rows = graph.read(
        f"MATCH (s:{STORE.name}) RETURN properties(s) AS properties ORDER BY elementId(s)"
    )
    meant = {"id": identity, "schema": VERSION}
    if len(rows) != 1:
        words = "is missing" if not rows else f"stands {len(rows)} times"
        return [Finding(WHOLE, f"the node (:Store) {words}", len(rows), 1, store_advice(identity))]
    there = rows[0]["properties"]
    wrong = sorted(name for name in meant.keys() | there.keys() if _unlike(meant, there, name))
    values = [(name, there.get(name), meant.get(name)) for name in wrong]
    return [
        Finding(WHOLE, f"(:Store) has {_valued(*one)}", one[1], one[2], store_advice(identity))
        for one in values
    ]


def store_advice(identity: str) -> str:
    """How to say by hand that a graph belongs to a PostgreSQL database."""
    make = f"MERGE (s:{STORE.name} {{schema: {VERSION}}}) SET s = {{schema: {VERSION}, id: '{identity}'}}"
    return f"name the right servers; or, where they are right, in Neo4j: MATCH (s:{STORE.name}) DELETE s; {make}"
