"""Exact reading of the values of axes: numbers, counts, seeds, names and faults."""

import re
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from starcast.support.errors import InputError
from starcast.support.vocabulary import EXECUTION_MODELS

#: The bound of all numerators and denominators: figures computed from them still fit into a double.
LARGEST = 10**30
#: Counts that depend on the point: the number of segments with the least closed-form time, and the
#: degree of the topology.
BEST, DEGREE = "best", "degree"
#: The largest seed: the largest value of PostgreSQL's type bigint.
MAX_SEED = 2**63 - 1
#: The value of the axis of faults without faults.
NONE = "none"

# Matched before `Fraction` reads the text, which would write out every digit of a large exponent.
_NUMBER = re.compile(
    r"[+-]?(\d{1,31}/\d{1,31}|(\d{1,31}\.?\d{0,30}|\.\d{1,30})([eE][+-]?\d{1,2})?)", re.ASCII
)
_MANY_DIGITS = re.compile(r"\d{32,}", re.ASCII)
_BOUNDS = "numerator and denominator are at most 10^30"
_SHOWN = 40
_DRAWN = re.compile(r"([1-9]\d{0,8}) (node|link)s?", re.ASCII)
_FAULT = re.compile(r"([^@\s-]+)(?:-([^@\s-]+))?(?:@(\d{1,9}))?", re.ASCII)
_KINDS = {"node", "nodes", "link", "links"}
#: How faults are written, for hints.
FAULTS_HINT = "write none, '2 nodes', '1 link', or labels such as '21345 12345-21345@3'"


def read_number(value: str | float | Fraction, axis: str) -> Fraction:
    """Return a rational number from user input: ``1024``, ``2.5``, ``23/3``.

    Raises:
        InputError: the input is not a number, or has too many digits.
    """
    text = str(value).strip()
    if isinstance(value, bool) or not _NUMBER.fullmatch(text):
        raise InputError(
            f"{axis} is '{_shorten(text)}', which is not a valid number",
            hint=f"write 1024, 2.5 or 23/3; {_BOUNDS}",
        )
    try:
        return Fraction(text)
    except ZeroDivisionError:
        raise InputError(
            f"{axis} is '{text}', which is not a valid number", hint="write 1024, 2.5 or 23/3"
        ) from None


def read_count(value: str | float, axis: str, words: Sequence[str] = ()) -> int | str:
    """Return a whole number from user input, or one of the allowed words.

    Raises:
        InputError: the input is neither.
    """
    if value in words:
        return str(value)
    expected = " or ".join(["a whole number", *words])
    if _MANY_DIGITS.fullmatch(str(value)):
        raise InputError(f"{axis} is out of range", hint="give at most 10^30")
    try:
        number = read_number(value, axis)
    except InputError:
        raise InputError(
            f"{axis} is '{_shorten(str(value))}', which is not {expected}", hint=f"write {expected}"
        ) from None
    if number.denominator != 1:
        raise InputError(f"{axis} is {value}, not a whole number", hint=f"write {expected}")
    return int(number)


def read_seed(value: str | float, axis: str = "seed") -> int:
    """Return a seed for `numpy.random.default_rng`.

    Raises:
        InputError: the input is not a whole number from 0 to `MAX_SEED`.
    """
    seed = int(read_count(value, axis))
    if not 0 <= seed <= MAX_SEED:
        raise InputError(
            f"{axis} is {_shorten(str(seed))}, which is not a valid seed",
            hint=f"give 0 to {MAX_SEED}",
        )
    return seed


def read_word(value: object, axis: str) -> str:
    """Return a name.

    Raises:
        InputError: the input is not text.
    """
    if not isinstance(value, str):
        raise InputError(
            f"{axis} is {_shorten(repr(value))}, which is not text",
            hint=f'write it in quotes: {axis} = "..."',
        )
    return value


def read_axis(axis: str, given: Any, read: Callable[[Any, str], Any]) -> tuple[Any, ...]:
    """Return the values of an axis; a single value may be given without a list.

    Raises:
        InputError: the list is empty, or one of its values is not valid.
    """
    values = given if isinstance(given, list | tuple) else [given]
    if not values:
        raise InputError(f"the grid has no {axis}", hint=f"give at least one: {axis} = [...]")
    nested = next((value for value in values if isinstance(value, list | tuple | dict)), None)
    if nested is not None:
        raise InputError(
            f"{axis} has the value {_shorten(repr(nested))}",
            hint="an axis is one value or one list of values",
        )
    return tuple(read(value, axis) for value in values)


def read_faults(value: object, axis: str) -> str:
    """Return faults with single blanks: ``none``, ``2 nodes``, or labels of nodes and links.

    Raises:
        InputError: the input does not name faults.
    """
    plain = " ".join(read_word(value, axis).split())
    if plain == NONE or _DRAWN.fullmatch(plain):
        return plain
    named = plain.split()
    if not named or _KINDS & set(named) or not all(_FAULT.fullmatch(word) for word in named):
        raise InputError(f"{axis} is '{plain}', which does not name faults", hint=FAULTS_HINT)
    return plain


def drawn_faults(text: str) -> tuple[int, str] | None:
    """Return the number and the kind (node, link) of faults to draw; None if they are named."""
    drawn = _DRAWN.fullmatch(text)
    return None if drawn is None else (int(drawn[1]), drawn[2])


def split_fault(word: str) -> tuple[list[str], int] | None:
    """Return the labels and the first step of a named fault; None if it is not one."""
    named = _FAULT.fullmatch(word)
    if named is None:
        return None
    return [label for label in named.groups()[:2] if label is not None], int(named[3] or 1)


def _shorten(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def check_execution(name: str) -> None:
    """Check the name of an execution model.

    Raises:
        InputError: there is no such model.
    """
    if name not in EXECUTION_MODELS:
        raise InputError(
            f"unknown execution model '{name}'", hint=f"write {' or '.join(EXECUTION_MODELS)}"
        )
