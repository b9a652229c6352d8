"""The command line for tests: in this process, with its exit code and both its streams."""

import sys
from collections.abc import Callable
from typing import NamedTuple

import pytest
from sqlalchemy import URL

from starcast.cli.app import main
from support.fix_servers import without_password


class Result(NamedTuple):
    """What a command left behind."""

    code: int
    out: str
    err: str


Starcast = Callable[..., Result]


def name_store(patch: pytest.MonkeyPatch, at: URL) -> None:
    """Let the settings name this database."""
    patch.setenv("STARCAST_POSTGRES_URI", without_password(at))
    patch.setenv("STARCAST_POSTGRES_PASSWORD", str(at.password or ""))


@pytest.fixture
def starcast(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Starcast:
    """Run ``starcast`` with these words; what was printed before does not count."""

    def call(*words: str) -> Result:
        monkeypatch.setattr(sys, "argv", ["starcast", *words])
        capsys.readouterr()
        with pytest.raises(SystemExit) as end:
            main()
        return Result(int(end.value.code or 0), *capsys.readouterr())

    return call
