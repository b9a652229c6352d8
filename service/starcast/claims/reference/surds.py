"""Numbers a + sqrt(b) with fractions a and b, compared exactly by squaring.

The best times over real numbers of segments are such numbers.
"""

from fractions import Fraction
from functools import total_ordering
from math import isqrt

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

    `add_sqrt` creates it.
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
        # sqrt(square) < other - rational, both sides squared: no rounding can change the result.
        return difference > 0 and difference * difference > self.square

    def __hash__(self) -> int:
        return hash((self.rational, self.square))

    def __add__(self, summand: Exact) -> "Surd":
        return Surd(self.rational + summand, self.square)

    def __str__(self) -> str:
        return f"{self.rational} + sqrt({self.square})"
