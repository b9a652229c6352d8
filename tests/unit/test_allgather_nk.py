"""Allgather on (n,k)-stars (Li, Chen, Xiang & Yao 2007), compared with the oracle of nk-star.md."""

from math import perm

import pytest

from oracles import allgather as page
from oracles import nk_star, rooted_trees, schedule_rows, star_graph
from oracles.schedule_rows import Row
from starcast.collectives import Schedule
from support.allgather_checks import allgather, hops_of
from support.meeting import places, refused

ALGORITHMS = ("nk-greedy", "nk-multiple")
SIZES = [(n, k) for n in range(2, 6) for k in range(1, n)]
SMALL = [(n, k) for n, k in SIZES if perm(n, k) <= 24]

every_algorithm = pytest.mark.parametrize("algorithm", ALGORITHMS)
every_size = pytest.mark.parametrize(("n", "k"), SIZES)


def trees(n: int, k: int, algorithm: str) -> list[rooted_trees.Tree]:
    """Return the oracle's trees rooted at the identity."""
    home = star_graph.identity(n)[:k]
    return [nk_star.greedy(home, n)] if algorithm == "nk-greedy" else nk_star.multiple(home, n)


def height(n: int, k: int, algorithm: str) -> int:
    """Return the height of the oracle's trees."""
    home = star_graph.identity(n)[:k]
    return max(max(rooted_trees.depths(tree, home).values()) for tree in trees(n, k, algorithm))


def with_sources(schedule: Schedule) -> set[Row]:
    """Return the rows of a schedule, in which each unit is a pair of its source and its number."""
    return {
        hop._replace(unit=(places(schedule.topology)[schedule.root], hop.unit))
        for hop in hops_of(schedule)
    }


@every_algorithm
@every_size
def test_all_port_rows_equal_those_of_the_oracle_for_any_source(
    n: int, k: int, algorithm: str
) -> None:
    """In step t, source x sends over the level-t links of the label change LC(x, T).

    LC(x, T) relabels T by x with the symbols missing from x appended in ascending order.
    """
    every = nk_star.nodes(n, k)
    for x in {every[0], every[-1], every[len(every) // 3]}:
        schedule = allgather(f"S{n},{k}", algorithm, "all", star_graph.label(x))
        assert schedule.symmetric
        assert with_sources(schedule) == page.nk_source(trees(n, k, algorithm), x, n)


@every_algorithm
@pytest.mark.parametrize(("n", "k"), SMALL)
def test_the_expanded_schedule_has_the_rows_of_all_sources(n: int, k: int, algorithm: str) -> None:
    wide = allgather(f"S{n},{k}", algorithm, "all").expand()
    expected = {
        hop for x in nk_star.nodes(n, k) for hop in page.nk_source(trees(n, k, algorithm), x, n)
    }
    assert set(hops_of(wide)) == expected
    assert len(wide) == len(expected)


def test_in_one_port_schedules_each_level_becomes_one_sub_step_per_port() -> None:
    """Each of the n-1 sub-steps of a level uses one port (nk-star.md, one-port dimensions).

    Ports 2..k exchange symbols. Port k+s leads to the node s places further in the clique of
    residual links.
    """
    for n, k in SMALL:
        for algorithm in ALGORITHMS:
            schedule = allgather(f"S{n},{k}", algorithm, "one")
            expected = {
                hop
                for x in nk_star.nodes(n, k)
                for hop in schedule_rows.by_dimension(
                    page.nk_source(trees(n, k, algorithm), x, n), range(2, n + 1)
                )
            }
            assert schedule.symmetric == (k == n - 1)
            wide = schedule.expand()
            assert set(hops_of(wide)) == expected
            assert len(wide) == len(expected)


def test_bad_arguments_and_sizes_are_refused() -> None:
    """On S_{10,4}, an all-port schedule is accepted, and a one-port schedule is too large.

    An all-port schedule has only the rows of one source, a one-port schedule those of all 5040.
    """
    for algorithm in ALGORITHMS:
        with refused("argument"):
            allgather("S4,2", algorithm, messages=2)
        with refused("not defined"):
            allgather("S4", algorithm)
    assert allgather("S10,4", "nk-greedy", "all").steps == nk_star.diameter(10, 4)
    with refused(f"{5040 * 9 * 5039:,} rows", exit_code=7):
        allgather("S10,4", "nk-multiple", "one")
