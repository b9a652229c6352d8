"""Settings: precedence of the sources, invalid values, and secrets."""

import json
import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

from starcast.cli import context
from starcast.cli.app import app
from starcast.embedded.endpoints import graph_address, store_url
from starcast.support.errors import InputError, UnavailableError
from starcast.support.settings import Settings


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory, without settings in the environment or in a user file."""
    for name in Settings.model_fields:
        monkeypatch.delenv(f"STARCAST_{name.upper()}", raising=False)
    monkeypatch.delenv("STARCAST_CONFIG", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def chosen(name: str = "batch") -> tuple[object, str]:
    """Return the value of a setting and its source."""
    settings = Settings.load()
    return getattr(settings, name), settings.sources[name]


def test_flags_override_the_environment_which_overrides_the_settings_file_and_defaults(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A flag that is not given is ignored, and so is an empty variable."""
    assert chosen() == (20_000, "default")
    (folder / "starcast.toml").write_text("batch = 1\n")
    assert chosen() == (1, "file")
    monkeypatch.setenv("STARCAST_BATCH", "2")
    assert chosen() == (2, "environment")
    for flag, expected in ((3, (3, "flag")), (None, (2, "environment"))):
        settings = Settings.load(batch=flag)
        assert (settings.batch, settings.sources["batch"]) == expected
    monkeypatch.setenv("STARCAST_BATCH", "")
    assert chosen() == (1, "file")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("batch = 0\n", "the setting 'batch' is invalid: input should be greater than or equal to"),
        ("batch = 'many'\n", "the setting 'batch' is invalid: input should be a valid integer"),
        ("bacth = 7\n", "'bacth' is invalid: there is no such setting; did you mean 'batch'?"),
        ("batch = \n", "starcast.toml cannot be read as TOML"),
        (f"batch = {'[' * 5_000}{']' * 5_000}\n", "cannot be read as TOML: the text is nested"),
        (f"packs = {'[' * 5_000}{']' * 5_000}\n", "cannot be read as TOML: the text is nested"),
        (f"batch = {'9' * 5_000}\n", "starcast.toml cannot be read as TOML"),
        ("packs = ['~nosuch-user/x']\n", "the setting 'packs' is invalid: the user in"),
        ("home = '~nosuch-user/x'\n", "the setting 'home' is invalid: the user in"),
        ("packs = [1]\n", "the setting 'packs.0' is invalid"),
        ("packs = 1\n", "the setting 'packs' is invalid"),
        ("neo4j_heap = 'lots'\n", "'neo4j_heap' is invalid: write a size such as 512m or 1g"),
        ("neo4j_pagecache = '1T'\n", "'neo4j_pagecache' is invalid: write a size such as 512m"),
        ("timeout = 1e300\n", "'timeout' is invalid: input should be less than or equal to 86400"),
        (
            "neo4j_uri = 'bolt://a:b@c'\n",
            "'neo4j_uri' is invalid: the URI contains a password; put",
        ),
        (
            "maven_repository = 'https://a:b@c'\n",
            "the URI contains a password; name a mirror that needs no password",
        ),
    ],
)
@pytest.mark.whole
def test_an_invalid_settings_file_gives_a_one_line_message_with_a_hint(
    folder: Path, text: str, message: str
) -> None:
    (folder / "starcast.toml").write_text(text)
    with pytest.raises(InputError) as caught:
        Settings.load()
    assert message in caught.value.message
    assert "\n" not in caught.value.message
    # 'starcast config' reads the settings too, so it would end with the same error.
    assert caught.value.hint
    assert "starcast config" not in caught.value.hint


@pytest.mark.parametrize(
    "uri",
    [
        "postgresql://u:topsecret@127.0.0.1:1/x",
        "postgresql://u@127.0.0.1:1/x?password=topsecret",
        "postgresql://u@127.0.0.1:1/x?sslmode=require&PassWord=topsecret",
        "postgresql://u@127.0.0.1:1/x?pass%77ord=topsecret",
        "postgresql://u@127.0.0.1:1/x?sslpassword=topsecret",
        "postgresql://u@127.0.0.1:1/x?passfile=/home/u/topsecret",
        "postgresql://u@127.0.0.1:1/x#y?a=b#&password=topsecret",
        "postgresql://u:tops/ecret-topsecret@127.0.0.1:1/x",
        "postgresql://u:#topsecret@127.0.0.1:1/x",
    ],
)
@pytest.mark.parametrize("source", ["flag", "environment", "file"])
def test_a_postgresql_uri_that_contains_a_secret_is_refused_without_printing_the_secret(
    folder: Path, uri: str, source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    flags = ["--postgres-uri", uri] if source == "flag" else []
    if source == "environment":
        monkeypatch.setenv("STARCAST_POSTGRES_URI", uri)
    if source == "file":
        (folder / "starcast.toml").write_text(f"postgres_uri = '{uri}'\n")
    result = CliRunner().invoke(app, [*flags, "config"])
    assert isinstance(result.exception, InputError)
    assert "password" in result.exception.message
    assert "topsecret" not in result.output + str(result.exception)


@pytest.mark.whole
@pytest.mark.parametrize(
    ("uri", "words"),
    [
        ("postgresql://u@h:5432/d?sslmode=require", None),
        ("postgresql:///d?host=/run/postgresql&user=u", None),
        ("postgresql+psycopg://u@[::1]:65535/d", None),
        ("postgres://u@h/d", None),
        ("nonsense", "is not a PostgreSQL URI"),
        ("mysql://u@localhost/d", "is not a PostgreSQL URI"),
        ("postgresql+asyncpg://u@h/d", "is not a PostgreSQL URI"),
        ("postgresql://u@h:five/d", "is not a PostgreSQL URI"),
        ("postgresql://u@127.0.0.1:0/x", "the port 0 of .* is out of range"),
        ("postgresql://u@127.0.0.1:65536/x", "the port 65536 of .* is out of range"),
        ("postgresql://u@127.0.0.1:99999/x", "the port 99999 of .* is out of range"),
    ],
)
def test_valid_postgresql_uris_are_accepted_and_invalid_uris_are_refused(
    uri: str, words: str | None
) -> None:
    settings = Settings.load(postgres_uri=uri)
    assert settings.postgres_uri == uri
    if words is None:
        assert store_url(settings).drivername == "postgresql+psycopg"
        return
    with pytest.raises(InputError, match=words) as caught:
        store_url(settings)
    assert caught.value.hint


def test_the_config_command_prints_every_setting_with_its_source_and_no_secret(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("STARCAST_NEO4J_PASSWORD", "topsecret")
    for output in ("table", "json", "csv", "markdown"):
        result = CliRunner().invoke(app, ["--home", "h", "config", "--format", output])
        assert result.exit_code == 0
        assert "topsecret" not in result.output
        assert all(name in result.output for name in Settings.model_fields)
    rows = json.loads(CliRunner().invoke(app, ["--home", "h", "config", "-f", "json"]).stdout)
    assert {row["setting"]: row["source"] for row in rows}["home"] == "flag"
    assert {row["setting"]: row["source"] for row in rows}["neo4j_password"] == "environment"


def test_a_password_is_read_from_its_file_without_the_line_break(folder: Path) -> None:
    (folder / "secret").write_text("topsecret\n")
    settings = Settings.load(
        neo4j_uri="bolt://localhost:7687",
        neo4j_password_file="secret",
        postgres_uri="postgresql://u@localhost/d",
        postgres_password_file="secret",
    )
    assert graph_address(settings).password == "topsecret"
    assert store_url(settings).password == "topsecret"
    assert "topsecret" not in repr(graph_address(settings)) + str(store_url(settings)) + repr(
        settings
    )


def test_a_connection_to_neo4j_without_a_password_or_password_file_is_refused() -> None:
    with pytest.raises(UnavailableError, match="no password is set"):
        graph_address(Settings.load(neo4j_uri="bolt://localhost:7687"))
    with pytest.raises(UnavailableError, match="cannot be read"):
        graph_address(
            Settings.load(neo4j_uri="bolt://localhost:7687", neo4j_password_file="missing")
        )


def test_the_hint_for_embedded_servers_that_are_not_running_names_starcast_up(folder: Path) -> None:
    with pytest.raises(UnavailableError) as caught:
        store_url(Settings.load(home=folder / "empty"))
    assert "starcast up" in caught.value.hint


@pytest.mark.parametrize("name", ["missing.toml", "missing/deep.toml", "."])
def test_the_environment_variable_starcast_config_must_name_a_file(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STARCAST_CONFIG", name)
    with pytest.raises(InputError, match=r"STARCAST_CONFIG names .* is not a file") as caught:
        Settings.load()
    assert "unset STARCAST_CONFIG" in caught.value.hint


@pytest.mark.whole
@pytest.mark.parametrize(
    ("name", "expected"),
    [(os.devnull, (20_000, "default")), ("", (1, "file")), ("other.toml", (5, "file"))],
)
def test_the_file_named_by_a_non_empty_starcast_config_replaces_the_local_settings_file(
    folder: Path, name: str, expected: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "starcast.toml").write_text("batch = 1\n")
    (folder / "other.toml").write_text("batch = 5\n")
    monkeypatch.setenv("STARCAST_CONFIG", name)
    assert chosen() == expected


def test_an_unknown_environment_variable_of_starcast_gives_a_single_warning(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in (
        "STARCAST_NEO4J_URL",
        "STARCAST_SPEED",
        "STARCAST_DEBUG",
        "starcast_batch",
        "starcast_config",
    ):
        monkeypatch.setenv(name, "7")
    monkeypatch.setenv("STARCAST_EMPTY", "")
    context.warn_of_unknown_variables.cache_clear()
    first, second = (CliRunner().invoke(app, ["config", "-f", "json"]) for _ in range(2))
    context.warn_of_unknown_variables.cache_clear()
    *warnings, file = first.stderr.splitlines()
    assert warnings == [
        (
            "warning: STARCAST_NEO4J_URL is not a setting and has no effect;"
            " did you mean STARCAST_NEO4J_URI?"
        ),
        "warning: STARCAST_SPEED is not a setting and has no effect",
        (
            "warning: starcast_config is not a setting and has no effect;"
            " did you mean STARCAST_CONFIG?"
        ),
    ]
    assert second.stderr.splitlines() == [file]
    assert {row["setting"]: row["value"] for row in json.loads(first.stdout)}["batch"] == 7


def test_the_setting_packs_accepts_several_folders(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The variable is split like PATH. The settings file contains a string or a list."""
    both = (folder / "a", folder / "b,c")
    monkeypatch.setenv("STARCAST_PACKS", f"{both[0]}:{both[1]}:")
    assert chosen("packs") == (both, "environment")
    monkeypatch.setenv("STARCAST_PACKS", "")  # Docker Compose passes an empty variable
    assert chosen("packs") == ((), "default")
    for value in ("['a', 'b,c']", "'a:b,c'"):
        (folder / "starcast.toml").write_text(f"packs = {value}\n")
        assert chosen("packs") == (both, "file")


def test_the_config_command_names_the_settings_file_that_was_read(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = folder / "config" / "starcast" / "starcast.toml"

    def named() -> str:
        return CliRunner().invoke(app, ["config"]).stderr.strip()

    assert named() == f"no settings file: {config} does not exist"
    config.parent.mkdir(parents=True)
    config.touch()
    assert named() == f"settings file: {config}"
    (folder / "starcast.toml").touch()
    assert named() == f"settings file: {folder / 'starcast.toml'}"
    monkeypatch.setenv("STARCAST_CONFIG", str(config))
    assert named() == f"settings file: {config}"


def test_a_setting_with_a_path_in_the_home_of_an_unknown_user_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The path may come from the environment or from a flag."""
    monkeypatch.setenv("STARCAST_CACHE", "~no-such-user/cache")
    with pytest.raises(InputError, match=r"'cache' .* '~no-such-user/cache' is unknown"):
        Settings.load()
    result = CliRunner().invoke(app, ["--home", "~no-such-user/x", "status"])
    assert isinstance(result.exception, InputError)
    assert "--home is invalid: the user in '~no-such-user/x'" in result.exception.message


@pytest.mark.parametrize("name", ["neo4j_port", "neo4j_http_port", "postgres_port"])
@pytest.mark.parametrize("port", [80, 0, 65_536, -1])
def test_server_ports_out_of_range_are_refused(name: str, port: int) -> None:
    """Only root can use ports below 1024, but the servers do not run as root."""
    with pytest.raises(InputError, match=name.replace("_", "-")):
        Settings.load(**{name: port})
