"""The prose check of `make lint` finds idioms and forbidden names, and accepts plain English."""

import re
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


def test_only_prose_is_checked(tmp_path: Path) -> None:
    """Clauses used as nouns are reported in docstrings. SQL, code and queries are not prose."""
    for name, source, line in (
        ("m.py", '"""What it does."""\nx = "What is a graph?"\ny = "SELECT one FROM said"\n', "1"),
        ("m.md", "Call `told anew`.\n\n```sh\ntold anew beside\n```\n\nWrite it anew.\n", "7"),
        ("q.cypher", "// title: Bytes a node\n// question: How many?\nRETURN 1 // told it\n", "1"),
    ):
        texts, idioms, _ = check(tmp_path, name, source)
        assert texts == 2, name
        assert [idiom.split(":")[1] for idiom in idioms] == [line]


def test_forbidden_names_are_reported_at_their_definitions(tmp_path: Path) -> None:
    source = (
        "import numpy as here\n\n\ndef there(where: int) -> int:\n    made = where\n"
        "    return here.where(made)\n\n\nclass C:\n    told: int\n\n"
        "    def f(self) -> None:\n        self.said = 1\n"
    )
    names = check(tmp_path, "m.py", source)[2]
    found = re.findall(r":(\d+):.*?'(\w+)'", "\n".join(names))
    assert set(map(" ".join, found)) == {
        "1 here",
        "4 there",
        "4 where",
        "5 made",
        "10 told",
        "13 said",
    }
