"""The clique bound on the rounds of one-port broadcasts in (n,k)-stars."""

import pytest

from oracles.clique_parts import most_informed
from starcast import topology
from starcast.records import load_all, shipped_folder
from starcast.search.broadcast import _more, clique_bound, counting_bound


@pytest.mark.parametrize("links", [1, 2, 3])
@pytest.mark.parametrize("size", [2, 3, 4])
def test_the_bound_on_informed_nodes_equals_that_of_exhaustive_search(
    size: int, links: int
) -> None:
    root = tuple(int(each == links) for each in range(links + 1))
    for rounds in range(5):
        assert 1 + _more(size, root, rounds) == most_informed(size, links, rounds)


def test_no_recorded_broadcast_takes_fewer_rounds_than_the_bound() -> None:
    shipped = load_all(shipped_folder())
    records = [record for record in shipped if record.problem == "one-port-broadcast"]
    assert len(records) > 30
    for record in records:
        assert clique_bound(topology(record.topology)) <= record.value


def test_the_clique_bound_is_one_round_above_the_counting_bound() -> None:
    for spec in ["S6,2", "S6,3", "S8,2", "S9,3", "S11,2"]:
        graph = topology(spec)
        assert clique_bound(graph) == counting_bound(graph.nodes, graph.degree) + 1


def test_the_bound_is_0_for_star_graphs_and_large_cliques() -> None:
    assert clique_bound(topology("S5")) == 0
    assert clique_bound(topology("S24,2")) == 0
