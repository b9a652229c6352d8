"""Cayley graphs.

The graphs belong to built-in families, or are built from generators. Built-in families are compared
with definitions and published values.
"""

import re
from itertools import permutations
from typing import Any

import numpy as np
import pytest

from oracles import cayley_graphs as oracle
from starcast import constructions, forest, schedule, simulate, topology
from starcast.collectives.model import COLLECTIVES
from starcast.drawing import represent
from starcast.support.errors import InputError
from starcast.topologies import Topology
from starcast.topologies.cayley import CayleyGraph
from support.meeting import refused
from unit.test_topology import assert_carries_ports, breadth_first

SPECS = {
    "P5": oracle.pancake,
    "BP3": oracle.burnt_pancake,
    "B5": oracle.bubble_sort,
    "BS5": oracle.bubble_sort_star,
    "MB5": oracle.modified_bubble_sort,
    "CT5": oracle.complete_transposition,
    "AG5": oracle.alternating_group,
    "T4x5": oracle.torus(4, 5),
    "T2x3x4": oracle.torus(2, 3, 4),
    # The smallest graphs are edge cases.
    "P2": oracle.pancake,
    "BP2": oracle.burnt_pancake,
    "B2": oracle.bubble_sort,
    "BS2": oracle.bubble_sort_star,
    "MB3": oracle.modified_bubble_sort,
    "CT2": oracle.complete_transposition,
    "AG3": oracle.alternating_group,
    "T2x2": oracle.torus(2, 2),
}
#: A small graph of each family, for tests that visit all its nodes.
SMALL = ("P4", "BP2", "B4", "BS4", "MB4", "CT4", "AG4", "T3x4", "T2x3x2")

#: For each n, the numbers of stacks of n pancakes that need 0, 1, 2, ... flips to be sorted
#: (en.wikipedia.org/wiki/Pancake_sorting, OEIS A092113).
PANCAKES = {
    3: (1, 2, 2, 1),
    4: (1, 3, 6, 11, 3),
    5: (1, 4, 12, 35, 48, 20),
    6: (1, 5, 20, 79, 199, 281, 133, 2),
    7: (1, 6, 30, 149, 543, 1357, 1903, 1016, 35),
    8: (1, 7, 42, 251, 1191, 4281, 10561, 15011, 8520, 455),
}
#: For each n, the numbers of nodes of S_n at distance 0, 1, 2, ... from a node (OEIS A007799).
STARS = {
    3: (1, 2, 2, 1),
    4: (1, 3, 6, 9, 5),
    5: (1, 4, 12, 30, 44, 26, 3),
    6: (1, 5, 20, 70, 170, 250, 169, 35),
    7: (1, 6, 30, 135, 460, 1110, 1689, 1254, 340, 15),
}
#: Mahonian numbers (OEIS A008302): for each n, the numbers of permutations of n symbols with 0, 1,
#: 2, ... inversions.
BUBBLE_SORTS = {4: (1, 3, 5, 6, 5, 3, 1), 5: (1, 4, 9, 15, 20, 22, 20, 15, 9, 4, 1)}
#: Unsigned Stirling numbers of the first kind (OEIS A008276): for each n, the numbers of
#: permutations of n symbols with n, n-1, n-2, ... cycles.
TRANSPOSITIONS = {4: (1, 6, 11, 6), 5: (1, 10, 35, 50, 24), 6: (1, 15, 85, 225, 274, 120)}
#: Diameters of burnt pancake graphs from BP2 on (OEIS A078942).
BURNT_PANCAKES = (4, 6, 8, 10, 12)


def levels(spec: str) -> tuple[int, ...]:
    """Return the level sizes of a topology: the numbers of nodes at distance 0, 1, 2, ..."""
    return topology(spec).distance_profile()


@pytest.mark.whole
@pytest.mark.parametrize("spec", SPECS)
def test_neighbours_and_distances_in_cayley_graphs_equal_those_of_the_definition(spec: str) -> None:
    graph = topology(spec)
    labels = graph.labels().tolist()
    distances = oracle.search(labels[0], SPECS[spec])
    assert labels == sorted(distances)
    assert graph.distances().tolist() == [distances[label] for label in labels]
    ports = [graph.neighbours(port) for port in graph.ports]
    for node, label in enumerate(labels):
        neighbours = [labels[across[node]] for across in ports]
        assert sorted(neighbours) == sorted(SPECS[spec](label))
        assert graph.rank(label.upper()) == node


def test_level_sizes_of_cayley_graphs_equal_the_published_numbers() -> None:
    """A level consists of all nodes at the same distance from a node."""
    published = {
        **{f"P{n}": sizes for n, sizes in PANCAKES.items()},
        **{f"S{n}": sizes for n, sizes in STARS.items()},
        **{f"B{n}": sizes for n, sizes in BUBBLE_SORTS.items()},
        **{f"CT{n}": sizes for n, sizes in TRANSPOSITIONS.items()},
    }
    assert {spec: levels(spec) for spec in published} == published


def test_level_sizes_of_cayley_graphs_equal_the_coefficients_of_generating_functions() -> None:
    for n in range(3, 12):
        assert levels(f"S{n}") == oracle.star_levels(n)
    for n in range(2, 8):
        assert levels(f"B{n}") == oracle.multiply([[1] * size for size in range(1, n + 1)])
        assert levels(f"CT{n}") == oracle.multiply([[1, size] for size in range(1, n)])
    rings = {2: [1, 1], 3: [1, 2], 4: [1, 2, 1], 5: [1, 2, 2], 9: [1, 2, 2, 2, 2]}
    for sides in ((2, 2), (3, 4), (5, 9), (9, 4, 5)):
        spec = f"T{'x'.join(map(str, sides))}"
        assert levels(spec) == oracle.multiply([rings[side] for side in sides])


def test_diameters_and_degrees_of_cayley_graphs_equal_the_published_values() -> None:
    """The values for modified bubble-sort graphs are from Jerrum 1985.

    The values for alternating group graphs AG_n are from Jwo, Lakshmivarahan & Dhall 1993.
    """
    assert tuple(topology(f"BP{n}").diameter for n in range(2, 7)) == BURNT_PANCAKES
    for n in range(3, 8):
        assert topology(f"MB{n}").diameter == n * n // 4
        assert topology(f"AG{n}").diameter == 3 * (n - 2) // 2
        assert topology(f"AG{n}").degree == 2 * (n - 2)
        assert topology(f"BS{n}").degree == 2 * n - 3


@pytest.mark.whole
@pytest.mark.parametrize("spec", SMALL)
def test_trees_and_collectives_are_valid_on_every_family_of_cayley_graphs(spec: str) -> None:
    graph = topology(spec)
    assert "breadth-first" in constructions(graph)
    root = graph.nodes - 1
    tree = forest(spec, "breadth-first", root=root)
    tree.verify()
    assert tree.heights.tolist() == [graph.diameter]
    assert np.array_equal(tree.levels()[0], graph.distances(root))
    for collective in COLLECTIVES:
        if collective == "alltoall":  # an alltoall does not follow trees
            continue
        for ports in ("all", "one"):
            plan = schedule(spec, collective, "forest(base=breadth-first)", ports=ports, root=root)
            result = simulate(plan)
            assert (result.complete, result.violation) == (True, None)
            if collective == "allgather":
                assert simulate(plan.expand()).complete


@pytest.mark.parametrize("spec", SMALL)
def test_drawings_of_cayley_graphs_show_all_nodes(spec: str) -> None:
    graph: Topology = topology(spec)
    picture = str(represent(graph, "svg"))
    assert set(re.findall(r">([0-9a-z]+)</text>", picture)) >= set(graph.labels().tolist())


def test_a_label_that_names_no_node_of_a_cayley_graph_is_refused() -> None:
    for spec, label, sentence in (
        ("AG4", "1243", "is an odd permutation"),
        ("BP3", "1a2", "repeats the symbol"),
        ("BP3", "12", "has 2 symbols, not 3"),
        ("T3x4", "30", "'30' is not a label"),
        ("T3x4", "0", "'0' is not a label"),
        ("T3x4", "0!", "'0!' is not a label"),
    ):
        with refused(sentence):
            topology(spec).rank(label)


def star(n: int) -> CayleyGraph:
    """Return the star graph S_n as a Cayley graph given by its generators."""
    generators = []
    for place in range(1, n):
        generator = list(range(1, n + 1))
        generator[0], generator[place] = generator[place], generator[0]
        generators.append(generator)
    return CayleyGraph(f"S{n}", "star", generators)


def rotations(n: int) -> CayleyGraph:
    """Return a Cayley graph with three generators: a swap, a left rotation and a right rotation.

    The rotations are not involutions.
    """
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
def test_reverse_ports_distances_and_translations_agree_with_the_table_of_neighbours(
    graph: CayleyGraph,
) -> None:
    """A translation is an automorphism that maps the first node to a given node."""
    table = graph.table().tolist()
    for port in graph.ports:
        back = graph.neighbours(graph.reverse_port(port))
        assert np.array_equal(back[graph.neighbours(port)], np.arange(graph.nodes))
    for root in range(graph.nodes):
        assert graph.translation(root)[0] == root
        assert_carries_ports(graph, root)
    for root in (0, 5, graph.nodes - 1):
        assert graph.distances(root).tolist() == breadth_first(table, root)


def test_invalid_generators_of_cayley_graphs_are_refused() -> None:
    cases: list[Any] = [
        ([], "the number of generators is 0, which is out of range"),
        ([[1]], "the generators have the length 1,"),
        ([list(range(13, 0, -1))], "the generators have the length 13"),
        ([[2, 1, 3], [2, 1]], "[2, 1] is not a generator"),
        ([[2, 2, 3]], "[2, 2, 3] is not a generator"),
        ([[1, 2, 3]], "[1, 2, 3] is not a generator"),
        ([[2, 3, 1]], "the inverse of the generator [2, 3, 1] is missing"),
        ([[2, 1, 3], [2, 1, 3]], "the generator [2, 1, 3] is repeated"),
        (5, "invalid generators 5"),
        (["ab"], "invalid generators"),
    ]
    for generators, sentence in cases:
        with refused(sentence):
            CayleyGraph("X3", "x", generators)


def test_generators_of_a_disconnected_graph_are_refused() -> None:
    graph = CayleyGraph("X4", "x", [[2, 1, 3, 4]])
    with pytest.raises(InputError, match="reach only 2 of its 24 nodes"):
        graph.distances()
