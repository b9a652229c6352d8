"""How the rows of a schedule are written: sorted into the one order, and hop by hop along the paths of a forest."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from starcast.collectives.model import Schedule
from starcast.support.arrays import freeze
from starcast.trees import Forest

Integers = NDArray[np.integer[Any]]


class Columns(NamedTuple):
    """The rows of a schedule in any order; columns as in `Schedule`."""

    step: Integers
    sender: Integers
    port: Integers
    receiver: Integers
    tree: Integers
    unit: Integers


_KINDS = {
    "step": np.int32,
    "sender": np.int32,
    "port": np.uint8,
    "receiver": np.int32,
    "tree": np.uint8,
    "unit": np.int32,
}


def arranged(rows: Columns, **parameters: Any) -> Schedule:
    """The schedule of these rows, sorted by step, sender, port, tree and unit; ``parameters`` are those of `Schedule`."""
    order = _order(rows)
    columns: dict[str, Any] = {
        name: freeze(np.asarray(column[order], dtype=_KINDS[name]))
        for name, column in rows._asdict().items()
    }
    return Schedule(**parameters, **columns)


def routed(
    forest: Forest,
    tree: Integers,
    destination: Integers,
    departure: Integers,
    unit: Integers,
    gap: int = 1,
) -> Columns:
    """Units that travel from the root to their destinations along a forest, one hop every ``gap`` steps.

    Args:
        forest: its trees say the paths.
        tree: int ``[units]``: the tree of each unit's path.
        destination: int ``[units]``: ranks, in that tree and not the root.
        departure: int ``[units]``: the step in which it crosses its first link.
        unit: int ``[units]``.
        gap: steps from one hop to the next.
    """
    parents, back = forest.parents(), forest.topology.reverse_ports()
    level = forest.levels()[tree, destination].astype(np.int64)
    at, index, parts = np.asarray(destination), np.arange(len(level)), []
    while len(index):  # from the destinations upwards, all units one hop a turn
        above = parents[tree[index], at]
        step = departure[index] + gap * (level[index] - 1)
        port = back[forest.parent_port[tree[index], at]]
        parts.append(Columns(step, above, port, at, tree[index], unit[index]))
        level[index] -= 1
        going = level[index] > 0
        at, index = above[going], index[going]
    return joined(parts)


def flooded(
    forest: Forest, tree: Integers, delay: Integers, unit: Integers, first: Integers
) -> Columns:
    """Units that go to all nodes of a tree: over the link to a node in step ``first[tree, node]`` + the unit's delay.

    Args:
        forest: its trees; they need not span.
        tree: int ``[units]``: the tree of each unit.
        delay: int ``[units]``: how many steps after the first unit of its tree it follows.
        unit: int ``[units]``.
        first: int ``[trees, nodes]``: when the first unit of a tree arrives.
    """
    back, parts = forest.topology.reverse_ports(), []
    for number, (row, above) in enumerate(zip(forest.parent_port, forest.parents(), strict=True)):
        node, index = np.flatnonzero(row).astype(np.int32), np.flatnonzero(tree == number)
        made = Columns(
            step=(first[number, node] + delay[index, None].astype(np.int32)).reshape(-1),
            sender=np.tile(above[node], len(index)),
            port=np.tile(back[row[node]], len(index)),
            receiver=np.tile(node, len(index)),
            tree=np.full(len(index) * len(node), number, dtype=np.uint8),
            unit=np.repeat(unit[index].astype(np.int32), len(node)),
        )
        parts.append(made)
    return joined(parts)


def joined(parts: list[Columns]) -> Columns:
    """The rows of several parts, one after the other."""
    if not parts:
        return Columns(*(np.empty(0, dtype=np.int32) for _ in Columns._fields))
    return Columns(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _order(rows: Columns) -> NDArray[np.intp]:
    key, room = np.zeros(len(rows.step), dtype=np.int64), 1
    for column in (rows.step, rows.sender, rows.port, rows.tree, rows.unit):
        least, most = (int(column.min()), int(column.max())) if len(column) else (0, 0)
        room *= most - least + 1
        if room > 2**62:  # one key does not hold them
            return np.lexsort((rows.unit, rows.tree, rows.port, rows.sender, rows.step))
        key = key * (most - least + 1) + (column.astype(np.int64) - least)
    return np.argsort(key)
