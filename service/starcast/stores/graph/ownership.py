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


def claim(graph: Graph, store: UUID) -> None:
    """Pair an empty graph with a PostgreSQL database, or check an existing pairing.

    Args:
        store: id of the PostgreSQL database.

    Raises:
        OwnershipError: the graph holds nodes of another program, belongs to another PostgreSQL
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
        OwnershipError: the graph is paired with another database, or has another schema version.
        UnavailableError: the graph is empty.
    """
    if find_owner(graph, store) is None:
        raise UnavailableError(
            f"the graph store at {graph.uri} is empty", hint="run 'starcast ingest' first"
        )


def find_owner(graph: Graph, expected: UUID | None = None) -> str | None:
    """Return the id of the paired PostgreSQL database, or None if the graph is empty.

    Args:
        expected: id of the only database that is accepted; by default any is.

    Raises:
        OwnershipError: the graph holds nodes of another program, belongs to another database than
            the expected one, or was written by another version of starcast.
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
    """Check that an unpaired graph has no nodes, since they would belong to another program."""
    # A sample of the nodes is enough for the message.
    rows = graph.read("MATCH (n) WITH labels(n) AS labels LIMIT 1000 RETURN DISTINCT labels")
    if rows:
        names = sorted({name for row in rows for name in row["labels"]})
        held = ", ".join(f":{name}" for name in names[:5]) or "nodes without a label"
        raise OwnershipError(
            f"the Neo4j database '{graph.database}' at {graph.uri} belongs to another program: "
            f"it holds {held} and no :{STORE.name} of starcast",
            hint="give starcast a Neo4j database of its own; this database is left unchanged",
        )
