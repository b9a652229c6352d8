"""Necklaces, generators and displacements (Fragopoulou & Akl 1993, section 2, Def. 7 to 9)."""

import numpy as np

from oracles import rotation, star_graph
from oracles import scatter_trees as page
from starcast.topologies.necklaces import displacements, necklaces

SIZES = range(2, 8)


def test_every_displacement_follows_the_definition() -> None:
    for n in SIZES:
        result = displacements(n)
        assert result.dtype == np.uint8
        assert result[0] == 0
        assert result[1:].tolist() == [page.displacement(x) for x in star_graph.nodes(n)[1:]]


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
