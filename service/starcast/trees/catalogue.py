"""The constructions of spanning trees by name, and `forest`, which runs them."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from starcast.errors import InputError
from starcast.registry import Argument, Entry, Registry
from starcast.support.spec_syntax import parse_construction
from starcast.topologies import Topology, as_topology, memory
from starcast.trees.balanced import balanced, near_balanced, perfectly_balanced
from starcast.trees.binomial import binomial, edge_disjoint_binomial
from starcast.trees.change import dimension_change, label_change, no_dimension_change
from starcast.trees.edge_disjoint import edge_disjoint
from starcast.trees.greedy import greedy
from starcast.trees.hamiltonian import hamiltonian_cycle, rotated_hamiltonian
from starcast.trees.model import Forest
from starcast.trees.multiple import multiple
from starcast.trees.necklace import necklace
from starcast.trees.nk_greedy import nk_greedy
from starcast.trees.nk_multiple import nk_multiple
from starcast.trees.optimal_edge_disjoint import no_optimal_record, optimal_edge_disjoint
from starcast.trees.recursive_substar import recursive_substar
from starcast.trees.shortest_path import shortest_path, shortest_path_graph


@dataclass(frozen=True)
class Construction(Entry):
    """A rule that yields trees.

    Attributes:
        name: its name, as in ``forest("S5", name)``.
        families: the families of topologies on which it may be defined.
        description: the trees, as a noun phrase.
        source: the paper, and the number of the definition there.
        build: ``build(topology, root, **arguments)`` returns the forest; an argument that names a
            construction arrives as the forest of that construction at the identity.
        arguments: the arguments that it takes besides topology and root.
        smallest: the least n for which it is defined.
        one_tree_per_port: whether it yields a tree for each port rather than a single tree.
        partial: whether its trees do not reach all nodes.
        exclusion: ``exclusion(topology)`` returns why it is not defined on a topology of its
            families, or None if it is.
    """

    name: str
    families: tuple[str, ...]
    description: str
    source: str
    build: Callable[..., Forest]
    arguments: tuple[Argument, ...] = ()
    smallest: int = 1
    one_tree_per_port: bool = False
    partial: bool = False
    exclusion: Callable[[Topology], str | None] = lambda _: None

    def unsupported_reason(self, topology: Topology) -> str | None:
        """Return why the construction is not defined on a topology, or None if it is."""
        return super().unsupported_reason(topology) or self.exclusion(topology)

    def __str__(self) -> str:
        return f"the construction '{self.name}'"


def constructions(topology: Topology | str | None = None) -> tuple[str, ...]:
    """Return the names of all constructions, or of those that are defined on a topology.

    Example:
        >>> constructions("Q4")
        ('binomial', 'edge-disjoint-binomial')
    """
    if topology is None:
        return tuple(CONSTRUCTIONS)
    entries = CONSTRUCTIONS.supported(as_topology(topology))
    return tuple(construction.name for construction in entries)


def plain_constructions(topology: Topology | str | None = None) -> tuple[str, ...]:
    """Return the names of the constructions that take no arguments besides the root."""
    return tuple(name for name in constructions(topology) if not CONSTRUCTIONS[name].arguments)


def single_trees(topology: Topology | str | None = None) -> tuple[str, ...]:
    """Return the names of the plain constructions that yield a single spanning tree."""
    entries = (CONSTRUCTIONS[name] for name in plain_constructions(topology))
    return tuple(
        construction.name
        for construction in entries
        if not construction.one_tree_per_port and not construction.partial
    )


def forest(
    topology: Topology | str, construction: str, root: int | str = 0, **arguments: int | str
) -> Forest:
    """Return the trees of a construction.

    Args:
        topology: a `Topology` or its spec, such as ``S5``.
        construction: one of `constructions`, also with arguments in parentheses, such as
            ``dimension-change(base=multiple,i=2)``.
        root: label or rank of the root; the identity by default.
        **arguments: the arguments that the construction declares: ``base``, the trees to change,
            for ``label-change`` and ``dimension-change``, and ``i`` for ``dimension-change``.

    Returns:
        The forest; its array ``parent_port`` is uint8 ``[trees, nodes]`` and read-only.

    Raises:
        InputError: the topology, construction or root does not exist, the construction is not
            defined on the topology, or an argument is missing, unknown or impossible.
        LimitError: the trees are larger than the memory of this machine.

    Example:
        >>> forest("S5", "multiple", root="54321").heights.tolist()
        [10, 10, 10, 10]
    """
    topology = as_topology(topology)
    name, given = parse_construction(str(construction), arguments)
    entry = find(name, topology)
    values = entry.resolve_arguments(topology, given)
    rank = topology.node(root)
    trees = topology.degree if entry.one_tree_per_port else 1
    memory.require(
        memory.forest_bytes(topology.nodes, trees),
        f"trees of '{entry.name}' on the {topology.nodes:,} nodes of {topology.spec}",
    )
    bases = {
        argument.name: forest(topology, str(values[argument.name]))
        for argument in entry.arguments
        if argument.kind == "construction"
    }
    return entry.build(topology, rank, **{**values, **bases})


def forest_from_id(forest_id: str) -> Forest:
    """Return the forest of a construction with an id.

    Args:
        forest_id: such as ``S5:multiple:12345``; in short, ``S5:multiple`` is the forest at the
            identity.

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
    """Return how a forest differs from the construction that it is named after.

    Args:
        built: any forest, for example of a file; its name is checked, not trusted.

    Returns:
        A clause about the first difference, or None if the trees are those that `forest` returns,
        or if no construction of the catalogue has the name.

    Raises:
        LimitError: the trees of the construction are larger than the memory of this machine.
    """
    if built.construction not in CONSTRUCTIONS:
        return None
    try:
        entry = find(built.construction, built.topology)
        values = entry.resolve_arguments(built.topology, built.arguments)
        meant = forest(built.topology, entry.name, built.root, **values)
    except InputError as error:
        return error.message
    if meant.trees != built.trees:
        return f"the construction yields {meant.trees} trees, not {built.trees}"
    for tree, (row, expected) in enumerate(zip(built.parent_port, meant.parent_port, strict=True)):
        if not np.array_equal(row, expected):
            node = int((row != expected).argmax())
            return (
                f"node {built.topology.label(node)} of tree {tree} has parent port {row[node]}, "
                f"not {expected[node]}"
            )
    if meant.spanning != built.spanning:
        return f"its trees are {'not ' if meant.spanning else ''}marked as spanning"
    return None


def find(name: str, topology: Topology | None = None) -> Construction:
    """Return the construction of a name.

    Args:
        name: one of `constructions`.
        topology: a topology on which the construction must be defined.

    Raises:
        InputError: no construction has this name, or it is not defined on the topology.
    """
    construction = CONSTRUCTIONS.find(name)
    if topology is not None:
        CONSTRUCTIONS.check_topology(construction, topology)
    return construction


_BASE = Argument(
    "base",
    "the trees to change: a construction without arguments, such as 'multiple'",
    kind="construction",
    choices=plain_constructions,
    noun="a construction without arguments",
)
_PLACES = Argument(
    "i", "how many places, 0 to n-2", kind="index", maximum=lambda topology: topology.n - 2
)
_TS, _SLC, _NK = "Tseng & Sheu 1997", "Sheu, Liaw & Chen 1993", "Li, Chen, Xiang & Yao"
_FA, _EDT, _JH = "Fragopoulou & Akl 1993", "Fragopoulou & Akl 1996", "Johnsson & Ho 1989"

CONSTRUCTIONS = Registry("construction", (
    Construction("greedy", ("star",), "the shortest-path tree L(r)", f"{_TS}, Def. 1", greedy),
    Construction(
        "multiple", ("star",), "the n-1 trees L-hat(rho^i(r)), congestion 2", f"{_TS}, Def. 2",
        multiple, one_tree_per_port=True,
    ),
    Construction(
        "recursive-substar", ("star",), "the broadcast tree of 2n-3 steps", f"{_SLC}, section 2",
        recursive_substar,
    ),
    Construction(
        "rotated-hamiltonian", ("star",), "the n-1 rotated Hamiltonian paths of S_{n-1}, and a "
        "leaf for each node with the first symbol of the root", f"{_FA}, section 3.1",
        rotated_hamiltonian,
    ),
    Construction(
        "necklace", ("star",), "MBST: the shortest-path tree that numbers the nodes necklace by "
        "necklace", f"{_FA}, section 3.2", necklace,
    ),
    Construction(
        "hamiltonian-cycle", ("star",), "a Hamiltonian path whose last node is next to the root",
        f"{_FA}, section 4", hamiltonian_cycle,
    ),
    Construction(
        "label-change", ("star", "nk-star"), "LC(r, T): the trees T translated by their root",
        f"{_TS}, Def. 3", label_change, (_BASE,),
    ),
    Construction(
        "dimension-change", ("star", "nk-star"), "DC(i, T): every dimension of T moved by i "
        "places, with the same root", f"{_TS}, Def. 4", dimension_change, (_BASE, _PLACES),
        exclusion=no_dimension_change,
    ),
    Construction(
        "balanced", ("star",), "the shortest-path tree with subtrees as equal as possible",
        f"{_FA}, section 5.1", balanced,
    ),
    Construction(
        "near-balanced", ("star",), "the shortest-path tree with a subtree for each displacement",
        f"{_FA}, Def. 13", near_balanced,
    ),
    Construction(
        "perfectly-balanced", ("star",), "n-1 equal partial trees, with repeated nodes",
        f"{_FA}, Def. 15", perfectly_balanced, smallest=3, one_tree_per_port=True, partial=True,
    ),
    Construction(
        "shortest-path", ("star",), "the shortest-path tree SPT of the root and S^2, .., S^n",
        f"{_EDT}, Def. 6", shortest_path, partial=True,
    ),
    Construction(
        "shortest-path-graph", ("star",), "SPG: the n-1 subtrees of SPT, each with all of S^1",
        f"{_EDT}, Def. 7", shortest_path_graph, one_tree_per_port=True, partial=True,
    ),
    Construction(
        "edge-disjoint", ("star",), "EDT: n-1 directed edge-disjoint spanning trees",
        f"{_EDT}, Def. 8", edge_disjoint, one_tree_per_port=True,
    ),
    Construction(
        "nk-greedy", ("nk-star",), "the shortest-path tree SP(r)", f"{_NK}, Def. 3", nk_greedy
    ),
    Construction(
        "nk-multiple", ("nk-star",), "the n-1 trees MT(R_i)", f"{_NK}, Def. 4 and 5", nk_multiple,
        one_tree_per_port=True,
    ),
    Construction("binomial", ("hypercube",), "the spanning binomial tree", _JH, binomial),
    Construction(
        "edge-disjoint-binomial", ("hypercube",), "d directed edge-disjoint spanning binomial "
        "trees", _JH, edge_disjoint_binomial, one_tree_per_port=True,
    ),
    Construction(
        "optimal-edge-disjoint", ("star", "nk-star", "hypercube"), "directed edge-disjoint "
        "spanning trees of the least height that a search has proven", "starcast: records of "
        "edge-disjoint-trees", optimal_edge_disjoint, smallest=3, one_tree_per_port=True,
        exclusion=no_optimal_record,
    ),
))  # fmt: skip
