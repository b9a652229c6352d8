"""Hypercubes as arrays, compared with bit strings."""

import tracemalloc
from fractions import Fraction
from math import comb, factorial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import hypercube
from starcast.support.errors import StarcastError
from starcast.topologies import topology
from support.meeting import refused

SIZES = range(1, 9)


def test_hypercubes_have_the_known_sizes_degrees_and_diameters() -> None:
    for d in range(1, 29):
        t = topology(f"Q{d}")
        assert (t.spec, t.family, t.n, t.k) == (f"Q{d}", "hypercube", d, None)
        assert (t.nodes, t.degree, t.links, t.diameter) == (2**d, d, d * 2 ** (d - 1), d)
        assert t.ports == tuple(range(1, d + 1))


def test_a_size_out_of_range_is_refused() -> None:
    for spec in ["Q0", "Q29", "Q9999", "Q99999", "Q", "Q-1", "Q04", "q4", "Q4,2", "Q4.0", "Q4 "]:
        with refused(spec):
            topology(spec)


def test_the_error_for_a_size_out_of_range_states_the_range() -> None:
    """The largest hypercube has fewer nodes than the largest star graph, S12."""
    with pytest.raises(StarcastError) as refusal:
        topology("Q29")
    assert "1 to 28" in refusal.value.hint
    assert 2**28 < factorial(12) < 2**29


def test_labels_are_the_bit_strings_in_ascending_order() -> None:
    for d in SIZES:
        t = topology(f"Q{d}")
        assert t.labels().tolist() == hypercube.nodes(d)
        assert [t.rank(label) for label in hypercube.nodes(d)] == list(range(t.nodes))
        assert t.labels([t.nodes - 1, 0]).tolist() == ["1" * d, "0" * d]


def test_port_i_flips_bit_i_counted_from_the_left() -> None:
    for d in SIZES:
        t = topology(f"Q{d}")
        for port in t.ports:
            expected = [int(hypercube.flip(x, port), 2) for x in hypercube.nodes(d)]
            assert (
                t.neighbours(port).tolist()
                == t.neighbours(port, np.arange(t.nodes)).tolist()
                == expected
            )
            assert t.neighbours(port).dtype == t.neighbours(port, [0]).dtype == np.int32
            assert t.reverse_port(port) == port
            assert np.array_equal(t.neighbours(port)[t.neighbours(port)], np.arange(t.nodes))


@pytest.mark.parametrize("d", SIZES)
def test_distances_count_the_differing_bits(d: int) -> None:
    t = topology(f"Q{d}")
    for root in range(0, t.nodes, max(1, t.nodes // 20)):
        expected = [hypercube.xor(x, t.label(root)).count("1") for x in hypercube.nodes(d)]
        assert t.distances(root).tolist() == expected
        assert t.distances(root).dtype == np.uint8


def test_the_distance_profile_is_binomial_and_the_mean_distance_has_a_closed_form() -> None:
    for d in SIZES:
        t = topology(f"Q{d}")
        assert (
            t.distance_profile()
            == tuple(comb(d, j) for j in range(d + 1))
            == tuple(np.bincount(t.distances(1)).tolist())
        )
        assert t.mean_distance == Fraction(d * 2 ** (d - 1), 2**d - 1)


@given(st.integers(1, 12), st.data())
def test_translation_is_exclusive_or_and_keeps_every_port(d: int, data: st.DataObject) -> None:
    t = topology(f"Q{d}")
    root = data.draw(st.integers(0, t.nodes - 1))
    image = t.translation(root)
    assert image.tolist() == [rank ^ root for rank in range(t.nodes)]
    port = data.draw(st.sampled_from(t.ports))
    assert np.array_equal(image[t.neighbours(port)], t.neighbours(port)[image])
    ports = np.full(t.nodes, port, dtype=np.uint8)
    assert np.array_equal(t.carried_ports(root, ports), ports)


def test_large_hypercubes_allocate_nothing_before_an_array_is_requested() -> None:
    tracemalloc.start()
    try:
        t = topology("Q28")
        assert t.neighbours(1, [0]).tolist() == [2**27]
        assert t.rank(t.label(123_456_789)) == 123_456_789
        assert sum(t.distance_profile()) == t.nodes
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 1_000_000


def test_whole_arrays_of_q20_agree_with_values_of_single_nodes() -> None:
    t = topology("Q20")
    some = np.random.default_rng(20).integers(0, t.nodes, 1000)
    for port in t.ports:
        assert np.array_equal(t.neighbours(port)[some], t.neighbours(port, some))
    assert t.distances(some[0].item())[some].tolist() == [
        int(first ^ some[0]).bit_count() for first in some
    ]
