"""The shortest-path tree SPT and the graph SPG of Fragopoulou & Akl 1996, Definitions 6 and 7.

S^k is the set of nodes that have the root's first symbol in position k.
"""

from math import factorial

import pytest

from oracles import edge_disjoint as page
from oracles import rooted_trees, rotation, star_graph
from starcast.trees import forest
from support.meeting import built, roots, trees_of

SIZES = range(2, 8)


def test_spt_and_spg_follow_their_definitions_node_by_node() -> None:
    for n in SIZES:
        assert trees_of(built(n, "shortest-path")) == page.spt(star_graph.identity(n))
        assert trees_of(built(n, "shortest-path-graph")) == page.spg(star_graph.identity(n))


def test_spt_and_spg_follow_their_definitions_at_other_roots() -> None:
    """At another root, the nodes of the identity's trees are relabelled."""
    for n in range(2, 7):
        for root in roots(n):
            assert trees_of(built(n, "shortest-path", root)) == page.spt(root)
            assert trees_of(built(n, "shortest-path-graph", root)) == page.spg(root)


def test_the_children_of_spt_follow_the_definition() -> None:
    """The rules for parents and for children in Definition 6 agree."""
    for n in SIZES:
        (tree,) = trees_of(built(n, "shortest-path"))
        children = rooted_trees.children(tree)
        for x in star_graph.nodes(n):
            assert children.get(x, set()) == page.spt_children(x)


def test_the_children_of_spg_follow_the_definition() -> None:
    """The rules for parents and for children in Definition 7 agree."""
    for n in SIZES:
        for number, tree in enumerate(trees_of(built(n, "shortest-path-graph")), start=2):
            children = rooted_trees.children(tree)
            for x in star_graph.nodes(n):
                assert children.get(x, set()) == page.spg_children(x, number)


def test_spt_is_a_shortest_path_tree_whose_subtree_k_is_s_k() -> None:
    """Subtree k has the nodes with the root's first symbol in position k (Lemma 4)."""
    for n in SIZES:
        for root in roots(n)[: 2 if n == 7 else None]:
            trees = built(n, "shortest-path", root)
            trees.verify()
            assert trees.is_shortest_path
            (tree,) = trees_of(trees)
            assert set(tree) == {x for x in star_graph.nodes(n) if x[0] != root[0]}
            for x in tree:
                top = rooted_trees.path(tree, x)[-2]
                assert star_graph.dimension_between(root, top) == rotation.position(x, root[0])


def test_spt_omits_s_1_except_the_root_and_is_not_declared_spanning() -> None:
    for n in SIZES:
        trees = built(n, "shortest-path")
        assert not trees.spanning
        assert trees.trees == 1
        assert trees.sizes.tolist() == [factorial(n) - factorial(n - 1) + 1]
        assert trees.members()[0].tolist() == [
            x[0] != 1 or x == star_graph.identity(n) for x in star_graph.nodes(n)
        ]
        assert trees.congestion == 1


def test_tree_l_of_spg_consists_of_the_root_s_l_and_s_1() -> None:
    """Every node of S^1 is in each of the n-1 subtrees (first half of Lemma 5)."""
    for n in SIZES:
        trees = built(n, "shortest-path-graph")
        trees.verify()
        assert not trees.spanning
        assert trees.trees == n - 1
        for number, row in enumerate(trees.members(), start=2):
            assert row.tolist() == [1 in (x[0], x[number - 1]) for x in star_graph.nodes(n)]
        assert trees.sizes.tolist() == [2 * factorial(n - 1)] * (n - 1)


@pytest.mark.parametrize("n", range(3, 8))
def test_nodes_of_s_1_have_node_disjoint_paths_of_minimum_total_length_in_spg(n: int) -> None:
    """There are n-1 such paths, one over each neighbour of the node (second half of Lemma 5)."""
    root = star_graph.identity(n)
    distance = star_graph.distances(root)
    trees = trees_of(built(n, "shortest-path-graph"))
    for x in star_graph.nodes(n):
        if x[0] != 1 or x == root:
            continue
        paths = [rooted_trees.path(tree, x) for tree in trees]
        assert {path[-1] for path in paths} == {root}
        inner = [y for path in paths for y in path[1:-1]]
        assert len(set(inner)) == len(inner)
        assert sum(len(path) - 1 for path in paths) == sum(
            1 + distance[star_graph.swap(x, d)] for d in page.dimensions(x)
        )


def test_the_trees_of_spg_are_rotations_of_one_another() -> None:
    """The rotation R maps each tree to the next and the last to the first, as in EDT."""
    for n in SIZES:
        trees = trees_of(built(n, "shortest-path-graph"))
        for number, tree in enumerate(trees, start=2):
            turned = {
                rotation.rotate(child): rotation.rotate(parent) for child, parent in tree.items()
            }
            assert turned == trees[rotation.r(number, n) - 2]


def test_no_directed_link_is_in_two_trees_of_spg() -> None:
    for n in range(3, 8):
        assert built(n, "shortest-path-graph").is_edge_disjoint


def test_the_smallest_star_follows_the_definitions() -> None:
    """S_2 has one link, and S^1 is only the root, but the definitions need no exception."""
    for construction in ("shortest-path", "shortest-path-graph"):
        for root, ports in (("12", [0, 2]), ("21", [2, 0])):
            trees = forest("S2", construction, root=root)
            trees.verify()
            assert trees.parent_port.tolist() == [ports]


def test_the_heights_equal_the_formula() -> None:
    """For odd n all farthest nodes are in S^1: SPT omits them, SPG has them on its last level."""
    for n, spt, spg in [(3, 2, 3), (4, 4, 5), (5, 5, 6), (6, 7, 8), (7, 8, 9), (8, 10, 11)]:
        assert spt == star_graph.diameter(n) - n % 2
        assert spg == spt + 1
        assert built(n, "shortest-path").heights.tolist() == [spt]
        assert built(n, "shortest-path-graph").heights.tolist() == [spg] * (n - 1)
