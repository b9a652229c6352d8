"""Closed forms from the papers: node counts, distance sums, necklace counts, and pipeline times.

The closed forms use neither `starcast.costs` nor computed arrays, so they can serve to check both.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache, total_ordering
from itertools import product
from math import gcd, isqrt
from typing import Any, NamedTuple

import mpmath
import numpy as np
from numpy.typing import NDArray

from starcast.claims.growth import EXACT, Number, ceil, divide, factorial, greatest, harmonic, sqrt
from starcast.claims.registry import Execution

# Diameters, heights, distance sums and numbers of nodes


def diameter(n: int) -> int:
    """Return D_n = floor(3(n-1)/2), the diameter of S_n."""
    return 3 * (n - 1) // 2


def multiple_height(n: int) -> int:
    """Return the largest height of Tseng & Sheu's multiple spanning trees.

    The height is D_n + n + g - 2, the maximum of the heights in Lemma 5 of Tseng & Sheu 1997. Here
    D_n is the diameter of S_n, and g is the largest proper divisor of n.
    """
    # Divisors below 64 suffice: huge values of n are always powers of two, and all other values are
    # small, because the checks build S_n for them.
    least_divisor = next((d for d in range(2, 64) if n % d == 0), n)
    return diameter(n) + n + n // least_divisor - 2


def nk_diameter(n: int, k: int) -> int:
    """Return the diameter of S_{n,k}: 2k-1 if k <= floor(n/2), else k + floor((n-1)/2).

    The formula is stated by Li, Chen, Xiang & Yao, section 2.
    """
    return 2 * k - 1 if k <= n // 2 else k + (n - 1) // 2


def distance_sum(n: int) -> Number:
    """Return t_n, the sum of all distances from a node of S_n.

    With the n-th harmonic number H_n, t_n is n!(n + 2/n + H_n - 4). Fragopoulou & Akl 1993 state
    this formula. The result is exact up to n = 60, and approximate for larger n.
    """
    if n > EXACT:
        return factorial(n) * (n + harmonic(n) - 4)
    return int(factorial(n) * (n + Fraction(2, n) + harmonic(n) - 4))


def even_share(n: int) -> Number:
    """Return ceil((n!-1)/(n-1)), the largest load if n-1 links share n!-1 messages evenly."""
    return ceil(divide(factorial(n) - 1, n - 1))


def arrangements(n: int, k: int) -> Number:
    """Return N = n!/(n-k)!, the number of nodes of S_{n,k}; exact up to n = 60."""
    if n <= EXACT:
        return factorial(n) // factorial(n - k)
    return factorial(n) / factorial(n - k)


# Counts of necklaces by Burnside's lemma
#
# A necklace is an orbit of the rotation R: a node with all its rotations.
#
# On the symbols 2..n, a power R^e of the rotation has m cycles of length d, where m d = n-1. R^e
# leaves d^m m! of the nodes that start with 1 unchanged: the permutations that commute with R^e. Of
# the n-1 powers, phi(d) (Euler's function) have cycles of length d.


def starting_necklaces(n: int) -> int:
    """Return the number of necklaces of S_n whose nodes start with 1, except {12..n}.

    A necklace is an orbit of the rotation R. The number is the sum of phi(d) d^m m! over the
    divisors d of n-1, divided by n-1, minus 1. Here phi is Euler's function and m = (n-1)/d.
    """
    fixed = sum(_phi(d) * d**m * factorial(m) for d, m in _divisors(n - 1))
    return int(fixed) // (n - 1) - 1


def full_necklaces(n: int) -> int:
    """Return the number of necklaces of S_n with n-1 nodes that all start with 1, except {12..n}.

    A necklace is an orbit of the rotation R. The number is computed by Möbius inversion.
    """
    free = sum(_moebius(d) * d**m * int(factorial(m)) for d, m in _divisors(n - 1))
    # The necklace of the identity has one node, so it was counted only if n-1 = 1.
    return int(free) // (n - 1) - (n == 2)


def rule_9_steps(n: int) -> Number:
    """Return the number of steps of the alltoall by Rule 9 of Fragopoulou & Akl 1993.

    The number is the sum of the distances of all necklaces (orbits of the rotation R) from 12..n.
    It is exact up to n = 60. For larger n it is an upper bound, because every node that starts
    with 1 is then counted as a separate necklace.

    Necklaces whose nodes do not start with 1 have n-1 nodes each. So the sum of their distances is
    the sum over their nodes, divided by n-1.

    The distances of the other necklaces are summed by Burnside's lemma. For each of the n-1 powers
    R^e of R, the lemma adds the distances of all nodes that start with 1 and that R^e leaves
    unchanged. The total is divided by n-1. If R^e has m cycles of length d on the symbols 2..n,
    there are d^m m! such nodes. Their mean distance is n - 3 + H_m P(d)/d, where H_m is the m-th
    harmonic number, and P(d) is the sum of gcd(j, d) over j = 1..d.

    The mean is derived as follows. A node that starts with 1 has the distance c + s from 12..n,
    where c is the number of cycles of two or more symbols, and s the number of symbols in these
    cycles. A node that R^e leaves unchanged permutes the m cycles of R^e. On average, this
    permutation has 1/l cycles of length l. If applying the permutation l times shifts the symbols
    of these l cycles of R^e by j positions, the node has gcd(j, d) cycles on these symbols. So the
    symbols 2..n form H_m P(d)/d cycles on average. On average, one of these cycles is a single
    symbol, which counts neither in c nor in s. So c is H_m P(d)/d - 1 on average, and s is n-2.
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
    """Return the size of the root's largest subtree in the near-balanced tree.

    For n > 60, the result is an upper bound. Definition 13 of Fragopoulou & Akl 1993 defines the
    tree. The largest subtree has (n-1)! nodes that do not start with 1, and one node of each
    necklace (orbit of the rotation R) whose nodes start with 1, except {12..n}.
    """
    return factorial(n - 1) + (starting_necklaces(n) if n <= EXACT else factorial(n - 1) - 1)


def smallest_branch(n: int) -> Number:
    """Return the size of the root's smallest subtree in the near-balanced tree.

    For n > 60, the result is a lower bound. Definition 13 of Fragopoulou & Akl 1993 defines the
    tree. The smallest subtree has (n-1)! nodes that do not start with 1, and one node of each
    necklace (orbit of the rotation R) that consists of n-1 nodes starting with 1, except {12..n}.
    """
    return factorial(n - 1) + (full_necklaces(n) if n <= EXACT else 0)


def rule_9_quotient(n: int) -> Number:
    """Return the number of steps of Rule 9's alltoall, divided by a lower bound for any alltoall.

    The lower bound is ceil(t_n/(n-1)), where t_n is the sum of all distances from a node.
    """
    return divide(rule_9_steps(n), ceil(divide(distance_sum(n), n - 1)))


def largest_branch_quotient(n: int) -> Number:
    """Return `largest_branch` divided by ceil((n!-1)/(n-1)).

    The divisor is a lower bound on the size of the root's largest subtree in any spanning tree.
    """
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


# Numbers a + sqrt(b) with fractions a and b, compared exactly by squaring
#
# If the number of segments may be any real number, the minimum of a pipeline's time has this form.


ExactNumber = int | Fraction


def rational_sqrt(value: ExactNumber) -> Fraction | None:
    """Return the square root of a fraction, or None if the root is irrational."""
    fraction = Fraction(value)
    root = Fraction(isqrt(fraction.numerator), isqrt(fraction.denominator))
    return root if root * root == fraction else None


def floor_sqrt(value: ExactNumber) -> int:
    """Return the largest integer that does not exceed the square root of a fraction."""
    return isqrt(int(Fraction(value) // 1))


def add_sqrt(rational: ExactNumber, square: ExactNumber) -> "Fraction | Surd":
    """Return ``rational + sqrt(square)``: a fraction if the sum is rational, else a `Surd`."""
    root = rational_sqrt(square)
    if root is None:
        return Surd(Fraction(rational), Fraction(square))
    return Fraction(rational) + root


@total_ordering
class Surd:
    """An irrational number ``rational + sqrt(square)``, comparable with fractions.

    Such numbers are created by `add_sqrt`.
    """

    def __init__(self, rational: Fraction, square: Fraction) -> None:
        self.rational = rational
        self.square = square

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Surd):
            return False
        return (self.rational, self.square) == (other.rational, other.square)

    def __lt__(self, other: ExactNumber) -> bool:
        difference = other - self.rational
        # Compare sqrt(square) < other - rational by squaring both sides, which rounds nothing.
        return difference > 0 and difference * difference > self.square

    def __hash__(self) -> int:
        return hash((self.rational, self.square))

    def __add__(self, summand: ExactNumber) -> "Surd":
        return Surd(self.rational + summand, self.square)

    def __str__(self) -> str:
        return f"{self.rational} + sqrt({self.square})"


# Times of pipelines
#
# A message of p segments takes the time c (h + p - 1)(T_s + s b/p). Here T_s is the time of a
# start-up, b = m T_c the transmission time of the message, h the height of the trees, s/p the share
# of the message in a packet, and c the number of steps per slot. For real p > 0, the time decreases
# up to q = sqrt((h-1) s b/T_s) and then increases, so the best integer p is 1 or adjacent to q.


#: A time as a function of n, the start-up time T_s and the transmission time b = m T_c.
Time = Callable[[int, Number, Number], Number]


@dataclass(frozen=True)
class Pipeline:
    """A broadcast whose message is pipelined in p segments along trees of the given height.

    A packet contains the fraction ``share``/p of the message. The source starts to send a new
    segment every ``slot`` steps.
    """

    height: Number
    share: Number = 1
    slot: Number = 1

    def time(self, p: Number, T_s: Number, b: Number) -> Number:  # noqa: N803 - as the papers write it
        """Return the time with p segments, start-up time T_s and transmission time b = m T_c."""
        return self.slot * (self.height + p - 1) * (T_s + divide(self.share * b, p))

    def square(self, T_s: Number, b: Number) -> Number:  # noqa: N803
        """Return q^2, where q is the positive real number of segments that minimizes the time.

        The start-up time T_s must be positive; b = m T_c is the message's transmission time.
        """
        return divide((self.height - 1) * self.share * b, T_s)

    def least(self, T_s: Number, b: Number) -> Number:  # noqa: N803
        """Return the minimum time if the number p of segments may be any positive real number.

        T_s is the start-up time, and b = m T_c the transmission time of the message. If b = 0,
        T_s = 0 or the height is 1, the minimum need not exist, and the limit for p -> 0 or
        p -> infinity is returned.
        """
        crossed = (self.height - 1) * self.share * b * T_s
        ends = (self.height - 1) * T_s + self.share * b
        return self.slot * (ends + 2 * sqrt(crossed) if crossed else ends)

    def least_whole(self, T_s: Number, b: Number) -> Number:  # noqa: N803
        """Return the minimum time if the number p of segments must be a positive integer.

        T_s is the start-up time, and b = m T_c the transmission time of the message. If T_s is 0,
        the limit for p -> infinity is returned.
        """
        if not T_s:
            return self.slot * self.share * b
        # The time is convex in p, so the best integer is adjacent to the best real p.
        above = ceil(sqrt(self.square(T_s, b))) if b else 1
        return min(self.time(p, T_s, b) for p in (max(1, above - 1), max(1, above)))

    def exact_least(self, T_s: Fraction, b: Fraction) -> Fraction | Surd:  # noqa: N803
        """Return the exact minimum time if the number of segments may be any positive real number.

        The arguments and the result are those of `least`, as exact numbers.
        """
        crossed = (self.height - 1) * self.share * b * T_s
        ends = (self.height - 1) * T_s + self.share * b
        return add_sqrt(ends * self.slot, 4 * crossed * self.slot**2)

    def best_whole(self, T_s: Fraction, b: Fraction) -> int:  # noqa: N803
        """Return the integer number of segments that minimizes the time.

        The start-up time T_s must be positive; b = m T_c is the message's transmission time. The
        computation is exact. If two numbers result in the same time, the smaller one is returned.
        """
        below = floor_sqrt(self.square(T_s, b))
        return min((max(1, below), below + 1), key=lambda p: (self.time(p, T_s, b), p))


class Parameters(NamedTuple):
    """The points of a parameter grid: message sizes m, start-up times T_s and times per byte T_c.

    The three arrays contain integers and have the same length.
    """

    m: NDArray[Any]
    T_s: NDArray[Any]
    T_c: NDArray[Any]

    @property
    def place(self) -> dict[str, NDArray[Any]]:
        """The parameters m, T_s and T_c as keyword arguments for methods of `ClaimCheck`."""
        return self._asdict()

    def time(self, steps: Number, share: Number) -> NDArray[Any]:
        """Return the time ``steps`` T_s + ``share`` m T_c at each point of the grid."""
        return np.asarray(self.T_s * steps + self.m * self.T_c * share)

    def time_of(self, execution: Execution) -> NDArray[Any]:
        """Return the execution's time at each point of the grid.

        The time of a step is the time to send the largest packet of the step.
        """
        return self.time(execution.steps, execution.share)

    def each(self) -> Iterator[tuple[Fraction, Fraction]]:
        """Yield the start-up time T_s and transmission time b = m T_c of each grid point."""
        for m, start, byte in zip(*self, strict=True):
            yield Fraction(start), Fraction(m * byte)


def parameters(
    m: tuple[int, ...] = (1, 2),
    T_s: tuple[int, ...] = (1, 2, 4),  # noqa: N803 - as in the papers
    T_c: tuple[int, ...] = (1, 2, 4),  # noqa: N803
) -> Parameters:
    """Return the grid of all combinations of the given values of m, T_s and T_c."""
    columns = zip(*product(m, T_s, T_c), strict=True)
    return Parameters(*(np.array(column, dtype=object) for column in columns))


@cache
def loads(n: int) -> tuple[tuple[Number, Number], ...]:
    """Return sample pairs (T_s, b) of a start-up time and a transmission time b = m T_c.

    Times are compared with orders of growth at these pairs, which are (1, n^i 4^j) and
    (1, n^i sqrt(n)) for several i and j, and the extreme cases (1, 0) and (0, 1).
    """
    base = Fraction(n) if n <= EXACT else mpmath.mpf(n)
    exponents = product(range(-4, 9), range(-2, 3))
    powers = [base**power * Fraction(4) ** turn for power, turn in exponents]
    roots = [sqrt(n) * b for b in powers[2::5]]
    return ((1, 0), (0, 1), *((1, b) for b in (*powers, *roots)))


# The results are cached, because the checks of a claim at different sizes all use the same huge n.
@lru_cache(maxsize=1024)
def greatest_quotient(
    n: int, time: Time, stated: Time, of: Callable[[int, Number, Number], bool] = lambda *_: True
) -> Number:
    """Return the largest quotient of a time and a stated order of growth for one n.

    The maximum is over the pairs (T_s, b) of `loads` for which ``of(n, T_s, b)`` is true.
    """
    chosen = [load for load in loads(n) if of(n, *load)]
    return greatest(divide(time(n, *load), stated(n, *load)) for load in chosen)
