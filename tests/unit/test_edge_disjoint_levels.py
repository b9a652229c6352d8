"""Levels of edge-disjoint trees and rows of their schedules, computed without the trees.

The detour of a node in a tree is the length of its tree path minus its distance: 0, 2 or 4.
"""

from collections import Counter

import numpy as np
import pytest

from starcast.collectives import edge_disjoint as addressed
from starcast.collectives import schedule
from starcast.collectives.model import MAX_ROWS
from starcast.support.errors import LimitError
from starcast.topologies import permutations, topology
from starcast.topologies.necklaces import necklaces, short_necklaces
from starcast.trees import Forest, forest
from starcast.trees.edge_disjoint import detours, level_sum


def test_computed_detours_equal_those_counted_in_the_built_trees() -> None:
    """The test counts how many nodes have each combination of detours in the n-1 trees."""
    for n in range(2, 9):
        network = topology(f"S{n}")
        longer = (forest(network, "edge-disjoint").levels() - network.distances())[:, 1:]
        assert set(np.unique(longer).tolist()) <= {0, 2, 4}
        each = zip(
            *(np.count_nonzero(longer == detour, axis=0).tolist() for detour in (0, 2, 4)),
            strict=True,
        )
        kinds = Counter[tuple[int, int, int]]()
        for nodes, *kind in detours(n):
            none, two, four = kind
            kinds[none, two, four] += nodes
        assert +kinds == Counter(each)


def test_distances_and_detours_add_up_to_the_level_sum() -> None:
    """The level sum comes from a closed form, so the test includes stars too large to build."""
    for n in range(2, 13):
        network = topology(f"S{n}")
        kinds = list(detours(n))
        assert sum(kind.nodes for kind in kinds) == network.nodes - 1
        longer = sum(kind.nodes * (2 * kind.two + 4 * kind.four) for kind in kinds)
        assert longer == (n - 1) * (level_sum(network) - network.distance_sum)


def test_short_necklaces_are_those_with_a_period_below_n_minus_1() -> None:
    for n in range(2, 10):
        short = np.flatnonzero(necklaces(n).period < n - 1)
        assert permutations.rank(short_necklaces(n)).tolist() == short[short > 0].tolist()


@pytest.mark.parametrize("n", range(2, 10))
def test_the_rows_of_a_scatter_are_computed_without_building_its_trees(n: int) -> None:
    """The test includes nodes on short necklaces that divide unevenly among the trees."""
    network = topology(f"S{n}")
    along = forest(network, "edge-disjoint")
    levels = along.levels()
    for copies in range(1, n) if n < 8 else (1, 3, 10 - n):
        for messages in (1, 2, 3, n - 1, n + 4) if n < 8 else (1,):
            sent = addressed.assign_copies(along, levels, messages, copies)
            rows = int(levels[sent.tree, sent.destination].sum(dtype=int))
            assert addressed.scatter_transmissions(network, messages, copies) == rows
    # n-1 messages fill all trees evenly, so the rows are proportional to the groups of n-1
    # messages. The second number does not fit into 64 bits.
    few, many = n - 1, (n - 1) * 10**25
    group = addressed.scatter_transmissions(network, few, 1)
    assert addressed.scatter_transmissions(network, many, 1) == group * 10**25


@pytest.mark.parametrize("collective", ["scatter", "gather", "alltoall"])
def test_a_schedule_on_s10_with_too_many_rows_is_refused_without_building_trees(
    collective: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The distances alone would allow three copies. With the detours, there are too many rows."""

    def nothing(*_: object) -> None:
        raise AssertionError("trees were built")

    monkeypatch.setattr(Forest, "__post_init__", nothing)
    network = topology("S10")
    assert 3 * network.distance_sum < MAX_ROWS
    with pytest.raises(LimitError):
        schedule(network, collective, "edge-disjoint", copies=3)


def test_units_for_deep_nodes_can_leave_the_root_before_the_last_steps_of_a_scatter() -> None:
    """For every level L, each tree has at least L-1 units for nodes of levels smaller than L.

    These units can leave the root after those for level L. Therefore, for any number of messages,
    no unit is still on its way when the last one has left the root. Nodes on full necklaces alone
    account for these units, except on S_3, whose trees are the two ways around a ring: if both
    copies are sent, S_3 also needs the node on the short necklace.
    """
    for n in range(3, 9):
        levels = forest(f"S{n}", "edge-disjoint").levels()
        full = np.flatnonzero(necklaces(n).period == n - 1)
        full = full[full > 0]
        short = np.setdiff1d(np.arange(1, topology(f"S{n}").nodes), full)
        for copies in range(1, n):
            nearest = np.sort(levels[:, full], axis=0)[:copies]
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
