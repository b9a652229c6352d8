"""The tokenizer of Cypher: keywords, and words that only look like keywords."""

from hypothesis import given
from hypothesis import strategies as st

from starcast.queries.tokens import Kind, tokenize


def words(cypher: str) -> list[str]:
    return [token.text for token in tokenize(cypher) if token.kind is Kind.WORD]


def test_strings_comments_and_backticks_contain_no_keywords() -> None:
    cypher = """RETURN 'CREATE \\' x' AS a, "SET \\" y" AS `MERGE ``b`` c` // DELETE
    /* REMOVE
    // DROP */ AS d"""
    assert words(cypher) == ["RETURN", "AS", "a", "AS", "AS", "d"]


def test_backticks_around_names_are_removed_and_doubled_ones_reduced() -> None:
    assert [token.text for token in tokenize("`a ``b`` c`")] == ["a `b` c"]


def test_dollar_and_backticks_of_parameters_are_removed() -> None:
    tokens = tokenize("$forest + $`my tree` + '$no'")
    assert [token.text for token in tokens if token.kind is Kind.PARAMETER] == ["forest", "my tree"]


def test_tokens_have_line_numbers_after_comments_and_strings() -> None:
    lines = {
        token.text: token.line for token in tokenize("MATCH\n// a\n/* b\nc */ x\n'two\nlines' y")
    }
    assert lines["MATCH"] == 1
    assert lines["x"] == 4
    assert lines["y"] == 6


def test_unclosed_quotes_and_comments_are_reported() -> None:
    for opened in ["'abc", '"abc', "`abc", "/* abc", "RETURN 'a\\'"]:
        assert Kind.UNTERMINATED in {token.kind for token in tokenize(f"RETURN 1\n{opened}")}


def test_the_dots_of_a_range_are_not_those_of_a_property() -> None:
    assert [token.text for token in tokenize("x[1..n]")] == ["x", "[", "1", "..", "n", "]"]
    assert [token.text for token in tokenize("1.5")] == ["1.5"]


@given(st.text())
def test_every_text_is_read_to_its_end(text: str) -> None:
    """No character is lost: a lost character could hide a keyword."""
    kept = "".join(token.text for token in tokenize(text))
    assert len(kept) <= len(text)
    for token in tokenize(text):
        assert token.text.split("\n")[0].replace("`", "") in text.replace("``", "").replace("`", "")


@given(st.text(alphabet=st.characters(exclude_characters="'\\")))
def test_nothing_inside_a_string_is_a_word(text: str) -> None:
    assert [token.kind for token in tokenize(f"'{text}'")] == [Kind.STRING]
