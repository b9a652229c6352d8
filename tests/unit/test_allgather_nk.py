"""Allgather on (n,k)-stars (Li, Chen, Xiang & Yao 2007), compared with the oracle of nk-star.md."""

from collections import Counter
from math import perm

import numpy as np
import pytest

from oracles import allgather as page
from oracles import nk_star, rooted_trees, schedule_rows, star_graph
from oracles.schedule_rows import Row
from starcast.collectives import Schedule, catalogue
from starcast.topologies import as_topology
from starcast.trees import forest
from support.allgather_checks import allgather, hops_of
from support.meeting import assert_complete, places, refused

ALGORITHMS = ("nk-greedy", "nk-multiple")
SIZES = [(n, k) for n in range(2, 6) for k in range(1, n)]
SMALL = [(n, k) for n, k in SIZES if perm(n, k) <= 24]
LARGE = [(6, 2), (6, 3), (7, 2), (5, 4)]

every_algorithm = pytest.mark.parametrize("algorithm", ALGORITHMS)
both_models = pytest.mark.parametrize("ports", ["all", "one"])
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


@both_models
@every_algorithm
@every_size
def test_every_node_receives_every_unit(n: int, k: int, algorithm: str, ports: str) -> None:
    """The simulator executes the schedules of all sources together."""
    schedule = allgather(f"S{n},{k}", algorithm, ports)
    assert_complete(schedule.expand())
    if schedule.symmetric:
        assert_complete(schedule)
    if ports == "one":
        assert ((schedule.step - 1) % (n - 1) + 2 == schedule.port).all()


@pytest.mark.parametrize(("n", "k"), [*SIZES, (6, 3)])
def test_with_one_tree_all_links_of_a_port_carry_equal_packets(n: int, k: int) -> None:
    """The reason is that relabelling the symbols k+1..n does not change the tree SP.

    In step t, a swap link carries as many messages as level t of the tree has links of its port. A
    residual link carries 1/(n-k) times as many messages as this level has residual links.
    """
    home = star_graph.identity(n)[:k]
    (tree,) = trees(n, k, "nk-greedy")
    kinds = Counter(
        (level, min(nk_star.port_between(tree[x], x, n), k + 1))
        for x, level in rooted_trees.depths(tree, home).items()
        if level
    )
    carried: dict[tuple[int, int], Counter[tuple[star_graph.Node, int]]] = {}
    for hop in hops_of(allgather(f"S{n},{k}", "nk-greedy", "all").expand()):
        carried.setdefault((hop.step, min(hop.port, k + 1)), Counter())[hop.sender, hop.port] += 1
    assert carried.keys() == kinds.keys()
    for (level, kind), load in carried.items():
        links = kinds[level, kind]
        assert set(load.values()) == {links // (n - k) if kind > k else links}
        assert len(load) == perm(n, k) * (n - k if kind > k else 1)


def test_with_several_trees_residual_links_carry_unequal_packets_in_one_step() -> None:
    """Relabelling the symbols k+1..n changes the trees MT (pitfall 8 of nk-star.md)."""
    loads: dict[int, Counter[tuple[star_graph.Node, int]]] = {}
    for hop in hops_of(allgather("S4,2", "nk-multiple", "all").expand()):
        if hop.port > 2:
            loads.setdefault(hop.step, Counter())[hop.sender, hop.port] += 1
    assert any(len(set(load.values())) > 1 for load in loads.values())


def test_for_k_equal_to_n_minus_1_the_schedule_has_the_rows_of_tree_0_on_the_star_graph() -> None:
    """The greedy trees of S_{n,n-1} and of S_n are the same.

    Therefore the schedule has the same rows as tree 0 of the dimension-change allgather on S_n.
    """
    for n in range(2, 6):
        for ports in ["all", "one"]:
            star = allgather(f"S{n}", "dimension-change", ports)
            schedule = allgather(f"S{n},{n - 1}", "nk-greedy", ports)
            first = star.tree == 0
            for name in ("step", "sender", "port", "receiver", "unit"):
                assert np.array_equal(getattr(schedule, name), getattr(star, name)[first])


@both_models
@every_algorithm
@pytest.mark.parametrize(("n", "k"), [*SIZES, *LARGE])
def test_the_number_of_rows_is_known_before_a_schedule_is_built(
    n: int, k: int, algorithm: str, ports: str
) -> None:
    """A level takes one all-port step, or up to n-1 sub-steps in the one-port model."""
    topology = as_topology(f"S{n},{k}")
    entry = catalogue.find("allgather", algorithm)
    schedule = allgather(f"S{n},{k}", algorithm, ports)
    levels = height(n, k, algorithm)
    sub_steps = n - 1 if ports == "one" else 1
    assert sub_steps * (levels - 1) < schedule.steps <= sub_steps * levels
    assert algorithm != "nk-greedy" or levels == nk_star.diameter(n, k)
    a_source = (n - 1 if algorithm == "nk-multiple" else 1) * (topology.nodes - 1)
    assert entry.rows(topology, {}) == a_source
    assert (
        len(schedule)
        == entry.count(topology, ports, {})
        == a_source * (1 if schedule.symmetric else topology.nodes)
    )
    assert schedule.packets
    assert schedule.units == (n - 1 if algorithm == "nk-multiple" else 1) * (
        1 if schedule.symmetric else topology.nodes
    )
    assert entry.forest_construction(topology, ports, {}) == (
        algorithm if schedule.symmetric else None
    )


@both_models
@every_algorithm
@pytest.mark.parametrize("root", [0, "325"])
def test_schedules_have_the_expected_id_and_forest(
    root: int | str, algorithm: str, ports: str
) -> None:
    schedule = allgather("S5,3", algorithm, ports, root)
    at = (root or "123") if ports == "all" else "expanded"
    assert schedule.id == f"S5,3:allgather:{algorithm}:{ports}::{at}"
    assert schedule.symmetric == (ports == "all")
    if schedule.symmetric:
        assert schedule.forest is not None
        assert schedule.forest.id == forest("S5,3", algorithm, root=root).id
        assert np.array_equal(
            schedule.forest.parents()[schedule.tree, schedule.receiver], schedule.sender
        )
        assert np.array_equal(schedule.tree, schedule.unit)


@every_algorithm
def test_the_expanded_schedule_does_not_depend_on_the_root(algorithm: str) -> None:
    first, other = allgather("S4,2", algorithm, "one", "31"), allgather("S4,2", algorithm, "one")
    assert hops_of(first) == hops_of(other)
    assert (
        (first.id, first.root)
        == (other.id, other.root)
        == (f"S4,2:allgather:{algorithm}:one::expanded", 0)
    )


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
