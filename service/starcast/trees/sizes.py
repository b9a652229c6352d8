"""The number of edges of a construction's trees, computed without building them."""

from collections.abc import Callable
from math import factorial, gcd

from starcast.topologies import Topology, as_topology
from starcast.trees.construction import find


def count_edges(topology: Topology | str, construction: str, **arguments: int | str) -> int:
    """Return the number of edges of all trees that `starcast.forest` builds with these arguments.

    Raises:
        InputError: `starcast.forest` refuses the arguments.

    Example:
        >>> count_edges("S5", "multiple")
        476
    """
    topology = as_topology(topology)
    entry = find(construction, topology)
    values = entry.resolve_arguments(topology, arguments)
    if "base" in values:  # a changed tree has as many edges as the original
        return count_edges(topology, str(values["base"]))
    if entry.name in _PARTIAL:
        return _PARTIAL[entry.name](topology.n)
    trees = topology.degree if entry.one_tree_per_port else 1
    return trees * (topology.nodes - 1)


def _shortest_path(n: int) -> int:
    """Fragopoulou & Akl 1996, Lemma 4: all nodes of S^2, .., S^n, and of S^1 only the root."""
    return (n - 1) * factorial(n - 1)


def _shortest_path_graph(n: int) -> int:
    """Fragopoulou & Akl 1996, Lemma 5: n-1 trees of 2(n-1)! nodes."""
    return (n - 1) * (2 * factorial(n - 1) - 1)


def _perfectly_balanced(n: int) -> int:
    """Fragopoulou & Akl 1993, Def. 15: each of n-1 trees has one node of every necklace.

    Burnside's lemma counts the necklaces. Rotation by j has g = gcd(j, n-1) cycles of (n-1)/g
    symbols; it fixes as many nodes as there are permutations that commute with it.
    """
    rotations = n - 1
    cycles = [gcd(j, rotations) for j in range(1, rotations)]
    fixed: int = factorial(n) + sum((rotations // g) ** g * factorial(g) for g in cycles)
    return rotations * (fixed // rotations - 1)


#: The constructions on star graphs whose trees do not reach all nodes.
_PARTIAL: dict[str, Callable[[int], int]] = {
    "shortest-path": _shortest_path,
    "shortest-path-graph": _shortest_path_graph,
    "perfectly-balanced": _perfectly_balanced,
}
