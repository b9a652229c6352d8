"""Declare constructions of trees (`construction`), and build their forests (`forest`).

`starcast.trees` imports the modules that declare the built-in constructions. Constructions share
the helpers at the end of this module: translation, re-rooting, and iteration over slabs of nodes.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import factorial, perm
from operator import index
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from starcast.catalogue.entries import Entry, Function, Registry, check_declaration, read_arguments
from starcast.catalogue.plugins import guard, read_text, run_guarded
from starcast.support.arrays import freeze
from starcast.support.errors import InputError
from starcast.support.vocabulary import Arguments, parse_construction
from starcast.topologies import Topology, as_topology, memory
from starcast.topologies.necklaces import necklace_count
from starcast.topologies.permutations import Perms
from starcast.trees.model import Forest


@dataclass(frozen=True, kw_only=True, repr=False)
class Construction(Entry):
    """A recipe for building trees on a topology.

    Attributes:
        description: a noun phrase for the trees, shown in lists of constructions.
        build: ``build(topology, root, **arguments)`` returns the forest. If an argument is a
            construction, the function receives the forest of this construction with the identity
            as root.
        one_tree_per_port: whether the forest has a tree for each port rather than a single tree.
        partial: True if the trees reach only some of the nodes.
        tree_count: ``tree_count(topology, arguments)`` returns the number of trees, which must not
            depend on the root; None if the number follows from ``one_tree_per_port``.
    """

    description: str
    build: Callable[..., Forest]
    one_tree_per_port: bool = False
    partial: bool = False
    tree_count: Callable[[Topology, Arguments], int] | None = None

    def __str__(self) -> str:
        return f"the construction '{self.name}'"

    def count_trees(self, topology: Topology, arguments: Arguments | None = None) -> int:
        """Return the number of trees that the construction builds on a topology, with any root.

        Args:
            topology: the topology.
            arguments: all arguments of the construction; None for the defaults.
        """
        if self.tree_count is not None:
            given = self.default_arguments(topology) if arguments is None else arguments
            return self.tree_count(topology, given)
        return topology.port_count if self.one_tree_per_port else 1

    def count_spanning_edges(self, topology: Topology, arguments: Arguments | None = None) -> int:
        """Return the total number of edges of all trees, assuming that each tree is spanning."""
        return self.count_trees(topology, arguments) * (topology.nodes - 1)

    def spec_arguments(
        self, topology: Topology, arguments: Mapping[str, object]
    ) -> dict[str, int | str]:
        """Return the arguments that specs and ids contain: those that differ from their defaults.

        Raises:
            InputError: an argument is unknown, missing or invalid on the topology.
        """
        values = self.resolve_arguments(topology, arguments)
        defaults = self.default_arguments(topology)
        return {name: value for name, value in values.items() if defaults.get(name) != value}


CONSTRUCTIONS: Registry[Construction] = Registry("construction")


def construction(
    name: str,
    *,
    source: str,
    families: Sequence[str] = (),
    description: str = "",
    one_tree_per_port: bool = False,
    partial: bool = False,
    smallest: int = 1,
    exclusion: Callable[[Topology], str | None] = lambda _: None,
    tree_count: Callable[[Topology, Arguments], int] | None = None,
) -> Callable[[Function], Function]:
    """Declare a function as a construction of trees (used as a decorator).

    The function is called as ``function(topology, root, **arguments)`` and returns an array of
    parent ports, uint8 ``[trees, nodes]`` or ``[nodes]``, or a `Forest`. Its further parameters,
    annotated with int or str, are the construction's arguments.

    Args:
        name: lower-case words joined by hyphens.
        source: the paper and the number of the definition.
        families: the topology families on which the construction is defined, such as ``["star"]``;
            by default all.
        description: a noun phrase for the trees, shown in lists of constructions.
        one_tree_per_port: whether the forest has a tree for each port rather than a single tree.
        partial: True if the trees reach only some of the nodes.
        smallest: the smallest n for which the construction is defined.
        exclusion: ``exclusion(topology)`` returns the reason why the construction is not defined on
            a topology of the given families, or None if it is defined.
        tree_count: ``tree_count(topology, arguments)`` returns the number of trees, which must not
            depend on the root; needed if this number is neither one nor the number of ports.

    Raises:
        InputError: the name is already used or malformed, an option has a wrong type, a family is
            unknown, or the function has a wrong signature.
    """

    def decorate(function: Function) -> Function:
        origin = check_declaration(
            "construction", name, function, families, source=source, description=description,
            one_tree_per_port=one_tree_per_port, partial=partial, smallest=smallest,
            exclusion=exclusion, tree_count=tree_count,
        )  # fmt: skip

        def build(topology: Topology, root: int, **arguments: Any) -> Forest:
            result = run_guarded(
                f"the construction '{name}'", origin, lambda: function(topology, root, **arguments)
            )
            array = _check_parent_ports(entry, result, topology, arguments)
            return Forest(topology, array, root, name, arguments, spanning=not partial)

        entry = Construction(
            name=name, source=source, origin=origin, families=tuple(families), smallest=smallest,
            description=description or f"trees of {origin.module}",
            exclusion=guard(
                f"'exclusion' of the construction '{name}'", origin, exclusion, read_text
            ),
            one_tree_per_port=one_tree_per_port, partial=partial,
            tree_count=tree_count and guard(
                f"'tree_count' of the construction '{name}'", origin, tree_count, index
            ),
            arguments=read_arguments(name, origin, function, ("topology", "root")),
            # The results of plug-ins are checked at every call. The results of starcast's own
            # functions are checked by tests.
            build=function if origin.is_shipped else build,
        )  # fmt: skip
        CONSTRUCTIONS.register(entry)
        return function

    return decorate


def _check_parent_ports(
    entry: Construction, result: Any, topology: Topology, arguments: Arguments
) -> NDArray[np.uint8]:
    name, origin = entry.name, entry.origin
    array: NDArray[Any] = run_guarded(
        f"the result of '{name}'",
        origin,
        lambda: np.atleast_2d(np.asarray(getattr(result, "parent_port", result))),
    )
    expected = (entry.count_trees(topology, arguments), topology.nodes)
    if array.dtype.kind not in "iu" or array.shape != expected:
        shape = " x ".join(map(str, array.shape))
        raise InputError(
            f"the construction '{name}' ({origin}) returned an array of {array.dtype} [{shape}] on "
            f"{topology.spec}",
            hint=f"return the parent ports as a uint8 array of shape"
            f" [{expected[0]}, {expected[1]}], with 0 at the root",
        )
    # The range is checked before the conversion to uint8, which would turn 256 into the valid entry
    # 0.
    wrong = array[(array < 0) | (array > 255)]
    if wrong.size:
        raise InputError(
            f"the construction '{name}' ({origin}) returned {wrong[0]}, which is not a port",
            hint=f"use the ports of {topology.spec}: {topology.ports[0]} to {topology.ports[-1]}",
        )
    return array.astype(np.uint8)


def constructions(topology: Topology | str | None = None) -> tuple[str, ...]:
    """Return the names of all constructions, or of the constructions defined on a topology.

    Example:
        >>> constructions("Path4")
        ('breadth-first', 'arc-disjoint')
    """
    if topology is None:
        return tuple(CONSTRUCTIONS)
    entries = CONSTRUCTIONS.supported(as_topology(topology))
    return tuple(construction.name for construction in entries)


def plain_constructions(topology: Topology | str | None = None) -> tuple[str, ...]:
    """Return the names of the constructions that need no arguments besides the root.

    If a topology is given, only constructions that are defined on it are returned.
    """
    names = constructions(topology)
    return tuple(name for name in names if not CONSTRUCTIONS[name].required_arguments)


def single_trees(topology: Topology | str | None = None) -> tuple[str, ...]:
    """Return the names of the constructions that always build a single spanning tree.

    Constructions that need arguments besides the root are omitted. If a topology is given, only
    constructions that are defined on it are returned.
    """
    entries = (CONSTRUCTIONS[name] for name in plain_constructions(topology))
    return tuple(
        construction.name
        for construction in entries
        if not construction.one_tree_per_port
        and not construction.partial
        and construction.tree_count is None
    )


def forest(
    topology: Topology | str, construction: str, root: int | str = 0, **arguments: int | str
) -> Forest:
    """Build the trees of a construction.

    Args:
        topology: a `Topology` or its spec, such as ``S5``.
        construction: one of `constructions`, optionally with arguments in parentheses, such as
            ``dimension-change(base=multiple,i=2)``.
        root: label or rank of the root; by default rank 0, which is the identity in topologies
            with translations.
        **arguments: the arguments that the construction declares, by name, such as ``base``, the
            construction of the trees that ``label-change`` and ``dimension-change`` change.

    Returns:
        The forest; its array ``parent_port`` is uint8 ``[trees, nodes]`` and read-only.

    Raises:
        InputError: the topology, construction or root does not exist, the construction is not
            defined on the topology, or an argument is missing, unknown or invalid.
        LimitError: the trees do not fit into the memory of this machine, or would take too long to
            build.

    Example:
        >>> forest("S5", "multiple", root="54321").heights.tolist()
        [10, 10, 10, 10]
    """
    topology = as_topology(topology)
    name, given = parse_construction(str(construction), arguments)
    entry = CONSTRUCTIONS.find(name, topology)
    values = entry.resolve_arguments(topology, given)
    rank = topology.root(root)
    trees = entry.count_trees(topology, values)
    # Memory is checked here, before the first array is allocated, because here the error message
    # can name the trees and the size of the topology.
    memory.require(
        memory.forest_bytes(topology.nodes, trees),
        f"trees of '{entry.name}' on the {topology.nodes:,} nodes of {topology.spec}",
    )
    # The forest of a base construction is built with the identity as root, because the construction
    # that changes the forest also translates it to the requested root.
    bases = {
        argument.name: forest(topology, str(values[argument.name]))
        for argument in entry.arguments
        if argument.kind == "construction"
    }
    built = entry.build(topology, rank, **{**values, **bases})
    in_spec = entry.spec_arguments(topology, values)
    return built if in_spec == dict(built.arguments) else replace(built, arguments=in_spec)


def forest_from_id(forest_id: str) -> Forest:
    """Build the forest that an id names.

    Args:
        forest_id: an id such as ``S5:multiple:12345``. In the short form ``S5:multiple``, the root
            is the node of rank 0, which is the identity in S_5.

    Raises:
        InputError: the id is malformed, or its topology, construction, arguments or root is
            invalid.
        LimitError: the trees do not fit into the memory of this machine, or would take too long to
            build.

    Example:
        >>> forest_from_id("S4:multiple").id
        'S4:multiple:1234'
    """
    parts = forest_id.split(":")
    if not 2 <= len(parts) <= 3:
        raise InputError(
            f"'{forest_id}' is not the id of a forest",
            hint="write an id such as S5:multiple:12345, or its short form S5:multiple",
        )
    spec, construction, *root = parts
    return forest(spec, construction, root[0] if root else 0)


def find_difference(built: Forest) -> str | None:
    """Compare a forest with the trees that its construction builds; describe the first difference.

    Args:
        built: any forest, such as one read from a file; its construction is checked, not trusted.

    Returns:
        A clause for messages that describes the first difference, or the reason why the
        construction cannot build the forest. None if the construction builds the same forest, or if
        the construction is unknown.

    Raises:
        LimitError: the trees of the construction do not fit into the memory of this machine, or
            would take too long to build.
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
    """Return the number of edges of all trees that `starcast.forest` would build.

    For a plug-in's trees that do not reach all nodes, the result is an upper bound.

    Raises:
        InputError: the topology or the construction is unknown, the construction is not defined on
            the topology, or an argument is missing, unknown or invalid.

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
    return entry.count_spanning_edges(topology, values)


#: For each built-in construction whose trees do not reach all nodes: a function of n that returns
#: the total number of edges on S_n.
_PARTIAL: dict[str, Callable[[int], int]] = {
    # SPT omits all nodes that begin with the root's first symbol, except the root (Fragopoulou &
    # Akl 1996, Lemma 4). SPG consists of n-1 trees of 2(n-1)! nodes (Lemma 5).
    "shortest-path": lambda n: (n - 1) * factorial(n - 1),
    "shortest-path-graph": lambda n: (n - 1) * (2 * factorial(n - 1) - 1),
    # Besides the root, each of the n-1 trees has one node per necklace (Fragopoulou & Akl 1993,
    # Def. 15).
    "perfectly-balanced": lambda n: (n - 1) * necklace_count(n),
}


SymbolPositions = NDArray[np.uint8]


class Slab(NamedTuple):
    """All nodes of S_n with the same first symbol, which have (n-1)! consecutive ranks.

    In the order of ranks, the other symbols run through all their permutations. So the positions of
    symbols in every slab follow from the positions in S_{n-1}.

    Attributes:
        first: the first symbol.
        positions: uint8 ``[n+1, (n-1)!]``, the position of each symbol in each node; row 0 is
            unused.
    """

    first: int
    positions: SymbolPositions


def translate_ports(topology: Topology, rows: NDArray[np.uint8], root: int) -> NDArray[np.uint8]:
    """Translate the ports of a forest rooted at the identity to another root.

    Args:
        topology: the topology of the forest.
        rows: the ports towards the parents, uint8 ``[trees, nodes]``; this array becomes read-only
            if the root is the identity.
        root: the rank of the new root.

    Returns:
        The ports of the translated forest, read-only uint8 ``[trees, nodes]``; ``rows`` itself if
        the root is the identity.
    """
    if root == 0:
        return freeze(rows)
    image = topology.translation(root)
    translated = np.empty_like(rows)
    for target, row in zip(translated, rows, strict=True):
        target[image] = topology.carried_ports(root, row)
    return freeze(translated)


def translate_forest(forest: Forest, root: int) -> Forest:
    """Translate a forest rooted at the identity to another root."""
    rows = translate_ports(forest.topology, forest.parent_port, root)
    # The hubs are translated, too, because `verify` is fast only with the hubs of the new trees.
    hubs = forest.verify_hubs
    if hubs is not None:
        hubs = tuple(forest.topology.translation(root)[list(hubs)].tolist())
    return replace(forest, parent_port=rows, root=root, verify_hubs=hubs)


def numbered_dimensions(n: int, numbers: NDArray[np.integer]) -> NDArray[np.uint8]:
    """Return v(m) for each number m: the dimension from the node with this number to its parent.

    The dimension is v(m) = (m-1) mod (n-1) + 2, and 0 for the root, which has the number 0.
    Consecutive numbers cycle through all n-1 dimensions. So the links that a multinode broadcast
    crosses in a step have different dimensions (section 3.2), and in the balanced tree the subtrees
    of the root's children differ in size by at most one node (section 5.1).

    Reference: Fragopoulou & Akl 1993, sections 3.2 and 5.1.
    """
    return np.where(numbers == 0, 0, (numbers - 1) % (n - 1) + 2).astype(np.uint8)


def reroot(topology: Topology, row: NDArray[np.uint8], root: int) -> None:
    """Change the root of a tree in place, by reversing the path between the old and new root.

    Args:
        topology: the topology of the tree.
        row: the ports towards the parents, uint8 ``[nodes]``.
        root: the rank of the new root.
    """
    node, port, back = root, int(row[root]), 0
    # Only the nodes on the path between the two roots get another parent.
    while True:
        row[node] = back
        if not port:
            return
        node = int(topology.neighbours(port, [node])[0])
        port, back = int(row[node]), topology.reverse_port(port)


def write_first_differences(n: int, root: Perms, start: int, out: NDArray[np.uint8]) -> None:
    """Write the greedy tree's parent ports for all nodes that begin with the root's first symbol.

    The port of such a node is the first position from 2 on in which the node differs from the root;
    the port of the root is 0. The ranks of these nodes are consecutive.

    Args:
        n: the number of symbols of S_n or S_{n,k}.
        root: the root's symbols.
        start: the lowest rank among these nodes.
        out: the array to write to, uint8 ``[nodes]``.
    """
    # `start` is the lowest rank of a node that begins with the root's first `depth` symbols.
    for depth in range(1, len(root)):
        symbols = sorted(set(range(1, n + 1)) - set(root[:depth].tolist()))
        block = perm(n - depth - 1, len(root) - depth - 1)
        out[start : start + len(symbols) * block].fill(depth + 1)
        start += symbols.index(int(root[depth])) * block
    out[start] = 0


def slabs(n: int, rows: NDArray[np.uint8]) -> Iterator[tuple[Slab, NDArray[np.uint8]]]:
    """Yield, for each first symbol 2..n, the slab and a view of its columns of ``rows``."""
    later = _position_table(n - 1) + np.uint8(1)
    for first, part in enumerate(np.split(rows, n, axis=1)[1:], start=2):
        yield Slab(first, np.insert(later, first, 1, axis=0)), part


def write_branches(
    n: int, rows: NDArray[np.uint8], dimension_of: Callable[[Slab], NDArray[np.uint8]]
) -> None:
    """Write the parent ports of each branch of the root into a separate tree.

    The branch across dimension l, l = 2..n, has the nodes with symbol 1 in position l; their parent
    ports are written into tree l-2.

    Args:
        n: the number of symbols.
        rows: the ports of all nodes, uint8 ``[n - 1, n!]``; modified in place.
        dimension_of: a function that returns the parent port of each node of a slab.
    """
    for slab, part in slabs(n, rows):
        dimensions = dimension_of(slab)
        for dimension, row in enumerate(part, start=2):
            np.copyto(row, dimensions, where=slab.positions[1] == dimension)


def _position_table(n: int) -> SymbolPositions:
    """Return the position of each symbol in each permutation of 1..n, uint8 ``[n+1, n!]``.

    The array is indexed by the symbol and the rank of the permutation; row 0 is unused.
    """
    table = np.zeros((1, 1), dtype=np.uint8)
    for size in range(1, n + 1):
        later = table + np.uint8(1)
        parts = [np.insert(later, first, 1, axis=0) for first in range(1, size + 1)]
        table = np.concatenate(parts, axis=1)
    return table
