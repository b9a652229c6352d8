"""The best number of pieces of a message: over the reals, and over whole numbers, by exact times."""

from collections.abc import Callable, Iterable
from fractions import Fraction
from math import isqrt, sqrt

from starcast.costs.machine import Cost, Machine
from starcast.errors import InputError

#: The cost with so many pieces.
Price = Callable[[int], Cost]


def optimum(price: Price, machine: Machine, period: int, allowed: Iterable[int]) -> tuple[float, int]:
    """The number of pieces with the least time: over the reals, roundings left out, and over whole numbers >= 1.

    In s + c(p-1) steps, b bytes after one another if there were one step and one piece, the time (s + c(p-1))(T_s + b T_c/p) is
    least at p = sqrt((s-c) b T_c/(c T_s)): equation (5) of Tseng & Sheu 1997 and its like in Table 1. Steps that are rounded
    up, as ceil(Mx/(n-1)) are, grow in this way over p = r, r + period, r + 2 period, .. for each r; there, of whole numbers one
    of the two beside the real optimum is best. Of equal times, the fewest pieces.

    Args:
        price: the cost with p pieces; its bytes and steps are as above, and s >= c.
        machine: T_s and T_c.
        period: how many pieces make the rounding the same again.
        allowed: which of 1..period can be; with r also r + period, and so on.

    Raises:
        InputError: T_s is 0, so that more pieces are always better.
    """
    if machine.T_s == 0:
        raise InputError("with T_s = 0 there is no best number of segments", hint="give a positive T_s")
    squares = {first: _square(price, machine, first, period) for first in {period, *allowed}}
    candidates = []
    for first in allowed:
        turns = max(0, isqrt(int(squares[first])) - first) // period
        candidates += [first + turns * period, first + (turns + 1) * period]
    return sqrt(squares[period]), min(candidates, key=lambda pieces: (price(pieces).time, pieces))


def _square(price: Price, machine: Machine, first: int, period: int) -> Fraction:
    """The square of the best real number of pieces, if steps grew as from ``first`` to ``first + period`` pieces."""
    one, two = price(first), price(first + period)
    slope = (two.start_ups - one.start_ups) / period
    bytes_a_step = one.bytes / one.start_ups * first
    rest = max(Fraction(0), one.start_ups - slope * first)
    return Fraction(rest * bytes_a_step * machine.T_c / (slope * machine.T_s))
