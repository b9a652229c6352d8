"""Star graphs as arrays, compared with an implementation node by node."""

import tracemalloc
from collections.abc import Callable
from math import factorial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import rotation, star_graph
from starcast.topologies import topology
from support.meeting import refused

SIZES = range(2, 8)


@st.composite
def size_and_rank(draw: st.DrawFn, largest: int = 12) -> tuple[int, int]:
    """Draw the size of a star graph and the rank of one of its nodes."""
    n = draw(st.integers(2, largest))
    return n, draw(st.integers(0, factorial(n) - 1))


def oracle_distance(node: star_graph.Node, root: star_graph.Node) -> int:
    """Return the distance by the formula of Akers & Krishnamurthy."""
    return rotation.distance(star_graph.compose(star_graph.inverse(root), node))


def test_star_graphs_have_the_known_sizes_degrees_and_diameters() -> None:
    for n in range(2, 13):
        t = topology(f"S{n}")
        assert (t.spec, t.family, t.n, t.k) == (f"S{n}", "star", n, None)
        assert t.nodes == factorial(n)
        assert t.degree == n - 1
        assert t.links == factorial(n) * (n - 1) // 2
        assert t.diameter == 3 * (n - 1) // 2
        assert t.ports == tuple(range(2, n + 1))


@pytest.mark.parametrize(
    "spec",
    [
        *("S0", "S1", "S13", "S99", "S5,9", "S5,", "S,5", "T4", "", "S", "5", "s5", "S05", "S5 "),
        *(" S5", "S5\n", "S-5", "S5.0", "Sn", "S\N{ARABIC-INDIC DIGIT FIVE}"),
        pytest.param("S" + "9" * 5000, id="S99.."),
    ],
)
def test_an_unknown_topology_is_refused(spec: str) -> None:
    with refused():
        topology(spec)


def test_topologies_of_the_same_spec_are_equal() -> None:
    assert topology("S5") == topology("S5")
    assert hash(topology("S5")) == hash(topology("S5"))
    assert topology("S5") != topology("S6")
    assert topology("S5") != "S5"
    assert "S5" in repr(topology("S5"))


def test_labels_are_in_rank_order() -> None:
    for n in SIZES:
        t = topology(f"S{n}")
        assert t.labels().tolist() == [star_graph.label(node) for node in star_graph.nodes(n)]


@given(size_and_rank())
def test_ranks_and_labels_agree_with_counting_the_preceding_nodes(drawn: tuple[int, int]) -> None:
    n, rank = drawn
    t = topology(f"S{n}")
    assert t.label(rank) == star_graph.label(star_graph.node_by_counting(n, rank))
    assert t.rank(t.label(rank)) == rank
    assert t.node(t.label(rank)) == t.node(rank) == t.node(np.int32(rank)) == rank  # type: ignore[arg-type]
    assert t.labels([rank, 0]).tolist() == [t.label(rank), t.label(0)]


def test_the_labels_of_s12_use_a_b_and_c_which_may_be_given_as_capitals() -> None:
    t = topology("S12")
    assert t.label(0) == "123456789abc"
    assert t.label(t.nodes - 1) == "cba987654321"
    assert t.rank("123456789ABC") == 0


def test_values_of_other_types_are_not_nodes() -> None:
    for node in [1.0, None, True, (1, 2), b"12345"]:
        with refused():
            topology("S5").node(node)  # type: ignore[arg-type]


def test_the_neighbour_over_port_i_has_symbols_1_and_i_swapped() -> None:
    for n in SIZES:
        t, ranks = topology(f"S{n}"), star_graph.ranks(n)
        for port in t.ports:
            assert t.neighbours(port).tolist() == [
                ranks[star_graph.swap(node, port)] for node in star_graph.nodes(n)
            ]


def test_all_neighbours_and_some_neighbours_agree() -> None:
    for n in [7, 8, 9]:
        t = topology(f"S{n}")
        some = np.random.default_rng(n).integers(0, t.nodes, 2000)
        for port in t.ports:
            assert np.array_equal(t.neighbours(port)[some], t.neighbours(port, some))


@given(size_and_rank(), st.data())
def test_the_neighbour_of_any_node_follows_the_definition(
    drawn: tuple[int, int], data: st.DataObject
) -> None:
    n, rank = drawn
    port = data.draw(st.integers(2, n))
    moved = star_graph.swap(star_graph.node_by_counting(n, rank), port)
    assert topology(f"S{n}").neighbours(port, [rank]).tolist() == [
        star_graph.rank_by_counting(moved)
    ]


@pytest.mark.parametrize("n", SIZES)
def test_distances_equal_those_of_breadth_first_search(n: int) -> None:
    t = topology(f"S{n}")
    for root in [*star_graph.cyclic_roots(n), star_graph.nodes(n)[-1]]:
        result = star_graph.distances(root)
        expected = [result[node] for node in star_graph.nodes(n)]
        assert t.distances(star_graph.label(root)).tolist() == expected
        assert t.distances(star_graph.ranks(n)[root]).tolist() == expected
        assert max(expected) == t.diameter


@pytest.mark.parametrize("n", [8, 9])
def test_every_node_has_a_neighbour_one_step_nearer_to_the_root(n: int) -> None:
    """Only the root has distance 0, and distances of neighbours differ by at most one."""
    t = topology(f"S{n}")
    for root in (0, t.nodes - 1, int(np.random.default_rng(n).integers(t.nodes))):
        result = t.distances(root).astype(np.int64)
        changes = np.stack([result[t.neighbours(port)] - result for port in t.ports])
        assert np.flatnonzero(result == 0).tolist() == [root]
        assert set(np.unique(changes).tolist()) <= {-1, 0, 1}
        assert np.array_equal(changes.min(axis=0) == -1, result > 0)
        assert result.max() == t.diameter


def test_distances_of_s10_follow_the_formula() -> None:
    t = topology("S10")
    root = star_graph.node_by_counting(10, 2_345_678)
    result = t.distances(star_graph.label(root))
    for rank in np.random.default_rng(10).integers(0, t.nodes, 500).tolist():
        assert result[rank] == oracle_distance(star_graph.node_by_counting(10, rank), root)


def test_translation_relabels_symbols() -> None:
    for n in range(2, 7):
        t, ranks = topology(f"S{n}"), star_graph.ranks(n)
        for q in [
            *star_graph.cyclic_roots(n),
            star_graph.nodes(n)[-1],
            star_graph.nodes(n)[len(star_graph.nodes(n)) // 3],
        ]:
            expected = [ranks[star_graph.compose(q, node)] for node in star_graph.nodes(n)]
            assert (
                t.translation(ranks[q]).tolist()
                == t.translation(star_graph.label(q)).tolist()
                == expected
            )


@given(st.integers(2, 8).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, factorial(n) - 1))))
def test_translation_keeps_the_port_of_every_link(drawn: tuple[int, int]) -> None:
    n, q = drawn
    t = topology(f"S{n}")
    image = t.translation(q)
    assert image[0] == q
    assert np.array_equal(np.sort(image), np.arange(t.nodes))
    for port in t.ports:
        assert np.array_equal(image[t.neighbours(port)], t.neighbours(port)[image])


def test_s12_allocates_nothing_before_an_array_is_requested() -> None:
    """Labels, ranks and some neighbours need no array over all 479 001 600 nodes."""
    tracemalloc.start()
    try:
        t = topology("S12")
        assert (t.nodes, t.links, t.diameter) == (479_001_600, 2_634_508_800, 16)
        assert t.rank(t.label(123_456_789)) == 123_456_789
        assert t.neighbours(12, [t.nodes - 1]).tolist() == [
            star_graph.rank_by_counting((1, *range(11, 1, -1), 12))
        ]
        assert t.labels([5]).tolist() == [t.label(5)]
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 1_000_000


def test_the_table_has_a_row_of_neighbours_for_every_port() -> None:
    for spec in ["S2", "S3", "S6", "S7", "S4,2", "S5,3", "Q4"]:
        t = topology(spec)
        table = t.table()
        assert table.dtype == np.int32
        assert table.shape == (t.degree, t.nodes)
        for row, port in zip(table, t.ports, strict=True):
            assert np.array_equal(row, t.neighbours(port))


def test_ranks_must_be_integers() -> None:
    for ranks in [[1.5], ["a"], [None]]:
        with refused("whole numbers"):
            topology("S4").neighbours(2, ranks)  # type: ignore[arg-type]
        assert topology("S4").neighbours(2, []).shape == (0,)


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
    """Several ranks are checked as strictly as a single one."""
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
        for across in (t.neighbours, t.reverse_port, t.neighbour_ranks):
            with refused(str(port)):
                across(port)
