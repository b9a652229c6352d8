"""The simulator on all collectives, compared with the oracle, a second simulator."""

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from starcast.collectives import Schedule
from starcast.collectives import schedule as build
from starcast.collectives.model import COLLECTIVES, MULTI_SOURCE, REDUCTIONS
from starcast.judges.simulator import Fault, rows, simulate, simulation
from starcast.judges.simulator.ownership import (
    AllPairs,
    ArrivalTimes,
    Journeys,
    Pairs,
    Postcondition,
    derive_postcondition,
)
from starcast.judges.simulator.rows import Rows
from starcast.topologies import topology
from support.examples import max_examples
from support.meeting import refused
from support.simulator_cases import (
    MUTATIONS,
    Base,
    assert_same_verdict,
    bases,
    built,
    changed,
    fault_sets,
    kept,
    mutate,
    mutated,
    names_the_first,
    no_rows,
    random_rows,
    random_schedules,
    same,
)

SPECS = ("S3", "S4", "Q3", "S4,2")


# The schedules of all algorithms on S4 take three seconds.
@pytest.mark.parametrize(
    "spec", [pytest.param(spec, marks=[pytest.mark.slow] * (spec == "S4")) for spec in SPECS]
)
def test_both_simulators_accept_every_algorithm_and_detect_invalid_rows(spec: str) -> None:
    """If units have one copy, no row may be dropped, repeated or sent before its unit arrives."""
    for base in bases(spec):
        assert_invalid_rows_are_detected(base)


def assert_invalid_rows_are_detected(base: Base) -> None:
    """Drop, repeat and advance some rows of a schedule that both simulators accept."""
    schedule = built(base)
    assert assert_same_verdict(schedule).complete
    every = range(len(schedule))
    for row in np.linspace(0, len(schedule) - 1, 5).astype(int).tolist():
        assert not simulate(kept(schedule, [other for other in every if other != row])).complete
        assert_violated(kept(schedule, [*every, row]), int(schedule.step[row]))
    keys = zip(schedule.receiver.tolist(), schedule.unit.tolist(), strict=True)
    arrival = dict(zip(keys, schedule.step.tolist(), strict=True))
    wanted = enumerate(zip(schedule.sender.tolist(), schedule.unit.tolist(), strict=True))
    relayed = [(row, arrival[key]) for row, key in wanted if key in arrival]
    # Send a unit in the same step in which the sender receives it.
    for row, step in relayed[:: max(len(relayed) // 2, 1)]:
        early = changed(schedule, row, step=step)
        if schedule.combine is not None and schedule.combine[row]:
            assert not assert_same_verdict(early).complete  # the sum lacks a contribution
        else:
            assert_violated(early, step)


def assert_violated(schedule: Schedule, step: int) -> None:
    """Assert that the simulator finds a violation in this step."""
    run = simulate(schedule)
    assert run.violation is not None
    assert f"step {step}:" in run.violation


@pytest.mark.parametrize("base", bases("S4"), ids=" ".join)
@max_examples(4)
@given(st.data())
def test_randomly_changed_schedules_get_the_same_verdict_from_both_simulators(
    base: Base, data: st.DataObject
) -> None:
    assert_same_verdict(data.draw(mutated(built(base))))


@pytest.mark.parametrize("way", MUTATIONS)
@given(st.data())
def test_each_kind_of_random_change_gets_the_same_verdict_from_both_simulators(
    way: str, data: st.DataObject
) -> None:
    schedule = built(data.draw(st.sampled_from(bases("S3", "Q2", "S3,1", "S4,2"))))
    assert_same_verdict(mutate(data.draw, schedule, way))


@max_examples(100)
@given(st.data())
def test_random_schedules_get_the_same_verdict_from_both_simulators(data: st.DataObject) -> None:
    schedule = data.draw(random_schedules("S3", "Q2", "S3,1", "S4,2", "S4,1"))
    run = assert_same_verdict(schedule)
    if not schedule.symmetric:
        names_the_first(run, schedule)


@max_examples(60)
@given(st.data())
def test_random_schedules_under_faults_get_the_same_verdict_from_both_simulators(
    data: st.DataObject,
) -> None:
    schedule = data.draw(random_schedules("S3", "Q2", "S3,1", "S4,2"))
    faults = data.draw(fault_sets(schedule.topology, 7))
    names_the_first(assert_same_verdict(schedule, faults), schedule, faults)


@given(st.data())
def test_changed_schedules_under_faults_get_the_same_verdict_from_both_simulators(
    data: st.DataObject,
) -> None:
    """Under faults, invalid addresses and conflicts are violations, but missing units are not."""
    schedule = data.draw(mutated(built(data.draw(st.sampled_from(bases("S3", "Q2", "S4,2"))))))
    assert_same_verdict(schedule, data.draw(fault_sets(schedule.topology, max(schedule.steps, 1))))


@pytest.mark.parametrize(("collective", "ports"), list(product(COLLECTIVES, ("all", "one"))))
def test_the_generator_of_random_schedules_returns_valid_and_invalid_schedules(
    collective: str, ports: str
) -> None:
    """The tests need schedules of both kinds for every collective and port model."""
    empty = no_rows(topology("S3"), collective, ports)
    rules = []
    for seed in range(30):
        schedule = replace(
            empty, **random_rows(empty, np.random.default_rng(seed), 4, seed % 2 / 10)
        )
        rules.append((simulate(schedule).violation or "sound").rpartition(": ")[-1])
    assert rules.count("sound") >= 15
    assert {
        "the arriving sum and the receiver's sum share a contribution",
        "the sender does not hold the unit yet",
        "the directed link already carries a unit in this step",
    } & set(rules)


def by_table(postcondition: Postcondition, rows: Rows, end: int) -> ArrivalTimes:
    """Return arrival times that are stored in a table."""
    return ArrivalTimes(postcondition, rows, end)


def by_pairs(postcondition: Postcondition, rows: Rows, end: int) -> ArrivalTimes:
    """Return arrival times that are stored in sorted pairs."""
    return ArrivalTimes(postcondition, rows, end, Pairs(postcondition, rows, end))


@max_examples(40)
@given(st.data())
def test_simulation_results_do_not_depend_on_how_arrival_times_are_stored(
    data: st.DataObject,
) -> None:
    schedule = data.draw(
        random_schedules("S3", "Q2", "S4,2")
        | st.sampled_from(bases("S3", "S4")).flatmap(lambda base: mutated(built(base)))
    )
    assume(schedule.collective not in REDUCTIONS)
    forms = (
        [by_table, by_pairs]
        if schedule.collective in ("broadcast", "allgather")
        else [by_table, by_pairs, Journeys]
    )
    runs = []
    for make in forms:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(simulation, "make_deliveries", make)
            runs.append(simulate(schedule))
    for run in runs[1:]:
        same(run, runs[0])
        assert (run.undelivered, run.violation) == (runs[0].undelivered, runs[0].violation)


@max_examples(40)
@given(st.data())
def test_simulation_results_under_faults_do_not_depend_on_how_arrival_times_are_stored(
    data: st.DataObject,
) -> None:
    schedule = data.draw(random_schedules("S3", "Q2", "S4,2"))
    faults = data.draw(fault_sets(schedule.topology, 7))
    runs = []
    for pair_index in (lambda postcondition, _rows, _end: AllPairs(postcondition), Pairs):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("starcast.judges.simulator.faults.make_pair_index", pair_index)
            runs.append(simulate(schedule, faults))
    same(*runs)
    assert runs[0].undelivered == runs[1].undelivered


@pytest.mark.parametrize("length", [1, 2, 9])
@pytest.mark.parametrize(
    ("collective", "symmetric"),
    [*product(COLLECTIVES, [False]), *product(MULTI_SOURCE, [True])],
)
def test_the_number_of_rows_that_are_checked_together_does_not_change_the_simulation(
    collective: str, symmetric: bool, length: int
) -> None:
    """Each step is checked as a whole, even if it has more rows than a batch."""
    empty = no_rows(topology("S3"), collective, "all", each=2, symmetric=symmetric)
    for seed in range(12):
        schedule = replace(
            empty, **random_rows(empty, np.random.default_rng(seed), 5, seed % 3 / 20)
        )
        for faults in ([], [Fault(2, 3), Fault((0, 5))]):
            reference = simulate(schedule, faults)
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(rows, "_BATCH", length)
                parts = simulate(schedule, faults)
            same(parts, reference)
            assert (parts.undelivered, parts.violation) == (
                reference.undelivered,
                reference.violation,
            )


def test_a_unit_with_one_destination_may_take_two_paths_that_meet() -> None:
    """Rows of two trees bring the unit to one node. A row of a third tree forwards it."""
    schedule = built(("S3", "scatter", "balanced", "all"))
    t = schedule.topology
    ring = [0]
    while len(ring) < 6:
        ring.append(int(t.neighbours(2 + len(ring) % 2, [ring[-1]])[0]))
    back = int(t.neighbours(2, [0])[0])
    assert back == ring[-1]
    # The unit goes from the root in both directions to the opposite node, and one hop further.
    unit = ring[3]
    paths = [(1, 0, ring[1], 0), (2, ring[1], ring[2], 0), (3, ring[2], ring[3], 0)]
    paths += [
        (1, 0, ring[5], 1),
        (2, ring[5], ring[4], 1),
        (3, ring[4], ring[3], 1),
        (4, ring[3], ring[2], 7),
    ]
    columns: dict[str, Any] = {
        "step": np.array([step for step, *_ in paths]),
        "sender": np.array([sender for _, sender, _, _ in paths]),
        "receiver": np.array([receiver for _, _, receiver, _ in paths]),
        "tree": np.array([tree for *_, tree in paths]),
        "unit": np.full(len(paths), unit),
    }
    ports = [next(p for p in t.ports if int(t.neighbours(p, [a])[0]) == b) for _, a, b, _ in paths]
    run = assert_same_verdict(replace(schedule, port=np.array(ports), forest=None, **columns))
    assert run.violation is None
    assert run.missing == 4


@pytest.mark.parametrize("last", [254, 255, 256, 65_534, 65_535, 65_536, 70_000])
def test_units_that_arrive_in_late_steps_are_not_mistaken_for_missing_units(last: int) -> None:
    """The number of bytes per stored arrival step depends on the last step."""
    schedule = built(("S3", "broadcast", "greedy", "all"))
    late = replace(schedule, step=schedule.step + (last - schedule.steps))
    run = simulate(late)
    assert (run.complete, run.steps, run.missing) == (True, last, 0)
    leaf = int(np.flatnonzero(~np.isin(late.receiver, late.sender))[-1])
    twice = kept(late, [*range(len(late)), leaf])
    assert simulate(twice).violation is not None
    before = simulate(changed(late, leaf, port=0))
    assert (before.violation is None, before.complete) == (False, False)
    assert assert_same_verdict(changed(late, leaf, port=0, step=last + 300)).missing == 1


def test_schedules_with_too_large_step_numbers_are_refused() -> None:
    schedule = built(("S3", "broadcast", "greedy", "all"))
    late: Any = schedule.step.astype(np.int64) + 10**13
    with refused("steps", exit_code=7):
        simulate(replace(schedule, step=late))


def test_a_schedule_with_an_impossible_or_too_large_number_of_units_is_refused() -> None:
    for collective, algorithm in (
        ("allgather", "edge-disjoint"),
        ("scatter", "balanced"),
        ("gather", "balanced"),
        ("alltoall", "exact"),
    ):
        schedule = build("S4", collective, algorithm).expand()
        with refused(collective, f"{schedule.units + 1:,}"):
            simulate(replace(schedule, units=schedule.units + 1))
        with refused(collective):
            simulate(replace(schedule, units=-schedule.units))
        with refused("units", exit_code=7):
            simulate(replace(schedule, units=24**2 * 10**12))


def test_a_schedule_without_units_is_complete() -> None:
    schedule = built(("S4", "scatter", "balanced", "all"))
    run = simulate(replace(kept(schedule, []), units=0))
    assert run.complete
    with refused("0 units"):
        replace(schedule, units=0)


def test_the_postcondition_determines_how_arrival_times_are_stored() -> None:
    """`ArrivalTimes` is for units that all nodes get, `Journeys` for units with one destination."""
    everything, addressed = (
        built(("S4", "allgather", "edge-disjoint", "all")),
        built(("S4", "alltoall", "exact", "all")),
    )
    for schedule, kind in ((everything, ArrivalTimes), (addressed, Journeys)):
        of = Rows(schedule)
        assert type(simulation.make_deliveries(derive_postcondition(schedule), of, len(of))) is kind
