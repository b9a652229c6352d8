"""Permutations as arrays, compared with permutations as tuples."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import rotation, star_graph
from starcast.support.errors import StarcastError
from starcast.topologies import permutations

SIZES = range(2, 8)


@st.composite
def node(draw: st.DrawFn, smallest: int = 2, largest: int = 12) -> star_graph.Node:
    """Draw a permutation of 1..n, where n is in a given range."""
    n = draw(st.integers(smallest, largest))
    return tuple(draw(st.permutations(range(1, n + 1))))


@st.composite
def two_nodes(draw: st.DrawFn) -> tuple[star_graph.Node, star_graph.Node]:
    """Draw two permutations of the same length."""
    first = draw(node())
    return first, tuple(draw(st.permutations(first)))


def row(symbols: star_graph.Node) -> permutations.Perms:
    """Return the array form of a node."""
    return np.array(symbols, dtype=np.uint8)


def symbols(array: permutations.Perms) -> star_graph.Node:
    """Return the tuple form of a row."""
    return tuple(array.tolist())


def test_letters_in_a_label_may_be_upper_case() -> None:
    assert permutations.parse("A123456789", 10).tolist() == [10, *range(1, 10)]
    assert permutations.parse("Ab", 11, 2).tolist() == [10, 11]
    with pytest.raises(StarcastError, match="repeats the symbol 'a'"):
        permutations.parse("Aa", 11, 2)


def test_the_error_for_an_invalid_label_names_the_wrong_symbol_or_length() -> None:
    for text, culprit in [("12344", "'4'"), ("12346", "'6'"), ("1234A", "'A'"), ("123", " 3 ")]:
        with pytest.raises(StarcastError) as refusal:
            permutations.parse(text, 5)
        assert text in refusal.value.message
        assert culprit in refusal.value.message


@given(two_nodes())
def test_compose_relabels_symbols(pair: tuple[star_graph.Node, star_graph.Node]) -> None:
    q, x = pair
    assert symbols(permutations.compose(row(q), row(x))) == star_graph.compose(q, x)


@given(node())
def test_the_inverse_is_a_left_and_a_right_inverse(x: star_graph.Node) -> None:
    undone = permutations.inverse(row(x))
    assert symbols(undone) == star_graph.inverse(x)
    for both in (permutations.compose(row(x), undone), permutations.compose(undone, row(x))):
        assert symbols(both) == star_graph.identity(len(x))


@given(node(), st.integers(0, 12))
def test_shift_moves_symbols_to_the_right(x: star_graph.Node, j: int) -> None:
    assert symbols(permutations.shift(row(x), j)) == star_graph.shift(x, j)


def cycles_by_following(x: star_graph.Node) -> set[frozenset[tuple[int, int]]]:
    """Return each cycle as a set of arcs from a position to its symbol, both counted from 0."""
    cycles = [rotation.cycle_of(x, symbol) for symbol in x]
    return {frozenset((symbol - 1, x[symbol - 1] - 1) for symbol in cycle) for cycle in cycles}


@given(node())
def test_cycles_follow_the_permutation_and_contain_every_symbol_once(x: star_graph.Node) -> None:
    result = list(permutations.cycles(row(x) - 1))
    assert sorted(point for cycle in result for point in cycle) == list(range(len(x)))
    arcs = {frozenset(zip(cycle, cycle[1:] + cycle[:1], strict=True)) for cycle in result}
    assert arcs == cycles_by_following(x)
