"""A query is asked only of what is stored whole: what is half loaded is never used."""

from collections.abc import Mapping, Sequence
from typing import Any

from starcast.errors import InputError, NotFoundError
from starcast.graph.connection import Graph
from starcast.queries.parameters import STORED, Parameter, names

_STATES = {
    "topology": "MATCH (t:Topology) WHERE t.name IN $names RETURN t.name AS name, t.state AS state",
    "forest": """
        MATCH (f:Forest)-[:ON]->(t:Topology) WHERE f.id IN $names
        RETURN f.id AS name, CASE t.state WHEN 'complete' THEN f.state ELSE t.state END AS state, f.trees AS trees""",
    "schedule": """
        MATCH (s:Schedule) WHERE s.id IN $names
        MATCH (t:Topology {name: s.topology})
        RETURN s.id AS name, CASE t.state WHEN 'complete' THEN s.state ELSE t.state END AS state""",
}


def require_complete(graph: Graph, parameters: Sequence[Parameter], values: Mapping[str, Any]) -> None:
    """Refuse a topology, forest or schedule that is not stored whole, and a tree that a forest does not have.

    Raises:
        NotFoundError: it is not in the graph, or not all of it; the hint is the command that puts it there.
        InputError: a forest has no tree of that number.
    """
    for kind in STORED:
        asked = names(parameters, values, kind)
        if not asked:
            continue
        found = {row["name"]: row for row in graph.read(_STATES[kind], {"names": asked})}
        for name in asked:
            _require(kind, name, found.get(name))
        if kind == "forest":
            _check_trees(found, [int(tree) for tree in names(parameters, values, "tree")])


def _require(kind: str, name: str, row: Mapping[str, Any] | None) -> None:
    if row is None:
        raise NotFoundError(f"the {kind} '{name}' is not in the graph", hint=f"run '{ingest_command(kind, name)}'")
    if row["state"] != "complete":
        raise NotFoundError(
            f"the {kind} '{name}' is not all in the graph: its state is '{row['state']}'",
            hint=f"wait for the ingest that is at it, or run '{ingest_command(kind, name)}', which finishes it",
        )


def _check_trees(forests: Mapping[str, Mapping[str, Any]], trees: Sequence[int]) -> None:
    for name, row in forests.items():
        for tree in trees:
            if tree >= row["trees"]:
                raise InputError(f"the forest '{name}' has no tree {tree}", hint=f"its trees are 0 to {row['trees'] - 1}")


def ingest_command(kind: str, name: str) -> str:
    """The command that stores a topology, a forest or a schedule of this name."""
    parts = name.split(":")
    if kind == "topology" or len(parts) < 3:
        return f"starcast ingest {parts[0]}"
    construction = parts[1] if kind == "forest" else parts[2]
    return f"starcast ingest {parts[0]} --trees {construction} --root {parts[-1]}"
