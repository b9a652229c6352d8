"""Simulated costs compared with closed forms: where both agree, and where they differ."""

from collections.abc import Iterator
from fractions import Fraction
from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from starcast import costs
from starcast.topologies import as_topology
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

#: Maximum number of rows of the schedules on larger topologies.
MAX_ROWS = 60_000
#: Each algorithm with each of its port models.
EVERY = tuple((*key, ports) for key, entry in ALGORITHMS.items() for ports in entry.ports)


def all_of(collective: str, algorithm: str, ports: str) -> list[Case]:
    """Return the cases of an algorithm in a port model on all topologies of this module."""
    every = cases(*STARS, *NK_STARS, *CUBES)
    return [
        case for case in every if (*case.key, case.asked.ports) == (collective, algorithm, ports)
    ]


def differ(form: costs.Cost, real: costs.Cost) -> bool:
    """Return whether a closed form and a simulated cost differ.

    Start-ups and bytes are compared, and transmissions and steps if the closed form states them.
    """
    return not (
        form.start_ups == real.start_ups
        and form.bytes == real.bytes
        and form.transmissions in (None, real.transmissions)
        and form.steps in (None, real.steps)
    )


@pytest.mark.parametrize("which", EVERY, ids=" ".join)
def test_a_closed_form_has_a_note_exactly_if_the_simulated_cost_differs(
    which: tuple[str, str, str],
) -> None:
    result = all_of(*which)
    assert result
    for case in result:
        assert run(case).complete
        assert run(case).violation is None
    noted = {case.spec for case in result if differ(priced(case), simulated_cost(case))}
    for case in result:
        assert bool(priced(case).note) == (case.spec in noted), (case, priced(case).note)


def compared(*which: tuple[str, str, str]) -> Iterator[tuple[Case, costs.Cost, costs.Cost]]:
    """Yield the cases of the given algorithms, each with its closed-form and simulated costs."""
    for case in chain(*(all_of(*entry) for entry in which)):
        form, real = priced(case), simulated_cost(case)
        assert form.transmissions == real.transmissions
        yield case, form, real


def test_edge_disjoint_trees_have_smaller_heights_than_the_paper_assumes() -> None:
    """The paper assumes height D + 4. The height is D + 3 for even n > 2 and D + 2 for odd n."""
    for case, form, real in compared(("broadcast", "edge-disjoint", "all")):
        n = as_topology(case.spec).n
        saved, words = {2: (4, "four steps"), 4: (1, "one step")}.get(n, (2, "two steps"))
        assert form.start_ups - real.start_ups == saved
        assert form.note.startswith(words)
        assert form.bytes / form.start_ups == real.bytes / real.start_ups


def test_nk_greedy_sends_n_minus_1_times_the_bytes_that_its_paper_states() -> None:
    """The bytes in Theorems 2 and 3 of the paper on (n,k)-stars are too few by a factor of n-1."""
    algorithm = ("broadcast", "nk-greedy")
    for case, form, real in compared((*algorithm, "all"), (*algorithm, "one")):
        degree = as_topology(case.spec).degree
        slots = degree if case.asked.ports == "one" else 1
        assert form.start_ups - slots < real.start_ups <= form.start_ups
        assert degree * form.bytes / form.start_ups == real.bytes / real.start_ups
        assert (f"too few by a factor of {degree}" in form.note) == (degree > 1)


@pytest.mark.parametrize("which", EVERY, ids=" ".join)
@max_examples(10)
@given(*[st.fractions(min_value=0, max_value=10**4, max_denominator=100)] * 3)
def test_no_simulated_cost_is_below_the_lower_bound(
    which: tuple[str, str, str], m: Fraction, start_up: Fraction, byte: Fraction
) -> None:
    """Times, start-ups, bytes and steps are compared.

    Transmissions are compared for algorithms that have the argument `messages`.
    """
    machine = costs.Machine(start_up, byte)
    for case in all_of(*which):
        asked = case.asked
        messages = asked.share if case.definition.split_argument == "messages" else None
        by = (case.spec, case.collective, asked.ports, m, machine)
        bound = costs.lower_bound(*by, messages=messages, copies=asked.copies)
        real = simulated_cost(case, m, machine)
        assert real.time >= bound.time, case
        # All sends of a step start together, so start-ups and bytes are bounded separately.
        assert real.start_ups >= bound.start_ups, case
        assert real.bytes >= bound.bytes, case
        assert int(real.steps or 0) >= int(bound.steps or 0), case
        if messages is not None:
            assert int(real.transmissions or 0) >= int(bound.transmissions or 0), case


@pytest.mark.parametrize("which", EVERY, ids=" ".join)
def test_closed_forms_without_a_note_equal_simulated_costs_on_larger_topologies(
    which: tuple[str, str, str],
) -> None:
    for case in cases("S6", "S7", "S6,3", "S7,2", "Q7", shares=(1, 2)):
        network, entry = as_topology(case.spec), case.definition
        if (*case.key, case.asked.ports) != which:
            continue
        if entry.count(network, case.asked.ports, case.arguments) <= MAX_ROWS:
            form, real = priced(case), simulated_cost(case)
            assert run(case).complete
            assert run(case).violation is None
            assert form.transmissions in (None, real.transmissions)
            assert form.note or not differ(form, real)
