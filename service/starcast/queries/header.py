"""The header of a query file: ``//`` lines that people read and that are parsed strictly.

The fields stand in one order, each once; `docs/queries.md` shows the form.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from starcast.errors import InputError
from starcast.queries.file_errors import fault, meant
from starcast.queries.parameters import EXPECTED, Parameter, Type

#: Every field in its order; the ones with items below them, and the one that may be left out.
FIELDS = ("title", "question", "parameters", "columns", "cost", "revision", "reference")
ITEMISED = ("parameters", "columns")
OPTIONAL = ("cost",)

_FIELD = re.compile(r"// ([a-z]+):(?: +(.*\S))? *")
_ITEM = re.compile(r"// {3}(\S.*)")
_CONTINUED = re.compile(r"// {4,}(\S.*)")
_PARAMETER = re.compile(r"([A-Za-z]\w*) \(([^,()]+)(?:, default (.+))?\): (.+)", re.ASCII)
_COLUMN = re.compile(r"([A-Za-z]\w*)(?: \(([^()]+)\))?: (.+)", re.ASCII)
_HINT = "see the form of a query file in docs/queries.md"
T = TypeVar("T")


class Line(NamedTuple):
    """A text and the line of the file that it begins on."""

    text: str
    number: int


class Column(NamedTuple):
    """A column of the answer; the type says which columns hold labels of nodes, and need not be given."""

    name: str
    meaning: str
    type: Type | None = None


@dataclass(frozen=True)
class Header:
    """What stands above the Cypher, with the line of each parameter and column for later complaints."""

    title: str
    question: str
    parameters: tuple[Parameter, ...]
    columns: tuple[Column, ...]
    revision: int
    reference: str
    cost: str = ""
    lines: dict[str, int] = field(default_factory=dict, compare=False)


@dataclass
class _Field:
    line: int
    text: str
    items: list[Line] = field(default_factory=list)


def parse(text: str, path: Path) -> Header:
    """The header of a query file.

    Raises:
        InputError: it is not of the form; names file and line.
    """
    fields = _fields(text, path)
    values: dict[str, Any] = {name: found.text for name, found in fields.items()}
    parameters = _items(fields["parameters"], path, _parameter)
    columns = _items(fields["columns"], path, _column)
    if not columns:
        raise fault(path, fields["columns"].line, "a query has at least one column", _HINT)
    if not re.fullmatch(r"[1-9][0-9]*", values["revision"]):
        raise fault(
            path,
            fields["revision"].line,
            "the revision is a whole number from 1",
            "add 1 with every change",
        )
    values["revision"] = int(values["revision"])
    values |= {"parameters": tuple(parameters.values()), "columns": tuple(columns.values())}
    return Header(**values, lines=_numbered(fields))


def _fields(text: str, path: Path) -> dict[str, _Field]:
    fields: dict[str, _Field] = {}
    number = 0
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.startswith("//"):
            break
        if match := _FIELD.fullmatch(line):
            _check_place(match[1], fields, path, number)
            fields[match[1]] = _Field(number, match[2] or "")
        elif not fields:
            raise fault(
                path, number, "the header does not begin with a title", "begin with '// title: ...'"
            )
        else:
            name = next(reversed(fields))
            _take(name, fields[name], line, path, number)
    for name in FIELDS:
        if name not in fields and name not in OPTIONAL:
            raise fault(path, max(number, 1), f"the header has no field '{name}'", _HINT)
        if name in fields and name not in ITEMISED and not fields[name].text:
            raise fault(
                path,
                fields[name].line,
                f"the field '{name}' is empty",
                f"write '// {name}: ...' on one line",
            )
    return fields


def _check_place(name: str, fields: dict[str, _Field], path: Path, number: int) -> None:
    if name not in FIELDS:
        raise fault(
            path,
            number,
            f"'{name}' is no field",
            f"{meant(name, FIELDS)}the fields are {', '.join(FIELDS)}",
        )
    if name in fields:
        raise fault(
            path,
            number,
            f"the field '{name}' stands twice",
            f"the first is on line {fields[name].line}",
        )
    late = [other for other in FIELDS[FIELDS.index(name) :] if other in fields]
    if late:
        raise fault(
            path,
            number,
            f"the field '{name}' comes after '{late[0]}'",
            f"the order is {', '.join(FIELDS)}",
        )


def _take(name: str, last: _Field, line: str, path: Path, number: int) -> None:
    """Add a line to the field of that name above it: an item, or more of the text begun."""
    if match := _CONTINUED.fullmatch(line):
        if last.items:
            item = last.items[-1]
            last.items[-1] = Line(f"{item.text} {match[1].rstrip()}", item.number)
        else:
            last.text = f"{last.text} {match[1].rstrip()}".strip()
    elif (match := _ITEM.fullmatch(line)) and name not in ITEMISED:
        raise fault(
            path,
            number,
            f"the field '{name}' has no items",
            "indent more of its text further, as '//     more'",
        )
    elif match:
        last.items.append(Line(match[1].rstrip(), number))
    else:
        raise fault(
            path, number, "this line of the header is neither a field nor an item of one", _HINT
        )


def _items(
    found: _Field, path: Path, parse_item: Callable[[Line, Path], tuple[str, T]]
) -> dict[str, T]:
    items: dict[str, T] = {}
    if found.text not in {"", "none"} or bool(found.text) == bool(found.items):
        raise fault(path, found.line, "items stand on the lines below, or it says 'none'", _HINT)
    for line in found.items:
        name, item = parse_item(line, path)
        if name in items:
            raise fault(path, line.number, f"'{name}' is declared twice", "leave one of them")
        items[name] = item
    return items


def _parameter(line: Line, path: Path) -> tuple[str, Parameter]:
    match = _PARAMETER.fullmatch(line.text)
    if match is None:
        raise fault(
            path,
            line.number,
            "this is no parameter",
            "write '//   name (type, default VALUE): meaning'",
        )
    name, written, default, meaning = match.groups()
    kind = _type(written, line, path)
    if default is None:
        return name, Parameter(name, kind, meaning)
    try:
        return name, Parameter(name, kind, meaning, json.loads(default), required=False)
    except ValueError:
        raise fault(
            path, line.number, f"the default {default} is not JSON", 'write texts as "text"'
        ) from None
    except InputError as error:
        raise fault(path, line.number, error.message, "mend the default or the type") from None


def _column(line: Line, path: Path) -> tuple[str, Column]:
    match = _COLUMN.fullmatch(line.text)
    if match is None:
        raise fault(
            path,
            line.number,
            "this is no column",
            "write '//   name: meaning' or '//   name (type): meaning'",
        )
    name, written, meaning = match.groups()
    return name, Column(name, meaning, _type(written, line, path) if written else None)


def _type(written: str, line: Line, path: Path) -> Type:
    kind = Type.parse(written)
    if kind is None:
        raise fault(
            path,
            line.number,
            f"'{written}' is no type",
            f"{meant(written, EXPECTED)}types are {', '.join(EXPECTED)}",
        )
    return kind


def _numbered(fields: dict[str, _Field]) -> dict[str, int]:
    lines = {name: found.line for name, found in fields.items()}
    for name in ITEMISED:
        for line in fields[name].items:
            lines[f"{name}.{re.split(r'[ :]', line.text)[0]}"] = line.number
    return lines
