"""Layouts of topologies: node positions, and how symmetries move them."""

import networkx as nx
import numpy as np
import pytest

import starcast
from starcast.drawing.explorer import name_ports
from starcast.drawing.layouts import PERIODS, find_periods, layout, layouts, substar_groups
from starcast.support.errors import InputError, LimitError
from starcast.topologies import topology
from starcast.topologies.necklaces import rotation
from starcast.topologies.permutations import unrank

SPECS = ["S2", "S3", "S4", "S5", "S6", "S4,2", "S5,3", "S5,1", "S6,4", "Q1", "Q3", "Q4", "Q7"]
ALL = [(spec, name) for spec in SPECS for name in layouts(spec)]


def places(spec: str, name: str) -> np.ndarray:
    """Return the node positions of a layout as complex numbers."""
    return np.asarray(layout(spec, name).astype(float) @ [1, 1j])


@pytest.mark.parametrize(("spec", "name"), ALL)
def test_node_positions_of_layouts_are_finite_and_distinct(spec: str, name: str) -> None:
    """Only the layout `quotient` places several nodes at the same position."""
    positions = layout(spec, name)
    assert positions.shape == (topology(spec).nodes, 2)
    assert positions.dtype == np.float32
    assert np.isfinite(positions).all()
    if name != "quotient":
        points = places(spec, name)
        apart = np.abs(points[:, None] - points)
        np.fill_diagonal(apart, np.inf)
        assert apart.min() > 0.5


def test_layouts_of_s7_have_distinct_positions_and_balanced_proportions() -> None:
    for name in ["substars", "levels", "necklaces"]:
        positions = layout("S7", name)
        assert len(np.unique(positions.round(2), axis=0)) == 5_040
        width, height = np.ptp(positions, axis=0)
        assert 0.4 < width / height < 2.5


def test_the_layout_levels_sorts_nodes_by_their_distance_from_the_identity() -> None:
    for spec in ("S4", "S5", "S6", "Q4", "S5,3"):
        y = layout(spec, "levels")[:, 1]
        distances = topology(spec).distances()
        for distance in range(1, topology(spec).diameter + 1):
            assert y[distances == distance].min() > y[distances == distance - 1].max()


def test_the_layout_substars_is_rotated_if_1_is_added_to_all_symbols_of_the_labels() -> None:
    """The discs around the substars do not overlap, except on S_3."""
    for spec in ["S3", "S4", "S5", "S6"]:
        network = topology(spec)
        added = [
            network.rank("".join(str(int(symbol) % network.n + 1) for symbol in label))
            for label in network.labels().tolist()
        ]
        points = places(spec, "substars")
        points -= points.mean()
        turn = np.exp(-2j * np.pi / network.n)
        assert points[added] == pytest.approx(points * turn, abs=1e-3)
        last = unrank(network.n, np.arange(network.nodes))[:, -1]
        discs = [points[last == symbol] for symbol in range(1, network.n + 1)]
        radius = max(np.abs(disc - disc.mean()).max() for disc in discs)
        apart = min(abs(a.mean() - b.mean()) for a in discs for b in discs if a is not b)
        assert apart > 2 * radius or spec == "S3"


def test_the_rotation_of_the_star_graph_rotates_the_layout_necklaces() -> None:
    for spec in ["S4", "S5", "S6"]:
        network = topology(spec)
        points = places(spec, "necklaces")
        turn = rotation(network.n)
        angle = np.exp(2j * np.pi / (network.n - 1))
        # Nodes on short necklaces are not rotated exactly, because a rotation by 1/(n-1) of a turn
        # needs n-1 positions.
        turned = np.isclose(points[turn], points * angle, atol=1e-2)
        assert turned.mean() > 0.9
        assert np.abs(points[turn]) == pytest.approx(np.abs(points), abs=1e-2)


def test_links_of_s4_on_the_torus_are_equally_long_and_form_12_regular_hexagons() -> None:
    points = places("S4", "torus")
    first, second = PERIODS @ [1, 1j]
    shifts = [i * first + j * second for i in (-1, 0, 1) for j in (-1, 0, 1)]
    network = topology("S4")
    corners = set()
    for port in network.ports:
        images = points[network.neighbours(port)] - points + np.array(shifts)[:, None]
        assert np.abs(images).min(axis=0) == pytest.approx(np.ones(24), abs=1e-4)
    for node in range(24):
        for one, other in ((2, 3), (2, 4), (3, 4)):
            walk = [node]
            for port in (one, other) * 3:
                walk.append(int(network.neighbours(port, [walk[-1]])[0]))
            assert walk[0] == walk[-1]
            corners.add(frozenset(walk))
            assert len(set(walk)) == 6
    assert len(corners) == 12
    area = abs((first.conjugate() * second).imag)
    assert area == pytest.approx(12 * 1.5 * 3**0.5, rel=1e-6)  # 12 regular hexagons of side 1


def test_links_of_a_torus_point_in_the_direction_that_the_legend_names() -> None:
    network, points = topology("T4x5"), places("T4x5", "grid")
    assert layouts("T4x5") == ("grid", "levels")
    assert layouts("T3x3x3") == ("levels",)
    first, second = find_periods(network, "grid") @ [1, 1j]
    shifts = [i * first + j * second for i in (-1, 0, 1) for j in (-1, 0, 1)]
    for port, move in zip(network.ports, (1, -1, 1j, -1j), strict=True):
        images = points[network.neighbours(port)] - points + np.array(shifts)[:, None]
        assert (np.abs(images - move).min(axis=0) == 0).all()
    assert name_ports(network) == [
        "direction +x (port 2)", "direction -x (port 3)",
        "direction +y (port 4)", "direction -y (port 5)",
    ]  # fmt: skip
    assert name_ports(topology("S3")) == ["dimension 2", "dimension 3"]


def test_all_links_of_a_hypercube_with_the_same_port_are_parallel_and_equally_long() -> None:
    points = places("Q5", "projection")
    for port in topology("Q5").ports:
        moves = points[topology("Q5").neighbours(port)] - points
        assert np.abs(moves) == pytest.approx(np.full(32, np.abs(moves[0])), rel=1e-3)
        assert len({complex(*np.round([move.real, move.imag], 2)) for move in moves}) == 2


def test_the_default_layout_of_s8_shows_each_of_56_substars_as_one_point() -> None:
    assert layouts("S8")[0] == "quotient"
    assert layouts("S7")[0] == "substars"
    positions = layout("S8")
    _, counts = np.unique(positions, axis=0, return_counts=True)
    assert counts.tolist() == [720] * 56
    groups = substar_groups(topology("S8"))
    ends = [label[-2:] for label in topology("S8").labels().tolist()]
    assert len(set(zip(groups.tolist(), ends, strict=True))) == 56


def test_unknown_layouts_and_too_large_topologies_are_refused() -> None:
    with pytest.raises(InputError, match="S5 has no layout 'torus'") as refusal:
        layout("S5", "torus")
    assert "substars" in refusal.value.hint
    with pytest.raises(LimitError, match=r"S10 has 3,628,800 nodes"):
        layout("S10")


@pytest.mark.parametrize(
    ("spec", "names"),
    [
        ("Mesh4x5", ("grid", "spring", "levels")),
        ("HX3x4", ("grid", "levels")),
        ("T3x4x5", ("levels",)),
        ("Mesh3x3x3", ("spring", "levels")),
        ("Ring8", ("circle", "levels")),
        ("Ring700", ("circle", "levels")),
        ("Circ12,1,3", ("circle", "levels")),
        ("CCC3", ("spring", "levels")),
        ("GP301,2", ("levels",)),
    ],
)
def test_the_available_layouts_depend_on_family_and_size(spec: str, names: tuple[str, ...]) -> None:
    assert layouts(spec) == names


@pytest.mark.parametrize("spec", ["K2", "K3", "Ring9"])
def test_the_layout_circle_is_a_regular_polygon(spec: str) -> None:
    points = layout(spec, "circle").astype(float) @ [1, 1j]
    sides = np.abs(points - np.roll(points, 1))
    assert np.allclose(sides, 1, atol=1e-5)
    assert np.allclose(np.abs(points), np.abs(points[0]), atol=1e-5)


@pytest.mark.parametrize("spec", ["Path8", "K3,4", "Mesh4x5", "Mesh3x3x3", "SF5"])
def test_the_layout_spring_is_deterministic_and_has_distinct_positions(spec: str) -> None:
    points = places(spec, "spring")
    apart = np.abs(points[:, None] - points)
    np.fill_diagonal(apart, np.inf)
    assert apart.min() > 0.75
    assert np.array_equal(points, places(spec, "spring"))


def test_the_layout_spring_separates_the_two_sides_of_a_bridge() -> None:
    bell = starcast.network(nx.barbell_graph(6, 3), name="bell")
    points = layout(bell, "spring").astype(float) @ [1, 1j]
    middle = np.abs(points - points[7])
    sides = points[:6], points[9:]
    assert all(np.abs(side - side.mean()).max() < middle[5] + 1 for side in sides)
    assert np.abs(sides[0].mean() - sides[1].mean()) > 4


def test_the_default_layout_of_a_network_uses_its_given_positions_with_y_upwards() -> None:
    graph = nx.path_graph(3)
    for node, (x, y) in enumerate([(10, 50), (10, 52), (14, 50)]):
        graph.nodes[node].update(x=x, y=y)
    made = starcast.network(graph, name="map")
    assert layouts(made)[0] == "positions"
    assert (layout(made) - layout(made)[0]).tolist() == [[0, 0], [0, -1], [2, 0]]


def test_the_layout_levels_shows_distances_from_the_chosen_root() -> None:
    mesh = topology("Mesh4x5")
    y = layout(mesh, "levels", root="23")[:, 1]
    assert np.array_equal(np.unique(y, return_inverse=True)[1], mesh.distances("23"))


@pytest.mark.usefixtures("registries")
def test_topologies_of_a_plug_in_have_the_layout_levels() -> None:
    from support.fix_plugins import load_examples

    load_examples()
    assert layouts("R4") == ("levels",)
    assert layout("R4").shape == (24, 2)
