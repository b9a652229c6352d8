"""The edges of trees as columns, for drawings, the graph store and other libraries."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from starcast.support.errors import InputError
from starcast.trees.model import Forest

Column = NDArray[np.int64]


class Edges(NamedTuple):
    """Edges from parents to children, int64 ``[edges]`` each, sorted by tree and child.

    Attributes:
        parent: rank of the parent.
        child: rank of the child.
        tree: number of the tree, from 0.
        level: the child's distance from the root within the tree, from 1.
        port: the parent's port towards the child.
    """

    parent: Column
    child: Column
    tree: Column
    level: Column
    port: Column


def edges_of(forest: Forest, tree: int | None = None) -> Edges:
    """Return the edges of a forest, or of one of its trees.

    Raises:
        InputError: the forest has no such tree.
        RejectedError: the array is not a forest.
    """
    first = 0 if tree is None else _check_tree(forest, tree)
    rows = forest.parent_port if tree is None else forest.parent_port[first : first + 1]
    part = Forest(
        forest.topology, rows, forest.root, forest.construction, forest.arguments, forest.spanning
    )
    row, child = np.nonzero(rows)
    columns = (
        part.parents()[row, child],
        child,
        row + first,
        part.levels()[row, child],
        forest.topology.reverse_ports()[rows[row, child]],
    )
    return Edges(*(column.astype(np.int64) for column in columns))


def _check_tree(forest: Forest, tree: Any) -> int:
    is_integer = isinstance(tree, int | np.integer) and not isinstance(tree, bool)
    if is_integer and tree in range(forest.trees):
        return int(tree)
    raise InputError(
        f"{forest.id} has no tree {tree!r}", hint=f"its trees are 0 to {forest.trees - 1}"
    )
