"""Arithmetic for closed forms, exact if n is small, and the order of growth of their quotients.

A quotient of the papers' closed forms consists of factorials, logarithms, square roots and
ceilings. Such a quotient behaves like n^a (log n)^b, where a and b are multiples of one half. If n
is replaced by n^2, the quotient changes by the factor n^a 2^b. The values of this factor at a few
huge n therefore show the order of growth. If the logarithm of the factor tends to b <= 0, or to
minus infinity, the quotient is bounded. If the logarithm tends to b > 0, the quotient is of order
(log n)^b. If the logarithm grows with n, the quotient grows like a power of n.
"""

from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import cache
from math import factorial as exact_factorial
from typing import Any

import mpmath

#: An exact number (int or Fraction), or an mpmath float.
Number = Any
#: A formula of a paper, as a function of n, or of counts such as a network's numbers of nodes and
#: links. Further arguments can be quantities such as the number M of messages.
ClosedForm = Callable[..., Number]
#: The values of n for `find_order`: 2^64, 2^128 and 2^256. For such large n, terms of lower order
#: are too small to change exponents that are rounded to multiples of one half.
_HUGE = tuple(2**power for power in (64, 128, 256))
_DIGITS = 120
#: Factorials, sums and counts are exact up to this n; for larger n they are mpmath floats.
EXACT = 60


def find_order(quotient: Callable[[int], Number]) -> tuple[bool, str, Number]:
    """Determine whether a positive quotient of closed forms in n is bounded by a constant.

    Args:
        quotient: function of n, called with n up to 2^256; it must use the functions of this module
            instead of those of `math`.

    Returns:
        Three values: whether the quotient is bounded, its order of growth as text (such as
        "(log n)^2"), and its value at n = 2^256.
    """
    with mpmath.workdps(_DIGITS):
        values = [_float(quotient(n)) for n in _HUGE]
        logarithms = [mpmath.log(value, 2) for value in values]
        difference = logarithms[-1] - logarithms[-2]
        exponent_of_n = difference / 128
        # The exponent of n is a multiple of one half. A measured value between -1/4 and 1/4 means
        # the exponent 0, so only a power of log n remains.
        if abs(exponent_of_n) > 0.25:
            power = Fraction(round(2 * float(exponent_of_n)), 2)
            return exponent_of_n < 0, _power_of_n(power), values[-1]
        # From n to n^2, (log n)^b grows by the factor 2^b, whose logarithm is b.
        power = Fraction(round(2 * float(difference)), 2)
        return power <= 0, _power_of_log(power), values[-1]


def factorial(n: int) -> Number:
    """Return n!, exact up to 60!, otherwise as an mpmath float."""
    return exact_factorial(n) if n <= EXACT else _huge_factorial(n)


def harmonic(n: int) -> Number:
    """Return H_n = 1 + 1/2 + .. + 1/n, exact up to n = 60, otherwise as an mpmath float."""
    if n > EXACT:
        return mpmath.harmonic(n)
    return sum((Fraction(1, i) for i in range(1, n + 1)), Fraction(0))


def log2(value: Number) -> Number:
    """Return the logarithm to base 2 as an mpmath float, even if the logarithm is an integer."""
    return mpmath.log(_float(value), 2)


def sqrt(value: Number) -> Number:
    """Return the square root as an mpmath float, even if the root is rational."""
    return mpmath.sqrt(_float(value))


def divide(value: Number, by: Number) -> Number:
    """Return a quotient: a Fraction for integers and fractions, otherwise an mpmath float."""
    if isinstance(value, int | Fraction) and isinstance(by, int | Fraction):
        return Fraction(value) / Fraction(by)
    return _float(value) / _float(by)


def ceil(value: Number) -> Number:
    """Return the ceiling. A huge float is returned unchanged: its fractional part is unknown."""
    if isinstance(value, int | Fraction):
        return -((-value) // 1)
    return mpmath.ceil(value) if value < mpmath.mpf(10) ** (_DIGITS // 2) else value


def greatest(values: Iterable[Number]) -> Number:
    """Return the maximum of several numbers, which may be exact or inexact."""
    return max(values, key=_float)


def format_number(value: Number) -> str:
    """Return a number as text: exact for integers and for fractions with denominators below 1000.

    Other numbers are rounded to 4 significant digits.
    """
    if isinstance(value, Fraction | int) and Fraction(value).denominator < 1000:
        return str(value)
    return str(mpmath.nstr(_float(value), 4)).removesuffix(".0")


def _power_of_n(power: Fraction) -> str:
    if not power:
        return "n^(less than 1/2)"
    return "n" if power == 1 else f"n^{power}"


def _power_of_log(power: Fraction) -> str:
    if power == 0:
        return "constant"
    return "log n" if power == 1 else f"(log n)^{power}"


@cache
def _huge_factorial(n: int) -> Number:
    # The result loses as many digits as log n! has before the decimal point, which is up to 80.
    with mpmath.workdps(_DIGITS + 100):
        return mpmath.exp(mpmath.loggamma(mpmath.mpf(n) + 1))


def _float(value: Number) -> Number:
    if isinstance(value, Fraction):
        return mpmath.mpf(value.numerator) / value.denominator
    return mpmath.mpf(value)
