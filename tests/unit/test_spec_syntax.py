"""The syntax of constructions with arguments, such as `dimension-change(base=greedy,i=2)`."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from starcast.support.errors import InputError
from starcast.support.vocabulary import (
    format_arguments,
    format_spec,
    parse_arguments,
    parse_spec,
    split_specs,
)
from starcast.trees import forest

WORDS = st.text("abcdefghijklmnopqrstuvwxyz-", min_size=1)
ARGUMENTS = st.dictionaries(WORDS, st.one_of(st.integers(-999_999_999, 999_999_999), WORDS))


@given(WORDS, ARGUMENTS)
def test_parsing_a_formatted_construction_gives_the_same_name_and_arguments(
    name: str, arguments: dict[str, str | int]
) -> None:
    assert parse_spec(format_spec(name, arguments)) == (name, arguments)
    assert parse_arguments(format_arguments(arguments)) == arguments


@given(st.lists(st.tuples(WORDS, ARGUMENTS)))
def test_a_list_of_constructions_is_split_only_at_commas_outside_parentheses(
    pairs: list[tuple[str, dict[str, str | int]]],
) -> None:
    assert [
        parse_spec(word) for word in split_specs(" , ".join(format_spec(*pair) for pair in pairs))
    ] == pairs


def test_the_arguments_of_a_construction_are_formatted_in_alphabetical_order() -> None:
    assert (
        format_spec("dimension-change", {"base": "greedy", "i": 2})
        == "dimension-change(base=greedy,i=2)"
    )
    assert parse_spec(" dimension-change(base=greedy,i=2) ") == (
        "dimension-change",
        {"i": 2, "base": "greedy"},
    )
    assert format_spec("greedy", {}) == "greedy"


def test_a_forest_id_contains_the_construction_with_its_arguments() -> None:
    trees = forest("S4", "dimension-change", "4321", base="multiple", i=1)
    assert trees.id == f"S4:{format_spec('dimension-change', trees.arguments)}:4321"


def test_malformed_constructions_are_refused() -> None:
    for text in [
        "",
        "(i=2)",
        "a b",
        "greedy(",
        "greedy)",
        "greedy(i)",
        "greedy(i=)",
        "greedy(=2)",
        "greedy((i=2))",
        "greedy(base=a:b)",
        "greedy(i=1,i=2)",
    ]:
        with pytest.raises(InputError) as caught:
            parse_spec(text)
        assert caught.value.hint


def test_empty_items_in_a_list_of_constructions_are_ignored() -> None:
    assert split_specs(" , greedy,, label-change(base=greedy) ,") == [
        "greedy",
        "label-change(base=greedy)",
    ]
    assert split_specs("") == []
