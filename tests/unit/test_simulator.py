"""The simulator on invalid and extreme input. Other modules compare it with a second simulator."""

from dataclasses import replace

import pytest

from starcast.collectives import schedule as build
from starcast.judges.simulator import simulate
from support.meeting import broadcast, refused
from support.simulator_cases import changed, kept


def test_a_schedule_row_with_an_unknown_node_unit_or_step_is_a_violation() -> None:
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
def test_a_schedule_row_with_an_unknown_tree_is_a_violation(tree: int, row: int) -> None:
    plan = build("S5", "broadcast", "multiple")
    assert plan.forest is not None
    assert plan.forest.trees == 4
    wrong = changed(plan, row, tree=tree)
    run = simulate(wrong)
    assert run.violation
    assert "the forest has trees 0 to 3, but the row names another" in run.violation
    assert not run.complete
    assert not simulate(wrong, faults=[17]).complete


def test_tree_numbers_of_a_schedule_without_a_forest_must_fit_into_one_byte() -> None:
    plan = replace(build("S4", "broadcast", "greedy"), forest=None)
    assert simulate(changed(plan, 0, tree=255)).complete
    assert simulate(changed(plan, 0, tree=256)).violation


@pytest.mark.parametrize("spec", ["S5", "HX128x128"])
def test_a_port_that_does_not_fit_into_one_byte_is_a_violation(spec: str) -> None:
    """The ports of S5 are 2 to 5; those of HX128x128 go up to 255, the largest value of a byte."""
    plan = build(spec, "broadcast", "greedy")
    port = int(plan.port[0])
    for wrong in (port + 256, port - 256):
        run = simulate(changed(plan, 0, port=wrong))
        assert run.violation is not None
        assert "the sender has no such port" in run.violation


def test_in_a_schedule_without_rows_all_units_are_missing_and_the_first_few_are_named() -> None:
    run = simulate(kept(broadcast(4, "greedy", "all", 2), []))
    assert (run.steps, run.transmissions, run.largest_packet) == (0, 0, 0)
    assert not run.complete
    assert run.violation is None
    assert run.missing == 23 * 2
    assert 0 < len(run.undelivered) < run.missing
    assert len(run.links_used) == len(run.packet_sizes) == 0


def test_the_root_and_the_number_of_units_of_a_schedule_are_checked() -> None:
    """With another root, a row is a violation. With one more unit, that unit is missing."""
    schedule = broadcast(4, "greedy", "all", 2)
    assert simulate(replace(schedule, root=1)).violation is not None
    more = simulate(replace(schedule, units=3))
    assert more.violation is None
    assert more.missing == 23
    assert {unit for _, unit in more.undelivered} == {2}


def test_a_simulation_in_which_all_nodes_are_dead_has_no_missing_unit() -> None:
    run = simulate(broadcast(3, "greedy", "all", 1), faults=range(6))
    assert run.complete
    assert run.missing == 0
    assert run.transmissions == 0


def test_faults_are_checked_before_the_schedule_is_simulated() -> None:
    """An invalid schedule does not hide a misspelt fault."""
    broken = changed(broadcast(4, "greedy", "all", 1), 0, port=9)
    with refused("1235"):
        simulate(broken, faults=["1235"])
