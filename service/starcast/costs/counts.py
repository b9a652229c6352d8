"""What closed forms are made of, in whole numbers and exact fractions: heights of trees, sums of distances, necklaces."""

from fractions import Fraction
from math import factorial, gcd

from starcast.topologies import Topology
from starcast.trees import forest


def ceil_log2(value: int) -> int:
    """ceil(log2 value) for value >= 1, without rounding."""
    return (value - 1).bit_length()


def phases(n: int) -> int:
    """The one-port steps from S_n down to S_1: sum of ceil(log2 i), i = 2..n (Tseng & Sheu 1997, section 6.1)."""
    return sum(ceil_log2(i) for i in range(2, n + 1))


# Heights


def greatest_proper_divisor(n: int) -> int:
    """The greatest divisor of n below n, for n >= 2."""
    return max(gcd(n, i) for i in range(1, n))


def multiple_height(n: int) -> int:
    """h, the greatest height of the trees L-hat: D_n + n + g - 2, g the greatest proper divisor of n; for n = 2 it is 1."""
    return 1 if n == 2 else 3 * (n - 1) // 2 + n + greatest_proper_divisor(n) - 2


def tree_height(topology: Topology, construction: str) -> int:
    """The height of a single spanning tree of the catalogue on S_n, known without building it.

    Rotated Hamiltonian paths: (n-1)! nodes in a path, and from n = 3 on a leaf of phase 2 at the end of one, since the ends
    are rotations of one another, so that one begins with n. Tseng & Sheu (section 6.2) say about (n-1)!.
    """
    n = topology.n
    if construction in ("greedy", "necklace", "balanced", "near-balanced"):
        return topology.diameter
    known = {
        "recursive-substar": 2 * n - 3,
        "rotated-hamiltonian": factorial(n - 1) + (n > 2),
        "hamiltonian-cycle": topology.nodes - 1,
    }
    return known[construction] if construction in known else forest(topology, construction).height


# Necklaces


def necklace_count(n: int) -> int:
    """h, the number of necklaces of S_n other than that of 12..n, by Burnside's lemma.

    Rotation by j leaves g = gcd(j, n-1) cycles of (n-1)/g symbols, and fixes the ((n-1)/g)^g g! permutations that
    commute with it.
    """
    return (factorial(n) + sum(_commuting(n, j) for j in range(1, n - 1))) // (n - 1) - 1


def necklace_distance_sum(n: int, whole: int) -> int:
    """The sum, over all necklaces of S_n, of the distance of one of its nodes from 12..n.

    By Burnside's lemma again: each node counts with its distance, once for every rotation that fixes it. ``whole`` is t_n.
    """
    return int((whole + sum(_commuting_distances(n, j) for j in range(1, n - 1))) / (n - 1))


def _commuting(n: int, turns: int) -> int:
    cycles = gcd(turns, n - 1)
    return int(((n - 1) // cycles) ** cycles * factorial(cycles))


def _commuting_distances(n: int, turns: int) -> Fraction:
    """The distances, cycles + misplaced symbols, of the permutations that commute with a rotation; all of them fix 1.

    Such a one permutes the g cycles of the rotation and turns each by some of its L symbols. Where it takes l of them round,
    and turns by b in all, there are gcd(b, L) cycles on l L symbols; on average 1/l of the g! permutations' cycles have
    length l, and each b is as frequent as another. A cycle that stays and is not turned has no distance.
    """
    cycles = gcd(turns, n - 1)
    length = (n - 1) // cycles
    splits = [gcd(b, length) for b in range(length)]  # gcd(0, L) = L
    on_average = Fraction(sum(split + length for split in splits[1:]), length)
    for taken in range(2, cycles + 1):
        on_average += Fraction(sum(splits), length * taken) + length
    return _commuting(n, turns) * on_average
