"""Listings and progress bars."""

import pytest

from starcast.cli.output import PAGE, Format, emit, narrowed, reporter

NAME = "S5:broadcast:multiple:one:segments=1:12345"


@pytest.mark.parametrize("output", list(Format))
def test_ids_are_not_interpreted_as_markup(
    output: Format, capsys: pytest.CaptureFixture[str]
) -> None:
    """Rich would interpret `:one:` as an emoji and `[4]` as a style."""
    emit([{"name": f"{NAME} [4]"}], ["name"], output)
    assert f"{NAME} [4]" in capsys.readouterr().out


def test_optional_columns_are_removed_until_a_table_fits() -> None:
    """In a file, a table is limited to the page; mandatory columns always remain."""
    row = {"a": "x" * 60, "b": "x" * 30, "c": "x" * 30, "d": "x" * 30}
    assert narrowed([row], ["a", "b"], ["b", "a"]) == ["a", "b"]
    assert narrowed([row], list("abcd"), ["c", "b", "d"]) == ["a", "d"]
    assert narrowed([row], list("abcd"), ["d", "c", "b"]) == ["a", "b"]
    assert narrowed([row], list("abcd"), ["e", "c", "d"]) == ["a", "b"]
    assert narrowed([{"a": "x" * PAGE, "b": 1}], ["a", "b"], ["b"]) == ["a"]
    assert narrowed([], list("abcd"), ["a"]) == list("abcd")


@pytest.mark.parametrize("room", [40, 100, 200])
def test_a_table_that_fits_is_not_folded(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, room: int
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", str(room))
    row = {str(number) * 9: str(number) * 11 for number in range(9)}
    shown = narrowed([row], list(row), list(row)[1:])
    emit([row], shown)
    printed = capsys.readouterr().out
    assert len(shown) == min(9, room // (11 + 3))
    assert all(row[name] in printed for name in shown)


def test_progress_bars_do_not_interpret_ids_as_markup(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    with reporter().task(NAME, 1, "rows") as task:
        task.advance()
    assert NAME in capsys.readouterr().err
