"""What the README shows is what Python says and what is drawn."""

import doctest
from pathlib import Path

import pytest

from starcast.drawing import draw
from starcast.trees import constructions, forest

README = Path(__file__).parents[2] / "README.md"


def test_the_python_session_of_the_readme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = doctest.testfile(str(README), module_relative=False)
    assert result.attempted > 5
    assert result.failed == 0


def test_the_picture_of_the_readme_is_what_is_drawn() -> None:
    picture = README.parent / "docs" / "s4-multiple-1.svg"
    assert "](docs/s4-multiple-1.svg)" in README.read_text(encoding="utf-8")
    assert picture.read_text(encoding="utf-8") == draw(forest("S4", "multiple"), 1)


def test_the_readme_names_every_construction() -> None:
    text = README.read_text(encoding="utf-8")
    assert [name for name in constructions() if f"`{name}`" not in text] == []
