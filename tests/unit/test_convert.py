"""Topologies and forests converted to networkx, igraph and scipy, compared with their arrays."""

import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from scipy import sparse

from starcast import schedule
from starcast.formats import render
from starcast.formats.graphs import to_igraph, to_networkx, to_scipy
from starcast.support import installation
from starcast.support.errors import InputError, RejectedError, UnavailableError
from starcast.topologies import Topology, topology
from starcast.trees import Forest, forest, plain_constructions

SPECS = ("S2", "S3", "S4", "S5", "S4,1", "S4,2", "S5,3", "Q1", "Q4", "Mesh3x4")
PLAIN = [(spec, name) for spec in ("S4", "S5", "S4,2", "Q3") for name in plain_constructions(spec)]

every_forest = pytest.mark.parametrize(("spec", "construction"), PLAIN)


def build(spec: str, construction: str) -> Forest:
    """Return a forest whose root is not the identity."""
    return forest(spec, construction, topology(spec).nodes - 2)


def edges(trees: Forest) -> list[tuple[int, int, int, int, int]]:
    """Return all tree edges, each as (parent, child, tree, level, port at the parent), sorted."""
    topology = trees.topology
    levels = trees.levels()
    result = []
    for tree, row in enumerate(trees.parent_port.tolist()):
        for child, port in enumerate(row):
            if port:
                parent = int(topology.neighbours(port, [child])[0])
                result.append(
                    (parent, child, tree, int(levels[tree, child]), topology.reverse_port(port))
                )
    return sorted(result)


def test_networkx_finds_the_distances_degrees_and_diameter_of_a_converted_topology() -> None:
    """The port attribute of a link is the port at its end with the lower rank."""
    for network in map(topology, SPECS):
        graph = to_networkx(network)
        assert type(graph) is nx.Graph
        assert (graph.number_of_nodes(), graph.number_of_edges()) == (network.nodes, network.links)
        assert [graph.degree(rank) for rank in range(network.nodes)] == network.degrees.tolist()
        distances = nx.single_source_shortest_path_length(graph, 0)
        assert [distances[rank] for rank in range(network.nodes)] == network.distances().tolist()
        assert max(distances.values()) == network.diameter
        labels = [graph.nodes[rank]["label"] for rank in range(network.nodes)]
        assert labels == network.labels().tolist()
        assert graph.graph == {"topology": network.spec}
        for start, end, port in graph.edges(data="port"):
            assert network.neighbours(port, [min(start, end)]).tolist() == [max(start, end)]


@every_forest
def test_the_networkx_graph_of_a_forest_has_every_tree_edge_with_its_attributes(
    spec: str, construction: str
) -> None:
    """The graph of a single tree is an arborescence from the root."""
    trees = build(spec, construction)
    graph = to_networkx(trees)
    assert isinstance(graph, nx.DiGraph)
    result = [
        (*ends, data["tree"], data["level"], data["port"]) for *ends, data in graph.edges(data=True)
    ]
    assert sorted(result) == edges(trees)
    assert all(key == data["tree"] for _, _, key, data in graph.edges(keys=True, data=True))
    assert set(graph.nodes) == set(np.flatnonzero(trees.members().any(axis=0)).tolist())
    assert graph.graph == {"forest": trees.id, "topology": spec, "root": trees.root}
    for tree in range(trees.trees):
        single = to_networkx(trees, tree)
        assert type(single) is nx.DiGraph
        assert nx.is_arborescence(single)
        assert single.in_degree(trees.root) == 0
        assert set(single.nodes) == set(np.flatnonzero(trees.members()[tree]).tolist())
        levels = nx.single_source_shortest_path_length(single, trees.root)
        assert {node: int(trees.levels()[tree, node]) for node in single.nodes} == levels
        assert set(nx.get_edge_attributes(single, "tree").values()) == {tree}


def test_attributes_in_networkx_are_plain_python_values() -> None:
    graph = to_networkx(forest("S4", "multiple"))
    assert {type(value) for *_, data in graph.edges(data=True) for value in data.values()} == {int}
    assert {type(node) for node in graph.nodes} == {int}
    assert {type(label) for _, label in graph.nodes(data="label")} == {str}


def assert_same_graph(artifact: Topology | Forest, tree: int | None = None) -> None:
    """Check that igraph has the same edges and attributes as networkx, and all nodes."""
    graph, expected = to_igraph(artifact, tree), to_networkx(artifact, tree)
    network = artifact.topology if isinstance(artifact, Forest) else artifact
    assert graph.vs["label"] == network.labels().tolist()
    assert graph.is_directed() == expected.is_directed()
    assert {name: graph[name] for name in graph.attributes()} == expected.graph
    found = [(*edge.tuple, edge.attributes()) for edge in graph.es]
    wanted = [(*ends, data) for *ends, data in expected.edges(data=True)]
    assert sorted(found, key=str) == sorted(wanted, key=str)


def test_the_igraph_graph_of_a_topology_has_all_its_links() -> None:
    for network in map(topology, SPECS):
        assert_same_graph(network)


@every_forest
def test_the_igraph_graph_of_a_forest_has_every_tree_edge_with_its_attributes(
    spec: str, construction: str
) -> None:
    trees = build(spec, construction)
    for tree in (None, *range(trees.trees)):
        assert_same_graph(trees, tree)


def test_the_scipy_matrix_of_a_topology_is_its_adjacency_matrix() -> None:
    for network in map(topology, SPECS):
        matrix = to_scipy(network)
        assert isinstance(matrix, sparse.csr_array)
        expected = nx.to_numpy_array(to_networkx(network), nodelist=range(network.nodes))
        assert np.array_equal(matrix.toarray(), expected)


def test_the_scipy_matrix_of_a_forest_has_the_load_of_every_link() -> None:
    for spec, construction in PLAIN:
        trees = build(spec, construction)
        matrix = to_scipy(trees)
        assert matrix.dtype == np.int16
        expected = np.zeros(matrix.shape, dtype=int)
        for column, port in enumerate(trees.topology.ports):
            expected[np.arange(trees.topology.nodes), trees.topology.neighbours(port)] = (
                trees.load()[:, column]
            )
        assert np.array_equal(matrix.toarray(), expected)
        assert matrix.max() == trees.congestion
        total = sum(to_scipy(trees, tree) for tree in range(trees.trees))
        assert np.array_equal(total.toarray(), expected)


EXTRAS = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"][
    "optional-dependencies"
]
CONVERSIONS = [to_networkx, to_igraph, to_scipy]
Conversion = Callable[..., Any]


@pytest.mark.parametrize("conversion", CONVERSIONS)
def test_conversions_refuse_unknown_trees_and_corrupted_forests(conversion: Conversion) -> None:
    """A tree number is also refused if a topology is converted, because only forests have trees."""
    trees = forest("S4", "multiple")
    for tree in (-1, 3, "0", 1.5, True, 9):
        with pytest.raises(InputError, match=f"has no tree {tree!r}") as caught:
            conversion(trees, tree)
        assert "0 to 2" in caught.value.hint
    with pytest.raises(InputError, match="S4 is a topology"):
        conversion(trees.topology, 0)
    array = forest("S4", "greedy").parent_port.copy()
    array[0, 5] = 0
    array[0, 7] = 9
    with pytest.raises(RejectedError):
        conversion(Forest(trees.topology, array))


def to_parquet(_: Forest) -> list[bytes]:
    return list(render(schedule("S3", "broadcast", "greedy"), "parquet"))


@pytest.mark.parametrize(
    ("conversion", "package", "extra"),
    [
        *((to_networkx, "networkx", "networkx"), (to_igraph, "igraph", "igraph")),
        *((to_scipy, "scipy", "scipy"), (to_parquet, "polars", "parquet")),
    ],
)
def test_the_error_for_a_missing_package_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, conversion: Conversion, package: str, extra: str
) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "meta_path", [_Without(package), *sys.meta_path])
    with pytest.raises(UnavailableError) as caught:
        conversion(forest("S3", "greedy"))
    assert caught.value.message == f"{package} is not installed"
    assert caught.value.hint == f"install it with: pip install '{EXTRAS[extra][0]}'"
    assert any(item.startswith(package) for item in EXTRAS[extra])


def test_an_installed_package_without_its_dependency_is_not_reported_as_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(module: str) -> None:
        raise ModuleNotFoundError(f"{module} lacks decorator", name="decorator")

    monkeypatch.setattr(installation, "import_module", broken)
    with pytest.raises(ModuleNotFoundError, match="decorator"):
        to_scipy(topology("S2"))


class _Without:
    """An import finder that hides one package."""

    def __init__(self, package: str) -> None:
        self._package = package

    def find_spec(self, name: str, *_: object) -> None:
        """Raise `ModuleNotFoundError` for the hidden package."""
        if name.partition(".")[0] == self._package:
            raise ModuleNotFoundError(f"No module named '{name}'", name=name)
