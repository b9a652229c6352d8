"""Text for messages and table cells: plurals, durations, suggestions for misspelled names."""

import json
import re
import time
from collections.abc import Iterable
from datetime import datetime
from difflib import get_close_matches
from fractions import Fraction
from string import ascii_uppercase
from typing import Any, TypeVar

Width = TypeVar("Width", int, float)

_WORD = re.compile(r"[a-z]{3,}[ ,:]")
_SURROGATE = re.compile("[\ud800-\udfff]")


def find_surrogate(text: str) -> bool:
    """Return whether text contains an unpaired surrogate, so that it cannot be encoded as UTF-8.

    Python decodes arguments and file names that are not valid UTF-8 to text with such surrogates.
    """
    return _SURROGATE.search(text) is not None


def pluralize(number: int, singular: str, plural: str = "") -> str:
    """Return a number with the noun that it counts: ``1 run``, ``1,000 runs``.

    Args:
        singular: the noun for the number 1, with its verb if one follows: ``run``, ``unit is``.
        plural: the noun for all other numbers (default: ``singular`` with an s).
    """
    return f"{number:,} {singular if number == 1 else plural or f'{singular}s'}"


def letter(place: int) -> str:
    """Return the name of a spreadsheet column: A for index 0, then B, ..., Z, AA, AB, ..."""
    before, last = divmod(place, len(ascii_uppercase))
    return (letter(before - 1) if before else "") + ascii_uppercase[last]


def as_sentence(text: str) -> str:
    """Return text as a sentence, with a capital letter at the beginning and a full stop at the end.

    Only a lower-case first word of three or more letters is capitalized: a shorter word may be a
    symbol such as n.
    """
    capitalized = text[:1].upper() + text[1:] if _WORD.match(text) else text
    return capitalized if capitalized.endswith(".") or not capitalized else f"{capitalized}."


def add_flags(hint: str, flags: str) -> str:
    """Insert flags into the quoted commands of a hint, as in ``'starcast --home ./lab up'``."""
    return hint.replace("'starcast ", f"'starcast {flags} ") if flags else hint


def did_you_mean(name: object, names: Iterable[str]) -> str:
    """Return ``did you mean 'greedy'? `` for a misspelled name, or "" if no name is similar.

    The result ends with a space, so that a list of all names can follow in the same hint.
    """
    known = list(names)
    # Names with the same beginning are preferred: for "cite", "citation" is preferred to "title".
    alike = [each for each in known if each[:3] == str(name)[:3]]
    close = get_close_matches(str(name), alike, n=1, cutoff=0.5) or get_close_matches(
        str(name), known, n=1
    )
    return f"did you mean '{close[0]}'? " if close else ""


def format_duration(seconds: float) -> str:
    """Return a duration in the largest suitable unit, such as 12 s, 4 min or 3 h."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.0f} h"


def describe_activity(task: str, seconds: float | None) -> str:
    """Return text such as ``another process has been dropping S10 since 14:03:12, for 5 s``.

    Args:
        task: a participle with its object, such as ``dropping S10``.
        seconds: the number of seconds since the process began; None if unknown.
    """
    if seconds is None:
        return f"another process is {task}"
    # Start times are stored rounded, so a process may seem to have started in the future.
    seconds = max(0.0, seconds)
    since = datetime.fromtimestamp(time.time() - seconds).astimezone()
    return f"another process has been {task} since {since:%H:%M:%S}, for {format_duration(seconds)}"


def is_numeric(values: Iterable[object]) -> bool:
    """Return whether all values of a column are numbers or None, and at least one is a number.

    Booleans are not treated as numbers, because tables show them as words.
    """
    types = {type(value) for value in values if value is not None}
    return bool(types) and all(
        issubclass(each, int | float | Fraction) and each is not bool for each in types
    )


def fold_widths(widths: Iterable[Width], words: Iterable[Width], room: Width) -> list[Width]:
    """Return column widths whose sum is at most ``room``; the widest columns are narrowed first.

    Args:
        widths: the width of each column without wrapped lines.
        words: the minimum width of each column, which is the width of its longest word. The sum of
            these widths must not exceed ``room``.
        room: the largest allowed sum of all widths.
    """
    columns = list(zip(widths, words, strict=True))
    folded = [width for width, _ in columns]
    limit = max(folded, default=room)
    while sum(folded) > room:
        limit -= 1
        folded = [max(word, min(width, limit)) for width, word in columns]
    return folded


def with_article(noun: str) -> str:
    """Return a noun with its indefinite article: ``a broadcast``, ``an allreduce``."""
    return f"an {noun}" if noun[:1].lower() in "aeiou" else f"a {noun}"


#: From this value on, numbers are shown without decimals in tables for human readers. Three
#: significant digits of a number from 999.5 to 1000 would be 1e+03.
_WHOLE = 999.5


def format_value(value: Any, *, exact: bool = False) -> str:
    """Return the value of a table cell as a string.

    Floats with an absolute value of at least 999.5 are rounded to integers, all others to three
    significant digits. The items of a list are separated by spaces. None becomes an empty string,
    True becomes "yes", and False becomes "no".

    Args:
        exact: whether to write floats with 15 significant digits, for machine-readable output.
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        if exact:
            return f"{value:.15g}"
        return f"{value:.0f}" if abs(value) >= _WHOLE or value.is_integer() else f"{value:.3g}"
    if isinstance(value, datetime):
        return value.isoformat(sep=" ", timespec="seconds")
    if isinstance(value, list | tuple):
        return " ".join(format_value(item, exact=exact) for item in value)
    if value == {} and not exact:
        return ""
    if isinstance(value, dict):
        return dump_json(value)
    return str(value)


def dump_json(value: Any, indent: int | None = None) -> str:
    """Return a value as JSON; NaN and infinite numbers, which JSON cannot represent, become null.

    Example:
        >>> dump_json([Fraction(1, 2), float("nan")])
        '[0.5, null]'
    """
    try:
        return json.dumps(
            value, default=to_json, ensure_ascii=False, indent=indent, allow_nan=False
        )
    except ValueError:
        text = json.dumps(value, default=to_json, ensure_ascii=False)
        plain = json.loads(text, parse_constant=lambda _: None)
        return json.dumps(plain, ensure_ascii=False, indent=indent)


def to_json(value: Any) -> Any:
    """Convert a value that JSON does not support, for the argument ``default`` of `json.dumps`."""
    if isinstance(value, Fraction):
        return float(value)
    if isinstance(value, datetime):
        return value.isoformat()
    return value.item() if hasattr(value, "item") else str(value)
