"""The best number of segments or messages is found for every algorithm that splits messages."""

from collections.abc import Callable
from fractions import Fraction
from math import isqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from starcast import costs
from starcast.costs.forms import find_optimum
from starcast.support.errors import InputError
from starcast.topologies import Topology, as_topology
from support.cost_cases import ALGORITHMS, MACHINE, UNIT_MACHINE
from support.examples import max_examples
from support.meeting import refused

CUT = [key for key, algorithm in ALGORITHMS.items() if algorithm.split_argument]

cheap = st.fractions(min_value=Fraction(1, 20), max_value=30, max_denominator=20)


def topology_for(key: tuple[str, str], d: int) -> Topology:
    """Return a topology with n = ``d`` on which an algorithm is defined.

    On star graphs and (n,k)-stars, n is at least 3.
    """
    family = (*ALGORITHMS[key].families, "star")[0]
    return as_topology(
        {"star": f"S{max(d, 3)}", "nk-star": f"S{max(d, 3)},2", "hypercube": f"Q{d}"}[family]
    )


def tried(price: Callable[[int], costs.Cost]) -> int:
    """Try 1, 2, 3, ... pieces, and return the smallest number that takes the minimum time."""
    best, pieces, steps = None, 0, Fraction(0)
    while best is None or steps * UNIT_MACHINE.t_s <= best[0]:
        pieces += 1
        try:
            cost = price(pieces)
        except InputError:  # this number is not a multiple of n-1
            continue
        steps = cost.start_ups
        if best is None or cost.time < best[0]:
            best = (cost.time, pieces)
    return best[1]


@pytest.mark.parametrize("key", CUT, ids=" by ".join)
@max_examples(15)
@given(st.integers(2, 6), cheap, st.integers(1, 6), st.booleans())
def test_the_best_number_of_message_pieces_equals_that_found_by_trying_all_numbers(
    key: tuple[str, str], d: int, m: Fraction, copies: int, one_port: bool
) -> None:
    """The test covers closed forms with rounded quotients.

    It also covers algorithms whose number of messages must be a multiple of n-1.
    """
    topology, algorithm = topology_for(key, d), ALGORITHMS[key]
    ports = algorithm.ports[-1] if one_port else algorithm.ports[0]
    has_copies = "copies" in algorithm.argument_names
    others = {"copies": min(copies, topology.degree)} if has_copies else {}

    def price(pieces: int) -> costs.Cost:
        given = {**others, str(algorithm.split_argument): pieces}
        return costs.closed_form(
            topology, algorithm.collective, algorithm.name, ports, m, UNIT_MACHINE, **given
        )

    _, integer = costs.optimal_pieces(
        topology, algorithm.collective, algorithm.name, ports, m, UNIT_MACHINE, **others
    )
    assert integer == tried(price)


@given(st.integers(3, 12), st.integers(1, 11), cheap, cheap, cheap)
def test_the_optimum_over_real_numbers_for_edge_disjoint_trees_follows_the_formula(
    n: int, copies: int, m: Fraction, start_up: Fraction, byte: Fraction
) -> None:
    """The optimum is M = sqrt((D+3)(n-1) m T_c/(x T_s)) messages for x copies and diameter D.

    For this M, the time (Mx/(n-1) + D + 3)(T_s + m/M T_c) is smallest.
    """
    topology, copies = as_topology(f"S{n}"), min(copies, n - 1)
    machine = costs.Machine(start_up, byte)
    real, _ = costs.optimal_pieces(
        topology, "broadcast", "edge-disjoint", "all", m, machine, copies=copies
    )
    square = (topology.diameter + 3) * (n - 1) * m * byte / (copies * start_up)
    assert real == pytest.approx(float(square) ** 0.5)


def test_messages_of_zero_bytes_are_not_split() -> None:
    for key in CUT:
        topology, ports = topology_for(key, 4), ALGORITHMS[key].ports[0]
        real, integer = costs.optimal_pieces(topology, *key, ports, Fraction(0), MACHINE)
        assert real == 0
        assert integer == (topology.degree if key[1] == "perfectly-balanced" else 1)


def test_the_best_number_of_pieces_is_found_for_huge_messages() -> None:
    """For 10^60 bytes, the optimum has 31 digits, too many for floats or for trying all numbers."""
    topology, m = as_topology("S5"), Fraction(10**60)
    _, integer = costs.optimal_pieces(topology, "broadcast", "greedy", "all", m, UNIT_MACHINE)
    assert abs(integer - isqrt((topology.diameter - 1) * 10**60)) <= 1


def test_an_algorithm_that_does_not_split_messages_has_no_best_number_of_pieces() -> None:
    for key in [key for key, algorithm in ALGORITHMS.items() if not algorithm.split_argument]:
        with refused(key[1]):
            costs.optimal_pieces(topology_for(key, 4), *key, "all", Fraction(1), MACHINE)


def test_without_a_start_up_time_there_is_no_best_number_of_pieces() -> None:
    free = costs.Machine(Fraction(0), Fraction(1))
    for key in CUT:
        with refused("t_s"):
            costs.optimal_pieces(
                topology_for(key, 4), *key, ALGORITHMS[key].ports[0], Fraction(1), free
            )


@given(
    st.integers(0, 30),
    st.integers(1, 9),
    st.integers(0, 40),
    st.integers(1, 400),
    st.integers(1, 7),
)
def test_the_best_number_of_pieces_is_found_for_random_pipelines(
    fixed: int, slope: int, b: int, d: int, period: int
) -> None:
    """The function `price` gives the time of a pipeline with random parameters for p pieces.

    With p pieces, a pipeline takes fixed + ceil(slope p / period) steps. Each step takes one
    start-up and sends d/p bytes. In addition, b bytes are sent, whatever p is.
    """

    def price(pieces: int) -> costs.Cost:
        steps = fixed - (-slope * pieces // period)
        time = steps * (1 + Fraction(d, pieces)) + b
        return costs.Cost(steps, Fraction(steps), time - steps, None, time, "made up")

    _, integer = find_optimum(price, UNIT_MACHINE, period, range(1, period + 1))
    assert integer == tried(price)
