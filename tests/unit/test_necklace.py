"""The tree MBST (Fragopoulou & Akl 1993, section 3.2), node by node, and its Theorem 8.

Definitions and pitfalls are in docs/definitions/fragopoulou-akl.md. The construction numbers all
nodes; m is the number of a node.
"""

from collections import Counter
from functools import cache
from math import factorial

import numpy as np
import pytest
from numpy.typing import NDArray

from oracles import allgather_trees as page
from oracles import rooted_trees, rotation, star_graph
from oracles.rotation import distance, necklace
from starcast.topologies import topology
from starcast.trees import Forest, forest
from starcast.trees.common import numbered_dimensions
from starcast.trees.multinode import generators, numbering
from support.meeting import ports_of, roots

SIZES = range(2, 8)


@cache
def built(n: int, root: star_graph.Node | None = None) -> Forest:
    """Return the forest `necklace` that starcast builds."""
    return forest(f"S{n}", "necklace", root=star_graph.label(root or star_graph.identity(n)))


@cache
def numbers(n: int) -> NDArray[np.int32]:
    """Return the number m of each node, as computed by starcast."""
    return numbering(topology(f"S{n}"))


def steps(n: int) -> NDArray[np.int32]:
    """Return the step in which each node receives the message."""
    return np.asarray(-(-numbers(n) // (n - 1)), dtype=np.int32)


def parents(n: int) -> NDArray[np.int32]:
    """Return the parent of each node in starcast's tree, and the root for the root itself."""
    result = built(n).parents()[0]
    return np.where(result < 0, np.int32(0), result)


@pytest.mark.parametrize("n", SIZES)
def test_node_numbers_follow_the_definition(n: int) -> None:
    assert {x: int(m) for x, m in zip(star_graph.nodes(n), numbers(n), strict=True)} == page.mbst(
        n
    ).numbers


def test_the_tree_follows_the_definition_at_every_root() -> None:
    for n in SIZES:
        for root in roots(n)[: 2 if n == 7 else None]:
            trees = built(n, root)
            assert np.array_equal(
                trees.parent_port,
                ports_of(rooted_trees.translated(page.mbst(n).tree, root), root)[None, :],
            )
            trees.verify()


@pytest.mark.parametrize("n", range(2, 10))
def test_every_node_has_a_different_number_and_the_root_has_0(n: int) -> None:
    """The root has number 0 and no parent (pitfall 5)."""
    assert np.array_equal(np.sort(numbers(n)), np.arange(factorial(n)))
    assert numbers(n)[0] == 0
    assert numbered_dimensions(n, np.arange(n + 1)).tolist() == [0, *range(2, n + 1), 2]
    assert np.array_equal(built(n).parent_port[0], numbered_dimensions(n, numbers(n)))


def test_nodes_are_numbered_by_distance_then_by_kind_of_necklace() -> None:
    """At each distance k, the first necklace is that of the generator G_k.

    Then come the necklaces whose nodes do not start with 1, and then those whose nodes do. The
    nodes of a necklace are numbered in the order of rotation.
    """
    for n in SIZES:
        order = page.mbst(n).order
        defined = {
            necklace(result.node)
            for k in range(1, star_graph.diameter(n) + 1)
            if (result := page.generator(n, k))
        }
        leading = {frozenset(result) for result in defined}
        ranked = [
            (
                distance(result[0]),
                0 if frozenset(result) in leading else 1 + (result[0][0] == 1),
                min(result),
            )
            for result in order
        ]
        assert ranked == sorted(ranked)
        by_number = [star_graph.nodes(n)[rank] for rank in np.argsort(numbers(n)).tolist()]
        assert by_number == [star_graph.identity(n), *(x for result in order for x in result)]
        assert all(necklace(result[0]) == result for result in order)


def test_generators_follow_the_definition() -> None:
    """The generator G_k is a node at distance k, on a necklace of n-1 nodes.

    If n is odd, there is no generator at distance D, the diameter (pitfall 6).
    """
    for n in range(2, 10):
        result = generators(topology(f"S{n}"))
        assert list(result) == list(range(1, star_graph.diameter(n) + (n + 1) % 2))
        for k, (node, dimension) in result.items():
            x = tuple(node.tolist())
            assert (x, dimension) == page.generator(n, k)
            assert distance(x) == k
            assert len(necklace(x)) == n - 1
            assert distance(star_graph.swap(x, dimension)) == k - 1


def test_generators_of_s6_equal_those_written_in_cycle_notation() -> None:
    """Generators 1 to 5 are single cycles.

    Generators 6 and 7 also have cycles of two symbols.
    """
    written: dict[int, tuple[list[tuple[int, ...]], int]] = {
        1: ([(2, 1)], 2),
        2: ([(3, 2, 1)], 3),
        3: ([(4, 3, 2, 1)], 4),
        4: ([(5, 4, 3, 2, 1)], 5),
        5: ([(6, 5, 4, 3, 2, 1)], 6),
        6: ([(6, 5), (4, 3, 2, 1)], 5),
        7: ([(6, 5), (4, 3), (2, 1)], 3),
    }
    result = generators(topology("S6"))
    assert {k: (tuple(node.tolist()), dimension) for k, (node, dimension) in result.items()} == {
        k: (rotation.from_cycles(6, notation), dimension)
        for k, (notation, dimension) in written.items()
    }


def test_parents_of_a_generators_necklace_are_on_the_necklace_of_the_previous_generator() -> None:
    """The parent of G_k is G_(k-1).

    The parent of a rotated G_k is G_(k-1), rotated equally.
    """
    for n in SIZES:
        result = generators(topology(f"S{n}"))
        ranks, above = star_graph.ranks(n), parents(n)
        for k in range(2, len(result) + 1):
            x, y = (tuple(result[at].node.tolist()) for at in (k, k - 1))
            assert star_graph.swap(x, result[k].dimension) == y
            assert [above[ranks[turned]] for turned in necklace(x)] == [
                ranks[turned] for turned in necklace(y)
            ]


@pytest.mark.parametrize("n", range(2, 10))
def test_each_step_reaches_n_minus_1_nodes_over_different_dimensions(n: int) -> None:
    """There are ceil((n!-1)/(n-1)) steps, the last of which reaches n-2 nodes (Theorem 8.1)."""
    ports = built(n).parent_port[0, 1:]
    cells = Counter(zip(steps(n)[1:].tolist(), ports.tolist(), strict=True))
    assert set(cells.values()) == {1}
    counts = np.bincount(steps(n)[1:])[1:].tolist()
    assert len(counts) == -(-(factorial(n) - 1) // (n - 1))
    assert counts[:-1] == [n - 1] * (len(counts) - 1)
    assert counts[-1] == (1 if n == 2 else n - 2)


def test_all_tree_paths_are_shortest_paths() -> None:
    """Every parent is nearer to the root than its child (Theorem 8.2)."""
    for n in range(2, 10):
        distances = topology(f"S{n}").distances().astype(int)
        assert (distances[parents(n)][1:] == distances[1:] - 1).all()


def test_parents_are_reached_in_an_earlier_step() -> None:
    """A weaker form of Theorem 8.3 is true, and the algorithm needs no more."""
    for n in range(2, 10):
        assert (steps(n)[parents(n)][1:] < steps(n)[1:]).all()


def test_theorem_8_3_is_false_as_stated() -> None:
    """The theorem states that the numbers of a child and its parent differ by n-1 or more.

    A literal test of this statement rejects correct trees (pitfall 5).
    """
    for n in range(3, 9):
        near = np.flatnonzero(numbers(n)[1:] - numbers(n)[parents(n)][1:] < n - 1) + 1
        distances = topology(f"S{n}").distances()[near]
        assert len(near) == max(3, n - 1)
        assert (distances == 1).sum() == max(1, n - 2)
        assert (distances > 1).any()


@pytest.mark.parametrize("n", [3, 4])
def test_no_two_sources_use_the_same_link_in_the_same_step(n: int) -> None:
    """All sources use translations of the same tree."""
    used: Counter[tuple[int, int, int]] = Counter()
    for root in star_graph.nodes(n):
        trees = built(n, root)
        when = np.empty_like(steps(n))
        when[trees.topology.translation(trees.root)] = steps(n)
        below = np.flatnonzero(trees.parent_port[0])
        senders = trees.parents()[0][below]
        used.update(
            zip(
                when[below].tolist(),
                senders.tolist(),
                trees.parent_port[0, below].tolist(),
                strict=True,
            )
        )
    assert set(used.values()) == {1}
