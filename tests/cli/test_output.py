"""Listings print what is stored, letter by letter."""

import pytest

from starcast.cli.output import PAGE, Format, emit, narrowed, reporter

NAME = "S5:broadcast:multiple:one:segments=1:12345"


@pytest.mark.parametrize("output", list(Format))
def test_names_between_colons_stay_names(
    output: Format, capsys: pytest.CaptureFixture[str]
) -> None:
    """Rich would read `:one:` as an emoji, `[4]` as a style."""
    emit([{"name": f"{NAME} [4]"}], ["name"], output)
    assert f"{NAME} [4]" in capsys.readouterr().out


def test_columns_go_one_by_one_until_a_table_fits() -> None:
    """Where nobody watches, on a wide terminal; what is not to go stays, however wide."""
    row = {"a": "x" * 60, "b": "x" * 30, "c": "x" * 30, "d": "x" * 30}
    assert narrowed([row], ["a", "b"], ["b", "a"]) == ["a", "b"]
    assert narrowed([row], list("abcd"), ["c", "b", "d"]) == ["a", "d"]
    assert narrowed([row], list("abcd"), ["d", "c", "b"]) == ["a", "b"]
    assert narrowed([row], list("abcd"), ["e", "c", "d"]) == ["a", "b"]
    assert narrowed([{"a": "x" * PAGE, "b": 1}], ["a", "b"], ["b"]) == ["a"]
    assert narrowed([], list("abcd"), ["a"]) == list("abcd")


@pytest.mark.parametrize("room", [40, 100, 200])
def test_what_fits_on_a_terminal_is_not_folded(
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


def test_progress_bars_print_them_too(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    with reporter().task(NAME, 1, "rows") as task:
        task.advance()
    assert NAME in capsys.readouterr().err
