"""Refuse statements that write, before they are sent to the server.

The server refuses writes too: statements run in read transactions, and the embedded server
restricts procedures and LOAD CSV. This second check needs no server, and protects servers whose
settings allow more. It refuses keywords anywhere in the text, so a name that is also a keyword
needs backticks.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from starcast.support.errors import InputError
from starcast.support.text import did_you_mean

#: Text that is not searched for keywords: comments, strings, parameters and names in backticks.
#: Possessive quantifiers prevent backtracking on literals that are never closed.
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
_BACKTICKS = "remove the clause; if the word is a name, put it in `backticks`"
#: A pattern for each problem, with its error message and hint.
_PROBLEMS = (
    (
        rf"\A\s*+(?!(?:{'|'.join(_FIRST)})\b)",
        "a query must begin with a reading clause",
        f"begin with one of {', '.join(_FIRST)}",
    ),
    # A quote that remains after `_blank` was never closed; the text after it has not been searched.
    (r"/\*|['\"`]", "{} is not closed", "close it"),
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
    """Refuse texts with clauses that write, with procedure calls, or with several statements.

    Args:
        cypher: a statement, with comments.
        source: the file that error messages name.

    Raises:
        InputError: the statement may write; the message names file and line.
    """
    # Some servers replace Unicode escapes before they parse comments and strings, which are not
    # searched here.
    if "\\u" in cypher:
        message = f"{source}: Unicode escapes are not allowed"
        raise InputError(message, hint="write the character itself")
    keywords = _LITERAL.sub(_blank, cypher)
    for pattern, message, hint in _PROBLEMS:
        if match := re.search(pattern, keywords, re.IGNORECASE):
            line = keywords.count("\n", 0, match.end()) + 1
            problem = message.format(match[0].upper())
            raise InputError(f"{source}:{line}: {problem}", hint=hint)


def _blank(literal: re.Match[str]) -> str:
    """Replace a comment by spaces and any other literal by ``#``, keeping line breaks."""
    # An unclosed literal stays unchanged, so that the pattern for unclosed literals matches it.
    if literal["opened"] and not literal["closed"]:
        return literal[0]
    # Comments are replaced by spaces, because they may also precede the first clause or follow `;`.
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
        values: the values of its parameters.
        source: the file that error messages name.

    Raises:
        InputError: the text writes, calls a procedure or is not a single statement; a parameter has
            no value; or a value belongs to no parameter.
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
                hint=f"{did_you_mean(name, used)}remove it, or write ${name} in the statement",
            )
    return statement.rstrip().removesuffix(";")
