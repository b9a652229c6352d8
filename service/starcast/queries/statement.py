"""Free statements: Cypher without a header, checked like the queries of a pack."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from starcast.errors import InputError
from starcast.queries.checks import check_reads_only
from starcast.queries.tokens import Kind, tokenize
from starcast.support.text import did_you_mean


def check_statement(statement: str, values: Mapping[str, Any], source: Path) -> str:
    """Check a statement and the values of its parameters, and return it without a final ``;``.

    Args:
        statement: one Cypher statement.
        values: the values of its parameters.
        source: the file that error messages name.

    Raises:
        InputError: it writes, calls a procedure or is not one statement; or a parameter has no
            value, or a value no parameter.
    """
    tokens = tokenize(statement)
    if tokens and tokens[-1].is_symbol(";"):
        tokens.pop()
    check_reads_only(tokens, source)
    used = dict.fromkeys(token.text for token in tokens if token.kind is Kind.PARAMETER)
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
