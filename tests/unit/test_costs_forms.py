"""Closed forms of costs, compared with the papers' definitions, trees and schedules."""

from fractions import Fraction
from functools import cache
from itertools import product
from math import factorial

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from oracles import paper_costs, rotation, star_graph
from oracles.paper_costs import Asked
from starcast import costs
from starcast.collectives import algorithms
from starcast.costs import fragopoulou_akl, model, pipelines
from starcast.support.integers import ceil_div
from starcast.topologies import as_topology
from starcast.topologies.necklaces import necklace_count
from starcast.trees import forest
from starcast.trees.construction import single_trees
from support.cost_cases import ALGORITHMS, SMALL, UNIT_MACHINE, Case, built, cases, priced, unit
from support.examples import max_examples
from support.meeting import refused

LARGE = ("S6", "S7", "S9", "S12", "S6,2", "S6,3", "S6,5", "Q7", "Q12")

amounts = st.fractions(min_value=0, max_value=10**6, max_denominator=1000)


def test_every_algorithm_except_forest_and_greedy_matching_has_a_closed_form() -> None:
    assert costs.FORMS.keys() == ALGORITHMS.keys()
    others = {entry.name for entry in algorithms()} - {name for _, name in costs.FORMS}
    assert others == {"forest", "greedy-matching"}
    own = {
        *product(
            ("broadcast", "reduce", "allreduce"),
            ("optimal", "substar-doubling", "symbol-doubling", "optimal-substars"),
        ),
        *product(("allgather", "reduce-scatter", "allreduce"), ("hamiltonian-decomposition",)),
    }
    assert costs.FORMS.keys() == paper_costs.PAGE.keys() | own


@cache
def grouped(*specs: str, shares: tuple[int, ...]) -> dict[tuple[str, str], list[Case]]:
    """Return the cases on these topologies, grouped by algorithm."""
    result: dict[tuple[str, str], list[Case]] = {key: [] for key in ALGORITHMS}
    for case in cases(*specs, shares=shares):
        result[case.key].append(case)
    return result


@pytest.mark.whole
@pytest.mark.parametrize("key", paper_costs.PAGE, ids=" by ".join)
@max_examples(2)
@given(amounts, amounts, amounts)
@example(Fraction(10**30) + Fraction(1, 3), Fraction(1, 7), Fraction(1, 11))
def test_closed_forms_equal_the_definitions_on_small_and_large_topologies(
    key: tuple[str, str], m: Fraction, start_up: Fraction, byte: Fraction
) -> None:
    """The test uses 1 and 7 messages.

    For M = 7 messages, the correct formula ceil(M (N-1)/(n-1)) and the misreading
    M ceil((N-1)/(n-1)) give different results (pitfall 16, fragopoulou-akl.md).
    """
    # The oracle counts necklaces node by node, which is too slow on large topologies.
    sizes = SMALL if key in paper_costs.BY_NODES else (*SMALL, *LARGE)
    for case in grouped(*sizes, shares=(1, 7))[key]:
        cost = priced(case, m, costs.Machine(start_up, byte))
        page = paper_costs.PAGE[key](paper_costs.size(case.spec), case.asked)
        assert cost.start_ups == page.start_ups
        assert cost.bytes == page.share * m
        # Some definitions do not state transmissions.
        assert page.transmissions in (None, cost.transmissions)
        assert cost.time == page.start_ups * start_up + page.share * m * byte
        assert isinstance(cost.time, Fraction)
        assert isinstance(cost.bytes, Fraction)


@pytest.mark.parametrize("key", ALGORITHMS, ids=" by ".join)
def test_a_schedule_has_the_number_of_units_that_its_cost_formula_assumes(
    key: tuple[str, str],
) -> None:
    """For scatter, gather and alltoall, a cost formula states the number of units for each node."""
    for case in grouped("S2", "S4", "S3,1", "S4,2", "S4,3", "Q1", "Q3", shares=(1, 3))[key]:
        topology = as_topology(case.spec)
        schedule, units = built(case), 1 / unit(case, Fraction(1))
        addressed = case.collective in ("scatter", "gather", "alltoall")
        if case.collective == "allreduce":
            assert units == schedule.message_units, case
            continue
        many = case.collective in ("allgather", "reduce-scatter") and not schedule.symmetric
        sources = topology.nodes if many else 1
        assert schedule.units == units * (topology.nodes if addressed else 1) * sources, case


def test_the_formulas_for_necklace_counts_and_distance_sums_agree_with_enumeration() -> None:
    for n in range(2, 7):
        page = rotation.necklaces(n)
        assert necklace_count(n) == len(page)
        assert fragopoulou_akl.necklace_distance_sum(n, paper_costs.star(n).t) == sum(
            rotation.necklace_distances(n)
        )
        assert sum(map(len, page)) == factorial(n) - 1


@pytest.mark.parametrize("n", range(2, 9))
def test_the_formulas_for_tree_heights_agree_with_the_built_trees(n: int) -> None:
    topology = as_topology(f"S{n}")
    for name in single_trees(topology):
        assert pipelines.tree_height(topology, name) == forest(topology, name).height, name


@pytest.mark.parametrize("n", range(2, 7))
def test_the_closed_form_of_dimension_change_uses_the_height_of_its_base(n: int) -> None:
    """Theorem 3 of Tseng & Sheu 1997 states D_n start-ups.

    With a base of height h_T, there are h_T start-ups in the all-port model, and n-1 times as many
    in the one-port model. The number of bytes does not depend on the base.
    """
    topology, by = as_topology(f"S{n}"), ("allgather", "dimension-change")
    for name in single_trees(topology):
        for ports, slots in (("all", 1), ("one", n - 1)):
            cost = costs.closed_form(topology, *by, ports, Fraction(6), UNIT_MACHINE, base=name)
            assert cost.start_ups == slots * forest(topology, name).height
            assert cost.bytes == Fraction(6 * slots * (topology.nodes - 1), n - 1)


def test_logarithms_and_quotients_are_rounded_up_exactly() -> None:
    for value in [1, 2, 3, 4, 5, 119, 120, 127, 128, 129, factorial(20), 2**100, 2**100 + 1]:
        assert model.ceil_log2(value) == star_graph.ceil_log2(value)
        assert ceil_div(value, 7) == next(
            q for q in range(value // 7, value // 7 + 2) if 7 * q >= value
        )


@pytest.mark.parametrize("key", ALGORITHMS, ids=" by ".join)
def test_messages_of_negative_length_and_unknown_arguments_are_refused(
    key: tuple[str, str],
) -> None:
    topology = next(
        as_topology(spec)
        for spec in ("S4", "S4,2", "Q3")
        if ALGORITHMS[key].supports(as_topology(spec))
    )
    ports = ALGORITHMS[key].ports[0]
    with refused("-1"):
        costs.closed_form(topology, *key, ports, Fraction(-1), UNIT_MACHINE)
    with refused("pieces"):
        costs.closed_form(topology, *key, ports, Fraction(1), UNIT_MACHINE, pieces=2)
    with refused("pieces"):
        costs.unit_bytes(topology, *key, Fraction(1), pieces=2)


def test_the_source_of_a_closed_form_is_the_paper_that_states_it() -> None:
    """If no paper covers the numbers of copies or messages, the source is starcast."""

    def source(collective: str, algorithm: str, **arguments: int) -> str:
        return priced(Case("S5", collective, algorithm, Asked("all", **arguments))).source

    assert source("alltoall", "exact").startswith("starcast")
    assert source("alltoall", "necklace").startswith("starcast")
    assert source("scatter", "near-balanced").startswith("starcast")
    assert source("scatter", "balanced").startswith("Fragopoulou & Akl 1993")
    assert source("scatter", "balanced", share=2).startswith("starcast")
    assert source("allgather", "necklace").startswith("Fragopoulou & Akl 1993")
    assert source("allgather", "necklace", share=2).startswith("starcast")
    assert source("allgather", "edge-disjoint", copies=4).startswith("Fragopoulou & Akl 1996")
    assert source("allgather", "edge-disjoint", copies=2).startswith("starcast")
    assert source("broadcast", "edge-disjoint", copies=2).startswith("Fragopoulou & Akl 1996")


@pytest.mark.parametrize(
    ("spec", "algorithm"),
    [("S4", "optimal"), ("S4", "recursive-substar"), ("S4,2", "substar-doubling")],
)
@pytest.mark.whole
def test_the_closed_form_of_a_one_port_allreduce_has_twice_the_steps_of_its_broadcast(
    spec: str, algorithm: str
) -> None:
    """An allreduce performs a reduce and then a broadcast, which take equally many steps."""
    whole, half = (
        costs.closed_form(spec, collective, algorithm, "one", Fraction(8), UNIT_MACHINE)
        for collective in ("allreduce", "broadcast")
    )
    assert half.steps is not None
    assert half.transmissions is not None
    assert (whole.steps, whole.transmissions) == (2 * half.steps, 2 * half.transmissions)
