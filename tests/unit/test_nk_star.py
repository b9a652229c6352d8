"""(n,k)-stars as arrays, compared node by node with docs/definitions/nk-star.md.

A link exchanges two symbols of a label (ports 2..k), or it is residual (ports k+1..n): it replaces
the first symbol by one that the label lacks.
"""

import tracemalloc
from math import perm

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import nk_star, star_graph
from starcast.support.errors import StarcastError
from starcast.topologies import topology
from support.meeting import refused

SIZES = [(n, k) for n in range(2, 8) for k in range(1, n)]
every_size = pytest.mark.parametrize(("n", "k"), SIZES)


def some_roots(n: int, k: int) -> list[star_graph.Node]:
    """Return the identity, its shifts R_i(Id), the last node and a node from the middle."""
    every = nk_star.nodes(n, k)
    shifts = [nk_star.root_of(i, n, k) for i in range(1, n)]
    return list(dict.fromkeys([every[0], *shifts, every[-1], every[len(every) // 3]]))


@st.composite
def size_and_ranks(draw: st.DrawFn, largest: int = 35) -> tuple[int, int, int, int]:
    """Generate n and k of an (n,k)-star and the ranks of two of its nodes."""
    n = draw(st.integers(2, largest))
    k = draw(st.integers(1, max(k for k in range(1, n) if perm(n, k) <= perm(12, 12))))
    node, other = (draw(st.integers(0, perm(n, k) - 1)) for _ in range(2))
    return n, k, node, other


def test_nk_stars_have_the_known_sizes_degrees_and_diameters() -> None:
    for n, k in SIZES:
        t = topology(f"S{n},{k}")
        assert (t.spec, t.family, t.n, t.k) == (f"S{n},{k}", "nk-star", n, k)
        assert t.nodes == len(nk_star.nodes(n, k))
        assert (t.degree, t.ports) == (n - 1, tuple(range(2, n + 1)))
        assert t.links == sum(len(nk_star.neighbours(v, n)) for v in nk_star.nodes(n, k)) // 2
        assert t.diameter == nk_star.diameter(n, k)


def test_a_size_out_of_range_is_refused() -> None:
    wrong = ["S5,0", "S5,5", "S5,9", "S1,0", "S1,1", "S0,0", "S36,1", "S99,1", "S9999,9999"]
    for spec in [*wrong, "S4,3,2", "S4,03", "S4, 3", "S4;3"]:
        with refused(spec):
            topology(spec)


def test_the_error_for_an_invalid_size_states_the_range() -> None:
    ranges = {"S5,5": "1 to 4", "S36,2": "2 to 35", "S13,10": "1 to 9", "S35,6": "1 to 5"}
    for spec, words in ranges.items():
        with pytest.raises(StarcastError) as refusal:
            topology(spec)
        assert words in refusal.value.hint


def test_no_nk_star_may_have_more_nodes_than_the_largest_star() -> None:
    """The limit is 12!, so that ranks fit into int32. S12,11 is S12 itself."""
    assert topology("S12,11").nodes == topology("S12").nodes
    assert topology("S13,9").nodes < topology("S12").nodes < perm(13, 10)


def test_large_nk_stars_allocate_nothing_before_an_array_is_requested() -> None:
    tracemalloc.start()
    try:
        t = topology("S13,9")
        assert t.rank(t.label(t.nodes - 1)) == t.nodes - 1
        assert sum(t.distance_profile()) == t.nodes
        assert t.neighbours(13, [5]).tolist() == [
            t.rank(star_graph.label(nk_star.across(star_graph.node_of(t.label(5)), 13, 13)))
        ]
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 1_000_000


@every_size
def test_ranks_number_the_labels_in_ascending_order(n: int, k: int) -> None:
    t = topology(f"S{n},{k}")
    labels = [star_graph.label(v) for v in nk_star.nodes(n, k)]
    assert t.labels().tolist() == labels == sorted(labels)
    assert [t.rank(label) for label in labels] == list(range(t.nodes))
    assert t.label(t.nodes - 1) == labels[-1]


@given(size_and_ranks())
def test_rank_and_label_are_inverse_functions(drawn: tuple[int, int, int, int]) -> None:
    n, k, node, other = drawn
    t = topology(f"S{n},{k}")
    assert [t.rank(label) for label in t.labels([node, other]).tolist()] == [node, other]
    assert (t.label(node) < t.label(other)) == (node < other)


@every_size
def test_neighbours_follow_the_definition_port_by_port(n: int, k: int) -> None:
    """The ports of a node lead to all its neighbours.

    If all nodes send over the same port, each node receives once.
    """
    t, nodes, ranks = topology(f"S{n},{k}"), nk_star.nodes(n, k), nk_star.ranks(n, k)
    for port in t.ports:
        expected = [ranks[nk_star.across(v, port, n)] for v in nodes]
        across = t.neighbours(port)
        assert across.dtype == np.int32
        assert across.tolist() == expected
        assert t.neighbours(port, np.arange(t.nodes)).tolist() == expected
        chunks = [t.neighbour_ranks(port)(chunk) for chunk in t.chunks()]
        assert np.concatenate(chunks).tolist() == expected
        assert sorted(expected) == list(range(t.nodes))
    for v, row in zip(nodes, t.table().T.tolist(), strict=True):
        assert {nodes[rank] for rank in row} == set(nk_star.neighbours(v, n))


def test_a_port_and_its_reverse_port_lead_back_to_the_same_node() -> None:
    """A swap port is its own reverse port.

    The reverse port of residual port k+s is k+(n-k+1-s).
    """
    for n, k in SIZES:
        t = topology(f"S{n},{k}")
        assert [t.reverse_port(port) for port in range(2, k + 1)] == list(range(2, k + 1))
        assert [t.reverse_port(k + s) for s in range(1, n - k + 1)] == [
            k + (n - k + 1 - s) for s in range(1, n - k + 1)
        ]
        for port in t.ports:
            assert np.array_equal(
                t.neighbours(t.reverse_port(port))[t.neighbours(port)], np.arange(t.nodes)
            )


@pytest.mark.parametrize("spec", ["S9,5", "S9,8", "S10,4", "S20,3", "S35,3", "S35,1"])
def test_neighbours_of_all_nodes_and_of_some_nodes_agree_on_large_topologies(spec: str) -> None:
    t = topology(spec)
    some = np.random.default_rng(5).integers(0, t.nodes, 500)
    for port in t.ports:
        assert np.array_equal(t.neighbours(port)[some], t.neighbours(port, some))


@pytest.mark.parametrize("n", range(2, 8))
def test_the_nk_star_with_k_equal_to_n_minus_1_is_the_star_graph(n: int) -> None:
    """Ranks, ports and distances are equal if the missing symbol is appended to each label."""
    star, same = topology(f"S{n}"), topology(f"S{n},{n - 1}")
    assert [star.label(rank)[:-1] for rank in range(star.nodes)] == same.labels().tolist()
    assert star.ports == same.ports
    for port in star.ports:
        assert np.array_equal(star.neighbours(port), same.neighbours(port))
    assert np.array_equal(star.distances(star.nodes // 2), same.distances(star.nodes // 2))
    assert np.array_equal(star.translation(star.nodes // 3), same.translation(star.nodes // 3))
    assert star.distance_profile() == same.distance_profile()


@every_size
def test_distances_equal_those_of_breadth_first_search(n: int, k: int) -> None:
    """The distances also equal those of formulas (1) and (2) in the definitions."""
    t = topology(f"S{n},{k}")
    for root in some_roots(n, k):
        result = nk_star.distances(root, n)
        expected = [result[v] for v in nk_star.nodes(n, k)]
        assert t.distances(star_graph.label(root)).tolist() == expected
        assert max(expected) == t.diameter
    home = star_graph.identity(n)[:k]
    assert nk_star.distances(home, n) == {v: nk_star.distance(v) for v in nk_star.nodes(n, k)}


@given(size_and_ranks(), st.data())
def test_distances_to_random_roots_of_large_nk_stars_follow_the_definition(
    drawn: tuple[int, int, int, int], data: st.DataObject
) -> None:
    """The graphs are too large for breadth-first search, but arrays of all nodes still fit."""
    n, k, node, _ = drawn
    k = min(k, 4) if n > 9 else min(k, 6)
    k = 2 if n > 20 else k
    t = topology(f"S{n},{k}")
    v, root = node % t.nodes, data.draw(st.integers(0, t.nodes - 1))
    back = star_graph.inverse(nk_star.extension(star_graph.node_of(t.label(root)), n))
    expected = nk_star.distance(star_graph.compose(back, star_graph.node_of(t.label(v))))
    assert int(t.distances(root)[v]) == expected


def test_the_distance_profile_and_the_mean_distance_agree_with_the_distances() -> None:
    for n, k in SIZES:
        t = topology(f"S{n},{k}")
        result = np.bincount(t.distances(t.nodes - 1))
        assert t.distance_profile() == tuple(result.tolist())
        assert t.mean_distance * (t.nodes - 1) == int(t.distances(0).sum())


@every_size
def test_translation_relabels_symbols_by_the_extended_root(n: int, k: int) -> None:
    t, ranks = topology(f"S{n},{k}"), nk_star.ranks(n, k)
    for root in some_roots(n, k):
        q = nk_star.extension(root, n)
        expected = [ranks[star_graph.compose(q, v)] for v in nk_star.nodes(n, k)]
        assert t.translation(star_graph.label(root)).tolist() == expected


@every_size
def test_translation_is_an_automorphism_and_carried_ports_returns_the_translated_ports(
    n: int, k: int
) -> None:
    """Exchange links keep their port, but residual links may change it."""
    t = topology(f"S{n},{k}")
    for root in some_roots(n, k):
        rank = t.rank(star_graph.label(root))
        image = t.translation(rank)
        assert image[0] == rank
        assert np.array_equal(np.sort(image), np.arange(t.nodes))
        for port in t.ports:
            carried = t.carried_ports(rank, np.full(t.nodes, port, dtype=np.uint8))
            assert np.array_equal(t.step(carried, image), image[t.neighbours(port)])
            assert port > k or (carried == port).all()
    assert not t.carried_ports(t.nodes - 1, np.zeros(t.nodes, dtype=np.uint8)).any()


def test_translation_changes_some_residual_ports() -> None:
    """If n-k = 1, the only residual port cannot change, so such sizes are not tested."""
    for n, k in [(4, 2), (5, 3), (6, 2), (6, 4)]:
        t = topology(f"S{n},{k}")
        residual = np.full(t.nodes, n, dtype=np.uint8)
        assert any((t.carried_ports(root, residual) != residual).any() for root in range(t.nodes))
