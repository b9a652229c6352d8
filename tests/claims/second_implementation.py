"""Registry of functions that independently find the counterexamples of claims that fail.

``@reimplements("TS.L5")`` registers a function that checks the claim TS.L5 on S_n or S_{n,k}. The
function is called with n, or with n and k. For each comparison, it yields a counterexample or None;
only the first counterexample is used. A counterexample is a mapping that describes where the claim
fails, with the values ``found`` and ``stated``; `find_counterexample` adds the size.

The function is written in plain Python from the claim alone. It takes trees, schedules and
distances from `oracles`, and must not import `starcast`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from fractions import Fraction
from math import isqrt, log2
from typing import TypeVar

from oracles.schedule_rows import Row, deliver_all, for_all
from oracles.star_graph import nodes

Place = Mapping[str, bool | int | str]
Value = Fraction | int | str
#: For each comparison in order: a counterexample, or None if the claim holds there.
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
    """Return a counterexample; ``place`` states where the claim fails, such as the node."""
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


# Numbers in counterexamples: formats, comparison with square roots, and orders of growth


def shown(value: Fraction | int | str) -> int | str:
    """Return a value as it appears in a counterexample: non-integer fractions become text."""
    if isinstance(value, Fraction):
        return int(value) if value.denominator == 1 else str(value)
    return value


def surd(rational: Fraction, square: Fraction) -> int | str:
    """Return rational + sqrt(square) as it appears in a counterexample: an integer or text."""
    root = Fraction(isqrt(square.numerator), isqrt(square.denominator))
    if root**2 == square:
        return shown(rational + root)
    return f"{rational} + sqrt({square})" if rational else f"sqrt({square})"


def exceeds(value: Fraction, rational: Fraction, square: Fraction) -> bool:
    """Return whether a value is greater than rational + sqrt(square)."""
    return value > rational and (value - rational) ** 2 > square


def unbounded(quotient: Callable[[float], float]) -> Place | None:
    """Return a counterexample that states the growth of a quotient, or None if it is bounded.

    The quotient, a function of n, is of order n^a (log n)^b, where 2a and 2b are integers. Two
    differences of its binary logarithm determine a and b: it grows by 64 a + b from log2 n = 64 to
    128, and by 128 a + b from 128 to 256.
    """
    small, middle, large = (log2(quotient(2.0**x)) for x in (64, 128, 256))
    a = Fraction(round(2 * ((large - middle) - (middle - small)) / 64), 2)
    b = Fraction(round(2 * (middle - small - 64 * float(a))), 2)
    if a < 0 or (a == 0 and b <= 0):
        return None
    log_n = "log n" if b == 1 else f"(log n)^{b}"
    of_n = "n" if a == 1 else f"n^{a}"
    return contradiction(f"growing like {of_n if a else log_n}", "bounded")


def execute_allgather(rows: Iterable[Row], n: int) -> list[int]:
    """Execute an allgather on S_n, and return the size of the largest packet of each step.

    The given rows are those of source 12..n.
    """
    held = {node: {(node, 0)} for node in nodes(n)}
    packets = deliver_all(for_all(rows, nodes(n)), held, nodes(n))
    assert list(packets) == list(range(1, len(packets) + 1))
    return list(packets.values())
