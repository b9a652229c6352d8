"""Registry of functions that independently find the counterexamples of claims that fail.

``@reimplements("TS.L5")`` registers a function that compares the values of that claim on S_n or
S_{n,k}. It is called with n, or with n and k, and yields a counterexample or None for each
comparison; only the first counterexample counts. A counterexample is a mapping that describes where
the claim fails, with the values ``found`` and ``stated``; `find_counterexample` adds the size. The
function is written in plain Python from the claim alone. It takes
trees, schedules and distances from `oracles`, and must not import `starcast`.
"""

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import TypeVar

from claims.values import shown

Place = Mapping[str, bool | int | str]
Value = Fraction | int | str
#: Counterexamples, or None for values that are as stated, in the order in which they are compared.
Comparisons = Iterator[Place | None]
Function = TypeVar("Function", bound=Callable[..., Comparisons])

SECOND_IMPLEMENTATIONS: dict[str, Callable[..., Comparisons]] = {}


def reimplements(*claim_ids: str) -> Callable[[Function], Function]:
    """Register the decorated function for one or more claims with the same counterexample."""

    def register(implementation: Function) -> Function:
        SECOND_IMPLEMENTATIONS.update(dict.fromkeys(claim_ids, implementation))
        return implementation

    return register


def find_counterexample(claim_id: str, spec: str) -> Place | None:
    """Return the first counterexample to a claim on a star graph or (n,k)-star, or None."""
    numbers = [int(number) for number in spec.removeprefix("S").split(",")]
    comparisons = SECOND_IMPLEMENTATIONS[claim_id](*numbers)
    place = next(filter(None, comparisons), None)
    return None if place is None else {**dict(zip("nk", numbers, strict=False)), **place}


def contradiction(found: Value, stated: Value, **place: int | str) -> Place:
    """Return a counterexample; ``place`` says where it is, for example at which node."""
    return {**place, "found": shown(found), "stated": shown(stated)}


def unequal(found: Value, stated: Value, **place: int | str) -> Place | None:
    """Return a counterexample if the found and stated values differ, else None."""
    return None if found == stated else contradiction(found, stated, **place)


def fewer(found: Fraction | int, stated: Fraction | int, **place: int | str) -> Place | None:
    """Return a counterexample if the found number is smaller than the stated one, else None."""
    return contradiction(found, stated, **place) if found < stated else None


def more(found: Fraction | int, stated: Fraction | int, **place: int | str) -> Place | None:
    """Return a counterexample if the found number is larger than the stated one, else None."""
    return contradiction(found, stated, **place) if found > stated else None
