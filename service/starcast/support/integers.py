"""Integer arithmetic and checks of integer arguments."""

from numbers import Integral

from starcast.support.axes import LARGEST
from starcast.support.errors import InputError

#: Largest value of the type ``integer`` in PostgreSQL.
MAX_INTEGER = 2**31 - 1


def ceil_div(numerator: int, denominator: int) -> int:
    """Return ``numerator / denominator`` rounded up, for a positive denominator."""
    return -(-numerator // denominator)


def check_count(name: str, value: object, maximum: int | None = None, context: str = "") -> int:
    """Check a count, such as the number of segments, messages or copies, and return it.

    Args:
        name: the argument's name, for the error message.
        value: the value to check.
        maximum: the largest allowed value; None for 10^60, the square of `LARGEST`. User input is
            at most `LARGEST`, but a computed optimum can be as large as this square.
        context: the place where the maximum applies, such as ``on S5``, for the error message.

    Raises:
        InputError: the value is not an integer from 1 to ``maximum``.
    """
    # In Python, a bool is an int, but it is not a valid count.
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < 1:
        raise InputError(
            f"{name} is {value!r}, not a positive integer", hint="use an integer of 1 or more"
        )
    number = int(value)
    if maximum is None and number > LARGEST**2:
        raise InputError(f"{name} is out of range", hint="use at most 10^60")
    if maximum is not None and number > maximum:
        raise InputError(
            f"{name} is {number}, but the maximum{context and f' {context}'} is {maximum}",
            hint=f"use an integer from 1 to {maximum}",
        )
    return number
