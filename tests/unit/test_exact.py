"""The alltoall `exact`: independent checkers find that it is valid and takes the fewest steps.

Its first steps, the opening, send to the nodes on short necklaces, which have fewer than n-1 nodes.
"""

from collections.abc import Callable
from dataclasses import replace
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

COLUMNS = ("step", "sender", "port", "receiver", "tree", "unit")
#: Pairs of n and the number M of messages, with all M up to 2n for small n.
SMALL = [(n, messages) for n in range(2, 7) for messages in range(1, 2 * n + 1)]


@cache
def exact(n: int, messages: int = 1) -> Schedule:
    """Return the schedule `exact` of one source, the identity."""
    return build(f"S{n}", "alltoall", "exact", messages=messages)


@pytest.mark.parametrize(
    ("n", "messages"), [*SMALL, (7, 1), (7, 2), (7, 5), (7, 6), (7, 7), (8, 1), (8, 2), (8, 3)]
)
def test_all_messages_arrive_in_the_minimum_number_of_steps(n: int, messages: int) -> None:
    """The checker finds no problem, and the simulator counts M n! t_n transmissions.

    With this many transmissions, all paths are shortest paths. On larger stars, where the checker
    is slow, the simulator alone checks links, deliveries and the steps of all dimensions. Here t_n
    is the sum of the distances from one node. Over all steps, the links of a node are idle fewer
    than n-1 times in total.
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


def test_alltoall_of_one_message_takes_the_known_numbers_of_steps() -> None:
    """The known numbers of steps are those on S_3 to S_7."""
    assert [exact(n).steps for n in range(3, 8)] == [5, 21, 111, 689, 4938]


@given(st.integers(2, 5), st.integers(1, 60))
@max_examples(15)
def test_any_number_of_messages_takes_the_minimum_number_of_steps(n: int, messages: int) -> None:
    schedule = build(f"S{n}", "alltoall", "exact", messages=messages)
    assert page.problems(plain_rows(schedule), n, messages) == set()


def rows(schedule: Schedule, chosen: object) -> Schedule:
    """Return the schedule with only the chosen rows."""
    return replace(schedule, **{name: getattr(schedule, name)[chosen] for name in COLUMNS})


def changed(schedule: Schedule, column: str, row: int, value: int) -> Schedule:
    """Return the schedule with one value replaced."""
    values = getattr(schedule, column).copy()
    values[row] = value
    return replace(schedule, **{column: values})


def rows_of_last_unit(schedule: Schedule) -> list[int]:
    """Return the indices of the rows that send the last unit, in the order of steps."""
    return np.flatnonzero(schedule.unit == schedule.unit.max()).tolist()


def with_two_hops_in_one_step(schedule: Schedule) -> Schedule:
    """Return the schedule with two hops of the same unit in one step."""
    first, second, *_ = rows_of_last_unit(schedule)
    return changed(schedule, "step", second, int(schedule.step[first]))


def with_detour(schedule: Schedule) -> Schedule:
    """Return the schedule with a message that crosses its last link three times."""
    way = np.r_[
        np.arange(len(schedule)), rows_of_last_unit(schedule)[-1], rows_of_last_unit(schedule)[-1]
    ]
    longer, last = rows(schedule, way), len(way) - 1
    longer = changed(longer, "sender", last - 1, int(longer.receiver[last]))
    longer = changed(longer, "receiver", last - 1, int(longer.sender[last]))
    return changed(
        changed(longer, "step", last - 1, schedule.steps + 1), "step", last, schedule.steps + 2
    )


CORRUPTIONS: dict[str, tuple[Callable[[Schedule], Schedule], str]] = {
    "dropped row": (lambda schedule: rows(schedule, np.arange(len(schedule)) != 5), "not"),
    "lost message": (
        lambda schedule: rows(schedule, schedule.unit != 7),
        "not exactly the messages to all other nodes",
    ),
    "early row": (with_two_hops_in_one_step, "not in increasing steps"),
    "detour": (with_detour, "not a shortest path"),
    "one step later": (
        lambda schedule: changed(schedule, "step", -1, schedule.steps + 1),
        "not the fewest steps",
    ),
    "step 0": (
        lambda schedule: replace(schedule, step=schedule.step - 1),
        "a step before the first",
    ),
    "port 1": (lambda schedule: changed(schedule, "port", 9, 1), "no link"),
    "other port": (
        lambda schedule: changed(schedule, "port", 9, schedule.port[9] % 3 + 2),
        "no link",
    ),
    "other receiver": (
        lambda schedule: changed(schedule, "receiver", 9, (schedule.receiver[9] + 1) % 24),
        "the sender does not hold the message",
    ),
    "other message": (
        lambda schedule: changed(schedule, "unit", 9, schedule.unit[9] % 23 + 1),
        "the sender does not hold the message",
    ),
    "doubled row": (
        lambda schedule: rows(schedule, np.r_[np.arange(len(schedule)), 3]),
        "a dimension twice in a step",
    ),
}


def test_the_checker_finds_every_corruption() -> None:
    for corrupt, expected in CORRUPTIONS.values():
        broken = corrupt(exact(4))
        result = page.problems(plain_rows(broken), 4, 1)
        assert any(problem.startswith(expected) for problem in result), result


def test_all_links_are_busy_after_the_opening() -> None:
    """The opening, which serves short necklaces, may exceed the minimum number of steps for them.

    For every excess step, the messages to one full necklace are started early, on links that would
    otherwise be idle. The nearest necklaces come first.
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
