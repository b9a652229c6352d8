"""Star graphs, (n,k)-stars and hypercubes as arrays, compared with their definitions node by node.

The nodes of S_n and S_{n,k} follow docs/definitions/nk-star.md (here S_n is the case k = n); the
nodes of hypercubes are bit strings.
"""

import tracemalloc
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import combinations
from math import factorial, perm
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import hypercube, nk_star, rotation, star_graph
from starcast.support.errors import StarcastError
from starcast.topologies import Topology, topology
from support.meeting import places, refused

STARS = [f"S{n}" for n in range(2, 8)]
NK_STARS = [f"S{n},{k}" for n in range(2, 8) for k in range(1, n)]
SPECS = [*STARS, *NK_STARS, *(f"Q{d}" for d in range(1, 9))]
#: Small topologies, which are tested in every run.
SMALL = ["S2", "S3", "S5", "S2,1", "S4,1", "S4,2", "S5,3", "S5,4", "Q1", "Q2", "Q5"]
larger_specs = pytest.mark.parametrize("spec", [spec for spec in SPECS if spec not in SMALL])
small_specs = pytest.mark.parametrize("spec", SMALL)


def label_of(node: Any) -> str:
    """Return the label of a node that is given in the notation of the definition."""
    return node if isinstance(node, str) else star_graph.label(node)


def node_of(t: Topology, label: str) -> Any:
    """Return the node with the given label, in the notation of the definition."""
    return label if t.family == "hypercube" else star_graph.node_of(label)


def across(t: Topology, node: Any, port: int) -> Any:
    """Return the neighbour across a port, according to the definition."""
    return hypercube.flip(node, port) if isinstance(node, str) else nk_star.across(node, port, t.n)


def image_of(t: Topology, root: Any, node: Any) -> Any:
    """Return a node's image under the translation to a root, according to the definition."""
    if isinstance(node, str):
        return hypercube.xor(node, root)
    return star_graph.compose(nk_star.extension(root, t.n), node)


def roots_of(t: Topology) -> Iterator[int]:
    """Yield the ranks of the identity, its shifts, the last node and a node between them."""
    yield from {0, t.nodes - 1, t.nodes // 3}
    if t.family != "hypercube":
        for i in range(1, t.n):
            yield t.rank(star_graph.label(nk_star.root_of(i, t.n, t.k or t.n)))


@pytest.mark.whole
@small_specs
def test_small_topologies_follow_their_mathematical_definition(spec: str) -> None:
    assert_follows_the_definition(topology(spec))


@larger_specs
def test_larger_topologies_follow_their_mathematical_definition(spec: str) -> None:
    assert_follows_the_definition(topology(spec))


def assert_follows_the_definition(t: Topology) -> None:
    """Compare labels, neighbours, distances and translations with the definition."""
    nodes = places(t)
    ranks = {node: rank for rank, node in enumerate(nodes)}
    labels = list(map(label_of, nodes))
    assert t.labels().tolist() == labels == sorted(labels)
    assert [t.rank(label) for label in labels] == list(range(t.nodes))
    assert t.labels([t.nodes - 1, 0]).tolist() == [labels[-1], labels[0]]
    table = [[ranks[across(t, node, port)] for node in nodes] for port in t.ports]
    assert_has_neighbours(t, table)
    for root in dict.fromkeys(roots_of(t)):
        result = t.distances(root)
        assert result.dtype == np.uint8
        assert t.distances(labels[root]).tolist() == result.tolist()
        assert result.tolist() == breadth_first(table, root)
        assert t.distance_profile() == tuple(np.bincount(result).tolist())
        assert len(t.distance_profile()) == t.diameter + 1
        assert t.mean_distance == Fraction(int(result.sum()), t.nodes - 1)
        image = t.translation(root)
        assert image.tolist() == [ranks[image_of(t, nodes[root], node)] for node in nodes]
        assert np.array_equal(t.translation(labels[root]), image)
        assert_carries_ports(t, root)
    if t.family == "nk-star":
        assert t.distances(0).tolist() == [nk_star.distance(node) for node in nodes]


def assert_has_neighbours(t: Topology, table: list[list[int]]) -> None:
    """Check all functions that return neighbours, and that each reverse port leads back."""
    assert t.table().dtype == np.int32
    assert t.table().tolist() == table
    for port, expected in zip(t.ports, table, strict=True):
        chunks = [t.neighbour_ranks(port)(chunk) for chunk in t.chunks()]
        for found in (
            t.neighbours(port), t.neighbours(port, np.arange(t.nodes)), np.concatenate(chunks)
        ):  # fmt: skip
            assert found.dtype == np.int32
            assert found.tolist() == expected
        back = t.neighbours(t.reverse_port(port))
        assert np.array_equal(back[t.neighbours(port)], np.arange(t.nodes))
        k = t.k or t.n
        assert t.reverse_port(port) == (port if port <= k else k + (t.n + 1 - port))


def breadth_first(table: list[list[int]], root: int) -> list[int]:
    """Return the distance of every node from the root by breadth-first search."""
    found, queue = {root: 0}, [root]
    for node in queue:
        for row in table:
            if row[node] not in found:
                found[row[node]] = found[node] + 1
                queue.append(row[node])
    return [found[node] for node in range(len(table[0]))]


def assert_carries_ports(t: Topology, root: int) -> None:
    """Check that a translation is an automorphism that maps ports as `carried_ports` states."""
    image = t.translation(root)
    assert np.array_equal(np.sort(image), np.arange(t.nodes))
    for port in t.ports:
        carried = t.carried_ports(root, np.full(t.nodes, port, dtype=np.uint8))
        assert np.array_equal(t.step(carried, image), image[t.neighbours(port)])
        residual = t.family == "nk-star" and port > (t.k or t.n)
        assert (carried == port).all() or (residual and not t.translation_keeps_ports)
    assert not t.carried_ports(root, np.zeros(t.nodes, dtype=np.uint8)).any()


@given(st.integers(2, 8).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, factorial(n) - 1))))
def test_a_translation_of_a_star_graph_keeps_the_port_of_every_link(drawn: tuple[int, int]) -> None:
    n, root = drawn
    assert_carries_ports(topology(f"S{n}"), root)


def test_translations_of_an_nk_star_change_some_residual_ports() -> None:
    """A residual port replaces the first symbol of a label by a symbol that is not in the label.

    With n - k = 1 there is only one residual port, so such sizes are not tested.
    """
    for n, k in [(4, 2), (5, 3), (6, 2), (6, 4)]:
        t = topology(f"S{n},{k}")
        residual = np.full(t.nodes, n, dtype=np.uint8)
        assert any((t.carried_ports(root, residual) != residual).any() for root in range(t.nodes))


@pytest.mark.parametrize("n", range(2, 8))
def test_the_nk_star_with_k_equal_to_n_minus_1_is_the_star_graph(n: int) -> None:
    """Ranks, ports and distances are equal if the missing symbol is appended to each label."""
    star, same = topology(f"S{n}"), topology(f"S{n},{n - 1}")
    assert [label[:-1] for label in star.labels().tolist()] == same.labels().tolist()
    assert star.ports == same.ports
    assert np.array_equal(star.table(), same.table())
    assert np.array_equal(star.distances(star.nodes // 2), same.distances(star.nodes // 2))
    assert np.array_equal(star.translation(star.nodes // 3), same.translation(star.nodes // 3))
    assert star.distance_profile() == same.distance_profile()


def test_topologies_have_known_sizes_degrees_and_diameters() -> None:
    known: dict[str, tuple[str, int, int | None, int, int]] = {
        f"S{n}": ("star", n, None, factorial(n), 3 * (n - 1) // 2) for n in range(2, 13)
    }
    known |= {f"Q{d}": ("hypercube", d, None, 2**d, d) for d in range(1, 29)}
    for n, k in combinations(range(7, 0, -1), 2):
        known[f"S{n},{k}"] = ("nk-star", n, k, perm(n, k), nk_star.diameter(n, k))
    for spec, values in known.items():
        t = topology(spec)
        assert (t.spec, (t.family, t.n, t.k, t.nodes, t.diameter)) == (spec, values)
        assert t.ports == tuple(range(1 if spec[0] == "Q" else 2, t.n + 1))
        assert (t.degree, t.links) == (len(t.ports), t.nodes * len(t.ports) // 2)


@pytest.mark.parametrize(
    "spec",
    [
        *("S0", "S1", "S13", "S99", "S5,9", "S5,", "S,5", "T4", "", "S", "5", "s5", "S05", "S5 "),
        *(" S5", "S5\n", "S-5", "S5.0", "Sn", "S\N{ARABIC-INDIC DIGIT FIVE}"),
        *("S5,0", "S5,5", "S1,0", "S1,1", "S0,0", "S36,1", "S99,1", "S9999,9999", "S4,3,2"),
        *("S4,03", "S4, 3", "S4;3", "Q0", "Q29", "Q9999", "Q99999", "Q", "Q-1", "Q04", "q4"),
        *("Q4,2", "Q4.0", "Q4 "),
        pytest.param("S" + "9" * 5000, id="S99.."),
    ],
)
def test_an_unknown_topology_is_refused(spec: str) -> None:
    with refused(spec.strip()[:9]):
        topology(spec)


def test_the_error_for_an_invalid_topology_size_states_the_valid_range() -> None:
    """The limit is 12! nodes, so that ranks fit into int32. S12,11 has as many nodes as S12."""
    ranges = {"S5,5": "1 to 4", "S36,2": "2 to 35", "S13,10": "1 to 9", "S35,6": "1 to 5"}
    for spec, words in {**ranges, "Q29": "1 to 28"}.items():
        with pytest.raises(StarcastError) as refusal:
            topology(spec)
        assert words in refusal.value.hint
    assert topology("S12,11").nodes == topology("S12").nodes
    assert topology("S13,9").nodes < topology("S12").nodes < perm(13, 10)
    assert topology("Q28").nodes < topology("S12").nodes < 2**29


def test_topologies_with_the_same_spec_are_equal() -> None:
    assert topology("S5") == topology("S5")
    assert hash(topology("S5")) == hash(topology("S5"))
    assert topology("S5") != topology("S6")
    assert topology("S5") != "S5"
    assert "S5" in repr(topology("S5"))


@st.composite
def large_topologies(draw: st.DrawFn) -> Topology:
    """Draw a topology of any size."""
    n = draw(st.integers(2, 35))
    k = draw(st.integers(1, max(k for k in range(1, n) if perm(n, k) <= perm(12, 12))))
    return topology(draw(st.sampled_from([f"S{min(n, 12)}", f"S{n},{k}", f"Q{min(n, 28)}"])))


@given(large_topologies(), st.data())
def test_single_nodes_of_large_topologies_follow_their_mathematical_definition(
    t: Topology, data: st.DataObject
) -> None:
    rank, other = (data.draw(st.integers(0, t.nodes - 1)) for _ in range(2))
    port = data.draw(st.sampled_from(t.ports))
    label = t.label(rank)
    if t.family == "star":
        assert label == star_graph.label(star_graph.node_by_counting(t.n, rank))
    if t.family == "hypercube":
        assert label == f"{rank:0{t.n}b}"
    assert (label < t.label(other)) == (rank < other)
    assert t.rank(label) == t.node(label) == t.node(rank) == t.node(np.int32(rank)) == rank  # type: ignore[arg-type]
    assert t.labels([rank, 0]).tolist() == [label, t.label(0)]
    neighbour = label_of(across(t, node_of(t, label), port))
    assert t.neighbours(port, [rank]).tolist() == [t.rank(neighbour)]


def test_the_labels_of_s12_use_the_letters_a_to_c_in_upper_or_lower_case() -> None:
    t = topology("S12")
    assert t.label(0) == "123456789abc"
    assert t.label(t.nodes - 1) == "cba987654321"
    assert t.rank("123456789ABC") == 0


@pytest.mark.parametrize(
    "spec", ["S8", "S7", "S9", "S9,5", "S9,8", "S10,4", "S20,3", "S35,3", "S35,1", "Q20"]
)
def test_on_large_topologies_neighbours_requested_for_all_and_for_some_nodes_agree(
    spec: str,
) -> None:
    t = topology(spec)
    some = np.random.default_rng(5).integers(0, t.nodes, 1000)
    for port in t.ports:
        assert np.array_equal(t.neighbours(port)[some], t.neighbours(port, some))


@pytest.mark.parametrize("spec", ["S8", "S9", "S9,5", "S13,4", "S20,2", "S35,3", "Q12"])
def test_every_node_but_the_root_has_a_neighbour_that_is_one_link_nearer_to_the_root(
    spec: str,
) -> None:
    """Only the root has distance 0. Distances of neighbours differ by at most one."""
    t = topology(spec)
    for root in (0, t.nodes - 1, int(np.random.default_rng(t.n).integers(t.nodes))):
        result = t.distances(root).astype(np.int64)
        changes = np.stack([result[t.neighbours(port)] - result for port in t.ports])
        assert np.flatnonzero(result == 0).tolist() == [root]
        assert set(np.unique(changes).tolist()) <= {-1, 0, 1}
        assert np.array_equal(changes.min(axis=0) == -1, result > 0)
        assert result.max() == t.diameter


def test_distances_of_s10_follow_the_formula_of_akers_and_krishnamurthy() -> None:
    root = star_graph.node_by_counting(10, 2_345_678)
    result = topology("S10").distances(star_graph.label(root))
    for rank in np.random.default_rng(10).integers(0, len(result), 500).tolist():
        node = star_graph.compose(star_graph.inverse(root), star_graph.node_by_counting(10, rank))
        assert result[rank] == rotation.distance(node)


@pytest.mark.parametrize("spec", ["S12", "S13,9", "Q28"])
def test_large_topologies_need_little_memory_before_an_array_is_requested(spec: str) -> None:
    """Functions for single nodes need no array with an entry per node."""
    tracemalloc.start()
    try:
        t = topology(spec)
        assert t.rank(t.label(123_456_789)) == 123_456_789
        neighbour = label_of(across(t, node_of(t, t.label(t.nodes - 1)), t.ports[-1]))
        assert t.neighbours(t.ports[-1], [t.nodes - 1]).tolist() == [t.rank(neighbour)]
        assert sum(t.distance_profile()) == t.nodes
        assert t.labels([5]).tolist() == [t.label(5)]
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 1_000_000


def test_ranks_that_are_not_integers_and_nodes_of_invalid_types_are_refused() -> None:
    for ranks in [[1.5], ["a"], [None]]:
        with refused("ranks must be integers"):
            topology("S4").neighbours(2, ranks)  # type: ignore[arg-type]
        assert topology("S4").neighbours(2, []).shape == (0,)
    for node in [1.0, None, True, (1, 2), b"12345"]:
        with refused():
            topology("S5").node(node)  # type: ignore[arg-type]


@pytest.mark.whole
@pytest.mark.parametrize(
    ("spec", "labels"),
    [
        ("S5", ["", "1234", "123456", "12344", "12346", "1234a", "1234 ", "0123"]),
        ("S6,3", ["", "12", "1234", "112", "127", "12a", "102"]),
        (
            "Q4",
            ["", "000", "00000", "0002", "00a0", "0b01", " 001", "+001", "0_01", "\u0660" * 4],
        ),
    ],
)
def test_labels_ranks_and_ports_that_do_not_exist_are_refused(spec: str, labels: list[str]) -> None:
    """A list of ranks is checked as strictly as a single rank."""
    t = topology(spec)
    for label in labels:
        for ask in (t.rank, t.node, t.distances):
            with refused(label):
                ask(label)
    for rank in (-1, t.nodes):
        asks: list[Callable[[int], object]] = [
            *(t.node, t.label, t.distances, t.translation),
            lambda node: t.labels([0, node]),
            lambda node: t.neighbours(2, [0, node]),
        ]
        for ask_rank in asks:
            with refused(str(rank)):
                ask_rank(rank)
    with refused(str(10**30)):
        t.label(10**30)
    for port in {-1, 0, 1, t.ports[-1] + 1, 255} - {*t.ports}:
        for across_port in (t.neighbours, t.reverse_port, t.neighbour_ranks):
            with refused(str(port)):
                across_port(port)
