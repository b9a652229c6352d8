"""Levels of edge-disjoint trees, and numbers of schedule rows computed without the trees.

The detour of a node in a tree is the length of its tree path minus its distance: 0, 2 or 4.
"""

import numpy as np
import pytest

from starcast.collectives import edge_disjoint as addressed
from starcast.collectives import schedule
from starcast.collectives.model import MAX_ROWS
from starcast.support.errors import LimitError
from starcast.topologies import topology
from starcast.topologies.necklaces import necklaces
from starcast.trees import Forest, forest


@pytest.mark.parametrize("n", [7, 2, 3, 4, 5, 6, 8, 9])
def test_the_row_count_of_a_scatter_along_edge_disjoint_trees_needs_no_trees(n: int) -> None:
    """The computed number of rows equals the sum of the levels at which the trees deliver units.

    In some cases, the nodes on short necklaces cannot be divided evenly among the trees.
    """
    network = topology(f"S{n}")
    along = forest(network, "edge-disjoint")
    levels = along.levels()
    for copies in range(1, n) if n < 8 else (1, 3, 10 - n):
        for messages in (1, 2, 3, n - 1, n + 4) if n < 8 else (1,):
            sent = addressed.assign_copies(along, levels, messages, copies)
            rows = int(levels[sent.tree, sent.destination].sum(dtype=int))
            assert addressed.scatter_transmissions(network, messages, copies) == rows
    # n-1 messages fill all trees evenly, so the number of rows is proportional to the number of
    # groups of n-1 messages. The number ``many`` does not fit into 64 bits.
    few, many = n - 1, (n - 1) * 10**25
    group = addressed.scatter_transmissions(network, few, 1)
    assert addressed.scatter_transmissions(network, many, 1) == group * 10**25


@pytest.mark.parametrize("collective", ["scatter", "gather", "alltoall"])
def test_a_schedule_on_s10_with_too_many_rows_is_refused_without_building_trees(
    collective: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three copies on shortest paths would be within the limit. Detours add too many rows."""

    def nothing(*_: object) -> None:
        raise AssertionError("trees were built")

    monkeypatch.setattr(Forest, "__post_init__", nothing)
    network = topology("S10")
    assert 3 * network.distance_sum < MAX_ROWS
    with pytest.raises(LimitError):
        schedule(network, collective, "edge-disjoint", copies=3)


def test_units_for_deep_nodes_can_leave_the_root_before_the_last_steps_of_a_scatter() -> None:
    """For every level L, each tree carries at least L-1 units to nodes of levels smaller than L.

    These units can leave the root after the units for level L. Therefore, for any number of
    messages, no unit is still on its way when the last unit has left the root.

    Except on S_3, the units for nodes on full necklaces are sufficient. The trees of S_3 are the
    two ways around a ring. If both copies are sent, S_3 also needs the units for the node on the
    short necklace.
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
