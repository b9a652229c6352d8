"""Execution with acknowledgements (Fragopoulou & Akl 1996, section 4.4) under faults.

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
from starcast.collectives import Schedule
from starcast.collectives import schedule as build
from starcast.collectives.model import build_schedule
from starcast.collectives.rows import Columns
from starcast.judges.simulator import Fault, Simulation, simulate, simulate_acknowledged
from starcast.trees import forest as build_forest
from support.meeting import refused
from support.simulator_cases import agrees, changed, down, fault_sets, kept, plan_of, same


@cache
def driven(messages: int = 1, copies: int = 3, spec: str = "S4") -> Schedule:
    """Return the allgather along edge-disjoint trees, with a fixed step for every row."""
    return build(spec, "allgather", "edge-disjoint", messages=messages, copies=copies)


@cache
def by_hand(messages: int) -> Schedule:
    """Build the schedule directly from the trees.

    The messages of a hop are sent one after another. In tree k, children are visited in the order
    of dimensions k, k+1, .., n, 2, .., k-1.
    """
    forest = build_forest("S4", "edge-disjoint")
    t, parents = forest.topology, forest.parents()
    rows: list[tuple[int, ...]] = []
    for tree in range(forest.trees):
        hop = 0
        waiting = [(0, child) for child in np.flatnonzero(parents[tree] == 0).tolist()]
        while waiting:
            sender, receiver = waiting.pop()
            port = t.reverse_port(int(forest.parent_port[tree, receiver]))
            rows += [
                (messages * hop + i + 1, sender, port, receiver, tree, i) for i in range(messages)
            ]
            hop += 1
            children = np.flatnonzero(parents[tree] == receiver).tolist()
            turn = {port: (port - (tree + 2)) % 3 for port in (2, 3, 4)}
            towards = {
                child: t.reverse_port(int(forest.parent_port[tree, child])) for child in children
            }
            waiting += [
                (receiver, child)
                for child in sorted(children, key=lambda child: -turn[towards[child]])
            ]
    return build_schedule(
        Columns(*np.array(rows).T),
        topology=t,
        collective="allgather",
        algorithm="by-hand",
        ports="all",
        units=messages,
        packets=False,
        symmetric=True,
    )


def alike(schedule: Schedule, faults: Sequence[Fault]) -> Simulation:
    """Check that both simulators execute the same rows, and that the same traversals stall."""
    result = simulate_acknowledged(schedule, faults)
    expanded = plan_of(schedule.expand())
    nodes = expanded.world.nodes
    each = expanded.units // len(nodes)
    with_sources = [(nodes[row.unit // each], row) for row in expanded.rows]
    tried, stalled = oracle.acknowledged(with_sources, down(faults))
    agrees(result.simulation, oracle.execute(oracle.replaced(expanded, tried), down(faults)))
    assert result.stalled == tuple(
        sorted((nodes.index(source), tree, hops) for (source, tree), hops in stalled.items())
    )
    return result.simulation


@pytest.mark.parametrize("messages", [1, 2])
def test_without_faults_acknowledgements_do_not_change_the_execution(messages: int) -> None:
    for schedule in (by_hand(messages), driven(messages)):
        run = simulate_acknowledged(schedule)
        assert run.stalled == ()
        assert run.simulation.complete
        assert run.simulation.steps == 23 * messages
        same(run.simulation, simulate(schedule))
        alike(schedule, [])


@pytest.mark.parametrize("messages", [1, 3])
def test_the_traversals_in_the_catalogue_equal_those_built_by_hand(messages: int) -> None:
    """The traversals send a copy of every message along each of the three trees."""
    for column in ("step", "sender", "receiver", "tree", "unit"):
        assert np.array_equal(getattr(by_hand(messages), column), getattr(driven(messages), column))


@given(st.data())
def test_both_simulators_stall_at_the_same_hops(data: st.DataObject) -> None:
    schedule = data.draw(
        st.sampled_from(
            [by_hand(2), driven(), driven(2, 1), driven(4, 2), driven(spec="S3", copies=2)]
        )
    )
    alike(schedule, data.draw(fault_sets(schedule.topology, schedule.steps + 2)))


def test_a_missing_acknowledgement_stops_only_the_rest_of_that_tree() -> None:
    """Each traversal stops only at its own hop to the dead node."""
    schedule = driven()
    result = simulate_acknowledged(schedule, ["4321"])
    rank = schedule.topology.node("4321")
    for source, tree, hops in result.stalled:
        rows = np.flatnonzero(schedule.tree == tree)
        receivers = schedule.topology.translation(source)[schedule.receiver[rows]].tolist()
        assert source == rank or receivers[hops] == rank
    assert len(result.stalled) == 24 * 3


def test_a_relay_that_dies_between_two_hops_acknowledges_nothing() -> None:
    """The parent of the relay continues only if the relay is alive after all hops below it."""
    schedule = driven()
    receivers = schedule.receiver[schedule.tree == 0].tolist()  # hop i (from 0) is in step i + 1
    senders = schedule.sender[schedule.tree == 0].tolist()
    tried = 0
    for relay in sorted(set(senders) - {0}):
        beyond = {relay}
        for start, other in zip(senders, receivers, strict=True):
            beyond |= {other} if start in beyond else set()
        last = max(receivers.index(node) for node in beyond)
        if last + 1 < len(receivers):
            tried += 1
            stalls = [
                stall_of_the_first(schedule, Fault(relay, step)) for step in (last + 1, last + 2)
            ]
            assert stalls == [last if senders[last] == relay else last + 1, len(receivers)]
    assert tried > 3


def stall_of_the_first(schedule: Schedule, fault: Fault) -> int:
    """Return how many hops the traversal of tree 0 from source 0 executes."""
    stalls = {
        (source, tree): hops
        for source, tree, hops in simulate_acknowledged(schedule, [fault]).stalled
    }
    return stalls.get((0, 0), int(np.count_nonzero(schedule.tree == 0)))


@pytest.mark.parametrize("messages", [1, 2])
def test_with_one_dead_node_on_s4_live_nodes_lack_messages_despite_three_copies(
    messages: int,
) -> None:
    """For every dead node, fixed steps deliver all units, but acknowledged execution does not."""
    schedule = driven(messages)
    for rank in range(24):
        assert simulate(schedule, [rank]).complete
        waited = simulate_acknowledged(schedule, [rank]).simulation
        assert not waited.complete
        assert waited.transmissions < simulate(schedule, [rank]).transmissions


def test_with_one_dead_link_on_s4_all_nodes_receive_all_messages() -> None:
    """If the traversal of one tree stalls, another tree delivers the remaining units."""
    schedule = driven()
    for link in links():
        run = simulate_acknowledged(schedule, [link])
        assert run.stalled
        assert run.simulation.complete


@pytest.mark.slow
def test_two_dead_nodes_are_not_tolerated_although_the_paper_says_so() -> None:
    """On S4 three copies survive every pair with fixed steps, and no pair with acknowledgements."""
    schedule = driven()
    for pair in combinations(range(24), 2):
        assert simulate(schedule, pair).complete
        assert not simulate_acknowledged(schedule, pair).simulation.complete


def test_two_dead_links_are_not_tolerated_with_acknowledgements() -> None:
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


def test_a_fault_in_the_last_steps_stops_at_most_the_last_hops() -> None:
    schedule = driven()
    late = simulate_acknowledged(schedule, [Fault("4321", 24)])
    assert late.stalled == ()
    assert late.simulation.complete
    at_the_end = simulate_acknowledged(schedule, [Fault(("1234", "2134"), 23)])
    assert at_the_end.stalled
    assert {hops for _, _, hops in at_the_end.stalled} <= {22, 23}


def test_only_valid_allgathers_that_traverse_trees_depth_first_can_be_executed() -> None:
    """In the last schedule, the first hop is repeated in a step after all others."""
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
            with refused("depth first"):
                simulate_acknowledged(other, faults)


def test_the_hamiltonian_path_is_a_traversal_without_branches() -> None:
    """Each node has one child, so acknowledgements make no difference under faults."""
    schedule = build("S4", "allgather", "hamiltonian-cycle")
    assert simulate_acknowledged(schedule).simulation.complete
    faults = [Fault("4321").on(schedule.topology)]
    same(alike(schedule, faults), simulate(schedule, faults))
