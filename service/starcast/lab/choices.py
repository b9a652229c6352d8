"""Conversion of arguments that can be objects in Python, but only text on the command line."""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from fractions import Fraction
from typing import Any, TypeVar

from starcast.support.errors import InputError

_Choice = TypeVar("_Choice", bound=StrEnum)


def choose(choices: type[_Choice], text: str, noun: str) -> _Choice:
    """Return the member of the enumeration whose value is this text.

    Raises:
        InputError: there is no such member.

    Example:
        >>> choose(Layout, "levels", "layout")
        <Layout.LEVELS: 'levels'>
    """
    try:
        return choices(text)
    except ValueError:
        raise InputError(
            f"{text!r} is not a {noun}", hint=f"choose one of {', '.join(choices)}"
        ) from None


def plain_values(value: Any) -> Any:
    """Convert one or more values of an axis to types that a grid file can contain."""
    # Text and mappings are iterable, but each of them is a single value.
    if isinstance(value, str | Fraction | Mapping):
        return value
    # Only a `Topology` has this attribute; importing the class would take time.
    if hasattr(value, "spec"):
        return value.spec
    if not isinstance(value, Iterable):
        # `item` converts numpy's numbers to Python's.
        return value.item() if hasattr(value, "item") else value
    return [plain_values(each) for each in value]


def as_specs(topologies: str | Iterable[str] | None) -> list[str] | None:
    """Return a list of specs; a text is split at commas, but not within (n,k)-stars such as S4,2.

    Raises:
        InputError: the list is empty.

    Example:
        >>> as_specs("S4,S4,2")
        ['S4', 'S4,2']
    """
    if topologies is None or not isinstance(topologies, str):
        return None if topologies is None else list(topologies)
    specs: list[str] = []
    for word in topologies.replace(",", " ").split():
        # A word that is only a number is not a spec, but the k of an (n,k)-star: the 2 of S4,2.
        if word.isdigit() and specs:
            specs[-1] += f",{word}"
        else:
            specs.append(word)
    if not specs:
        raise InputError("the list of topologies is empty", hint="list topologies, as in S4,S5")
    return specs


def as_conditions(conditions: Mapping[str, Any] | Iterable[str]) -> list[str]:
    """Return conditions in the form of the command line, such as ``topology=S5``.

    Raises:
        InputError: a condition has no values.
    """
    if not isinstance(conditions, Mapping):
        return [conditions] if isinstance(conditions, str) else list(conditions)
    texts = []
    for axis, value in conditions.items():
        plain = plain_values(value)
        values = plain if isinstance(plain, list) else [plain]
        # Without this check, an axis without values would select all runs instead of none.
        if not values:
            raise InputError(
                f"the condition on {axis} has no values", hint="give a value, or omit it"
            )
        texts += [f"{axis}={each}" for each in values]
    return texts
