"""Cypher as tokens: what is a keyword and what only looks like one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from starcast.queries.tokens import Kind, tokenize


def words(cypher: str) -> list[str]:
    return [token.text for token in tokens(cypher) if token.kind is Kind.WORD]


def test_strings_comments_and_backticks_hold_no_words() -> None:
    cypher = """RETURN 'CREATE \\' x' AS a, "SET \\" y" AS `MERGE ``b`` c` // DELETE
    /* REMOVE
    // DROP */ AS d"""
    assert words(cypher) == ["RETURN", "AS", "a", "AS", "AS", "d"]


def test_a_name_in_backticks_loses_them_and_keeps_doubled_ones_once() -> None:
    assert [token.text for token in tokens("`a ``b`` c`")] == ["a `b` c"]


def test_parameters_lose_their_dollar_and_their_backticks() -> None:
    found = tokens("$forest + $`my tree` + '$no'")
    assert [token.text for token in found if token.kind is Kind.PARAMETER] == ["forest", "my tree"]


def test_tokens_know_their_lines_through_comments_and_strings() -> None:
    found = {
        token.text: token.line for token in tokens("MATCH\n// a\n/* b\nc */ x\n'two\nlines' y")
    }
    assert found["MATCH"] == 1
    assert found["x"] == 4
    assert found["y"] == 6


@pytest.mark.parametrize("opened", ["'abc", '"abc', "`abc", "/* abc", "RETURN 'a\\'"])
def test_what_is_never_closed_is_told(opened: str) -> None:
    assert Kind.UNTERMINATED in {token.kind for token in tokens(f"RETURN 1\n{opened}")}


def test_two_dots_of_a_range_are_not_the_dot_of_a_property() -> None:
    assert [token.text for token in tokens("x[1..n]")] == ["x", "[", "1", "..", "n", "]"]
    assert [token.text for token in tokens("1.5")] == ["1.5"]


@given(st.text())
def test_every_text_is_read_to_its_end(text: str) -> None:
    """No character is lost: what is neither a token nor left out on purpose would hide a word."""
    kept = "".join(token.text for token in tokens(text))
    assert len(kept) <= len(text)
    for token in tokens(text):
        assert token.text.split("\n")[0].replace("`", "") in text.replace("``", "").replace("`", "")


@given(st.text(alphabet=st.characters(exclude_characters="'\\")))
def test_nothing_inside_a_string_is_a_word(text: str) -> None:
    assert [token.kind for token in tokens(f"'{text}'")] == [Kind.STRING]
