"""The scatter trees of Theorems 9 and 10 (Fragopoulou & Akl 1993, section 5).

The pitfalls are those listed in docs/definitions/fragopoulou-akl.md.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise
from math import factorial

import numpy as np
import pytest

from oracles import rooted_trees, rotation, star_graph
from oracles import scatter_trees as page
from oracles.rotation import position, rotate
from starcast.topologies import topology
from starcast.trees import constructions, forest
from starcast.trees.balanced import running_numbers
from support.meeting import built, ports_of, refused, roots, trees_of

SIZES = range(2, 8)
PAGES: dict[str, Callable[[star_graph.Node], Sequence[rooted_trees.Tree]]] = {
    "balanced": lambda root: [page.balanced(root)],
    "near-balanced": lambda root: [page.near_balanced(root)],
    "perfectly-balanced": page.perfectly_balanced,
}
CASES = [(n, name) for n in SIZES for name in PAGES if n > 2 or name != "perfectly-balanced"]

every_case = pytest.mark.parametrize(("n", "construction"), CASES)


def outside(n: int) -> list[star_graph.Node]:
    """Return the nodes whose label does not start with symbol 1."""
    return [x for x in star_graph.nodes(n) if x[0] != 1]


def starting(n: int) -> list[star_graph.Node]:
    """Return the nodes whose label starts with symbol 1, except the identity."""
    return [x for x in star_graph.nodes(n)[1:] if x[0] == 1]


@every_case
def test_the_parent_ports_follow_the_definition_for_every_root(n: int, construction: str) -> None:
    """A tree with another root is a translation of the tree with root 12..n."""
    for root in roots(n) if n < 7 else star_graph.cyclic_roots(n)[:2]:
        trees = built(n, construction, root)
        assert np.array_equal(
            trees.parent_port,
            np.stack([ports_of(tree, root) for tree in PAGES[construction](root)]),
        )
        trees.verify()


@every_case
def test_all_paths_from_the_root_are_shortest_paths(n: int, construction: str) -> None:
    """Every parent is one link closer to the root (Theorems 9.4 and 10.5)."""
    root = star_graph.nodes(n)[-1]
    trees, distances = built(n, construction, root), star_graph.distances(root)
    for tree in trees_of(trees):
        assert all(distances[parent] == distances[child] - 1 for child, parent in tree.items())
        assert all(parent in tree or parent == root for parent in tree.values())
    assert trees.is_shortest_path
    assert trees.height == star_graph.diameter(n)


def test_nodes_whose_label_starts_with_1_are_leaves() -> None:
    """The only exception is the root (Theorems 9.3 and 10.4)."""
    for n, construction in CASES:
        for tree in trees_of(built(n, construction)):
            assert {parent for parent in tree.values() if parent[0] == 1} == {
                star_graph.identity(n)
            }


@every_case
def test_nodes_with_symbol_1_in_position_k_are_in_the_subtree_of_dimension_k(
    n: int, construction: str
) -> None:
    """Theorems 9.1 and 10.1 state this. A perfectly balanced tree has only one such subtree."""
    root, partial = star_graph.identity(n), construction == "perfectly-balanced"
    for number, tree in enumerate(trees_of(built(n, construction)), start=2):
        for x in tree:
            if x[0] != 1:
                assert page.branch_dimension(x, tree, root) == position(x, 1)
            if partial:
                assert page.branch_dimension(x, tree, root) == number


def test_the_parent_merges_the_last_two_cycles_of_a_node() -> None:
    """214365 = (6 5)(4 3)(2 1) has the parent 312465 = (6 5)(4 3 2 1) across dimension 3."""
    x = star_graph.node_of("214365")
    assert page.canonical(x) == [(6, 5), (4, 3), (2, 1)]
    (tree,) = trees_of(built(6, "near-balanced"))
    assert tree[x] == star_graph.swap(x, 3)
    assert page.canonical(tree[x]) == [(6, 5), (4, 3, 2, 1)]


@pytest.mark.parametrize("n", range(4, 8))
def test_the_last_cycle_of_a_parent_concatenates_the_last_two_cycles_of_its_child(n: int) -> None:
    (tree,) = trees_of(built(n, "balanced"))
    for x in outside(n):
        *others, second, last = [(), *page.canonical(x)]
        if second:
            assert page.canonical(tree[x]) == [*others[1:], second + last]


def test_subtree_sizes_of_balanced_trees_differ_by_at_most_one() -> None:
    """Subtrees get the nodes that start with 1 in turn, so the first subtrees may be larger."""
    for n in SIZES:
        root = star_graph.nodes(n)[-1]
        sizes = page.branches(trees_of(built(n, "balanced", root))[0], root)
        assert max(sizes) == -((1 - factorial(n)) // (n - 1))
        assert max(sizes) - min(sizes) <= 1
        assert sizes == sorted(sizes, reverse=True)
        assert sum(sizes) == factorial(n) - 1


def test_the_numbering_of_nodes_follows_the_definition() -> None:
    """The root has number 0, and the other nodes that start with 1 have the numbers 1, 2, 3, ..

    Each further copy of these nodes continues the numbering.
    """
    for n in SIZES:
        share = factorial(n - 1) - 1
        for copy in range(n):
            numbers = running_numbers(topology(f"S{n}"), copy)
            assert len(numbers) == factorial(n - 1)
            assert numbers[0] == 0
            assert numbers[1:].tolist() == [
                page.running_numbers(n, 1 + copy * share)[x] for x in starting(n)
            ]
            assert sorted(numbers[1:].tolist()) == list(
                range(1 + copy * share, 1 + (copy + 1) * share)
            )


def test_subtrees_stay_balanced_for_any_number_of_messages() -> None:
    """With M messages per node, the largest subtree carries ceil(M(n!-1)/(n-1)), the minimum."""
    for n in SIZES:
        used = dict.fromkeys(range(2, n + 1), 0)
        for copy in range(2 * n):
            for x, m in zip(
                starting(n), running_numbers(topology(f"S{n}"), copy)[1:].tolist(), strict=True
            ):
                assert x[rotation.v(m, n) - 1] != rotation.v(m, n)
                used[rotation.v(m, n)] += 1
            copies = copy + 1
            assert max(used.values()) + copies * factorial(n - 1) == -(
                (copies * (1 - factorial(n))) // (n - 1)
            )


@pytest.mark.parametrize("n", range(4, 8))
def test_numbers_ascend_by_distance_and_necklace(n: int) -> None:
    """Nodes are numbered by distance, then by the necklace's lowest node, then by rotation."""
    numbers = running_numbers(topology(f"S{n}"))
    order = sorted(starting(n), key=lambda x: numbers[star_graph.ranks(n)[x]])
    keys = [(rotation.distance(x), min(rotation.necklace(x))) for x in order]
    assert keys == sorted(keys)
    for before, after in pairwise(order):
        assert after == rotate(before) or min(rotation.necklace(after)) != min(
            rotation.necklace(before)
        )


@pytest.mark.parametrize("n", SIZES)
def test_the_children_of_every_node_follow_the_definition(n: int) -> None:
    """The corrected rules for children in Definition 13 agree with the rules for parents."""
    (tree,) = trees_of(built(n, "near-balanced"))
    children = rooted_trees.children(tree)
    for x in star_graph.nodes(n):
        assert children.get(x, set()) == page.children(x)


def test_nodes_of_displacement_d_are_in_the_subtree_of_dimension_d_plus_2() -> None:
    """Subtree d+2 has one node of every necklace with more than d nodes (Theorem 9.2)."""
    for n in SIZES:
        root = star_graph.identity(n)
        (tree,) = trees_of(built(n, "near-balanced"))
        assert all(page.branch_dimension(x, tree, root) == page.displacement(x) + 2 for x in tree)
        sizes = page.branches(tree, root)
        assert sizes == [sum(len(ring) > d for ring in rotation.necklaces(n)) for d in range(n - 1)]
        assert sizes[0] == rotation.necklaces_counted(n) <= 2 * factorial(n - 1) - 1


def test_subtrees_have_the_known_sizes_for_every_root() -> None:
    for n, sizes in [
        (3, [3, 2]),
        (4, [9, 7, 7]),
        (5, [33, 30, 28, 28]),
        (6, [147, 143, 143, 143, 143]),
    ]:
        for root in roots(n):
            assert page.branches(trees_of(built(n, "near-balanced", root))[0], root) == sizes


def test_rotating_a_node_rotates_its_parent_except_at_the_end_of_a_short_necklace() -> None:
    """The last node of a necklace of fewer than n-1 nodes is the exception (Rules 9 and 10)."""
    for n in range(3, 8):
        (tree,) = trees_of(built(n, "near-balanced"))
        for x, parent in tree.items():
            around = page.displacement(x) == rotation.period(x) - 1 and rotation.period(x) < n - 1
            assert (rotate(parent) == tree[rotate(x)]) != around


@pytest.mark.parametrize("n", range(3, 8))
def test_the_children_of_nodes_in_several_trees_follow_the_definition(n: int) -> None:
    """Case 1 of Definition 15 compares displacements modulo the length of the necklace."""
    together: dict[star_graph.Node, set[star_graph.Node]] = {}
    for tree in trees_of(built(n, "perfectly-balanced")):
        for parent, children in rooted_trees.children(tree).items():
            together[parent] = together.get(parent, set()) | children
    for x in star_graph.nodes(n):
        assert together.get(x, set()) == page.children(x, repeated=True)


def test_every_tree_has_one_node_of_every_necklace() -> None:
    """A node is in several trees if its necklace is short (Theorems 10.2, 10.3 and 10.6).

    If its displacement is d and its necklace has p nodes, it is in trees d, d+p, d+2p, ..
    (pitfall 12).
    """
    for n in range(3, 8):
        trees = built(n, "perfectly-balanced")
        assert trees.sizes.tolist() == [1 + rotation.necklaces_counted(n)] * (n - 1)
        for x, inside in zip(star_graph.nodes(n), trees.members().T, strict=True):
            if x == star_graph.identity(n):
                assert inside.all()
            else:
                assert np.flatnonzero(inside).tolist() == list(
                    range(page.displacement(x), n - 1, rotation.period(x))
                )
        for tree in trees_of(trees):
            assert Counter(min(rotation.necklace(x)) for x in tree) == Counter(
                ring[0] for ring in rotation.necklaces(n)
            )


def test_all_trees_carry_equally_many_messages() -> None:
    """With n-1 messages per node, each tree carries n!-1 messages (pitfall 12).

    Each copy of a node carries as many messages as its necklace has nodes.
    """
    for n in range(3, 8):
        for tree in trees_of(built(n, "perfectly-balanced")):
            assert sum(rotation.period(x) for x in tree) == factorial(n) - 1


def test_each_tree_is_the_rotation_of_the_previous_tree() -> None:
    """Theorem 10.7 states that rotation maps each tree to the next one."""
    for n in range(3, 8):
        trees = trees_of(built(n, "perfectly-balanced"))
        for number, tree in enumerate(trees):
            assert {rotate(x): rotate(parent) for x, parent in tree.items()} == trees[
                (number + 1) % (n - 1)
            ]


def test_the_root_has_exactly_one_child_in_every_tree() -> None:
    """The root starts with 1, but it is not treated like other such nodes (pitfall 10)."""
    for n in range(3, 7):
        for root in roots(n):
            trees = built(n, "perfectly-balanced", root)
            assert trees.members()[:, trees.root].all()
            assert (trees.parent_port[:, trees.root] == 0).all()
            assert (trees.levels()[:, trees.root] == 0).all()
            assert (trees.parents() == trees.root).sum(axis=1).tolist() == [1] * (n - 1)
            assert trees.parent_port[
                range(n - 1), trees.topology.neighbours(2, [trees.root])[0]
            ].tolist() == [2] + [0] * (n - 2)
            assert trees.congestion == 1


def test_s2_has_no_perfectly_balanced_trees() -> None:
    assert "perfectly-balanced" not in constructions("S2")
    assert "perfectly-balanced" in constructions("S3")
    with refused("perfectly-balanced", "S2"):
        forest("S2", "perfectly-balanced")


def test_scatter_trees_are_defined_on_star_graphs_only() -> None:
    for spec in ["S4,2", "Q3"]:
        for construction in PAGES:
            with refused(construction, spec):
                forest(spec, construction)


def test_trees_on_s8_have_the_sizes_of_the_theorems() -> None:
    """The number of necklaces is computed by Burnside's lemma."""
    n = 8
    h = rotation.necklaces_counted(n)
    assert built(n, "perfectly-balanced").sizes.tolist() == [1 + h] * (n - 1)
    for construction, greatest in (
        ("near-balanced", h),
        ("balanced", -((1 - factorial(n)) // (n - 1))),
    ):
        trees = built(n, construction)
        below = trees.subtree_sizes()[0]
        assert (
            max(
                int(below[trees.topology.neighbours(port, [0])[0]]) for port in trees.topology.ports
            )
            == greatest
        )
        assert trees.is_shortest_path
