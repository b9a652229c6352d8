"""Collectives along edge-disjoint trees: rows, and numbers of steps and transmissions."""

from functools import cache
from math import factorial

import numpy as np
import pytest

from oracles import rotation, star_graph
from oracles.star_graph import identity
from starcast.collectives import catalogue
from starcast.topologies import topology
from starcast.trees import forest as build_forest
from support.edge_disjoint_cases import (
    COLLECTIVES,
    PAGES,
    built,
    rows,
    tree_levels,
)
from support.meeting import roots

#: Cases (n, messages, copies), with all numbers of copies up to the number of trees, n-1.
SMALL = [
    (n, messages, copies) for n in range(2, 5) for messages in (1, 2, 4) for copies in range(1, n)
]
LARGER = [(5, 1, 1), (5, 2, 3), (5, 3, 4), (6, 1, 2)]
#: Cases (n, messages, copies) for counting steps and transmissions. In some of them the schedule is
#: too large to compare its rows with the oracle.
COUNTED = [
    (n, messages, copies)
    for n in range(2, 7)
    for messages in (1, n)
    for copies in sorted({1, n // 2, n - 1})
]
COUNTED += [(7, 1, 1), (7, 1, 6), (7, 4, 2), (7, 5, 1)]


@pytest.mark.parametrize("collective", COLLECTIVES)
@pytest.mark.parametrize(("n", "messages", "copies"), SMALL + LARGER)
def test_the_schedule_has_the_same_rows_as_the_oracle(
    collective: str, n: int, messages: int, copies: int
) -> None:
    result = rows(collective, n, messages, copies)
    assert len(set(result)) == len(result)
    assert set(result) == PAGES[collective](identity(n), messages, copies)


@pytest.mark.parametrize("collective", COLLECTIVES)
@pytest.mark.parametrize("n", [2, 3, 4])
def test_schedules_at_other_roots_have_the_same_rows_as_the_oracle(collective: str, n: int) -> None:
    """Claim EDT.root: the schedule is translated together with its sources and destinations."""
    for root in roots(n)[1:]:
        assert set(rows(collective, n, 2, n - 1, root)) == PAGES[collective](root, 2, n - 1)


@pytest.mark.parametrize(("n", "messages", "copies"), COUNTED)
def test_the_numbers_of_steps_and_transmissions_equal_the_formulas(
    n: int, messages: int, copies: int
) -> None:
    """The formulas for M messages in x copies use c = ceil(Mx/(n-1)).

    A broadcast takes c + height - 1 steps; claims EDT.SNB and EDT.FT state D + 3 instead of
    height - 1. An allgather takes c(n!-1) steps (EDT.MNB.steps). An alltoall takes c times the
    level sum of a tree; with n-1 copies, this is less than 2 M t_n (EDT.TE.steps). The catalogue
    knows the number of rows before a schedule is built.
    """
    levels, share = tree_levels(n), star_graph.ceil_div(messages * copies, n - 1)
    others, total = factorial(n) - 1, sum(levels.values())
    schedules = {name: built(name, n, messages, copies) for name in COLLECTIVES}
    for name, schedule in schedules.items():
        algorithm = catalogue.find(name, "edge-disjoint")
        arguments = {"messages": messages, "copies": copies}
        assert algorithm.rows(topology(f"S{n}"), arguments) == len(schedule)
    assert schedules["broadcast"].steps == share + max(levels.values()) - 1
    assert schedules["broadcast"].steps <= share + star_graph.diameter(n) + 3
    assert schedules["allgather"].steps == share * others
    for name in ("broadcast", "allgather"):
        assert len(schedules[name]) == messages * copies * others
    assert schedules["alltoall"].steps == share * total
    assert len(schedules["alltoall"]) == messages * copies * total
    distances = sum(star_graph.distances(identity(n)).values())
    assert distances <= total < 2 * distances
    for name in ("allgather", "alltoall"):  # no two sources use a link in one step (Lemma 7)
        schedule = schedules[name]
        assert schedule.symmetric
        assert np.bincount(schedule.step * (n + 1) + schedule.port).max() == 1


@pytest.mark.parametrize("collective", ["scatter", "gather"])
@pytest.mark.parametrize(("n", "messages", "copies"), COUNTED)
def test_scatter_and_gather_take_the_minimum_number_of_steps(
    collective: str, n: int, messages: int, copies: int
) -> None:
    """The minimum is ceil(Mx(n!-1)/(n-1)), the bound of claim EDT.Tab2.ft-scatter-time.

    With n-1 copies it is M(n!-1).
    """
    schedule = built(collective, n, messages, copies)
    assert schedule.steps == star_graph.ceil_div(messages * copies * (factorial(n) - 1), n - 1)
    if copies == n - 1:
        assert schedule.steps == messages * (factorial(n) - 1)
        assert len(schedule) == messages * (n - 1) * sum(tree_levels(n).values())
    at_root = schedule.receiver if collective == "gather" else schedule.sender
    loads = np.bincount(schedule.port[at_root == 0], minlength=n + 1)[2:]
    assert loads.max() - loads.min() <= 1
    assert loads.sum() == messages * copies * (factorial(n) - 1)


def test_units_for_deep_nodes_can_leave_the_root_before_the_last_steps_of_a_scatter() -> None:
    """For every level L, each tree has at least L-1 units for nodes of levels smaller than L.

    These units can leave the root after those for level L. Therefore, for any number of messages,
    no unit is still on its way when the last one has left the root. Nodes on full necklaces alone
    account for these units, except on S_3, whose trees are the two ways around a ring: if both
    copies are sent, S_3 also needs the node on the short necklace.
    """
    for n in range(3, 9):
        levels = build_forest(f"S{n}", "edge-disjoint").levels()
        short = np.setdiff1d(np.arange(1, factorial(n)), whole_necklaces(n))
        for copies in range(1, n):
            nearest = np.sort(levels[:, whole_necklaces(n)], axis=0)[:copies]
            # By symmetry, each tree carries 1/(n-1) of all units for nodes on full necklaces.
            in_all = np.bincount(nearest.reshape(-1), minlength=3 * n)
            assert not (in_all % (n - 1)).any()
            of_tree = (
                np.bincount(levels[0, 1:], minlength=3 * n)
                if copies == n - 1
                else in_all // (n - 1)
            )
            deepest = max(nearest.max(), levels[:, short].max(initial=0))
            assert all(of_tree[1:level].sum() >= level - 1 for level in range(1, deepest + 1))


@cache
def whole_necklaces(n: int) -> list[int]:
    """Return the ranks of the nodes on full necklaces, which have n-1 nodes."""
    return [
        rank for rank, x in enumerate(star_graph.nodes(n)) if len(rotation.necklace(x)) == n - 1
    ]
