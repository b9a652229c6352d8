"""Allgather by dimension change (Tseng & Sheu 1997, Algorithm 2; tseng-sheu.md, section A5)."""

from collections import Counter
from functools import cache
from math import factorial

import pytest

from oracles import allgather as page
from oracles import rooted_trees, schedule_rows, star_graph
from starcast.judges.simulator import simulate
from starcast.trees import forest
from starcast.trees.construction import single_trees
from support.allgather_checks import all_sources, allgather, hops_of
from support.meeting import tree_of

TREES = single_trees("S4")
every_tree = pytest.mark.parametrize("tree", TREES)
both_models = pytest.mark.parametrize("ports", ["all", "one"])


@cache
def page_tree(n: int, construction: str) -> rooted_trees.Tree:
    """Return the base tree T with root 12..n, as a dictionary from each node to its parent."""
    return tree_of(forest(f"S{n}", construction).parent_port[0], n)


@both_models
@every_tree
@pytest.mark.parametrize("n", range(2, 6))
def test_rows_equal_those_of_the_papers_algorithm_2(n: int, tree: str, ports: str) -> None:
    """In step t, segment i crosses all links on level t of the tree DC(i, T).

    In the one-port schedule, each step becomes one sub-step per dimension.
    """
    expected = page.algorithm_2(page_tree(n, tree), n)
    if ports == "one":
        expected = schedule_rows.by_dimension(expected, range(2, n + 1))
    schedule = allgather(f"S{n}", "dimension-change", ports, base=tree)
    assert schedule.symmetric
    assert set(hops_of(schedule)) == expected
    assert len(schedule) == len(expected) == (n - 1) * (factorial(n) - 1)
    if n == 5:
        return
    everything, wide = all_sources(schedule), schedule.expand()
    assert not wide.symmetric
    assert set(hops_of(wide)) == set(everything)
    assert len(wide) == factorial(n) * len(schedule)


@both_models
@every_tree
@pytest.mark.parametrize("n", range(2, 8))
def test_steps_and_packets_equal_those_of_theorem_3(n: int, tree: str, ports: str) -> None:
    """In step t, a link carries as many segments as the base tree has nodes on level t (N_t).

    There are as many steps as levels. In the one-port schedule (section 5.2), each step becomes n-1
    sub-steps, one per dimension, and none is empty. There are n! (n-1) (n!-1) transmissions.
    """
    schedule = allgather(f"S{n}", "dimension-change", ports, base=tree)
    sizes = forest(f"S{n}", tree).level_profile()[0].tolist()[1:]
    assert sum(sizes) == factorial(n) - 1
    assert tree != "greedy" or len(sizes) == star_graph.diameter(n)
    sub_steps = n - 1 if ports == "one" else 1
    steps = range(1, sub_steps * len(sizes) + 1)
    level = {step: sizes[(step - 1) // sub_steps] for step in steps}
    assert schedule.steps == len(steps)
    carried = Counter(zip(schedule.step.tolist(), schedule.port.tolist(), strict=True))
    assert carried == {
        (step, port): level[step]
        for step in steps
        for port in ([(step - 1) % (n - 1) + 2] if ports == "one" else range(2, n + 1))
    }
    run = simulate(schedule)
    assert run.violation is None
    assert run.complete
    assert run.transmissions == factorial(n) * (n - 1) * (factorial(n) - 1)
    assert run.packet_sizes.tolist() == [level[step] for step in steps]
    assert set(run.links_used.tolist()) == {factorial(n) * (n - 1) // sub_steps}


def test_the_default_base_is_greedy() -> None:
    assert dict(allgather("S4", "dimension-change").arguments) == {"base": "greedy"}
