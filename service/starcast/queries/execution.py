"""Run queries, and check the execution plans of queries.

Queries only read, have a row limit and a time limit, and use only topologies, forests and schedules
that are completely stored.
"""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from starcast.queries.parameters import STORED, Parameter, values_of_type
from starcast.queries.query import Query
from starcast.stores.graph.connection import Graph, Notice, QueryResult
from starcast.stores.graph.schema import ELEMENTS, INDEXES, GraphState
from starcast.support.errors import InputError, LimitError, NotFoundError
from starcast.support.text import did_you_mean

_STATES = {
    "topology": "MATCH (t:Topology) WHERE t.spec IN $ids RETURN t.spec AS id, t.state AS state",
    "forest": """
        MATCH (f:Forest)-[:ON]->(t:Topology) WHERE f.id IN $ids
        RETURN f.id AS id, f.trees AS trees,
          CASE t.state WHEN 'complete' THEN f.state ELSE t.state END AS state""",
    "schedule": """
        MATCH (s:Schedule) WHERE s.id IN $ids
        MATCH (t:Topology {spec: s.topology})
        RETURN s.id AS id, CASE t.state WHEN 'complete' THEN s.state ELSE t.state END AS state""",
}
#: Operators of plans that scan all nodes or relationships, or form a Cartesian product, with advice
#: on how to avoid them.
_COSTLY = {
    "CartesianProduct": "connect the two patterns, or put one into a CALL (v) {} subquery",
    "AllNodesScan": "give each node a label",
    "AllRelationshipsScan": "give each relationship a type",
}
# Plan operators that write. EXPLAIN reports no error for them, because the server refuses writes
# only during execution.
_WRITING = re.compile(
    r"Create|Merge|Delete|Remove|^Set|Foreach|LoadCSV|ProcedureCall"
    r"|TransactionForeach|TransactionApply"
)
#: Time limit for planning a query, in seconds.
_PLAN_SECONDS = 30.0
#: GQL status codes for labels, types and properties that do not occur in the store.
_UNKNOWN_NAME = {"01N50", "01N51", "01N52"}


def run(
    graph: Graph,
    query: Query,
    values: Mapping[str, Any],
    *,
    row_limit: int = 1_000,
    timeout: float = 30.0,
) -> QueryResult:
    """Run a query and return its rows.

    Args:
        graph: the open graph store.
        query: the query.
        values: the values of the query's parameters by name, as `starcast.queries.parameters.bind`
            returns them.
        row_limit: the maximum number of rows.
        timeout: seconds after which the server stops the query.

    Returns:
        The rows, and all parameter values, including computed values; ``more`` is true if there are
        more rows than the row limit.

    Raises:
        InputError: a value cannot be computed, a forest lacks a given tree, the server rejects the
            Cypher, or the columns differ from those in the header.
        NotFoundError: an artifact named by a parameter is not stored completely.
        LimitError: the query takes longer than ``timeout``, or it or its result needs too much
            memory.
        UnavailableError: the server cannot be reached.
    """
    # Without this check, a query about a missing artifact would return no rows, which looks like a
    # valid result.
    require_complete(graph, query.parameters, values)
    query = query.for_server(graph.version)
    try:
        result = graph.run(query.cypher, query.compute(values), timeout, row_limit)
    except LimitError as error:
        hint = f"{narrowing_advice(query)}; or {error.hint}"
        raise LimitError(f"{query.name}: {error.message}", hint=hint) from None
    for problem in query.find_column_errors(result.columns):
        raise problem
    return result


def narrowing_advice(query: Query) -> str:
    """Return advice on how to restrict a query that takes too long or returns too many rows."""
    parameters = query.parameters
    artifacts = [each.name for each in parameters if each.type.name in STORED]
    numbers = [each.name for each in parameters if each.type.name in {"int", "float"}]
    advice = [f"choose a smaller {' or '.join(artifacts)}"] if artifacts else []
    advice += [f"tighten {' or '.join(numbers)}"] if numbers else []
    return ", ".join(advice) or "restrict the query"


def require_complete(
    graph: Graph, parameters: Sequence[Parameter], values: Mapping[str, Any]
) -> None:
    """Check that artifacts named by parameters are complete, and that forests have the named trees.

    Raises:
        NotFoundError: an artifact is not stored, or not completely; the hint names the command that
            stores the artifact.
        InputError: a forest has no tree with the given number.
    """
    for kind in STORED:
        ids = values_of_type(parameters, values, kind)
        rows = graph.read(_STATES[kind], {"ids": ids}) if ids else []
        stored = {row["id"]: row for row in rows}
        for artifact_id in ids:
            state = stored[artifact_id]["state"] if artifact_id in stored else None
            if state != GraphState.COMPLETE:
                raise _unusable(graph, kind, artifact_id, state)
        if kind == "forest":
            _check_trees(stored, [int(tree) for tree in values_of_type(parameters, values, "tree")])


def _unusable(graph: Graph, kind: str, artifact_id: str, state: str | None) -> NotFoundError:
    """Return the error for an artifact that is not stored (state None) or not completely stored."""
    subject = f"the {kind} '{artifact_id}' is not"
    command = ingest_command(kind, artifact_id)
    if state is not None:
        message = f"{subject} complete in the graph: its state is '{state}'"
        hint = f"wait for the running ingest, or run '{command}' to complete the {kind}"
        return NotFoundError(message, hint=hint)
    # All ids are read, so that the error can suggest a similar id.
    key = "spec" if kind == "topology" else "id"
    rows = graph.read(f"MATCH (o:{kind.capitalize()}) RETURN o.{key} AS id ORDER BY id")
    suggestion = did_you_mean(artifact_id, [row["id"] for row in rows])
    return NotFoundError(f"{subject} in the graph", hint=f"{suggestion}run '{command}'")


def _check_trees(forests: Mapping[str, Mapping[str, Any]], trees: Sequence[int]) -> None:
    for forest_id, row in forests.items():
        for tree in trees:
            if tree >= row["trees"]:
                raise InputError(
                    f"the forest '{forest_id}' has no tree {tree}",
                    hint=f"choose a tree from 0 to {row['trees'] - 1}",
                )


def ingest_command(kind: str, artifact_id: str) -> str:
    """Return the command that stores an artifact.

    If the id is malformed, or names an unknown construction or algorithm, the result is the command
    that lists the stored artifacts of this kind.

    Args:
        kind: ``topology``, ``forest`` or ``schedule``.
        artifact_id: the artifact's id.
    """
    # Imported only here, because successful queries need neither algorithms nor constructions.
    from starcast.collectives.algorithm import REGISTRIES  # noqa: PLC0415
    from starcast.support.vocabulary import EXPANDED  # noqa: PLC0415
    from starcast.trees import constructions  # noqa: PLC0415

    spec, *rest = parts = artifact_id.split(":")
    options: dict[str, str] = {}
    if kind == "forest" and len(parts) == 3 and rest[0].partition("(")[0] in constructions():
        options = ingest_options(kind, parts) | {"root": parts[2]}
    elif kind == "schedule" and len(parts) == 6 and rest[1] in REGISTRIES.get(rest[0], ()):
        options = ingest_options(kind, parts)
        if parts[5] != EXPANDED:
            options["root"] = parts[5]
    elif kind != "topology" or rest:
        return f"starcast {kind} list"
    return format_ingest(spec, options)


def format_ingest(spec: str, options: Mapping[str, str]) -> str:
    """Return the command 'starcast ingest' with the given options, by option name."""
    words = [word for name, value in options.items() for word in (f"--{name}", value)]
    return shlex.join(["starcast", "ingest", spec, *words])


def ingest_options(kind: str, parts: Sequence[str]) -> dict[str, str]:
    """Return the options of 'starcast ingest' that store an artifact, except ``--root``.

    Args:
        kind: ``forest`` or ``schedule``.
        parts: the parts of the id between its colons, the spec first.
    """
    if kind == "forest":
        return {"trees": parts[1]}
    arguments = f"({parts[4]})" if parts[4] else ""
    return {"schedules": f"{parts[1]}:{parts[2]}{arguments}", "ports": parts[3]}


def has_indexes(graph: Graph) -> bool:
    """Return whether the store has all indexes of the schema, which the first ingest creates."""
    # An index that is still being filled is treated as missing, because the planner ignores it.
    rows = graph.read("SHOW INDEXES YIELD name, state WHERE state = 'ONLINE' RETURN name")
    online = {row["name"] for row in rows}
    declared = [index.name for index in INDEXES]
    return online.issuperset(declared)


def find_problems(graph: Graph, query: Query, indexes: bool = True) -> list[str]:
    """Let Neo4j plan a query without executing it, and return the problems found, as sentences.

    Args:
        graph: the open graph store.
        query: the query to plan.
        indexes: whether the store has the schema's indexes. Without indexes, the planner cannot
            avoid scans and Cartesian products, so these are not reported.
    """
    sample = {
        each.name: each.type.sample() if each.required else each.default
        for each in query.parameters
    }
    sample |= {name: [] for name in query.computed}
    try:
        # EXPLAIN only plans, but the server still requires a value for every parameter.
        cypher = query.for_server(graph.version).cypher
        result = graph.run(f"EXPLAIN {cypher}", sample, _PLAN_SECONDS)
    except (InputError, LimitError) as error:
        return [error.message]
    planned = () if result.plan is None else plan_operators(result.plan)
    operators = dict.fromkeys(map(operator_name, planned))
    costly = [name for name in operators if indexes and name in _COSTLY]
    return [
        # The path of the file is removed, because each problem is listed next to its file.
        *(
            error.message.removeprefix(f"{query.path}: ")
            for error in query.find_column_errors(result.columns)
        ),
        *(notice.text for notice in unexpected_notices(result)),
        *(f"the plan contains {name}: {_COSTLY[name]}" for name in costly),
        *(f"the plan writes: {name}" for name in operators if _WRITING.search(name)),
    ]


def find_unknown_names(result: QueryResult) -> list[str]:
    """Return the texts of Neo4j's notices about labels, types and properties that do not exist.

    Names that the schema declares are not reported, even if no stored data have them yet.
    """
    return [each.text for each in unexpected_notices(result) if each.status in _UNKNOWN_NAME]


def unexpected_notices(result: QueryResult) -> list[Notice]:
    """Return Neo4j's notices, except those about names that the schema declares.

    Neo4j reports a declared name if no stored data have it: for example, the property `is_switch`
    if no stored network has switches.
    """
    declared = {name for element in ELEMENTS for name in (element.name, *element.names)}
    return [
        each
        for each in result.notices
        if each.status not in _UNKNOWN_NAME
        or declared.isdisjoint(re.findall(r"`(\w+)`", each.text))
    ]


def plan_operators(plan: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield all operators of an execution plan, parents before children.

    Example:
        >>> plan = {"operatorType": "ProduceResults@neo4j", "children": [{"operatorType": "Limit"}]}
        >>> [operator_name(operator) for operator in plan_operators(plan)]
        ['ProduceResults', 'Limit']
    """
    yield plan
    for child in plan.get("children", ()):
        yield from plan_operators(child)


def operator_name(operator: Mapping[str, Any]) -> str:
    """Return an operator's name, without the database name and without text in parentheses."""
    return re.split(r"[@(]", operator["operatorType"])[0]
