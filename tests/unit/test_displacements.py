"""Necklaces, generators and displacements (Fragopoulou & Akl 1993, section 2, Def. 7 to 9)."""

from collections.abc import Callable

import numpy as np
import pytest

from starcast.topologies.displacements import displacements
from starcast.topologies.necklaces import necklaces
from support import oracles
from support import oracles_balanced as page
from support.oracles_edge_disjoint import rotate

SIZES = range(2, 8)

#: Sort key that compares a node and its cycle of 2 with those of its rivals.
Contest = Callable[[oracles.Node, page.Cycle], tuple[object, ...]]


def starting(n: int) -> list[tuple[oracles.Node, ...]]:
    """The necklaces of nodes that start with 1, without the root's."""
    return [ring for ring in page.necklaces(n) if ring[0][0] == 1]


def generators(n: int, better: Contest, *, fixed: bool = False) -> list[oracles.Node]:
    """The generators by another reading; ``fixed`` admits nodes with 2 in position 2."""
    rivals = [{y: page.cycle_of(y, 2) for y in ring if fixed or y[1] != 2} for ring in starting(n)]
    return [min(contest, key=lambda y: better(y, contest[y])) for contest in rivals]


def expected(n: int) -> list[oracles.Node]:
    """The generators of the page, in the same order."""
    return [page.generator(ring[0]) for ring in starting(n)]


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


# Wrong readings


@pytest.mark.parametrize(("n", "tied"), [(3, 0), (4, 0), (5, 0), (6, 2), (7, 5)])
def test_ties_begin_with_6(n: int, tied: int) -> None:
    """Pitfall 11: several nodes may have the smallest cycle; the lowest is the generator."""
    contests = [page.contest(ring[0]) for ring in starting(n)]
    assert sum(list(first.values()).count(min(first.values())) > 1 for first in contests) == tied
    highest = generators(n, lambda y, cycle: (cycle, tuple(-symbol for symbol in y)))
    assert sum(map(oracles.Node.__ne__, highest, expected(n))) == tied


@pytest.mark.parametrize(("n", "different"), [(5, 0), (6, 1), (7, 14)])
def test_a_proper_prefix_is_smaller(n: int, different: int) -> None:
    """Pitfall 11: (2 3) before (2 3 4); if the cycle's end were greatest, other nodes would win."""
    longer = generators(n, lambda y, cycle: ((*cycle, n + 1), y))
    assert sum(map(oracles.Node.__ne__, longer, expected(n))) == different


@pytest.mark.parametrize(("n", "different"), [(5, 0), (6, 1), (7, 11)])
def test_a_shorter_cycle_is_not_always_smaller(n: int, different: int) -> None:
    shorter = generators(n, lambda y, cycle: (len(cycle), cycle, y))
    assert sum(map(oracles.Node.__ne__, shorter, expected(n))) == different


@pytest.mark.parametrize(("n", "different"), [(3, 0), (4, 1), (5, 4), (6, 15)])
def test_nodes_with_2_in_its_place_do_not_compete(n: int, different: int) -> None:
    fixed = generators(n, lambda y, cycle: (cycle, y), fixed=True)
    assert sum(map(oracles.Node.__ne__, fixed, expected(n))) == different


@pytest.mark.parametrize(("n", "different"), [(4, 0), (5, 1), (6, 10)])
def test_cycles_run_from_s_to_x_s(n: int, different: int) -> None:
    """Pitfall 1: against that direction other nodes are generators."""
    against = generators(n, lambda y, cycle: ((2, *reversed(cycle[1:])), y))
    assert sum(map(oracles.Node.__ne__, against, expected(n))) == different


def test_displacements_are_not_counted_back_to_the_generator() -> None:
    for n in range(4, 7):
        result = displacements(n)
        back = [page.necklace(x).index(page.generator(x)) for x in oracles.nodes(n)[1:]]
        assert result[1:].tolist() != back
        assert ((result[1:] + np.array(back)) % necklaces(n).period[1:] == 0).all()
