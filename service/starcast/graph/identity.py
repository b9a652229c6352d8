"""Whose graph it is: the node (:Store) holds the id of the PostgreSQL database that knows what is in it."""

from uuid import UUID

from starcast.errors import UnavailableError
from starcast.graph.connection import Graph
from starcast.graph.schema import STORE, VERSION

_ELSEWHERE = "name the right servers in STARCAST_NEO4J_URI and STARCAST_POSTGRES_URI"


class NotOursError(UnavailableError):
    """The graph store answers, and starcast may not use it: another's, another database's, or of another schema."""


def claim(graph: Graph, store: UUID) -> bool:
    """See that the graph belongs to that PostgreSQL database; an empty one is made to. True where it was empty.

    Raises:
        NotOursError: it holds somebody else's nodes, belongs to another database, or another version wrote it.
    """
    if owner(graph) is not None:
        check(graph, store)
        return False
    _refuse_foreign(graph)
    graph.write(
        f"MERGE (s:{STORE.name} {{schema: $schema}}) ON CREATE SET s.id = $id",
        {"schema": VERSION, "id": str(store)},
    )
    check(graph, store)
    return True


def check(graph: Graph, store: UUID) -> None:
    """See that the graph belongs to that PostgreSQL database, and change nothing.

    Raises:
        UnavailableError: it does not, or is empty.
    """
    identity = usable(graph)
    if identity is None:
        raise UnavailableError(
            f"the graph store at {graph.uri} is empty", hint="run 'starcast ingest' first"
        )
    if identity != str(store):
        raise NotOursError(
            f"the graph store at {graph.uri} belongs to another PostgreSQL database ({identity}, not {store})",
            hint=f"{_ELSEWHERE}; or empty the graph store and ingest again",
        )


def usable(graph: Graph) -> str | None:
    """The id of the database that the graph belongs to, whichever that is; None where the graph is empty.

    Raises:
        NotOursError: it holds somebody else's nodes, or another version wrote it.
    """
    found = owner(graph)
    if found is None:
        _refuse_foreign(graph)
        return None
    identity, version = found
    if version != VERSION:
        raise NotOursError(
            f"the graph store at {graph.uri} has schema {version}, this starcast works with {VERSION}",
            hint="update starcast"
            if version > VERSION
            else "empty the graph store and ingest again: everything in it can be rebuilt",
        )
    return identity


def owner(graph: Graph) -> tuple[str, int] | None:
    """The id of the database it belongs to and the version of its schema; None where nobody has claimed it."""
    rows = graph.read(
        f"MATCH (s:{STORE.name}) WHERE s.schema IS NOT NULL RETURN toString(s.id) AS id, toInteger(s.schema) AS version LIMIT 1"
    )
    return (rows[0]["id"], rows[0]["version"]) if rows else None


def _refuse_foreign(graph: Graph) -> None:
    rows = graph.read(
        "MATCH (n) WITH labels(n) AS names LIMIT 1000 UNWIND names AS name RETURN DISTINCT name ORDER BY name"
    )
    unlabelled = graph.read("MATCH (n) RETURN true LIMIT 1")
    if rows or unlabelled:
        names = ", ".join(f":{row['name']}" for row in rows[:5]) or "nodes without a label"
        raise NotOursError(
            f"the Neo4j database '{graph.database}' at {graph.uri} is not ours: it holds {names}, not our :{STORE.name}",
            hint="give starcast a Neo4j database of its own; this one stays as it is",
        )
