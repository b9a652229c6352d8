"""Route units along forests, and sort and translate the rows of schedules."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from starcast.support.arrays import Integers, Mask, freeze
from starcast.topologies import Topology
from starcast.topologies.base import find_ports
from starcast.topologies.permutations import Ranks
from starcast.trees import Forest


class Columns(NamedTuple):
    """The rows of a schedule, in any order, as columns; `Schedule` documents the columns.

    Only reductions have the column ``combine``.
    """

    step: Integers
    sender: Integers
    port: Integers
    receiver: Integers
    tree: Integers
    unit: Integers
    combine: NDArray[np.bool_] | None = None

    def present(self) -> dict[str, Any]:
        """Return a mapping from column name to array, without ``combine`` if it is None."""
        return {name: column for name, column in self._asdict().items() if column is not None}

    def apply(self, function: Callable[[NDArray[Any]], NDArray[Any]]) -> "Columns":
        """Return new columns: the results of applying a function to each column."""
        return Columns(**{name: function(column) for name, column in self.present().items()})

    @classmethod
    def along_one_tree(
        cls, step: Integers, sender: Integers, port: Integers, receiver: Integers, unit: Integers
    ) -> "Columns":
        """Return rows whose units all travel along tree 0."""
        tree = np.zeros(len(unit), dtype=np.uint8)
        # Building a schedule takes less memory with the final dtypes.
        step, unit = np.asarray(step, dtype=np.int32), np.asarray(unit, dtype=np.int32)
        return cls(step, sender, port, receiver, tree, unit)


#: The columns that every schedule has.
INTEGER_COLUMNS = Columns._fields[:-1]
#: The final dtypes of the columns.
DTYPES: dict[str, Any] = {
    "step": np.int32,
    "sender": np.int32,
    "port": np.uint8,
    "receiver": np.int32,
    "tree": np.uint8,
    "unit": np.int32,
    "combine": np.bool_,
}


def sort_rows(rows: Columns) -> Columns:
    """Return read-only columns of the final dtypes, sorted by step, sender, port, tree and unit."""
    order = _sort_order(rows)
    columns: dict[str, Any] = {
        name: freeze(np.asarray(column[order], dtype=DTYPES[name]))
        for name, column in rows.present().items()
    }
    return Columns(**columns)


def route_units(
    forest: Forest,
    tree: Integers,
    destination: Integers,
    departure: Integers,
    unit: Integers,
    gap: int = 1,
) -> Columns:
    """Return the rows of units, each of which travels from the root to one destination.

    On its path, each unit makes one hop every ``gap`` steps.

    Args:
        forest: the trees along which the units travel.
        tree: int ``[units]``, the tree of each unit.
        destination: int ``[units]``, ranks of nodes in that tree other than the root.
        departure: int ``[units]``, the step in which each unit crosses its first link.
        unit: int ``[units]``, the number of each unit.
        gap: the number of steps from one hop of a unit to the next.
    """
    parents = forest.parents()
    reverse_ports = forest.topology.reverse_ports()
    level = forest.levels()[tree, destination].astype(np.int64)
    node = np.asarray(destination)
    index = np.arange(len(level))
    parts = []
    # Paths are followed from the destinations up to the root. Each iteration adds one hop for each
    # unit that has not reached the root.
    while len(index):
        parent = parents[tree[index], node]
        step = departure[index] + gap * (level[index] - 1)
        port = reverse_ports[forest.parent_port[tree[index], node]]
        parts.append(Columns(step, parent, port, node, tree[index], unit[index]))
        level[index] -= 1
        remaining = level[index] > 0
        node = parent[remaining]
        index = index[remaining]
    return concatenate_rows(parts)


def flood_units(
    forest: Forest, tree: Integers, delay: Integers, unit: Integers, first: Integers
) -> Columns:
    """Return the rows of units, each of which travels from the root to all endpoints of its tree.

    A unit reaches a node in step ``first[tree, node] + delay``. A switch receives units only if
    there are endpoints below it in the tree.

    Args:
        forest: the trees, which need not span the topology.
        tree: int ``[units]``, the tree of each unit.
        delay: int ``[units]``, the number of steps by which each unit follows the first unit of its
            tree.
        unit: int ``[units]``, the number of each unit.
        first: int ``[trees, nodes]``, the step in which the first unit of a tree reaches a node.
    """
    reverse_ports = forest.topology.reverse_ports()
    parts = []
    for number, (ports, parents, receives) in enumerate(
        zip(forest.parent_port, forest.parents(), _find_receivers(forest), strict=True)
    ):
        node = np.flatnonzero(receives).astype(np.int32)
        index = np.flatnonzero(tree == number)
        rows = Columns(
            step=(first[number, node] + delay[index, None].astype(np.int32)).reshape(-1),
            sender=np.tile(parents[node], len(index)),
            port=np.tile(reverse_ports[ports[node]], len(index)),
            receiver=np.tile(node, len(index)),
            tree=np.full(len(index) * len(node), number, dtype=np.uint8),
            unit=np.repeat(unit[index].astype(np.int32), len(node)),
        )
        parts.append(rows)
    return concatenate_rows(parts)


def _find_receivers(forest: Forest) -> Mask:
    """Return which nodes of each tree must receive units, bool ``[trees, nodes]``.

    The endpoints and the switches above endpoints receive units; the root receives nothing.
    """
    endpoints = forest.topology.endpoints
    receives: Mask = forest.parent_port != 0
    if endpoints == forest.topology.nodes:
        return receives
    receives[:, endpoints:] = False
    parents, levels = forest.parents(), forest.levels()
    for level in range(forest.height, 1, -1):
        tree, node = np.nonzero(receives & (levels == level))
        receives[tree, parents[tree, node]] = True
    return receives


def concatenate_rows(parts: list[Columns]) -> Columns:
    """Concatenate rows: return one `Columns` with all rows, in the given order."""
    if not parts:
        return Columns(**{name: np.empty(0, dtype=np.int32) for name in INTEGER_COLUMNS})  # type: ignore[arg-type]
    names = parts[0].present()
    columns = {name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
    return Columns(**columns)


def serialize_ports(topology: Topology, rows: Columns) -> Columns:
    """Make rows valid in the one-port model: replace each step by one step (sub-slot) per port."""
    # A port maps nodes to nodes one to one, so no node sends or receives twice in a sub-slot.
    sub_slot = np.searchsorted(topology.ports, rows.port) + 1
    return rows._replace(step=(rows.step - 1) * topology.port_count + sub_slot)


def _sort_order(rows: Columns) -> NDArray[np.intp]:
    keys = (rows.step, rows.sender, rows.port, rows.tree, rows.unit)
    # One sort by a combined integer key is faster than `lexsort`, which sorts once per column.
    combined = np.zeros(len(rows.step), dtype=np.int64)
    if not len(combined):
        return np.argsort(combined)
    size = 1
    for column in keys:
        least = int(column.min())
        width = int(column.max()) - least + 1
        size *= width
        if size > 2**62:  # a single 64-bit key is too small for all columns
            return np.lexsort(keys[::-1])
        combined = combined * width + (column.astype(np.int64) - least)
    return np.argsort(combined)


class Units(NamedTuple):
    """The units that the root sends, as parallel arrays, int64 ``[units]``.

    If a unit is sent in several copies, there is an entry for each copy.

    Attributes:
        tree: the tree along which each unit travels.
        destination: the rank of each unit's destination.
        unit: the number of each unit; all copies of a unit have the same number.
    """

    tree: NDArray[np.int64]
    destination: NDArray[np.int64]
    unit: NDArray[np.int64]


def order_furthest_first(
    queue: Integers, level: Integers, unit: Integers, *, sequential: bool = False
) -> NDArray[np.int64]:
    """Return the step in which each unit leaves the root, if each queue sends one unit per step.

    The units of a queue leave in the order of decreasing level, then of unit number.

    Args:
        queue: int ``[units]``, the queue of each unit.
        level: int32 ``[units]``, the level of each unit's destination.
        unit: int64 ``[units]``, the number of each unit; numbers ascend with the rank of the
            destination.
        sequential: True if each queue starts after the previous queue is empty; False if all
            queues start in step 1.
    """
    order = np.lexsort((unit, -level, queue))
    position = np.arange(len(order))
    if not sequential:
        # The position of a unit is counted from the first unit of the same queue.
        position -= np.searchsorted(queue[order], queue[order])
    departure = np.empty(len(order), dtype=np.int64)
    departure[order] = position + 1
    return departure


# The functions below translate rows to another root or source, or to all sources at once. A
# translation keeps the ports of all links but the residual links of S_{n,k}, which replace the
# first symbol of a node. The ports of residual links are computed again.


def translate_rows(
    topology: Topology,
    rows: Columns,
    image: Ranks,
    units_per_node: int,
    table: Ranks | None = None,
) -> Columns:
    """Return the rows of a schedule with every node replaced by its image under a translation.

    Args:
        topology: the topology of the schedule.
        rows: the schedule's rows for one root or one source.
        image: int32 ``[nodes]``, the rank of each node's image.
        units_per_node: the number of units per node if unit numbers encode nodes, else 0. Unit
            ``u`` encodes the node ``u // units_per_node``, which is translated too.
        table: the topology's table of neighbours, to avoid computing it in every call.
    """
    sender = image[rows.sender]
    receiver = image[rows.receiver]
    port = rows.port
    if not topology.translation_keeps_ports:
        port = find_ports(topology, sender, receiver, table)
    unit = rows.unit
    if units_per_node:
        node, message = np.divmod(unit.astype(np.int64), units_per_node)
        unit = np.asarray(image[node] * units_per_node + message)
    return rows._replace(sender=sender, port=port, receiver=receiver, unit=unit)


def expand_rows(
    topology: Topology, rows: Columns, units: int, root: int = 0, units_per_node: int = 0
) -> Columns:
    """Return the rows of all sources, given those of one source.

    Args:
        topology: a topology with translations.
        rows: the rows of one source.
        units: the number of units per source; those of source q are numbered from ``q * units``.
        root: the rank of the given source.
        units_per_node: the number of units per node if unit numbers encode nodes, else 0.
    """
    count = len(rows.step)
    # Integer columns become int32, because the new unit numbers may exceed their old dtype.
    expanded = rows.apply(
        lambda column: np.empty(count * topology.nodes, bool if column.dtype == bool else np.int32)
    )
    # `argsort` returns the inverse of a permutation.
    to_identity = np.argsort(topology.translation(root))
    table = None if topology.translation_keeps_ports else topology.table()
    for source in range(topology.nodes):
        image = topology.translation(source)[to_identity]
        part = slice(source * count, (source + 1) * count)
        images = translate_rows(topology, rows, image, units_per_node, table)
        for name, column in expanded.present().items():
            column[part] = getattr(images, name)
        expanded.unit[part] += source * units
    return expanded
