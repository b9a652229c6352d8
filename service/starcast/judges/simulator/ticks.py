"""Exact times as integers: all times in an execution are multiples of a tick."""

from decimal import Decimal
from fractions import Fraction
from math import gcd, isfinite
from numbers import Rational
from typing import Any

import numpy as np
from numpy.typing import NDArray

from starcast.judges.simulator.simulation import Simulation
from starcast.support.errors import InputError

#: Types of numbers that `exact_number` converts to fractions without rounding.
Number = int | float | Fraction | Decimal | np.integer[Any] | np.floating[Any]
#: Times in ticks: int32 or int64, or Python integers (dtype object) if int64 could overflow.
Times = NDArray[Any]

# About half of the largest int64 and int32, so that the sum of two times does not overflow.
_MAX_VALUE = 2**62
_MAX_SHORT = 2**30


class Ticks:
    """The tick of an execution: the largest time that divides T_s and the time per unit.

    Args:
        start_up: T_s.
        per_unit: the time that a unit adds to its packet.
    """

    def __init__(self, start_up: Fraction, per_unit: Fraction) -> None:
        common = start_up.denominator * per_unit.denominator
        one = int(start_up * common)
        other = int(per_unit * common)
        # If both times are 0, their gcd is 0; then any tick is valid, and the tick is 1.
        divisor = gcd(one, other) or common
        self.tick = Fraction(divisor, common)
        self.start_up = one // divisor
        self.per_unit = other // divisor
        self.never = 0
        self.dtype: type = object
        self.wide_dtype: type = object

    def choose_dtype(self, latest: int, links: int) -> None:
        """Choose the dtype of times, and a dtype for the larger sums in the module `asynchronous`.

        Args:
            latest: an upper bound of all times, in ticks.
            links: the number of directed links.
        """
        self.never = max(latest, self.start_up + self.per_unit) + 1
        self.wide_dtype = np.int64 if 2 * (self.never + 1) * (links + 2) < _MAX_VALUE else object
        self.dtype = np.int32 if self.never < _MAX_SHORT else self.wide_dtype

    def end_of_steps(self, simulation: Simulation) -> int:
        """Return when a synchronous execution ends, in ticks; an asynchronous one ends no later."""
        sent = int(simulation.packet_sizes.sum())
        return simulation.steps * self.start_up + sent * self.per_unit

    def full(self, size: int, value: int) -> Times:
        """Return an array of ``size`` times that are all equal to a value."""
        return np.full(size, value, dtype=self.dtype)

    def durations(self, units: NDArray[np.int64]) -> Times:
        """Return the durations of packets with given numbers of units."""
        return units.astype(self.dtype) * self.per_unit + self.start_up

    def time(self, ticks: int) -> int | Fraction:
        """Convert ticks to a time, which is an int if it is a whole number."""
        return simplify(int(ticks) * self.tick)

    def times(self, ticks: Times) -> Times:
        """Convert ticks to times; `never` becomes -1.

        The dtype is int64, or object if a time is not a whole number or exceeds int64.
        """
        known = ticks < self.never
        latest = int(ticks[known].max(initial=0))
        if self.tick.denominator == 1 and max(latest, 1) * self.tick < _MAX_VALUE:
            known_times = np.full(ticks.shape, -1, dtype=np.int64)
            known_times[known] = ticks[known].astype(np.int64) * int(self.tick)
            return known_times
        exact = np.full(ticks.shape, -1, dtype=object)
        exact[known] = [self.time(value) for value in ticks[known].tolist()]
        return exact


def simplify(time: Fraction) -> int | Fraction:
    """Return a time as an int if it is a whole number, else unchanged."""
    return int(time) if time.denominator == 1 else time


def exact_number(value: object, name: str) -> Fraction:
    """Convert a nonnegative number to a fraction without rounding.

    Raises:
        InputError: the value is not a finite number, or negative.
    """
    is_number = isinstance(value, Rational | Decimal | float | np.integer | np.floating)
    if isinstance(value, bool) or not is_number or not isfinite(value):  # type: ignore[arg-type]
        raise InputError(
            f"{name} is {value!r}, which is not a number",
            hint="give an int, a Fraction, a Decimal or a finite float",
        )
    exact = Fraction(value.item() if isinstance(value, np.generic) else value)  # type: ignore[arg-type]
    if exact < 0:
        raise InputError(f"{name} is {value}, a negative number", hint=f"give {name} 0 or more")
    return exact
