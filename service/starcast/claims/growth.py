"""Orders of growth: whether a quotient of closed forms stays below a constant, found out far beyond what can be built.

A quotient of the papers' closed forms behaves like n^a (log n)^b with a and b multiples of one half: factorials, logarithms,
square roots and ceilings are all that occurs. From n to n^2 it changes by the factor n^a 2^b, so that its order is read off at
a few huge n: for a bounded quotient the logarithm of that factor goes to 0 or below, for one of order (log n)^b to b.
"""

from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import cache
from math import factorial as exact_factorial
from typing import Any

import mpmath

#: A number, exact as long as n is small.
Number = Any
#: n = 2^64, 2^128, 2^256: what 1/log n is, is small against one half there.
_HUGE = tuple(2**power for power in (64, 128, 256))
_DIGITS = 120
#: The greatest n whose factorials, sums and counts are exact; of greater ones they have 120 digits.
EXACT = 60


def bounded(quotient: Callable[[int], Number]) -> tuple[bool, str, Number]:
    """Whether a positive quotient of closed forms in n stays below a constant, its order in words, and its value at n = 2^256.

    Args:
        quotient: of n; it is asked for n up to 2^256, with the functions of this module in place of `math`'s.
    """
    with mpmath.workdps(_DIGITS):
        values = [_float(quotient(n)) for n in _HUGE]
        logs = [mpmath.log(value, 2) for value in values]
        by_log = logs[-1] - logs[-2]
        by_n = by_log / 128
        if abs(by_n) > 0.25:
            power = Fraction(round(2 * float(by_n)), 2)
            return (
                by_n < 0,
                "n" if power == 1 else f"n^{power}" if power else "n^(less than 1/2)",
                values[-1],
            )
        power = Fraction(round(2 * float(by_log)), 2)
        order = "constant" if power == 0 else f"(log n)^{power}" if power != 1 else "log n"
        return power <= 0, order, values[-1]


def factorial(n: int) -> Number:
    """n!, exact up to 60!."""
    return exact_factorial(n) if n <= EXACT else _huge_factorial(n)


def harmonic(n: int) -> Number:
    """H_n = 1 + 1/2 + .. + 1/n, exact up to n = 60."""
    return (
        sum((Fraction(1, i) for i in range(1, n + 1)), Fraction(0))
        if n <= EXACT
        else mpmath.harmonic(n)
    )


def log2(value: Number) -> Number:
    """The logarithm to base 2."""
    return mpmath.log(_float(value), 2)


def sqrt(value: Number) -> Number:
    """The square root."""
    return mpmath.sqrt(_float(value))


def divided(value: Number, by: Number) -> Number:
    """A quotient, exact for whole numbers and fractions."""
    if isinstance(value, int | Fraction) and isinstance(by, int | Fraction):
        return Fraction(value) / Fraction(by)
    return _float(value) / _float(by)


def rounded_up(value: Number) -> Number:
    """The least whole number not below a value; of a huge one, itself, since its digits behind the point are not known."""
    if isinstance(value, int | Fraction):
        return -((-value) // 1)
    return mpmath.ceil(value) if value < mpmath.mpf(10) ** (_DIGITS // 2) else value


def greatest(values: Iterable[Number]) -> Number:
    """The greatest of some numbers, exact or not."""
    return max(values, key=_float)


def shown(value: Number) -> str:
    """A number for a reader: exact if it is a small fraction, else four digits."""
    if isinstance(value, Fraction | int) and Fraction(value).denominator < 1000:
        return str(value)
    return str(mpmath.nstr(_float(value), 4)).removesuffix(".0")


@cache
def _huge_factorial(n: int) -> Number:
    with mpmath.workdps(_DIGITS + 100):
        return mpmath.exp(mpmath.loggamma(mpmath.mpf(n) + 1))


def _float(value: Number) -> Number:
    if isinstance(value, Fraction):
        return mpmath.mpf(value.numerator) / value.denominator
    return mpmath.mpf(value)
