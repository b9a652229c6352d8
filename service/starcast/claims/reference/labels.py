"""Labels of S_n as arrays, and necklaces.

The module computes symbols, positions, ranks, translations, the rotation R, and the necklaces that
nodes form under R: generators, displacements, periods, and counts. Translation and R are defined in
docs/definitions/conventions.md (Fragopoulou & Akl 1993, Definitions 2 and 5). The module uses
neither `starcast.trees` nor the ranking of `starcast.topologies.permutations`. The number 0 is not
a symbol and is left unchanged: it occurs in labels that the mutation tests corrupt.
"""

from fractions import Fraction
from itertools import permutations as orders
from math import gcd

import numpy as np
from numpy.typing import NDArray

from starcast.claims.growth import (
    EXACT,
    Number,
    ceil,
    distance_sum,
    divide,
    even_share,
    factorial,
    harmonic,
)
from starcast.claims.object_cache import CachedTopology
from starcast.claims.reference import bfs
from starcast.topologies.permutations import Perms, Ranks


def symbols(network: CachedTopology) -> Perms:
    """Return the symbols x_1, .., x_n of every node, in rank order, uint8 ``[nodes, n]``."""
    return network.array(
        "symbols", lambda: np.array(list(orders(range(1, network.n + 1))), dtype=np.uint8)
    )


def positions(rows: Perms) -> NDArray[np.int64]:
    """Return in row s the position (from 1) of symbol s+1 in each node, int64 ``[n, nodes]``."""
    return np.argsort(rows, axis=1).T + 1


def ranks_of(network: CachedTopology, rows: NDArray[np.integer]) -> Ranks:
    """Return the lexicographic ranks of rows of symbols, int32 ``[rows]``."""
    # As numbers in base n+1, labels in rank order are ascending, so a binary search finds ranks.
    weights = (network.n + 1) ** np.arange(network.n - 1, -1, -1)
    found = np.searchsorted(symbols(network) @ weights, rows @ weights)
    # A label that a mutation test corrupted can be larger than all labels.
    return np.minimum(found, network.nodes - 1).astype(np.int32)


def translation(network: CachedTopology, q: int) -> Ranks:
    """Return the rank of the label (q[x_1], .., q[x_n]) for every node x, int32 ``[nodes]``.

    The papers call this translation F_q(x), T_q(x), LC(q, .) or q∘x.
    """

    def create() -> Ranks:
        rows = symbols(network)
        return ranks_of(network, np.append(0, rows[q])[rows])

    return network.array(f"translation by {q}", create)


def translations(network: CachedTopology) -> Ranks:
    """Return the translation of every node x by every node q, int32 ``[nodes q, nodes x]``."""

    def create() -> Ranks:
        rows = symbols(network)
        return np.stack([ranks_of(network, np.append(0, q)[rows]) for q in rows])

    return network.array("translations", create)


def rotation_function(n: int) -> NDArray[np.int64]:
    """Return the function r that R applies to symbols, positions and dimensions, int64 ``[n+1]``.

    r(1) = 1, r(n) = 2, and r(s) = s+1 for any other s.
    """
    return np.array([0, 1, *range(3, n + 1), 2][: n + 1])


def rotation(network: CachedTopology) -> Ranks:
    """Return the rank of R(x) for every node x, int32 ``[nodes]``.

    R(x) has the symbol r(x_s) in position r(s); see `rotation_function`. In cycle notation
    (Definition 5): if s is followed by x_s in x, r(s) is followed by r(x_s) in R(x).
    """

    def create() -> Ranks:
        rows, to = symbols(network), rotation_function(network.n)
        out = np.empty_like(rows)
        out[:, to[1:] - 1] = to[rows]
        return ranks_of(network, out)

    return network.array("rotation", create)


def rotations(network: CachedTopology) -> Ranks:
    """Return the images of all nodes after 0, 1, .., n-2 rotations, int32 ``[n-1, nodes]``."""
    rotated = rotation(network)
    rows = [np.arange(network.nodes, dtype=np.int32)]
    for _ in range(network.n - 2):
        rows.append(rotated[rows[-1]])
    return np.stack(rows)


def return_times(network: CachedTopology) -> NDArray[np.int64]:
    """Return, for each node, after how many rotations it is mapped to itself; 0 if 4n or more."""
    node = rotated = rotation(network)
    times = np.zeros(network.nodes, dtype=np.int64)
    for count in range(1, 4 * network.n):
        times = np.where((node == np.arange(network.nodes)) & (times == 0), count, times)
        node = rotated[node]
    return times


# Necklaces (Fragopoulou & Akl 1993)


def leaders(network: CachedTopology) -> NDArray[np.int32]:
    """Return the smallest rank in every node's necklace (its orbit under R), int32 ``[nodes]``."""
    return network.array("necklaces by turning", lambda: rotations(network).min(axis=0))


def leader_distances(network: CachedTopology) -> NDArray[np.int32]:
    """Return the distance of every other necklace from 12..n, in order of the smallest rank."""
    distinct = np.unique(leaders(network))
    return bfs.distances(network)[distinct[distinct > 0]]


def periods(network: CachedTopology) -> NDArray[np.int64]:
    """Return the number of nodes in each node's necklace."""
    leader = leaders(network)
    return network.array("periods", lambda: np.bincount(leader, minlength=network.nodes)[leader])


def named_generators(network: CachedTopology) -> NDArray[np.bool_]:
    """Return the nodes that Definition 7 names as generators, bool ``[nodes]``.

    It names none in the necklace of the identity 12..n, where symbol 2 is in no cycle.
    """

    def create() -> NDArray[np.bool_]:
        labels = symbols(network)
        leader = leaders(network).tolist()
        is_generator = np.asarray(labels[:, 1] == 1)
        starting = np.flatnonzero((labels[:, 0] == 1) & (labels[:, 1] != 2)).tolist()
        cycles = {node: cycle_of(labels[node].tolist(), 2) for node in starting}
        least: dict[int, tuple[int, ...]] = {}
        for node, cycle in cycles.items():
            least[leader[node]] = min(cycle, least.get(leader[node], cycle))
        for node, cycle in cycles.items():
            is_generator[node] = cycle == least[leader[node]]
        return is_generator

    return network.array("generators by Definition 7", create)


def displacements(network: CachedTopology) -> NDArray[np.int64]:
    """Return how many rotations map the generator of each node's necklace to the node (Def. 8).

    Returns:
        int64 ``[nodes]``, counted from the first generator if there are several; -1 for 12..n.
    """

    def create() -> NDArray[np.int64]:
        leader = leaders(network)
        rotated = rotation(network)
        generators = np.flatnonzero(named_generators(network))
        _, first = np.unique(leader[generators], return_index=True)
        displacement = np.full(network.nodes, -1, dtype=np.int64)
        members = generators[first].astype(np.int32)
        for turns in range(network.n - 1):
            displacement[members[displacement[members] < 0]] = turns
            members = rotated[members]
        return displacement

    return network.array("displacements", create)


def cycle_of(label: list[int], symbol: int) -> tuple[int, ...]:
    """Return the cycle that starts with a symbol; s is followed by x_s."""
    cycle = [symbol]
    while label[cycle[-1] - 1] != symbol:
        cycle.append(label[cycle[-1] - 1])
    return tuple(cycle)


# Counts by Burnside's lemma. On the symbols 2..n, a power R^e of the rotation has m cycles of
# length d, where m d = n-1. Of the nodes that start with 1, it leaves d^m m! unchanged: the
# permutations that commute with it. Of the n-1 powers, phi(d) (Euler's function) have cycles of
# length d.


def starting_necklaces(n: int) -> int:
    """Return how many necklaces start with 1, excluding the necklace of 12..n.

    The number is the sum of phi(d) d^m m! over the divisors d of n-1, divided by n-1, minus 1. Here
    phi is Euler's function and m = (n-1)/d.
    """
    fixed = sum(_phi(d) * d**m * factorial(m) for d, m in _divisors(n - 1))
    return int(fixed) // (n - 1) - 1


def full_necklaces(n: int) -> int:
    """Count, by Möbius inversion, the necklaces of n-1 nodes that start with 1."""
    free = sum(_moebius(d) * d**m * int(factorial(m)) for d, m in _divisors(n - 1))
    return int(free) // (n - 1) - (n == 2)  # on S_2, excludes the necklace of 12


def rule_9_steps(n: int) -> Number:
    """Return the sum of all necklaces' distances: exact up to n = 60, an upper bound above.

    Necklaces that do not start with 1 have n-1 nodes each. A node that starts with 1 has the
    distance c + s, where c is the number of cycles of two or more symbols and s the number of
    symbols in them. Over the nodes that commute with a power R^e, which has m cycles of length d,
    the mean of c + s is n - 3 + H_m P(d)/d. H_m is the m-th harmonic number, and P(d) is the sum
    of the greatest common divisors of d with 1..d. On average one of the n-1 symbols is fixed,
    which reduces both c and s by one. A node that commutes with R^e permutes the m cycles of R^e.
    This permutation has 1/l cycles of length l on average. Each of them, if turned by e' places,
    consists of gcd(e', d) cycles of symbols.
    Above n = 60 every node that starts with 1 counts as a necklace of its own.
    """
    t_1 = factorial(n - 1) * (n - 3 + harmonic(n - 1))
    rest = divide(distance_sum(n) - t_1, n - 1)
    if n > EXACT:
        return rest + t_1
    total = Fraction(0)
    for d, m in _divisors(n - 1):
        mean_gcd = Fraction(sum(gcd(d, e) for e in range(d)), d)
        total += _phi(d) * d**m * factorial(m) * (n - 3 + harmonic(m) * mean_gcd)
    return rest + total / (n - 1)


def largest_branch(n: int) -> Number:
    """Return the size of the largest subtree of Definition 13's tree, an upper bound for n > 60.

    The subtree has (n-1)! nodes that do not start with 1, and one node of each necklace that does.
    """
    return factorial(n - 1) + (starting_necklaces(n) if n <= EXACT else factorial(n - 1) - 1)


def smallest_branch(n: int) -> Number:
    """Return the size of the smallest subtree of Definition 13's tree, a lower bound for n > 60.

    The subtree has (n-1)! nodes that do not start with 1, and one node of each necklace of n-1
    nodes that does.
    """
    return factorial(n - 1) + (full_necklaces(n) if n <= EXACT else 0)


def rule_9_quotient(n: int) -> Number:
    """Return the number of steps of Rule 9 divided by its lower bound, ceil(t_n/(n-1))."""
    return divide(rule_9_steps(n), ceil(divide(distance_sum(n), n - 1)))


def largest_branch_quotient(n: int) -> Number:
    """Return the size of Definition 13's largest subtree divided by an even share of the nodes."""
    return divide(largest_branch(n), even_share(n))


def _divisors(number: int) -> list[tuple[int, int]]:
    return [(d, number // d) for d in range(1, number + 1) if number % d == 0]


def _phi(number: int) -> int:
    return sum(1 for i in range(1, number + 1) if gcd(i, number) == 1)


def _moebius(number: int) -> int:
    sign = 1
    for prime in range(2, number + 1):
        if number % prime == 0:
            number //= prime
            if number % prime == 0:
                return 0
            sign = -sign
    return sign
