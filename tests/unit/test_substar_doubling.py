"""Broadcast by substar doubling on S_{n,k}: its number of rounds, and when it is optimal."""

import pytest

from starcast import schedule, simulate, topology
from starcast.costs.forms import substar_doubling
from starcast.costs.model import ceil_log2
from starcast.records import load_all, shipped_folder
from starcast.search.broadcast import OnePortBroadcast

SPECS = [f"S{n},{k}" for n in range(2, 7) for k in range(1, n)]


@pytest.mark.parametrize("spec", [*SPECS, "S9,2", "S12,3"])
def test_the_broadcast_takes_as_many_rounds_as_its_closed_form_states(spec: str) -> None:
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


def test_for_k_2_substar_doubling_takes_at_most_two_rounds_above_the_bound() -> None:
    for n in range(3, 20):
        graph = topology(f"S{n},2")
        assert substar_doubling(graph, "one").start_ups <= ceil_log2(graph.nodes) + 2


def test_for_k_n_minus_1_substar_doubling_takes_the_rounds_of_recursive_substars() -> None:
    for n in range(3, 9):
        assert substar_doubling(topology(f"S{n},{n - 1}"), "one").start_ups == n * (n - 1) // 2


def test_no_record_takes_more_rounds_than_substar_doubling() -> None:
    records = [each for each in load_all(shipped_folder()) if each.problem == OnePortBroadcast.name]
    for record in records:
        graph = topology(record.topology)
        if graph.family == "nk-star":
            assert record.value <= substar_doubling(graph, "one").start_ups
