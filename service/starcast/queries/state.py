"""A query is asked only of what is stored whole: what is half loaded is never used."""

from collections.abc import Mapping, Sequence
from shlex import quote
from typing import Any

from starcast.collectives.catalogue import REGISTRIES
from starcast.collectives.model import EXPANDED
from starcast.errors import InputError, NotFoundError
from starcast.graph.connection import Graph
from starcast.graph.schema import GraphState
from starcast.queries.file_errors import meant
from starcast.queries.parameters import STORED, Parameter, names
from starcast.trees import constructions

_STATES = {
    "topology": "MATCH (t:Topology) WHERE t.spec IN $names RETURN t.spec AS name, t.state AS state",
    "forest": """
        MATCH (f:Forest)-[:ON]->(t:Topology) WHERE f.id IN $names
        RETURN f.id AS name, CASE t.state WHEN 'complete' THEN f.state ELSE t.state END AS state, f.trees AS trees""",
    "schedule": """
        MATCH (s:Schedule) WHERE s.id IN $names
        MATCH (t:Topology {spec: s.topology})
        RETURN s.id AS name, CASE t.state WHEN 'complete' THEN s.state ELSE t.state END AS state""",
}
_KEYS = {
    "topology": ("Topology", "spec"),
    "forest": ("Forest", "id"),
    "schedule": ("Schedule", "id"),
}


def require_complete(
    graph: Graph, parameters: Sequence[Parameter], values: Mapping[str, Any]
) -> None:
    """Refuse a topology, forest or schedule that is not stored whole, and a tree that a forest does not have.

    Raises:
        NotFoundError: it is not in the graph, or not all of it; the hint says what is near and how to store it.
        InputError: a forest has no tree of that number.
    """
    for kind in STORED:
        asked = names(parameters, values, kind)
        found = (
            {row["name"]: row for row in graph.read(_STATES[kind], {"names": asked})}
            if asked
            else {}
        )
        for name in asked:
            if name not in found:
                raise _missing(graph, kind, name)
            if found[name]["state"] != GraphState.COMPLETE:
                raise _unfit(kind, name, found[name]["state"])
        if kind == "forest":
            _check_trees(found, [int(tree) for tree in names(parameters, values, "tree")])


def _unfit(kind: str, name: str, state: str) -> NotFoundError:
    """What is there and may not be used."""
    if state == GraphState.IMPORTED:
        return NotFoundError(
            f"the {kind} '{name}' was imported, and nobody has compared it yet",
            hint="run 'starcast graph adopt', which compares it and makes it complete",
        )
    return NotFoundError(
        f"the {kind} '{name}' is not all in the graph: its state is '{state}'",
        hint=f"wait for the ingest that is at it, or run '{ingest_command(kind, name)}', which finishes it",
    )


def _missing(graph: Graph, kind: str, name: str) -> NotFoundError:
    label, key = _KEYS[kind]
    stored = [
        row["name"] for row in graph.read(f"MATCH (o:{label}) RETURN o.{key} AS name ORDER BY name")
    ]
    return NotFoundError(
        f"the {kind} '{name}' is not in the graph",
        hint=f"{meant(name, stored)}run '{ingest_command(kind, name)}'",
    )


def _check_trees(forests: Mapping[str, Mapping[str, Any]], trees: Sequence[int]) -> None:
    for name, row in forests.items():
        for tree in trees:
            if tree >= row["trees"]:
                raise InputError(
                    f"the forest '{name}' has no tree {tree}",
                    hint=f"its trees are 0 to {row['trees'] - 1}",
                )


def ingest_command(kind: str, name: str) -> str:
    """The command that stores a topology, a forest or a schedule of this name, or the list where the name is none."""
    parts = name.split(":")
    words = f"starcast ingest {parts[0]}"
    if kind == "topology" and len(parts) == 1:
        return words
    if kind == "forest" and len(parts) == 3 and parts[1].partition("(")[0] in constructions():
        return f"{words} --trees {quote(parts[1])} --root {parts[2]}"
    if kind == "schedule" and len(parts) == 6 and parts[2] in REGISTRIES.get(parts[1], ()):
        arguments = f"({parts[4]})" if parts[4] else ""
        root = f" --root {parts[5]}" if parts[5] != EXPANDED else ""
        return f"{words} --schedules {quote(f'{parts[1]}:{parts[2]}{arguments}')} --ports {parts[3]}{root}"
    return f"starcast {'tree' if kind == 'forest' else kind} list"
