"""Checks shared by the decorators: their options, and the name and signature of a function."""

import inspect
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from types import NoneType
from typing import Any, Literal, TypeVar

import numpy as np

from starcast.catalogue.entries import FAMILIES, Argument
from starcast.catalogue.origin import Located, Origin
from starcast.support.errors import InputError

Function = TypeVar("Function", bound=Callable[..., Any])

# Names are parts of ids and specs, in which colons, commas and parentheses are separators.
_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_KINDS: Mapping[Any, Literal["integer", "text"]] = {
    int: "integer", "int": "integer", str: "text", "str": "text",
}  # fmt: skip
#: The options of the decorators, with their types and a description for messages.
_OPTIONS: Mapping[str, tuple[tuple[type, ...], str]] = {
    **dict.fromkeys(
        ("collective", "source", "description", "noun", "pattern", "spelling", "group"),
        ((str,), "a string"),
    ),
    **dict.fromkeys(
        ("families", "ports"), ((list, tuple, set, frozenset), "a list of strings")
    ),
    **dict.fromkeys(("one_tree_per_port", "partial"), ((bool, np.bool_), "True or False")),
    "smallest": ((int, np.integer), "a whole number"),
    "sizes": ((range, NoneType), "a range"),
    "exclusion": ((Callable,), "a function"),  # type: ignore[dict-item]
}  # fmt: skip


def check_options(origin: Origin, subject: str, options: Mapping[str, Any]) -> None:
    """Check the types of a decorator's options.

    Raises:
        InputError: an option has a wrong type.
    """
    for option, value in options.items():
        types, expected = _OPTIONS[option]
        # True and False are instances of int, but they are not valid numbers here.
        is_valid = isinstance(value, types) and (bool in types or not isinstance(value, bool))
        if is_valid and isinstance(value, Collection) and range not in types:
            is_valid = all(isinstance(each, str) for each in value)
        if not is_valid:
            raise InputError(
                f"{origin}: the option '{option}' of {subject} is not {expected}: "
                f"its type is {type(value).__name__}",
                hint=f"give {option} as {expected}",
            )


def check_declaration(
    kind: str,
    name: object,
    function: Callable[..., Any],
    families: Sequence[str] = (),
    **options: Any,
) -> Origin:
    """Check the name and options that were passed to a decorator; return the function's origin.

    Raises:
        InputError: the name is malformed, an option has a wrong type, a family is unknown, or the
            declared object is not a function.
    """
    origin = Origin.of(function)
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        shown = repr(name) if isinstance(name, str) else f"a value of type {type(name).__name__}"
        raise InputError(
            f"{origin}: {shown} is not a valid name",
            hint="write lower-case words joined by hyphens",
        )
    subject = f"the {kind} '{name}'"
    check_options(origin, subject, {"families": families, **options})
    with Located(subject, origin):
        for family in families:
            FAMILIES.find(family)
    return origin


def read_arguments(
    name: str, origin: Origin, function: Callable[..., Any], fixed: Sequence[str]
) -> tuple[Argument, ...]:
    """Return the arguments that a function declares after its ``fixed`` parameters.

    A parameter is annotated with int or str, or with ``Annotated[type, Argument(...)]``.

    Raises:
        InputError: the function has a wrong signature.
    """
    parameters = list(inspect.signature(function).parameters.values())
    if [parameter.name for parameter in parameters[: len(fixed)]] != list(fixed):
        raise InputError(
            f"{origin}: the parameters of the function of '{name}' do not begin with "
            f"{', '.join(fixed)}: {', '.join(each.name for each in parameters) or 'none'}",
            hint=f"declare {', '.join(fixed)} as the first parameters",
        )
    return tuple(_read_argument(name, origin, each) for each in parameters[len(fixed) :])


def _read_argument(name: str, origin: Origin, parameter: inspect.Parameter) -> Argument:
    default = parameter.default
    has_default = default is not inspect.Parameter.empty
    annotation: object = parameter.annotation
    # `get_type_hints` is not used: it would evaluate all annotations in a plug-in's module.
    for declared in getattr(annotation, "__metadata__", ()):
        if isinstance(declared, Argument):
            return replace(declared, default=lambda _: default) if has_default else declared
    if annotation is inspect.Parameter.empty and has_default:
        annotation = type(default)
    kind: Literal["count", "integer", "text"] | None = None
    if isinstance(annotation, type | str):
        kind = _KINDS.get(annotation)
    is_variadic = parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    if kind is None or is_variadic or (has_default and _KINDS.get(type(default)) != kind):
        raise InputError(
            f"{origin}: the parameter '{parameter.name}' of '{name}' is not an int or a str",
            hint=f"write '{parameter.name}: int', with or without a default",
        )
    # In starcast's own algorithms, arguments with these names are integers from 1. The same rule
    # applies to plug-ins.
    if parameter.name in ("segments", "messages", "copies"):
        kind = "count"
    return Argument(
        parameter.name,
        f"the parameter '{parameter.name}' of {origin.module}",
        (lambda _: default) if has_default else None,
        kind=kind,
    )
