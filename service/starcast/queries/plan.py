"""What the server thinks of a query before it runs: the checks of ``starcast query check`` that need a server."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from starcast.errors import InputError
from starcast.graph import schema
from starcast.graph.connection import Graph
from starcast.queries.pack import Query

#: Operators that read all of the store or multiply it, and what to do instead.
_COSTLY = {
    "CartesianProduct": "bind one pattern's node to the other's, or find it in a CALL (v) {} of its own",
    "AllNodesScan": "give each node a label",
    "AllRelationshipsScan": "give each relationship a type",
}
_WRITING = re.compile(
    r"Create|Merge|Delete|Remove|^Set|Foreach|LoadCSV|ProcedureCall|TransactionForeach|TransactionApply"
)
#: Label, type or property that the store has not seen: gql statuses.
_UNSEEN = {"01N50", "01N51", "01N52"}


def indexed(graph: Graph) -> bool:
    """Whether the store has all of the schema's indexes; the first ingest makes them."""
    there = {
        row["name"]
        for row in graph.read("SHOW INDEXES YIELD name, state WHERE state = 'ONLINE' RETURN name")
    }
    return all(
        name in there
        for thing in (*schema.LABELS, *schema.RELATIONSHIPS)
        for name in thing.index_names()
    )


def problems(graph: Graph, query: Query, indexes: bool = True) -> list[str]:
    """What the server's planner finds wrong with a query, a sentence each; it is planned and not run.

    Args:
        graph: the open graph store.
        query: what to plan.
        indexes: whether the store has the schema's indexes. Without them the planner has nothing to find a node by, so
            operators that read or multiply all of the store are no fault of the query.
    """
    sample = {parameter.name: _sample(parameter) for parameter in query.parameters}
    try:
        answer = graph.run(f"EXPLAIN {query.cypher}", sample)
    except InputError as error:
        return [error.message]
    found = [notice.text for notice in answer.notices if not _not_yet(notice.status, notice.text)]
    operators = dict.fromkeys(_operators(answer.plan or {}))
    found += [
        f"the plan has {name}: {_COSTLY[name]}" for name in operators if indexes and name in _COSTLY
    ]
    found += [f"the plan writes: {name}" for name in operators if _WRITING.search(name)]
    return found


def _sample(parameter: Any) -> Any:
    return parameter.type.sample() if parameter.required else parameter.default


def _not_yet(status: str, text: str) -> bool:
    """Whether the server misses a name that the schema declares: nothing of that kind is stored yet."""
    declared = {
        name
        for thing in (*schema.LABELS, *schema.RELATIONSHIPS)
        for name in (thing.name, *thing.names)
    }
    return status in _UNSEEN and bool(declared & set(re.findall(r"`(\w+)`", text)))


def _operators(plan: Mapping[str, Any]) -> Iterator[str]:
    """The operators of a plan, without the database's name and without what stands in parentheses."""
    if "operatorType" in plan:
        yield re.split(r"[@(]", plan["operatorType"])[0]
    for child in plan.get("children", ()):
        yield from _operators(child)
