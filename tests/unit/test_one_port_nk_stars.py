"""One-port broadcasts in (n,k)-stars: the clique bound, and the rounds of substar doubling."""

import pytest

from oracles.clique_parts import most_informed
from starcast import schedule, simulate, topology
from starcast.costs.forms import substar_doubling
from starcast.costs.model import ceil_log2
from starcast.records import load_all, shipped_folder
from starcast.search.broadcast import OnePortBroadcast, _more, clique_bound, counting_bound

SPECS = [f"S{n},{k}" for n in range(2, 7) for k in range(1, n)]


@pytest.mark.parametrize("links", [1, 2, 3])
@pytest.mark.parametrize("size", [2, 3, 4])
def test_the_maximum_number_of_informed_nodes_equals_that_found_by_an_exhaustive_search(
    size: int, links: int
) -> None:
    root = tuple(int(each == links) for each in range(links + 1))
    for rounds in range(5):
        assert 1 + _more(size, root, rounds) == most_informed(size, links, rounds)


def test_the_clique_bound_exceeds_the_counting_bound_on_some_nk_stars() -> None:
    for spec in ["S6,2", "S6,3", "S8,2", "S9,3", "S11,2"]:
        graph = topology(spec)
        assert clique_bound(graph) == counting_bound(graph.nodes, graph.degree) + 1


def test_the_clique_bound_is_0_on_star_graphs_and_if_cliques_have_more_than_20_nodes() -> None:
    assert clique_bound(topology("S5")) == 0
    assert clique_bound(topology("S24,2")) == 0


@pytest.mark.parametrize("spec", [*SPECS, "S9,2", "S12,3"])
def test_the_substar_doubling_broadcast_takes_the_number_of_rounds_in_its_closed_form(
    spec: str,
) -> None:
    graph = topology(spec)
    for root in {0, graph.nodes - 1}:
        result = simulate(schedule(graph, "broadcast", "substar-doubling", "one", root=root))
        assert (result.violation, result.complete) == (None, True)
        assert result.steps == substar_doubling(graph, "one").start_ups


def test_substar_doubling_is_optimal_for_k_1_and_2_if_n_minus_1_is_a_power_of_2() -> None:
    for n in [2, 3, 5, 9, 17, 33]:
        lengths = (1,) if n == 2 else (1, 2)
        for graph in (topology(f"S{n},{length}") for length in lengths):
            assert substar_doubling(graph, "one").start_ups == ceil_log2(graph.nodes)


def test_for_k_2_substar_doubling_takes_at_most_2_rounds_more_than_the_doubling_bound() -> None:
    for n in range(3, 20):
        graph = topology(f"S{n},2")
        assert substar_doubling(graph, "one").start_ups <= ceil_log2(graph.nodes) + 2


def test_for_k_equal_to_n_minus_1_substar_doubling_is_as_fast_as_recursive_substars() -> None:
    """Both algorithms take n (n-1) / 2 rounds."""
    for n in range(3, 9):
        assert substar_doubling(topology(f"S{n},{n - 1}"), "one").start_ups == n * (n - 1) // 2


def test_broadcast_records_lie_between_the_clique_bound_and_substar_doubling() -> None:
    records = [each for each in load_all(shipped_folder()) if each.problem == OnePortBroadcast.name]
    assert len(records) > 30
    for record in records:
        graph = topology(record.topology)
        assert clique_bound(graph) <= record.value
        if graph.family == "nk-star":
            assert record.value <= substar_doubling(graph, "one").start_ups
