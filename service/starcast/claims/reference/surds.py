"""Numbers a + sqrt(b), a and b fractions: compared exactly, by squaring. The papers' best times over real p are such."""

from fractions import Fraction
from functools import total_ordering
from math import isqrt

Exact = int | Fraction


def root(value: Exact) -> Fraction | None:
    """The square root of a fraction, if that is a fraction."""
    given = Fraction(value)
    over, under = isqrt(given.numerator), isqrt(given.denominator)
    return (
        Fraction(over, under)
        if over * over == given.numerator and under * under == given.denominator
        else None
    )


def root_down(value: Exact) -> int:
    """The greatest whole number that is not above the square root of a fraction."""
    return isqrt(int(Fraction(value) // 1))


def plus_root(whole: Exact, square: Exact) -> "Fraction | Surd":
    """``whole + sqrt(square)``, as a fraction where it is one."""
    rational = root(square)
    return (
        Surd(Fraction(whole), Fraction(square)) if rational is None else Fraction(whole) + rational
    )


@total_ordering
class Surd:
    """``whole + sqrt(square)``, which is no fraction (`plus_root`), beside fractions in comparisons, and sums."""

    def __init__(self, whole: Fraction, square: Fraction) -> None:
        self.whole, self.square = whole, square

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Surd) and (self.whole, self.square) == (other.whole, other.square)

    def __lt__(self, other: Exact) -> bool:
        beyond = other - self.whole
        return beyond > 0 and beyond * beyond > self.square

    def __hash__(self) -> int:
        return hash((self.whole, self.square))

    def __add__(self, more: Exact) -> "Surd":
        return Surd(self.whole + more, self.square)

    def __str__(self) -> str:
        return f"{self.whole} + sqrt({self.square})"
