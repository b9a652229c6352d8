"""Schedules as collections of rows: pipelines, expansion to all sources, and plain execution."""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any, NamedTuple

from oracles.rooted_trees import depths
from oracles.star_graph import Node, compose, dimension_between


class Row(NamedTuple):
    """A row of a schedule: one unit crosses one directed link in one step.

    Nodes are tuples of symbols, or strings of bits in a hypercube. A unit is any value. In
    reductions, ``combine`` states whether the receiver adds the unit or receives it complete.
    """

    step: int
    sender: Any
    port: int
    receiver: Any
    tree: int
    unit: Any
    combine: bool | None = None


def segments(trees: int, number: int) -> list[list[tuple[int, int]]]:
    """Return, for each tree, a list of units (tree, segment); both numbers start at 0."""
    return [[(tree, segment) for segment in range(number)] for tree in range(trees)]


def pipelined(
    trees: Sequence[Mapping[Any, Any]],
    root: Any,
    queues: Sequence[Sequence[Any]],
    port_between: Callable[[Any, Any], int] = dimension_between,
) -> set[Row]:
    """Return the rows that send a queue of units down every tree in a pipeline.

    The unit at position q of a queue (from 0) crosses links of level l in step q + l.
    """
    rows = set()
    for number, (tree, queue) in enumerate(zip(trees, queues, strict=True)):
        level = depths(tree, root)
        for child, parent in tree.items():
            port = port_between(parent, child)
            rows |= {
                Row(place + level[child], parent, port, child, number, unit)
                for place, unit in enumerate(queue)
            }
    return rows


def by_dimension(rows: Iterable[Row], ports: Sequence[int]) -> set[Row]:
    """Return one-port rows by splitting every step into one step per port, in the given order."""
    return {
        row._replace(step=(row.step - 1) * len(ports) + ports.index(row.port) + 1) for row in rows
    }


def backwards(rows: Collection[Row]) -> list[Row]:
    """Return the rows reversed in time and direction."""
    last = max(row.step for row in rows)
    return [
        row._replace(step=last + 1 - row.step, sender=row.receiver, receiver=row.sender)
        for row in rows
    ]


def for_all(
    rows: Iterable[Row], sources: Iterable[Node], relabel: Callable[[Node, Any], Any] = compose
) -> list[Row]:
    """Return the rows of all sources, given the rows of the identity.

    For source q, nodes are relabelled by q, and units become pairs (q, unit).
    """
    base = list(rows)
    return [
        row._replace(
            sender=relabel(q, row.sender), receiver=relabel(q, row.receiver), unit=(q, row.unit)
        )
        for q in sources
        for row in base
    ]


class Execution(NamedTuple):
    """Execution results.

    Attributes:
        holds: the units of each node at the end.
        packets: the size of the largest packet of each step.
        lacking: the number of rows dropped because the sender lacked the unit.
    """

    holds: dict[Any, set[Any]]
    packets: dict[int, int]
    lacking: int


def execute(rows: Iterable[Row], held: Mapping[Any, Iterable[Any]]) -> Execution:
    """Execute a schedule step by step; the units on a link in a step form a packet.

    Args:
        rows: a schedule; rows whose sender lacks the unit are dropped.
        held: the units held before step 1.
    """
    holds = defaultdict[Any, set[Any]](set)
    holds.update({node: set(units) for node, units in held.items()})
    packets, lacking = dict[int, int](), 0
    for step, together in groupby(sorted(rows, key=attrgetter("step")), key=attrgetter("step")):
        now = list(together)
        moving = [row for row in now if row.unit in holds[row.sender]]
        lacking += len(now) - len(moving)
        sizes = Counter((row.sender, row.receiver) for row in moving)
        packets[step] = max(sizes.values(), default=0)
        for row in moving:
            holds[row.receiver].add(row.unit)
    return Execution(holds, packets, lacking)


def deliver_all(
    rows: Iterable[Row], held: Mapping[Any, Collection[Any]], every: Iterable[Any]
) -> dict[int, int]:
    """Execute a schedule, check that the nodes in ``every`` get all units, and return packet sizes.

    The result maps each step to the size of its largest packet.
    """
    units = set[Any]().union(*held.values())
    result = execute(rows, held)
    assert result.lacking == 0
    assert all(result.holds[node] == units for node in every)
    return result.packets


def is_one_port(rows: Iterable[Row]) -> bool:
    """Return whether every node sends and receives at most one packet per step."""
    links = {(row.step, row.sender, row.receiver) for row in rows}
    sends = Counter((step, sender) for step, sender, _ in links)
    receipts = Counter((step, receiver) for step, _, receiver in links)
    return max(sends.values()) == max(receipts.values()) == 1
