"""The README agrees with the library."""

import doctest
from pathlib import Path

import pytest

from starcast.drawing import draw
from starcast.trees import constructions, forest

README = Path(__file__).parents[2] / "README.md"


def test_the_python_session_is_reproducible(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = doctest.testfile(str(README), module_relative=False)
    assert result.attempted > 5
    assert result.failed == 0


def test_the_picture_is_up_to_date() -> None:
    picture = README.parent / "docs" / "s4-multiple-1.svg"
    assert "](docs/s4-multiple-1.svg)" in README.read_text(encoding="utf-8")
    assert picture.read_text(encoding="utf-8") == draw(forest("S4", "multiple"), 1)


def test_every_construction_is_named() -> None:
    text = README.read_text(encoding="utf-8")
    assert [name for name in constructions() if f"`{name}`" not in text] == []
