"""Broadcast along Johnsson & Ho's edge-disjoint trees of the hypercube: rows, steps and faults."""

from collections.abc import Iterator
from functools import cache
from itertools import combinations, islice

import pytest

from oracles import schedule_rows
from oracles.hypercube import nodes
from starcast.collectives import Schedule
from starcast.collectives import schedule as build
from starcast.judges.simulator import simulate
from support.meeting import plain_rows


@cache
def schedule(d: int, messages: int, copies: int, root: str | None = None) -> Schedule:
    """Return the broadcast along edge-disjoint binomial trees that starcast builds."""
    at = root or nodes(d)[0]
    return build(
        f"Q{d}", "broadcast", "edge-disjoint-binomial", root=at, messages=messages, copies=copies
    )


def possible_faults(d: int) -> list[tuple[str, ...]]:
    """Return all nodes except the root, and all links."""
    links = [
        (a, b)
        for a, b in combinations(nodes(d), 2)
        if sum(x != y for x, y in zip(a, b, strict=True)) == 1
    ]
    return [*((node,) for node in nodes(d)[1:]), *links]


def fault_sets(d: int, size: int, every: int) -> Iterator[tuple[tuple[str, ...], ...]]:
    """Yield every `every`-th of the sets of `size` faults, as a regular sample."""
    return islice(combinations(possible_faults(d), size), 0, None, every)


@pytest.mark.parametrize(
    ("d", "messages", "copies", "every"),
    [
        (2, 1, 2, 1),
        (3, 1, 2, 1),
        (3, 2, 3, 1),
        (3, 1, 3, 1),
        (4, 3, 2, 1),
        (4, 1, 3, 7),
        (4, 1, 4, 101),
    ],
)
def test_all_live_nodes_receive_all_messages_despite_fewer_faults_than_copies(
    d: int, messages: int, copies: int, every: int
) -> None:
    """On Q_2 and Q_3 all fault sets are tried, on Q_4 some are sampled."""
    result, root = plain_rows(schedule(d, messages, copies)), nodes(d)[0]
    for faults in fault_sets(d, copies - 1, every):
        dead = {fault[0] for fault in faults if len(fault) == 1}
        cut = {frozenset(fault) for fault in faults if len(fault) == 2}
        up = [row for row in result if not {row.sender, row.receiver} & dead]
        up = [row for row in up if frozenset((row.sender, row.receiver)) not in cut]
        got = schedule_rows.execute_apart(up, {root: range(messages)}).holds
        assert all(set(range(messages)) <= got[node] for node in nodes(d) if node not in dead)


@pytest.mark.parametrize(("d", "copies"), [(2, 2), (3, 2), (3, 3), (4, 3)])
def test_as_many_faults_as_copies_can_cut_off_a_node(d: int, copies: int) -> None:
    """A message is lost if the last links of all its copies fail, but not if one of them works."""
    result = schedule(d, 1, copies)
    for node in nodes(d)[1:]:
        last = [(row.sender, row.receiver) for row in plain_rows(result) if row.receiver == node]
        assert len(last) == copies
        assert (node, 0) in simulate(result, last).undelivered
        assert simulate(result, last[1:]).complete
