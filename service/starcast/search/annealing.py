"""Simulated annealing of a partition of nodes into classes, compiled by numba.

The module `starcast.search.independent` explains for which graphs, and why, partitions are needed.
"""

import numpy as np
from numpy.typing import NDArray

from starcast.support.compiled import jit

Integers = NDArray[np.int64]


@jit
def anneal(
    table: Integers,
    members: Integers,
    labels: Integers,
    classes: int,
    steps: int,
    temperature: float,
    chance: np.random.Generator,
) -> int:
    """Move nodes between classes for a number of steps, or until the partition has no defect.

    Args:
        table: the neighbours, ``[nodes, ports]``.
        members: bundles of nodes, ``[bundles, size]``. The labels of all nodes in a bundle change
            together, by the same amount.
        labels: the class of each node, from 0; changed in place.
        classes: the number of classes.
        steps: the number of steps.
        temperature: approximate number of defects that a step may add for each node of a bundle.
        chance: the random number generator.

    Returns:
        The number of defects; see `count_defects`.
    """
    count, size = members.shape
    bundle = np.empty(len(table), np.int64)
    for each in range(count):
        for node in members[each]:
            bundle[node] = each
    parent = np.empty(len(table) * classes, np.int64)
    has_cycle = np.empty(len(parent), np.bool_)
    defects = count_defects(table, labels, classes, parent, has_cycle)
    # Each step counts all defects again. This is fast enough, because useful quotients have only
    # hundreds of nodes.
    for _ in range(steps):
        if defects == 0:
            break
        # Sometimes two neighbours have to move together, because moving either of them alone would
        # disconnect a class.
        one = chance.integers(0, count)
        other = bundle[table[members[one, 0], chance.integers(0, table.shape[1])]]
        shift, also = chance.integers(1, classes), chance.integers(0, classes)
        _move(labels, members[one], shift, classes)
        _move(labels, members[other], also, classes)
        changed = count_defects(table, labels, classes, parent, has_cycle)
        accepted = np.exp(min((defects - changed) / (size * temperature), 0.0))
        if chance.random() < accepted:
            defects = changed
        else:
            _move(labels, members[one], classes - shift, classes)
            _move(labels, members[other], classes - also, classes)
    return int(defects)


@jit
def _move(labels: Integers, nodes: Integers, shift: int | np.int64, classes: int) -> None:
    for node in nodes:
        labels[node] = (labels[node] + shift) % classes


@jit
def count_defects(
    table: Integers,
    labels: Integers,
    classes: int,
    parent: Integers,
    has_cycle: NDArray[np.bool_],
) -> int:
    """Count defects: excess components of classes, and components between classes that are trees.

    Entry ``node * classes + c`` of the work arrays ``parent`` and ``has_cycle`` stands for a node
    in the graph of the links between the node's class and class c. Sets of entries are joined by
    union-find.
    """
    for entry in range(len(parent)):
        parent[entry], has_cycle[entry] = entry, False
    defects = len(parent) - classes
    for node in range(len(table)):
        own = labels[node]
        for near in table[node]:
            other = labels[near]
            if own > other:
                continue  # each link is processed once; a second time it would look like a cycle
            one, two = _find(parent, node * classes + other), _find(parent, near * classes + own)
            if one != two:
                defects -= not (has_cycle[one] and has_cycle[two])
                parent[one] = two
                has_cycle[two] |= has_cycle[one]
            elif own != other and not has_cycle[one]:
                has_cycle[one] = True
                defects -= 1
    return int(defects)


@jit
def _find(parent: Integers, entry: int) -> int:
    while parent[entry] != entry:
        parent[entry] = parent[parent[entry]]
        entry = parent[entry]
    return entry
