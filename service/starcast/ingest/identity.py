"""Whether a graph store may be made anew for this PostgreSQL database."""

from starcast.database import models, sessions
from starcast.graph import audit
from starcast.graph.connection import Graph
from starcast.graph.identity import NotOursError, claim, owner
from starcast.graph.schema import STORE, VERSION
from starcast.ingest.recovery import Reference
from starcast.ingest.stores import Stores


def take_over(stores: Stores) -> None:
    """See that the graph belongs to this PostgreSQL database; where somebody has changed that by hand, mend it if that is safe.

    It is safe where both stores are the embedded ones of one home, which nobody else uses, and the graph holds no thing that
    PostgreSQL does not know. An empty graph is made to belong to it.

    Raises:
        NotOursError: it does not, and nobody can know whose it is.
    """
    try:
        claim(stores.graph, stores.id)
    except NotOursError as error:
        alone = stores.embedded is not None and stores.embedded.postgres_uri is None
        if not (alone and _is_ours(stores)):
            hint = (
                f"{error.hint}; if it is this one's: {audit.store_advice(str(stores.id))}"
                if _is_ours(stores)
                else error.hint
            )
            raise NotOursError(error.message, hint=hint) from None
        _mark(stores.graph, str(stores.id))


def _is_ours(stores: Stores) -> bool:
    """Whether the graph holds things, this PostgreSQL database knows all of them, and no newer starcast wrote them."""
    found = owner(stores.graph)
    there = {Reference(kind, key) for kind, key in audit.things(stores.graph)}
    with sessions.session(stores.engine) as session:
        known = {
            one
            for one in there
            if session.get(models.Materialization, (one.kind, one.key)) is not None
        }
    return bool(there) and known == there and (found is None or found[1] <= VERSION)


def _mark(graph: Graph, identity: str) -> None:
    graph.write(
        f"OPTIONAL MATCH (s:{STORE.name}) WITH collect(s) AS others FOREACH (s IN others | DETACH DELETE s) "
        f"CREATE (:{STORE.name} {{schema: $schema, id: $id}})",
        {"schema": VERSION, "id": identity},
    )
