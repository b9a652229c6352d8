"""Listings print what is stored, letter by letter."""

import pytest

from starcast.cli.output import Format, emit, reporter

NAME = "S5:broadcast:multiple:one:segments=1:12345"


@pytest.mark.parametrize("output", list(Format))
def test_names_between_colons_stay_names(output: Format, capsys: pytest.CaptureFixture[str]) -> None:
    """Rich would read `:one:` as an emoji, `[4]` as a style."""
    emit([{"name": f"{NAME} [4]"}], ["name"], output)
    assert f"{NAME} [4]" in capsys.readouterr().out


def test_progress_bars_print_them_too(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    with reporter().task(NAME, 1, "rows") as task:
        task.advance()
    assert NAME in capsys.readouterr().err
