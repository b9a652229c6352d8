"""Costs as exact fractions: closed forms of broadcasts, lower bounds, and simulated costs."""

from fractions import Fraction
from math import isqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import tseng_sheu
from oracles.simulator import execute_all
from starcast import costs
from starcast.judges.simulator import simulate
from starcast.topologies import topology
from support.meeting import BROADCASTS, broadcast, refused
from support.simulator_cases import plan_of

ALGORITHMS = sorted(BROADCASTS)

fractions = st.fractions(min_value=Fraction(1, 1000), max_value=10**6, max_denominator=1000)
prices = st.builds(tseng_sheu.Prices, fractions, fractions, fractions)


def machine(paid: tseng_sheu.Prices) -> costs.Machine:
    """Return a machine that has the start-up time and the time per byte of the oracle's prices."""
    return costs.Machine(t_s=paid.start_up, t_c=paid.byte)


def test_negative_times_of_a_machine_are_refused() -> None:
    for name, times in (("t_s", (-1, 1)), ("t_c", (1, -1))):
        with refused(name):
            costs.Machine(*map(Fraction, times))


@pytest.mark.parametrize("ports", ["all", "one"])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize(("n", "share"), [(2, 1), (3, 2), (4, 1), (4, 5), (5, 3)])
def test_each_simulated_step_costs_a_start_up_and_the_time_of_its_largest_packet(
    n: int, share: int, algorithm: str, ports: str
) -> None:
    """The oracle determines the largest packet of each step."""
    schedule = broadcast(n, algorithm, ports, share)
    outcome = execute_all(plan_of(schedule))
    paid, unit = tseng_sheu.Prices(Fraction(1), Fraction(7, 3), Fraction(2, 5)), Fraction(11, 13)
    simulated = costs.price_simulation(simulate(schedule), unit, machine(paid))
    assert simulated.time == sum(
        paid.start_up + size * unit * paid.byte for size in outcome.packet_sizes
    )
    assert simulated.steps == simulated.start_ups == len(outcome.packet_sizes)
    assert simulated.transmissions == outcome.transmissions


def best(n: int, algorithm: str, ports: str, paid: tseng_sheu.Prices) -> tuple[float, int]:
    """Return the best number of segments as a real number and as an integer."""
    return costs.optimal_pieces(
        topology(f"S{n}"), "broadcast", algorithm, ports, paid.m, machine(paid)
    )


@given(st.integers(3, 12), prices)
def test_the_best_number_of_segments_of_algorithm_multiple_is_equation_5_rounded(
    n: int, paid: tseng_sheu.Prices
) -> None:
    """Equation 5, p* = sqrt(2m(h-1)T_c / ((n-1)T_s)), is rounded down or up, to at least 1."""
    square = (
        2 * paid.m * paid.byte / (n - 1) * (tseng_sheu.height_of_multiple(n) - 1) / paid.start_up
    )
    floor = isqrt(square.numerator // square.denominator)
    real, integer = best(n, "multiple", "all", paid)
    assert real == pytest.approx(float(square) ** 0.5)
    assert integer in {max(1, floor), floor + 1}
    assert tseng_sheu.time_of_multiple(n, "all", integer, paid) == min(
        tseng_sheu.time_of_multiple(n, "all", p, paid) for p in {max(1, floor), floor + 1}
    )


def test_one_segment_is_best_for_broadcasts_on_s2() -> None:
    """On S2 the optimum over real numbers is 0, so the code must not divide by it.

    This is pitfall 7 in docs/definitions/tseng-sheu.md.
    """
    for algorithm in ["greedy", "multiple", "recursive-substar"]:
        for ports in ["all", "one"]:
            paid = tseng_sheu.Prices(Fraction(10**6), Fraction(1), Fraction(1))
            assert best(2, algorithm, ports, paid) == (0, 1)


def test_costs_of_integer_messages_and_times_are_exact_fractions() -> None:
    """An integer argument must not lead to floats.

    This is pitfall 6 in docs/definitions/tseng-sheu.md.
    """
    machine = costs.Machine(t_s=1, t_c=1)  # type: ignore[arg-type]
    cost = costs.closed_form(topology("S4"), "broadcast", "multiple", "all", 7, machine)  # type: ignore[arg-type]
    assert isinstance(cost.bytes, Fraction)
    assert isinstance(cost.time, Fraction)
    bound = costs.lower_bound(topology("S4"), "broadcast", "all", 7, machine)  # type: ignore[arg-type]
    assert isinstance(bound.bytes, Fraction)
