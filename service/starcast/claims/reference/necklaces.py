"""Necklaces of S_n for the statements of Fragopoulou & Akl 1993: generators, displacements, periods, counts."""

from fractions import Fraction
from math import gcd

import numpy as np
from numpy.typing import NDArray

from starcast.claims.formulas import distance_sum
from starcast.claims.growth import EXACT, Number, divided, factorial, harmonic
from starcast.claims.object_cache import ObjectCache
from starcast.claims.reference import bfs, lower_bound_counts
from starcast.claims.reference.star_labels import rotation, symbols
from starcast.topologies import Topology


def periods(objects: ObjectCache, topology: Topology) -> NDArray[np.int64]:
    """How many nodes each node's necklace has."""
    leader = lower_bound_counts.necklaces(objects, topology.spec)
    return objects.array(
        "periods", topology.spec, lambda: np.bincount(leader, minlength=topology.nodes)[leader]
    )


def named(objects: ObjectCache, topology: Topology) -> NDArray[np.bool_]:
    """The nodes that Definition 7 names as generators. It says nothing about 12..n, in which 2 is in no cycle."""

    def made() -> NDArray[np.bool_]:
        rows, leader = (
            symbols(objects, topology),
            lower_bound_counts.necklaces(objects, topology.spec),
        )
        out = np.asarray(rows[:, 1] == 1)
        cycle_of_2 = {
            x: cycle_from(rows[x].tolist(), 2) for x in np.flatnonzero(rows[:, 0] == 1).tolist()
        }
        moved = {x: cycle for x, cycle in cycle_of_2.items() if len(cycle) > 1}
        least: dict[int, tuple[int, ...]] = {}
        for x, cycle in moved.items():
            least[int(leader[x])] = min(cycle, least.get(int(leader[x]), cycle))
        for x, cycle in moved.items():
            out[x] = cycle == least[int(leader[x])]
        return out

    return objects.array("generators by Definition 7", topology.spec, made)


def displacements(objects: ObjectCache, topology: Topology) -> NDArray[np.int64]:
    """The rotations that lead to each node from its generator (Def. 8), of several generators the first; -1 at 12..n."""

    def made() -> NDArray[np.int64]:
        leader, turn = (
            lower_bound_counts.necklaces(objects, topology.spec),
            rotation(objects, topology),
        )
        generators = np.flatnonzero(named(objects, topology))
        _, first = np.unique(leader[generators], return_index=True)
        found = np.full(topology.nodes, -1, dtype=np.int64)
        at = generators[first].astype(np.int32)
        for turns in range(topology.n - 1):
            fresh = at[found[at] < 0]
            found[fresh] = turns
            at = turn[at]
        return found

    return objects.array("displacements", topology.spec, made)


def cycle_from(row: list[int], symbol: int) -> tuple[int, ...]:
    """The cycle of a symbol, which it begins: s is followed by x_s."""
    cycle = [symbol]
    while row[cycle[-1] - 1] != symbol:
        cycle.append(row[cycle[-1] - 1])
    return tuple(cycle)


def total_distance(objects: ObjectCache, topology: Topology) -> int:
    """The sum of the distances of all necklaces from 12..n, each counted once, by search."""
    leaders = np.unique(lower_bound_counts.necklaces(objects, topology.spec))
    return int(bfs.distances(objects, topology.spec)[leaders].sum(dtype=np.int64))


# What Burnside counts. R^e has m cycles of length d, m d = n-1, on the symbols 2..n; the nodes that start with 1 and that it
# fixes are the d^m m! permutations that commute with it, and phi(d) of the n-1 rotations are of this kind.


def starting_necklaces(n: int) -> int:
    """How many necklaces start with 1, that of 12..n aside: sum over d of phi(d) d^m m!, divided by n-1, less 1."""
    fixed = sum(_phi(d) * d**m * factorial(m) for d, m in _divisors(n - 1))
    return int(fixed) // (n - 1) - 1


def full_necklaces(n: int) -> int:
    """How many of them have n-1 nodes: the nodes that no rotation but R^(n-1) fixes (Moebius), divided by n-1."""
    free = sum(_moebius(d) * d**m * int(factorial(m)) for d, m in _divisors(n - 1))
    return int(free) // (n - 1) - (n == 2)  # in S_2 the one node of period n-1 = 1 is 12


def rule_9_steps(n: int) -> Number:
    """The sum of the distances of all necklaces, exact up to n = 60; no less than it above.

    Those that do not start with 1 have n-1 nodes each. Of the permutations that commute with R^e the mean of c + s is
    n - 3 + H_m P(d)/d, where P(d) sums up the greatest common divisors of d with 1..d: one symbol of n-1 is fixed in the
    mean, which is one cycle less too, and a cycle of l of the m cycles of R^e, 1/l of them in the mean, turned by e', is
    gcd(e', d) cycles. Above, every node that starts with 1 is counted as if its necklace had no other.
    """
    t_1 = factorial(n - 1) * (n - 3 + harmonic(n - 1))
    rest = divided(distance_sum(n) - t_1, n - 1)
    if n > EXACT:
        return rest + t_1
    shares = (
        _phi(d)
        * d**m
        * factorial(m)
        * (n - 3 + harmonic(m) * Fraction(sum(gcd(d, e) for e in range(d)), d))
        for d, m in _divisors(n - 1)
    )
    return rest + sum(shares, Fraction(0)) / (n - 1)


def largest_branch(n: int) -> Number:
    """(n-1)! nodes that do not start with 1, and one of each necklace of those that do; no less than it above n = 60."""
    return factorial(n - 1) + (starting_necklaces(n) if n <= EXACT else factorial(n - 1) - 1)


def smallest_branch(n: int) -> Number:
    """(n-1)! nodes that do not start with 1, and one of each necklace of n-1 nodes that do; no more than it above n = 60."""
    return factorial(n - 1) + (full_necklaces(n) if n <= EXACT else 0)


def _divisors(number: int) -> list[tuple[int, int]]:
    return [(d, number // d) for d in range(1, number + 1) if number % d == 0]


def _phi(number: int) -> int:
    return sum(1 for i in range(1, number + 1) if gcd(i, number) == 1)


def _moebius(number: int) -> int:
    out = 1
    for prime in range(2, number + 1):
        if number % prime == 0:
            number //= prime
            if number % prime == 0:
                return 0
            out = -out
    return out
