"""Forest metrics, as methods of `Forest` and in `describe_forest`, have the expected values."""

from collections import Counter
from itertools import chain

import pytest

from oracles import rooted_trees, star_graph
from oracles import scatter_trees as trees_page
from starcast.topologies import topology
from starcast.trees import Forest, forest, plain_constructions
from starcast.trees.metrics import describe_forest, root_ports
from support.meeting import tree_of

#: S4 is the smallest star on which all constructions differ, so it comes first.
STARS = ["S4", "S2", "S3", "S5", "S6"]
NK_STARS = ["S3,1", "S4,1", "S4,2", "S4,3", "S5,2", "S5,3", "S6,2", "S6,4"]
SPECS = [*STARS, *NK_STARS, "Q1", "Q2", "Q3", "Q5"]


@pytest.mark.parametrize("spec", SPECS)
def test_forest_metrics_equal_those_computed_node_by_node(spec: str) -> None:
    """Other tests compare the trees themselves with the definitions of their constructions."""
    for construction in plain_constructions(spec):
        assert_metrics(forest(spec, construction, topology(spec).nodes // 3))


def test_link_loads_on_an_nk_star_are_indexed_by_the_port_at_the_parent() -> None:
    """The two ends of a link of an (n,k)-star can have different port numbers."""
    assert_metrics(forest("S4,2", "nk-multiple", root=4))


def assert_metrics(own: Forest) -> None:
    """Compare a forest's methods and metrics with values computed by following all parents."""
    network, every = own.topology, range(own.topology.nodes)
    rows = own.parents().tolist()
    trees = [{node: row[node] for node in every if row[node] >= 0} for row in rows]
    levels = [rooted_trees.depths(tree, own.root) for tree in trees]
    sizes = [rooted_trees.sizes(tree, own.root) for tree in trees]
    load = rooted_trees.load(trees)
    heads = [network.neighbours(port).tolist() for port in network.ports]
    loads = [[load[node, row[node]] for row in heads] for node in every]
    assert own.levels().tolist() == [[level.get(node, -1) for node in every] for level in levels]
    assert own.members().tolist() == [[node in level for node in every] for level in levels]
    assert own.subtree_sizes().tolist() == [[size.get(node, 0) for node in every] for size in sizes]
    assert own.load().tolist() == loads
    metrics = describe_forest(own)
    width = own.height + 1
    padded = [row + [0] * (width - len(row)) for row in metrics["levels"]]
    assert own.level_profile().tolist() == padded
    assert (own.heights.tolist(), own.height) == (metrics["heights"], max(metrics["heights"]))
    assert (own.congestion, own.load_histogram()) == (max(load.values()), metrics["load_histogram"])
    assert own.is_shortest_path is metrics["shortest_path"]
    assert own.is_edge_disjoint is metrics["edge_disjoint"]
    distances = network.distances(own.root)
    assert metrics == {
        "id": own.id,
        "topology": network.spec,
        "construction": own.construction,
        "arguments": dict(own.arguments),
        "root": own.root,
        "root_label": network.stored_label(own.root),
        "nodes": network.nodes,
        "edges": sum(map(len, trees)),
        "height": own.height,
        "trees": len(trees),
        "spanning": all(len(level) == network.nodes for level in levels),
        "sizes": [len(level) for level in levels],
        "heights": [max(level.values()) for level in levels],
        "shortest_path": all(
            distances[node] == way for level in levels for node, way in level.items()
        ),
        "leaves": [
            len(level.keys() - tree.values()) for level, tree in zip(levels, trees, strict=True)
        ],
        "branches": [
            [size[row[own.root]] for row in heads if tree.get(row[own.root]) == own.root]
            for size, tree in zip(sizes, trees, strict=True)
        ],
        "congestion": own.congestion,
        "edge_disjoint": own.congestion == 1,
        "load_histogram": Counter(chain(*loads)),
        "levels": [
            [count for _, count in sorted(Counter(level.values()).items())] for level in levels
        ],
    }
    assert own.sizes.tolist() == metrics["sizes"]
    assert own.leaves.tolist() == metrics["leaves"]


def test_forest_metrics_have_known_values() -> None:
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
        assert describe_forest(forest(spec, construction), [metric]) == {metric: value}


def test_the_root_port_that_leads_to_a_node_equals_that_found_by_following_parents() -> None:
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
