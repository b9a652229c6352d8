"""What a user wrote on an axis of a grid, read exactly: numbers, counts, words."""

import re
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from starcast.errors import InputError

#: Bounds m, T_s, T_c and p, numerators and denominators alike: every figure made of them still is a double in PostgreSQL.
LARGEST = 10**30
#: Counts that the point decides: the whole number of pieces with the least closed-form time, and the topology's degree.
BEST, DEGREE = "best", "degree"
#: The largest seed: PostgreSQL's bigint.
LARGEST_SEED = 2**63 - 1

# Checked before `Fraction` reads it, which would write out every digit that an exponent stands for.
_NUMBER = re.compile(
    r"[+-]?(\d{1,31}/\d{1,31}|(\d{1,31}\.?\d{0,30}|\.\d{1,30})([eE][+-]?\d{1,2})?)", re.ASCII
)
_DIGITS = re.compile(r"\d{32,}", re.ASCII)
_BOUNDS = "numerator and denominator are at most 10^30"
_SHOWN = 40
_NAME = re.compile(r"(?!\d+$)[A-Za-z0-9][A-Za-z0-9._-]*")


def number(words: str | float | Fraction, axis: str) -> Fraction:
    """A rational number out of what a user wrote: ``1024``, ``2.5``, ``23/3``.

    Raises:
        InputError: it is none, or has too many digits.
    """
    text = str(words).strip()
    if isinstance(words, bool) or not _NUMBER.fullmatch(text):
        raise InputError(
            f"{axis} is '{_short(text)}', which is no number here",
            hint=f"write 1024, 2.5 or 23/3; {_BOUNDS}",
        )
    try:
        return Fraction(text)
    except ZeroDivisionError:
        raise InputError(
            f"{axis} is '{text}', which is no number", hint="write 1024, 2.5 or 23/3"
        ) from None


def count(words: str | float, axis: str, also: Sequence[str] = ()) -> int | str:
    """A whole number out of what a user wrote, or one of the words that may stand for one.

    Raises:
        InputError: it is neither.
    """
    if words in also:
        return str(words)
    expected = " or ".join(["a whole number", *also])
    if _DIGITS.fullmatch(str(words)):
        raise InputError(f"{axis} is beyond what is computed here", hint="give at most 10^30")
    try:
        whole = number(words, axis)
    except InputError:
        raise InputError(
            f"{axis} is '{_short(str(words))}', which is not {expected}", hint=f"write {expected}"
        ) from None
    if whole.denominator != 1:
        raise InputError(f"{axis} is {words}, no whole number", hint=f"write {expected}")
    return int(whole)


def seed(words: str | float, axis: str = "seed") -> int:
    """A seed for `numpy.random.default_rng`.

    Raises:
        InputError: it is no whole number from 0 to `LARGEST_SEED`.
    """
    value = int(count(words, axis))
    if not 0 <= value <= LARGEST_SEED:
        raise InputError(
            f"{axis} is {_short(str(value))}, which is no seed", hint=f"give 0 to {LARGEST_SEED}"
        )
    return value


def word(words: object, axis: str) -> str:
    """A name.

    Raises:
        InputError: it is no text.
    """
    if not isinstance(words, str):
        raise InputError(
            f"{axis} is {_short(repr(words))}, which is no text",
            hint=f'write it in quotes: {axis} = "..."',
        )
    return words


def listed(axis: str, given: Any, read: Callable[[Any, str], Any]) -> tuple[Any, ...]:
    """The values of an axis, of which one may stand without a list.

    Raises:
        InputError: there is none, or one cannot be.
    """
    values = given if isinstance(given, list | tuple) else [given]
    if not values:
        raise InputError(f"the grid has no {axis}", hint=f"give at least one: {axis} = [...]")
    wrong = next((value for value in values if isinstance(value, list | tuple | dict)), None)
    if wrong is not None:
        raise InputError(
            f"{axis} has the value {_short(repr(wrong))}",
            hint="an axis is one value or one list of values",
        )
    return tuple(read(value, axis) for value in values)


def check_name(name: str) -> str:
    """Accept a name for an experiment; digits alone are a run's number.

    Raises:
        InputError: it cannot be one.
    """
    if not _NAME.fullmatch(name):
        raise InputError(
            f"'{name}' cannot name an experiment",
            hint="write letters, digits, '.', '_' and '-', not digits alone",
        )
    return name


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
