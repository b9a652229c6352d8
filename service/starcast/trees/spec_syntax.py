"""Constructions with their arguments as words: ``greedy``, ``dimension-change(base=multiple,i=2)``.

The names of forests, the command line and both stores write them in this one way.
"""

import re
from collections.abc import Iterable, Mapping

from starcast.errors import InputError

Arguments = dict[str, str | int]

_NAMED = re.compile(r"([^()=,\s]+)(?:\(([^()]*)\))?")
_ARGUMENT = re.compile(r"([^()=,\s]+)=([^()=,\s]+)")
_WHOLE = re.compile(r"-?[0-9]{1,9}")
_OUTSIDE = re.compile(r",(?![^(]*\))")  # a comma that stands in no parentheses


def written(construction: str, arguments: Mapping[str, str | int]) -> str:
    """A construction as it is written: its name, and in parentheses its arguments by name, if it has any."""
    return f"{construction}({written_arguments(arguments)})" if arguments else construction


def written_arguments(arguments: Mapping[str, str | int]) -> str:
    """Arguments as they are written, sorted by name: ``base=multiple,i=2``."""
    return ",".join(f"{name}={value}" for name, value in sorted(arguments.items()))


def parsed(text: str, noun: str = "construction") -> tuple[str, Arguments]:
    """The name of a construction, or of an algorithm, and its arguments, out of what `written` writes.

    Raises:
        InputError: it is not written so.
    """
    match = _NAMED.fullmatch(text.strip())
    if match is None:
        raise InputError(
            f"'{text}' is no {noun}",
            hint="write 'greedy', or 'dimension-change(base=multiple,i=2)'",
        )
    return match[1], parsed_arguments(match[2] or "")


def parsed_arguments(text: str) -> Arguments:
    """Arguments out of what `written_arguments` writes; what looks like a whole number is one.

    Raises:
        InputError: they are not written so, or one is given twice.
    """
    found: Arguments = {}
    for word in filter(None, text.split(",")):
        match = _ARGUMENT.fullmatch(word.strip())
        if match is None or match[1] in found:
            wrong = "is no argument" if match is None else "is given twice"
            raise InputError(
                f"'{word}' {wrong}", hint="write arguments as 'base=multiple,i=2', each once"
            )
        found[match[1]] = int(match[2]) if _WHOLE.fullmatch(match[2]) else match[2]
    return found


def listed(given: str | Iterable[str]) -> list[str]:
    """The words of a list by commas, or of several one after the other; commas in parentheses belong to arguments."""
    lists = [given] if isinstance(given, str) else given
    return [word.strip() for text in lists for word in _OUTSIDE.split(text) if word.strip()]
