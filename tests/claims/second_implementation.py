"""Registry of second implementations for claims that fail.

``@reimplements("TS.L5")`` registers a function that returns the first counterexample at one size,
such as ``S4``, or None: the place with ``found`` and ``stated``. It is written in plain Python from
the claim alone, and must not import `starcast.claims`, `starcast.costs` or `starcast.trees`;
schedules and forests are arrays that it checks against the definitions.
"""

from collections.abc import Callable, Mapping
from typing import TypeVar

Place = Mapping[str, bool | int | str]
Implementation = Callable[[str], Place | None]
Function = TypeVar("Function", bound=Implementation)

SECOND_IMPLEMENTATIONS: dict[str, Implementation] = {}


def reimplements(*claim_ids: str) -> Callable[[Function], Function]:
    """Register the second implementation of claims that fail for one reason in one place."""

    def register(implementation: Function) -> Function:
        SECOND_IMPLEMENTATIONS.update(dict.fromkeys(claim_ids, implementation))
        return implementation

    return register
