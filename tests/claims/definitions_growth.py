"""Growth n^a (log n)^b of a quotient, from its values at three huge n; 2a and 2b are integers."""

from collections.abc import Callable
from fractions import Fraction


def growth(logarithm_of: Callable[[float], float]) -> str:
    """Given the quotient's logarithm, base 2, as a function of that of n: 64, 128, 256.

    From 64 to 128 the quotient's logarithm grows by 64 a + b, from 128 to 256 by 128 a + b.
    """
    small, middle, large = (logarithm_of(float(x)) for x in (64, 128, 256))
    a = Fraction(round(2 * ((large - middle) - (middle - small)) / 64), 2)
    b = Fraction(round(2 * (middle - small - 64 * float(a))), 2)
    if a < 0 or (a == 0 and b <= 0):
        return "bounded"
    log_n = "log n" if b == 1 else f"(log n)^{b}"
    of_n = "n" if a == 1 else f"n^{a}"
    return f"growing like {of_n if a else log_n}"
