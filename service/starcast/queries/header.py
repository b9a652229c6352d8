"""The header of a query file: ``//`` lines for people that are also parsed strictly.

The fields have a fixed order, and each occurs once; `docs/queries.md` shows the form.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from starcast.errors import InputError
from starcast.queries.parameters import EXPECTED, Parameter, Type
from starcast.support.text import did_you_mean

#: All fields in their order, those that have items, and those that may be omitted.
FIELDS = ("title", "question", "parameters", "columns", "cost", "revision", "reference")
ITEMISED = ("parameters", "columns")
OPTIONAL = ("cost", "revision", "reference")

_FIELD = re.compile(r"// ([a-z]+):(?: +(.*\S))? *")
_ITEM = re.compile(r"// {3}(\S.*)")
_CONTINUED = re.compile(r"// {4,}(\S.*)")
_PARAMETER = re.compile(r"([A-Za-z]\w*) \(([^,()]+)(?:, default (.+))?\): (.+)", re.ASCII)
_COLUMN = re.compile(r"([A-Za-z]\w*)(?: \(([^()]+)\))?: (.+)", re.ASCII)
_HINT = "see the form of a query file in docs/queries.md"
T = TypeVar("T")


class Line(NamedTuple):
    """A text and the number of the line where it begins."""

    text: str
    number: int


class Column(NamedTuple):
    """A column of the result.

    Attributes:
        name: its name.
        meaning: its description.
        type: the type of its values, declared only for columns that contain nodes or links.
    """

    name: str
    meaning: str
    type: Type | None = None


@dataclass(frozen=True)
class Header:
    """The fields of a header, and the line numbers of parameters and columns for error messages."""

    title: str
    question: str
    parameters: tuple[Parameter, ...]
    columns: tuple[Column, ...]
    cost: str = ""
    revision: int = 1
    reference: str = ""
    lines: dict[str, int] = field(default_factory=dict, compare=False)


@dataclass
class _Field:
    line: int
    text: str
    items: list[Line] = field(default_factory=list)


def file_error(path: Path, line: int, message: str, hint: str) -> InputError:
    """Return an error about a line of a query file."""
    return InputError(f"{path}:{line}: {message}", hint=hint)


def parse_header(text: str, path: Path) -> Header:
    """Parse the header of a query file.

    Raises:
        InputError: it is not valid; the message names file and line.
    """
    fields = _read_fields(text, path)
    values: dict[str, Any] = {name: entry.text for name, entry in fields.items()}
    parameters = _parse_items(fields["parameters"], path, _parse_parameter)
    columns = _parse_items(fields["columns"], path, _parse_column)
    if not columns:
        raise file_error(path, fields["columns"].line, "a query has at least one column", _HINT)
    if "revision" in fields:
        if not re.fullmatch(r"[1-9][0-9]{0,8}", values["revision"]):
            message = "the revision is not an integer of at least 1"
            hint = "write 1 in a new file, and add 1 with every change"
            raise file_error(path, fields["revision"].line, message, hint)
        values["revision"] = int(values["revision"])
    values |= {"parameters": tuple(parameters.values()), "columns": tuple(columns.values())}
    return Header(**values, lines=_line_numbers(fields))


def _read_fields(text: str, path: Path) -> dict[str, _Field]:
    fields: dict[str, _Field] = {}
    number = 0
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.startswith("//"):
            break
        if match := _FIELD.fullmatch(line):
            _check_order(match[1], fields, path, number)
            fields[match[1]] = _Field(number, match[2] or "")
        elif not fields:
            message = "the header does not begin with a title"
            raise file_error(path, number, message, "begin with '// title: ...'")
        else:
            name = next(reversed(fields))
            _add_line(name, fields[name], line, path, number)
    for name in FIELDS:
        if name not in fields and name not in OPTIONAL:
            raise file_error(path, max(number, 1), f"the header has no field '{name}'", _HINT)
        if name in fields and name not in ITEMISED and not fields[name].text:
            message = f"the field '{name}' is empty"
            hint = f"write '// {name}: ...' on one line"
            raise file_error(path, fields[name].line, message, hint)
    return fields


def _check_order(name: str, fields: dict[str, _Field], path: Path, number: int) -> None:
    if name not in FIELDS:
        hint = f"{did_you_mean(name, FIELDS)}the fields are {', '.join(FIELDS)}"
        raise file_error(path, number, f"unknown field '{name}'", hint)
    if name in fields:
        hint = f"the first is on line {fields[name].line}"
        raise file_error(path, number, f"the field '{name}' is repeated", hint)
    later = [other for other in FIELDS[FIELDS.index(name) :] if other in fields]
    if later:
        message = f"the field '{name}' comes after '{later[0]}'"
        raise file_error(path, number, message, f"the order is {', '.join(FIELDS)}")


def _add_line(name: str, last: _Field, line: str, path: Path, number: int) -> None:
    """Add a line to the field above it: a new item, or the continuation of a text."""
    if match := _CONTINUED.fullmatch(line):
        if last.items:
            item = last.items[-1]
            last.items[-1] = Line(f"{item.text} {match[1].rstrip()}", item.number)
        else:
            last.text = f"{last.text} {match[1].rstrip()}".strip()
    elif (match := _ITEM.fullmatch(line)) and name not in ITEMISED:
        message = f"the field '{name}' cannot have items"
        hint = "indent the rest of its text further, as '//     text'"
        raise file_error(path, number, message, hint)
    elif match:
        last.items.append(Line(match[1].rstrip(), number))
    else:
        message = "this line of the header is neither a field nor an item"
        raise file_error(path, number, message, _HINT)


def _parse_items(
    entry: _Field, path: Path, parse_item: Callable[[Line, Path], tuple[str, T]]
) -> dict[str, T]:
    items: dict[str, T] = {}
    if entry.text not in {"", "none"} or bool(entry.text) == bool(entry.items):
        message = "the items must follow on the next lines, or the field must be 'none'"
        raise file_error(path, entry.line, message, _HINT)
    for line in entry.items:
        name, item = parse_item(line, path)
        if name in items:
            message = f"'{name}' is declared twice"
            raise file_error(path, line.number, message, "remove one of the declarations")
        items[name] = item
    return items


def _parse_parameter(line: Line, path: Path) -> tuple[str, Parameter]:
    match = _PARAMETER.fullmatch(line.text)
    if match is None:
        message = "this is not a parameter declaration"
        hint = "write '//   name (type, default VALUE): meaning'"
        raise file_error(path, line.number, message, hint)
    name, written, default, meaning = match.groups()
    kind = _parse_type(written, line, path)
    if default is None:
        return name, Parameter(name, kind, meaning)
    try:
        return name, Parameter(name, kind, meaning, json.loads(default), required=False)
    except (ValueError, RecursionError):
        message = f"the default {default} is not JSON"
        raise file_error(path, line.number, message, 'write strings as "text"') from None
    except InputError as error:
        hint = "correct the default or the type"
        raise file_error(path, line.number, error.message, hint) from None


def _parse_column(line: Line, path: Path) -> tuple[str, Column]:
    match = _COLUMN.fullmatch(line.text)
    if match is None:
        message = "this is not a column declaration"
        hint = "write '//   name: meaning' or '//   name (type): meaning'"
        raise file_error(path, line.number, message, hint)
    name, written, meaning = match.groups()
    return name, Column(name, meaning, _parse_type(written, line, path) if written else None)


def _parse_type(written: str, line: Line, path: Path) -> Type:
    kind = Type.parse(written)
    if kind is None:
        hint = f"{did_you_mean(written, EXPECTED)}types are {', '.join(EXPECTED)}"
        raise file_error(path, line.number, f"unknown type '{written}'", hint)
    return kind


def _line_numbers(fields: dict[str, _Field]) -> dict[str, int]:
    """Return the line of each field ``columns``, and of each item ``columns.NAME``."""
    lines = {name: entry.line for name, entry in fields.items()}
    for name in ITEMISED:
        for line in fields[name].items:
            lines[f"{name}.{re.split(r'[ :]', line.text)[0]}"] = line.number
    return lines
