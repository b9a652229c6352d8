"""The edge-disjoint trees EDT of Fragopoulou & Akl 1996: Definition 8 node by node, and Lemma 6."""

from functools import cache
from math import factorial

import numpy as np
import pytest

from oracles import edge_disjoint as page
from oracles import rooted_trees, rotation, star_graph
from starcast.trees import Forest, forest
from support.meeting import refused, roots, trees_of

SIZES = range(2, 8)

#: Parents of nodes in trees 2, 3 and 4 of S_4, as given in the paper or by Def. 6 and Lemma 4.
EXAMPLES = {
    "3124": ["2134", "1324", "4123"],
    "2143": ["4123", "3142", "1243"],
    "4123": ["3124", "2143", "1423"],
}


@cache
def built(n: int, root: star_graph.Node | None = None) -> Forest:
    """Return the forest `edge-disjoint` that starcast builds."""
    return forest(f"S{n}", "edge-disjoint", root=star_graph.label(root or star_graph.identity(n)))


@cache
def trees(n: int) -> list[rooted_trees.Tree]:
    """Return starcast's trees rooted at the identity, as dictionaries of parents."""
    return trees_of(built(n))


def rotated(tree: rooted_trees.Tree) -> rooted_trees.Tree:
    """Return the tree that results from applying the rotation R to all nodes."""
    return {rotation.rotate(child): rotation.rotate(parent) for child, parent in tree.items()}


def test_parents_in_the_trees_at_the_identity_follow_definition_8() -> None:
    for n in SIZES:
        assert trees(n) == page.edt(star_graph.identity(n))


def test_parents_in_the_trees_at_other_roots_follow_definition_8() -> None:
    """A tree at another root is the translated tree of the identity (claim EDT.root).

    Translation preserves dimensions.
    """
    for n in range(2, 7):
        for root in roots(n)[1:]:
            assert trees_of(built(n, root)) == page.edt(root)


def test_children_follow_the_rule_for_children() -> None:
    """In each subtree the rules for parents and for children agree (claim EDT.D8.consistent)."""
    for n in SIZES:
        for number, tree in enumerate(trees(n), start=2):
            children: dict[star_graph.Node, set[star_graph.Node]] = {
                x: set() for x in star_graph.nodes(n)
            }
            for child, parent in tree.items():
                children[parent].add(child)
            for x, result in children.items():
                assert result == page.edt_children(x, number)


def test_parents_of_three_nodes_equal_the_examples_in_the_paper() -> None:
    """The nodes are in S_4, which has three trees (claim EDT.D8.examples)."""
    for x, parents in EXAMPLES.items():
        assert [star_graph.label(tree[star_graph.node_of(x)]) for tree in trees(4)] == parents


@pytest.mark.parametrize("n", SIZES)
def test_every_tree_is_a_spanning_tree(n: int) -> None:
    """The trees are checked by `verify` and by following parents (claim EDT.D8.spanning).

    In every tree the root has one child, its neighbour across the link of the tree's number.
    """
    for root in roots(n)[: 2 if n == 7 else None]:
        edt = built(n, root)
        edt.verify()
        assert edt.spanning
        assert edt.trees == n - 1
    root = star_graph.identity(n)
    for number, tree in enumerate(trees(n), start=2):
        assert rooted_trees.is_spanning(tree, root)
        assert [x for x, parent in tree.items() if parent == root] == [
            star_graph.swap(root, number)
        ]


def test_every_directed_link_except_those_into_the_root_is_in_exactly_one_tree() -> None:
    """Each direction of every other link is in one tree (claims EDT.L6.1 and EDT.twice)."""
    for n in SIZES:
        for root in roots(n)[: 2 if n == 7 else None]:
            edt = built(n, root)
            assert edt.is_edge_disjoint
            assert edt.load_histogram() == {0: n - 1, 1: (n - 1) * (factorial(n) - 1)}
        root = star_graph.identity(n)
        load = rooted_trees.load(trees(n))
        links = {
            (x, star_graph.swap(x, d)) for x in star_graph.nodes(n) for d in page.dimensions(x)
        }
        assert set(load.values()) == {1}
        assert links - set(load) == {
            (star_graph.swap(root, d), root) for d in page.dimensions(root)
        }


def test_a_node_has_a_different_neighbour_as_parent_in_each_tree() -> None:
    """The n-1 parents of a node are its n-1 neighbours."""
    for n in SIZES:
        trees = built(n).parent_port[:, 1:]
        assert (np.sort(trees, axis=0) == np.arange(2, n + 1)[:, None]).all()


def test_edge_disjoint_trees_contain_the_shortest_path_graph() -> None:
    """A node with a parent in a tree of that graph has the same parent in the EDT tree (Def. 8)."""
    for n in SIZES:
        graph = forest(f"S{n}", "shortest-path-graph").parent_port
        assert (built(n).parent_port[graph != 0] == graph[graph != 0]).all()


def test_the_trees_are_rotations_of_one_another() -> None:
    """The rotation R maps each tree to the next, and the last to the first (claim EDT.L6.2)."""
    for n in SIZES:
        for number, tree in enumerate(trees(n), start=2):
            assert rotated(tree) == trees(n)[rotation.r(number, n) - 2]


def test_tree_paths_are_node_disjoint_and_at_most_four_links_longer_than_the_distance() -> None:
    """The n-1 tree paths to a node share no inner node (claim EDT.L6.3)."""
    for n in range(2, 7):
        root = star_graph.identity(n)
        longer = 0
        for x, distance in star_graph.distances(root).items():
            paths = [rooted_trees.path(tree, x) for tree in trees(n)]
            inner = [y for path in paths for y in path[1:-1]]
            assert len(set(inner)) == len(inner)
            longer = max(longer, *(len(path) - 1 - distance for path in paths))
        assert longer == (4 if n > 2 else 0)


def test_the_heights_of_all_trees_equal_the_formula() -> None:
    """For n >= 3 it is floor(3n/2) + 1, less than the diameter plus 4 (claim EDT.L6.4)."""
    for n, height in [(2, 1), (3, 5), (4, 7), (5, 8), (6, 10), (7, 11), (8, 13)]:
        assert built(n).heights.tolist() == [height] * (n - 1)
        assert height == (3 * n // 2 + 1 if n > 2 else 1)
        assert height <= star_graph.diameter(n) + (2 if n % 2 else 3)
        if n < 7:
            assert [
                max(rooted_trees.depths(tree, star_graph.identity(n)).values()) for tree in trees(n)
            ] == [height] * (n - 1)


def test_every_tree_has_the_known_level_profile() -> None:
    """The number of nodes on each level is the same in every tree."""
    for n, profile in [
        (2, [1, 1]),
        (3, [1, 1, 1, 1, 1, 1]),
        (4, [1, 1, 2, 4, 6, 6, 3, 1]),
        (5, [1, 1, 3, 9, 21, 28, 22, 22, 13]),
        (6, [1, 1, 4, 16, 52, 104, 126, 144, 168, 95, 9]),
    ]:
        root = star_graph.identity(n)
        assert [rooted_trees.profile(tree, root) for tree in page.edt(root)] == [profile] * (n - 1)
        assert built(n).level_profile().tolist() == [profile] * (n - 1)


def test_corresponding_links_in_depth_first_order_have_different_dimensions() -> None:
    """Depth-first search of tree k visits children in the order k..n, 2..k-1 (claim EDT.order)."""
    for n in range(2, 7):
        orders = page.depth_first(trees(n), star_graph.identity(n))
        assert {len(order) for order in orders} == {factorial(n) - 1}
        for links in zip(*orders, strict=True):
            assert len({star_graph.dimension_between(*link) for link in links}) == n - 1


def test_the_only_tree_of_s2_has_one_link() -> None:
    """The only other node is adjacent to the root (case 2 of the definition, l = k)."""
    for root, ports in (("12", [0, 2]), ("21", [2, 0])):
        trees = forest("S2", "edge-disjoint", root=root)
        trees.verify()
        assert trees.parent_port.tolist() == [ports]


def test_the_edge_disjoint_construction_rejects_the_argument_copies() -> None:
    with refused("edge-disjoint", "copies"):
        forest("S4", "edge-disjoint", copies=2)


@pytest.mark.parametrize("n", [8, 9])
def test_trees_of_s8_and_s9_are_valid_and_edge_disjoint(n: int) -> None:
    """The oracle is too slow for these sizes, so only properties of the trees are checked."""
    trees = built(n, star_graph.shift(star_graph.identity(n), 3))
    trees.verify()
    assert trees.is_edge_disjoint
