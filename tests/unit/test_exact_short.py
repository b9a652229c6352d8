"""The opening of the exact alltoall: the first steps, which serve the short necklaces.

A word is a path from the root to a node, given by the dimensions that it crosses. Read backwards,
the path resolves the cycles of the node's permutation one by one. The entry of a cycle is the
symbol whose dimension the path crosses twice. A cell is one dimension in one step, and is used by
at most one hop.
"""

from collections import Counter
from math import factorial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import exact_alltoall as page
from oracles import star_graph
from starcast.collectives import alltoall
from starcast.collectives.alltoall import (
    _group_begins,
    choose_entries,
    plan_opening,
    schedule_words,
    short_words,
)
from support.meeting import refused

#: Pairs of n and the number M of messages in a round. M is at most n-1.
ROUNDS = [(n, messages) for n in range(3, 8) for messages in range(1, n)]


def test_paths_to_short_necklaces_cross_no_dimension_more_often_than_necessary() -> None:
    """With h hops in total, the paths cross each dimension at most ceil(h / (n-1)) times."""
    for n, messages in [*ROUNDS, (8, 1), (8, 7), (9, 1), (9, 2), (9, 8), (10, 1)]:
        words = short_words(n, messages)
        crossed = Counter(dimension for word in words for dimension in word.dimensions)
        hops = crossed.total()
        assert max(crossed.values()) == star_graph.ceil_div(hops, n - 1)
        if n <= 8:
            assert hops == messages * page.short_hops(n)


def test_a_cycle_gets_another_symbol_if_a_later_cycle_has_no_other_choice() -> None:
    """Each cycle gets one of its symbols as its entry, and the uses of each symbol are limited.

    The last cycle has only symbol 2. Therefore, the third cycle gets symbol 3 instead of 2, and the
    second cycle gets symbol 4 instead of 3.
    """
    assert choose_entries([(2, 3), (3, 4), (2, 3), (2,)], {2: 1, 3: 2, 4: 1}) == [3, 4, 3, 2]


def test_a_cycle_gets_the_lowest_of_its_symbols_that_is_free() -> None:
    """If a third cycle needs symbol 3, the second cycle gets symbol 4 instead of 3."""
    assert choose_entries([(4, 2, 3), (4, 3)], {2: 1, 3: 1, 4: 1}) == [2, 3]
    assert choose_entries([(4, 2, 3), (4, 3), (3, 4)], {2: 1, 3: 1, 4: 1}) == [2, 4, 3]


def test_an_internal_error_is_raised_if_the_limits_permit_no_choice_of_symbols() -> None:
    with refused("cannot be balanced", exit_code=1):
        choose_entries([(2, 3), (2, 3), (2, 3)], {2: 1, 3: 1, 4: 5})


@given(
    st.lists(
        st.lists(st.integers(2, 6), min_size=1, max_size=4, unique=True).map(tuple), max_size=9
    ),
    st.data(),
)
def test_every_cycle_gets_one_of_its_symbols_if_the_limits_permit_it(
    wanted: list[tuple[int, ...]], data: st.DataObject
) -> None:
    """The limit of each symbol is its number of uses in a random solution, so a solution exists."""
    choice = [data.draw(st.sampled_from(cycle)) for cycle in wanted]
    room = {symbol: choice.count(symbol) for symbol in range(2, 7)}
    result = choose_entries(wanted, room)
    assert all(symbol in cycle for symbol, cycle in zip(result, wanted, strict=True))
    assert all(result.count(symbol) <= room[symbol] for symbol in room)


@given(st.lists(st.lists(st.integers(2, 6), min_size=1, max_size=6), max_size=8))
def test_schedule_words_returns_the_same_list_schedule_as_the_oracle(
    words: list[list[int]],
) -> None:
    assert [list(steps) for steps in schedule_words(words)] == page.list_schedule(words)


@pytest.mark.parametrize(("n", "messages"), [(2, 1), *ROUNDS, (8, 1), (8, 7), (9, 1), (9, 8)])
def test_the_opening_has_an_idle_step_per_dimension_for_each_step_above_the_minimum(
    n: int, messages: int
) -> None:
    """The opening is the first part of the exact alltoall, which serves the short necklaces.

    A cell is one dimension in one step. Enough full necklaces exist to fill the idle cells.
    """
    begun = plan_opening(n, messages)
    busy = {
        cell
        for word, done in zip(begun.words, begun.steps, strict=True)
        for cell in zip(word.dimensions, done, strict=True)
    }
    hops = sum(len(word.dimensions) for word in begun.words)
    assert len(busy) == hops
    assert begun.length == max((step for _, step in busy), default=0)
    assert begun.idle.shape == (n - 1, begun.length - star_graph.ceil_div(hops, n - 1))
    for dimension, cells in enumerate(begun.idle.tolist(), start=2):
        free = [step for step in range(1, begun.length + 1) if (dimension, step) not in busy]
        assert cells == free[: len(cells)]
    # On S_9 and larger stars, counting full necklaces is slow. Their number is at least (n-1)!.
    full = page.full_necklaces(n) if n <= 8 else factorial(n - 1)
    assert begun.idle.shape[1] <= messages * full


def test_an_opening_with_too_few_idle_steps_is_an_internal_error() -> None:
    """Three paths over dimension 2 take 3 steps, so dimension 2 has no idle step.

    One idle step per dimension is needed, because the minimum is 2 steps.
    """
    words = [alltoall.Word(node, 0, (2,)) for node in range(1, 4)]
    with refused("fewer than 1 idle steps", exit_code=1):
        alltoall._idle_steps(3, words, [(1,), (2,), (3,)], 3)


def test_too_few_full_necklaces_for_the_idle_steps_are_an_internal_error() -> None:
    begun = alltoall.Opening((), (), 9, np.zeros((3, 4), dtype=np.int64))
    length = np.array([1, 2])
    message = "the opening leaves 4 idle steps in each dimension, but there are only 2 groups"
    with refused(message, exit_code=1):
        _group_begins(length, np.array([True, True]), begun)


def test_the_bounds_in_the_proof_for_the_exact_alltoall_hold_for_n_from_3_to_8() -> None:
    """Full necklaces suffice for the idle cells if (n-2) L <= (n-1) F.

    L is the number of hops to short necklaces, and F the number of full necklaces. For n <= 6 this
    test is the proof. For larger n, the inequality follows from three bounds: the nodes on short
    necklaces start with 1 and are few, distances are at most 3(n-1)/2, and F is at least (n-1)!.
    """
    for n in range(3, 9):
        short = page.short_nodes(n)
        assert (n - 2) * page.short_hops(n) <= (n - 1) * page.full_necklaces(n)
        assert all(x[0] == 1 for x in short)
        assert len(short) <= page.most_short_nodes(n)
        assert 2 * page.short_hops(n) <= 3 * (n - 1) * len(short)
        assert page.full_necklaces(n) >= factorial(n - 1)


def test_the_bounds_in_the_proof_for_the_exact_alltoall_suffice_for_n_from_7_to_199() -> None:
    """The number of nodes on short necklaces has a bound Y with 3(n-2) Y <= 2 (n-1)!.

    A shorter inequality that implies this inequality is also checked.
    """
    for n in range(7, 200):
        assert 3 * (n - 2) * page.most_short_nodes(n) <= 2 * factorial(n - 1)
        assert 3 * len(page.primes_of(n - 1)) <= 2 * (n - 4)
