"""`forest` builds the trees of a construction; `count_edges` counts their edges beforehand."""

from collections.abc import Callable
from math import factorial

import numpy as np

from starcast.support.errors import InputError
from starcast.support.spec_syntax import parse_construction
from starcast.topologies import Topology, as_topology, memory
from starcast.topologies.necklaces import necklace_count

# Each module declares its constructions; `starcast` lists them in this order.
# isort: off
from starcast.trees import (  # noqa: F401
    greedy,
    multinode,
    change,
    balanced,
    edge_disjoint,
    nk_trees,
    other_topologies,
)

# isort: on
from starcast.trees.construction import CONSTRUCTIONS
from starcast.trees.model import Forest


def forest(
    topology: Topology | str, construction: str, root: int | str = 0, **arguments: int | str
) -> Forest:
    """Build the trees of a construction.

    Args:
        topology: a `Topology` or its spec, such as ``S5``.
        construction: one of `constructions`, also with arguments in parentheses, such as
            ``dimension-change(base=multiple,i=2)``.
        root: label or rank of the root; the identity by default.
        **arguments: the arguments that the construction declares: ``base``, the construction of the
            trees to change, for ``label-change`` and ``dimension-change``; and ``i`` for
            ``dimension-change``.

    Returns:
        The forest; its array ``parent_port`` is uint8 ``[trees, nodes]`` and read-only.

    Raises:
        InputError: the topology, construction or root does not exist, the construction is not
            defined on the topology, or an argument is missing, unknown or invalid.
        LimitError: the trees are larger than the memory of this machine.

    Example:
        >>> forest("S5", "multiple", root="54321").heights.tolist()
        [10, 10, 10, 10]
    """
    topology = as_topology(topology)
    name, given = parse_construction(str(construction), arguments)
    entry = CONSTRUCTIONS.find(name, topology)
    values = entry.resolve_arguments(topology, given)
    rank = topology.node(root)
    trees = entry.count_trees(topology)
    # The memory is checked before the first array is allocated, so that the error message can name
    # the trees and the size of the topology.
    memory.require(
        memory.forest_bytes(topology.nodes, trees),
        f"trees of '{entry.name}' on the {topology.nodes:,} nodes of {topology.spec}",
    )
    # The base is built with the identity as root, because the construction itself moves it to the
    # requested root.
    bases = {
        argument.name: forest(topology, str(values[argument.name]))
        for argument in entry.arguments
        if argument.kind == "construction"
    }
    return entry.build(topology, rank, **{**values, **bases})


def forest_from_id(forest_id: str) -> Forest:
    """Build the forest that an id names.

    Args:
        forest_id: such as ``S5:multiple:12345``; ``S5:multiple`` is short for the forest rooted at
            the identity.

    Raises:
        InputError: the id has another form, or names something that does not exist.
        LimitError: the trees are larger than the memory of this machine.

    Example:
        >>> forest_from_id("S4:multiple").id
        'S4:multiple:1234'
    """
    parts = forest_id.split(":")
    if not 2 <= len(parts) <= 3:
        raise InputError(
            f"'{forest_id}' is not the id of a forest",
            hint="write it as S5:multiple:12345, or in short as S5:multiple",
        )
    spec, construction, *root = parts
    return forest(spec, construction, root[0].lower() if root else 0)


def find_difference(built: Forest) -> str | None:
    """Compare a forest with the trees that its construction builds, and describe a difference.

    Args:
        built: any forest, such as one read from a file; its construction is checked, not trusted.

    Returns:
        A clause that describes the first difference, or None if the construction builds the same
        trees or its name is unknown.

    Raises:
        LimitError: the trees of the construction are larger than the memory of this machine.
    """
    if built.construction not in CONSTRUCTIONS:
        return None
    try:
        entry = CONSTRUCTIONS.find(built.construction, built.topology)
        values = entry.resolve_arguments(built.topology, built.arguments)
        meant = forest(built.topology, entry.name, built.root, **values)
    except InputError as error:
        return error.message
    if meant.trees != built.trees:
        return f"the construction builds {meant.trees} trees, not {built.trees}"
    for tree, (row, expected) in enumerate(zip(built.parent_port, meant.parent_port, strict=True)):
        if not np.array_equal(row, expected):
            node = int((row != expected).argmax())
            return (
                f"node {built.topology.label(node)} of tree {tree} has parent port {row[node]}, "
                f"not {expected[node]}"
            )
    if meant.spanning != built.spanning:
        return f"its trees are wrongly marked as {'not ' if meant.spanning else ''}spanning"
    return None


def count_edges(topology: Topology | str, construction: str, **arguments: int | str) -> int:
    """Return the number of edges of all trees that `starcast.forest` builds with these arguments.

    Raises:
        InputError: the arguments are invalid, as in `starcast.forest`.

    Example:
        >>> count_edges("S5", "multiple")
        476
    """
    topology = as_topology(topology)
    entry = CONSTRUCTIONS.find(construction, topology)
    values = entry.resolve_arguments(topology, arguments)
    if "base" in values:  # a label or dimension change keeps the number of edges
        return count_edges(topology, str(values["base"]))
    if entry.name in _PARTIAL:
        return _PARTIAL[entry.name](topology.n)
    return entry.count_spanning_edges(topology)


#: The numbers of edges on S_n of the constructions whose trees do not reach all nodes.
_PARTIAL: dict[str, Callable[[int], int]] = {
    # SPT omits all nodes with the root's first symbol but the root (Fragopoulou & Akl 1996, Lemma
    # 4). SPG consists of n-1 trees of 2(n-1)! nodes (Lemma 5).
    "shortest-path": lambda n: (n - 1) * factorial(n - 1),
    "shortest-path-graph": lambda n: (n - 1) * (2 * factorial(n - 1) - 1),
    # Besides the root, each of the n-1 trees has one node per necklace (Fragopoulou & Akl 1993,
    # Def. 15).
    "perfectly-balanced": lambda n: (n - 1) * necklace_count(n),
}
