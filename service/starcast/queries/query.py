"""Parse a query file, and check that its statement is read-only.

A query file has a header of ``//`` comments, followed by a Cypher statement. The fields of the
header have a fixed order, and each occurs at most once; `docs/queries.md` shows an example.

Statements that write are refused before they are sent to the server. The server would also refuse
to write, because statements run in read transactions, and the embedded server restricts procedures
and LOAD CSV. The check here needs no server, and also protects servers whose settings do not
restrict procedures and LOAD CSV. The check searches the text for keywords, so a name that is also a
keyword needs backticks.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple

from starcast.queries.parameters import COMPUTED, Parameter, Type
from starcast.support.errors import InputError, LimitError, unreadable
from starcast.support.limited import SMALL_TEXT, read_text, refuse_size
from starcast.support.text import did_you_mean, find_surrogate

_FIELD = re.compile(r"// ([a-z]+):(?: +(.*))?")
_ITEM = re.compile(r"// {3}(\S.*)")
_CONTINUED = re.compile(r"\n// {4,}(?=\S)")
_PARAMETER = re.compile(r"([A-Za-z]\w*) \(([^,()]+)(?:, default (.+))?\): (.+)", re.ASCII)
_COLUMN = re.compile(r"([A-Za-z]\w*)(?: \(([^()]+)\))?: (.+)", re.ASCII)
_HINT = "see docs/queries.md for the format of a query file"
#: Pattern of a second statement, which is for older versions of Neo4j. The lines of this statement
#: are comments, so that Neo4j reads only one statement.
_OLDER = re.compile(r"^// before Neo4j ([0-9]+\.[0-9]+):\n((?://.*\n?)+)", re.MULTILINE)


class Column(NamedTuple):
    """A column of a query's result, as declared in the header.

    Attributes:
        name: the name of the column.
        meaning: a description of the column.
        type: the declared type of the values, or None. A type is required only for columns of
            nodes.
    """

    name: str
    meaning: str
    type: Type | None = None


@dataclass(frozen=True)
class Header:
    """The header fields of a query file, in order; fields with a default are optional."""

    title: str
    question: str
    parameters: tuple[Parameter, ...]
    columns: tuple[Column, ...]
    cost: str = ""
    revision: int = 1
    reference: str = ""


FIELDS = tuple(Header.__dataclass_fields__)


def parse_header(text: str) -> Header:
    """Parse the header of a query file.

    Raises:
        InputError: the header is invalid; the message names the field.
    """
    fields = _read_fields(text)
    for name in FIELDS:
        if name not in fields and not hasattr(Header, name):
            raise InputError(f"the header has no field '{name}'", hint=_HINT)
    values = {name: _parse_field(name, *lines) for name, lines in fields.items()}
    if not values["columns"]:
        raise InputError("the header declares no columns", hint=_HINT)
    return Header(**values)


def _read_fields(text: str) -> dict[str, list[str]]:
    """Return, by name of the header field, a list of the field's text and the field's items."""
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
        hint = f"{did_you_mean(name, FIELDS)}use one of the fields {', '.join(FIELDS)}"
        raise InputError(f"unknown header field '{name}'", hint=hint)
    if name in fields:
        raise InputError(f"the field '{name}' is repeated", hint="remove one of the fields")
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
        message = "the revision is not a positive integer"
        raise InputError(
            message,
            hint="start with 1 in a new file, and increase the revision by 1 with every change",
        )
    return int(text)


def _parse_items(name: str, text: str, lines: Sequence[str]) -> tuple[Any, ...]:
    """Return the parsed items of a field; error messages name the field."""
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


#: The fields that are lists of items, with the functions that parse an item.
_ITEM_PARSERS: dict[str, Callable[[str], Parameter | Column]] = {
    "parameters": _parse_parameter,
    "columns": _parse_column,
}


#: Parts of a statement that are not searched for keywords: comments, strings, parameters and names
#: in backticks. Possessive quantifiers prevent slow backtracking if a quote is never closed.
_LITERAL = re.compile(
    r"""//[^\r\n]*+
    |\$(?P<parameter>\w+|`[^`]*`)
    |(?P<opened>/\*(?:(?!\*/).)*+|'(?:[^'\\]|\\.?)*+|"(?:[^"\\]|\\.?)*+|`[^`]*+)
     (?P<closed>\*/|['"`])?""",
    re.DOTALL | re.VERBOSE,
)
_FIRST = ("MATCH", "OPTIONAL", "UNWIND", "WITH", "CALL", "RETURN")
_WRITES = (
    "CREATE|MERGE|INSERT|SET|DELETE|REMOVE|DETACH|NODETACH|FOREACH"
    "|DROP|ALTER|RENAME|GRANT|DENY|REVOKE"
)
#: Maximum depth of brackets. The parser of Neo4j is recursive: deeper statements exhaust the stack
#: of the parser, so that the server does not answer.
_MAX_DEPTH = 100
_BACKTICKS = "remove the clause; if the word is a name, put it in `backticks`"
#: Patterns that a statement must not match, each with the error message and the hint.
_PROBLEMS = (
    (
        rf"\A\s*+(?:CYPHER\s++(?:5|25)\s++)?+(?!(?:{'|'.join(_FIRST)})\b)",
        "a query must begin with a reading clause",
        f"begin with one of {', '.join(_FIRST)}",
    ),
    # A quote that remains after `_blank` was never closed; the text after it has not been searched.
    (r"/\*|['\"`]", "{} is not closed", "add the closing characters"),
    (r";(?=\s*\S)", "a query must be a single statement", "remove the text after ';'"),
    (rf"\b(?:{_WRITES})\b", "queries must be read-only: {} writes", _BACKTICKS),
    (
        r"\bLOAD(?=\s+CSV\b)",
        "queries must be read-only: LOAD CSV reads files of the server",
        _BACKTICKS,
    ),
    (
        r"\bCALL\b(?!\s*[({])",
        "queries must be read-only: CALL of a procedure may write",
        _BACKTICKS,
    ),
    (r"\bTRANSACTIONS?\b", "queries must be read-only: IN TRANSACTIONS commits", _BACKTICKS),
)


def check_reads_only(cypher: str, source: Path) -> None:
    """Reject Cypher that may write, read files or call procedures, or has several statements.

    Args:
        cypher: one statement, which may contain comments.
        source: the file that error messages name.

    Raises:
        InputError: the statement may write, is not a single statement, or cannot be checked; the
            message names the file and, if known, the line.
        LimitError: the statement is too long, or its brackets are nested too deeply.
    """
    if len(cypher) > SMALL_TEXT:
        refuse_size(source, SMALL_TEXT)
    if find_surrogate(cypher):
        message = f"{source}: the statement contains an unpaired surrogate"
        raise InputError(message, hint="write the statement in UTF-8")
    # Some servers replace Unicode escapes before they parse the text, so an escape could end a
    # comment or string, which is not searched here.
    if "\\u" in cypher:
        message = f"{source}: Unicode escapes are not allowed"
        raise InputError(message, hint="write the character itself")
    keywords = _LITERAL.sub(_blank, cypher)
    for pattern, message, hint in _PROBLEMS:
        if match := re.search(pattern, keywords, re.IGNORECASE):
            line = keywords.count("\n", 0, match.end()) + 1
            problem = message.format(match[0].upper())
            raise InputError(f"{source}:{line}: {problem}", hint=hint)
    depth = 0
    for bracket in re.finditer(r"[\[({]|[\])}]", keywords):
        depth += 1 if bracket[0] in "[({" else -1
        if depth > _MAX_DEPTH:
            raise LimitError(
                f"{source}: the statement has more than {_MAX_DEPTH} nested brackets",
                hint="divide it into several statements, or give nested lists as parameters",
            )


def _blank(literal: re.Match[str]) -> str:
    """Replace the characters of a comment by spaces and of any other literal by ``#``.

    Line breaks are kept, because error messages contain line numbers.
    """
    # An unclosed string, name or comment is left unchanged, so that a pattern in `_PROBLEMS`
    # matches it.
    if literal["opened"] and not literal["closed"]:
        return literal[0]
    # Comments become spaces, not `#`, because a comment may precede the first clause or follow `;`,
    # where `#` would be rejected.
    is_comment = literal[0].startswith("/")
    return re.sub(r"[^\n]", " " if is_comment else "#", literal[0])


def find_parameters(cypher: str) -> list[str]:
    """Return the parameter names of a statement in order of first use."""
    names = [match["parameter"] for match in _LITERAL.finditer(cypher)]
    return list(dict.fromkeys(name.strip("`") for name in names if name))


def check_statement(statement: str, values: Mapping[str, Any], source: Path) -> str:
    """Check a statement and its parameter values, and return the statement without a final ``;``.

    Args:
        statement: one Cypher statement without a header.
        values: the values of the statement's parameters, by name.
        source: the file that error messages name.

    Raises:
        InputError: `check_reads_only` rejects the statement, a parameter has no value, or a value
            belongs to no parameter.
        LimitError: the statement is too long, or its brackets are nested too deeply.
    """
    check_reads_only(statement, source)
    used = find_parameters(statement)
    for name in used:
        if name not in values:
            raise InputError(
                f"the parameter ${name} has no value",
                hint=f"add {name}=TEXT, or {name}:=JSON for a number, a list, true or false",
            )
    for name in values:
        if name not in used:
            raise InputError(
                f"the statement has no parameter ${name}",
                hint=f"{did_you_mean(name, used)}remove the value, or use ${name} in the statement",
            )
    return statement.rstrip().removesuffix(";")


@dataclass(frozen=True)
class Query:
    """A query: a header and a Cypher statement, checked when the object is created.

    Args:
        path: the file from which the query was read.
        text: the text of the file, which is sent to the server with its comments.

    Raises:
        InputError: the header is invalid, `check_reads_only` rejects the Cypher statement, or its
            parameters differ from those in the header; the message names the file.
        LimitError: the text is too long, or its brackets are nested too deeply.
    """

    path: Path
    text: str = field(repr=False)

    def __post_init__(self) -> None:
        check_reads_only(self.text, self.path)
        declared = [parameter.name for parameter in self.parameters]
        # The server reports an undeclared parameter only when the query runs, and never reports a
        # declared parameter that is not used.
        used = find_parameters(self.text)
        add = "add the parameter to the header"
        for name in self.computed:
            message = f"${name} needs the parameter '{{}}', which is not declared"
            self._require(COMPUTED[name][0], declared, message, add)
        known = [*declared, *self.computed]
        self._require(used, known, "the parameter ${} is not declared", add)
        unused = "the parameter '{}' is declared but not used"
        self._require(declared, used, unused, "use the parameter, or remove its declaration")
        # This access creates the query's variant for older releases of Neo4j, and so checks it.
        _ = self._older

    def for_server(self, version: str) -> "Query":
        """Return the variant of this query that runs on a version of Neo4j, such as ``5.26.30``."""
        if self._older is None or _release(version) >= self._older[0]:
            return self
        return self._older[1]

    @cached_property
    def _older(self) -> "tuple[list[int], Query] | None":
        """The first Neo4j release that can run this query, and the query for older releases.

        The value is None if the file has only one statement, which runs on all releases.
        """
        match = _OLDER.search(self.text)
        if match is None:
            return None
        header = takewhile(lambda line: line.startswith("//"), self.text.splitlines(True))
        statement = re.sub(r"^// ?", "", match[2], flags=re.MULTILINE)
        return _release(match[1]), replace(self, text="".join(header) + "\n" + statement)

    def find_column_errors(self, returned: Sequence[str]) -> Iterator[InputError]:
        """Yield an error for each difference between the returned columns and the header."""
        declared = [column.name for column in self.columns]
        if not returned:
            hint = f"end with RETURN {', '.join(declared)}"
            yield self._error("the query has no RETURN clause", hint)
            return
        missing = "the column '{}' is declared but not returned"
        yield from self._find_unknown(declared, returned, missing, "add the column to RETURN")
        surplus = "the column '{}' is returned but not declared"
        yield from self._find_unknown(returned, declared, surplus, "add the column to the header")
        if sorted(returned) == sorted(declared) and list(returned) != declared:
            message = "the columns of RETURN and of the header are in different orders"
            yield self._error(message, f"declare the columns in the order {', '.join(returned)}")

    def _require(self, *arguments: Any) -> None:
        """Raise the first error that `_find_unknown` yields for the arguments, if there is one."""
        for error in self._find_unknown(*arguments):
            raise error

    def _find_unknown(
        self, names: Iterable[str], known: Sequence[str], message: str, hint: str
    ) -> Iterator[InputError]:
        """Yield an error for each of ``names`` that is not in ``known``.

        In the message, ``{}`` is replaced by the name.
        """
        for name in names:
            if name not in known:
                yield self._error(message.format(name), hint)

    def _error(self, message: str, hint: str) -> InputError:
        return InputError(f"{self.path}: {message}", hint=hint)

    @staticmethod
    def read(path: Path) -> "Query":
        """Read a query file.

        Raises:
            InputError: the file cannot be read, or its query is invalid.
            LimitError: the text is too long, or its brackets are nested too deeply.
        """
        try:
            text = read_text(path)
        except ValueError as error:
            raise InputError(f"{path}: {error}", hint="save the file as UTF-8") from None
        except OSError as error:
            raise unreadable(path, error) from None
        return _checked(path, text)

    @cached_property
    def header(self) -> Header:
        """The parsed header of the query."""
        try:
            return parse_header(self.text)
        except InputError as error:
            raise self._error(error.message, error.hint) from None

    @property
    def pack(self) -> str:
        """The name of the query's pack, which is the name of its folder."""
        return self.path.parent.name

    @property
    def name(self) -> str:
        """The full name of the query, such as ``overlap/shared-links``."""
        return f"{self.pack}/{self.path.stem}"

    @property
    def summary(self) -> str:
        """The query's name, title and question in lower case, for searching."""
        return f"{self.name} {self.header.title} {self.header.question}".casefold()

    @property
    def cypher(self) -> str:
        """The statement with its comments, as it is sent to the server, without a final ``;``."""
        return self.text.rstrip().removesuffix(";")

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The parameters declared in the header."""
        return self.header.parameters

    @property
    def computed(self) -> list[str]:
        """The names of the statement's parameters that starcast computes (keys of `COMPUTED`)."""
        declared = {parameter.name for parameter in self.parameters}
        used = find_parameters(self.text)
        return [name for name in used if name in COMPUTED and name not in declared]

    def compute(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the given parameter values together with the values of computed parameters.

        Raises:
            InputError: a value cannot be computed from the parameter values.
        """
        computed = {}
        for name in self.computed:
            needs, make = COMPUTED[name]
            computed[name] = make(*map(values.get, needs))
        return {**values, **computed}

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns of the result, as declared in the header."""
        return self.header.columns


def _release(version: str) -> list[int]:
    """Return the first two numbers of a Neo4j version, such as [5, 26], for comparisons.

    Versions that begin with a year, such as 2025.06, are later than version 5.
    """
    return [int(number) for number in re.findall(r"[0-9]+", version)[:2]]


@lru_cache(maxsize=1_000)
def _checked(path: Path, text: str) -> Query:
    """Return a query that has passed its checks. Results are cached by path and text."""
    return Query(path, text)
