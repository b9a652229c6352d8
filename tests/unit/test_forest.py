"""Forests: metrics compared with slow recomputation, and `verify()` on corrupted arrays."""

from math import factorial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from oracles import rooted_trees, star_graph, tseng_sheu
from starcast.support.errors import StarcastError
from starcast.topologies import topology
from starcast.trees import Forest, forest, model
from support.meeting import PAGES, Pair, pair, ports_of, refused, roots, tree_of

CONSTRUCTIONS = sorted(PAGES)
CASES = [(n, construction) for n in range(2, 7) for construction in CONSTRUCTIONS]


def table(both: Pair, values: dict[star_graph.Node, int], missing: int = -1) -> list[int]:
    """Return the values of a dictionary of nodes as an array in the order of ranks."""
    return [values.get(node, missing) for node in star_graph.nodes(both.n)]


@pytest.mark.parametrize(("n", "construction"), CASES)
def test_the_array_and_its_metrics_equal_those_of_the_oracle_for_every_cyclic_root(
    n: int, construction: str
) -> None:
    """A cyclic root is a shift of the identity. The oracle computes all metrics node by node."""
    for root in roots(n):
        both = pair(n, construction, root)
        trees = both.forest
        expected = np.stack([ports_of(tree, root) for tree in both.trees])
        assert trees.parent_port.dtype == np.uint8
        assert np.array_equal(trees.parent_port, expected)
        assert trees.trees == len(both.trees)
        assert_parents_and_levels_agree(both)
        assert_profiles_agree(both)
        assert_loads_agree(both)


def assert_parents_and_levels_agree(both: Pair) -> None:
    """Check that every node has the parent and level from the oracle, in every tree."""
    ranks = star_graph.ranks(both.n)
    parents = [table(both, {x: ranks[tree[x]] for x in tree}) for tree in both.trees]
    levels = [table(both, rooted_trees.depths(tree, both.root)) for tree in both.trees]
    assert both.forest.parents().tolist() == parents
    assert both.forest.levels().tolist() == levels
    members = both.forest.members()
    assert members.dtype == np.bool_
    assert members.shape == (len(both.trees), factorial(both.n))
    assert members.all()
    assert list(both.forest.sizes) == [len(tree) + 1 for tree in both.trees]


def assert_profiles_agree(both: Pair) -> None:
    """Check heights, nodes per level, leaves, and subtree sizes."""
    profiles = [rooted_trees.profile(tree, both.root) for tree in both.trees]
    heights = [len(item) - 1 for item in profiles]
    assert list(both.forest.heights) == heights
    assert both.forest.height == max(heights)
    leaves = [len(rooted_trees.leaves(tree, both.root)) for tree in both.trees]
    assert list(both.forest.leaves) == leaves
    padded = [item + [0] * (max(heights) + 1 - len(item)) for item in profiles]
    assert np.asarray(both.forest.level_profile()).tolist() == padded
    below = [table(both, rooted_trees.sizes(tree, both.root)) for tree in both.trees]
    assert both.forest.subtree_sizes().tolist() == below


def assert_loads_agree(both: Pair) -> None:
    """Check the load: the number of trees that contain each directed link."""
    counted = rooted_trees.load(both.trees)
    load = both.forest.load()
    assert load.shape == (factorial(both.n), both.n - 1)
    assert load.tolist() == [
        [counted[x, star_graph.swap(x, port)] for port in range(2, both.n + 1)]
        for x in star_graph.nodes(both.n)
    ]
    assert load.sum() == len(both.trees) * (factorial(both.n) - 1)
    assert both.forest.congestion == max(counted.values())
    assert dict(both.forest.load_histogram()) == rooted_trees.load_histogram(both.trees, both.n)


def test_the_root_may_be_a_label_or_a_rank() -> None:
    for construction in CONSTRUCTIONS:
        by_label = forest("S5", construction, root="54321")
        by_rank = forest("S5", construction, root=119)
        assert np.array_equal(by_label.parent_port, by_rank.parent_port)
        assert by_label.root == by_rank.root == 119
        assert by_label.id == by_rank.id == f"S5:{construction}:54321"
        assert by_label.id in repr(by_label)
        assert by_label.construction == construction
        assert forest("S5", construction).id == f"S5:{construction}:12345"


def s5(construction: str) -> NDArray[np.uint8]:
    """Return a writable copy of the parent ports of a forest on S5."""
    return forest("S5", construction).parent_port.copy()


def verify_in_both_ways(array: object, root: int = 0, spec: str = "S5") -> None:
    """Verify an array with both methods, and check that their results are the same.

    If the array is invalid, both raise the same error, possibly when the forest is created.
    """
    refusals = []
    for judge in (Forest.verify, verify_by_distances):
        try:
            judge(Forest(topology(spec), array, root))  # type: ignore[arg-type]
        except StarcastError as error:
            refusals.append(error)
    if refusals:
        assert len({error.message for error in refusals}) == 1
        assert len(refusals) == 2
        raise refusals[0]


def verify_by_distances(trees: Forest) -> None:
    """Verify with the method for large forests, which does not follow every node to the root."""
    with pytest.MonkeyPatch.context() as patch:
        for limit in ("_FEW_NODES", "_ENTRIES"):
            patch.setattr(model, limit, 0)
        trees.verify()


@pytest.mark.parametrize("construction", CONSTRUCTIONS)
@given(st.data())
def test_a_changed_entry_is_detected_unless_it_gives_another_spanning_tree(
    construction: str, data: st.DataObject
) -> None:
    """The changed entry may be valid: the oracle decides whether the tree still spans."""
    array = s5(construction)
    tree = data.draw(st.integers(0, len(array) - 1))
    rank = data.draw(st.integers(0, 119))
    old = int(array[tree, rank])
    new = data.draw(st.integers(0, 255).filter(lambda port: port != old))
    array[tree, rank] = new
    if new in {2, 3, 4, 5} and rooted_trees.is_spanning(
        tree_of(array[tree], 5), star_graph.identity(5)
    ):
        verify_in_both_ways(array)
        return
    with refused(f"tree {tree}", exit_code=6) as refusal:
        verify_in_both_ways(array)
    if new in {2, 3, 4, 5} and rank:
        mutated, root = tree_of(array[tree], 5), star_graph.identity(5)
        lost = [star_graph.label(x) for x in mutated if not leads_to_root(mutated, x, root)]
        assert any(label in refusal.value.message for label in lost)


def is_connected(tree: rooted_trees.Tree, root: star_graph.Node) -> bool:
    """Return whether the parents of every node lead to the root, and the root has no parent."""
    try:
        rooted_trees.depths(tree, root)
    except (KeyError, RuntimeError):
        return False
    return root not in tree


def leads_to_root(tree: rooted_trees.Tree, node: star_graph.Node, root: star_graph.Node) -> bool:
    """Return whether following parents leads from a node to the root."""
    for _ in range(len(tree) + 1):
        if node == root:
            return True
        node = tree.get(node, node)
    return False


def test_the_error_names_the_first_invalid_tree_its_node_and_port() -> None:
    cases: list[tuple[str, list[tuple[int, int, int]], int, str]] = [
        ("greedy", [(0, 0, 2)], 0, "tree 0.*12345 is the root"),
        *(("multiple", [(3, 17, port)], 0, f"tree 3.*14532.*{port}") for port in (1, 6, 7, 255)),
        ("multiple", [(1, 5, 9), (3, 5, 9)], 0, "tree 1"),
        ("greedy", [], 1, "tree 0"),
    ]
    for construction, changes, root, message in cases:
        array = s5(construction)
        for tree, rank, port in changes:
            array[tree, rank] = port
        with pytest.raises(StarcastError, match=message) as refusal:
            verify_in_both_ways(array, root)
        assert refusal.value.hint


def test_arrays_of_other_integer_types_are_converted() -> None:
    for dtype in [np.int8, np.int64, np.uint16, np.uint8]:
        own = Forest(topology("S5"), s5("greedy").astype(dtype), 0)
        own.verify()
        assert own.parent_port.dtype == np.uint8
        assert np.array_equal(own.parent_port, s5("greedy"))


def half_of_s4() -> tuple[rooted_trees.Tree, Forest]:
    """Return levels 0 to 2 of the greedy tree on S4, as a dictionary and as a forest."""
    full, root = tseng_sheu.greedy(star_graph.identity(4)), star_graph.identity(4)
    half = {x: parent for x, parent in full.items() if rooted_trees.depths(full, root)[x] <= 2}
    return half, Forest(topology("S4"), ports_of(half, root)[None, :], 0, spanning=False)


def test_nodes_outside_a_partial_tree_have_no_parent_and_no_level() -> None:
    half, own = half_of_s4()
    own.verify()
    inside = np.array([x in half or x == star_graph.identity(4) for x in star_graph.nodes(4)])
    assert np.array_equal(own.members()[0], inside)
    assert np.array_equal(own.levels()[0] >= 0, inside)
    assert np.array_equal(own.parents()[0] >= 0, inside & (np.arange(24) != 0))
    assert own.height == 2
    assert own.load().sum() == len(half)
    assert list(own.sizes) == [len(half) + 1]
    below = rooted_trees.sizes(half, star_graph.identity(4))
    assert own.subtree_sizes()[0].tolist() == [below.get(x, 0) for x in star_graph.nodes(4)]
    assert list(own.leaves) == [len(rooted_trees.leaves(half, star_graph.identity(4)))]
    assert own.level_profile().tolist() == [rooted_trees.profile(half, star_graph.identity(4))]


def test_a_partial_tree_that_is_not_declared_partial_is_rejected() -> None:
    _, own = half_of_s4()
    with refused("tree 0", exit_code=6):
        Forest(topology("S4"), own.parent_port, 0).verify()


@given(st.integers(1, 23), st.integers(0, 4))
def test_a_changed_entry_of_a_partial_tree_is_detected_unless_the_tree_is_valid(
    rank: int, port: int
) -> None:
    _, own = half_of_s4()
    array = own.parent_port.copy()
    array[0, rank] = port
    changed = Forest(topology("S4"), array, 0, spanning=False)
    if port != 1 and is_connected(tree_of(array[0], 4), star_graph.identity(4)):
        changed.verify()
        assert changed.levels()[0].tolist() == [
            rooted_trees.depths(tree_of(array[0], 4), star_graph.identity(4)).get(x, -1)
            for x in star_graph.nodes(4)
        ]
    else:
        with refused("tree 0", exit_code=6):
            changed.verify()


@given(st.data())
def test_wrong_hubs_do_not_change_the_result_of_the_verification(data: st.DataObject) -> None:
    array = s5("multiple")
    verify_hubs = data.draw(st.lists(st.integers(0, 119), min_size=4, max_size=4))
    verify_by_distances(Forest(topology("S5"), array, 0, verify_hubs=verify_hubs))
    tree, rank = data.draw(st.integers(0, 3)), data.draw(st.integers(1, 119))
    array[tree, rank] = data.draw(st.integers(2, 5))
    spoiled = Forest(topology("S5"), array, 0, verify_hubs=verify_hubs)
    if rooted_trees.is_spanning(tree_of(array[tree], 5), star_graph.identity(5)):
        verify_by_distances(spoiled)
    else:
        with refused(f"tree {tree}", exit_code=6):
            verify_by_distances(spoiled)


def test_the_levels_of_a_forest_with_a_cycle_are_an_error() -> None:
    cycle = [[0, 2, 2, 2, 2, 2]]
    with refused("leads into a cycle", exit_code=6):
        Forest("S3", cycle).levels()  # type: ignore[arg-type]


def test_later_changes_of_an_array_do_not_affect_the_forest() -> None:
    """The content of a read-only view still changes with the array."""
    array = s5("greedy")
    view = array.view()
    view.flags.writeable = False
    forests = [Forest(topology("S5"), given, 0) for given in (array, view)]
    array[0, 7] = 0
    for own in forests:
        own.verify()


def test_the_arrays_of_metrics_are_read_only() -> None:
    f = forest("S4", "multiple")
    for figures in (f.heights, f.sizes, f.leaves, f.levels(), f.parent_port):
        with pytest.raises(ValueError, match="read-only"):
            figures[0] = 0


def invalid_forests() -> list[Forest]:
    """Return three forests: with an invalid port, a root with a parent, and a missing node."""
    foreign, rooted, missing = (s5("greedy") for _ in range(3))
    foreign[0, 5], rooted[0, 0], missing[0, 119] = 9, 2, 0
    return [Forest(topology("S5"), array, 0) for array in (foreign, rooted, missing)]


def value_of_metric(own: Forest, measure: str) -> Any:
    """Return the value of a metric, which is a property or a method."""
    value = getattr(own, measure)
    return value() if callable(value) else value


def test_every_metric_refuses_an_invalid_array() -> None:
    for measure in [
        "sizes",
        "parents",
        "levels",
        "leaves",
        "heights",
        "congestion",
        "load",
        "load_histogram",
        "is_edge_disjoint",
    ]:
        for own in invalid_forests():
            with pytest.raises(StarcastError) as refusal:
                value_of_metric(own, measure)
            assert refusal.value.hint


def test_invalid_arguments_of_the_class_forest_are_refused() -> None:
    wrong_types = [np.float64, np.bool_, np.complex128, np.str_, object]
    wrong_shapes = [(6,), (1, 5), (1, 7), (1, 1, 6), (0, 6), (6, 1)]
    cases: list[Any] = [
        *(("S3", np.zeros((1, 6), dtype), {}) for dtype in wrong_types),
        *(("S3", np.zeros(shape, np.uint8), {}) for shape in wrong_shapes),
        *(("S3", np.array([[0, 3, 2, port, 2, 3]]), {}) for port in (-1, -254, 256, 258, 2**40)),
        *(("S3", np.zeros((1, 6), np.uint8), {"root": root}) for root in (-1, 6, "124")),
        ("S3", [[0, 1], [2]], {}),
        (5, np.zeros((1, 6), np.uint8), {}),
        (None, np.zeros((1, 6), np.uint8), {}),
        ("S3", np.zeros((1, 6)), {}),
        ("S3", np.full((1, 6), 300), {}),
        ("S3", np.zeros((257, 6), np.uint8), {}),
        ("S3", np.zeros((1, 6), np.uint8), {"arguments": None}),
        ("S3", np.zeros((1, 6), np.uint8), {"arguments": {"i": [1]}}),
        ("S3", np.zeros((1, 6), np.uint8), {"arguments": {1: 1, "i": 1}}),
        ("S3", np.zeros((1, 6), np.uint8), {"arguments": {"i": 10**5_000}}),
        ("S3", np.zeros((1, 6), np.uint8), {"construction": "two words"}),
        ("S3", np.zeros((1, 6), np.uint8), {"construction": None}),
        ("S3", np.zeros((2, 6), np.uint8), {"verify_hubs": (0,)}),
        ("S3", np.zeros((1, 6), np.uint8), {"verify_hubs": (6,)}),
    ]
    for spec, array, arguments in cases:
        with pytest.raises(StarcastError) as refusal:
            Forest(spec, array, **arguments)
        assert refusal.value.exit_code == 2
        assert refusal.value.hint


def test_the_arguments_of_a_forest_cannot_be_changed() -> None:
    f = forest("S4", "dimension-change", base="greedy", i=1)
    with pytest.raises(TypeError):
        f.arguments["i"] = 2  # type: ignore[index]
    assert f.id == "S4:dimension-change(base=greedy,i=1):1234"


def test_a_forest_with_a_numpy_integer_as_argument_can_be_saved(tmp_path: Path) -> None:
    for i in range(3):
        turns: Any = np.int64(i)
        f = forest("S4", "dimension-change", base="multiple", i=turns)
        f.save(tmp_path / "f.npz")
        assert Forest.open(tmp_path / "f.npz").id == f.id
