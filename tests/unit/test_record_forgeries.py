"""Forged records that earlier versions of starcast accepted and the present version rejects."""

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from starcast.records import Record, shipped_record, verify, witness_value
from starcast.records.cut_bounds import quadratic_form
from starcast.support.errors import RejectedError

#: The square of this number overflows to -9223372036709301616 in 64 bits.
WRAPPED = 3_037_000_500
#: The overflowed square divided by this number is 43.5, which seems to prove 44 links.
DENOMINATOR = 9_223_372_036_709_301_616 * 2 // 87


def halves(spec: str, links: int) -> NDArray[Any]:
    """Return a bisection that cuts the given number of links: the side (0 or 1) of each node."""
    best = shipped_record("bisection-width", spec).witness["side"]
    for a, b in product(np.flatnonzero(best == 0), np.flatnonzero(best == 1)):
        side = best.copy()
        side[[a, b]] = side[[b, a]]
        if witness_value("bisection-width", spec, {}, {"side": side}) == links:
            return side
    raise AssertionError(f"no bisection of {spec} cuts {links} links")


def forged(vectors: object, multipliers: object, denominator: int = 1) -> Record:
    """Return a record that claims a bisection width of 44 links for S5. The true value is 40."""
    known = shipped_record("bisection-width", "S5")
    certificate = {
        "automorphisms": known.witness["automorphisms"],
        "vectors": np.asarray(vectors),
        "multipliers": np.asarray(multipliers),
        "denominator": np.array([denominator]),
    }
    witness = {"side": halves("S5", 44), **certificate}
    return replace(known, value=44, bound=44, witness=witness)


def vector_of(entry: int, dtype: type = np.int64) -> NDArray[Any]:
    """Return a vector for S5 whose first entry is given and whose other entries are 0."""
    vector: NDArray[Any] = np.zeros((1, 120), dtype=dtype)
    vector[0, 0] = entry
    return vector


@pytest.mark.parametrize(
    "vectors",
    [
        vector_of(WRAPPED),
        vector_of(-WRAPPED),
        vector_of(2**62),
        vector_of(-(2**63)),
        vector_of(2**64 - WRAPPED, np.uint64),
        vector_of(2**63, np.uint64),
        np.full((1, 120), 2**31),
        np.full((1, 120), 10**6 + 1),
    ],
)
def test_a_bisection_certificate_with_huge_entries_is_rejected(vectors: NDArray[Any]) -> None:
    with pytest.raises(RejectedError, match=r"too large|exceeds 1,000,000|its inequalities prove"):
        verify(forged(vectors, [1, 0], DENOMINATOR))


@pytest.mark.parametrize(
    ("multipliers", "denominator"),
    [([-1, 0], 1), ([-(2**63), 0], 1), ([1, 0], 0), ([1, 0], -1), ([2**63 - 1, -(2**63)], 1)],
)
def test_a_bisection_certificate_with_invalid_multipliers_or_denominator_is_rejected(
    multipliers: list[int], denominator: int
) -> None:
    with pytest.raises(RejectedError, match=r"negative|its inequalities prove"):
        verify(forged(vector_of(1), multipliers, denominator))


def test_coefficients_of_quadratic_forms_equal_those_computed_with_python_integers() -> None:
    generator = np.random.default_rng(29)
    orbit = generator.integers(0, 5, (40, 40))
    for largest in (1, 1000, 10**6, 75_000_000):
        vector = generator.integers(-largest, largest, 40, endpoint=True)
        exact = [0] * 5
        for u, v in product(range(40), range(40)):
            exact[orbit[u, v]] += int(vector[u]) * int(vector[v])
        assert quadratic_form(orbit, vector, 5).tolist() == exact


def test_quadratic_forms_whose_coefficients_could_overflow_are_refused() -> None:
    orbit = np.zeros((2, 2), dtype=np.int64)
    with pytest.raises(OverflowError, match="64 bits"):
        quadratic_form(orbit, np.array([WRAPPED, 0]), 1)
    with pytest.raises(OverflowError, match="64 bits"):
        quadratic_form(orbit, np.array([-(2**63), 0]), 1)


def test_a_bisection_certificate_in_a_record_of_another_problem_is_rejected() -> None:
    known = shipped_record("one-port-broadcast", "S4")
    cuts = shipped_record("bisection-width", "S4").witness
    arrays = {name: each for name, each in cuts.items() if name != "side"}
    rounds = known.witness["round"].astype(np.int64)
    witness = {**known.witness, "round": rounds + (rounds == rounds.max()), **arrays}
    record = replace(known, value=6, bound=6, witness=witness)
    with pytest.raises(RejectedError, match="cannot have an array 'automorphisms'"):
        verify(record)
