"""Exact comparison of numbers with square roots, and the best number of segments in a pipeline."""

from fractions import Fraction

import pytest

from starcast.claims.closed_forms import (
    Pipeline,
    Surd,
    add_sqrt,
    floor_sqrt,
    loads,
    parameters,
    rational_sqrt,
)


def test_rational_square_roots_are_returned_as_fractions() -> None:
    assert rational_sqrt(Fraction(9, 4)) == Fraction(3, 2)
    assert rational_sqrt(Fraction(9, 2)) is None
    assert add_sqrt(1, Fraction(9, 4)) == Fraction(5, 2)
    assert floor_sqrt(Fraction(35, 4)) == 2


@pytest.mark.parametrize("digits", [1, 20, 60])
def test_a_surd_compares_correctly_with_neighbouring_fractions(digits: int) -> None:
    number = add_sqrt(-3, 2)
    below = Fraction(floor_sqrt(2 * 100**digits), 10**digits) - 3
    assert isinstance(number, Surd)
    assert below < number < below + Fraction(1, 10**digits)
    assert not below >= number
    assert below + 1 < number + 1
    assert str(number) == "-3 + sqrt(2)"


def test_the_best_number_of_segments_equals_that_of_an_exhaustive_search() -> None:
    for height in (1, 2, 5, 14):
        line = Pipeline(height, Fraction(2, 5), 3)
        for start, b in parameters((1, 3), (1, 2, 50), (1, 7)).each():
            times = [line.time(p, start, b) for p in range(1, 60)]
            best = line.best_whole(start, b)
            assert best == 1 + times.index(min(times))
            assert line.exact_least(start, b) <= min(times)
            assert float(line.least_whole(start, b)) == pytest.approx(float(min(times)))


def test_parameters_are_all_combinations_and_loads_include_zero_costs() -> None:
    assert [tuple(row) for row in zip(*parameters((1, 2), (0, 1), (5,)), strict=True)] == [
        (1, 0, 5),
        (1, 1, 5),
        (2, 0, 5),
        (2, 1, 5),
    ]
    assert {(1, 0), (0, 1)} <= set(loads(4))
