"""Alltoall by Rule 9, Rule 10 and one-port (Fragopoulou & Akl 1993, sections 7 and 8).

A0 and A6 are sections of docs/definitions/fragopoulou-akl.md; its last section lists pitfalls.
"""

from itertools import groupby, pairwise
from math import factorial
from typing import Any

import numpy as np
import pytest

from oracles import rotation, schedule_rows, star_graph
from oracles import scatter as page
from starcast.collectives import Schedule, algorithms
from starcast.collectives import schedule as build
from starcast.collectives.catalogue import find
from starcast.judges.simulator import simulate
from starcast.topologies import topology
from starcast.trees import forest
from support.meeting import plain_rows, refused, roots

EXCHANGES = ("necklace", "perfectly-balanced", "one-port")


def shares(n: int, algorithm: str, most: int) -> list[int]:
    """Return numbers of messages that an algorithm accepts, at most `most`."""
    given = {
        "necklace": [1],
        "perfectly-balanced": [] if n == 2 else [n - 1, 2 * (n - 1)],
        "one-port": [1, 2, n - 1, n],
    }
    return sorted({m for m in given[algorithm] if m <= most})


def cases(sizes: range, most: int = 99) -> list[tuple[int, str, int]]:
    """Return cases (n, algorithm, messages) for these sizes, with at most `most` messages."""
    return [
        (n, algorithm, m)
        for n in sizes
        for algorithm in EXCHANGES
        for m in shares(n, algorithm, most)
    ]


def schedule(
    n: int, algorithm: str, messages: int, root: star_graph.Node | None = None
) -> Schedule:
    """Return the schedule that starcast builds."""
    arguments: dict[str, Any] = {} if algorithm == "necklace" else {"messages": messages}
    return build(
        f"S{n}",
        "alltoall",
        algorithm,
        root=star_graph.label(root or star_graph.identity(n)),
        **arguments,
    )


def steps(n: int, algorithm: str, messages: int) -> int:
    """Return the number of steps stated in Table 3 and section A6.

    Rule 9 takes as many steps as the sum of the necklaces' distances from the identity.
    """
    total = messages * star_graph.distance_sum(n)
    return {
        "necklace": sum(rotation.necklace_distances(n)),
        "perfectly-balanced": total // (n - 1),
        "one-port": total,
    }[algorithm]


@pytest.mark.parametrize(("n", "algorithm", "messages"), cases(range(2, 5)))
def test_rows_equal_those_of_the_oracle_for_every_source(
    n: int, algorithm: str, messages: int
) -> None:
    for source in roots(n):
        expected = page.EXCHANGED[algorithm](source, messages)
        assert sorted(plain_rows(schedule(n, algorithm, messages, source))) == sorted(expected)


@pytest.mark.parametrize(("n", "algorithm", "messages"), cases(range(5, 7), 8))
def test_rows_equal_those_of_the_oracle_on_larger_stars(
    n: int, algorithm: str, messages: int
) -> None:
    source = star_graph.nodes(n)[-1]
    expected = page.EXCHANGED[algorithm](source, messages)
    assert sorted(plain_rows(schedule(n, algorithm, messages, source))) == sorted(expected)


@pytest.mark.parametrize(("n", "algorithm", "messages"), cases(range(2, 8), 12))
def test_steps_and_transmissions_are_those_of_table_3(
    n: int, algorithm: str, messages: int
) -> None:
    """Steps and transmissions are known before the schedule is built, and the simulator agrees.

    The translated schedules of all sources do not conflict if and only if the dimensions of each
    step are pairwise different (A0). A one-port schedule uses one dimension per step.
    """
    s = schedule(n, algorithm, messages)
    assert s.steps == steps(n, algorithm, messages)
    assert len(s) == messages * star_graph.distance_sum_formula(n)
    assert find("alltoall", algorithm).rows(topology(f"S{n}"), dict(s.arguments)) == len(s)
    dimensions = np.stack([s.step, s.port])
    assert np.unique(dimensions, axis=1).shape == dimensions.shape
    if algorithm == "one-port":
        assert s.step.tolist() == [*range(1, len(s) + 1)]
    run = simulate(schedule(n, algorithm, messages, star_graph.nodes(n)[-1]))
    assert run.violation is None
    assert run.complete
    assert (run.steps, run.largest_packet) == (s.steps, 1)
    assert run.transmissions == messages * star_graph.distance_sum(n) * factorial(n)


@pytest.mark.parametrize("n", range(3, 8))
def test_rule_10_meets_the_bound_and_keeps_every_dimension_busy(n: int) -> None:
    s = schedule(n, "perfectly-balanced", n - 1)
    used = np.bincount((s.step - 1) * (n - 1) + s.port - 2, minlength=s.steps * (n - 1))
    assert s.steps == star_graph.distance_sum(n)
    assert (used == 1).all()


@pytest.mark.parametrize(("n", "algorithm", "messages"), cases(range(2, 6), 4))
def test_the_expanded_schedule_is_complete_and_has_the_same_steps_packets_and_links(
    n: int, algorithm: str, messages: int
) -> None:
    """The rows of all sources are simulated for n up to 5."""
    symmetric = schedule(n, algorithm, messages)
    run, entry = simulate(symmetric.expand()), simulate(symmetric)
    assert run.violation is None
    assert run.complete
    assert (run.steps, run.transmissions, run.largest_packet) == (
        entry.steps,
        entry.transmissions,
        entry.largest_packet,
    )
    assert run.links_used.tolist() == entry.links_used.tolist()


@pytest.mark.parametrize(("n", "algorithm", "messages"), cases(range(2, 5), 3))
def test_the_expanded_schedule_has_the_rows_of_the_oracles_schedule(
    n: int, algorithm: str, messages: int
) -> None:
    """The schedule of any source expands to the same rows."""
    rows = page.EXCHANGED[algorithm](star_graph.identity(n), messages)
    expanded = schedule(n, algorithm, messages, star_graph.nodes(n)[-1]).expand()
    assert sorted(plain_rows(expanded)) == sorted(
        schedule_rows.of_all_sources(rows, messages * factorial(n), addressed=True)
    )
    assert (len(expanded), expanded.symmetric, expanded.units) == (
        len(rows) * factorial(n),
        False,
        messages * factorial(n) ** 2,
    )


@pytest.mark.parametrize("algorithm", ["necklace", "perfectly-balanced"])
def test_two_hops_over_one_dimension_in_a_step_make_two_sources_collide(algorithm: str) -> None:
    """The test checks the converse of Theorem 2.

    It moves one hop to the previous step, which already uses all three dimensions.
    """
    s = schedule(4, algorithm, 3)
    rows = plain_rows(s)
    moved = next(
        row for row in rows if row.step > 1 and len(page.ports_by_step(rows)[row.step - 2]) == 3
    )
    early = [row._replace(step=row.step - 1) if row == moved else row for row in rows]
    messages = 1 if algorithm == "necklace" else 3
    expanded = schedule_rows.of_all_sources(early, messages * factorial(4), addressed=True)
    assert len({(row.step, row.sender, row.port) for row in expanded}) < len(expanded)


@pytest.mark.parametrize(("n", "algorithm", "messages"), cases(range(3, 6), 4))
def test_groups_of_messages_are_sent_one_after_the_other_nearest_first(
    n: int, algorithm: str, messages: int
) -> None:
    """The messages of a group have equally long paths, start together and never wait.

    Rules 9 and 10 serve the nearest nodes first (pitfall 14).
    """
    flights = page.flights(plain_rows(schedule(n, algorithm, messages)))
    times = sorted((rows[0].step, rows[-1].step) for rows in flights.values())
    assert all(
        last - first + 1 == len(rows)
        for (first, last), rows in zip(times, sorted_by_start(flights), strict=True)
    )
    groups = [list(together)[0] for _, together in groupby(times)]  # noqa: RUF015 - the group is used up by groupby
    assert [first for first, _ in groups] == [1, *(last + 1 for _, last in groups[:-1])]
    lengths = [last - first + 1 for first, last in groups]
    assert all(before <= after for before, after in pairwise(lengths))


def sorted_by_start(flights: dict[int, list[schedule_rows.Row]]) -> list[list[schedule_rows.Row]]:
    """Return the rows of each unit.

    Units are sorted by their first step, then by their last step.
    """
    return sorted(flights.values(), key=lambda rows: (rows[0].step, rows[-1].step))


def test_rule_9_sends_each_group_of_messages_to_the_nodes_of_one_necklace() -> None:
    """The nearest necklaces are first, and each node of a necklace gets one message."""
    for n in range(3, 7):
        flights = page.flights(plain_rows(schedule(n, "necklace", 1)))
        groups: dict[int, set[star_graph.Node]] = {}
        for rows in flights.values():
            groups.setdefault(rows[0].step, set()).add(rows[-1].receiver)
        assert [groups[step] for step in sorted(groups)] == [
            set(ring) for ring in rotation.nearest_first(n)
        ]


@pytest.mark.parametrize("n", range(3, 7))
def test_every_group_of_rule_10_has_n_minus_1_messages(n: int) -> None:
    """With M messages per node, a necklace of p nodes receives M p/(n-1) groups.

    Each group has one message per subtree. If a necklace has one node, that node receives all n-1
    messages of a group (pitfall 13).
    """
    messages = 2 * (n - 1)
    groups: dict[int, list[schedule_rows.Row]] = {}
    for rows in page.flights(plain_rows(schedule(n, "perfectly-balanced", messages))).values():
        groups.setdefault(rows[0].step, []).append(rows[-1])
    count: dict[star_graph.Node, int] = {}
    for arrivals in groups.values():
        assert sorted(row.tree for row in arrivals) == [*range(n - 1)]
        (leader,) = {min(rotation.necklace(row.receiver)) for row in arrivals}
        assert {row.receiver for row in arrivals} == set(rotation.necklace(leader))
        count[leader] = count.get(leader, 0) + 1
    assert count == {ring[0]: messages * len(ring) // (n - 1) for ring in rotation.necklaces(n)}


def test_alltoall_schedules_have_the_expected_id_ports_and_number_of_units() -> None:
    for algorithm in EXCHANGES:
        messages = 1 if algorithm == "necklace" else 8
        s = schedule(5, algorithm, messages, (5, 4, 3, 2, 1))
        ports = "one" if algorithm == "one-port" else "all"
        text = "" if algorithm == "necklace" else "messages=8"
        assert (s.collective, s.ports, s.root, s.packets, s.symmetric) == (
            "alltoall",
            ports,
            119,
            False,
            True,
        )
        assert s.units == messages * factorial(5)
        assert s.id == f"S5:alltoall:{algorithm}:{ports}:{text}:54321"
        name = find("alltoall", algorithm).forest_construction(s.topology, ports, s.arguments)
        assert s.forest is not None
        assert name is not None
        assert s.forest.id == f"S5:{name}:54321"
        assert np.array_equal(s.forest.parent_port, forest("S5", name, root="54321").parent_port)
        assert np.array_equal(s.forest.parents()[s.tree, s.receiver], s.sender)


def test_the_number_of_messages_has_a_default() -> None:
    """By default, Rule 10 sends n-1 messages, and one-port sends one message.

    Rule 9 has no argument for the number of messages.
    """
    assert {row.name for row in algorithms("alltoall")} >= set(EXCHANGES)
    assert dict(build("S5", "alltoall", "necklace").arguments) == {}
    assert dict(build("S5", "alltoall", "perfectly-balanced").arguments) == {"messages": 4}
    assert dict(build("S5", "alltoall", "one-port").arguments) == {"messages": 1}


def test_bad_input_is_refused() -> None:
    for messages in (1, 3, 5, 6):
        with refused("alltoall by perfectly-balanced", "multiple"):
            build("S5", "alltoall", "perfectly-balanced", messages=messages)
    with refused("messages"):
        build("S5", "alltoall", "necklace", messages=2)
    with refused("port model"):
        build("S5", "alltoall", "one-port", ports="all")
    with refused("S2"):
        build("S2", "alltoall", "perfectly-balanced")
    with refused("S5,3"):
        build("S5,3", "alltoall", "necklace")
