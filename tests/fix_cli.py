"""The command line for tests: in this process, with its exit code and both its streams."""

import sys
from collections.abc import Callable
from typing import NamedTuple

import pytest

from starcast.cli.app import main


class Result(NamedTuple):
    """What a command left behind."""

    code: int
    out: str
    err: str


Starcast = Callable[..., Result]


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
