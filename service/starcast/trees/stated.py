"""What the papers state of the trees that they construct, as closed forms, each with its paper and number.

These are their words, not our findings: `starcast tree show` prints them beside what was measured. D is the diameter.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import factorial, gcd
from typing import Any

from starcast.errors import InputError
from starcast.support.integers import ceil_div
from starcast.topologies import Topology
from starcast.trees.catalogue import checked
from starcast.trees.model import Forest

TS = "Tseng & Sheu 1997"
SLC = "Sheu, Liaw & Chen 1993"
FA = "Fragopoulou & Akl 1993"
EDT = "Fragopoulou & Akl 1996"
NK = "Li, Chen, Xiang & Yao"
JH = "Johnsson & Ho 1989"
#: Closed forms that stand in no paper, and were found when the definitions were worked out.
OURS = "starcast"


@dataclass(frozen=True)
class Stated:
    """A statement about one of `measures`: which, in words, whether a measured value is so, and who says it where."""

    measure: str
    words: str
    holds: Callable[[Any], bool]
    source: str


def stated(forest: Forest) -> tuple[Stated, ...]:
    """What the papers state of a construction on its topology; label change and dimension change keep what is stated of T."""
    try:  # a forest from a file, or of an array of one's own, may bear any name
        checked(forest.topology, forest.construction, forest.arguments)
    except InputError:
        return ()
    return _STATED.get(str(forest.arguments.get("base", forest.construction)), _nothing)(
        forest.topology
    )


def multiple_height(n: int, i: int) -> int:
    """The height of L-hat(rho^i(r)): D + n + gcd(n, i) - 2 (Tseng & Sheu 1997, Lemma 5)."""
    return 3 * (n - 1) // 2 + n + gcd(n, i) - 2


def derangements(n: int) -> int:
    """d_n, the permutations of n symbols that move all of them."""
    count = 1
    for symbols in range(1, n + 1):
        count = symbols * count + (-1) ** symbols
    return count


def _equal(measure: str, value: bool | int | list[int] | list[list[int]], source: str) -> Stated:
    return Stated(measure, _written(value), lambda found: bool(found == value), source)


def _at_most(measure: str, bound: int, source: str) -> Stated:
    return Stated(measure, f"at most {bound}", lambda found: _greatest(found) <= bound, source)


def _greatest(found: int | Sequence[int]) -> int:
    return found if isinstance(found, int) else max(found)


def _written(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return " ".join(map(_written, value)) if isinstance(value, list) else str(value)


def _nothing(_: Topology) -> tuple[Stated, ...]:
    return ()


def _greedy(topology: Topology) -> tuple[Stated, ...]:
    return (
        _equal("spanning", True, f"{TS}, Lemma 3"),
        _equal("shortest path", True, f"{TS}, Lemma 3"),
        _equal("heights", [topology.diameter], f"{TS}, Lemma 3"),
        _equal("leaves", [derangements(topology.n)], f"{OURS}: the derangements of n symbols"),
    )


def _multiple(topology: Topology) -> tuple[Stated, ...]:
    n = topology.n
    return (
        _equal("trees", n - 1, f"{TS}, Def. 2"),
        _equal("spanning", True, f"{TS}, Def. 2"),
        _equal("heights", [multiple_height(n, i) for i in range(1, n)], f"{TS}, Lemma 5"),
        _at_most("congestion", 2, f"{TS}, Lemma 6"),
    )


def _recursive_substar(topology: Topology) -> tuple[Stated, ...]:
    return (
        _equal("spanning", True, f"{SLC}, section 2"),
        _equal("heights", [2 * topology.n - 3], f"{SLC}, Theorem 4"),
    )


def _rotated_hamiltonian(topology: Topology) -> tuple[Stated, ...]:
    paths = factorial(topology.n - 1)
    return (
        _equal("spanning", True, f"{FA}, algorithm 1"),
        Stated(
            "heights",
            f"of order {paths}",
            lambda found: paths <= found[0] <= 2 * paths,
            f"{TS}, section 6.2",
        ),
    )


def _necklace(topology: Topology) -> tuple[Stated, ...]:
    return (
        _equal("spanning", True, f"{FA}, algorithm 2"),
        _equal("shortest path", True, f"{FA}, Theorem 8.2"),
        _equal("heights", [topology.diameter], f"{TS}, section 6.2"),
    )


def _hamiltonian_cycle(topology: Topology) -> tuple[Stated, ...]:
    return (
        _equal("spanning", True, f"{FA}, section 4"),
        _equal("heights", [topology.nodes - 1], f"{FA}, section 4"),
    )


def _balanced(topology: Topology) -> tuple[Stated, ...]:
    largest = ceil_div(topology.nodes - 1, topology.n - 1)
    return (
        _equal("spanning", True, f"{FA}, section 5.1"),
        _equal("shortest path", True, f"{FA}, section 5.1"),
        Stated(
            "branches",
            f"{largest} or one less",
            lambda found: max(found[0]) == largest and min(found[0]) >= largest - 1,
            f"{FA}, section 5.1",
        ),
    )


def _near_balanced(_: Topology) -> tuple[Stated, ...]:
    return (
        _equal("spanning", True, f"{FA}, Def. 13"),
        _equal("shortest path", True, f"{FA}, Theorem 9.4"),
    )


def _perfectly_balanced(topology: Topology) -> tuple[Stated, ...]:
    return (
        _equal("trees", topology.n - 1, f"{FA}, Def. 15"),
        _equal("shortest path", True, f"{FA}, Theorem 10.5"),
        Stated("sizes", "all equal", lambda found: len(set(found)) == 1, f"{FA}, Theorem 10.6"),
    )


def _shortest_path(topology: Topology) -> tuple[Stated, ...]:
    substar = factorial(topology.n - 1)
    return (
        _equal("sizes", [1 + (topology.n - 1) * substar], f"{EDT}, Lemma 4"),
        _equal("shortest path", True, f"{EDT}, Lemma 4"),
        _equal("branches", [[substar] * (topology.n - 1)], f"{EDT}, Lemma 4"),
    )


def _shortest_path_graph(topology: Topology) -> tuple[Stated, ...]:
    n = topology.n
    return (
        _equal("trees", n - 1, f"{EDT}, Def. 7"),
        _equal("sizes", [2 * factorial(n - 1)] * (n - 1), f"{EDT}, Lemma 5"),
    )


def _edge_disjoint(topology: Topology) -> tuple[Stated, ...]:
    return (
        _equal("trees", topology.n - 1, f"{EDT}, Def. 8"),
        _equal("spanning", True, f"{EDT}, Def. 8"),
        _equal("edge-disjoint", True, f"{EDT}, Lemma 6.1"),
        _at_most("heights", topology.diameter + 4, f"{EDT}, Lemma 6.4"),
    )


def _nk_greedy(topology: Topology) -> tuple[Stated, ...]:
    return (
        _equal("spanning", True, f"{NK}, Theorem 1"),
        _equal("shortest path", True, f"{NK}, Theorem 1"),
        _equal("heights", [topology.diameter], f"{NK}, Theorem 1"),
    )


def _nk_multiple(topology: Topology) -> tuple[Stated, ...]:
    low, high = (topology.k or 0) + topology.diameter, 2 * topology.diameter
    return (
        _equal("trees", topology.n - 1, f"{NK}, Def. 5"),
        _equal("spanning", True, f"{NK}, Theorem 7"),
        Stated(
            "heights",
            f"{low} to {high}",
            lambda found: low <= min(found) and max(found) <= high,
            f"{NK}, Theorem 7",
        ),
    )


def _binomial(topology: Topology) -> tuple[Stated, ...]:
    return (
        _equal("spanning", True, JH),
        _equal("shortest path", True, JH),
        _equal("heights", [topology.n], JH),
        _equal("branches", [[2 ** (topology.n - port) for port in topology.ports][::-1]], JH),
    )


def _edge_disjoint_binomial(topology: Topology) -> tuple[Stated, ...]:
    return (
        _equal("trees", topology.n, JH),
        _equal("spanning", True, JH),
        _equal("edge-disjoint", True, JH),
        _equal("heights", [topology.n + 1] * topology.n, JH),
    )


_STATED: dict[str, Callable[[Topology], tuple[Stated, ...]]] = {
    "greedy": _greedy,
    "multiple": _multiple,
    "recursive-substar": _recursive_substar,
    "rotated-hamiltonian": _rotated_hamiltonian,
    "necklace": _necklace,
    "hamiltonian-cycle": _hamiltonian_cycle,
    "balanced": _balanced,
    "near-balanced": _near_balanced,
    "perfectly-balanced": _perfectly_balanced,
    "shortest-path": _shortest_path,
    "shortest-path-graph": _shortest_path_graph,
    "edge-disjoint": _edge_disjoint,
    "nk-greedy": _nk_greedy,
    "nk-multiple": _nk_multiple,
    "binomial": _binomial,
    "edge-disjoint-binomial": _edge_disjoint_binomial,
}
