"""`forest_metrics`, compared with the methods of `Forest` and with known values."""

from math import factorial

import numpy as np
import pytest

from oracles import scatter_trees as trees_page
from oracles import star_graph
from starcast.topologies import topology
from starcast.trees import Forest, forest, plain_constructions
from starcast.trees.metrics import forest_metrics, root_ports
from support.meeting import tree_of

#: S4 is the smallest star on which all constructions differ, so it comes first.
STARS = ["S4", "S2", "S3", "S5", "S6"]
NK_STARS = ["S3,1", "S4,1", "S4,2", "S4,3", "S5,2", "S5,3", "S6,2", "S6,4"]
SPECS = [*STARS, *NK_STARS, "Q1", "Q2", "Q3", "Q5"]


@pytest.mark.parametrize("spec", SPECS)
def test_metrics_equal_the_values_returned_by_forest_methods(spec: str) -> None:
    """For example, the metric `branches` has the sizes of the root's subtrees."""
    for construction in plain_constructions(spec):
        assert_metrics(forest(spec, construction, topology(spec).nodes // 3))


def assert_metrics(trees: Forest) -> None:
    """Compare the metrics of a forest with its methods, and subtree sizes with counted nodes."""
    metrics = forest_metrics(trees)
    assert metrics["trees"] == trees.trees
    assert metrics["sizes"] == trees.sizes.tolist()
    assert metrics["heights"] == trees.heights.tolist()
    assert metrics["leaves"] == trees.leaves.tolist()
    assert metrics["congestion"] == trees.congestion
    assert metrics["links_by_load"] == trees.load_histogram()
    assert metrics["shortest_path"] is trees.is_shortest_path
    assert metrics["edge_disjoint"] is trees.is_edge_disjoint
    width = trees.height + 1
    padded = [row + [0] * (width - len(row)) for row in metrics["levels"]]
    assert padded == trees.level_profile().tolist()
    assert type(metrics["spanning"]) is bool
    sizes, parents = trees.subtree_sizes(), trees.parents()
    children = [trees.topology.neighbours(port, [trees.root])[0] for port in trees.topology.ports]
    branches = [
        [int(sizes[tree, child]) for child in children if parents[tree, child] == trees.root]
        for tree in range(trees.trees)
    ]
    assert metrics["branches"] == branches
    assert [sum(row) + 1 for row in branches] == trees.sizes.tolist()
    if trees.topology.nodes <= factorial(5):
        assert [row.tolist() for row in sizes] == descendants(trees)


def descendants(trees: Forest) -> list[list[int]]:
    """Return the size of the subtree of each node in each tree, by following all parents."""
    result = np.zeros(trees.parent_port.shape, dtype=int)
    for tree, parents in enumerate(trees.parents().tolist()):
        for node in np.flatnonzero(trees.members()[tree]).tolist():
            ancestor = node
            while ancestor >= 0:
                result[tree, ancestor] += 1
                ancestor = parents[ancestor]
    counted: list[list[int]] = result.tolist()
    return counted


def test_metrics_have_the_known_values() -> None:
    for spec, construction, metric, value in [
        ("S5", "greedy", "heights", [6]),
        ("S5", "greedy", "leaves", [44]),
        ("S2", "multiple", "heights", [1]),
        ("S3", "multiple", "heights", [5, 4]),
        ("S5", "multiple", "heights", [10, 10, 10, 10]),
        ("S6", "multiple", "heights", [12, 13, 14, 13, 12]),
        ("S5", "multiple", "congestion", 2),
        ("S5", "recursive-substar", "heights", [7]),
        ("S5", "shortest-path", "branches", [[24, 24, 24, 24]]),
        ("S5,3", "nk-multiple", "heights", [8, 9, 9, 7]),
        ("Q4", "binomial", "branches", [[1, 2, 4, 8]]),
        ("Q1", "edge-disjoint-binomial", "heights", [1]),
    ]:
        assert forest_metrics(forest(spec, construction))[metric] == value


def test_root_ports_are_found_by_following_parents() -> None:
    for root in ["1234", "4213"]:
        for construction in ["balanced", "perfectly-balanced", "multiple", "hamiltonian-cycle"]:
            built, source = forest("S4", construction, root=root), star_graph.node_of(root)
            for row, above in zip(built.parent_port, root_ports(built), strict=True):
                tree = tree_of(row.tolist(), 4)
                expected = [
                    trees_page.branch_dimension(x, tree, source) if x in tree else 0
                    for x in star_graph.nodes(4)
                ]
                assert above.tolist() == expected
