"""Costs as exact fractions: closed forms of broadcasts, Lemma 1's bound, and simulated costs.

A6, B2 and the pitfalls are sections of docs/definitions/tseng-sheu.md.
"""

from fractions import Fraction
from math import factorial, isqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import star_graph, tseng_sheu
from oracles.simulator import execute_all
from starcast import costs
from starcast.judges.simulator import simulate
from starcast.topologies import topology
from support.meeting import BROADCASTS, broadcast, refused
from support.simulator_cases import plan_of

ALGORITHMS = sorted(BROADCASTS)
SIZES = range(2, 13)

fractions = st.fractions(min_value=Fraction(1, 1000), max_value=10**6, max_denominator=1000)
prices = st.builds(tseng_sheu.Prices, fractions, fractions, fractions)


def machine(paid: tseng_sheu.Prices) -> costs.Machine:
    """Return the machine with start-up time T_s and time per byte T_c."""
    return costs.Machine(t_s=paid.start_up, t_c=paid.byte)


def closed(n: int, algorithm: str, ports: str, share: int, paid: tseng_sheu.Prices) -> costs.Cost:
    """Return the closed-form cost that starcast computes for a broadcast."""
    arguments = {BROADCASTS[algorithm]: share}
    return costs.closed_form(
        topology(f"S{n}"), "broadcast", algorithm, ports, paid.m, machine(paid), **arguments
    )


def page_time(n: int, algorithm: str, ports: str, share: int, paid: tseng_sheu.Prices) -> Fraction:
    """Return the time of a broadcast by section A6 or, for `recursive-substar`, by section B2."""
    m, start_up, byte = paid
    d = star_graph.diameter(n)
    if algorithm == "multiple":
        return tseng_sheu.time_of_multiple(n, ports, share, paid)
    if algorithm == "greedy":
        slots = (d + share - 1) * (1 if ports == "all" else n - 1)
    elif ports == "all":
        slots = 2 * n - 4 + share
    else:
        slots = n * (n - 1) // 2 + (share - 1) * (n - 1)
    return slots * (start_up + m / share * byte)


@pytest.mark.parametrize("ports", ["all", "one"])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
@given(st.integers(2, 12), st.integers(1, 60), prices)
def test_closed_forms_equal_those_of_the_definitions(
    algorithm: str, ports: str, n: int, share: int, paid: tseng_sheu.Prices
) -> None:
    """Section A6 defines the cost of single and multiple trees, section B2 that of streams."""
    cost = closed(n, algorithm, ports, share, paid)
    assert cost.time == page_time(n, algorithm, ports, share, paid)
    assert isinstance(cost.time, Fraction)
    assert cost.time == cost.start_ups * paid.start_up + cost.bytes * paid.byte
    assert cost.start_ups == cost.steps


def test_closed_forms_are_exact_fractions() -> None:
    """The test uses a fractional number of more than 10^30 bytes (pitfall 6)."""
    for n in SIZES:
        paid = tseng_sheu.Prices(Fraction(10**30) + Fraction(1, 3), Fraction(1, 7), Fraction(1, 11))
        for algorithm in ALGORITHMS:
            for ports in ("all", "one"):
                assert closed(n, algorithm, ports, 3, paid).time == page_time(
                    n, algorithm, ports, 3, paid
                )


def test_the_closed_form_uses_the_height_of_the_multiple_trees() -> None:
    """The height is D_n + n + g - 2 for the largest proper divisor g of n, and 1 for n = 2 (A6)."""
    for n, height in [
        (2, 1),
        (3, 5),
        (4, 8),
        (5, 10),
        (6, 14),
        (7, 15),
        (8, 20),
        (9, 22),
        (12, 32),
    ]:
        assert tseng_sheu.height_of_multiple(n) == height
        unit_machine = tseng_sheu.Prices(Fraction(1), Fraction(1), Fraction(0))
        assert closed(n, "multiple", "all", 1, unit_machine).steps == height
        assert closed(n, "multiple", "one", 1, unit_machine).steps == (n - 1) * height


@pytest.mark.parametrize("n", [2, 3])
def test_times_on_the_smallest_stars_equal_those_computed_by_hand(n: int) -> None:
    """With m = 12, T_s = 5 and T_c = 1, S2 takes one step.

    On S3 `multiple` takes five steps of 2 * 12 / 2 bytes, the other algorithms three steps.
    """
    paid = tseng_sheu.Prices(Fraction(12), Fraction(5), Fraction(1))
    by_hand = {
        2: {"greedy": 17, "recursive-substar": 17},
        3: {"greedy": 51, "multiple": 85, "recursive-substar": 51},
    }
    for algorithm, time in by_hand[n].items():
        assert closed(n, algorithm, "all", 1, paid).time == time


def test_an_invalid_number_of_segments_or_messages_is_refused() -> None:
    for algorithm in ALGORITHMS:
        for share in [0, -1, 1.5, "2"]:
            paid = tseng_sheu.Prices(Fraction(1), Fraction(1), Fraction(1))
            with refused(BROADCASTS[algorithm]):
                closed(5, algorithm, "all", share, paid)  # type: ignore[arg-type]


def test_unknown_names_and_negative_amounts_are_refused() -> None:
    t, unit_machine = topology("S5"), costs.Machine(t_s=Fraction(1), t_c=Fraction(1))
    with refused("gready"):
        costs.closed_form(t, "broadcast", "gready", "all", Fraction(1), unit_machine)
    with refused("broadcats"):
        costs.closed_form(t, "broadcats", "greedy", "all", Fraction(1), unit_machine)
    with refused("pieces"):
        costs.closed_form(t, "broadcast", "greedy", "all", Fraction(1), unit_machine, pieces=2)
    with refused("-1"):
        costs.closed_form(t, "broadcast", "greedy", "all", Fraction(-1), unit_machine)
    with refused("t_s"):
        costs.Machine(t_s=Fraction(-1), t_c=Fraction(1))
    with refused("t_c"):
        costs.Machine(t_s=Fraction(1), t_c=Fraction(-1, 2))


def test_an_unknown_port_model_is_refused() -> None:
    for ports in ["", "both", "All"]:
        t, unit_machine = topology("S5"), costs.Machine(t_s=Fraction(1), t_c=Fraction(1))
        with refused():
            costs.closed_form(t, "broadcast", "greedy", ports, Fraction(1), unit_machine)
        with refused():
            costs.lower_bound(t, "broadcast", ports, Fraction(1), unit_machine)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@given(st.integers(2, 12), st.integers(1, 50), fractions)
def test_the_units_of_a_message_add_up_to_its_bytes(
    algorithm: str, n: int, share: int, m: Fraction
) -> None:
    unit = costs.unit_bytes(
        topology(f"S{n}"), "broadcast", algorithm, m, **{BROADCASTS[algorithm]: share}
    )
    units = share * (n - 1 if algorithm == "multiple" else 1)
    assert unit * units == m


def test_the_units_of_a_schedule_together_have_the_bytes_of_the_message() -> None:
    for algorithm in ALGORITHMS:
        for ports in ["all", "one"]:
            for n in range(2, 6):
                schedule = broadcast(n, algorithm, ports, 3)
                unit = costs.unit_bytes(
                    schedule.topology,
                    "broadcast",
                    algorithm,
                    Fraction(7),
                    **dict(schedule.arguments),
                )
                assert unit * schedule.units == 7


@given(st.integers(2, 12), st.sampled_from(["all", "one"]), prices)
def test_lower_bounds_equal_those_of_lemma_1(n: int, ports: str, paid: tseng_sheu.Prices) -> None:
    bound = costs.lower_bound(topology(f"S{n}"), "broadcast", ports, paid.m, machine(paid))
    assert bound.time == tseng_sheu.lower_bound(n, ports, paid)
    assert isinstance(bound.time, Fraction)


def test_the_logarithm_of_the_number_of_nodes_is_rounded_up() -> None:
    """For T_c = 0 and T_s = 1 the one-port bound is ceil(log2 n!), exactly (pitfall 6)."""
    for n in SIZES:
        unit_machine = costs.Machine(t_s=Fraction(1), t_c=Fraction(0))
        bound = costs.lower_bound(
            topology(f"S{n}"), "broadcast", "one", Fraction(1), unit_machine
        ).time
        assert bound == max(star_graph.ceil_log2(factorial(n)), star_graph.diameter(n))
        assert (
            2 ** (star_graph.ceil_log2(factorial(n)) - 1)
            < factorial(n)
            <= 2 ** star_graph.ceil_log2(factorial(n))
        )


def test_bounds_on_other_topologies_use_their_diameter_degree_and_number_of_nodes() -> None:
    """As in Lemma 1, the reasons are distances, the root's links, and doubling informed nodes."""
    for spec in ["S2,1", "S5,2", "S6,3", "Q1", "Q6"]:
        t, t_s, t_c, m = topology(spec), Fraction(7), Fraction(1, 3), Fraction(1000)
        all_port, one_port = (
            costs.lower_bound(t, "broadcast", ports, m, costs.Machine(t_s, t_c)).time
            for ports in ("all", "one")
        )
        assert all_port == max(t.diameter * t_s, m / t.degree * t_c)
        assert one_port == max(t.diameter * t_s, star_graph.ceil_log2(t.nodes) * t_s, m * t_c)


def test_closed_forms_for_star_graphs_are_refused_on_other_topologies() -> None:
    for algorithm in ALGORITHMS:
        for spec in ["S5,2", "Q4"]:
            t, unit_machine = topology(spec), costs.Machine(t_s=Fraction(1), t_c=Fraction(1))
            with refused(algorithm, spec):
                costs.closed_form(t, "broadcast", algorithm, "all", Fraction(1), unit_machine)
            with refused(algorithm, spec):
                costs.unit_bytes(t, "broadcast", algorithm, Fraction(1))
            with refused(algorithm, spec):
                costs.optimal_pieces(t, "broadcast", algorithm, "all", Fraction(1), unit_machine)


def test_an_unknown_collective_has_no_bound() -> None:
    unit_machine = costs.Machine(t_s=Fraction(1), t_c=Fraction(1))
    with refused("reduction"):
        costs.lower_bound(topology("S5"), "reduction", "all", Fraction(1), unit_machine)


@pytest.mark.parametrize("ports", ["all", "one"])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
@given(st.integers(2, 5), st.integers(1, 6), prices)
def test_simulated_times_are_between_the_lower_bound_and_the_closed_form(
    algorithm: str, ports: str, n: int, share: int, paid: tseng_sheu.Prices
) -> None:
    schedule = broadcast(n, algorithm, ports, share)
    unit = costs.unit_bytes(
        schedule.topology, "broadcast", algorithm, paid.m, **dict(schedule.arguments)
    )
    simulated = costs.price_simulation(simulate(schedule), unit, machine(paid))
    assert simulated.time >= tseng_sheu.lower_bound(n, ports, paid)
    assert simulated.time <= closed(n, algorithm, ports, share, paid).time


@pytest.mark.parametrize("ports", ["all", "one"])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize(("n", "share"), [(2, 1), (3, 2), (4, 1), (4, 5), (5, 3)])
def test_each_simulated_step_costs_a_start_up_and_its_largest_packet(
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


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("share", [1, 2, 4])
@pytest.mark.parametrize("n", range(2, 8))
def test_closed_forms_have_the_transmissions_and_steps_of_the_simulation(
    n: int, share: int, algorithm: str
) -> None:
    """In the one-port model, the last slot of a simulation may end up to n-2 sub-slots early."""
    paid = tseng_sheu.Prices(Fraction(100), Fraction(3), Fraction(1, 3))
    for ports in ("all", "one"):
        formula, run = (
            closed(n, algorithm, ports, share, paid),
            simulate(broadcast(n, algorithm, ports, share)),
        )
        assert run.transmissions == formula.transmissions
        if ports == "all" or algorithm == "recursive-substar":
            assert run.steps == formula.steps
        else:
            assert formula.steps is not None
            assert formula.steps - (n - 1) < run.steps <= formula.steps


def test_the_closed_form_is_the_exact_time_if_trees_do_not_share_a_link() -> None:
    for n in range(2, 7):
        paid = tseng_sheu.Prices(Fraction(100), Fraction(3), Fraction(1, 3))
        for algorithm in ("greedy", "recursive-substar"):
            schedule = broadcast(n, algorithm, "all", 4)
            unit = costs.unit_bytes(
                schedule.topology, "broadcast", algorithm, paid.m, **dict(schedule.arguments)
            )
            assert (
                costs.price_simulation(simulate(schedule), unit, machine(paid)).time
                == closed(n, algorithm, "all", 4, paid).time
            )


def best(n: int, algorithm: str, ports: str, paid: tseng_sheu.Prices) -> tuple[float, int]:
    """Return the best number of segments as a real number and as an integer."""
    return costs.optimal_pieces(
        topology(f"S{n}"), "broadcast", algorithm, ports, paid.m, machine(paid)
    )


cheap = st.fractions(min_value=1, max_value=100, max_denominator=20)


@pytest.mark.parametrize("ports", ["all", "one"])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
@given(st.integers(2, 12), st.builds(tseng_sheu.Prices, cheap, cheap, cheap))
def test_the_best_integer_number_of_segments_is_found(
    algorithm: str, ports: str, n: int, paid: tseng_sheu.Prices
) -> None:
    """The time is a convex function, so the test tries numbers until the time increases."""
    result = best(n, algorithm, ports, paid)[1]
    times = [page_time(n, algorithm, ports, 1, paid)]
    while len(times) < 3 or times[-1] <= times[-2] or len(times) <= result:
        times.append(page_time(n, algorithm, ports, len(times) + 1, paid))
    assert times[result - 1] == min(times)


@given(st.integers(3, 12), prices)
def test_the_best_number_of_segments_of_multiple_is_equation_5_rounded(
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


@given(st.integers(3, 8), st.builds(tseng_sheu.Prices, cheap, cheap, cheap))
def test_rounding_the_best_number_of_segments_costs_less_than_one_start_up(
    n: int, paid: tseng_sheu.Prices
) -> None:
    """The minimum over real numbers is (sqrt((h-1) T_s) + sqrt(a))^2, a = 2m T_c / (n-1) (A6)."""
    integer = best(n, "multiple", "all", paid)[1]
    a = float(2 * paid.m * paid.byte / (n - 1))
    h, start_up = tseng_sheu.height_of_multiple(n), float(paid.start_up)
    real_time = (((h - 1) * start_up) ** 0.5 + a**0.5) ** 2
    assert float(tseng_sheu.time_of_multiple(n, "all", integer, paid)) < (real_time + start_up) * (
        1 + 1e-12
    )


def test_on_s2_one_segment_is_best() -> None:
    """On S2 the real optimum is 0, so the code must not divide by it (pitfall 7)."""
    for algorithm in ["greedy", "multiple", "recursive-substar"]:
        for ports in ["all", "one"]:
            paid = tseng_sheu.Prices(Fraction(10**6), Fraction(1), Fraction(1))
            assert best(2, algorithm, ports, paid) == (0, 1)


def test_long_messages_are_split_into_many_segments_and_short_ones_into_one() -> None:
    assert (
        best(5, "multiple", "all", tseng_sheu.Prices(Fraction(1), Fraction(10**6), Fraction(1)))[1]
        == 1
    )
    paid = tseng_sheu.Prices(Fraction(10**12), Fraction(1), Fraction(1))
    square = Fraction(2 * 10**12 * 9, 4)
    assert best(5, "multiple", "all", paid)[1] in {isqrt(int(square)), isqrt(int(square)) + 1}


def test_without_a_start_up_time_there_is_no_best_number_of_segments() -> None:
    with refused("t_s"):
        best(5, "multiple", "all", tseng_sheu.Prices(Fraction(1), Fraction(0), Fraction(1)))


def test_costs_of_integer_messages_and_times_are_exact_fractions() -> None:
    """An integer argument must not lead to floats (pitfall 6)."""
    machine = costs.Machine(t_s=1, t_c=1)  # type: ignore[arg-type]
    cost = costs.closed_form(topology("S4"), "broadcast", "multiple", "all", 7, machine)  # type: ignore[arg-type]
    assert isinstance(cost.bytes, Fraction)
    assert isinstance(cost.time, Fraction)
    bound = costs.lower_bound(topology("S4"), "broadcast", "all", 7, machine)  # type: ignore[arg-type]
    assert isinstance(bound.bytes, Fraction)
