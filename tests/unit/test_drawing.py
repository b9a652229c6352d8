"""Drawings of trees, read from their SVG: all nodes and edges are shown, and nothing overlaps."""

from collections import defaultdict
from functools import cache
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from starcast.drawing import COLOURS, READABLE, draw_tree, style
from starcast.drawing.forests import SPACING, tidy_layout
from starcast.support.errors import InputError, LimitError, RejectedError
from starcast.topologies import topology
from starcast.trees import Forest, forest, plain_constructions
from starcast.trees.construction import forest_from_id
from support.colour_vision import COLOUR_VISION, GREY, smallest_distance
from support.read_svg import SVG, Picture

#: `make test` runs the first case of a test and one other case. The first topology is S4, because
#: several constructions are equal on smaller stars.
SPECS = ("S4", "S2", "S3", "S5", "S4,2", "S5,3", "Q3")


@cache
def drawing(spec: str, construction: str, tree: int, root: int = 1) -> tuple[Forest, Picture]:
    """Return a forest, by default with the node of rank 1 as root, and the drawing of a tree."""
    trees = forest(spec, construction, root)
    return trees, Picture(draw_tree(trees, tree))


@pytest.mark.parametrize("spec", SPECS)
def test_a_tree_drawing_shows_every_node_and_edge_without_overlaps_and_crossings(spec: str) -> None:
    """Each node and edge is drawn once, and the nodes of each level form a row."""
    for name in plain_constructions(spec):
        for tree in {0, forest(spec, name).trees - 1}:
            trees, result = drawing(spec, name, tree)
            members = trees.topology.labels(np.flatnonzero(trees.members()[tree])).tolist()
            assert sorted(result.boxes) == members
            result.check_places()
            labels = trees.topology.labels().tolist()
            levels = dict(zip(labels, trees.levels()[tree].tolist(), strict=True))
            height = result.boxes[members[0]].height
            for upper, lower in pairwise(result.heights(levels)):
                assert lower - upper > 2 * height
            assert_edges_go_down(trees, tree, result)
            assert_edges_do_not_cross(result)


def assert_edges_go_down(trees: Forest, tree: int, result: Picture) -> None:
    """Check that every edge goes from the parent to the child, in the colour of its port."""
    topology = trees.topology
    lines = {stroke.title.rpartition("> ")[2]: stroke for stroke in result.strokes}
    expected = set()
    for child, back in enumerate(trees.parent_port[tree].tolist()):
        if back:
            port = topology.reverse_port(back)
            parent = topology.label(int(topology.neighbours(back, [child])[0]))
            label = topology.label(child)
            expected.add((f"{parent} -{port}-> {label}", *style(topology, port)))
            above, below = result.boxes[parent], result.boxes[label]
            ends = (above.center + above.height / 2 * 1j, below.center - below.height / 2 * 1j)
            assert lines[label].ends == pytest.approx(ends, abs=0.2)
    assert {(line.title, line.colour, line.dashes) for line in result.strokes} == expected


def assert_edges_do_not_cross(result: Picture) -> None:
    """Check that no edges cross: their order is the same at both ends."""
    rows = defaultdict(list)
    for stroke in result.strokes:
        rows[stroke.ends[0].imag].append(stroke.ends)
    for row in rows.values():
        for (start, end), (other_start, other_end) in combinations(row, 2):
            assert (start - other_start).real * (end - other_end).real >= -1e-6


def test_a_parent_is_centred_above_its_children_which_are_ordered_by_dimension() -> None:
    _, result = drawing("S5", "greedy", 0, 0)
    row = [result.boxes[label].x for label in ("21345", "32145", "42315", "52341")]
    assert row == sorted(row)
    assert result.boxes["12345"].x == pytest.approx((row[0] + row[-1]) / 2, abs=0.2)


def test_every_node_label_in_a_drawing_fits_into_its_box() -> None:
    for spec, name in (
        ("S5", "greedy"),
        ("Q7", "binomial"),
        ("S9,2", "nk-greedy"),
        ("S2", "greedy"),
    ):
        for label, box in drawing(spec, name, 0)[1].boxes.items():
            assert box.width > 0.602 * 12 * len(label)


@pytest.mark.whole
@pytest.mark.parametrize(
    ("name", "summary", "legend"),
    [
        ("S5:multiple:12354, tree 0", "120 nodes, height 10, 43 leaves", ["dimension", *"2345"]),
        ("S3:greedy:132, tree 0", "6 nodes, height 3, 2 leaves", ["dimension", *"23"]),
        ("S5,2:nk-greedy:13, tree 0", "20 nodes, height 3", ["port", *"2345"]),
        ("S4:dimension-change(base=multiple,i=1):1234, tree 2", "24 nodes", ["dimension", *"234"]),
    ],
)
def test_the_heading_of_a_drawing_describes_the_tree_and_the_legend_lists_its_ports(
    name: str, summary: str, legend: list[str]
) -> None:
    forest_id, _, tree = name.partition(", tree ")
    result = Picture(draw_tree(forest_from_id(forest_id), int(tree)))
    root, words = result.root, result.words
    assert (root.get("role"), root[0].tag, root[0].text) == ("img", f"{SVG}title", name)
    assert (words[0], words[2 : 2 + len(legend)]) == (name, legend)
    assert words[1].startswith(summary)
    samples = [item.get("stroke") for item in root.findall(f"{SVG}g")[: len(legend) - 1]]
    assert samples == list(COLOURS[: len(legend) - 1])


def test_colours_of_dimensions_are_distinguishable_with_any_colour_vision() -> None:
    """All colours differ for colour-blind readers. The first three also differ in grey."""
    assert all(smallest_distance(COLOURS, vision) > 15 for vision in COLOUR_VISION.values())
    assert smallest_distance(COLOURS[:3], GREY) > 10


def test_from_the_eighth_dimension_on_colours_repeat_with_dashed_lines() -> None:
    network = topology("S12")
    styles = [style(network, port) for port in network.ports]
    assert len(set(styles)) == 11
    assert [dashes == "" for _, dashes in styles] == [True] * 7 + [False] * 4


@pytest.mark.parametrize(
    ("spec", "construction"), [("S6", "greedy"), ("S6", "shortest-path"), ("Q8", "binomial")]
)
def test_an_unreadable_drawing_is_refused_unless_forced(spec: str, construction: str) -> None:
    trees = forest(spec, construction)
    with pytest.raises(LimitError) as caught:
        draw_tree(trees)
    assert f"{trees.sizes[0]} nodes" in caught.value.message
    assert str(READABLE) in caught.value.message
    assert "`force`" in caught.value.hint
    assert len(Picture(draw_tree(trees, force=True)).strokes) == trees.sizes[0] - 1


@pytest.mark.parametrize("tree", [-1, 3])
def test_drawing_an_unknown_tree_of_a_forest_is_refused(tree: int) -> None:
    with pytest.raises(InputError, match=f"has no tree {tree}"):
        draw_tree(forest("S4", "multiple"), tree)


def test_drawing_an_array_that_is_not_a_forest_is_refused() -> None:
    array = np.full((1, 24), 2, dtype=np.uint8)
    array[0, 0] = 0
    with pytest.raises(RejectedError):
        draw_tree(Forest(topology("S4"), array))


# The tests below check the layout of trees of any shape.

Children = dict[int, list[int]]


@st.composite
def shapes(draw: st.DrawFn) -> Children:
    """Generate a tree with root 0, in which each further node is a child of an earlier node."""
    children: Children = {}
    for node in range(1, draw(st.integers(1, 60))):
        children.setdefault(draw(st.integers(0, node - 1)), []).append(node)
    return children


def levels(children: Children) -> list[list[int]]:
    """Return the nodes of every level, from left to right."""
    rows = [[0]]
    while below := [child for node in rows[-1] for child in children.get(node, ())]:
        rows.append(below)
    return rows


@given(shapes())
@example({})
def test_nodes_of_a_level_keep_their_order_and_a_minimum_distance_below_centred_parents(
    children: Children,
) -> None:
    place = tidy_layout(0, children)
    assert set(place) == {0, *(child for below in children.values() for child in below)}
    assert min(place.values()) == pytest.approx(0)
    for row in levels(children):
        for left, right in pairwise(row):
            assert place[right] - place[left] >= SPACING - 1e-9
    for parent, below in children.items():
        assert place[parent] == pytest.approx((place[below[0]] + place[below[-1]]) / 2)


@given(shapes())
def test_the_drawing_of_a_mirrored_tree_is_the_mirrored_drawing(children: Children) -> None:
    """A layout that pushed small subtrees to the left would not have this property."""
    place = tidy_layout(0, children)
    mirrored = tidy_layout(0, {parent: below[::-1] for parent, below in children.items()})
    width = max(place.values())
    assert all(mirrored[node] == pytest.approx(width - x) for node, x in place.items())


@given(shapes())
def test_equal_subtrees_are_drawn_with_the_same_shape(children: Children) -> None:
    """The test draws a root whose three subtrees are copies of a tree."""
    size = 1 + sum(map(len, children.values()))
    copies = {
        parent + shift: [child + shift for child in below]
        for shift in range(1, 3 * size + 1, size)
        for parent, below in children.items()
    }
    place = tidy_layout(0, {0: [1, 1 + size, 1 + 2 * size], **copies})
    for node in range(1, size + 1):
        steps = [place[node + copy * size] - place[1 + copy * size] for copy in range(3)]
        assert steps == pytest.approx([steps[0]] * 3)


def test_a_complete_binary_tree_is_as_wide_as_the_row_of_its_leaves() -> None:
    place = tidy_layout(0, {node: [2 * node + 1, 2 * node + 2] for node in range(31)})
    assert max(place.values()) == 31
    assert place[0] == 15.5


@pytest.mark.slow
def test_a_path_of_3000_edges_is_drawn_as_a_straight_line() -> None:
    place = tidy_layout(0, {node: [node + 1] for node in range(3_000)})
    assert set(place.values()) == {0}


def test_children_with_wide_subtrees_are_close_if_the_subtrees_do_not_overlap() -> None:
    """The middle child is a leaf. The other subtrees become wide two levels further down."""
    place = tidy_layout(0, {0: [1, 2, 3], 1: [4], 4: [5, 6, 7], 3: [8], 8: [9, 10, 11]})
    assert [place[node] for node in (1, 2, 3)] == [1, 2.5, 4]
