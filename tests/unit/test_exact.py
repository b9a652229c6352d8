"""The alltoall `exact`: independent checkers find that it is valid and takes the fewest steps.

The first steps of the schedule are called the opening. They send messages to the nodes on short
necklaces. A short necklace has fewer than n-1 nodes.
"""

from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import exact_alltoall as page
from oracles import star_graph
from starcast.collectives import Schedule
from starcast.collectives import schedule as build
from starcast.judges.simulator import simulate
from support.examples import max_examples
from support.meeting import plain_rows
from support.simulator_cases import MUTATIONS, mutate

#: All pairs of n from 2 to 6 and a number of messages from 1 to 2n.
SMALL = [(n, messages) for n in range(2, 7) for messages in range(1, 2 * n + 1)]


@cache
def exact(n: int, messages: int = 1) -> Schedule:
    """Return the schedule `exact` of one source, the identity."""
    return build(f"S{n}", "alltoall", "exact", messages=messages)


@pytest.mark.parametrize(
    ("n", "messages"), [*SMALL, (7, 1), (7, 2), (7, 5), (7, 6), (7, 7), (8, 1), (8, 2), (8, 3)]
)
def test_the_exact_alltoall_takes_the_minimum_number_of_steps(n: int, messages: int) -> None:
    """For M messages per pair of nodes of S_n, the simulator counts M n! t_n transmissions.

    Here t_n is the sum of the distances from one node, so all paths are shortest paths. The oracle
    finds no problem in the schedules on small stars. On larger stars, the oracle is slow, so only
    the simulator checks the schedules.

    The idle steps of all links of a node add up to less than n-1.
    """
    schedule = exact(n, messages)
    if n < 7 or (n, messages) == (7, 1):
        assert page.problems(plain_rows(schedule), n, messages) == set()
    run, nodes = simulate(schedule), schedule.topology.nodes
    assert run.violation is None
    assert run.complete
    assert run.missing == 0
    assert run.steps == page.fewest_steps(n, messages)
    assert run.transmissions == nodes * messages * star_graph.distance_sum_formula(n)
    assert run.largest_packet == 1
    idle = run.steps * (n - 1) - messages * star_graph.distance_sum_formula(n)
    assert idle < n - 1
    assert int(np.sum(nodes * (n - 1) - run.links_used)) == nodes * idle


@given(st.integers(2, 5), st.integers(1, 60))
@max_examples(15)
def test_the_exact_alltoall_takes_the_minimum_number_of_steps_for_random_message_counts(
    n: int, messages: int
) -> None:
    schedule = build(f"S{n}", "alltoall", "exact", messages=messages)
    assert page.problems(plain_rows(schedule), n, messages) == set()


@given(st.data())
@max_examples(60)
def test_the_oracle_and_the_simulator_agree_on_mutated_alltoall_schedules(
    data: st.DataObject,
) -> None:
    """The oracle accepts a schedule if and only if the schedule has three properties.

    It is complete, takes the minimum number of steps, and has no additional rows. Mutations that
    replace a receiver or a port are omitted.
    """
    valid = set(MUTATIONS) - {"another receiver", "another port"}
    way = data.draw(st.sampled_from(sorted(valid)))
    broken = mutate(data.draw, exact(4), way)
    run = simulate(broken)
    assert (page.problems(plain_rows(broken), 4, 1) == set()) == (
        run.complete and run.steps == page.fewest_steps(4, 1) and len(broken) == len(exact(4))
    )


def test_the_exact_alltoall_uses_all_links_in_every_step_after_its_opening() -> None:
    """The opening consists of the first steps, up to the last hop to a node on a short necklace.

    The opening may take more steps than necessary. For every additional step, the messages to one
    full necklace leave the root early, on links that would otherwise be idle. The nearest necklaces
    come first.
    """
    for n, messages in [(3, 1), (4, 1), (4, 2), (5, 1), (5, 3), (6, 2), (7, 1)]:
        schedule = exact(n, messages)
        short = np.isin(
            schedule.unit // messages, [star_graph.ranks(n)[x] for x in page.short_nodes(n)]
        )
        opening = int(schedule.step[short].max())
        used = np.bincount(schedule.step)[opening + 1 :]
        assert np.array_equal(used, np.full(schedule.steps - opening, n - 1))
        early = ~short & (schedule.step <= opening)
        excess = opening - star_graph.ceil_div(messages * page.short_hops(n), n - 1)
        assert not schedule.sender[early].any()
        assert np.array_equal(
            np.bincount(schedule.port[early], minlength=n + 1)[2:], np.full(n - 1, excess)
        )
        distances = schedule.topology.distances()[schedule.unit // messages]
        assert (
            distances[early].max(initial=0)
            <= distances[~early & ~short & (schedule.sender == 0)].min()
        )
