"""Costs of executed schedules compared with closed forms: where they agree and differ."""

from collections.abc import Callable
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import paper_costs
from starcast import costs
from starcast.topologies import as_topology
from starcast.trees import forest as build_forest
from support.cost_cases import (
    ALGORITHMS,
    CUBES,
    NK_STARS,
    STARS,
    Case,
    cases,
    priced,
    run,
    simulated_cost,
)
from support.examples import max_examples

#: Algorithms and port models for which simulation and closed form give the same start-ups, bytes
#: and transmissions.
EXACT = {
    ("broadcast", "greedy", "all"),
    ("broadcast", "recursive-substar", "all"),
    ("broadcast", "recursive-substar", "one"),
    ("broadcast", "binomial", "all"),
    ("broadcast", "optimal", "one"),
    ("broadcast", "substar-doubling", "one"),
    ("broadcast", "symbol-doubling", "one"),
    ("broadcast", "optimal-substars", "one"),
    ("allgather", "hamiltonian-decomposition", "all"),
    ("allgather", "dimension-change", "all"),
    ("allgather", "dimension-change", "one"),
    ("allgather", "rotated-hamiltonian", "all"),
    ("allgather", "necklace", "all"),
    ("allgather", "hamiltonian-cycle", "one"),
    ("allgather", "edge-disjoint", "all"),
    *(
        (collective, name, ports)
        for collective in ("scatter", "gather")
        for name, ports in (
            ("balanced", "all"),
            ("near-balanced", "all"),
            ("perfectly-balanced", "all"),
            ("one-port", "one"),
            ("edge-disjoint", "all"),
        )
    ),
    ("alltoall", "necklace", "all"),
    ("alltoall", "perfectly-balanced", "all"),
    ("alltoall", "exact", "all"),
    ("alltoall", "one-port", "one"),
    ("alltoall", "edge-disjoint", "all"),
    ("allgather", "ring", "all"),
    ("allgather", "ring", "one"),
    ("allgather", "binomial", "all"),
    ("allgather", "binomial", "one"),
}
_REDUCTIONS = {
    "broadcast": ["reduce", "allreduce"],
    "allgather": ["reduce-scatter", "allreduce"],
}
EXACT |= {
    (collective, name, ports)
    for forward, name, ports in EXACT
    for collective in _REDUCTIONS.get(forward, [])
} - {("allreduce", "recursive-substar", "one")}  # its nodes send as soon as they are free
EVERY = tuple((*key, ports) for key, entry in ALGORITHMS.items() for ports in entry.ports)


def all_of(collective: str, algorithm: str, ports: str) -> list[Case]:
    """Return the cases of an algorithm in a port model on all topologies of this module."""
    every = cases(*STARS, *NK_STARS, *CUBES)
    return [
        case for case in every if (*case.key, case.asked.ports) == (collective, algorithm, ports)
    ]


def differ(form: costs.Cost, real: costs.Cost) -> bool:
    """Return whether start-ups, bytes or (if the closed form has them) transmissions differ."""
    stated = form.transmissions is None or form.transmissions == real.transmissions
    return not (form.start_ups == real.start_ups and form.bytes == real.bytes and stated)


@pytest.mark.parametrize("which", EVERY, ids=" ".join)
def test_a_closed_form_has_a_note_exactly_where_the_simulation_differs(
    which: tuple[str, str, str],
) -> None:
    """The test tries every algorithm, port model and topology."""
    result = all_of(*which)
    assert result
    for case in result:
        assert run(case).complete
        assert run(case).violation is None
    different = [case for case in result if differ(priced(case), simulated_cost(case))]
    assert bool(different) == (which not in EXACT), different[:3]
    noted = {case.spec for case in different}
    for case in result:
        assert bool(priced(case).note) == (case.spec in noted), (case, priced(case).note)


def relation(
    test: Callable[[Case, costs.Cost, costs.Cost], None], *which: tuple[str, str, str]
) -> None:
    """Call a function with the closed-form and the simulated cost of every case."""
    for entry in which:
        for case in all_of(*entry):
            form, real = priced(case), simulated_cost(case)
            assert form.transmissions == real.transmissions
            test(case, form, real)


@pytest.mark.parametrize(
    "which", [("broadcast", "greedy", "one"), ("broadcast", "binomial", "one")]
)
def test_one_port_closed_forms_may_count_idle_sub_slots_at_the_end(
    which: tuple[str, str, str],
) -> None:
    """A closed form counts ``degree`` sub-slots per slot.

    An execution ends with the last busy sub-slot.
    """

    def judge(case: Case, form: costs.Cost, real: costs.Cost) -> None:
        degree = as_topology(case.spec).degree
        assert form.start_ups - degree < real.start_ups <= form.start_ups
        assert real.bytes == form.bytes / form.start_ups * int((run(case).links_used > 0).sum())

    relation(judge, which)


@pytest.mark.parametrize("n", range(2, 8))
@pytest.mark.parametrize("share", [1, 2, 5])
def test_the_one_port_closed_form_of_the_greedy_tree_is_exact_for_even_n(
    n: int, share: int
) -> None:
    case = Case(f"S{n}", "broadcast", "greedy", paper_costs.Asked("one", share))
    assert differ(priced(case), simulated_cost(case)) == (n % 2 == 1) == bool(priced(case).note)


def test_the_closed_form_of_edge_disjoint_binomial_trees_is_exact_except_on_q1() -> None:
    """The only tree of Q_1 has height 1 instead of d + 1."""

    def judge(case: Case, form: costs.Cost, real: costs.Cost) -> None:
        assert form.start_ups - real.start_ups == (case.spec == "Q1")
        assert form.bytes / form.start_ups == real.bytes / real.start_ups

    relation(judge, ("broadcast", "edge-disjoint-binomial", "all"))


def test_the_multiple_trees_take_the_steps_of_equation_3_but_less_time() -> None:
    """In a step in which trees do not share a link, packets have one segment instead of two.

    On S2 this is the case in every step.
    """

    def judge(case: Case, form: costs.Cost, real: costs.Cost) -> None:
        degree = as_topology(case.spec).degree
        assert (
            form.start_ups - (degree if case.asked.ports == "one" else 1)
            < real.start_ups
            <= form.start_ups
        )
        assert form.bytes / 2 <= real.bytes * form.start_ups / real.start_ups
        assert real.bytes < form.bytes
        if case.spec == "S2":
            assert form.bytes == 2 * real.bytes

    relation(judge, ("broadcast", "multiple", "all"), ("broadcast", "multiple", "one"))


def test_edge_disjoint_trees_are_lower_than_the_paper_assumes() -> None:
    """The paper assumes height D + 4. The height is D + 3 for even n and D + 2 for odd n."""

    def judge(case: Case, form: costs.Cost, real: costs.Cost) -> None:
        n = as_topology(case.spec).n
        assert form.start_ups - real.start_ups == (4 if n == 2 else 1 if n % 2 == 0 else 2)
        assert form.note.startswith(
            {4: "four steps", 1: "one step", 2: "two steps"}[int(form.start_ups - real.start_ups)]
        )
        assert form.bytes / form.start_ups == real.bytes / real.start_ups

    relation(judge, ("broadcast", "edge-disjoint", "all"))


def test_nk_greedy_sends_n_minus_1_times_the_bytes_of_theorems_2_and_3() -> None:
    def judge(case: Case, form: costs.Cost, real: costs.Cost) -> None:
        degree = as_topology(case.spec).degree
        assert (
            form.start_ups - (degree if case.asked.ports == "one" else 1)
            < real.start_ups
            <= form.start_ups
        )
        assert degree * form.bytes / form.start_ups == real.bytes / real.start_ups
        assert (f"{degree} times too few" in form.note) == (degree > 1)

    relation(judge, ("broadcast", "nk-greedy", "all"), ("broadcast", "nk-greedy", "one"))


def test_theorem_8_overestimates_heights_and_underestimates_packets() -> None:
    """Packets have up to as many segments as the congestion, which is 1 only for k = 1."""

    def judge(case: Case, form: costs.Cost, real: costs.Cost) -> None:
        topology = as_topology(case.spec)
        forest = build_forest(topology, "nk-multiple")
        assert form.start_ups - real.start_ups == 2 * topology.diameter - forest.height
        packets = run(case).packet_sizes
        assert packets.min() >= 1
        assert packets.max() == forest.congestion
        assert (forest.congestion == 1) == (topology.k == 1)

    relation(judge, ("broadcast", "nk-multiple", "all"))


def test_theorem_9_counts_too_many_steps() -> None:
    def judge(case: Case, form: costs.Cost, real: costs.Cost) -> None:
        topology = as_topology(case.spec)
        too_high = 2 * topology.diameter - build_forest(topology, "nk-multiple").height
        assert (
            topology.degree * too_high
            <= form.start_ups - real.start_ups
            < topology.degree * (too_high + 1)
        )

    relation(judge, ("broadcast", "nk-multiple", "one"))


def test_theorem_4_states_too_few_bytes_unless_k_is_1() -> None:
    def judge(case: Case, form: costs.Cost, real: costs.Cost) -> None:
        assert form.start_ups == real.start_ups
        assert (form.bytes == real.bytes) == (as_topology(case.spec).k == 1)
        assert form.bytes <= real.bytes

    relation(judge, ("allgather", "nk-greedy", "all"))


def test_theorem_5_states_n_times_too_many_start_ups() -> None:
    def judge(case: Case, form: costs.Cost, real: costs.Cost) -> None:
        topology = as_topology(case.spec)
        assert form.bytes == real.bytes
        assert form.start_ups == topology.n * topology.degree * topology.diameter
        assert (
            topology.degree * (topology.diameter - 1)
            < real.start_ups
            <= topology.degree * topology.diameter
        )

    relation(judge, ("allgather", "nk-greedy", "one"))


def test_theorem_10_states_too_few_or_too_many_start_ups() -> None:
    """Start-ups are wrong unless the tree height is 2D - 1. Bytes are too few unless k = 1."""
    differences = set()

    def judge(case: Case, form: costs.Cost, real: costs.Cost) -> None:
        topology = as_topology(case.spec)
        assert real.start_ups == build_forest(topology, "nk-multiple").height
        assert (form.bytes == real.bytes) == (topology.k == 1)
        assert form.bytes <= real.bytes
        differences.add(form.start_ups - real.start_ups)

    relation(judge, ("allgather", "nk-multiple", "all"))
    assert differences == {-1, 0, 1}


def test_the_byte_count_of_theorem_11_is_only_a_lower_bound() -> None:
    """The count is exact only for k = 1 and k = n-1."""

    def judge(case: Case, form: costs.Cost, real: costs.Cost) -> None:
        topology = as_topology(case.spec)
        assert form.bytes <= real.bytes
        assert (form.bytes == real.bytes) == (topology.k in (1, topology.n - 1))
        slots = topology.degree * build_forest(topology, "nk-multiple").height
        assert slots - topology.degree < real.start_ups <= slots

    relation(judge, ("allgather", "nk-multiple", "one"))


@pytest.mark.parametrize("which", EVERY, ids=" ".join)
@max_examples(10)
@given(*[st.fractions(min_value=0, max_value=10**4, max_denominator=100)] * 3)
def test_no_execution_is_below_the_lower_bound(
    which: tuple[str, str, str], m: Fraction, start_up: Fraction, byte: Fraction
) -> None:
    """For unit messages, steps and transmissions are compared as well as the time."""
    machine = costs.Machine(start_up, byte)
    for case in all_of(*which):
        topology, asked = as_topology(case.spec), case.asked
        messages = asked.share if case.definition.split_argument == "messages" else None
        bound = costs.lower_bound(
            topology,
            case.collective,
            asked.ports,
            m,
            machine,
            messages=messages,
            copies=asked.copies,
        )
        real = simulated_cost(case, m, machine)
        assert real.time >= bound.time, case
        # All sends of a step start together, so start-ups and bytes each have a lower bound.
        assert real.start_ups >= bound.start_ups, case
        assert real.bytes >= bound.bytes, case
        assert int(real.steps or 0) >= int(bound.steps or 0), case
        if messages is not None:
            assert int(real.transmissions or 0) >= int(bound.transmissions or 0), case
