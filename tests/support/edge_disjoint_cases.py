"""Schedules along edge-disjoint trees, and the units that nodes hold first and need at the end."""

from collections.abc import Callable
from functools import cache
from math import factorial

from oracles.schedule_rows import Row
from oracles.star_graph import Node, identity, label, nodes, ranks
from starcast.collectives import Schedule
from starcast.collectives import schedule as build
from support.meeting import plain_rows

COLLECTIVES = ("broadcast", "allgather", "scatter", "gather", "alltoall")
ADDRESSED = ("scatter", "gather", "alltoall")


@cache
def built(
    collective: str, n: int, messages: int, copies: int, root: Node | None = None
) -> Schedule:
    """Return the schedule along edge-disjoint trees that starcast builds."""
    at = label(root or identity(n))
    return build(f"S{n}", collective, "edge-disjoint", root=at, messages=messages, copies=copies)


@cache
def rows(
    collective: str, n: int, messages: int, copies: int, root: Node | None = None
) -> tuple[Row, ...]:
    """Return the rows of the schedule that `built` returns, with nodes instead of ranks."""
    return tuple(plain_rows(built(collective, n, messages, copies, root)))


def others(root: Node) -> list[Node]:
    """Return all nodes except the root."""
    return [node for node in nodes(len(root)) if node != root]


def held_first(collective: str, root: Node, messages: int) -> dict[Node, set[int]]:
    """Return the units that each node holds before step 1 of the rows of one source.

    In a gather every node holds its own units; in all other collectives the root holds all units.
    """
    if collective == "gather":
        return {node: set(own_units(node, messages)) for node in others(root)}
    count = messages * (factorial(len(root)) if collective in ADDRESSED else 1)
    return {root: set(range(count))}


def required_last(
    collective: str, root: Node, messages: int, alive: Callable[[Node], bool] = lambda _: True
) -> dict[Node, set[int]]:
    """Return the units that each node must receive, without units to or from faulty nodes."""
    living = [node for node in others(root) if alive(node)]
    if not alive(root):
        return {}
    if collective == "gather":
        return {root: {unit for node in living for unit in own_units(node, messages)}}
    if collective in ADDRESSED:
        return {node: set(own_units(node, messages)) for node in living}
    return {node: set(range(messages)) for node in living}


def own_units(node: Node, messages: int) -> range:
    """Return the units sent to or from this node: rank*messages + i for message i."""
    first = ranks(len(node))[node] * messages
    return range(first, first + messages)


def lacking(required: dict[Node, set[int]], got: dict[Node, set[int]]) -> set[tuple[Node, int]]:
    """Return the required (node, unit) pairs that are missing from the units held."""
    return {
        (node, unit) for node, units in required.items() for unit in units - got.get(node, set())
    }
