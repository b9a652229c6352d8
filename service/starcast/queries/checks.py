"""Checks of a query file: it only reads, and its header declares its parameters and columns.

The server refuses writes in a read transaction too; the errors of these checks name the line.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

from starcast.queries.header import Header, file_error
from starcast.queries.tokens import Kind, Token

_WRITING = {
    *("CREATE", "MERGE", "INSERT", "SET", "DELETE", "REMOVE", "DETACH", "NODETACH", "FOREACH"),
    *("DROP", "ALTER", "RENAME", "GRANT", "DENY", "REVOKE"),
}
_FIRST = ("MATCH", "OPTIONAL", "UNWIND", "WITH", "CALL", "RETURN")
_AFTER_RETURN = ("ORDER", "SKIP", "OFFSET", "LIMIT", "UNION")
_PAIRS = {"(": ")", "[": "]", "{": "}"}


def check_reads_only(tokens: Sequence[Token], path: Path) -> None:
    """Refuse writing clauses, procedure calls and more than one statement.

    Raises:
        InputError: names file and line.
    """
    if not tokens or not tokens[0].is_word(*_FIRST):
        line = tokens[0].line if tokens else 1
        message = "a query must begin with a reading clause"
        raise file_error(path, line, message, f"begin with one of {', '.join(_FIRST)}")
    for position, token in enumerate(tokens):
        problem = _problem(tokens, position)
        if problem:
            raise file_error(path, token.line, *problem)


def _problem(tokens: Sequence[Token], position: int) -> tuple[str, str] | None:
    """Return the message and the hint for a token that is not allowed, or None."""
    token = tokens[position]
    if token.kind is Kind.UNTERMINATED:
        return f"{token.text} is not closed", "close it"
    if "\\u" in token.text or token.is_symbol("\\"):
        return "Unicode escapes are not allowed", "write the character itself"
    if token.is_symbol(";"):
        return "a query must be a single statement", "remove the text from ';' on"
    if reason := _write(tokens, position):
        hint = "put a name that is not a clause in `backticks`"
        return f"queries must be read-only: {reason}", hint
    return None


def _write(tokens: Sequence[Token], position: int) -> str:
    """Return why a word is not allowed in a query that only reads, or an empty string."""
    token = tokens[position]
    following = tokens[position + 1 :]
    if token.kind is not Kind.WORD or _is_name(tokens, position):
        return ""
    word = token.text.upper()
    if word in _WRITING:
        return f"{word} writes"
    if word == "LOAD" and following and following[0].is_word("CSV"):
        return "LOAD CSV reads files of the server"
    if word == "CALL" and not (following and following[0].is_symbol("{", "(")):
        return "CALL of a procedure may write"
    if word in {"TRANSACTION", "TRANSACTIONS"} and _in_batches(tokens[:position]):
        return "IN TRANSACTIONS commits"
    return ""


def _is_name(tokens: Sequence[Token], position: int) -> bool:
    """Return whether a word is a property, label, type or map key, which may be any word."""
    before = tokens[position - 1] if position else None
    after = tokens[position + 1] if position + 1 < len(tokens) else None
    if before is None:
        return False
    is_key = before.is_symbol("{", ",") and after is not None and after.is_symbol(":")
    # A word after "1." is not a property: the number ends there.
    after_number = position > 1 and tokens[position - 2].kind is Kind.NUMBER
    is_property = before.is_symbol(".") and not after_number
    return is_key or is_property or _is_label(tokens, position)


def _is_label(tokens: Sequence[Token], position: int) -> bool:
    """Return whether a word is a label or type; after ``|``, as in lists, only if one precedes."""
    before = tokens[position - 1] if position else None
    if before is None:
        return False
    return before.is_symbol(":", "&", "!") or (
        before.is_symbol("|") and position > 1 and _is_label(tokens, position - 2)
    )


def _in_batches(before: Sequence[Token]) -> bool:
    """Return whether tokens contain ``} IN``; any expression may follow, as in ``IN (1+2)``."""
    return any(bracket.is_symbol("}") and word.is_word("IN") for bracket, word in pairwise(before))


def check_parameters(tokens: Sequence[Token], header: Header, path: Path) -> None:
    """Check that exactly the declared parameters are used.

    Raises:
        InputError: names file and line.
    """
    used = {token.text: token.line for token in reversed(tokens) if token.kind is Kind.PARAMETER}
    declared = [parameter.name for parameter in header.parameters]
    for name, line in used.items():
        if name not in declared:
            message = f"the parameter ${name} is not declared"
            raise file_error(path, line, message, "add it to the header's parameters")
    for name in declared:
        if name not in used:
            line = header.lines[f"parameters.{name}"]
            message = f"the parameter '{name}' is declared but not used"
            raise file_error(path, line, message, "use it or remove the declaration")


def check_columns(tokens: Sequence[Token], header: Header, path: Path) -> None:
    """Check that every branch of a query returns exactly the declared columns, in their order.

    Raises:
        InputError: names file and line.
    """
    declared = [column.name for column in header.columns]
    branches = list(_returned_columns(tokens, path))
    if not branches:
        hint = f"end with RETURN {', '.join(declared)}"
        raise file_error(path, tokens[-1].line, "the query returns nothing", hint)
    for line, returned in branches:
        missing = [name for name in declared if name not in returned]
        if missing:
            declaration = header.lines[f"columns.{missing[0]}"]
            message = f"the column '{missing[0]}' is declared but not returned"
            raise file_error(path, declaration, message, "add it to RETURN")
        extra = [name for name in returned if name not in declared]
        if extra:
            message = f"the column '{extra[0]}' is returned but not declared"
            raise file_error(path, line, message, "add it to the header's columns")
        if returned != declared:
            message = "RETURN has the columns in another order than the header"
            raise file_error(path, line, message, f"declare them as {', '.join(returned)}")


def _returned_columns(tokens: Sequence[Token], path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield the line and the columns of every RETURN outside of subqueries."""
    outer = list(_outside_brackets(tokens))
    for start, (position, token) in enumerate(outer):
        if token.is_word("RETURN") and not _is_name(tokens, position):
            items: list[list[Token]] = [[]]
            for other_position, other in outer[start + 1 :]:
                if _ends_return(tokens, other_position):
                    break
                if other.is_symbol(","):
                    items.append([])
                else:
                    items[-1].append(other)
            yield token.line, [_column_name(item, token.line, path) for item in items]


def _ends_return(tokens: Sequence[Token], position: int) -> bool:
    """Return whether a token begins the clause after the columns of RETURN."""
    return (
        tokens[position].is_word(*_AFTER_RETURN)
        and not _is_name(tokens, position)
        and not tokens[position - 1].is_word("AS")
    )


def _outside_brackets(tokens: Sequence[Token]) -> Iterator[tuple[int, Token]]:
    """Yield position and token outside of brackets and CASE; a bracket is its closing symbol."""
    depth = 0
    for position, token in enumerate(tokens):
        is_keyword = token.kind is Kind.WORD and not _is_name(tokens, position)
        opens = token.is_symbol(*_PAIRS) or (is_keyword and token.is_word("CASE"))
        ends_case = is_keyword and depth > 0 and token.is_word("END")
        if opens:
            depth += 1
        elif token.is_symbol(*_PAIRS.values()) or ends_case:
            depth -= 1
        if depth == 0:
            yield position, token


def _column_name(item: list[Token], line: int, path: Path) -> str:
    if item and item[0].is_word("DISTINCT"):
        item = item[1:]
    has_alias = len(item) > 2 and item[-2].is_word("AS")
    if item and item[-1].kind in (Kind.WORD, Kind.NAME) and (has_alias or len(item) == 1):
        return item[-1].text
    message = "a column of RETURN has no name"
    hint = "write 'expression AS name' for each column; RETURN * is not allowed"
    raise file_error(path, item[0].line if item else line, message, hint)
