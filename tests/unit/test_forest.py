"""The class `Forest`: its arguments, and `verify()` on corrupted arrays."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from oracles import rooted_trees, star_graph
from starcast import network
from starcast.support.errors import StarcastError
from starcast.topologies import networks, topology
from starcast.trees import Forest, forest, model
from support.meeting import refused, tree_of


def test_the_root_of_a_forest_may_be_a_label_or_a_rank() -> None:
    for construction in ("greedy", "multiple", "recursive-substar"):
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


def verify_in_both_ways(trees: Forest) -> None:
    """Verify a forest with both methods, and check that they raise the same error, or none."""
    messages = []
    for judge in (Forest.verify, verify_by_distances):
        try:
            judge(replace(trees))
        except StarcastError as error:
            messages.append(error.message)
            refusal = error
    if messages:
        assert messages == [refusal.message] * 2
        raise refusal


def verify_by_distances(trees: Forest) -> None:
    """Verify with the method for large forests, which does not follow every node to the root."""
    with pytest.MonkeyPatch.context() as patch:
        for limit in ("_FEW_NODES", "_ENTRIES"):
            patch.setattr(model, limit, 0)
        trees.verify()


def test_the_verification_error_names_the_first_invalid_tree_and_its_node_and_port() -> None:
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
            verify_in_both_ways(Forest(topology("S5"), array, root))
        assert refusal.value.hint


def test_forest_arrays_of_other_integer_types_are_converted() -> None:
    for dtype in [np.int8, np.int64, np.uint16, np.uint8]:
        own = Forest(topology("S5"), s5("greedy").astype(dtype), 0)
        own.verify()
        assert own.parent_port.dtype == np.uint8
        assert np.array_equal(own.parent_port, s5("greedy"))


def test_a_partial_tree_must_be_declared_partial_and_contain_the_parents_of_its_nodes() -> None:
    ports = forest("S4", "shortest-path").parent_port.copy()
    with refused("tree 0", exit_code=6):
        verify_in_both_ways(Forest(topology("S4"), ports, 0))
    ports[0, topology("S4").rank("2134")] = 0
    with refused("is a descendant of 2134, which is not in the tree", exit_code=6):
        verify_in_both_ways(Forest(topology("S4"), ports, 0, spanning=False))


@given(st.data())
def test_wrong_hubs_do_not_change_the_result_of_the_verification(data: st.DataObject) -> None:
    """Hubs only reduce the number of nodes that the verification follows to the root."""
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


def test_the_trees_of_a_network_with_an_unknown_diameter_can_be_verified(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(networks, "MAX_SEARCHES", 0)
    cycle = network(nx.cycle_graph(9))
    with refused("is not known", exit_code=7):
        _ = cycle.diameter
    tree = forest(cycle, "breadth-first")
    array = tree.parent_port.copy()
    for hub in range(9):
        verify_by_distances(Forest(cycle, array, 0, verify_hubs=(hub,)))
    for node in range(1, 9):
        child = int(cycle.neighbours(int(array[0, node]), [node])[0])
        wrong = array.copy()
        wrong[0, child] = array[0, node]
        message = "is the root" if child == 0 else "leads into a cycle"
        for hub in range(9):
            with refused(message, exit_code=6):
                verify_by_distances(Forest(cycle, wrong, 0, verify_hubs=(hub,)))


def test_computing_the_levels_of_a_forest_with_a_cycle_is_an_error() -> None:
    cycle = [[0, 2, 2, 2, 2, 2]]
    with refused("leads into a cycle", exit_code=6):
        Forest("S3", cycle).levels()  # type: ignore[arg-type]


def test_later_changes_of_an_array_do_not_affect_the_forest() -> None:
    """A forest made from a read-only view of the array is not affected either."""
    array = s5("greedy")
    view = array.view()
    view.flags.writeable = False
    forests = [Forest(topology("S5"), given, 0) for given in (array, view)]
    array[0, 7] = 0
    for own in forests:
        own.verify()


def test_the_metric_arrays_of_a_forest_are_read_only() -> None:
    f = forest("S4", "multiple")
    for figures in (f.heights, f.sizes, f.leaves, f.levels(), f.parent_port):
        with pytest.raises(ValueError, match="read-only"):
            figures[0] = 0


def invalid_forests() -> list[Forest]:
    """Return three invalid forests.

    The first has an invalid port, the root of the second has a parent, and the third omits a node.
    """
    foreign, rooted, missing = (s5("greedy") for _ in range(3))
    foreign[0, 5], rooted[0, 0], missing[0, 119] = 9, 2, 0
    return [Forest(topology("S5"), array, 0) for array in (foreign, rooted, missing)]


def value_of_metric(own: Forest, measure: str) -> Any:
    """Return the value of a metric, which is a property or a method."""
    value = getattr(own, measure)
    return value() if callable(value) else value


def test_metrics_of_an_invalid_forest_are_refused() -> None:
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
