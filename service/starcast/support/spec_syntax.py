"""The syntax of a construction with its arguments: ``dimension-change(base=multiple,i=2)``.

Forest ids, the command line and both databases use this syntax, also for algorithms.
"""

import re
from collections.abc import Iterable, Mapping

from starcast.support.errors import InputError

Arguments = dict[str, str | int]

_SPEC = re.compile(r"([^()=,\s]+)(?:\(([^()]*)\))?")
_ARGUMENT = re.compile(r"([^()=,\s]+)=([^()=,\s]+)")
_INTEGER = re.compile(r"-?[0-9]{1,9}")
_SEPARATOR = re.compile(r",(?![^(]*\))")  # a comma outside parentheses


def format_spec(name: str, arguments: Mapping[str, str | int]) -> str:
    """Return a construction or algorithm as text, with any arguments in parentheses.

    Example:
        >>> format_spec("dimension-change", {"i": 2, "base": "multiple"})
        'dimension-change(base=multiple,i=2)'
    """
    return f"{name}({format_arguments(arguments)})" if arguments else name


def format_arguments(arguments: Mapping[str, str | int]) -> str:
    """Return arguments as text, sorted by name: ``base=multiple,i=2``."""
    return ",".join(f"{name}={value}" for name, value in sorted(arguments.items()))


def normalize_id(artifact_id: str) -> str:
    """Return an artifact's id as it is stored: the label at its end is in lower case."""
    head, colon, label = artifact_id.rpartition(":")
    return f"{head}:{label.lower()}" if colon else artifact_id


def parse_spec(text: str, noun: str = "construction") -> tuple[str, Arguments]:
    """Parse text such as ``dimension-change(base=multiple,i=2)``; return the name and arguments.

    Args:
        noun: what the name stands for, such as ``algorithm``; used in the error message.

    Raises:
        InputError: the text does not have this form.
    """
    match = _SPEC.fullmatch(text.strip())
    if match is None:
        raise InputError(
            f"unknown {noun} '{text}'",
            hint="write a name with optional arguments, such as 'greedy' or "
            "'dimension-change(base=multiple,i=2)'",
        )
    return match[1], parse_arguments(match[2] or "")


def parse_construction(text: str, given: Mapping[str, str | int]) -> tuple[str, Arguments]:
    """Parse a construction; return its name and all arguments, including those in ``given``.

    Args:
        text: the construction, as `parse_spec` reads it.
        given: further arguments by name.

    Raises:
        InputError: the text is not a construction, or an argument is given twice.
    """
    # A name without parentheses is not parsed: if it is wrong, the catalogue suggests a similar
    # name.
    name, arguments = parse_spec(text) if "(" in text else (text, {})
    for repeated in sorted(arguments.keys() & given.keys()):
        raise InputError(
            f"the argument '{repeated}' is given twice",
            hint=f"remove it from '{text}', or omit --{repeated}",
        )
    return name, arguments | dict(given)


def parse_arguments(text: str) -> Arguments:
    """Parse arguments such as ``base=multiple,i=2``.

    Values that look like integers become integers.

    Raises:
        InputError: the text does not have this form, or an argument is repeated.
    """
    arguments: Arguments = {}
    for item in filter(None, text.split(",")):
        match = _ARGUMENT.fullmatch(item.strip())
        if match is None or match[1] in arguments:
            problem = "is not an argument" if match is None else "repeats an argument"
            raise InputError(
                f"'{item}' {problem}", hint="write arguments as 'base=multiple,i=2', each once"
            )
        name, value = match.groups()
        arguments[name] = int(value) if _INTEGER.fullmatch(value) else value
    return arguments


def split_specs(specs: str | Iterable[str]) -> list[str]:
    """Split a text, or each of several texts, at commas that are not in parentheses.

    Example:
        >>> split_specs("greedy, dimension-change(base=multiple,i=2)")
        ['greedy', 'dimension-change(base=multiple,i=2)']
    """
    lists = [specs] if isinstance(specs, str) else specs
    items = [item.strip() for text in lists for item in _SEPARATOR.split(text)]
    return [item for item in items if item]
