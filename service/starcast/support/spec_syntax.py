"""The syntax of a construction with its arguments: ``dimension-change(base=multiple,i=2)``.

Forest ids, the command line and both stores use this syntax, also for algorithms.
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
    """Return the text of a construction, with its arguments, if any, in parentheses.

    Example:
        >>> format_spec("dimension-change", {"i": 2, "base": "multiple"})
        'dimension-change(base=multiple,i=2)'
    """
    return f"{name}({format_arguments(arguments)})" if arguments else name


def format_arguments(arguments: Mapping[str, str | int]) -> str:
    """Return arguments as text, sorted by name: ``base=multiple,i=2``."""
    return ",".join(f"{name}={value}" for name, value in sorted(arguments.items()))


def normalize_id(artifact_id: str) -> str:
    """Return an id in the form in which ids are stored: the label at its end is in lower case."""
    head, colon, label = artifact_id.rpartition(":")
    return f"{head}:{label.lower()}" if colon else artifact_id


def parse_spec(text: str, noun: str = "construction") -> tuple[str, Arguments]:
    """Parse a text in the form that `format_spec` writes; return the name and the arguments.

    Args:
        noun: the kind of name, for the error message, such as ``algorithm``.

    Raises:
        InputError: the text has another form.
    """
    match = _SPEC.fullmatch(text.strip())
    if match is None:
        raise InputError(
            f"unknown {noun} '{text}'",
            hint="write 'greedy', or 'dimension-change(base=multiple,i=2)'",
        )
    return match[1], parse_arguments(match[2] or "")


def parse_construction(text: str, given: Mapping[str, str | int]) -> tuple[str, Arguments]:
    """Parse a construction; return its name, and the arguments in parentheses and in ``given``.

    Args:
        text: the construction, as `parse_spec` reads it.
        given: further arguments by name.

    Raises:
        InputError: the text has another form, or an argument is given twice.
    """
    # A plain name is not parsed, so that the catalogue can suggest a similar name if it is wrong.
    name, arguments = parse_spec(text) if "(" in text else (text, {})
    for repeated in sorted(arguments.keys() & given.keys()):
        raise InputError(
            f"the argument '{repeated}' is given twice",
            hint=f"remove it from '{text}', or omit --{repeated}",
        )
    return name, arguments | dict(given)


def parse_arguments(text: str) -> Arguments:
    """Parse arguments in the form that `format_arguments` writes.

    Values that look like integers become integers.

    Raises:
        InputError: the text has another form, or an argument is repeated.
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
    """Split lists at their commas; commas in parentheses are not separators.

    Example:
        >>> split_specs("greedy, dimension-change(base=multiple,i=2)")
        ['greedy', 'dimension-change(base=multiple,i=2)']
    """
    lists = [specs] if isinstance(specs, str) else specs
    items = [item.strip() for text in lists for item in _SEPARATOR.split(text)]
    return [item for item in items if item]
