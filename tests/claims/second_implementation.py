"""Registry of second implementations for claims that fail.

``@reimplements("TS.L5")`` registers a function that returns the first counterexample at one size,
such as ``S4``, or None. A counterexample is a place with the values ``found`` and ``stated``. The
function is written in plain Python from the claim alone. It takes trees, schedules and distances
from `oracles`, and must not import `starcast`.
"""

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import TypeVar

from claims.values import shown

Place = Mapping[str, bool | int | str]
Implementation = Callable[[str], Place | None]
Function = TypeVar("Function", bound=Implementation)

SECOND_IMPLEMENTATIONS: dict[str, Implementation] = {}


def reimplements(*claim_ids: str) -> Callable[[Function], Function]:
    """Register a second implementation of claims that share one counterexample."""

    def register(implementation: Function) -> Function:
        SECOND_IMPLEMENTATIONS.update(dict.fromkeys(claim_ids, implementation))
        return implementation

    return register


def unequal(
    found: Fraction | int | str, stated: Fraction | int | str, **place: int | str
) -> Place | None:
    """Return the place with the found and the stated value if these differ, else None."""
    return None if found == stated else {**place, "found": shown(found), "stated": shown(stated)}


def size(spec: str) -> int:
    """Return n for the spec of S_n."""
    return int(spec.removeprefix("S"))


def sizes(spec: str) -> tuple[int, int]:
    """Return n and k for the spec of S_{n,k}."""
    n, k = spec.removeprefix("S").split(",")
    return int(n), int(k)
