"""Runs a query: read-only, with a row limit and a time-out, on what is stored whole."""

from collections.abc import Mapping

from starcast.errors import LimitError
from starcast.graph.connection import Graph, QueryResult
from starcast.queries.pack import Query
from starcast.queries.parameters import STORED, bind
from starcast.queries.state import require_complete


def run(
    graph: Graph,
    query: Query,
    given: Mapping[str, object],
    *,
    row_limit: int = 1_000,
    timeout: float = 30.0,
) -> QueryResult:
    """Ask a query.

    Args:
        graph: the open graph store.
        query: what to ask.
        given: values of its parameters, as text or as Python values.
        row_limit: most rows to return; the answer's ``more`` says whether there are others.
        timeout: seconds after which the server ends it.

    Raises:
        InputError: a parameter is unknown, missing or of the wrong type, or the server refuses the Cypher.
        NotFoundError: what a parameter names is not stored, or not whole.
        LimitError: time or memory ran out.
        UnavailableError: the server cannot be reached.
    """
    values = bind(query.parameters, given)
    require_complete(graph, query.parameters, values)
    try:
        return graph.run(query.cypher, values, timeout, row_limit)
    except LimitError as error:
        raise LimitError(
            f"{query.name}: {error.message}", hint=f"{narrower(query)}; or {error.hint}"
        ) from None


def narrower(query: Query) -> str:
    """What of this query's own to change when it takes or returns too much."""
    big = [parameter.name for parameter in query.parameters if parameter.type.name in STORED]
    small = [
        parameter.name
        for parameter in query.parameters
        if parameter.type.name in {"int", "float", "list"}
    ]
    ways = [f"name a smaller one in {' or '.join(big)}"] if big else []
    ways += [f"tighten {' or '.join(small)}"] if small else []
    return ", ".join(ways) or "ask for less"
