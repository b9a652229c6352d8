"""The layout of tree drawings, for trees of any shape."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from starcast.drawing.forests import SPACING, tidy_layout

Children = dict[int, list[int]]


@st.composite
def trees(draw: st.DrawFn) -> Children:
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


@given(trees())
def test_nodes_on_a_level_keep_their_order_and_a_minimum_distance(children: Children) -> None:
    place = tidy_layout(0, children)
    for row in levels(children):
        for left, right in pairwise(row):
            assert place[right] - place[left] >= SPACING - 1e-9


@given(trees())
def test_a_parent_is_centred_above_its_children(children: Children) -> None:
    place = tidy_layout(0, children)
    for parent, below in children.items():
        assert place[parent] == pytest.approx((place[below[0]] + place[below[-1]]) / 2)


@given(trees())
def test_the_leftmost_node_is_at_0_and_every_node_has_a_position(children: Children) -> None:
    place = tidy_layout(0, children)
    assert set(place) == {0, *(child for below in children.values() for child in below)}
    assert min(place.values()) == pytest.approx(0)


@given(trees())
def test_the_mirror_image_of_a_tree_is_the_mirror_image_of_its_drawing(children: Children) -> None:
    """A layout that pushed small subtrees to the left would not have this property."""
    place = tidy_layout(0, children)
    mirrored = tidy_layout(0, {parent: below[::-1] for parent, below in children.items()})
    width = max(place.values())
    assert all(mirrored[node] == pytest.approx(width - x) for node, x in place.items())


@given(trees())
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
def test_a_path_of_any_length_is_drawn_as_a_straight_line() -> None:
    place = tidy_layout(0, {node: [node + 1] for node in range(3_000)})
    assert set(place.values()) == {0}


def test_children_are_closer_than_their_wide_subtrees_if_these_do_not_overlap() -> None:
    """The middle child is a leaf.

    The other subtrees become wide only two levels further down.
    """
    place = tidy_layout(0, {0: [1, 2, 3], 1: [4], 4: [5, 6, 7], 3: [8], 8: [9, 10, 11]})
    assert [place[node] for node in (1, 2, 3)] == [1, 2.5, 4]


def test_a_tree_of_one_node_has_a_layout() -> None:
    assert tidy_layout(7, {}) == {7: 0}
