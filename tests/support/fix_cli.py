"""A fixture that runs starcast commands in the test's own process."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from sqlalchemy import URL

from starcast.cli.app import main
from support.fix_servers import without_password


class Result(NamedTuple):
    """Exit code and output of a command."""

    code: int
    out: str
    err: str


Starcast = Callable[..., Result]


def name_store(patch: pytest.MonkeyPatch, url: URL) -> None:
    """Set the environment variables that name a PostgreSQL database."""
    patch.setenv("STARCAST_POSTGRES_URI", without_password(url))
    patch.setenv("STARCAST_POSTGRES_PASSWORD", str(url.password or ""))


@pytest.fixture(scope="session", autouse=True)
def state_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder for the command log, so that tests do not write to that of the user."""
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("state")
        patch.setenv("XDG_STATE_HOME", str(folder))
        yield folder


@pytest.fixture
def starcast(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Starcast:
    """Return a function that runs ``starcast`` and returns exit code, stdout and stderr."""

    def call(*words: str) -> Result:
        monkeypatch.setattr(sys, "argv", ["starcast", *words])
        capsys.readouterr()
        with pytest.raises(SystemExit) as end:
            main()
        return Result(int(end.value.code or 0), *capsys.readouterr())

    return call
