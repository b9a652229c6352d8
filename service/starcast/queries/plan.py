"""The query plans of the server: the checks of ``starcast query check`` that need a server."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from starcast.errors import InputError
from starcast.graph import schema
from starcast.graph.connection import Graph
from starcast.queries.pack import Query

#: Operators that read the complete store or multiply it, and what to do instead.
_COSTLY = {
    "CartesianProduct": "connect the two patterns, or put one into a CALL (v) {} subquery",
    "AllNodesScan": "give each node a label",
    "AllRelationshipsScan": "give each relationship a type",
}
_WRITING = re.compile(
    r"Create|Merge|Delete|Remove|^Set|Foreach|LoadCSV|ProcedureCall"
    r"|TransactionForeach|TransactionApply"
)
#: GQL status codes: a label, type or property that does not occur in the store.
_UNKNOWN_NAME = {"01N50", "01N51", "01N52"}


def has_indexes(graph: Graph) -> bool:
    """Return whether the store has all indexes of the schema; the first ingest creates them."""
    rows = graph.read("SHOW INDEXES YIELD name, state WHERE state = 'ONLINE' RETURN name")
    online = {row["name"] for row in rows}
    declared = [
        name
        for element in (*schema.LABELS, *schema.RELATIONSHIPS)
        for name in element.index_names()
    ]
    return online.issuperset(declared)


def find_problems(graph: Graph, query: Query, indexes: bool = True) -> list[str]:
    """Return the problems that the server's planner finds, one sentence each; nothing is executed.

    Args:
        graph: the open graph store.
        query: the query to plan.
        indexes: whether the store has the schema's indexes. Without them the planner cannot avoid
            operators that read or multiply the complete store, so those are not reported.
    """
    sample = {parameter.name: _sample(parameter) for parameter in query.parameters}
    try:
        result = graph.run(f"EXPLAIN {query.cypher}", sample)
    except InputError as error:
        return [error.message]
    notices = [each for each in result.notices if not _is_expected(each.status, each.text)]
    planned = () if result.plan is None else plan_operators(result.plan)
    operators = dict.fromkeys(map(operator_name, planned))
    costly = [name for name in operators if indexes and name in _COSTLY]
    return [
        *(notice.text for notice in notices),
        *(f"the plan contains {name}: {_COSTLY[name]}" for name in costly),
        *(f"the plan writes: {name}" for name in operators if _WRITING.search(name)),
    ]


def _sample(parameter: Any) -> Any:
    return parameter.type.sample() if parameter.required else parameter.default


def _is_expected(status: str, text: str) -> bool:
    """Return whether a notice is about a name of the schema that is not in the store yet."""
    declared = {
        name
        for element in (*schema.LABELS, *schema.RELATIONSHIPS)
        for name in (element.name, *element.names)
    }
    return status in _UNKNOWN_NAME and bool(declared & set(re.findall(r"`(\w+)`", text)))


def plan_operators(plan: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield all operators of a plan, from the result to the data.

    Example:
        >>> plan = {"operatorType": "ProduceResults@neo4j", "children": [{"operatorType": "Limit"}]}
        >>> [operator_name(operator) for operator in plan_operators(plan)]
        ['ProduceResults', 'Limit']
    """
    yield plan
    for child in plan.get("children", ()):
        yield from plan_operators(child)


def operator_name(operator: Mapping[str, Any]) -> str:
    """Return the name of an operator, without the database's name and text in parentheses."""
    return re.split(r"[@(]", operator["operatorType"])[0]
