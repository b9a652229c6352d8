"""Second implementations for statements that fail: from the statement alone, in plain Python, without the ledger's checks.

``@again("TS.L5")`` declares a function of one size, such as ``S4``, that gives the first counterexample there, or None: the
place with ``found`` and ``stated``, as the statement asks for it. Nothing here may import `starcast.claims`, `starcast.costs`
or `starcast.trees`; schedules and forests come as arrays that are judged by the definitions.
"""

from collections.abc import Callable, Mapping
from typing import TypeVar

Place = Mapping[str, bool | int | str]
Second = Callable[[str], Place | None]
Declared = TypeVar("Declared", bound=Second)

AGAIN: dict[str, Second] = {}


def again(*names: str) -> Callable[[Declared], Declared]:
    """Declare the second implementation of one statement, or of several that fail for the same reason in the same place."""

    def declare(second: Declared) -> Declared:
        AGAIN.update(dict.fromkeys(names, second))
        return second

    return declare
