"""Cypher as tokens: enough to tell a clause from a word in a string, a comment, a property or a label."""

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
    """What a token is. ``NAME`` is an identifier in backticks, which is never a keyword."""

    WORD = "word"
    NAME = "quoted"
    STRING = "string"
    NUMBER = "number"
    PARAMETER = "parameter"
    SYMBOL = "symbol"
    UNTERMINATED = "unterminated"


class Token(NamedTuple):
    """A token and the line it stands on, from 1; names and parameters without their backticks and dollar."""

    kind: Kind
    text: str
    line: int

    def is_word(self, *words: str) -> bool:
        """Whether it is one of these keywords, in whatever case."""
        return self.kind is Kind.WORD and self.text.upper() in words

    def is_symbol(self, *symbols: str) -> bool:
        """Whether it is one of these signs."""
        return self.kind is Kind.SYMBOL and self.text in symbols


def tokens(cypher: str) -> list[Token]:
    """All tokens but blanks and comments. What is opened and never closed is one `Kind.UNTERMINATED` token."""
    found = []
    line = 1
    for match in _PATTERN.finditer(cypher):
        kind, text = str(match.lastgroup), match.group()
        if kind not in {"space", "comment"}:
            found.append(Token(Kind(kind), _bare(kind, text), line))
        line += text.count("\n")
    return found


def _bare(kind: str, text: str) -> str:
    inner = text.removeprefix("$") if kind == "parameter" else text
    if kind in {"parameter", "quoted"} and inner.startswith("`"):
        return inner[1:-1].replace("``", "`")
    return inner
