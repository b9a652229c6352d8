"""The header of a query file: ``//`` comments that people can read and starcast parses strictly.

The fields have a fixed order, and each occurs once; `docs/queries.md` shows the form.
"""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, NamedTuple

from starcast.queries.parameters import Parameter, Type
from starcast.support.errors import InputError
from starcast.support.text import did_you_mean

#: The names of all fields in order, and of the optional fields.
FIELDS = ("title", "question", "parameters", "columns", "cost", "revision", "reference")
OPTIONAL = ("cost", "revision", "reference")

_FIELD = re.compile(r"// ([a-z]+):(?: +(.*))?")
_ITEM = re.compile(r"// {3}(\S.*)")
_CONTINUED = re.compile(r"\n// {4,}(?=\S)")
_PARAMETER = re.compile(r"([A-Za-z]\w*) \(([^,()]+)(?:, default (.+))?\): (.+)", re.ASCII)
_COLUMN = re.compile(r"([A-Za-z]\w*)(?: \(([^()]+)\))?: (.+)", re.ASCII)
_HINT = "see docs/queries.md for the format of a query file"


class Column(NamedTuple):
    """A column of a query's result, as declared in the header.

    Attributes:
        name: the name of the column.
        meaning: its description.
        type: the type of its values, declared only if they are nodes or links.
    """

    name: str
    meaning: str
    type: Type | None = None


@dataclass(frozen=True)
class Header:
    """The fields of the header of a query file."""

    title: str
    question: str
    parameters: tuple[Parameter, ...]
    columns: tuple[Column, ...]
    cost: str = ""
    revision: int = 1
    reference: str = ""


def parse_header(text: str) -> Header:
    """Parse the header of a query file.

    Raises:
        InputError: the header is not valid; the message names the field.
    """
    fields = _read_fields(text)
    for name in FIELDS:
        if name not in fields and name not in OPTIONAL:
            raise InputError(f"the header has no field '{name}'", hint=_HINT)
    values = {name: _parse_field(name, *lines) for name, lines in fields.items()}
    if not values["columns"]:
        raise InputError("the header declares no columns", hint=_HINT)
    return Header(**values)


def _read_fields(text: str) -> dict[str, list[str]]:
    """Return the lines of each field by name: its text, then its items."""
    lines = takewhile(lambda line: line.startswith("//"), text.splitlines())
    header = "\n".join(line.rstrip() for line in lines)
    fields: dict[str, list[str]] = {}
    name = ""
    # Continued lines are joined first, so that each remaining line is a field or an item.
    for line in _CONTINUED.sub(" ", header).splitlines():
        if field := _FIELD.fullmatch(line):
            name = field[1]
            _check_order(name, fields)
            fields[name] = [field[2] or ""]
        elif not name:
            message = "the header does not begin with a title"
            raise InputError(message, hint="begin with '// title: ...'")
        elif item := _ITEM.fullmatch(line):
            fields[name].append(item[1])
        else:
            message = f"a line below the field '{name}' is neither a field nor an item"
            raise InputError(message, hint=_HINT)
    return fields


def _check_order(name: str, fields: dict[str, list[str]]) -> None:
    if name not in FIELDS:
        hint = f"{did_you_mean(name, FIELDS)}the fields are {', '.join(FIELDS)}"
        raise InputError(f"unknown field '{name}'", hint=hint)
    if name in fields:
        raise InputError(f"the field '{name}' is repeated", hint="remove one of them")
    for later in FIELDS[FIELDS.index(name) :]:
        if later in fields:
            message = f"the field '{name}' must come before '{later}'"
            raise InputError(message, hint=f"write the fields in the order {', '.join(FIELDS)}")


def _parse_field(name: str, text: str, *items: str) -> Any:
    if name in _ITEM_PARSERS:
        return _parse_items(name, text, items)
    if items:
        hint = "to continue its text on the next line, indent the line further: '//     text'"
        raise InputError(f"the field '{name}' cannot have items", hint=hint)
    if not text:
        raise InputError(f"the field '{name}' is empty", hint=f"write '// {name}: ...' on one line")
    if name != "revision":
        return text
    # `int` alone would also accept signs, underscores and any number of digits.
    if not re.fullmatch(r"[1-9][0-9]{0,8}", text):
        message = "the revision is not an integer of at least 1"
        raise InputError(message, hint="write 1 in a new file, and add 1 with every change")
    return int(text)


def _parse_items(name: str, text: str, lines: Sequence[str]) -> tuple[Any, ...]:
    """Parse the items of a field; error messages name the field."""
    if text not in {"", "none"} or bool(text) == bool(lines):
        message = f"{name}: the items must follow on the next lines, or the field must be 'none'"
        raise InputError(message, hint=_HINT)
    items: dict[str, Any] = {}
    for line in lines:
        try:
            item = _ITEM_PARSERS[name](line)
        except InputError as error:
            raise InputError(f"{name}: {error.message}", hint=error.hint) from None
        if item.name in items:
            message = f"{name}: '{item.name}' is declared twice"
            raise InputError(message, hint="remove one of the declarations")
        items[item.name] = item
    return tuple(items.values())


def _parse_parameter(line: str) -> Parameter:
    match = _PARAMETER.fullmatch(line)
    if match is None:
        hint = "write '//   name (type, default VALUE): meaning'"
        raise InputError(f"'{line}' is not a parameter declaration", hint=hint)
    name, written, default, meaning = match.groups()
    kind = Type.parse(written)
    if default is None:
        return Parameter(name, kind, meaning)
    try:
        # Thousands of nested brackets raise RecursionError in Python's `json`, not ValueError.
        return Parameter(name, kind, meaning, json.loads(default), required=False)
    except (ValueError, RecursionError):
        message = f"the default {default} is not JSON"
        raise InputError(message, hint='write strings as "text"') from None
    except InputError as error:
        raise InputError(error.message, hint="correct the default or the type") from None


def _parse_column(line: str) -> Column:
    match = _COLUMN.fullmatch(line)
    if match is None:
        hint = "write '//   name: meaning' or '//   name (type): meaning'"
        raise InputError(f"'{line}' is not a column declaration", hint=hint)
    name, written, meaning = match.groups()
    return Column(name, meaning, Type.parse(written) if written else None)


#: The fields with items, and the function that parses an item.
_ITEM_PARSERS: dict[str, Callable[[str], Parameter | Column]] = {
    "parameters": _parse_parameter,
    "columns": _parse_column,
}
