"""Closed sets of words that are both options of the command line and arguments in Python.

They are defined outside of the packages that use them, because importing those packages is slow
and ``starcast --help`` must be fast.
"""

from enum import StrEnum
from typing import Literal, get_args


class LoadMethod(StrEnum):
    """Method of loading rows into Neo4j: over Bolt, by offline import, or the faster possible."""

    AUTO = "auto"
    BOLT = "bolt"
    IMPORT = "import"


class Layout(StrEnum):
    """Arrangement of the nodes of a picture: by distance from a source, or on a circle."""

    LEVELS = "levels"
    RING = "ring"


#: Sizes on which a claim is verified; each level includes the sizes of the levels before it.
Level = Literal["quick", "full", "deep"]
LEVELS: tuple[Level, ...] = get_args(Level)

#: The possible verdicts on a claim.
VerdictWord = Literal["holds", "holds as a bound", "fails", "not checkable"]
VERDICT_WORDS: tuple[VerdictWord, ...] = get_args(VerdictWord)
