"""The prose check of `make lint` finds idioms and forbidden names, and accepts plain English."""

from pathlib import Path

import pytest
from tools import prose


def check(tmp_path: Path, name: str, source: str) -> tuple[int, list[str], list[str]]:
    """Return the number of texts, the idioms and the forbidden names of a file."""
    path = tmp_path / name
    path.write_text(source, encoding="utf-8")
    texts, idioms, names = prose.check(path)
    return len(texts), idioms, names


@pytest.mark.parametrize(
    "sentence",
    [
        "Write 20 000 rows a batch.",
        "Write a row a second.",
        "'x' is no topology",
        "Nobody reads the file.",
        "Build the tree anew.",
        "The import was broken off.",
        "The store is not as it should be.",
        "The node hangs from the root.",
        "Leave the option out.",
        "Return the whole tree.",
        "Give another one.",
    ],
)
def test_idioms_are_found_in_docstrings_comments_and_messages(
    tmp_path: Path, sentence: str
) -> None:
    source = f'"""{sentence}"""\n\n# {sentence}\nx = "{sentence}"\ny = f"{sentence} {{x}}"\n'
    assert [line.split(":")[1] for line in check(tmp_path, "m.py", source)[1]] == list("1453")


@pytest.mark.parametrize(
    "sentence",
    [
        "Write 20 000 rows per batch.",
        "Return the messages a node receives.",
        "There is no path.",
        "The server is no longer running.",
        "Raise an error if p is not a whole number.",
    ],
)
def test_plain_sentences_are_accepted(tmp_path: Path, sentence: str) -> None:
    assert check(tmp_path, "m.py", f'x = "{sentence}"\n')[1] == []
    assert check(tmp_path, "m.md", f"# Title\n\n{sentence}\n")[1] == []


def test_an_sql_string_is_not_checked_as_prose(tmp_path: Path) -> None:
    assert check(tmp_path, "m.py", 'x = "SELECT one FROM said WHERE told"\n')[0] == 0


def test_clauses_used_as_nouns_are_reported_only_in_docstrings(tmp_path: Path) -> None:
    source = '"""What the module does."""\nx = "What is a star graph?"\n'
    assert [line.split(":")[1] for line in check(tmp_path, "m.py", source)[1]] == ["1"]


def test_code_in_a_markdown_page_is_not_checked_as_prose(tmp_path: Path) -> None:
    page = (
        "Call `told anew here`.\n\n```python\nwhole = told(anew, beside)\n```\n\nWrite it anew.\n"
    )
    texts, idioms, _ = check(tmp_path, "m.md", page)
    assert (texts, len(idioms)) == (2, 1)
    assert ":7: page: word: 'anew'" in idioms[0]


def test_each_header_line_of_a_query_is_checked_as_prose(tmp_path: Path) -> None:
    query = (
        "// title: Bytes a node\n// question: How many bytes?\nMATCH (n) RETURN n // told it all\n"
    )
    texts, idioms, _ = check(tmp_path, "q.cypher", query)
    assert (texts, len(idioms)) == (2, 1)


def test_forbidden_names_are_reported_at_their_definitions(tmp_path: Path) -> None:
    source = (
        "import numpy as here\n\n\ndef there(where: int) -> int:\n    made = where\n"
        "    return here.where(made)\n\n\nclass C:\n    told: int\n\n"
        "    def f(self) -> None:\n        self.said = 1\n"
    )
    names = check(tmp_path, "m.py", source)[2]
    found = [(line.split(":")[-3], line.split("'")[1]) for line in names]
    assert sorted(found) == [
        ("1", "here"),
        ("10", "told"),
        ("13", "said"),
        ("4", "there"),
        ("4", "where"),
        ("5", "made"),
    ]
