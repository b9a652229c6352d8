"""Networks: their ports, labels and specs, and their construction from other libraries' graphs."""

import pickle
from itertools import pairwise
from pathlib import Path
from typing import Any

import igraph
import networkx as nx
import numpy as np
import pytest
import rustworkx as rx
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import starcast
from starcast import network, topology
from starcast.support import resolvers
from starcast.support.errors import LimitError
from starcast.support.progress import Silent
from starcast.topologies import network_building, networks
from starcast.topologies.colouring import colour_links
from support.irregular import graph_of
from support.meeting import refused

GRAPHS = {
    "petersen": nx.petersen_graph(),
    "complete": nx.complete_graph(7),
    "grid": nx.grid_2d_graph(3, 5),
    "barbell": nx.barbell_graph(4, 2),
    "scalefree": nx.barabasi_albert_graph(40, 2, seed=3),
    "path": nx.path_graph(300),
}
every_graph = pytest.mark.parametrize("name", GRAPHS)


@given(st.integers(2, 25), st.floats(0.05, 1), st.integers(0, 1000))
def test_links_are_coloured_with_at_most_one_colour_more_than_the_maximum_degree(
    nodes: int, density: float, seed: int
) -> None:
    """Links of the same colour have no node in common."""
    graph = nx.gnp_random_graph(nodes, density, seed=seed)
    links = sorted(graph.edges)
    colours = colour_links(nodes, links)
    for node in range(nodes):
        here = [colour for colour, link in zip(colours, links, strict=True) if node in link]
        assert len(here) == len({*here})
    assert max(colours, default=0) <= max(dict(graph.degree).values())


def test_a_network_is_built_from_a_view_of_edges() -> None:
    graph = nx.petersen_graph()
    assert network(graph.edges).spec == network(list(graph.edges)).spec


def test_the_port_numbers_of_a_network_do_not_change_between_versions() -> None:
    """Stored schedules contain port numbers, so this test lists the ports literally."""
    ring = [(0, 1), (1, 2), (2, 3), (3, 4), (0, 4)]
    expected = {
        "triangle": ([(0, 1), (0, 2), (1, 2)], [[1, 0, 2], [2, 1, 0], [0, 2, 1]]),
        "path": ([*pairwise(range(4))], [[1, 0, 3, 2], [0, 2, 1, 3]]),
        "star": ([(0, 1), (0, 2), (0, 3)], [[1, 0, 2, 3], [2, 1, 0, 3], [3, 1, 2, 0]]),
        "ring": (ring, [[1, 0, 3, 2, 4], [4, 2, 1, 3, 0], [0, 1, 2, 4, 3]]),
    }
    for name, (links, table) in expected.items():
        assert network(links, name=name).table().tolist() == table, name
    digest = network(nx.complete_graph(9), name="nine").table().tobytes().hex()[-36:]
    assert digest == "000006000000050000000000000001000000"


@every_graph
def test_a_network_has_the_links_and_distances_of_the_graph_that_it_was_built_from(
    name: str,
) -> None:
    graph = GRAPHS[name]
    made = network(graph, name=name)
    assert nx.is_isomorphic(graph_of(made), graph)
    titles = {network_building._as_title(node): node for node in graph}
    lengths = dict(nx.all_pairs_shortest_path_length(graph))
    for root in range(0, made.nodes, 7):
        from_root = lengths[titles[made.titles[root]]]
        expected = [from_root[titles[title]] for title in made.titles]
        assert made.distances(root).tolist() == expected
    assert made.diameter == nx.diameter(graph)
    assert made.distances().dtype == (np.int32 if name == "path" else np.uint8)
    pairs = [distance for ends in lengths.values() for distance in ends.values()]
    assert made.distance_profile() == tuple(np.bincount(pairs).tolist())
    assert made.degrees.tolist() == [graph.degree(titles[title]) for title in made.titles]


@pytest.mark.parametrize("seed", range(20))
def test_the_diameter_of_a_network_equals_that_computed_by_networkx(seed: int) -> None:
    nodes = 3 + 3 * seed
    graph = nx.connected_watts_strogatz_graph(nodes, 2 + 2 * (nodes > 5), 0.3, seed=seed)
    assert network(graph).diameter == nx.diameter(graph)


def test_the_spec_of_a_network_depends_on_labels_and_links_but_not_on_their_order() -> None:
    links = [("b", "a"), ("b", "c"), ("c", "d")]
    first = network(links, name="mine")
    assert first.spec == "mine-854f83"
    shuffled = [(v, u) for u, v in reversed(links)]
    assert network([*shuffled, *links], name="mine") is first
    assert network([*links, ("a", "d")], name="mine").spec != first.spec
    assert network([("b", "A"), *links[1:]], name="mine").spec != first.spec
    assert network(links, name="other").spec == "other-854f83"


def test_nodes_with_numeric_labels_come_first_and_others_are_sorted_by_code_points() -> None:
    made = network(nx.path_graph(["b", "10", "9", "B", "a", "9x"]))
    assert made.labels().tolist() == ["9", "10", "9x", "B", "a", "b"]
    assert (made.node("9"), made.node(1), made.node("10")) == (0, 1, 1)


def test_unique_node_labels_are_made_from_titles() -> None:
    titles = ["New York", "New-York", "New_York", "Zürich", "expanded", "x" * 50, "x" * 41]
    made = network(nx.path_graph(titles))
    labels = dict(zip(made.titles, made.labels().tolist(), strict=True))
    assert [labels[title] for title in titles] == [
        "New_York.2", "New_York.3", "New_York", "Z_rich", "expanded.2", "x" * 38 + ".2", "x" * 40,
    ]  # fmt: skip
    assert network(nx.path_graph(reversed(titles))) == made


def test_the_letter_case_of_a_label_matters_only_if_it_distinguishes_nodes() -> None:
    made = network([("a", "A"), ("A", "Berlin")])
    assert made.label(made.rank("BERLIN")) == "Berlin"
    assert made.label(made.rank("A")) == "A"
    with refused(f"'Berlim' is not a node of {made.spec}") as refusal:
        made.rank("Berlim")
    assert refusal.value.hint.startswith("did you mean 'Berlin'?")


def test_equal_graphs_of_different_libraries_give_the_same_network() -> None:
    links = [(0, 1), (1, 2), (2, 3), (0, 3), (0, 2)]
    expected = network(links, name="same")
    matrix = sparse.coo_array(([1] * 5, np.array(links).T), shape=(4, 4))
    rustworkx = rx.PyGraph()
    rustworkx.add_nodes_from(range(4))
    rustworkx.add_edges_from_no_data(links)
    for graph in (
        nx.Graph(links), nx.MultiGraph(links), nx.Graph(links).to_directed(),
        igraph.Graph(links), rustworkx, matrix + matrix.T, np.array(links), iter(links),
        [(str(u), v) for u, v in links],
    ):  # fmt: skip
        assert network(graph, name="same", reporter=Silent()) is expected
    unnamed = rx.PyGraph()
    unnamed.add_nodes_from([None] * 4)
    unnamed.add_edges_from_no_data(links)
    assert network(unnamed, name="same") is expected
    doubled = network(nx.MultiGraph([*links, (1, 0)]), reporter=Silent())
    assert doubled.capacities is not None
    assert doubled.capacities[:, 0].tolist() == [2, 1, 1]
    named = igraph.Graph.Ring(3)
    named.vs["name"] = ["x", "y", "z"]
    assert network(named).labels().tolist() == ["x", "y", "z"]


def test_parallel_links_and_nodes_without_names_are_read_from_rustworkx() -> None:
    made = network(rx.generators.star_graph(5))
    assert made == network(nx.star_graph(4))
    graph = rx.PyGraph()
    graph.add_nodes_from(["a", "b", "c"])
    graph.add_edges_from_no_data([(0, 1), (1, 0), (1, 2), (2, 1), (2, 1)])
    expected = network([("a", "b"), ("b", "c")], capacities=[2, 3])
    assert network(graph, reporter=Silent()) == expected


def test_switches_and_capacities_of_a_network_can_be_iterators() -> None:
    links = [("a", "b"), ("b", "c")]
    made = network(links, switches=iter(["b"]), capacities=iter([1, 2]))
    assert made == network(links, switches=["b"], capacities=[1, 2])
    assert made.endpoints == 2


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"switches": "ab"}, "the switches 'ab' are not a list"),
        ({"switches": 1}, "the switches 1 are not a list"),
        ({"capacities": 4}, "the capacity values 4 are not a list"),
        ({"capacities": "44"}, "the capacity values '44' are not a list"),
        ({"latencies": 4}, "the latency values 4 are not a list"),
        ({"capacities": [np.arange(2), 1]}, "the link from 'a' to 'b' has the capacity '[0 1]'"),
        ({"name": 5}, "the name '5' of the network is malformed"),
        ({"weights": "delay"}, "weights cannot be used as 'delay'"),
        ({"weights": "capacity"}, "no link has a weight"),
    ],
)
def test_invalid_options_for_a_network_are_refused(options: dict[str, Any], words: str) -> None:
    with refused(words):
        network([("a", "b"), ("b", "c")], **options)


def test_weights_of_a_matrix_can_be_the_capacities_of_a_network() -> None:
    matrix = sparse.coo_array([[0, 4, 0], [4, 0, 6], [0, 6, 0]])
    expected = network([(0, 1), (1, 2)], capacities=[2, 3])
    assert network(matrix, weights="capacity") == expected
    assert network(matrix) == network(nx.path_graph(3))


def test_a_node_is_a_switch_if_its_attribute_switch_is_the_number_1() -> None:
    graph = nx.star_graph(3)
    nx.set_node_attributes(graph, {0: 1.0, 1: 0.0, 2: float("nan")}, "switch")
    assert network(graph) == network(nx.star_graph(3), switches=[0])


def test_a_node_without_a_name_gets_a_label() -> None:
    made = network([("", "_"), ("_", "a")])
    assert dict(zip(made.titles, made.labels().tolist(), strict=True)) == {
        "": "_.2", "_": "_", "a": "a",
    }  # fmt: skip


def test_a_forest_can_be_saved_even_if_the_source_of_its_network_is_unusual(tmp_path: Path) -> None:
    """The source states where a network comes from, usually a file name."""
    for source in ("caf\udce9.csv", Path("x"), 7):
        made = network([("a", "b")], source=source)  # type: ignore[arg-type]
        forest = starcast.forest(made, "breadth-first")
        forest.save(tmp_path / "forest.npz")
        assert starcast.Forest.open(tmp_path / "forest.npz").id == forest.id


@pytest.mark.parametrize("end", [-1, 2])
def test_network_links_to_nodes_that_do_not_exist_are_refused(end: int) -> None:
    with refused("a link of the network 'mine' joins a node that does not exist"):
        starcast.Network("mine", ["a", "b"], [(0, end)])


def test_a_network_is_found_by_its_spec_after_unpickling(monkeypatch: pytest.MonkeyPatch) -> None:
    made = network([("a", "b"), ("b", "c")], name="line")
    packed = pickle.dumps(made)
    assert topology(made.spec) is made
    monkeypatch.setattr(networks, "_known", {})
    monkeypatch.setattr(
        resolvers, "_resolvers", []
    )  # an open `Lab` of another test would find the network
    with refused(f"unknown topology '{made.spec}'"):
        topology(made.spec)
    again = pickle.loads(packed)  # noqa: S301 - of this test
    assert topology(made.spec) is again
    assert again.table().tolist() == made.table().tolist()


def test_two_networks_cannot_have_the_same_spec() -> None:
    made = network([("a", "b"), ("b", "c")], name="twice")
    other = network([("a", "b"), ("a", "c")], name="other")
    other.spec = made.spec
    with refused(f"another network with the spec '{made.spec}' is already in use"):
        networks.remember(other)


@pytest.mark.parametrize(
    ("links", "words"),
    [
        ([], "the network has no links"),
        ([("a", "a")], "a link joins 'a' to itself"),
        ([("a", "b", "c")], "('a', 'b', 'c') is not a link"),
        (["ab", "bc"], "'ab' is not a link"),
        ([{"from": "a", "to": "b"}], "{'from': 'a', 'to': 'b'} is not a link"),
        ({"n1": ["n2"]}, "an object of type dict is not a graph"),
        (None, "an object of type NoneType is not a graph"),
        (topology("S3"), "an object of type Star is not a graph"),
        ([("a", "b"), ("c", "d")], "the network is not connected: it has 2 connected components"),
        (nx.empty_graph(3), "the network has no links"),
        (nx.DiGraph([(1, 2)]), "the link from '1' to '2' has no reverse"),
        (nx.star_graph(254), "the node '0' has 254 links"),
        (nx.Graph([(1, "1"), ("1", 2)]), "two nodes are named '1'"),
        (sparse.coo_array((2, 3)), "the matrix is not square"),
    ],
)
def test_graphs_that_do_not_form_a_network_are_refused(links: object, words: str) -> None:
    with refused(words):
        network(links)


@pytest.mark.parametrize("name", ["", "two words", "x" * 44, "-a", "a-b"])
def test_malformed_network_names_are_refused(name: str) -> None:
    with refused(f"the name '{name}' of the network is malformed"):
        network([(0, 1)], name=name)


@pytest.mark.parametrize(
    ("titles", "switches", "words"),
    [
        (["a", "a", "b"], [], "two nodes are named 'a'"),
        (["a b", "a b", "c"], [], "two nodes are named 'a b'"),
        (["a", "b", "c"], [3], "a switch of the network 'x' is a node that does not exist"),
        (["a", "b", "c"], [-1], "a switch of the network 'x' is a node that does not exist"),
    ],
)
def test_a_network_object_with_repeated_titles_or_unknown_switches_is_refused(
    titles: list[str], switches: list[int], words: str
) -> None:
    with refused(words):
        starcast.Network("x", titles, [(0, 1), (1, 2)], switches=switches)


def test_a_node_of_the_largest_permitted_degree_has_a_port_for_every_link() -> None:
    made = network(nx.star_graph(networks.MAX_DEGREE))
    assert made.ports == tuple(range(1, networks.MAX_DEGREE + 1))


def test_the_diameter_of_a_large_network_is_refused_but_distances_are_computed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(networks, "MAX_PROFILE_NODES", 9)
    monkeypatch.setattr(networks, "MAX_SEARCHES", 3)
    ring = network(nx.cycle_graph(10), name="ring")
    for ask in (ring.distance_profile, lambda: ring.diameter):
        with pytest.raises(LimitError):
            ask()
    assert ring.distances(5).tolist() == [5, 4, 3, 2, 1, 0, 1, 2, 3, 4]


def test_a_network_is_shown_as_svg_in_notebooks() -> None:
    made = starcast.network([("a", "b"), ("b", "c")], name="shown")
    assert "<svg" in (made._repr_svg_() or "")
