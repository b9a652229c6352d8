"""The n-1 trees L-hat(rho^i(r)) (Tseng & Sheu, Def. 2): heights, paths, loads.

rho^i(r) is the root r shifted by i positions. The definitions and pitfalls are in
docs/definitions/tseng-sheu.md.
"""

from math import gcd

import numpy as np
import pytest

from oracles import rooted_trees, star_graph, tseng_sheu
from starcast.trees import Forest, forest
from support.meeting import pair, roots

SIZES = range(2, 8)


def path_from_root(built: Forest, tree: int, goal: star_graph.Node) -> list[int]:
    """Return the ports along the path from the root to a node, read from the array."""
    n, ports = len(goal), []
    node, row = goal, built.parent_port[tree]
    while port := int(row[star_graph.ranks(n)[node]]):
        ports.append(port)
        node = star_graph.swap(node, port)
    return ports[::-1]


@pytest.mark.parametrize("n", SIZES)
def test_the_forest_has_one_tree_for_each_shift_of_the_root_in_order(n: int) -> None:
    """Tree i has the undirected links of the greedy tree L(rho^i(r)), but its root is r."""
    for root in star_graph.cyclic_roots(n):
        both = pair(n, "multiple", root)
        assert both.forest.trees == n - 1
        for i, row in enumerate(both.forest.parent_port, start=1):
            links = {
                frozenset((x, star_graph.swap(x, port)))
                for x, port in zip(star_graph.nodes(n), row.tolist(), strict=True)
                if port
            }
            assert links == {
                frozenset(link) for link in tseng_sheu.greedy(star_graph.shift(root, i)).items()
            }


@pytest.mark.parametrize("n", SIZES)
def test_level_profiles_equal_those_of_the_oracle(n: int) -> None:
    """Shifting in the wrong direction would exchange the profiles of trees i and n-i."""
    for root in star_graph.cyclic_roots(n):
        both = pair(n, "multiple", root)
        result = np.asarray(both.forest.level_profile()).tolist()
        for i, tree in enumerate(both.trees):
            expected = rooted_trees.profile(tree, root)
            assert result[i] == expected + [0] * (len(result[i]) - len(expected))


def test_heights_equal_those_of_lemma_5() -> None:
    """Tree i has height D_n + n + gcd(n,i) - 2. The lemma does not hold for n = 2 and 3."""
    for n in range(4, 8):
        heights = [star_graph.diameter(n) + n + gcd(n, i) - 2 for i in range(1, n)]
        assert list(forest(f"S{n}", "multiple").heights) == heights


def test_the_heights_on_s2_and_s3_differ_from_lemma_5() -> None:
    """The heights are 1 on S2, and 5 and 4 on S3 (pitfall 5)."""
    assert list(forest("S2", "multiple").heights) == [1]
    assert list(forest("S3", "multiple").heights) == [5, 4]


def test_the_maximum_height_follows_the_definition() -> None:
    for n in SIZES:
        height = forest(f"S{n}", "multiple").height
        assert height == tseng_sheu.height_of_multiple(n)
        if n > 2:
            assert star_graph.diameter(n) + n - 1 <= height <= 2 * star_graph.diameter(n)


def test_congestion_is_at_most_two_for_every_root() -> None:
    """No directed link is in more than two trees (Lemma 6)."""
    for n in SIZES:
        for root in roots(n):
            built = forest(f"S{n}", "multiple", root=star_graph.label(root))
            assert built.congestion == min(2, n - 1)
            assert set(built.load_histogram()) <= {0, 1, 2}


def test_the_load_histogram_has_the_known_values() -> None:
    """The known values were counted by the oracle."""
    for n, histogram in [
        (2, {0: 1, 1: 1}),
        (3, {0: 3, 1: 8, 2: 1}),
        (4, {0: 12, 1: 51, 2: 9}),
        (5, {0: 73, 1: 338, 2: 69}),
        (6, {0: 480, 1: 2645, 2: 475}),
    ]:
        assert (
            rooted_trees.load_histogram(tseng_sheu.multiple(star_graph.identity(n)), n) == histogram
        )
        assert dict(forest(f"S{n}", "multiple").load_histogram()) == histogram


def test_the_paths_on_s6_have_the_dimensions_given_in_the_definitions() -> None:
    expected = {
        1: [2, 3, 4, 5, 6],
        2: [3, 5, 2, 4, 6, 2],
        3: [4, 2, 5, 2, 3, 6, 3],
        4: [5, 3, 2, 6, 4, 2],
        5: [6, 5, 4, 3, 2],
    }
    built = forest("S6", "multiple")
    for i, dimensions in expected.items():
        assert tseng_sheu.path_dimensions(star_graph.identity(6), i) == dimensions
        assert (
            path_from_root(built, i - 1, star_graph.shift(star_graph.identity(6), i)) == dimensions
        )


def test_paths_to_the_shifts_of_the_root_follow_the_cycles_of_the_shift() -> None:
    """The shift by i positions has gcd(n,i) cycles C_1, C_2, .. of positions.

    The path first crosses the dimensions in C_1 except 1. Then it crosses those in C_2 and
    dimension 2 again, those in C_3 and dimension 3 again, and so on. It has n + gcd(n,i) - 2 links.
    """
    for n in SIZES:
        for root in roots(n):
            built = forest(f"S{n}", "multiple", root=star_graph.label(root))
            for i in range(1, n):
                dimensions = path_from_root(built, i - 1, star_graph.shift(root, i))
                assert dimensions == tseng_sheu.path_dimensions_by_cycles(n, i)
                assert dimensions == tseng_sheu.path_dimensions(root, i)
                assert len(dimensions) == n + gcd(n, i) - 2


def test_paths_to_the_shifts_of_the_root_share_only_the_root() -> None:
    """All other nodes on the path to the shift by i have symbol r_1 in position i+1."""
    for n in SIZES:
        for root in star_graph.cyclic_roots(n):
            built = forest(f"S{n}", "multiple", root=star_graph.label(root))
            on_paths = []
            for i in range(1, n):
                node = root
                for port in path_from_root(built, i - 1, star_graph.shift(root, i)):
                    node = star_graph.swap(node, port)
                    assert node[i] == root[0]
                    on_paths.append(node)
            assert len(set(on_paths)) == len(on_paths)


def test_the_root_has_two_children_in_the_last_tree_and_one_in_all_others() -> None:
    for n in range(3, 8):
        for root in star_graph.cyclic_roots(n):
            built = forest(f"S{n}", "multiple", root=star_graph.label(root))
            assert (built.parents() == built.root).sum(axis=1).tolist() == [1] * (n - 2) + [2]


def test_only_one_link_of_the_root_is_in_two_trees() -> None:
    for n in range(3, 8):
        for root in roots(n):
            built = forest(f"S{n}", "multiple", root=star_graph.label(root))
            load = built.load()
            assert load[built.root].tolist() == [2] + [1] * (n - 2)
            into = [
                int(load[built.topology.neighbours(port)[built.root], port - 2])
                for port in built.topology.ports
            ]
            assert into == [0] * (n - 1)
