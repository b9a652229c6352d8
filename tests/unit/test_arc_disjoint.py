"""Arc-disjoint spanning trees: their number, their heights, and results without numba.

NetworkX checks the links of the trees.
"""

import hashlib
import subprocess
import sys
from itertools import pairwise

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import starcast
from starcast.collectives import schedule
from starcast.ingest.artifacts import planned_forest
from starcast.judges.simulator import simulate
from starcast.support.vocabulary import parse_spec
from starcast.topologies import Topology, topology
from starcast.topologies.flows import link_connectivity
from starcast.trees import Forest, arc_disjoint, forest
from starcast.trees.construction import count_edges, single_trees
from support.meeting import refused
from unit.test_flows import networks

SPECS = (
    "S2", "S3", "S4", "S5", "S5,3", "Q1", "Q4", "Path7", "Ring9", "Mesh3x4", "K6", "K3,4", "GP5,2",
    "CCC3", "DF2", "RR40,4,1", "T3x4", "P4",
)  # fmt: skip


def assert_arc_disjoint(built: Forest) -> None:
    """Check with NetworkX that the trees are spanning, start at the root, and share no link."""
    network = built.topology
    links = nx.DiGraph()
    for port in network.ports:
        ends = network.neighbours(port).tolist()
        links.add_edges_from((node, end) for node, end in enumerate(ends) if node != end)
    used: set[tuple[int, int]] = set()
    for row in built.parent_port.tolist():
        edges = {
            (int(network.neighbours(port, [node])[0]), node)
            for node, port in enumerate(row)
            if port
        }
        tree = nx.DiGraph(edges)
        assert nx.is_arborescence(tree)
        assert len(tree) == network.nodes
        assert tree.in_degree(built.root) == 0
        assert edges <= set(links.edges)
        assert not edges & used
        used |= edges


def count_existing(network: Topology, root: int) -> int:
    """Return the maximum number of arc-disjoint trees with this root.

    This number is the smallest of the maximum flows from the root to the other nodes. NetworkX
    computes these flows.
    """
    graph = nx.DiGraph()
    for port in network.ports:
        ends = network.neighbours(port).tolist()
        graph.add_edges_from((node, end) for node, end in enumerate(ends) if node != end)
    nx.set_edge_attributes(graph, 1, "capacity")
    others = set(range(network.nodes)) - {root}
    return min(int(nx.maximum_flow_value(graph, root, node)) for node in others)


@given(networks(), st.data())
def test_arc_disjoint_forests_have_the_requested_number_of_trees_up_to_the_maximum(
    network: starcast.Topology, data: st.DataObject
) -> None:
    root = data.draw(st.integers(0, network.nodes - 1))
    most = count_existing(network, root)
    assert link_connectivity(network) == most
    trees = data.draw(st.integers(1, most))
    built = forest(network, "arc-disjoint", root, trees=trees, seed=data.draw(st.integers(0, 99)))
    assert built.trees == trees
    assert_arc_disjoint(built)
    with refused(f"trees is {most + 1}, but the maximum on {network.spec} is {most}"):
        forest(network, "arc-disjoint", root, trees=most + 1)


@pytest.mark.parametrize("spec", SPECS)
def test_the_default_number_of_arc_disjoint_trees_is_the_maximum(spec: str) -> None:
    network = topology(spec)
    for root in {0, network.nodes - 1}:
        built = forest(network, "arc-disjoint", root)
        assert built.trees == count_existing(network, root)
        assert built.congestion == 1
        built.verify()
        assert_arc_disjoint(built)


@pytest.mark.parametrize(("spec", "height"), [("S4", 6), ("S5", 8), ("S6", 10), ("T8x8x8", 13)])
def test_arc_disjoint_trees_have_the_known_heights(spec: str, height: int) -> None:
    """On star graphs, the forest is not higher than that of Fragopoulou & Akl 1996."""
    built = forest(spec, "arc-disjoint")
    assert built.height == height
    if spec.startswith("S"):
        assert height <= forest(spec, "edge-disjoint").height
    built.verify()


def test_a_single_tree_on_a_mesh_has_shortest_paths_and_is_not_higher_than_two_trees() -> None:
    heights = [forest("Mesh5x6", "arc-disjoint", trees=trees).height for trees in (1, 2)]
    assert heights[0] <= heights[1]
    assert forest("Mesh5x6", "arc-disjoint", trees=1).is_shortest_path


@pytest.mark.parametrize(
    "spec", ["Mesh8x8", "RR60,4,1", pytest.param("RR1000,8,1", marks=pytest.mark.slow)]
)
def test_arc_disjoint_trees_are_the_same_with_and_without_numba(spec: str) -> None:
    program = (
        "import sys, hashlib; sys.modules['numba'] = None; import starcast;"
        f"print(hashlib.sha256(starcast.forest('{spec}', 'arc-disjoint', trees=2)"
        ".parent_port).hexdigest())"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    expected = hashlib.sha256(forest(spec, "arc-disjoint", trees=2).parent_port.data).hexdigest()
    assert done.stdout.decode().strip() == expected


def test_the_same_seed_always_gives_the_same_arc_disjoint_trees() -> None:
    ports = forest("S3", "arc-disjoint", seed=1).parent_port
    assert ports.tolist() == [[0, 3, 3, 2, 2, 3], [0, 2, 2, 3, 3, 2]]
    ports = forest("Mesh2x3", "arc-disjoint").parent_port
    assert ports.tolist() == [[0, 3, 1, 2, 1, 2], [0, 1, 2, 1, 3, 1]]
    seeds = [forest("S4", "arc-disjoint", seed=seed).parent_port for seed in range(4)]
    assert any(not np.array_equal(one, two) for one, two in pairwise(seeds))


def test_forest_ids_contain_only_arguments_that_differ_from_their_defaults() -> None:
    assert forest("S4", "arc-disjoint").id == "S4:arc-disjoint:1234"
    assert forest("S4", "arc-disjoint", trees=3, seed=0).id == "S4:arc-disjoint:1234"
    chosen = "arc-disjoint(seed=5,trees=2)"
    assert forest("S4", chosen).id == f"S4:{chosen}:1234"
    for spec in ("arc-disjoint", "arc-disjoint(trees=3)", chosen):
        # `build` compares the planned id and size with those of the forest.
        built = planned_forest(topology("S4"), *parse_spec(spec), 5).build()
        assert built.graph.id == forest("S4", spec, 5).id
    assert count_edges("S4", "arc-disjoint") == 3 * 23
    assert count_edges("S4", "arc-disjoint", trees=2) == 2 * 23
    assert "arc-disjoint" not in single_trees("S4")


@pytest.mark.parametrize("ports", ["all", "one"])
@pytest.mark.parametrize("collective", ["broadcast", "scatter", "allgather", "allreduce"])
@pytest.mark.parametrize("spec", ["S4", "Mesh3x4"])
def test_collectives_along_arc_disjoint_trees_are_complete(
    spec: str, collective: str, ports: str
) -> None:
    built = schedule(spec, collective, "forest", ports=ports, base="arc-disjoint")
    result = simulate(built)
    assert result.violation is None
    assert result.complete


def test_invalid_arguments_of_the_construction_arc_disjoint_are_refused() -> None:
    with refused("S4 has no node of rank 24"):
        forest("S4", "arc-disjoint", root=24)
    with refused("seed is -1, which is out of range on S4"):
        forest("S4", "arc-disjoint", seed=-1)
    with refused("trees is 0, not a positive integer"):
        forest("S4", "arc-disjoint", trees=0)


def test_arc_disjoint_trees_that_would_take_too_long_to_build_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with refused("9 arc-disjoint trees on 3,628,800 nodes of S10 would take about", exit_code=7):
        forest("S10", "arc-disjoint")
    monkeypatch.setattr(arc_disjoint, "MAX_SECONDS", 0)
    with refused("the limit is 0 s", exit_code=7):
        forest("S4", "arc-disjoint")
