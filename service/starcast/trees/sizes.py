"""How many edges the trees of a construction have, known without building them: for what is asked before an ingest."""

from collections.abc import Callable
from math import factorial, gcd

from starcast.topologies import Topology, topology
from starcast.trees.catalogue import checked
from starcast.trees.change import check_turns


def edges(where: Topology | str, construction: str, **arguments: int | str) -> int:
    """The edges of all trees that `starcast.trees.model` would build with these words.

    Raises:
        InputError: there are no such trees, for the reasons that `forest` has.
    """
    there = topology(where) if isinstance(where, str) else where
    rule = checked(there, construction, arguments)
    if "i" in arguments:
        check_turns(there, int(arguments["i"]))
    if "base" in arguments:
        return edges(there, str(arguments["base"]))  # changed trees keep their edges, one for one
    if rule.name in _PARTIAL:
        return _PARTIAL[rule.name](there.n)
    return (there.degree if rule.one_tree_per_port else 1) * (there.nodes - 1)


def _shortest_path(n: int) -> int:
    """Fragopoulou & Akl 1996, Lemma 4: all nodes but those of S^1, of which there is only the root."""
    return (n - 1) * factorial(n - 1)


def _shortest_path_graph(n: int) -> int:
    """Fragopoulou & Akl 1996, Lemma 5: n-1 trees of 2(n-1)! nodes."""
    return (n - 1) * (2 * factorial(n - 1) - 1)


def _perfectly_balanced(n: int) -> int:
    """Fragopoulou & Akl 1993, Def. 15: each of n-1 trees has a node of every necklace; Burnside's lemma counts necklaces.

    Rotation by j leaves g = gcd(j, n-1) cycles of (n-1)/g symbols; as many nodes stay as permutations commute with that.
    """
    turns = n - 1
    cycles = [gcd(j, turns) for j in range(1, turns)]
    staying: int = factorial(n) + sum((turns // g) ** g * factorial(g) for g in cycles)
    return turns * (staying // turns - 1)


#: The constructions of `star` whose trees do not reach every node.
_PARTIAL: dict[str, Callable[[int], int]] = {
    "shortest-path": _shortest_path,
    "shortest-path-graph": _shortest_path_graph,
    "perfectly-balanced": _perfectly_balanced,
}
