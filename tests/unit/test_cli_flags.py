"""The options `--quiet` and `--verbose`, the log of commands, and unusual input."""

import json
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from support.fix_cli import Starcast, refused


@pytest.fixture
def log_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the log file of the commands that a test runs."""
    file = tmp_path / "log" / "starcast.log"
    monkeypatch.setenv("STARCAST_LOG_FILE", str(file))
    monkeypatch.chdir(tmp_path)
    return file


def entries(file: Path) -> list[dict[str, Any]]:
    """Return the records of a log, without times and process ids."""
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    listed = [json.loads(line) for line in lines]
    return [{k: v for k, v in entry.items() if k not in {"time", "pid"}} for entry in listed]


SIMULATE = (
    "schedule simulate S4 allgather edge-disjoint --copies 3 --fault 2134 --acknowledged -f json"
)


def test_option_quiet_before_or_after_the_command_suppresses_remarks(starcast: Starcast) -> None:
    """Results and errors are still printed."""
    loud = starcast(SIMULATE)
    assert "acknowledgement" in loud.err
    for words in (f"-q {SIMULATE}", f"{SIMULATE} --quiet", f"--quiet {SIMULATE} -q"):
        assert starcast(words) == (loud.code, loud.out, "")
    assert starcast("-q topology show S99").err.startswith("error: ")
    assert starcast(SIMULATE).err == loud.err


def test_the_error_for_a_misplaced_global_option_states_only_the_correct_position(
    starcast: Starcast,
) -> None:
    for option in ("--home", "--plugin"):
        result = starcast(f"experiment show {option} x mine")
        error = f"{option} belongs before the command: starcast {option} ... experiment show\n"
        assert (result.code, result.err.partition("Error: ")[2]) == (2, error)
    assert "No such option: --hom " in starcast("experiment show --hom x mine").err


def test_the_option_verbose_prints_the_log_entries(starcast: Starcast, log_file: Path) -> None:
    for words in ("-v config", "config --verbose", "config -vv"):
        result = starcast(words)
        assert result.code == 0
        assert "info: command started command=starcast config" in result.err
        assert "info: command ended exit_code=0 seconds=" in result.err
    assert len(entries(log_file)) == 9


def test_the_options_quiet_and_verbose_cannot_be_combined(starcast: Starcast) -> None:
    for words in ("-q -v config", "-q config -v", "config -q -v"):
        result = starcast(words)
        assert (result.code, result.out) == (2, "")
        assert "--quiet and --verbose cannot be combined" in result.err


def test_commands_are_logged_with_arguments_exit_code_and_errors(
    starcast: Starcast, log_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    starcast("forest constructions S5 -f json")
    started, ended = entries(log_file)
    assert started == {
        "level": "info",
        "event": "command started",
        "command": "starcast forest constructions",
        "arguments": ["forest", "constructions", "S5", "-f", "json"],
    }
    assert ended.pop("seconds") >= 0
    assert ended == {"level": "info", "event": "command ended", "exit_code": 0}
    log_file.unlink()
    starcast("topology show S99")
    _, error, ended = entries(log_file)
    assert (error["event"], error["level"], error["kind"]) == ("error", "error", "InputError")
    assert "S99" in error["message"]
    assert error["hint"]
    assert ended["exit_code"] == 2
    log_file.unlink()
    monkeypatch.setattr("starcast.topologies.as_topology", Mock(side_effect=ZeroDivisionError))
    starcast("topology show S5")
    _, error, ended = entries(log_file)
    assert error["event"] == "internal error"
    assert "ZeroDivisionError" in error["traceback"]
    assert ended["exit_code"] == 1


def test_help_and_version_are_not_logged(starcast: Starcast, log_file: Path) -> None:
    starcast("--help")
    starcast("forest build --help")
    starcast("--version")
    assert entries(log_file) == []


def test_the_setting_log_level_determines_which_events_are_logged(
    starcast: Starcast, log_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for level in ("off", "error"):
        monkeypatch.setenv("STARCAST_LOG_LEVEL", level)
        starcast("config")
        assert entries(log_file) == []
        starcast("topology show S99")
        assert len(entries(log_file)) == (level == "error")


def test_a_log_that_cannot_be_written_causes_a_warning(starcast: Starcast, log_file: Path) -> None:
    log_file.parent.touch()
    result = starcast("topology show S4 -q")
    assert result.code == 0
    assert result.err == f"warning: the log {log_file} cannot be written: File exists\n"


def test_invalid_settings_do_not_affect_commands_that_use_no_settings(
    starcast: Starcast, log_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STARCAST_LOG_LEVEL", "loud")
    result = starcast("topology show S4")
    assert (result.code, result.err) == (0, "")
    assert "log_level" in refused(starcast("config"), 2)[0]
    assert not log_file.exists()


@pytest.mark.parametrize("word", ["S" * 5_000, "\x1b[31mS5", "S5\nS6"])
def test_error_messages_escape_and_shorten_the_invalid_input_that_they_quote(
    starcast: Starcast, word: str
) -> None:
    for words in (
        ("topology", "show", word),
        ("forest", "show", word, "greedy"),
        ("query", "run", word),
        ("query", "check", word),
        ("schedule", "simulate", "S4", "broadcast", word),
        ("topology", "show", "S4", "--format", word),
        ("topology", "show", "S4", f"--{word}"),
        ("--home", word, word),
        (word,),
        (f"--{word}",),
    ):
        result = starcast(*words)
        assert result.code in {2, 3}, words
        assert "\x1b" not in result.err
        assert "S5\nS6" not in result.err
        assert len(result.err) < 3_500, words
