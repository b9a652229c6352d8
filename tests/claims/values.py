"""Numbers in counterexamples: formats, comparison with square roots, and orders of growth."""

from collections.abc import Callable
from fractions import Fraction
from math import isqrt


def shown(value: Fraction | int | str) -> int | str:
    """Return a number as it appears in a counterexample, where non-integers become text."""
    if isinstance(value, Fraction):
        return int(value) if value.denominator == 1 else str(value)
    return value


def surd(rational: Fraction, square: Fraction) -> int | str:
    """Return rational + sqrt(square) as in a counterexample, where irrational sums are text."""
    root = Fraction(isqrt(square.numerator), isqrt(square.denominator))
    if root**2 == square:
        return shown(rational + root)
    return f"{rational} + sqrt({square})" if rational else f"sqrt({square})"


def exceeds(value: Fraction, rational: Fraction, square: Fraction) -> bool:
    """Return whether a value is greater than rational + sqrt(square)."""
    return value > rational and (value - rational) ** 2 > square


def growth(logarithm_of: Callable[[float], float]) -> str:
    """Describe the growth of a quotient of order n^a (log n)^b, where 2a and 2b are integers.

    Args:
        logarithm_of: log2 of the quotient as a function of log2 n. It grows by 64 a + b from
            log2 n = 64 to 128, and by 128 a + b from 128 to 256.
    """
    small, middle, large = (logarithm_of(float(x)) for x in (64, 128, 256))
    a = Fraction(round(2 * ((large - middle) - (middle - small)) / 64), 2)
    b = Fraction(round(2 * (middle - small - 64 * float(a))), 2)
    if a < 0 or (a == 0 and b <= 0):
        return "bounded"
    log_n = "log n" if b == 1 else f"(log n)^{b}"
    of_n = "n" if a == 1 else f"n^{a}"
    return f"growing like {of_n if a else log_n}"
