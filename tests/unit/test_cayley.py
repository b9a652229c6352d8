"""Cayley graphs given by generators, compared with other implementations."""

from itertools import permutations
from typing import Any

import numpy as np
import pytest

from starcast import topology
from starcast.support.errors import InputError
from starcast.topologies.cayley import CayleyGraph
from support.meeting import refused
from unit.test_topology import assert_carries_ports, breadth_first


def star(n: int) -> CayleyGraph:
    """Return the star graph S_n as a Cayley graph given by its generators."""
    generators = []
    for place in range(1, n):
        generator = list(range(1, n + 1))
        generator[0], generator[place] = generator[place], generator[0]
        generators.append(generator)
    return CayleyGraph(f"S{n}", "star", generators)


def rotations(n: int) -> CayleyGraph:
    """Return a Cayley graph given by a swap and two rotations, which are not involutions."""
    left = [*range(2, n + 1), 1]
    right = [n, *range(1, n)]
    return CayleyGraph(f"R{n}", "rotations", [left, right, [2, 1, *range(3, n + 1)]])


GRAPHS = [star(4), rotations(4), *map(topology, ("P5", "BP3", "CT4", "AG5", "T3x4"))]


def test_a_star_graph_given_by_generators_equals_the_built_in_star_graph() -> None:
    for n in [2, 3, 4, 5]:
        ours, shipped = star(n), topology(f"S{n}")
        assert ours.distance_profile() == shipped.distance_profile()
        assert ours.diameter == shipped.diameter
        assert (ours.nodes, ours.ports, ours.degree) == (
            shipped.nodes,
            shipped.ports,
            shipped.degree,
        )
        assert np.array_equal(ours.reverse_ports(), shipped.reverse_ports())
        assert np.array_equal(ours.table(), shipped.table())
        assert np.array_equal(ours.labels(), shipped.labels())
        for root in range(0, ours.nodes, 7):
            assert np.array_equal(ours.distances(root), shipped.distances(root))
            assert np.array_equal(ours.translation(root), shipped.translation(root))


def test_a_neighbour_has_the_symbols_of_the_node_permuted_by_a_generator() -> None:
    for graph in (star(4), rotations(4)):
        nodes = sorted(permutations(range(1, graph.n + 1)))
        for port, generator in zip(graph.ports, graph.generators, strict=True):
            expected = [nodes.index(tuple(node[g - 1] for g in generator)) for node in nodes]
            assert graph.neighbours(port).tolist() == expected
            assert graph.neighbours(port, [3, 1]).tolist() == [expected[3], expected[1]]


@pytest.mark.parametrize("graph", GRAPHS, ids=lambda graph: graph.spec)
def test_ports_distances_and_translations_agree_with_the_table_of_neighbours(
    graph: CayleyGraph,
) -> None:
    table = graph.table().tolist()
    for port in graph.ports:
        back = graph.neighbours(graph.reverse_port(port))
        assert np.array_equal(back[graph.neighbours(port)], np.arange(graph.nodes))
    for root in range(graph.nodes):
        assert graph.translation(root)[0] == root
        assert_carries_ports(graph, root)
    for root in (0, 5, graph.nodes - 1):
        assert graph.distances(root).tolist() == breadth_first(table, root)


def test_impossible_generators_are_refused() -> None:
    cases: list[Any] = [
        ([], "the number of generators is 0, not 1 to "),
        ([[1]], "the generators have the length 1,"),
        ([list(range(13, 0, -1))], "the generators have the length 13"),
        ([[2, 1, 3], [2, 1]], "[2, 1] is not a generator"),
        ([[2, 2, 3]], "[2, 2, 3] is not a generator"),
        ([[1, 2, 3]], "[1, 2, 3] is not a generator"),
        ([[2, 3, 1]], "the inverse of the generator [2, 3, 1] is missing"),
        ([[2, 1, 3], [2, 1, 3]], "the generator [2, 1, 3] is repeated"),
        (5, "5 are not generators"),
        (["ab"], "are not generators"),
    ]
    for generators, sentence in cases:
        with refused(sentence):
            CayleyGraph("X3", "x", generators)


def test_generators_of_an_unconnected_graph_are_refused() -> None:
    graph = CayleyGraph("X4", "x", [[2, 1, 3, 4]])
    with pytest.raises(InputError, match="reach only 2 of its 24 nodes"):
        graph.distances()
