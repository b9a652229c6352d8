"""Schedules of unit messages on hypercubes, to hold lower bounds against: the catalogue has only broadcasts there.

They are those of Fragopoulou & Akl, carried over to the trees of Johnsson & Ho; the simulator judges them like any other. Units
that go in copies are dealt to the k edge-disjoint trees in turn, so that the copies of one lie in different trees.
"""

from collections.abc import Iterator
from itertools import count
from typing import NamedTuple

import numpy as np

from starcast.claims.instruments import searching
from starcast.claims.see import See
from starcast.collectives.model import Schedule, build_schedule
from starcast.collectives.rows import Columns, concatenate_rows, route_units
from starcast.topologies import Topology
from starcast.trees.model import Forest

_TREES = "edge-disjoint-binomial"
_TREE = "binomial"


def on_cubes(
    see: See, collective: str, ports: str = "all", messages: int = 1, copies: int = 1
) -> Iterator[Schedule]:
    """All schedules that do this; under all-port those of one port are among them."""
    spec, key = see.where.spec, (messages, copies)
    lab = see.lab
    if collective == "broadcast":
        yield lab.schedule(spec, collective, _TREES, messages=messages, copies=copies)
        if copies == 1:
            yield lab.schedule(spec, collective, _TREE, segments=messages)
        return
    if copies == messages == 1:
        alone = {"allgather": (_gray, _grown), "scatter": (_sent,), "alltoall": (_walked, _packed)}[
            collective
        ]
        for make in alone[: 1 if ports == "one" else 2]:
            yield lab.keep(
                "schedule", (spec, f"{collective} {make.__name__}"), lambda make=make: make(see)
            )  # type: ignore[misc]
    if ports == "all":
        copied = {"allgather": _spread, "scatter": _addressed, "alltoall": _exchanged}[collective]
        yield lab.keep(
            "schedule", (spec, f"{collective} in copies", *key), lambda: copied(see, *key)
        )


class _Dealt(NamedTuple):
    """The copies of all units: the message, the tree that it goes through, and how many copies that tree has before."""

    message: int
    tree: int
    turn: int


def _dealt(where: Topology, messages: int, copies: int) -> list[_Dealt]:
    return [
        _Dealt(copy // copies, copy % where.degree, copy // where.degree)
        for copy in range(messages * copies)
    ]


def _schedule(
    where: Topology,
    collective: str,
    algorithm: str,
    rows: Columns,
    messages: int,
    *,
    ports: str = "all",
    forest: Forest | None = None,
) -> Schedule:
    units = messages if collective == "allgather" else messages * where.nodes
    return build_schedule(
        rows, topology=where, collective=collective, algorithm=algorithm, ports=ports, units=units, packets=False,
        forest=forest, symmetric=collective != "scatter",
    )  # fmt: skip


def _rows(rows: list[tuple[int, int, int, int]], where: Topology) -> Columns:
    """Rows of step, sender, port and unit."""
    step, sender, port, unit = np.array(rows, dtype=np.int64).reshape(-1, 4).T
    receiver = sender ^ (1 << (where.n - port))
    return Columns(step, sender, port, receiver, np.zeros_like(step), unit)


# One message


def _gray(see: See) -> Schedule:
    """allgather, one-port: along a Hamiltonian path, the Gray code, in 2^k - 1 steps."""
    where, rows, at = see.where, list[tuple[int, int, int, int]](), 0
    for step in range(1, where.nodes):
        port = where.n - ((step & -step).bit_length() - 1)
        rows.append((step, at, port, 0))
        at ^= 1 << (where.n - port)
    return _schedule(where, "allgather", "gray-code", _rows(rows, where), 1, ports="one")


def _grown(see: See) -> Schedule:
    """allgather, all-port: in every step each port reaches a new node, the one with the fewest ways left, if there is one."""
    where, rows, since = see.where, list[tuple[int, int, int, int]](), {0: 0}
    for step in count(1):
        if len(since) == where.nodes:
            break
        for port in where.ports:
            bit = 1 << (where.n - port)
            near = [
                node ^ bit
                for node, when in since.items()
                if when < step and node ^ bit not in since
            ]
            if near:
                node = min(near, key=lambda node: (node.bit_count(), node))
                rows.append((step, node ^ bit, port, 0))
                since[node] = step
    return _schedule(where, "allgather", "grown", _rows(rows, where), 1)


def _sent(see: See) -> Schedule:
    """scatter, one-port: farthest first along the binomial tree, one a step, in 2^k - 1 steps."""
    where = see.where
    forest = see.lab.forest(where.spec, _TREE)
    node = np.argsort(-_levels(see, forest), kind="stable")[:-1]
    rows = route_units(forest, np.zeros_like(node), node, np.arange(1, len(node) + 1), node)
    return _schedule(where, "scatter", "one-port", rows, 1, ports="one", forest=forest)


def _walked(see: See) -> Schedule:
    """alltoall, one-port: for every destination all nodes use its ports, one after the other, in k 2^(k-1) steps."""
    where = see.where
    forest = see.lab.forest(where.spec, _TREE)
    rows = _one_by_one(see, forest, [_Dealt(0, 0, 0)], 1, turned=False)
    return _schedule(where, "alltoall", "one-port", rows, 1, ports="one", forest=forest)


def _packed(see: See) -> Schedule:
    """alltoall, all-port: in every step each port takes one of the units that need it, the one with most to go."""
    where, rows = see.where, list[tuple[int, int, int, int]]()
    left = {node: node for node in range(1, where.nodes)}
    for step in count(1):
        if not left:
            break
        moving: set[int] = set()
        for port in sorted(
            where.ports,
            key=lambda port: sum(bits >> (where.n - port) & 1 for bits in left.values()),
        ):
            bit = 1 << (where.n - port)
            able = [unit for unit, bits in left.items() if bits & bit and unit not in moving]
            if able:
                unit = max(able, key=lambda unit: (left[unit].bit_count(), -unit))
                rows.append((step, unit ^ left[unit], port, unit))
                left[unit] ^= bit
                moving.add(unit)
        left = {unit: bits for unit, bits in left.items() if bits}
    return _schedule(where, "alltoall", "packed", _rows(rows, where), 1)


# M messages in x copies, through edge-disjoint trees


def _turned(where: Topology, tree: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Where a node goes when port 1 becomes port ``tree`` + 1: labels are turned to the right."""
    nodes = np.arange(where.nodes)
    return (nodes >> tree) | ((nodes << (where.n - tree)) & (where.nodes - 1))


def _levels(see: See, forest: Forest) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Those of the first tree, of which the others are turned."""
    above = searching.parents(see.lab, see.where, forest.parent_port[0])
    return searching.levels(above, forest.root).astype(np.int64)


def _spread(see: See, messages: int, copies: int) -> Schedule:
    """allgather: the trees' links level by level, one of each tree in a step, which are turned into one another."""
    where = see.where
    forest = see.lab.forest(where.spec, _TREES)
    order = np.argsort(_levels(see, forest), kind="stable")[1:]
    parts = []
    for message, tree, turn in _dealt(where, messages, copies):
        node = _turned(where, tree)[order]
        port = forest.parent_port[tree, node].astype(np.int64)
        same = np.full(len(node), 1)
        step = np.arange(1, len(node) + 1) + turn * len(node)
        parts.append(
            Columns(step, node ^ (1 << (where.n - port)), port, node, same * tree, same * message)
        )
    return _schedule(where, "allgather", "edge-disjoint", concatenate_rows(parts), messages, forest=forest)


def _addressed(see: See, messages: int, copies: int) -> Schedule:
    """scatter: every node's copies through the next trees in turn, and through every tree one a step, the farthest first."""
    where = see.where
    forest = see.lab.forest(where.spec, _TREES)
    levels = searching.depths(see.lab, where, forest.parent_port, forest.root).astype(np.int64)
    copy, node = np.divmod(np.arange(messages * copies * where.nodes), where.nodes)
    copy, node = copy[node > 0], node[node > 0]
    tree = (copy + node * messages * copies) % where.degree
    order = np.lexsort((copy, node, -levels[tree, node], tree))
    copy, node, tree = copy[order], node[order], tree[order]
    step = np.arange(len(tree)) - np.searchsorted(tree, tree) + 1
    rows = route_units(forest, tree, node, step, node * messages + copy // copies)
    return _schedule(where, "scatter", "edge-disjoint", rows, messages, forest=forest)


def _exchanged(see: See, messages: int, copies: int) -> Schedule:
    """alltoall: through every tree to a node turned with the tree, and the next when it has arrived."""
    forest = see.lab.forest(see.where.spec, _TREES)
    rows = _one_by_one(see, forest, _dealt(see.where, messages, copies), messages, turned=True)
    return _schedule(see.where, "alltoall", "edge-disjoint", rows, messages, forest=forest)


def _one_by_one(
    see: See, forest: Forest, dealt: list[_Dealt], messages: int, *, turned: bool
) -> Columns:
    level = _levels(see, forest)[1:]
    begins = np.cumsum(level) - level + 1
    parts = []
    for message, tree, turn in dealt:
        node = _turned(see.where, tree)[1:] if turned else np.arange(1, see.where.nodes)
        step = begins + turn * int(level.sum())
        parts.append(
            route_units(forest, np.full(len(node), tree), node, step, node * messages + message)
        )
    return concatenate_rows(parts)
