"""What a query must be before anybody can run it: it reads only, and says truly what goes in and what comes out.

The server refuses writes in a read transaction as well; here the refusal names a line.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from starcast.queries.file_errors import fault
from starcast.queries.header import Header
from starcast.queries.tokens import Kind, Token

_WRITING = {
    *("CREATE", "MERGE", "INSERT", "SET", "DELETE", "REMOVE", "DETACH", "NODETACH", "FOREACH"),
    *("DROP", "ALTER", "RENAME", "GRANT", "DENY", "REVOKE"),
}
_FIRST = ("MATCH", "OPTIONAL", "UNWIND", "WITH", "CALL", "RETURN")
_AFTER_RETURN = ("ORDER", "SKIP", "OFFSET", "LIMIT", "UNION")
_PAIRS = {"(": ")", "[": "]", "{": "}"}


def check_reads_only(tokens: Sequence[Token], path: Path) -> None:
    """Refuse what writes, what calls procedures and what is more than one statement.

    Raises:
        InputError: names file and line.
    """
    if not tokens or not tokens[0].is_word(*_FIRST):
        line = tokens[0].line if tokens else 1
        raise fault(
            path,
            line,
            "a query begins with a clause that reads",
            f"begin with one of {', '.join(_FIRST)}",
        )
    for place, token in enumerate(tokens):
        if token.kind is Kind.UNTERMINATED:
            raise fault(path, token.line, f"what {token.text} opens is never closed", "close it")
        if "\\u" in token.text or token.is_symbol("\\"):
            raise fault(
                path, token.line, "Unicode escapes are not read here", "write the character itself"
            )
        if token.is_symbol(";"):
            raise fault(
                path, token.line, "a query is one statement", "leave out what begins with ';'"
            )
        refused = _refused(tokens, place)
        if refused:
            raise fault(
                path,
                token.line,
                f"{refused}, and a query only reads",
                "put a name that is no clause in `backticks`",
            )


def _refused(tokens: Sequence[Token], place: int) -> str:
    """What is wrong with the word at this place, or nothing."""
    token, following = tokens[place], tokens[place + 1 :]
    if token.kind is not Kind.WORD or _is_name(tokens, place):
        return ""
    word = token.text.upper()
    if word in _WRITING:
        return f"{word} writes"
    if word == "LOAD" and following and following[0].is_word("CSV"):
        return "LOAD CSV reads files of the server"
    if word == "CALL" and not (following and following[0].is_symbol("{", "(")):
        return "CALL of a procedure may write"
    if word in {"TRANSACTION", "TRANSACTIONS"} and _in_batches(tokens[:place]):
        return "IN TRANSACTIONS commits"
    return ""


def _is_name(tokens: Sequence[Token], place: int) -> bool:
    """Whether the word is a property, a label, a type or the key of a map: there every word may stand."""
    before = tokens[place - 1] if place else None
    after = tokens[place + 1] if place + 1 < len(tokens) else None
    if before is None:
        return False
    key = before.is_symbol("{", ",") and after is not None and after.is_symbol(":")
    # What follows "1." is no property: the number ends there.
    of_number = place > 1 and tokens[place - 2].kind is Kind.NUMBER
    return key or _is_label(tokens, place) or (before.is_symbol(".") and not of_number)


def _is_label(tokens: Sequence[Token], place: int) -> bool:
    """Whether the word is a label or a type; behind a ``|`` only if one stands before it, for lists have that sign too."""
    before = tokens[place - 1] if place else None
    if before is None:
        return False
    return before.is_symbol(":", "&", "!") or (
        before.is_symbol("|") and place > 1 and _is_label(tokens, place - 2)
    )


def _in_batches(before: Sequence[Token]) -> bool:
    """Whether ``} IN [number] [CONCURRENT]`` stands before."""
    return any(token.is_word("IN") for token in before[-3:])


def check_parameters(tokens: Sequence[Token], header: Header, path: Path) -> None:
    """Every parameter that is declared is used, and the other way round.

    Raises:
        InputError: names file and line.
    """
    used = {token.text: token.line for token in reversed(tokens) if token.kind is Kind.PARAMETER}
    declared = [parameter.name for parameter in header.parameters]
    for name, line in used.items():
        if name not in declared:
            raise fault(
                path,
                line,
                f"the parameter ${name} is not declared",
                "add it to the header's parameters",
            )
    for name in declared:
        if name not in used:
            line = header.lines[f"parameters.{name}"]
            raise fault(
                path,
                line,
                f"the parameter '{name}' is declared and not used",
                "use it or leave it out",
            )


def check_columns(tokens: Sequence[Token], header: Header, path: Path) -> None:
    """Every column that is declared is returned, in that order, and nothing else; in every branch of a UNION.

    Raises:
        InputError: names file and line.
    """
    declared = [column.name for column in header.columns]
    answers = list(_returns(tokens, path))
    if not answers:
        raise fault(
            path,
            tokens[-1].line,
            "the query returns nothing",
            f"end with RETURN {', '.join(declared)}",
        )
    for line, returned in answers:
        missing = [name for name in declared if name not in returned]
        extra = [name for name in returned if name not in declared]
        if missing:
            topology = header.lines[f"columns.{missing[0]}"]
            raise fault(
                path,
                topology,
                f"the column '{missing[0]}' is declared and not returned",
                "add it to RETURN",
            )
        if extra:
            raise fault(
                path,
                line,
                f"the column '{extra[0]}' is returned and not declared",
                "add it to the header's columns",
            )
        if returned != declared:
            order = ", ".join(returned)
            raise fault(
                path,
                line,
                "RETURN has another order than the header's columns",
                f"declare them as {order}",
            )


def _returns(tokens: Sequence[Token], path: Path) -> Iterator[tuple[int, list[str]]]:
    """The line and the columns of every RETURN that is not inside a subquery."""
    flat = list(_outermost(tokens))
    for start, (place, token) in enumerate(flat):
        if token.is_word("RETURN") and not _is_name(tokens, place):
            items: list[list[Token]] = [[]]
            for at, other in flat[start + 1 :]:
                if (
                    other.is_word(*_AFTER_RETURN)
                    and not _is_name(tokens, at)
                    and not tokens[at - 1].is_word("AS")
                ):
                    break
                if other.is_symbol(","):
                    items.append([])
                else:
                    items[-1].append(other)
            yield token.line, [_column(item, token.line, path) for item in items]


def _outermost(tokens: Sequence[Token]) -> Iterator[tuple[int, Token]]:
    """The tokens outside all brackets and CASE expressions, with their places; a bracket stays as its closing sign."""
    depth = 0
    for place, token in enumerate(tokens):
        keyword = token.kind is Kind.WORD and not _is_name(tokens, place)
        if token.is_symbol(*_PAIRS) or (keyword and token.is_word("CASE")):
            depth += 1
        elif token.is_symbol(*_PAIRS.values()) or (keyword and depth and token.is_word("END")):
            depth -= 1
        if depth == 0:
            yield place, token


def _column(item: list[Token], line: int, path: Path) -> str:
    if item and item[0].is_word("DISTINCT"):
        item = item[1:]
    named = (Kind.WORD, Kind.NAME)
    alias = len(item) > 2 and item[-2].is_word("AS")
    if item and item[-1].kind in named and (alias or len(item) == 1):
        return item[-1].text
    at = item[0].line if item else line
    raise fault(
        path,
        at,
        "a column of RETURN has no name",
        "write 'expression AS name' for each; not RETURN *",
    )
