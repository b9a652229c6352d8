"""The greatest number of trees of a forest, and the names that a forest may have."""

from collections.abc import Mapping

from starcast.support.errors import InputError
from starcast.support.spec_syntax import format_spec, parse_spec

#: Schedules number the trees of a forest with uint8.
MAX_TREES = 256
_MAX_LENGTH = 200
_SHOWN = 40


def check_trees(trees: int) -> None:
    """Check the number of trees of a forest.

    Raises:
        InputError: there are more than `MAX_TREES`.
    """
    if trees > MAX_TREES:
        raise InputError(
            f"a forest of {trees:,} trees has too many", hint=f"give at most {MAX_TREES}"
        )


def check_spec(construction: object, arguments: object) -> None:
    """Check that a construction with its arguments can be a part of an id.

    Raises:
        InputError: the construction is not text, the arguments are not a mapping to strings and
            integers, or they could not be parsed again.
    """
    if not isinstance(arguments, Mapping):
        raise InputError(
            f"the arguments of a forest are of type {type(arguments).__name__}, not a mapping",
            hint="give a dict such as {'base': 'multiple'}, or omit them",
        )
    if not isinstance(construction, str) or not _is_parsed_again(construction, arguments):
        raise InputError(
            f"{str(construction)[:_SHOWN]!r} with its arguments cannot be part of an id",
            hint="give a name without spaces, commas, '=' and parentheses, and arguments of such "
            f"strings and of integers; at most {_MAX_LENGTH} characters together",
        )


def _is_parsed_again(construction: str, arguments: Mapping[str, str | int]) -> bool:
    if any(type(value) not in {str, int} for value in arguments.values()):
        return False
    try:
        text = format_spec(construction, arguments)
        return len(text) <= _MAX_LENGTH and parse_spec(text) == (construction, dict(arguments))
    except (InputError, TypeError, ValueError):  # names of several types; integers too long
        return False
