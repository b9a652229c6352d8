"""Broadcast along Johnsson & Ho's edge-disjoint trees of the hypercube: rows, steps and faults."""

from collections.abc import Iterator
from functools import cache
from itertools import combinations, islice, product

import pytest

from oracles import edge_disjoint_schedules as page
from oracles import schedule_rows, star_graph
from oracles.hypercube import nodes
from starcast.collectives import Schedule, catalogue
from starcast.collectives import schedule as build
from starcast.judges.simulator import simulate
from starcast.topologies import topology
from support.meeting import plain_rows

CASES = [
    (d, messages, copies)
    for d in range(1, 5)
    for messages in (1, 2, 5)
    for copies in range(1, d + 1)
]


@cache
def schedule(d: int, messages: int, copies: int, root: str | None = None) -> Schedule:
    """Return the broadcast along edge-disjoint binomial trees that starcast builds."""
    at = root or nodes(d)[0]
    return build(
        f"Q{d}", "broadcast", "edge-disjoint-binomial", root=at, messages=messages, copies=copies
    )


@pytest.mark.parametrize(("d", "messages", "copies"), CASES)
def test_the_schedule_has_the_same_rows_as_the_oracle(d: int, messages: int, copies: int) -> None:
    """Every node receives each message through as many trees as the message has copies.

    In each tree, a node sends a unit only after receiving it in that tree.
    """
    for root in (nodes(d)[0], nodes(d)[-1], nodes(d)[2**d // 3]):
        result = plain_rows(schedule(d, messages, copies, root))
        assert len(set(result)) == len(result)
        assert set(result) == page.broadcast_on_cube(root, messages, copies)
        for node, message in product(set(nodes(d)) - {root}, range(messages)):
            trees = [row.tree for row in result if row.receiver == node and row.unit == message]
            assert len(trees) == len(set(trees)) == copies
        assert schedule_rows.execute_apart(result, {root: range(messages)}).lacking == 0


@pytest.mark.parametrize(("d", "messages", "copies"), [*CASES, (6, 7, 4), (8, 9, 3), (10, 4, 10)])
def test_the_numbers_of_steps_and_transmissions_equal_the_formulas(
    d: int, messages: int, copies: int
) -> None:
    """M messages in x copies take ceil(Mx/d) + d steps and Mx(2^d - 1) transmissions.

    Claim EDT.Tab3.ft-broadcast-time states one step less, which is true only on Q_1.
    """
    result = schedule(d, messages, copies)
    run = simulate(result)
    assert run.violation is None
    assert run.complete
    assert run.largest_packet == 1
    assert run.steps == star_graph.ceil_div(messages * copies, d) + (d if d > 1 else 0)
    assert run.transmissions == len(result) == messages * copies * (2**d - 1)
    algorithm = catalogue.find("broadcast", "edge-disjoint-binomial")
    assert algorithm.rows(topology(f"Q{d}"), {"messages": messages, "copies": copies}) == len(
        result
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
