"""Alltoall by Rule 9, Rule 10 and one-port (Fragopoulou & Akl 1993, sections 7 and 8).

A0 and A6 are sections of docs/definitions/fragopoulou-akl.md; its last section lists pitfalls.
"""

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
from support.meeting import plain_rows, roots

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


def test_the_number_of_messages_has_a_default() -> None:
    """By default, Rule 10 sends n-1 messages, and one-port sends one message.

    Rule 9 has no argument for the number of messages.
    """
    assert {row.name for row in algorithms("alltoall")} >= set(EXCHANGES)
    assert dict(build("S5", "alltoall", "necklace").arguments) == {}
    assert dict(build("S5", "alltoall", "perfectly-balanced").arguments) == {"messages": 4}
    assert dict(build("S5", "alltoall", "one-port").arguments) == {"messages": 1}
