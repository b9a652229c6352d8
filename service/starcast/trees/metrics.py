"""Compute named properties of a forest, and list its edges as columns."""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from starcast.support.errors import InputError
from starcast.topologies import Topology
from starcast.trees.model import Forest


def describe_forest(forest: Forest, names: Iterable[str] = ()) -> dict[str, Any]:
    """Return the properties of a forest by name, as plain Python values.

    All outputs that show a forest select from these properties.

    Args:
        forest: the forest.
        names: the properties to compute (default: all).

    Returns:
        The properties; those of single trees are lists with one entry per tree. An entry of
        ``branches`` lists the subtree sizes of the root's children, in the order of the root's
        ports. An entry of ``levels`` lists the numbers of nodes on the levels 0, 1, .. The property
        ``load_histogram`` maps each load (number of trees) to the number of directed links.

    Raises:
        RejectedError: the forest's array of parent ports is invalid.

    Example:
        >>> describe_forest(forest("S5", "multiple"))["congestion"]
        2
    """
    return {name: PROPERTIES[name](forest) for name in names or PROPERTIES}


#: The properties of a forest, each with the function that computes it.
PROPERTIES: dict[str, Callable[[Forest], Any]] = {
    "id": lambda forest: forest.id,
    "topology": lambda forest: forest.topology.spec,
    "construction": lambda forest: forest.construction,
    "arguments": lambda forest: dict(forest.arguments),
    "root": lambda forest: forest.root,
    "root_label": lambda forest: forest.topology.stored_label(forest.root),
    "trees": lambda forest: forest.trees,
    "nodes": lambda forest: forest.topology.nodes,
    "edges": lambda forest: int(forest.sizes.sum()) - forest.trees,
    "spanning": lambda forest: bool((forest.sizes == forest.topology.nodes).all()),
    "sizes": lambda forest: forest.sizes.tolist(),
    "height": lambda forest: forest.height,
    "heights": lambda forest: forest.heights.tolist(),
    "shortest_path": lambda forest: forest.is_shortest_path,
    "leaves": lambda forest: forest.leaves.tolist(),
    "branches": lambda forest: [_sizes_by_port(forest.topology, row) for row in root_ports(forest)],
    "congestion": lambda forest: forest.congestion,
    "edge_disjoint": lambda forest: forest.is_edge_disjoint,
    "load_histogram": Forest.load_histogram,
    "levels": lambda forest: [np.bincount(row[row >= 0]).tolist() for row in forest.levels()],
}


def root_ports(forest: Forest) -> NDArray[np.uint8]:
    """Return, for each tree and node, the root's port towards the branch that contains the node.

    Returns:
        uint8 ``[trees, nodes]``; 0 for the root and for nodes outside the tree.
    """
    reverse_ports = forest.topology.reverse_ports()
    nodes = np.arange(forest.topology.nodes)
    result = np.empty_like(forest.parent_port)
    for ports, parents, row in zip(forest.parent_port, forest.parents(), result, strict=True):
        ancestor = np.where((parents < 0) | (parents == forest.root), nodes, parents)
        # Each iteration doubles the length of the paths followed. Following one link per iteration
        # would be too slow in a tree that is a path through all nodes.
        for _ in range(forest.height.bit_length()):
            ancestor = ancestor[ancestor]
        row[:] = reverse_ports[ports[ancestor]]
    return result


def _sizes_by_port(topology: Topology, ports: NDArray[np.uint8]) -> list[int]:
    sizes = np.bincount(ports, minlength=topology.ports[-1] + 1)
    return [int(sizes[port]) for port in topology.ports if sizes[port]]


class Edges(NamedTuple):
    """Edges of trees as parallel arrays ``[edges]``, sorted by tree, then by child.

    Attributes:
        parent: rank of the parent.
        child: rank of the child.
        tree: number of the tree, from 0.
        level: the child's distance from the root within the tree, from 1.
        port: the parent's port towards the child.
    """

    parent: NDArray[np.int64]
    child: NDArray[np.int64]
    tree: NDArray[np.int64]
    level: NDArray[np.int64]
    port: NDArray[np.int64]


def edges_of(forest: Forest, tree: int | None = None) -> Edges:
    """Return the edges of all trees in a forest, or of a single tree.

    Raises:
        InputError: the forest has no tree with this number.
        RejectedError: the forest's array of parent ports is invalid.
    """
    first = 0 if tree is None else _check_tree(forest, tree)
    rows = forest.parent_port if tree is None else forest.parent_port[first : first + 1]
    # Computing levels and parents only for the chosen tree saves time and memory.
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
        f"{forest.id} has no tree {tree!r}", hint=f"use a number from 0 to {forest.trees - 1}"
    )
