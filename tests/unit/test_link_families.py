"""Topology families defined by links, compared with NetworkX, definitions and published values."""

from collections.abc import Callable
from itertools import combinations, product

import networkx as nx
import numpy as np
import pytest

import starcast
from starcast import forest, schedule, simulate, topology
from starcast.catalogue.entries import FAMILIES
from starcast.support import resolvers
from starcast.support.errors import LimitError
from starcast.topologies.cayley import CayleyGraph, Subgroup
from starcast.topologies.families import MAX_LINKS
from support.irregular import graph_of
from support.meeting import refused
from unit.test_topology import assert_carries_ports

SPECS = [
    *("Ring8", "Path8", "Mesh4x5", "K8", "K3,4", "A5,2", "FQ4", "CQ4", "AQ4", "CCC3", "BF3"),
    *("DB2,4", "KZ2,3", "GP8,3", "Circ12,1,3", "HX3x4", "DF2", "SF5", "RR20,4,1"),
]
CAYLEY = ["Ring8", "K8", "FQ4", "AQ4", "CCC3", "BF3", "Circ12,1,3", "HX3x4"]


def crossed_cube(d: int) -> nx.Graph:
    """Return the crossed cube CQ_d by the recursive definition of Efe 1992.

    The nodes are strings of bits.
    """
    if d == 1:
        return nx.Graph([("0", "1")])
    related = {("00", "00"), ("10", "10"), ("01", "11"), ("11", "01")}
    half, graph = crossed_cube(d - 1), nx.Graph()
    for bit in "01":
        graph.add_edges_from((bit + u, bit + v) for u, v in half.edges)
    for u, v in product(half, repeat=2):
        # For even d, the second bit of a node is in no pair, and must be equal in both nodes.
        left = (d - 1) % 2
        pairs = [(u[i : i + 2], v[i : i + 2]) for i in range(left, d - 1, 2)]
        if u[:left] == v[:left] and all(pair in related for pair in pairs):
            graph.add_edge("0" + u, "1" + v)
    return graph


def augmented_cube(d: int) -> nx.Graph:
    """Return the augmented cube AQ_d by the recursive definition of Choudum & Sunitha 2002."""
    if d == 1:
        return nx.Graph([("0", "1")])
    half, graph = augmented_cube(d - 1), nx.Graph()
    for bit in "01":
        graph.add_edges_from((bit + u, bit + v) for u, v in half.edges)
    for u in half:
        graph.add_edge("0" + u, "1" + u)
        graph.add_edge("0" + u, "1" + u.translate(str.maketrans("01", "10")))
    return graph


def cube_connected_cycles(d: int) -> nx.Graph:
    """Return the hypercube in which a cycle of d nodes replaces each node."""
    graph = nx.Graph()
    for word, i in product(range(2**d), range(d)):
        graph.add_edge((word, i), (word, (i + 1) % d))
        graph.add_edge((word, i), (word ^ 1 << i, i))
    return graph


def butterfly(d: int) -> nx.Graph:
    """Return the wrapped butterfly, whose first and last levels are identified."""
    graph = nx.Graph()
    for word, i in product(range(2**d), range(d)):
        graph.add_edge((word, i), (word, (i + 1) % d))
        graph.add_edge((word, i), (word ^ 1 << i, (i + 1) % d))
    return graph


def line_graphs(arcs: list[tuple[int, int]], times: int) -> nx.Graph:
    """Return the undirected line graph of a directed graph, iterated ``times`` times.

    Loops are removed.
    """
    graph = nx.DiGraph(arcs)
    for _ in range(times):
        graph = nx.convert_node_labels_to_integers(nx.line_graph(graph))
    found = graph.to_undirected()
    found.remove_edges_from(list(nx.selfloop_edges(found)))
    return found


def rook(rows: int, columns: int) -> nx.Graph:
    """Return the Cartesian product of two complete graphs."""
    return nx.cartesian_product(nx.complete_graph(rows), nx.complete_graph(columns))


#: The graphs of topologies, built independently of the families under test.
ORACLES: dict[str, Callable[[], nx.Graph]] = {
    "Ring8": lambda: nx.cycle_graph(8),
    "Path8": lambda: nx.path_graph(8),
    "Mesh4x5": lambda: nx.grid_graph((4, 5)),
    "Mesh2x3x4": lambda: nx.grid_graph((2, 3, 4)),
    "K8": lambda: nx.complete_graph(8),
    "K3,4": lambda: nx.complete_bipartite_graph(3, 4),
    # A_{n,1} is complete, A_{n,n-1} is the star graph S_n, and A_{n,n-2} is an alternating group
    # graph (Chiang & Chen 1998).
    "A5,1": lambda: nx.complete_graph(5),
    "A4,3": lambda: graph_of(topology("S4")),
    "A5,3": lambda: graph_of(topology("AG5")),
    # The folded cube of 16 nodes is the Clebsch graph, the complement of the square of the 4-cube.
    "FQ4": lambda: nx.complement(nx.power(nx.hypercube_graph(4), 2)),
    "CQ4": lambda: crossed_cube(4),
    "CQ5": lambda: crossed_cube(5),
    "AQ4": lambda: augmented_cube(4),
    "CCC3": lambda: cube_connected_cycles(3),
    "CCC4": lambda: cube_connected_cycles(4),
    "BF3": lambda: butterfly(3),
    "BF4": lambda: butterfly(4),
    "DB2,4": lambda: line_graphs([*product(range(2), range(2))], 3),
    "DB3,2": lambda: line_graphs([*product(range(3), range(3))], 1),
    "KZ2,3": lambda: line_graphs([(u, v) for u in range(3) for v in range(3) if u != v], 2),
    "KZ3,2": lambda: line_graphs([(u, v) for u in range(4) for v in range(4) if u != v], 1),
    "GP8,3": nx.moebius_kantor_graph,
    "GP5,2": nx.petersen_graph,
    "GP10,3": nx.desargues_graph,
    "GP10,2": nx.dodecahedral_graph,
    "Circ12,1,3": lambda: nx.circulant_graph(12, [1, 3]),
    "Circ12,3,4,6": lambda: nx.circulant_graph(12, [3, 4, 6]),
    "HX3x4": lambda: rook(3, 4),
    "SF5": nx.hoffman_singleton_graph,
}


@pytest.mark.whole
@pytest.mark.parametrize("spec", ORACLES)
def test_a_topology_is_isomorphic_to_the_graph_of_its_definition(spec: str) -> None:
    assert nx.is_isomorphic(graph_of(topology(spec)), ORACLES[spec]())


def test_diameters_and_degrees_of_topologies_equal_published_values() -> None:
    """The values are from the publications that the families in `FAMILIES` name as sources."""
    expected = {
        **{f"A{n},{k}": (k * (n - k), 3 * k // 2) for n, k in ((5, 2), (6, 2), (6, 3), (7, 3))},
        **{f"FQ{d}": (d + 1, -(-d // 2)) for d in range(2, 9)},
        **{f"CQ{d}": (d, -(-(d + 1) // 2)) for d in range(2, 9)},
        **{f"AQ{d}": (2 * d - 1, -(-d // 2)) for d in range(2, 9)},
        "CCC3": (3, 6),
        **{f"CCC{d}": (3, 2 * d + d // 2 - 2) for d in range(4, 8)},
        **{f"BF{d}": (4, 3 * d // 2) for d in range(3, 8)},
        **{f"DB{d},{k}": (2 * d, k) for d, k in ((2, 4), (2, 6), (3, 4))},
        **{f"KZ{d},{k}": (2 * d, k) for d, k in ((2, 4), (3, 3), (3, 4))},
        **{f"HX{a}x{b}": (a + b - 2, 2) for a, b in ((3, 4), (5, 6))},
        **{f"DF{h}": (3 * h - 1, 3) for h in (2, 3, 4)},
        # McKay, Miller & Siran 1998: 2 q^2 nodes of degree (3q-d)/2, where q = 4w+d, d = 1 or -1.
        **{f"SF{q}": (degree, 2) for q, degree in ((5, 7), (7, 11), (11, 17), (13, 19), (19, 29))},
    }
    found = {spec: (topology(spec).degree, topology(spec).diameter) for spec in expected}
    assert found == expected
    nodes = {"A6,3": 120, "CCC4": 64, "BF4": 64, "DB3,4": 81, "KZ3,3": 36, "DF4": 264, "SF19": 722}
    assert {spec: topology(spec).nodes for spec in nodes} == nodes


def test_distance_profiles_of_topologies_equal_published_values() -> None:
    """FQ4 is the Clebsch graph, and SF5 is the Moore graph of Hoffman & Singleton 1960."""
    assert topology("FQ4").distance_profile() == (1, 5, 10)
    assert topology("SF5").distance_profile() == (50, 50 * 7, 50 * 42)
    assert topology("HX3x4").distance_profile() == (1, 5, 6)
    assert topology("Ring8").distance_profile() == (1, 2, 2, 2, 1)


def test_any_two_groups_of_a_dragonfly_are_joined_by_exactly_one_link() -> None:
    t = topology("DF3")
    groups = [int(label.split(".")[0]) for label in t.labels().tolist()]
    links = [(groups[u], groups[v]) for u, v in graph_of(t).edges]
    between = sorted((min(u, v), max(u, v)) for u, v in links if u != v)
    assert between == [*combinations(range(19), 2)]
    assert links.count((0, 0)) == 15
    assert {*t.degrees.tolist()} == {5 + 3}


@pytest.mark.parametrize("spec", ["RR20,4,1", "RR12,3,5", "RR12,9,2", "RR6,5,1"])
def test_a_random_regular_graph_is_regular_and_connected(spec: str) -> None:
    t = topology(spec)
    degree = int(spec.split(",")[1])
    assert t.degrees.tolist() == [degree] * t.nodes
    assert nx.is_connected(graph_of(t))


def test_the_same_seed_always_gives_the_same_random_regular_graph() -> None:
    """Stored schedules contain the ports of this graph, so the test lists its links literally."""
    links = [*graph_of(topology("RR8,3,1")).edges]
    assert links == [
        (0, 2),
        (0, 4),
        (0, 6),
        (1, 4),
        (1, 5),
        (1, 7),
        (2, 3),
        (2, 5),
        (3, 6),
        (3, 7),
        (4, 6),
        (5, 7),
    ]
    assert [*graph_of(topology("RR8,3,2")).edges] != links


@pytest.mark.whole
@pytest.mark.parametrize("spec", SPECS)
def test_labels_distances_trees_and_allgathers_on_each_family_are_correct(spec: str) -> None:
    t = topology(spec)
    assert t.spec == spec
    assert t.has_translations == (spec in CAYLEY)
    assert FAMILIES[t.family].source
    assert [t.rank(label) for label in t.labels().tolist()] == [*range(t.nodes)]
    lengths = nx.single_source_shortest_path_length(graph_of(t), 1)
    assert t.distances(1).tolist() == [lengths[node] for node in range(t.nodes)]
    if t.has_translations:
        assert_carries_ports(t, t.nodes - 1)
    forest(spec, "breadth-first", root=1).verify()
    plan = schedule(spec, "allgather", "forest(base=breadth-first)")
    result = simulate(plan)
    assert (result.complete, result.violation) == (True, None)


@pytest.mark.whole
@pytest.mark.parametrize("spec", [*SPECS, "S5", "S6,3", "Q4", "P5", "BP3", "AG4", "T3x4"])
def test_a_spec_matches_the_pattern_of_exactly_one_family(spec: str) -> None:
    assert [e.name for e in FAMILIES.values() if e.pattern.fullmatch(spec)] == [
        topology(spec).family
    ]


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        ("Mesh1x4", "Mesh1x4 is out of range"),
        ("K0,3", "K0,3 is out of range"),
        ("K1", "the complete graph K1 is out of range"),
        ("A5,5", "A5,5 is out of range"),
        ("GP8,4", "GP8,4 is out of range"),
        ("DB2,99", "DB2,99 is out of range"),
        ("KZ2,0", "KZ2,0 is out of range"),
        ("SF9", "SF9 is out of range"),
        ("Circ12,2,4", "the steps 2, 4 of the circulant graph are invalid"),
        ("Circ12,3,1", "the steps 3, 1 of the circulant graph are invalid"),
        ("Circ12,7", "the steps 7 of the circulant graph are invalid"),
        ("RR9,3,1", "cannot build a random regular graph of 9 nodes with degree 3"),
        ("RR9,10,1", "cannot build a random regular graph of 9 nodes with degree 10"),
        ("K254,254", "the node 'a1' has 254 links"),
    ],
)
def test_specs_with_invalid_sizes_are_refused(spec: str, sentence: str) -> None:
    with refused(sentence):
        topology(spec)


@pytest.mark.parametrize(
    "spec", ["Mesh9999999999x9999999999", "K3,9999999999", "KZ35,20", "A35,34"]
)
def test_a_topology_with_too_many_links_is_refused_before_it_is_built(spec: str) -> None:
    with pytest.raises(LimitError, match=rf"{spec} has too many links: more than {MAX_LINKS:,}"):
        topology(spec)


def test_labels_of_a_torus_with_long_sides_are_decimal_numbers() -> None:
    t = topology("T40x9")
    assert t.labels([0, 358]).tolist() == ["0000", "3907"]
    assert t.rank("3907") == 358
    for label in ("3909", "4000", "390", "390a", "03907"):
        with refused(f"'{label}' is not a label") as refusal:
            t.rank(label)
    assert refusal.value.hint == "use a label from 0000 to 3908"


def test_generators_of_a_subgroup_define_its_cayley_graph() -> None:
    rotations = [[2, 3, 4, 1], [4, 1, 2, 3]]
    with refused("the generators of X reach only 4 of its 24 nodes") as refusal:
        CayleyGraph("X", "x", rotations).distances()
    assert 'group="generated"' in str(refusal.value.hint)
    ring = CayleyGraph("X", "x", rotations, Subgroup)
    assert ring.labels().tolist() == ["1234", "2341", "3412", "4123"]
    assert ring.distance_profile() == (1, 2, 1)
    assert ring.rank("3412") == 2
    for root in range(4):
        assert_carries_ports(ring, root)
    with refused("'2134' is not a label"):
        ring.rank("2134")
    dihedral = CayleyGraph("X", "x", [*rotations, [4, 3, 2, 1]], Subgroup)
    assert dihedral.nodes == 8


@pytest.mark.usefixtures("registries")
def test_a_function_that_defines_a_topology_family_may_return_links() -> None:
    @starcast.family("wheel", pattern=r"Wheel(\d+)", source="this test")
    def wheel(n: int) -> list[tuple[object, object]]:
        spokes = [("hub", node) for node in range(1, n + 1)]
        return [*spokes, *((node, node % n + 1) for node in range(1, n + 1))]

    made = topology("Wheel5")
    assert (made.spec, made.family, made.nodes, made.links) == ("Wheel5", "wheel", 6, 10)
    assert nx.is_isomorphic(graph_of(made), nx.wheel_graph(6))
    assert made is topology("Wheel5")
    starcast.family("array", pattern=r"Array(\d+)", source="this test")(
        lambda n: np.array([[0, 1], [1, n]])
    )
    assert topology("Array2").labels().tolist() == ["0", "1", "2"]
    starcast.family("parts", pattern=r"Parts(\d+)", source="this test")(lambda n: [(0, 1), (2, n)])
    with refused("the family 'parts' (", "): the network is not connected: it has 2 connected"):
        topology("Parts3")


@pytest.mark.usefixtures("registries")
def test_a_spec_that_looks_like_a_network_spec_belongs_to_no_family(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The spec of a network is its name with a hyphen and six hexadecimal digits."""
    monkeypatch.setattr(resolvers, "_resolvers", [])  # open labs of other tests would resolve specs
    starcast.family("dashed", pattern=r"Dash-(\d+)", source="this test")(lambda n: [(0, n)])
    assert topology("Dash-12345").nodes == 2
    with refused("unknown topology 'Dash-123456'") as refusal:
        topology("Dash-123456")
    assert str(refusal.value.hint).startswith("'starcast topology families' lists")


@pytest.mark.parametrize(
    ("spec", "hint"),
    [
        ("mesh4X5", "did you mean 'Mesh4x5'?"),
        ("T4", "write T4x4 or T4x4x4 for a torus; "),
        ("mesh.csv", "use a spec or the name of a stored network; "),
        ("Foo", "'starcast topology families' lists all families; to read a file, use its path; "),
    ],
)
def test_the_error_for_an_unknown_spec_has_a_short_hint(spec: str, hint: str) -> None:
    with refused(f"unknown topology '{spec}'") as refusal:
        topology(spec)
    assert str(refusal.value.hint).startswith(hint)
    assert len(str(refusal.value.hint)) < 220
