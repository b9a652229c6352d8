"""Taking out what says it is part of a thing that does not exist: leftovers of edits by hand, in bounded transactions.

Only what bears our properties goes: a node that has but our label may be somebody's own.
"""

from collections.abc import Collection

from starcast.graph.artifact_nodes import RELATIONSHIP_OF
from starcast.graph.connection import Graph
from starcast.graph.schema import NODE, Relationship


def purge(graph: Graph, known: Collection[tuple[str, str]], batch: int) -> int:
    """Delete the nodes and relationships of all but these things; returns how many.

    Args:
        graph: where.
        known: the things that exist, by kind and key.
        batch: most nodes or relationships a transaction.
    """
    gone = 0
    for kind, relationship in RELATIONSHIP_OF.items():
        names = [key for of, key in known if of == kind]
        gone += _drain(graph, _orphans(relationship), names, batch)
    return gone + _drain(graph, _NODES, [key for of, key in known if of == "topology"], batch)


def _orphans(kind: Relationship) -> str:
    return (
        f"MATCH (:{kind.start})-[r:{kind.name}]->(:{kind.end}) WHERE NOT coalesce(r.{kind.owner} IN $names, false) "
        "WITH r LIMIT $batch DELETE r RETURN count(*) AS gone"
    )


_NODES = (
    f"MATCH (n:{NODE.name}) WHERE n.key IS NOT NULL AND n.topology IS NOT NULL AND NOT n.topology IN $names "
    "WITH n LIMIT $batch DETACH DELETE n RETURN count(*) AS gone"
)


def _drain(graph: Graph, cypher: str, names: list[str], batch: int) -> int:
    gone, found = 0, batch
    while found == batch:
        found = graph.write(cypher, {"names": names, "batch": batch})[0]["gone"]
        gone += found
    return gone
