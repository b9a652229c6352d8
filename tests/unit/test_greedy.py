"""The greedy tree L(r) with root r (Tseng & Sheu, Definition 1), compared with its definition.

Section A1 is in docs/definitions/tseng-sheu.md.
"""

import numpy as np
import pytest

from oracles import star_graph, tseng_sheu
from starcast.topologies import topology
from starcast.trees import forest
from support.meeting import pair, roots

SIZES = range(2, 8)


def test_the_parent_ports_of_two_nodes_equal_the_examples_of_the_definition() -> None:
    """If a node starts with the k-th symbol of the root and k > 1, its parent port is k (A1).

    If it starts with the first symbol of the root, the port is the first position from 2 on in
    which it differs from the root.
    """
    assert tseng_sheu.dif((1, 2, 4, 3), (1, 2, 3, 4)) == 3
    assert tseng_sheu.alpha((1, 2, 4, 3), (1, 2, 3, 4)) == 3
    assert tseng_sheu.alpha((4, 2, 3, 1), (1, 2, 3, 4)) == 4
    greedy = forest("S4", "greedy").parent_port[0]
    ranks = star_graph.ranks(4)
    assert greedy[ranks[1, 2, 4, 3]] == 3
    assert greedy[ranks[4, 2, 3, 1]] == 4


def test_the_parent_port_of_every_node_follows_the_definition() -> None:
    """The port is the position in the root r of the node's first symbol x_1.

    If x_1 = r_1, the port is the first position in which the node differs from r.
    """
    for n in SIZES:
        for root in roots(n):
            row = forest(f"S{n}", "greedy", root=star_graph.label(root)).parent_port[0]
            for node, port in zip(star_graph.nodes(n), row.tolist(), strict=True):
                if node == root:
                    assert port == 0
                elif node[0] == root[0]:
                    assert node[port - 1] != root[port - 1]
                    assert node[1 : port - 1] == root[1 : port - 1]
                else:
                    assert root[port - 1] == node[0]


@pytest.mark.parametrize("n", SIZES)
def test_levels_are_distances_and_the_height_is_the_diameter(n: int) -> None:
    """Every parent is nearer to the root than its child (Lemma 3)."""
    for root in roots(n):
        both = pair(n, "greedy", root)
        assert np.array_equal(
            both.forest.levels()[0], topology(f"S{n}").distances(star_graph.label(root))
        )
        assert both.forest.height == star_graph.diameter(n)
        assert both.forest.congestion == 1


def test_leaves_are_as_many_as_derangements_but_are_not_the_derangements() -> None:
    for n in SIZES:
        for root in star_graph.cyclic_roots(n):
            built = forest(f"S{n}", "greedy", root=star_graph.label(root))
            assert list(built.leaves) == [star_graph.derangements(n)]
        inner = set(built.parents()[0].tolist())
        leaves = {node for rank, node in enumerate(star_graph.nodes(n)) if rank not in inner}
        assert leaves == {node for node in star_graph.nodes(n) if is_leaf_by_definition(node, root)}
        moved = {
            node
            for node in star_graph.nodes(n)
            if all(a != b for a, b in zip(node, root, strict=True))
        }
        assert len(moved) == len(leaves)
        assert (leaves == moved) == (n == 2)


def is_leaf_by_definition(v: star_graph.Node, r: star_graph.Node) -> bool:
    """Return whether v is a leaf of the tree with root r by section A1.

    The condition is that v differs from r in all positions from 2 on, unless v_2 = r_1 and
    v_1 != r_2. The root is not a leaf.
    """
    return (
        v != r
        and all(a != b for a, b in zip(v[1:], r[1:], strict=True))
        and not (v[1] == r[0] and v[0] != r[1])
    )


def test_relabelling_a_greedy_tree_gives_the_greedy_tree_of_the_relabelled_root() -> None:
    """Relabelling by q maps L(r) to L(q o r) (section A1)."""
    for n in range(2, 6):
        for q in roots(n):
            for r in star_graph.cyclic_roots(n):
                moved = forest(
                    f"S{n}", "greedy", root=star_graph.label(star_graph.compose(q, r))
                ).parent_port[0]
                image = topology(f"S{n}").translation(star_graph.label(q))
                assert np.array_equal(
                    moved[image], forest(f"S{n}", "greedy", root=star_graph.label(r)).parent_port[0]
                )
