"""Closed forms of the papers: orders of growth, square roots, and times of pipelines."""

from collections.abc import Callable
from fractions import Fraction
from math import factorial

import pytest
from starcast_papers.common import closed_forms
from starcast_papers.common.closed_forms import arrangements, diameter, distance_sum, nk_diameter

from starcast.claims import growth
from starcast.topologies import topology

BOUNDED: dict[str, Callable[[int], growth.Number]] = {
    "a constant": lambda _: Fraction(3, 7),
    "D_n / n": lambda n: growth.divide(diameter(n), n),
    "t_n / (n n!)": lambda n: growth.divide(distance_sum(n), n * growth.factorial(n)),
    "log2 n! / (n log2 n)": lambda n: growth.divide(
        growth.log2(growth.factorial(n)), n * growth.log2(n)
    ),
    "1 / n": lambda n: growth.divide(1, n),
    "1 / log n": lambda n: growth.divide(1, growth.log2(n)),
    "n^20 / n!": lambda n: growth.divide(n**20, growth.factorial(n)),
    "1 + 8 / log n": lambda n: 1 + growth.divide(8, growth.log2(n)),
}
UNBOUNDED: dict[str, Callable[[int], growth.Number]] = {
    "log n": growth.log2,
    "sqrt(log n)": lambda n: growth.sqrt(growth.log2(n)),
    "n": lambda n: n,
    "sqrt(n)": growth.sqrt,
    "H_n": growth.harmonic,
    "n!/n^9": lambda n: growth.divide(growth.factorial(n), n**9),
    "log2 n! / n": lambda n: growth.divide(growth.log2(growth.factorial(n)), n),
}


@pytest.mark.parametrize("name", BOUNDED)
def test_bounded_quotients_are_recognized_as_bounded(name: str) -> None:
    assert growth.find_order(BOUNDED[name])[0]


@pytest.mark.parametrize("name", UNBOUNDED)
def test_growing_quotients_are_recognized_as_unbounded(name: str) -> None:
    assert not growth.find_order(UNBOUNDED[name])[0]


def test_the_order_of_growth_is_described() -> None:
    assert growth.find_order(growth.log2)[1] == "log n"
    assert growth.find_order(growth.sqrt)[1] == "n^1/2"
    assert growth.find_order(lambda n: growth.log2(n) ** 2)[1] == "(log n)^2"
    assert growth.find_order(lambda _: 5)[1] == "constant"


@pytest.mark.parametrize("n", [1, 2, 10, 59, 60])
def test_factorials_and_harmonic_numbers_of_small_n_are_exact(n: int) -> None:
    assert growth.factorial(n) == factorial(n)
    assert growth.harmonic(n) == sum(Fraction(1, i) for i in range(1, n + 1))


def test_approximations_for_huge_n_agree_with_the_exact_formulas() -> None:
    """The values are compared at n = 61, the smallest n for which approximations are used."""
    assert abs(growth.factorial(61) / factorial(61) - 1) < 1e-30
    assert abs(growth.harmonic(61) - float(sum(Fraction(1, i) for i in range(1, 62)))) < 1e-12


@pytest.mark.parametrize("n", range(2, 9))
def test_closed_forms_of_distances_and_sizes_agree_with_the_graphs(n: int) -> None:
    star = topology(f"S{n}")
    assert (diameter(n), distance_sum(n)) == (
        int(star.distances().max()),
        int(star.distances().sum()),
    )
    for k in range(1, n if n < 8 else 1):
        network = topology(f"S{n},{k}")
        assert (nk_diameter(n, k), arrangements(n, k)) == (
            int(network.distances().max()),
            network.nodes,
        )


def test_rational_numbers_are_printed_exactly_and_others_with_four_digits() -> None:
    assert growth.format_number(Fraction(23, 3)) == "23/3"
    assert growth.format_number(7) == "7"
    assert growth.format_number(growth.log2(3)) == "1.585"


def test_rational_square_roots_are_returned_as_fractions() -> None:
    assert closed_forms.rational_sqrt(Fraction(9, 4)) == Fraction(3, 2)
    assert closed_forms.rational_sqrt(Fraction(9, 2)) is None
    assert closed_forms.add_sqrt(1, Fraction(9, 4)) == Fraction(5, 2)
    assert closed_forms.floor_sqrt(Fraction(35, 4)) == 2


@pytest.mark.parametrize("digits", [1, 20, 60])
def test_a_surd_compares_correctly_with_neighbouring_fractions(digits: int) -> None:
    number = closed_forms.add_sqrt(-3, 2)
    below = Fraction(closed_forms.floor_sqrt(2 * 100**digits), 10**digits) - 3
    assert isinstance(number, closed_forms.Surd)
    assert below < number < below + Fraction(1, 10**digits)
    assert not below >= number
    assert below + 1 < number + 1
    assert str(number) == "-3 + sqrt(2)"


def test_the_best_number_of_segments_equals_that_of_an_exhaustive_search() -> None:
    for height in (1, 2, 5, 14):
        line = closed_forms.Pipeline(height, Fraction(2, 5), 3)
        for start, b in closed_forms.parameters((1, 3), (1, 2, 50), (1, 7)).each():
            times = [line.time(p, start, b) for p in range(1, 60)]
            best = line.best_whole(start, b)
            assert best == 1 + times.index(min(times))
            assert line.exact_least(start, b) <= min(times)
            assert float(line.least_whole(start, b)) == pytest.approx(float(min(times)))


def test_parameter_grids_have_all_combinations_and_sample_costs_include_zero() -> None:
    grid = closed_forms.parameters((1, 2), (0, 1), (5,))
    rows = [tuple(row) for row in zip(*grid, strict=True)]
    assert rows == [(1, 0, 5), (1, 1, 5), (2, 0, 5), (2, 1, 5)]
    assert {(1, 0), (0, 1)} <= set(closed_forms.loads(4))
