"""The wording of numbers and sentences in messages."""

from datetime import datetime, timedelta
from fractions import Fraction

import pytest

from starcast.support.text import (
    as_sentence,
    describe_activity,
    did_you_mean,
    format_value,
    is_numeric,
    pluralize,
    with_article,
)


def test_in_messages_a_noun_is_singular_only_after_the_number_1() -> None:
    for number, words, expected in [
        (0, ("run",), "0 runs"),
        (1, ("run",), "1 run"),
        (2, ("run",), "2 runs"),
        (1234567, ("run",), "1,234,567 runs"),
        (0, ("unit is", "units are"), "0 units are"),
        (1, ("unit is", "units are"), "1 unit is"),
        (1001, ("unit is", "units are"), "1,001 units are"),
    ]:
        assert pluralize(number, *words) == expected


@pytest.mark.parametrize(
    ("value", "text"),
    [(999.4, "999"), (999.5, "1000"), (-999.6, "-1000"), (1000.4, "1000"), (12.345, "12.3")],
)
def test_a_number_in_a_message_is_shown_without_an_exponent(value: float, text: str) -> None:
    assert format_value(value) == text


def test_a_sentence_begins_with_a_capital_letter_unless_it_begins_with_a_symbol() -> None:
    for text, expected in [
        ("all nodes are reached", "All nodes are reached."),
        ("allgather: n!-1 steps.", "Allgather: n!-1 steps."),
        ("n! nodes", "n! nodes."),
        ("parent_EDT(3124, 3) = 1324", "parent_EDT(3124, 3) = 1324."),
        ("", ""),
    ]:
        assert as_sentence(text) == expected


def test_a_message_about_another_process_states_the_start_and_duration_of_its_activity() -> None:
    """Start and duration are omitted if the duration is unknown."""
    assert describe_activity("dropping S10", None) == "another process is dropping S10"
    before = datetime.now().astimezone() - timedelta(seconds=150)
    text = describe_activity("dropping S10", 150)
    after = datetime.now().astimezone() - timedelta(seconds=150)
    expected = {
        f"another process has been dropping S10 since {since:%H:%M:%S}, for 2 min"
        for since in (before, after)
    }
    assert text in expected
    assert describe_activity("dropping S10", -0.0004).endswith("for 0 s")


def test_a_column_is_aligned_as_numeric_if_it_contains_numbers_and_nothing_else() -> None:
    """Missing values are permitted. Empty columns and Boolean values are aligned like text."""
    for values in ([1], [1.5, None], [Fraction(1, 3), 2]):
        assert is_numeric(values)
    for other in ([], [None], [True, False], [1, True], [1, "2"]):
        assert not is_numeric(other)


def test_the_indefinite_article_before_a_vowel_is_an() -> None:
    assert [with_article(noun) for noun in ("broadcast", "allreduce", "Alltoall")] == [
        "a broadcast",
        "an allreduce",
        "an Alltoall",
    ]


def test_the_suggestion_for_an_unknown_name_is_a_name_with_a_similar_beginning() -> None:
    assert did_you_mean("cite", ["key", "citation", "title"]) == "did you mean 'citation'? "
