"""Collectives along edge-disjoint trees: rows, validity, delivered units, numbers of steps."""

from collections import Counter
from functools import cache
from math import factorial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import edge_disjoint_schedules as page
from oracles import rotation, schedule_rows, star_graph
from oracles.schedule_rows import execute_apart
from oracles.star_graph import identity
from starcast.collectives import catalogue
from starcast.collectives.edge_disjoint import assign_round_robin
from starcast.topologies import topology
from starcast.trees import forest as build_forest
from support.edge_disjoint_cases import (
    ADDRESSED,
    COLLECTIVES,
    PAGES,
    built,
    held_first,
    lacking,
    required_last,
    rows,
    tree_levels,
)
from support.examples import max_examples
from support.meeting import plain_rows, refused, roots

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


@given(st.integers(1, 40), st.data())
def test_copies_are_distributed_evenly_over_different_trees(
    trees: int, data: st.DataObject
) -> None:
    messages, copies = data.draw(st.integers(1, 30)), data.draw(st.integers(1, trees))
    assignment = assign_round_robin(messages, copies, trees)
    hands = page.queues(messages, copies, trees)
    by_tree: list[list[int]] = [[] for _ in range(trees)]
    for message, tree, place in zip(
        assignment.message.tolist(),
        assignment.tree.tolist(),
        assignment.position.tolist(),
        strict=True,
    ):
        assert place == len(by_tree[tree])
        by_tree[tree].append(message)
    assert by_tree == [[message for message, _ in hand] for hand in hands]
    assert (
        max(map(len, hands)) == assignment.largest == star_graph.ceil_div(messages * copies, trees)
    )
    assert max(map(len, hands)) - min(map(len, hands)) <= 1
    assert set(
        Counter(zip(assignment.message.tolist(), assignment.tree.tolist(), strict=True)).values()
    ) == {1}
    assert set(Counter(assignment.message.tolist()).values()) == {copies}


@pytest.mark.parametrize("collective", COLLECTIVES)
@pytest.mark.parametrize(("n", "messages", "copies"), SMALL + LARGER)
def test_the_schedule_has_the_same_rows_as_the_oracle(
    collective: str, n: int, messages: int, copies: int
) -> None:
    """A node forwards in each tree only the units that it received in that tree.

    No directed link carries two units in a step. A unit reaches each of its destinations x times,
    each time through another tree.
    """
    root, result = identity(n), rows(collective, n, messages, copies)
    assert len(set(result)) == len(result)
    assert set(result) == PAGES[collective](root, messages, copies)
    assert schedule_rows.is_sound(result)
    got, _, late = execute_apart(result, held_first(collective, root, messages))
    assert late == 0
    required = required_last(collective, root, messages)
    assert not lacking(required, got)
    arrivals = Counter((row.receiver, row.unit, row.tree) for row in result)
    for node, units in required.items():
        for unit in units:
            times = [arrivals[node, unit, tree] for tree in range(n - 1)]
            assert sorted(times, reverse=True) == [1] * copies + [0] * (n - 1 - copies)


@pytest.mark.parametrize("collective", COLLECTIVES)
@pytest.mark.parametrize("n", [2, 3, 4])
def test_schedules_at_other_roots_have_the_same_rows_as_the_oracle(collective: str, n: int) -> None:
    """Claim EDT.root: the schedule is translated together with its sources and destinations."""
    for root in roots(n)[1:]:
        assert set(rows(collective, n, 2, n - 1, root)) == PAGES[collective](root, 2, n - 1)


@max_examples(12)
@given(st.sampled_from(COLLECTIVES), st.integers(2, 5), st.data())
def test_schedules_for_random_arguments_have_the_same_rows_as_the_oracle(
    collective: str, n: int, data: st.DataObject
) -> None:
    messages, copies = data.draw(st.integers(1, 6)), data.draw(st.integers(1, n - 1))
    root = data.draw(st.sampled_from(star_graph.nodes(n)))
    assert set(rows(collective, n, messages, copies, root)) == PAGES[collective](
        root, messages, copies
    )


@pytest.mark.parametrize("collective", COLLECTIVES)
def test_every_row_uses_a_link_of_the_tree_that_it_names(collective: str) -> None:
    """The column `tree` has the number of a tree of the forest. A gather sends to the parent."""
    root = star_graph.nodes(5)[77]
    schedule = built(collective, 5, 2, 3, root)
    forest = build_forest("S5", "edge-disjoint", root=star_graph.label(root))
    assert schedule.forest is not None
    assert (schedule.forest.parent_port == forest.parent_port).all()
    child, parent = (
        (schedule.sender, schedule.receiver)
        if collective == "gather"
        else (schedule.receiver, schedule.sender)
    )
    assert (forest.parents()[schedule.tree, child] == parent).all()


@pytest.mark.parametrize("n", [3, 4, 5])
def test_a_gather_is_a_scatter_run_backwards(n: int) -> None:
    scatter, back = built("scatter", n, 2, n - 1), built("gather", n, 2, n - 1)
    assert scatter.steps == back.steps
    assert set(rows("gather", n, 2, n - 1)) == set(
        schedule_rows.backwards(rows("scatter", n, 2, n - 1))
    )


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


@pytest.mark.parametrize("collective", ["allgather", "alltoall"])
@pytest.mark.parametrize(("n", "messages", "copies"), SMALL)
def test_the_expanded_schedule_has_no_conflicts_and_delivers_all_units(
    collective: str, n: int, messages: int, copies: int
) -> None:
    """The translated rows of all sources equal those of `expand`, and all units arrive."""
    single = built(collective, n, messages, copies)
    addressed = collective in ADDRESSED
    together = schedule_rows.of_all_sources(
        rows(collective, n, messages, copies), single.units, addressed
    )
    every = star_graph.nodes(n)
    assert sorted(together) == sorted(plain_rows(single.expand()))
    assert schedule_rows.is_sound(together)
    got, _, late = execute_apart(
        together,
        {
            source: range(at * single.units, (at + 1) * single.units)
            for at, source in enumerate(every)
        },
    )
    assert late == 0
    for place, node in enumerate(every):
        for source in range(len(every)):
            first = source * single.units + (place * messages if addressed else 0)
            assert set(range(first, first + messages)) <= got[node]


@pytest.mark.parametrize("n", [4, 5, 6, 7])
def test_a_single_copy_of_a_scatter_uses_the_tree_with_the_shortest_path(n: int) -> None:
    """The paper leaves this choice open.

    The test checks only the nodes on full necklaces, since only these can use any tree.
    """
    schedule, levels = built("scatter", n, 1, 1), build_forest(f"S{n}", "edge-disjoint").levels()
    arrives = schedule.receiver == schedule.unit
    node, tree = schedule.receiver[arrives], schedule.tree[arrives]
    full = np.isin(node, whole_necklaces(n))
    assert (levels[tree, node] == levels[:, node].min(axis=0))[full].all()
    assert len(schedule) * (n - 1) < len(built("scatter", n, 1, n - 1))


@pytest.mark.parametrize("n", [4, 5, 6])
def test_an_alltoall_serves_near_nodes_first(n: int) -> None:
    """Destinations are sorted by level in the first tree. One on level L takes L steps."""
    schedule, levels = (
        built("alltoall", n, 1, n - 1),
        build_forest(f"S{n}", "edge-disjoint").levels()[0],
    )
    arrives = (schedule.receiver == schedule.unit) & (schedule.tree == 0)
    node = schedule.receiver[arrives]
    order = node[np.argsort(schedule.step[arrives])]
    assert (np.lexsort((np.arange(factorial(n)), levels))[1:] == order).all()
    assert (np.sort(schedule.step[arrives]) == np.cumsum(levels[order])).all()


@pytest.mark.parametrize("collective", COLLECTIVES)
def test_invalid_arguments_and_topologies_are_refused(collective: str) -> None:
    with refused("copies", "4", "3"):
        built(collective, 4, 1, 4)
    with refused("copies", "0"):
        built(collective, 4, 1, 0)
    with refused("messages", "0"):
        built(collective, 4, 0, 1)
    with refused("port model", "one"):
        catalogue.schedule("S4", collective, "edge-disjoint", ports="one")
    with refused("not defined", "Q3"):
        catalogue.schedule("Q3", collective, "edge-disjoint")


@pytest.mark.parametrize("collective", COLLECTIVES)
def test_schedules_with_too_many_rows_are_refused_before_they_are_built(collective: str) -> None:
    with refused("rows", exit_code=7):
        built(collective, 7, 10**5, 6)
