"""The constructions by name, each with its paper and number."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Literal

import numpy as np

from starcast.errors import InputError
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
from starcast.trees.recursive_substar import recursive_substar
from starcast.trees.shortest_path import shortest_path, shortest_path_graph


@dataclass(frozen=True)
class Argument:
    """What a construction has to be given beside the root.

    An "integer" reaches the rule as it is; a "construction" is a name, and the rule gets that construction's forest at
    the identity.
    """

    name: str
    kind: Literal["integer", "construction"]
    what: str


@dataclass(frozen=True)
class Construction:
    """A rule that yields trees: its name, where it grows, what it is and which paper has it.

    ``build(topology, root, **arguments)`` gets every declared argument; ``smallest`` is the least n for which it is defined;
    ``one_tree_per_port`` tells that it yields a tree for each port, not a single one, ``partial`` that its trees do not span; ``refusal``
    gives the reason why it is not defined on a topology of its families, where there is one.
    """

    name: str
    families: tuple[str, ...]
    what: str
    paper: str
    build: Callable[..., Forest]
    arguments: tuple[Argument, ...] = ()
    smallest: int = 1
    one_tree_per_port: bool = False
    partial: bool = False
    refusal: Callable[[Topology], str | None] = lambda _: None

    def unsupported_reason(self, there: Topology) -> str | None:
        """Why it does not grow on a topology, None where it does."""
        if there.family not in self.families:
            return f"it grows on {' and '.join(_FAMILIES[family] for family in self.families)}"
        if there.n < self.smallest:
            return f"it begins with n = {self.smallest}"
        return self.refusal(there)


_FAMILIES = {"star": "star graphs", "nk-star": "(n,k)-stars", "hypercube": "hypercubes"}
_BASE = Argument(
    "base",
    "construction",
    "the trees to change: a construction without arguments of its own, such as 'multiple'",
)

CONSTRUCTIONS: dict[str, Construction] = {
    construction.name: construction
    for construction in (
        Construction(
            "greedy", ("star",), "the shortest-path tree L(r)", "Tseng & Sheu 1997, Def. 1", greedy
        ),
        Construction(
            "multiple",
            ("star",),
            "the n-1 trees L-hat(rho^i(r)), congestion 2",
            "Tseng & Sheu 1997, Def. 2",
            multiple,
            one_tree_per_port=True,
        ),
        Construction(
            "recursive-substar",
            ("star",),
            "the broadcast tree of 2n-3 steps",
            "Sheu, Liaw & Chen 1993, section 2",
            recursive_substar,
        ),
        Construction(
            "rotated-hamiltonian",
            ("star",),
            "the n-1 rotated Hamiltonian paths of S_{n-1}, and a leaf for each node that starts like the root",
            "Fragopoulou & Akl 1993, section 3.1",
            rotated_hamiltonian,
        ),
        Construction(
            "necklace",
            ("star",),
            "MBST: the shortest-path tree that numbers the nodes necklace by necklace",
            "Fragopoulou & Akl 1993, section 3.2",
            necklace,
        ),
        Construction(
            "hamiltonian-cycle",
            ("star",),
            "a Hamiltonian path whose last node is next to the root",
            "Fragopoulou & Akl 1993, section 4",
            hamiltonian_cycle,
        ),
        Construction(
            "label-change",
            ("star", "nk-star"),
            "LC(r, T): the trees T translated by their root",
            "Tseng & Sheu 1997, Def. 3",
            label_change,
            (_BASE,),
        ),
        Construction(
            "dimension-change",
            ("star", "nk-star"),
            "DC(i, T): every dimension of T moved i places on, the root kept",
            "Tseng & Sheu 1997, Def. 4",
            dimension_change,
            (_BASE, Argument("i", "integer", "how many places, 0 to n-2")),
            refusal=no_dimension_change,
        ),
        Construction(
            "balanced",
            ("star",),
            "the shortest-path tree with subtrees as equal as can be",
            "Fragopoulou & Akl 1993, section 5.1",
            balanced,
        ),
        Construction(
            "near-balanced",
            ("star",),
            "the shortest-path tree with a subtree for each displacement",
            "Fragopoulou & Akl 1993, Def. 13",
            near_balanced,
        ),
        Construction(
            "perfectly-balanced",
            ("star",),
            "n-1 equal partial trees, with repeated nodes",
            "Fragopoulou & Akl 1993, Def. 15",
            perfectly_balanced,
            smallest=3,
            one_tree_per_port=True,
            partial=True,
        ),
        Construction(
            "shortest-path",
            ("star",),
            "the shortest-path tree SPT of the root and S^2, .., S^n",
            "Fragopoulou & Akl 1996, Def. 6",
            shortest_path,
            partial=True,
        ),
        Construction(
            "shortest-path-graph",
            ("star",),
            "SPG: the n-1 subtrees of SPT, each with all of S^1",
            "Fragopoulou & Akl 1996, Def. 7",
            shortest_path_graph,
            one_tree_per_port=True,
            partial=True,
        ),
        Construction(
            "edge-disjoint",
            ("star",),
            "EDT: n-1 directed edge-disjoint spanning trees",
            "Fragopoulou & Akl 1996, Def. 8",
            edge_disjoint,
            one_tree_per_port=True,
        ),
        Construction(
            "nk-greedy",
            ("nk-star",),
            "the shortest-path tree SP(r)",
            "Li, Chen, Xiang & Yao, Def. 3",
            nk_greedy,
        ),
        Construction(
            "nk-multiple",
            ("nk-star",),
            "the n-1 trees MT(R_i)",
            "Li, Chen, Xiang & Yao, Def. 4 and 5",
            nk_multiple,
            one_tree_per_port=True,
        ),
        Construction(
            "binomial",
            ("hypercube",),
            "the spanning binomial tree",
            "Johnsson & Ho 1989",
            binomial,
        ),
        Construction(
            "edge-disjoint-binomial",
            ("hypercube",),
            "d directed edge-disjoint spanning binomial trees",
            "Johnsson & Ho 1989",
            edge_disjoint_binomial,
            one_tree_per_port=True,
        ),
    )
}


def constructions(topology: Topology | str | None = None) -> tuple[str, ...]:
    """The names of all constructions, or of those that grow on a topology."""
    if topology is None:
        return tuple(CONSTRUCTIONS)
    there = as_topology(topology)
    return tuple(
        name for name, rule in CONSTRUCTIONS.items() if rule.unsupported_reason(there) is None
    )


def plain_constructions(topology: Topology | str | None = None) -> tuple[str, ...]:
    """Those of `constructions` that need nothing but a root."""
    return tuple(name for name in constructions(topology) if not CONSTRUCTIONS[name].arguments)


def single_trees(topology: Topology | str | None = None) -> tuple[str, ...]:
    """Those of `plain_constructions` that yield one spanning tree."""
    rules = (CONSTRUCTIONS[name] for name in plain_constructions(topology))
    return tuple(rule.name for rule in rules if not (rule.one_tree_per_port or rule.partial))


def forest(
    topology: Topology | str, construction: str, root: int | str = 0, **arguments: int | str
) -> Forest:
    """The forest that a construction yields on a topology.

    Args:
        where: a `Topology` or its name.
        construction: one of `constructions()`.
        root: label or rank of the root; the identity unless given.
        **arguments: the construction's own, every one that it declares: ``tree`` of `label-change`, ``base`` and ``i`` of
            `dimension-change`.

    Raises:
        InputError: the topology, the construction or the root does not exist, they do not go together, or an argument is
            missing, unknown or impossible.
        LimitError: the trees are larger than the memory of this machine.
    """
    there = as_topology(topology)
    rule = checked(there, construction, arguments)
    at = there.node(root)
    trees = there.degree if rule.one_tree_per_port else 1
    memory.require(
        memory.estimate(there, trees),
        f"trees of '{rule.name}' on the {there.nodes:,} nodes of {there.spec}",
    )
    values = {one.name: arguments[one.name] for one in rule.arguments}
    grown = {
        one.name: forest(there, str(values[one.name]))
        for one in rule.arguments
        if one.kind == "construction"
    }
    return rule.build(there, at, **{**values, **grown})


def checked(there: Topology, construction: str, arguments: Mapping[str, object]) -> Construction:
    """The construction of that name, which grows there and takes these arguments.

    Raises:
        InputError: it does not, or there is none.
    """
    rule = find(construction)
    _check_place(rule, there)
    _check_names(rule, arguments)
    for argument in rule.arguments:
        _check_value(rule, argument, arguments[argument.name], there)
    return rule


def find(name: str) -> Construction:
    """The construction of that name.

    Raises:
        InputError: there is none.
    """
    if str(name) in CONSTRUCTIONS:
        return CONSTRUCTIONS[name]
    near = get_close_matches(str(name), CONSTRUCTIONS, n=1)
    meant = f"did you mean '{near[0]}'? " if near else ""
    raise InputError(
        f"'{name}' is no construction", hint=f"{meant}there are {', '.join(CONSTRUCTIONS)}"
    )


def _check_place(rule: Construction, there: Topology) -> None:
    reason = rule.unsupported_reason(there)
    if reason is not None:
        raise InputError(
            f"the construction '{rule.name}' is not defined on {there.spec}: {reason}",
            hint=f"on {there.spec} there are {', '.join(constructions(there))}",
        )


def _check_names(rule: Construction, given: Mapping[str, object]) -> None:
    declared = {argument.name: argument.what for argument in rule.arguments}
    unknown = next((name for name in given if name not in declared), None)
    if unknown is not None:
        hint = f"its arguments are {', '.join(declared)}" if declared else "leave it out"
        raise InputError(f"the construction '{rule.name}' has no argument '{unknown}'", hint=hint)
    missing = next((name for name in declared if name not in given), None)
    if missing is not None:
        raise InputError(
            f"the construction '{rule.name}' needs the argument '{missing}'",
            hint=f"give {declared[missing]}",
        )


def _check_value(rule: Construction, argument: Argument, given: object, there: Topology) -> None:
    said = f"the argument '{argument.name}' of '{rule.name}' is {given!r}"
    if argument.kind == "integer":
        if isinstance(given, bool) or not isinstance(given, int | np.integer):
            raise InputError(f"{said}, not a whole number", hint=f"give {argument.what}")
        return
    if not isinstance(given, str):
        raise InputError(f"{said}, not the name of a construction", hint=f"give {argument.what}")
    if find(given).arguments:
        raise InputError(
            f"{said}, which has arguments itself",
            hint=f"take one of {', '.join(plain_constructions(there))}",
        )
    _check_place(find(given), there)
