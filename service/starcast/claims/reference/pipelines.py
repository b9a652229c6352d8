"""Times of pipelined messages: closed form, best number of segments, and parameter grids.

A message of p segments takes the time c (h + p - 1)(T_s + s b/p). Here T_s is the time of a
start-up, b = m T_c the transmission time of the message, h the height of the trees, s/p the
share of the message in a packet, and c the number of steps per slot. Over real p > 0 the time has
its minimum at q = sqrt((h-1) s b/T_s) and increases on both sides, so the best integer is next to
q, or 1.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache, total_ordering
from itertools import product
from math import isqrt
from typing import Any, NamedTuple

import mpmath
import numpy as np
from numpy.typing import NDArray

from starcast.claims import growth
from starcast.claims.growth import Number
from starcast.collectives.model import Schedule
from starcast.collectives.one_to_all import build_pipeline
from starcast.judges.simulator import Simulation
from starcast.trees.model import Forest

# Numbers a + sqrt(b) with fractions a and b, compared exactly by squaring
#
# The best times over real numbers of segments have this form.


Exact = int | Fraction


def rational_sqrt(value: Exact) -> Fraction | None:
    """Return the square root of a fraction; None if it is irrational."""
    fraction = Fraction(value)
    root = Fraction(isqrt(fraction.numerator), isqrt(fraction.denominator))
    return root if root * root == fraction else None


def floor_sqrt(value: Exact) -> int:
    """Return the largest integer that does not exceed the square root of a fraction."""
    return isqrt(int(Fraction(value) // 1))


def add_sqrt(rational: Exact, square: Exact) -> "Fraction | Surd":
    """Return ``rational + sqrt(square)``, as a fraction if it is rational."""
    root = rational_sqrt(square)
    if root is None:
        return Surd(Fraction(rational), Fraction(square))
    return Fraction(rational) + root


@total_ordering
class Surd:
    """An irrational number ``rational + sqrt(square)``, comparable with fractions.

    It is created by `add_sqrt`.
    """

    def __init__(self, rational: Fraction, square: Fraction) -> None:
        self.rational = rational
        self.square = square

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Surd):
            return False
        return (self.rational, self.square) == (other.rational, other.square)

    def __lt__(self, other: Exact) -> bool:
        difference = other - self.rational
        # sqrt(square) < other - rational, with both sides squared, so that nothing is rounded.
        return difference > 0 and difference * difference > self.square

    def __hash__(self) -> int:
        return hash((self.rational, self.square))

    def __add__(self, summand: Exact) -> "Surd":
        return Surd(self.rational + summand, self.square)

    def __str__(self) -> str:
        return f"{self.rational} + sqrt({self.square})"


# Pipelines


#: A time as a function of n, T_s and b = m T_c.
Time = Callable[[int, Number, Number], Number]


@dataclass(frozen=True)
class Pipeline:
    """A pipeline with height h, share s and c steps per slot; see the module docstring."""

    height: Number
    share: Number = 1
    slot: Number = 1

    def time(self, p: Number, T_s: Number, b: Number) -> Number:  # noqa: N803 - as the papers write it
        """Return the time with p segments, where b = m T_c."""
        return self.slot * (self.height + p - 1) * (T_s + growth.divide(self.share * b, p))

    def square(self, T_s: Number, b: Number) -> Number:  # noqa: N803
        """Return the square of q, the best real number p of segments, for T_s > 0."""
        return growth.divide((self.height - 1) * self.share * b, T_s)

    def least(self, T_s: Number, b: Number) -> Number:  # noqa: N803
        """Return the time with the best real p.

        If b = 0, T_s = 0 or h = 1, no real p is best. Then the limit for p -> 0 or for p ->
        infinity is returned.
        """
        crossed = (self.height - 1) * self.share * b * T_s
        ends = (self.height - 1) * T_s + self.share * b
        return self.slot * (ends + 2 * growth.sqrt(crossed) if crossed else ends)

    def least_whole(self, T_s: Number, b: Number) -> Number:  # noqa: N803
        """Return the time with the best integer p >= 1; if T_s is 0, the limit for large p."""
        if not T_s:
            return self.slot * self.share * b
        # The time is convex in p, so the best integer is next to the best real p.
        above = growth.ceil(growth.sqrt(self.square(T_s, b))) if b else 1
        return min(self.time(p, T_s, b) for p in (max(1, above - 1), max(1, above)))

    def exact_least(self, T_s: Fraction, b: Fraction) -> Fraction | Surd:  # noqa: N803
        """Return the exact time with the best real p."""
        crossed = (self.height - 1) * self.share * b * T_s
        ends = (self.height - 1) * T_s + self.share * b
        return add_sqrt(ends * self.slot, 4 * crossed * self.slot**2)

    def best_whole(self, T_s: Fraction, b: Fraction) -> int:  # noqa: N803
        """Return the best integer p >= 1, computed exactly; the smaller if two are equally good."""
        below = floor_sqrt(self.square(T_s, b))
        return min((max(1, below), below + 1), key=lambda p: (self.time(p, T_s, b), p))


class Parameters(NamedTuple):
    """A grid of parameters: arrays of integers, ordered by m, then T_s, then T_c."""

    m: NDArray[Any]
    T_s: NDArray[Any]
    T_c: NDArray[Any]

    @property
    def place(self) -> dict[str, NDArray[Any]]:
        """The parameters as keywords for a `ClaimCheck`."""
        return self._asdict()

    def time(self, steps: Number, share: Number) -> NDArray[Any]:
        """Return the time steps T_s + share m T_c, for each point of the grid."""
        return np.asarray(self.T_s * steps + self.m * self.T_c * share)

    def each(self) -> Iterator[tuple[Fraction, Fraction]]:
        """Yield T_s and b = m T_c for each point of the grid."""
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


def allgather_by_levels(forest: Forest, algorithm: str) -> Schedule:
    """Return the all-port allgather whose step t crosses level t of all translates of a forest."""
    draft = build_pipeline(forest, "all", 1, packets=True)._replace(symmetric=True)
    return draft.complete(forest.topology, "allgather", algorithm)


def used_links(schedule: Schedule) -> NDArray[np.bool_]:
    """Return whether each directed link carries a message, bool ``[nodes, ports]``."""
    used = np.zeros((schedule.topology.nodes, schedule.topology.degree), dtype=bool)
    used[schedule.sender, schedule.port.astype(np.int64) - 2] = True
    return used


def units_per_message(schedule: Schedule) -> int:
    """Return the number of units into which each source's message is divided."""
    has_one_source = schedule.collective == "broadcast" or schedule.symmetric
    return schedule.units // (1 if has_one_source else schedule.topology.nodes)


def carried_share(simulation: Simulation, units: int) -> Fraction:
    """Return the sum of the largest packets of all steps, in messages of ``units`` units each."""
    return Fraction(int(simulation.packet_sizes.sum()), units)


def exact_time(simulation: Simulation, units: int, of: Parameters) -> NDArray[Any]:
    """Return the time of an execution in which every step lasts as long as its largest packet.

    Args:
        simulation: the execution.
        units: number of units of a message.
        of: the parameters of the time.
    """
    return of.time(simulation.steps, carried_share(simulation, units))


@cache
def loads(n: int) -> tuple[tuple[Number, Number], ...]:
    """Return pairs of T_s and b = m T_c: many powers of n, and the cases T_s = 0 and b = 0."""
    base = Fraction(n) if n <= growth.EXACT else mpmath.mpf(n)
    exponents = product(range(-4, 9), range(-2, 3))
    powers = [base**power * Fraction(4) ** turn for power, turn in exponents]
    roots = [growth.sqrt(n) * b for b in powers[2::5]]
    return ((1, 0), (0, 1), *((1, b) for b in (*powers, *roots)))


@lru_cache(maxsize=1024)  # the checks of all sizes need the same values for huge n
def greatest(
    n: int, time: Time, stated: Time, of: Callable[[int, Number, Number], bool] = lambda *_: True
) -> Number:
    """Return the largest quotient of a time and a stated order over the selected `loads`."""
    chosen = [load for load in loads(n) if of(n, *load)]
    return growth.greatest(growth.divide(time(n, *load), stated(n, *load)) for load in chosen)
