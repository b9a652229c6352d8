"""How the rows of a schedule are written: sorted into the one order, and hop by hop along the paths of a forest."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from starcast.support.arrays import sealed
from starcast.collectives.model import Schedule
from starcast.trees import Forest

Integers = NDArray[np.integer[Any]]


class Columns(NamedTuple):
    """The rows of a schedule in any order; columns as in `Schedule`."""

    step: Integers
    sender: Integers
    port: Integers
    receiver: Integers
    tree: Integers
    payload: Integers


_KINDS = {"step": np.int32, "sender": np.int32, "port": np.uint8, "receiver": np.int32, "tree": np.uint8, "payload": np.int32}


def arranged(rows: Columns, **parameters: Any) -> Schedule:
    """The schedule of these rows, sorted by step, sender, port, tree and payload; ``parameters`` are those of `Schedule`."""
    order = _order(rows)
    columns: dict[str, Any] = {
        name: sealed(np.asarray(column[order], dtype=_KINDS[name])) for name, column in rows._asdict().items()
    }
    return Schedule(**parameters, **columns)


def routed(
    forest: Forest, tree: Integers, destination: Integers, departure: Integers, payload: Integers, gap: int = 1
) -> Columns:
    """Units that travel from the root to their destinations along a forest, one hop every ``gap`` steps.

    Args:
        forest: its trees say the paths.
        tree: int ``[units]``: the tree of each unit's path.
        destination: int ``[units]``: ranks, in that tree and not the root.
        departure: int ``[units]``: the step in which it crosses its first link.
        payload: int ``[units]``.
        gap: steps from one hop to the next.
    """
    parents, back = forest.parents(), forest.topology.reverse_ports()
    level = forest.levels()[tree, destination].astype(np.int64)
    at, unit, parts = np.asarray(destination), np.arange(len(level)), []
    while len(unit):  # from the destinations upwards, all units one hop a turn
        above = parents[tree[unit], at]
        step = departure[unit] + gap * (level[unit] - 1)
        port = back[forest.parent_port[tree[unit], at]]
        parts.append(Columns(step, above, port, at, tree[unit], payload[unit]))
        level[unit] -= 1
        going = level[unit] > 0
        at, unit = above[going], unit[going]
    return joined(parts)


def flooded(forest: Forest, tree: Integers, delay: Integers, payload: Integers, first: Integers) -> Columns:
    """Units that go to all nodes of a tree: over the link to a node in step ``first[tree, node]`` + the unit's delay.

    Args:
        forest: its trees; they need not span.
        tree: int ``[units]``: the tree of each unit.
        delay: int ``[units]``: how many steps after the first unit of its tree it follows.
        payload: int ``[units]``.
        first: int ``[trees, nodes]``: when the first unit of a tree arrives.
    """
    back, parts = forest.topology.reverse_ports(), []
    for number, (row, above) in enumerate(zip(forest.parent_port, forest.parents(), strict=True)):
        node, unit = np.flatnonzero(row).astype(np.int32), np.flatnonzero(tree == number)
        made = Columns(
            step=(first[number, node] + delay[unit, None].astype(np.int32)).reshape(-1),
            sender=np.tile(above[node], len(unit)),
            port=np.tile(back[row[node]], len(unit)),
            receiver=np.tile(node, len(unit)),
            tree=np.full(len(unit) * len(node), number, dtype=np.uint8),
            payload=np.repeat(payload[unit].astype(np.int32), len(node)),
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
    for column in (rows.step, rows.sender, rows.port, rows.tree, rows.payload):
        least, most = (int(column.min()), int(column.max())) if len(column) else (0, 0)
        room *= most - least + 1
        if room > 2**62:  # one key does not hold them
            return np.lexsort((rows.payload, rows.tree, rows.port, rows.sender, rows.step))
        key = key * (most - least + 1) + (column.astype(np.int64) - least)
    return np.argsort(key)
