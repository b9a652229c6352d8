"""Arguments that are one of the values of an enumeration."""

from enum import StrEnum
from typing import TypeVar

from starcast.errors import InputError

_Choice = TypeVar("_Choice", bound=StrEnum)


def choose(choices: type[_Choice], text: str, noun: str) -> _Choice:
    """Return the value of the enumeration with this text.

    Raises:
        InputError: there is no such value.

    Example:
        >>> choose(Layout, "levels", "layout")
        <Layout.LEVELS: 'levels'>
    """
    try:
        return choices(text)
    except ValueError:
        raise InputError(
            f"the {noun} is {text!r}", hint=f"choose one of {', '.join(choices)}"
        ) from None
