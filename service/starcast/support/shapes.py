"""Comparison of JSON values with the shape that they must have."""

from collections.abc import Callable, Mapping
from typing import Any

#: A type (exactly that, so a truth value is not an int), a tuple of alternatives, ``None``, a list
#: with the shape of all elements, a mapping with the shape of every key, or a predicate.
Shape = Any


def check_shape(value: object, shape: Shape, place: str) -> None:
    """Check that a JSON value has a shape.

    Args:
        value: the JSON value.
        place: name of the value in messages, such as ``its job``.

    Raises:
        ValueError: the value has another shape; the message says where.

    Example:
        >>> check_shape({"claim": "TS.L5", "sizes": [3, "4"]}, {"claim": str, "sizes": [int]}, "it")
        Traceback (most recent call last):
        ValueError: it.sizes.1 is not valid
    """
    if isinstance(shape, Mapping):
        _check_object(value, shape, place)
    elif isinstance(shape, list):
        if type(value) is not list:
            raise ValueError(f"{place} is not a list")
        for number, element in enumerate(value):
            check_shape(element, shape[0], f"{place}.{number}")
    elif not _matches(value, shape, place):
        raise ValueError(f"{place} is not valid")


def _check_object(value: object, shape: Mapping[str, Shape], place: str) -> None:
    if type(value) is not dict:
        raise ValueError(f"{place} is not an object")
    for key in shape:
        if key not in value:
            raise ValueError(f"{place} has no '{key}'")
        check_shape(value[key], shape[key], f"{place}.{key}")
    unknown = next((key for key in value if key not in shape), None)
    if unknown is not None:
        raise ValueError(f"{place} has the unknown key '{unknown}'")


def _matches(value: object, shape: Shape, place: str) -> bool:
    if shape is None:
        return value is None
    if isinstance(shape, tuple):
        return any(_fits(value, each, place) for each in shape)
    if isinstance(shape, type):
        return type(value) is shape
    predicate: Callable[[object], bool] = shape
    return predicate(value)


def _fits(value: object, shape: Shape, place: str) -> bool:
    try:
        check_shape(value, shape, place)
    except ValueError:
        return False
    return True


def one_of(*words: str) -> Callable[[object], bool]:
    """Return the predicate that a value is one of some words."""
    return lambda value: isinstance(value, str) and value in words


def is_count(value: object) -> bool:
    """Return whether a value is an integer from 0 of at most 63 bits."""
    return type(value) is int and 0 <= value < 2**63
