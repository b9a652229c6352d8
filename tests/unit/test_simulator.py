"""The simulator compared with a step-by-step oracle: mutated schedules, faults, invalid input."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from starcast.collectives import Schedule
from starcast.collectives import schedule as build
from starcast.judges.simulator import Fault, simulate
from support.meeting import BROADCASTS, broadcast, refused
from support.simulator_cases import assert_same_verdict, changed, kept, same

COLUMNS = ("step", "sender", "port", "receiver", "tree", "unit")
BASES = [(algorithm, ports) for algorithm in sorted(BROADCASTS) for ports in ("all", "one")]

every_base = pytest.mark.parametrize(("algorithm", "ports"), BASES)


def extended(schedule: Schedule, *rows: tuple[int, int, int, int, int, int]) -> Schedule:
    """Return a copy of a schedule with additional rows."""
    columns = zip(COLUMNS, zip(*rows, strict=True), strict=True)
    more: dict[str, Any] = {
        name: np.append(getattr(schedule, name), values) for name, values in columns
    }
    return replace(schedule, **more)


def inner_row(schedule: Schedule) -> int:
    """Return a row in the middle of the schedule whose receiver forwards the unit."""
    senders = set(
        zip(schedule.sender.tolist(), schedule.tree.tolist(), schedule.unit.tolist(), strict=True)
    )
    rows = zip(
        schedule.receiver.tolist(), schedule.tree.tolist(), schedule.unit.tolist(), strict=True
    )
    passing = [
        row
        for row, what in enumerate(rows)
        if what in senders and schedule.sender[row] != schedule.root
    ]
    return passing[len(passing) // 2]


@every_base
@given(st.data())
def test_the_first_violation_is_in_the_earliest_step_with_an_invalid_row(
    algorithm: str, ports: str, data: st.DataObject
) -> None:
    """The rows may violate any rules, such as those on order or addresses."""
    mutated = broadcast(4, algorithm, ports, 2)
    for _ in range(data.draw(st.integers(2, 4))):
        row = data.draw(st.integers(0, len(mutated) - 1))
        name, highest = data.draw(
            st.sampled_from([("step", mutated.steps), ("receiver", 23), ("port", 6)])
        )
        mutated = changed(mutated, row, **{name: data.draw(st.integers(1, highest))})
    assert_same_verdict(mutated)


@every_base
@given(st.integers(0, 2**32))
def test_the_order_of_the_rows_does_not_matter(algorithm: str, ports: str, seed: int) -> None:
    schedule = broadcast(4, algorithm, ports, 2)
    order = np.random.default_rng(seed).permutation(len(schedule)).tolist()
    run = assert_same_verdict(kept(schedule, order))
    assert run.complete
    same(run, simulate(schedule))


@every_base
def test_a_violation_names_step_sender_port_receiver_and_rule(algorithm: str, ports: str) -> None:
    """In the example, a unit is forwarded in the first step, before it arrives."""
    schedule = broadcast(5, algorithm, ports, 2)
    row = inner_row(schedule)
    run = simulate(changed(schedule, row, step=1))
    assert run.violation is not None
    label = schedule.topology.label
    for part in (
        "step 1",
        label(int(schedule.sender[row])),
        f"port {schedule.port[row]}",
        label(int(schedule.receiver[row])),
    ):
        assert part in run.violation
    assert "hold" in run.violation
    assert not run.complete


@every_base
def test_without_a_row_to_a_leaf_a_unit_is_undelivered_but_no_rule_is_violated(
    algorithm: str, ports: str
) -> None:
    schedule = broadcast(5, algorithm, ports, 2)
    assert schedule.forest is not None
    inner = set(schedule.forest.parents()[0].tolist())
    row = next(
        r
        for r in range(len(schedule))
        if schedule.tree[r] == 0 and int(schedule.receiver[r]) not in inner
    )
    run = simulate(kept(schedule, [r for r in range(len(schedule)) if r != row]))
    assert run.violation is None
    assert not run.complete
    assert run.undelivered == (
        (schedule.topology.label(int(schedule.receiver[row])), int(schedule.unit[row])),
    )
    assert run.missing == 1


def test_a_unit_cannot_leave_in_the_step_in_which_it_arrives() -> None:
    """Nodes store and forward: a unit that arrives in step t leaves in step t+1 at the earliest."""
    schedule = broadcast(5, "greedy", "all", 1)
    row = inner_row(schedule)
    arrival = int(schedule.step[row])
    onward = next(r for r in range(len(schedule)) if schedule.sender[r] == schedule.receiver[row])
    assert schedule.step[onward] == arrival + 1
    run = simulate(changed(schedule, onward, step=arrival))
    assert run.violation is not None
    assert f"step {arrival}:" in run.violation


def test_a_unit_that_waits_is_not_a_violation() -> None:
    """A row may be later than necessary if the rows after it are later too."""
    schedule = broadcast(5, "greedy", "all", 1)
    run = simulate(replace(schedule, step=2 * schedule.step + 3))
    assert run.complete
    assert run.violation is None
    assert run.steps == 2 * schedule.steps + 3
    assert run.links_used[0] == 0
    assert run.packet_sizes[0] == 0


def test_receiving_again_over_another_link_is_not_a_violation() -> None:
    """Redundant messages violate no rule of the port models."""
    schedule = broadcast(4, "greedy", "all", 1)
    back = int(schedule.topology.neighbours(2, [23])[0])
    run = simulate(extended(schedule, (schedule.steps + 1, 23, 2, back, 0, 0)))
    assert run.complete
    assert run.violation is None
    assert run.transmissions == 24


def test_sending_again_later_over_the_same_link_is_not_a_violation() -> None:
    """The port models limit the units on a link per step (conventions.md), not in total."""
    schedule = broadcast(4, "greedy", "all", 1)
    again = kept(schedule, [*range(len(schedule)), 0])
    late = changed(again, len(schedule), step=schedule.steps + 1)
    assert_same_verdict(late)
    assert simulate(late).complete


def test_units_may_share_a_packet_if_the_schedule_allows_packets() -> None:
    """Tseng & Sheu send several units in a packet, Fragopoulou & Akl only one per link and step."""
    schedule = broadcast(4, "multiple", "all", 1)
    assert simulate(schedule).complete
    one_a_step = replace(schedule, packets=False)
    run = simulate(one_a_step)
    assert run.violation is not None
    assert "step 1:" in run.violation
    assert_same_verdict(one_a_step)


@pytest.mark.parametrize("algorithm", sorted(BROADCASTS))
def test_an_all_port_schedule_declared_as_one_port_is_a_violation(algorithm: str) -> None:
    claimed = replace(broadcast(4, algorithm, "all", 1), ports="one")
    run = simulate(claimed)
    assert run.violation is not None
    assert "one-port" in run.violation
    assert "step 1:" in run.violation
    assert_same_verdict(claimed)


@pytest.mark.parametrize("algorithm", sorted(BROADCASTS))
def test_a_one_port_schedule_is_also_a_valid_all_port_schedule(algorithm: str) -> None:
    assert simulate(replace(broadcast(5, algorithm, "one", 2), ports="all")).complete


def test_a_one_port_node_cannot_receive_from_two_senders_in_one_step() -> None:
    """The violation is reported at the receiver."""
    schedule = broadcast(4, "greedy", "one", 1)
    t = schedule.topology
    last = schedule.steps
    mutated = extended(
        schedule, *((last + 1, int(t.neighbours(port, [7])[0]), port, 7, 0, 0) for port in (2, 3))
    )
    run = simulate(mutated)
    assert run.violation is not None
    assert f"step {last + 1}:" in run.violation
    assert t.label(7) in run.violation
    assert_same_verdict(mutated)
    assert simulate(replace(mutated, ports="all")).violation is None


def test_a_row_with_an_unknown_node_unit_or_step_is_a_violation() -> None:
    schedule = broadcast(5, "greedy", "all", 2)
    changes = [("unit", -1), ("unit", 2), ("unit", 99), ("step", 0), ("step", -3)]
    changes += [(name, rank) for name in ("sender", "receiver") for rank in (-1, 120, 2**31 - 1)]
    for name, value in changes:
        run = simulate(changed(schedule, 3, **{name: value}))
        assert run.violation is not None
        assert str(value) in run.violation
        assert ("steps are numbered from 1" in run.violation) == (name == "step")
        assert not run.complete


@pytest.mark.parametrize("tree", [-1, 4, 255, 300])
@pytest.mark.parametrize("row", [0, -1])
def test_a_row_with_an_unknown_tree_is_a_violation(tree: int, row: int) -> None:
    plan = build("S5", "broadcast", "multiple")
    assert plan.forest is not None
    assert plan.forest.trees == 4
    wrong = changed(plan, row, tree=tree)
    run = simulate(wrong)
    assert run.violation
    assert "the forest has trees 0 to 3, but the row names another" in run.violation
    assert not run.complete
    assert not simulate(wrong, faults=[17]).complete


def test_without_a_forest_tree_numbers_must_fit_into_one_byte() -> None:
    plan = replace(build("S4", "broadcast", "greedy"), forest=None)
    assert simulate(changed(plan, 0, tree=255)).complete
    assert simulate(changed(plan, 0, tree=256)).violation


def test_without_rows_all_units_are_missing_and_the_first_few_are_named() -> None:
    run = simulate(kept(broadcast(4, "greedy", "all", 2), []))
    assert (run.steps, run.transmissions, run.largest_packet) == (0, 0, 0)
    assert not run.complete
    assert run.violation is None
    assert run.missing == 23 * 2
    assert 0 < len(run.undelivered) < run.missing
    assert len(run.links_used) == len(run.packet_sizes) == 0


def test_the_root_and_the_units_that_a_schedule_declares_are_checked() -> None:
    """With another root or more units, the same rows do not satisfy the postcondition."""
    schedule = broadcast(4, "greedy", "all", 2)
    assert simulate(replace(schedule, root=1)).violation is not None
    more = simulate(replace(schedule, units=3))
    assert more.violation is None
    assert more.missing == 23
    assert {unit for _, unit in more.undelivered} == {2}


@every_base
def test_a_dead_node_cuts_off_its_subtrees_and_need_not_receive(algorithm: str, ports: str) -> None:
    schedule = broadcast(5, algorithm, ports, 1)
    assert schedule.forest is not None
    t, dead = schedule.topology, int(schedule.forest.parents()[0].max())
    run = simulate(schedule, faults=[dead])
    assert not run.complete
    assert run.missing > 0
    assert t.label(dead) not in {label for label, _ in run.undelivered}
    assert_same_verdict(schedule, [Fault(dead).on(t)])


@every_base
def test_a_dead_root_sends_nothing_and_all_units_are_missing(algorithm: str, ports: str) -> None:
    schedule = broadcast(4, algorithm, ports, 2)
    run = simulate(schedule, faults=["1234"])
    assert (run.steps, run.transmissions, run.complete) == (0, 0, False)
    assert run.missing == 23 * schedule.units
    assert_same_verdict(schedule, [Fault("1234").on(schedule.topology)])


def test_if_all_nodes_are_dead_nothing_is_missing() -> None:
    run = simulate(broadcast(3, "greedy", "all", 1), faults=range(6))
    assert run.complete
    assert run.missing == 0
    assert run.transmissions == 0


@pytest.mark.parametrize("link", [("1234", "4231"), ("4231", "1234"), (0, "4231")])
def test_a_dead_link_is_dead_in_both_directions(link: tuple[int | str, int | str]) -> None:
    """The root uses this link to reach the substar of nodes that end with 1."""
    schedule = broadcast(4, "recursive-substar", "all", 1)
    run = simulate(schedule, faults=[link])
    assert run.missing == 6
    assert {label[-1] for label, _ in run.undelivered} == {"1"}


def test_faults_are_checked_before_the_schedule() -> None:
    """An invalid schedule does not hide a misspelt fault."""
    broken = changed(broadcast(4, "greedy", "all", 1), 0, port=9)
    with refused("1235"):
        simulate(broken, faults=["1235"])


def test_more_units_than_fit_into_memory_are_refused_with_a_hint() -> None:
    with refused("units", exit_code=7):
        simulate(replace(broadcast(4, "greedy", "all", 1), units=10**12))
