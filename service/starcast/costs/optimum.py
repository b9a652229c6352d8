"""The best number of pieces of a message: over the reals, and over whole numbers, by exact times."""

from collections.abc import Callable, Iterable
from fractions import Fraction
from math import isqrt, sqrt

from starcast.costs.machine import Cost, Machine
from starcast.errors import InputError

#: The cost with so many pieces.
Price = Callable[[int], Cost]


def optimum(
    price: Price, machine: Machine, period: int, allowed: Iterable[int]
) -> tuple[float, int]:
    """The number of pieces with the least time: over the reals, roundings left out, and over whole numbers >= 1.

    With p pieces a pipeline has a + cp start-ups and b + d/p bytes; the time is least at p = sqrt(d T_c/(c T_s)): equation (5)
    of Tseng & Sheu 1997 and its like in Table 1. Where steps are rounded up, as ceil(Mx/(n-1)) is, this is so over
    p = r, r + period, r + 2 period, .. for each r; there, of whole numbers one of the two beside the real optimum is best. Of
    equal times, the fewest pieces.

    Args:
        price: the cost with p pieces, as above.
        machine: T_s and T_c.
        period: how many pieces make the rounding the same again.
        allowed: which of 1..period can be; with r also r + period, and so on.

    Raises:
        InputError: T_s is 0, so that more pieces are always better.
    """
    if machine.T_s == 0:
        raise InputError(
            "with T_s = 0 there is no best number of segments", hint="give a positive T_s"
        )
    squares = {first: _square(price, machine, first, period) for first in {period, *allowed}}
    candidates = []
    for first in allowed:
        turns = max(0, isqrt(int(squares[first])) - first) // period
        candidates += [first + turns * period, first + (turns + 1) * period]
    return sqrt(squares[period]), min(candidates, key=lambda pieces: (price(pieces).time, pieces))


def _square(price: Price, machine: Machine, first: int, period: int) -> Fraction:
    """The square of the best real number of pieces, by what ``first`` and ``first + period`` pieces cost."""
    second = first + period
    one, two = price(first), price(second)
    more = (two.start_ups - one.start_ups) / period
    saved = (one.bytes - two.bytes) * first * second / period
    return max(Fraction(0), saved * machine.T_c / (more * machine.T_s))
