"""Settings: which source wins, what is refused, and that no secret is shown."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from starcast.cli.app import app
from starcast.connections import graph_address, store_url
from starcast.errors import InputError, UnavailableError
from starcast.settings import Settings


@pytest.fixture(autouse=True)
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, no settings in the environment, no user's file."""
    for name in Settings.model_fields:
        monkeypatch.delenv(f"STARCAST_{name.upper()}", raising=False)
    monkeypatch.delenv("STARCAST_CONFIG", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_flag_beats_the_environment_beats_the_file_beats_the_default(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert (Settings.load().batch, Settings.load().sources["batch"]) == (20_000, "default")
    (nowhere / "starcast.toml").write_text("batch = 1\n")
    assert (Settings.load().batch, Settings.load().sources["batch"]) == (1, "file")
    monkeypatch.setenv("STARCAST_BATCH", "2")
    assert (Settings.load().batch, Settings.load().sources["batch"]) == (2, "environment")
    assert (Settings.load(batch=3).batch, Settings.load(batch=3).sources["batch"]) == (3, "flag")


def test_a_flag_that_was_not_given_does_not_count() -> None:
    assert Settings.load(neo4j_uri=None).sources["neo4j_uri"] == "default"


def test_a_named_file_is_read_instead_of_the_one_here(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (nowhere / "starcast.toml").write_text("batch = 1\n")
    (nowhere / "other.toml").write_text("batch = 5\n")
    monkeypatch.setenv("STARCAST_CONFIG", "other.toml")
    assert Settings.load().batch == 5


@pytest.mark.parametrize(
    "text", ["batch = 0\n", "batch = 'many'\n", "bacth = 7\n", "batch = \n", "postgres_uri = 'postgresql://a:b@localhost/c'\n"]
)
def test_a_file_that_is_wrong_is_refused_in_one_sentence_with_a_hint(nowhere: Path, text: str) -> None:
    (nowhere / "starcast.toml").write_text(text)
    with pytest.raises(InputError) as refusal:
        Settings.load()
    assert "\n" not in refusal.value.message
    assert refusal.value.hint


def test_a_password_in_a_uri_is_refused_without_repeating_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STARCAST_NEO4J_URI", "bolt://neo4j:topsecret@localhost:7687")
    with pytest.raises(InputError) as refusal:
        Settings.load()
    assert "topsecret" not in str(refusal.value)
    assert "password" in refusal.value.message


def test_config_prints_every_setting_with_its_source_and_no_secret(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STARCAST_NEO4J_PASSWORD", "topsecret")
    for output in ("table", "json", "csv", "markdown"):
        result = CliRunner().invoke(app, ["--home", str(nowhere / "h"), "config", "--format", output])
        assert result.exit_code == 0
        assert "topsecret" not in result.output
        assert all(name in result.output for name in Settings.model_fields)
    rows = json.loads(CliRunner().invoke(app, ["--home", "h", "config", "-f", "json"]).stdout)
    assert {row["setting"]: row["source"] for row in rows}["home"] == "flag"
    assert {row["setting"]: row["source"] for row in rows}["neo4j_password"] == "environment"


def test_a_password_file_is_read_and_stripped(nowhere: Path) -> None:
    (nowhere / "secret").write_text("topsecret\n")
    settings = Settings.load(
        neo4j_uri="bolt://localhost:7687",
        neo4j_password_file="secret",
        postgres_uri="postgresql://u@localhost/d",
        postgres_password_file="secret",
    )
    assert graph_address(settings).password == "topsecret"
    assert store_url(settings).password == "topsecret"
    assert "topsecret" not in repr(graph_address(settings)) + str(store_url(settings)) + repr(settings)


def test_a_server_without_a_password_and_a_password_file_that_is_not_there() -> None:
    with pytest.raises(UnavailableError, match="no password is set"):
        graph_address(Settings.load(neo4j_uri="bolt://localhost:7687"))
    with pytest.raises(UnavailableError, match="cannot be read"):
        graph_address(Settings.load(neo4j_uri="bolt://localhost:7687", neo4j_password_file="missing"))


def test_an_embedded_stack_that_does_not_run_says_how_to_start_it(nowhere: Path) -> None:
    with pytest.raises(UnavailableError) as refusal:
        store_url(Settings.load(home=nowhere / "empty"))
    assert "starcast up" in refusal.value.hint


def test_a_uri_that_is_none_is_refused() -> None:
    with pytest.raises(InputError, match="no PostgreSQL URI"):
        store_url(Settings.load(postgres_uri="nonsense"))
