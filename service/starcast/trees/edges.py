"""The edges of trees as columns: what is drawn, stored in the graph and handed to other libraries."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from starcast.errors import InputError
from starcast.trees.model import Forest

Column = NDArray[np.int64]


class Edges(NamedTuple):
    """Edges parent -> child, int64 ``[edges]`` each, by tree and then by the child's rank.

    ``tree`` counts from 0; ``level`` is the child's distance from the root, from 1; ``port`` is the parent's towards the child.
    """

    parent: Column
    child: Column
    tree: Column
    level: Column
    port: Column


def edges_of(forest: Forest, tree: int | None = None) -> Edges:
    """All edges of a forest, or those of one of its trees.

    Raises:
        InputError: there is no such tree.
        RejectedError: the array is no forest.
    """
    first = 0 if tree is None else _checked(forest, tree)
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


def _checked(forest: Forest, tree: object) -> int:
    if (
        isinstance(tree, bool)
        or not isinstance(tree, int | np.integer)
        or not 0 <= tree < forest.trees
    ):
        raise InputError(
            f"{forest.id} has no tree {tree!r}", hint=f"its trees are 0 to {forest.trees - 1}"
        )
    return int(tree)
