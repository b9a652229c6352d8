"""Exact numbers that the cost formulas use: tree heights and sums of distances."""

from fractions import Fraction
from math import ceil, factorial, gcd

from starcast.topologies import Topology
from starcast.topologies.necklaces import count_fixed
from starcast.trees import forest


def ceil_log2(value: Fraction | int) -> int:
    """Return the smallest integer c >= 0 with 2^c >= value; the result is exact."""
    return max(ceil(value) - 1, 0).bit_length()


def phases(n: int) -> int:
    """Return the sum of ceil(log2 i) for i = 2..n: the steps of a one-port broadcast by substars.

    Reference:
        Tseng & Sheu 1997, section 6.1.
    """
    return sum(ceil_log2(i) for i in range(2, n + 1))


def greatest_proper_divisor(n: int) -> int:
    """Return the largest divisor of n that is less than n, for n >= 2."""
    # The values of gcd(n, i) are the proper divisors of n.
    return max(gcd(n, i) for i in range(1, n))


def multiple_height(n: int) -> int:
    """Return h, the largest height among the multiple spanning trees of Tseng & Sheu 1997.

    It is D_n + n + g - 2, where g is the largest proper divisor of n; for n = 2 it is 1.
    """
    return 1 if n == 2 else 3 * (n - 1) // 2 + n + greatest_proper_divisor(n) - 2


def tree_height(topology: Topology, construction: str) -> int:
    """Return the height of a construction's single spanning tree on S_n.

    The tree is built only if no formula for its height is known.

    A tree of rotated Hamiltonian paths consists of paths of (n-1)! nodes. For n >= 3, phase 2 of
    its construction attaches a leaf to the end of one path, because the ends are rotations of one
    another and so one of them begins with n. Tseng & Sheu (section 6.2) state a height of about
    (n-1)!.
    """
    n = topology.n
    if construction in ("greedy", "necklace", "balanced", "near-balanced"):
        return topology.diameter
    heights = {
        "recursive-substar": 2 * n - 3,
        "rotated-hamiltonian": factorial(n - 1) + (n > 2),
        "hamiltonian-cycle": topology.nodes - 1,
    }
    if construction in heights:
        return heights[construction]
    return forest(topology, construction).height


def necklace_distance_sum(n: int, distance_sum: int) -> int:
    """Return the sum of the distances of all necklaces of S_n from node 12..n.

    All nodes of a necklace have the same distance, and the necklace contributes this distance once.

    By Burnside's lemma, n-1 times this sum is obtained by counting the distance of each node once
    for every rotation that fixes the node.

    Args:
        n: the number of symbols of the star graph S_n.
        distance_sum: t_n, the sum of all distances from a node.
    """
    total = distance_sum + sum(_commuting_distances(n, j) for j in range(1, n - 1))
    # The division is exact: by Burnside's lemma, the total is a multiple of n-1.
    return int(total / (n - 1))


def _commuting_distances(n: int, turns: int) -> Fraction:
    """Return the sum of the distances of the permutations that commute with a rotation.

    All these permutations fix symbol 1, so a distance is the number of misplaced symbols plus the
    number of their cycles. The rotation has g cycles of L symbols each; a permutation that commutes
    with it permutes these g cycles, and turns each of them by some places. If it permutes l of them
    cyclically, and the turns add up to b places, this yields gcd(b, L) cycles on l L symbols. On
    average the g! permutations of the cycles have 1/l cycles of length l, and all values of b are
    equally frequent. A cycle of the rotation that is neither moved nor turned contributes no
    distance.
    """
    cycles = gcd(turns, n - 1)
    length = (n - 1) // cycles
    splits = [gcd(b, length) for b in range(length)]  # gcd(0, L) = L
    average = Fraction(sum(split + length for split in splits[1:]), length)
    for permuted in range(2, cycles + 1):
        average += Fraction(sum(splits), length * permuted) + length
    return count_fixed(n, turns) * average
