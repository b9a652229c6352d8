"""All collectives against the step-by-step simulator: what the catalogue builds, spoilt schedules, and schedules by lot."""

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from starcast.collectives import schedule
from starcast.collectives.model import COLLECTIVES
from starcast.simulator import Fault, fault_execution, ownership, rows, simulate, simulation
from starcast.simulator.ownership import ArrivalTimes, Journeys, Pairs, Table
from starcast.simulator.postconditions import Postcondition, derive_postcondition
from starcast.simulator.rows import Rows
from starcast.topologies import topology
from support.meeting import refused
from support.simulating import (
    SPOILS,
    Base,
    bases,
    built,
    by_lot,
    changed,
    fault_sets,
    judged_alike,
    kept,
    names_the_first,
    no_rows,
    rows_by_lot,
    same,
    spoil,
    spoilt,
)

SMALL = bases("S3", "S4", "Q3", "S4,2")

every_small = pytest.mark.parametrize("base", SMALL, ids=" ".join)


@every_small
def test_both_simulators_accept_every_algorithm_and_count_alike(base: Base) -> None:
    assert judged_alike(built(base)).complete


@pytest.mark.parametrize("base", bases("S4"), ids=" ".join)
@settings(max_examples=4)
@given(st.data())
def test_what_is_spoilt_is_judged_alike(base: Base, data: st.DataObject) -> None:
    judged_alike(data.draw(spoilt(built(base))))


@pytest.mark.parametrize("way", SPOILS)
@given(st.data())
def test_every_way_to_spoil_a_schedule_is_judged_alike_for_every_collective(
    way: str, data: st.DataObject
) -> None:
    made = built(data.draw(st.sampled_from(bases("S3", "Q2", "S3,1", "S4,2"))))
    judged_alike(spoil(data.draw, made, way))


@every_small
def test_a_dropped_row_is_caught_wherever_it_stood(base: Base) -> None:
    """A unit comes once to each node that needs it (one copy): without any one of its rows somebody lacks something."""
    made = built(base)
    for row in np.linspace(0, len(made) - 1, 12).astype(int).tolist():
        assert not simulate(
            kept(made, [other for other in range(len(made)) if other != row])
        ).complete


@every_small
def test_a_doubled_row_is_caught_wherever_it_stood(base: Base) -> None:
    made = built(base)
    for row in np.linspace(0, len(made) - 1, 12).astype(int).tolist():
        run = simulate(kept(made, [*range(len(made)), row]))
        assert run.violation is not None
        assert f"step {made.step[row]}:" in run.violation


@every_small
@settings(max_examples=5)
@given(st.data())
def test_another_receiver_or_port_is_caught(base: Base, data: st.DataObject) -> None:
    made = built(base)
    row = data.draw(st.integers(0, len(made) - 1))
    receiver = (
        int(made.receiver[row]) + data.draw(st.integers(1, made.topology.nodes - 1))
    ) % made.topology.nodes
    wrong = [
        changed(made, row, receiver=receiver),
        changed(made, row, port=made.topology.ports[0] - 1),
    ]
    wrong += [
        changed(made, row, port=port) for port in made.topology.ports if port != made.port[row]
    ]
    for run in map(simulate, wrong):
        assert run.violation is not None
        assert f"step {made.step[row]}:" in run.violation


@every_small
def test_what_leaves_in_the_step_in_which_it_arrives_is_caught(base: Base) -> None:
    made = built(base)
    keys = zip(made.receiver.tolist(), made.unit.tolist(), strict=True)
    arrival = dict(zip(keys, made.step.tolist(), strict=True))
    wanted = enumerate(zip(made.sender.tolist(), made.unit.tolist(), strict=True))
    relayed = [(row, arrival[key]) for row, key in wanted if key in arrival]
    for row, step in relayed[:: max(len(relayed) // 6, 1)]:
        run = simulate(changed(made, row, step=step))
        assert run.violation is not None
        assert f"step {step}:" in run.violation


@every_small
@settings(max_examples=5)
@given(st.data())
def test_another_unit_is_caught(base: Base, data: st.DataObject) -> None:
    """Somebody lacks the unit that the row no longer carries."""
    made = built(base)
    row = data.draw(st.integers(0, len(made) - 1))
    unit = data.draw(st.integers(-1, made.units).filter(lambda unit: unit != made.unit[row]))
    assert not simulate(changed(made, row, unit=unit)).complete


@settings(max_examples=100)
@given(st.data())
def test_schedules_by_lot_are_judged_alike(data: st.DataObject) -> None:
    made = data.draw(by_lot("S3", "Q2", "S3,1", "S4,2", "S4,1"))
    run = judged_alike(made)
    if not made.symmetric:
        names_the_first(run, made)


@settings(max_examples=60)
@given(st.data())
def test_schedules_by_lot_lose_the_same_under_faults(data: st.DataObject) -> None:
    made = data.draw(by_lot("S3", "Q2", "S3,1", "S4,2"))
    faults = data.draw(fault_sets(made.topology, 7))
    names_the_first(judged_alike(made, faults), made, faults)


@given(st.data())
def test_spoilt_schedules_are_judged_alike_under_faults(data: st.DataObject) -> None:
    """What is not addressed, or crowded, is a violation all the same; what is not held is left out."""
    made = data.draw(spoilt(built(data.draw(st.sampled_from(bases("S3", "Q2", "S4,2"))))))
    judged_alike(made, data.draw(fault_sets(made.topology, max(made.steps, 1))))


@pytest.mark.parametrize(("collective", "ports"), list(product(COLLECTIVES, ("all", "one"))))
def test_lots_are_sometimes_wrong_and_sometimes_not(collective: str, ports: str) -> None:
    """The tests above see both verdicts of every collective, under both port models."""
    empty = no_rows(topology("S3"), collective, ports)
    rules = []
    for seed in range(30):
        made = replace(empty, **rows_by_lot(empty, np.random.default_rng(seed), 4, seed % 2 / 10))
        rules.append((simulate(made).violation or "sound").rpartition(": ")[-1])
    assert rules.count("sound") >= 15
    assert {
        "the sender does not hold the unit yet",
        "the directed link already carries a unit in this step",
    } & set(rules)


# The two ways to know who holds what


def by_table(postcondition: Postcondition, rows: Rows, end: int) -> ArrivalTimes:
    """All arrival times in a table."""
    return ArrivalTimes(postcondition, rows, end)


def by_pairs(postcondition: Postcondition, rows: Rows, end: int) -> ArrivalTimes:
    """All arrival times in sorted pairs."""
    return ArrivalTimes(postcondition, rows, end, Pairs(postcondition, rows, end))


@settings(max_examples=40)
@given(st.data())
def test_tables_and_sorted_pairs_and_journeys_say_the_same(data: st.DataObject) -> None:
    made = data.draw(
        by_lot("S3", "Q2", "S4,2")
        | st.sampled_from(bases("S3", "S4")).flatmap(lambda base: spoilt(built(base)))
    )
    forms = (
        [by_table, by_pairs]
        if made.collective in ("broadcast", "allgather")
        else [by_table, by_pairs, Journeys]
    )
    runs = []
    for make in forms:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(simulation, "make_deliveries", make)
            runs.append(simulate(made))
    for run in runs[1:]:
        same(run, runs[0])
        assert (run.undelivered, run.violation) == (runs[0].undelivered, runs[0].violation)


@settings(max_examples=40)
@given(st.data())
def test_tables_and_sorted_pairs_say_the_same_under_faults(data: st.DataObject) -> None:
    made = data.draw(by_lot("S3", "Q2", "S4,2"))
    faults = data.draw(fault_sets(made.topology, 7))
    runs = []
    for places in (lambda postcondition, _rows, _end: Table(postcondition), Pairs):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(fault_execution, "make_places", places)
            runs.append(simulate(made, faults))
    same(*runs)
    assert runs[0].undelivered == runs[1].undelivered


@pytest.mark.parametrize("length", [1, 2, 9])
@pytest.mark.parametrize(
    ("collective", "symmetric"),
    [*product(COLLECTIVES, [False]), ("allgather", True), ("alltoall", True)],
)
def test_batches_make_no_difference(collective: str, symmetric: bool, length: int) -> None:
    """A step's rows are judged together even where they are more than a batch, and a second delivery changes nothing."""
    empty = no_rows(topology("S3"), collective, "all", each=2, symmetric=symmetric)
    for seed in range(12):
        made = replace(empty, **rows_by_lot(empty, np.random.default_rng(seed), 5, seed % 3 / 20))
        for faults in ([], [Fault(2, 3), Fault((0, 5))]):
            whole = simulate(made, faults)
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(rows, "_BATCH", length)
                parts = simulate(made, faults)
            same(parts, whole)
            assert (parts.undelivered, parts.violation) == (whole.undelivered, whole.violation)


def test_a_unit_with_one_destination_may_branch_and_meet_again() -> None:
    """Two rows over different trees bring it to one node, from which it goes on with a third tree's number."""
    made = built(("S3", "scatter", "balanced", "all"))
    t = made.topology
    ring = [0]
    while len(ring) < 6:
        ring.append(int(t.neighbours(2 + len(ring) % 2, [ring[-1]])[0]))
    back = int(t.neighbours(2, [0])[0])
    assert back == ring[-1]
    unit = ring[3]  # opposite the root: one copy each way round, then one step on
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
    run = judged_alike(replace(made, port=np.array(ports), **columns))
    assert run.violation is None
    assert run.missing == 4


# Sizes


@pytest.mark.parametrize("last", [254, 255, 256, 65_534, 65_535, 65_536, 70_000])
def test_late_steps_are_not_mistaken_for_never(last: int) -> None:
    """Arrivals are kept in as few bytes as the last step needs."""
    made = built(("S3", "broadcast", "greedy", "all"))
    late = replace(made, step=made.step + (last - made.steps))
    run = simulate(late)
    assert (run.complete, run.steps, run.missing) == (True, last, 0)
    leaf = int(np.flatnonzero(~np.isin(late.receiver, late.sender))[-1])
    twice = kept(late, [*range(len(late)), leaf])
    assert simulate(twice).violation is not None
    before = simulate(changed(late, leaf, port=0))
    assert (before.violation is None, before.complete) == (False, False)
    judged_alike(changed(late, leaf, port=0, step=last + 300))


def test_a_violation_far_behind_the_other_rows_does_not_make_them_arrive() -> None:
    """Who never got a unit did not get it before a step of any number."""
    made = built(("S3", "broadcast", "greedy", "all"))
    leaf = int(np.flatnonzero(~np.isin(made.receiver, made.sender))[-1])
    run = judged_alike(changed(made, leaf, port=0, step=10_000))
    assert run.missing == 1


def test_steps_too_late_to_be_counted_are_refused() -> None:
    made = built(("S3", "broadcast", "greedy", "all"))
    late: Any = made.step.astype(np.int64) + 10**13
    with refused("steps", exit_code=7):
        simulate(replace(made, step=late))


@pytest.mark.parametrize(
    ("collective", "algorithm"),
    [
        ("allgather", "edge-disjoint"),
        ("scatter", "balanced"),
        ("gather", "balanced"),
        ("alltoall", "exact"),
    ],
)
def test_units_that_cannot_be_shared_out_are_refused(collective: str, algorithm: str) -> None:
    made = schedule("S4", collective, algorithm).expand()
    with refused(collective, f"{made.units + 1:,}"):
        simulate(replace(made, units=made.units + 1))
    with refused(collective):
        simulate(replace(made, units=-made.units))


@pytest.mark.parametrize("collective", ["scatter", "gather"])
def test_more_units_with_a_destination_than_memory_are_refused(collective: str) -> None:
    made = built(("S4", collective, "balanced", "all"))
    with refused("units", exit_code=7):
        simulate(replace(made, units=24 * 10**12))


def test_no_units_are_a_promise_kept() -> None:
    made = built(("S4", "scatter", "balanced", "all"))
    run = simulate(replace(kept(made, []), units=0))
    assert run.complete
    with refused("0 units"):
        replace(made, units=0)


def test_arrivals_are_kept_by_what_the_promise_needs() -> None:
    """A table of every pair for those who are owed everything; journeys for units of one destination."""
    everything, addressed = (
        built(("S4", "allgather", "edge-disjoint", "all")),
        built(("S4", "alltoall", "exact", "all")),
    )
    for made, kind in ((everything, ArrivalTimes), (addressed, Journeys)):
        of = Rows(made)
        assert type(ownership.make_deliveries(derive_postcondition(made), of, len(of))) is kind
