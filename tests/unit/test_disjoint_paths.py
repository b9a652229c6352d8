"""Internally disjoint paths: their number, checked by maximum flow, and their published lengths."""

from itertools import pairwise, permutations
from random import Random

import networkx as nx
import pytest

import starcast
from starcast.formats.graphs import to_networkx
from starcast.support.errors import InputError
from starcast.topologies import topology
from starcast.topologies.disjoint_paths import find_disjoint_paths, find_smallest_cut
from support.packs.oracle_tools import across, labels, ports
from support.packs.oracles_paths import least_flow


def network(spec: str) -> nx.Graph:
    """Return a topology as a NetworkX graph of ranks, with links built from the definition."""
    rank = {label: number for number, label in enumerate(labels(spec))}
    return nx.Graph(
        (rank[node], rank[across(spec, node, port)]) for node in rank for port in ports(spec)
    )


def check(spec: str, graph: nx.Graph, source: int, target: int) -> list[list[int]]:
    """Find disjoint paths between two nodes, and check them.

    There must be one path per port, and no two paths may have a common inner node.
    """
    paths = find_disjoint_paths(topology(spec), source, target)
    inner = [node for path in paths for node in path[1:-1]]
    assert len({*inner, source, target}) == len(inner) + 2
    assert len({tuple(path) for path in paths}) == len(paths) == topology(spec).degree
    assert [len(path) for path in paths] == sorted(map(len, paths))
    for path in paths:
        assert (path[0], path[-1]) == (source, target)
        assert nx.is_path(graph, path)
    return paths


@pytest.mark.parametrize("spec", ["P4", "BP3", "B4", "BS4", "MB4", "CT4", "AG4", "T3x5"])
def test_the_number_of_disjoint_paths_on_cayley_graphs_equals_the_degree(spec: str) -> None:
    """Other tests compare the links of Cayley graphs with the definitions of their families."""
    for target in range(1, topology(spec).nodes):
        check(spec, to_networkx(topology(spec)), 0, target)


@pytest.mark.parametrize(
    "spec",
    ["S3", "S4", pytest.param("S5", marks=pytest.mark.slow), "S4,2", "S5,1", "Q3", "Q4"],
)
def test_the_number_of_disjoint_paths_between_all_pairs_equals_the_degree(spec: str) -> None:
    nodes, graph = topology(spec).nodes, network(spec)
    for source in range(nodes):
        for target in range(nodes):
            if source != target:
                check(spec, graph, source, target)


@pytest.mark.parametrize("seed", range(12))
def test_a_smallest_cut_of_a_random_network_has_the_size_that_networkx_computes(seed: int) -> None:
    graph = nx.gnm_random_graph(12, 13 + seed, seed=seed)
    parts = list(nx.connected_components(graph))
    graph.add_edges_from((min(one), min(other)) for one, other in pairwise(parts))
    found = starcast.network([(f"n{one}", f"n{other}") for one, other in graph.edges])
    graph = to_networkx(found)
    for source, target in permutations(range(found.nodes), 2):
        cut = find_smallest_cut(found, source, target)
        paths = find_disjoint_paths(found, source, target)
        assert all(nx.is_simple_path(graph, path) for path in paths)
        left = nx.Graph(graph)
        is_adjacent = left.has_edge(source, target)
        left.remove_edges_from([(source, target)])
        assert len(cut) == len(paths) - is_adjacent == nx.node_connectivity(left, source, target)
        assert not {source, target} & set(cut)
        left.remove_nodes_from(cut)
        assert not nx.has_path(left, source, target)


@pytest.mark.parametrize(("spec", "most"), [("S5", 119), ("S6", 40), ("S5,3", 59), ("Q6", 63)])
def test_disjoint_paths_from_the_identity_have_the_published_lengths(spec: str, most: int) -> None:
    """A path is longer than the distance by at most 4, and on hypercubes by at most 2.

    The bound for star graphs is from Day & Tripathi 1994.
    """
    graph, distances = network(spec), topology(spec).distances(0)
    targets = range(1, topology(spec).nodes)
    for target in Random(spec).sample(targets, most):  # noqa: S311
        paths = check(spec, graph, 0, target)
        assert len(paths[0]) - 1 == distances[target]
        assert len(paths[-1]) - 1 <= distances[target] + (2 if spec == "Q6" else 4)


@pytest.mark.parametrize("spec", ["S4", "S4,2", "Q4", pytest.param("S5", marks=pytest.mark.slow)])
def test_the_total_length_of_disjoint_paths_equals_the_cost_of_a_minimum_cost_flow(
    spec: str,
) -> None:
    names = labels(spec)
    for target in Random(1).sample(range(1, len(names)), 9):  # noqa: S311
        paths = find_disjoint_paths(topology(spec), 0, target)
        total = sum(len(path) - 1 for path in paths)
        assert (len(paths), total) == least_flow(spec, names[0], names[target])


def test_disjoint_paths_from_a_node_to_itself_are_refused() -> None:
    with pytest.raises(InputError, match="source and target are both 2134") as refusal:
        find_disjoint_paths(topology("S4"), 6, 6)
    assert refusal.value.hint
