"""Registry of functions that independently find the counterexamples of claims that fail.

``@reimplements("TS.L5")`` registers a function that returns the first counterexample to that claim
at one size, such as ``S4``, or None. A counterexample is a mapping that describes where the claim
fails, with the values ``found`` and ``stated``. The function is written in plain Python from the
claim alone. It takes trees, schedules and distances from `oracles`, and must not import `starcast`.
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
    """Register the decorated function for one or more claims with the same counterexample."""

    def register(implementation: Function) -> Function:
        SECOND_IMPLEMENTATIONS.update(dict.fromkeys(claim_ids, implementation))
        return implementation

    return register


def unequal(
    found: Fraction | int | str, stated: Fraction | int | str, **place: int | str
) -> Place | None:
    """Return a counterexample if the found and stated values differ, else None.

    ``place`` describes where they differ, for example by the size and the node.
    """
    return None if found == stated else {**place, "found": shown(found), "stated": shown(stated)}


def size(spec: str) -> int:
    """Return n for the name of a star graph S_n."""
    return int(spec.removeprefix("S"))


def sizes(spec: str) -> tuple[int, int]:
    """Return n and k for the name of an (n,k)-star graph."""
    n, k = spec.removeprefix("S").split(",")
    return int(n), int(k)
