"""Numbers in sentences, and sentences."""

import pytest

from starcast.support.text import as_sentence, pluralize


@pytest.mark.parametrize(
    ("number", "words", "expected"),
    [
        (0, ("run",), "0 runs"),
        (1, ("run",), "1 run"),
        (2, ("run",), "2 runs"),
        (1234567, ("run",), "1,234,567 runs"),
        (0, ("unit is", "units are"), "0 units are"),
        (1, ("unit is", "units are"), "1 unit is"),
        (1001, ("unit is", "units are"), "1,001 units are"),
    ],
)
def test_one_is_singular(number: int, words: tuple[str, ...], expected: str) -> None:
    assert pluralize(number, *words) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("all nodes are reached", "All nodes are reached."),
        ("allgather: n!-1 steps.", "Allgather: n!-1 steps."),
        ("n! nodes", "n! nodes."),
        ("parent_EDT(3124, 3) = 1324", "parent_EDT(3124, 3) = 1324."),
        ("", ""),
    ],
)
def test_a_sentence_begins_with_a_capital_but_where_a_symbol_begins_it(
    text: str, expected: str
) -> None:
    assert as_sentence(text) == expected
