"""Copies along edge-disjoint trees: x copies survive any x-1 faults, but not all sets of x faults.

A fault is a node or link that is down from a given step on. Schedules are built without knowledge
of the faults. The oracle executes a schedule and drops the rows whose link or node is down or whose
sender lacks the unit. If it keeps the copies apart, a node forwards in a tree only the units that
arrived in this tree. A unit that arrives in this way also arrives in the simulator, which does not
distinguish the copies of a unit.
"""

from collections.abc import Iterable, Sequence
from functools import cache
from itertools import combinations, permutations

import numpy as np
import pytest

from oracles import schedule_rows, star_graph
from oracles.schedule_rows import Row
from oracles.star_graph import Node, identity, swap
from support.edge_disjoint_cases import (
    COLLECTIVES,
    held_first,
    lacking,
    others,
    required_last,
    rows,
)

#: A faulty node, or the two ends of a faulty link.
Fault = frozenset[Node]


@cache
def links(n: int) -> tuple[Fault, ...]:
    """Return all undirected links of S_n, since a faulty link is down in both directions."""
    return tuple({frozenset((x, swap(x, d))) for x in star_graph.nodes(n) for d in range(2, n + 1)})


@cache
def possible_faults(n: int) -> tuple[Fault, ...]:
    """Return all nodes except the root, and all links."""
    return (*(frozenset((node,)) for node in others(identity(n))), *links(n))


def missing_units(
    collective: str,
    result: Sequence[Row],
    messages: int,
    faults: Iterable[Fault],
    since: int = 1,
    *,
    apart: bool,
) -> set[tuple[Node, int]]:
    """Return the (node, unit) pairs that are not delivered if the faults begin at step `since`.

    The root is the identity and not faulty.
    """
    places = [tuple(fault) for fault in faults]
    dead = {place[0] for place in places if len(place) == 1}
    cut = {ends for place in places if len(place) == 2 for ends in permutations(place)}

    def up(row: Row) -> bool:
        if row.step < since:
            return True
        return not (row.sender in dead or row.receiver in dead or (row.sender, row.receiver) in cut)

    root = identity(len(result[0].sender))
    execute = schedule_rows.execute_apart if apart else schedule_rows.execute
    got = execute(result, held_first(collective, root, messages), up).holds
    return lacking(required_last(collective, root, messages, lambda node: node not in dead), got)


# The following tests use fewer faults than copies.


@pytest.mark.parametrize("collective", COLLECTIVES)
@pytest.mark.parametrize(("messages", "copies"), [(1, 2), (2, 2), (1, 3)])
def test_no_set_of_fewer_faults_than_copies_loses_a_unit(
    collective: str, messages: int, copies: int
) -> None:
    """The test tries all 59 single faults and 1711 pairs of faults on S_4, for one source."""
    result = rows(collective, 4, messages, copies)
    assert len(possible_faults(4)) == 23 + 36
    for count in range(copies):
        for faults in combinations(possible_faults(4), count):
            assert not missing_units(collective, result, messages, faults, apart=True), faults


@pytest.mark.parametrize("collective", COLLECTIVES)
def test_two_copies_survive_a_single_fault_that_begins_at_a_later_step(collective: str) -> None:
    """Every fault on S_4 begins at several steps, one of which is after the end of the schedule."""
    result = rows(collective, 4, 1, 2)
    steps = max(row.step for row in result)
    moments = sorted({2, 3, 5, *np.linspace(1, steps + 1, 4, dtype=int).tolist()})
    for since in moments:
        for fault in possible_faults(4):
            assert not missing_units(collective, result, 1, [fault], since, apart=True), (
                fault,
                since,
            )


@pytest.mark.parametrize("collective", ["broadcast", "scatter"])
@pytest.mark.parametrize(
    ("n", "messages", "copies", "samples"),
    [(5, 1, 2, 12), (5, 2, 3, 12), (5, 1, 4, 25), (6, 1, 3, 4), (6, 1, 5, 4)],
)
def test_sampled_sets_of_fewer_faults_than_copies_on_s5_and_s6_lose_no_unit(
    collective: str, n: int, messages: int, copies: int, samples: int
) -> None:
    """The x-1 faults are drawn from the surroundings of a random node and as many other places.

    The surroundings are the links and the neighbours of the node.
    """
    result, random = rows(collective, n, messages, copies), np.random.default_rng([n, copies])
    for _ in range(samples):
        victim = others(identity(n))[random.integers(len(others(identity(n))))]
        near = [fault for fault in around(victim) if identity(n) not in fault or len(fault) == 2]
        crowd = [
            *near,
            *(
                possible_faults(n)[place]
                for place in random.integers(len(possible_faults(n)), size=len(near)).tolist()
            ),
        ]
        faults = [
            crowd[place]
            for place in random.choice(len(crowd), size=copies - 1, replace=False).tolist()
        ]
        since = int(random.integers(1, 4))
        assert not missing_units(collective, result, messages, faults, since, apart=True), faults


def around(node: Node) -> list[Fault]:
    """Return the neighbours of a node and its links, as possible faults."""
    across = [swap(node, d) for d in range(2, len(node) + 1)]
    return [
        *(frozenset((other,)) for other in across),
        *(frozenset((node, other)) for other in across),
    ]


# The following tests use sets of x faults that lose a unit.


def inlets(result: Sequence[Row], node: Node, unit: int) -> list[Fault]:
    """Return the links over which copies of a unit arrive at a node."""
    return [
        frozenset((row.sender, row.receiver))
        for row in result
        if row.receiver == node and row.unit == unit
    ]


@pytest.mark.parametrize("collective", COLLECTIVES)
@pytest.mark.parametrize(("n", "messages"), [(3, 2), (4, 1), (4, 2)])
def test_a_unit_is_lost_if_the_last_links_of_all_its_copies_fail(
    collective: str, n: int, messages: int
) -> None:
    """If one of the last links still works, the unit arrives."""
    for copies in range(1, n):
        result = rows(collective, n, messages, copies)
        for receiver, units in required_last(collective, identity(n), messages).items():
            for unit in units:
                last = inlets(result, receiver, unit)
                assert len(set(last)) == copies
                assert (receiver, unit) in missing_units(
                    collective, result, messages, last, apart=False
                )
                assert not missing_units(collective, result, messages, last[1:], apart=True)


# The following tests compare the simulator with the oracle.
