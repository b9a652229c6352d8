"""Binomial trees on hypercubes, compared with the definitions of Johnsson & Ho."""

from math import comb

import numpy as np
import pytest

from oracles import hypercube, rooted_trees
from starcast.topologies import topology
from starcast.trees import forest
from support.meeting import refused

SIZES = range(1, 9)


def some_roots(d: int) -> list[str]:
    """Return all roots up to d = 4, and five roots of larger hypercubes."""
    every = hypercube.nodes(d)
    return (
        every
        if d <= 4
        else [every[0], every[1], every[-1], every[len(every) // 3], every[len(every) // 2]]
    )


def parents_of(tree: hypercube.Tree, d: int) -> list[int]:
    """Return the parent's rank of every node, and -1 for the root."""
    return [int(tree[x], 2) if x in tree else -1 for x in hypercube.nodes(d)]


def test_the_binomial_tree_follows_its_definition_for_every_root() -> None:
    """A child flips one bit of its parent, left of all bits that already differ from the root."""
    for d in SIZES:
        for root in some_roots(d):
            built = forest(f"Q{d}", "binomial", root=root)
            assert built.parents().tolist() == [
                parents_of(hypercube.binomial(root, range(1, d + 1)), d)
            ]
            assert built.id == f"Q{d}:binomial:{root}"
            built.verify()


def test_the_binomial_tree_is_a_shortest_path_tree_with_binomial_levels() -> None:
    for d in SIZES:
        for root in some_roots(d):
            built = forest(f"Q{d}", "binomial", root=root)
            assert built.is_shortest_path
            assert built.height == d
            assert built.level_profile().tolist() == [[comb(d, level) for level in range(d + 1)]]
            assert built.leaves.tolist() == [max(1, 2 ** (d - 1))]


def test_subtree_sizes_of_the_binomial_tree_are_powers_of_two() -> None:
    """The child of the root across port j + 1 has a subtree of 2^j nodes."""
    for d in SIZES:
        built = forest(f"Q{d}", "binomial")
        sizes = built.subtree_sizes()[0]
        assert [
            int(sizes[built.topology.neighbours(port, [0])[0]]) for port in built.topology.ports
        ] == [2**j for j in range(d)]


@pytest.mark.parametrize("d", SIZES)
def test_the_edge_disjoint_trees_are_rotated_binomial_trees(d: int) -> None:
    """Tree i-1 is a binomial tree of the root's neighbour across port i, rerooted at the root.

    The bits of the binomial tree are in cyclic order, starting with bit i.
    """
    for root in some_roots(d):
        built = forest(f"Q{d}", "edge-disjoint-binomial", root=root)
        assert built.parents().tolist() == [
            parents_of(tree, d) for tree in hypercube.edge_disjoint_binomial(root)
        ]
        assert built.id == f"Q{d}:edge-disjoint-binomial:{root}"


@pytest.mark.parametrize("d", SIZES)
def test_edge_disjoint_binomial_trees_are_edge_disjoint_for_every_root(d: int) -> None:
    """The trees use every directed link except those into the root exactly once."""
    t = topology(f"Q{d}")
    for root in range(t.nodes):
        built = forest(t, "edge-disjoint-binomial", root=root)
        built.verify()
        assert built.is_edge_disjoint
        assert built.trees == d
        load = built.load()
        assert load.sum() == d * (t.nodes - 1)
        assert [int(load[t.neighbours(port, [root])[0], port - 1]) for port in t.ports] == [0] * d


def test_the_edge_disjoint_trees_have_height_d_plus_1() -> None:
    """The exception is Q_1, with height 1. The root of tree i-1 has one child, across port i."""
    for d in SIZES:
        built = forest(f"Q{d}", "edge-disjoint-binomial")
        assert built.heights.tolist() == [d + 1 if d > 1 else 1] * d
        assert [np.flatnonzero(row == 0).tolist() for row in built.parents()] == [
            [int(built.topology.neighbours(port, [0])[0])] for port in built.topology.ports
        ]
        assert {tuple(row) for row in built.level_profile().tolist()} == {
            tuple(
                np.bincount(
                    list(
                        rooted_trees.depths(
                            hypercube.edge_disjoint_binomial("0" * d)[0], "0" * d
                        ).values()
                    )
                ).tolist()
            )
        }


def test_binomial_trees_are_defined_on_hypercubes_only() -> None:
    for spec in ["S4", "S4,2"]:
        for construction in ["binomial", "edge-disjoint-binomial"]:
            with refused(construction, spec):
                forest(spec, construction)


def test_constructions_for_star_graphs_are_not_defined_on_hypercubes() -> None:
    for construction in ["greedy", "multiple", "edge-disjoint", "nk-greedy", "nk-multiple"]:
        with refused(construction, "Q4"):
            forest("Q4", construction)


def test_forests_of_binomial_trees_on_q16_pass_verification() -> None:
    root = 54_321
    forest("Q16", "binomial", root=root).verify()
    trees = forest("Q16", "edge-disjoint-binomial", root=root)
    trees.verify()
    assert trees.is_edge_disjoint
