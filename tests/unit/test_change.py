"""Label change and dimension change (Tseng & Sheu 1997, Definitions 3 and 4)."""

from functools import cache
from typing import Any

import numpy as np
import pytest

from oracles import nk_star, rooted_trees, rotation, star_graph
from oracles import tseng_sheu as page
from starcast.topologies import topology
from starcast.trees import Forest, constructions, forest
from support.meeting import refused, roots, trees_of

#: `make test` runs the first case of a test and one other case. The first n is 3, the smallest n
#: for which the tree `shortest-path` omits nodes.
SIZES = (3, 2, 4, 5, 6)
TREES = ("shortest-path", "greedy", "multiple", "recursive-substar", "edge-disjoint")
PLACES = [(n, i) for n in SIZES for i in range(n - 1)]

every_tree = pytest.mark.parametrize("tree", TREES)


@cache
def at_identity(n: int, tree: str) -> Forest:
    """Return the forest of a construction on S_n with the identity as root."""
    return forest(f"S{n}", tree)


@every_tree
@pytest.mark.parametrize("n", SIZES)
def test_label_change_to_root_x_maps_each_node_y_to_x_composed_with_y(n: int, tree: str) -> None:
    """Label change is Definition 3 of Tseng & Sheu 1997. Nodes are permutations."""
    for x in roots(n):
        trees = forest(f"S{n}", "label-change", root=star_graph.label(x), base=tree)
        assert trees_of(trees) == [
            rooted_trees.translated(item, x) for item in trees_of(at_identity(n, tree))
        ]
        assert trees.root == star_graph.ranks(n)[x]
        trees.verify()


@every_tree
@pytest.mark.parametrize(("n", "i"), PLACES)
def test_dimension_change_shifts_the_dimensions_of_every_path_from_the_root(
    n: int, i: int, tree: str
) -> None:
    """Dimension change is Definition 4 of Tseng & Sheu 1997."""
    for root in roots(n) if n <= 5 else [star_graph.identity(n)]:
        trees = forest(f"S{n}", "dimension-change", star_graph.label(root), base=tree, i=i)
        relabelled = [
            rooted_trees.translated(item, root) for item in trees_of(at_identity(n, tree))
        ]
        assert trees_of(trees) == [page.dimension_change(i, item, root) for item in relabelled]
        assert trees.root == star_graph.ranks(n)[root]
        trees.verify()


def test_label_and_dimension_changes_also_change_the_hub_of_each_tree() -> None:
    """For most nodes of a tree, the parent is closer to the tree's hub than the node itself.

    `verify` follows only the other nodes to the root.
    """
    for tree in ["greedy", "multiple"]:
        for construction in ["label-change", "dimension-change"]:
            arguments: dict[str, str | int] = (
                {"base": tree, "i": 2} if construction == "dimension-change" else {"base": tree}
            )
            base = closer(at_identity(5, tree))
            assert closer(forest("S5", construction, root=77, **arguments)) == base
            assert min(base) > 0.9 * 119
    assert min(closer(forest("S5,3", "nk-multiple", root=7))) > 0.5 * 59


def closer(trees: Forest) -> list[int]:
    """Return, for each tree, the number of nodes whose parent is closer to the tree's hub."""
    assert trees.verify_hubs is not None
    result = []
    for hub, parents in zip(trees.verify_hubs, trees.parents(), strict=True):
        distances = trees.topology.distances(hub).astype(int)
        result.append(int((distances[parents] < distances)[parents >= 0].sum()))
    return result


@pytest.mark.parametrize(("n", "k"), [(n, k) for n in range(2, 6) for k in range(1, n)])
@pytest.mark.parametrize("tree", ["nk-greedy", "nk-multiple"])
def test_label_change_on_nk_stars_composes_nodes_with_the_extended_root(
    n: int, k: int, tree: str
) -> None:
    """The root is extended to n symbols by appending its missing symbols in ascending order."""
    network = topology(f"S{n},{k}")
    before = [links_of(forest(network, tree), row) for row in range(forest(network, tree).trees)]
    for root in {0, network.nodes - 1, network.nodes // 3}:
        trees = forest(network, "label-change", root=root, base=tree)
        q = nk_star.extension(star_graph.node_of(network.label(root)), n)
        expected = [
            {star_graph.compose(q, a): star_graph.compose(q, b) for a, b in item.items()}
            for item in before
        ]
        assert [links_of(trees, row) for row in range(trees.trees)] == expected
        trees.verify()


def links_of(trees: Forest, tree: int) -> rooted_trees.Tree:
    """Return a tree as a dictionary from each child to its parent."""
    every = [star_graph.node_of(label) for label in trees.topology.labels().tolist()]
    return {every[v]: every[p] for v, p in enumerate(trees.parents()[tree].tolist()) if p >= 0}


def test_dimension_change_for_k_equal_to_n_minus_1_equals_that_on_the_star_graph() -> None:
    """For k = n-1 the nk-greedy tree is the greedy tree of S_n."""
    for n, i in [(n, i) for n, i in PLACES if n <= 5]:
        changed = forest(f"S{n},{n - 1}", "dimension-change", root=1, base="nk-greedy", i=i)
        assert np.array_equal(
            changed.parent_port,
            forest(f"S{n}", "dimension-change", root=1, base="greedy", i=i).parent_port,
        )
        changed.verify()


@pytest.mark.parametrize(("n", "i"), [(n, i) for n, i in PLACES if n <= 6])
@pytest.mark.parametrize("tree", ["nk-greedy", "nk-multiple"])
def test_dimension_change_on_the_complete_graph_rotates_all_symbols_but_the_first(
    n: int, i: int, tree: str
) -> None:
    """For k = 1, a dimension change by i maps a symbol s >= 2 to ((s-2+i) mod (n-1)) + 2."""
    before = forest(f"S{n},1", tree)
    trees = forest(f"S{n},1", "dimension-change", base=tree, i=i)

    def turned(node: star_graph.Node) -> star_graph.Node:
        return node if node == (1,) else (rotation.r(node[0], n, i),)

    for row in range(before.trees):
        assert links_of(trees, row) == {
            turned(a): turned(b) for a, b in links_of(before, row).items()
        }
    trees.verify()


def test_dimension_change_is_refused_on_nk_stars_with_k_from_2_to_n_minus_2() -> None:
    """For these k, the literal definition gives trees that omit nodes, unless the shift i is 0."""
    for n, k in [(4, 2), (5, 2), (5, 3), (6, 2), (6, 3), (6, 4)]:
        tree = links_of(forest(f"S{n},{k}", "nk-greedy"), 0)
        assert len(page.literally_changed(0, tree, n, k)) == topology(f"S{n},{k}").nodes
        for i in range(1, n - 1):
            assert len(page.literally_changed(i, tree, n, k)) < topology(f"S{n},{k}").nodes
        with refused(f"S{n},{k}", "dimension-change", "no automorphism"):
            forest(f"S{n},{k}", "dimension-change", base="nk-greedy", i=1)
        assert "dimension-change" not in constructions(f"S{n},{k}")
        assert "label-change" in constructions(f"S{n},{k}")


def test_the_arguments_of_label_and_dimension_changes_are_part_of_the_forest_id() -> None:
    assert (
        forest("S4", "label-change", base="greedy", root="4132").id
        == "S4:label-change(base=greedy):4132"
    )
    changed = forest("S4", "dimension-change", base="greedy", i=2)
    assert changed.id == "S4:dimension-change(base=greedy,i=2):1234"
    assert dict(changed.arguments) == {"base": "greedy", "i": 2}
    assert changed.construction == "dimension-change"
    assert forest("S4", "dimension-change", base="greedy", i=np.int64(2)).id == changed.id  # type: ignore[arg-type]


@pytest.mark.whole
@pytest.mark.parametrize(
    ("construction", "arguments", "message"),
    [
        # The paper takes i modulo n-1. starcast accepts only 0 to n-2, so every tree has one id.
        ("dimension-change", {"base": "greedy", "i": -1}, "i is -1, which is out of range on S5"),
        ("dimension-change", {"base": "greedy", "i": 4}, "i is 4, which is out of range on S5"),
        ("dimension-change", {"base": "greedy", "i": "1"}, "i is '1', not an integer"),
        ("dimension-change", {"base": "greedy", "i": 1.0}, "i is 1.0, not an integer"),
        ("dimension-change", {"base": "greedy", "i": True}, "i is True, not an integer"),
        ("dimension-change", {"base": "greedy"}, "needs the argument 'i'"),
        ("dimension-change", {"i": 1}, "needs the argument 'base'"),
        ("label-change", {}, "needs the argument 'base'"),
        ("label-change", {"base": "label-change"}, "base is 'label-change', which is not"),
        ("label-change", {"base": "gready"}, "base is 'gready', which is not"),
        ("label-change", {"base": "nk-greedy"}, "base is 'nk-greedy', which is not"),
        ("label-change", {"base": 1}, "base is 1, which is not"),
        ("label-change", {"base": "greedy", "places": 1}, "has no argument 'places'"),
        ("greedy", {"places": 1}, "has no argument 'places'"),
    ],
)
def test_invalid_arguments_of_constructions_are_refused(
    construction: str, arguments: dict[str, Any], message: str
) -> None:
    with refused(message):
        forest("S5", construction, **arguments)
