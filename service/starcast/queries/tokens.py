"""A tokenizer for Cypher that tells keywords from strings, comments, properties and labels."""

import re
from enum import Enum
from typing import NamedTuple

_PATTERN = re.compile(
    r"""
    (?P<space>\s+)
  | (?P<comment>//[^\n]*|/\*.*?\*/)
  | (?P<string>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")
  | (?P<parameter>\$(?:\w+|`(?:[^`]|``)*`))
  | (?P<quoted>`(?:[^`]|``)*`)
  | (?P<number>\d\w*(?:\.\d\w*)?)
  | (?P<word>[^\W\d]\w*)
  | (?P<unterminated>/\*|['"`])
  | (?P<symbol>\.\.|.)
    """,
    re.VERBOSE | re.DOTALL,
)


class Kind(Enum):
    """The kind of a token. ``NAME`` is an identifier in backticks, which is never a keyword."""

    WORD = "word"
    NAME = "quoted"
    STRING = "string"
    NUMBER = "number"
    PARAMETER = "parameter"
    SYMBOL = "symbol"
    UNTERMINATED = "unterminated"


class Token(NamedTuple):
    """A token.

    Attributes:
        kind: its kind.
        text: its text; of names and parameters without backticks and dollar sign.
        line: the number of its line, from 1.
    """

    kind: Kind
    text: str
    line: int

    def is_word(self, *words: str) -> bool:
        """Return whether it is one of these keywords, in upper or lower case."""
        return self.kind is Kind.WORD and self.text.upper() in words

    def is_symbol(self, *symbols: str) -> bool:
        """Return whether it is one of these symbols."""
        return self.kind is Kind.SYMBOL and self.text in symbols


def tokenize(cypher: str) -> list[Token]:
    """Return all tokens without white space and comments.

    A quote or comment that is not closed gives one token of `Kind.UNTERMINATED`.
    """
    tokens = []
    line = 1
    for match in _PATTERN.finditer(cypher):
        kind = str(match.lastgroup)
        text = match.group()
        if kind not in {"space", "comment"}:
            tokens.append(Token(Kind(kind), _unquote(kind, text), line))
        line += text.count("\n")
    return tokens


def _unquote(kind: str, text: str) -> str:
    name = text.removeprefix("$") if kind == "parameter" else text
    if kind in {"parameter", "quoted"} and name.startswith("`"):
        return name[1:-1].replace("``", "`")
    return name
