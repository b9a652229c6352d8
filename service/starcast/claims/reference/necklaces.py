"""Necklaces of S_n (Fragopoulou & Akl 1993): generators, displacements, periods, counts."""

from fractions import Fraction
from math import gcd

import numpy as np
from numpy.typing import NDArray

from starcast.claims.growth import EXACT, Number, distance_sum, divide, factorial, harmonic
from starcast.claims.object_cache import CachedTopology
from starcast.claims.reference import bfs
from starcast.claims.reference.labels import rotation, rotations, symbols


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
