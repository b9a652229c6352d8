"""Schedules of unit messages on hypercubes that are compared with lower bounds.

The catalogue has only broadcasts on hypercubes. These are the schedules of Fragopoulou & Akl on the
trees of Johnsson & Ho; the simulator verifies them like any other schedule. The copies of units
are distributed round robin over the k edge-disjoint trees, so that those of one unit use different
trees.
"""

from collections.abc import Iterator
from functools import partial
from itertools import count
from typing import NamedTuple

import numpy as np

from starcast.claims.check import ClaimCheck
from starcast.claims.reference import bfs
from starcast.collectives.model import Schedule, build_schedule
from starcast.collectives.rows import Columns, concatenate_rows, route_units
from starcast.topologies import Topology
from starcast.trees.model import Forest

_TREES = "edge-disjoint-binomial"
_TREE = "binomial"


def unit_schedules_on_cube(
    check: ClaimCheck, collective: str, ports: str = "all", messages: int = 1, copies: int = 1
) -> Iterator[Schedule]:
    """Yield all schedules of a collective; all-port includes one-port schedules."""
    spec, key = check.topology.spec, (messages, copies)
    objects = check.objects
    if collective == "broadcast":
        yield objects.schedule(spec, collective, _TREES, messages=messages, copies=copies)
        if copies == 1:
            yield objects.schedule(spec, collective, _TREE, segments=messages)
        return
    if copies == messages == 1:
        alone = {"allgather": (_gray, _grown), "scatter": (_sent,), "alltoall": (_walked, _packed)}[
            collective
        ]
        for make in alone[: 1 if ports == "one" else 2]:
            yield objects.get_or_create(
                "schedule", (spec, f"{collective} {make.__name__}"), partial(make, check)
            )
    if ports == "all":
        copied = {"allgather": _spread, "scatter": _addressed, "alltoall": _exchanged}[collective]
        yield objects.get_or_create(
            "schedule", (spec, f"{collective} in copies", *key), lambda: copied(check, *key)
        )


class _Dealt(NamedTuple):
    """A copy of a unit: its message, its tree, and the number of earlier copies in the tree."""

    message: int
    tree: int
    turn: int


def _dealt(topology: Topology, messages: int, copies: int) -> list[_Dealt]:
    return [
        _Dealt(copy // copies, copy % topology.degree, copy // topology.degree)
        for copy in range(messages * copies)
    ]


def _schedule(
    topology: Topology,
    collective: str,
    algorithm: str,
    rows: Columns,
    messages: int,
    *,
    ports: str = "all",
    forest: Forest | None = None,
) -> Schedule:
    units = messages if collective == "allgather" else messages * topology.nodes
    return build_schedule(
        rows,
        topology=topology,
        collective=collective,
        algorithm=algorithm,
        ports=ports,
        units=units,
        packets=False,
        forest=forest,
        symmetric=collective != "scatter",
    )


def _rows(rows: list[tuple[int, int, int, int]], topology: Topology) -> Columns:
    """Return columns from rows of step, sender, port and unit."""
    step, sender, port, unit = np.array(rows, dtype=np.int64).reshape(-1, 4).T
    receiver = sender ^ (1 << (topology.n - port))
    return Columns(step, sender, port, receiver, np.zeros_like(step), unit)


# One message


def _gray(check: ClaimCheck) -> Schedule:
    """Return a one-port allgather along the Gray code, a Hamiltonian path, in 2^k - 1 steps."""
    topology, rows, at = check.topology, list[tuple[int, int, int, int]](), 0
    for step in range(1, topology.nodes):
        port = topology.n - ((step & -step).bit_length() - 1)
        rows.append((step, at, port, 0))
        at ^= 1 << (topology.n - port)
    return _schedule(topology, "allgather", "gray-code", _rows(rows, topology), 1, ports="one")


def _grown(check: ClaimCheck) -> Schedule:
    """Return an all-port allgather that reaches a new node over each port in every step.

    Of several new nodes it reaches the one with the fewest remaining choices.
    """
    topology, rows, since = check.topology, list[tuple[int, int, int, int]](), {0: 0}
    for step in count(1):
        if len(since) == topology.nodes:
            break
        for port in topology.ports:
            bit = 1 << (topology.n - port)
            near = [
                node ^ bit
                for node, when in since.items()
                if when < step and node ^ bit not in since
            ]
            if near:
                node = min(near, key=lambda node: (node.bit_count(), node))
                rows.append((step, node ^ bit, port, 0))
                since[node] = step
    return _schedule(topology, "allgather", "grown", _rows(rows, topology), 1)


def _sent(check: ClaimCheck) -> Schedule:
    """Return a one-port scatter along the binomial tree, farthest first, in 2^k - 1 steps."""
    topology = check.topology
    forest = check.objects.forest(topology.spec, _TREE)
    node = np.argsort(-_levels(check, forest), kind="stable")[:-1]
    rows = route_units(forest, np.zeros_like(node), node, np.arange(1, len(node) + 1), node)
    return _schedule(topology, "scatter", "one-port", rows, 1, ports="one", forest=forest)


def _walked(check: ClaimCheck) -> Schedule:
    """Return a one-port alltoall in k 2^(k-1) steps.

    For every destination all nodes use its ports, one after the other.
    """
    topology = check.topology
    forest = check.objects.forest(topology.spec, _TREE)
    rows = _one_by_one(check, forest, [_Dealt(0, 0, 0)], 1, turned=False)
    return _schedule(topology, "alltoall", "one-port", rows, 1, ports="one", forest=forest)


def _packed(check: ClaimCheck) -> Schedule:
    """Return an all-port alltoall: each port sends a unit that needs it and has farthest to go."""
    topology, rows = check.topology, list[tuple[int, int, int, int]]()
    left = {node: node for node in range(1, topology.nodes)}
    for step in count(1):
        if not left:
            break
        moving: set[int] = set()
        for port in sorted(
            topology.ports,
            key=lambda port: sum(bits >> (topology.n - port) & 1 for bits in left.values()),
        ):
            bit = 1 << (topology.n - port)
            able = [unit for unit, bits in left.items() if bits & bit and unit not in moving]
            if able:
                unit = max(able, key=lambda unit: (left[unit].bit_count(), -unit))
                rows.append((step, unit ^ left[unit], port, unit))
                left[unit] ^= bit
                moving.add(unit)
        left = {unit: bits for unit, bits in left.items() if bits}
    return _schedule(topology, "alltoall", "packed", _rows(rows, topology), 1)


# M messages in x copies, through edge-disjoint trees


def _turned(topology: Topology, tree: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return the image of a node when labels are rotated right, so that port 1 becomes tree + 1."""
    nodes = np.arange(topology.nodes)
    return (nodes >> tree) | ((nodes << (topology.n - tree)) & (topology.nodes - 1))


def _levels(check: ClaimCheck, forest: Forest) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return the links of the first tree; the other trees are its rotations."""
    above = bfs.parents(check.objects, check.topology, forest.parent_port[0])
    return bfs.levels(above, forest.root).astype(np.int64)


def _spread(check: ClaimCheck, messages: int, copies: int) -> Schedule:
    """Return an allgather over the trees level by level, with one link of each tree per step."""
    topology = check.topology
    forest = check.objects.forest(topology.spec, _TREES)
    order = np.argsort(_levels(check, forest), kind="stable")[1:]
    parts = []
    for message, tree, turn in _dealt(topology, messages, copies):
        node = _turned(topology, tree)[order]
        port = forest.parent_port[tree, node].astype(np.int64)
        same = np.full(len(node), 1)
        step = np.arange(1, len(node) + 1) + turn * len(node)
        parts.append(
            Columns(
                step, node ^ (1 << (topology.n - port)), port, node, same * tree, same * message
            )
        )
    return _schedule(
        topology, "allgather", "edge-disjoint", concatenate_rows(parts), messages, forest=forest
    )


def _addressed(check: ClaimCheck, messages: int, copies: int) -> Schedule:
    """Return a scatter with one unit per tree and step, farthest first; copies alternate trees."""
    topology = check.topology
    forest = check.objects.forest(topology.spec, _TREES)
    levels = bfs.depths(check.objects, topology, forest.parent_port, forest.root).astype(np.int64)
    copy, node = np.divmod(np.arange(messages * copies * topology.nodes), topology.nodes)
    copy, node = copy[node > 0], node[node > 0]
    tree = (copy + node * messages * copies) % topology.degree
    order = np.lexsort((copy, node, -levels[tree, node], tree))
    copy, node, tree = copy[order], node[order], tree[order]
    step = np.arange(len(tree)) - np.searchsorted(tree, tree) + 1
    rows = route_units(forest, tree, node, step, node * messages + copy // copies)
    return _schedule(topology, "scatter", "edge-disjoint", rows, messages, forest=forest)


def _exchanged(check: ClaimCheck, messages: int, copies: int) -> Schedule:
    """Return an alltoall with one unit per tree at a time, to destinations rotated with it."""
    forest = check.objects.forest(check.topology.spec, _TREES)
    rows = _one_by_one(
        check, forest, _dealt(check.topology, messages, copies), messages, turned=True
    )
    return _schedule(check.topology, "alltoall", "edge-disjoint", rows, messages, forest=forest)


def _one_by_one(
    check: ClaimCheck, forest: Forest, dealt: list[_Dealt], messages: int, *, turned: bool
) -> Columns:
    level = _levels(check, forest)[1:]
    begins = np.cumsum(level) - level + 1
    parts = []
    for message, tree, turn in dealt:
        node = _turned(check.topology, tree)[1:] if turned else np.arange(1, check.topology.nodes)
        step = begins + turn * int(level.sum())
        parts.append(
            route_units(forest, np.full(len(node), tree), node, step, node * messages + message)
        )
    return concatenate_rows(parts)
