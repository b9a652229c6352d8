"""Graph ownership: the node (:Store) records the id of the paired PostgreSQL database."""

from uuid import UUID

from starcast.stores.graph.connection import Graph
from starcast.stores.graph.schema import STORE, VERSION
from starcast.support.errors import UnavailableError

_CHECK_SETTINGS = "check the servers named in STARCAST_NEO4J_URI and STARCAST_POSTGRES_URI"


class OwnershipError(UnavailableError):
    """The graph belongs to another program, database, or version of starcast."""


class OutdatedSchemaError(OwnershipError):
    """The graph was written by an older starcast, and must be rebuilt before it can be used."""


def claim(graph: Graph, store: UUID) -> bool:
    """Pair an empty graph with a PostgreSQL database, or check an existing pairing.

    Args:
        store: id of the PostgreSQL database.

    Returns:
        True if the graph was empty.

    Raises:
        OwnershipError: the graph holds nodes of another program, belongs to another PostgreSQL
            database, or was written by another version of starcast.
    """
    if _is_owned(graph, store):
        return False
    graph.write(
        # MERGE, so that two simultaneous first ingests create a single node.
        f"MERGE (s:{STORE.name} {{schema: $schema}}) ON CREATE SET s.id = $id",
        {"schema": VERSION, "id": str(store)},
    )
    check_ownership(graph, store)
    return True


def check_ownership(graph: Graph, store: UUID) -> None:
    """Check that the graph is paired with a PostgreSQL database; change nothing.

    Raises:
        OwnershipError: the graph is paired with another database, or has another schema version.
        UnavailableError: the graph is empty.
    """
    if not _is_owned(graph, store):
        raise UnavailableError(
            f"the graph store at {graph.uri} is empty", hint="run 'starcast ingest' first"
        )


def _is_owned(graph: Graph, store: UUID) -> bool:
    """Return whether the graph is paired with a PostgreSQL database, or else empty.

    Raises:
        OwnershipError: it is neither, or has another schema version.
    """
    owner = read_owner(graph)
    if owner is None:
        _check_empty(graph)
        return False
    identity, version = owner
    if identity != str(store):
        raise OwnershipError(
            f"the graph store at {graph.uri} belongs to another PostgreSQL database "
            f"({identity}, not {store})",
            hint=f"{_CHECK_SETTINGS}; or run 'starcast graph rebuild --replace' to empty the graph"
            " store and rebuild it",
        )
    _check_version(graph, version)
    return True


def usable_owner(graph: Graph) -> str | None:
    """Return the id of the paired PostgreSQL database, or None if the graph is empty.

    Raises:
        OwnershipError: the graph holds nodes of another program, or was written by another version
            of starcast.
    """
    owner = read_owner(graph)
    if owner is None:
        _check_empty(graph)
        return None
    _check_version(graph, owner[1])
    return owner[0]


def read_owner(graph: Graph) -> tuple[str, int] | None:
    """Return the id of the paired database and the graph's schema version, or None if unpaired."""
    rows = graph.read(
        f"MATCH (s:{STORE.name}) WHERE s.schema IS NOT NULL RETURN toStringOrNull(s.id) AS id, "
        "coalesce(toIntegerOrNull(s.schema), 0) AS version LIMIT 1"
    )
    return (rows[0]["id"], rows[0]["version"]) if rows else None


def mark(graph: Graph, identity: str) -> None:
    """Replace all (:Store) nodes by one that names a PostgreSQL database and the current schema."""
    graph.write(
        # One statement, so that an interruption cannot leave the graph without an owner.
        f"OPTIONAL MATCH (s:{STORE.name}) WITH collect(s) AS others "
        "FOREACH (s IN others | DETACH DELETE s) "
        f"CREATE (:{STORE.name} {{schema: $schema, id: $id}})",
        {"schema": VERSION, "id": identity},
    )


def repair_advice(identity: str) -> str:
    """Return instructions for pairing a graph with a PostgreSQL database manually."""
    return (
        "check which servers are configured; if they are right, run in Neo4j: "
        f"MATCH (s:{STORE.name}) DELETE s; MERGE (s:{STORE.name} {{schema: {VERSION}}}) "
        f"SET s = {{schema: {VERSION}, id: '{identity}'}}"
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
    """Check that an unpaired graph has no nodes, since they would belong to another program."""
    # A sample of the labels is enough for the message.
    rows = graph.read(
        "MATCH (n) WITH labels(n) AS names LIMIT 1000 "
        "UNWIND names AS name RETURN DISTINCT name ORDER BY name"
    )
    # The second query finds nodes without a label, which the first cannot return.
    if rows or graph.read("MATCH (n) RETURN true LIMIT 1"):
        names = ", ".join(f":{row['name']}" for row in rows[:5]) or "nodes without a label"
        raise OwnershipError(
            f"the Neo4j database '{graph.database}' at {graph.uri} belongs to another program: "
            f"it holds {names} and no :{STORE.name} of starcast",
            hint="give starcast a Neo4j database of its own; this database is left unchanged",
        )
