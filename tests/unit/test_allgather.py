"""Allgather by dimension change (Tseng & Sheu 1997, Algorithm 2; tseng-sheu.md, section A5)."""

from collections import Counter
from functools import cache
from math import factorial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import allgather as page
from oracles import rooted_trees, schedule_rows, star_graph
from starcast.collectives import catalogue
from starcast.judges.simulator import simulate
from starcast.topologies import topology
from starcast.trees import forest
from starcast.trees.construction import single_trees
from support.allgather_checks import all_sources, allgather, hops_of
from support.meeting import assert_complete, refused, tree_of

TREES = single_trees("S4")
every_tree = pytest.mark.parametrize("tree", TREES)
both_models = pytest.mark.parametrize("ports", ["all", "one"])


@cache
def page_tree(n: int, construction: str) -> rooted_trees.Tree:
    """Return the base tree T with root 12..n, as a dictionary from each node to its parent."""
    return tree_of(forest(f"S{n}", construction).parent_port[0], n)


def level_sizes(n: int, tree: str) -> list[int]:
    """Return N_t, the number of nodes on level t, for each level t from 1 to the height."""
    return rooted_trees.profile(page_tree(n, tree), star_graph.identity(n))[1:]


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


def test_schedules_have_the_expected_id_root_and_number_of_units() -> None:
    for tree in TREES:
        for ports in ["all", "one"]:
            schedule = allgather("S5", "dimension-change", ports, root="54321", base=tree)
            entry = catalogue.find("allgather", "dimension-change")
            assert (schedule.units, schedule.packets, schedule.symmetric, schedule.root) == (
                4,
                True,
                True,
                119,
            )
            assert schedule.id == f"S5:allgather:dimension-change:{ports}:base={tree}:54321"
            assert (
                len(schedule)
                == entry.rows(schedule.topology, {"tree": tree})
                == entry.count(schedule.topology, ports, {"tree": tree})
            )
            assert entry.forest_construction(schedule.topology, ports, {"tree": tree}) is None
            assert np.array_equal(schedule.tree, schedule.unit)


def test_the_forest_of_a_schedule_has_all_n_minus_1_dimension_changes_of_the_base() -> None:
    """Tree i is the dimension change of the base by i places.

    The catalogue does not have this forest.
    """
    for tree in TREES:
        schedule = allgather("S5", "dimension-change", root="53142", base=tree)
        assert schedule.forest is not None
        schedule.forest.verify()
        assert (schedule.forest.trees, schedule.forest.root, schedule.forest.construction) == (
            4,
            schedule.root,
            "array",
        )
        for i, row in enumerate(schedule.forest.parent_port):
            changed = forest("S5", "dimension-change", root="53142", base=tree, i=i)
            assert np.array_equal(row, changed.parent_port[0])
        assert np.array_equal(
            schedule.forest.parents()[schedule.tree, schedule.receiver], schedule.sender
        )


@given(st.sampled_from(TREES), st.sampled_from(["all", "one"]), st.permutations(range(1, 5)))
def test_any_source_can_be_the_root(tree: str, ports: str, symbols: list[int]) -> None:
    """The rows at another root are those at the identity, relabelled.

    Both expand to the same rows.
    """
    q = tuple(symbols)
    original = allgather("S4", "dimension-change", ports, base=tree)
    moved = allgather("S4", "dimension-change", ports, star_graph.label(q), base=tree)
    assert {(hop.sender, hop.receiver, hop[0], hop.port, hop.unit) for hop in hops_of(moved)} == {
        (
            star_graph.compose(q, hop.sender),
            star_graph.compose(q, hop.receiver),
            hop[0],
            hop.port,
            hop.unit,
        )
        for hop in hops_of(original)
    }
    assert set(hops_of(moved.expand())) == set(hops_of(original.expand()))


def test_the_default_base_is_greedy() -> None:
    assert dict(allgather("S4", "dimension-change").arguments) == {"base": "greedy"}


def test_bad_arguments_and_sizes_are_refused() -> None:
    """The base must be a single spanning tree, and the schedule must fit into memory."""
    own = ("multiple", "edge-disjoint", "perfectly-balanced", "label-change")
    for tree in (*own, "nk-greedy", "nonsense"):
        with refused(tree, "not a single spanning tree"):
            allgather("S4", "dimension-change", base=tree)
    for spec in ("S5,2", "Q3"):
        with refused("not defined", spec):
            allgather(spec, "dimension-change")
    with refused("rows", exit_code=7):
        allgather("S11", "dimension-change")


def test_on_s2_every_allgather_takes_one_step() -> None:
    """The two nodes of the smallest star graph send each other their messages."""
    for algorithm in ["dimension-change", "rotated-hamiltonian", "necklace", "hamiltonian-cycle"]:
        schedule = allgather("S2", algorithm)
        assert (schedule.steps, len(schedule)) == (1, 1)
        assert_complete(schedule)
        assert catalogue.find("allgather", algorithm).supports(topology("S2"))
