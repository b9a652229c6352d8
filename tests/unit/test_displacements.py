"""Necklaces, generators and displacements (Fragopoulou & Akl 1993, section 2, Def. 7 to 9)."""

import numpy as np

from oracles import rotation, star_graph
from oracles import scatter_trees as page
from oracles.rotation import rotate
from starcast.topologies.necklaces import displacements, necklaces

SIZES = range(2, 8)


def test_every_displacement_follows_the_definition() -> None:
    for n in SIZES:
        result = displacements(n)
        assert result.dtype == np.uint8
        assert result[0] == 0
        assert result[1:].tolist() == [page.displacement(x) for x in star_graph.nodes(n)[1:]]


def test_displacements_do_not_change_if_the_necklaces_are_given() -> None:
    for n in SIZES:
        assert np.array_equal(displacements(n, necklaces(n)), displacements(n))


def test_leaders_periods_and_rotations_of_necklaces_follow_the_definition() -> None:
    """The leader of a necklace is its node of lowest rank. The identity alone is a necklace."""
    for n in SIZES:
        ranks = star_graph.ranks(n)
        leader, period, turns = (column.tolist() for column in necklaces(n))
        assert (leader[0], period[0], turns[0]) == (0, 1, 0)
        for ring in rotation.necklaces(n):
            for turned, x in enumerate(ring):
                assert (leader[ranks[x]], period[ranks[x]], turns[ranks[x]]) == (
                    ranks[ring[0]],
                    len(ring),
                    turned,
                )


def test_burnsides_lemma_gives_the_number_of_necklaces() -> None:
    """The number h(n) of necklaces does not include the necklace of the root."""
    for n in range(2, 9):
        assert len(np.unique(necklaces(n).leader)) - 1 == rotation.necklaces_counted(n)


def test_a_rotation_increases_the_displacement_by_one_modulo_the_period() -> None:
    for n in SIZES:
        result = dict(zip(star_graph.nodes(n), displacements(n).tolist(), strict=True))
        for x in star_graph.nodes(n)[1:]:
            assert result[rotate(x)] == (result[x] + 1) % rotation.period(x)
