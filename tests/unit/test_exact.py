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
from oracles import schedule_rows, star_graph
from oracles.scatter_trees import near_balanced
from starcast.collectives import Schedule, catalogue
from starcast.collectives import schedule as build
from starcast.collectives.exact_alltoall import full_necklaces
from starcast.judges.simulator import simulate
from starcast.topologies import as_topology
from support.examples import max_examples
from support.meeting import plain_rows, refused

COLUMNS = ("step", "sender", "port", "receiver", "tree", "unit")
#: Pairs of n and the number M of messages, with all M up to 2n for small n.
SMALL = [(n, messages) for n in range(2, 7) for messages in range(1, 2 * n + 1)]


@cache
def exact(n: int, messages: int = 1) -> Schedule:
    """Return the schedule `exact` of one source, the identity."""
    return build(f"S{n}", "alltoall", "exact", messages=messages)


def array_problems(schedule: Schedule) -> set[str]:
    """Return the violations that the array checker finds in a schedule."""
    messages = schedule.units // schedule.topology.nodes
    columns = (schedule.step, schedule.sender, schedule.port, schedule.receiver, schedule.unit)
    return page.array_problems(*columns, schedule.topology.n, messages)


@pytest.mark.parametrize(
    ("n", "messages"), [*SMALL, (7, 1), (7, 2), (7, 5), (7, 6), (7, 7), (8, 1), (8, 2), (8, 3)]
)
def test_all_messages_arrive_in_the_minimum_number_of_steps(n: int, messages: int) -> None:
    """Two checkers find no problem, and the simulator counts M n! t_n transmissions.

    Here t_n is the sum of the distances from one node. Over all steps, the links of a node are idle
    fewer than n-1 times in total.
    """
    schedule = exact(n, messages)
    assert array_problems(schedule) == set()
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
@max_examples(30)
def test_any_number_of_messages_takes_the_minimum_number_of_steps(n: int, messages: int) -> None:
    assert array_problems(build(f"S{n}", "alltoall", "exact", messages=messages)) == set()


@pytest.mark.parametrize(
    ("n", "messages"),
    [(2, 1), (2, 3), (3, 1), (3, 2), (3, 3), (3, 5), (4, 1), (4, 2), (4, 4), (5, 1)],
)
def test_messages_of_different_sources_never_use_a_link_in_the_same_step(
    n: int, messages: int
) -> None:
    """With all sources, a link carries at most one message per step, and all messages arrive."""
    everything = exact(n, messages).expand()
    assert len(everything) == len(exact(n, messages)) * everything.topology.nodes
    assert page.exchanged(plain_rows(everything), n, messages) == set()


def test_with_n_minus_1_messages_every_link_is_busy_in_every_step() -> None:
    for n in range(2, 8):
        schedule = exact(n, n - 1)
        assert schedule.steps == star_graph.distance_sum_formula(n)
        assert np.array_equal(np.bincount(schedule.step)[1:], np.full(schedule.steps, n - 1))


def test_more_than_n_minus_1_messages_are_sent_in_successive_rounds() -> None:
    """On S_3, for example, 5 messages take two rounds of 2 messages and one round of 1."""
    schedule, round_of_two, rest = exact(3, 5), exact(3, 2), exact(3, 1)
    for number, (part, each) in enumerate([(round_of_two, 2), (round_of_two, 2), (rest, 1)]):
        first = 2 * number
        mine = (schedule.unit % 5 >= first) & (schedule.unit % 5 < first + each)
        assert np.array_equal(
            schedule.step[mine], part.step + number * star_graph.distance_sum_formula(3)
        )
        assert np.array_equal(schedule.sender[mine], part.sender)
        assert np.array_equal(schedule.unit[mine], part.unit // each * 5 + part.unit % each + first)


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


def test_both_checkers_find_every_corruption() -> None:
    for corrupt, expected in CORRUPTIONS.values():
        broken = corrupt(exact(4))
        for result in (page.problems(plain_rows(broken), 4, 1), array_problems(broken)):
            assert any(problem.startswith(expected) for problem in result), result


def test_the_checker_of_all_sources_finds_two_messages_on_a_link_in_one_step() -> None:
    """A row moved from step 5 to step 4 on S_3 uses links that are already busy in step 4."""
    schedule = exact(3)
    crowded = changed(schedule, "step", int(np.flatnonzero(schedule.step == 5)[0]), 4)
    result = page.exchanged(plain_rows(crowded.expand()), 3, 1)
    assert "a directed link twice in a step" in result


def test_nodes_on_full_necklaces_are_reached_along_the_near_balanced_tree() -> None:
    """The paths to a full necklace are rotations of the tree path to its lowest node."""
    for n in range(2, 7):
        tree = near_balanced(star_graph.identity(n))
        short = set(page.short_nodes(n))
        for row in plain_rows(exact(n)):
            destination = star_graph.nodes(n)[row.unit]
            if destination not in short:
                assert tree[row.receiver] == row.sender


def test_full_necklaces_are_sorted_by_distance_then_smallest_node() -> None:
    for n in range(2, 8):
        full = full_necklaces(as_topology(f"S{n}"))
        keys = [
            (length, int(full.nodes[length, column]))
            for column, length in enumerate(full.length.tolist())
        ]
        assert keys == sorted(keys)
        assert len(keys) == page.full_necklaces(n)


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


def test_building_the_schedule_again_gives_the_same_rows() -> None:
    for n, messages in [(2, 1), (3, 1), (5, 3), (6, 7)]:
        once, again = (build(f"S{n}", "alltoall", "exact", messages=messages) for _ in range(2))
        assert all(np.array_equal(getattr(once, name), getattr(again, name)) for name in COLUMNS)


@pytest.mark.parametrize("source", ["1234", "2134", "4132", "3421"])
@pytest.mark.parametrize("messages", [1, 4])
def test_changing_the_source_translates_the_schedule(source: str, messages: int) -> None:
    schedule = build("S4", "alltoall", "exact", root=source, messages=messages)
    q = star_graph.node_of(source)
    back = {star_graph.compose(q, x): x for x in star_graph.nodes(4)}
    ranks = star_graph.ranks(4)

    def home(row: schedule_rows.Row) -> schedule_rows.Row:
        destination, message = divmod(row.unit, messages)
        target = ranks[back[star_graph.nodes(4)[destination]]]
        return row._replace(
            sender=back[row.sender], receiver=back[row.receiver], unit=target * messages + message
        )

    assert sorted(map(home, plain_rows(schedule))) == sorted(plain_rows(exact(4, messages)))
    assert schedule.root == ranks[q]


def test_the_schedule_has_the_expected_metadata() -> None:
    for n in range(2, 8):
        schedule = exact(n, 2)
        algorithm = catalogue.find("alltoall", "exact")
        assert (schedule.collective, schedule.algorithm, schedule.ports, schedule.packets) == (
            "alltoall",
            "exact",
            "all",
            False,
        )
        assert schedule.symmetric
        assert schedule.forest is None
        assert not schedule.tree.any()
        assert schedule.units == 2 * schedule.topology.nodes
        assert dict(schedule.arguments) == {"messages": 2}
        assert algorithm.rows(schedule.topology, {"messages": 2}) == len(schedule)
        assert schedule.topology.distance_sum == star_graph.distance_sum_formula(n)


def test_the_closed_form_of_t_n_equals_the_sum_of_all_distances_from_a_node() -> None:
    """Distances come from the array implementation, and for small n from breadth-first search."""
    for n in range(2, 10):
        topology = as_topology(f"S{n}")
        assert (
            star_graph.distance_sum_formula(n)
            == int(topology.distances().sum())
            == topology.mean_distance * (topology.nodes - 1)
        )
        assert n > 6 or star_graph.distance_sum_formula(n) == sum(
            star_graph.distances(star_graph.identity(n)).values()
        )


def test_invalid_topologies_arguments_and_sizes_are_refused() -> None:
    """The algorithm is for star graphs and all ports, and `messages` is its only argument."""
    for topology in ("Q3", "S4,2"):
        with refused("not defined on", topology):
            build(topology, "alltoall", "exact")
    with refused("no port model"):
        build("S4", "alltoall", "exact", ports="one")
    with refused("no argument 'segments'"):
        build("S4", "alltoall", "exact", segments=2)
    with refused("messages is 0"):
        build("S4", "alltoall", "exact", messages=0)
    with refused("S12", "rows", exit_code=7):
        build("S12", "alltoall", "exact")


def test_the_simulator_accepts_schedules_of_any_source_and_of_all_sources() -> None:
    for source in ["12345", "54321", "31524"]:
        schedule = build("S5", "alltoall", "exact", root=source)
        for run in (simulate(schedule), simulate(schedule.expand())):
            assert (run.violation, run.complete, run.steps) == (None, True, page.fewest_steps(5, 1))
            assert run.transmissions == 120 * star_graph.distance_sum_formula(5)


def test_the_simulator_names_the_step_of_a_violation() -> None:
    for name in ["early row", "port 1", "doubled row", "step 0"]:
        corrupt, _ = CORRUPTIONS[name]
        run = simulate(corrupt(exact(4)))
        assert run.violation is not None
        assert run.violation.startswith("step ")
