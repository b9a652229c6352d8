"""Schedules of unit messages on hypercubes, to hold lower bounds against: the catalogue has only broadcasts there.

They are those of Fragopoulou & Akl, carried over to the trees of Johnsson & Ho; the simulator judges them like any other. Units
that go in copies are dealt to the k edge-disjoint trees in turn, so that the copies of one lie in different trees.
"""

from collections.abc import Iterator
from functools import partial
from itertools import count
from typing import NamedTuple

import numpy as np

from starcast.claims.check import ClaimCheck
from starcast.claims.reference import bfs
from starcast.collectives.columns import Columns, arranged, joined, routed
from starcast.collectives.schedule import Schedule
from starcast.topologies import Topology
from starcast.trees.forest import Forest

_TREES = "edge-disjoint-binomial"
_TREE = "binomial"


def unit_schedules_on_cube(
    check: ClaimCheck, collective: str, ports: str = "all", messages: int = 1, copies: int = 1
) -> Iterator[Schedule]:
    """All schedules that do this; under all-port those of one port are among them."""
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
    """The copies of all units: the message, the tree that it goes through, and how many copies that tree has before."""

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
    return arranged(
        rows, topology=topology, collective=collective, algorithm=algorithm, ports=ports, units=units, packets=False,
        forest=forest, symmetric=collective != "scatter",
    )  # fmt: skip


def _rows(rows: list[tuple[int, int, int, int]], topology: Topology) -> Columns:
    """Rows of step, sender, port and payload."""
    step, sender, port, payload = np.array(rows, dtype=np.int64).reshape(-1, 4).T
    receiver = sender ^ (1 << (topology.n - port))
    return Columns(step, sender, port, receiver, np.zeros_like(step), payload)


# One message


def _gray(check: ClaimCheck) -> Schedule:
    """allgather, one-port: along a Hamiltonian path, the Gray code, in 2^k - 1 steps."""
    topology, rows, at = check.topology, list[tuple[int, int, int, int]](), 0
    for step in range(1, topology.nodes):
        port = topology.n - ((step & -step).bit_length() - 1)
        rows.append((step, at, port, 0))
        at ^= 1 << (topology.n - port)
    return _schedule(topology, "allgather", "gray-code", _rows(rows, topology), 1, ports="one")


def _grown(check: ClaimCheck) -> Schedule:
    """allgather, all-port: in every step each port reaches a new node, the one with the fewest ways left, if there is one."""
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
    """scatter, one-port: farthest first along the binomial tree, one a step, in 2^k - 1 steps."""
    topology = check.topology
    forest = check.objects.forest(topology.spec, _TREE)
    node = np.argsort(-_levels(check, forest), kind="stable")[:-1]
    rows = routed(forest, np.zeros_like(node), node, np.arange(1, len(node) + 1), node)
    return _schedule(topology, "scatter", "one-port", rows, 1, ports="one", forest=forest)


def _walked(check: ClaimCheck) -> Schedule:
    """alltoall, one-port: for every destination all nodes use its ports, one after the other, in k 2^(k-1) steps."""
    topology = check.topology
    forest = check.objects.forest(topology.spec, _TREE)
    rows = _one_by_one(check, forest, [_Dealt(0, 0, 0)], 1, turned=False)
    return _schedule(topology, "alltoall", "one-port", rows, 1, ports="one", forest=forest)


def _packed(check: ClaimCheck) -> Schedule:
    """alltoall, all-port: in every step each port takes one of the units that need it, the one with most to go."""
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
    """Where a node goes when port 1 becomes port ``tree`` + 1: labels are turned to the right."""
    nodes = np.arange(topology.nodes)
    return (nodes >> tree) | ((nodes << (topology.n - tree)) & (topology.nodes - 1))


def _levels(check: ClaimCheck, forest: Forest) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Those of the first tree, of which the others are turned."""
    above = bfs.parents(check.objects, check.topology, forest.parent_port[0])
    return bfs.levels(above, forest.root).astype(np.int64)


def _spread(check: ClaimCheck, messages: int, copies: int) -> Schedule:
    """allgather: the trees' links level by level, one of each tree in a step, which are turned into one another."""
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
    return _schedule(topology, "allgather", "edge-disjoint", joined(parts), messages, forest=forest)


def _addressed(check: ClaimCheck, messages: int, copies: int) -> Schedule:
    """scatter: every node's copies through the next trees in turn, and through every tree one a step, the farthest first."""
    topology = check.topology
    forest = check.objects.forest(topology.spec, _TREES)
    levels = bfs.depths(check.objects, topology, forest.parent_port, forest.root).astype(np.int64)
    copy, node = np.divmod(np.arange(messages * copies * topology.nodes), topology.nodes)
    copy, node = copy[node > 0], node[node > 0]
    tree = (copy + node * messages * copies) % topology.degree
    order = np.lexsort((copy, node, -levels[tree, node], tree))
    copy, node, tree = copy[order], node[order], tree[order]
    step = np.arange(len(tree)) - np.searchsorted(tree, tree) + 1
    rows = routed(forest, tree, node, step, node * messages + copy // copies)
    return _schedule(topology, "scatter", "edge-disjoint", rows, messages, forest=forest)


def _exchanged(check: ClaimCheck, messages: int, copies: int) -> Schedule:
    """alltoall: through every tree to a node turned with the tree, and the next when it has arrived."""
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
            routed(forest, np.full(len(node), tree), node, step, node * messages + message)
        )
    return joined(parts)
