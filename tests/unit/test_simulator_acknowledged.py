"""Execution of schedules with acknowledgements (Fragopoulou & Akl 1996, section 4.4) under faults.

Every source traverses each of its trees depth first, hop by hop. A hop starts only when the
previous hop is acknowledged, so a fault can stall the rest of a traversal.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import simulator as oracle
from starcast.collectives import Schedule, schedule_from_columns
from starcast.collectives import schedule as build
from starcast.judges.simulator import Fault, Simulation, simulate, simulate_acknowledged
from support.meeting import refused
from support.simulator_cases import agrees, changed, down, fault_sets, kept, plan_of, same


@cache
def driven(messages: int = 1, copies: int = 3, spec: str = "S4") -> Schedule:
    """Return the schedule of an allgather along edge-disjoint trees, which are computed once."""
    return build(spec, "allgather", "edge-disjoint", messages=messages, copies=copies)


def alike(schedule: Schedule, faults: Sequence[Fault]) -> Simulation:
    """Simulate a schedule with acknowledgements; check that all results equal the oracle's."""
    result = simulate_acknowledged(schedule, faults)
    expanded = plan_of(schedule.expand())
    nodes = expanded.world.nodes
    each = expanded.units // len(nodes)
    with_sources = [(nodes[row.unit // each], row) for row in expanded.rows]
    tried, stalled = oracle.acknowledged(with_sources, down(faults))
    agrees(result.simulation, oracle.execute(replace(expanded, rows=list(tried)), down(faults)))
    assert result.stalled == tuple(
        sorted((nodes.index(source), tree, hops) for (source, tree), hops in stalled.items())
    )
    return result.simulation


@pytest.mark.parametrize("messages", [1, 2])
def test_without_faults_acknowledgements_do_not_change_the_execution_of_a_schedule(
    messages: int,
) -> None:
    schedule = driven(messages)
    run = simulate_acknowledged(schedule)
    assert run.stalled == ()
    assert run.simulation.complete
    assert run.simulation.steps == 23 * messages
    same(run.simulation, simulate(schedule))
    alike(schedule, [])


@given(st.data())
def test_with_acknowledgements_and_faults_both_simulators_stall_at_the_same_hops(
    data: st.DataObject,
) -> None:
    schedule = data.draw(
        st.sampled_from([driven(), driven(2, 1), driven(4, 2), driven(spec="S3", copies=2)])
    )
    alike(schedule, data.draw(fault_sets(schedule.topology, schedule.steps + 2)))


@pytest.mark.parametrize("messages", [1, 2])
def test_with_acknowledgements_one_dead_node_on_s4_is_not_tolerated_despite_three_copies(
    messages: int,
) -> None:
    """Without acknowledgements, the schedule delivers all units whichever single node is dead."""
    schedule = driven(messages)
    for rank in range(24):
        assert simulate(schedule, [rank]).complete
        waited = simulate_acknowledged(schedule, [rank]).simulation
        assert not waited.complete
        assert waited.transmissions < simulate(schedule, [rank]).transmissions


def test_with_acknowledgements_one_dead_link_on_s4_is_tolerated() -> None:
    """If the traversal of one tree stalls, another tree delivers the remaining units."""
    schedule = driven()
    for link in links():
        run = simulate_acknowledged(schedule, [link])
        assert run.stalled
        assert run.simulation.complete


@pytest.mark.slow
def test_with_acknowledgements_two_dead_nodes_are_not_tolerated_contrary_to_the_paper() -> None:
    """Without acknowledgements, three copies on S4 tolerate any two dead nodes."""
    schedule = driven()
    for pair in combinations(range(24), 2):
        assert simulate(schedule, pair).complete
        assert not simulate_acknowledged(schedule, pair).simulation.complete


def test_with_acknowledgements_two_dead_links_are_not_tolerated() -> None:
    """By symmetry, only pairs with the port-2 link of the identity need to be tried."""
    schedule = driven()
    first, *others = links()
    for other in others:
        assert simulate(schedule, [first, other]).complete
        assert not simulate_acknowledged(schedule, [first, other]).simulation.complete


def links() -> list[tuple[int, int]]:
    """Return the undirected links of S4, beginning with the port-2 link of the identity."""
    t = driven().topology
    pairs = (
        sorted((rank, int(other)))
        for port in t.ports
        for rank, other in enumerate(t.neighbours(port))
    )
    return list(dict.fromkeys((start, other) for start, other in pairs))


def test_with_acknowledgements_only_depth_first_allgathers_along_trees_are_executed() -> None:
    """One of the refused schedules repeats the first hop after all other hops."""
    for collective in ("broadcast", "alltoall"):
        with refused("not an allgather"):
            simulate_acknowledged(build("S4", collective, "edge-disjoint"))
    schedule = driven()
    with refused("violates a rule"):
        simulate_acknowledged(changed(schedule, 5, port=9))
    with refused("1235"):
        simulate_acknowledged(schedule, ["1235"])
    twice = kept(schedule, [*range(len(schedule)), 0])
    step = np.append(schedule.step, schedule.steps + 1).astype(np.int32)
    others = [
        build("S4", "allgather", algorithm)
        for algorithm in ("rotated-hamiltonian", "necklace", "dimension-change")
    ]
    for other in (*others, replace(twice, step=step)):
        for faults in ([], ["2134"]):
            with refused("depth-first"):
                simulate_acknowledged(other, faults)


def test_acknowledgements_make_no_difference_in_an_allgather_along_a_hamiltonian_path() -> None:
    """No node has two children, so the results under faults are the same."""
    schedule = build("S4", "allgather", "hamiltonian-cycle")
    assert simulate_acknowledged(schedule).simulation.complete
    faults = [Fault("4321").on(schedule.topology)]
    same(alike(schedule, faults), simulate(schedule, faults))


def test_an_allgather_that_sends_to_two_children_in_one_step_is_not_depth_first() -> None:
    rows = {"sender": [0, 0, 1, 1, 2, 2], "port": [2, 3] * 3, "unit": [0, 0, 1, 1, 2, 2]}
    together = schedule_from_columns({**rows, "step": [1] * 6}, "K3", "allgather")
    one_by_one = schedule_from_columns({**rows, "step": [1, 2] * 3}, "K3", "allgather")
    for faults in ([], [2]):
        simulate_acknowledged(one_by_one, faults)
        with refused("depth-first"):
            simulate_acknowledged(together, faults)
