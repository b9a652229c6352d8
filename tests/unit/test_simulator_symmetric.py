"""Symmetric schedules list the rows of one source. Results equal those of their expansions."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import simulator as oracle
from starcast.collectives import Schedule
from starcast.collectives import schedule as build
from starcast.formats import render
from starcast.judges.simulator import simulate, timing
from support.examples import max_examples
from support.meeting import refused
from support.simulator_cases import (
    Base,
    bases,
    built,
    changed,
    fault_sets,
    kept,
    mutated,
    plan_of,
    random_schedules,
    same,
)


def symmetric(*specs: str) -> list[Base]:
    """Return the algorithms whose schedule of one source represents all sources."""
    return [base for base in bases(*specs) if built(base).symmetric]


#: Q3 is omitted, since no algorithm has a symmetric schedule on it.
SMALL = symmetric("S3", "S4", "S3,1", "S4,2", "S4,3", "S5,3")


@pytest.mark.parametrize(
    "spec", ["S3", "S4,1", "S4,2", "S4,3", pytest.param("S4", marks=pytest.mark.slow)]
)
def test_a_symmetric_schedule_given_for_another_source_expands_to_the_same_rows(spec: str) -> None:
    for base in symmetric(spec):
        schedule, other = built(base), built(base, root=2)
        expansion = other.expand()
        assert sorted(plan_of(expansion).rows) == sorted(oracle.expanded(plan_of(schedule)).rows)
        assert (expansion.symmetric, expansion.root) == (False, 0)
        assert expansion.units == schedule.units * schedule.topology.nodes
        assert expansion.id == f"{schedule.id.rpartition(':')[0]}:expanded" != other.id
        assert expansion.id == schedule.expand().id


@pytest.mark.parametrize("base", [*SMALL, *symmetric("S5")], ids=" ".join)
def test_simulating_a_symmetric_schedule_gives_the_same_results_as_its_expansion(
    base: Base,
) -> None:
    """A symmetric schedule lists the rows of one source.

    The expansion has the rows of all sources.
    """
    schedule = built(base)
    run = simulate(schedule)
    assert run.complete
    same(run, simulate(schedule.expand()))


@pytest.mark.parametrize("base", [base for base in SMALL if base[0] != "S5,3"], ids=" ".join)
@max_examples(6)
@given(st.data())
def test_changed_symmetric_schedules_get_the_same_verdict_as_their_expansion(
    base: Base, data: st.DataObject
) -> None:
    schedule = data.draw(mutated(built(base)))
    if addressed(schedule):  # a schedule with invalid addresses cannot be expanded
        same(simulate(schedule), simulate(schedule.expand()))


@max_examples(80)
@given(random_schedules("S3", "S4", "Q2", "Q3", "S3,1", "S4,2", "S4,3", symmetric=True))
def test_random_symmetric_schedules_get_the_same_verdict_as_their_expansion(
    schedule: Schedule,
) -> None:
    same(simulate(schedule), simulate(schedule.expand()))


@pytest.mark.parametrize(
    ("column", "value", "problem"),
    [
        ("port", 2, "the receiver is not across that port"),
        ("port", 9, "does not exist"),
        ("sender", -1, "does not exist"),
        ("sender", 12, "does not exist"),
        ("unit", 3, "does not exist"),
        ("tree", 3, "does not exist"),
        ("receiver", 12, "the receiver is not across that port"),
    ],
)
def test_a_symmetric_schedule_with_an_invalid_row_is_not_expanded_timed_or_exported(
    column: str, value: int, problem: str
) -> None:
    """Otherwise, translating the rows to other sources would correct a wrong port unnoticed."""
    schedule = changed(built(("S4,2", "allgather", "nk-multiple", "all")), 3, **{column: value})
    assert simulate(schedule).violation is not None
    uses: list[Callable[[], object]] = [
        schedule.expand,
        lambda: schedule.translate(1),
        lambda: timing(schedule),
        lambda: list(render(schedule, "goal")),
    ]
    for use in uses:
        with refused("in step 1", problem, exit_code=6):
            use()


def test_a_symmetric_schedule_with_nodes_that_do_not_exist_is_not_expanded() -> None:
    schedule = built(("S4,2", "allgather", "nk-multiple", "all"))
    for rank in (-1, 0):
        with refused("does not exist", exit_code=6):
            changed(schedule, 3, sender=-1, receiver=rank).expand()


def test_a_symmetric_schedule_with_an_impossible_number_of_units_is_not_expanded() -> None:
    with refused("cannot have 25 units"):
        replace(built(("S4", "alltoall", "exact", "all")), units=25).expand()
    with refused("units for all 12 sources", exit_code=7):
        replace(built(("S4,2", "allgather", "nk-multiple", "all")), units=2**29).expand()


@given(st.data())
def test_under_faults_a_symmetric_schedule_gives_the_same_results_as_its_expansion(
    data: st.DataObject,
) -> None:
    schedule = data.draw(random_schedules("S3", "Q2", "S4,2", symmetric=True))
    faults = data.draw(fault_sets(schedule.topology, 7))
    symmetric_run, all_of_them = simulate(schedule, faults), simulate(schedule.expand(), faults)
    same(symmetric_run, all_of_them)
    assert symmetric_run.undelivered == all_of_them.undelivered
    assert symmetric_run.remarks == all_of_them.remarks


def test_in_a_symmetric_schedule_two_rows_of_one_step_over_the_same_port_are_a_violation() -> None:
    """Lemma 7 of Fragopoulou & Akl 1996 requires different ports.

    The rows of one source alone do not conflict.
    """
    schedule = built(("S4", "allgather", "edge-disjoint", "all"))
    late = int(np.flatnonzero(schedule.step == schedule.steps)[0])
    port = int(schedule.port[late])
    twice = kept(
        schedule,
        [
            *range(len(schedule)),
            int(np.flatnonzero((schedule.port == port) & (schedule.step < schedule.steps))[-1]),
        ],
    )
    moved = changed(twice, len(schedule), step=schedule.steps)
    run = simulate(moved)
    assert run.violation is not None
    assert f"step {schedule.steps}:" in run.violation
    assert "all sources" in run.violation
    assert simulate(replace(moved, collective="broadcast", symmetric=False)).violation is None
    packets = simulate(replace(moved, packets=True))
    assert packets.violation is None
    assert packets.largest_packet == 2


def test_undelivered_units_are_named_for_one_source_but_counted_for_all_sources() -> None:
    """The named units are those whose rows the symmetric schedule lists."""
    schedule = built(("S4", "alltoall", "exact", "all"))
    last = len(schedule) - 1
    run = simulate(kept(schedule, range(last)))
    assert run.undelivered == (
        (schedule.topology.label(int(schedule.receiver[last])), int(schedule.unit[last])),
    )
    assert run.missing == 24


def test_a_symmetric_schedule_too_large_to_expand_is_refused_only_if_it_must_be_expanded() -> None:
    """On S_8 one source suffices, but under a fault all 40 320 sources must be simulated."""
    schedule = build("S8", "alltoall", "exact")
    assert simulate(schedule).complete
    with refused("rows", exit_code=7):
        simulate(schedule, faults=[1])
    residual = build("S9,6", "allgather", "nk-greedy")
    with refused("rows", exit_code=7):
        simulate(residual)


def addressed(schedule: Schedule) -> bool:
    """Return whether all nodes and units of the rows exist, and ports lead to the receivers."""
    topology = schedule.topology
    inside = (
        (schedule.sender >= 0)
        & (schedule.sender < topology.nodes)
        & (schedule.unit >= 0)
        & (schedule.unit < schedule.units)
    )
    ports = np.isin(schedule.port, topology.ports)
    if not (inside & ports).all():
        return False
    return bool(
        (topology.step(schedule.port.astype(np.uint8), schedule.sender) == schedule.receiver).all()
    )
