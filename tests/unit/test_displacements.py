"""Necklaces, generators and displacements (Fragopoulou & Akl 1993, section 2, Def. 7 to 9)."""

import numpy as np
import pytest

from starcast.topologies.displacements import displacements
from starcast.topologies.necklaces import necklaces
from support import oracles
from support import oracles_balanced as page
from support.oracles_edge_disjoint import rotate

SIZES = range(2, 8)


# Definitions


def test_every_displacement_follows_the_definition() -> None:
    for n in SIZES:
        result = displacements(n)
        assert result.dtype == np.uint8
        assert result[0] == 0
        assert result[1:].tolist() == [page.displacement(x) for x in oracles.nodes(n)[1:]]


def test_given_necklaces_are_used() -> None:
    for n in SIZES:
        assert np.array_equal(displacements(n, necklaces(n)), displacements(n))


def test_leaders_periods_and_turns_follow_the_definition() -> None:
    """A necklace is identified by its lowest node; the identity is a necklace of its own."""
    for n in SIZES:
        ranks = oracles.ranks(n)
        leader, period, turns = (column.tolist() for column in necklaces(n))
        assert (leader[0], period[0], turns[0]) == (0, 1, 0)
        for ring in page.necklaces(n):
            for turned, x in enumerate(ring):
                assert (leader[ranks[x]], period[ranks[x]], turns[ranks[x]]) == (
                    ranks[ring[0]],
                    len(ring),
                    turned,
                )


def test_periods_divide_and_only_nodes_that_start_with_1_have_short_ones() -> None:
    """Theorems 5 and 6."""
    for n in SIZES:
        for ring in page.necklaces(n):
            assert (n - 1) % len(ring) == 0
            assert ring[0][0] == 1 or len(ring) == n - 1


def test_burnside_counts_the_necklaces() -> None:
    """h(n), without the root's."""
    for n in range(2, 9):
        assert len(np.unique(necklaces(n).leader)) - 1 == page.necklaces_counted(n)


def test_a_necklace_of_period_1_exists() -> None:
    """The node (2 3 .. n); with it M has to be a multiple of n-1."""
    for n in range(3, 8):
        assert page.period((1, *range(3, n + 1), 2)) == 1


def test_a_rotation_adds_one_modulo_the_period() -> None:
    for n in SIZES:
        result = dict(zip(oracles.nodes(n), displacements(n).tolist(), strict=True))
        for x in oracles.nodes(n)[1:]:
            assert result[rotate(x)] == (result[x] + 1) % page.period(x)


@pytest.mark.parametrize("n", SIZES)
def test_rotations_keep_the_distance(n: int) -> None:
    """Theorem 7, and A0's formula."""
    distances = oracles.distances(oracles.identity(n))
    for x in oracles.nodes(n):
        assert page.distance(x) == distances[x] == distances[rotate(x)]


def test_the_documented_cycles() -> None:
    """341526 is (1 3)(2 4 5)."""
    assert page.cycles(oracles.node_of("341526")) == [(1, 3), (2, 4, 5)]
