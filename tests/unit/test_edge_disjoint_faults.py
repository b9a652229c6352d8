"""Copies along edge-disjoint trees: x copies survive any x-1 faults, but not all sets of x faults.

A fault is a node or link that is down from a given step on. Schedules are built without knowledge
of the faults. Nodes are ranks, and the root has rank 0.
"""

from collections.abc import Iterator
from itertools import pairwise, product
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from starcast.collectives import Schedule
from starcast.collectives import schedule as build
from starcast.judges.simulator import simulate
from support.examples import max_examples
from support.simulator_cases import fault_sets


class Case(NamedTuple):
    """A collective on a topology, with a number of messages and a number of copies."""

    spec: str
    collective: str
    messages: int
    copies: int

    def build(self) -> Schedule:
        """Return the schedule along edge-disjoint trees."""
        name = "edge-disjoint-binomial" if self.spec[0] == "Q" else "edge-disjoint"
        return build(self.spec, self.collective, name, messages=self.messages, copies=self.copies)

    def destinations(self, schedule: Schedule) -> Iterator[tuple[int, int]]:
        """Yield the (unit, node) pairs that must be delivered."""
        nodes = range(1, schedule.topology.nodes)
        for node, message in product(nodes, range(self.messages)):
            if self.collective in ("broadcast", "allgather"):
                yield message, node
            else:
                yield node * self.messages + message, 0 if self.collective == "gather" else node


COLLECTIVES = ("broadcast", "allgather", "scatter", "gather", "alltoall")
SMALL = [
    *(Case("S4", name, *share) for name in COLLECTIVES for share in [(1, 2), (2, 2), (1, 3)]),
    *(Case("S3", name, 2, copies) for name in COLLECTIVES for copies in (1, 2)),
    *(Case("Q3", "broadcast", *share) for share in [(1, 2), (2, 3), (1, 3)]),
]
LARGE = [
    *(Case("S5", name, *share) for name in COLLECTIVES for share in [(1, 2), (2, 3), (1, 4)]),
    *(Case("S6", name, 1, copies) for name in ("broadcast", "scatter") for copies in (3, 5)),
    *(Case("Q4", "broadcast", *share) for share in [(3, 2), (1, 3), (1, 4)]),
]


def paths_of_copies(schedule: Schedule) -> dict[tuple[int, int], list[list[tuple[int, int]]]]:
    """For each unit and node, return the paths over which copies of the unit reach the node.

    A path is the list of its links from the last to the first. In a tree, a node forwards only the
    copies that it receives in this tree.
    """
    columns = (schedule.tree, schedule.unit, schedule.receiver, schedule.step, schedule.sender)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    inlets = {(tree, unit, node): (step, sender) for tree, unit, node, step, sender in rows}
    assert len(inlets) == len(schedule)
    paths: dict[tuple[int, int], list[list[tuple[int, int]]]] = {}
    for tree, unit, node in inlets:
        links, steps, end = [], [], node
        while (tree, unit, end) in inlets:
            step, sender = inlets[tree, unit, end]
            links.append((sender, end))
            steps.append(step)
            end = sender
        assert all(later > earlier for later, earlier in pairwise(steps))
        paths.setdefault((unit, node), []).append(links)
    return paths


@pytest.mark.parametrize("case", [*SMALL, *LARGE], ids=lambda case: " ".join(map(str, case)))
def test_the_copies_of_a_unit_share_no_link_and_no_inner_node(case: Case) -> None:
    """Therefore, x-1 faults block at most x-1 of x copies, whenever the faults begin."""
    schedule = case.build()
    paths = paths_of_copies(schedule)
    for pair in case.destinations(schedule):
        assert len(paths[pair]) == case.copies
        inner = [sender for path in paths[pair] for sender, _ in path[:-1]]
        links = [frozenset(link) for path in paths[pair] for link in path]
        assert len(set(inner)) == len(inner)
        assert len(set(links)) == len(links)


@max_examples(20)
@given(st.sampled_from([case for case in SMALL if case.copies > 1]), st.data())
def test_fewer_faults_than_copies_lose_no_unit(case: Case, data: st.DataObject) -> None:
    schedule = case.build()
    drawn = data.draw(fault_sets(schedule.topology, schedule.steps + 1, most=case.copies - 1))
    root = schedule.topology.label(0)
    assert simulate(schedule, [fault for fault in drawn if fault.what != root]).complete


@pytest.mark.parametrize("case", SMALL, ids=lambda case: " ".join(map(str, case)))
def test_a_unit_is_lost_if_the_last_links_of_all_its_copies_fail(case: Case) -> None:
    """If one of the last links still works, the unit arrives."""
    schedule = case.build()
    paths, pairs = paths_of_copies(schedule), list(case.destinations(schedule))
    for pair in pairs[:: 1 + len(pairs) // 12]:
        last = [path[0] for path in paths[pair]]
        assert not simulate(schedule, last).complete
        assert simulate(schedule, last[1:]).complete
