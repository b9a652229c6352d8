"""The constructions by name, each with its paper and number."""

from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches

from starcast.errors import InputError
from starcast.topologies import Topology, topology
from starcast.trees.forest import Forest
from starcast.trees.greedy import greedy
from starcast.trees.multiple import multiple
from starcast.trees.recursive_substar import recursive_substar


@dataclass(frozen=True)
class Construction:
    """A rule that yields trees: its name, where it grows, what it is and which paper has it."""

    name: str
    families: tuple[str, ...]
    what: str
    paper: str
    build: Callable[[Topology, int], Forest]


CONSTRUCTIONS: dict[str, Construction] = {
    construction.name: construction
    for construction in (
        Construction("greedy", ("star",), "the shortest-path tree L(r)", "Tseng & Sheu 1997, Def. 1", greedy),
        Construction(
            "multiple", ("star",), "the n-1 trees L-hat(rho^i(r)), congestion 2", "Tseng & Sheu 1997, Def. 2", multiple
        ),
        Construction(
            "recursive-substar",
            ("star",),
            "the broadcast tree of 2n-3 steps",
            "Sheu, Liaw & Chen 1993, section 2",
            recursive_substar,
        ),
    )
}


def constructions(where: Topology | str | None = None) -> tuple[str, ...]:
    """The names of all constructions, or of those that grow on a topology."""
    if where is None:
        return tuple(CONSTRUCTIONS)
    family = _known(where).family
    return tuple(name for name, construction in CONSTRUCTIONS.items() if family in construction.families)


def forest(where: Topology | str, construction: str, root: int | str = 0, **arguments: int | str) -> Forest:
    """The forest that a construction yields on a topology.

    Args:
        where: a `Topology` or its name.
        construction: one of `constructions()`.
        root: label or rank of the root; the identity unless given.
        **arguments: the construction's own; those known so far take none.

    Raises:
        InputError: the topology, the construction or the root does not exist, or they do not go together.
    """
    there = _known(where)
    rule = find(construction)
    if there.family not in rule.families:
        raise InputError(
            f"the construction '{rule.name}' is not defined on {there.spec}",
            hint=f"on {there.spec} there are {', '.join(constructions(there))}",
        )
    if arguments:
        raise InputError(f"the construction '{rule.name}' has no argument '{next(iter(arguments))}'", hint="leave it out")
    return rule.build(there, there.node(root))


def find(name: str) -> Construction:
    """The construction of that name.

    Raises:
        InputError: there is none.
    """
    if name in CONSTRUCTIONS:
        return CONSTRUCTIONS[name]
    near = get_close_matches(str(name), CONSTRUCTIONS, n=1)
    meant = f"did you mean '{near[0]}'? " if near else ""
    raise InputError(f"'{name}' is no construction", hint=f"{meant}there are {', '.join(CONSTRUCTIONS)}")


def _known(where: Topology | str) -> Topology:
    return where if isinstance(where, Topology) else topology(where)
